"""``sync``: a second copy of an archive or a fleet, and the way back."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from exporter.archive.layout import MANIFEST, SUMS
from exporter.cli.copy_options import StoreChoice, places, store_options, tell_locked
from exporter.cli.help import option
from exporter.cli.options import duration_option, setting_options, with_output
from exporter.cli.output import Output, counted, shown, size_text
from exporter.errors import ArchiveDamaged, Incomplete
from exporter.message import listed, message, message_n, said, suggested
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporter.copies.encrypted import EncryptedStore
    from exporter.copies.object_lock import Locked
    from exporter.copies.syncing import Synced

_EPILOG = """\b
Examples:
  blog-exporter sync DIR /mnt/disk/copy
  blog-exporter sync DIR s3://bucket/blogs/mine
  blog-exporter sync s3://bucket/blogs/mine NEW_DIR
"""


@click.command(
    "sync",
    epilog=_EPILOG,
    help=message(
        """Bring the copy at TARGET up to the archive or fleet at SOURCE: send what is missing there, and nothing else.

        Both are folders, or one is an address such as s3://bucket/prefix. The other way round, the copy comes back
        into a new folder, or brings an older one up to date. Every file is compared with its hash on the way; what
        is damaged at SOURCE is named and not sent, and nothing is ever overwritten by it. Exits with 13 then, and
        with 15 where the two have different histories."""
    ),
)
@click.argument("source", metavar="SOURCE", shell_complete=places)
@click.argument("target", metavar="TARGET", shell_complete=places)
@option("--prune", is_flag=True, help=message("Forget at TARGET, too, the versions that a prune has folded at SOURCE."))
@option("--dry-run", is_flag=True, help=message("Only say what would be sent."))
@option("--new", is_flag=True, help=message("Begin a new copy at TARGET, where one was before and nothing is now."))
@option(
    "--object-lock",
    metavar="TIME",
    help=message("Lock everything at TARGET, an s3://… with object lock, for at least so long from now on (90d)."),
)
@setting_options("wait_lock")
@store_options(writing=True)
@with_output()
def command(
    *,
    out: Output,
    source: str,
    target: str,
    prune: bool,
    dry_run: bool,
    new: bool,
    object_lock: str | None,
    wait_lock: str | None,
    store: StoreChoice,
) -> int:
    """Run ``sync``."""
    from exporter.cli.progress import ProgressBar
    from exporter.copies.syncing import LockWish, SyncOptions, sync
    from exporter.settings import resolve

    wish = None if object_lock is None else LockWish(duration_option("--object-lock", object_lock))
    synced: list[Synced] = []
    store = store.to_send(target, out.warn)
    wait = resolve({"wait_lock": wait_lock}).wait_lock
    options = SyncOptions(prune, dry_run, store.options(), lambda found: _print_readers(out, found), wish, wait, new)
    with ProgressBar(out, message("sending")) as bar:
        for each in sync(source, target, options, lambda _name: bar.update):
            synced.append(each)
            _print(out, each, source if each.archive == "." else each.archive, dry_run=dry_run)
            if each.objects and not dry_run and not store.is_sent_to(target):
                # What is damaged is named below; where it keeps latest/ from being made, that is no news.
                with suppress(*(ArchiveDamaged,) if each.damaged else ()):
                    _refresh(out, Path(target) / each.archive)
    locked = None if wish is None else wish.locked
    out.document(_document(source, target, synced, dry_run=dry_run, locked=locked))
    if locked is not None and (locked.unlocked or out.verbosity >= 0):
        tell_locked(out, locked)
    failed = [each for each in synced if each.error is not None]
    damaged = sum(len(each.damaged) for each in synced)
    there = sum(len(each.damaged_there) for each in synced)
    if failed:
        raise Incomplete(
            message_n(
                "{n:,} of {all:,} archives could not be synced; the lines above say why.",
                "{n:,} of {all:,} archives could not be synced; the lines above say why.",
                len(failed),
                all=len(synced),
            )
        )
    if damaged:
        raise ArchiveDamaged(
            message_n(
                "{n:,} file in {source} is damaged or missing and was not sent: run verify {source}.",
                "{n:,} files in {source} are damaged or missing and were not sent: run verify {source}.",
                damaged,
                source=source,
            )
        )
    if there and not store.is_sent_to(target) and any(_is_document(each.damaged_there) for each in synced):
        raise ArchiveDamaged(
            message_n(
                "{n:,} file in {target} is not what was sent: run {repair}, and sync again.",
                "{n:,} files in {target} are not what was sent: run {repair}, remove what it still names, and sync "
                "again.",
                there,
                target=target,
                repair=suggested("verify", "--repair", target),
            )
        )
    if there:
        raise ArchiveDamaged(
            message_n(
                "{n:,} file in {target} is not what was sent: remove it there, and run sync again.",
                "{n:,} files in {target} are not what was sent: remove them there, and run sync again.",
                there,
                target=target,
            )
        )
    if any(each.rolled_back for each in synced):
        raise ArchiveDamaged(
            message(
                "{target} was rolled back since the last sync: find out why, and run verify {target}.", target=target
            )
        )
    return 0


def _is_document(names: Sequence[str]) -> bool:
    """Tell whether a manifest or a list of hashes is among names, which a version in a folder cannot be without."""
    return any(PurePosixPath(name).name in {MANIFEST, SUMS} for name in names)


def _print_readers(out: Output, store: EncryptedStore) -> None:
    """Say who of the recipients can read only a part."""
    changed = store.changed_readers()
    if changed.added:
        out.warn(
            message(
                "{who} can read only what is sent to {place} from now on: for the rest, sync to a new place.",
                who=listed(changed.added),
                place=store.place,
            )
        )
    if changed.dropped:
        out.warn(
            message(
                "{who} cannot read what is sent to {place} from now on, and can still read what was sent before.",
                who=listed(changed.dropped),
                place=store.place,
            )
        )


def _document(
    source: str, target: str, synced: list[Synced], *, dry_run: bool, locked: Locked | None
) -> dict[str, Any]:
    return {
        "source": source,
        "target": target,
        "dry_run": dry_run,
        "objects": sum(each.objects for each in synced),
        "bytes": sum(each.bytes for each in synced),
        "archives": [each.document() for each in synced],
        "locked": None if locked is None else locked.document(),
    }


def _print(out: Output, each: Synced, name: str, *, dry_run: bool) -> None:
    from exporter.copies.histories import Relation

    for path in each.damaged:
        out.warn(message("{path} is damaged or missing, and is not sent.", path=printable(path, 200)))
    for path in each.damaged_there:
        out.warn(message("{path} at the target is not what was sent.", path=printable(path, 200)))
    if each.rolled_back is not None:
        out.warn(
            message(
                "{name}: the copy had version {before} after the last sync and now has only version {found}: an older "
                "state was put in its place, or versions were removed.",
                name=printable(name, 200),
                before=each.rolled_back[0],
                found=each.rolled_back[1],
            )
        )
    values = {
        "name": printable(name, 200),
        "versions": counted(len(each.versions), "version"),
        "files": counted(each.objects, "file"),
        "size": size_text(each.bytes),
    }
    if each.error is not None:
        out.warn(message("{name}: {reason}", name=values["name"], reason=shown(said(each.error), 1000)))
    elif each.relation is Relation.BEHIND:
        out.done(message("{name}: the copy has newer versions; nothing is to be sent.", **values))
    elif not each.objects:
        out.done(message("{name}: nothing is missing.", **values))
    elif dry_run:
        out.answer(message("{name}: would send {versions}, {files}, {size}.", **values))
    else:
        out.done(message("{name}: sent {versions}, {files}, {size}.", **values))


def _refresh(out: Output, root: Path) -> None:
    """Bring ``latest/`` of an archive that got something up to date, where there is one."""
    from exporter.archive.archive import Archive
    from exporter.cli.target import settings_to_read_with
    from exporter.library.upkeep import refresh

    archive = Archive.open(root)
    if not archive.versions():
        return
    if archive.layout.latest.is_dir():
        refresh(archive, settings_to_read_with(archive, {}, None, out.warn))
    else:
        out.say(
            message("{root} has no Markdown and no site yet; to have them, run rebuild {root}.", root=root), level=1
        )
