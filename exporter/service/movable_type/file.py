"""Reads the entries, comments and pings of a file in Movable Type's import format. Pure.

The rules are those of Movable Type's own importer, except that nothing is dropped. Lines that fit no rule stay in the
record, and each is reported with its number. All line ends become line feeds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, pairwise
from typing import Any, Final

from exporter.message import message, message_n
from exporter.model.kinds import Kind
from exporter.service.export_file import FoundRecord, Misread
from exporter.service.movable_type.blocks import (
    ENTRY,
    MAX_CHARACTERS,
    MAX_COMMENT_CHARACTERS,
    SECTION,
    FileBlock,
    inline_body,
    other_section,
    section_name,
)
from exporter.service.movable_type.dates import read_date
from exporter.service.movable_type.fields import BEFORE, ORDER, OTHER, TEXT, TYPE, UNSEPARATED, last_text
from exporter.service.movable_type.heads import begins_body, head_begins, heads_within, is_head
from exporter.service.movable_type.lines import (
    COMMENT_FIELDS,
    COMMENTS,
    HEAD_FIELDS,
    NO_ENTRY,
    TEXTS,
    begins_text,
    field_of,
    is_blank,
    lines_from,
)
from exporter.service.movable_type.text import repaired

STATUS: Final = "STATUS"
_MAX_WAITING: Final = 4 * 1024 * 1024
"""Characters of comments that wait for the end of their entry, in case that a section of it follows them."""
_MAX_BEFORE: Final = 64 * 1024
_MOST_LINES_BEFORE: Final = 20
_MAX_NAMED_FIELDS: Final = 200
_SHOWN_CHARACTERS: Final = 60

Found = FoundRecord | Misread


class _Record:
    """A record under construction: its fields, and the order of their names in the file."""

    def __init__(self) -> None:
        self.raw: dict[str, Any] = {}
        self.order: list[str] = []
        self.size = 0

    def add(self, name: str, value: str) -> None:
        self.order.append(name)
        self.size += len(name) + len(value)
        if name not in self.raw:
            self.raw[name] = value
        elif isinstance(self.raw[name], list):
            self.raw[name].append(value)
        else:
            self.raw[name] = [self.raw[name], value]

    def keep(self, line: str) -> None:
        """Keep a line that fits no rule."""
        self.order.append("")
        self.size += len(line)
        self.raw.setdefault(OTHER, []).append(line)

    def finished(self) -> dict[str, Any]:
        return {**self.raw, ORDER: self.order}


class _Part:
    """An open section: its text, and for a comment its record."""

    def __init__(self, name: str, comment: _Record | None = None) -> None:
        self.name = name
        self.comment = comment
        self.parts: list[str] = []
        self.size = 0
        self.full = False

    @property
    def text(self) -> str:
        return "".join(self.parts).removesuffix("\n")


def read_entries(blocks: Iterable[FileBlock]) -> Iterator[Found]:
    """Yield the records, and the parts that fit no rule, in the file's order."""
    return _Reader().read(blocks)


