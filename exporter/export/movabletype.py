"""Movable Type's import format, whose readers also look for keys in bodies. Pure.

Bodies are written so that no line looks like a key or is too long: old readers trim every line, drop empty ones, and
read 8,191 bytes at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from exporter.export import importer_rules
from exporter.export.formats import Format
from exporter.export.importer_rules import EntryData, Frame, ImportFile, split
from exporter.export.interface import ExportFile
from exporter.export.names import plain_name
from exporter.export.parts import Part
from exporter.export.post_html import as_html, cleaned, comment_html
from exporter.export.post_names import held_name
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.export.reasons import Reason
from exporter.export.targets import Matter
from exporter.html.links import commenter_link
from exporter.html.text import collapse
from exporter.html.wordpress import field_html
from exporter.message import message
from exporter.model.records import CommentKind

LINE_BYTES: Final = 7_000
MAX_BYTES: Final = 8_190
_TRIMMED: Final = " \t\n\r\0\x0b\u3000\xa0\ufeff"
_RISKY = re.compile(r"-{5}|[A-Z][A-Z ]{0,40}:")
_ODD_ENDS = re.compile("[\x85\u2028\u2029]")
_SPAN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style)(?=[\s/>]).*?(?:</\1\s*>|\Z)|</?[a-zA-Z][^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
_PRE = re.compile(r"(<pre\b[^<>]*>)(.*?)(</pre\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_BLOCK_END = re.compile(
    r"<br\b|</?(?:p|div|table|t[rdh]|tbody|thead|ul|ol|li|dl|d[td]|h[1-6]|hr|blockquote|pre|center)\b", re.IGNORECASE
)
_REFERENCE = re.compile(r"&[#0-9A-Za-z]{1,32};?$")
_HIDDEN_BREAK: Final = "<!--\n-->"


class Defused(NamedTuple):
    """A body's text; the number of removed characters, of escaped and broken lines, and of lines still too long."""

    text: str
    removed: int
    defused: int
    broken: int
    long: int


def defused(html: str) -> Defused:
    """Return HTML that shows the same and that no importer cuts, trims or misreads."""
    clean = cleaned(html)
    text = _ODD_ENDS.sub("\n", clean.text)
    text = _PRE.sub(lambda found: f"{found[1]}{_kept_lines(found[2])}{found[3]}", text)
    lines: list[str] = []
    guarded = broken = 0
    for line in text.split("\n"):
        parts = list(_short(line)) if _size(line) > LINE_BYTES else [line]
        broken += len(parts) - 1
        for part in "".join(parts).split("\n") if len(parts) > 1 else parts:
            safe = _guarded(part)
            guarded += safe != part
            lines.append(safe)
    too_long = sum(_size(line) > MAX_BYTES for line in lines)
    return Defused("\n".join(lines).rstrip("\n"), clean.characters, guarded, broken, too_long)


def _guarded(line: str) -> str:
    start = len(line) - len(line.lstrip(_TRIMMED))
    if not _RISKY.match(line, start):
        return line
    return f"{line[:start]}&#{ord(line[start])};{line[start + 1 :]}"


def _kept_lines(inside: str) -> str:
    """Return preformatted text whose blank lines and leading spaces no reader drops."""
    lines = inside.split("\n")
    kept = [lines[0]]
    for line in lines[1:]:
        if not line.strip(_TRIMMED) and len(kept) < len(lines) - 1:
            kept[-1] += "&#10;"
            continue
        head = line[:1]
        kept.append(f"&#{ord(head)};{line[1:]}" if head and head in _TRIMMED else line)
    return "\n".join(kept)


def _size(line: str) -> int:
    return len(line.encode())


def _short(line: str) -> Iterator[str]:
    """Cut a line at tags: at a block's end, which shows nothing, else inside an inserted comment."""
    part = ""
    size = 0
    for piece in _pieces(line):
        length = _size(piece)
        if part and size + length > LINE_BYTES:
            yield part + ("\n" if _ends_block(part) else _HIDDEN_BREAK)
            part, size = "", 0
        part += piece
        size += length
    yield part


def _ends_block(part: str) -> bool:
    start = part.rfind("<")
    return part.endswith(">") and _BLOCK_END.match(part, start) is not None


def _pieces(line: str) -> Iterator[str]:
    """Yield tags whole and texts in pieces of at most 1,000 characters that end between character references."""
    at = 0
    for span in _SPAN.finditer(line):
        yield from _cut(line[at : span.start()])
        yield span[0]
        at = span.end()
    yield from _cut(line[at:])


def _cut(text: str) -> Iterator[str]:
    at = 0
    while len(text) - at > 1_000:
        end = at + 1_000
        reference = _REFERENCE.search(text, end - 40, end)
        end = end if reference is None else reference.start()
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]


