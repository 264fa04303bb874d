"""A run's outcome, its line in ``runs.jsonl``, and its completeness, computed from every stated total."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.manifest import FROM_CAPTURE, FROM_FILE, UNJOINED, KindCounts, Manifest, RecordProblem
from exporter.clock import at_home, differs
from exporter.crawl.assets.summary import AssetSummary, Tally
from exporter.crawl.sweep import MAX_SWEEPS, SweepResult
from exporter.errors import ArchiveDamaged, Incomplete, StaysIncomplete
from exporter.message import listed, message, message_n, said, stored_as, suggested
from exporter.model.asset import AssetState
from exporter.model.kinds import KIND_NAMES, Kind

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from exporter.archive.archive import Archive
    from exporter.crawl.ingest import Ingest


@dataclass(slots=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        version: the new version, ``None`` if nothing had changed.
        service_time: the service's time, if this machine's clock was more than a day away from it.
        joined: the numbers of entries that were joined with those of another service.
        warc: what became of the exchanges with the service, if they were recorded.
        from_file: whether an export file was read; ``None`` if not.
        from_capture: the number of the newest capture that completed files, if no service was read.
        unjoined: the service whose records went, if no service was read.
        damaged: paths of damaged files that could not be restored, for the summary; ``verify`` finds them again.
    """

    started_at: str
    finished_at: str = ""
    outcome: str = "failed"
    exit_code: int = 1
    error: str | None = None
    version: int | None = None
    resumed_from: str | None = None
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    sweeps: int = 0
    healed: int = 0
    restored: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    counts: dict[str, KindCounts] = field(default_factory=dict)
    completeness: dict[str, Any] | None = None
    problems: list[RecordProblem] = field(default_factory=list)
    assets: AssetSummary | None = None
    service_time: str | None = None
    joined: dict[str, Any] | None = None
    warc: dict[str, Any] | None = None
    from_file: bool | None = None
    from_capture: int | None = None
    unjoined: str | None = None

    @property
    def gap(self) -> str | None:
        """The class of the error that makes it incomplete; ``None`` if it is complete, or saved nothing."""
        found = incomplete(self.problems) if self.exit_code == Incomplete.exit_code else None
        return None if found is None else type(found).__name__

    def line(self) -> dict[str, Any]:
        """Return the run's line in ``runs.jsonl``."""
        line = {**asdict(self), "assets": None if self.assets is None else self.assets.document()}
        line["problems"] = [problem.document() for problem in self.problems]
        line |= stored_as("error", self.error)
        del line["damaged"]
        for name in ("service_time", "joined", "warc", FROM_FILE, FROM_CAPTURE, UNJOINED):
            if line[name] is None:
                del line[name]
        return line

    @classmethod
    def of(cls, manifest: Manifest) -> Outcome:
        """Return the outcome from a version's manifest as far as that states it."""
        partial = incomplete(manifest.problems)
        return cls(
            started_at=manifest.started_at,
            finished_at=manifest.finished_at,
            outcome="saved" if partial is None else "partial",
            exit_code=0 if partial is None else partial.exit_code,
            error=None if partial is None else said(partial),
            version=manifest.version,
            sweeps=manifest.completeness.get("sweeps", 0),
            healed=len(manifest.healed or ()),
            counts=manifest.counts,
            completeness=manifest.completeness,
            problems=manifest.problems,
            from_capture=manifest.from_capture,
            unjoined=manifest.unjoined,
        )


_MAX_REASON_CHARACTERS: Final = 400  # characters of a problem
_MAX_NAMED_RECORDS: Final = 10


def incomplete(problems: list[RecordProblem]) -> Incomplete | None:
    """Return the error if the run could not save everything, otherwise ``None``."""
    if not problems:
        return None
    kind = StaysIncomplete if all(each.lasting for each in problems) else Incomplete
    first, more = problems[0], len(problems) - 1
    what: str = KIND_NAMES.get(first.kind, first.kind)
    if first.id is not None:
        what = message("{kind} {id}", kind=what, id=first.id)
    reason = message("{what}: {reason}", what=what, reason=first.reason)
    shown = reason if len(reason) <= _MAX_REASON_CHARACTERS else reason[:_MAX_REASON_CHARACTERS]
    named = message("{first} (and {more:,} more)", first=shown, more=more) if more else shown
    if kind is StaysIncomplete:
        return kind(message("Not everything could be saved: {first}. Waiting does not change that.", first=named))
    return kind(message("Not everything could be saved: {first}; the next run tries again.", first=named))


def still_damaged(root: Path, paths: Sequence[str]) -> ArchiveDamaged | None:
    """Return the error if the run leaves damaged files behind, otherwise ``None``."""
    if not paths:
        return None
    return ArchiveDamaged(
        "The backup is saved, and files in the archive stay damaged: {paths}. To see what can be done: {command}",
        paths=listed([*paths[:3], *(["…"] if len(paths) > 3 else [])]),
        command=suggested("verify", root),
    )


