"""A blog service whose raw records are the neutral ones as JSON, and a blog that uses every member of them.

No request is made: archives are built from the records. :func:`registered` adds the service to the known ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo
from exporter.archive.writer import create
from exporter.model.kinds import Kind, key_of
from exporter.model.records import (
    Audience,
    Category,
    Comment,
    CommentKind,
    CommentStatus,
    Post,
    PostKind,
    Raw,
    Upload,
    User,
)
from exporter.service.declarations import DECLARATIONS, Declaration
from exporter.service.interface import Call, EntryAnswer, Paginator, Validators
from exporter.service.stated import StatedService
from tests.archive.builder import CREATED, Built, Changes

BLOG: Final = "blog.example.com"


class WideService(StatedService):
    """Reads a nested JSON object; members that are missing or have a wrong type count as empty."""

    name = "wide-test"
    timezone = ZoneInfo("Asia/Tokyo")

    def pages(self, kind: Kind, blog_id: str, entry_ids: Sequence[str]) -> Paginator:
        """Fail: nothing is requested."""
        raise AssertionError(f"{kind} of {blog_id} and {len(entry_ids)} entries were requested")

    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Fail: nothing is requested."""
        raise AssertionError(f"{entry_id} of {blog_id} was requested, with {validators}")

    def user_call(self) -> Call[dict[str, Any]]:
        """Fail: nothing is requested."""
        raise AssertionError("the user was requested")

    def amount(self, kind: Kind, raw: Raw) -> int | None:
        """Return the number of comments of an entry, or the size of a file."""
        value = raw.get("bytes" if kind is Kind.FILES else "comments")
        return value if type(value) is int else None

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return the title or the name."""
        if kind in (Kind.ENTRIES, Kind.ENTRY_LIST):
            return _text(_object(raw, "content"), "title") or _text(raw, "title")
        return _text(_object(raw, "author"), "name") or _text(raw, "title") or _text(raw, "name")

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Read an entry; its list item has a title and a date."""
        if raw is None:
            found = item or {}
            return Post(
                key_of(found.get("id")) or "", title=_text(found, "title"), date=self._date(found, "date"), item=item
            )
        content = _object(raw, "content")
        categories = tuple(
            Category(_text(each, "name"), tuple(_texts(each, "parents")), _text(each, "slug"))
            for each in _objects(raw, "categories")
        )
        audience = raw.get("status")
        known = Audience(audience) if isinstance(audience, str) and audience in set(Audience) else None
        return Post(
            id=key_of(raw.get("id")) or "",
            title=_text(content, "title"),
            slug=_text(raw, "slug"),
            body=_text(content, "body"),
            more=_text(content, "more"),
            excerpt=_text(content, "excerpt"),
            date=self._date(raw, "date"),
            updated=self._date(raw, "updated"),
            category=categories[0].name if categories else None,
            categories=categories,
            tags=tuple(_texts(raw, "tags")),
            author=_text(_object(raw, "author"), "name"),
            permalink=_text(raw, "link"),
            kind=PostKind.PAGE if raw.get("kind") == "page" else PostKind.POST,
            audience=known,
            featured=_text(raw, "featured"),
            sources=tuple(_texts(raw, "sources")),
            private=known is Audience.PRIVATE,
            access=_text(raw, "status"),
            comments_open=raw.get("comments_open") is True,
            raw=raw,
            item=item,
        )

    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""
        author, status, kind = _object(raw, "author"), raw.get("status"), raw.get("kind")
        return Comment(
            id=key_of(raw.get("id")) or "",
            post_id=self.post_id(raw),
            date=self._date(raw, "date"),
            has_time=True,
            name=_text(author, "name"),
            title=_text(raw, "title"),
            text=_text(raw, "text"),
            url=_text(author, "url"),
            deleted=None,
            facts={},
            reply=None,
            raw=raw,
            parent=key_of(raw.get("parent")) or "",
            email=_text(author, "email"),
            status=CommentStatus(status) if isinstance(status, str) and status in set(CommentStatus) else None,
            kind=CommentKind(kind) if isinstance(kind, str) and kind in set(CommentKind) else CommentKind.COMMENT,
            by_owner=author.get("owner") is True,
        )

    def post_id(self, raw: Raw) -> str:
        """Return the entry's id."""
        return key_of(raw.get("post")) or ""

    def upload(self, raw: Raw) -> Upload:
        """Read a file."""
        name = _text(raw, "name")
        return Upload(
            id=key_of(raw.get("id")) or "", name=name, title=_text(raw, "title") or None, description=None,
            bytes=self.amount(Kind.FILES, raw), width=None, height=None, modified=None,
            extension=name.rpartition(".")[2], raw=raw, url=_text(raw, "url"), alt=_text(raw, "alt"),
        )  # fmt: skip

    def user(self, raw: Raw) -> User:
        """Read the user."""
        return User(key_of(raw.get("id")) or "", _text(raw, "name"), raw)

    def _date(self, raw: Raw, name: str) -> datetime | None:
        try:
            found = datetime.fromisoformat(_text(raw, name))
        except ValueError:
            return None
        return found.replace(tzinfo=self.timezone) if found.tzinfo is None else found.astimezone(self.timezone)


