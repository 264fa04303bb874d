"""Options and arguments for copies: folders, addresses and identities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.help import PATH, option
from exporter.cli.options import Command, complete_folders, ending_with_damage
from exporter.cli.output import Output, counted
from exporter.message import message, message_n

if TYPE_CHECKING:
    from exporter.copies.object_lock import Locked
    from exporter.copies.store import Store

identity_option = option(
    "--identity",
    "identities",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help=message("File of an age identity, to read an encrypted copy."),
)


def is_place_of_copies(place: str) -> bool:
    """Return whether a place is an address, or the folder of an encrypted copy.

    Raises:
        UsageError: the address is of an unsupported kind.
    """
    from exporter.copies.store import is_address

    return is_address(place) or (Path(place) / "encrypted-copy.json").is_file()


def is_copy(place: str, identities: Sequence[Path]) -> bool:
    """Return whether a place must be read through a store: an address or an encrypted folder."""
    return bool(identities) or is_place_of_copies(place)


def store_at(place: str, identities: tuple[Path, ...]) -> Store:
    """Return the store at a place, for reading."""
    from exporter.copies.opening import StoreOptions, open_store

    return open_store(place, StoreOptions(identities=identities))


def warn_about_locked(out: Output, locked: Locked) -> None:
    """Show the locks of a copy."""
    files = counted(locked.objects, "file")
    if locked.until is None:
        text = message_n(
            "{n:,} of {files} has no lock.", "{n:,} of {files} have no lock.", locked.unlocked, files=files
        )
        out.answer(text)
        return
    text = message(
        "Locked until {date} at least: {files}, {renewed:,} of them renewed.",
        date=f"{locked.until:%Y-%m-%d}",
        files=files,
        renewed=locked.renewed,
    )
    out.answer(text)


def readable_archive(need: str, metavar: str = "DIR") -> Callable[[Command], Command]:
    """Add the argument DIR. A copy is fetched into the cache, and the command receives the folder as ``archive``.

    Args:
        need: the name of a :class:`~exporter.copies.cache.Need`.
        metavar: the name in the help; in brackets if the argument is optional.
    """

    def decorate(command: Command) -> Command:
        @identity_option
        @wraps(command)
        def wrapped(*, archive: str | None, identities: tuple[Path, ...], **given: Any) -> Any:
            if archive is not None and is_copy(archive, identities):
                return command(archive=_fetched(archive, identities, need, given), **given)
            place = None if archive is None else Path(archive)
            with ending_with_damage(place):
                return command(archive=place, **given)

        required = not metavar.startswith("[")
        add = click.argument("archive", metavar=metavar, required=required, shell_complete=complete_folders)
        return add(wrapped)

    return decorate


def _fetched(copy: str, identities: tuple[Path, ...], need: str, given: dict[str, Any]) -> Path:
    from exporter.cli.progress import ProgressBar
    from exporter.copies.cache import Need, fetched

    needed = max(Need[need], Need.RECORDS) if given.get("entry") else Need[need]
    out = Output(as_json=bool(given.get("as_json")), verbosity=-1 if given.get("quiet") else 0)
    with ProgressBar(out, message("fetching")) as bar:
        return fetched(store_at(copy, identities), needed, given.get("at"), bar.update)
