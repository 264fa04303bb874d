"""The index file: the folded texts of a version's records, for a search from beginning to end.

The first line names the version that the index belongs to and the number of records. Each record then has two lines.
The first has kind, id, identity, date and the folded texts, separated by tabs, which no folded text contains. The
second has the original texts as JSON. A search compares folded bytes and splits only the lines that contain all terms.

The file may be forged or damaged. :mod:`exporter.search.index` shows a hit only if the archive's own record gives the
same two lines.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Self

from exporter import lossless_json
from exporter.archive.safe_files import inner
from exporter.html.text import plain_text
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.labels import path_name
from exporter.search.facets import facets_of
from exporter.search.folding import Span, fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exporter.model.records import Raw
    from exporter.service.interface import Records

RANK_SCORE: Final = 1_000_000
"""The score of a hit for each rank; each place of a term adds one."""
_HEAD_BYTES: Final = 1000
_PATTERN_CHARACTERS: Final = 1_000_000
"""A regular expression is searched in the beginning of a text."""
_PATTERN_MATCHES: Final = 1_000
_PATTERN_SPANS: Final = 20


class Rank(IntEnum):
    """The weight of a hit in a text. A higher rank outweighs any number of hits of lower ranks."""

    COMMENT = 1
    BODY = 2
    TITLE = 3


FIELDS: Final[dict[Kind, tuple[tuple[str, Rank], ...]]] = {
    Kind.ENTRIES: (
        ("title", Rank.TITLE),
        ("body", Rank.BODY),
        ("continuation", Rank.BODY),
        ("continuation", Rank.BODY),
        ("category", Rank.BODY),
        ("tag", Rank.BODY),
        ("author", Rank.BODY),
        ("excerpt", Rank.BODY),
    ),
    Kind.COMMENTS: (("title", Rank.COMMENT), ("name", Rank.COMMENT), ("text", Rank.COMMENT)),
    Kind.FILES: (("title", Rank.TITLE), ("name", Rank.TITLE), ("explanation", Rank.BODY)),
}
"""The kinds that are searched, in the order of their hits. For each text: the field's name in a hit, and its rank."""


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """The searched texts of a record.

    Attributes:
        entry_id: the entry that it is or belongs to; empty for a file.
        title: its title or file name; empty for a comment.
        date: when it was written, or a file modified; ``None`` if the service does not say.
        texts: plain text for each of its kind's :data:`FIELDS`; empty if the record has none.
        about: of an entry its :class:`~exporter.search.facets.Facets` as JSON, of a comment the id of its entry.
    """

    entry_id: str
    title: str
    date: datetime | None
    texts: tuple[str, ...]
    about: str = field(default="", compare=False)


_KINDS: Final = {str(kind).encode(): kind for kind in FIELDS}


def document_of(kind: Kind, raw: Raw | None, item: Raw | None, service: Records) -> SearchDocument:
    """Return a record's document.

    Args:
        kind: entries, comments or files.
        raw: the record; ``None`` for an entry with only a list item.
        item: the entry's list item, or ``None``.
        service: reads them.
    """
    if kind is Kind.COMMENTS:
        comment = service.comment(raw or {})
        return SearchDocument(
            comment.post_id,
            "",
            comment.date,
            (comment.title, comment.name, plain_text(comment.text)),
            comment.post_id,
        )
    if kind is Kind.FILES:
        file = service.upload(raw or {})
        described = "\n".join(filter(None, (plain_text(file.description or ""), file.alt)))
        texts = (file.title or "", file.name, described)
        return SearchDocument("", file.title or file.name, _from_seconds(file.modified), texts)
    post = service.post(raw, item)
    return SearchDocument(
        post.id,
        post.title,
        post.date if raw is not None else post.period_date or post.listed_on,
        (
            post.title,
            plain_text(post.body, quiet=True),
            post.more_title,
            plain_text(post.more, quiet=True),
            "\n".join(path_name(each) for each in post.every_category),
            "\n".join(post.tags),
            post.author,
            plain_text(post.excerpt),
        ),
        "" if raw is None else facets_of(post).text(),
    )


