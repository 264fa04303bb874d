"""Whether an archive's backups start automatically, by this machine's schedulers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from exporter.archive.layout import FLEET_LEDGER
from exporter.errors import UsageError
from exporter.message import message, said, suggested
from exporter.schedule import schedulers
from exporter.schedule.programs import Scheduled
from exporter.service.declarations import DECLARATIONS

_FILES: Final = ("--config", "--token-file")


@dataclass(frozen=True, slots=True)
class Nightly:
    """The nightly backup of an archive. Every sentence about it is computed from these facts.

    Attributes:
        known: its schedule, as the scheduler has it; ``None`` if it has none or this is unknown.
        trouble: why no backup starts though one is scheduled, or why this is unknown; empty if one starts.
        advice: what to do if nothing is scheduled.
        command: the command of the advice that schedules it; empty if none can do it.
        printing: the command of the advice that prints the lines for another scheduler, if none here can do it.
    """

    known: Scheduled | None
    trouble: str = ""
    advice: str = ""
    command: str = ""
    printing: str = ""

    @property
    def starts(self) -> bool:
        """Whether the next backup starts automatically, as far as this machine tells."""
        return self.known is not None and not self.trouble

    @property
    def said(self) -> str:
        """The sentence about it, without the advice."""
        if self.trouble:
            return self.trouble
        if self.known is None:
            return message("No nightly backup is scheduled.")
        return message(
            "Next backup: {next}, by {scheduler}", next=self.known.next or "-", scheduler=self.known.scheduler
        )

    @property
    def next_step(self) -> str:
        """The advice with its command; empty without advice."""
        command = self.command or self.printing
        return message("{advice} {command}", advice=self.advice, command=command) if command else self.advice

    @property
    def line(self) -> str:
        """The sentence with its advice and command."""
        return message("{said} {advice}", said=self.said, advice=self.next_step) if self.advice else self.said

    def document(self) -> dict[str, Any]:
        """Return the facts for ``--json``."""
        return {
            "starts": self.starts,
            "scheduler": None if self.known is None else self.known.scheduler,
            "next": None if self.known is None else self.known.next,
            "said": self.said,
            "command": self.command,
        }


def lost_file(known: Scheduled) -> str | None:
    """Return the program or a file that the command of a schedule names, if it no longer exists."""
    words = known.words
    named = [*words[:1], *(value for option, value in pairwise(words) if option in _FILES)]
    return next((each for each in named if not Path(each).exists()), None)


def _trouble(known: Scheduled, install: str) -> str:
    """Return why a schedule starts no backup; empty if it starts one."""
    lost = lost_file(known)
    if lost is None:
        return schedulers.trouble(known) or ""
    needs = message("The nightly schedule needs {path}, which no longer exists.", path=lost)
    return message("{said} Schedule it again: {command}", said=needs, command=install)


def own_nightly(archive: Path, service: str | None) -> Nightly | None:
    """Return the facts about an archive's nightly backup; ``None`` if it has none and needs none.

    Export files do not change by themselves, and ``fleet run`` backs up the archives of a fleet.

    Args:
        archive: its folder.
        service: the service that the archive states.
    """
    found = nightly_of(archive)
    declared = DECLARATIONS.get(service or "")
    of_files = declared is not None and declared.reads_files
    return None if found.known is None and (of_files or is_in_fleet(archive)) else found


def is_in_fleet(archive: Path) -> bool:
    """Return whether an archive is one of a fleet."""
    return (archive.absolute().parent.parent / FLEET_LEDGER).is_file()


def nightly_of(archive: Path, words: Sequence[object] = ()) -> Nightly:
    """Ask this machine's schedulers for the nightly backup of an archive.

    Args:
        archive: its folder.
        words: the arguments of a command that schedules it; by default the folder.
    """
    place = Path(os.path.abspath(archive))  # noqa: PTH100 - as schedules name it
    arguments = words or [place]
    try:
        known = schedulers.find(place)
        best = None if known is not None else schedulers.best()
    except UsageError as error:
        return Nightly(None, said(error))
    if known is not None:
        return Nightly(known, _trouble(known, suggested("schedule", "install", *arguments)))
    if best is None:
        return Nightly(None, advice=schedulers.no_scheduler(), printing=suggested("schedule", "print", *arguments))
    return Nightly(None, advice=message("To schedule it:"), command=suggested("schedule", "install", *arguments))
