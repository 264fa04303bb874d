"""Read the new home's content through its REST API, with the keys by which a move recognises its own records.

WordPress has no place for keys of other programs: its REST API drops record fields (``meta``) that are not registered.
So each record carries its key in a field that WordPress keeps and can search:

- A post ends with an empty block whose name is the entry's key and a digest. Pages show nothing of it, the editor shows
  its name.
- A comment has the e-mail address that WordPress requires, at a domain that cannot exist (RFC 2606). The name of its
  writer's browser is the digest. If a public comment keeps its writer's own address, the browser's name has both.
- A file's name in addresses is made from its content.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from typing import Any, Final, Generic, TypeVar
from urllib.parse import unquote

from exporter import lossless_json
from exporter.export.names import plain_id
from exporter.message import message
from exporter.model.exchange import Response
from exporter.move.home_terms import HomeTerms, read_terms
from exporter.wordpress import WordPressApi

Record = TypeVar("Record", "HomePost", "HomeFile", "HomeComment")

RESERVED: Final = "reserved"
"""The digest of a post that has its address but not yet its text."""

RESERVED_COMMENT: Final = "0" * 16
"""The digest of a comment that does not have its text yet."""

HIDDEN_COMMENTS: Final = frozenset({"hold", "spam", "trash", "post-trashed"})
"""WordPress' statuses of comments that visitors do not see. A plugin may show any other one."""

WIDE: Final = "w"
"""Begins a post's digest if tags, an excerpt, a featured picture and an author were sent with it."""

_PLAIN_BLOG: Final = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_BLOG_CHARACTERS: Final = 40
_MARK: Final = re.compile(r'"name":"blog-exporter ([a-z0-9.-]+/entry/[a-z0-9]+) (w?[0-9a-f]{16}|reserved)"')
_ADDRESS: Final = re.compile(r"comment-[a-z0-9]+@[a-z0-9.-]+\.invalid")
_AGENT: Final = re.compile(r"blog-exporter (?:(comment-[a-z0-9]+@[a-z0-9.-]+\.invalid) )?([0-9a-f]{16})")
_FILE_DIGITS: Final = 32
_TRASH: Final = "trash"
_WANTED: Final = {
    "edit_posts": message("write posts"),
    "publish_posts": message("publish"),
    "edit_published_posts": message("edit published posts"),
    "edit_private_posts": message("edit private posts"),
    "upload_files": message("upload files"),
    "moderate_comments": message("set the dates of comments"),
    "manage_categories": message("create categories"),
}
"""WordPress' names of the rights that a move needs."""


def blog_key(blog_id: str) -> str:
    """Return a blog's id for keys: unchanged if it is a short host name, else a hash."""
    name = blog_id.lower()
    if len(name) <= _BLOG_CHARACTERS and _PLAIN_BLOG.fullmatch(name):
        return name
    return f"x{blake2b(blog_id.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def post_key(blog_id: str, entry_id: str) -> str:
    """Return the key of an entry."""
    return f"{blog_key(blog_id)}/entry/{plain_id(entry_id)}"


def entry_in(blog_id: str, key: str) -> str | None:
    """Return the id of the entry with a key, in the form of keys; ``None`` for another blog's key."""
    blog, _, entry = key.rpartition("/entry/")
    return entry if blog == blog_key(blog_id) else None


def mark(key: str, digest: str) -> str:
    """Return the block that ends a post.

    Args:
        key: of its entry.
        digest: of all that was sent for it, 16 digits, after :data:`WIDE` if that includes tags and the like; or
            :data:`RESERVED`.
    """
    return f'<!-- wp:html {{"metadata":{{"name":"blog-exporter {key} {digest}"}}}} /-->'


def marks_in(content: str) -> tuple[str, str] | None:
    """Return key and digest of a post with this content; ``None`` if this program did not make it.

    The last block counts, because a body may contain any text.
    """
    found = _MARK.findall(content)
    return (found[-1][0], found[-1][1]) if found else None


def comment_address(blog_id: str, comment_id: str) -> str:
    """Return a comment's e-mail address, which cannot receive mail."""
    return f"comment-{plain_id(comment_id)}@{blog_key(blog_id)}.invalid"


def comment_in(blog_id: str, address: str) -> str | None:
    """Return the id of the comment with an address, in the form of keys; ``None`` for another blog's address."""
    comment, _, host = address.partition("@")
    return comment.removeprefix("comment-") if host == f"{blog_key(blog_id)}.invalid" else None