def _text(raw: Raw, name: str) -> str:
    value = raw.get(name)
    return str(value) if isinstance(value, str) else ""


def _object(raw: Raw, name: str) -> Raw:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _objects(raw: Raw, name: str) -> list[Raw]:
    value = raw.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(raw: Raw, name: str) -> list[str]:
    value = raw.get(name)
    return [str(each) for each in value if isinstance(each, str)] if isinstance(value, list) else []


@contextmanager
def registered() -> Iterator[None]:
    """Make the service known for as long as the context lasts."""
    before = dict(DECLARATIONS)
    DECLARATIONS[WideService.name] = Declaration(
        WideService.name, __name__, WideService.__name__, defaults={"timezone": "Asia/Tokyo"}
    )
    try:
        yield
    finally:
        DECLARATIONS.clear()
        DECLARATIONS.update(before)


def post(entry_id: str, title: str, body: str = "", **members: Any) -> dict[str, Any]:
    """Return an entry. Categories are names or paths such as ``("旅行", "京都")``."""
    paths = [(each,) if isinstance(each, str) else tuple(each) for each in members.pop("categories", ())]
    return {
        "id": entry_id,
        "content": {
            "title": title,
            "body": body or f"<p>{title}の本文。</p>",
            "more": members.pop("more", ""),
            "excerpt": members.pop("excerpt", ""),
        },
        "date": "2024-05-01T12:00:00",
        "status": "public",
        "kind": "post",
        "author": {"name": members.pop("author", "")},
        "categories": [{"name": path[-1], "parents": list(path[:-1])} for path in paths],
        "tags": list(members.pop("tags", ())),
        **members,
    }


def comment(comment_id: str, post_id: str, name: str, text: str, **members: Any) -> dict[str, Any]:
    """Return a comment; ``owner``, ``url`` and ``email`` are about its writer."""
    author: dict[str, Any] = {
        "name": name,
        **{key: members.pop(key) for key in ("owner", "url", "email") if key in members},
    }
    return {
        "id": comment_id,
        "post": post_id,
        "author": author,
        "text": text,
        "date": "2024-05-02T09:30:00",
        "status": "shown",
        "kind": "comment",
        **members,
    }


def changes(
    posts: Sequence[Mapping[str, Any]],
    comments: Sequence[Mapping[str, Any]] = (),
    files: Sequence[Mapping[str, Any]] = (),
) -> Changes:
    """Return the records as a version holds them, with a list item for each entry."""
    items = [
        {"id": each["id"], "title": each["content"]["title"], "date": each.get("date"), "comments": 0} for each in posts
    ]
    kinds = {Kind.ENTRIES: posts, Kind.ENTRY_LIST: items, Kind.COMMENTS: comments, Kind.FILES: files}
    return {
        kind: {
            str(each["id"]): json.dumps(each, ensure_ascii=False).encode("utf-8", "backslashreplace") for each in some
        }
        for kind, some in kinds.items()
    }


def archive(root: Path, first: Changes, *later: Changes) -> Built:
    """Build an archive of this service with a version for each of the changes."""
    built = Built.__new__(Built)
    built.root, built.layout, built.states, built.blog_id = root, Layout(root), [], BLOG
    create(built.layout, ArchiveInfo(BLOG, CREATED, service=WideService.name))
    for each in (first, *later):
        built.commit(each)
    return built


