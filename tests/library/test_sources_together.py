"""Feature by feature: each source alone and each pair of sources, each change by the blog's owner, and each forgotten record.

Whatever the order: nothing hidden is public, nothing forgotten comes back, and nothing else is lost.
"""

from __future__ import annotations

import shutil
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import permutations, product
from pathlib import Path
from typing import Final

import pytest

from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.clock import SystemClock
from exporter.library.forget import ForgettingRequest, forget
from exporter.library.unjoin import unjoin
from exporter.library.wacz import records_outside
from exporter.model.kinds import Kind
from exporter.model.publication import PostStatus
from exporter.model.records import Comment, Post
from exporter.service.registry import service_of
from exporter.settings import Settings
from tests.library.test_forget import places_with
from tests.support.blog_sources import SOURCES, Content, Source

JOINABLE: Final = [name for name in SOURCES if name != "blog-v1"]
CHANGES: Final = ("hidden", "deleted", "edited", "comment deleted")
FORGET: Final = ("nothing", "an entry", "a comment")
THEN: Final = ("the same again", "a second later", "the other source")
CHANGED, FORGOTTEN = 4, 6
"""The post that the owner changes, and the one that is forgotten, or whose comment is. Both have two comments."""


class Blog:
    """An archive as its reader sees it."""

    def __init__(self, root: Path, settings: Settings) -> None:
        archive = Archive.open(root)
        self.settings, self.service = settings, service_of(settings, archive.info.service)
        items = dict(archive.records(Kind.ENTRY_LIST))
        self.posts = [self.service.post(raw, items.get(key)) for key, raw in archive.records(Kind.ENTRIES)]
        self.comments = [self.service.comment(raw) for _, raw in archive.records(Kind.COMMENTS)]

    def post(self, number: int) -> Post | None:
        """Return the post with this number in its title."""
        found = [post for post in self.posts if post.title.startswith(f"第{number}話")]
        assert len(found) < 2, found
        return found[0] if found else None

    def comment(self, text: str) -> Comment | None:
        """Return the comment with this text."""
        found = [comment for comment in self.comments if text in comment.text]
        assert len(found) < 2, found
        return found[0] if found else None

    def is_public(self, post: Post | None) -> bool:
        declared = self.service.declared(self.settings)
        return post is not None and self.service.publication(post, declared).status is PostStatus.PUBLISH

    def is_visible(self, comment: Comment | None) -> bool:
        """Return whether a comment and its post are public."""
        owner = next((post for post in self.posts if comment is not None and post.id == comment.post_id), None)
        shown = comment is not None and self.service.is_visible(comment, self.service.declared(self.settings))
        return shown and self.is_public(owner)


async def check_all(tmp_path: Path, names: tuple[str, ...], change: str, thens: tuple[str, ...]) -> None:
    """Read the sources once, and then try everything that may happen in a copy of the archive."""
    base = tmp_path / "base"
    async with AsyncExitStack() as opened:
        sources: list[Source] = []
        for name in names:
            source = SOURCES[name]()
            await opened.enter_async_context(source.opened(tmp_path))
            sources.append(source)
            done = await source.read(base, Content.made())
            assert done.outcome.exit_code == 0, done.outcome.problems
        for forgotten, then in product(FORGET, thens):
            root = Path(shutil.copytree(base, tmp_path / f"{forgotten} {then}" / "archive"))
            await check(root, sources, change, forgotten, then)


async def check(root: Path, sources: list[Source], change: str, forgotten: str, then: str) -> None:
    content = Content.made()
    first, last = sources[0], sources[-1]
    texts = words(content, forgotten, sources)
    if texts:
        archive = Archive.open(root)
        forget(archive, first.settings(), request(Blog(root, first.settings()), forgotten))
        assert places_with([root], *texts) == []
    changed(content, change)
    if then == "a second later":
        content.change(FORGOTTEN, date=content.posts[FORGOTTEN].date + timedelta(seconds=1))
    for source in [last, first, last] if then == "the other source" else [last, last]:
        done = await source.read(root, content)
        assert done.outcome.exit_code == 0, done.outcome.problems
    if texts:
        assert places_with([root], *texts) == []
    blog = Blog(root, first.settings())
    look(blog, change, forgotten, then, sources)
    assert [each for each in verify(Archive.open(root)) if each.damage] == []


def words(content: Content, forgotten: str, sources: list[Source]) -> list[str]:
    """Return the words that must never come back."""
    post = content.posts[FORGOTTEN]
    if forgotten == "an entry":
        return [post.text.removeprefix("<p>")[:20], post.title]
    has_comments = any(source.has_comments for source in sources)
    return [post.comments[0].text] if forgotten == "a comment" and has_comments else []


