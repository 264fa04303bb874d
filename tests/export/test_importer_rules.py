"""Content that targets are known to refuse is reported before the upload, and corrected if possible."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exporter.export.importer_rules import nicenames
from exporter.html.links import AddressPattern
from tests.export.memory import Memory, export

WP = "{http://wordpress.org/export/1.2/}"


def minded(form: str, blog: Memory, **options: Any) -> dict[str, list[str]]:
    return {row["limit"]: row["entries"] for row in export(form, blog, **options).document["preflight"]}


@pytest.mark.parametrize("form", ["wxr", "movabletype"])
def test_content_that_services_drop_is_named(form: str) -> None:
    blog = Memory()
    blog.entry("1", title="")
    blog.entry("2", title="題", entry_text="<p>動画 <IFRAME src='https://video.example/'></iframe>")
    blog.entry("3", title="長" * 30_000)
    blog.entry("4", title="普通", ps_text="<form action=x>")
    found = minded(form, blog)
    assert found["without a title"] == ["1"]
    assert found["has scripts, frames or forms, which most services drop"] == ["2", "4"]
    assert found["has a title above the 65,535 bytes WordPress holds"] == ["3"]
    assert ("has lines longer than old importers read at once" in found) == (form == "movabletype")


def test_comments_that_wordpress_would_lose_are_cut_and_reported() -> None:
    blog = Memory()
    blog.entry("1")
    blog.comment("1", "1", name="名" * 86, url_text="https://long.example/" + "x" * 200)
    blog.comment("2", "1", cm_text="文" * 22_000, url_text="")
    blog.comment("3", "1", name="短い", url_text="https://a.example/")
    made = export("wxr", blog)
    found = list(ET.fromstring(made.only()).iter(f"{WP}comment"))
    authors = [comment.findtext(f"{WP}comment_author") or "" for comment in found]
    assert authors[0] == "名" * 81
    assert authors[2] == "短い"
    assert [comment.findtext(f"{WP}comment_author_url") for comment in found] == ["", "", "https://a.example/"]  # fmt: skip
    assert {row["what"]: row["ids"] for row in made.document["changed"] if row["kind"] == "comments"} == {
        "name cut at the 245 bytes WordPress holds": ["1"],
        "address above 200 characters left out": ["1"],
    }
    assert minded("wxr", blog) == {"has a comment above the 65,535 bytes WordPress holds": ["1"]}


def test_categories_stay_apart_and_within_wordpress_length() -> None:
    blog = Memory()
    wanted = ["長" * 100, "長" * 101, "ABC", "abc", "い" * 300]
    for number, name in enumerate(wanted, 1):
        blog.entry(str(number), category=name)
    made = export("wxr", blog)
    channel = ET.fromstring(made.only())
    terms = {term.findtext(f"{WP}category_nicename"): term.findtext(f"{WP}cat_name") for term in channel.iter(f"{WP}category")}  # fmt: skip
    assert set(terms.values()) == {*wanted[:4], "い" * 200}
    assert all(len(name or "") <= 200 for name in terms)
    used = [each.get("nicename") for each in channel.iter("category")]
    assert sorted(map(str, used)) == sorted(map(str, terms))
    assert [row["ids"] for row in made.document["changed"] if "WordPress" in row["what"]] == [["5"]]


def test_many_categories_of_one_nicename() -> None:
    wanted = [f"{'長' * 30}{number}" for number in range(12)]
    made = nicenames(wanted)
    assert len({made[name] for name in wanted}) == 12
    assert all(len(made[name]) <= 200 for name in wanted)


def test_attachments_of_one_title_and_date_stay_apart() -> None:
    blog = Memory()
    urls = [f"https://files.example.jp/v1/{number}" for number in range(3)]
    for number, url in enumerate(urls):
        blog.picture(url, entry_id="1", file_id=str(number))
    for record in blog.kinds.values():
        for each in record.values():
            if "file_id" in each:
                each["title"] = "写真"
    blog.entry("1", title="写真", entry_text="".join(f'<img src="{url}">' for url in urls))
    items = list(ET.fromstring(export("wxr", blog).only()).iter("item"))
    keys = {(item.findtext("title"), item.findtext(f"{WP}post_date")) for item in items}
    assert len(items) == len(keys) == 4


def test_an_entry_over_the_file_limit_is_named() -> None:
    blog = Memory()
    blog.entry("1", entry_text="短い")
    blog.entry("2", entry_text="長い" * 1000)
    for form in ("wxr", "movabletype", "atom"):
        assert minded(form, blog, max_bytes=5000)["is larger than a file may be, and has one of its own"] == ["2"]
        assert not minded(form, blog, max_bytes=100_000)


def test_a_raw_flag_that_is_true_or_false_is_kept_as_json_writes_it() -> None:
    blog = Memory()
    blog.entry("1", is_private=False, period_flg=False)
    assert b"<wp:meta_key><![CDATA[_blog_is_private]]></wp:meta_key><wp:meta_value><![CDATA[false]]>" in export("wxr", blog).only()  # fmt: skip


def test_a_tag_that_ghost_would_refuse_or_hide_is_written_full_width() -> None:
    blog = Memory()
    for number, name in enumerate(("#隠し", ",先頭", "旅,食", "長" * 200), 1):
        blog.entry(str(number), category=name)
    made = export("ghost", blog)
    with zipfile.ZipFile(io.BytesIO(made.files["ghost-public.zip"])) as packed:
        tags = json.loads(packed.read("ghost.json"))["db"][0]["data"]["tags"]
    assert [tag["name"] for tag in tags] == ["＃隠し", "，先頭", "旅,食", "長" * 191]
    assert sorted(row["ids"] for row in made.document["changed"]) == [["#隠し", ",先頭"], ["長" * 200]]


def test_links_to_own_posts_lead_to_the_new_home_and_links_to_missing_ones_are_named() -> None:
    blog = Memory()
    links = "".join(
        f'<a href="https://umi.blog.example.jp/Entry/{number}/#top">{number}</a>' for number in (1, 2, 3, 9)
    )
    blog.entry("1", entry_text=links)
    blog.entry("2")
    blog.entry("3", is_private="t")
    old: dict[str, Any] = {"old_urls": (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),)}
    new: dict[str, Any] = {"new_url": AddressPattern("https://new.example/{entry_id}", "x")}
    old_home = "https://umi.blog.example.jp/Entry"
    book = export("html", blog, **old)
    assert 'href="#e2"' in book.only().decode().split("</nav>")[1]
    assert f'href="{old_home}/3/#top"' in book.only().decode()
    for form in ("wxr", "jsonl", "hugo"):
        text = next(
            data for name, data in export(form, blog, **old, **new).files.items() if b"Entry/3" in data
        ).decode()
        assert "https://new.example/2" in text
        assert "https://new.example/3" not in text
    for made in (book, export("wxr", blog, **old, **new)):
        found = {row["limit"]: row["entries"] for row in made.document["preflight"]}
        assert found == {"links to entries that are not in this export": ["1"]}
    assert not export("wxr", blog, **old).document["preflight"]


def test_a_file_with_hidden_comments_says_so_in_its_name() -> None:
    blog = Memory()
    blog.entry("1")
    blog.comment("1", "1", delete_flg="t", cm_text="承認待ち")
    made = export("wxr", blog, hidden_comments=True)
    assert list(made.files) == ["wordpress-public-with-hidden-comments.xml"]
    assert b"<wp:comment_approved>0<" in made.only()
    assert "承認待ち".encode() not in export("wxr", blog).only()


def test_a_category_of_dots_has_a_name_that_wordpress_keeps() -> None:
    made = nicenames(["...", "…", "。", "..", "旅"])
    assert [made[name] for name in ("...", "…", "..")] == ["category", "category-2", "category-3"]
    assert made["旅"] == "%e6%97%85"


def test_wordpress_keeps_the_nicenames_and_finds_no_other_category_by_them() -> None:
    made = nicenames(
        ["C", "C++", "C#", "2015", "2015:夏", "日記:旅", "café", "cafe\u0301", "nul.txt", "\u202e右", "\u200b"]
    )
    assert list(made.values()) == [
        "c", "c-2", "c-3", "2015", "2015-%e5%a4%8f", "%e6%97%a5%e8%a8%98-%e6%97%85", "caf%c3%a9", "caf%c3%a9-2", "nul-txt",
        "%e5%8f%b3", "category",
    ]  # fmt: skip
    blog = Memory()
    for number, name in enumerate(["-", "日記:旅", "%2f", "100%", "\x00"], 1):
        blog.entry(str(number), category=name)
    terms = ET.fromstring(export("wxr", blog).only()).iter(f"{WP}category")
    assert [term.findtext(f"{WP}cat_name") for term in terms] == ["日記:旅", "&#045;", "&#037;2f", "100%", "\ufffd"]