def later_run(reader: Archive, now: datetime) -> str | None:
    """Return the start of the newest run if it is more than a day after ``now``."""
    begun = next((run.get("started_at") for run in reader.newest_runs()), None)
    moment = at_home(begun, UTC) if isinstance(begun, str) else None
    return begun if moment is not None and moment > now and differs(now, moment) else None


def unread_before(reader: Archive) -> list[str]:
    """Return the entries that the newest run with a result could not read; the next run reads them first."""
    for run in reader.newest_runs():
        if run.get("completeness") is not None:
            return [
                problem["id"]
                for problem in run.get("problems", [])
                if problem.get("kind") == Kind.ENTRIES and isinstance(problem.get("id"), str)
            ]
    return []


def assess(ingest: Ingest, assets: AssetSummary) -> tuple[dict[str, Any], list[RecordProblem]]:
    """Compare the records read with the totals that the service states.

    A backup is complete if everything that was requested is in the archive, was left out by a setting, or is gone for
    good.

    Args:
        ingest: has read everything.
        assets: the results for pictures and files.

    Returns:
        The ``completeness`` object of FORMAT.md, and everything that could not be read.
    """
    sweeps, entries = ingest.sweeps[-1], ingest.count_entries()
    short_comments, user = ingest.short_comments(), ingest.user_failure
    provable = ingest.service.capabilities.totals and all(result.provable for result in sweeps.values())
    counted = ingest.service.capabilities.comment_counts
    comments, files = sweeps[Kind.COMMENTS], sweeps[Kind.FILES]
    unlisted_files = max(0, (files.total or 0) - files.listed)
    unread = [
        # A complete refusal was already requested twice.
        RecordProblem(str(Kind.ENTRIES), entry_id, each.reason, lasting=each.last_try < MAX_SWEEPS)
        for entry_id, each in ingest.unread.items()
    ]
    in_lists: list[tuple[Kind, str]] = [(kind, text) for kind, result in sweeps.items() for text in result.problems]
    in_lists += [(kind, text) for kind, texts in ingest.doubts().items() for text in texts]
    unread += [RecordProblem(str(Kind.ENTRIES), entry_id, text) for entry_id, text in ingest.shortages.items()]
    no_text = message("its answer has no text, not even an empty one; look at it at the service, and run again")
    unread += [RecordProblem(str(Kind.ENTRIES), entry_id, no_text) for entry_id in sorted(ingest.textless)]
    others: list[RecordProblem] = []
    if user is not None:
        others.append(RecordProblem(str(Kind.USER), None, message("the user could not be read: {user}", user=user)))
    if ingest.other_user:
        text = message("the service knows us as another user than before, who may see less: check the token")
        others.append(RecordProblem(str(Kind.USER), None, text, lasting=True))
    in_entries = _unlisted(ingest.contradicted, ingest.not_asked)
    others += [RecordProblem(str(Kind.ENTRIES), None, text) for text in in_entries]
    if short_comments:
        others.append(RecordProblem(str(Kind.COMMENTS), None, _short(short_comments), lasting=True))
    if provable and counted:
        in_comments = _extra_comments(ingest.extra_comments(), comments.unstated)
        others += [RecordProblem(str(Kind.COMMENTS), None, text) for text in in_comments]
    others += [RecordProblem(str(Kind.FILES), None, text) for text in _file_totals(files, unlisted_files)]
    problems = [
        *(RecordProblem(str(kind), None, text) for kind, text in in_lists),
        *unread,
        *others,
        *_asset_problems(assets, strict_assets=ingest.settings.strict_assets),
    ]
    uploads = assets.uploads
    forgotten_entries = sweeps[Kind.ENTRY_LIST].forgotten + len(ingest.kept_out.entries)
    forgotten_comments = comments.forgotten + len(ingest.kept_out.comments)
    document: dict[str, Any] = {
        "complete": not problems,
        "sweeps": len(ingest.sweeps),
        "sweeps_agreed": ingest.service.capabilities.snapshot
        or all(result.agreed for result in sweeps.values() if result.complete),
        "entries": {
            **Tally(entries.read + entries.carried_over, entries.unread, left_out=forgotten_entries).document(),
            "read": entries.read,
            "carried_over": entries.carried_over,
            "contradicted": entries.contradicted,
            "list_complete": sweeps[Kind.ENTRY_LIST].complete,
        },
        "comments": {
            **Tally(comments.listed, sum(short_comments.values()), left_out=forgotten_comments).document(),
            "expected": (comments.expected if counted else comments.total) if provable else None,
            "list_complete": comments.complete,
        },
        "files": {
            **replace(uploads, pending=uploads.pending + unlisted_files).document(),
            "without_address": len(assets.nameless),
            "not_on_list": unlisted_files,
            "expected": files.total,
            "bytes_saved": assets.bytes_saved,
            "bytes_listed": files.tally,
            "bytes_expected": files.total_size,
            "list_complete": files.complete,
        },
        "assets": assets.addresses.document(),
        "user": {"read": user is None},
    }
    if not provable:
        # Written only for services whose missing totals prove nothing.
        document["provable"] = False
    return document, problems


