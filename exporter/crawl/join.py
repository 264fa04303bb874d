"""Join an archive with a second service, such as an export file with the pages of its blog.

The run compares the second service with its earlier records in the archive, under that service's own ids. Then each
new record gets the id of the record in the archive that is the same entry, comment or file, and the two are stored as
one joined record (:mod:`exporter.service.joined`). Nothing is merged: both stay unchanged. Records without a partner
are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.lines import put_line
from exporter.archive.state import State
from exporter.crawl.ledger import UNSEEN, Ledger
from exporter.crawl.removals import Removals
from exporter.errors import JoinRefused
from exporter.message import listed, message
from exporter.model.kinds import Kind
from exporter.service.identity import Facts, comment_facts, entry_facts, file_facts, text_words
from exporter.service.joined import NEWEST, SOURCES, JoinedRecords, gone_of, joined_record, links_of

if TYPE_CHECKING:
    from exporter.crawl.checkpoint import Checkpoint
    from exporter.crawl.ingest import Ingest
    from exporter.lossless_json import Frozen
    from exporter.model.records import Post, Raw
    from exporter.service.interface import BlogService, Records

_KINDS: Final = (Kind.ENTRIES, Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES, Kind.USER)
_MAX_NAMED: Final = 20
_ONLY_SWEEP: Final = 1
_LEAST_SHARE: Final = 0.1
"""The share of entries that a source of the same blog has in common with the archive."""


@dataclass(slots=True)
class JoinReport:
    """The result of a join.

    Attributes:
        matched: entries that the archive has from the service and from another one.
        new: entries of this run that only the service has.
        only_archived: entries of the archive that the service does not have.
        withdrawn: those among them that it had until this run and that another service still has.
        conflicts: sentences about entries of this run with different texts.
        more_conflicts: how many more there are.
    """

    matched: int = 0
    new: int = 0
    only_archived: int = 0
    withdrawn: int = 0
    conflicts: list[str] = field(default_factory=list)
    more_conflicts: int = 0

    def document(self, service: str) -> dict[str, Any]:
        """Return it as the run's line states it."""
        return {
            "service": service,
            "matched": self.matched,
            "new": self.new,
            "only_archived": self.only_archived,
            "withdrawn": self.withdrawn,
            "conflicts": len(self.conflicts) + self.more_conflicts,
        }


class ServiceView:
    """The archived records that one service gave, under its own ids. A run compares the service with them.

    Args:
        reads: reads the archive's records.
        way: the service.
        archived: the newest version of the archive.
        checkpoint: an empty one, for the joined records.

    Attributes:
        state: the service's records.
        ids: by kind, the archive's id of each record by the service's own id.
    """

    def __init__(self, reads: JoinedRecords, way: BlogService, archived: State, checkpoint: Checkpoint) -> None:
        self.reads = reads
        self.way = way
        self.archived = archived
        self.checkpoint = checkpoint
        self.state = State(archived.blog_id, archived.version)
        self.ids: dict[Kind, dict[str, str]] = {kind: {} for kind in _KINDS}
        for kind in _KINDS:
            path = checkpoint.folder / f"{way.name}-{kind}.jsonl"
            with atomic.translated(path), atomic.open_private(path) as file:
                for record_id, raw in archived.scan(kind):
                    part = reads.parts(raw).get(way.name)
                    own = None if part is None else way.key(kind, part)
                    if part is not None and own is not None:
                        self.ids[kind][own] = record_id
                        file.write(put_line(own, lossless_json.freeze(part)))
            self.state.fold(path, kind, archived.version)


