"""Records of WordPress' REST API as neutral records. Reading a record raises nothing for any JSON object. Pure.

The members are those of the REST API handbook (https://developer.wordpress.org/rest-api/reference/). A record that was
read with a sign-in also has the typed text (``raw``). The shown text (``rendered``) is the body, because blocks,
shortcodes and paragraphs only exist there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

from exporter.message import message
from exporter.model.kinds import Kind, key_of
from exporter.model.records import (
    Audience,
    Category,
    Comment,
    CommentKind,
    CommentStatus,
    Post,
    PostKind,
    Problem,
    Raw,
    Upload,
    User,
)
from exporter.service.stated import StatedService

CATEGORY_PATHS: Final = "category_paths"
"""A member that this program adds to list items: by a category's id, its name after those of its parents."""
REST_BASE: Final = "rest_base"
"""The member that this program adds to the list item of a custom type: the list that the entry is from."""
BLOG_AUTHOR: Final = "blog_author"
"""The member that this program adds to a comment by one of the blog's writers."""
TRASH: Final = "trash"
_POST, _PAGE = "post", "page"
_AUDIENCES: Final[Mapping[str, Audience]] = {
    "publish": Audience.PUBLIC,
    "private": Audience.PRIVATE,
    "draft": Audience.DRAFT,
    "pending": Audience.DRAFT,
    "auto-draft": Audience.DRAFT,
    TRASH: Audience.DRAFT,
    "future": Audience.SCHEDULED,
}
_OPENNESS: Final = (
    None, Audience.PRIVATE, Audience.DRAFT, Audience.SCHEDULED, Audience.PASSWORD, Audience.MEMBERS, Audience.PUBLIC,
)  # fmt: skip
"""Audiences, the most closed first."""
_COMMENT_STATUSES: Final[Mapping[str, CommentStatus]] = {
    "approved": CommentStatus.SHOWN,
    "approve": CommentStatus.SHOWN,
    "hold": CommentStatus.PENDING,
    "spam": CommentStatus.SPAM,
    TRASH: CommentStatus.HIDDEN,
}
_MORE, _MORE_END = "<!--more", "-->"
_OPENED: Final = re.compile(r"<p>\s{0,100}\Z")
_CLOSED: Final = re.compile(r"\s{0,100}</p>")
_CUT: Final = re.compile(r"(?:\[(?:…|&hellip;|&#8230;|\.\.\.)\]|<a[^>]*more-link.*)\s*(?:</p>)?\s*\Z", re.DOTALL)
"""The end of an automatic excerpt."""
_MARK_CHARACTERS: Final = 103
_CUT_CHARACTERS: Final = 600
_MAX_OFFSET: Final = timedelta(hours=18)
_VALUE_CHARACTERS: Final = 60
_IMAGE: Final = "image"
_KNOWN: Final = frozenset(
    re.split(
        " ",
        "_embedded _links author author_avatar_urls author_email author_ip author_name author_url author_user_agent "
        "blog_author categories class_list comment_status content date date_gmt excerpt featured_media format "
        "generated_slug guid id jetpack_featured_media_url link menu_order meta modified modified_gmt parent password "
        "permalink_template ping_status post slug status sticky tags template title type",
    )
)
"""The members of an entry or comment in the handbook, and the featured picture's address, which Jetpack repeats."""


