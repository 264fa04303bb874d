"""Addresses in entries, in all the forms that people have written since the nineties."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.embedded import EmbeddedAddress, Use, embedded
from exporter.html.tags import candidates

SHOWN, LINKED, PLAYED, FRAMED = Use.SHOWN, Use.LINKED, Use.PLAYED, Use.FRAMED


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<img src="a.jpg">', [("a.jpg", SHOWN)]),
        ("<IMG SRC=a.jpg WIDTH=3>", [("a.jpg", SHOWN)]),
        ("<img alt='>' src='a.jpg'/>", [("a.jpg", SHOWN)]),
        ('<img src="a.jpg?x=1&amp;y=2">', [("a.jpg?x=1&y=2", SHOWN)]),
        ("<img src=a.jpg?x=1&y=2>", [("a.jpg?x=1&y=2", SHOWN)]),
        ("<img src='//h/e/12.gif' alt='[#IMAGE|S58#]'>", [("//h/e/12.gif", SHOWN)]),
        ("<image src=a.gif>", [("a.gif", SHOWN)]),
        ('<a href="b.jpg"><img src="s.jpg"></a>', [("b.jpg", LINKED), ("s.jpg", SHOWN)]),
        ("<a href=b.html>x", [("b.html", LINKED)]),
        ("<map><area href=b.jpg></map>", [("b.jpg", LINKED)]),
        ("<img srcset='a.jpg 1x, b.jpg 2x' src=c.jpg>", [("c.jpg", SHOWN), ("a.jpg", SHOWN), ("b.jpg", SHOWN)]),
        ("<picture><source srcset=a.webp><img src=a.jpg></picture>", [("a.webp", SHOWN), ("a.jpg", SHOWN)]),
        ("<img data-src=a.jpg src=blank.gif>", [("blank.gif", SHOWN), ("a.jpg", SHOWN)]),
        ("<img data-lazy-src=a.jpg src=blank.gif>", [("blank.gif", SHOWN), ("a.jpg", SHOWN)]),
        ("<img data-srcset='a.jpg 1x, b.jpg 2x'>", [("b.jpg", SHOWN)]),
        ("<amp-img src=a.jpg></amp-img>", [("a.jpg", SHOWN)]),
        ("<embed src=p.swf flashvars='file=/s.mp3'>", [("p.swf", PLAYED), ("/s.mp3", LINKED)]),
        ("<video poster=p.jpg src=v.mp4></video>", [("p.jpg", SHOWN), ("v.mp4", PLAYED)]),
        ("<audio src=a><source src=b.ogg></audio>", [("a", PLAYED), ("b.ogg", PLAYED)]),
        ("<bgsound src=a.mid>", [("a.mid", PLAYED)]),
        ("<object data=a.swf></object><embed src=b.WMV>", [("a.swf", PLAYED), ("b.WMV", PLAYED)]),
        ("<object data='a.png?x=1'></object>", [("a.png?x=1", PLAYED)]),
        ("<object><param name=Movie value=a.swf><param name=flashvars value=b.swf></object>", [("a.swf", PLAYED)]),
        (
            "<embed src=//www.youtube.com/v/x>",
            [("//www.youtube.com/v/x", FRAMED), ("https://www.youtube.com/watch?v=x", LINKED)],
        ),
        ("<embed src=//player.vimeo.com/m.swf>", [("//player.vimeo.com/m.swf", FRAMED)]),
        ("<object data=a.html></object><embed src=/b>", [("a.html", FRAMED), ("/b", FRAMED)]),
        ("<iframe src=a.pdf></iframe>", [("a.pdf", FRAMED)]),
        (
            "<style>@import url(x.css); a{background:url(a.gif)} b{b:URL('b.gif')}</style>",
            [("a.gif", SHOWN), ("b.gif", SHOWN)],
        ),
        ("<input type=IMAGE src=a.gif><input src=b.gif>", [("a.gif", SHOWN)]),
        ("<table background=t.gif><tr><td background=c.gif>x", [("t.gif", SHOWN), ("c.gif", SHOWN)]),
        ("<span style=\"background:url('a.gif') , URL( b.gif )\">x</span>", [("a.gif", SHOWN), ("b.gif", SHOWN)]),
        ("<center><font><b><img src=a.jpg</b></font>", [("a.jpg</b", SHOWN)]),
        ("<p>unclosed <b><img src=a.jpg><p>more <i><img src=b.jpg>", [("a.jpg", SHOWN), ("b.jpg", SHOWN)]),
        ("<noscript><img src=a.jpg></noscript>", [("a.jpg", SHOWN)]),
        ("<!-- <img src=a.jpg> -->", []),
        ("<script>x = '<img src=a.jpg>'</script>", []),
        ("<img src=''><img><a name=x href>y</a>", []),
        ("plain text with src and href, and no tag", []),
        ("<p>no address at all</p>", []),
        ("", []),
    ],
)
def test_old_habits(html: str, found: list[tuple[str, Use]]) -> None:
    assert list(embedded(html)) == [EmbeddedAddress(*each) for each in found]


def test_a_body_too_complex_to_parse_is_read_tag_by_tag() -> None:
    tangled = (
        "<b><i><u><font a=1>" * 20_000 + "<a href=x.jpg>" + "<img src='a.jpg'>" + "<img " + "a/" * 4_900 + " src=b.jpg>"
    )
    assert {each.text for each in embedded(tangled)} >= {"a.jpg", "x.jpg"}


def test_players_and_styles_of_a_complex_body_are_found() -> None:
    tangled = "<b><i><u><font a=1>" * 20_000 + (
        "<video src=v.mp4></video><object data=o.swf></object><embed src=e.mid><param name=movie value=p.swf>"
        "<style>a{background:url(s.gif)}</style>"
    )
    assert [each.text for each in embedded(tangled)] == ["v.mp4", "o.swf", "e.mid", "p.swf", "s.gif"]


def test_a_tag_too_complex_is_skipped() -> None:
    tangled = "<img " + "a/" * 5_500 + " src=b.jpg>" + "<img src=a.jpg>"
    assert [each.text for each in embedded(tangled)] == ["a.jpg"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "html",
    [
        "<img srcset='" + "a (," * 200_000 + "'>",
        "<img srcset='" + "a " * 400_000 + "'>",
        "<img srcset='" + "," * 800_000 + "'>",
        "<p style='" + 'url("' * 200_000 + "'>",
        "<p style='" + "url( " * 200_000 + "'>",
        "<p style='url(" + "a" * 800_000 + "'>",
        "<style>" + "@import url( " * 70_000 + "</style>",
        "<style>" + "@import " * 100_000,
        "<style>url(" * 80_000,
        "<object data=" * 70_000,
        "<img src='" + "a" * 800_000,
        "<a href=" * 100_000,
    ],
)
def test_long_attributes_cost_no_more_than_their_length(html: str) -> None:
    started = time.process_time()
    list(embedded(html))
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("srcset", "found"),
    [
        ("a.jpg", ["a.jpg"]),
        ("a.jpg 1x,b.jpg 2x", ["a.jpg", "b.jpg"]),
        (" a.jpg 100w , b.jpg 200w ,", ["a.jpg", "b.jpg"]),
        ("a.jpg, b.jpg", ["a.jpg", "b.jpg"]),
        ("https://h/w_1,h_2/a.jpg 1x, b.jpg", ["https://h/w_1,h_2/a.jpg", "b.jpg"]),
        ("a.jpg (x,y) 1x, b.jpg", ["a.jpg", "b.jpg"]),
        ("a.jpg (x,y 1x, b.jpg", ["a.jpg"]),
        ("", []),
        (" , ,", []),
    ],
)
def test_candidates_of_a_srcset(srcset: str, found: list[str]) -> None:
    assert list(candidates(srcset)) == found


@given(st.text(alphabet="abc, \t()1x", max_size=80))
def test_no_srcset_is_endless(srcset: str) -> None:
    assert all(candidates(srcset))


@given(st.text(alphabet="<>=\"' /aimgsrcbhef&;", max_size=120))
def test_no_body_raises(html: str) -> None:
    assert all(each.text for each in embedded(html))
