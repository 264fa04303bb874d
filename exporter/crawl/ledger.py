"""The records of each kind in the archive, compared with those that this run has seen.

A ledger holds hashes and file positions only; the records stay in the archive and in the checkpoint's spools.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive.lines import intact_data, put_head, split, split_checked
from exporter.archive.state import IdRows, Key, KindState, SegmentFiles, key_of_id, merged
from exporter.crawl.checkpoint import Checkpoint, note_of
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.message import message, restored
from exporter.model.kinds import Kind
from exporter.service.interface import Validators

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from exporter.archive.state import State
    from exporter.crawl.checkpoint import Spool
    from exporter.crawl.freshness import Freshness
    from exporter.lossless_json import Frozen
    from exporter.model.records import Raw
    from exporter.service.interface import BlogService

_FIRST_SWEEP: Final = 1
UNSEEN = 0
_TEXT_BUCKETS: Final = 4096
"""Texts are counted by two parts of their hash, so that memory stays constant. Different texts rarely share both."""
Place = tuple[int, int]
"""Offset and length of a line in a spool."""


class Observed(NamedTuple):
    """The result of observing a record.

    Attributes:
        agrees: the sweep before saw the same content; in the first sweep: the archive has the same content.
        again: this sweep has already seen the id.
        otherwise: this sweep has already seen the id with other content.
    """

    agrees: bool
    again: bool
    otherwise: bool


class Ledger:
    """One kind's records: ``base`` is the newest version's state, ``fresh`` the records read now that differ.

    Every record has the number of the last sweep that saw it. So two sweeps are compared without storing both.
    """

    def __init__(self, base: KindState, spool: Spool) -> None:
        self.base = base
        self.fresh = KindState()
        self.spool = spool
        self._segments = SegmentFiles()
        self._segment = self._segments.add(spool.path)
        self._base_seen = bytearray(base.rows())  # including records that differ
        self._fresh_seen = bytearray()  # for new records
        self.distrusted: set[str] = set()

    def distrust(self, record_id: str, spare: Frozen | None) -> None:
        """Make the run write a record again, because the version that contains it is damaged.

        Args:
            record_id: the record.
            spare: a second copy in the archive; without one the record must be read again.
        """
        self.distrusted.add(record_id)
        if spare is not None and record_id not in self.fresh:
            self.restore(record_id, spare.identity, self.spool.put(record_id, spare), UNSEEN)

    def holds(self, record_id: str) -> bool:
        """Return whether the archive has an undamaged copy, so that "unchanged" is a usable answer."""
        return record_id in self.base and record_id not in self.distrusted

    def heals(self, record_id: str) -> bool:
        """Return whether a record is written again although it is unchanged."""
        if record_id not in self.distrusted:
            return False
        row = self.base.row(record_id)
        return (None if row is None else self.base.identity(row)) == self.identity(record_id)

    def lacks(self, record_id: str) -> bool:
        """Return whether a record must be written again but was not read."""
        return record_id in self.distrusted and record_id not in self.fresh

    def seen(self, record_id: str) -> int:
        """Return the last sweep that saw a record, or ``UNSEEN``."""
        sightings, row = self._sightings(record_id)
        return UNSEEN if row is None else sightings[row]

    def mark(self, record_id: str, sweep: int) -> int:
        """Record that a sweep saw a record with a known state; return the last sweep before, or ``UNSEEN``."""
        sightings, row = self._sightings(record_id)
        if row is None:
            return UNSEEN
        before = sightings[row]
        sightings[row] = sweep
        return before

    def see_again(self, ids: Sequence[str], digest: str, sweep: int) -> list[int] | None:
        """Record that a sweep saw a page whose records are known.

        Args:
            ids: the ids of its records.
            digest: SHA-256 over these ids and the identities that the records had on the page.
            sweep: the sweep's number.

        Returns:
            The positions of the records that this sweep had not seen before. ``None``, and nothing is recorded, if a
            record differs from the sweep before, or from the archive in the first sweep.
        """
        if self.distrusted:
            return None
        hashed: list[bytes] = []
        rows: list[tuple[int | None, int | None]] = []
        find, any_fresh = self.base.keys.find, len(self.fresh.keys) > 0
        for record_id in ids:
            key = key_of_id(record_id)
            base, fresh = find(key), self.fresh.keys.find(key) if any_fresh else None
            if self._seen(base, fresh) not in {sweep, sweep - 1} or (sweep == 1 and fresh is not None):
                return None
            if fresh is not None:
                identity = self.fresh.identity(fresh)
            elif base is not None:
                identity = self.base.identity(base)
            else:
                return None
            hashed += record_id.encode("utf-8", "backslashreplace"), b"\0", identity
            rows.append((base, fresh))
        if hashlib.sha256(b"".join(hashed)).hexdigest() != digest:
            return None
        new = []
        for at, (base, fresh) in enumerate(rows):
            if self._seen(base, fresh) != sweep:
                new.append(at)
                self._sight(base, fresh, sweep)
        return new

    def _sightings(self, record_id: str) -> tuple[bytearray, int | None]:
        """Return the list with the sweeps that saw a record, and the record's row in it."""
        key = key_of_id(record_id)
        row = self.base.keys.find(key)
        return (self._base_seen, row) if row is not None else (self._fresh_seen, self.fresh.keys.find(key))

    def _seen(self, base: int | None, fresh: int | None) -> int:
        """Return the last sweep that saw the record of these rows."""
        if base is not None:
            return self._base_seen[base]
        return UNSEEN if fresh is None else self._fresh_seen[fresh]

    def _sight(self, base: int | None, fresh: int | None, sweep: int) -> None:
        if base is not None:
            self._base_seen[base] = sweep
        elif fresh is not None:
            self._fresh_seen[fresh] = sweep

    def identity(self, record_id: str) -> bytes | None:
        """Return the identity of the newest known state of a record."""
        for state in (self.fresh, self.base):
            row = state.row(record_id)
            if row is not None:
                return state.identity(row)
        return None

    def observe(self, record_id: str, frozen: Frozen, sweep: int) -> Observed:
        """Record a record's state as seen by a sweep, and spool it if it differs.

        The first sweep is compared with the archive and not with ``fresh``: an interrupted run may have left a list
        item there whose entry is still unread.
        """
        key = key_of_id(record_id)
        base, fresh = self.base.keys.find(key), self.fresh.keys.find(key)
        identity = frozen.identity
        archived = base is not None and self.base.identity(base) == identity
        if fresh is not None:
            same = self.fresh.identity(fresh) == identity
        else:
            same = archived and record_id not in self.distrusted
        seen = self._seen(base, fresh)
        agrees = archived if sweep == 1 and seen != sweep else same and seen in (sweep, sweep - 1)
        if same:
            self._sight(base, fresh, sweep)
        else:
            self._put(key, base, fresh, identity, self.spool.put(record_id, frozen), sweep)
        return Observed(agrees, seen == sweep, seen == sweep and not same)

    def restore(self, record_id: str, identity: bytes, place: Place, sweep: int) -> None:
        """Set a record to a line of the spool."""
        key = key_of_id(record_id)
        self._put(key, self.base.keys.find(key), self.fresh.keys.find(key), identity, place, sweep)

    def _put(self, key: Key, base: int | None, fresh: int | None, identity: bytes, place: Place, sweep: int) -> None:
        """Set the record with this key and these rows to a line of the spool."""
        row = self.fresh.put_at(key, fresh, identity, 0, (self._segment, *place))
        if row == len(self._fresh_seen):
            self._fresh_seen.append(UNSEEN)
        self._sight(base, row, sweep)

    def is_new(self, record_id: str) -> bool:
        """Return whether the run has read a record that the archive does not have."""
        return record_id in self.fresh and record_id not in self.base

    def drop(self, record_id: str) -> None:
        """Leave out a record that the archive does not have."""
        row = self.fresh.row(record_id)
        if row is not None:
            self._fresh_seen[row] = UNSEEN
            self.fresh.keys.remove(key_of_id(record_id))

    def changes(self) -> Iterator[tuple[str, int | None, int]]:
        """Yield the ids that differ from the newest version, in order, with their rows in ``base`` and ``fresh``."""
        for key, row in self.fresh.keys.items():
            base = self.base.keys.find(key)
            differs = base is None or self.base.identity(base) != self.fresh.identity(row)
            if differs or str(key) in self.distrusted:
                yield str(key), base, row

    def line(self, record_id: str, row: int) -> bytes:
        """Read the spooled line of a record that has a row in ``fresh``.

        Raises:
            ArchiveDamaged: the checkpoint was changed while it was in use.
        """
        text = self._segments.read(*self.fresh.place(row))
        identity = self.fresh.identity(row)
        if intact_data(text, put_head(record_id), identity) is None:
            line, fault = split_checked(text)
            if fault is not None or line is None or (line.record_id, line.identity) != (record_id, identity):
                raise ArchiveDamaged(
                    "{path} was changed while it was in use; run the backup again.", path=self.spool.path
                )
        return text

    def frozen(self, record_id: str) -> Frozen | None:
        """Return the newest state of a record that differs from the archive; ``None`` if it does not differ."""
        row = self.fresh.row(record_id)
        return None if row is None else split(self.line(record_id, row)).frozen

    def absent_since(self, sweep: int) -> Iterator[str]:
        """Yield the ids of the newest version that no sweep from ``sweep`` on has seen."""
        for key, row in self.base.keys.items():
            if self._base_seen[row] < sweep:
                yield str(key)

    def never_seen_since(self, sweep: int, ids: IdRows) -> Iterator[str]:
        """Yield those of ``ids`` that no sweep from ``sweep`` on has seen."""
        yield from (str(key) for key, _ in ids.items() if self.seen(str(key)) < sweep)

    def vanished(self, sweep: int) -> Iterator[str]:
        """Yield the ids that are not in the archive and that only an interrupted run or an earlier sweep has seen."""
        for key, row in self.fresh.keys.items():
            if self._fresh_seen[row] < sweep and self.base.keys.find(key) is None:
                yield str(key)

    def known(self) -> Iterator[str]:
        """Yield the ids of the newest version and of this run, in order."""
        yield from (str(key) for key, _, _ in merged(self.base.keys, self.fresh.keys))

    def count_seen(self, sweep: int) -> int:
        """Return the number of records that ``sweep`` was the last to see."""
        return self._base_seen.count(sweep) + self._fresh_seen.count(sweep)

    def seen_in(self, sweep: int) -> Iterator[str]:
        """Yield the ids that ``sweep`` was the last to see, in order."""
        for key, base, fresh in merged(self.base.keys, self.fresh.keys):
            if self._seen(base, fresh) == sweep:
                yield str(key)

    def note(self, offset: int, length: int) -> bytes:
        """Read a journal line of the spool."""
        return self._segments.read(self._segment, offset, length)

    def close(self) -> None:
        """Close the file that lines are read from."""
        self._segments.close()


