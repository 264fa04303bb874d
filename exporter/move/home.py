"""What the new home has, read by its REST API: whatever was moved there before, and what a move could meet."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from exporter import lossless_json
from exporter.html.text import collapse
from exporter.message import message
from exporter.move.keys import RESERVED, digest_in, is_comment_address, marks_in
from exporter.wordpress.rest import WordPressApi

T = TypeVar("T")

POST_FIELDS: Final = (
    "id,link,slug,status,date_gmt,modified_gmt,title.raw,content.raw,comment_status,ping_status,categories"
)
COMMENT_FIELDS: Final = "id,post,author_email,author_name,author_url,author_user_agent,content,date_gmt,status"
"""WordPress gives the content of a comment as a whole or not at all."""
FILE_FIELDS: Final = "id,slug,source_url,post,status"
POST_STATUSES: Final = "publish,future,draft,pending,private,trash"
FILE_STATUSES: Final = "inherit,private"
_TRASH: Final = "trash"
_WANTED: Final = {
    "edit_posts": message("write posts"),
    "publish_posts": message("publish"),
    "edit_published_posts": message("change what is published"),
    "edit_private_posts": message("change what is private"),
    "upload_files": message("upload files"),
    "moderate_comments": message("give comments their dates"),
    "manage_categories": message("make categories"),
}
"""What WordPress calls the things that a move does."""


@dataclass(frozen=True, slots=True)
class HomePost:
    """A post of the new home that this program made.

    Attributes:
        id: its number.
        link: its address.
        slug: its name in addresses.
        status: who may see it, in WordPress' words.
        digest: that of what was sent for it; :data:`~exporter.move.keys.RESERVED` where its text is still to come.
        untouched: whether it was never changed since it was made, by anybody.
        fingerprint: of all that a move sets, as it is there now.
        reachable: whether it takes comments.
    """

    id: int
    link: str
    slug: str
    status: str
    digest: str
    untouched: bool
    fingerprint: str
    reachable: bool

    @property
    def gone(self) -> bool:
        """Whether it is in the trash."""
        return self.status == _TRASH

    @property
    def reserved(self) -> bool:
        """Whether its text is still to come."""
        return self.digest == RESERVED


@dataclass(frozen=True, slots=True)
class HomeFile:
    """A file of the new home.

    Attributes:
        id: its number.
        slug: its name in addresses.
        url: the address of its bytes.
        post: the number of the post that it is attached to and that decides who sees it; 0 for none.
        status: ``inherit`` or ``private``.
    """

    id: int
    slug: str
    url: str
    post: int = 0
    status: str = "inherit"


@dataclass(frozen=True, slots=True)
class HomeComment:
    """A comment of the new home that this program made.

    Attributes:
        id: its number.
        post: that of its post.
        shown: whether everybody sees it.
        digest: that of what was sent for it; empty where somebody else wrote it anew.
        fingerprint: of all that a move sets, as it is there now.
        slug: empty, as it has no name for its address.
    """

    id: int
    post: int
    shown: bool
    digest: str
    fingerprint: str
    slug: str = ""


@dataclass(slots=True)
class HomeContent:
    """What was found; posts by the keys of their entries, comments by their addresses, files by their slugs.

    Attributes:
        comments: those in the trash as well.
        categories: their numbers by their names for addresses, and by their names as they are shown.
        twice: the numbers of records that are a second time what another is, by their keys.
        foreign: the numbers of posts that this program did not make, by their dates with their names or their titles.
    """

    posts: dict[str, HomePost] = field(default_factory=dict)
    comments: dict[str, HomeComment] = field(default_factory=dict)
    files: dict[str, HomeFile] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    twice: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    foreign: dict[tuple[str, str], int] = field(default_factory=dict)


async def missing_rights(api: WordPressApi) -> list[str]:
    """Return what the user must be allowed to and is not, in words.

    Raises:
        NotAuthorised: it is no user at all.
        ServiceError: it cannot be asked.
    """
    known = await _capabilities(api)
    return [words for name, words in _WANTED.items() if known.get(name) is not True]


async def may_write_any_html(api: WordPressApi) -> bool:
    """Tell whether WordPress keeps what the user writes as it is, scripts and frames included."""
    return (await _capabilities(api)).get("unfiltered_html") is True


async def _capabilities(api: WordPressApi) -> Mapping[str, Any]:
    user = await api.get("wp/v2/users/me", {"context": "edit", "_fields": "id,capabilities"})
    found = user.get("capabilities") if isinstance(user, dict) else None
    return found if isinstance(found, dict) else {}


async def read_home(api: WordPressApi) -> HomeContent:
    """Read all of it that a move has to know.

    Raises:
        NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`~exporter.wordpress.rest.WordPressApi.get`.
    """
    home = HomeContent()
    async for raw in _listed(api, "wp/v2/posts", POST_FIELDS, _any_post, status=POST_STATUSES):
        post = post_of(raw)
        if post is not None:
            _enter(home, home.posts, *post)
        elif _text(raw, "status") != _TRASH:
            for name in (unquote(_text(raw, "slug")), _inner(raw, "title")):
                home.foreign.setdefault((_text(raw, "date_gmt"), name), raw["id"])
    async for comment in _listed(api, "wp/v2/comments", COMMENT_FIELDS, comment_of, status="any"):
        _enter(home, home.comments, *comment)
    async for file in _listed(api, "wp/v2/media", FILE_FIELDS, file_of, status=FILE_STATUSES):
        home.files.setdefault(*file)
    async for names in _listed(api, "wp/v2/categories", "id,name,slug", category_of):
        home.categories.update(names)
    return home


async def read_post(api: WordPressApi, number: int) -> Any:
    """Return a post as it is now, for :func:`post_of`; ``None`` where there is none of that number.

    Raises:
        NotAuthorised, ApiError, TransportError, ServiceError: as for :func:`read_home`.
    """
    return await _one(api, "wp/v2/posts", number, POST_FIELDS, POST_STATUSES)


async def read_comment(api: WordPressApi, number: int) -> Any:
    """Return a comment as it is now, for :func:`comment_of`; otherwise as :func:`read_post`."""
    return await _one(api, "wp/v2/comments", number, COMMENT_FIELDS, "any")


async def _one(api: WordPressApi, route: str, number: int, fields: str, status: str) -> Any:
    wanted = {"include": str(number), "context": "edit", "status": status, "_fields": fields}
    return next(iter((await api.page(route, wanted, 1)).items), None)


async def _listed(
    api: WordPressApi, route: str, fields: str, read: Callable[[Any], T | None], **more: str
) -> AsyncIterator[T]:
    async for page in api.pages(route, {"context": "edit", "_fields": fields, **more}):
        for found in map(read, page.items):
            if found is not None:
                yield found


def _enter(home: HomeContent, of: dict[str, Any], key: str, found: HomePost | HomeComment) -> None:
    """Keep the first record of a key that is not in the trash, and name every other; a list may repeat one."""
    before = of.get(key)
    if before is None or (isinstance(before, HomePost) and before.gone):
        of[key] = found
    elif found.id != before.id and not (isinstance(found, HomePost) and found.gone):
        home.twice[key].append(found.id)


def _any_post(raw: Any) -> Any:
    return None if _number(raw) is None else raw


def post_of(raw: Any) -> tuple[str, HomePost] | None:
    """Return the key of a post and what it is; ``None`` where this program did not make it."""
    number, content = _number(raw), _inner(raw, "content")
    marked = marks_in(content)
    if number is None or marked is None:
        return None
    key, digest = marked
    made, changed = raw.get("date_gmt"), raw.get("modified_gmt")
    status = _text(raw, "status")
    return key, HomePost(
        number,
        _text(raw, "link"),
        _text(raw, "slug"),
        status,
        digest,
        untouched=isinstance(made, str) and made == changed,
        fingerprint=fingerprint(raw),
        reachable=status != "draft" and raw.get("comment_status") == "open",
    )


def fingerprint(raw: Mapping[str, Any]) -> str:
    """Return a digest of all that a move sets of a post, as the new home has it."""
    categories = raw.get("categories")
    parts = [
        _inner(raw, "title"),
        _inner(raw, "content"),
        *(_text(raw, name) for name in ("slug", "status", "date_gmt", "comment_status", "ping_status")),
        sorted(str(each) for each in categories) if isinstance(categories, list) else [],
    ]
    return _digest("post", parts)


def _digest(kind: str, parts: list[Any]) -> str:
    return hashlib.sha256(lossless_json.dumps({kind: parts})).hexdigest()[:32]


def comment_of(raw: Any) -> tuple[str, HomeComment] | None:
    """Return the address of a comment's writer, and what it is; ``None`` where this program did not make it."""
    number = _number(raw)
    address = "" if number is None else _text(raw, "author_email")
    if number is None or not is_comment_address(address):
        return None
    post, status = raw.get("post"), _text(raw, "status")
    return address, HomeComment(
        number,
        post if isinstance(post, int) else 0,
        shown=status == "approved",
        digest=digest_in(_text(raw, "author_user_agent")),
        fingerprint=comment_fingerprint(raw),
    )