class WordPressRecords(StatedService):
    """Reads a WordPress' records."""

    timezone: tzinfo = UTC
    bodies: ClassVar[Mapping[Kind, tuple[str, ...]]] = {}
    kept_fields = ("id", "status", "slug")
    post_fields = ("id", "slug", "date", "type", "status")
    upload_fields = ("id", "slug", "source_url")
    likely_in_addresses = ("slug", "id")

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return a record's title or name, or an empty text."""
        if kind in {Kind.COMMENTS, Kind.USER}:
            return _text(raw, "author_name" if kind is Kind.COMMENTS else "name")
        return _plain(_written(raw, "title"))

    def post_id(self, raw: Raw) -> str:
        """Return the id of a comment's entry."""
        return key_of(raw.get("post")) or ""

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Join an entry with its list item. If they disagree about its audience, the more closed one counts."""
        found = raw if raw is not None else item or {}
        read = _Reader(found)
        audience = _audience(found)
        if raw is not None and item is not None and "status" in item:
            audience = min(audience, _audience(item), key=_OPENNESS.index)
        if audience is None:
            read.problem("status", found.get("status"), message("is no status of WordPress"))
        body, more_title, more = _parts(_shown(found, "content"))
        categories = tuple(_categories(found, item or {}, read))
        kind = _text(found, "type")
        return Post(
            id=self.key(Kind.ENTRIES, found) or "",
            blog_id=_host(_text(found, "link")),
            title=_plain(_written(found, "title")),
            slug=_text(found, "slug"),
            body=body,
            more_title=more_title,
            more=more,
            date=read.date("date"),
            updated=read.date("modified"),
            category=categories[0].name if categories else "",
            categories=categories,
            tags=tuple(_plain(_text(term, "name")) for term in _terms(found) if term.get("taxonomy") == "post_tag"),
            author=_plain(next((_text(each, "name") for each in _embedded(found, "author")), "")),
            permalink="" if audience in {Audience.DRAFT, None} else _text(found, "link"),
            excerpt=_excerpt(found),
            kind=PostKind.POST if kind in {_POST, ""} else PostKind.PAGE,
            audience=audience,
            featured=next((_text(each, "source_url") for each in _embedded(found, "wp:featuredmedia")), ""),
            private=None if audience is None else audience is not Audience.PUBLIC,
            access=str(audience or ""),
            comments_open=_is_open(found.get("comment_status")),
            pings_open=_is_open(found.get("ping_status")),
            facts=_facts(found),
            raw=raw if raw is not None else {},
            item=item,
            problems=tuple(read.problems),
        )

    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""
        read = _Reader(raw)
        kind, parent, author = _text(raw, "type"), key_of(raw.get("parent")) or "", raw.get("author")
        by_owner: bool | None = None
        if raw.get(BLOG_AUTHOR) is True:
            by_owner = True
        elif author == 0 and not isinstance(author, bool | float):
            by_owner = False
        return Comment(
            id=self.key(Kind.COMMENTS, raw) or "",
            post_id=self.post_id(raw),
            date=read.date("date"),
            has_time=True,
            name=_plain(_text(raw, "author_name")),
            title="",
            text=_shown(raw, "content"),
            url=_text(raw, "author_url"),
            deleted=raw.get("status") == TRASH,
            facts={},
            reply=None,
            raw=raw,
            problems=tuple(read.problems),
            parent="" if parent == "0" else parent,
            email=_text(raw, "author_email"),
            status=_COMMENT_STATUSES.get(_text(raw, "status")),
            kind=CommentKind(kind) if kind in set(CommentKind) else CommentKind.COMMENT,
            by_owner=by_owner,
        )

    def has_private_parts(self, kind: Kind, raw: Raw) -> bool:
        """Return whether a comment has what only its blog's owner sees: its writer's network address and browser."""
        return kind is Kind.COMMENTS and any(raw.get(name) for name in ("author_ip", "author_user_agent"))

    def extras(self, _kind: Kind, raw: Raw) -> int:
        """Return the number of fields of plug-ins and themes with content."""
        fields = _object(raw, "meta")
        named = sum(bool(value) and name not in _KNOWN for name, value in raw.items())
        return named + sum(bool(value) and name != "footnotes" for name, value in fields.items())

    def upload(self, raw: Raw) -> Upload:
        """Read a file of the media library. Its size is that of the file at ``source_url``."""
        read = _Reader(raw)
        url, details = _text(raw, "source_url"), raw.get("media_details")
        details = details if isinstance(details, dict) else {}
        name = _file_name(url) or _plain(_written(raw, "title"))
        description = _plain(_written(raw, "description")) if "raw" in _object(raw, "description") else ""
        modified = read.date("modified")
        return Upload(
            id=self.key(Kind.FILES, raw) or "",
            name=name,
            title=_plain(_written(raw, "title")),
            description=description or _plain(_written(raw, "caption")),
            bytes=size_of(raw),
            width=_number(details.get("width")),
            height=_number(details.get("height")),
            modified=None if modified is None else int(modified.timestamp()),
            extension=posixpath.splitext(name)[1].removeprefix("."),
            raw=raw,
            problems=tuple(read.problems),
            url=url,
            alt=_plain(_text(raw, "alt_text")),
            page=_text(raw, "link"),
        )

    def user(self, raw: Raw) -> User:
        """Read the signed-in user."""
        return User(self.key(Kind.USER, raw) or "", _plain(_text(raw, "name")), raw)

    def amount(self, kind: Kind, raw: Raw) -> int | None:
        """Return the size of a file; the lists do not state how many comments an entry has."""
        return size_of(raw) if kind is Kind.FILES else None


def size_of(raw: Raw) -> int | None:
    """Return a file's size in bytes, which WordPress states since version 6.0."""
    details = raw.get("media_details")
    return _number(details.get("filesize")) if isinstance(details, dict) else None


