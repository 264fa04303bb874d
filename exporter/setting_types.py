"""Declare settings: the reader that checks a setting's text, the default, and the line of help.

The readers raise :class:`ValueError` and name the form that they expect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import field, fields
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import cache
from inspect import isfunction
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints
from urllib.parse import urlsplit

from exporter.arguments import fitted
from exporter.message import Message, listed, message
from exporter.text import printable

T = TypeVar("T")

_DURATION: Final = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[smhdw]?)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_MAX_SECONDS: Final = 100 * 365 * 86400
_MAX_BYTES: Final = 10**15
_SIZE: Final = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>B|[KMGT]I?B?|)", re.IGNORECASE)
_POWERS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})")
_JAPAN: Final = timezone(timedelta(hours=9), "JST")
_MAX_LINE_CHARACTERS: Final = 500
_HOST: Final = re.compile(r"[^\s/:@?#\[\]]+")
_PORTS: Final = {"http": 80, "https": 443}
_YES_OR_NO: Final = {
    "yes": True, "true": True, "1": True, "on": True, "no": False, "false": False, "0": False, "off": False,
}  # fmt: skip


def duration(text: str) -> timedelta:
    """Read ``90s``, ``30m``, ``24h``, ``7d``, ``2w`` or ``0``. Any other number needs a unit."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(message("a duration such as 90s, 30m, 24h or 7d is expected"))
    if not found["unit"]:
        if not float(found["amount"]):
            return timedelta()
        raise ValueError(
            message(
                "a duration needs a unit: {n}s for seconds, {n}m for minutes, {n}h for hours, {n}d for days or {n}w "
                "for weeks",
                n=found["amount"],
            )
        )
    seconds = float(found["amount"]) * _SECONDS[found["unit"]]
    if seconds > _MAX_SECONDS:
        raise ValueError(message("a duration of at most 100 years is expected"))
    return timedelta(seconds=seconds)


def positive_duration(text: str) -> timedelta:
    """Read a duration that is longer than 0 seconds."""
    found = duration(text)
    if not found:
        raise ValueError(message("a duration longer than 0s is expected"))
    return found


def size(text: str) -> int:
    """Read ``500B``, ``64MB``, ``1.5G``, ``32MiB`` or ``0`` as bytes. Any other number needs a unit.

    Units are decimal; units with an ``i`` are binary (IEC 80000-13).
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(message("a size such as 500KB, 64MB or 2GB is expected"))
    amount, unit = float(found["amount"]), found["unit"].upper()
    if not unit and amount:
        raise ValueError(message("a size needs a unit: {n}B for bytes, {n}KB, {n}MB or {n}GB", n=found["amount"]))
    found_bytes = amount * (1024 if "I" in unit else 1000) ** _POWERS[unit.rstrip("B").rstrip("I")]
    if found_bytes > _MAX_BYTES:
        raise ValueError(message("a size of at most 1000TB is expected"))
    return int(found_bytes)


def zone(text: str) -> tzinfo:
    """Read a name such as ``Asia/Tokyo``, ``UTC`` or ``JST``, or an offset such as ``+09:00``."""
    name = text.strip()
    if name == "JST":
        return _JAPAN
    found = _OFFSET.fullmatch(name)
    try:
        if found is None:
            from zoneinfo import ZoneInfo  # noqa: PLC0415 - JST needs no database of time zones

            return ZoneInfo(name)
        offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
        return timezone(offset if found["sign"] == "+" else -offset)
    except (KeyError, OSError, ValueError):
        raise ValueError(message("a time zone such as Asia/Tokyo or an offset such as +09:00 is expected")) from None


def day(text: str) -> date:
    """Read a date such as ``2026-12-31``."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(message("a day such as 2026-12-31 is expected")) from None


def host_name(text: str) -> str:
    """Read the name of a host."""
    found = text.strip().rstrip(".").lower()
    if not _HOST.fullmatch(found):
        raise ValueError(message("the name of a host is expected, such as name.blog.example.jp"))
    return found


def hosts(text: str) -> frozenset[str]:
    """Read host names separated by commas. The list may be empty."""
    found = frozenset(host.strip().rstrip(".").lower() for host in text.split(",") if host.strip())
    if any(not _HOST.fullmatch(host) for host in found):
        raise ValueError(message("names of hosts are expected, such as img.example.jp, with commas between them"))
    return found


