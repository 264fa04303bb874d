"""What the facts of a check mean for a backup: findings, each with what to do next, and the estimate. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    shown,
)
from exporter.errors import NotAuthorised, UsageError
from exporter.login.facts import missing_token_advice
from exporter.message import listed, message, message_n, said
from exporter.model.kinds import Kind
from exporter.settings import Settings

_SKEW: Final = 120
_NOT_AUTHORISED: Final = frozenset({401, 403})
_GONE: Final = frozenset({404, 410})
_BYTES_OF_AN_ENTRY: Final = 20_000
"""On the disk: its record in the version and in ``latest/``, its Markdown and its page, as the sample blog has them."""


def findings(
    result: CheckResult, settings: Settings, trouble: UsageError | NotAuthorised | None, paging: Mapping[str, list[str]]
) -> list[CheckFinding]:
    """Return what a person should know, the worst first; sets the result's estimate.

    Args:
        result: the facts.
        settings: as a backup would have them.
        trouble: why nothing was asked.
        paging: what is wrong with the pages of each list, by operation.
    """
    if isinstance(trouble, NotAuthorised):
        return [CheckFinding("not_authorised", _sentence(said(trouble)), _sign_in(settings), NOT_AUTHORISED)]
    if trouble is not None:
        advice = message("Mend the setting, then check again.")
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
        yield CheckFinding(
            "not_authorised",
            message("The service does not let you read {names}.", names=listed(dict.fromkeys(map(_name, refused)))),
            _sign_in(settings),
            NOT_AUTHORISED,
        )
    for each in failed:
        if each in refused:
            continue
        everything = each.kind is Kind.ENTRY_LIST or not any(other.answered for other in result.operations)
        yield CheckFinding(
            "no_answer" if each.status is None else "failed",
            message("{name} failed: {reason}", name=_name(each), reason=_sentence(each.problem)),
            _after_failure(each),
            FAILED if everything else NOT_SAVED,
        )


def _name(facts: OperationFacts) -> str:
    return facts.name


def _after_failure(each: OperationFacts) -> str:
    if each.status == 200:
        return message("Check the base URL; if it is right, make a report with --report FILE and send it to us.")
    if each.status in _GONE:
        return message("Check the blog ID and the base URL.")
    if each.status is None:
        return message("Check the network and the base URL, then check again.")
    return message("Check again later; a backup tries more patiently.")


def _of_paging(paging: Mapping[str, list[str]]) -> Iterator[CheckFinding]:
    for problems in paging.values():
        for problem in problems:
            advice = message("Follow this advice, or make a report with --report FILE.")
            yield CheckFinding("paging", _sentence(problem), advice, NOT_SAVED)


def _of_fields(result: CheckResult) -> Iterator[CheckFinding]:
    kept = message("Nothing to do: records are kept as they are sent.")
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
            yield CheckFinding(
                "no_id", sentence, message("Make a report with --report FILE and send it to us."), NOT_SAVED
            )
        if each.missing and each.records:
            fields = listed(shown(each.missing))
            sentence = message("{name} lacks fields of the document: {fields}.", name=name, fields=fields)
            yield CheckFinding("missing_fields", sentence, kept)
        if each.unknown:
            fields = listed(shown(each.unknown))
            sentence = message("{name} has fields that no document names: {fields}.", name=name, fields=fields)
            yield CheckFinding("unknown_fields", sentence, kept)
        if each.doubts:
            doubts = listed(
                shown([message("{field} ({what})", field=field, what=what) for field, what in each.doubts.items()], 3)
            )
            sentence = message(
                "{name} has values that the document does not foresee: {doubts}.", name=name, doubts=doubts
            )
            yield CheckFinding("unknown_values", sentence, kept)


def _of_downloads(result: CheckResult) -> Iterator[CheckFinding]:
    for each in result.downloads:
        if each.url is None:
            yield CheckFinding(
                "upload_address_unknown",
                message("Where uploaded files are is not known, so they might not be saved."),
                message("Set --file-url, or let a backup look at what all entries embed: it then says what it found."),
                NOT_SAVED,
            )
        elif each.problem:
            yield _of_download(each)


def _of_download(each: DownloadFacts) -> CheckFinding:
    sentence = (
        message("An upload could not be fetched: {url}: {reason}", url=each.url, reason=_sentence(each.problem))
        if each.what == "upload"
        else message("A picture could not be fetched: {url}: {reason}", url=each.url, reason=_sentence(each.problem))
    )
    if each.status in _GONE and each.what == "picture":
        return CheckFinding("picture_lost", sentence, message("Nothing to do: it is gone, and a backup names it once."))
    return CheckFinding(
        "not_fetched", sentence, message("Open the address in a browser; a backup tries it again."), NOT_SAVED
    )


def _of_room(result: CheckResult) -> Iterator[CheckFinding]:
    if result.estimate is not None and result.free is not None and result.free < result.estimate.bytes:
        yield CheckFinding(
            "no_room",
            message(
                "There is not enough room for the archive: about {needed:,} MB are needed, {free:,} MB are free.",
                needed=_megabytes(result.estimate.bytes),
                free=_megabytes(result.free),
            ),
            message("Free some, or choose another disk with --archive DIR."),
            NO_ROOM,
        )


def _megabytes(count: int) -> int:
    return -(-count // 1_000_000)


def _of_clock(result: CheckResult) -> Iterator[CheckFinding]:
    skew = result.clock_skew
    if skew is not None and abs(skew) > _SKEW:
        n = round(abs(skew))
        sentence = (
            message_n("This machine's clock is {n:,} second ahead.", "This machine's clock is {n:,} seconds ahead.", n)
            if skew > 0
            else message_n(
                "This machine's clock is {n:,} second behind.", "This machine's clock is {n:,} seconds behind.", n
            )
        )
        yield CheckFinding("clock", sentence, message("Set the clock; the archive's times are this machine's."))


def _of_machine(result: CheckResult) -> Iterator[CheckFinding]:
    for part, use in result.missing.items():
        sentence = message(
            "{part} is not on this machine, and no backup needs it. It is for {use}.", part=part, use=use
        )
        yield CheckFinding("missing_parts", sentence)


def estimate(result: CheckResult, settings: Settings) -> Estimate | None:
    """Return what a first backup takes, about; ``None`` where the entry list could not be read."""
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
    return Estimate(
        entries, comments, files, requests, round(seconds, 1), size + _BYTES_OF_AN_ENTRY * entries + 2_000 * comments
    )


def _pages(facts: OperationFacts) -> int:
    if facts.pages is not None:
        return max(1, min(facts.pages, 10**6))
    return max(1, -(-_total(facts) // max(1, facts.page_size or facts.records or 1)))


def _total(facts: OperationFacts | None) -> int:
    """Return how many records a list has; of one that only says how many pages, about."""
    if facts is None:
        return 0
    if facts.total is not None:
        return max(0, min(facts.total, 10**9))
    return facts.records if not facts.pages or facts.pages < 2 else facts.records * min(facts.pages, 10**6)