def is_locked(raw: Raw) -> bool:
    """Return whether an entry has a password and its text was left out for that reason."""
    content = _object(raw, "content")
    return content.get("protected") is True and not content.get("rendered") and not content.get("raw")


class _Reader:
    """Reads dates and collects problems."""

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self.problems: list[Problem] = []

    def date(self, name: str) -> datetime | None:
        """Return a date with the blog's offset, which is the difference between its two forms.

        A draft has no date in UTC; its own date is then read as UTC.
        """
        value = self._raw.get(name)
        if value is None or value == "":
            return None
        local, utc = _moment(value), _moment(self._raw.get(f"{name}_gmt"))
        if local is None:
            self.problem(name, value, message("is not a date"))
            return None
        try:
            offset = local - utc if utc is not None else timedelta(0)
            if abs(offset) > _MAX_OFFSET:
                self.problem(f"{name}_gmt", self._raw.get(f"{name}_gmt"), message("is far from the date in local time"))
                offset = timedelta(0)
            return local.replace(tzinfo=timezone(offset) if offset else UTC)
        except (ValueError, OverflowError):
            return None

    def problem(self, field: str, value: Any, reason: str) -> None:
        """Note an invalid field."""
        shown = value if isinstance(value, str | int | float | bool) else type(value).__name__
        self.problems.append(Problem(field, str(shown)[:_VALUE_CHARACTERS], reason))


def _moment(value: Any) -> datetime | None:
    """Return a date without its offset; WordPress sends none."""
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None) if isinstance(value, str) else None
    except ValueError:
        return None


def _audience(raw: Raw) -> Audience | None:
    found = _AUDIENCES.get(_text(raw, "status"))
    password = raw.get("password")
    if found is Audience.PUBLIC and (
        _object(raw, "content").get("protected") is True or (password is not None and password != "")
    ):
        return Audience.PASSWORD
    return found


def _parts(body: str) -> tuple[str, str, str]:
    """Divide a body at its first ``<!--more-->`` into the text before it, the link's text, and the text after it."""
    at = body.find(_MORE)
    end = body.find(_MORE_END, at)
    if at < 0 or end < 0:
        return body, "", ""
    before, title, after = body[:at], body[at + len(_MORE) : end], body[end + len(_MORE_END) :]
    opened, closed = _OPENED.search(before[-_MARK_CHARACTERS:]), _CLOSED.match(after)
    if opened is not None and closed is not None:
        before, after = before[: len(before) - len(opened[0])], after[closed.end() :]
    return before.rstrip(), _plain(title), after.lstrip()


