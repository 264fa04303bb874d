"""The records of a WARC file (ISO 28500, WARC 1.1), made from exchanges with the exact bytes on the wire."""

from __future__ import annotations

import base64
import hashlib
import io
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import IO, Final

from exporter.frozen import frozen
from exporter.http.wire import Cut, WireExchange
from exporter.warc.http_message import Head, Payload, read_head

WARC_VERSION: Final = "WARC/1.1"
SAME_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_ANSWER: Final = "application/http; msgtype=response"
_REQUEST: Final = "application/http; msgtype=request"
_FIELDS: Final = "application/warc-fields"
_GZIP: Final = 31
_DEFLATED: Final = 6
_STORED: Final = 0
_STORED_BYTES: Final = 16 * 1024
"""The least bytes of packed content that are stored: for fewer, the compressed heads save more than that costs."""
_PACKED: Final = frozenset(
    {"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "font/woff", "font/woff2", "application/zip"}
    | {"application/gzip", "application/font-woff", "application/font-woff2", "application/pdf"}
)
_PIECE_BYTES: Final = 256 * 1024


@frozen
class EarlierRecord:
    """The record that a revisit refers to: its address, and its time as ``WARC-Date`` writes it."""

    url: str
    date: str


@frozen
class ExchangeFacts:
    """What a finished exchange holds.

    Attributes:
        head: the head of the answer.
        digest: of the payload without transfer encoding, as ``sha1:`` and base32 (WARC 1.1, sections 5.8 and 6.3.2).
        size: the payload's bytes.
        end: where the answer ends in the recorded bytes.
        cut: why the answer is incomplete; ``None`` for a complete one.
    """

    head: Head
    digest: str
    size: int
    end: int
    cut: Cut | None


def facts_of(exchange: WireExchange) -> ExchangeFacts | None:
    """Return the facts of an exchange, or ``None`` if its answer has no complete head."""
    head = read_head(exchange.answer)
    if head is None:
        return None
    payload = Payload(exchange.answer, head)
    hashed = hashlib.sha1(usedforsecurity=False)
    for piece in payload:
        hashed.update(piece)
    cut = exchange.cut if exchange.cut is not None or payload.whole else Cut.DISCONNECT
    return ExchangeFacts(head, _digest(hashed), payload.size, payload.end, cut)


def warc_date(moment: datetime) -> str:
    """Return a time as ``WARC-Date``: in UTC and whole seconds, as indexes have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class RecordWriter:
    """Writes records into a file, each as a gzip member of its own (WARC 1.1, annex D).

    Records are written here and not by warcio, whose writer adds a payload digest to every record, and writes heads
    anew from their parts.

    Args:
        file: the destination; it may already hold whole records.
        new_id: returns the id of the next record.
    """

    def __init__(self, file: IO[bytes], new_id: Callable[[], uuid.UUID] = uuid.uuid4) -> None:
        self._file = file
        self._new_id = new_id

    def information(self, filename: str, moment: datetime, fields: Mapping[str, str]) -> str:
        """Write the ``warcinfo`` record of a file, and return its id.

        Args:
            filename: the name of the file.
            moment: the time of the record.
            fields: what made the file, for whom and in which scope (WARC 1.1, section 6.2).
        """
        content = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in fields.items()).encode()
        headers = {"WARC-Date": warc_date(moment), "WARC-Filename": filename, "Content-Type": _FIELDS}
        return self._write("warcinfo", io.BytesIO(content), len(content), headers)

    def exchange(
        self, exchange: WireExchange, facts: ExchangeFacts, information: str, original: EarlierRecord | None = None
    ) -> int:
        """Write the answer of an exchange, then its request, and return the bytes of the answer's record.

        Args:
            exchange: with the bytes.
            facts: of the same exchange.
            information: the id of the file's ``warcinfo`` record.
            original: the record with the same payload; the answer then becomes a ``revisit`` with its head alone.
        """
        common = {"WARC-Target-URI": exchange.url, "WARC-Date": warc_date(exchange.started)}
        if exchange.address:
            common["WARC-IP-Address"] = exchange.address
        common["WARC-Warcinfo-ID"] = information
        headers = {**common, "Content-Type": _ANSWER}
        kind, end = "response", facts.end
        if original is not None:
            kind, end = "revisit", facts.head.end
            headers |= {
                "WARC-Profile": SAME_PAYLOAD,
                "WARC-Payload-Digest": facts.digest,
                "WARC-Refers-To-Target-URI": original.url,
                "WARC-Refers-To-Date": original.date,
            }
        elif not facts.head.chunked:
            # Validators disagree on chunked answers: most hash the framing too, against section 6.3.2. Without this
            # optional header none of them takes a right record for a damaged one.
            headers["WARC-Payload-Digest"] = facts.digest
        if facts.cut is not None:
            headers["WARC-Truncated"] = str(facts.cut)
        offset = self._file.tell()
        start = facts.head.start
        exchange.answer.seek(start)
        is_packed = end - start > _STORED_BYTES and _is_packed(facts.head)
        answer_id = self._write(kind, exchange.answer, end - start, headers, _STORED if is_packed else _DEFLATED)
        headers = {**common, "Content-Type": _REQUEST, "WARC-Concurrent-To": answer_id}
        length = self._file.tell() - offset
        self._write("request", io.BytesIO(exchange.request), len(exchange.request), headers)
        return length

    def resource(self, url: str, moment: datetime, media_type: str, content: bytes, information: str) -> str:
        """Write content that no server sent, and return its digest."""
        digest = _digest(hashlib.sha1(content, usedforsecurity=False))
        headers = {
            "WARC-Target-URI": url,
            "WARC-Date": warc_date(moment),
            "WARC-Warcinfo-ID": information,
            "WARC-Payload-Digest": digest,
            "Content-Type": media_type,
        }
        self._write("resource", io.BytesIO(content), len(content), headers)
        return digest

    def _write(
        self, kind: str, content: IO[bytes], length: int, headers: Mapping[str, str], level: int = _DEFLATED
    ) -> str:
        """Write a record with the next bytes of ``content``, and return its id."""
        start = content.tell()
        hashed = hashlib.sha1(usedforsecurity=False)
        for piece in _pieces(content, length):
            hashed.update(piece)
        content.seek(start)
        record_id = f"<urn:uuid:{self._new_id()}>"
        lines = {
            "WARC-Type": kind,
            "WARC-Record-ID": record_id,
            **headers,
            "WARC-Block-Digest": _digest(hashed),
            "Content-Length": str(length),
        }
        packer = zlib.compressobj(level, wbits=_GZIP)
        head = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in lines.items())
        self._file.write(packer.compress(f"{WARC_VERSION}\r\n{head}\r\n".encode()))
        for piece in _pieces(content, length):
            self._file.write(packer.compress(piece))
        self._file.write(packer.compress(b"\r\n\r\n") + packer.flush())
        return record_id


def _is_packed(head: Head) -> bool:
    """Return whether the content of an answer is compressed already, so that doing it again takes time for nothing."""
    kind = head.media_type
    return (
        kind in _PACKED or kind.startswith(("audio/", "video/")) or head.get("content-encoding") not in {"", "identity"}
    )


def _pieces(file: IO[bytes], length: int) -> Iterator[bytes]:
    while length > 0 and (piece := file.read(min(length, _PIECE_BYTES))):
        length -= len(piece)
        yield piece


def _digest(hashed: hashlib._Hash) -> str:
    return f"sha1:{base64.b32encode(hashed.digest()).decode()}"


def _one_line(value: str) -> str:
    return " ".join(value.split())
