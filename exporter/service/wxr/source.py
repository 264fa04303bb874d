"""WXR (WordPress eXtended RSS), the export file of WordPress, WordPress.com, note and Ameba Ownd. Pure.

WordPress has no document for it; ``wp-admin/includes/export.php`` writes it, and its importer reads it. This follows
both for the versions 1.0 to 1.2. :mod:`exporter.service.wxr.elements` describes the form of the records. Pages and
custom types are entries; attachments are files. An entry with a custom type is private, as its type may be internal.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from html import unescape
from typing import Any, BinaryIO, ClassVar, Final, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from exporter.message import message, message_n
from exporter.model.kinds import Kind
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
from exporter.service.declarations import WXR
from exporter.service.export_file import ExportFile, FoundParts, FoundRecord, Misread, WantedParts
from exporter.service.interface import Capabilities, Role, Values
from exporter.service.wxr.members import Channel, Item, LateComment, Members, all_of, text_of
from exporter.setting_types import zone
from exporter.text import printable

_RSS: Final = re.compile(rb"<rss[\s>]", re.IGNORECASE)
_MARK: Final = re.compile(rb"//(?:www\.)?wordpress\.org/export/|<wp:wxr_version>", re.IGNORECASE)
_BODY: Final = "content:encoded"
_TYPE: Final = "wp:post_type"
_FEATURED: Final = "_thumbnail_id"
_ATTACHMENT: Final = "attachment"
_PUBLIC_TYPES: Final = frozenset({"post", "page"})
_MACHINE_TYPES: Final = frozenset(
    re.split(
        " ",
        "acf-field acf-field-group acf-post-type acf-taxonomy custom_css customize_changeset nav_menu_item "
        "oembed_cache revision scheduled-action user_request wp_font_face wp_font_family wp_global_styles "
        "wp_navigation wp_template wp_template_part",
    )
)
"""Types in which WordPress and its plugins store settings. They are not records; only the kept file has them."""
_AUDIENCES: Final[Mapping[str, Audience]] = {
    "publish": Audience.PUBLIC,
    "private": Audience.PRIVATE,
    "draft": Audience.DRAFT,
    "pending": Audience.DRAFT,
    "auto-draft": Audience.DRAFT,
    "future": Audience.SCHEDULED,
    "trash": Audience.PRIVATE,
}
_COMMENT_STATUSES: Final[Mapping[str, CommentStatus]] = {
    "1": CommentStatus.SHOWN,
    "approve": CommentStatus.SHOWN,
    "approved": CommentStatus.SHOWN,
    "0": CommentStatus.PENDING,
    "hold": CommentStatus.PENDING,
    "spam": CommentStatus.SPAM,
    "trash": CommentStatus.HIDDEN,
    "post-trashed": CommentStatus.HIDDEN,
}
_COMMENT_KINDS: Final = {
    "": CommentKind.COMMENT,
    "comment": CommentKind.COMMENT,
    "trackback": CommentKind.TRACKBACK,
    "pingback": CommentKind.PINGBACK,
}
_NO_DATE: Final = re.compile(r"0000-00-00(?: 00:00:00)?|-0001-.*|")
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})[ T]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})")
_TECHNICAL_FIELDS: Final = re.compile(
    r"footnotes|enclosure|_edit_last|_edit_lock|_encloseme|_pingme|_thumbnail_id|_wp_(?:old_slug|old_date|page_template"
    r"|desired_post_slug|trash_meta_.*|attached_file|attachment_metadata|attachment_image_alt)"
    r"|_oembed_.*|_blog_.*|akismet_.*|_wp_trash_.*"
)
"""Custom fields of WordPress itself, its spam filter and this program: their content is shown, or is no reader's."""
_SHOWN_FIELDS: Final = frozenset(
    re.split(" ", "attachments author_name by_blog_author category_parents featured patterns")
)
_QUARTER: Final = timedelta(minutes=15)
_MAX_OFFSET: Final = timedelta(hours=15)
_SIZE: Final = re.compile(r'a:[0-9]+:\{s:5:"width";i:([0-9]{1,9});s:6:"height";i:([0-9]{1,9});')
_BYTES: Final = re.compile(r's:4:"file";s:[0-9]+:"[^"]*";s:8:"filesize";i:([0-9]{1,15});')
"""``_wp_attachment_metadata`` is an array in PHP's notation. WordPress writes these members first."""
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,18}")
_NUMBER_IN_GUID: Final = re.compile(r"[?&](?:p|page_id|attachment_id)=([1-9][0-9]{0,18})\Z")
_VALUE_CHARACTERS: Final = 60
_MAX_DEFINITIONS: Final = 50_000
_MAX_LEVELS: Final = 20
_CHANGING: Final = ("pubDate", "lastBuildDate", "generator", "cloud", "wp:wxr_version")
"""Members of the channel that are different in each export."""


