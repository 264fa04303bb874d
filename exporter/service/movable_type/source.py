"""Export files in Movable Type's import format, in which most blog services of Japan hand out a blog.

Its document is the manual's page ``appendices/import-export-format``. If that leaves a question open, this module does
what Movable Type's importer does (``MT::ImportExport``). Typepad, Cocolog, goo, FC2, Seesaa, SS, JUGEM, Hatena, Ameba
and livedoor write it, some with their own fields.

A record keeps each field under its name, with its value unchanged. A field that comes several times is a list.
``order`` has the names in the file's order. ``other`` has the lines that fit no rule, and ``order`` an empty name for
each. A section is a field. A comment has ``type``, ``COMMENT`` or ``PING``, and ``text``. An entry whose head is inside
a text has ``unseparated``; it counts as private, because the text may quote a head.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, tzinfo
from html import unescape
from itertools import islice
from typing import Any, BinaryIO, ClassVar, Final, Self
from urllib.parse import urlsplit

from exporter.message import message, message_n
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Hidden, PostStatus, Verdict
from exporter.model.records import (
    Audience,
    Category,
    Comment,
    CommentKind,
    CommentStatus,
    Post,
    Problem,
    Raw,
    Upload,
    User,
)
from exporter.service.declarations import MOVABLE_TYPE
from exporter.service.export_file import ExportFile, FoundRecord, Misread
from exporter.service.interface import Role, Values
from exporter.service.movable_type.dates import WrittenDate, read_date
from exporter.service.movable_type.fields import BEFORE, OTHER, TEXT, TYPE, UNSEPARATED, last_text
from exporter.setting_types import zone

NO_STATUS: Final = "none"
"""How settings name the status of entries without one."""
_AUDIENCES: Final[Mapping[str, Audience]] = {
    **dict.fromkeys(("publish", "published", "release", "open", "public", "公開", "公開中"), Audience.PUBLIC),
    **dict.fromkeys(
        ("draft", "hold", "review", "pending", "unpublish", "unpublished", "下書き", "未公開"), Audience.DRAFT
    ),
    **dict.fromkeys(("future", "scheduled", "reserve", "reserved", "予約", "予約投稿"), Audience.SCHEDULED),
    **dict.fromkeys(("private", "closed", "secret", "非公開", "junk", "spam"), Audience.PRIVATE),
    **dict.fromkeys(("friend", "friends", "members", "limited", "限定公開", "アメンバー限定"), Audience.MEMBERS),
    **dict.fromkeys(("password", "protected", "パスワード"), Audience.PASSWORD),
}
"""By Movable Type (``MT::Entry::status_int``), and words of its dialects; any other word counts as private."""
_TYPES: Final = frozenset({"COMMENT", "PING"})
_COMMENT_STATUSES: Final[Mapping[str, CommentStatus]] = {
    **dict.fromkeys(("", "publish", "published", "approved", "shown", "公開"), CommentStatus.SHOWN),
    **dict.fromkeys(("pending", "moderated", "hold", "承認待ち"), CommentStatus.PENDING),
    **dict.fromkeys(("junk", "spam"), CommentStatus.SPAM),
}
_AS_HTML: Final = frozenset({"", "0", "none", "richtext", "wysiwyg", "html"})
_LINES: Final = frozenset({"1", "__default__", "convert_breaks"})
_MARKDOWN: Final = {"markdown": False, "markdown_with_smartypants": True}
_FORMATTED: Final = "CONVERT BREAKS"
_TAG: Final = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,]*))\s*(?:,|\Z)""")
_REFERENCE: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_DATED_PATH: Final = re.compile(r"/(?:19|20)\d\d/.*")
_MOST_GARBAGE_LINES: Final = 20
_LONG_HEAD_BYTES: Final = 60_000
"""The fields of an entry may be longer than the part of a file by which it is recognised."""
_NO: Final = frozenset({"", "0", "no", "false"})