def request(blog: Blog, forgotten: str) -> ForgettingRequest:
    if forgotten == "an entry":
        post = blog.post(FORGOTTEN)
        assert post is not None
        return ForgettingRequest(entries=(post.id,))
    comment = blog.comment(Content.made().posts[FORGOTTEN].comments[0].text)
    assert comment is not None
    return ForgettingRequest(comments=(comment.id,))


def changed(content: Content, change: str) -> None:
    """Let the owner change the blog."""
    post = content.posts[CHANGED]
    if change == "hidden":
        content.change(CHANGED, hidden=True)
    elif change == "deleted":
        del content.posts[CHANGED]
    elif change == "edited":
        content.change(CHANGED, text=post.text.replace("夕方に", "夜おそくに"))
    else:
        content.change(CHANGED, comments=post.comments[1:])


def look(blog: Blog, change: str, forgotten: str, then: str, sources: list[Source]) -> None:
    """Check that nothing hidden is public, and that nothing else is lost."""
    made = Content.made().posts
    for number, post in made.items():
        found = blog.post(number)
        if number == FORGOTTEN and forgotten == "an entry":
            assert found is None
            continue
        if number != CHANGED or change in {"edited", "comment deleted"}:
            assert blog.is_public(found), (number, found)
        else:
            assert not blog.is_public(found), (number, found)
        for at, said in enumerate(post.comments if any(source.has_comments for source in sources) else ()):
            comment = blog.comment(said.text)
            if number == FORGOTTEN and at == 0 and forgotten == "a comment":
                assert comment is None
            elif number != CHANGED or change == "edited" or (change == "comment deleted" and at == 1):
                assert blog.is_visible(comment), (number, said, comment)
            elif sources[-1].has_comments or then == "the other source":
                assert not blog.is_visible(comment), (number, said, comment)
    assert len(blog.posts) <= len(made)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.thorough
async def test_a_source_alone(tmp_path: Path, name: str, change: str) -> None:
    await check_all(tmp_path, (name,), change, THEN[:2])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("names", list(permutations(JOINABLE, 2)), ids=" then ".join)
@pytest.mark.thorough
async def test_two_sources(tmp_path: Path, names: tuple[str, str], change: str) -> None:
    await check_all(tmp_path, names, change, THEN)


async def test_a_file_joins_an_entry_of_which_the_address_shows_only_a_list_item(tmp_path: Path) -> None:
    root, content = tmp_path / "archive", Content.made()
    content.change(CHANGED, password="himitsu")
    wordpress, file = SOURCES["wordpress"](), SOURCES["movable-type"]()
    async with wordpress.opened(tmp_path), file.opened(tmp_path):
        assert (await wordpress.read(root, content)).outcome.exit_code == 3
        assert (await file.read(root, content)).outcome.exit_code == 0
    blog = Blog(root, file.settings())
    assert len(blog.posts) == len(content.posts)
    assert not blog.is_public(blog.post(CHANGED))
    assert blog.is_public(blog.post(FORGOTTEN))


@pytest.mark.parametrize("names", [("public-site", "movable-type"), ("movable-type", "public-site")], ids=" then ".join)
async def test_the_address_of_a_withdrawn_entry_stays_known(tmp_path: Path, names: tuple[str, str]) -> None:
    """A capture may have its page, which an export leaves out by the address."""
    root, content = tmp_path / "archive", Content.made()
    sources = [SOURCES[name]() for name in names]
    async with AsyncExitStack() as opened:
        for source in sources:
            await opened.enter_async_context(source.opened(tmp_path))
            await source.read(root, content)
        hidden = Blog(root, sources[0].settings()).post(CHANGED)
        assert hidden is not None
        content.change(CHANGED, hidden=True)
        page = next(source for source in sources if source.name == "public-site")
        await page.read(root, content)
    blog = Blog(root, page.settings())
    shown = {post.id for post in blog.posts if blog.is_public(post)}
    outside = {
        each.permalink
        for raw in records_outside(Archive.open(root), shown)
        for each in (blog.service.post(raw), *blog.service.post(raw).others)
    }
    (address,) = {each.permalink for each in (hidden, *hidden.others) if each.permalink}
    assert address in outside


async def test_an_archive_keeps_its_address_when_its_file_is_taken_out(tmp_path: Path) -> None:
    root, content = tmp_path / "archive", Content.made()
    page, file = SOURCES["public-site"](), SOURCES["movable-type"]()
    async with page.opened(tmp_path), file.opened(tmp_path):
        for source in (page, file):
            await source.read(root, content)
        (root / "settings.toml").write_text('service = "public-site"\nbase_url = "https://b.example"\n', "utf-8")
        unjoin(Archive.open(root), file.settings(), "movable-type", SystemClock())
    assert "b.example" in (root / "settings.toml").read_text("utf-8")