class Join:
    """Joins the new records of a run with the archive.

    Args:
        view: the archived records from the service that the run read.
        ingest: the run.
        accept: whether a service may be joined that has hardly any entry of the archive.

    Attributes:
        ledgers: the joined records that differ from the archive, by kind.
        removals: the records to remove: only the service gave them, and it no longer has them.
        report: the numbers of joined entries.
    """

    def __init__(self, view: ServiceView, ingest: Ingest, *, accept: bool = False) -> None:
        self._service = view.reads
        self._way = view.way
        self._ingest = ingest
        self._state = view.archived
        self._ids = {kind: dict(ids) for kind, ids in view.ids.items()}
        self._gone: dict[Kind, dict[str, str]] = {}
        self._moved: dict[str, str] = {}
        self._is_doubtful = not accept and not view.ids[Kind.ENTRIES]
        self.ledgers = {kind: Ledger(view.archived.kinds[kind], view.checkpoint.spools[kind]) for kind in Kind}
        self.report = JoinReport()
        self.removals = Removals()

    @property
    def entry_ids(self) -> Mapping[str, str]:
        """The archive's ids of entries by those of the service that the run read."""
        return self._ids[Kind.ENTRIES]

    def run(self, removed: Removals) -> None:
        """Join the new and changed records; ``removed`` has the records that the service no longer has, by its ids.

        Raises:
            JoinRefused: it is the first join with the service, which has hardly any entry of the archive.
        """
        self._ingest.checkpoint.flush()
        # A record that is gone may be back under another id, as with a file whose dates differ by a second.
        self._gone = {
            kind: {own: ids.pop(own) for own in removed.of(kind) if own in ids} for kind, ids in self._ids.items()
        }
        self._pair_entries()
        if self._is_doubtful:
            self._refuse_another_blog()
        self._pair(Kind.COMMENTS, self._comment_facts)
        self._pair(Kind.FILES, lambda reads, raw: file_facts(reads.upload(raw)))
        self._pair(Kind.USER, lambda *_: iter(()))
        for kind in _KINDS:
            self._store(kind)
            self.removals.evidence[kind] = self._remove(kind, removed.of(kind))
        items = self.removals.evidence[Kind.ENTRY_LIST]
        items.update({before: {"joined_as": self._ids[Kind.ENTRIES][own]} for own, before in self._moved.items()})
        if self._service.is_live(self._way.name):
            self._confirm()
        self._count()

    def _read(self, kind: Kind) -> Iterator[tuple[str, Any]]:
        """Yield the own id and the record of everything new and changed that the run read."""
        ledger = self._ingest.ledgers[kind]
        for own, _, _ in ledger.changes():
            frozen = ledger.frozen(own)
            if frozen is not None:
                yield own, lossless_json.loads(frozen.data)

    def _pair_entries(self) -> None:
        """Give each new entry the id of its partner, and name the entries whose texts differ."""
        partners = self._partners(
            Kind.ENTRIES,
            lambda record_id, raw: entry_facts(self._service.post(raw, self._state.load(Kind.ENTRY_LIST, record_id))),
        )
        ids, items = self._ids[Kind.ENTRIES], self._ids[Kind.ENTRY_LIST]
        # An entry whose text a service withheld, for example behind a password, has only its list item.
        own_items = set(items.values())
        for record_id, item in self._state.scan(Kind.ENTRY_LIST):
            if record_id not in own_items and self._state.identity(Kind.ENTRIES, record_id) is None:
                for key in entry_facts(self._service.post(None, item)):
                    partners.ids[key].append(record_id)
        for own, raw in self._read(Kind.ENTRIES):
            frozen = self._ingest.ledgers[Kind.ENTRY_LIST].frozen(own)
            post = self._way.post(raw, None if frozen is None else lossless_json.loads(frozen.data))
            if own not in ids:
                earlier = items.get(own)
                alone = earlier is None or self._is_alone(earlier)
                partner = partners.take(entry_facts(post)) if alone else earlier
                ids[own] = partner or earlier or self._free_id(Kind.ENTRIES, own)
                self.report.new += partner is None
                if earlier is not None and earlier != ids[own]:
                    # The entry could not be read until now.
                    items[own], self._moved[own] = ids[own], earlier
            self._compare(ids[own], post)
        for own, item in self._read(Kind.ENTRY_LIST):
            if own in ids:
                items[own] = ids[own]
            elif own not in items:
                facts = entry_facts(self._way.post(None, item))
                items[own] = partners.take(facts) or self._free_id(Kind.ENTRY_LIST, own)

    def _is_alone(self, record_id: str) -> bool:
        """Return whether a list item of the archive is only from this service."""
        raw = self._state.load(Kind.ENTRY_LIST, record_id)
        return raw is not None and list(self._service.parts(raw)) == [self._way.name]

    def _refuse_another_blog(self) -> None:
        archived = len(self.ledgers[Kind.ENTRIES].base)
        read = len(self._ids[Kind.ENTRIES])
        both = read - self.report.new
        if archived and read and both < _LEAST_SHARE * min(archived, read):
            raise JoinRefused(
                "Of {read:,} entries at {service}, {both:,} are among the {archived:,} of the archive, so it may be "
                "another blog. Nothing was written. If it is the same blog, run again with --accept-join.",
                read=read,
                service=self._way.name,
                both=both,
                archived=archived,
            )

    def _compare(self, record_id: str, post: Post) -> None:
        """Name an entry whose text differs from that of another service."""
        parts = self._service.parts(self._state.load(Kind.ENTRIES, record_id) or {})
        others = {name: part for name, part in parts.items() if name != self._way.name and part}
        if not others:
            return
        other = self._service.post({"id": record_id, SOURCES: others})
        words = text_words(f"{post.body} {post.more}")
        if not words or words == text_words(f"{other.body} {other.more}"):
            return
        if len(self.report.conflicts) == _MAX_NAMED:
            self.report.more_conflicts += 1
            return
        self.report.conflicts.append(
            message(
                "entry {id}: its text at {service} differs from that at {others}; both are kept",
                id=record_id,
                service=self._way.name,
                others=listed(sorted(others)),
            )
        )

    def _pair(self, kind: Kind, facts: Callable[[Records, Raw], Facts]) -> None:
        """Give each new record of a kind the id of its partner."""
        ids = self._ids[kind]
        new = [(own, raw) for own, raw in self._read(kind) if own not in ids]
        partners = self._partners(kind, lambda _, raw: facts(self._service, raw)) if new else _Partners()
        for own, raw in new:
            # Several records with all these facts are equal, such as a comment that was sent twice.
            ids[own] = partners.take(facts(self._way, raw), equal=True) or self._free_id(kind, own)

    def _partners(self, kind: Kind, facts: Callable[[str, Raw], Facts]) -> _Partners:
        """Return the archived records that may be partners: those without a record from the service."""
        partners, given = _Partners(), set(self._ids[kind].values())
        for record_id, raw in self._state.scan(kind):
            if record_id not in given:
                for key in facts(record_id, raw):
                    partners.ids[key].append(record_id)
        return partners

    def _free_id(self, kind: Kind, own: str) -> str:
        """Return an id for a record without a partner; a record of another service may have its own one."""
        return f"{self._way.name}-{own}" if own in self.ledgers[kind].base else own

    def _comment_facts(self, reads: Records, raw: Raw) -> Facts:
        comment = reads.comment(raw)
        own = comment.post_id
        return comment_facts(comment, self._entry_id(own) if reads is self._way else own)

    def _entry_id(self, own: str) -> str:
        """Return the archive's id of an entry, also of one that is only listed, or that only comments name."""
        found = self._ids[Kind.ENTRIES].get(own) or self._ids[Kind.ENTRY_LIST].get(own)
        return found or (self._free_id(Kind.ENTRIES, own) if own else own)

    def _store(self, kind: Kind) -> None:
        """Put the joined records of a kind into its ledger."""
        ledger = self.ledgers[kind]
        for own, raw in chain(self._read(kind), self._unchanged(kind)):
            record_id = self._ids[kind][own]
            archived = self._state.load(kind, record_id) or {}
            parts = {**(self._service.parts(archived) if archived else {}), self._way.name: raw}
            gone = {name: each for name, each in gone_of(archived).items() if name != self._way.name}
            links: dict[str, Any] = {}
            if kind is Kind.COMMENTS:
                comment = self._way.comment(raw)
                links["post_id"] = self._entry_id(comment.post_id)
                if comment.parent:
                    links["parent"] = self._ids[Kind.COMMENTS].get(comment.parent, comment.parent)
            ledger.observe(record_id, self._joined(kind, record_id, parts, gone, links), _ONLY_SWEEP)
        ledger.spool.flush()

    def _unchanged(self, kind: Kind) -> Iterator[tuple[str, Any]]:
        """Yield the records that this run did not read as changed and that get another id, or another entry."""
        if kind is Kind.ENTRY_LIST:
            yield from self._unchanged_items()
        elif kind is Kind.COMMENTS:
            fresh = {own for own, _, _ in self._ingest.ledgers[kind].changes()}
            for own, record_id in self._ids[kind].items():
                raw = None if own in fresh else self._state.load(kind, record_id)
                part = None if raw is None else self._service.parts(raw).get(self._way.name)
                if raw is None or part is None or not links_of(raw):
                    continue
                if links_of(raw).get("post_id") != self._entry_id(self._way.comment(part).post_id):
                    yield own, part

    def _unchanged_items(self) -> Iterator[tuple[str, Any]]:
        """Yield the list items that get another id, and that this run did not read as changed."""
        ledger = self._ingest.ledgers[Kind.ENTRY_LIST]
        for own, earlier in self._moved.items():
            raw = self._state.load(Kind.ENTRY_LIST, earlier)
            if own not in ledger.fresh and raw is not None:
                yield own, self._service.parts(raw)[self._way.name]

    def _joined(
        self, kind: Kind, record_id: str, parts: Mapping[str, Raw], gone: Mapping[str, Raw], links: Mapping[str, Any]
    ) -> Frozen:
        main, newest = self._service.main, self._way.name
        return joined_record(main, kind, record_id, newest=newest, parts=parts, gone=gone, links=links)

    def _remove(self, kind: Kind, removed: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Take the service's part out of the records that it no longer has; return the evidence of those left empty."""
        ledger, empty = self.ledgers[kind], {}
        given = set(self._ids[kind].values())
        for own, record_id in self._gone[kind].items():
            raw = self._state.load(kind, record_id)
            if raw is None or record_id in given:
                continue
            evidence = removed[own]
            parts = {name: part for name, part in self._service.parts(raw).items() if name != self._way.name}
            if not parts:
                empty[record_id] = evidence
                continue
            gone = {**gone_of(raw), self._way.name: evidence}
            self.report.withdrawn += kind is Kind.ENTRIES
            ledger.observe(record_id, self._joined(kind, record_id, parts, gone, links_of(raw)), _ONLY_SWEEP)
        ledger.spool.flush()
        return empty

    def _confirm(self) -> None:
        """Let what the service shows again count as its newest statement, if another one contradicts it."""
        reads, last = self._service, len(self._ingest.sweeps)
        seen = self._ingest.ledgers[Kind.ENTRY_LIST].seen
        shown = {record_id for own, record_id in self._ids[Kind.ENTRIES].items() if seen(own) == last}
        for kind in (Kind.ENTRIES, Kind.ENTRY_LIST, Kind.COMMENTS):
            ledger = self.ledgers[kind]
            for own, record_id in self._ids[kind].items():
                raw = self._state.load(kind, record_id)
                if raw is None or record_id in ledger.fresh or raw.get(NEWEST) in {None, self._way.name}:
                    continue
                newer = {**raw, NEWEST: self._way.name}
                if kind is Kind.COMMENTS:
                    is_shown = self._ingest.ledgers[kind].seen(own) != UNSEEN
                    counts = reads.comment(newer).status is not reads.comment(raw).status
                else:
                    is_shown = record_id in shown
                    counts = reads.post(newer).audience is not reads.post(raw).audience
                if is_shown and counts:
                    joined = self._joined(kind, record_id, reads.parts(raw), gone_of(raw), links_of(raw))
                    ledger.observe(record_id, joined, _ONLY_SWEEP)
            ledger.spool.flush()

    def _count(self) -> None:
        given, report = set(self._ids[Kind.ENTRIES].values()), self.report
        removed = self.removals.of(Kind.ENTRIES)
        for record_id, raw in self._state.scan(Kind.ENTRIES):
            alone = list(self._service.parts(raw)) == [self._way.name]
            report.matched += record_id in given and not alone
            report.only_archived += record_id not in given and record_id not in removed


@dataclass(slots=True)
class _Partners:
    """Archived records by their facts; each one is the partner of one record only."""

    ids: defaultdict[tuple[str, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    taken: set[str] = field(default_factory=set)

    def take(self, facts: Facts, *, equal: bool = False) -> str | None:
        """Return the only free record with one of these facts, or the first of several that are equal."""
        for key in facts:
            free = [each for each in self.ids.get(key, ()) if each not in self.taken]
            if len(free) == 1 or (free and equal):
                self.taken.add(free[0])
                return free[0]
        return None
