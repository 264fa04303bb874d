"""``seal``: prove an archive's present content with a signature, a timestamp, or both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from exporter.archive.archive import Archive
from exporter.cli.help import cli_command
from exporter.cli.options import archive_argument, with_archive
from exporter.cli.output import Output
from exporter.errors import BlogExporterError, Interrupted
from exporter.message import Message, message, said, suggested
from exporter.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.evidence.sealing import Sealed
    from exporter.evidence.timestamps import Timestamp

_EPILOG = message(
    """\b
Examples:
  blog-exporter seal DIR --seal-key ~/.ssh/id_ed25519
  blog-exporter seal DIR --tsa https://tsa.example.org/
  blog-exporter backup DIR --seal      (a seal after each backup)
  blog-exporter verify DIR --evidence
"""
)


@cli_command(
    "seal",
    epilog=_EPILOG,
    help=message(
        """Prove the present content of the archive in DIR: sign the hash of its newest version, have a timestamp
        authority confirm the time, or both.

        Nothing but a hash leaves this machine. The seal is kept in DIR/evidence/. verify --evidence checks all seals
        without a network. Keep a copy of each seal elsewhere, since anyone with write access can remove seals.
        Exits with 20 if the authority gives no timestamp; a signature is then kept, and the next seal asks again."""
    ),
)
@archive_argument
@click.option(
    "--rewritten",
    is_flag=True,
    help=message("Confirm that you pruned the archive, or let it forget records, after its newest seal."),
)
@with_archive("seal_key", "tsa", "tsa_root", "wait_lock")
def seal_command(*, out: Output, archive: Archive, settings: Settings, rewritten: bool) -> int:
    """Run ``seal``."""
    from exporter.evidence.libraries import require_libraries

    require_libraries()
    from exporter.evidence.sealing import seal

    made = seal(archive, settings, rewritten=rewritten)
    out.document(seal_document(archive.path, made))
    for line in seal_lines(archive.path, made):
        out.answer(line)
    if made.trouble is not None:
        raise made.trouble
    return 0


def seal_after_backup(root: Path, settings: Settings, out: Output) -> dict[str, Any] | None:
    """Seal the archive after a backup; a failure is a warning, since the backup is saved.

    Returns:
        The JSON object about the seal, or ``None`` if none exists.
    """
    from exporter.evidence.libraries import require_libraries

    try:
        require_libraries()
        from exporter.evidence.sealing import seal

        made = seal(Archive.open(root), settings)
    except Interrupted:
        raise
    except BlogExporterError as error:
        out.warn("The backup is saved, but it was not sealed. {reason}", reason=said(error))
        return None
    for line in seal_lines(root, made):
        out.say(line)
    if made.trouble is not None:
        out.warn("The backup is saved, but its time was not confirmed. {reason}", reason=said(made.trouble))
    return seal_document(root, made)


def seal_document(root: Path, made: Sealed) -> dict[str, Any]:
    """Return the JSON object about a seal."""
    return {
        "archive": str(root.absolute()),
        "seal": None if made.seal is None else made.seal.number,
        "new": made.new,
        "version": made.statement.version,
        "sha256": None if made.seal is None else made.seal.digest,
        "signed_by": made.signer,
        "existed_by": None if made.stamp is None else made.stamp.time.isoformat(),
        "authority": None if made.stamp is None else made.stamp.authority,
        "trouble": None if made.trouble is None else str(made.trouble),
    }


def seal_lines(root: Path, made: Sealed) -> Iterator[Message]:
    """Yield the lines about a seal."""
    if made.seal is None:
        yield message("No seal was made.")
        return
    values = {"number": made.seal.number, "version": made.statement.version}
    if not made.new:
        yield message("Seal {number} already has version {version}.", **values)
        return
    yield message("Seal {number}: version {version} and everything before it.", **values)
    if made.signer is not None:
        yield message("Signed by {key}", key=made.signer)
    if made.stamp is not None:
        yield message(
            "Existed by {time}, as {authority} confirms", time=stamp_text(made.stamp), authority=made.stamp.authority
        )
    yield message("Hash of the seal: {hash}", hash=made.seal.digest)
    yield message(
        "Keep a copy of {folder}, or at least this hash, in another place. To check it later: {command}",
        folder=root / made.seal.place,
        command=suggested("verify", root, "--evidence", "--seal", made.seal.digest),
    )


def stamp_text(stamp: Timestamp) -> str:
    """Return a timestamp's time for people, in UTC."""
    return f"{stamp.time:%Y-%m-%d %H:%M:%S} UTC"
