"""A blog with its service, its public pages, its export file, its archive and its new home, for two features to meet in.

The blog has public posts, a private one with a picture, and a comment that its owner has hidden. What every reader may
rely on is checked in :meth:`World.look`, whatever happened before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.demo.content import Blog, RecordList
from exporter.model.kinds import Kind
from exporter.service.registry import service_of
from exporter.settings import Settings
from tests.cli.conftest import Program, Result
from tests.library.test_forget import places_with
from tests.move.home import Home, running_home
from tests.support.blog_sources import Content, MovableType, Said, Written
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.public_blog import JST, BlogPost, PublicBlog
from tests.support.public_blog import serving as pages_served
from tests.support.records import comment_record, entry_record
from tests.wordpress.fake import in_thread

OLD, NEW = "old.blog.example.jp", "new.blog.example.jp"
FLAGS: Final = ("--public-open-flg", "1", "--visible-delete-flg", "f")
PRIVATE, HIDDEN_COMMENT = 3, 41
"""The post that is private from the beginning, and the number of the hidden comment, which is on post 4."""
FORGOTTEN_POST, FORGOTTEN_COMMENT = 6, 20
TURNS_PRIVATE = 2
TOKEN: Final = "s3cret-of-the-service"


FOOTER: Final = "<p>ブログランキングに参加しています。応援のクリックをどうぞよろしくお願いいたします。</p>"
"""Every post ends with it, so no page is one of a forgotten post because of it."""


class World(ABC):
    """One blog and everything around it, below ``folder``; see the module's docstring.

    Attributes:
        content: the blog now; :meth:`publish` lets the servers show it.
        root: its archive, in the place that a fleet gives it.
        home: a new WordPress.
        forgotten: whether the post and the comment were forgotten.
        token: whether the service requires a token.
        copies: the folders that sync fills.
    """

    hides_comments = True

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder, self.program = folder, program
        self.content = Content.made(7)
        self.content.change(PRIVATE, hidden=True)
        for number, post in self.content.posts.items():
            self.content.change(number, text=post.text + FOOTER)
        self.pages = PublicBlog("livedoor", {}, dead_every=0)
        self.forgotten = self.token = False
        self.copies: list[Path] = []
        self._outputs = 0
        self._added = 0

    @property
    @abstractmethod
    def root(self) -> Path:
        """The archive."""

    @abstractmethod
    def rename(self) -> None:
        """Let the blog get a new name or address, and tell the archive."""

    @property
    @abstractmethod
    def listed(self) -> str:
        """The blog's line in a fleet's list."""

    def run_fleet(self, setting: str = "", *more: object) -> None:
        """Run a fleet of this blog alone."""
        path = self.folder / "blogs.txt"
        path.write_text(f"{self.listed} {setting}\n", "utf-8")
        given = ("--allow-private-network", "--rate", 10_000, "--retries", 0, *more)
        self.run("fleet", "run", path, "--into", self.folder / "fleet", "--again-after", "0s", *given)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Serve the blog and its new home, and make the archive."""
        with ExitStack() as opened:
            self.origin = opened.enter_context(in_thread(pages_served(self.pages)))
            self.home: Home = opened.enter_context(in_thread(running_home()))
            self._serve(opened)
            post = self.content.posts[PRIVATE]
            picture = f'<img src="{self.origin}/img/77.png">'
            self.content.change(PRIVATE, text=post.text + picture)
            self.publish()
            self.backup()
            yield

    @abstractmethod
    def _serve(self, opened: ExitStack) -> None:
        """Serve what only this kind of blog has."""

    def publish(self) -> None:
        """Let the public pages show the present content."""
        self.pages.posts = {
            1000 + post.number: BlogPost(
                1000 + post.number, post.title, post.text, post.date,
                comments=[(each.name, each.text) for each in post.comments if not self.is_hidden(each)],
            )
            for post in self.content.posts.values()
            if not post.hidden
        }  # fmt: skip

    @abstractmethod
    def backup(self, *more: object, root: Path | None = None, code: int = 0) -> Result:
        """Run a backup of the present content."""

    def run(self, *arguments: object, code: int | tuple[int, ...] = 0) -> Result:
        """Run a command that must end with this exit code."""
        done = self.program(*arguments)
        assert done.code in (code if isinstance(code, tuple) else (code,)), (arguments, done)
        return done

    def output(self, name: str) -> Path:
        """Return a new path below the folder."""
        self._outputs += 1
        return self.folder / f"{name}-{self._outputs}"

    def write_a_post(self) -> None:
        """Let the owner write a new post."""
        self._added += 1
        number = 100 + self._added
        date = datetime(2021, 1, 1, 8, 0, 5, tzinfo=JST) + timedelta(days=self._added)
        text = f"<p>{number}回目の新しい記事です。駅前の店で昼ごはんを食べました。</p>"
        self.content.posts[number] = Written(number, f"第{number}話 町へ行く", text, date)
        self.publish()

    def edit_a_post(self) -> None:
        """Let the owner add a sentence to a post."""
        self.content.change(1, text=self.content.posts[1].text + "<p>追記があります。</p>")
        self.publish()

    @property
    def kept(self) -> list[Written]:
        """The posts that must be in the archive."""
        posts = (post for post in self.content.posts.values() if not (self.forgotten and post.number == FORGOTTEN_POST))
        return [
            replace(
                post,
                comments=tuple(
                    each for each in post.comments if not (self.forgotten and each.number == FORGOTTEN_COMMENT)
                ),
            )
            for post in posts
        ]

    @property
    def forgotten_words(self) -> list[str]:
        """The words that must be nowhere, once their records were forgotten."""
        if not self.forgotten:
            return []
        post = self.content.posts[FORGOTTEN_POST]
        said = self.content.posts[FORGOTTEN_COMMENT // 10].comments[0]
        return [post.title, post.text.removeprefix("<p>")[:20], post.comments[0].text, said.text]

    def secret_words(self) -> list[str]:
        """The words of private posts and of the hidden comment."""
        hidden = [post for post in self.content.posts.values() if post.hidden]
        said = [each.text for post in self.content.posts.values() for each in post.comments if self.is_hidden(each)]
        return [*(post.title for post in hidden), *(post.text.removeprefix("<p>")[:12] for post in hidden), *said]

    def is_hidden(self, comment: Said) -> bool:
        """Return whether the owner has hidden a comment."""
        return self.hides_comments and comment.number == HIDDEN_COMMENT

    def is_public_output(self, folder: Path) -> None:
        """Check an output for strangers: every public post is in it, and nothing else."""
        for post in self.kept:
            assert bool(places_with([folder], post.title)) is not post.hidden, (folder, post)
        assert places_with([folder], *self.secret_words(), *self.forgotten_words, "img/77.png", TOKEN) == []

    def is_unknown_title(self, path: str) -> bool:
        """Return whether a capture may hold the title of the forgotten post, of which no address is known."""
        return False

    def settings(self) -> Settings:
        return Settings()

    def look(self) -> None:
        """Check what must be true after anything: all is saved, nothing is damaged, nothing comes back."""
        self.run("verify", self.root, "-q")
        self.run("status", self.root)
        archive = Archive.open(self.root)
        service = service_of(self.settings(), archive.info.service)
        items = dict(archive.records(Kind.ENTRY_LIST))
        posts = [service.post(raw, items.get(key)) for key, raw in archive.records(Kind.ENTRIES)]
        comments = [service.comment(raw).text for _, raw in archive.records(Kind.COMMENTS)]
        titles = sorted(post.title for post in posts), sorted(post.title for post in self.kept)
        assert titles[0] == titles[1], titles
        bodies = {post.title: post.body for post in posts}
        for post in self.kept:
            assert "追記" not in post.text or "追記" in bodies[post.title], post
        said = sorted(comments), sorted(each.text for post in self.kept for each in post.comments)
        assert said[0] == said[1], said
        folders = [self.root, self.folder / "config", self.folder / "data", self.folder / "cache"]
        found = places_with(folders, *self.forgotten_words)
        assert [path for path in found if not self.is_unknown_title(path)] == [], found
        assert places_with([self.folder], TOKEN) == []
        assert self.pages.authorised == []


class ServiceWorld(World):
    """A blog that is read by its service's API, for its owner."""

    blog_id = OLD

    @property
    def root(self) -> Path:
        return archive_place(self.folder / "fleet", OLD)

    def _serve(self, opened: ExitStack) -> None:
        self.blog = generated_blog(0, blog_id=OLD)
        self.service = opened.enter_context(DemoService(self.blog).run_in_thread())

    @property
    def options(self) -> tuple[object, ...]:
        """The options of a backup."""
        return (
            "--base-url", self.service.base_url, "--home-url", f"{self.origin}/", "--entry-url",
            f"{self.origin}/archives/{{entry_id}}.html", "--allow-private-network", "--rate", 10_000, "--retries", 0,
        )  # fmt: skip

    def publish(self) -> None:
        super().publish()
        _fill(self.service.blogs[self.blog_id], self.content)

    @property
    def listed(self) -> str:
        return OLD

    def run_fleet(self, setting: str = "", *more: object) -> None:
        """Run a fleet of this blog alone; its token belongs to the address on the command line."""
        super().run_fleet(setting, *self.options[:2], *more)

    def rename(self) -> None:
        if self.blog_id == OLD:
            blog = self.service.blogs.pop(OLD)
            blog.blog_id = self.blog_id = NEW
            self.service.blogs[NEW] = blog
            self.publish()
        self.run("rename", self.root, NEW)

    def backup(self, *more: object, root: Path | None = None, code: int = 0) -> Result:
        place = root or self.root
        source = (place,) if place.exists() else (self.blog_id, "--archive", place)
        return self.run("backup", *source, *self.options, "-q", *more, code=code)


class AddressWorld(World):
    """A blog that is read from its export file, and from its public address."""

    hides_comments = joined = False

    @property
    def root(self) -> Path:
        return archive_place(self.folder / "fleet", "blog")

    def _serve(self, opened: ExitStack) -> None:
        self.file = self.folder / "blog.export"
        self._later = PublicBlog("livedoor", {}, dead_every=0)
        self._later_origin = opened.enter_context(in_thread(pages_served(self._later)))

    @property
    def listed(self) -> str:
        return f"blog service=public-site page_rules=livedoor base_url={self.origin}"

    def rename(self) -> None:
        self.read_address()
        if self.origin != self._later_origin:
            old, self.pages, self.origin = self.pages, self._later, self._later_origin
            old.posts = {}
            self.publish()
        self.read_address()

    options: tuple[object, ...] = ("--allow-private-network", "--rate", 10_000, "--retries", 0)

    def backup(self, *more: object, root: Path | None = None, code: int = 0) -> Result:
        self.file.write_text(MovableType().text(self.content), "utf-8")
        extra = ("--home-url", f"{self.origin}/")
        return self.run(
            "backup", self.file, "--archive", root or self.root, *self.options, *extra, "-q", *more, code=code
        )

    def is_unknown_title(self, path: str) -> bool:
        _, *words = self.forgotten_words
        return "/captures/" in path and places_with([Path(path).parent], *words) == []

    def read_address(self, *more: object, code: int | tuple[int, ...] = 0) -> Result:
        """Read the public pages into the archive."""
        self.joined = True
        given = ("--service", "public-site", "--page-rules", "livedoor")
        return self.run("backup", f"{self.origin}/", "--archive", self.root, *given, *self.options, *more, code=code)


def _fill(blog: Blog, content: Content) -> None:
    user_id = str(blog.user["id"]) if isinstance(blog.user, dict) else ""
    blog.entries = {
        1000 + post.number: entry_record(
            blog.blog_id, 1000 + post.number, post.title, post.text, post.date.replace(tzinfo=None), user_id=user_id,
            private=post.hidden,
        )
        for post in content.posts.values()
    }  # fmt: skip
    blog.comments = RecordList(
        comment_record(
            each.number, 1000 + post.number, each.name, each.text, post.date.replace(tzinfo=None),
            flagged=each.number == HIDDEN_COMMENT,
        )
        for post in content.posts.values()
        for each in post.comments
    )  # fmt: skip