class _Reader:
    def __init__(self) -> None:
        self._entry: _Record | None = None
        self._part: _Part | None = None
        self._pending: list[tuple[str, str]] = []
        self._comments: list[FoundRecord] = []
        self._waiting = 0
        self._sections: set[str] = set()
        self._yielded = self._cut = False
        self._without_status = self._first_without_status = 0
        self._before: list[str] = []
        self._before_size = 0
        self._named: set[str] = set()
        self._line = 0
        self._following: FileBlock | None = None

    def read(self, blocks: Iterable[FileBlock]) -> Iterator[Found]:
        found = iter(blocks)
        current = next(found, None)
        for following in chain(found, [None]):
            if current is not None:
                yield from self._block(current, following)
            current = following
        yield from self._end_entry(ENTRY, SECTION)
        if self._without_status:
            reason = message_n(
                "{n:,} entry has no STATUS, so exports make a draft of it. If everybody may see it, say "
                "--public-status none",
                "{n:,} entries have no STATUS, so exports make drafts of them. If everybody may see them, say "
                "--public-status none",
                self._without_status,
            )
            yield Misread(self._first_without_status, reason)
        if self._before:
            yield Misread(1, message("it holds no entry, so its text is only in the file itself"), lost=True)

    def _block(self, block: FileBlock, following: FileBlock | None) -> Iterator[Found]:
        self._cut = block.dropped > 0
        text, bad, lines = repaired(block.text)
        if bad:
            reason = message(
                "{count:,} bytes are not text in a known encoding and became U+FFFD; the file itself has them",
                count=bad,
            )
            yield Misread(block.line + 1 + lines, reason, lost=True)
            block = block._replace(text=text)
        if is_blank(text):
            self._pending.append((block.separator, text))
            return
        self._following = following
        if block.separator != SECTION:
            ended = self._entry is None or self._part is None or _ends(self._pending, block)
            begin = head_begins(text, None if self._entry is None else _MOST_LINES_BEFORE if ended else 0)
            if begin is not None and not is_head(text[begin:], following, ended=ended):
                begin = None
            if self._entry is not None and ended == begins_body(following) == (begin is None):
                # A text may have a line like the separator of entries, and sections of its own entry after it.
                line = block.line + 1 + text.count("\n", 0, begin or 0)
                yield from self._begin_doubtful(text[begin or 0 :], line)
                return
            if begin is not None:
                # The end of the entry before comes first: its separators are not text.
                yield from self._end_entry(SECTION)
                if begin:
                    yield from self._keep_before(text[:begin], block.line + 1)
                line = block.line + 1 + text.count("\n", 0, begin)
                after = begin + (yield from self._begin_entry(text[begin:], line))
                yield from self._text(text[after:], line + text.count("\n", begin, after))
                if block.dropped:
                    yield Misread(
                        block.line + 1, message("it is too long; the rest is only in the file itself"), lost=True
                    )
                return
        elif self._entry is not None and (yield from self._section(block)):
            return
        yield from self._continue(block)

    def _begin_doubtful(self, text: str, line: int) -> Iterator[Found]:
        """Begin a private entry with what looks like the head of one."""
        yield self._doubt(line)
        yield from self._end_entry(SECTION)
        after = yield from self._begin_entry(text, line, unseparated=True)
        yield from self._text(text[after:], line + text.count("\n", 0, after))

    def _section(self, block: FileBlock) -> Generator[Found, None, bool]:
        """Begin the section that a block begins with; return whether it does."""
        found = section_name(block)
        first = self._part is None and not self._yielded
        if found is None and first and (begin := inline_body(block)) is not None:
            found = "BODY", begin
        if found is None:
            if other_section(block) is not None:
                line = block.line + 1
                yield Misread(
                    line, message("{name} begins no known section; kept in the text before it", name=_shown(block.text))
                )
            return False
        name, begin = found
        if name in TEXTS and (name in self._sections or self._yielded):
            line, shown = block.line + 1, _shown(block.text)
            yield Misread(line, message("{name} comes twice in its entry; kept in the text before it", name=shown))
            return False
        yield from self._close_part(self._leftover())
        begin += self._open_part(name, block.text[begin:])
        yield from self._text(block.text[begin:], block.line + 1 + block.text.count("\n", 0, begin))
        return True

    def _open_part(self, name: str, text: str) -> int:
        """Open a section; return the position of its text after a comment's fields."""
        if name not in COMMENTS:
            self._sections.add(name)
            self._part = _Part(name)
            return 0
        comment = _Record()
        at = 0
        exact = True
        for after, each in lines_from(text):
            field = field_of(each)
            if field is None and not comment.order and is_blank(each):
                at = after
                continue
            if field is None or field.name not in COMMENT_FIELDS or field.name in comment.raw:
                break
            # A comment may begin with "Title: x". So a name in another form is a field only after another such.
            if not field.exact and exact and comment.order:
                break
            exact = field.exact
            comment.add(field.name, field.value)
            at = after
        self._part = _Part(name, comment)
        return at

    def _text(self, text: str, line: int) -> Iterator[Found]:
        """Add to the open section. What looks like the head of an entry inside it begins one that is not published."""
        at = 0
        for head in heads_within(text, self._following):
            yield from self._append(text[at : head.begin], line)
            line += text.count("\n", at, head.begin)
            yield self._doubt(line)
            yield from self._end_entry()
            yield from self._begin_entry(text[head.begin : head.end], line, unseparated=True)
            line += text.count("\n", head.begin, head.end)
            at = head.end
        if at and self._part is None and not is_blank(text, at):
            self._open_part("BODY", "")
        yield from self._append(text[at:], line)

    def _doubt(self, line: int) -> Misread:
        reason = message(
            "the head of an entry follows without the end of the one before it; kept as a private entry. If it is one, "
            "put a line with eight hyphens before it"
        )
        return Misread(line, reason, lost=True)

    def _append(self, text: str, line: int) -> Iterator[Found]:
        """Add to the open section, up to the limit of a record."""
        part, record = self._part, self._entry
        if part is None or record is None:
            return
        room = MAX_CHARACTERS - record.size if part.comment is None else MAX_COMMENT_CHARACTERS
        room = max(0, room - part.size)
        if (self._cut or len(text) > room) and not part.full:
            part.full = True
            yield Misread(line, message("it is too long; the rest is only in the file itself"), lost=True)
        text = text[:room]
        part.parts.append(text)
        part.size += len(text)

    def _continue(self, block: FileBlock) -> Iterator[Found]:
        """Keep a block that begins nothing, with the separators before it, as text of the open section."""
        ended = _ends(self._pending, block)
        joined = "".join(f"{separator}\n{blank}" if separator else blank for separator, blank in self._pending)
        self._pending.clear()
        text = f"{block.separator}\n{block.text}" if block.separator else block.text
        if self._entry is None:
            yield from self._keep_before(joined + text, block.line + 1)
            return
        if ended:
            yield Misread(block.line + 1, message("no entry begins here; kept in the text before it"))
        if self._part is None:
            yield Misread(block.line + 1, message("no section begins here; read as the body"))
            self._open_part("BODY", "")
            text = block.text
        yield from self._append(joined, max(1, block.line))
        yield from self._text(text, block.line + (text is block.text))

    def _keep_before(self, text: str, line: int) -> Iterator[Found]:
        if not self._before:
            yield Misread(line, message("no entry begins here; kept with the entry that follows"))
        room = _MAX_BEFORE - self._before_size
        if len(text) > room:
            if room > 0:
                yield Misread(
                    line, message("more than {most:,} characters precede the first entry", most=_MAX_BEFORE), lost=True
                )
            text = text[: max(0, room)]
        self._before.append(text)
        self._before_size += len(text)

    def _leftover(self, *ends: str) -> str:
        """Return the separators before a beginning that are the text's own, and forget them.

        The separators ``ends``, the last one first, belong to the format. If others follow one another without a blank
        line, they are text. Otherwise they are kept apart from the text.
        """
        pending = self._pending
        for separator in ends:
            if pending and pending[-1][0] == separator:
                del pending[-1]
        left = "".join(f"{separator}\n{blank}" for separator, blank in pending if separator)
        apart = any(blank for _, blank in pending) or _ends_entry(pending) or self._part is None
        pending.clear()
        if not left or not apart:
            return left
        if self._entry is not None:
            for line in left.split("\n"):
                if line:
                    self._entry.keep(line)
        return ""

    def _close_part(self, leftover: str) -> Iterator[Found]:
        part, entry = self._part, self._entry
        if part is None or entry is None:
            return
        if leftover:
            yield from self._append(leftover, 1)
        self._part = None
        if part.comment is None:
            entry.add(part.name, part.text)
            return
        raw = {TYPE: part.name, **part.comment.finished(), TEXT: part.text}
        self._comments.append(FoundRecord(Kind.COMMENTS, _comment_id(raw), raw))
        self._waiting += part.size + part.comment.size
        if self._yielded or self._waiting > _MAX_WAITING:
            yield from self._flush()

    def _flush(self) -> Iterator[Found]:
        """Yield the entry, unless that is done, and the comments that wait for it."""
        if self._entry is not None and NO_ENTRY in self._entry.raw and UNSEPARATED not in self._entry.raw:
            reason = message(
                "a block with {no_entry} belongs to no entry; it is only in the file itself", no_entry=NO_ENTRY
            )
            yield Misread(self._line, reason, lost=bool(self._comments))
            self._comments.clear()
        elif self._entry is not None and not self._yielded:
            raw = self._entry.finished()
            yield FoundRecord(Kind.ENTRIES, _entry_id(raw), raw)
            self._yielded = True
        yield from self._comments
        self._comments.clear()
        self._waiting = 0

    def _end_entry(self, *ends: str) -> Iterator[Found]:
        leftover = self._leftover(*ends)
        if self._entry is None:
            return
        yield from self._close_part(leftover)
        yield from self._flush()
        self._entry = self._part = None
        self._sections.clear()
        self._yielded = False

    def _begin_entry(self, text: str, line: int, *, unseparated: bool = False) -> Generator[Found, None, int]:
        """Begin an entry with the head that a text begins with; return the position after the head."""
        entry = self._entry = _Record()
        self._line = line
        if unseparated:
            entry.raw[UNSEPARATED] = True
        if self._before:
            entry.raw[BEFORE] = "".join(self._before)
            self._before, self._before_size = [], 0
        end = len(text)
        for number, (after, each) in enumerate(lines_from(text), line):
            if is_blank(each):
                continue
            field = field_of(each)
            name = None if field is None else begins_text(field)
            if field is not None and name is not None:
                self._open_part(name, "")
                end = after
                break
            if field is None:
                entry.keep(each)
                yield Misread(number, message("{line} is not a field; kept unchanged", line=_shown(each)))
                continue
            entry.add(field.name, field.value)
            if field.name not in HEAD_FIELDS and self._is_new(field.name):
                yield Misread(number, message("the field {name} is unknown; kept unchanged", name=field.name))
        if STATUS not in entry.raw and NO_ENTRY not in entry.raw:
            self._first_without_status = self._first_without_status or line
            self._without_status += 1
        return end

    def _is_new(self, name: str) -> bool:
        if name in self._named or len(self._named) >= _MAX_NAMED_FIELDS:
            return False
        self._named.add(name)
        return True


