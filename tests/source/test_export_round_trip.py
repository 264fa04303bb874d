"""Exports for WordPress and Movable Type, read back as sources, give the same blog; the differences are named here."""

from __future__ import annotations

import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.archive import Archive
from exporter.export.interface import ExportOptions, Side
from exporter.export.targets import TARGETS
from exporter.html.text import collapse, text_of
from exporter.library.export import export_blog
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.model.records import Category, Comment, Post
from exporter.service.registry import service_of
from tests.export.odd_texts import TEXTS, category_of, odd_blog
from tests.importers.blogs import Blog
from tests.source.reading import SETTINGS, back_up, comments_in, posts_in
from tests.support.wide import AS_OF, WIDE, wide_blog

COMPARED = (
    "slug", "date", "categories", "tags", "author", "permalink", "excerpt", "kind", "audience", "featured",
    "comments_open", "pings_open",
)  # fmt: skip
SAID = ("email", "url", "status", "kind", "by_owner", "title")


def without_slugs(post: Post) -> dict[str, Any]:
    """Return the compared fields; a category without a slug gets one from WordPress."""
    found = {name: getattr(post, name) for name in COMPARED}
    found["categories"] = [(each.name, each.parents) for each in post.categories]
    found["tags"] = sorted(set(post.tags))
    return found


