"""The elements of WXR as JSON objects, one for each item and comment. Pure.

A child element is a member with its name; the usual prefixes of WXR stand for its namespaces in every version. Its
value is its text. With attributes it is an object, with ``@NAME`` for each attribute and ``#text`` for the text. If an
element that should hold text holds elements, ``#markup`` is its content as in the source. Repeated elements are a list
in their order. Namespaces that WXR does not have are members ``@xmlns:PREFIX``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, BinaryIO, Final

from exporter.message import message
from exporter.service.export_file import Misread
from exporter.service.wxr.members import Channel, Item, LateComment, Members
from exporter.service.wxr.xml_input import pieces
from exporter.text import printable
from exporter.xml.namespaces import meaning
from exporter.xml.reader import Cdata, End, Markup, Start, Vocabulary, XmlFault, XmlReader

MAX_TEXT_CHARACTERS: Final = 8 * 1024**2
"""Of one element. WordPress itself cannot edit a longer text."""
MAX_ITEM_CHARACTERS: Final = 16 * 1024**2
"""Of an item with its comments that is held in memory; further comments are passed on one by one."""
MAX_CHANNEL_CHARACTERS: Final = 4 * 1024**2

_SPACES: Final = (
    (re.compile(r"wordpress\.org/export/1\.[0-9]+/excerpt"), "excerpt"),
    (re.compile(r"wordpress\.org/export/1\.[0-9]+"), "wp"),
    (re.compile(r"purl\.org/rss/1\.0/modules/content"), "content"),
    (re.compile(r"wellformedweb\.org/commentapi"), "wfw"),
    (re.compile(r"purl\.org/dc/elements/1\.1"), "dc"),
)
_OWN: Final = frozenset(prefix for _, prefix in _SPACES)
_CONTAINERS: Final = frozenset(
    re.split(
        " ",
        "rss channel image item wp:author wp:category wp:comment wp:commentmeta wp:postmeta wp:tag wp:term wp:termmeta",
    )
)
VOCABULARY: Final = Vocabulary(
    roots=frozenset({"rss"}),
    records=frozenset({"channel", "item", "wp:comment", "wp:commentmeta", "wp:postmeta"}),
    fields=frozenset(
        re.split(
            " ",
            "content:encoded dc:creator description excerpt:encoded guid link pubDate title wp:attachment_url "
            "wp:comment_approved wp:comment_author wp:comment_author_IP wp:comment_author_email wp:comment_author_url "
            "wp:comment_content wp:comment_date wp:comment_date_gmt wp:comment_id wp:comment_parent wp:comment_status "
            "wp:comment_type wp:comment_user_id wp:is_sticky wp:menu_order wp:meta_key wp:meta_value wp:ping_status "
            "wp:post_date wp:post_date_gmt wp:post_id wp:post_modified wp:post_modified_gmt wp:post_name "
            "wp:post_parent wp:post_password wp:post_type wp:status",
        )
    ),
)
_LISTS: Final = frozenset(
    re.split(
        " ",
        "category wp:author wp:category wp:commentmeta wp:postmeta wp:tag wp:term wp:termmeta",
    )
)
_RESERVED: Final = frozenset(
    re.split(" ", "attachments author_name by_blog_author category_parents featured id patterns post_id")
)
"""Members that this program adds; an element with such a name is ``rss:NAME``."""
_VOID: Final = frozenset(
    re.split(
        " ",
        "area base br col embed hr img input link meta param source track wbr",
    )
)
_MAX_NOTES: Final = 1000
"""Kinds of harmless faults in a file that are named."""
_NAME_CHARACTERS: Final = 60
_MAX_NAMES: Final = 10_000
_ELEMENT_CHARACTERS: Final = 200
"""The memory that an empty element takes, in characters."""


@dataclass(slots=True)
class _Frame:
    """An open element: a container with ``members``, or a text with ``pieces``.

    Attributes:
        tag: its name in the file.
        name: its name in the record.
        line: its line in the file, if it is a record.
        members: its attributes, and the children of a container.
        depth: open elements inside of a text.
        marked: whether its text holds elements.
        cdata: whether it got text from a CDATA section since the last fault.
        done: whether the rest of it is read as something else.
        cut: whether text was left out.
        outer: the prefixes before it, if it declares some.
    """

    tag: str
    name: str
    line: int
    members: Members
    holds_elements: bool
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    depth: int = 0
    marked: bool = False
    cdata: bool = False
    done: bool = False
    cut: bool = False
    outer: tuple[dict[str, str], dict[str, str]] | None = None

    def value(self) -> Any:
        """Return the member for this element."""
        if self.marked:
            text = "".join(each if type(each) is not str else escape(each, quote=False) for each in self.pieces)
            return {**self.members, "#markup": text}
        text = "".join(self.pieces)
        if self.holds_elements:
            return {**self.members, "#text": text} if text else self.members
        return {**self.members, "#text": text} if self.members else text


Found = Channel | Item | LateComment | Misread


class WxrElements:
    """Reads a WXR file as its channel, items, comments and faults.

    Args:
        file: the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._xml = XmlReader(pieces(file), VOCABULARY)
        self._prefixes: dict[str, str] = {}
        self._foreign: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._frames: list[_Frame] = []
        self._item: Item | None = None
        self._size = 0
        self._passed_on = self._headed = self._full = self._known = False
        self._harmless: dict[str, tuple[int, int]] = {}

    def read(self) -> Iterator[Found]:
        """Yield the content of the file in its order."""
        for event in self._xml.events():
            if isinstance(event, str):
                self._text(event)
                continue
            if isinstance(event, Start):
                if reason := self._refusal(event):
                    yield Misread(self._xml.line, reason, lost=True)
                    return
                found = self._start(event)
            elif isinstance(event, End):
                found = self._end(event.name)
            else:
                found = self._fault(event)
            if found:
                yield from found
        # WordPress itself writes addresses with a bare ampersand, so each kind of harmless fault is named once.
        for reason, (line, times) in self._harmless.items():
            shown = reason if times == 1 else message("{reason} ({n:,} times)", reason=reason, n=times)
            yield Misread(line, shown)

    def _refusal(self, event: Start) -> str:
        """Return why the file is not read from here on; empty if it is."""
        if self._xml.defines_entities:
            return message("it defines XML entities, which no export file needs")
        if event.name != "item" or self._known:
            return ""
        self._known = "wp" in self._prefixes.values() or any(map(_is_wordpress, self._names.values()))
        return "" if self._known else message("it has no elements of WXR 1.0 to 1.2, the export format of WordPress")

    def _start(self, event: Start) -> Iterable[Found]:
        frame = self._frames[-1] if self._frames else None
        attributes = event.attributes
        if frame is not None and not frame.holds_elements:
            frame.depth += 1
            written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
            self._keep(frame, Markup(f"<{event.name}{written}>"))
            return ()
        if event.name == "rss" and frame is None:
            self._prefixes, self._foreign, self._names, self._headed, self._known = {}, {}, {}, False, False
        self._size += _ELEMENT_CHARACTERS
        kept: Members = {}
        outer = None
        if attributes:
            if frame is not None and any(key.startswith("xmlns") for key in attributes):
                outer = dict(self._prefixes), dict(self._foreign)
            self._bind(attributes)
            kept = {f"@{self._attribute(key)}": value for key, value in attributes.items()}
            self._size += sum(map(len, attributes.values()))
        name = self._names.get(event.name) or self._name(event.name)
        before: Iterable[Found] = ()
        if name == "item":
            before = list(self._head())
            self._item, self._passed_on, self._full = Item(event.line, {}), False, False
        if name == "item" or (name == "wp:comment" and self._passed_on):
            self._size = 0
        if self._foreign and frame is not None:
            prefix, colon, _ = event.name.partition(":")
            if colon and prefix in self._foreign:
                frame.members[f"@xmlns:{prefix}"] = self._foreign[prefix]
        self._frames.append(_Frame(event.name, name, event.line, kept, name in _CONTAINERS, outer=outer))
        return before

    def _bind(self, attributes: dict[str, str]) -> None:
        """Note namespace declarations and remove them from the attributes."""
        for key in [key for key in attributes if key == "xmlns" or key.startswith("xmlns:")]:
            prefix, uri = key.removeprefix("xmlns").removeprefix(":"), attributes.pop(key)
            own = next((name for pattern, name in _SPACES if pattern.fullmatch(meaning(uri))), "")
            self._names.clear()
            self._prefixes.pop(prefix, None)
            self._foreign.pop(prefix, None)
            if own and prefix:
                self._prefixes[prefix] = own
            elif prefix:
                self._foreign[prefix] = uri
                if prefix in _OWN:
                    self._prefixes[prefix] = f"other-{prefix}"

    def _name(self, name: str) -> str:
        found = self._names.get(name)
        if found is None:
            prefix, _, local = name.rpartition(":")
            prefix = self._prefixes.get(prefix, prefix)
            found = f"{prefix}:{local}" if prefix else local
            if found in _RESERVED:
                found = f"rss:{found}"
            if len(self._names) < _MAX_NAMES:
                self._names[name] = found
        return found

    def _attribute(self, name: str) -> str:
        return self._name(name) if ":" in name else name

    def _text(self, text: str) -> None:
        if not self._frames:
            return
        frame = self._frames[-1]
        if frame.holds_elements and (frame.name in {"rss", "channel"} or not text.strip()):
            return
        self._keep(frame, text)

    def _keep(self, frame: _Frame, text: str) -> None:
        if frame.done:
            return
        if frame.size + len(text) > MAX_TEXT_CHARACTERS:
            frame.cut = True
            return
        frame.size += len(text)
        self._size += len(text)
        if isinstance(text, Cdata):
            frame.cdata = True
        elif isinstance(text, Markup) and not frame.holds_elements:
            frame.marked = True
        frame.pieces.append(text)

    def _end(self, tag: str) -> Iterable[Found]:
        frame = self._frames[-1] if self._frames else None
        if frame is None:
            return ()
        if frame.depth:
            frame.depth -= 1
            opened = frame.pieces[-1] if frame.pieces else ""
            if not (tag.lower() in _VOID and isinstance(opened, Markup) and opened.startswith(f"<{tag}")):
                self._keep(frame, Markup(f"</{tag}>"))
            return ()
        self._frames.pop()
        if frame.outer is not None:
            self._prefixes, self._foreign = frame.outer
            self._names.clear()
        found: list[Found] = []
        if frame.cut:
            name = printable(frame.name, _NAME_CHARACTERS)
            found.append(self._lost(message("<{name}> is too long; its end was left out", name=name)))
        if frame.name == "item":
            found += self._end_item(frame)
        elif frame.name == "channel":
            found += self._head(frame)
        elif self._frames:
            found += self._add(frame, self._frames[-1])
        return found

    def _add(self, frame: _Frame, parent: _Frame) -> Iterable[Found]:
        """Add an element to the one around it."""
        if frame.name == "wp:comment" and parent.name == "item" and self._item is not None:
            return self._add_comment(self._item, frame, parent)
        late = self._passed_on and parent.name == "item"
        headed = self._headed and parent.name in {"channel", "rss"}
        most = MAX_ITEM_CHARACTERS if self._item is not None else MAX_CHANNEL_CHARACTERS
        if parent.name != "item":
            most *= 2
        if not late and not headed and self._size <= most:
            _insert(parent.members, frame.name, frame.value())
            return ()
        if self._full:
            return ()
        self._full = True
        name = printable(frame.name, _NAME_CHARACTERS)
        if headed:
            return [Misread(self._line, message("<{name}> after the first item; it is only in the file", name=name))]
        return [self._lost(message("more elements than are held in memory, from <{name}> on", name=name))]

    def _add_comment(self, item: Item, frame: _Frame, parent: _Frame) -> Iterable[Found]:
        if self._passed_on:
            return [LateComment(frame.value())]
        item.comments.append(frame.value())
        if self._size <= MAX_ITEM_CHARACTERS:
            return ()
        self._passed_on, item.members = True, parent.members
        self._item = Item(item.line, {})
        return [item]

    def _end_item(self, frame: _Frame) -> Iterator[Found]:
        item, self._item = self._item, None
        self._size = 0
        if item is not None and not self._passed_on:
            item.members = frame.value()
            yield item

    def _head(self, channel: _Frame | None = None) -> Iterator[Found]:
        """Yield the channel, once, at its first item or its end."""
        found = channel or next((each for each in self._frames if each.name == "channel"), None)
        if found is not None and not self._headed:
            yield Channel(found.members)
            found.members = {}
        self._headed = True

    @property
    def _line(self) -> int:
        return next((each.line for each in reversed(self._frames) if each.line), 0) or self._xml.line

    def _lost(self, reason: str) -> Misread:
        return Misread(self._line, reason, lost=True)

    def _fault(self, fault: XmlFault) -> Iterator[Misread]:
        frame = self._frames[-1] if self._frames and fault.structure else None
        if frame is not None and frame.cdata and not frame.done and self._xml.can_give_back:
            frame.cdata = False
            text = "".join(frame.pieces)
            end = text.find(f"</{frame.tag}>")
            if end >= 0:
                # A CDATA section without an end held the elements that follow it, up to the end of the next section.
                self._xml.give_back(self._behind(frame, end))
                frame.pieces, frame.marked, frame.done = [Cdata(text[:end])], False, True
                name = printable(frame.name, _NAME_CHARACTERS)
                yield Misread(
                    fault.line, message("a CDATA section has no end; <{name}> ends at its end tag", name=name)
                )
                return
        if fault.lost:
            yield Misread(fault.line, fault.reason, lost=True)
            return
        line, times = self._harmless.get(fault.reason, (fault.line, 0))
        if times or len(self._harmless) < _MAX_NOTES:
            self._harmless[fault.reason] = line, times + fault.times

    def _behind(self, frame: _Frame, end: int) -> str:
        """Return the rest of a text from a position, with ``]]>`` where its CDATA sections ended."""
        parts: list[str] = []
        at = 0
        for number, piece in enumerate(frame.pieces):
            parts.append(piece[max(0, end - at) :])
            at += len(piece)
            last = number == len(frame.pieces) - 1
            if (
                isinstance(piece, Cdata)
                and at > end
                and not (self._xml.in_section if last else isinstance(frame.pieces[number + 1], Cdata))
            ):
                parts.append("]]>")
        return "".join(parts)


def _is_wordpress(name: str) -> bool:
    return name.startswith("wp:")


def _insert(members: Members, name: str, value: Any) -> None:
    if name in _LISTS:
        members.setdefault(name, []).append(value)
    elif name not in members:
        members[name] = value
    elif isinstance(members[name], list):
        members[name].append(value)
    else:
        members[name] = [members[name], value]
