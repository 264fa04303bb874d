"""The index of web archives: CDXJ lines sorted by address and time, and the search in a sorted file.

A line is ``KEY TIMESTAMP {"url": …}``. The key is the address in the order that sorts a site's pages together (SURT),
as the Internet Archive makes it: ``jp,example,blog)/2026/a.html?a=1&b=2``. The timestamp has 14 digits, in UTC.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
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
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def surt(url: str) -> str:
    """Return the key of an address; an address that is no URL is its own key.

    Scheme, user, default port, fragment, ``www.``, a closing slash and case do not count. The query is sorted.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return quote(url, _KEPT)
    if not host:
        return quote(url, _KEPT)
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
        return f"[{host}]"
    if not host.isascii():
        host = host.encode("idna", "replace").decode("ascii") if _has_idna(host) else quote(host)
    return ",".join(reversed(_WWW.sub("", host, count=1).split(".") if _WWW.match(host) else host.split(".")))


def _has_idna(host: str) -> bool:
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def _normal(text: str) -> str:
    """Return text with exactly the needed percent signs, however it was written."""
    data = text.encode("utf-8", "surrogatepass")
    while (found := unquote_to_bytes(data)) != data:
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
        return datetime.strptime(self.timestamp, TIMESTAMP).replace(tzinfo=UTC)

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
        key, stamp, text = line.decode("utf-8").rstrip("\n").split(" ", 2)
        raw = lossless_json.loads(text.encode())
        if not isinstance(raw, dict) or len(stamp) != 14 or not (stamp.isascii() and stamp.isdigit()):
            raise ValueError(text)
        offset, length = int(str(raw["offset"])), int(str(raw["length"]))
        if offset < 0 or length < 0:
            raise ValueError(text)
        status = int(str(raw.get("status") or 0))
        words = (str(raw[name]) for name in ("url", "mime", "digest", "filename"))
        url, mime, digest, filename = words
        return cls(key, stamp, url, status, mime, digest, filename, offset, length)


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
            ArchiveDamaged: a line is none of an index.
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
                if line.key != key:
                    break
                found.append(line)
        exact = [line for line in found if line.url == url]
        return sorted(exact or found, key=lambda line: (line.timestamp, line.offset))

    def _lines(self, file: IO[bytes]) -> Iterator[IndexLine]:
        while data := file.readline(_MAX_LINE_BYTES):
            try:
                yield IndexLine.decode(data)
            except (ValueError, KeyError, UnicodeDecodeError) as error:
                raise ArchiveDamaged(
                    "{path} holds a line that is none of an index: {line}",
                    path=self._path,
                    line=printable(data.decode("utf-8", "replace"), 80),
                ) from error


def _seek(file: IO[bytes], wanted: bytes) -> None:
    """Go to the first line that is not before ``wanted``."""
    file.seek(0, 2)
    low, high = 0, file.tell()
    while low < high:
        middle = (low + high) // 2
        file.seek(middle)
        if middle:
            file.readline(_MAX_LINE_BYTES)
        line = file.readline(_MAX_LINE_BYTES)
        if line and line < wanted:
            low = middle + 1
        else:
            high = middle
    file.seek(low)
    if low:
        file.readline(_MAX_LINE_BYTES)


def sorted_lines(lines: Iterable[IndexLine]) -> list[IndexLine]:
    """Return lines in the order of an index: that of their bytes."""
    return sorted(lines, key=IndexLine.encode)