def differences(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


async def read_back(form: str, tmp_path: Path) -> tuple[dict[str, Post], dict[str, Post], list[Comment]]:
    """Export the blog of wide records and read the files; return its posts before and after, and its comments."""
    records = wide_blog()
    blog = Blog("wide", records, tmp_path / "pictures")
    records.write_pictures(blog.root)
    for side in (Side.PUBLIC, Side.REST):
        chosen: dict[str, Any] = {"declared": Declared(), "service": WIDE, "as_of": AS_OF, "side": side}
        blog.export(form, tmp_path / f"out-{side}", wordpress_body="plain", **chosen)
        for file in (tmp_path / f"out-{side}").iterdir():
            (tmp_path / "files").mkdir(exist_ok=True)
            shutil.copy(file, tmp_path / "files")
    saved = await back_up(tmp_path / "files", tmp_path / "archive")
    assert (saved.outcome.exit_code, saved.notes) == (0, ())
    before = {post.title: post for post in (WIDE.post(raw) for _, raw in records.scan(Kind.ENTRIES))}
    after = {post.title: post for post in posts_in(tmp_path / "archive").values()}
    assert sorted(after) == sorted(before)
    return before, after, list(comments_in(tmp_path / "archive").values())


async def test_a_file_for_wordpress(tmp_path: Path) -> None:
    before, after, comments = await read_back("wxr", tmp_path)
    found = {title: differences(without_slugs(before[title]), without_slugs(after[title])) for title in before}
    public = [title for title in before if "zqsecret" not in title]
    assert {title: found[title] for title in public} == {
        "海の日": {},
        # The archive does not have its featured picture, so there is no attachment. An entry always gets a name.
        "旅": {"slug": ("", "tabi"), "featured": ("https://files.umi.example.jp/lost.png", "")},
        # An entry without an author is by the user.
        "ふつう": {"slug": ("", "entry-plain"), "author": ("", "海の人")},
        "この人について": {},
    }
    audiences = {title.split()[-1]: found[title].get("audience") for title in before if title not in public}
    assert {name: tuple(map(str, pair)) for name, pair in audiences.items() if pair is not None} == {
        "members": ("members", "private"), "password": ("password", "private"), "unknown": ("None", "private"),
        "past": ("scheduled", "draft"),
    }  # fmt: skip
    assert after["海の日"].categories[1] == Category("欧州", ("旅", "外国"), "europe")
    said = {each.name: each for each in comments if each.post_id == after["海の日"].id}
    assert set(said) == {"カモメ", "海の人", "はなれ", "よその日記", "ピン"}
    by_id = {each.id: each for each in comments}
    assert by_id[said["海の人"].parent].email == "kamome@mail.example"
    assert said["海の人"].by_owner is True
    assert [str(said[name].kind) for name in ("よその日記", "ピン")] == ["trackback", "pingback"]


async def test_a_file_of_movable_type(tmp_path: Path) -> None:
    before, after, comments = await read_back("movabletype", tmp_path)
    public = [title for title in before if "zqsecret" not in title]
    lost = {"permalink", "featured"}  # and the parents of categories, and that an entry is a page
    for title in public:
        old, new = without_slugs(before[title]), without_slugs(after[title])
        old["categories"] = list(dict.fromkeys((name, ()) for name, _ in old["categories"]))
        old["kind"] = new["kind"]
        assert set(differences(old, new)) <= lost | ({"slug"} if not old["slug"] else set()) | (
            {"author"} if not old["author"] else set()
        ), title
        assert (before[title].body, before[title].more) == (after[title].body, after[title].more)
    assert {str(after[title].audience) for title in after if title not in public} == {"draft"}
    said = {each.name: each for each in comments if each.post_id == after["海の日"].id}
    assert [str(said[name].kind) for name in ("よその日記", "ピン")] == ["trackback", "trackback"]
    assert said["よその日記"].title == "海を読んで"
    assert sorted(each.email for each in comments if each.email) == ["kamome@mail.example", "owner@mail.example"]


@pytest.mark.parametrize(
    ("form", "target"), [("wxr", None), ("wxr", "hatena"), ("movabletype", None), ("movabletype", "wordpress")]
)
async def test_titles_and_names_stay_the_same_texts(form: str, target: str | None, tmp_path: Path) -> None:
    blog = Blog("odd", odd_blog(), tmp_path)
    aim = None if target is None else TARGETS[target]
    style = "" if aim is None or aim.blocks else "plain"
    blog.export(form, tmp_path / "out", declared=Declared(), service=WIDE, as_of=AS_OF, title=TEXTS["canvas"],
                target=aim, wordpress_body=style)  # fmt: skip
    saved = await back_up(tmp_path / "out", tmp_path / "archive")
    assert (saved.outcome.exit_code, saved.notes) == (0, ())
    posts = {post.slug.removeprefix("slug-"): post for post in posts_in(tmp_path / "archive").values()}
    comments = comments_in(tmp_path / "archive").values()
    for name, text in TEXTS.items():
        post = posts[name]
        assert (post.title, post.tags, post.author) == (text, (text,), text)
        parents = (text,) if form == "wxr" else ()
        assert [(each.name, each.parents) for each in post.categories] == [(category_of(text), parents)]
        assert form == "movabletype" or post.more_title == text
        assert text in text_of(post.more) or post.more_title == text
        said = [each for each in comments if each.post_id == post.id]
        assert [each.name for each in said] == [text] * 2
        assert all(text in (each.title, text_of(each.text).split("\n")[0]) for each in said)
    if form == "wxr":
        archive = Archive.open(tmp_path / "archive")
        service = service_of(SETTINGS, "wxr")
        files = [service.upload(raw) for _, raw in archive.records(Kind.FILES)]
        assert sorted((each.title, each.alt) for each in files) == sorted((text, text) for text in TEXTS.values())
        (user,) = (raw for _, raw in archive.records(Kind.USER))
        assert service.blog_title(user) == TEXTS["canvas"]


@pytest.mark.parametrize(("form", "style"), [("wxr", "html"), ("movabletype", "plain")])
async def test_a_second_round_changes_nothing(form: str, style: str, tmp_path: Path) -> None:
    # No picture is downloaded here, and a featured picture that the archive does not have is no attachment.
    await read_back(form, tmp_path)
    first = tmp_path / "archive"
    service = service_of(SETTINGS, "wxr" if form == "wxr" else "movable-type")
    options = ExportOptions(declared=Declared(), service=service, wordpress_body=style)
    (tmp_path / "again").mkdir()
    for made in export_blog(first, form, tmp_path / "exported", options, only="all"):
        for file in made.folder.iterdir():
            shutil.copy(file, tmp_path / "again")
    saved = await back_up(tmp_path / "again", tmp_path / "second")
    assert (saved.outcome.exit_code, saved.notes) == (0, ())
    one, two = ({post.title: post for post in posts_in(root).values()} for root in (first, tmp_path / "second"))
    assert sorted(one) == sorted(two)
    names = [each.name for each in fields(Post) if each.name not in {"id", "raw", "item", "facts", "featured"}]
    changed = {
        title: differences(*({n: getattr(p, n) for n in names} for p in (one[title], two[title]))) for title in one
    }
    assert {title: diff for title, diff in changed.items() if diff} == {}

    def said(root: Path) -> list[tuple[Any, ...]]:
        posts, comments = posts_in(root), comments_in(root)
        return sorted(
            (posts[each.post_id].title, each.name, str(each.date), collapse(text_of(each.text)), comments[each.parent].name if each.parent else "",
             *(str(getattr(each, name)) for name in SAID))
            for each in comments.values()
        )  # fmt: skip

    assert said(first) == said(tmp_path / "second")
