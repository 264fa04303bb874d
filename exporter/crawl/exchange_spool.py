"""The exchanges that a run has recorded so far, without secrets, in an append-only file next to its checkpoint.

Which of them are public is only known when the run has read everything, because an entry list does not say everything
about its entries. Each request has a number. Its exchanges come first, then one line with the records that its answer
holds. A request without that line did not end.
"""

from __future__ import annotations

import contextlib
import io
import os
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.frozen import frozen
from exporter.http.wire import Cut, WireExchange
from exporter.model.exchange import Held, HeldRecord
from exporter.model.kinds import Kind
from exporter.warc.redaction import Redacted

NAME: Final = "exchanges.spool"
_MAX_LINE_BYTES: Final = 64 * 1024 * 1024


@frozen
class SpooledExchange:
    """An exchange of a request.

    Attributes:
        request: the number of the request.
        attempt: counts the exchanges of the request from 1.
        status: of the answer.
        exchange: without secrets.
        removed: as in :class:`~exporter.warc.redaction.Redacted`.
    """

    request: int
    attempt: int
    status: int
    exchange: WireExchange
    removed: frozenset[str]


@frozen
class RequestEnd:
    """The end of a request.

    Attributes:
        request: its number.
        attempts: the number of its exchanges.
        held: the content of its answer; ``None`` if unknown, or if no answer was accepted.
        failed: whether no answer was accepted.
        anonymous: whether it was sent without credentials.
        refused: why an exchange of it could not be kept: ``secret`` or ``too_large``; empty if all were.
    """

    request: int
    attempts: int = 0
    held: Held | None = None
    failed: bool = False
    anonymous: bool = False
    refused: str = ""


class ExchangeSpool:
    """Appends exchanges to the file, and reads them again.

    Args:
        folder: of the checkpoint. A file there is continued; an incomplete end of it is cut off.

    Raises:
        NoSpace: the disk is full.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._open = Lock()
        with atomic.translated(self.path):
            self._file = atomic.open_private(self.path, "ab")
            end, self.requests = self._whole()
            self._file.truncate(end)

    def put(self, request: int, attempt: int, status: int, kept: Redacted) -> None:
        """Append an exchange of a request."""
        exchange = kept.exchange
        exchange.answer.seek(0)
        sent, answer = bytes(exchange.request), exchange.answer.read()
        line = {
            "request": request,
            "attempt": attempt,
            "status": status,
            "url": exchange.url,
            "at": exchange.started.isoformat(),
            "ip": exchange.address,
            "sent": len(sent),
            "answer": len(answer),
            "crc32": zlib.crc32(answer, zlib.crc32(sent)),
            "cut": exchange.cut,
            "removed": sorted(kept.removed),
        }
        self._append(lossless_json.dumps(line) + b"\n" + sent + answer)

    def end(self, end: RequestEnd) -> None:
        """Append a request's end, and flush everything to the operating system."""
        held = end.held
        records = None if held is None else [[str(each.kind), each.id, _hex(each.identity)] for each in held.records]
        line = {
            "end": end.request,
            "attempts": end.attempts,
            "records": records,
            "closed": held is not None and held.closed,
            "failed": end.failed,
            "anonymous": end.anonymous,
            "refused": end.refused,
        }
        self._append(lossless_json.dumps(line) + b"\n")
        with atomic.translated(self.path):
            self._file.flush()

    def begin(self) -> int:
        """Return a new request's number, from 1."""
        self.requests += 1
        return self.requests

    def sync(self) -> None:
        """Make everything flushed durable; may run in another thread while the file is being closed."""
        with self._open, atomic.translated(self.path):
            if not self._file.closed:
                os.fsync(self._file.fileno())

    def read(self, *, bodies: bool = True) -> Iterator[SpooledExchange | RequestEnd]:
        """Yield everything in order; without ``bodies`` the exchanges are empty. A damaged part ends the file."""
        with atomic.translated(self.path):
            self._file.flush()
        with self.path.open("rb") as file:
            while (found := _next(file, bodies=bodies)) is not None:
                yield found

    def close(self) -> None:
        """Close the file."""
        with self._open, contextlib.suppress(OSError):
            self._file.close()

    def drop(self) -> None:
        """Close the file and give its space back."""
        self.close()
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _append(self, data: bytes) -> None:
        with atomic.translated(self.path):
            self._file.write(data)

    def _whole(self) -> tuple[int, int]:
        """Return the end of the last whole part, and the largest request number."""
        end = largest = 0
        with self.path.open("rb") as file:
            while (found := _next(file)) is not None:
                end, largest = file.tell(), max(largest, found.request)
        return end, largest


def _hex(identity: bytes | None) -> str | None:
    return None if identity is None else identity.hex()


def _next(file: IO[bytes], *, bodies: bool = True) -> SpooledExchange | RequestEnd | None:
    """Return the next part, or ``None`` if the file ends or is damaged."""
    line = file.readline(_MAX_LINE_BYTES)
    if not line.endswith(b"\n"):
        return None
    try:
        raw: Any = lossless_json.loads(line)
        if "end" in raw:
            records = raw["records"]
            held = None if records is None else Held(tuple(map(_record, records)), raw["closed"])
            return RequestEnd(raw["end"], raw["attempts"], held, raw["failed"], raw["anonymous"], raw["refused"])
        sent = answer = b""
        if bodies:
            sent, answer = file.read(raw["sent"]), file.read(raw["answer"])
            if zlib.crc32(answer, zlib.crc32(sent)) != raw["crc32"]:
                return None
        else:
            file.seek(raw["sent"] + raw["answer"], os.SEEK_CUR)
        exchange = WireExchange(
            raw["url"],
            datetime.fromisoformat(raw["at"]),
            raw["ip"],
            bytearray(sent),
            io.BytesIO(answer),
            None if raw["cut"] is None else Cut(raw["cut"]),
        )
        return SpooledExchange(raw["request"], raw["attempt"], raw["status"], exchange, frozenset(raw["removed"]))
    except (lossless_json.NotJson, KeyError, TypeError, ValueError):
        return None


def _record(raw: Any) -> HeldRecord:
    kind, record_id, identity = raw
    return HeldRecord(Kind(kind), record_id, None if identity is None else bytes.fromhex(identity))
