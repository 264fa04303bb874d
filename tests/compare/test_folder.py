"""A folder of pages is read from the disk, and no file outside is opened."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from exporter.compare.folder import FolderHome
from exporter.compare.posts import Aspect, Fault, Picture, PictureFacts, Scope
from exporter.compare.reconcile import Comparison
from exporter.errors import UsageError
from exporter.library.compare import Arrivals, compare, open_home
from exporter.settings import Settings
from tests.compare.posts import TEXT, THEN, left_open, old
from tests.support.pictures import png

HTML = '<title>題{n}</title><time datetime="{date}"></time><a rel="tag">日記</a><article>{text}</article>'
MARKDOWN = '---\ntitle: "題{n}"\ndate: {date}\ncategories: ["日記"]\n---\n{text}'


def write(folder: Path, name: str, form: str, number: int, text: str = "") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    date = THEN.replace(day=THEN.day + number).isoformat()
    path.write_text(form.format(n=number, date=date, text=text or f"{TEXT}その{number}"), encoding="utf-8")


async def compared(folder: Path, count: int = 2, pictures: tuple[Picture, ...] = ()) -> Comparison:
    olds = [old(number, pictures=pictures) for number in range(1, count + 1)]
    async with open_home(str(folder), Settings()) as home:
        return (
            await compare(home, Arrivals(olds, frozenset(), {}), Scope(old_hosts=frozenset({"old.example"})))
        ).comparison


def faults(found: Comparison) -> list[Fault]:
    return [each.change for result in found.results for each in result.differences]


async def test_built_pages_are_compared(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path, f"posts/entry-{number}/index.html", HTML, number)
    (tmp_path / "index.html").write_text(f"<h1>家</h1>{TEXT}その1{TEXT}その2")
    found = await compared(tmp_path)
    assert (faults(found), found.whole, list(found.extra)) == ([], True, [])
    assert faults(await compared(tmp_path, 3)) == [Fault.MISSING]


async def test_sources_are_compared_by_their_words(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path, f"posts/entry-{number}.md", MARKDOWN, number)
    (tmp_path / "README.md").write_text("no post")
    assert faults(await compared(tmp_path)) == []
    write(tmp_path, "posts/entry-2.md", MARKDOWN, 2, text=f"{TEXT[:20]} [前](https://old.example/Entry/1/)")
    assert faults(await compared(tmp_path)) == [Fault.TEXT, Fault.LINK_ON_OLD_HOST]


async def test_sources_of_hugo_and_pelican_have_names_as_these_read_them(tmp_path: Path) -> None:
    hugo = MARKDOWN.replace("日記", "c-7d501667").replace("title:", 'tags: ["a", "x-88ceeac2"]\ntitle:')
    write(tmp_path / "hugo", "content/posts/entry-1/index.md", hugo, 1)
    write(tmp_path / "hugo", "content/categories/c-7d501667/_index.md", '---\ntitle: "C#"\n---\n', 1)
    write(tmp_path / "hugo", "content/tags/x-88ceeac2/_index.md", '---\ntitle: "&amp;"\n---\n', 1)
    pelican = "Title: 旅 &amp; &lt;b&gt;\nDate: {date}\nCategory: C &amp;amp;\nTags: a&#44b, &#38amp\n\n{text}"
    write(tmp_path / "pelican", "content/entry-1.md", pelican, 1)
    (first,) = (await FolderHome(tmp_path / "hugo", lambda _: None).read()).posts
    assert (first.names, first.tags) == (("C#", "a", "&amp;"), ("a", "&amp;"))
    (first,) = (await FolderHome(tmp_path / "pelican", lambda _: None).read()).posts
    assert (first.titles, first.names, first.tags) == (
        ("旅 & <b>",),
        ("C &amp;", "a,b", "&amp"),
        ("a,b", "&amp"),
    )


async def test_pictures_are_those_in_the_folder(tmp_path: Path) -> None:
    content = png(1, 4, 6)
    picture = Picture("https://files.example.jp/a", sha256(content).hexdigest(), 4, 6, "a.png")
    write(tmp_path, "entry-1.md", MARKDOWN, 1, text=f"{TEXT}その1 ![](media/a.png)")
    assert faults(await compared(tmp_path, 1, (picture,))) == [Fault.PICTURE_MISSING]
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "a.png").write_bytes(content)
    assert faults(await compared(tmp_path, 1, (picture,))) == []
    (tmp_path / "media" / "a.png").write_bytes(png(2, 5, 5))
    assert faults(await compared(tmp_path, 1, (picture,))) == [Fault.PICTURE_CHANGED]
    (tmp_path / "media" / "a.png").write_bytes(b"<!DOCTYPE html><p>404")
    assert faults(await compared(tmp_path, 1, (picture,))) == [Fault.PICTURE_MISSING]


@pytest.mark.parametrize(
    "way", ["../secret.png", "/../secret.png", "link.png", "%2e%2e/secret.png", "folder/secret.png"]
)
async def test_nothing_outside_of_the_folder_is_opened(tmp_path: Path, way: str) -> None:
    root = tmp_path / "site"
    write(root, "entry-1.html", HTML, 1)
    (tmp_path / "secret.png").write_bytes(png(1))
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    (root / "folder").symlink_to(tmp_path)
    async with open_home(str(root), Settings()) as home:
        address = f"https://folder.invalid/{way}"
        assert (await home.pictures([address]))[address].sha256 is None
        away = "https://elsewhere.example/x.png"
        assert (await home.pictures([away]))[away] == PictureFacts(unknown="it is not in the folder")


async def test_pages_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    write(tmp_path, "entry-1.html", HTML, 1)
    (tmp_path / "deep.html").write_text("<p>" * 200_000)
    (tmp_path / "link.html").symlink_to(tmp_path / "entry-1.html")
    os.mkfifo(tmp_path / "pipe.html")
    with (tmp_path / "large.html").open("wb") as large:
        large.truncate(40_000_000)
    found = await compared(tmp_path, 1)
    assert faults(found) == []
    assert [(each.aspect, each.count) for each in left_open(found)] == [(Aspect.TEXT, 1), (Aspect.TEXT, 1)]
    assert not found.whole


async def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        await compared(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="has no HTML page and no Markdown with front matter"):
        await compared(tmp_path)


async def test_a_book_is_refused_because_its_page_is_of_no_single_entry(tmp_path: Path) -> None:
    write(tmp_path, "book-public.html", HTML, 1)
    with pytest.raises(UsageError, match="has a book, whose entries are all on one page"):
        await compared(tmp_path, 1)
    write(tmp_path, "entry-1.html", HTML, 1)
    assert faults(await compared(tmp_path, 1)) == [Fault.DUPLICATE]
