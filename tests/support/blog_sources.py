"""One blog that several sources give: its service's answers, its export files and its pages, made from one content."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import exporter
from exporter.demo.content import Blog, RecordList
from exporter.library.backup import Backup
from exporter.settings import Settings, resolve
from exporter.source.export_files import find_export_files
from tests.service.wordpress_server import WordPress
from tests.service.wordpress_server import served as wordpress_served
from tests.service.wxr_samples import channel, item
from tests.service.wxr_samples import comment as wxr_comment
from tests.support.atompub_server import API_KEY, JST, USER, AtomPubBlog, Entry
from tests.support.atompub_server import served as atompub_served
from tests.support.demo_service import DemoService
from tests.support.export_texts import MadeComment, MadeEntry
from tests.support.generated import generated_blog
from tests.support.public_blog import BlogPost, PublicBlog, serving
from tests.support.records import comment_record, entry_record

BLOG_ID: Final = "sample.example"
_FAST: Final = {"rate": "10000", "concurrency": "8", "retries": "1", "markdown": "no", "allow_private_network": "yes"}


@dataclass(frozen=True)
class Said:
    """A comment."""

    number: int
    name: str
    text: str


@dataclass(frozen=True)
class Written:
    """A post; nobody but its writer may see it if it is ``hidden``."""

    number: int
    title: str
    text: str
    date: datetime
    comments: tuple[Said, ...] = ()
    hidden: bool = False
    password: str = ""


@dataclass
class Content:
    """The blog's content now."""

    posts: dict[int, Written] = field(default_factory=dict)

    @classmethod
    def made(cls, count: int = 8) -> Content:
        """Return posts with titles and texts of their own; every second one has two comments."""
        found = cls()
        for number in range(1, count + 1):
            date = datetime(2020, 1, 1, 12, 30, 15, tzinfo=JST) + timedelta(days=number)
            said = (
                Said(number * 10, f"読者{number}", f"これは{number}番目の記事への、かなり長めの感想です。"),
                Said(number * 10 + 1, f"友人{number}", f"また{number}回来ます"),
            )
            text = f"<p>{number}日目の本文です。散歩に出かけて、海を見ながら昼ごはんを食べ、夕方に帰ってきました。</p>"
            found.posts[number] = Written(number, f"第{number}話 海へ行く", text, date, said if number % 2 == 0 else ())
        return found

    def change(self, number: int, **fields: Any) -> None:
        """Change a post."""
        self.posts[number] = replace(self.posts[number], **fields)

    @property
    def newest_first(self) -> list[Written]:
        """The posts by date."""
        return sorted(self.posts.values(), key=lambda post: post.date, reverse=True)


class Source(ABC):
    """A way to read the blog."""

    name: str
    has_comments = True
    is_file = False
    states_hidden = True
    """Whether its reader also gets hidden posts."""

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[None]:
        """Serve the blog, or make room for its file."""
        yield

    @abstractmethod
    def settings(self, **more: Any) -> Settings:
        """Return the settings for a backup."""

    @abstractmethod
    async def read(self, root: Path, content: Content, **more: Any) -> Backup:
        """Back up the blog."""


async def finished(root: Path, wanted: Settings, blog_id: str = BLOG_ID, file: Path | None = None) -> Backup:
    """Back up into an archive."""
    files = None if file is None else find_export_files(file)
    async with exporter.open_service(blog_id, wanted, files=files) as opened:
        made = exporter.backup(root, opened, wanted)
        async for _ in made:
            pass
        return made


class _File(Source):
    is_file = True

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[None]:
        self._path = folder / f"{self.name}.export"
        yield

    def settings(self, **more: Any) -> Settings:
        return resolve({"service": self.name, "assets": "none", **_FAST, **more}, environ={})

    @abstractmethod
    def text(self, content: Content) -> str: ...

    async def read(self, root: Path, content: Content, **more: Any) -> Backup:
        self._path.write_text(self.text(content), "utf-8")
        return await finished(root, self.settings(**more), file=self._path)


class MovableType(_File):
    """An export file in Movable Type's format."""

    name = "movable-type"

    def text(self, content: Content) -> str:
        made = [
            MadeEntry(
                post.number, post.title, post.date, post.text, status="Draft" if post.hidden else "Publish",
                comments=tuple(
                    MadeComment(said.name, post.date + timedelta(hours=1 + at), said.text)
                    for at, said in enumerate(post.comments)
                ),
            ).text().replace(f"BASENAME: post_{post.number}\n", "")
            for post in content.newest_first
        ]  # fmt: skip
        return "".join(made)


