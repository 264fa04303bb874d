"""A real WordPress, backed up through its REST API and compared with its database."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.crawl.outcome import Outcome
from exporter.errors import BlogExporterError
from exporter.http.engine import Client, Engine
from exporter.library.backup import OpenService, backup
from exporter.login.source import credentials_for
from exporter.model.exchange import Response
from exporter.model.kinds import Kind
from exporter.model.records import Comment, Post
from exporter.service.discovery import HomePage, WayIn
from exporter.service.registry import way_of
from exporter.service.wordpress.source import WordPressService
from exporter.settings import resolve
from tests.importers.conftest import Tool
from tests.importers.test_wordpress import installed
from tests.importers.wordpress_site import Site, running_site
from tests.support.pictures import png

__all__ = ["installed"]

SCRIPT = Path(__file__).parent / "wordpress_source.php"
POSTS = 300
FEW_POSTS = 50
AUDIENCES = {"publish": "public", "draft": "draft", "pending": "draft", "private": "private", "future": "scheduled"}
STATUSES = {"1": "shown", "0": "pending", "spam": "spam", "trash": "hidden"}


class Blog:
    """A filled WordPress."""

    def __init__(self, tool: Tool, site: Site) -> None:
        self.site = site
        self._tool = tool

    def php(self, mode: str, *arguments: object) -> str:
        return self._tool("php", SCRIPT, mode, self.site.folder, *arguments).strip()

    def truth(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = json.loads(self.php("truth"))
        return found


@contextmanager
def filled(tool: Tool, installed: Path, folder: Path, count: int) -> Iterator[Blog]:
    pictures = folder / "pictures"
    pictures.mkdir()
    for number in range(6):
        (pictures / f"umi-{number}.png").write_bytes(png(number, 20 + number, 10))
    with running_site(tool, installed, folder / "site") as site:
        running = Blog(tool, site)
        running.php("fill", count, pictures)
        yield running


@pytest.fixture
def blog(tool: Tool, installed: Path, tmp_path: Path) -> Iterator[Blog]:
    with filled(tool, installed, tmp_path, POSTS) as running:
        yield running


@pytest.fixture
def small(tool: Tool, installed: Path, tmp_path: Path) -> Iterator[Blog]:
    with filled(tool, installed, tmp_path, FEW_POSTS) as running:
        yield running


async def back_up(
    blog: Blog, root: Path, monkeypatch: pytest.MonkeyPatch, user: str | None = None, password: str = "", **given: str
) -> tuple[Outcome, Client]:
    """Back the blog up, as a user or as the public."""
    monkeypatch.delenv("BLOG_EXPORTER_TOKEN", raising=False)
    given |= {"base_url": blog.site.url, "service": "wordpress", "allow_private_network": "yes"}
    if user is not None:
        monkeypatch.setenv("BLOG_EXPORTER_TOKEN", password or blog.site.password)
        given["user"] = user
    settings = resolve(given)
    async with Engine() as engine:
        client = engine.client(blog.site.url, credentials_for(settings, engine))
        service = way_of(settings, "wordpress")
        run = backup(root, OpenService("127.0.0.1", service, client), replace(settings, markdown=False, site=False))
        async for _ in run:
            pass
    return run.outcome, client


def posts(root: Path) -> dict[str, Post]:
    state = Archive.open(root).state()
    items = dict(state.scan(Kind.ENTRY_LIST))
    return {key: WordPressService().post(raw, items.get(key)) for key, raw in state.scan(Kind.ENTRIES)}


def comments(root: Path) -> dict[str, Comment]:
    return {key: WordPressService().comment(raw) for key, raw in Archive.open(root).records(Kind.COMMENTS)}


def counts(outcome: Outcome) -> dict[str, tuple[int, int, int]]:
    found = {name: (each.new, each.changed, each.gone) for name, each in outcome.counts.items()}
    return {name: each for name, each in found.items() if any(each)}


async def test_a_whole_blog_is_in_the_archive_and_nights_bring_what_changed(
    blog: Blog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "archive"
    outcome, client = await back_up(blog, root, monkeypatch, "owner")
    assert (outcome.outcome, outcome.exit_code, outcome.problems) == ("saved", 0, [])
    assert client.statistics.requests < 70, "one request for a hundred records"
    truth = blog.truth()
    compare_entries(posts(root), truth["entries"])
    compare_comments(comments(root), truth["comments"])
    files = dict(Archive.open(root).records(Kind.FILES))
    assert set(files) == {str(each["id"]) for each in truth["files"]}
    upload = WordPressService().upload(next(iter(files.values())))
    assert (upload.width, upload.height, upload.extension) == (20, 10, "png")
    assert upload.alt == '海の写真 "0" & 空'
    assert upload.bytes == len(ask(upload.url).body)
    assert not [found for found in verify(Archive.open(root)) if found.damage]

    again, _ = await back_up(blog, root, monkeypatch, "owner")
    assert (again.outcome, again.version, again.exit_code) == ("unchanged", None, 0)
    quick, client = await back_up(blog, root, monkeypatch, "owner", refresh="changed")
    assert (quick.outcome, quick.exit_code) == ("unchanged", 0)
    assert client.statistics.requests < 50

    changed = json.loads(blog.php("change"))
    night, _ = await back_up(blog, root, monkeypatch, "owner", refresh="changed")
    assert (night.version, night.exit_code) == (2, 0)
    assert counts(night) == {
        "entries": (0, 1, 1), "entry_list": (0, 1, 1), "comments": (1, 0, night.counts["comments"].gone)
    }  # fmt: skip
    kept = {str(each["id"]) for each in blog.truth()["comments"]}
    assert set(comments(root)) == kept, "the comments of the deleted post are gone with it"
    assert posts(root)[str(changed["edited"])].body.strip() == "<p>Edited</p>"
    assert comments(root)[str(changed["comment"])].text.strip() == "<p>a new reply</p>"
    assert str(changed["deleted"]) not in posts(root)


def compare_entries(found: dict[str, Post], truth: list[dict[str, Any]]) -> None:
    assert len(found) == len(truth) == POSTS + 12
    for each in truth:
        post = found[str(each["id"])]
        expected = "password" if each["password"] and each["status"] == "publish" else AUDIENCES[each["status"]]
        assert post.audience == expected, each
        assert (post.kind, post.author) == (each["type"], each["author"])
        assert post.raw["content"]["raw"] == each["content"]
        assert post.title == each["title"].replace("<em>", "").replace("</em>", "")
        assert [[*category.parents, category.name] for category in post.categories] == each["categories"]
        assert sorted(post.tags) == sorted(each["tags"])
        assert post.featured == each["featured"]
        assert post.excerpt == each["excerpt"]
        assert post.date is not None
        assert post.date.strftime("%Y-%m-%d %H:%M:%S") == each["date"]
        if post.audience in {"public", "private", "password"}:
            assert post.permalink == each["link"]
        if "<!--more" in each["content"]:
            assert "続き" in post.more
            assert "続き" not in post.body
        if "data-fn=" in each["content"]:
            shown = f"{post.body}{post.more}"
            assert "注の<b>本文</b>" in shown, "WordPress writes the footnotes into the shown text"
            assert "共通の文" in shown, "and the synced patterns"
            assert '<li id="fn-a">' in shown
        if "[gallery" in each["content"]:
            assert 'class="gallery' in f"{post.body}{post.more}".replace("'", '"')
    offsets = {str(post.date and post.date.utcoffset()) for post in found.values() if post.audience == "public"}
    assert offsets == {"9:00:00"}


def compare_comments(found: dict[str, Comment], truth: list[dict[str, Any]]) -> None:
    assert len(found) == len(truth)
    for each in truth:
        comment = found[str(each["id"])]
        parent = "" if str(each["parent"]) == "0" else str(each["parent"])
        assert (comment.post_id, comment.parent, comment.name) == (str(each["post"]), parent, each["name"])
        assert (comment.status, comment.kind, comment.email) == (
            STATUSES[str(each["approved"])], each["type"], each["email"],
        )  # fmt: skip
        assert comment.by_owner == {0: False, 1: True}.get(int(each["user"])), "a registered reader may be anybody"


async def test_without_a_sign_in_only_public_records_are_saved_and_the_rest_is_named(
    small: Blog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "archive"
    outcome, client = await back_up(small, root, monkeypatch)
    truth = small.truth()
    public = {str(each["id"]) for each in truth["entries"] if each["status"] == "publish"}
    locked = {str(each["id"]) for each in truth["entries"] if each["password"] and each["status"] == "publish"}
    found = posts(root)
    assert set(found) == public - locked
    assert {post.audience for post in found.values()} == {"public"}
    assert outcome.exit_code == 3
    assert {problem.id for problem in outcome.problems} == locked, "each text behind a password is named"
    assert all("password" in problem.reason for problem in outcome.problems)
    shown = [each for each in truth["comments"] if each["approved"] == "1" and each["type"] == "comment"]
    media = {str(each["id"]) for each in truth["files"]}
    assert set(comments(root)) == {str(each["id"]) for each in shown if str(each["post"]) in (public - locked) | media}
    assert all(not comment.email and comment.status == "shown" for comment in comments(root).values())
    written = {str(each["id"]): each["excerpt"] for each in truth["entries"]}
    assert {key: bool(post.excerpt) for key, post in found.items()} == {key: bool(written[key]) for key in found}
    assert client.statistics.requests < 70
    again, _ = await back_up(small, root, monkeypatch)
    assert again.version is None

    gone = sorted(found, key=int)[3]
    small.php("trash", gone)
    later, _ = await back_up(small, root, monkeypatch)
    assert counts(later)["entries"] == (0, 0, 1), "it is no longer public"
    assert {problem.id for problem in later.problems} == locked


async def test_a_forgotten_password_removes_no_draft(
    small: Blog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "archive"
    await back_up(small, root, monkeypatch, "owner")
    before = posts(root)
    outcome, _ = await back_up(small, root, monkeypatch, refresh="changed")
    after = posts(root)
    assert outcome.exit_code == 3
    assert set(after) == set(before)
    hidden = {key for key, post in before.items() if post.audience != "public"}
    assert hidden <= {problem.id for problem in outcome.problems}
    assert {key: after[key].body for key in hidden} == {key: before[key].body for key in hidden}


async def test_a_wrong_password_and_a_user_without_rights_are_told_what_to_do(
    small: Blog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BlogExporterError) as refused:
        await back_up(small, tmp_path / "one", monkeypatch, "owner", "wrong wrong")
    assert refused.value.exit_code == 12
    assert "Application Passwords" in str(refused.value)
    password = small.php("user", "ken", "subscriber")
    with pytest.raises(BlogExporterError) as refused:
        await back_up(small, tmp_path / "two", monkeypatch, "ken", password)
    assert refused.value.exit_code == 12
    assert "administrator or editor" in str(refused.value)
    outcome, _ = await back_up(small, tmp_path / "two", monkeypatch, "owner")
    assert outcome.exit_code == 0, "the refused runs leave nothing in the way"


async def test_an_author_saves_what_he_may_see_and_the_rest_is_counted(
    small: Blog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = small.php("user", "saki", "author")
    outcome, _ = await back_up(small, tmp_path / "archive", monkeypatch, "saki", password)
    assert outcome.exit_code == 3
    said = " ".join(problem.reason for problem in outcome.problems)
    assert "records are not shown to this user" in said
    assert "sign in as an administrator or editor" in said, "the comments"


async def test_a_blog_without_pretty_permalinks_is_found_and_saved(
    small: Blog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = found_at(small.site.url)
    assert (way.base_url, way.settings, way.title) == (f"{small.site.url}/wp-json/wp/v2", {}, "new home")
    public = [each for each in small.truth()["entries"] if each["status"] == "publish"]
    kinds = Counter(each["type"] for each in public)
    assert (way.counts["posts"], way.counts["pages"], way.counts["pictures"]) == (kinds["post"], kinds["page"], 6)
    small.php("set", "permalink_structure", "")
    way = found_at(small.site.url)
    assert (way.base_url, way.settings) == (small.site.url, {"rest_route": "yes"})
    outcome, _ = await back_up(small, tmp_path / "archive", monkeypatch, "owner", **way.settings)
    assert (outcome.outcome, outcome.exit_code) == ("saved", 0)
    assert len(posts(tmp_path / "archive")) == FEW_POSTS + 12


def found_at(url: str) -> WayIn:
    """Explore an address."""
    home = ask(f"{url}/")
    exploration = WordPressService.explore(HomePage(f"{url}/", home.headers, home.body.decode()))
    assert exploration is not None
    request = next(exploration)
    while True:
        query = "&".join(f"{name}={value}" for name, value in request.params.items())
        try:
            request = exploration.send(ask(f"{url}{request.path}?{query}"))
        except StopIteration as done:
            way: WayIn = done.value
            return way


def ask(url: str) -> Response:
    try:
        with urllib.request.urlopen(url) as answer:
            return Response(
                answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
            )
    except urllib.error.HTTPError as error:
        return Response(error.code, {}, error.read())
