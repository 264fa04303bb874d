"""The facts that lists, addresses and the search need of each record, cached between builds of the site.

``.work/site.facts`` stores them, so that after a change only changed records are read. In a blog with 5,000 entries,
reading all others for one new text takes as long as everything else together.

Each line has a kind, a SHA-256 over the program and the rest, and the facts for up to 1,000 records of that kind,
ordered by id. Two more lines hold similar entries and the inputs of the search's shards in ``latest/``. A line with a
wrong hash, or from another program version or other options, is ignored. A fact is used only for a record with the same
identity, and a shard only for a file with the same hash.
"""

from __future__ import annotations

import contextlib
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from hashlib import sha256
from heapq import nsmallest
from itertools import zip_longest
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast
from zlib import crc32

from exporter import lossless_json
from exporter.archive import atomic
from exporter.model.kinds import Kind, sort_key
from exporter.site import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO, Self

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.export.interface import RecordSource
    from exporter.model.records import Raw
    from exporter.site.row_file import MarkedEntries

MAX_SIMILAR: Final = 4
_MARKS_PER_ENTRY: Final = 16
_READ_CHARACTERS: Final = 20_000
"""Characters of a text from which marks are taken."""
_TITLE_COUNTS: Final = 3
"""The weight of an occurrence in the title."""
_MAX_WORD_CHARACTERS: Final = 12
# The first character is written separately, because a class at the start is searched five times as fast as a
# repetition.
_KANJI = re.compile("[一-鿿々][一-鿿々]+")
_WORDS = re.compile("[ァ-ヺー][ァ-ヺー]{2,}"), re.compile("[a-z][a-z]{4,}")
_RARITY_STEPS: Final = 8
"""The value of a mark is 49 in two or three entries, 4 in 64 to 127 entries, and 0 in more."""
_MIN_SIMILARITY: Final = 60
"""The minimum similarity: one rare mark shared across two categories is not enough, two are."""

_ENTRIES_TOGETHER: Final = 2_048
"""Entries compared with all others in one pass."""


class Known(NamedTuple):
    """The facts that identify an entry: its marks separated by spaces, its category, and the ids of similar entries."""

    marks: str
    category: str
    alike: tuple[str, ...] = ()


def marks_of(title: str, text: str) -> str:
    """Return the marks of an entry with spaces between them; ``text`` is without tags."""
    counts = _said(text[:_READ_CHARACTERS])
    for mark, number in _said(title).items():
        counts[mark] += number * _TITLE_COUNTS
    least = min(sorted(counts.values())[-_MARKS_PER_ENTRY:], default=0)
    best = sorted([(-number, crc32(mark.encode()), mark) for mark, number in counts.items() if number >= least])
    return " ".join([mark for _, _, mark in best[:_MARKS_PER_ENTRY]])


def related(now: MarkedEntries, before: Mapping[str, Known]) -> Iterator[tuple[str, Known]]:
    """Yield the id and the facts of every entry in order.

    Entries are compared some thousands at a time, so that only the marks of these and their entries are in memory.

    Args:
        now: all entries.
        before: the previous facts; lists that stay the same are taken from them.
    """
    same = {entry_id for entry_id, *known in now if (was := before.get(entry_id)) and [*was[:2]] == known}
    touched = _touched(now, before, same) if same else set()
    batch: list[int] = []
    waiting: list[int] = []
    for place, (entry_id, text, _) in enumerate(now):
        batch.append(place)
        if entry_id not in same or not touched.isdisjoint(text.split(" ")):
            waiting.append(place)
        if len(waiting) == _ENTRIES_TOGETHER:
            yield from _compared(now, before, batch, waiting)
            batch, waiting = [], []
    yield from _compared(now, before, batch, waiting)


def _compared(
    now: MarkedEntries, before: Mapping[str, Known], batch: Iterable[int], waiting: Iterable[int]
) -> Iterator[tuple[str, Known]]:
    """Yield the id and the facts of the entries at some places; those that wait are compared with all others."""
    marks = {place: list(filter(None, now.at(place)[1].split(" "))) for place in waiting}
    owners = {mark: array("I") for found in marks.values() for mark in found}
    for place, (_, text, _) in enumerate(now if owners else ()):
        for mark in owners.keys() & text.split(" "):
            owners[mark].append(place)
    for place in batch:
        entry_id, text, category = now.at(place)
        if place in marks:
            yield entry_id, Known(text, category, _closest(now, place, marks[place], owners))
        else:
            yield entry_id, before[entry_id]


