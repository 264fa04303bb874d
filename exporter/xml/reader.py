"""Read XML that strangers wrote, in pieces and past its faults. Pure.

A well-formed document is read as the standard says (XML 1.0 and Namespaces). A parser such as expat ends at the first
fault, and the recovery of others drops text or elements. This reader keeps all of them and reports each fault:

- An ``&``, ``<`` or ``]]>`` that begins or ends nothing is text. So is a tag that is not well-formed.
- An element without an end tag ends with its parent. The end tag of an element that is not open is text.
- Characters that XML forbids are kept. Entities of HTML are the characters that they name.

An entity that the document type defines is its text. Nothing is loaded, and all of them together expand to a limit.
What the reader returns does not depend on the size of the pieces. Its time grows with the text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from html.entities import html5
from typing import Final, NamedTuple

from exporter.message import message
from exporter.text import printable

MAX_DEPTH: Final = 200
MAX_TAG_CHARACTERS: Final = 1024**2
"""A longer tag, comment or document type is text."""
MAX_ENTITY_CHARACTERS: Final = 1024**2
"""Of all expanded entities of a document."""
_MAX_RETURNS: Final = 1000
_NAME_CHARACTERS: Final = 60

_BEGIN: Final = (
    ":A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME: Final = rf"[{_BEGIN}][-.0-9\u00b7\u0300-\u036f\u203f\u2040{_BEGIN}]*+"
_INSIDE: Final = r"""(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+"""
_MARKUP: Final = re.compile(rf"<(?=[/!?{_BEGIN}]|\Z)")
_TAG: Final = re.compile(rf"<(/?)({_NAME})({_INSIDE})>")
_PART_OF_TAG: Final = re.compile(rf"</?(?:{_NAME})?{_INSIDE}")
_LOOSE_TAG: Final = re.compile(rf"<()({_NAME})([^<>]*+)>")
_SIMPLE: Final = re.compile(rf"([^<]*+)<(?:(/?)({_NAME})>|!\[CDATA\[)")
_ATTRIBUTE: Final = re.compile(rf"""\s+({_NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_DOCTYPE: Final = re.compile(
    r"""<!DOCTYPE[^<>\[]*+(?:\[((?:<!--(?:(?!-->).)*+(?:-->|\Z)|"[^"]*+"|'[^']*+'|[^\]"'])*+)\]\s*)?>""",
    re.DOTALL | re.IGNORECASE,
)
_ENTITY: Final = re.compile(rf"""<!ENTITY\s+({_NAME})\s+(?:"([^"]*)"|'([^']*)')\s*>""")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE: Final = re.compile(rf"&(?:(#[0-9]{{1,8}}|#x[0-9a-fA-F]{{1,8}}|[{_BEGIN}][-.0-9{_BEGIN}]{{0,59}});)?")
_TAIL: Final = re.compile(r"(?:&[^&;<\s]{0,60}|\r|\]{1,2})\Z")
"""Text whose meaning depends on what follows."""
_TAIL_CHARACTERS: Final = 64
_SECTION_TAIL: Final = re.compile(r"(?:\r|\]{1,2})\Z")
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REPLACED: Final = re.compile("[\ud800-\udfff\ufffe\uffff]")
_BLANKS: Final = re.compile(r"\r\n|[\t\r\n]")
_XML_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

_LOOSE_AMPERSAND: Final = message("an & that is not written as &amp;")
_UNDEFINED: Final = message("an entity that the document does not define")
_NO_TAG: Final = message("a tag that is not well-formed; it was read as text")
_TOO_LONG: Final = message("its entities expand to too much text; the rest was not expanded")
_LOOSE: Final = {"<": _NO_TAG, "]]>": message("]]> outside of a CDATA section; it was read as text")}


class XmlFault(NamedTuple):
    """A fault.

    Attributes:
        line: its line, from 1.
        reason: a message with the problem.
        lost: whether text or structure is missing.
        structure: whether it is one of tags, so that elements may begin or end elsewhere than meant.
        times: how often it occurs here.
    """

    line: int
    reason: str
    lost: bool = False
    structure: bool = False
    times: int = 1


class Start(NamedTuple):
    """A start tag.

    Attributes:
        name: with its prefix.
        attributes: by their names with prefixes.
        line: its line, of a record; otherwise 0.
        begin: the offset of the tag in the text.
        end: the offset behind it.
    """

    name: str
    attributes: dict[str, str]
    line: int
    begin: int
    end: int


class End(NamedTuple):
    """An end tag, present or implied, from ``begin`` to ``end``."""

    name: str
    begin: int
    end: int


class Cdata(str):
    """Text in a CDATA section. Text outside one is a plain ``str``."""

    __slots__ = ()


class Markup(str):
    """A comment or a processing instruction, as in the source."""

    __slots__ = ()


Event = Start | End | str | XmlFault


class Vocabulary(NamedTuple):
    """The element names of a dialect. With them a fault costs less.

    Attributes:
        roots: the outermost elements, in lower case without prefix. Anything else outside of them is ignored. If empty,
            the first element is the root.
        records: elements that are never inside one of their own name. A second start tag ends the first element. If the
            root has a prefix, these names and those of ``fields`` may also have it.
        fields: elements that never hold each other. The start tag of one ends another that it is directly inside.
    """

    roots: frozenset[str] = frozenset()
    records: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()


ANY: Final = Vocabulary()


class XmlReader:
    """Reads one or more documents that follow each other.

    Args:
        pieces: the text, in pieces of any size, and faults of its source.
        vocabulary: the element names of its dialect.

    Attributes:
        has_doctype: whether a document type was read.
        defines_entities: whether it defines entities.
    """

    def __init__(self, pieces: Iterable[str | XmlFault], vocabulary: Vocabulary = ANY) -> None:
        self.has_doctype = self.defines_entities = False
        self._pieces = iter(pieces)
        self._vocabulary = vocabulary
        self._text = ""
        self._at = 0
        self._base = 0
        self._ended = False
        self._line = 1
        self._counted = 0
        self._records, self._fields = vocabulary.records, vocabulary.fields
        self._open: list[str] = []
        self._in_cdata = False
        self._faults: list[XmlFault] = []
        self._entities: dict[str, str] = {}
        self._expanded = 0
        self._run: dict[str, tuple[int, int]] = {}
        self._found: dict[str, int] = {}
        self._searched: dict[str, int] = {}
        self._returns = 0

    def events(self) -> Iterator[Event]:
        """Yield the content; nothing but an error of the pieces is raised."""
        while (yield from self._seek()):
            yield from self._document()
        yield from self._reported()

    @property
    def line(self) -> int:
        """The line that is being read."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    @property
    def in_section(self) -> bool:
        """Whether the text so far ended inside of a CDATA section."""
        return self._in_cdata

    @property
    def can_give_back(self) -> bool:
        """Whether :meth:`give_back` may still be called; a hostile file could make it endless."""
        return self._returns < _MAX_RETURNS

    def give_back(self, text: str) -> None:
        """After a :class:`XmlFault`, read text again as XML that was delivered as the text of a CDATA section."""
        self._line = self.line - text.count("\n")
        self._base += self._at - len(text)
        self._text, self._at, self._counted = text + self._text[self._at :], 0, 0
        self._in_cdata = False
        self._returns += 1
        self._found.clear()
        self._searched.clear()

    def _more(self) -> bool:
        """Read at least as much as is pending; return whether there was more."""
        pending = len(self._text) - self._at
        self._line = self.line
        parts, size = [self._text[self._at :]] if pending else [], 0
        for piece in self._pieces:
            if isinstance(piece, XmlFault):
                self._faults.append(piece)
                continue
            forbidden = _FORBIDDEN.search(piece)
            if forbidden is not None:
                line = self._line + sum(part.count("\n") for part in (*parts, piece[: forbidden.start()]))
                piece = self._allowed(piece, line)  # noqa: PLW2901 - the same piece
            parts.append(piece)
            size += len(piece)
            if size > pending:
                break
        else:
            self._ended = True
        self._base += self._at
        self._text, self._at, self._counted = "".join(parts), 0, 0  # one part is not copied
        return size > 0

    def _allowed(self, piece: str, line: int) -> str:
        """Return a piece without the characters that no text may have."""
        controls = len(_FORBIDDEN.findall(piece))
        text, replaced = _REPLACED.subn("\ufffd", piece)
        if controls > replaced:
            reason = message("control characters, which XML forbids; they are kept")
            self._faults.append(XmlFault(line, reason, times=controls - replaced))
        if replaced:
            reason = message("characters that no text may have; they became �")
            self._faults.append(XmlFault(line, reason, lost=True, times=replaced))
        return text

    def _fault(self, reason: str, *, lost: bool = False, structure: bool = False) -> None:
        self._faults.append(XmlFault(self.line, reason, lost, structure))

    def _reported(self) -> Iterator[XmlFault]:
        faults, self._faults = self._faults, []
        yield from faults

    def _seek(self) -> Generator[Event, None, bool]:
        """Go to the next root; return whether there is one."""
        roots, records = self._vocabulary.roots, self._vocabulary.records
        stray = False
        while True:
            begin = self._text.find("<", self._at)
            self._at = len(self._text) if begin < 0 else begin
            yield from self._reported()
            if begin < 0:
                if not self._more():
                    return False
                continue
            kind, end, tag = self._token(prolog=True)
            if kind in {"?", "--"}:
                self._at = end
                continue
            if kind == "!":
                self._doctype(end)
                continue
            tag = tag or _LOOSE_TAG.match(self._text, self._at, self._at + MAX_TAG_CHARACTERS)
            if tag is not None and not tag[1]:
                if not roots or tag[2].rpartition(":")[2].lower() in roots:
                    return True
                if tag[2] in records and not stray:
                    stray = True
                    name = printable(tag[2], _NAME_CHARACTERS)
                    reason = message("<{name}> outside of the document; it was not read", name=name)
                    self._fault(reason, lost=True, structure=True)
            self._at += 1

    def _doctype(self, end: int) -> None:
        """Read the entities that a document type defines, each with those before it."""
        found = _DOCTYPE.match(self._text, self._at)
        subset = (found[1] if found is not None else "") or ""
        self._at, self.has_doctype = end, True
        self.defines_entities = self.defines_entities or "<!ENTITY" in subset.upper()
        for each in _ENTITY.finditer(_COMMENT.sub("", subset)):
            self._entities.setdefault(each[1], self._resolved(each[2] if each[2] is not None else each[3]))

    def _document(self) -> Iterator[Event]:
        """Yield a document from its root to its end."""
        yield from self._markup(begun=False)
        prefix = "" if not self._open else self._open[0].rpartition(":")[0]
        self._records, self._fields = (
            names | {f"{prefix}:{name}" for name in names if prefix} for names in self._vocabulary[1:]
        )
        while self._open:
            if self._faults:
                yield from self._reported()
            yield from self._simple() or self._other()

    def _simple(self) -> Sequence[Event]:
        """Return text with a whole section or a tag without attributes behind it; empty for anything else."""
        simple = None if self._in_cdata else _SIMPLE.match(self._text, self._at)
        if simple is None:
            return ()
        run, slash, name = simple.groups()
        begin, end = simple.end(1), simple.end()
        event: Event
        if name is None:
            inside, end = end, self._text.find("]]>", end) + 3
            if end < inside:
                return ()
            event = Cdata(_lines(self._text[inside : end - 3]))
        elif slash:
            if name != self._open[-1]:
                return ()
            event = End(self._open.pop(), self._base + begin, self._base + end)
        elif self._ends_another(name) or len(self._open) >= MAX_DEPTH or end - begin > MAX_TAG_CHARACTERS:
            return ()
        else:
            event = Start(name, {}, 0, self._base + begin, self._base + end)
            self._open.append(name)
        text = self._characters(run) if run else ""
        self._at = end
        return (text, event) if text else (event,)

    def _other(self) -> Iterator[Event]:
        """Yield the next text, section or markup of any other form."""
        text, at = self._text, self._at
        if self._in_cdata:
            yield from self._section()
            return
        found = _MARKUP.search(text, at)
        end = len(text) if found is None else found.start()
        if found is None and not self._ended:
            tail = _TAIL.search(text, max(at, end - _TAIL_CHARACTERS))
            end = end if tail is None else tail.start()
        if end > at:
            characters = self._characters(text[at:end])
            self._at = end
            yield characters
        elif found is not None:
            yield from self._markup(begun=True)
        elif not self._more() and self._at >= len(self._text):
            yield from self._end_of_file()

    def _markup(self, *, begun: bool) -> Iterator[Event]:
        kind, end, tag = self._token(root=not begun)
        if kind == "[":
            self._at, self._in_cdata = end, True
        elif kind == "":
            yield from self._as_text(_NO_TAG)
        elif tag is None:
            markup = self._text[self._at : end]
            if "--" in markup[4:-3] if kind == "--" else markup[2:6].lower() == "xml ":
                self._fault(message("a comment or instruction that is not well-formed; it is kept"))
            self._at = end
            yield Markup(_lines(markup))
        elif kind == "/":
            yield from self._end(tag)
        else:
            yield from self._start(tag, begun=begun)

    def _token(self, *, prolog: bool = False, root: bool = False) -> tuple[str, int, re.Match[str] | None]:
        """Classify the next markup: return its kind, its end, and for a tag its match.

        Kinds: ``<`` start tag, ``/`` end tag, ``[`` CDATA section, ``--`` comment, ``?`` processing instruction, ``!``
        document type, or empty for text.
        """
        while True:
            text, at = self._text, self._at
            most = at + MAX_TAG_CHARACTERS
            tag = _TAG.match(text, at, most) or (_LOOSE_TAG.match(text, at, most) if root else None)
            if tag is not None:
                return "/" if tag[1] else "<", tag.end(), tag
            if text.startswith("<![CDATA[", at):
                return "[", at + len("<![CDATA["), None
            kind, end = self._declaration(text, at, prolog=prolog)
            if end >= 0:
                return (kind, end, None) if end <= most else ("", at, None)
            if self._ended or len(text) > most or (not kind and not self._is_cut(text, at)):
                self.has_doctype = self.has_doctype or kind == "!"  # one attempt, as its pattern reads far ahead
                return "", at, None
            self._more()

    def _declaration(self, text: str, at: int, *, prolog: bool) -> tuple[str, int]:
        """Return the kind of markup that is no tag, and its end; -1 without one."""
        if text.startswith("<!--", at):
            return "--", self._behind("-->", at + 4)
        if text.startswith("<?", at):
            return "?", self._behind("?>", at + 2)
        if prolog and not self.has_doctype and text[at : at + 9].upper() == "<!DOCTYPE":
            found = _DOCTYPE.match(text, at)
            return "!", -1 if found is None else found.end()
        return "", -1

    def _is_cut(self, text: str, at: int) -> bool:
        """Return whether more text could make markup of an incomplete one."""
        rest = text[at : at + 9].upper()
        if "<![CDATA[".startswith(rest) or "<!DOCTYPE".startswith(rest):
            return True
        part = _PART_OF_TAG.match(text, at)
        end = at + 1 if part is None else part.end()
        return end >= len(text) or (text[end] in "\"'" and text.find("<", end) < 0)

    def _behind(self, mark: str, begin: int) -> int:
        """Return the position behind the next mark, or -1, without searching any text twice."""
        begin += self._base
        found = self._found.get(mark, -1)
        if found < begin:
            searched = max(begin, self._searched.get(mark, 0))
            found = self._text.find(mark, searched - self._base)
            if found < 0:
                self._searched[mark] = max(searched, self._base + len(self._text) - len(mark) + 1)
                return -1
            found += self._base
            self._found[mark] = found
        return found - self._base + len(mark)

    def _section(self) -> Iterator[Event]:
        """Yield the rest of the open section, or as much as was read."""
        text, at = self._text, self._at
        end = text.find("]]>", at)
        if end >= 0:
            self._at, self._in_cdata = end + 3, False
        else:
            tail = None if self._ended else _SECTION_TAIL.search(text, max(at, len(text) - 2))
            end = len(text) if tail is None else tail.start()
            self._at = end
        if end > at:
            yield Cdata(_lines(text[at:end]))
        if self._in_cdata and not self._more() and self._at >= len(self._text):
            yield from self._end_of_file()

    def _start(self, tag: re.Match[str], *, begun: bool) -> Iterator[Event]:
        name, inside = tag[2], tag[3]
        record = name in self._records
        if self._open and (name in self._open if record else self._ends_another(name)):
            yield from self._implied_end(name if record else self._open[-1], lost=record)
            return
        empty = inside.endswith("/")
        attributes = self._attributes(inside[:-1] if empty else inside, strict=begun) if inside else {}
        if attributes is None:
            yield from self._as_text(_NO_TAG)
            return
        if len(self._open) >= MAX_DEPTH:
            yield from self._as_text(message("its elements are nested deeper than {depth}", depth=MAX_DEPTH), lost=True)
            return
        begin, self._at = self._base + self._at, tag.end()
        end = self._base + self._at
        yield Start(name, attributes, self.line if record else 0, begin, end)
        if empty:
            yield End(name, end, end)
        else:
            self._open.append(name)

    def _ends_another(self, name: str) -> bool:
        """Return whether a start tag of this name may end an open element."""
        return name in self._records or (name in self._fields and self._open[-1] in self._fields)

    def _attributes(self, inside: str, *, strict: bool) -> dict[str, str] | None:
        """Parse attributes; return ``None`` if they are not well-formed."""
        found: dict[str, str] = {}
        at = 0
        twice = False
        while (each := _ATTRIBUTE.match(inside, at)) is not None:
            value = each[2] if each[2] is not None else each[3]
            at, twice = each.end(), twice or each[1] in found
            found.setdefault(each[1], self._resolved(_BLANKS.sub(" ", value)))
        if twice or inside[at:].strip():
            if strict:
                return None
            self._fault(_NO_TAG, structure=True)
        return found

    def _end(self, tag: re.Match[str]) -> Iterator[Event]:
        name = tag[2]
        if name not in self._open or tag[3].strip():
            yield from self._as_text(_NO_TAG)
        elif self._open[-1] != name:
            yield from self._implied_end(self._open[-1])
        else:
            self._open.pop()
            begin, self._at = self._base + self._at, tag.end()
            yield End(name, begin, self._base + self._at)

    def _implied_end(self, name: str, *, lost: bool = False) -> Iterator[Event]:
        """End open elements, the last one with this name, unless the consumer gives text back."""
        returns = self._returns
        shown = printable(name, _NAME_CHARACTERS)
        yield XmlFault(self.line, message("<{name}> has no end; it ends here", name=shown), lost, structure=True)
        if returns == self._returns:
            yield from self._closed(name)

    def _closed(self, name: str = "") -> Iterator[Event]:
        while self._open:
            last = self._open.pop()
            yield End(last, self._base + self._at, self._base + self._at)
            if last == name:
                break

    def _as_text(self, reason: str, *, lost: bool = False) -> Iterator[Event]:
        """Read markup as text, up to the next one."""
        fault = XmlFault(self.line, reason, lost, structure=True)
        self._at += 1
        yield "<"
        yield fault

    def _end_of_file(self) -> Iterator[Event]:
        returns = self._returns
        name = printable(self._open[-1], _NAME_CHARACTERS)
        reason = message("the file ends inside of <{name}>", name=name)
        yield XmlFault(self.line, reason, lost=True, structure=True)
        if returns == self._returns:
            self._in_cdata = False
            yield from self._closed()

    def _characters(self, text: str) -> str:
        """Resolve the references in text outside of markup."""
        if ">" in text or "<" in text:
            for mark, reason in _LOOSE.items():
                if mark in text:
                    self._run[reason] = (text.index(mark), text.count(mark))
        return self._resolved(_lines(text))

    def _resolved(self, text: str) -> str:
        """Return text with its references resolved, and report the faults in it, each kind once."""
        if "&" not in text and not self._run:
            return text
        found = _REFERENCE.sub(self._reference, text)
        for reason, (first, times) in self._run.items():
            line = self.line + text.count("\n", 0, first)
            self._faults.append(XmlFault(line, reason, lost=reason == _TOO_LONG, times=times))
        self._run.clear()
        return found

    def _reference(self, found: re.Match[str]) -> str:
        """Return the text that a reference stands for; the reference itself if it stands for nothing."""
        name, reason = found[1], _LOOSE_AMPERSAND
        if name in _XML_ENTITIES:
            return _XML_ENTITIES[name]
        text = own = None
        if name is not None and name.startswith("#"):
            code = int(f"0{name[1:]}", 16) if name[1] == "x" else int(name[1:])
            if code in {9, 10, 13} or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000:
                return chr(code)
        elif name is not None and (own := self._entities.get(name)) is not None:
            self._expanded += len(own)
            if self._expanded <= MAX_ENTITY_CHARACTERS:
                return own
            reason = _TOO_LONG
        elif name is not None:
            text, reason = html5.get(f"{name};"), _UNDEFINED
        first, times = self._run.get(reason, (found.start(), 0))
        self._run[reason] = first, times + 1
        return found[0] if text is None or text.isascii() else text


def _lines(text: str) -> str:
    """Return text with the line ends of XML (section 2.11)."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