class EntryTexts:
    """Finds new or changed entries with less text than in the archive, or with the same text as many others.

    Args:
        service: reads the entries.

    Attributes:
        alike: the largest number of entries with the same text.
    """

    def __init__(self, service: BlogService) -> None:
        self._service = service
        self._texts = array("L", bytes(array("L").itemsize * 2 * _TEXT_BUCKETS))
        self.alike = 0

    def is_blank(self, raw: Raw, bodies: Sequence[str]) -> bool:
        """Return whether an entry with these parts of text has neither a title nor a text."""
        return not any(bodies) and not self._service.title(Kind.ENTRIES, raw)

    def count(self, bodies: Sequence[str]) -> None:
        """Count the text of a new or changed entry."""
        text = "".join(bodies)
        if text:
            more, one = divmod(hash(text), _TEXT_BUCKETS)
            places = one, _TEXT_BUCKETS + more % _TEXT_BUCKETS
            for place in places:
                self._texts[place] += 1
            self.alike = max(self.alike, min(self._texts[place] for place in places))

    def lost_text(self, raw: Raw, before: Raw) -> str | None:
        """Return a problem if an entry's text became shorter without an update, otherwise ``None``."""
        new, old = ([self._service.title(Kind.ENTRIES, each), *self._service.texts(each)] for each in (raw, before))
        if not any(len(now) < len(then) and then.startswith(now) for now, then in zip(new, old, strict=True)):
            return None
        updated = self._service.post(before).updated
        if updated is None or self._service.post(raw).updated != updated:
            return None
        return message(
            "a part of its text is missing, although its date of change is the same; the archive keeps the whole text. "
            "If the service is right, run again with --accept-removals"
        )