def _closest(
    now: MarkedEntries, place: int, marks: Iterable[str], owners: Mapping[str, Sequence[int]]
) -> tuple[str, ...]:
    """Return the ids of the entries most like the one at ``place``; ``owners`` has the places of each mark."""
    scores: defaultdict[int, int] = defaultdict(int)
    for mark in marks:
        value = _worth(len(owners[mark]))
        if value:
            for other in owners[mark]:
                scores[other] += value
    scores.pop(place, None)
    categories = now.categories
    category, ranked = categories[place], []
    for other, score in scores.items():
        doubled = score * 3 if categories[other] == category else score * 2
        if doubled >= _MIN_SIMILARITY * 2:
            ranked.append((-doubled, other))
    return tuple(now.id(other) for _, other in nsmallest(MAX_SIMILAR, ranked))


def _touched(now: Iterable[tuple[str, str, str]], before: Mapping[str, Known], same: set[str]) -> set[str]:
    """Return the marks of changed entries with a positive value now or before."""
    change: Counter[str] = Counter()
    for entry_id, known in before.items():
        if entry_id not in same:
            change.subtract(filter(None, known.marks.split(" ")))
    found = set(change)
    for entry_id, marks, _ in now:
        if entry_id not in same:
            added = [*filter(None, marks.split(" "))]
            change.update(added)
            found.update(added)
    numbers: Counter[str] = Counter()
    for _, marks, _ in now if found else ():
        numbers.update(found.intersection(marks.split(" ")))
    return {
        mark
        for mark in found
        if _worth(numbers[mark]) or (numbers[mark] > change[mark] and _worth(numbers[mark] - change[mark]))
    }


def _worth(number: int) -> int:
    """Return the value of a mark by its number of entries; 0 without entries."""
    step = number.bit_length() - 1
    return (_RARITY_STEPS - step) ** 2 if 0 <= step < _RARITY_STEPS - 1 else 0


def _said(text: str) -> Counter[str]:
    """Return how often a text has each of its marks."""
    lowered = text.lower()
    counts = Counter([word[:_MAX_WORD_CHARACTERS] for words in _WORDS for word in words.findall(lowered)])
    for run, number in Counter(_KANJI.findall(lowered)).items():
        for pair in map(add, run, run[1:]):
            counts[pair] += number
    return counts


_SHARDS: Final = "shards"
_RELATED: Final = "related"
_TOGETHER: Final = 1_000
_LAST_DAY: Final = date.max.toordinal()
_DAY_MINUTES: Final = 1_440
_PLAIN_FACTS: Final = 8
"""Members of the stored facts about an entry without labels."""


def _is_row(row: list[Any], *types: type) -> bool:
    """Return whether values have these types; lists must be lists of texts."""
    lists = (value for value in row if type(value) is list)
    return [type(value) for value in row] == [*types] and all(type(text) is str for texts in lists for text in texts)


class Labels(NamedTuple):
    """The labels of an entry whose service states more than one category; names are on one line and not long.

    Attributes:
        kind: post or page.
        author: the name of its writer; may be empty.
        categories: for each category, the names from its outermost parent to itself.
        tags: its tags.
    """

    kind: str
    author: str
    categories: tuple[tuple[str, ...], ...]
    tags: tuple[str, ...]

    def row(self) -> list[Any]:
        """Return the labels as JSON has them; no name has a line end."""
        return [self.kind, self.author, ["\n".join(path) for path in self.categories], list(self.tags)]

    @classmethod
    def of(cls, row: list[Any]) -> Self | None:
        """Read such a row; ``None`` if it is malformed."""
        if not _is_row(row, str, str, list, list):
            return None
        return cls(row[0], row[1], tuple(tuple(path.split("\n")) for path in row[2]), tuple(row[3]))


