"""Copy an archive or a fleet to another place, or restore it, and refuse to call an incomplete copy a success."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from exporter.archive.archive import Archive
from exporter.archive.layout import MANIFEST, SUMS
from exporter.arguments import checked, wrong
from exporter.copies.opening import StoreOptions
from exporter.copies.store import is_place_of_copies
from exporter.copies.sync import LockRequest, SyncOptions
from exporter.copies.sync import sync as transfer
from exporter.copies.transfer import SyncResult
from exporter.errors import ArchiveDamaged, Incomplete
from exporter.message import message_n, said, suggested
from exporter.setting_types import accepted, duration
from exporter.settings import Settings
from exporter.text import printable


@checked
def sync(
    source: Path | str,
    target: Path | str,
    *,
    prune: bool = False,
    dry_run: bool = False,
    new: bool = False,
    object_lock: timedelta | None = None,
    wait_lock: timedelta = timedelta(),
    encrypt_to: tuple[str, ...] = (),
    identities: tuple[Path, ...] = (),
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
    on_result: Callable[[SyncResult], None] = lambda _: None,
) -> list[SyncResult]:
    """Copy an archive or a fleet to another place, or restore it from a copy. Only missing files are sent.

    Args:
        source: a folder, or an address such as ``s3://bucket/prefix``.
        target: the same; one of the two is a folder.
        prune: also remove versions at the target that a prune has folded.
        dry_run: send nothing, and return the plan.
        new: begin a new copy at the target, which is empty and had a copy.
        object_lock: lock all objects at an ``s3://…`` target for this time.
        wait_lock: how long to wait for another process that writes the archive.
        encrypt_to: the age recipients of an encrypted copy.
        identities: the files of age identities, to read an encrypted copy.
        on_progress: called with the bytes sent and all bytes.
        on_result: called with the result of each archive, also if an error ends the call later.

    Returns:
        a result for each archive.

    Raises:
        UsageError: the places do not fit.
        HistoriesDiffer: both sides have versions that the other lacks; nothing was sent.
        ArchiveDamaged: files are damaged at one side, which were not sent, or the copy was rolled back.
        Incomplete: some archives of a fleet could not be synced; ``error`` of their results says why.
    """
    for name, value in (("object_lock", object_lock), ("wait_lock", wait_lock)):
        try:
            _ = value is None or accepted(duration, value)
        except ValueError as error:
            raise wrong(name, value, error) from None
    options = SyncOptions(
        prune=prune,
        dry_run=dry_run,
        store=StoreOptions(encrypt_to, identities),
        lock=None if object_lock is None else LockRequest(object_lock),
        wait_lock=wait_lock,
        new=new,
    )
    source, target = str(source), str(target)
    sends_objects = bool(encrypt_to) or is_place_of_copies(target)
    synced = []
    for each in transfer(source, target, options, lambda _: on_progress):
        synced.append(each)
        on_result(each)
        if each.objects and not dry_run and not sends_objects:
            with suppress(*(ArchiveDamaged,) if each.damaged else ()):
                refresh_restored(Archive.open(Path(target) / each.archive), Settings(wait_lock=wait_lock))
    require_whole(synced, source, target, sends_objects=sends_objects)
    return synced


def refresh_restored(archive: Archive, settings: Settings) -> bool:
    """Update a restored archive's ``latest/``, and return whether it exists."""
    if not archive.versions() or not archive.layout.latest.is_dir():
        return False
    from exporter.library.views import refresh  # noqa: PLC0415 - copies to other places have no views

    refresh(archive, settings)
    return True


def require_whole(synced: Sequence[SyncResult], source: str, target: str, *, sends_objects: bool) -> None:
    """Refuse results of a sync that leave the two places different.

    Args:
        synced: the results.
        source: the place that was read.
        target: the place that was written.
        sends_objects: whether the target is no plain folder.

    Raises:
        Incomplete: some archives could not be synced.
        ArchiveDamaged: files are damaged at one side, or the copy was rolled back.
    """
    failed = [each for each in synced if each.error is not None]
    damaged = sum(len(each.damaged) for each in synced)
    there = sum(len(each.damaged_there) for each in synced)
    if failed:
        raise Incomplete(
            "{n:,} of {all:,} archives could not be synced. The first is {name}: {reason}",
            n=len(failed),
            all=len(synced),
            name=printable(failed[0].archive, 200),
            reason=said(failed[0].error or Incomplete()),
        )
    if damaged:
        text = message_n(
            "{n:,} file in {source} is damaged or missing and was not sent: run verify {source}.",
            "{n:,} files in {source} are damaged or missing and were not sent: run verify {source}.",
            damaged,
            source=source,
        )
        raise ArchiveDamaged(text)
    if there:
        where: dict[str, Any] = {"target": target, "repair": suggested("verify", "--repair", target)}
        if not sends_objects and any(_is_document(each.damaged_there) for each in synced):
            text = message_n(
                "{n:,} file in {target} is wrong: run {repair}, and sync again.",
                "{n:,} files in {target} are wrong: run {repair}, remove the files that it names, and sync again.",
                there,
                **where,
            )
        else:
            text = message_n(
                "{n:,} file in {target} is wrong: remove it there, and run sync again.",
                "{n:,} files in {target} are wrong: remove them there, and run sync again.",
                there,
                **where,
            )
        raise ArchiveDamaged(text)
    if any(each.rolled_back for each in synced):
        raise ArchiveDamaged(
            "{target} was rolled back since the last sync: find out why, and run verify {target}.", target=target
        )


def _is_document(names: Sequence[str]) -> bool:
    """Return whether the names include a manifest or a list of hashes, which a version in a folder needs."""
    return any(PurePosixPath(name).name in {MANIFEST, SUMS} for name in names)
