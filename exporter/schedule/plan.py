"""What is to be done every night, for which archive, and when, the same for all schedulers."""

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
from exporter.message import message
from exporter.translation import current_language

FIRST_HOUR: Final = 3
_TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_NAME_LENGTH: Final = 40


@dataclass(frozen=True, slots=True)
class NightPlan:
    """A backup to be repeated every night.

    Attributes:
        archive: the archive's folder, an absolute path.
        blog_id: the blog.
        command: the program and its arguments, every path absolute, no secret among them.
        at: the local time of day.
    """

    archive: Path
    blog_id: str
    command: tuple[str, ...]
    at: time

    @property
    def name(self) -> str:
        """A name that no other archive of this machine has, of letters that every scheduler allows."""
        return name_of(self.archive)


def name_of(archive: Path) -> str:
    """Return the name under which the schedule of an archive is known to schedulers."""
    readable = _NOT_IN_NAMES.sub("-", archive.name.lower()).strip("-")[:_NAME_LENGTH].strip("-")
    return "-".join(filter(None, ("blog-exporter", readable, _digest(str(archive))[:8])))


def next_time(at: time, now: datetime) -> datetime:
    """Return when a time of day comes next, after ``now`` and in its time zone."""
    due = now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return due if due > now else due + timedelta(days=1)


def plan_for(archive: Path, blog_id: str, words: Sequence[str] = (), *, at: str | None = None) -> NightPlan:
    """NightPlan the backups of an archive.

    Args:
        archive: its folder, which need not be there yet.
        blog_id: the blog.
        words: what follows ``backup``, its folder by default; paths in them must be absolute, and no secret is one.
        at: the time of day, such as ``03:17``; a minute between 3 and 4 o'clock that stays the same for this archive
            and machine, and differs from that of others, when there is none.

    Raises:
        UsageError: the time is none, or a path holds what no scheduler can take.
    """
    place = Path(os.path.abspath(archive))  # noqa: PTH100 - links on the way stay what they are
    # Schedulers know no locale: what goes wrong at night is said in the language of whoever planned it.
    spoken = current_language()
    language = () if spoken == "en" else ("--lang", spoken)
    backup = ("backup", *(words or [str(place)]), *language, "--wait-lock", "1h", "--quiet")
    command = (*program(), *backup)
    for word in command:
        _check(word)
    return NightPlan(place, blog_id, command, _own_time(place) if at is None else _read_time(at))


def program() -> tuple[str, ...]:
    """Return the words that start this very program from any folder and without any ``PATH``."""
    python = Path(sys.executable)
    script = python.with_name("blog-exporter.exe" if os.name == "nt" else "blog-exporter")
    # -P: a folder called exporter, wherever a scheduler begins, is not the program.
    return (str(script),) if script.is_file() else (str(python), "-P", "-m", "exporter")


def is_temporary() -> bool:
    """Tell whether the program runs from a cache, as ``uvx`` and ``pipx run`` start it, which is emptied some day."""
    return any(part.lower() in {".cache", "caches", "cache"} for part in Path(sys.prefix).parts)


def _read_time(text: str) -> time:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise UsageError(message("--at is {text}: a time of day such as 03:17 is expected.", text=repr(text)))
    return time(int(found[1]), int(found[2]))


def _own_time(archive: Path) -> time:
    import platform  # noqa: PLC0415 - only a plan without a time needs it

    return time(FIRST_HOUR, int(_digest(f"{platform.node()}\0{archive}"), 16) % 60)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _check(word: str) -> None:
    """Refuse a text that no line of a text file can hold."""
    if any(unicodedata.category(each) in {"Cc", "Cs"} or each in "\u2028\u2029" for each in word):
        raise UsageError(
            message(
                "{word} holds a line break or another character that no scheduler can take: rename it.",
                word=ascii(word),
            )
        )
