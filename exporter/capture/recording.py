"""Write an exchange into the archive as a response or a revisit, or leave it out if nothing changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.capture.content import MAX_CONTENT_BYTES, ContentReferences, is_read, read_references
from exporter.capture.events import Effect
from exporter.capture.frontier import Finished, FoundAs
from exporter.errors import ArchiveDamaged, BadBody, BodyTooLarge
from exporter.http.wire import Cut, WireExchange
from exporter.message import message, said
from exporter.warc.http_message import Head, Payload, decoded
from exporter.warc.records import EarlierRecord, ExchangeFacts, facts_of, warc_date

if TYPE_CHECKING:
    from exporter.capture.frontier import Address, Frontier
    from exporter.warc.lookup import CaptureLookup
    from exporter.warc.segments import SegmentWriter
    from exporter.warc.shown import ShownRecords

_OK: Final = 200
_NOT_MODIFIED: Final = 304
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


def conditions(address: Address) -> Mapping[str, str]:
    """Return the headers by which a server can say that an address is unchanged since its newest record."""
    if address.status != _OK or address.digest is None:
        return {}
    pairs = (("If-None-Match", address.etag), ("If-Modified-Since", address.modified))
    return {name: value for name, value in pairs if value}


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer of an address.

    Attributes:
        status: its status; for an unchanged address that of the record.
        effect: its effect on the archive.
        size: the bytes that were received.
        location: the target of a redirect as sent; ``None`` for any other answer.
        cut: why it is incomplete; ``None`` for a complete one.
        references: the addresses in it.
    """

    status: int
    effect: Effect
    size: int
    location: str | None
    cut: Cut | None
    references: ContentReferences


class NotStored(Exception):
    """The server says that an answer is unchanged, but the archive cannot read it any more."""


@dataclass(frozen=True, slots=True)
class CaptureRecorder:
    """Writes exchanges into segments.

    Attributes:
        frontier: knows the newest record of each address, and the records of payloads.
        segments: receives the records; ``None`` in a dry run.
        lookup: reads the records of earlier captures.
        forgotten: the records that stay out.
    """

    frontier: Frontier
    segments: SegmentWriter | None
    lookup: CaptureLookup
    forgotten: ShownRecords

    def record(self, exchange: WireExchange, result: Finished) -> Answer | None:
        """Write an exchange if it is news, and note it in ``result``; return ``None`` if it has no complete head.

        Raises:
            NotStored: the answer is unchanged, and its content cannot be read.
            NoSpace: the disk is full.
        """
        facts = facts_of(exchange)
        if facts is None:
            return None
        address, head = result.address, facts.head
        if head.status == _NOT_MODIFIED and conditions(address):
            result.status, result.digest, result.location = address.status, address.digest, address.location
            result.etag, result.modified = address.etag, address.modified
            return Answer(_OK, Effect.UNCHANGED, facts.end, None, None, self._stored(address))
        location = head.get("location") if head.status in _REDIRECTS else None
        if address.found is FoundAs.DOUBT and head.status != _OK:
            return Answer(head.status, Effect.NOT_SHOWN, facts.end, None, facts.cut, ContentReferences())
        effect = self._write(exchange, facts, location, result)
        references = self._references(address.url, head, Payload(exchange.answer, head), facts.cut)
        return Answer(head.status, effect, facts.end, location, facts.cut, references)

    def _write(self, exchange: WireExchange, facts: ExchangeFacts, location: str | None, result: Finished) -> Effect:
        """Write an exchange unless it is the same as the newest record of its address."""
        head = facts.head
        known = (result.status, result.digest, result.location) if result.digest is not None else None
        if known is None and result.address.digest is not None:
            known = (result.address.status, result.address.digest, result.address.location)
        if facts.cut is None and known == (head.status, facts.digest, location):
            self._note(facts, location, result)
            return Effect.UNCHANGED
        original = self._original(facts)
        if self.forgotten.is_in_exchange(exchange, facts.head):
            return Effect.FORGOTTEN
        if self.segments is not None:
            result.lines.append(self.segments.write(exchange, facts, original))
            result.mark = self.segments.mark
        date = warc_date(exchange.started)
        self._note(facts, location, result)
        result.recorded = date
        if original is not None:
            return Effect.REVISIT
        if facts.cut is None:
            result.payloads[facts.digest] = EarlierRecord(exchange.url, date)
        return Effect.WRITTEN

    def _original(self, facts: ExchangeFacts) -> EarlierRecord | None:
        """Return the record whose payload is not written again. Only whole, successful answers count."""
        if facts.cut is not None or facts.head.status != _OK or not facts.size:
            return None
        return self.frontier.original(facts.digest)

    def _note(self, facts: ExchangeFacts, location: str | None, result: Finished) -> None:
        """Note the newest record; one that is cut is never taken for the same as a later one."""
        head, whole = facts.head, facts.cut is None
        result.status = head.status
        result.digest = facts.digest if whole else ""
        result.location = location
        result.etag = (head.get("etag") or None) if whole else None
        result.modified = (head.get("last-modified") or None) if whole else None

    def _stored(self, address: Address) -> ContentReferences:
        """Return the references in the newest record of an address."""
        try:
            for found in reversed(self.lookup.all(address.url)):
                if found.line.digest == address.digest and found.line.status == _OK:
                    with self.lookup.replay(found) as replay:
                        return self._references(address.url, replay.head, replay.payload, None)
        except (ArchiveDamaged, OSError) as error:
            raise NotStored from error
        raise NotStored

    @staticmethod
    def _references(url: str, head: Head, payload: Payload, cut: Cut | None) -> ContentReferences:
        if head.status != _OK or not is_read(head.media_type, url):
            return ContentReferences()
        try:
            body = decoded(payload, head.get("content-encoding"), MAX_CONTENT_BYTES)
        except (BadBody, BodyTooLarge) as error:
            if cut is not None:
                return ContentReferences()
            reason = message("its links and files could not be read: {reason}", reason=said(error))
            return ContentReferences(note=reason)
        return read_references(body, head.media_type, head.get("content-type"), url)