class Wxr(_File):
    """WordPress' export file."""

    name = "wxr"

    def text(self, content: Content) -> str:
        def gmt(date: datetime) -> str:
            return f"{date.astimezone(UTC):%Y-%m-%d %H:%M:%S}"

        made = []
        for post in content.newest_first:
            date = post.date
            said = "".join(
                wxr_comment(
                    each.number, each.text, comment_author=each.name,
                    comment_date=f"{date + timedelta(hours=1 + at):%Y-%m-%d %H:%M:%S}",
                    comment_date_gmt=gmt(date + timedelta(hours=1 + at)),
                )
                for at, each in enumerate(post.comments)
            )  # fmt: skip
            made.append(
                item(
                    post.number, post.text, title=post.title, link=f"https://{BLOG_ID}/?p={post.number}", extra=said,
                    post_date=f"{date:%Y-%m-%d %H:%M:%S}", post_date_gmt=gmt(date),
                    status="private" if post.hidden else "publish",
                )
            )  # fmt: skip
        return channel(*made)


class WordPressApi(Source):
    """WordPress' REST API, without a sign-in."""

    name = "wordpress"
    states_hidden = False

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[None]:
        self._blog = WordPress(categories={1: {"name": "日記", "parent": 0}})
        async with wordpress_served(self._blog):
            yield

    def settings(self, **more: Any) -> Settings:
        given = {"service": self.name, "base_url": self._blog.url, "assets": "none", **_FAST, **more}
        return resolve(given, environ={})

    async def read(self, root: Path, content: Content, **more: Any) -> Backup:
        blog = self._blog
        blog.posts.clear()
        blog.comments.clear()
        for post in content.posts.values():
            blog.add_post(
                post.number, title=post.title, raw=post.text, date=f"{post.date:%Y-%m-%dT%H:%M:%S}",
                date_gmt=f"{post.date.astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
                status="private" if post.hidden else "publish", password=post.password,
            )  # fmt: skip
            for each in post.comments:
                blog.add_comment(each.number, post.number, name=each.name, text=each.text)
        return await finished(root, self.settings(**more))


class AtomPubApi(Source):
    """AtomPub with the owner's key, which gives no comments."""

    name = "atompub"
    has_comments = False

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[None]:
        async with atompub_served(AtomPubBlog(blog_id=BLOG_ID, has_pages=False)) as self._blog:
            yield

    def settings(self, **more: Any) -> Settings:
        given = {"profile": "hatena", "base_url": self._blog.origin, "auth": "basic", "user": USER, "assets": "none"}
        return resolve({**given, **_FAST, **more}, blog_id=self._blog.blog_id, environ={"BLOG_EXPORTER_TOKEN": API_KEY})

    async def read(self, root: Path, content: Content, **more: Any) -> Backup:
        self._blog.entries = [
            Entry(
                str(3000000000000000000 + post.number), post.title, post.date, post.text, published=post.date,
                edited=post.date, draft=post.hidden,
            )
            for post in reversed(content.newest_first)
        ]  # fmt: skip
        return await finished(root, self.settings(**more))


class Pages(Source):
    """The blog's public pages."""

    name = "public-site"
    states_hidden = False

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[None]:
        self._blog = PublicBlog("livedoor", {}, dead_every=0)
        async with serving(self._blog):
            yield

    def settings(self, **more: Any) -> Settings:
        given = {"service": self.name, "base_url": self._blog.origin, "page_rules": "livedoor", "assets": "none"}
        return resolve({**given, **_FAST, **more}, environ={})

    async def read(self, root: Path, content: Content, **more: Any) -> Backup:
        self._blog.posts = {
            1000 + post.number: BlogPost(
                1000 + post.number, post.title, post.text, post.date,
                comments=[(each.name, each.text) for each in post.comments],
            )
            for post in content.posts.values()
            if not post.hidden
        }  # fmt: skip
        return await finished(root, self.settings(**more))


class Api(Source):
    """The blog's own JSON API, for its owner."""

    name = "blog-v1"

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[None]:
        self._blog = generated_blog(0)
        with DemoService(self._blog).run_in_thread() as self._service:
            yield

    def settings(self, **more: Any) -> Settings:
        declared = {"public_open_flg": "1", "visible_delete_flg": "f", "assets": "none"}
        return resolve({"base_url": self._service.base_url, **declared, **_FAST, **more}, environ={})

    async def read(self, root: Path, content: Content, **more: Any) -> Backup:
        _fill(self._blog, content)
        return await finished(root, self.settings(**more), next(iter(self._service.blogs)))


def _fill(blog: Blog, content: Content) -> None:
    """Let a blog of the demo service have this content."""
    user_id = str(blog.user["id"]) if isinstance(blog.user, dict) else ""
    blog.entries = {
        post.number: entry_record(
            blog.blog_id, post.number, post.title, post.text, post.date.replace(tzinfo=None), user_id=user_id,
            private=post.hidden,
        )
        for post in content.posts.values()
    }  # fmt: skip
    blog.comments = RecordList(
        comment_record(each.number, post.number, each.name, each.text, post.date.replace(tzinfo=None))
        for post in content.posts.values()
        for each in post.comments
    )


SOURCES: Final[Mapping[str, type[Source]]] = {
    each.name: each for each in (MovableType, Wxr, WordPressApi, AtomPubApi, Pages, Api)
}
