"""The index of web archives: CDXJ lines sorted by address and time, and the search in a sorted file.

A line is ``KEY TIMESTAMP {"url": …}``. The key is the address in the order that sorts a site's pages together (SURT),
as the Internet Archive makes it: ``jp,example,blog)/2026/a.html?a=1&b=2``. The timestamp has 14 digits, in UTC.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from exporter import lossless_json
from exporter.errors import ArchiveDamaged
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.archive.safe_files import InnerPath

TIMESTAMP: Final = "%Y%m%d%H%M%S"
REVISIT: Final = "warc/revisit"
_WWW: Final = re.compile(r"www\d*\.")
_KEPT: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "#%")
_MAX_LINE_BYTES: Final = 128 * 1024
_MOST_UNQUOTES: Final = 16
_MOST_FOUND: Final = 10_000
_MAX_NUMBER: Final = (1 << 63) - 1
_LAST_STATUS: Final = 999
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def surt(url: str) -> str:
    """Return the key of an address; an address that is no URL is its own key.

    Scheme, user, default port, fragment, ``www.``, a closing slash and case do not count. The query is sorted.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return _quoted(url)
    if not host:
        return _quoted(url)
    place = _host_key(host)
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme):
        place += f":{port}"
    path = _normal(_without_dots(parts.path or "/")).lower()
    path = path[:-1] if len(path) > 1 and path.endswith("/") else path
    query = _normal(parts.query).lower()
    query = "&".join(sorted(query.split("&"), key=lambda each: each.partition("=")[::2])) if query else ""
    return f"{place}){path}?{query}" if query else f"{place}){path}"


def _host_key(host: str) -> str:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        pass
    else:
        return f"[{_quoted(host)}]"
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            host = host.lower()
    return ",".join(reversed(_quoted(_WWW.sub("", host, count=1) if _WWW.match(host) else host).split(".")))


def _quoted(text: str) -> str:
    """Return text without white space, control characters and characters beyond ASCII."""
    return quote(text.encode("utf-8", "surrogatepass"), _KEPT)


def _normal(text: str) -> str:
    """Return text with exactly the needed percent signs, however it was written."""
    data = text.encode("utf-8", "surrogatepass")
    for _ in range(_MOST_UNQUOTES):
        if (found := unquote_to_bytes(data)) == data:
            break
        data = found
    return quote(data, _KEPT)


def _without_dots(path: str) -> str:
    """Return a path without ``.``, ``..`` and empty parts."""
    kept: list[str] = []
    parts = path.split("/")
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part not in {"", "."}:
            kept.append(part)
    closing = "/" if parts[-1] in {"", ".", ".."} and kept else ""
    return f"/{'/'.join(kept)}{closing}"


@dataclass(frozen=True, slots=True, order=True)
class IndexLine:
    """A line of an index, in its order.

    Attributes:
        key: the address as :func:`surt` writes it.
        timestamp: 14 digits, in UTC.
        url: the address as requested.
        status: of the answer, or 0 if the record is none.
        mime: the media type of the answer, or ``warc/revisit``.
        digest: of the payload, as ``sha1:`` and base32.
        filename: the WARC file.
        offset: where the record begins in it.
        length: the record's compressed bytes.
    """

    key: str
    timestamp: str
    url: str
    status: int
    mime: str
    digest: str
    filename: str
    offset: int
    length: int

    @classmethod
    def of(
        cls, url: str, moment: datetime, *, status: int, mime: str, digest: str, filename: str, offset: int, length: int
    ) -> IndexLine:
        """Return the line of a record."""
        stamp = moment.astimezone(UTC).strftime(TIMESTAMP)
        return cls(surt(url), stamp, url, status, mime, digest, filename, offset, length)

    @property
    def moment(self) -> datetime:
        """The time of the record."""
        return _moment(self.timestamp)

    def encode(self) -> bytes:
        """Return the line with its end."""
        fields: dict[str, Any] = {
            "url": self.url,
            "mime": self.mime,
            "status": str(self.status),
            "digest": self.digest,
            "length": str(self.length),
            "offset": str(self.offset),
            "filename": self.filename,
        }
        if not self.status:
            del fields["status"]
        return f"{self.key} {self.timestamp} ".encode() + lossless_json.dumps(fields) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> IndexLine:
        """Return the line that these bytes hold.

        Raises:
            ValueError: they are no such line.
        """
        key, stamp, text = line.decode("utf-8").removesuffix("\n").split(" ", 2)
        raw = lossless_json.loads(text.encode())
        if not isinstance(raw, dict):
            raise ValueError(text)  # noqa: TRY004 - like the other faults of a line
        _moment(stamp)
        url, mime, digest, filename = (_text(raw, name) for name in ("url", "mime", "digest", "filename"))
        status = _number(raw.get("status", "0"), _LAST_STATUS)
        offset, length = (_number(raw.get(name), _MAX_NUMBER) for name in ("offset", "length"))
        return cls(key, stamp, url, status, mime, digest, filename, offset, length)