def comment_fingerprint(raw: Mapping[str, Any]) -> str:
    """Return a digest of all that a move sets of a comment, as the new home has it."""
    values = [_text(raw, name) for name in ("author_name", "author_url", "date_gmt", "status")]
    return _digest("comment", [*values, _inner(raw, "content")])


def file_of(raw: Any) -> tuple[str, HomeFile] | None:
    """Return the name for the address of a file, without what makes it different from another's, and what it is."""
    number = _number(raw)
    if number is None or not _text(raw, "source_url"):
        return None
    slug = _text(raw, "slug")
    post = raw.get("post")
    parent = post if isinstance(post, int) else 0
    found = HomeFile(number, slug, _text(raw, "source_url"), parent, _text(raw, "status") or "inherit")
    return "-".join(slug.split("-")[:2]), found


def category_of(raw: Any) -> dict[str, int]:
    """Return the number of a category by its two names."""
    number = _number(raw)
    names = [] if number is None else [_text(raw, "slug"), collapse(unescape(_text(raw, "name")))]
    return {name: number for name in names if name and number is not None}


def _number(raw: Any) -> int | None:
    number = raw.get("id") if isinstance(raw, dict) else None
    return number if isinstance(number, int) and number > 0 else None


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""


def _inner(raw: Any, name: str) -> str:
    value = raw.get(name) if isinstance(raw, dict) else None
    return _text(value, "raw") if isinstance(value, dict) else ""
