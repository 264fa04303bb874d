"""The features that meet: what each does to a blog's archive, and what it promises whatever happens before and after.

A new feature adds a class here; :data:`FEATURES` finds it, and every other feature then meets it in both orders.
"""

from __future__ import annotations

import shlex
import shutil
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Final

import pytest
from aiohttp import web

from exporter.archive.archive import Archive
from exporter.model.kinds import Kind
from exporter.service.registry import service_of
from tests.capture.running import answers
from tests.library.test_forget import places_with
from tests.meetings.world import (
    FLAGS,
    FORGOTTEN_COMMENT,
    FORGOTTEN_POST,
    NEW,
    OLD,
    TOKEN,
    TURNS_PRIVATE,
    AddressWorld,
    ServiceWorld,
    World,
)
from tests.serve.serving import served
from tests.support.ssh_signing import make_local_key
from tests.wordpress.fake import LOGIN

USER, PASSWORD = LOGIN


class Feature(ABC):
    """A feature that meets others."""

    name: ClassVar[str]
    commands: ClassVar[tuple[str, ...]] = ()
    """The commands of the program that it uses."""
    worlds: ClassVar[tuple[type[World], ...]] = (ServiceWorld, AddressWorld)

    def __init__(self, world: World) -> None:
        self.world = world

    @abstractmethod
    def act(self) -> None:
        """Use the feature once."""

    def look(self) -> None:
        """Check what the feature promises, after something else happened and a backup was made."""
        self.world.look()


class Backup(Feature):
    """A backup of a new post."""

    name = "backup"
    commands = ("backup",)

    def act(self) -> None:
        self.world.write_a_post()
        self.world.backup()


class Resume(Feature):
    """A backup that fails half way, a post that changes meanwhile, and the backup that continues."""

    name = "resume"

    def act(self) -> None:
        world = self.world
        world.write_a_post()
        if isinstance(world, AddressWorld):
            world.pages.overrides = {f"/archives/{number}.html": (503, "") for number in (1005, 1007)}
            world.read_address(code=(3, 20))
            world.pages.overrides = {}
            world.edit_a_post()
            world.read_address()
            return
        assert isinstance(world, ServiceWorld)
        read = 0

        async def fail(request: web.Request) -> web.StreamResponse | None:
            nonlocal read
            read += request.path.endswith("entry/get")
            return web.Response(status=503) if read > 3 else None

        world.service.before = fail
        world.backup("--give-up-after", "1s", code=20)
        world.service.before = None
        world.edit_a_post()
        world.backup()


class SecondSource(Feature):
    """The public address is read into the archive of the export file."""

    name = "second source"
    worlds = (AddressWorld,)

    def act(self) -> None:
        assert isinstance(self.world, AddressWorld)
        self.world.read_address()


class NewerFile(Feature):
    """A newer export file, in which a post is edited, is read into the archive."""

    name = "newer file"
    worlds = (AddressWorld,)

    def act(self) -> None:
        self.world.edit_a_post()
        self.world.backup()


class Unjoin(Feature):
    """The public address is taken out of the archive again."""

    name = "unjoin"
    commands = ("unjoin",)
    worlds = (AddressWorld,)

    def act(self) -> None:
        assert isinstance(self.world, AddressWorld)
        self.world.read_address()
        self.world.run("unjoin", self.world.root, "public-site")
        self.world.joined = False


class Rebuild(Feature):
    """Everything that is derived is lost and made again."""

    name = "rebuild"
    commands = ("rebuild",)

    def act(self) -> None:
        shutil.rmtree(self.world.root / "latest")
        shutil.rmtree(self.world.root / ".work")
        self.world.run("rebuild", self.world.root)


class Prune(Feature):
    """All versions but the newest are removed."""

    name = "prune"
    commands = ("prune",)

    def act(self) -> None:
        self.world.run("prune", self.world.root, "--keep-last", 1)