def is_comment_address(address: str) -> bool:
    """Return whether an e-mail address is one of :func:`comment_address`."""
    return _ADDRESS.fullmatch(address) is not None


def comment_agent(digest: str, address: str = "") -> str:
    """Return a comment's browser name, given the 16-digit digest of all that was sent for it.

    ``address`` is its :func:`comment_address` if its e-mail address is another one.
    """
    return f"blog-exporter {address} {digest}" if address else f"blog-exporter {digest}"


def file_slug(sha256: str) -> str:
    """Return the name in addresses of a file with this content."""
    return f"file-{sha256[:_FILE_DIGITS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeRecord:
    """A record of the new home.

    Attributes:
        id: its number.
        slug: its name in addresses; empty for comments.
        url: its address, for a file that of its content; empty for comments.
        fingerprint: of the current values of all fields that a move sets; empty for files.
    """

    id: int
    slug: str = ""
    url: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePost(HomeRecord):
    """A post of the new home that this program made.

    Attributes:
        status: WordPress' word for who may see it.
        digest: of all that was sent for it, or :data:`RESERVED`.
        untouched: whether it is unchanged since it was made.
        empty: whether it has neither a title nor a text.
        reachable: whether it takes comments.
        page: whether it is a page.
        author: the number of its author; 0 if unknown.
        title: its title.
    """

    status: str
    digest: str
    untouched: bool
    reachable: bool
    empty: bool = False
    page: bool = False
    author: int = 0
    title: str = ""

    @property
    def collection(self) -> Collection[HomePost]:
        """The collection that it is in."""
        return PAGES if self.page else POSTS

    @property
    def gone(self) -> bool:
        """Whether it is in the trash."""
        return self.status == _TRASH

    @property
    def reserved(self) -> bool:
        """Whether it has no text yet."""
        return self.digest == RESERVED


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFile(HomeRecord):
    """A file of the new home.

    Attributes:
        post: the number of its post, whose status decides its visibility; 0 for none.
        status: ``inherit`` or ``private``.
    """

    post: int
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeComment(HomeRecord):
    """A comment of the new home that this program made.

    Attributes:
        post: the number of its post.
        shown: whether everybody sees it.
        digest: of all that was sent for it; empty if another program replaced it.
    """

    post: int
    shown: bool
    digest: str

    @property
    def reserved(self) -> bool:
        """Whether it has no text yet."""
        return self.digest == RESERVED_COMMENT


@dataclass(slots=True)
class HomeContent:
    """The records of the new home: posts and pages by the keys of their entries, comments by their keys, files by slug.

    Attributes:
        comments: all comments, including the trash.
        categories: all categories.
        tags: all tags, if they were read.
        twice: the numbers of duplicates by key.
        foreign: the numbers of posts that this program did not make, by date and slug and by date and title.
    """

    posts: dict[str, HomePost] = field(default_factory=dict)
    comments: dict[str, HomeComment] = field(default_factory=dict)
    files: dict[str, HomeFile] = field(default_factory=dict)
    categories: HomeTerms = field(default_factory=HomeTerms)
    tags: HomeTerms = field(default_factory=HomeTerms)
    twice: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    foreign: dict[tuple[str, str], int] = field(default_factory=dict)


async def missing_rights(api: WordPressApi) -> list[str]:
    """Return the rights that the user lacks for a move, in words.

    Raises:
        NotAuthorised: the credentials are wrong.
        ServiceError: the new home failed.
    """
    known = await _capabilities(api)
    return [words for name, words in _WANTED.items() if known.get(name) is not True]


async def may_write_any_html(api: WordPressApi) -> bool:
    """Return whether WordPress keeps the user's HTML unchanged, scripts and frames included."""
    return (await _capabilities(api)).get("unfiltered_html") is True


async def _capabilities(api: WordPressApi) -> Mapping[str, Any]:
    user = await api.get("wp/v2/users/me", {"context": "edit", "_fields": "id,capabilities"})
    found = user.get("capabilities") if isinstance(user, dict) else None
    return found if isinstance(found, dict) else {}


async def may_name_authors(api: WordPressApi) -> bool:
    """Return whether the user may make posts of other users."""
    return (await _capabilities(api)).get("edit_others_posts") is True


