"""Completeness, computed from what was read against every total that the service states. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.manifest import RecordProblem
from exporter.crawl.assets.summary import AssetSummary, Tally
from exporter.crawl.sweep import SweepResult
from exporter.message import message, message_n
from exporter.model.asset import AssetState
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.crawl.ingest import EntryCounts

_NAMED: Final = 10


def assess(
    sweeps: Mapping[Kind, SweepResult],
    *,
    number_of_sweeps: int,
    entries: EntryCounts,
    unread: Mapping[str, str],
    short_comments: Mapping[str, int],
    user: str | None,
    assets: AssetSummary,
    other_user: bool = False,
    doubts: Mapping[Kind, Sequence[str]] = MappingProxyType({}),
    extra_comments: Mapping[str, int] = MappingProxyType({}),
    contradicted: Sequence[str] = (),
    not_asked: int = 0,
    strict_assets: bool = False,
    provable: bool = True,
) -> tuple[dict[str, Any], list[RecordProblem]]:
    """Compare what was read with what the service says there is.

    A backup is complete when everything that was asked for is in the archive, was left out by a setting, or is gone
    for good.

    Args:
        sweeps: the last sweep of each list.
        number_of_sweeps: how many times the lists were swept.
        entries: the listed entries by what the run did about them.
        unread: entry ids to the reason why they could not be read.
        short_comments: by entry, how many of the comments that it counts are not on the comment list.
        user: why the user could not be read, or ``None``.
        assets: what became of pictures and files.
        other_user: whether the service answers as another user than before.
        doubts: what contradicts itself in each list.
        extra_comments: by listed entry, how many comments the comment list holds beyond those that the entry counts.
        contradicted: entries that are not on the entry list, though ``entry/get`` answers for them.
        not_asked: how many entries that are named and not listed nobody asked for.
        strict_assets: whether what is gone for good makes the backup incomplete too.
        provable: whether the service states totals to compare with.

    Returns:
        The ``completeness`` object of FORMAT.md, and everything that could not be read.
    """
    comments, files = sweeps[Kind.COMMENTS], sweeps[Kind.FILES]
    unlisted_files = max(0, (files.total or 0) - files.listed)
    problems = [RecordProblem(str(kind), None, text) for kind, result in sweeps.items() for text in result.problems]
    problems += [RecordProblem(str(kind), None, text) for kind, texts in doubts.items() for text in texts]
    problems += [RecordProblem(str(Kind.ENTRIES), entry_id, reason) for entry_id, reason in unread.items()]
    if user is not None:
        problems.append(RecordProblem(str(Kind.USER), None, message("the user could not be read: {user}", user=user)))
    if other_user:
        problems.append(
            RecordProblem(
                str(Kind.USER),
                None,
                message("the service knows us as another user than before, who may see less: check the token"),
            )
        )
    problems += [RecordProblem(str(Kind.ENTRIES), None, text) for text in _unlisted(contradicted, not_asked)]
    if short_comments:
        problems.append(RecordProblem(str(Kind.COMMENTS), None, _short(short_comments)))
    if provable:
        problems += [
            RecordProblem(str(Kind.COMMENTS), None, text) for text in _extra_comments(extra_comments, comments.unstated)
        ]
    problems += [RecordProblem(str(Kind.FILES), None, text) for text in _file_totals(files, unlisted_files)]
    problems += _asset_problems(assets, strict_assets=strict_assets)
    uploads = assets.uploads
    document: dict[str, Any] = {
        "complete": not problems,
        "sweeps": number_of_sweeps,
        "sweeps_agreed": all(result.agreed for result in sweeps.values() if result.complete),
        "entries": {
            **Tally(entries.read + entries.carried_over, entries.unread).document(),
            "read": entries.read,
            "carried_over": entries.carried_over,
            "contradicted": entries.contradicted,
            "list_complete": sweeps[Kind.ENTRY_LIST].complete,
        },
        "comments": {
            **Tally(comments.listed, sum(short_comments.values())).document(),
            "expected": comments.expected if provable else None,
            "list_complete": comments.complete,
        },
        "files": {
            **Tally(
                uploads.saved,
                uploads.pending + unlisted_files,
                uploads.lost,
                uploads.left_out,
                uploads.refused,
                uploads.doubtful,
            ).document(),
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
        # Only where it is so: the totals that this service does not state prove nothing.
        document["provable"] = False
    return document, problems


def _unlisted(contradicted: Sequence[str], not_asked: int) -> Iterator[str]:
    """Yield what the entry list does not hold though the service has it."""
    if contradicted:
        yield message_n(
            "{n} entry is not on the entry list, and the service answers when asked for it ({ids}); it is saved, "
            "and the list may leave out more",
            "{n} entries are not on the entry list, and the service answers when asked for them ({ids}); they are "
            "saved, and the list may leave out more",
            len(contradicted),
            ids=_first(contradicted),
        )
    if not_asked:
        yield message_n(
            "{n} more entry that comments name is not on the entry list and was not asked for; run again",
            "{n} more entries that comments name are not on the entry list and were not asked for; run again",
            not_asked,
        )


def _extra_comments(extra: Mapping[str, int], unstated: Sequence[str]) -> Iterator[str]:
    """Yield where the comment list holds more than the entries count, and what states no count."""
    if extra:
        yield message_n(
            "the comment list holds {count} more comments than the entry list counts (of entry {ids})",
            "the comment list holds {count} more comments than the entry list counts (of entries {ids})",
            len(extra),
            count=sum(extra.values()),
            ids=_first(list(extra)),
        )
    if unstated:
        yield message_n(
            "the entry list does not say how many comments {n} entry has ({ids}), so some may be missing",
            "the entry list does not say how many comments {n} entries have ({ids}), so some may be missing",
            len(unstated),
            ids=_first(unstated),
        )


def _short(comments: Mapping[str, int]) -> str:
    return message_n(
        "{count} comments that the entries count are not on the comment list (of entry {ids}); "
        "the service keeps them back",
        "{count} comments that the entries count are not on the comment list (of entries {ids}); "
        "the service keeps them back",
        len(comments),
        count=sum(comments.values()),
        ids=_first(list(comments)),
    )


def _file_totals(files: SweepResult, unlisted: int) -> Iterator[str]:
    """Yield what the totals say against the list; one that was cut short has its own problems."""
    if not files.complete:
        return
    if files.total is not None and (unlisted or files.listed > files.total):
        yield message(
            "the file list holds {listed} files, its summary counts {total}", listed=files.listed, total=files.total
        )
    elif files.tally is not None and files.total_size is not None and files.tally > files.total_size:
        yield message(
            "the {listed} files on the list have {tally} bytes together, and its summary says {total_size}",
            listed=files.listed,
            tally=files.tally,
            total_size=files.total_size,
        )
    elif files.tally is not None and files.total_size is not None and files.tally < files.total_size:
        yield (
            message(
                "the {listed} files on the list have {tally} bytes together, its summary says "
                "{total_size}; the service keeps some back",
                listed=files.listed,
                tally=files.tally,
                total_size=files.total_size,
            )
        )


def _asset_problems(assets: AssetSummary, *, strict_assets: bool) -> Iterator[RecordProblem]:
    """Yield what is not saved though it was asked for: uploads nobody can address, and what failed for now."""
    if assets.nameless:
        lack = message("nothing says where uploads are served: give the rule with --file-url or --profile")
        if assets.file_url is not None:
            lack = message(
                "the rule {file_url} needs a field that the record lacks: give another one with --file-url",
                file_url=assets.file_url,
            )
        reason = message_n(
            "{n} upload is not saved ({ids}): {lack}, or leave uploads out with --assets embedded",
            "{n} uploads are not saved ({ids}): {lack}, or leave uploads out with --assets embedded",
            len(assets.nameless),
            ids=_first(assets.nameless),
            lack=lack,
        )
        yield RecordProblem(str(Kind.FILES), None, reason)
    if assets.doubted:
        yield RecordProblem(
            str(Kind.FILES),
            None,
            message(
                "{count} uploads are not saved: nothing is where the rule {file_url} leads; "
                "if it is wrong, correct it with --file-url",
                count=len(assets.doubted),
                file_url=assets.file_url,
            ),
        )
    for absent in assets.of(AssetState.PENDING):
        if absent.url not in assets.doubted:
            yield RecordProblem(str(Kind.ASSETS), absent.url, absent.reason)
    for refused in assets.of(AssetState.REFUSED):
        yield RecordProblem(str(Kind.ASSETS), refused.url, refused.reason)
    for doubtful in assets.of(AssetState.DOUBTFUL):
        yield RecordProblem(
            str(Kind.ASSETS),
            doubtful.url,
            message(
                "doubtful: {doubt}. The file is kept; if it is right, confirm it with --accept-doubtful",
                doubt=doubtful.reason,
            ),
        )
    if strict_assets:
        yield from (RecordProblem(str(Kind.ASSETS), lost.url, lost.reason) for lost in assets.of(AssetState.LOST))


def _first(ids: Sequence[str]) -> str:
    return ", ".join(each[:40] for each in ids[:_NAMED]) + (", …" if len(ids) > _NAMED else "")