def origin_of_address(address: str) -> str:
    """Return an address' scheme and host, and its port unless that is the scheme's default.

    Raises:
        ValueError: it has no host, or another scheme than http and https.
    """
    parts = urlsplit(address)
    host, port = (parts.hostname or "").rstrip("."), parts.port
    if not host or parts.scheme not in _PORTS:
        raise ValueError(message("addresses such as https://api.example.jp are expected, with commas between them"))
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" if port in {None, _PORTS[parts.scheme]} else f"{parts.scheme}://{shown}:{port}"


def origins(text: str) -> tuple[str, ...]:
    """Read addresses separated by commas, and return the origin of each. The list may be empty."""
    return tuple(origin_of_address(address) for address in words(text))


def user_agent(text: str) -> str:
    """Read a value for the ``User-Agent`` header, in printable ASCII (RFC 9110, section 10.1.5)."""
    found = one_line(text)
    if not found or not found.isascii():
        raise ValueError(message("a text in ASCII such as my-archive/1.0 (+mailto:me@example.jp) is expected"))
    return found


def words(text: str) -> tuple[str, ...]:
    """Read texts separated by commas, and check nothing: a message about them could show a secret."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def values(text: str) -> frozenset[str]:
    """Read one or more values separated by commas."""
    found = frozenset(value.strip() for value in text.split(",") if value.strip())
    if not found:
        raise ValueError(message("a value, or several with commas between them, is expected"))
    return found


def flags(text: str) -> frozenset[str]:
    """Read ``t``, ``f`` or both, separated by a comma; ``none`` for no value."""
    found = values(text)
    if found == {"none"}:
        return frozenset()
    if not found <= {"t", "f"}:
        raise ValueError(message("t, f, f,t or none is expected"))
    return found


def yes_or_no(text: str) -> bool:
    """Read ``yes``, ``true``, ``1`` or ``on``, or the opposite."""
    if text.strip().lower() not in _YES_OR_NO:
        raise ValueError(message("yes or no is expected"))
    return _YES_OR_NO[text.strip().lower()]


def some_text(text: str) -> str:
    """Read a text that is not blank."""
    if not text.strip():
        raise ValueError(message("some text is expected"))
    return text


def one_line(text: str) -> str:
    """Read a single line, which may be blank. It goes into files that are read line by line."""
    line = text.strip()
    if len(line) > _MAX_LINE_CHARACTERS or len(line.splitlines()) > 1 or printable(line) != line:
        raise ValueError(message("one line of at most {n} characters is expected", n=_MAX_LINE_CHARACTERS))
    return line


def parameter_name(text: str) -> str:
    """Read the name of a parameter in an address."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        raise ValueError(
            message("a name of letters, digits, hyphens and underscores is expected, such as access_token")
        )
    return text


def command(text: str) -> str:
    """Read a command whose quotes are closed."""
    import shlex  # noqa: PLC0415 - most runs have no such command

    try:
        if shlex.split(text):
            return text
    except ValueError:
        pass
    raise ValueError(message("a command is expected, with its quotes closed"))


def rate(text: str) -> float:
    """Read a number of requests per second."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.001 <= number <= 10_000:
        raise ValueError(message("requests per second, from 0.001 to 10000, are expected"))
    return number


class WholeNumber:
    """Reads whole numbers in a range."""

    def __init__(self, smallest: int, largest: int) -> None:
        self.smallest = smallest
        self.largest = largest

    def __call__(self, text: str) -> int:
        """Read a number."""
        try:
            number = int(text)
        except ValueError:
            number = self.smallest - 1
        if not self.smallest <= number <= self.largest:
            raise ValueError(
                message("a whole number from {least} to {most} is expected", least=self.smallest, most=self.largest)
            )
        return number


class OneOf:
    """Reads one of several names."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, text: str) -> str:
        """Read a name."""
        if text not in self.names:
            expected = message("one of {names} is expected", names=listed(self.names))
            raise ValueError(with_guess(expected, text, self.names))
        return text


