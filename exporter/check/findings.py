"""The problems and remarks that a check finds, and the estimate for a first backup."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from exporter.check.facts import (
    FAILED,
    NO_ROOM,
    NOT_AUTHORISED,
    NOT_SAVED,
    SETTINGS,
    CheckFinding,
    CheckResult,
    DownloadFacts,
    Estimate,
    OperationFacts,
    first_names,
)
from exporter.errors import NotAuthorised, UsageError
from exporter.login.facts import missing_token_advice
from exporter.message import listed, message, message_n, said
from exporter.model.kinds import Kind
from exporter.settings import Settings

_MAX_SKEW_SECONDS: Final = 120
_NOT_AUTHORISED: Final = frozenset({401, 403})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
GONE: Final = frozenset({404, 410})
"""The statuses of what no longer exists."""
_BYTES_PER_ENTRY: Final = 20_000
"""The record in its version and in ``latest/``, the Markdown and the page, as measured on the sample blog."""
_BYTES_PER_COMMENT: Final = 2_000


def findings(
    result: CheckResult, settings: Settings, trouble: UsageError | NotAuthorised | None, paging: Mapping[str, list[str]]
) -> list[CheckFinding]:
    """Return problems and remarks, problems first, and set the result's estimate.

    Args:
        result: the facts.
        settings: the settings of a backup.
        trouble: why no request could be sent.
        paging: the problems with the pages of each list, by operation.
    """
    if isinstance(trouble, NotAuthorised):
        return [CheckFinding("not_authorised", _sentence(said(trouble)), _sign_in(settings), NOT_AUTHORISED)]
    if trouble is not None:
        advice = message("Correct the setting, then check again.")
        return [CheckFinding("settings", _sentence(said(trouble)), advice, SETTINGS)]
    result.estimate = estimate(result, settings)
    found = [
        *_of_operations(result, settings),
        *_of_paging(paging),
        *_of_fields(result),
        *_of_downloads(result),
        *_of_room(result),
        *_of_clock(result),
        *_of_machine(result),
    ]
    return sorted(found, key=lambda finding: not finding.exit_code)


def _sign_in(settings: Settings) -> str:
    return message("What to do: {advice}", advice=missing_token_advice(settings))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!", "…")) else message("{text}.", text=text)


def _of_operations(result: CheckResult, settings: Settings) -> Iterator[CheckFinding]:
    failed = [each for each in result.operations if not each.answered]
    refused = [each for each in failed if each.status in _NOT_AUTHORISED]
    if refused:
        names = listed(dict.fromkeys(each.name for each in refused))
        sentence = message("The service does not let you read {names}.", names=names)
        yield CheckFinding("not_authorised", sentence, _sign_in(settings), NOT_AUTHORISED)
    for each in failed:
        if each in refused:
            continue
        everything = each.kind is Kind.ENTRY_LIST or not any(other.answered for other in result.operations)
        yield CheckFinding(
            "no_answer" if each.status is None else "failed",
            message("{name} failed: {reason}", name=each.name, reason=_sentence(each.problem)),
            _after_failure(each),
            FAILED if everything else NOT_SAVED,
        )


def _after_failure(each: OperationFacts) -> str:
    if each.status == 200:
        return message("Check the base URL; if it is right, make a report with --report FILE and send it to us.")
    if each.status in REDIRECTS:
        return message("If you know that address as the new one of the service, back up from there with --base-url.")
    if each.status in GONE:
        return message("Check the blog ID and the base URL.")
    if each.status is None:
        return message("Check the network and the base URL, then check again.")
    return message("Check again later; a backup tries several times.")


def _of_paging(paging: Mapping[str, list[str]]) -> Iterator[CheckFinding]:
    advice = message("Follow this advice, or make a report with --report FILE.")
    for problems in paging.values():
        yield from (CheckFinding("paging", _sentence(problem), advice, NOT_SAVED) for problem in problems)


def _of_fields(result: CheckResult) -> Iterator[CheckFinding]:
    kept = message("Nothing to do: records are saved exactly as the service sends them.")
    names: dict[str, OperationFacts] = {}
    for each in result.operations:
        names.setdefault(each.name, each)
    for name, each in names.items():
        if each.unusable:
            sentence = message_n(
                "{name}: {n:,} record has no usable id.",
                "{name}: {n:,} records have no usable id.",
                each.unusable,
                name=name,
            )
            advice = message("Make a report with --report FILE and send it to us.")
            yield CheckFinding("no_id", sentence, advice, NOT_SAVED)
        if each.missing and each.records:
            fields = listed(first_names(each.missing))
            sentence = message("{name} lacks documented fields: {fields}.", name=name, fields=fields)
            yield CheckFinding("missing_fields", sentence, kept)
        if each.unknown:
            fields = listed(first_names(each.unknown))
            sentence = message("{name} has undocumented fields: {fields}.", name=name, fields=fields)
            yield CheckFinding("unknown_fields", sentence, kept)
        if each.doubts:
            named = [message("{field} ({what})", field=field, what=what) for field, what in each.doubts.items()]
            doubts = listed(first_names(named, 3))
            sentence = message("{name} has undocumented values: {doubts}.", name=name, doubts=doubts)
            yield CheckFinding("unknown_values", sentence, kept)


def _of_downloads(result: CheckResult) -> Iterator[CheckFinding]:
    for each in result.downloads:
        if each.url is None:
            yield CheckFinding(
                "upload_address_unknown",
                message("The address of uploaded files is unknown, so a backup might not save them."),
                message("Set --file-url, or let a backup find it: it looks at the addresses in all entries."),
                NOT_SAVED,
            )
        elif each.problem:
            yield _of_download(each)


def _of_download(each: DownloadFacts) -> CheckFinding:
    values = {"url": each.url, "reason": _sentence(each.problem)}
    sentence = (
        message("Cannot download an upload: {url}: {reason}", **values)
        if each.what == "upload"
        else message("Cannot download a picture: {url}: {reason}", **values)
    )
    if each.status in GONE and each.what == "picture":
        advice = message("Nothing to do: the picture no longer exists, and a backup names it once.")
        return CheckFinding("picture_lost", sentence, advice)
    advice = message("Open the address in a browser; each backup tries it again.")
    return CheckFinding("not_fetched", sentence, advice, NOT_SAVED)


def _of_room(result: CheckResult) -> Iterator[CheckFinding]:
    if result.estimate is not None and result.free is not None and result.free < result.estimate.bytes:
        sentence = message(
            "The disk is too full for the archive: it needs about {needed:,} MB, and {free:,} MB are free.",
            needed=_megabytes(result.estimate.bytes),
            free=_megabytes(result.free),
        )
        yield CheckFinding(
            "no_room", sentence, message("Free space, or choose another disk with --archive DIR."), NO_ROOM
        )


def _megabytes(count: int) -> int:
    return -(-count // 1_000_000)


def _of_clock(result: CheckResult) -> Iterator[CheckFinding]:
    skew = result.clock_skew
    if skew is not None and abs(skew) > _MAX_SKEW_SECONDS:
        n = round(abs(skew))
        sentence = (
            message_n("This machine's clock is {n:,} second ahead.", "This machine's clock is {n:,} seconds ahead.", n)
            if skew > 0
            else message_n(
                "This machine's clock is {n:,} second behind.", "This machine's clock is {n:,} seconds behind.", n
            )
        )
        yield CheckFinding("clock", sentence, message("Set the clock: the archive records this machine's times."))


def _of_machine(result: CheckResult) -> Iterator[CheckFinding]:
    for part, use in result.missing.items():
        sentence = message("{part} is not installed. A backup does not need it; it is for {use}.", part=part, use=use)
        yield CheckFinding("missing_parts", sentence)


def is_installed(library: str) -> bool:
    """Return whether a library can be imported."""
    return importlib.util.find_spec(library) is not None


def missing_parts(
    installed: Callable[[str], bool] = is_installed, program: Callable[[str], str | None] = shutil.which
) -> dict[str, str]:
    """Return the optional software that this machine lacks, each with its use.

    Args:
        installed: whether a library can be imported.
        program: the path of a program; ``None`` if it is not installed.
    """
    found: dict[str, str] = {}
    if not installed("PIL"):
        found["Pillow"] = message("small pictures for the site's lists: pip install 'blog-exporter[site]'")
    if not installed("arro3.core" if installed("arro3") else "arro3"):
        found["arro3"] = message("the export to Parquet: pip install 'blog-exporter[parquet]'")
    if not installed("keyring"):
        found["keyring"] = message("the access token in the system's keyring: pip install 'blog-exporter[keyring]'")
    if program("jq") is None:
        found["jq"] = message("the recipes of README.txt that read an archive without this program")
    return found


def estimate(result: CheckResult, settings: Settings) -> Estimate | None:
    """Return the approximate cost of a first backup; ``None`` if the entry list could not be read."""
    first = {each.name: each for each in reversed(result.operations) if each.answered and each.page is not None}
    by_kind = {each.kind: each for each in first.values()}
    if Kind.ENTRY_LIST not in by_kind:
        return None
    entries, comments, files = (_total(by_kind.get(kind)) for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES))
    pages = sum(_pages(each) for each in by_kind.values())
    uploads = files if settings.assets in {"linked", "files"} else 0
    requests = 1 + 2 * pages + entries + uploads
    latencies = [each.seconds for each in result.operations if each.answered and each.seconds is not None]
    seconds = requests * (sum(latencies) / len(latencies)) / settings.concurrency
    if settings.rate is not None:
        seconds = max(seconds, requests / settings.rate)
    listed_files = by_kind.get(Kind.FILES)
    size = (listed_files.total_size or 0) if uploads and listed_files is not None else 0
    size += _BYTES_PER_ENTRY * entries + _BYTES_PER_COMMENT * comments
    return Estimate(entries, comments, files, requests, round(seconds, 1), size)


def _pages(facts: OperationFacts) -> int:
    if facts.pages is not None:
        return max(1, min(facts.pages, 10**6))
    return max(1, -(-_total(facts) // max(1, facts.page_size or facts.records or 1)))


def _total(facts: OperationFacts | None) -> int:
    """Return the number of records in a list, estimated if the list names only its number of pages."""
    if facts is None:
        return 0
    if facts.total is not None:
        return max(0, min(facts.total, 10**9))
    return facts.records if not facts.pages or facts.pages < 2 else facts.records * min(facts.pages, 10**6)