def everyday_blog(root: Path) -> Built:
    """Build an archive of a small blog with everything that the records can hold, in two versions."""
    thread = [
        comment(
            "c-1",
            "p-1",
            "みどり",
            "<p>きれいですね。</p>",
            url="https://midori.example/",
            email="midori@secret.example",
        )
    ]
    thread += [
        comment("c-2", "p-1", "筆者", "ありがとうございます。", parent="c-1", owner=True, date="2024-05-02T10:15:00"),
        comment("c-3", "p-1", "kazu", "How long did it take?", date="2024-05-03T08:00:00"),
        comment("c-4", "p-1", "筆者", "Two days.", parent="c-3", owner=True, date="2024-05-03T09:00:00"),
        comment("c-5", "p-1", "みどり", "また行きたい。", parent="c-2", date="2024-05-04T09:00:00"),
        comment("c-6", "p-1", "買って", "cheap watches", status="spam", date="2024-05-05T09:00:00"),
        comment("c-7", "p-1", "通りすがり", "承認されますか？", status="pending", date="2024-05-05T10:00:00"),
        comment("c-8", "p-1", "名無し", "（非表示）", status="hidden", date="2024-05-05T11:00:00"),
        comment(
            "t-1",
            "p-1",
            "旅の記録",
            "この記事を紹介しました。",
            kind="trackback",
            url="https://trip.example/1",
            date="2024-05-06T09:00:00",
        ),
        comment(
            "t-2",
            "p-1",
            "Walks",
            "Linked here.",
            kind="pingback",
            url="https://walks.example/2",
            date="2024-05-07T09:00:00",
        ),
    ]
    link = f"https://{BLOG}"
    posts = [
        post(
            "p-1", "京都の二日間", f'<p>朝の鴨川。<a href="{link}/2024/05/tea.html">お茶の記事</a>も見てください。</p>',
            categories=[("旅行", "関西", "京都"), "写真"], tags=["春", "寺", "kyoto/2024"], author="みなと",
            link=f"{link}/2024/05/kyoto.html", excerpt="二日で歩いた寺と川の話。", featured=f"{link}/img/kyoto.jpg",
            updated="2024-05-08T20:00:00",
        ),
        post("p-2", "お茶のいれかた", categories=["料理"], tags=["春", "お茶"], author="さくら", date="2024-05-10T08:00:00", link=f"{link}/2024/05/tea.html"),
        post("p-3", "大阪の夜", categories=[("旅行", "関西", "大阪")], tags=["夜"], author="みなと", date="2024-06-01T21:00:00"),
        post("p-4", "書きかけ", status="draft", author="みなと", date="2024-06-02T21:00:00"),
        post("p-5", "友だちへ", status="members", author="さくら", date="2024-06-03T21:00:00", tags=["春"]),
        post("p-6", "合言葉の記事", status="password", author="みなと", date="2024-06-04T21:00:00"),
        post("p-7", "来年の予告", status="scheduled", author="みなと", date="2031-01-01T00:00:00"),
        post("p-8", "日記（自分用）", status="private", author="みなと", date="2024-06-05T21:00:00"),
        post("p-9", "English entry", "<p>An entry in English about the tide.</p>", categories=["Notes"], tags=["tide"], author="Sakura", date="2023-02-03T04:05:06"),
        post("page-1", "このブログについて", kind="page", author="みなと", date="2023-01-01T00:00:00", link=f"{link}/about"),
        post("page-2", "Contact", kind="page", author="みなと", date="2023-01-02T00:00:00", status="draft"),
    ]  # fmt: skip
    files = [
        {
            "id": "f-1",
            "name": "kyoto.jpg",
            "title": "京都",
            "url": f"{link}/img/kyoto.jpg",
            "alt": "鴨川の朝",
            "bytes": 1234,
        }
    ]
    edited = post(
        "p-2", "お茶のいれかた（改）", categories=["料理", ("旅行", "関西", "京都")], tags=["お茶", "湯"], author="さくら",
        date="2024-05-10T08:00:00", status="private", link=f"{link}/2024/05/tea.html",
    )  # fmt: skip
    approved = {**thread[6], "status": "shown"}
    return archive(root, changes(posts, thread, files), changes([edited], [approved]))


def many(count: int, **members: Any) -> list[dict[str, Any]]:
    """Return entries on following days."""
    start = datetime(2020, 1, 1, 12, tzinfo=UTC)
    return [
        post(f"n-{at}", f"記事{at}", date=(start + timedelta(hours=at)).isoformat(), **members) for at in range(count)
    ]
