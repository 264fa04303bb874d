"""Completeness, computed from what was read against what the service says there is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from exporter.archive.manifest import RecordProblem
from exporter.crawl.sweep import SweepResult
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.crawl.assets.join import AssetSummary
    from exporter.errors import ServiceError


def assess(
    sweeps: Mapping[Kind, SweepResult],
    *,
    number_of_sweeps: int,
    unread: Mapping[str, str],
    unlisted: int = 0,
    user: ServiceError | None,
    assets: AssetSummary | None = None,
    strict_assets: bool = False,
) -> tuple[dict[str, Any], list[RecordProblem]]:
    """Compare what was read with what the service says there is.

    Args:
        sweeps: the last sweep of each list; the entry list's tally is of ``comment_count``, the file list's of
            ``file_size``. Lists that kept changing are not compared: each was read at another moment.
        number_of_sweeps: how many times the lists were swept.
        unread: entry ids to the reason why they could not be read.
        unlisted: how many of these the entry list does not hold.
        user: why the user could not be read, or ``None``.
        assets: what became of pictures and files, or ``None`` when none were asked for.
        strict_assets: whether a lost one makes the backup incomplete; old blogs are full of dead links.

    Returns:
        The ``completeness`` object of FORMAT.md, and everything that could not be read.
    """
    problems = [RecordProblem(str(kind), None, text) for kind, result in sweeps.items() for text in result.problems]
    problems += [RecordProblem(str(Kind.ENTRIES), entry_id, reason) for entry_id, reason in unread.items()]
    if user is not None:
        problems.append(RecordProblem(str(Kind.USER), None, f"the user could not be read: {user}"))
    entries, comments, files = (sweeps[kind] for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES))
    both = (comments, entries)
    if all(result.complete and result.agreed for result in both) and comments.listed < entries.tally:
        problems.append(
            RecordProblem(
                str(Kind.COMMENTS),
                None,
                f"the comment list holds {comments.listed} comments, the entries count {entries.tally}; "
                "the service keeps some back",
            )
        )
    if files.complete and files.agreed and files.filenum is not None and files.listed < files.filenum:
        problems.append(
            RecordProblem(
                str(Kind.FILES),
                None,
                f"the file list holds {files.listed} files, its summary counts {files.filenum}",
            )
        )
    if assets is not None and strict_assets:
        problems += [RecordProblem(str(Kind.ASSETS), lost.url, lost.reason) for lost in assets.lost]
    document: dict[str, Any] = {
        "complete": not problems,
        "sweeps": number_of_sweeps,
        "sweeps_agreed": all(result.agreed for result in sweeps.values() if result.complete),
        "entries": {
            "listed": entries.listed,
            "read": entries.listed - (len(unread) - unlisted),
            "unread": len(unread),
            "list_complete": entries.complete,
        },
        "comments": {
            "read": comments.listed,
            "expected": entries.tally,
            "list_complete": comments.complete,
        },
        "files": {
            "read": files.listed,
            "expected": files.filenum,
            "bytes_read": files.tally,
            "bytes_expected": files.totalsize,
            "list_complete": files.complete,
        },
        "user": {"read": user is None},
    }
    if assets is not None:
        document["assets"] = {"held": assets.held, "lost": len(assets.lost)}
    return document, problems