def _excerpt(raw: Raw) -> str:
    """Return the excerpt that the writer wrote. Without a sign-in, one that begins the text is WordPress' own."""
    excerpt = _object(raw, "excerpt")
    if isinstance(excerpt.get("raw"), str):
        return str(excerpt["raw"])
    shown = _text(excerpt, "rendered").strip()
    if not shown or _CUT.search(shown[-_CUT_CHARACTERS:]):
        return ""
    text = "".join(_plain(shown).split())
    begin = "".join(_plain(_shown(raw, "content")[: 8 * len(shown) + 2000]).split())
    return "" if begin.startswith(text.removesuffix("…")) else shown


def _categories(raw: Raw, item: Raw, read: _Reader) -> Iterator[Category]:
    """Yield an entry's categories in order, with their parents from the list item."""
    paths = _object(item, CATEGORY_PATHS)
    terms = {key_of(term.get("id")): term for term in _terms(raw) if term.get("taxonomy") == "category"}
    ids = raw.get("categories")
    listed = [key for key in map(key_of, ids) if key is not None] if isinstance(ids, list) else []
    for key in dict.fromkeys([*listed, *(key for key in terms if key is not None)]):
        path = paths.get(key)
        names = [_plain(name) for name in path if isinstance(name, str)] if isinstance(path, list) else []
        term = terms.get(key, {})
        name = _plain(_text(term, "name")) or (names[-1] if names else "")
        if name:
            yield Category(name, tuple(names[:-1]), _text(term, "slug"))
        else:
            read.problem("categories", key, message("is a category without a name in the answer"))


def _terms(raw: Raw) -> Iterator[Mapping[str, Any]]:
    lists = _object(raw, "_embedded").get("wp:term")
    for terms in lists if isinstance(lists, list) else ():
        yield from (term for term in (terms if isinstance(terms, list) else ()) if isinstance(term, dict))


def _embedded(raw: Raw, name: str) -> Iterator[Mapping[str, Any]]:
    found = _object(raw, "_embedded").get(name)
    yield from (each for each in (found if isinstance(found, list) else ()) if isinstance(each, dict))


def _facts(raw: Raw) -> dict[str, str | bool | None]:
    facts: dict[str, str | bool | None] = {"status": _text(raw, "status"), "slug": _text(raw, "slug")}
    if raw.get("sticky") is True:
        facts["sticky"] = True
    above = key_of(raw.get("parent"))
    if above not in {None, "0"}:
        facts["parent"] = above
    if _text(raw, "format") not in {"", "standard"}:
        facts["format"] = _text(raw, "format")
    kind = _text(raw, "type")
    if kind not in {"", _POST}:
        facts["type"] = kind
    return facts


def _is_open(value: Any) -> bool | None:
    return {"open": True, "closed": False}.get(value) if isinstance(value, str) else None


def _written(raw: Raw, name: str) -> str:
    """Return a text as its writer typed it, or as the blog shows it."""
    value = raw.get(name)
    if isinstance(value, dict):
        return _text(value, "raw") or _text(value, "rendered")
    return _text(raw, name)


def _shown(raw: Raw, name: str) -> str:
    """Return a text as the blog shows it, or as its writer typed it."""
    value = raw.get(name)
    if isinstance(value, dict):
        return _text(value, "rendered") or _text(value, "raw")
    return _text(raw, name)


def _plain(html: str) -> str:
    """Return a title or a name, which WordPress sends as HTML, as text on one line."""
    from exporter.html.text import collapse, text_of  # noqa: PLC0415 - the registry imports this module, and parsers take long to import

    return collapse(text_of(html)) if "<" in html or "&" in html else collapse(html)


def _file_name(url: str) -> str:
    try:
        return unquote(urlsplit(url).path).rpartition("/")[2]
    except ValueError:
        return ""


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _object(raw: Raw, name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 18:
        return int(value)
    return value if type(value) is int and value >= 0 else None


def _text(raw: Raw, name: str) -> str:
    value = raw.get(name)
    return str(value) if isinstance(value, str) else ""
