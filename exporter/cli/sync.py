"""``sync``: copy an archive or a fleet to another place, or restore it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.help import PATH, cli_command
from exporter.cli.options import (
    complete_archives,
    complete_folders,
    duration_option,
    identity_option,
    opened,
    place_named,
    setting_options,
    warn_about_locked,
    with_output,
)
from exporter.cli.output import Output, counted, shown, size_text
from exporter.errors import ArchiveDamaged
from exporter.message import listed, message, said
from exporter.settings import resolve
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.copies.encrypted import EncryptedStore
    from exporter.copies.transfer import SyncResult

_EPILOG = """\b
Examples:
  blog-exporter sync DIR /mnt/disk/copy
  blog-exporter sync DIR s3://bucket/blogs/mine
  blog-exporter sync s3://bucket/blogs/mine NEW_DIR
"""


@cli_command(
    "sync",
    epilog=_EPILOG,
    help=message(
        """Copy the archive or fleet at SOURCE to TARGET, or restore it from a copy. Only missing files are sent.

        SOURCE and TARGET are folders, or one of them is an address such as s3://bucket/prefix. From a copy, the command
        fills a new folder or updates an older archive. Each file is verified by its hash: damaged files are named
        and not sent, and never overwrite others. Exits with 13 in this case, and with 15 if the two histories
        differ."""
    ),
)
@click.argument("source", metavar="SOURCE", shell_complete=complete_archives)
@click.argument("target", metavar="TARGET", shell_complete=complete_folders)
@click.option("--prune", is_flag=True, help=message("Also remove versions at TARGET that a prune has folded."))
@click.option("--dry-run", is_flag=True, help=message("Only show the files that would be sent."))
@click.option("--new", is_flag=True, help=message("Begin a new copy at TARGET, which is empty and had a copy."))
@click.option(
    "--object-lock", metavar="TIME", help=message("Lock all objects at an s3://… TARGET for this time (90d).")
)
@setting_options("wait_lock")
@click.option(
    "--encrypt-to",
    multiple=True,
    metavar="RECIPIENT",
    help=message("Encrypt to this age recipient (age1…); may be repeated."),
)
@click.option(
    "--recipients-file",
    type=PATH,
    metavar="FILE",
    help=message("Encrypt to the age recipients in a file, one on each line."),
)
@identity_option
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
    encrypt_to: tuple[str, ...],
    recipients_file: Path | None,
    identities: tuple[Path, ...],
) -> int:
    """Run ``sync``."""
    from exporter.cli.progress_bar import ProgressBar
    from exporter.copies.opening import StoreOptions
    from exporter.copies.store import is_place_of_copies
    from exporter.copies.sync import LockRequest, SyncOptions, sync
    from exporter.library.sync import require_whole

    source = place_named(source)
    lock = None if object_lock is None else LockRequest(duration_option("--object-lock", object_lock))
    synced: list[SyncResult] = []
    wait = resolve({"wait_lock": wait_lock}).wait_lock
    recipients = _recipients(target, encrypt_to, recipients_file, out)
    store = StoreOptions(recipients, identities)
    options = SyncOptions(prune, dry_run, store, lambda found: _print_readers(out, found), lock, wait, new)
    sends_objects = bool(recipients) or is_place_of_copies(target)
    with ProgressBar(out, message("sending")) as bar:
        for each in sync(source, target, options, lambda _name: bar.update):
            synced.append(each)
            _print(out, each, source if each.archive == "." else each.archive, dry_run=dry_run)
            if each.objects and not dry_run and not sends_objects:
                # Damaged files are named below, so an error from them in latest/ is not reported again.
                with suppress(*(ArchiveDamaged,) if each.damaged else ()):
                    _refresh(out, Path(target) / each.archive)
    locked = None if lock is None else lock.locked
    out.document(
        {
            "source": source,
            "target": target,
            "dry_run": dry_run,
            "objects": sum(each.objects for each in synced),
            "bytes": sum(each.bytes for each in synced),
            "archives": [each.document() for each in synced],
            "locked": None if locked is None else locked.document(),
        }
    )
    if locked is not None and (locked.unlocked or out.verbosity >= 0):
        warn_about_locked(out, locked)
    require_whole(synced, source, target, sends_objects=sends_objects)
    return 0


def _recipients(target: str, given: tuple[str, ...], file: Path | None, out: Output) -> tuple[str, ...]:
    """Return all age recipients for a target, including those of the file, or else of the settings.

    The settings apply to addresses and to folders with an encrypted copy. To begin an encrypted copy in a folder, the
    command needs an option.

    Raises:
        UsageError: the file or a setting is invalid.
    """
    from exporter.copies.store import is_place_of_copies

    if not given and file is None and is_place_of_copies(target):
        settings = resolve({}, warn=out.warn)
        given, file = settings.encrypt_to, settings.recipients_file
    if file is None:
        return given
    from exporter.copies.age_files import recipients_in

    return (*given, *recipients_in(file))


def _print_readers(out: Output, store: EncryptedStore) -> None:
    """Warn about recipients who can decrypt only some objects."""
    changed = store.changed_readers()
    if changed.added:
        out.warn(
            "{who} can only decrypt new objects in {place}: to include the old ones, sync to a new place.",
            who=listed(changed.added),
            place=store.place,
        )
    if changed.dropped:
        out.warn(
            "{who} cannot decrypt new objects in {place}, but can still decrypt the old ones.",
            who=listed(changed.dropped),
            place=store.place,
        )


def _print(out: Output, each: SyncResult, name: str, *, dry_run: bool) -> None:
    from exporter.copies.contents import Relation

    for path in each.damaged:
        out.warn("{path} is damaged or missing, and is not sent.", path=printable(path, 200))
    for path in each.damaged_there:
        out.warn("{path} at the target is wrong.", path=printable(path, 200))
    if each.rolled_back is not None:
        out.warn(
            "{name}: the copy had version {before} after the last sync and now has only version {found}: an older "
            "state replaced it, or versions were removed.",
            name=printable(name, 200),
            before=each.rolled_back[0],
            found=each.rolled_back[1],
        )
    values: dict[str, Any] = {
        "name": printable(name, 200),
        "versions": counted(len(each.versions), "version"),
        "files": counted(each.objects, "file"),
        "size": size_text(each.bytes),
    }
    if each.error is not None:
        out.warn("{name}: {reason}", name=values["name"], reason=shown(said(each.error), 1000))
    elif each.relation is Relation.BEHIND:
        out.done("{name}: the copy has newer versions; nothing was sent.", **values)
    elif not each.objects:
        out.done("{name}: nothing is missing.", **values)
    elif dry_run:
        out.answer("{name}: would send {versions}, {files}, {size}.", **values)
    else:
        out.done("{name}: sent {versions}, {files}, {size}.", **values)


def _refresh(out: Output, root: Path) -> None:
    """Update ``latest/`` of a restored archive, if it exists."""
    from exporter.library.sync import refresh_restored

    archive, settings = opened(out, root, {}, None)
    if archive.versions() and not refresh_restored(archive, settings):
        out.say("{root} has no Markdown and no site yet; to make them, run rebuild {root}.", root=root, level=1)
