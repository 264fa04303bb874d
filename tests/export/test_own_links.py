"""Links between the blog's own entries lead to their new addresses in formats that know these, and are counted."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporter.export.interface import Comments, ExportOptions, Preset
from exporter.export.own_links import infer_entry_url
from exporter.html.links import AddressPattern
from exporter.library.export import export_blog
from exporter.service.registry import DEFAULT_SERVICE
from tests.export.memory import BLOG, SAID, Memory, export
from tests.html.test_footnotes import HATENA

ROOT = Path(__file__).parent.parent.parent
OLD = (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),)


def linked(*paths: str, count: int = 12, host: str = f"https://{BLOG}", **fields: Any) -> Memory:
    """Return a blog whose first entry links to these paths."""
    blog = Memory()
    for number in range(1, count + 1):
        links = "".join(f'<a href="{host}{path}">次</a>' for path in paths) if number == 1 else ""
        blog.entry(str(100 + number), title=f"題{number}", entry_text=f"<p>{links}</p>", name=f"umi-{number}", **fields)
    return blog


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (("/Entry/101/", "/Entry/102/", "/Entry/103/"), "/Entry/{entry_id}/"),
        (("/Entry/101/", "/Entry/102/#c", "/Entry/103?x=1", "/Entry/104/"), "/Entry/{entry_id}/"),
        (("/blog-entry-101.html", "/blog-entry-102.html", "/blog-entry-112.html"), "/blog-entry-{entry_id}.html"),
        (("/2024/03/05/umi-1", "/2024/03/05/umi-2", "/2024/03/05/umi-3"), "/{year}/{mon}/{day}/{name}"),
        (("/?no=101&amp;x=1", "/?no=102&amp;x=1", "/?no=103&amp;x=1"), "/?no={entry_id}&x=1"),
        (("/Entry/101/", "/Entry/102/"), None),
        (("/Entry/101/", "/Entry/101/#a", "/Entry/101/#b", "/Entry/102/"), None),
        (("/page/1/", "/page/2/", "/page/3/", "/category/4/"), None),
        (("/n/101", "/n/102", "/n/103", "/n/5", "/n/6", "/n/7", "/n/8"), None),
        ((), None),
    ],
)
def test_the_pattern_of_addresses_shows_in_the_links(paths: tuple[str, ...], pattern: str | None) -> None:
    for host in (f"https://{BLOG}", f"http://{BLOG}", f"//{BLOG}", ""):
        found = infer_entry_url(DEFAULT_SERVICE, linked(*paths, host=host))
        assert (found and found.pattern.text) == (pattern and f"https://{BLOG}{pattern}")
    assert infer_entry_url(DEFAULT_SERVICE, linked(*paths, host="https://other.example")) is None


PLACES = {
    "hugo": "/posts/2024-03-05-題2-102/",
    "jekyll": '{{ "/posts/2024-03-05-題2-102/" | relative_url }}',
    "markdown": "/posts/2024-03-05-題2-102/",
    "pelican": "{filename}/2024-03-05-題2-102.md",
    "ghost": "__GHOST_URL__/umi-2/",
    "html": "#e102",
    "epub": "entry-102.xhtml",
}


@pytest.mark.parametrize("form", PLACES)
def test_links_use_the_paths_of_formats_with_known_paths(form: str) -> None:
    blog = linked("/Entry/102/", "/Entry/103/#c7", "/Entry/999/", "/category/1/", "/Entry/104/")
    blog.entry("104", title="ひみつ", is_private="t")
    made = export(form, blog, old_urls=OLD)
    text = made.everything().decode("utf-8", "replace")
    assert PLACES[form] in re.sub(
        "%[0-9A-F]{2}(?:%[0-9A-F]{2})*", lambda found: bytes.fromhex(found[0].replace("%", "")).decode(), text
    )
    assert "/Entry/102/" not in text.replace("aliases", "").replace("redirect_from", "") or form in {
        "hugo",
        "jekyll",
        "markdown",
    }
    assert "ひみつ" not in text
    assert made.document["links"] == {"rewritten": 2, "old_host": 2, "dead": 1}
    assert any("not in this export" in row["limit"] for row in made.document["preflight"])


def test_a_requested_address_precedes_the_own_one() -> None:
    made = export(
        "hugo", linked("/Entry/102/"), old_urls=OLD, new_url=AddressPattern("/a/{post_name}/", "x", path=True)
    )
    assert "](/a/umi-2/)" in made.files["content/posts/2024-03-05-題1-101/index.md"].decode()


def test_a_fragment_is_kept() -> None:
    made = export("markdown", linked("/Entry/102/?x=1#c7"), old_urls=OLD)
    assert re.search(r"\]\(/posts/[^)]*-102/#c7\)", made.files["posts/2024-03-05-題1-101.md"].decode())


def test_links_without_a_known_target_are_kept() -> None:
    made = export("wxr", linked("/Entry/102/", "/Entry/103/", "/"), old_urls=OLD)
    assert made.document["links"] == {"rewritten": 0, "old_host": 3, "dead": 0}
    assert (
        "links to the blog itself: 0 lead to the new home, 3 to the old blog still, 0 to entries that are gone"
        in list(made.report.lines())
    )
    assert json.dumps(made.document)


def test_anchors_on_a_page_with_all_entries_are_unique_per_entry() -> None:
    blog = Memory()
    far = f'<a href="https://{BLOG}/Entry/1/#fn">遠</a><a href="https://{BLOG}/Entry/3/">無</a>'
    for entry_id in ("1", "2"):
        text = f'<p><a href="#fn" id="back">1</a> &lt;b id="c-x"&gt; {far}</p>'
        blog.entry(entry_id, entry_text=text, ps_text='<ol><li id="fn">注 <a href="#back">戻る</a></li></ol>')
    blog.entry("3", entry_text='<p id="alone">x</p>')
    html = export("html", blog, old_urls=OLD).only().decode()
    ids = re.findall(r'<[^>]* id="([^"]*)"', html)
    assert ids == ["y2024", "e1", "e1-back", "e1-fn", "e2", "e2-back", "e2-fn", "e3"]
    leads = re.findall(r'href="#([^"]*)"', html.split("</nav>")[1])
    assert leads == ["e1-fn", "e1-fn", "e3", "e1-back", "e2-fn", "e1-fn", "e3", "e2-back"]
    assert '<b id="c-x">' not in html
    assert 'b id="c-x"' in html


@pytest.mark.parametrize("body", ["markdown", "html"])
def test_anchors_in_a_page_folder_are_unique_per_entry(body: str) -> None:
    blog = Memory()
    blog.entry(
        "1", entry_text=f'<p><a href="https://{BLOG}/Entry/2/#注">遠</a><a href="https://{BLOG}/Entry/2/#x">無</a></p>'
    )
    blog.entry("2", entry_text='<p><a href=" #注">注</a></p>', ps_text='<p id="注">注 <a href="#x">無</a></p>')
    made = export("hugo", blog, body=body, old_urls=OLD).everything().decode()
    assert '<a id="e2-注"></a>' in made
    far, near, gone = ("](/posts/2024-03-05-海の日-2/#{})", "](#{})", "](#{})")
    if body == "html":
        far, near, gone = ('href="/posts/2024-03-05-%E6%B5%B7%E3%81%AE%E6%97%A5-2/#{}"', 'href="#{}"', 'href="#{}"')
    assert far.format("e2-注") in made
    assert far.format("x") in made
    assert near.format("e2-注") in made
    assert gone.format("e2-x") in made


@pytest.mark.parametrize(
    ("form", "preset", "written"),
    [
        ("jekyll", Preset.PLAIN, "海[^e1-1]へ。\n\n[^e1-1]: 日本海。"),
        ("pelican", Preset.PLAIN, "海[^e1-1]へ。\n\n[^e1-1]: 日本海。"),
        ("markdown", Preset.ASTRO, "海[^e1-1]へ。\n\n[^e1-1]: 日本海。"),
        ("markdown", Preset.OBSIDIAN, "海[^1]へ。\n\n[^1]: 日本海。"),
        ("markdown", Preset.ELEVENTY, '](#e1-f-1 "注")'),
        ("hugo", Preset.PLAIN, '海<a id="e1-fn-1"></a>[\\*1](#e1-f-1 "注")'),
    ],
)
def test_footnotes_have_the_syntax_of_the_generator(form: str, preset: Preset, written: str) -> None:
    blog = Memory()
    blog.entry("1", entry_text=HATENA)
    assert written in export(form, blog, preset=preset).everything().decode()
    blog.comment("7", "1", cm_text="後", body="x")
    with_comments = export(form, blog, preset=preset, comments=Comments.BODY).everything().decode()
    # A generator writes the notes at the very end, after the comments.
    assert "](#" in with_comments
    assert "[^" not in with_comments


def test_anchors_of_a_book_are_in_their_chapter() -> None:
    blog = Memory()
    text = '<p><a href="#fn" id="back">1</a><a href="#%E6%B3%A8">2</a><a href="#gone">3</a></p>'
    more = '<ol><li id="fn">注 <a href="#back">戻る</a></li></ol><select><b id="gone"></b></select><p id="注">注</p>'
    blog.entry("1", entry_text=text, ps_text=more)
    with zipfile.ZipFile(io.BytesIO(export("epub", blog).only())) as book:
        page = book.read("EPUB/entry-1.xhtml").decode()
    assert '<a id="c-back"></a><a href="#c-fn">1</a><a href="#c-%E6%B3%A8">2</a>' in page
    assert '<li><a id="c-fn"></a>注 <a href="#c-back">戻る</a></li>' in page
    assert '<p><a id="c-注"></a>注</p>' in page
    assert ("#c-gone" in page) == ('id="c-gone"' in page)


def test_a_link_to_a_part_of_another_chapter_is_kept_if_the_part_exists() -> None:
    blog = Memory()
    blog.entry(
        "1",
        entry_text="".join(f'<a href="https://{BLOG}/Entry/2/#{place}">x</a>' for place in ("fn", "gone", "%E6%B3%A8")),
    )
    blog.entry("2", entry_text='<p id="fn">x</p>', ps_text='<p id="fn">y</p><p id="注">z</p>')
    with zipfile.ZipFile(io.BytesIO(export("epub", blog, old_urls=OLD).only())) as book:
        far, near = (book.read(f"EPUB/entry-{number}.xhtml").decode() for number in (1, 2))
    assert re.findall(r'href="(entry[^"]*)"', far) == [
        "entry-2.xhtml#c-fn",
        "entry-2.xhtml",
        "entry-2.xhtml#c-%E6%B3%A8",
    ]
    assert re.findall(r' id="(c-[^"]*)"', near) == ["c-fn", "c-注"]
    html = export("html", blog, old_urls=OLD).only().decode()
    assert re.findall(r'href="(#e2[^"]*)"', html.split("</nav>")[1]) == ["#e2-fn", "#e2", "#e2-注"]


@pytest.mark.parametrize("form", ["hugo", "jekyll", "pelican", "markdown", "ghost", "html", "epub"])
@pytest.mark.parametrize("body", ["markdown", "html"])
def test_pictures_are_found_by_any_spelling_of_their_addresses(form: str, body: str) -> None:
    blog = Memory()
    written = ("a?x=1&amp;y=2", "b?x=1&y=2", "c?x=1&copy=2", "d?x=1&#38;y=2", "e?x=1&current=2&amp;copy;=3")
    meant = ("a?x=1&y=2", "b?x=1&y=2", "c?x=1&copy=2", "d?x=1&y=2", "e?x=1&current=2&copy;=3")
    images = "".join(f'<img src="https://files.example.jp/{each}">' for each in written)
    blog.entry("1", entry_text=f"<p>{images}</p>")
    for each in meant:
        blog.picture(f"https://files.example.jp/{each}", entry_id="1")
    made = export(form, blog, body=body)
    assert b"files.example.jp" not in made.everything()
    assert made.document["out"]["pictures"] == len(meant)


def test_an_export_reports_the_inferred_address_pattern(tmp_path: Path) -> None:
    options = ExportOptions(declared=SAID)
    made = export_blog(ROOT / "sample_output", "jekyll", tmp_path / "out", options)[0]
    pattern = "https://shiodamari.blog.example.jp/Entry/{entry_id}/"
    assert made.document["inferred"] == {"old_url": pattern, "links": 4}
    assert made.document["links"] == {"rewritten": 5, "old_host": 0, "dead": 0}
    assert any(pattern in line for line in made.report.lines())
    given = replace(options, old_urls=OLD)
    again = export_blog(ROOT / "sample_output", "jekyll", tmp_path / "again", given)[0]
    assert again.document["inferred"] is None
    assert again.document["files"] == made.document["files"]