class _Known(NamedTuple):
    """Categories and authors that the top of a file defines.

    Attributes:
        categories: a category's name and its parent's nicename, by its nicename.
        nicenames: nicenames by name, as old versions name a parent.
        authors: display names by login.
        author_ids: the numbers of the blog's authors.
    """

    categories: dict[str, tuple[str, str]]
    nicenames: dict[str, str]
    authors: dict[str, str]
    author_ids: set[str]

    def parents(self, nicename: str) -> list[str]:
        """Return a category's parents by name, the outermost first."""
        found: list[str] = []
        seen = {nicename}
        _, above = self.categories.get(nicename, ("", ""))
        while above and len(found) < _MAX_LEVELS:
            key = above if above in self.categories else self.nicenames.get(above, above)
            if key in seen:
                break
            seen.add(key)
            name, above = self.categories.get(key, (above, ""))
            found.append(name)
        return found[::-1]


class WxrFile(ExportFile):
    """WXR; see the module."""

    name = WXR.name
    label = message("a WordPress export file (WXR)")
    capabilities = Capabilities(validators=False, user=True, snapshot=True)
    post_flags = ("wp:status", "wp:post_password", _TYPE)
    comment_flags = ("wp:comment_approved",)
    access_flag = "wp:status"
    bodies: ClassVar = {Kind.ENTRIES: (_BODY, "excerpt:encoded"), Kind.COMMENTS: ("wp:comment_content",)}
    attributes: ClassVar = {
        Kind.ENTRIES: {
            "title": "title", "wp:post_name": "slug", _BODY: "body", "wp:post_modified": "updated",
            "wp:post_modified_gmt": "updated", "wp:status": "access", "wp:comment_status": "comments_open",
            "wp:ping_status": "pings_open", "dc:creator": "author", "author_name": "author", "link": "permalink",
            "excerpt:encoded": "excerpt", "category": "categories", "category_parents": "categories",
            "featured": "featured", "attachments": "body", "patterns": "body", "wp:post_date": "date",
            "wp:post_date_gmt": "date", "pubDate": "date",
        },
        Kind.COMMENTS: {
            "wp:comment_date": "date", "wp:comment_date_gmt": "date", "wp:comment_author": "name",
            "wp:comment_content": "text", "wp:comment_author_url": "url", "wp:comment_approved": "status",
        },
        Kind.FILES: {
            "title": "title", "wp:attachment_url": "url", _BODY: "description", "excerpt:encoded": "description",
            "wp:post_date_gmt": "modified",
        },
    }  # fmt: skip
    roles: ClassVar = {
        Kind.ENTRIES: {
            "id": Role.ID, "wp:post_id": Role.ID, "wp:post_parent": Role.ID, "title": Role.TEXT, "link": Role.ADDRESS,
            "guid": Role.ADDRESS, "wp:post_name": Role.ADDRESS, "pubDate": Role.DATE, "wp:post_date": Role.DATE,
            "wp:post_date_gmt": Role.DATE, "wp:post_modified": Role.DATE, "wp:post_modified_gmt": Role.DATE,
            "dc:creator": Role.TEXT, "description": Role.TEXT, _BODY: Role.TEXT, "excerpt:encoded": Role.TEXT,
            "wp:status": Role.CODE, _TYPE: Role.CODE, "wp:comment_status": Role.CODE, "wp:ping_status": Role.CODE,
            "wp:post_password": Role.TEXT, "wp:is_sticky": Role.CODE, "wp:menu_order": Role.COUNT,
            "category": Role.TEXT, "wp:postmeta": Role.TEXT,
        },
        Kind.COMMENTS: {
            "id": Role.ID, "post_id": Role.ID, "wp:comment_id": Role.ID, "wp:comment_parent": Role.ID,
            "wp:comment_user_id": Role.ID, "wp:comment_author": Role.TEXT, "wp:comment_author_email": Role.TEXT,
            "wp:comment_author_url": Role.ADDRESS, "wp:comment_author_IP": Role.TEXT, "wp:comment_date": Role.DATE,
            "wp:comment_date_gmt": Role.DATE, "wp:comment_content": Role.TEXT, "wp:comment_approved": Role.CODE,
            "wp:comment_type": Role.CODE, "wp:commentmeta": Role.TEXT,
        },
        Kind.FILES: {
            "id": Role.ID, "wp:post_id": Role.ID, "wp:attachment_url": Role.ADDRESS, "title": Role.TEXT,
            "wp:post_parent": Role.ID, "wp:post_date_gmt": Role.DATE, "wp:postmeta": Role.TEXT,
        },
    }  # fmt: skip
    post_fields = ("wp:post_name", "wp:post_id", "id", "title", "wp:post_date")
    upload_fields = ("wp:attachment_url", "wp:post_id", "id", "title")
    kept_fields = ("wp:post_id", "wp:post_name", "wp:status", _TYPE)

    def __init__(self, digest: str = "", timezone: tzinfo | None = None) -> None:
        super().__init__(digest)
        self.timezone = zone(WXR.defaults["timezone"]) if timezone is None else timezone

    @classmethod
    def of(cls, settings: Values) -> Self:
        """Return the format with the time zone of the user's settings."""
        return cls(timezone=settings.get("timezone"))

    @property
    def options(self) -> Mapping[str, Any]:
        """The time zone, and the SHA-256 of the file."""
        return {**super().options, "timezone": str(self.timezone)}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Return whether a file is RSS with WordPress' own elements."""
        plain = head.replace(b"\0", b"")
        return _RSS.search(plain) is not None and _MARK.search(plain) is not None

    def read(self, file: BinaryIO, name: str) -> Iterator[FoundRecord | Misread]:
        """Yield the blog itself as the user, then the entries with their comments, and the files."""
        del name
        known = _Known({}, {}, {}, set())
        machines: Counter[str] = Counter()
        first: dict[str, int] = {}
        from exporter.service.wxr.elements import WxrElements  # noqa: PLC0415 - only a run needs the parser

        for found in WxrElements(file).read():
            if isinstance(found, Misread):
                yield found
            elif isinstance(found, Channel):
                _learn(known, found.members)
                yield from _blog(found.members)
            elif isinstance(found, LateComment):
                yield _comment(found.members, known)
            elif not found.members and not found.comments:
                yield Misread(found.line, message("an item without content"))
            elif (kind := _type(found.members)) in _MACHINE_TYPES:
                machines[kind] += 1
                first.setdefault(kind, found.line)
            elif kind == _ATTACHMENT:
                yield from _file(found)
            else:
                yield _entry(found, known)
                yield from (_comment(each, known) for each in found.comments)
        for kind, count in machines.items():
            reason = message_n(
                "{n:,} item with the type {type} is a setting, no entry; the kept file has it",
                "{n:,} items with the type {type} are settings, no entries; the kept file has them",
                count,
                type=kind,
            )
            yield Misread(first[kind], reason)

    def blog_address(self, raw: Raw) -> str:
        """Return the address in the record of the blog."""
        values = (
            (raw.get(each) for each in ("wp:base_blog_url", "link"))
            if "wp:author" in raw or raw.get("id") == "blog"
            else ()
        )
        return next((text for value in values if (text := _address(text_of(value)))), "")

    def wanted(self, raw: Raw) -> WantedParts:
        """Return an entry's featured picture, the files of its galleries, and its synced patterns."""
        from exporter.service.wxr.shown_records import wanted  # noqa: PLC0415 - the registry imports this module

        featured = _meta(raw, _FEATURED)
        found = wanted(text_of(raw.get(_BODY)))
        return found._replace(files=(featured, *found.files)) if _NUMBER.fullmatch(featured) else found

    def parent(self, raw: Raw) -> str:
        """Return the number of the page above a page or of the post that a file was uploaded to."""
        found = text_of(raw.get("wp:post_parent")).strip()
        return found if _NUMBER.fullmatch(found) else ""

    def shares_files(self, raw: Raw) -> bool:
        """Return whether everyone may read an entry: ``gallery_shortcode`` shows nothing of others."""
        from exporter.service.wxr.shown_records import is_published  # noqa: PLC0415 - as above

        return is_published(raw)

    def completed(self, raw: Raw, found: FoundParts) -> dict[str, Any]:
        """Return an entry's record with its featured picture, the files of its galleries, and its synced patterns."""
        from exporter.service.wxr.shown_records import attachments, has_files, patterns  # noqa: PLC0415 - as above

        featured = found.files.get(_meta(raw, _FEATURED))
        sources = patterns(found.entries)
        shows_files = any(map(has_files, (text_of(raw.get(_BODY)), *sources.values())))
        added = {
            "featured": "" if featured is None else self.upload(featured).url,
            "patterns": sources,
            "attachments": attachments(self, found.files) if shows_files else [],
        }
        return {**raw, **{name: value for name, value in added.items() if value}}

    def lacks(self, raw: Raw) -> Iterator[str]:
        """Yield a sentence for each synced pattern, gallery or list of footnotes that an entry shows incompletely."""
        from exporter.service.wxr.shown_records import lacks  # noqa: PLC0415 - as above

        yield from (problem.reason for problem in lacks(self.post(raw).unshown))

    def extras(self, kind: Kind, raw: Raw) -> int:
        """Return the number of custom fields, elements of plug-ins, and a description, which WordPress leaves empty."""
        known = {*self.roles.get(kind, ()), *_SHOWN_FIELDS} - {"description"}
        named = sum(bool(value) and name not in known and not name.startswith("@") for name, value in raw.items())
        return named + sum(
            bool(text_of(each.get("wp:meta_value")))
            and not _TECHNICAL_FIELDS.fullmatch(text_of(each.get("wp:meta_key")))
            for name in ("wp:postmeta", "wp:commentmeta")
            for each in all_of(raw.get(name))
            if isinstance(each, Mapping)
        )

    def contained(self, raw: Raw) -> Collection[str]:
        """Return the numbers of the synced patterns whose sources the record has."""
        sources = raw.get("patterns")
        return [key for key, text in sources.items() if text] if isinstance(sources, dict) else ()

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return a record's title or name."""
        if kind is Kind.COMMENTS:
            return text_of(raw.get("wp:comment_author"))
        if kind is Kind.ENTRY_LIST:
            title = raw.get("title")
            return str(title) if isinstance(title, str) else ""
        return _plain(raw.get("title"))

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Read an entry; without its record, its list item."""
        if raw is None:
            return self.listed(item or {})
        from exporter.html.wordpress_content import content  # noqa: PLC0415 - the registry imports this module
        from exporter.service.wxr.shown_records import lacks, surroundings  # noqa: PLC0415 - as above

        read = _Reader(raw, self.timezone)
        audience = self._audience(raw)
        shown = content(text_of(raw.get(_BODY)), surroundings(raw, _meta(raw, "footnotes")))
        categories = _categories(raw)
        kind = _type(raw)
        status = text_of(raw.get("wp:status")).strip()
        date = read.date("wp:post_date", "wp:post_modified") or read.written("pubDate")
        has_address = audience not in {Audience.DRAFT, Audience.SCHEDULED}
        return Post(
            id=self.key(Kind.ENTRIES, raw) or "",
            title=_plain(raw.get("title")),
            slug=_slug(text_of(raw.get("wp:post_name"))),
            body=shown.body,
            more=shown.more,
            more_title=unescape(shown.more_title),
            date=date,
            updated=read.date("wp:post_modified"),
            category=categories[0].name if categories else None,
            categories=categories,
            tags=_tags(raw),
            author=text_of(raw.get("author_name")) or text_of(raw.get("dc:creator")),
            permalink=_address(text_of(raw.get("link"))) if has_address else "",
            excerpt=text_of(raw.get("excerpt:encoded")),
            kind=PostKind.POST if kind in {"", "post"} else PostKind.PAGE,
            audience=audience,
            featured=text_of(raw.get("featured")),
            private=audience not in {Audience.PUBLIC, Audience.MEMBERS, Audience.PASSWORD},
            access=str(audience or ""),
            comments_open=_open(raw.get("wp:comment_status")),
            pings_open=_open(raw.get("wp:ping_status")),
            unshown=shown.unshown,
            facts={
                **({"status": status} if status != "publish" else {}),
                **({"type": kind} if kind not in {"", *_PUBLIC_TYPES} else {}),
                **({"sticky": True} if text_of(raw.get("wp:is_sticky")).strip() == "1" else {}),
                **({"parent": above} if (above := self.parent(raw)) else {}),
                **_terms(raw),
            },
            raw=raw,
            item=item,
            problems=(*read.problems, *lacks(shown.unshown)),
        )

    def _audience(self, raw: Raw) -> Audience | None:
        status = text_of(raw.get("wp:status")).strip().lower()
        audience = _AUDIENCES.get(status, Audience.PRIVATE if status else None)
        if audience is not Audience.PUBLIC:
            return audience
        if _type(raw) not in {"", *_PUBLIC_TYPES}:
            return Audience.PRIVATE
        return Audience.PASSWORD if text_of(raw.get("wp:post_password")) else audience

    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""
        read = _Reader(raw, self.timezone)
        date = read.date("wp:comment_date")
        status = _COMMENT_STATUSES.get(text_of(raw.get("wp:comment_approved")).strip().lower())
        parent = text_of(raw.get("wp:comment_parent")).strip()
        kind = text_of(raw.get("wp:comment_type")).strip().lower()
        owner = raw.get("by_blog_author")
        from exporter.html.wordpress_content import html  # noqa: PLC0415 - the registry imports this module

        return Comment(
            id=self.key(Kind.COMMENTS, raw) or "",
            post_id=self.post_id(raw),
            date=date,
            has_time=date is not None,
            name=unescape(text_of(raw.get("wp:comment_author"))),
            title="",
            text=html(text_of(raw.get("wp:comment_content"))),
            url=text_of(raw.get("wp:comment_author_url")).strip(),
            deleted=status is CommentStatus.HIDDEN,
            facts={},
            reply=None,
            raw=raw,
            problems=tuple(read.problems),
            parent=parent if _NUMBER.fullmatch(parent) else "",
            email=text_of(raw.get("wp:comment_author_email")).strip(),
            status=status,
            kind=_COMMENT_KINDS.get(kind, CommentKind.COMMENT),
            by_owner=owner if isinstance(owner, bool) else None,
        )

    def upload(self, raw: Raw) -> Upload:
        """Read an attachment."""
        read = _Reader(raw, UTC)
        url = _address(text_of(raw.get("wp:attachment_url"))) or _file_address(text_of(raw.get("guid")))
        name = unquote(urlsplit(url).path.rpartition("/")[2]) if url else ""
        details = _meta(raw, "_wp_attachment_metadata")
        size = _SIZE.match(details)
        length = None if size is None else _BYTES.match(details, size.end())
        modified = read.date("wp:post_date")
        words = [_plain(raw.get(each)) for each in ("excerpt:encoded", _BODY)]
        return Upload(
            id=self.key(Kind.FILES, raw) or "",
            name=name or _plain(raw.get("title")),
            title=_plain(raw.get("title")) or None,
            description="\n".join(dict.fromkeys(filter(None, words))) or None,
            bytes=None if length is None else int(length[1]),
            width=None if size is None else int(size[1]),
            height=None if size is None else int(size[2]),
            modified=None if modified is None else int(modified.timestamp()),
            extension=name.rpartition(".")[2].lower() if "." in name else "",
            raw=raw,
            problems=tuple(read.problems),
            url=url,
            alt=unescape(_meta(raw, "_wp_attachment_image_alt")),
        )

    def user(self, raw: Raw) -> User:
        """Read the blog: its name is that of its only author, or its title."""
        authors = [each for each in all_of(raw.get("wp:author")) if isinstance(each, Mapping)]
        named = [
            unescape(text_of(each.get("wp:author_display_name"))) or text_of(each.get("wp:author_login"))
            for each in authors
        ]
        name = named[0] if len(named) == 1 and named[0] else _plain(raw.get("title"))
        return User(self.key(Kind.USER, raw) or "", name, raw)

    def blog_title(self, user: Raw) -> str:
        """Return the channel's title. The channel is the blog."""
        return _plain(user.get("title"))


