"""Groups of pictures in bodies become rows, and anything else stays."""

from __future__ import annotations

import time
from functools import partial
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.local_links import AssetMap
from exporter.html.page_body import BodyWriter, DrawnPicture
from exporter.html.picture_rows import bounded_ratio, row_lengths
from exporter.html.tree import Element, parse
from tests.html.test_page_body import BASE, asset

SIZES = [(640, 480), (480, 640), (900, 300), (40, 40)]
IMG = '<img src="/{}.jpg" alt="">'


def written(html: str, *, sized: bool = True) -> str:
    """Return a body of a blog with the pictures 0 to 3, whose sizes are those above."""
    known = AssetMap([asset(f"{BASE}{at}.jpg", "image/jpeg", f"{at:064x}") for at in range(4)], BASE)

    def picture(path: str) -> DrawnPicture:
        return DrawnPicture(path, SIZES[int(path[-5])] if sized else None)

    return str(BodyWriter(known.local_path, BASE, "en", picture=picture).html(html.replace("@", IMG), ""))


def pictures(*numbers: int) -> list[str]:
    return [IMG.format(number) for number in numbers]


def tree(html: str) -> list[Element]:
    return list(parse(html).elements())


def rows(html: str) -> list[list[str]]:
    """Return the numbers of the pictures in each row."""
    return [
        [each.attributes["src"][-5] for each in row.elements() if each.tag == "img"]
        for row in tree(html)
        if row.attributes.get("class") == "row"
    ]


HATENA = (
    '<div class="images-row mceNonEditable"><div class="images-row-item"><span itemscope>{}</span></div>'
    '\n<div class="images-row-item">{}</div></div>'
)
BLOCK = '<figure class="wp-block-gallery is-cropped"><figure class="wp-block-image"><a href="/9">{}</a><figcaption>港</figcaption></figure><figure>{}</figure><figcaption>春</figcaption></figure>'
OLD_BLOCK = '<ul class="wp-block-gallery columns-2"><li class="blocks-gallery-item"><figure>{}<figcaption>港</figcaption></figure></li><li>{}</li></ul>'
CLASSIC = "<div id='gallery-1' class='gallery gallery-columns-2'><dl class='gallery-item'><dt>{}</dt><dd>港</dd></dl><dl class='gallery-item'><dt>{}</dt></dl><br style='clear:both'></div>"
JETPACK = '<div class="tiled-gallery"><div class="gallery-row"><div class="gallery-group">{}<div class="tiled-gallery-caption">港</div></div><div>{}</div></div></div>'
SEPARATOR = (
    '<div class="separator" style="clear: both"><a href="/9" style="margin-left: 1em">{}</a> <a href="/9">{}</a></div>'
)
AMEBA = "<p><a href='/0.jpg'>{}</a>\u3000<a href='/1.jpg'>{}</a><br></p>"
LISTED = "<ul><li>{}</li><li>{}</li></ul>"


def test_the_groups_of_services_become_rows(subtests: pytest.Subtests) -> None:
    form_rows: list[str] = [HATENA, BLOCK, OLD_BLOCK, CLASSIC, JETPACK, SEPARATOR, AMEBA, LISTED]
    sized_rows: list[bool] = [True, False]
    for form in form_rows:
        for sized in sized_rows:
            with subtests.test(form=form, sized=sized):
                html = written(f"<p>前</p>{form.format(*pictures(0, 1))}<p>後</p>", sized=sized)
                assert rows(html) == [["0", "1"]]
                figures = [
                    each for each in tree(html) if each.tag == "figure" and "--r:" in each.attributes.get("style", "")
                ]
                assert [each.attributes["style"] for each in figures] == (
                    ["--r:1.33", "--r:0.75"] if sized else ["--r:1.33"] * 2
                )
                assert html.count("港") == ("港" in form)
                assert ("<figcaption>港</figcaption></figure>" in html) == ("港" in form)
                assert html.startswith("<p>前</p><")
                assert html.endswith("><p>後</p>")


def test_a_gallery_keeps_its_links_captions_and_common_caption() -> None:
    html = written(BLOCK.format(*pictures(0, 1)))
    assert '<a href="https://sea.example/9" rel="noopener noreferrer"><img ' in html
    assert html.endswith("</div><figcaption>春</figcaption></figure>")
    assert html.startswith('<figure class="pictures"><div class="row" style="--r:2.08">')


