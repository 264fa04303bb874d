"""Options and arguments for copies: folders, addresses, recipients and identities."""

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
from exporter.copies.store import is_address
from exporter.message import message, message_n

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from exporter.copies.object_lock import Locked
    from exporter.copies.opening import StoreOptions
    from exporter.copies.store import Store

Command = Callable[..., Any]


def places(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Let the shell complete folders."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="dir")]


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """The options for encrypted copies.

    Attributes:
        encrypt_to: the recipients.
        recipients_file: a file of recipients.
        identities: files of identities for reading.
    """

    encrypt_to: tuple[str, ...] = ()
    recipients_file: Path | None = None
    identities: tuple[Path, ...] = ()

    def options(self) -> StoreOptions:
        """Return the options for opening a store."""
        from exporter.copies.opening import StoreOptions

        return StoreOptions(self.encrypt_to, self.identities)

    def to_send(self, target: str, warn: Callable[[str], None]) -> StoreChoice:
        """Return the options with all recipients for a target, including those of the file and of the settings.

        The settings apply to addresses and to folders with an encrypted copy. To begin an encrypted copy in a folder,
        the command needs an option.

        Raises:
            UsageError: the file or a setting is invalid.
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
        """Return whether a place must be read through a store: an address or an encrypted folder."""
        return is_place_of_copies(place) or bool(self.identities)

    def is_sent_to(self, place: str) -> bool:
        """Return whether a target receives objects, and not an archive."""
        return is_place_of_copies(place) or bool(self.encrypt_to)

    def open(self, place: str) -> Store:
        """Return the store at a place."""
        from exporter.copies.opening import open_store

        return open_store(place, self.options())


def is_place_of_copies(place: str) -> bool:
    """Return whether a place is an address, or the folder of an encrypted copy.

    Raises:
        UsageError: the address is of an unsupported kind.
    """
    return is_address(place) or (Path(place) / "encrypted-copy.json").is_file()


def warn_about_locked(out: Output, locked: Locked) -> None:
    """Show the locks of a copy."""
    files = counted(locked.objects, "file")
    if locked.until is None:
        out.answer(
            message_n("{n:,} of {files} has no lock.", "{n:,} of {files} have no lock.", locked.unlocked, files=files)
        )
        return
    out.answer(
        message(
            "Locked until {date} at least: {files}, {renewed:,} of them renewed.",
            date=f"{locked.until:%Y-%m-%d}",
            files=files,
            renewed=locked.renewed,
        )
    )


def store_options(*, writing: bool = False) -> Callable[[Command], Command]:
    """Add the options for encrypted copies; the command receives them as ``store``, a :class:`StoreChoice`."""

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
            help=message("File of an age identity, to read an encrypted copy."),
        )(wrapped)
        if writing:
            made = option(
                "--recipients-file",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help=message("Encrypt to the age recipients in a file, one on each line."),
            )(made)
            made = option(
                "--encrypt-to",
                multiple=True,
                metavar="RECIPIENT",
                help=message("Encrypt to this age recipient (age1…); may be repeated."),
            )(made)
        return made

    return decorate


def readable_archive(need: str, metavar: str = "DIR") -> Callable[[Command], Command]:
    """Add the argument DIR. A copy is fetched into the cache, and the command receives the folder as ``archive``.

    Args:
        need: the name of a :class:`~exporter.copies.cache.Need`.
        metavar: the name in the help; in brackets if the argument is optional.
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
