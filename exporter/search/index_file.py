"""The index file: the folded texts of a version's records, made to be read from beginning to end.

The first line says what it is made for and how many records follow. A record has two lines: kind, id, identity, date
and the folded texts with tabs between them, which no folded text has; then the texts as they are, as JSON. Folded
bytes are compared with folded bytes, so a search is one pass that takes apart only what holds all that is asked for.

The file may be forged or damaged, and it vouches for nothing: :mod:`exporter.search.index` shows no record of it before
the archive's own record gave the same two lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Self

from exporter import lossless_json
from exporter.archive.safe_files import inner
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.search.documents import FIELDS, SearchDocument
from exporter.search.folding import fold

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

_HEAD_BYTES: Final = 1000
_KINDS: Final = {str(kind).encode(): kind for kind in FIELDS}


class WrongIndex(ValueError):
    """The file is no index, or not one of what is there now."""


class IndexedRecord(NamedTuple):
    """An indexed record.

    Attributes:
        offset: where its two lines begin.
        kind: its kind.
        moment: its date as seconds since 1970, negative infinity where it has none.
        folded: a folded text for each field of its kind, as UTF-8.
        plain: the second line.
    """

    offset: int
    kind: Kind
    moment: float
    folded: list[bytes]
    plain: bytes

    def texts(self) -> list[str]:
        """Return its texts as they are.

        Raises:
            WrongIndex: the line is not as it was written.
        """
        try:
            texts = lossless_json.loads(self.plain)
        except lossless_json.NotJson:
            texts = None
        if not isinstance(texts, list) or [type(text) for text in texts] != [str] * len(self.folded):
            raise WrongIndex(message("the line behind byte {offset} is damaged", offset=self.offset))
        return texts


def record_head(kind: Kind, record_id: str, identity: bytes) -> bytes:
    """Return what the lines of a record in one state begin with."""
    return b"%b\t%b\t%b\t" % (kind.encode(), lossless_json.text(record_id), identity.hex().encode())


def record_lines(kind: Kind, record_id: str, identity: bytes, document: SearchDocument) -> bytes:
    """Return the two lines of a record; ``identity`` changes whenever its document would."""
    moment = b"" if document.date is None else repr(document.date.timestamp()).encode()
    folded = b"\t".join([moment, *(fold(text).encode() for text in document.texts)])
    return b"%b%b\n%b\n" % (record_head(kind, record_id, identity), folded, lossless_json.dumps([*document.texts]))


def index_head(edition: str, content: str, count: int) -> bytes:
    """Return the first line."""
    return f"{edition}\t{content}\t{count}\n".encode()


class IndexFile:
    """An open index file; close it.

    Attributes:
        path: where it is.
        edition: changes whenever the same records would give another index.
        content: changes whenever the records may be others.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self.path = path
        head = file.readline(_HEAD_BYTES).decode("utf-8", "replace").rstrip("\n").split("\t")
        if len(head) != 3 or not head[2].isdecimal():
            raise WrongIndex(message("it does not begin as an index"))
        self.edition, self.content = head[:2]
        self._count = int(head[2])
        self._start = file.tell()

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the index at ``path``.

        Raises:
            OSError: there is none, or no regular file.
            WrongIndex: it is none.
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
        """Yield the records whose lines hold all ``needles`` and ``patterns``, of this kind, not before ``since``.

        Raises:
            WrongIndex: the file is not as it was written.
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
            WrongIndex: the file is not as it was written.
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
            raise WrongIndex(message("it has {count} records, not {expected}", count=count, expected=self._count))


def id_of(lines: bytes) -> tuple[Kind, str]:
    """Return kind and id of the record whose lines these are.

    Raises:
        WrongIndex: they are not as they were written.
    """
    try:
        kind, record_id, _ = lines.split(b"\t", 2)
        return _KINDS[kind], str(lossless_json.loads(record_id))
    except (KeyError, ValueError) as error:
        raise WrongIndex(message("a line is damaged")) from error


def taken_apart(offset: int, line: bytes, plain: bytes = b"") -> IndexedRecord:
    """Return the record of a line that :func:`record_lines` wrote.

    Raises:
        WrongIndex: it is not as it was written.
    """
    try:
        name, _, _, moment, *folded = line.rstrip(b"\n").split(b"\t")
        record = IndexedRecord(offset, _KINDS[name], float(moment or "-inf"), folded, plain)
    except (KeyError, ValueError) as error:
        raise WrongIndex(message("the line at byte {offset} is damaged", offset=offset)) from error
    if len(folded) != len(FIELDS[record.kind]):
        raise WrongIndex(message("the line at byte {offset} has more or fewer texts than its kind", offset=offset))
    return record
