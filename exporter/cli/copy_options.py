"""Where a copy is, on the command line: folders, addresses, and what opens them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.help import option
from exporter.cli.options import ending_with_damage
from exporter.cli.output import Output, counted
from exporter.copies.address import is_address
from exporter.message import message, message_n

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from exporter.copies.object_lock import Locked
    from exporter.copies.opening import StoreOptions
    from exporter.copies.store import Store

Command = Callable[..., Any]


def places(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Let the shell complete to folders."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="dir")]


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """What was said of how a copy is kept.

    Attributes:
        encrypt_to: the recipients that it is to be readable for.
        recipients_file: a file of such recipients.
        identities: files of the identities to read it with.
    """

    encrypt_to: tuple[str, ...] = ()
    recipients_file: Path | None = None
    identities: tuple[Path, ...] = ()

    def options(self) -> StoreOptions:
        """Return it as the store wants it."""
        from exporter.copies.opening import StoreOptions

        return StoreOptions(self.encrypt_to, self.identities)

    def to_send(self, target: str, warn: Callable[[str], None]) -> StoreChoice:
        """Return it with all recipients of what is sent to a place, those of the file and of the settings among them.

        What the settings say counts for addresses, and for folders that hold an encrypted copy already: whether a
        folder is to become one is said with the command.

        Raises:
            UsageError: the file or a setting cannot be right.
        """
        given, file = self.encrypt_to, self.recipients_file
        if not given and file is None and (is_place_of_copies(target)):
            from exporter.settings import resolve

            settings = resolve({}, warn=warn)
            given, file = settings.encrypt_to, settings.recipients_file
        if file is not None:
            from exporter.copies.age_files import recipients_in

            given = (*given, *recipients_in(file))
        return StoreChoice(given, None, self.identities)

    def is_copy(self, place: str) -> bool:
        """Tell whether a place is to be read through a store: an address, or a folder whose content is encrypted."""
        return is_place_of_copies(place) or bool(self.identities)

    def is_sent_to(self, place: str) -> bool:
        """Tell whether a place gets objects, and not an archive."""
        return is_place_of_copies(place) or bool(self.encrypt_to)

    def open(self, place: str) -> Store:
        """Return the store at a place."""
        from exporter.copies.opening import open_store

        return open_store(place, self.options())


def is_place_of_copies(place: str) -> bool:
    """Return whether a place is an address, or the folder of an encrypted copy.

    Raises:
        UsageError: it is an address of a kind that is not supported.
    """
    return is_address(place) or (Path(place) / "encrypted-copy.json").is_file()


def tell_locked(out: Output, locked: Locked) -> None:
    """Say until when a copy is locked."""
    files = counted(locked.objects, "file")
    if locked.until is None:
        out.answer(
            message_n("{n:,} of {files} has no lock.", "{n:,} of {files} have no lock.", locked.unlocked, files=files)
        )
        return
    out.answer(
        message(
            "Locked until {date} at least: {files}, {renewed:,} of them anew.",
            date=f"{locked.until:%Y-%m-%d}",
            files=files,
            renewed=locked.renewed,
        )
    )


def store_options(*, writing: bool = False) -> Callable[[Command], Command]:
    """Add the options that say how copies are kept, handed to the command as ``store``, a :class:`StoreChoice`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(
            *,
            identities: tuple[Path, ...],
            encrypt_to: tuple[str, ...] = (),
            recipients_file: Path | None = None,
            **given: Any,
        ) -> Any:
            return command(store=StoreChoice(encrypt_to, recipients_file, identities), **given)

        made = option(
            "--identity",
            "identities",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FILE",
            help=message("File of an age identity, to read an encrypted copy with."),
        )(wrapped)
        if writing:
            made = option(
                "--recipients-file",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help=message("Encrypt it to the age recipients in a file, one on a line."),
            )(made)
            made = option(
                "--encrypt-to",
                multiple=True,
                metavar="RECIPIENT",
                help=message("Encrypt what is sent to this age recipient (age1…); may be repeated."),
            )(made)
        return made

    return decorate


def readable_archive(need: str, metavar: str = "DIR") -> Callable[[Command], Command]:
    """Add DIR, which may be a copy: it is fetched as far as the command needs it, and ``archive`` is where it then is.

    Args:
        need: the name of a :class:`~exporter.copies.cache.Need`.
        metavar: how the help calls it; in brackets where it may be left out.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(*, archive: str | None, store: StoreChoice, **given: Any) -> Any:
            place = None if archive is None else _place(archive, store, need, given)
            with ending_with_damage(None if archive is None or store.is_copy(archive) else place):
                return command(archive=place, **given)

        made = store_options()(wrapped)
        return click.argument("archive", metavar=metavar, required=not metavar.startswith("["), shell_complete=places)(
            made
        )

    return decorate


def _place(archive: str, store: StoreChoice, need: str, given: dict[str, Any]) -> Path:
    """Return the folder to read."""
    if not store.is_copy(archive):
        return Path(archive)
    from exporter.cli.progress import ProgressBar
    from exporter.copies.cache import Need, fetched

    needed = max(Need[need], Need.RECORDS) if given.get("entry") else Need[need]
    out = Output(as_json=bool(given.get("as_json")), verbosity=-1 if given.get("quiet") else 0)
    with ProgressBar(out, message("fetching")) as bar:
        return fetched(store.open(archive), needed, given.get("at"), bar.update)