_METAVARS: Final[dict[Callable[[str], Any], str]] = {
    duration: "TIME",
    positive_duration: "TIME",
    size: "SIZE",
    zone: "ZONE",
    hosts: "HOSTS",
    values: "VALUES",
    words: "RECIPIENTS",
    flags: "VALUES",
    rate: "N",
    command: "CMD",
    day: "DATE",
    parameter_name: "NAME",
    Path: "FILE",
}


class Setting(NamedTuple):
    """A setting: the reader of its text, the text of its default (``None``: unset), and its help, a sentence."""

    read: Callable[[str], Any]
    default: str | None
    help: Message

    @property
    def default_value(self) -> Any:
        """The default as the reader returns it; ``None`` if the setting has none."""
        return None if self.default is None else self.read(self.default)

    def accepted(self, value: Any) -> Any:
        """Return a value that a program passes; ``None`` only for a setting without a default.

        Raises:
            ValueError: it has another type, or the reader refuses its text.
        """
        return None if value is None and self.default is None else accepted(self.read, value)

    @property
    def choices(self) -> tuple[str, ...]:
        """All texts that are allowed; empty if they cannot be listed."""
        return self.read.names if isinstance(self.read, OneOf) else ("yes", "no") if self.read is yes_or_no else ()

    @property
    def metavar(self) -> str:
        """The value's placeholder in a line of help: the choices, or the type."""
        if self.choices:
            return "|".join(self.choices)
        return "N" if isinstance(self.read, WholeNumber) else _METAVARS.get(self.read, "TEXT")


def accepted(read: Callable[[str], T], value: Any) -> T:
    """Return a value that a program passes, if the reader returns such a value for some text.

    Raises:
        ValueError: it has another type, or the reader refuses its text.
    """
    kept: Any = fitted(value, _type_of(read))
    if isinstance(kept, tzinfo):
        _require_offset(kept)
    elif kept != ():  # no text gives an empty list, but a program may, such as for a token that nobody gets
        found = read(_text_of(read, kept))
        if isinstance(found, str | frozenset | tuple):
            return found
    result: T = kept
    return result


@cache
def _type_of(read: Callable[[str], Any]) -> Any:
    """Return the type of the values that a reader returns."""
    if isinstance(read, type):
        return read
    return get_type_hints(read if isfunction(read) else type(read).__call__)["return"]


def _text_of(read: Callable[[str], Any], value: Any) -> str:
    if isinstance(value, timedelta):
        return f"{value.total_seconds():f}s"
    if isinstance(value, frozenset | tuple):
        if not all(each.strip() and "," not in each for each in value):
            raise ValueError(message("texts that are not empty and have no comma are expected"))
        return ",".join(value) or ("none" if read is flags else "")
    if isinstance(value, int) and not isinstance(value, bool):
        # No reader accepts more digits, and Python does not write many of them.
        value = max(-_MAX_BYTES - 1, min(value, _MAX_BYTES + 1))
    return f"{value}B" if read is size else setting_text(value)


def _require_offset(zone_: tzinfo) -> None:
    try:
        offset = datetime(2000, 1, 1, tzinfo=zone_).utcoffset()
    except Exception:  # noqa: BLE001 - a class of the program
        offset = None
    if offset is None:
        raise ValueError(message("a time zone such as Asia/Tokyo or an offset such as +09:00 is expected"))


def setting(read: Callable[[str], T], default: str, help_line: Message) -> T:
    """Declare a field of a dataclass as a setting. The field has the type that the reader returns."""
    found: T = field(default=read(default), metadata={"setting": Setting(read, default, help_line)})
    return found


def unset(read: Callable[[str], T], help_line: Message) -> T | None:
    """Declare a field of a dataclass as a setting without a default."""
    found: T | None = field(default=None, metadata={"setting": Setting(read, None, help_line)})
    return found


def settings_in(declared: type[Any]) -> dict[str, Setting]:
    """Return the settings that a dataclass declares, by name."""
    return {each.name: each.metadata["setting"] for each in fields(declared) if "setting" in each.metadata}


def setting_text(value: Any) -> str:
    """Return a TOML value as the text that a setting reads."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def with_guess(said: str, word: str, known: Iterable[str]) -> str:
    """Return a text about an unknown word, with the most similar known one if there is any."""
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes need it

    near = get_close_matches(word, list(known), 1)
    return message("{word} (did you mean {near}?)", word=said, near=near[0]) if near else said
