"""Join the records of a second service with those of an archive, such as the pages of a blog with its export file.

The run reads the second service as if for a new archive. Then each of its records gets the id of the record in the
archive that is the same entry, comment or file, and the two are stored as one joined record
(:mod:`exporter.service.joined`). Nothing is merged: both stay as they were given. Records without a partner are added.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from exporter import lossless_json
from exporter.crawl.ledger import Ledger
from exporter.crawl.removals import Removals, is_mass, proves_absence, refusal_of_mass
from exporter.html.text import plain_text
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.records import Comment, Post, Raw
from exporter.service.joined import SOURCES, JoinedService, parts_of

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.crawl.checkpoint import Checkpoint
    from exporter.crawl.ingest import Ingest
    from exporter.lossless_json import Frozen
    from exporter.service.interface import BlogService

_KINDS: Final = (Kind.ENTRIES, Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES, Kind.USER)
_MAX_NAMED: Final = 20
_ONLY_SWEEP: Final = 1


@dataclass(slots=True)
class JoinReport:
    """What a join did.

    Attributes:
        matched: entries that the archive and the service both have.
        new: entries that only the service has.
        only_archived: entries of the archive that the service does not have.
        conflicts: sentences about matched entries with different texts.
        more_conflicts: how many more there are.
    """

    matched: int = 0
    new: int = 0
    only_archived: int = 0
    conflicts: list[str] = field(default_factory=list)
    more_conflicts: int = 0

    def document(self, service: str) -> dict[str, Any]:
        """Return it as the run's line states it."""
        return {
            "service": service,
            "matched": self.matched,
            "new": self.new,
            "only_archived": self.only_archived,
            "conflicts": len(self.conflicts) + self.more_conflicts,
        }