def _learn(known: _Known, members: Members) -> None:
    """Note the categories and authors at the top of a file."""
    for each in all_of(members.get("wp:category"))[:_MAX_DEFINITIONS]:
        if isinstance(each, Mapping):
            nicename, name = text_of(each.get("wp:category_nicename")), text_of(each.get("wp:cat_name"))
            known.categories[nicename] = (name, text_of(each.get("wp:category_parent")))
            known.nicenames.setdefault(name, nicename)
    for each in all_of(members.get("wp:author"))[:_MAX_DEFINITIONS]:
        if isinstance(each, Mapping):
            login = text_of(each.get("wp:author_login"))
            known.authors[login] = unescape(text_of(each.get("wp:author_display_name")))
            known.author_ids.add(text_of(each.get("wp:author_id")).strip())
    known.author_ids.difference_update({"", "0"})


def _blog(members: Members) -> Iterator[FoundRecord]:
    kept = {name: value for name, value in members.items() if name not in _CHANGING}
    if kept:
        yield FoundRecord(Kind.USER, "blog", kept)


def _entry(found: Item, known: _Known) -> FoundRecord:
    raw = dict(found.members)
    login = text_of(raw.get("dc:creator")).strip()
    if known.authors.get(login, login) != login:
        raw["author_name"] = known.authors[login]
    parents = {
        nicename: above
        for each in all_of(raw.get("category"))
        if isinstance(each, Mapping)
        and each.get("@domain", "category") == "category"
        and isinstance(nicename := each.get("@nicename"), str)
        and (above := known.parents(nicename))
    }
    if parents:
        raw["category_parents"] = parents
    return FoundRecord(Kind.ENTRIES, _id_of(raw, "wp:post_id"), raw)