class EntryFacts(NamedTuple):
    """The stored facts about an entry.

    Attributes:
        date: when it was written.
        title: the part shown in lists.
        private: whether it is marked as private.
        access: its publication code if it is unusual, else empty.
        length: the characters of its texts, without tags and spaces.
        links: those of its texts that may lead to other entries.
        addresses: its possible addresses on the web.
        marks: its marks for finding similar entries, see :mod:`exporter.site.facts`.
        labels: its categories, tags and so on; ``None`` if its service states only one category.
        beginning: the start of its text, which is not stored: known only for an entry that was just read, else
            ``None``.
    """

    date: datetime | None
    title: str
    private: bool
    access: str
    length: int
    links: list[str]
    addresses: list[str]
    marks: str
    labels: Labels | None = None
    beginning: str | None = None

    def row(self) -> list[Any]:
        """Return the facts as JSON has them; the labels come last, if there are any."""
        labels = [] if self.labels is None else self.labels.row()
        return ["" if self.date is None else self.date.isoformat(), *self[1:-2], *labels]

    @classmethod
    def of(cls, row: list[Any]) -> Self | None:
        """Read such a row; ``None`` if it is malformed."""
        facts, rest = row[:_PLAIN_FACTS], row[_PLAIN_FACTS:]
        labels = Labels.of(rest) if rest else None
        if not _is_row(facts, str, str, bool, str, int, list, list, str) or (rest and labels is None):
            return None
        try:
            return cls(*[datetime.fromisoformat(facts[0]) if facts[0] else None, *facts[1:], labels])
        except ValueError:
            return None


class ItemFacts(NamedTuple):
    """The stored facts about a list item: its category's name."""

    category: str

    def row(self) -> list[Any]:
        """Return the facts as JSON has them."""
        return [self.category]

    @classmethod
    def of(cls, row: list[Any]) -> Self | None:
        """Read such a row; ``None`` if it is malformed."""
        return cls(*row) if _is_row(row, str) else None


class CommentFacts(NamedTuple):
    """The stored facts about a comment.

    Attributes:
        entry_id: the entry it belongs to.
        day: when it was written, as a proleptic ordinal; 0 if undated.
        links: those of its text that may lead to entries.
        minute: of its day, if its service states that and more than a flag.
    """

    entry_id: str
    day: int
    links: list[str]
    minute: int = 0

    def row(self) -> list[Any]:
        """Return the facts as JSON has them."""
        return [*self]

    @classmethod
    def of(cls, row: list[Any]) -> Self | None:
        """Read such a row; ``None`` if it is malformed."""
        if not _is_row(row, str, int, list, int) or not (0 <= row[1] <= _LAST_DAY and 0 <= row[3] < _DAY_MINUTES):
            return None
        return cls(*row)


_FACTS: Final[dict[Kind, type[EntryFacts | ItemFacts | CommentFacts]]] = {
    Kind.ENTRIES: EntryFacts,
    Kind.ENTRY_LIST: ItemFacts,
    Kind.COMMENTS: CommentFacts,
}
F = TypeVar("F", bound=EntryFacts | ItemFacts | CommentFacts)


