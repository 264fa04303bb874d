"""A page's own references are found, each with its role, in linear time for any input."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.page_references import ReferenceRole, page_references, sheet_references
from exporter.html.style_references import style_references, unescaped

HOME = "http://blog.example/x/page.html"


def found(html: str) -> dict[str, str]:
    """Return the references below the folder of the page, with their roles."""
    return {
        url.removeprefix("http://blog.example/x/"): str(role) for url, role in page_references(html, HOME).found.items()
    }


def test_a_reference_is_found_with_its_role(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, dict[str, str]]] = [
        ('<img src="a.png">', {"a.png": "part"}),
        ("<IMG SRC=a.png>", {"a.png": "part"}),
        ("<img\nsrc = 'a.png'/>", {"a.png": "part"}),
        ('<img src="data:image/gif;base64,xx" data-src=lazy.jpg>', {"lazy.jpg": "part"}),
        ('<img srcset="a.jpg 1x, b.jpg 2x" data-srcset="c.jpg 9w">', {"a.jpg": "part", "b.jpg": "part", "c.jpg": "part"}),
        ('<picture><source srcset="a.webp"></picture>', {"a.webp": "part"}),
        ("<link rel=stylesheet href=s.css?a=1&amp;b=2>", {"s.css?a=1&b=2": "sheet"}),
        ('<link rel="alternate stylesheet" href=s.css>', {"s.css": "sheet"}),
        ('<link rel="preload" as="style" href=s.css>', {"s.css": "sheet"}),
        ('<link rel="shortcut icon" href=f.ico>', {"f.ico": "part"}),
        ("<link rel=apple-touch-icon href=t.png>", {"t.png": "part"}),
        ("<link rel=manifest href=m.json>", {"m.json": "part"}),
        ('<link rel=next href="2"><link rel=canonical href=c>', {"2": "link", "c": "link"}),
        ('<link rel=alternate type="application/rss+xml" href=feed>', {"feed": "feed"}),
        ('<link rel=dns-prefetch href="//cdn.example"><link rel=pingback href=x>', {}),
        ("<style>@import url(i.css);a{background:url( 'b.png' )}</style>", {"i.css": "sheet", "b.png": "part"}),
        ("<p style=\"background:url('s.png')\">", {"s.png": "part"}),
        ("<script src=a.js></script><script>'<img src=no.png>'</script>", {"a.js": "part"}),
        ("<body background=b.gif><table background=t.gif><td background=d.gif>", {"b.gif": "part", "t.gif": "part", "d.gif": "part"}),
        ("<noscript><img src=n.png></noscript>", {"n.png": "part"}),
        ("<!-- <img src=no.png> --><img src=a.png>", {"a.png": "part"}),
        ("<textarea><img src=no.png></textarea>", {}),
        ("<video poster=p.jpg><source src=v.mp4><track src=t.vtt></video>", {"p.jpg": "part", "v.mp4": "part", "t.vtt": "part"}),
        ("<embed src=e.swf><object data=o.swf><param name=movie value=m.swf>", {"e.swf": "part", "o.swf": "part", "m.swf": "part"}),
        ("<param name=quality value=high.x>", {}),
        ("<input type=image src=i.png><input src=no.png>", {"i.png": "part"}),
        ('<svg><image xlink:href=i.svg /><use href="u.svg#a"/></svg>', {"i.svg": "part", "u.svg": "part"}),
        ("<iframe src=f.html></iframe>", {"f.html": "frame"}),
        ('<meta property="og:image" content="http://blog.example/x/o.png">', {"o.png": "part"}),
        ("<meta http-equiv=refresh content=\"0; URL='r.html'\">", {"r.html": "link"}),
        ('<meta http-equiv=refresh content="30">', {}),
        ('<a href="p?a=1&copy=2#c">x</a><area href=q>', {"p?a=1&copy=2": "link", "q": "link"}),
        ('<a href="javascript:x">y</a><a href="mailto:a@b.c">z</a><a href="#top">t</a>', {}),
        ('<div data-bg="url(l.jpg)"></div><div data-background="dark">', {"l.jpg": "part"}),
        ("<div style=background-image:image-set('a.png'1x,url(b.png)2x,'c.avif'type('image/avif'))>", {"a.png": "part", "b.png": "part", "c.avif": "part"}),
        ('<base href="/x/y/"><img src="a.png"><base href="/no/">', {"y/a.png": "part"}),
        ("<img title=it's src=a.png>", {"a.png": "part"}),
        ('<img src="a.png', {}),
        ("<img src=a.png", {"a.png": "part"}),
    ]  # fmt: skip
    for html, expected in rows:
        with subtests.test(html=html, expected=expected):
            assert found(html) == expected


def test_a_reference_counts_once_and_the_title_is_one_line() -> None:
    page = page_references("<title>A &amp; B\n c</title><img src=a><img src=a>", HOME)
    assert (page.title, list(page.found)) == ("A & B c", ["http://blog.example/x/a"])


def test_too_many_addresses_are_cut_and_stated() -> None:
    page = page_references("".join(f"<a href={n}>" for n in range(30)) + "<img src=i.png>", HOME, most=20)
    assert page.is_cut
    assert len(page.of(ReferenceRole.LINK)) == 20
    assert len(page.of(ReferenceRole.PART)) == 1


def test_a_style_sheet_gives_its_files() -> None:
    sheet = (
        '/* url(no.png) */ @charset "utf-8"; @import "a.css" screen; @import url(b.css); @namespace svg url(http://n);'
        ' .a{content:"url(no2.png)"; src:url(f.woff2) format("woff2"),url( \'f.woff\' )}'
        ' b{background:url(data:image/png;base64,AAA=)} c{x:url("a\\26 b.png")}'
    )
    page = sheet_references(sheet, "http://h.example/css/s.css")
    names = {url.removeprefix("http://h.example/css/"): role for url, role in page.found.items()}
    assert names == {
        "a.css": ReferenceRole.SHEET, "b.css": ReferenceRole.SHEET, "f.woff2": ReferenceRole.PART, "f.woff": ReferenceRole.PART, "a&b.png": ReferenceRole.PART,
    }  # fmt: skip


def test_css_escapes_are_read() -> None:
    assert unescaped(r"\000041\42 c\d83d \g") == "ABc\ufffdg"


HOSTILE = {
    "open tags": "<a " * 200_000,
    "quotes": '<p "' * 200_000,
    "quotes and ends": '<p ">"' * 200_000,
    "open values": '<p a="' * 200_001,
    "comments": "<!-- " * 200_000,
    "styles": "<style>" * 100_000,
    "style ends": "<style></styl" * 100_000,
    "attributes": "<p " + "a=1 " * 300_000,
    "srcset": '<img srcset="' + "a((" * 200_000 + '">',
    "references": '<a href="' + "&" * 500_000 + '">',
    "url": "<style>" + "url(" * 200_000,
    "css comments": "<style>" + "/*" * 300_000,
    "css strings": "<style>" + '"' * 300_001,
    "image sets": "<style>" + "image-set(" * 100_000,
    "refresh": '<meta http-equiv=refresh content="' + " " * 300_000 + '">',
    "spaces": "<a b" + " " * 500_000 + "c",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_take_linear_time(name: str) -> None:
    text = HOSTILE[name]
    begun = time.process_time()
    page_references(text, HOME)
    sheet_references(text.removeprefix("<style>"), HOME)
    assert time.process_time() - begun < 5


@given(st.text(alphabet="<>/=\"' aimgsrchefstyle-!&;:.()@url", max_size=200))
def test_any_page_gives_addresses(text: str) -> None:
    for url in page_references(text, HOME).found:
        assert url.startswith(("http://", "https://"))
    list(style_references(text))