class Forget(Feature):
    """A post and a comment are removed for good, although the service still has them."""

    name = "forget"
    commands = ("forget",)

    def act(self) -> None:
        world = self.world
        archive = Archive.open(world.root)
        service = service_of(world.settings(), archive.info.service)
        post, said = world.content.posts[FORGOTTEN_POST], world.content.posts[FORGOTTEN_COMMENT // 10].comments[0]
        posts = [key for key, raw in archive.records(Kind.ENTRIES) if service.post(raw).title == post.title]
        comments = [key for key, raw in archive.records(Kind.COMMENTS) if service.comment(raw).text == said.text]
        assert bool(posts) is bool(comments) is not world.forgotten
        if posts:
            world.forgotten = True
            world.run("forget", world.root, "--entry", posts[0], "--comment", comments[0], "--yes")
        assert places_with([world.root], *world.forgotten_words) == []


class Rename(Feature):
    """The service gives the blog a new name, or the public pages get a new address."""

    name = "rename"
    commands = ("rename",)

    def act(self) -> None:
        self.world.rename()

    def look(self) -> None:
        """Each name means this archive, also without the options that it remembers."""
        world = self.world
        remembered = world.root / "settings.toml"
        aside = remembered.replace(world.folder / "settings.toml")
        world.backup()
        aside.replace(remembered)
        if isinstance(world, AddressWorld):
            world.read_address()
            return
        shown = [world.run("status", f"https://{name}/").out for name in (OLD, NEW)]
        assert shown[0] == shown[1]


class Seal(Feature):
    """The content is signed."""

    name = "seal"
    commands = ("seal",)

    def act(self) -> None:
        key = self.world.folder / "key"
        if not key.exists():
            make_local_key(key)
        self.world.run("seal", self.world.root, "--seal-key", key, "--rewritten")

    def look(self) -> None:
        self.act()
        self.world.run("verify", self.world.root, "--evidence", "--signers", self.world.folder / "key.pub", "-q")


class Capture(Feature):
    """The public pages are recorded as they look."""

    name = "capture"
    commands = ("capture",)

    def act(self) -> None:
        self.world.run(
            "capture", self.world.root, "--allow-private-network", "--rate", 10_000, "--retries", 0, "--home-url",
            f"{self.world.origin}/", code=(0, 3) if self.world.forgotten else 0,
        )  # fmt: skip

    def look(self) -> None:
        self.act()
        recorded = answers(self.world.root / "captures")
        shows_forgotten = FORGOTTEN_COMMENT // 10 if self.world.forgotten else 0
        for post in self.world.kept:
            if not post.hidden and post.number != shows_forgotten:
                assert self.world.pages.address(1000 + post.number) in recorded, post


class Sync(Feature):
    """The archive is copied, and restored from the copy."""

    name = "sync"
    commands = ("sync",)

    def act(self) -> None:
        copy = self.world.folder / "copy"
        if copy not in self.world.copies:
            self.world.copies.append(copy)
        self.world.run("sync", self.world.root, copy)

    def look(self) -> None:
        world = self.world
        world.run("sync", world.root, world.folder / "copy", "--prune")
        restored = world.output("restored")
        world.run("sync", world.folder / "copy", restored)
        world.run("verify", restored, "-q")
        before = Archive.open(restored).newest()
        world.backup(root=restored)
        assert Archive.open(restored).newest() == before, "the restored archive reads the same blog"
        assert places_with([restored, *world.copies], *world.forgotten_words) == []
        shutil.rmtree(restored)


class Fleet(Feature):
    """The blog is one of a fleet."""

    name = "fleet"
    commands = ("fleet",)

    def act(self) -> None:
        self.world.run_fleet()

    def look(self) -> None:
        self.act()
        fleet = self.world.folder / "fleet"
        assert [path.parent for path in fleet.glob("*/*/archive.json")] == [self.world.root]
        self.world.run("fleet", "status", fleet)


class Library(Feature):
    """The archive becomes a part of one site of several blogs."""

    name = "library"
    commands = ("library",)

    def act(self) -> None:
        self.made = self.world.output("library")
        self.world.run("library", "build", self.world.root, "--out", self.made, "--public-only", *FLAGS)

    def look(self) -> None:
        self.act()
        self.world.is_public_output(self.made)


class Export(Feature):
    """The public posts are exported for another service."""

    name = "export"
    commands = ("export",)

    def act(self) -> None:
        self.made = self.world.output("export")
        self.world.run("export", "wordpress", self.world.root, self.made, *FLAGS)

    def look(self) -> None:
        self.act()
        self.world.is_public_output(self.made)


class Site(Feature):
    """The offline site is made, and a copy to publish."""

    name = "site"
    commands = ("site",)

    def act(self) -> None:
        self.made = self.world.output("site")
        self.world.run("site", self.world.root)
        self.world.run("site", self.world.root, self.made, "--public-only", *FLAGS)

    def look(self) -> None:
        self.act()
        self.world.is_public_output(self.made)


class Move(Feature):
    """The blog is moved into a WordPress."""

    name = "move"
    commands = ("move",)

    def act(self) -> None:
        self.world.run(
            "move", "wordpress", self.world.root, "--to", self.world.home.url, "--new-home-user", USER, *FLAGS,
            "--only", "all", "--allow-private-network", code=(0, 3),
        )  # fmt: skip

    def look(self) -> None:
        self.act()
        public = {str(each["title"]) for each in self.world.home.rest_posts.values() if each["status"] == "publish"}
        assert not public & {post.title for post in self.world.content.posts.values() if post.hidden}
        assert {post.title for post in self.world.kept if not post.hidden} <= public
        approved = [
            each for each in self.world.home.rest_comments.values() if each["status"] in {"approved", "approve"}
        ]
        assert not places(approved, self.world.secret_words())


class Compare(Feature):
    """The archive is compared with the posts that were exported from it."""

    name = "compare"
    commands = ("compare",)

    def act(self) -> None:
        made = self.world.output("hugo")
        self.world.run("export", "hugo", self.world.root, made, *FLAGS)
        self.world.run("compare", self.world.root, made, *FLAGS, code=(0, 3))

    def look(self) -> None:
        self.act()


class Serve(Feature):
    """The site and its search are served on this machine."""

    name = "serve"
    commands = ("serve",)

    def act(self) -> None:
        with served(self.world.root) as server:
            assert server.get("latest/site/index.html").status == 200
            for post in self.world.kept:
                assert server.search(post.title)["found"], post
            for words in self.world.forgotten_words:
                found = server.search(words)
                assert (found["found"], found["past"]["found"]) == (0, 0), words

    def look(self) -> None:
        self.act()


class Read(Feature):
    """Every command that only reads the archive."""

    name = "read"
    commands = ("log", "diff", "show", "search", "files", "verify", "inspect", "status", "doctor")

    def act(self) -> None:
        world, root = self.world, self.world.root
        for words in (("log",), ("files",), ("verify",), ("inspect",), ("status",), ("doctor",)):
            world.run(*words, root)
        world.run("diff", root, code=0 if len(Archive.open(root).versions()) > 1 else 5)
        archive = Archive.open(root)
        service = service_of(world.settings(), archive.info.service)
        items = dict(archive.records(Kind.ENTRY_LIST))
        for key, raw in archive.records(Kind.ENTRIES):
            title = service.post(raw, items.get(key)).title
            assert title in world.run("show", root, "entry", key).out
            assert key in str(world.run("search", root, title, "--json").json["hits"])

    def look(self) -> None:
        self.act()


class Schedule(Feature):
    """The nightly backup is printed for cron, and its command works."""

    name = "schedule"
    commands = ("schedule",)

    def act(self) -> None:
        if isinstance(self.world, AddressWorld) and not self.world.joined:
            self.world.run("schedule", "print", self.world.root, "--for", "cron", code=2)
            return
        printed = self.world.run("schedule", "print", self.world.root, "--for", "cron").out
        lines = [line for line in printed.splitlines() if " backup " in line]
        for line in lines:
            self.world.run("backup", *shlex.split(line.partition(" backup ")[2]))

    def look(self) -> None:
        self.act()


class SettingsLine(Feature):
    """A setting is given on the command line and remembered; a variable and a fleet's list have priority over that."""

    name = "settings"

    def act(self) -> None:
        self.world.backup("--title", "潮だより")

    def look(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BLOG_EXPORTER_SITE_TITLE", "別の題")
            assert "別の題" in self._index()
        assert "潮だより" in self._index()
        if isinstance(self.world, ServiceWorld):
            self.world.run_fleet('site_title="みっつめ"', "--site")
            assert "みっつめ" in (self.world.root / "latest" / "site" / "index.html").read_text("utf-8")
            assert "潮だより" in self._index()

    def _index(self) -> str:
        made = self.world.output("titled")
        self.world.run("site", self.world.root, made)
        return (made / "index.html").read_text("utf-8")


class TurnsPrivate(Feature):
    """The owner makes a public post private."""

    name = "private"

    def act(self) -> None:
        self.world.content.change(TURNS_PRIVATE, hidden=True)
        self.world.publish()
        self.world.backup()

    def look(self) -> None:
        made = self.world.output("public")
        self.world.run("export", "jsonl", self.world.root, made, *FLAGS)
        self.world.is_public_output(made)


class Token(Feature):
    """The service requires a token from now on; nobody else gets it."""

    name = "token"

    def act(self) -> None:
        world = self.world
        if isinstance(world, ServiceWorld):
            world.service.options = replace(world.service.options, require_token=TOKEN)
            world.backup()
        else:
            assert isinstance(world, AddressWorld)
            world.read_address()


def places(records: list[dict[str, Any]], words: list[str]) -> list[str]:
    return [word for word in words if any(word in str(each) for each in records)]


FEATURES: Final[dict[str, type[Feature]]] = {each.name: each for each in Feature.__subclasses__()}
ALONE: Final = {
    "app": "its jobs are the commands themselves, in processes",
    "init": "its first backup is the command backup, and nothing is there before it",
    "check": "it reads a blog, and no archive",
    "login": "the feature token has its result",
    "logout": "it deletes a token outside every archive",
    "whoami": "it reads the stored sign-ins only",
    "profiles": "it prints a table of the program",
    "completion": "it prints a script",
    "demo": "it has its own blog, service and archive",
}
"""The commands that meet no other feature, with the reason."""
