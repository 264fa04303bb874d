"""Bodies that another process makes equal those made here."""

from __future__ import annotations

import pickle

import pytest

from exporter.html.page_body import BodyWriter, DrawnPicture
from exporter.html.remote_body import MadeBodies, Shared, answers_for, has_nothing_at, html_and_texts
from tests.html.blog_bodies import bodies
from tests.html.payloads import PAYLOADS

BASE = "https://sea.example/"
PICTURE, SHEET, VIDEO = (
    f"assets/{pair}/{pair * 32}.{end}" for pair, end in (("ab", "png"), ("bc", "jpg"), ("cd", "mp4"))
)
FILES = {
    "https://img.example/a.png": PICTURE,
    "https://a.example/?a=1&b=2": SHEET,
    "https://www.youtube.com/watch?v=kept": VIDEO,
}
PAGES = {"https://x.example/": "entry/7.html", "https://sea.example/8": "entry/8.html"}


def writer() -> BodyWriter:
    return BodyWriter(
        FILES.get,
        BASE,
        "en",
        prefix="../../",
        page_of=PAGES.get,
        picture=lambda path: DrawnPicture(f"../../{path}", (640, 480)),
    )


def made_elsewhere(sources: list[str]) -> tuple[MadeBodies, list[str]]:
    sent = pickle.dumps((Shared("en", "../../"), BASE, "../", sources, answers_for(writer(), sources)))
    return html_and_texts(*pickle.loads(sent))


@pytest.mark.parametrize("count", [150, pytest.param(1_500, marks=pytest.mark.thorough)])
def test_bodies_equal_those_made_here(count: int) -> None:
    here = writer()
    for source in [*bodies(35, count), *PAYLOADS]:
        made, unknown = made_elsewhere([source, ""])
        assert has_nothing_at(here, unknown), source
        html, text = here.html_and_text(source, "../", colours=True)
        assert made == [(str(html), text), ("", "")], source
        assert {type(each) for pair in made for each in pair} == {str}


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ('<img src="https://img.example/a.png" alt="絵">', f"../../../{PICTURE}"),
        ("<IMG DATA-SRC = 'https://img.example/a.png'>", f"../../../{PICTURE}"),
        ("<img src=https://img.example/&#97;.png>", f"../../../{PICTURE}"),
        ('<a href=" https://x.example/ ">前の記事</a>', "../entry/7.html"),
        ('<a href="https://a.example/?a=1&amp;b=2">表</a>', f"../../../{SHEET}"),
    ],
)
def test_what_the_archive_has_is_shown(source: str, shown: str) -> None:
    ((html, _),), unknown = made_elsewhere([source])
    assert f'"{shown}"' in html
    assert unknown == []


def test_an_address_that_only_the_other_process_found_comes_back() -> None:
    frame = '<iframe src="https://www.youtube.com/embed/{}"></iframe>'
    _, unknown = made_elsewhere([frame.format("kept"), frame.format("gone")])
    assert unknown == ["https://www.youtube.com/watch?v=kept", "https://www.youtube.com/watch?v=gone"]
    assert not has_nothing_at(writer(), unknown)
    assert has_nothing_at(writer(), unknown[1:])