@dataclass(slots=True)
class _Known:
    """The archived records of a kind, by the facts that identify them.

    Attributes:
        own: ids by the id that the service gave in an earlier run.
        only: the ids of records that only the service gave.
        keys: ids by the other facts, such as a permalink.
        taken: ids that have a partner already.
    """

    own: dict[str, str] = field(default_factory=dict)
    only: set[str] = field(default_factory=set)
    keys: defaultdict[tuple[str, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    taken: set[str] = field(default_factory=set)

    def find(self, own: str, facts: Iterator[tuple[str, ...]]) -> str | None:
        """Return the id of the record with this own id, or the only free one with one of these facts."""
        if own in self.own:
            return self.own[own]
        for key in facts:
            free = [each for each in self.keys.get(key, ()) if each not in self.taken]
            if len(free) == 1:
                return free[0]
        return None


class Join:
    """Joins what a run read with the archive.

    Args:
        service: reads the archive's records.
        way: the service that the run read.
        ingest: the run, which read into ledgers of its own.
        state: the newest version of the archive.
        checkpoint: receives the joined records.
    """

    def __init__(
        self, service: JoinedService, way: BlogService, ingest: Ingest, state: State, checkpoint: Checkpoint
    ) -> None:
        self._service = service
        self._way = way
        self._ingest = ingest
        self._state = state
        self._ids: dict[Kind, dict[str, str]] = {kind: {} for kind in Kind}
        self.ledgers = {kind: Ledger(state.kinds[kind], checkpoint.spools[kind]) for kind in Kind}
        self.report = JoinReport()
        self.removals = Removals()
        self._known = {kind: _Known() for kind in _KINDS}
        for kind in (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.USER):
            self._index(kind)

    def absent_entries(self) -> list[str]:
        """Return the service's own ids of archived entries that this run did not list, if that proves anything."""
        if not proves_absence(self._ingest, Kind.ENTRY_LIST):
            return []
        items = self._ingest.ledgers[Kind.ENTRY_LIST].fresh
        return [own for own in self._known[Kind.ENTRIES].own if own not in items]

    def run(self, confirmed: Mapping[str, dict[str, Any]], *, accept_removals: bool) -> None:
        """Fill the ledgers and the removals.

        Args:
            confirmed: the evidence for entries that the service no longer has, by its own ids.
            accept_removals: whether a large part of the blog may be absent.

        Raises:
            MassDisappearance: too many records of the service are absent.
        """
        for kind in (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES):
            absent = self._absent(kind, confirmed)
            if not accept_removals and is_mass(len(absent), len(self._known[kind].own)):
                raise refusal_of_mass(len(absent), len(self._known[kind].own), kind)
        self._pair_entries()
        self._pair(Kind.COMMENTS, self._comment_facts)
        self._pair(Kind.FILES, self._file_facts)
        self._pair(Kind.USER, lambda _: iter(()))
        for kind in _KINDS:
            self._store(kind)
            gone = self._absent(Kind.ENTRIES if kind is Kind.ENTRY_LIST else kind, confirmed)
            base = self.ledgers[kind].base
            self.removals.evidence[kind] = {each: evidence for each, evidence in gone.items() if each in base}

    def _index(self, kind: Kind) -> None:
        known, service = self._known[kind], self._service
        for record_id, raw in self._state.scan(kind):
            parts = service.parts(raw)
            if self._way.name in parts:
                own = self._way.key(kind, parts[self._way.name])
                if own is not None:
                    known.own[own] = record_id
                    if len(parts) == 1:
                        known.only.add(record_id)
            facts: Iterator[tuple[str, ...]] = iter(())
            if kind is Kind.ENTRIES:
                facts = _entry_facts(service.post(raw, self._state.load(Kind.ENTRY_LIST, record_id)))
            elif kind is Kind.COMMENTS:
                facts = _comment_facts(service.comment(raw))
            elif kind is Kind.FILES:
                facts = self._file_facts(raw)
            for key in facts:
                known.keys[key].append(record_id)

    def _absent(self, kind: Kind, confirmed: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the evidence for archived records that only the service gave, and that it no longer has."""
        known = self._known.get(kind, _Known())
        if kind is Kind.ENTRIES:
            return {known.own[own]: evidence for own, evidence in confirmed.items() if known.own[own] in known.only}
        if kind is Kind.USER or not proves_absence(self._ingest, kind):
            return {}
        seen, last = self._ingest.ledgers[kind].fresh, len(self._ingest.sweeps)
        source = self._ingest.client.source
        evidence = {"absent_in_sweeps": [last - 1, last]} if source is None else dict(source.evidence)
        return {
            record_id: evidence for own, record_id in known.own.items() if own not in seen and record_id in known.only
        }

    def _read(self, kind: Kind) -> Iterator[tuple[str, Any]]:
        """Yield the own id and the record of everything that the run read."""
        ledger = self._ingest.ledgers[kind]
        for own, _, _ in ledger.changes():
            frozen = ledger.frozen(own)
            if frozen is not None:
                yield own, lossless_json.loads(frozen.data)

    def _item(self, own: str) -> Any:
        frozen = self._ingest.ledgers[Kind.ENTRY_LIST].frozen(own)
        return None if frozen is None else lossless_json.loads(frozen.data)

    def _pair_entries(self) -> None:
        """Give each entry the id of its partner; name the partners whose texts differ."""
        known = self._known[Kind.ENTRIES]
        archived = len(self.ledgers[Kind.ENTRIES].base)
        pairs = 0
        for own, raw in self._read(Kind.ENTRIES):
            post = self._way.post(raw, self._item(own))
            partner = known.find(own, _entry_facts(post))
            if partner is None:
                self._ids[Kind.ENTRIES][own] = self._free_id(Kind.ENTRIES, own)
                self.report.new += 1
                continue
            known.taken.add(partner)
            self._ids[Kind.ENTRIES][own] = partner
            pairs += 1
            self._compare(partner, raw, post)
        self.report.matched = pairs
        self.report.only_archived = archived - pairs
        self._ids[Kind.ENTRY_LIST] = dict(self._ids[Kind.ENTRIES])
        for own, item in self._read(Kind.ENTRY_LIST):
            if own not in self._ids[Kind.ENTRY_LIST]:
                partner = known.find(own, _entry_facts(self._way.post(None, item)))
                self._ids[Kind.ENTRY_LIST][own] = partner or self._free_id(Kind.ENTRY_LIST, own)

    def _compare(self, record_id: str, raw: Raw, post: Post) -> None:
        """Name a conflict if the text of a new or changed record differs from that of another service."""
        archived = self._state.load(Kind.ENTRIES, record_id) or {}
        parts = self._service.parts(archived)
        others = {name: part for name, part in parts.items() if name != self._way.name}
        if not others or parts.get(self._way.name) == raw:
            return
        other = self._service.post({"id": record_id, SOURCES: others})
        if _words(other) != _words(post) and _words(post):
            sentence = message(
                "entry {id}: its text at {service} differs from that at {others}; both are kept",
                id=record_id,
                service=self._way.name,
                others=", ".join(sorted(others)),
            )
            if len(self.report.conflicts) < _MAX_NAMED:
                self.report.conflicts.append(sentence)
            else:
                self.report.more_conflicts += 1

    def _pair(self, kind: Kind, facts: Any) -> None:
        known = self._known[kind]
        for own, raw in self._read(kind):
            partner = known.find(own, facts(raw))
            if partner is not None:
                known.taken.add(partner)
            self._ids[kind][own] = partner or self._free_id(kind, own)

    def _free_id(self, kind: Kind, own: str) -> str:
        """Return an id for a record without a partner; another record may have its own one."""
        base = self.ledgers[kind].base
        taken = own in base and own not in self._known.get(kind, _Known()).own
        return f"{self._way.name}-{own}" if taken else own

    def _comment_facts(self, raw: Raw) -> Iterator[tuple[str, ...]]:
        comment = self._way.comment(raw)
        return _comment_facts(comment, self._ids[Kind.ENTRIES].get(comment.post_id, comment.post_id))

    def _file_facts(self, raw: Raw) -> Iterator[tuple[str, ...]]:
        upload = (self._service if parts_of(raw) is not None else self._way).upload(raw)
        if upload.url:
            yield ("url", _address_key(upload.url))

    def _store(self, kind: Kind) -> None:
        """Put the joined records of a kind into its ledger."""
        ledger = self.ledgers[kind]
        for own, raw in self._read(kind):
            record_id = self._ids[kind][own]
            archived = self._state.load(kind, record_id)
            parts = {} if archived is None else self._service.parts(archived)
            joined = self._joined(kind, record_id, {**parts, self._way.name: raw})
            ledger.observe(record_id, joined, _ONLY_SWEEP)
        ledger.spool.flush()

    def _joined(self, kind: Kind, record_id: str, parts: Mapping[str, Raw]) -> Frozen:
        """Return the record to store: the main service's own one if it is alone."""
        main = self._service.main
        if list(parts) == [main.name] and main.key(kind, parts[main.name]) == record_id:
            return lossless_json.freeze(parts[main.name])
        members: dict[str, Any] = {"id": record_id}
        if kind is Kind.COMMENTS:
            comment = self._way.comment(parts[self._way.name])
            members["post_id"] = self._ids[Kind.ENTRIES].get(comment.post_id, comment.post_id)
            if comment.parent:
                members["parent"] = self._ids[Kind.COMMENTS].get(comment.parent, comment.parent)
        # The parts are joined as texts, because an object that plain JSON would change remembers its own text.
        texts = [b"%b:%b" % (lossless_json.text(name), lossless_json.freeze(part).data) for name, part in parts.items()]
        head = lossless_json.dumps(members).removesuffix(b"}")
        whole = b'%b,"%b":{%b}}' % (head, SOURCES.encode(), b",".join(sorted(texts)))
        return lossless_json.freeze(lossless_json.loads(whole))


def _entry_facts(post: Post) -> Iterator[tuple[str, ...]]:
    """Yield what identifies an entry: its permalink, then its minute and title, then its day and title."""
    if post.permalink:
        yield ("link", _address_key(post.permalink))
    title = _key(post.title)
    if post.date is not None and title:
        yield ("minute", _minute(post.date), title)
        yield ("day", post.date.date().isoformat(), title)


def _comment_facts(comment: Comment, post_id: str | None = None) -> Iterator[tuple[str, ...]]:
    """Yield what identifies a comment: its entry, its writer and its text."""
    text = sha256(_key(plain_text(comment.text)).encode("utf-8", "replace")).hexdigest()
    yield (post_id or comment.post_id, _key(comment.name), text)


def _minute(date: datetime) -> str:
    return date.replace(second=0, microsecond=0, tzinfo=None).isoformat()


def _words(post: Post) -> str:
    return _key(plain_text(f"{post.body} {post.more}"))


def _key(text: str) -> str:
    """Return a text without differences of width, case and spaces."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _address_key(address: str) -> str:
    """Return what two spellings of an address share: host, path and query, but not the scheme or a last slash."""
    parts = urlsplit(address.strip())
    host = parts.netloc.lower().removeprefix("www.")
    return f"{host}{unquote(parts.path).rstrip('/')}?{parts.query}"