@frozen
class PendingState:
    """The state about to be committed: records come from the checkpoint if it has them, otherwise from the archive.

    Attributes:
        state: the newest version.
        ledgers: the records that this run has seen.
        gone: by kind, the ids that the new version removes.
    """

    state: State
    ledgers: Mapping[Kind, Ledger]
    gone: Mapping[Kind, Collection[str]]

    def ids(self, kind: Kind) -> list[str]:
        """Return the ids of a kind in order."""
        ledger = self.ledgers[kind]
        gone = self.gone.get(kind, ())
        found = (str(key) for key, _, _ in merged(ledger.base.keys, ledger.fresh.keys))
        return [record_id for record_id in found if record_id not in gone]

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return the hash of the record, or ``None`` if there is no such record."""
        return None if record_id in self.gone.get(kind, ()) else self.ledgers[kind].identity(record_id)

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Read a record's raw object; ``None`` if there is no such record."""
        if record_id in self.gone.get(kind, ()):
            return None
        ledger = self.ledgers[kind]
        row = ledger.fresh.row(record_id)
        if row is not None:
            return dict(lossless_json.loads(split(ledger.line(record_id, row)).data))
        if record_id in ledger.distrusted:
            return None
        return self.state.load(kind, record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Read the raw objects of a kind in the order of ids, one at a time."""
        for record_id in self.ids(kind):
            data = self.load(kind, record_id)
            if data is not None:
                yield record_id, data


@dataclass(slots=True)
class Restored:
    """The contents of a checkpoint.

    Attributes:
        records: the number of records.
        answered: the entries whose answers carry comments, and whether these are restored.
        originals: the asset records of kept answers, by their addresses.
        kept: the SHA-256 of all kept answers, also of replaced ones.
        again: the ids of the comments in the newest answers, for entries that were answered several times.
        shortages: by entry, the sentence about comments that its answer states and does not carry.
        textless: new entries of which the answer has no text, not even an empty one.
        items: by entry that was read, the hash of its list item then.
    """

    records: int = 0
    answered: dict[str, bool] = field(default_factory=dict)
    originals: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    again: dict[str, set[str]] = field(default_factory=dict)
    shortages: dict[str, str] = field(default_factory=dict)
    textless: set[str] = field(default_factory=set)
    items: dict[str, str] = field(default_factory=dict)


def restore(checkpoint: Checkpoint, ledgers: Mapping[Kind, Ledger], freshness: Freshness) -> Restored:
    """Fill the ledgers from the checkpoint's files.

    A record counts only with the note that follows it. An invalid line, or a record that contradicts its hash, ends the
    file, because a power cut may damage the last writes. The lists are read again from the first sweep on, and entries
    count as read in it. So an entry is read again if its list item has changed since.
    """
    found = Restored()
    for kind, spool in checkpoint.spools.items():
        for note, records in _passages(spool):
            for record_id in _ids(note):
                if record_id in records:
                    ledgers[kind].restore(record_id, *records[record_id], UNSEEN)
            if "page" not in note:
                _take_reading(note, ledgers[kind], freshness, found)
        found.records += len(ledgers[kind].fresh)
    for entry_id in [each for each, commented in found.answered.items() if not commented]:
        # The comments were not yet on disk when the run was killed, so the entry is read again.
        ledgers[Kind.ENTRIES].mark(entry_id, UNSEEN)
        del found.answered[entry_id]
    for entry_id in found.shortages:
        found.again.pop(entry_id, None)
    return found


def _passages(spool: Spool) -> Iterator[tuple[dict[str, Any], dict[str, tuple[bytes, Place]]]]:
    """Yield each note of a spool with its records; remove everything after a damaged line.

    Later lines cannot be trusted: a note without its record means that the version already has the record.
    """
    records: dict[str, tuple[bytes, Place]] = {}
    begun = 0
    for offset, line in spool.lines():
        try:
            note = note_of(line)
            if note is None:
                record = split(line)
                if record.fault() is not None:
                    break
                records[record.record_id] = (record.identity, (offset, len(line)))
                continue
            _ids(note)
        except (ValueError, TypeError, KeyError):
            break
        yield note, records
        records, begun = {}, offset + len(line)
    else:
        return
    spool.cut(begun)


def _ids(note: dict[str, Any]) -> list[str]:
    """Return the ids of a note's records.

    Raises:
        KeyError, TypeError, ValueError: the note is invalid.
    """
    if type(note["sweep"]) is not int:
        raise TypeError(message("a note names no sweep"))
    if "page" in note:
        return list(note["records"]["ids"])
    if "comments" in note:
        return list(note["comments"])
    _read_as(note)
    return [note["read"]]


def _read_as(note: dict[str, Any]) -> tuple[datetime, Validators]:
    return datetime.fromisoformat(note["at"]), Validators(note["etag"], note["last_modified"])


def _take_reading(note: dict[str, Any], ledger: Ledger, freshness: Freshness, found: Restored) -> None:
    """Restore an entry's reading, or the comments that its answer carried."""
    if "comments" in note:
        if found.answered.get(note["of"]):
            found.again[note["of"]] = set(note["comments"])
        found.answered[note["of"]] = True
        for record_id in note["comments"]:
            ledger.mark(record_id, _FIRST_SWEEP)
        return
    ledger.mark(note["read"], _FIRST_SWEEP)
    freshness.note(note["read"], *_read_as(note))
    found.items[note["read"]] = note.get("item", "")
    if "textless" in note:
        found.textless.add(note["read"])
    if "original" in note:
        found.originals[note["original"]["url"]] = note["original"]
        found.kept.add(str(note["original"].get("sha256")))
    if "shortage" in note:
        found.answered.setdefault(note["read"], False)
        if note["shortage"]:
            found.shortages[note["read"]] = restored(note["shortage"])
