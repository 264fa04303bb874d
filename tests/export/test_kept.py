"""Parts of bodies that each target keeps or names: directions, folds, indents, places, films."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exporter.export.entry_page import render_entry
from exporter.export.interface import Preset
from exporter.export.post_html import as_html, safe_body
from exporter.html.links import AddressPattern
from exporter.html.local_links import ArchiveLinks, AssetMap, EntryAddresses
from exporter.html.markdown import to_markdown
from exporter.model.records import Post
from tests.export.memory import Memory
from tests.importers.blogs import Blog
from tests.support.wide import WIDE, wide_blog

SOURCE = "https://files.example.jp/umi"


def exported(form: str, folder: Path, body: str, **options: Any) -> tuple[str, dict[str, Any]]:
    """Export one entry; return the text on all its pages, and the report."""
    records = Memory()
    records.entry("1", title="題", entry_text=body)
    report = Blog("one", records, folder / "archive").export(form, folder / "out", **options)
    files = sorted(path for path in (folder / "out").rglob("*") if path.suffix in {".md", ".atom"})
    return "\n".join(path.read_text(encoding="utf-8") for path in files), report


def codes(report: dict[str, Any]) -> set[str]:
    return {row["code"] for part in ("changed", "preflight") for row in report[part]}


def test_a_line_end_inside_of_a_tag_is_no_break() -> None:
    link = "<a\nhref='https://a.example/x'\ntitle='a\nb'>押す</a>"
    assert as_html(f"一\r\n{link}\n<script>a\nb</script>\n二 <3\n三") == (
        f"一<br>\n{link}<br>\n<script>a\nb</script><br>\n二 <3<br>\n三"
    )


def test_a_tag_in_a_comment_or_an_attribute_ends_no_line() -> None:
    for text in ("<!-- <p> -->", '<a title="<br>">押す</a>', "<script>'<div>'</script>", "<!-- <br>"):
        assert as_html(f"一\n{text}") == f"一<br>\n{text}"
    for line in ("<BR/>", "</p>", "<h2\nid=a>", "<hr>"):
        assert as_html(f"一\n<b>{line}") == f"一\n<b>{line}"


def test_markup_keeps_directions() -> None:
    body = '<p dir="RTL" onclick="x">שלום</p><p dir="x">a</p><p class="b">b</p>'
    assert safe_body(body).replace("\n", "") == '<p dir="rtl">שלום</p><p>a</p><p>b</p>'


@pytest.mark.parametrize("tag", ["p", "blockquote", "h2", "div"])
def test_text_from_right_to_left_stays_html_in_markdown(tag: str) -> None:
    made = to_markdown(f'<{tag} dir="rtl">שלום <b>a</b></{tag}><p dir="ltr">*後*</p>').text
    turned, after = made.split("\n\n")
    assert f'<{tag} dir="rtl">שלום <b>a</b></{tag}>' in turned
    assert after == r"\*後\*"


@pytest.mark.parametrize(
    ("form", "preset"), [("hugo", Preset.PLAIN), ("pelican", Preset.PLAIN), ("markdown", Preset.ASTRO)]
)
def test_no_generator_strips_the_space_that_begins_a_text(tmp_path: Path, form: str, preset: Preset) -> None:
    code = "<pre>\u3000字\n\n\u3000字</pre>"
    text, _ = exported(form, tmp_path, f"<p>\u3000一</p><p>\u3000二</p>{code}", preset=preset)
    assert "\n&#12288;一\n" in text
    assert ("\n&#12288;二\n" in text) == (form == "pelican")
    assert "\u3000字\n\n\u3000字" in text


def test_links_inside_an_entry_of_a_feed_lead_to_their_places(tmp_path: Path) -> None:
    text, _ = exported("atom", tmp_path, '<p><a href="#a">へ</a></p><h2 id="a">所</h2>')
    assert "href=&quot;#e1-a&quot;" in text
    assert "id=&quot;e1-a&quot;" in text


@pytest.mark.parametrize("form", ["epub", "pdf"])
def test_a_book_says_that_folded_parts_are_open(tmp_path: Path, form: str) -> None:
    _, report = exported(form, tmp_path, "<details><summary>開く</summary>中</details><p>後</p>")
    assert "folds_opened" in codes(report)
    assert "folds_opened" not in codes(exported(form, tmp_path / "plain", "<p>後</p>")[1])


@pytest.mark.parametrize(
    ("form", "is_said"), [("hugo", False), ("jekyll", True), ("markdown", True), ("pelican", False)]
)
def test_an_old_address_that_leads_nowhere_is_said(tmp_path: Path, form: str, is_said: bool) -> None:
    records = wide_blog()
    records.write_pictures(tmp_path)
    report = Blog("wide", records, tmp_path).export(form, tmp_path / "out", service=WIDE)
    assert ("address_unused" in codes(report)) == is_said


@pytest.mark.parametrize("form", ["hugo", "jekyll", "pelican"])
def test_old_addresses_by_a_pattern_are_in_the_pages_or_named(tmp_path: Path, form: str) -> None:
    old = (AddressPattern("https://old.example/e/{entry_id}.html", "--old-url"),)
    text, report = exported(form, tmp_path, "<p>本文</p>", old_urls=old)
    rows = [(row["what"], row["ids"]) for row in report["changed"] if row["code"] == "not_held"]
    assert ("/e/1.html" in text) == (form != "pelican")
    lost = [("written without its old address, which the format does not hold", ["1"])]
    assert rows == (lost if form == "pelican" else [])


def test_a_page_in_markdown_shows_the_featured_picture_and_films_of_the_archive() -> None:
    digest = "a" * 64
    raws = [{"url": f"{SOURCE}.{kind}", "sha256": digest, "content_type": f"{name}/{kind}", "refs": []}
            for name, kind in (("image", "png"), ("image", "gif"), ("video", "mp4"))]  # fmt: skip
    links = ArchiveLinks(AssetMap(raws, "https://a.example/"), EntryAddresses((), (), "https://a.example/"), {})
    post = WIDE.post({"id": "1", "title": "題", "featured": f"{SOURCE}.png",
                      "body": f'<video src="{SOURCE}.mp4" poster="{SOURCE}.gif" controls></video>'})  # fmt: skip
    text = render_entry(post, (), lambda body: links.localise(body, "latest/markdown/2024/a.md")).text
    stored = f"../../../assets/aa/{digest}"
    assert f"# 題\n\n![]({stored}.png)\n\n" in text
    assert f'src="{stored}.mp4"' in text
    assert f'poster="{stored}.gif"' in text
    shown: Post = WIDE.post({"id": "1", "featured": f"{SOURCE}.png", "body": f'<img src="{SOURCE}.png">'})
    assert render_entry(shown, ()).text.count(f"({SOURCE}.png)") == 1