def _from_seconds(seconds: int | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


class WrongIndex(ValueError):
    """The file is no index, is damaged, or belongs to other records."""


class IndexedRecord(NamedTuple):
    """An indexed record.

    Attributes:
        offset: the byte at which its two lines begin.
        kind: its kind.
        moment: its date as seconds since 1970, or negative infinity.
        folded: a folded text for each field of its kind, as UTF-8.
        plain: the second line.
        key: its id as JSON.
    """

    offset: int
    kind: Kind
    moment: float
    folded: list[bytes]
    plain: bytes
    key: bytes

    def record_id(self) -> str:
        """Return its id.

        Raises:
            WrongIndex: the line is damaged.
        """
        try:
            return str(lossless_json.loads(self.key))
        except lossless_json.NotJson as error:
            raise WrongIndex(message("the line at byte {offset} is damaged", offset=self.offset)) from error

    def texts(self) -> list[str]:
        """Return its original texts.

        Raises:
            WrongIndex: the line is damaged.
        """
        try:
            texts = lossless_json.loads(self.plain)
        except lossless_json.NotJson:
            texts = None
        if not isinstance(texts, list) or [type(text) for text in texts] != [str] * (len(self.folded) + 1):
            raise WrongIndex(message("the line after byte {offset} is damaged", offset=self.offset))
        return texts[:-1]

    def about(self) -> str:
        """Return the facts about it that are no texts; see :class:`SearchDocument`.

        Raises:
            WrongIndex: the line is damaged.
        """
        # Only the last string begins after a comma and an unescaped quotation mark for the last time.
        last = self.plain[self.plain.rfind(b',"') + 1 :].rstrip(b"\n").removesuffix(b"]")
        try:
            return str(lossless_json.loads(last))
        except lossless_json.NotJson as error:
            raise WrongIndex(message("the line after byte {offset} is damaged", offset=self.offset)) from error


def record_head(kind: Kind, record_id: str, identity: bytes) -> bytes:
    """Return how a record's lines begin, which differs for each of its states."""
    return b"%b\t%b\t%b\t" % (kind.encode(), lossless_json.text(record_id), identity.hex().encode())


def record_lines(kind: Kind, record_id: str, identity: bytes, document: SearchDocument) -> bytes:
    """Return the two lines of a record. ``identity`` changes whenever its document does."""
    moment = b"" if document.date is None else repr(document.date.timestamp()).encode()
    folded = b"\t".join([moment, *(fold(text).encode() for text in document.texts)])
    return b"%b%b\n%b\n" % (
        record_head(kind, record_id, identity),
        folded,
        lossless_json.dumps([*document.texts, document.about]),
    )


def index_head(edition: str, content: str, count: int) -> bytes:
    """Return the first line."""
    return f"{edition}\t{content}\t{count}\n".encode()


class IndexFile:
    """An open index file; close it.

    Attributes:
        path: of the file.
        edition: changes whenever the same records give another index.
        content: changes whenever the records may have changed.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self.path = path
        head = file.readline(_HEAD_BYTES).decode("utf-8", "replace").rstrip("\n").split("\t")
        if len(head) != 3 or not head[2].isdecimal():
            raise WrongIndex(message("it is not an index"))
        self.edition, self.content = head[:2]
        self._count = int(head[2])
        self._start = file.tell()

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the index at ``path``.

        Raises:
            OSError: no regular file exists there.
            WrongIndex: it is no index.
        """
        file: BinaryIO = inner(path).open("rb")
        try:
            return cls(file, path)
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def records(
        self,
        needles: Sequence[bytes] = (),
        patterns: Sequence[re.Pattern[str]] = (),
        kind: Kind | None = None,
        since: datetime | None = None,
    ) -> Iterator[IndexedRecord]:
        """Yield the records whose lines contain all ``needles`` and ``patterns``, of this kind, not before ``since``.

        Raises:
            WrongIndex: the file is damaged.
        """
        first = None if since is None else since.timestamp()
        for offset, line, plain in self._lines():
            for needle in needles:
                if needle not in line:
                    break
            else:
                text = line.decode("utf-8", "replace") if patterns else ""
                if not all(pattern.search(text) for pattern in patterns):
                    continue
                record = taken_apart(offset, line, plain)
                if kind in (None, record.kind) and (first is None or record.moment >= first):
                    yield record

    def lines(self) -> Iterator[bytes]:
        """Yield the two lines of each record.

        Raises:
            WrongIndex: the file is damaged.
        """
        return (line + plain for _, line, plain in self._lines())

    def at(self, offset: int) -> bytes:
        """Return the two lines that begin at ``offset``."""
        self._file.seek(offset)
        return self._file.readline() + self._file.readline()

    def _lines(self) -> Iterator[tuple[int, bytes, bytes]]:
        offset = self._file.seek(self._start)
        count = 0
        for line in self._file:
            plain = self._file.readline()
            if not plain.endswith(b"\n"):
                break
            yield offset, line, plain
            offset += len(line) + len(plain)
            count += 1
        if count != self._count:
            raise WrongIndex(message("it has {count:,} records, not {expected:,}", count=count, expected=self._count))


def id_of(lines: bytes) -> tuple[Kind, str]:
    """Return kind and id of the record with these lines.

    Raises:
        WrongIndex: they are damaged.
    """
    try:
        kind, record_id, _ = lines.split(b"\t", 2)
        return _KINDS[kind], str(lossless_json.loads(record_id))
    except (KeyError, ValueError) as error:
        raise WrongIndex(message("a line is damaged")) from error


def taken_apart(offset: int, line: bytes, plain: bytes = b"") -> IndexedRecord:
    """Return the record of a line that :func:`record_lines` wrote.

    Raises:
        WrongIndex: it is damaged.
    """
    try:
        name, key, _, moment, *folded = line.rstrip(b"\n").split(b"\t")
        record = IndexedRecord(offset, _KINDS[name], float(moment or "-inf"), folded, plain, key)
    except (KeyError, ValueError) as error:
        raise WrongIndex(message("the line at byte {offset} is damaged", offset=offset)) from error
    if len(folded) != len(FIELDS[record.kind]):
        raise WrongIndex(message("the line at byte {offset} has more or fewer texts than its kind", offset=offset))
    return record


def find_pattern(path: Path, pattern: str, kind: Kind | None, since: datetime | None) -> list[tuple[Any, ...]] | None:
    """Return the members of a :class:`~exporter.search.index.RecordMatch` for each record that matches an expression.

    ``None`` if the index is damaged. Hostile expressions never end: call it in a :class:`~exporter.worker.Worker`.
    """
    warnings.simplefilter("ignore")
    compiled = re.compile(pattern)
    found = []
    try:
        index = IndexFile.open(path)
        for record in index.records(kind=kind, since=since):
            match = _pattern_match(record, compiled)
            if match is not None:
                found.append(match)
    except (OSError, WrongIndex):
        return None
    index.close()
    return found


def _pattern_match(record: IndexedRecord, compiled: re.Pattern[str]) -> tuple[Any, ...] | None:
    """Return score, moment, offset, text and spans; the text of the best rank with most matches is shown."""
    best: tuple[int, int, int, list[Span]] | None = None
    total = 0
    for text, ((_, rank), plain) in enumerate(zip(FIELDS[record.kind], record.texts(), strict=True)):
        spans = (each.span() for each in compiled.finditer(plain, 0, _PATTERN_CHARACTERS) if each.end() > each.start())
        kept = list(islice(spans, _PATTERN_MATCHES))
        total += len(kept)
        if kept and (best is None or (rank, len(kept)) > best[:2]):
            best = rank, len(kept), text, kept[:_PATTERN_SPANS]
    if best is None:
        return None
    best_rank, _, text, kept = best
    return RANK_SCORE * best_rank + min(total, RANK_SCORE - 1), record.moment, record.offset, text, kept