class SiteFacts:
    """The facts about one state; use it in ``with``, which stores the facts at the end.

    Args:
        records: the state.
        layout: the archive; ``None`` to keep nothing.
        edition: changes when the program derives other facts from the same records.
    """

    def __init__(self, records: RecordSource, layout: Layout | None = None, edition: str = "") -> None:
        self._records = records
        self._layout = layout
        self._path = None if layout is None else layout.site_facts
        self._edition = edition
        self._opened = contextlib.ExitStack()
        self._changed = False
        self._new: BinaryIO | None = None
        self._shards: dict[str, list[Any]] = {}

    def __enter__(self) -> Self:
        if self._path is not None:
            self._new = self._opened.enter_context(atomic.open_private(self._new_path(self._path)))
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed is None:
            self._write(_SHARDS, [[path, *row] for path, row in self._shards.items()])
        self._opened.close()
        if self._path is None:
            return
        if self._changed and failed is None:
            self._path.remove()
            self._new_path(self._path).replace(self._path)
        else:
            self._new_path(self._path).unlink(missing_ok=True)

    def of(self, kind: Kind, derive: Callable[[Raw], F]) -> Iterator[tuple[str, F]]:
        """Yield the id and facts for each record of a kind in order; ``derive`` takes the facts from a record."""
        rows: list[list[Any]] = []
        for row, facts in self._merged(kind, derive):
            yield row[0], facts
            rows.append(row)
            if len(rows) == _TOGETHER:
                self._write(kind, rows)
                rows = []
        self._write(kind, rows)

    def related(self, now: MarkedEntries) -> Iterator[tuple[str, Known]]:
        """Yield the similar entries, see :func:`~exporter.site.facts.related`, starting from the stored ones."""
        stored = self._stored_related
        if all(known is not None and each == (known[0], *known[1][:2]) for each, known in zip_longest(now, stored())):
            found = stored()
        else:
            self._changed = True
            found = related(now, dict(stored()))
        rows: list[list[Any]] = []
        for entry_id, known in found:
            yield entry_id, known
            rows.append([entry_id, *known[:2], *known.alike])
            if len(rows) == _TOGETHER:
                self._write(_RELATED, rows)
                rows = []
        self._write(_RELATED, rows)

    def _stored_related(self) -> Iterator[tuple[str, Known]]:
        for entry_id, *row in self._known(_RELATED):
            if all(type(text) is str for text in row):
                yield entry_id, Known(row[0], row[1], tuple(row[2:]))

    def _merged(self, kind: Kind, derive: Callable[[Raw], F]) -> Iterator[tuple[list[Any], F]]:
        """Yield a row and the facts of each record; cached facts are used if they are of the same record."""
        records, known = self._records, self._known(kind)
        before = next(known, None)
        for record_id in records.ids(kind):
            while before is not None and before[0] != record_id and sort_key(before[0]) < sort_key(record_id):
                before = next(known, None)
                self._changed = True
            state, kept = [record_id, self._identity(kind, record_id)], None
            if before is not None and before[:2] == state:
                row, kept = before, _FACTS[kind].of(before[2:])
                before = next(known, None)
            if kept is not None:
                yield row, cast("F", kept)
                continue
            self._changed = True
            found = derive(records.load(kind, record_id) or {})
            yield [*state, *found.row()], found
        self._changed = self._changed or before is not None

    @cached_property
    def _old_shards(self) -> dict[str, list[Any]]:
        return {row[0]: row[1:] for row in self._known(_SHARDS)}

    def shard_is(self, path: str) -> None:
        """Keep the stored facts about a shard that still exists in the site at ``path``."""
        if path in self._old_shards:
            self._shards[path] = self._old_shards[path]

    def shard_was(self, path: str, chunks: Sequence[bytes]) -> tuple[bytes, int]:
        """Return a shard as ``latest/`` has it, and a bit mask of its unchanged chunks.

        Args:
            path: of its file in the site.
            chunks: the fingerprints of its current chunks.
        """
        digest, *made_of = self._old_shards.get(path, [""])
        same = sum(1 << at for at, (old, new) in enumerate(zip(made_of, chunks, strict=False)) if old == new.hex())
        content = b""
        if self._layout is not None and same:
            with contextlib.suppress(OSError):
                content = (self._layout.latest / NAME / path).read_bytes()
        return (content, same) if sha256(content).hexdigest() == digest else (b"", 0)

    def note_shard(self, path: str, chunks: Sequence[bytes], content: bytes) -> None:
        """Store the fingerprints of the chunks of a shard."""
        self._shards[path] = [sha256(content).hexdigest(), *(chunk.hex() for chunk in chunks)]
        self._changed = True

    def _identity(self, kind: Kind, record_id: str) -> str:
        return (self._records.identity(kind, record_id) or b"").hex()

    def _known(self, kind: str) -> Iterator[list[Any]]:
        """Yield the rows of a kind whose hash is correct."""
        with contextlib.suppress(OSError, lossless_json.NotJson), contextlib.ExitStack() as opened:
            for line in opened.enter_context(self._path.open("rb")) if self._path is not None else ():
                name, _, rest = line.partition(b" ")
                digest, _, text = rest.partition(b" ")
                if name != kind.encode() or digest != self._digest(kind, text):
                    continue
                rows = lossless_json.loads(text)
                yield from (row for row in rows if isinstance(row, list) and len(row) > 2 and type(row[0]) is str)

    def _write(self, kind: str, rows: list[list[Any]]) -> None:
        if self._new is not None and rows:
            text = lossless_json.dumps(rows) + b"\n"
            self._new.write(b"%b %b %b" % (kind.encode(), self._digest(kind, text), text))

    def _digest(self, kind: str, text: bytes) -> bytes:
        return sha256(f"{kind} {self._edition}\n".encode() + text).hexdigest().encode()

    @staticmethod
    def _new_path(path: InnerPath) -> InnerPath:
        return path.with_name(f"{path.name}.new")