def _ends(pending: list[tuple[str, str]], block: FileBlock) -> bool:
    """Return whether an entry ends before a block: by its separator and the one before it, or earlier."""
    at_once = block.separator == ENTRY and bool(pending) and pending[-1][0] == SECTION
    return at_once or _ends_entry(pending)


def _ends_entry(pending: list[tuple[str, str]]) -> bool:
    """Return whether the end of a section and of an entry are among separators."""
    return any(first[0] == SECTION and second[0] == ENTRY for first, second in pairwise(pending))


def _shown(text: str) -> str:
    return repr(text.strip().split("\n", 1)[0][:_SHOWN_CHARACTERS])


def _entry_id(raw: dict[str, Any]) -> str:
    """Return the digits of an entry's date and a hash of its address or name, else its title, else its text."""
    written = read_date(last_text(raw, "DATE"))
    names = ("UNIQUE URL", "BASENAME", "TITLE", "BODY")
    basis = next(([name, value] for name in names if (value := last_text(raw, name))), [])
    return f"{'undated' if written is None else written.digits}-{_digest(basis)}"


def _comment_id(raw: dict[str, Any]) -> str:
    """Return a comment's date as digits and a hash of its writer, else its text."""
    written = read_date(last_text(raw, "DATE"))
    writer = [last_text(raw, name) for name in ("AUTHOR", "BLOG NAME", "URL", "TITLE")]
    basis = writer if any(writer) else [raw[TEXT]]
    return f"{'undated' if written is None else written.digits}-{_digest([raw[TYPE], *basis])}"


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