async def home_time(api: WordPressApi) -> datetime | None:
    """Return the time of day in the new home, which decides when it publishes; ``None`` if its server does not say.

    Raises:
        NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`~exporter.wordpress.WordPressApi.get`.
    """

    def read(response: Response) -> datetime | None:
        try:
            found = parsedate_to_datetime(response.headers.get("date", ""))
        except ValueError:
            return None
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)

    request = api.request("wp/v2/users/me", {"context": "edit", "_fields": "id"})
    return await api.client.fetch(request, read)


async def read_home(api: WordPressApi, *, tags: bool = False) -> HomeContent:
    """Read all records that a move needs to know, and ``tags`` only if asked for.

    Raises:
        NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`~exporter.wordpress.WordPressApi.get`.
    """
    home = HomeContent()
    for of in (POSTS, PAGES):
        async for raw in of.all(api):
            post = post_of(raw)
            if post is not None:
                _enter(home, home.posts, *post)
            else:
                _note_foreign(home, raw)
    async for raw in COMMENTS.all(api):
        comment = comment_of(raw)
        if comment is not None:
            _enter(home, home.comments, *comment)
    async for raw in FILES.all(api):
        file = file_of(raw)
        if file is not None:
            home.files.setdefault(*file)
    home.categories = await read_terms(api, CATEGORIES_ROUTE)
    home.tags = await read_terms(api, TAGS_ROUTE) if tags else HomeTerms()
    return home


def _note_foreign(home: HomeContent, raw: Any) -> None:
    if _number(raw) is not None and _text(raw, "status") != _TRASH:
        for name in (unquote(_text(raw, "slug")), _inner(raw, "title")):
            home.foreign.setdefault((_text(raw, "date_gmt"), name), raw["id"])


def _enter(home: HomeContent, of: dict[str, Any], key: str, found: HomePost | HomeComment) -> None:
    """Keep the first record with a key outside the trash, and note each duplicate. A list may repeat a record."""
    before = of.get(key)
    if before is None or (isinstance(before, HomePost) and before.gone):
        of[key] = found
    elif found.id != before.id and not (isinstance(found, HomePost) and found.gone):
        home.twice[key].append(found.id)


def post_of(raw: Any) -> tuple[str, HomePost] | None:
    """Return the key of a post and the post; ``None`` if this program did not make it."""
    number, content = _number(raw), _inner(raw, "content")
    marked = marks_in(content)
    if number is None or marked is None:
        return None
    key, digest = marked
    made, changed = raw.get("date_gmt"), raw.get("modified_gmt")
    status = _text(raw, "status")
    return key, HomePost(
        id=number,
        slug=_text(raw, "slug"),
        url=_text(raw, "link"),
        fingerprint=fingerprint(raw),
        status=status,
        digest=digest,
        untouched=isinstance(made, str) and made == changed,
        reachable=status != "draft" and raw.get("comment_status") == "open",
        empty=content.strip() == mark(key, RESERVED) and not _inner(raw, "title"),
        page=raw.get("type") == "page",
        author=_reference(raw, "author"),
        title=_inner(raw, "title"),
    )


def fingerprint(raw: Mapping[str, Any]) -> str:
    """Return a digest of all fields of a post that a move sets, as its mark says.

    WordPress publishes a scheduled post at its date, which is no change.
    """
    marked = marks_in(_inner(raw, "content"))
    parts = [
        _inner(raw, "title"),
        _inner(raw, "content"),
        *(_text(raw, name) for name in ("slug", "status", "date_gmt", "comment_status", "ping_status")),
        _numbers(raw, "categories"),
    ]
    if marked is None or not marked[1].startswith(WIDE):
        return _digest("post", parts)
    parts[3] = "publish" if parts[3] == "future" else parts[3]
    wide = [_numbers(raw, "tags"), _inner(raw, "excerpt"), _reference(raw, "featured_media"), _reference(raw, "author")]
    return _digest("post", [*parts, *wide])


def _numbers(raw: Mapping[str, Any], name: str) -> list[str]:
    value = raw.get(name)
    return sorted(str(each) for each in value) if isinstance(value, list) else []


def _digest(kind: str, parts: list[Any]) -> str:
    return hashlib.sha256(lossless_json.dumps({kind: parts})).hexdigest()[:32]


