"""A small blog's intact archive, the service it was made from, and processes whose file access is traced."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.demo.content import Blog
from exporter.worker import Worker
from tests.evidence.conftest import make_key
from tests.hostile.building import edited, small_blog
from tests.hostile.commands import ONLINE
from tests.move.home import Home, running_home
from tests.support.demo_service import DemoService
from tests.support.runs import Runs, Zygote
from tests.support.styled_blog import StyledBlog, styled_blog
from tests.support.workers import call_here
from tests.wordpress.fake import LOGIN, in_thread


@pytest.fixture(autouse=True)
def _workers_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no process for the pictures of each site; tests of the workers have the real ones."""
    monkeypatch.setattr(Worker, "submit", call_here)


RENAMED = "renamed.blog.example.jp"


@dataclass(frozen=True)
class Whole:
    """An intact, sealed archive; tests must not change it.

    Attributes:
        root: the archive.
        blog: its blog, which the service also has under the ID ``RENAMED``.
        service: the blog's service.
        pages: the blog's public pages.
        runs: starts the processes.
        home: a WordPress to move to.
        key: the SSH key that sealed the archive.
    """

    root: Path
    blog: Blog
    service: DemoService
    pages: StyledBlog
    runs: Runs
    home: Home
    key: Path

    def backup(self, root: Path) -> tuple[object, ...]:
        """Return the command that backs up the blog."""
        return (
            "backup", self.blog.blog_id, "--base-url", self.service.base_url, "--archive", root,
            "--allow-private-network", "--retries", 1,
        )  # fmt: skip

    def capture(self, root: Path) -> tuple[object, ...]:
        """Return the command that captures the blog's public pages."""
        options = "--home-url", self.pages.origin, "--rate", 1000, "--retries", 1, "--allow-private-network"
        return "capture", root, *options

    def rename(self, root: Path) -> tuple[object, ...]:
        """Return the command that continues the archive under the blog's second ID."""
        return "rename", root, RENAMED, "--base-url", self.service.base_url

    def online(self, command: tuple[str, ...], root: Path) -> tuple[object, ...]:
        """Return the whole command for one of ``ONLINE``, and nothing for another."""
        made = {"backup": self.backup, "capture": self.capture, "rename": self.rename}.get(command[0])
        return made(root) if made and command in ONLINE else ()

    @property
    def picture(self) -> str:
        """The address of a picture of the blog."""
        return next(iter(self.blog.pictures))


@pytest.fixture(scope="session")
def whole(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    folder = tmp_path_factory.mktemp("hostile")
    root = folder / "archive"
    blog = small_blog("")
    pages = styled_blog(1)
    with (
        DemoService(blog).run_in_thread() as service,
        pages.serving_in_thread(),
        Runs(folder, zygote) as runs,
        in_thread(running_home()) as home,
    ):
        made = small_blog(service.base_url)
        blog.entries, blog.pictures = made.entries, made.pictures
        service.blogs[RENAMED] = blog
        found = Whole(root, blog, service, pages, runs, home, make_key(folder / "key"))
        for _ in range(2):
            done = runs.run(*found.backup(root))
            assert done.code in {0, 3}, done.err
            edited(blog)
        sealing = "seal", root, "--seal-key", found.key
        for command in (sealing, ("verify", root), ("log", root), ("search", root, "海")):
            done = runs.run(*command)
            assert done.code in {0, 3}, done.err
        yield found


@pytest.fixture
def new_home(whole: Whole, tmp_path: Path) -> tuple[str, ...]:
    """Return the options that name an empty WordPress and its login."""
    home, token = whole.home, tmp_path / "token"
    for records in (home.rest_posts, home.rest_comments, home.media, home.terms, home.files):
        records.clear()
    token.write_text(LOGIN[1])
    token.chmod(0o600)
    return "--to", home.url, "--new-home-user", LOGIN[0], "--new-home-token-file", str(token)


@pytest.fixture
def archive(whole: Whole, tmp_path: Path) -> Path:
    """A copy of the intact archive."""
    root = tmp_path / "archive"
    shutil.copytree(whole.root, root)
    return root
