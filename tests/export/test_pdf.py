"""The pages of a book to print, before they are set: their order, ids, notes, links, volumes and limits."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from exporter.errors import NoSuchRecord
from exporter.export import pdf
from exporter.export.interface import Paper
from exporter.export.pdf_chapter import is_simple, only_paragraphs, printed
from exporter.html.links import AddressPattern
from tests.export.memory import Made, Memory, export
from tests.export.test_epub import DATA, one, parts
from tests.html.test_footnotes import HATENA

OLD = AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x")


def members(made: Made, name: str = "book-public.pdf") -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(made.files[name])) as packed:
        return {member: packed.read(member).decode() for member in packed.namelist()}


def body(blog: Memory, **options: object) -> str:
    return members(export("pdf", blog, **options))["body.html"]


def test_the_parts_of_a_book_in_their_order() -> None:
    blog = Memory()
    for number, year in enumerate(("2017", "2016", "2016"), 1):
        blog.entry(str(number), title=f"題 & {number}", year=year, entry_text=f"<p>本文{number}</p>")
    blog.comment("8", "2", cm_text="<b>どうも</b>")
    made = members(export("pdf", blog, title="潮 <日記>"))
    assert list(made) == ["body.html", "front.html", "style.css"]
    order = re.findall(r'class="year">(\d+)|<article id="e(\d)">|(どうも)|class="(colophon)"', made["body.html"])
    assert ["".join(each) for each in order] == ["2016", "2", "どうも", "3", "2017", "1", "colophon"]
    assert re.findall(r'name">([^<]+)</span><b class="page" data-of="([^"]+)"', made["front.html"]) == [
        ("題 &amp; 2", "e2"), ("題 &amp; 3", "e3"), ("題 &amp; 1", "e1"),
    ]  # fmt: skip
    assert "潮 &lt;日記&gt;" in made["front.html"]
    assert "2016–2017" in made["front.html"]
    for fact in ("https://umi.blog.example.jp/", "<dd>3</dd>", "<dd>1</dd>", "2016年3月5日", "2017年3月5日"):
        assert fact in made["body.html"].partition('class="colophon"')[2]


def test_a_book_for_each_year() -> None:
    blog = Memory()
    for number, (year, month) in enumerate((("2016", "03"), ("2017", "01"), ("2016", "12")), 1):
        blog.entry(str(number), title=f"題{number}", year=year, mon=month)
    made = export("pdf", blog, by_year=True)
    assert list(made.files) == ["book-2016-public.pdf", "book-2017-public.pdf"]
    front = members(made, "book-2016-public.pdf")["front.html"]
    assert re.findall(r"<h2>([^<]+)</h2>", front) == ["3月", "12月"]
    assert "umi.blog.example.jp 2016" in front


def test_a_thick_book_is_divided_into_volumes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_MAX_PAGES", 2)
    blog = Memory()
    for number in range(1, 6):
        blog.entry(str(number), entry_text=f"<p>{'海' * 1000}</p>")
    made = export("pdf", blog)
    assert list(made.files) == ["book-public.pdf", "book-public-2.pdf", "book-public-3.pdf"]
    found = [re.findall(r'<article id="e(\d)">', members(made, name)["body.html"]) for name in made.files]
    assert found == [["1", "2"], ["3", "4"], ["5"]]
    assert all('class="volume"' in members(made, name)["front.html"] for name in made.files)
    assert made.document["out"]["entries"] == 5


def test_the_ids_of_an_entry_are_its_own_and_links_find_them() -> None:
    blog = Memory()
    text = '<p id="t">場所</p><a href="#t">上へ</a><a href="/Entry/2/#t">隣の場所</a><a href="/Entry/2/">隣</a>'
    blog.entry("1", entry_text=text)
    blog.entry("2", entry_text='<p id="t">ここ</p>')
    html = body(blog, old_urls=(OLD,))
    assert re.findall(r'href="(#[^"]*)"', html) == [
        "#e1-c-t",
        "#e2-c-t https://umi.blog.example.jp/Entry/2/#t",
        "#e2 https://umi.blog.example.jp/Entry/2/",
    ]
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(set(ids)) == len(ids)
    assert {"e1", "e1-c-t", "e2", "e2-c-t"} <= set(ids)


def test_notes_are_at_the_foot_of_the_page_or_in_vertical_books_at_the_end() -> None:
    foot, end = body(one(HATENA)), body(one(HATENA), vertical=True)
    note = re.search(r'</sup><span class="note" id="e1-fn1">(.*?)</span>', foot)
    assert note is not None
    assert "<aside" not in foot
    assert 'class="note"' not in end
    assert end.count("<aside") == foot.count('class="note"')


def test_a_note_with_blocks_stays_at_the_end() -> None:
    call = '<sup><a epub:type="noteref" role="doc-noteref" id="fnref1-1" href="#fn1">1</a></sup>'
    aside = '<aside epub:type="footnote" role="doc-footnote" id="fn1"><ul><li>項</li></ul></aside>'
    assert "<aside" in printed(f"<p>文{call}</p>{aside}", "7", notes_at_foot=True)


def test_readings_and_cards_are_written_for_paper() -> None:
    html = body(
        one('<ruby>海<rt>うみ</rt></ruby><iframe src="https://www.youtube.com/embed/abcdefghijk" title="波"></iframe>')
    )
    assert '<span class="ruby"><span class="rt">うみ</span>海</span>' in html
    card = re.search(
        r'<div class="player"><a href="([^"]+)">波</a><br /><span class="address">([^<]+)</span></div>', html
    )
    assert card is not None
    assert card[1] == card[2]


@pytest.mark.parametrize(
    "hostile",
    [
        "<b>x</b>" * 20_000,
        "<table><tr><td>" * 8 + "深" + "</td></tr></table>" * 8,
        '<table><tr><td colspan="900">広</td></tr></table>',
    ],
    ids=["many", "deep", "wide"],
)
def test_an_entry_that_would_take_too_long_is_only_its_text(hostile: str) -> None:
    made = export("pdf", one(f"<p>前</p>{hostile}<p>後</p>"))
    html = members(made)["body.html"]
    assert "前" in html
    assert "後" in html
    assert is_simple(html)
    assert not re.search(r"<(?:table|b)\b", html.partition("<article")[2].partition("</article>")[0])
    assert "its text only" in str(made.document["changed"])


def test_only_paragraphs_keeps_the_text() -> None:
    chapter = (
        '<article id="e1"><div class="text"><table><tr><td>甲</td><td>乙</td></tr></table><i>丙</i></div></article>'
    )
    assert only_paragraphs(chapter) == '<article id="e1">甲 乙 <br />丙<br /></article>'


def test_no_style_and_no_address_of_a_stranger_is_in_the_pages() -> None:
    html = body(
        one(
            '<p style="position:fixed;background:url(https://evil.example/x.png)">文</p><style>@import "//evil"</style>'
            '<img src="https://evil.example/p.png"><img src="file:///etc/passwd"><svg><image href="http://evil/"/></svg>'
        )
    )
    inside = html.partition("<article")[2].partition("</article>")[0]
    assert "文" in inside
    assert not re.search(r"style|src=|url\(|import|passwd|<svg", inside)


def test_pictures_are_members_once() -> None:
    blog = Memory()
    url = "https://files.example.jp/umi.png"
    blog.picture(url, entry_id="1")
    for number in (1, 2):
        blog.entry(str(number), entry_text=f'<img src="{url}" alt="海"><img src="{DATA}">')
    made = members(export("pdf", blog))
    pictures = [name for name in made if name.startswith("media/")]
    assert len(pictures) == len(set(pictures)) == 2
    assert all(f'src="{name}"' in made["body.html"] for name in pictures)


@pytest.mark.parametrize("form", ["epub", "pdf"])
def test_a_picture_of_the_blog_becomes_the_cover(form: str) -> None:
    blog = Memory()
    url = "https://files.example.jp/umi.png"
    blog.picture(url, entry_id="1")
    blog.entry("1", entry_text=f'<img src="{url}">')
    for cover in (url, "1"):
        made = export(form, blog, cover=cover)
        if form == "epub":
            package = parts(made)["EPUB/package.opf"].decode()
            (item,) = re.findall(r'<item id="cover-image" href="(media/[^"]+)".*properties="cover-image"', package)
            assert f'<img src="{item}"' in parts(made)["EPUB/cover.xhtml"].decode()
            assert "EPUB/cover.svg" not in parts(made)
        else:
            assert re.search(r'class="cover"><img src="media/', members(made)["front.html"])


def test_a_picture_of_private_entries_is_no_cover() -> None:
    blog = one("文")
    url = "https://files.example.jp/secret.png"
    blog.picture(url, entry_id="2")
    blog.entry("2", entry_text=f'<img src="{url}">', is_private="t")
    for form in ("epub", "pdf"):
        for cover in (url, "2", "https://files.example.jp/unknown.png", "99"):
            with pytest.raises(NoSuchRecord):
                export(form, blog, cover=cover)


def test_the_pages_have_the_size_of_the_paper() -> None:
    for paper, size in ((None, "148mm 210mm"), (Paper.A5, "148mm 210mm"), (Paper.B6, "128mm 182mm")):
        assert f"size: {size}" in members(export("pdf", one("x"), paper=paper))["style.css"]