def _moment(stamp: str) -> datetime:
    """Return the time of 14 digits, or raise a ValueError."""
    if len(stamp) != 14 or not (stamp.isascii() and stamp.isdigit()):
        raise ValueError(stamp)
    month, day, hour, minute, second = (int(stamp[at : at + 2]) for at in range(4, 14, 2))
    return datetime(int(stamp[:4]), month, day, hour, minute, second, tzinfo=UTC)


def _text(raw: dict[str, Any], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str):
        raise ValueError(name)  # noqa: TRY004 - like the other faults of a line
    value.encode()  # half a character is a ValueError, too
    return value


def _number(value: Any, most: int) -> int:
    """Return a number, which other programs write as text or as a number."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise ValueError(text)
    return int(text)


class CaptureIndex:
    """A sorted index file. Nothing of it stays in memory.

    Args:
        path: the file.
    """

    def __init__(self, path: InnerPath) -> None:
        self._path = path

    def __iter__(self) -> Iterator[IndexLine]:
        """Yield all lines.

        Raises:
            ArchiveDamaged: a line is not an index line.
        """
        with self._path.open("rb") as file:
            yield from self._lines(file)

    def find(self, url: str) -> list[IndexLine]:
        """Return the lines of an address, the oldest first.

        Addresses with the same key count as one, unless there is a line for exactly this one.
        """
        key = surt(url)
        wanted = f"{key} ".encode()
        with self._path.open("rb") as file:
            _seek(file, wanted)
            found: list[IndexLine] = []
            for line in self._lines(file):
                if line.key != key or len(found) == _MOST_FOUND:
                    break
                found.append(line)
        exact = [line for line in found if line.url == url]
        return sorted(exact or found, key=lambda line: (line.timestamp, line.offset))

    def _lines(self, file: IO[bytes]) -> Iterator[IndexLine]:
        while data := read_line(file):
            try:
                yield IndexLine.decode(data)
            except ValueError as error:
                raise ArchiveDamaged(
                    "{path} has a line that is not an index line: {line}",
                    path=self._path,
                    line=printable(data.decode("utf-8", "replace"), 80),
                ) from error


def read_line(file: IO[bytes]) -> bytes:
    """Return the next line of an index, empty at the end; only the beginning of a line that no index has."""
    return file.readline(_MAX_LINE_BYTES)


def _seek(file: IO[bytes], wanted: bytes) -> None:
    """Go to the first line that is not before ``wanted``."""
    file.seek(0, 2)
    low, high = 0, file.tell()
    while low < high:
        middle = (low + high) // 2
        file.seek(middle)
        if middle:
            read_line(file)
        line = read_line(file)
        if line and line < wanted:
            low = middle + 1
        else:
            high = middle
    file.seek(low)
    if low:
        read_line(file)