def _file(found: Item) -> Iterator[FoundRecord | Misread]:
    raw = dict(found.members)
    if found.comments:
        raw["wp:comment"] = found.comments
        yield Misread(found.line, message("comments on a file; they are kept in its record"))
    yield FoundRecord(Kind.FILES, _id_of(raw, "wp:post_id"), raw)


def _comment(members: Members, known: _Known) -> FoundRecord:
    raw = dict(members) if isinstance(members, Mapping) else {"#text": members}
    user = text_of(raw.get("wp:comment_user_id")).strip()
    if known.author_ids:
        raw["by_blog_author"] = user in known.author_ids
    return FoundRecord(Kind.COMMENTS, _id_of(raw, "wp:comment_id"), raw)


def _id_of(raw: Raw, name: str) -> str:
    """Return a record's number, or an id from its address or its date and title."""
    number = text_of(raw.get(name)).strip()
    if _NUMBER.fullmatch(number):
        return number
    guid = _NUMBER_IN_GUID.search(text_of(raw.get("guid")))
    if guid is not None:
        return guid[1]
    for names in (("guid",), ("link",), ("wp:post_date", "title"), ("wp:comment_date", "wp:comment_author")):
        words = "\n".join(text_of(raw.get(each)) for each in names).strip()
        if words:
            return f"x{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return "x"


