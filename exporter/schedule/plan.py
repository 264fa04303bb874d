"""Plan a nightly backup: the command and the time, the same for all schedulers."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.translation import current_language

FIRST_HOUR: Final = 3
_TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_MAX_NAME_CHARACTERS: Final = 40


@dataclass(frozen=True, slots=True)
class NightPlan:
    """A nightly backup.

    Attributes:
        archive: the archive's folder, an absolute path.
        blog_id: the blog.
        command: the program and its arguments, with absolute paths and without secrets.
        at: the local time of day.
    """

    archive: Path
    blog_id: str
    command: tuple[str, ...]
    at: time

    @property
    def name(self) -> str:
        """A name that is unique on this machine and valid for every scheduler."""
        return name_of(self.archive)


def name_of(archive: Path) -> str:
    """Return the name of an archive's schedule."""
    readable = _NOT_IN_NAMES.sub("-", archive.name.lower()).strip("-")[:_MAX_NAME_CHARACTERS].strip("-")
    return "-".join(filter(None, ("blog-exporter", readable, _digest(str(archive))[:8])))


def next_time(at: time, now: datetime) -> datetime:
    """Return the next moment after ``now`` with a time of day, in the time zone of ``now``."""
    due = now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return due if due > now else due + timedelta(days=1)


def plan_for(archive: Path, blog_id: str, words: Sequence[str] = (), *, at: str | None = None) -> NightPlan:
    """Plan the nightly backups of an archive.

    Args:
        archive: its folder, which need not exist.
        blog_id: the blog.
        words: the arguments of ``backup``, by default the folder; paths must be absolute, and secrets are not allowed.
        at: the time of day, such as ``03:17``; by default a minute between 3 and 4 that depends on the archive and the
            machine, so that not all machines start at once.

    Raises:
        UsageError: the time is invalid, or a path has a character that schedulers do not accept.
    """
    place = Path(os.path.abspath(archive))  # noqa: PTH100 - links are not resolved
    # Schedulers set no locale, so the plan names the language of the messages.
    spoken = current_language()
    language = () if spoken == "en" else ("--lang", spoken)
    backup = ("backup", *(words or [str(place)]), *language, "--wait-lock", "1h", "--quiet")
    command = (*program(), *backup)
    for word in command:
        _check(word)
    return NightPlan(place, blog_id, command, _own_time(place) if at is None else _read_time(at))


def program() -> tuple[str, ...]:
    """Return the command that starts this program from any folder and without ``PATH``."""
    python = Path(sys.executable)
    script = python.with_name("blog-exporter.exe" if os.name == "nt" else "blog-exporter")
    # -P: do not import a folder named exporter from the current folder.
    return (str(script),) if script.is_file() else (str(python), "-P", "-m", "exporter")


def is_temporary() -> bool:
    """Return whether the program runs from a cache, which may be emptied: ``uvx`` and ``pipx run`` do this.

    So does macOS with a program that was downloaded and never moved: it starts a copy below ``AppTranslocation``.
    """
    return any(part.lower() in {".cache", "caches", "cache", "apptranslocation"} for part in Path(sys.prefix).parts)


def _read_time(text: str) -> time:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise UsageError("--at {text} is not a time of day: give one such as 03:17.", text=repr(text))
    return time(int(found[1]), int(found[2]))


def _own_time(archive: Path) -> time:
    import platform  # noqa: PLC0415 - only a plan without a time needs it

    return time(FIRST_HOUR, int(_digest(f"{platform.node()}\0{archive}"), 16) % 60)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _check(word: str) -> None:
    """Refuse a text that does not fit on a line of a text file."""
    if any(unicodedata.category(each) in {"Cc", "Cs"} or each in "\u2028\u2029" for each in word):
        raise UsageError(
            "{word} has a line break or another character that schedulers do not accept: rename it.", word=ascii(word)
        )
