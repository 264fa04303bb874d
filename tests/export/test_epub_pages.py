"""The pages of an e-book: their numbers run on, the list names each, and none begins inside of a word's reading."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from exporter.export.epub_pages import CHARACTERS_PER_PAGE, with_page_breaks
from tests.export.memory import Memory, export
from tests.export.test_epub import EPUB_TYPE, OPF, XHTML, one, parts, text

LONG = "海" * (CHARACTERS_PER_PAGE // 2)
MARK = re.compile(r'<span epub:type="pagebreak" role="doc-pagebreak" id="page-(\d+)" aria-label="\1"></span>')


def test_a_page_begins_with_the_entry_and_after_a_thousand_characters() -> None:
    body = "".join(f"<p>{number}{LONG}</p>" for number in range(1, 6))
    chapter = parts(export("epub", one(body)))["EPUB/entry-1.xhtml"].decode()
    assert MARK.findall(chapter) == ["1", "2", "3"]
    assert [found for found in re.findall(r'label="(\d)"></span>(\d)', chapter) if found] == [("2", "3"), ("3", "5")]


def test_the_list_has_every_page_in_order_and_each_is_there() -> None:
    blog = Memory()
    for number, year in enumerate(("2015", "2016", "2016"), 1):
        blog.entry(str(number), year=year, entry_text=f"{LONG}<br>{LONG}<br>{LONG}")
    made = parts(export("epub", blog))
    nav = ET.fromstring(made["EPUB/nav.xhtml"])
    (listed,) = [each for each in nav.iter(f"{XHTML}nav") if each.get(EPUB_TYPE) == "page-list"]
    links = [(text(link), link.get("href") or "") for link in listed.iter(f"{XHTML}a")]
    assert [label for label, _ in links] == [str(number) for number in range(1, len(links) + 1)]
    assert len(links) == 6
    for label, address in links:
        file, _, place = address.partition("#")
        found = [each for each in ET.fromstring(made[f"EPUB/{file}"]).iter() if each.get("id") == place]
        assert [each.get("aria-label") for each in found] == [label]
    package = ET.fromstring(made["EPUB/package.opf"])
    features = {
        each.text for each in package.iter(f"{OPF}meta") if each.get("property") == "schema:accessibilityFeature"
    }
    assert {"pageBreakMarkers", "pageNavigation"} <= features


def test_a_book_without_entries_lists_no_pages() -> None:
    made = parts(export("epub", Memory()))
    assert b"page-list" not in made["EPUB/nav.xhtml"]
    assert b"pageBreakMarkers" not in made["EPUB/package.opf"]


def test_no_page_begins_in_a_reading_or_in_code() -> None:
    inside = f"<ruby>海<rt>{LONG}<br />{LONG}</rt></ruby><pre>{LONG}{LONG}<br />x</pre>"
    chapter, following = with_page_breaks(f'<head><p></p></head><section a="b">{inside}<p>後</p></section>', 7)
    assert MARK.findall(chapter) == ["7", "8"]
    assert f"<p>{MARK.search(chapter.partition('<pre>')[2])[0]}後" in chapter  # type: ignore[index]
    assert following == 9