def _unlisted(contradicted: Sequence[str], not_asked: int) -> Iterator[str]:
    """Yield problems about entries that the service has and the entry list lacks."""
    if contradicted:
        yield message(
            "the service answers these entries, which are not on the entry list: {ids}; they are saved, and the list "
            "may leave out more",
            ids=_first(contradicted),
        )
    if not_asked:
        yield message(
            "comments name {n:,} more entries that are not on the entry list and were not requested; run again",
            n=not_asked,
        )


def _extra_comments(extra: Mapping[str, int], unstated: Sequence[str]) -> Iterator[str]:
    """Yield problems about comments that entries do not count, and entries without a count."""
    if extra:
        yield message(
            "the comment list holds {count:,} more comments than the entry list counts, of these entries: {ids}",
            count=sum(extra.values()),
            ids=_first(list(extra)),
        )
    if unstated:
        yield message(
            "the entry list does not say how many comments these entries have, so some may be missing: {ids}",
            ids=_first(unstated),
        )


def _short(comments: Mapping[str, int]) -> str:
    return message(
        "{count:,} comments that the entries count are not on the comment list, because the service keeps them back, "
        "of these entries: {ids}",
        count=sum(comments.values()),
        ids=_first(list(comments)),
    )


def _file_totals(files: SweepResult, unlisted: int) -> Iterator[str]:
    """Yield contradictions between the totals and a complete file list."""
    if not files.complete:
        return
    if files.total is not None and (unlisted or files.listed > files.total):
        yield message(
            "the file list holds {listed:,} files, its summary counts {total:,}", listed=files.listed, total=files.total
        )
    elif None not in {files.tally, files.total_size} and files.tally != files.total_size:
        yield message(
            "the {listed:,} files on the list have {tally:,} bytes together, and its summary says {total_size:,}",
            listed=files.listed,
            tally=files.tally,
            total_size=files.total_size,
        )


def _asset_problems(assets: AssetSummary, *, strict_assets: bool) -> Iterator[RecordProblem]:
    """Yield problems about files that were requested and not saved: unknown addresses, and failures for now."""
    if assets.nameless:
        lack = message("nothing says where uploads are served: give the rule with --file-url or --profile")
        if assets.file_url is not None:
            lack = message(
                "the rule {file_url} needs a field that the record lacks: give another one with --file-url",
                file_url=assets.file_url,
            )
        reason = message_n(
            "{n:,} upload is not saved ({ids}): {lack}, or leave uploads out with --assets embedded",
            "{n:,} uploads are not saved ({ids}): {lack}, or leave uploads out with --assets embedded",
            len(assets.nameless),
            ids=_first(assets.nameless),
            lack=lack,
        )
        yield RecordProblem(str(Kind.FILES), None, reason, lasting=True)
    if assets.doubted:
        reason = message(
            "{count:,} uploads are not saved: nothing is where the rule {file_url} leads; "
            "if it is wrong, correct it with --file-url",
            count=len(assets.doubted),
            file_url=assets.file_url,
        )
        yield RecordProblem(str(Kind.FILES), None, reason, lasting=True)
    for absent in assets.of(AssetState.PENDING):
        if absent.url not in assets.doubted:
            yield RecordProblem(str(Kind.ASSETS), absent.url, absent.reason)
    for refused in assets.of(AssetState.REFUSED):
        yield RecordProblem(str(Kind.ASSETS), refused.url, refused.reason, lasting=True)
    for doubtful in assets.of(AssetState.DOUBTFUL):
        reason = message(
            "doubtful: {doubt}. The file is kept; if it is right, confirm it with --accept-doubtful",
            doubt=doubtful.reason,
        )
        yield RecordProblem(str(Kind.ASSETS), doubtful.url, reason, lasting=True)
    for lost in assets.of(AssetState.LOST) if strict_assets else ():
        yield RecordProblem(str(Kind.ASSETS), lost.url, lost.reason, lasting=True)


def _first(ids: Sequence[str]) -> str:
    return ", ".join(each[:40] for each in ids[:_MAX_NAMED_RECORDS]) + (", …" if len(ids) > _MAX_NAMED_RECORDS else "")