def comment_of(raw: Any) -> tuple[str, HomeComment] | None:
    """Return the :func:`comment_address` of a comment and the comment; ``None`` if this program did not make it."""
    number = _number(raw)
    if number is None:
        return None
    agent = _AGENT.fullmatch(_text(raw, "author_user_agent"))
    address = (agent[1] if agent is not None else None) or _text(raw, "author_email")
    if not is_comment_address(address):
        return None
    return address, HomeComment(
        id=number,
        fingerprint=comment_fingerprint(raw),
        post=_reference(raw, "post"),
        shown=_text(raw, "status") not in HIDDEN_COMMENTS,
        digest="" if agent is None else agent[2],
    )


def comment_fingerprint(raw: Mapping[str, Any]) -> str:
    """Return a digest of all fields of a comment that a move sets."""
    values = [_text(raw, name) for name in ("author_name", "author_url", "date_gmt", "status")]
    parent, email = _reference(raw, "parent"), _text(raw, "author_email")
    more = [parent] * bool(parent) + [email] * (not is_comment_address(email))
    return _digest("comment", [*values, _inner(raw, "content"), *more])


def file_of(raw: Any) -> tuple[str, HomeFile] | None:
    """Return the slug of a file without the number that makes it unique, and the file; ``None`` if it is invalid."""
    number = _number(raw)
    if number is None or not _text(raw, "source_url"):
        return None
    slug, status = _text(raw, "slug"), _text(raw, "status") or "inherit"
    found = HomeFile(id=number, slug=slug, url=_text(raw, "source_url"), post=_reference(raw, "post"), status=status)
    return "-".join(slug.split("-")[:2]), found


def _reference(raw: Mapping[str, Any], name: str) -> int:
    """Return the number of another record; 0 for none."""
    number = raw.get(name)
    return number if isinstance(number, int) else 0


def _number(raw: Any) -> int | None:
    number = raw.get("id") if isinstance(raw, dict) else None
    return number if isinstance(number, int) and number > 0 else None


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""


def _inner(raw: Any, name: str) -> str:
    value = raw.get(name) if isinstance(raw, dict) else None
    return _text(value, "raw") if isinstance(value, dict) else ""


@dataclass(frozen=True, slots=True)
class Collection(Generic[Record]):
    """A collection of the REST API whose records a move makes.

    Attributes:
        route: its route.
        fields: the fields to request.
        status: WordPress' words for all records, including hidden ones.
        read: returns the key of a record and the record; ``None`` for a record without a key.
    """

    route: str
    fields: str
    status: str
    read: Callable[[Any], tuple[str, Record] | None]

    @property
    def view(self) -> dict[str, str]:
        """The parameters for an answer with all fields."""
        return {"context": "edit", "_fields": self.fields}

    async def search(self, api: WordPressApi, wanted: Mapping[str, str]) -> list[Any]:
        """Return the first page of the records with some properties, as WordPress sends them."""
        return (await api.page(self.route, {**self.view, "status": self.status, **wanted}, 1)).items

    async def current(self, api: WordPressApi, number: int) -> Any:
        """Return the current record with a number, as WordPress sends it; ``None`` if it does not exist."""
        return next(iter(await self.search(api, {"include": str(number)})), None)

    async def all(self, api: WordPressApi) -> AsyncIterator[Any]:
        """Yield all records, as WordPress sends them."""
        async for page in api.pages(self.route, {**self.view, "status": self.status}):
            for raw in page.items:
                yield raw


_POST_FIELDS: Final = (
    "id,type,link,slug,status,date_gmt,modified_gmt,title.raw,content.raw,comment_status,ping_status,categories,tags,"
    "excerpt.raw,featured_media,author"
)
_POST_STATUSES: Final = "publish,future,draft,pending,private,trash"
POSTS: Final = Collection("wp/v2/posts", _POST_FIELDS, _POST_STATUSES, post_of)
PAGES: Final = Collection("wp/v2/pages", _POST_FIELDS, _POST_STATUSES, post_of)
COMMENTS: Final = Collection(
    "wp/v2/comments",
    # WordPress sends the whole content of a comment or nothing of it.
    "id,post,parent,author_email,author_name,author_url,author_user_agent,content,date_gmt,status",
    "any",
    comment_of,
)
FILES: Final = Collection("wp/v2/media", "id,slug,source_url,post,status", "inherit,private", file_of)
CATEGORIES_ROUTE: Final = "wp/v2/categories"
TAGS_ROUTE: Final = "wp/v2/tags"