_LINE_ENDS: Final = str.maketrans(dict.fromkeys("\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the files, and the pictures if requested."""
    target = posts.options.target
    writer = _Writer(posts, field_html if target is not None and target.blocks else importer_rules.markup_escaped)
    yield from split(posts, "movabletype", ".txt", Frame(), writer.entries())
    yield from writer.copies


class _Writer(ImportFile):
    def entries(self) -> Iterator[EntryData]:
        for post in self.posts:
            when = self.begin(post)
            if importer_rules.size(post.title) > LINE_BYTES:
                self.report.limit(Reason.LINES_LONG, post.id)
            target = self.options.target
            if (target is None or not target.keeps(Matter.TITLES)) and any(
                self._named(text) != _line(text) for text in _fields(post)
            ):
                self.report.limit(Reason.NAMES_AS_HTML, post.id)
            self.take(self.media.pictures(post))
            yield EntryData(post.id, "".join(f"{line}\n" for line in self._entry(post, when)).encode())
            self.posts.wrote(post)

    def _entry(self, post: ExportPost, when: datetime) -> Iterator[str]:
        entry = post.record
        yield f"AUTHOR: {_line(post.author or self.posts.author)}"
        yield f"TITLE: {self._named(post.title)}"
        yield f"BASENAME: {self.posts.name(post.id)}"
        yield f"STATUS: {'Publish' if post.public else 'Draft'}"
        yield f"ALLOW COMMENTS: {int(bool(entry.comments_open))}"
        yield f"ALLOW PINGS: {int(bool(entry.pings_open))}"
        yield "CONVERT BREAKS: 0"
        yield f"DATE: {_date(when)}"
        names = list(dict.fromkeys(filter(None, (self._named(category.name) for category in post.categories))))
        if len(names) > 1:
            yield f"PRIMARY CATEGORY: {names[0]}"
        yield from (f"CATEGORY: {name}" for name in names)
        if post.tags:
            yield f"TAGS: {','.join(_tag(self._named(tag)) for tag in post.tags)}"
        yield "-----"
        yield from self._section("BODY:", self.body(entry.body, post), "entries", post.id, post.id)
        more = self._more(post)
        if more:
            yield from self._section("EXTENDED BODY:", more, "entries", post.id, post.id)
        if entry.excerpt.strip():
            excerpt = self.clean("excerpt", post, self.media.rewritten(entry.excerpt))
            yield from self._section("EXCERPT:", excerpt, "entries", post.id, post.id)
        for comment in post.comments:
            yield from self._notice(comment, post.id) if _is_notice(comment) else self._comment(comment, post.id)
        yield "--------"

    def _named(self, text: str) -> str:
        """Return a title or name, which Movable Type's templates print as HTML."""
        return self.html(_line(text))

    def _more(self, post: ExportPost) -> str:
        """Return the continuation after its link text, for which the format has no field."""
        lead = self.html(collapse(post.record.more_title))
        if lead:
            self.report.changed("entries", Reason.LEAD_MOVED, post.id)
        # The link text is also in a block, because WordPress wraps text outside of blocks in paragraphs.
        return self.body(
            f"<p><strong>{lead}</strong></p>\n{as_html(post.record.more)}" if lead else post.record.more, post
        )

    def _comment(self, found: PostComment, entry_id: str) -> Iterator[str]:
        comment = found.comment
        head = ["COMMENT:", f"AUTHOR: {self._named(comment.name)}", f"DATE: {_date(found.when)}"]
        url = _line(commenter_link(comment.url) or "")
        if url:
            head.insert(2, f"URL: {url}")
        email = importer_rules.commenter_email(comment, self.report)
        if email:
            head.insert(2, f"EMAIL: {_line(email)}")
        yield from self._section("\n".join(head), comment_html(comment), "comments", comment.id, entry_id)

    def _notice(self, found: PostComment, entry_id: str) -> Iterator[str]:
        """Yield a trackback or pingback, whose title has a separate field."""
        comment = found.comment
        head = [
            "PING:",
            f"TITLE: {self._named(comment.title)}",
            f"URL: {_line(commenter_link(comment.url) or '')}",
            f"BLOG NAME: {self._named(comment.name)}",
            f"DATE: {_date(found.when)}",
        ]
        text = comment_html(replace(comment, title=""))
        yield from self._section("\n".join(head), text, "comments", comment.id, entry_id)

    def _section(self, head: str, html: str, kind: str, record_id: str, entry_id: str) -> Iterator[str]:
        made = defused(html)
        self.report.changed(kind, Reason.NOT_IN_IMPORTS, record_id, made.removed)
        self.report.changed(kind, Reason.LINES_DEFUSED, record_id, made.defused)
        self.report.changed(kind, Reason.LINES_BROKEN, record_id, made.broken)
        if made.long:
            self.report.limit(Reason.LINES_LONG, entry_id)
        yield head
        if made.text:
            yield made.text
        yield "-----"


def _is_notice(found: PostComment) -> bool:
    return found.comment.kind is not CommentKind.COMMENT


def _fields(post: ExportPost) -> Iterator[str]:
    yield from (post.title, *post.terms)
    for found in post.comments:
        yield from (found.comment.name, found.comment.title)


def _tag(line: str) -> str:
    """Return a tag for the list of tags, in quotes if it has the comma that separates them."""
    if "," not in line and not line.startswith(('"', "'")):
        return line
    return f"'{line}'" if '"' in line else f'"{line}"'


def _line(text: str) -> str:
    """Return text on one line, as :func:`~exporter.export.post_names.held_name` has it and importers read it."""
    return collapse(cleaned(held_name(text)).text.translate(_LINE_ENDS))


def _date(when: datetime) -> str:
    return f"{when:%m/%d/%Y} {when.hour % 12 or 12:02}:{when:%M:%S} {'AM' if when.hour < 12 else 'PM'}"


FORMAT: Final = Format(
    message("Hatena, livedoor, Ameba, FC2, Seesaa, WordPress (MT import format)"),
    export,
    drafts=True,
    splits=True,
    names=plain_name,
    wordpress=True,
    holds=frozenset({Part.TAGS, Part.AUTHOR, Part.EXCERPT, Part.NOTICES, Part.EMAIL}),
)