def _type(raw: Mapping[str, Any]) -> str:
    return text_of(raw.get(_TYPE)).strip()


def _meta(raw: Raw, key: str) -> str:
    """Return the last value of a custom field."""
    for each in reversed(all_of(raw.get("wp:postmeta"))):
        if isinstance(each, Mapping) and text_of(each.get("wp:meta_key")) == key:
            return text_of(each.get("wp:meta_value"))
    return ""


def _terms_of(raw: Raw) -> Iterator[tuple[str, str, str]]:
    """Yield the domain, the nicename and the name of each category element."""
    for each in all_of(raw.get("category")):
        domain = nicename = ""
        if isinstance(each, Mapping):
            domain, nicename = (str(each.get(name, "")) for name in ("@domain", "@nicename"))
        yield domain, nicename, unescape(text_of(each)).strip()


def _categories(raw: Raw) -> tuple[Category, ...]:
    """Return the categories. Version 1.0 has each one twice: with its nicename and without."""
    found = [each for each in _terms_of(raw) if each[0] == "category"]
    parents = raw.get("category_parents")
    named = parents if isinstance(parents, Mapping) else {}
    if not found:
        tags = set(_tags(raw))
        found = [each for each in _terms_of(raw) if not each[0] and each[2] not in tags]
    best: dict[str, Category] = {}
    for _, nicename, name in found:
        above = named.get(nicename)
        path = tuple(each for each in above if isinstance(each, str)) if isinstance(above, list) else ()
        category = Category(name or nicename, tuple(map(unescape, path)), _slug(nicename))
        key = nicename or category.name
        if category.name and (nicename or all(category.name != each.name for each in best.values())):
            best.setdefault(key, category)
    slugged = {each.name for each in best.values() if each.slug}
    return tuple(each for each in best.values() if each.slug or each.name not in slugged)


