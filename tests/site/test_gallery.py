"""The gallery's pages as HTML: captions, names of pictures, months and the width of each picture."""

from __future__ import annotations

import re

import pytest

from exporter.html.tree import Element, parse
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.pages.gallery import gallery_files
from exporter.site.pages.site import Site
from tests.export.memory import Memory


@pytest.fixture
def pages() -> dict[str, str]:
    """The pages of a blog with one entry in March, two in May, and an unused picture."""
    memory = Memory()
    for entry_id, month, title in (("1", "3", "<b>桜</b>"), ("2", "5", "海"), ("3", "5", "")):
        memory.entry(entry_id, title=title, year="2016", mon=month, day="9")
    for name, entry_id in (("b", "1"), ("a", "1"), ("c", "2"), ("d", "3")):
        memory.picture(f"https://files.example/{name}.png", entry_id=entry_id)
    memory.picture("https://files.example/e.png", file_id="5")
    memory.picture("https://files.example/f.png", file_id="6", entry_id="2")
    memory.add(Kind.FILES, {"file_id": "5", "name": "e.png", "title": "IMG_0005.png"})
    memory.add(Kind.FILES, {"file_id": "6", "name": "f.png", "title": "f.png", "explanation": "夕方の港"})
    site = Site(memory, DEFAULT_SERVICE, None, SiteOptions("umi", "en"))
    return {file.path: file.render().decode() for file in gallery_files(site)}


def named(html: str, tag: str) -> list[Element]:
    main = next(each for each in parse(html).elements() if each.tag == "main")
    return [each for each in main.elements() if each.tag == tag]


def test_each_picture_names_its_entry_and_date(pages: dict[str, str]) -> None:
    captions = [" ".join(each.text().split()) for each in named(pages["gallery.html"], "figcaption")]
    assert captions == [
        "海 9 May 2016", "海 9 May 2016", "(untitled) 9 May 2016", "<b>桜</b> 9 March 2016", "<b>桜</b> 9 March 2016",
    ]  # fmt: skip
    assert '<a lang="ja" href="entry/2.html">海</a>' in pages["gallery.html"]
    assert '<a lang="ja" href="../entry/2.html">海</a>' in pages["gallery/2016.html"]
    assert named(pages["gallery/unused.html"], "figcaption") == []


def test_pictures_have_their_words_or_else_a_number(pages: dict[str, str]) -> None:
    found = [
        (" ".join(each.attributes["alt"].split()), each.attributes.get("class"))
        for name in ("gallery.html", "gallery/unused.html")
        for each in named(pages[name], "img")
    ]
    assert sorted(found, key=str) == sorted(
        [
            ("Picture 1 of “(untitled)”", "unnamed"),
            ("Picture 1 of “海”", "unnamed"),
            ("夕方の港", None),
            ("Picture 1 of “<b>桜</b>”", "unnamed"),
            ("Picture 2 of “<b>桜</b>”", "unnamed"),
            ("Picture 1", "unnamed"),
        ],
        key=str,
    )


def test_months_are_headings_in_the_flow(pages: dict[str, str]) -> None:
    assert [(each.attributes["id"], each.text()) for each in named(pages["gallery.html"], "h2")] == [
        ("m2016-05", "May 2016"), ("m2016-03", "March 2016"),
    ]  # fmt: skip
    assert [each.text() for each in named(pages["gallery/2016.html"], "h2")] == ["May", "March"]
    links = [each.attributes["href"] for each in named(pages["gallery/2016.html"], "a")]
    assert [link for link in links if link.startswith("#m2")] == ["#m2016-05", "#m2016-03"]
    assert named(pages["gallery/unused.html"], "h2") == []


def test_the_shares_of_a_row_never_exceed_its_width(pages: dict[str, str]) -> None:
    styles = re.findall(
        r'<li style="--r:([0-9.]+);--d:([0-9.]+);--k:([0-9]);--p:([0-9.]+);--q:([0-9])"', pages["gallery.html"]
    )
    assert len(styles) == 5
    for share, gaps in ((1, 2), (3, 4)):
        total, number = 0.0, 0
        for at, style in enumerate(styles, 1):
            total, number = total + float(style[share]), number + 1
            assert total <= 1
            if number > int(style[gaps]):
                assert total > 0.999 or at == len(styles)
                total, number = 0.0, 0