class MovableType(ExportFile):
    """Movable Type's import format; see the module."""

    name = MOVABLE_TYPE.name
    label = message("a file in Movable Type's import format (MT)")
    stated_ids = False
    flag_settings = MOVABLE_TYPE.flags
    flag_hint = message(
        "Entries without STATUS are not published, as nothing says who may see them. If everybody may, say so with "
        "--public-status none. Other words for published can follow: --public-status none,OK."
    )
    post_flags = ("STATUS",)
    comment_flags = ("STATUS", "SECRET")
    access_flag = "STATUS"
    usual_access = "Publish"
    bodies: ClassVar = {Kind.ENTRIES: ("BODY", "EXTENDED BODY", "EXCERPT"), Kind.COMMENTS: (TEXT,)}
    attributes: ClassVar = {
        Kind.ENTRIES: {
            "TITLE": "title", "BASENAME": "slug", "BODY": "body", "EXTENDED BODY": "more", "EXCERPT": "excerpt",
            "DATE": "date", "STATUS": "access", "AUTHOR": "author", "CATEGORY": "categories",
            "PRIMARY CATEGORY": "categories", "TAGS": "tags", "UNIQUE URL": "permalink", "PATH": "permalink",
            "ALLOW COMMENTS": "comments_open", "ALLOW PINGS": "pings_open", "IMAGE": "featured",
        },
        Kind.COMMENTS: {"DATE": "date", "AUTHOR": "name", "TITLE": "title", TEXT: "text", "URL": "url"},
    }  # fmt: skip
    roles: ClassVar = {
        Kind.ENTRIES: {
            "id": Role.ID, "AUTHOR": Role.TEXT, "TITLE": Role.TEXT, "BASENAME": Role.ADDRESS, "STATUS": Role.CODE,
            "ALLOW COMMENTS": Role.CODE, "ALLOW PINGS": Role.CODE, _FORMATTED: Role.CODE, "DATE": Role.DATE,
            "PRIMARY CATEGORY": Role.TEXT, "CATEGORY": Role.TEXT, "TAGS": Role.TEXT, "UNIQUE URL": Role.ADDRESS,
            "PATH": Role.ADDRESS, "IMAGE": Role.ADDRESS, "PASSWORD": Role.TEXT,
            **dict.fromkeys(("BODY", "EXTENDED BODY", "EXCERPT", "KEYWORDS"), Role.TEXT),
        },
        Kind.COMMENTS: {
            "id": Role.ID, "post_id": Role.ID, TYPE: Role.CODE, "AUTHOR": Role.TEXT, "EMAIL": Role.TEXT,
            "IP": Role.TEXT, "URL": Role.ADDRESS, "TITLE": Role.TEXT, "BLOG NAME": Role.TEXT, "DATE": Role.DATE,
            "SECRET": Role.CODE, "STATUS": Role.CODE, TEXT: Role.TEXT,
        },
    }  # fmt: skip
    post_fields = ("BASENAME", "PATH", "id", "TITLE", "DATE")

    def __init__(self, digest: str = "", timezone: tzinfo | None = None) -> None:
        super().__init__(digest)
        self.timezone = zone(MOVABLE_TYPE.defaults["timezone"]) if timezone is None else timezone

    @classmethod
    def of(cls, settings: Values) -> Self:
        """Return the format with the time zone of the settings."""
        return cls(timezone=settings.get("timezone"))

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Return whether a file begins with an entry's head, after at most 20 other lines."""
        from exporter.service.movable_type.blocks import blocks  # noqa: PLC0415 - only a run needs the parser
        from exporter.service.movable_type.heads import head_begins, is_head  # noqa: PLC0415 - only a run needs the parser
        from exporter.service.movable_type.lines import is_blank  # noqa: PLC0415 - only a run needs the parser
        from exporter.service.movable_type.text import find_encoding, repaired  # noqa: PLC0415 - only a run needs the parser

        encoding = find_encoding(iter([head]))
        text, _, _ = repaired(head.decode(encoding.codec, encoding.errors))
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        first, *rest = (block for block in islice(blocks([text]), 4))
        while is_blank(first.text) and rest:
            first, *rest = rest
        begin = head_begins(first.text)
        if begin is None or first.text.count("\n", 0, begin) > _MOST_GARBAGE_LINES:
            return False
        if not rest and len(head) < _LONG_HEAD_BYTES:
            return False
        return is_head(first.text[begin:], rest[0] if rest else None)

    def read(self, file: BinaryIO, _name: str) -> Iterator[FoundRecord | Misread]:
        """Yield the entries and comments. The file is read twice: for its encoding, and for its text."""
        from exporter.service.movable_type.blocks import blocks  # noqa: PLC0415 - only a run needs the parser
        from exporter.service.movable_type.file import read_entries  # noqa: PLC0415 - only a run needs the parser
        from exporter.service.movable_type.text import encoding_of, text_of  # noqa: PLC0415 - only a run needs the parser

        encoding = encoding_of(file)
        others: Counter[str] = Counter()
        yield from read_entries(blocks(text_of(file, encoding, others)))
        for label, count in others.items():
            reason = message_n(
                "{n:,} entry or section is in {label}, and the file in {main}; decoded as {label}",
                "{n:,} entries or sections are in {label}, and the file in {main}; decoded as {label}",
                count,
                label=label,
                main=encoding.label,
            )
            yield Misread(1, reason)

    def blog_address(self, raw: Raw) -> str:
        """Return the address of the blog if an entry has its own address: the part before the year."""
        address = _address(last_text(raw, "UNIQUE URL"))
        if not address:
            return ""
        parts = urlsplit(address)
        folder = _DATED_PATH.sub("", parts.path) if _DATED_PATH.search(parts.path) else ""
        return f"{parts.scheme}://{parts.netloc}{folder}/"

    def likenesses(self, kind: Kind, raw: Raw) -> tuple[str, ...]:
        """Return an entry's name, its text with the date or the title, and a date with seconds."""
        written = read_date(last_text(raw, "DATE"))
        date = "" if written is None else written.digits
        if kind is Kind.COMMENTS:
            text, post, writer = (last_text(raw, name) for name in (TEXT, "post_id", "AUTHOR"))
            return _together(post, date, text), _together(post, writer, text)
        name = last_text(raw, "UNIQUE URL") or last_text(raw, "BASENAME")
        text = last_text(raw, "BODY") + last_text(raw, "EXTENDED BODY")
        exact = date if date and not date.endswith("00") else ""
        return name, _together(date, text), _together(last_text(raw, "TITLE"), text), exact

    def extras(self, kind: Kind, raw: Raw) -> int:
        """Return the number of fields and lines that this program does not know; its own marks have small letters."""
        known = self.roles.get(kind, {})
        lines = sum(bool(raw.get(name)) for name in (OTHER, BEFORE))
        return lines + sum(bool(value) and name not in known and not name.islower() for name, value in raw.items())

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return the title. A comment without a title has its writer instead."""
        if kind is Kind.ENTRY_LIST:
            title = raw.get("title")
            return str(title) if isinstance(title, str) else ""
        return _named(raw, "TITLE") or (_named(raw, "AUTHOR") if kind is Kind.COMMENTS else "")

    def list_item(self, raw: Raw, comments: int) -> dict[str, Any]:
        """Return an entry's list item without rendering the text."""
        return self._list_item(self._head(raw), comments)

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Read an entry. Its texts are HTML by the rule that ``CONVERT BREAKS`` names."""
        if raw is None:
            return self.listed(item or {})
        head = self._head(raw)
        rule = last_text(raw, _FORMATTED)
        problems = list(head.problems)
        known = rule.lower() in _AS_HTML | _LINES | _MARKDOWN.keys()
        if not known:
            problems.append(
                Problem(_FORMATTED, rule[:60], message("is an unknown format; shown as lines and paragraphs"))
            )
        return replace(
            head,
            body=_html(_section(raw, "BODY"), rule),
            more=_html(_section(raw, "EXTENDED BODY"), rule),
            excerpt=_section(raw, "EXCERPT"),
            item=item,
            problems=tuple(problems),
        )

    def _head(self, raw: Raw) -> Post:
        """Read the fields of an entry's head."""
        problems: list[Problem] = []
        status = last_text(raw, "STATUS")
        audience = _AUDIENCES.get(status.lower())
        if status and audience is None:
            problems.append(Problem("STATUS", status[:60], message("is an unknown status; treated as private")))
        if audience is Audience.PUBLIC and last_text(raw, "PASSWORD"):
            audience = Audience.PASSWORD
        if UNSEPARATED in raw and audience is not Audience.DRAFT:
            audience = Audience.PRIVATE
        categories = tuple(map(Category, _categories(raw)))
        keywords = ", ".join(filter(None, (" ".join(each.split()) for each in _all_texts(raw, "KEYWORDS"))))
        image = last_text(raw, "IMAGE")
        return Post(
            id=self.key(Kind.ENTRIES, raw) or "",
            title=_named(raw, "TITLE"),
            slug=last_text(raw, "BASENAME"),
            date=self._date(raw, problems)[0],
            category=categories[0].name if categories else "",
            categories=categories,
            tags=tuple(_tags(raw)),
            author=last_text(raw, "AUTHOR"),
            permalink=next(
                filter(None, (_address(last_text(raw, name)) for name in ("UNIQUE URL", "PATH", "BASENAME"))), ""
            ),
            audience=audience,
            access=status,
            featured=_address(image),
            comments_open=_open(raw, "ALLOW COMMENTS"),
            pings_open=_open(raw, "ALLOW PINGS"),
            facts={"keywords": keywords} if keywords else {},
            raw=raw,
            problems=tuple(problems),
        )

    def comment(self, raw: Raw) -> Comment:
        """Read a comment, or a ping, whose writer is the other blog. Files hold the published ones only."""
        problems: list[Problem] = []
        date, has_time = self._date(raw, problems)
        ping = last_text(raw, TYPE) == "PING"
        hidden = last_text(raw, "SECRET").lower() not in _NO
        status = _COMMENT_STATUSES.get(last_text(raw, "STATUS").lower(), CommentStatus.HIDDEN)
        return Comment(
            id=self.key(Kind.COMMENTS, raw) or "",
            post_id=self.post_id(raw),
            date=date,
            has_time=has_time,
            name=_named(raw, "BLOG NAME" if ping else "AUTHOR"),
            title=_named(raw, "TITLE"),
            text=last_text(raw, TEXT),
            url=last_text(raw, "URL"),
            deleted=False,
            facts={},
            reply=None,
            raw=raw,
            problems=tuple(problems),
            email=last_text(raw, "EMAIL"),
            # Only comments of this format state that they are shown.
            status=None if last_text(raw, TYPE) not in _TYPES else CommentStatus.HIDDEN if hidden else status,
            kind=CommentKind.TRACKBACK if ping else CommentKind.COMMENT,
        )

    def upload(self, raw: Raw) -> Upload:
        """Read a file record; the format has none."""
        return Upload(self.key(Kind.FILES, raw) or "", "", None, None, None, None, None, None, "", raw)

    def user(self, raw: Raw) -> User:
        """Read a user; the format has none."""
        return User(self.key(Kind.USER, raw) or "", "", raw)

    def is_undeclared(self, _declared: Declared) -> bool:
        """Return no: nearly all files state who may see their entries."""
        return False

    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Return the status of an entry. One with no STATUS, or an unknown word, is public if its owner declared so.

        Without ``STATUS``, Movable Type uses the importing blog's default, so the file states nothing.
        """
        if post.audience is None:
            status = post.access or NO_STATUS
            if status not in (declared.public_access or ()):
                return Verdict(PostStatus.DRAFT, Cause(Hidden.UNDECLARED, self.access_flag, repr(status[:40])))
            post = replace(post, audience=Audience.PUBLIC)
        return super().publication(post, declared, as_of)

    def _date(self, raw: Raw, problems: list[Problem]) -> tuple[datetime | None, bool]:
        """Return the date and whether it has a time; note an invalid one."""
        text = last_text(raw, "DATE")
        written: WrittenDate | None = read_date(text)
        found = None if written is None else written.within(self.timezone)
        if found is None and text:
            problems.append(Problem("DATE", text[:60], message("is not a date")))
        return found, written is not None and written.has_time


def _together(*texts: str) -> str:
    """Return one text for several; empty if one of them is."""
    return "\0".join(texts) if all(texts) else ""


def _all_texts(raw: Raw, name: str) -> list[str]:
    value = raw.get(name)
    return [str(each).strip() for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def _section(raw: Raw, name: str) -> str:
    return "\n".join(each for each in _all_texts(raw, name) if each)


def _named(raw: Raw, name: str) -> str:
    """Return a title or a name as text. Movable Type prints it as HTML, but many services write tags as text there."""
    return _decoded(last_text(raw, name))


def _decoded(text: str) -> str:
    """Return a text without references; one without its semicolon, as in ``R&D&region``, was surely typed."""
    return _REFERENCE.sub(lambda found: unescape(found[0]), text) if "&" in text else text


def _categories(raw: Raw) -> list[str]:
    """Return the categories, each once, the primary one first."""
    found = [*_all_texts(raw, "PRIMARY CATEGORY"), *_all_texts(raw, "CATEGORY")]
    return list(dict.fromkeys(filter(None, map(_decoded, found))))


def _tags(raw: Raw) -> Iterator[str]:
    """Yield the tags: between commas, in either kind of quotes if they hold a comma or a space (``MT::Tag``)."""
    seen = set()
    for text in _all_texts(raw, "TAGS"):
        at = 0
        while at < len(text):
            found = _TAG.match(text, at)
            if found is None or found.end() == at:
                tag, at = text[at:].strip(), len(text)
            else:
                tag = next((each for each in found.groups() if each is not None), "").strip()
                at = found.end()
            tag = _decoded(tag)
            if tag and tag not in seen:
                seen.add(tag)
                yield tag


def _open(raw: Raw, name: str) -> bool | None:
    """Read ``ALLOW COMMENTS``: 1 is open, 0 none, 2 closed."""
    value = last_text(raw, name)
    return value == "1" if value else None


def _address(text: str) -> str:
    """Return an absolute address on the web, or an empty text."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return text if parts.scheme in {"http", "https"} and parts.netloc and not re.search(r"\s", text) else ""


def _html(text: str, rule: str) -> str:
    """Return a text as HTML by the name of a text filter of Movable Type."""
    rule = rule.lower()
    if rule in _AS_HTML or not text:
        return text
    from exporter.html.markup import from_markdown, paragraphs  # noqa: PLC0415 - the registry imports this module

    if rule in _MARKDOWN:
        return from_markdown(text, smart=_MARKDOWN[rule])
    return paragraphs(text)