def _tags(raw: Raw) -> tuple[str, ...]:
    names = (name or nicename for domain, nicename, name in _terms_of(raw) if domain in {"post_tag", "tag"})
    return tuple(dict.fromkeys(filter(None, names)))


def _terms(raw: Raw) -> dict[str, str | bool | None]:
    """Return the terms of other taxonomies, such as ``post_format``."""
    found: dict[str, list[str]] = {}
    for domain, nicename, name in _terms_of(raw):
        if domain not in {"", "category", "post_tag", "tag"}:
            found.setdefault(printable(domain, 40), []).append(name or nicename)
    return {domain: ", ".join(names) for domain, names in found.items()}


def _plain(value: Any) -> str:
    """Return a title as text; WordPress stores HTML."""
    text = text_of(value)
    if "<" not in text and "&" not in text:
        return text.strip()
    from exporter.html.text import plain_text  # noqa: PLC0415 - the registry imports this module, and parsers take long to import

    return plain_text(text).strip()


def _slug(name: str) -> str:
    try:
        return unquote(name, errors="strict") if "%" in name else name
    except UnicodeDecodeError:
        return name


def _address(text: str) -> str:
    text = text.strip()
    return text if text.lower().startswith(("http://", "https://")) else ""


def _file_address(text: str) -> str:
    found = _address(text)
    return "" if "?" in found else found


