"""The book as e-readers see it: the parts, their order, the targets of links, and every option."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exporter.export.epub import cover
from exporter.export.folder import write_export
from exporter.export.formats import FORMATS
from exporter.export.interface import Comments, ExportOptions
from exporter.export.report import Report
from exporter.html.links import AddressPattern
from exporter.model.kinds import Kind
from tests.cli.conftest import Program
from tests.export.hostile import ENTRIES, entry_word, hostile_blog
from tests.export.memory import SAID, Made, Memory, count, export
from tests.html.test_footnotes import HATENA, TWICE, WORDPRESS

XHTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"
DC = "{http://purl.org/dc/elements/1.1/}"
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
OLD = AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x")
NEW = AddressPattern("https://new.example/{year}/{slug}", "x")
DATA = "data:image/gif;base64,R0lGODlhAQABAAAAACw="


def parts(made: Made, name: str = "book-public.epub") -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(made.files[name])) as packed:
        return {member: packed.read(member) for member in packed.namelist()}


def page(blog: Memory, entry_id: str = "1", **options: Any) -> ET.Element:
    return ET.fromstring(parts(export("epub", blog, **options))[f"EPUB/entry-{entry_id}.xhtml"])


def text(element: ET.Element) -> str:
    return "".join(element.itertext())


def one(body: str, **changes: Any) -> Memory:
    blog = Memory()
    blog.entry("1", entry_text=body, **changes)
    return blog


def test_the_media_type_is_first_and_uncompressed(tmp_path: Path) -> None:
    blog = one("<p>本文</p>")
    write_export(FORMATS["epub"].files(blog, ExportOptions(declared=SAID), Report()), tmp_path, tmp_path / "out")
    data = (tmp_path / "out" / "book-public.epub").read_bytes()
    assert data[30:58] == b"mimetypeapplication/epub+zip"
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        first, *rest = packed.infolist()
        assert first.compress_type == zipfile.ZIP_STORED
        assert first.extra == b""
        assert {info.compress_type for info in rest} == {zipfile.ZIP_DEFLATED}
        assert all(info.extra == b"" for info in rest)


def test_every_file_is_well_formed_and_listed() -> None:
    made = parts(export("epub", hostile_blog(), vertical=True, old_urls=(OLD,)))
    package = ET.fromstring(made["EPUB/package.opf"])
    listed = {f"EPUB/{item.get('href')}" for item in package.iter(f"{OPF}item")}
    assert listed == set(made) - {"mimetype", "META-INF/container.xml", "EPUB/package.opf"}
    ids = [item.get("id") for item in package.iter(f"{OPF}item")]
    assert len(set(ids)) == len(ids)
    read = [ref.get("idref") for ref in package.iter(f"{OPF}itemref")]
    assert read[:3] == ["cover", "nav", "year-2024"]
    assert len(read) == ENTRIES + 3
    for name, data in made.items():
        if name.endswith((".xhtml", ".opf", ".svg", ".xml")):
            ET.fromstring(data)


def test_the_contents_link_to_every_chapter() -> None:
    blog = Memory()
    for number, year in enumerate(("2017", "2016", "2016"), 1):
        blog.entry(str(number), title="" if number == 1 else f"題 & {number}", year=year)
    made = parts(export("epub", blog, title="潮 <日記>", language="ja"))
    nav = ET.fromstring(made["EPUB/nav.xhtml"])
    links = [(link.get("href"), link.text) for link in nav.iter(f"{XHTML}a")][:5]
    assert links == [
        ("year-2016.xhtml", "2016年"), ("entry-2.xhtml", "題 & 2"), ("entry-3.xhtml", "題 & 3"),
        ("year-2017.xhtml", "2017年"), ("entry-1.xhtml", "(無題)"),
    ]  # fmt: skip
    package = ET.fromstring(made["EPUB/package.opf"])
    assert package.findtext(f".//{DC}title") == "潮 <日記>"
    assert package.findtext(f".//{DC}language") == "ja"
    assert package.findtext(f".//{DC}creator") == "umi.blog.example.jp"


def test_the_author_is_the_name_from_the_service() -> None:
    blog = one("x")
    blog.add(Kind.USER, {"id": "7", "nickname": " しおね\n"})
    assert "<dc:creator>しおね</dc:creator>" in parts(export("epub", blog))["EPUB/package.opf"].decode()


def test_a_book_for_each_year() -> None:
    blog = Memory()
    for number, (year, month) in enumerate((("2016", "03"), ("2017", "01"), ("2016", "12")), 1):
        body = '<a href="/Entry/1/">同年</a><a href="/Entry/2/">翌年</a>'
        blog.entry(str(number), title=f"題{number}", year=year, mon=month, entry_text=body)
    made = export("epub", blog, by_year=True, old_urls=(OLD,), new_url=NEW)
    assert list(made.files) == ["book-2016-public.epub", "book-2017-public.epub"]
    first = parts(made, "book-2016-public.epub")
    assert {name for name in first if "entry" in name} == {"EPUB/entry-1.xhtml", "EPUB/entry-3.xhtml"}
    assert "umi.blog.example.jp 2016" in first["EPUB/package.opf"].decode()
    groups = [link.text for link in ET.fromstring(first["EPUB/nav.xhtml"]).iter(f"{XHTML}a")]
    assert groups[:4] == ["3月", "題1", "12月", "題3"]
    links = [link.get("href") for link in ET.fromstring(first["EPUB/entry-3.xhtml"]).iter(f"{XHTML}a")]
    assert links == ["entry-1.xhtml", "https://new.example/2017/%E9%A1%8C2"]
    identifiers = {re.search(r'id="id">([^<]+)', parts(made, name)["EPUB/package.opf"].decode()) for name in made.files}
    assert len({found[1] for found in identifiers if found}) == 2


def test_books_of_years_link_by_address_if_no_pattern_is_known() -> None:
    made = export("epub", one('<a href="/Entry/1/">私</a>'), by_year=True)
    link = ET.fromstring(parts(made, "book-2024-public.epub")["EPUB/entry-1.xhtml"]).find(f".//{XHTML}a")
    assert link is not None
    assert link.get("href") == "https://umi.blog.example.jp/Entry/1/"


def test_links_to_private_entries_reveal_nothing() -> None:
    blog = one('<a href="https://umi.blog.example.jp/Entry/2/#c">次</a>')
    blog.entry("2", title="秘密", is_private="t")
    made = parts(export("epub", blog, old_urls=(OLD,), new_url=NEW))
    assert "https://umi.blog.example.jp/Entry/2/#c" in made["EPUB/entry-1.xhtml"].decode()
    assert not any("秘密".encode() in data for data in made.values())


def test_pictures_are_in_the_book_once() -> None:
    blog = Memory()
    url = blog_url = "https://files.example.jp/umi.png"
    blog.picture(url, entry_id="1")
    blog.picture("https://files.example.jp/gone.png", data=None)
    big = "https://files.example.jp/big.png"
    blog.picture(big)
    for number in (1, 2):
        blog.entry(
            str(number),
            entry_text=f'<p><a href="{big}"><img src="{blog_url}" alt="小"></a><a href="{big}">大きく</a>'
            f'<img src="https://files.example.jp/gone.png" alt="消えた"><img src="{DATA}"><img src="data:image/png;base64,!">'
            f'<img src="data:image/png;base64,AAAA"><img src="{url}" width="40"></p>',
        )
    made = export("epub", blog)
    packed = parts(made)
    held = [name for name in packed if "/media/" in name]
    assert len(held) == 3
    images = list(page(blog).iter(f"{XHTML}img"))
    assert [image.get("alt") for image in images] == ["小", "大きく", "", ""]
    assert images[0].get("src") == images[1].get("src") != images[3].get("src")
    assert images[3].get("width") == "40"
    assert {f"EPUB/{image.get('src')}" for image in images} == set(held)
    assert "[消えた]" in text(page(blog))
    assert made.document["out"]["pictures"] == 3
    assert count(made.document, "left_out", "pictures") == 3


def test_pictures_that_some_readers_cannot_show_have_a_fallback() -> None:
    blog = one('<img src="https://files.example.jp/1"><a href="https://files.example.jp/2">絵</a>')
    blog.picture("https://files.example.jp/1")
    blog.kinds[Kind.ASSETS]["https://files.example.jp/1"]["content_type"] = "image/webp"
    blog.picture("https://files.example.jp/2")
    blog.kinds[Kind.ASSETS]["https://files.example.jp/2"]["content_type"] = "image/svg+xml"
    made = export("epub", blog)
    package = parts(made)["EPUB/package.opf"].decode()
    assert 'media-type="image/webp" fallback="no-picture"' in package
    assert package.count("no-picture") == 3
    assert "EPUB/no-picture.svg" in parts(made)
    assert page(blog).find(f".//{XHTML}a[@href='https://files.example.jp/2']") is not None
    assert "a book holds pictures only" in str(made.document["by_address"])


def test_comments_are_included_unless_turned_off() -> None:
    blog = one("本文")
    blog.comment(
        "7", "1", name="", title="題", cm_text="<img src=x alt=絵><script>x</script>やあ", url_text="http://a.example/"
    )
    with_them = page(blog)
    assert "(名前なし)" in text(with_them)
    assert "コメント (1)" in text(with_them)
    assert "[絵]やあ" in text(with_them)
    assert with_them.find(f".//{XHTML}a[@href='http://a.example/']") is not None
    made = export("epub", blog, comments=Comments.NONE)
    assert "やあ" not in str(parts(made))
    assert made.document["out"]["comments"] == 0
    assert made.document["left_out"][0]["reason"] == "only --comments body or sidecar writes them"


def test_footnotes_are_marked_as_in_books() -> None:
    blog = one(f"{HATENA}{TWICE}", ps_text=WORDPRESS)
    chapter = page(blog)
    (asides, refs) = (list(chapter.iter(f"{XHTML}{tag}")) for tag in ("aside", "sup"))
    assert [text(aside) for aside in asides] == ["*1 日本海。", "[1] ↑ note", "1 one x", "2 twomore "]
    links = [link for ref in refs for link in ref]
    assert [(text(link), link.get("href"), link.get("id")) for link in links] == [
        ("*1", "#fn1", "fnref1-1"), ("[1]", "#fn2", "fnref2-1"), ("[1]", "#fn2", "fnref2-2"), ("1", "#fn3", "fnref3-1"),
        ("2", "#fn4", "fnref4-1"),
    ]  # fmt: skip
    assert {(link.get(EPUB_TYPE), link.get("role")) for link in links} == {("noteref", "doc-noteref")}
    assert {(each.get(EPUB_TYPE), each.get("role")) for each in asides} == {("footnote", "doc-footnote")}
    backs = [link.get("href") for aside in asides for link in aside.iter(f"{XHTML}a")]
    assert backs == [f"#{link.get('id')}" for link in links]


def test_a_footnote_with_another_link_to_it_is_not_moved() -> None:
    inside, outside = one(HATENA, ps_text='<a href="#f-1">長い注</a>'), one(HATENA)
    outside.entry("2", entry_text='<a href="/Entry/1/#f-1">海の注</a>')
    for blog in (inside, outside):
        chapter = page(blog, old_urls=(OLD,))
        assert chapter.find(f".//{XHTML}aside") is None
        assert chapter.find(f".//{XHTML}a[@href='#c-f-1']") is not None


@pytest.mark.parametrize("tag", ["object", "datalist", "video"])
def test_a_reference_in_a_dropped_element_makes_no_footnote(tag: str) -> None:
    chapter = page(one(f'<{tag}><a href="#n" id="r">1</a></{tag}><p id="n">x <a href="#r">↩</a></p>'))
    assert "x ↩" in text(chapter)
    assert chapter.find(f".//{XHTML}aside") is None


def test_vertical_writing() -> None:
    made = parts(export("epub", one("<p>12月も<code>12</code></p>", title="第3回"), vertical=True))
    assert 'page-progression-direction="rtl"' in made["EPUB/package.opf"].decode()
    chapter = made["EPUB/entry-1.xhtml"].decode()
    assert '<p><span class="tcy">12</span>月も<code>12</code></p>' in chapter
    assert '<h1>第<span class="tcy">3</span>回</h1>' in chapter
    assert "<title>第3回</title>" in chapter
    assert "二〇二四年三月五日" in chapter
    assert "二〇二四年" in made["EPUB/year-2024.xhtml"].decode()
    assert 'class="vertical"' in chapter


@pytest.mark.parametrize(("day", "month", "written"), [
    ("10", "10", "十月十日"), ("21", "11", "十一月二十一日"), ("30", "12", "十二月三十日"),
])  # fmt: skip
def test_dates_of_vertical_books(day: str, month: str, written: str) -> None:
    assert written in text(page(one("x", day=day, mon=month), vertical=True))


def test_another_language() -> None:
    made = export("epub", one("x"), language="en-GB", vertical=True)
    chapter = parts(made)["EPUB/entry-1.xhtml"].decode()
    assert 'xml:lang="en-GB"' in chapter
    assert "2024-03-05" in chapter.replace('<span class="tcy">', "").replace("</span>", "")
    assert "Contents" in parts(made)["EPUB/nav.xhtml"].decode()


def test_an_empty_book_can_be_opened() -> None:
    made = parts(export("epub", Memory()))
    first = ET.fromstring(made["EPUB/nav.xhtml"]).find(f".//{XHTML}a")
    assert first is not None
    assert first.get("href") == "cover.xhtml"
    assert export("epub", Memory(), by_year=True).files == {}


def test_invalid_xml_characters_are_counted_and_tangles_show_their_source() -> None:
    blog = one("<b>" * 60_000 + "深い", title="\x00題\ud83d", ps_title="続き", ps_text="後")
    made = export("epub", blog)
    chapter = text(page(blog))
    assert "<b><b>" in chapter
    assert "\ufffd題\ufffd" in chapter
    assert "続き" in chapter
    changed = {row["what"]: row["times"] for row in made.document["changed"]}
    assert changed["characters removed or replaced that XML cannot hold"] == 4


def test_every_word_of_the_hostile_blog_is_in_its_chapter() -> None:
    made = parts(export("epub", hostile_blog()))
    for number in range(1, ENTRIES + 1):
        assert entry_word(number) in made[f"EPUB/entry-{number}.xhtml"].decode()


def test_the_cover_has_a_dot_for_each_month_or_day() -> None:
    days = [date(2016, 3, 19), date(2016, 3, 20), date(2018, 1, 1)]
    several = cover("潮だまり日記", "a.example", days)
    assert several.years == "2016–2018"
    assert len(several.dots) == 2 * 12
    assert max(several.dots, key=lambda dot: dot.radius) is several.dots[2]
    single = cover("潮だまり日記", "a.example", days[:2])
    assert (single.years, len(single.dots)) == ("2016", 12 * 31)
    assert single.paper == several.paper
    assert cover("", "b.example", []).dots == []
    many = cover("x", "b.example", [date(year, 1, 1) for year in range(1900, 2000)])
    assert len(many.dots) == 31 * 12
    assert all(0 <= dot.x <= 1200 and 700 <= dot.y <= 1600 for dot in many.dots)


@pytest.mark.parametrize("title", ["潮だまり日記", "長" * 400, "umi.blog.example.jp", "x" * 400, "a b " * 90])
def test_a_title_stays_on_the_cover(title: str) -> None:
    made = cover(title, "a.example", [])
    assert 1 <= len(made.lines) <= 4
    assert all(sum(2 if char > "\u2fff" else 1 for char in line.text) * made.size / 2 <= 1030 for line in made.lines)
    assert all(line.y < 800 for line in made.lines)


def test_pictures_come_from_the_archive(tmp_path: Path) -> None:
    blog = one('<img src="https://files.example.jp/1">')
    path = blog.picture("https://files.example.jp/1")
    blog.write_pictures(tmp_path)
    write_export(FORMATS["epub"].files(blog, ExportOptions(declared=SAID), Report()), tmp_path, tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "out" / "book-public.epub") as packed:
        assert [packed.read(name) for name in packed.namelist() if "media" in name] == [blog.contents[path]]
        assert packed.testzip() is None


def test_books_from_the_command_line(program: Program, made: Path, tmp_path: Path) -> None:
    said = ("--public-open-flg", "1", "--visible-delete-flg", "f")
    result = program(
        "export",
        "epub",
        made,
        tmp_path / "out",
        *said,
        "--by-year",
        "--title",
        "潮だまり",
        "--vertical",
        "--comments",
        "none",
    )
    assert result.code == 0
    books = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(books) > 5
    assert all(re.fullmatch(r"book-20\d\d-public\.epub", name) for name in books)
    for given, message in (
        (("--language", "日本"), "is not a language"),
        (("--vertical",), "--vertical is for epub, pdf, not for wxr"),
    ):
        form = "epub" if "--language" in given else "wxr"
        refused = program("export", form, made, tmp_path / "other", *said, *given)
        assert refused.code == 2
        assert message in refused.err
    assert not (tmp_path / "other").exists()