def test_a_picture_with_a_caption_in_a_table_becomes_a_figure() -> None:
    table = (
        '<table class="tr-caption-container" style="float: left; margin-right: 1em; text-align: left"><tbody>'
        f"<tr><td><a href='/9'>{IMG.format(0)}</a></td></tr><tr><td class='tr-caption'>港の<b>朝</b></td></tr></tbody></table>"
    )
    html = written(table)
    assert html.startswith('<figure style="float:left;margin-right:1em"><a ')
    assert html.endswith("</a><figcaption>港の<b>朝</b></figcaption></figure>")
    assert "table" not in html


@pytest.mark.parametrize(
    "html",
    [
        "<p>{}<br>{}</p>",
        "<p>{}海{}</p>",
        "<p>{}</p><p>{}</p>",
        "<div><div>{}</div><div>{}</div></div>",
        "<p>{}{}<b>x</b></p>",
        "<a href='#c'>x</a><p>{}<a id='c'>{}</a></p>",
        "<a href='#c'>x</a><div class='gallery'><div>{}</div><div id='c'>{}</div></div>",
        "<div class='gallery'>{}<p>長い文章</p>{}</div>",
        "<div class='gallery'>{}{}海</div>",
        "<div class='gallery'>{}{}<iframe src='https://a.example/'></iframe></div>",
        "<div class='my-gallery'><div>{}</div><div>{}</div></div>",
        "<a href='https://a.example/'><p>{}{}</p></a>",
        "<div class='pictures'><div class='row'><p>{}</p><p>{}</p></div></div>",
    ],
)
def test_anything_else_stays(html: str) -> None:
    shown = written(html.format(*pictures(0, 1)))
    assert rows(shown) == []
    assert "class=" not in shown.replace('class="unnamed"', "").replace('class="card"', "")
    assert shown.count("<img") == 2


@pytest.mark.parametrize("other", [IMG.format(3), IMG.format(9), IMG.format("0").replace("alt", "width=20 alt")])
def test_icons_and_missing_pictures_make_no_row(other: str) -> None:
    assert rows(written(f"<p>{IMG.format(0)}{other}</p>")) == []


def test_many_pictures_are_split_into_rows_of_at_most_three() -> None:
    found = rows(written(f"<p>{''.join(pictures(*[0, 1] * 4, 2))}</p>"))
    assert "".join("".join(row) for row in found) == "01010101" + "2"
    assert all(1 <= len(row) <= 3 for row in found)


@pytest.mark.thorough
def test_nested_galleries_take_linear_time() -> None:
    started = time.process_time()
    written("<div class=gallery>" * 190 + "<div class=gallery>@</div>x" * 10_000)
    written(("<div class=gallery>" + "<b>" * 40) * 4 + "<div class=gallery><img>x</div>" * 20_000)
    assert time.process_time() - started < 8


def test_nested_galleries_keep_their_text() -> None:
    assert written("<div class=gallery>" * 190 + "<div class=gallery>@</div>文" * 100).count("文") == 100
    assert (
        written(("<div class=gallery>" + "<b>" * 40) * 4 + "<div class=gallery><img>文</div>" * 100).count("文") == 100
    )


@given(st.lists(st.sampled_from(["<div class=gallery>", "<p>", "<figure>", "<ul><li>", "<a href=/x>", "</div>", "</p>",
       "</a>", "</figure>", "文", "<br>", "<figcaption>", "<dl><dt>", "<dd>", *pictures(0, 1, 2, 3)]), max_size=14))  # fmt: skip
def test_no_picture_and_no_text_is_lost(parts: list[str]) -> None:
    html = written("".join(parts))
    assert html.count("<img") == sum(part.startswith("<img") for part in parts)
    assert html.count("文") == parts.count("文")


ratios = st.lists(st.floats(0.4, 4), min_size=1, max_size=40)


@given(ratios, st.integers(1, 6), st.booleans())
def test_each_picture_is_in_one_row(found: list[float], most: int, fills: bool) -> None:
    lengths = row_lengths(found, wanted=3, most=most, fills_last=fills)
    assert sum(lengths) == len(found)
    assert all(1 <= length <= most for length in lengths)


def test_rows_are_as_equally_high_as_possible() -> None:
    split = partial(row_lengths, wanted=4, most=6, fills_last=False)
    assert split([1.33] * 7) == [3, 3, 1]
    assert split([0.67, 4, 1.33, 1.33, 1.33]) == [2, 3]
    assert split([4, 0.5, 0.5]) in ([1, 2], [2, 1])
    assert row_lengths([1.33] * 4, wanted=3.1, most=3, fills_last=True) == [2, 2]


def test_a_ratio_is_limited() -> None:
    assert bounded_ratio((100, 1_000)) == 0.4
    assert bounded_ratio((10_000, 10)) == 4
    assert isclose(bounded_ratio(None), 4 / 3, abs_tol=0.01)