def _open(value: Any) -> bool | None:
    return {"open": True, "closed": False}.get(text_of(value).strip())


class _Reader:
    """Reads dates, and collects the invalid ones."""

    def __init__(self, raw: Raw, zone_: tzinfo) -> None:
        self.raw = raw
        self.problems: list[Problem] = []
        self._zone = zone_

    def date(self, *names: str) -> datetime | None:
        """Return the date in the first field, with the offset that it or another one has to its ``_gmt``."""
        local = self._parts(names[0])
        at = self._parts(f"{names[0]}_gmt")
        if local is None:
            return None if at is None else at.replace(tzinfo=UTC).astimezone(self._zone)
        for name in names:
            there, universal = self._parts(name), self._parts(f"{name}_gmt")
            if there is not None and universal is not None:
                offset = there - universal
                if abs(offset) <= _MAX_OFFSET and offset % _QUARTER == timedelta(0):
                    own = local.replace(tzinfo=self._zone)
                    return own if own.utcoffset() == offset else local.replace(tzinfo=timezone(offset))
        return local.replace(tzinfo=self._zone)

    def written(self, name: str) -> datetime | None:
        """Return a date in the form of mail, in the blog's time zone."""
        text = text_of(self.raw.get(name)).strip()
        if not text or "-0001" in text:
            return None
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 - the registry imports this module

        try:
            found = parsedate_to_datetime(text)
            return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(self._zone)
        except (ValueError, OverflowError, TypeError, IndexError):
            self._problem(name, text)
            return None

    def _parts(self, name: str) -> datetime | None:
        text = text_of(self.raw.get(name)).strip()
        if _NO_DATE.fullmatch(text):
            return None
        found = _DATE.fullmatch(text)
        try:
            if found is not None:
                year, month, day, hour, minute, second = map(int, found.groups())
                return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - with an offset later
        except ValueError:
            pass
        self._problem(name, text)
        return None

    def _problem(self, name: str, text: str) -> None:
        problem = Problem(name, text[:_VALUE_CHARACTERS], message("is not a date"))
        if problem not in self.problems:
            self.problems.append(problem)
