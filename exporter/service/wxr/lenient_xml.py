"""XML that other programs wrote, read in pieces and past its faults. Pure.

The parser is expat, which ends at the first fault. So a fault is repaired in the bytes, and another parser continues
with the same open elements. An ``&`` or ``<`` that begins nothing is text. An element without an end tag ends with its
parent. Each repair is reported. Characters that XML forbids are kept. Entities cannot be defined.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO, Final, NamedTuple
from xml.parsers import expat

from exporter.message import message
from exporter.service.wxr.xml_input import PIECE_BYTES, XmlFault, XmlInput, hidden, shown
from exporter.text import printable

_MAX_TOKEN_BYTES: Final = 1024**2
"""A longer tag or comment is text. Expat holds a whole one in memory."""
_MAX_PROLOG_BYTES: Final = 1024**2
_KEPT_BYTES: Final = 100
_MAX_FAULTS: Final = 500_000
_MAX_RECORD_FAULTS: Final = 10_000
"""With more faults than this since the last record began, the reading goes on at the next one."""
_MAX_RETURNS: Final = 1000
_MAX_DEPTH: Final = 200
_NAME_CHARACTERS: Final = 60

_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_SUBSET: Final = re.compile(r"<!DOCTYPE[^>]*\[|<!ENTITY", re.IGNORECASE)
_END_TAG: Final = re.compile(rb"</([^\s<>/]+)\s*>")
_LOOSE_AMPERSAND: Final = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")

_REFERENCE: Final = re.compile(rb"&[^&;<>\s]*\Z")
_REFERENCE_BYTES: Final = 1000


class Start(NamedTuple):
    """A start tag; ``line`` is its line for elements in ``single``, otherwise 0."""

    name: str
    attributes: dict[str, str]
    line: int


class End(NamedTuple):
    """An end tag, present or implied."""

    name: str


class Cdata(str):
    """Text in a CDATA section. Text outside one is a plain ``str``."""

    __slots__ = ()


class Markup(str):
    """A comment or a processing instruction, as in the source."""

    __slots__ = ()


Event = Start | End | str | XmlFault


class _Refused(Exception):
    """A start tag at the byte ``at`` cannot be here: ``inside`` must end first, or it is too deep."""

    def __init__(self, at: int, inside: str) -> None:
        super().__init__()
        self.at = at
        self.inside = inside


class _Remedy(NamedTuple):
    """Bytes to write in place of those from ``start`` to ``end``, and the fault to report; expat stopped ``at``."""

    start: int
    end: int
    written: bytes
    reason: str
    lost: bool = False
    at: int = 0


class LenientXml:
    """A document, read in pieces.

    Args:
        file: its bytes, in any encoding that Japanese blogs use.
        root: the name of its outermost element; anything before it is ignored. Several documents may follow each other.
        record: the element that repeats; after too many faults, the reading goes on at the next one.
        single: further elements that are never inside one of their own name. A second start tag ends the first element.
    """

    def __init__(self, file: BinaryIO, root: str, record: str, single: frozenset[str] = frozenset()) -> None:
        self._root = root
        self._record = record
        self._single = single | {record}
        self._input = XmlInput(file)
        self._pieces = self._input.pieces()
        self._begin = re.compile(rf"<{re.escape(root)}(?=[\s>/])".encode())
        self._next = re.compile(rf"<{re.escape(record)}(?=[\s>/])".encode())
        self._rest = b""
        self._returned = b""
        self._returns = 0
        self._faults = self._recent_faults = 0
        self._line = 1
        self._window = b""
        self._base = 0
        self._open: list[str] = []
        self._open_cdata = False
        self._stack: list[str] = []
        self._in_cdata = False
        self._events: list[Event] = []
        self._first_line = 1
        self._begun = False
        self._documents = 0
        self._parser: Any = None

    def events(self) -> Iterator[Event]:
        """Yield the content; nothing but an :class:`OSError` of the file is raised."""
        for batch in self._batches():
            yield from batch

    def _batches(self) -> Iterator[list[Event]]:
        """Yield lists of events; a fault is alone in its list, because the reader may give text back."""
        going_on = True
        while going_on:
            found = yield from self._seek()
            going_on = found and (yield from self._document())

    @property
    def line(self) -> int:
        """About the line that is being read."""
        return self._line

    @property
    def in_section(self) -> bool:
        """Whether the text so far ended inside of a CDATA section."""
        return self._in_cdata

    def give_back(self, text: str) -> None:
        """After a :class:`XmlFault`, read text again as XML that was delivered as the text of a CDATA section."""
        if self._returns < _MAX_RETURNS:
            self._returns += 1
            self._returned = hidden(text)

    @property
    def can_give_back(self) -> bool:
        """Whether :meth:`give_back` may still be called; a hostile file could make it endless."""
        return self._returns < _MAX_RETURNS

    def _seek(self) -> Generator[list[Event], None, bool]:
        """Skip to the next root element; return whether it exists."""
        prolog = self._rest
        self._rest = b""
        while True:
            hidden = _without_comments(prolog)
            found = self._begin.search(hidden)
            if found is not None and (prolog.find(b">", found.start()) >= 0 or len(prolog) > _MAX_PROLOG_BYTES):
                break
            if len(prolog) > _MAX_PROLOG_BYTES:
                yield self._skipped(prolog[:-_KEPT_BYTES])
                prolog = prolog[-_KEPT_BYTES:]
            piece = next(self._pieces, None)
            if piece is None:
                yield self._skipped(prolog)
                return False
            if isinstance(piece, XmlFault):
                yield [piece]
                continue
            prolog += piece
        if _SUBSET.search(hidden[: found.start()].decode("utf-8", "replace")):
            yield [XmlFault(self._line, message("it defines XML entities, which no export file needs"), lost=True)]
            return False
        yield self._skipped(prolog[: found.start()])
        self._rest = prolog[found.start() :]
        return True

    def _skipped(self, data: bytes) -> list[Event]:
        """Count the lines of text outside of all documents, and name it if it has records."""
        found: list[Event] = []
        for name in self._single:
            at = data.find(f"<{name}>".encode())
            if at >= 0:
                line = self._line + data.count(b"\n", 0, at)
                reason = message("<{name}> outside of <{root}>; it was not read", name=name, root=self._root)
                found.append(XmlFault(line, reason, lost=True))
        self._line += data.count(b"\n")
        return found

    def _document(self) -> Generator[list[Event], None, bool]:
        """Yield a document; return whether the file may have another one."""
        self._open, self._open_cdata, self._window, self._begun = [], False, b"", False
        self._restart()
        while True:
            piece: bytes | XmlFault | None = self._rest or next(self._pieces, None)
            self._rest = b""
            if isinstance(piece, XmlFault):
                yield [piece]
                continue
            if piece is None:
                more = yield from self._end_of_file()
                if not more:
                    return False
                continue
            yield from self._feed(piece)
            if self._faults > _MAX_FAULTS:
                yield [XmlFault(self._line, message("more faults than are repaired; the rest was not read"), lost=True)]
                yield self._close_all()
                return False
            if self._begun and not self._stack:
                self._rest = self._window + self._rest
                return True
            if self._recent_faults > _MAX_RECORD_FAULTS:
                yield from self._skip()

    def _skip(self) -> Iterator[list[Event]]:
        """Leave out what follows up to the next record."""
        self._recent_faults = 0
        depth = self._stack.index(self._record) if self._record in self._stack else len(self._stack)
        reason = message(
            "more faults than are repaired; the text up to the next <{name}> was left out", name=self._record
        )
        yield [XmlFault(self._line, reason, lost=True)]
        yield self._close_all(depth)
        data, self._window = self._window + self._rest, b""
        self._rest = b""
        while (found := self._next.search(data)) is None:
            self._line += data.count(b"\n", 0, max(0, len(data) - _KEPT_BYTES))
            data = data[-_KEPT_BYTES:]
            piece = next(self._pieces, None)
            if piece is None:
                break
            if isinstance(piece, bytes):
                data += piece
            else:
                yield [piece]
        at = len(data) if found is None else found.start()
        self._line += data.count(b"\n", 0, at)
        self._rest = data[at:]
        self._open, self._open_cdata = list(self._stack), False
        self._restart()

    def _feed(self, data: bytes) -> Iterator[list[Event]]:
        """Parse bytes and repair them."""
        while self._faults <= _MAX_FAULTS:
            remedy = self._parse(data)
            if remedy is None:
                yield self._commit()
                if len(self._window) <= _MAX_TOKEN_BYTES or (self._begun and not self._stack):
                    return
                if not self._begun:
                    self._faults = _MAX_FAULTS + 1
                    return
                remedy = _Remedy(0, 1, b"&lt;", message("a tag or comment without an end; it was read as text"))
            self._faults += 1
            self._recent_faults += 1
            window = self._window
            if remedy.start < 0:
                # The document has ended, and other text follows.
                self._rest = window[remedy.end :]
                self._replay(window[: remedy.end])
                yield self._commit()
                self._window = b""
                return
            line = self._line + window.count(b"\n", 0, remedy.start)
            if not self._replay(window[: remedy.start] + remedy.written):
                end = max(remedy.start, remedy.at) + 1
                remedy = _Remedy(0, end, _escaped(window[:end]), message("markup that was read as text"), lost=True)
                self._replay(remedy.written)
            yield self._commit()
            yield [XmlFault(line, remedy.reason, remedy.lost)]
            returned, self._returned = self._returned, b""
            data = returned + window[remedy.end :]
            if self._recent_faults > _MAX_RECORD_FAULTS:
                self._rest = data
                return

    def _replay(self, data: bytes) -> bool:
        """Parse repaired bytes with a new parser from the committed state on; return whether they are well-formed."""
        self._window = b""
        self._restart()
        return self._parse(data) is None

    def _end_of_file(self) -> Generator[list[Event], None, bool]:
        """End the document; return whether text was given back that must still be read."""
        for _ in range(_MAX_RETURNS):
            if not self._window.startswith(b"<") or not self._begun or not self._stack:
                break
            # A comment or tag without an end took the rest of the file; without its first character it is text.
            window, line = self._window, self._line
            self._replay(b"&lt;")
            yield self._commit()
            yield [XmlFault(line, message("a tag or comment without an end; it was read as text"))]
            yield from self._feed(window[1:])
        if self._begun and not self._stack:
            return False
        line = self._line + self._window.count(b"\n")
        pending, self._window = self._window, b""
        if pending:
            yield [self._real(pending.decode("utf-8", "replace"))]
        name = printable(self._stack[-1] if self._stack else self._root, _NAME_CHARACTERS)
        yield [XmlFault(line, message("the file ends inside of <{name}>", name=name), lost=True)]
        if self._returned:
            self._rest, self._returned = self._returned, b""
            self._open_cdata = False
            self._restart()
            return True
        yield self._close_all()
        return False

    def _close_all(self, depth: int = 0) -> list[Event]:
        closed: list[Event] = [End(name) for name in reversed(self._stack[depth:])]
        del self._stack[depth:]
        return closed

    def _restart(self) -> None:
        """Make a parser with the committed elements open."""
        self._parser = parser = expat.ParserCreate("utf-8")
        if hasattr(parser, "SetReparseDeferralEnabled"):
            parser.SetReparseDeferralEnabled(False)
        prime = "".join(f"<{name}>" for name in self._open) + ("<![CDATA[" if self._open_cdata else "")
        primed = prime.encode()
        if primed:
            parser.Parse(primed, False)
        self._base = len(primed)
        self._first_line = self._line
        self._stack, self._in_cdata = list(self._open), self._open_cdata
        self._events = []
        parser.buffer_text = True
        parser.buffer_size = PIECE_BYTES
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartCdataSectionHandler = self._start_cdata
        parser.EndCdataSectionHandler = self._end_cdata
        parser.CommentHandler = lambda text: self._markup(f"<!--{text}-->")
        parser.ProcessingInstructionHandler = lambda target, text: self._markup(f"<?{target} {text}?>")

    def _parse(self, data: bytes) -> _Remedy | None:
        self._window += data
        parser = self._parser
        try:
            parser.Parse(data, False)
        except expat.ExpatError as error:
            at = parser.ErrorByteIndex - self._base
            return self._remedy(error.code, at)._replace(at=at)
        except _Refused as refused:
            at = refused.at - self._base
            if not refused.inside:
                return self._as_text(at)
            return self._closed_before(at, self._stack[self._stack.index(refused.inside) :], lost=True)
        return None

    def _commit(self) -> list[Event]:
        """Return the events so far, and forget the bytes of all but a token whose end is missing."""
        used = min(max(self._parser.CurrentByteIndex - self._base, 0), len(self._window))
        self._line += self._window.count(b"\n", 0, used)
        self._window = self._window[used:]
        self._base += used
        self._open, self._open_cdata = list(self._stack), self._in_cdata
        events, self._events = self._events, []
        return events

    def _remedy(self, code: int, at: int) -> _Remedy:
        """Return how to repair the window, in which a parser stopped."""
        window = self._window
        if not self._stack:
            if self._begun:
                return _Remedy(-1, at, b"", "")
            end = window.find(b">") + 1
            return _Remedy(0, end, f"<{self._root}>".encode(), message("a tag that is not well-formed"))
        if code == expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]:
            return self._end_tag_remedy(at - 2)
        if window[max(at - 2, 0) : at + 1] == b"]]>":
            return _Remedy(at, at + 1, b"&gt;", message("]]> outside of a CDATA section; it was read as text"))
        begin = _open_comment(window[:at]) if window[at - 2 : at] == b"--" else -1
        if begin >= 0:
            return self._as_text(begin)
        return self._tag_remedy(at) or self._reference_remedy(at)

    def _end_tag_remedy(self, start: int) -> _Remedy:
        """End the elements inside of the one whose end tag is at ``start``; that of no open element is text."""
        found = _END_TAG.match(self._window, start)
        name = "" if found is None else found[1].decode("utf-8", "replace")
        if name not in self._stack:
            return self._as_text(start)
        inside = self._stack[len(self._stack) - self._stack[::-1].index(name) :]
        return self._closed_before(start, inside, lost=False)

    def _tag_remedy(self, at: int) -> _Remedy | None:
        """Return a remedy if ``at`` is in a tag: correct its ampersands, or read its ``<`` as text."""
        window = self._window
        begin = window.rfind(b"<", 0, at)
        if begin < 0 or window.find(b">", begin, at) >= 0:
            begin = at if window[at : at + 1] == b"<" and self._reference_before(at) < 0 else -1
        if begin < 0:
            return None
        end = window.find(b">", begin) + 1
        tag = window[begin:end] if end else b""
        mended = _LOOSE_AMPERSAND.sub(b"&amp;", tag)
        if mended != tag and _is_tag(mended):
            return _Remedy(begin, end, mended, message("an & that is not written as &amp;"))
        return self._as_text(begin)

    def _reference_remedy(self, at: int) -> _Remedy:
        begin = self._reference_before(at)
        if begin < 0 and self._window[at : at + 1] == b"&":
            begin = at
        if begin >= 0:
            return _Remedy(begin, begin + 1, b"&amp;", message("an & that is not written as &amp;"))
        return _Remedy(at, at + 1, "\ufffd".encode(), message("a byte that XML does not allow"), lost=True)

    def _reference_before(self, at: int) -> int:
        found = _REFERENCE.search(self._window, max(0, at - _REFERENCE_BYTES), at)
        return -1 if found is None else found.start()

    def _as_text(self, start: int) -> _Remedy:
        return _Remedy(start, start + 1, b"&lt;", message("a tag that is not well-formed; it was read as text"))

    def _closed_before(self, start: int, closed: list[str], *, lost: bool) -> _Remedy:
        """Return a remedy that ends open elements, the outermost first."""
        tags = "".join(f"</{name}>" for name in reversed(closed)).encode()
        name = printable(closed[-1], _NAME_CHARACTERS)
        return _Remedy(start, start, tags, message("<{name}> has no end; it ends here", name=name), lost)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = 0
        if name in self._single:
            if name in self._stack:
                raise _Refused(self._parser.CurrentByteIndex, name)
            line = self._first_line + self._parser.CurrentLineNumber - 1
            if name == self._record:
                self._recent_faults = 0
        if len(self._stack) >= _MAX_DEPTH:
            raise _Refused(self._parser.CurrentByteIndex, "")
        self._stack.append(name)
        self._begun = True
        if self._input.mapped:
            attributes = {key: shown(value) for key, value in attributes.items()}
        self._events.append(Start(name, attributes, line))

    def _end(self, name: str) -> None:
        self._stack.pop()
        self._events.append(End(name))

    def _text(self, text: str) -> None:
        shown = self._real(text)
        self._events.append(Cdata(shown) if self._in_cdata else shown)

    def _markup(self, text: str) -> None:
        self._events.append(Markup(self._real(text)))

    def _start_cdata(self) -> None:
        self._in_cdata = True

    def _end_cdata(self) -> None:
        self._in_cdata = False

    def _real(self, text: str) -> str:
        return shown(text) if self._input.mapped else text


def _open_comment(data: bytes) -> int:
    """Return where an unclosed comment begins, or -1."""
    begin = data.find(b"<!--")
    while begin >= 0:
        end = data.find(b"-->", begin + 4)
        if end < 0:
            return begin
        begin = data.find(b"<!--", end + 3)
    return -1


def _escaped(data: bytes) -> bytes:
    return data.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")


def _is_tag(data: bytes) -> bool:
    parser = expat.ParserCreate("utf-8")
    try:
        parser.Parse(data, False)
    except expat.ExpatError:
        return False
    return data[1:2] not in b"!?"


def _without_comments(prolog: bytes) -> bytes:
    """Blank out comments, so that positions stay the same."""
    if b"<!--" not in prolog:
        return prolog
    return _COMMENT.sub(lambda found: b" " * len(found[0]), prolog)
