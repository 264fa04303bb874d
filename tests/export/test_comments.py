"""The place of comments in an export: below the bodies, in separate files, or nowhere; all are accounted for."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exporter.export.formats import FORMATS
from exporter.export.interface import Comments
from exporter.html.links import AddressPattern
from tests.export.hostile import ENTRIES, comment_word, hostile_export
from tests.export.memory import Made, Memory, count, export

READ = [name for name, form in FORMATS.items() if form.shows is not None]
DSQ = "{http://www.disqus.com/}"
WP = "{http://wordpress.org/export/1.0/}"
every_reader = pytest.mark.parametrize("form", READ)
ADDRESSES: dict[str, Any] = {"new_url": AddressPattern("https://new.example/{entry_id}/", "x")}


def beside(made: Made, end: str) -> dict[str, bytes]:
    return {name: data for name, data in made.files.items() if re.search(rf"comments-[a-z-]+\.{end}$", name)}


def words_in(data: bytes) -> set[str]:
    return {found.decode() for found in re.findall(rb"zqc[0-9]+cqz", data)}


ALL = {comment_word(number) for number in range(1, 121)}


def test_formats_for_readers_offer_the_choice() -> None:
    assert READ == ["ghost", "epub", "pdf", "html", "atom", "jsonfeed", "hugo", "jekyll", "pelican", "markdown"]


@every_reader
def test_every_visible_comment_can_be_read_below_its_body(form: str) -> None:
    made = hostile_export(form, comments=Comments.BODY)
    assert len(words_in(made.everything())) == made.document["out"]["comments"] == 3 * ENTRIES
    assert count(made.document, "left_out", "comments") == made.document["in"]["comments"] - 3 * ENTRIES
    assert beside(made, "json") == beside(made, "xml") == {}


@every_reader
@pytest.mark.sample(3)
def test_separate_comments_are_in_two_files_and_nowhere_else(form: str) -> None:
    plain = hostile_export(form, comments=Comments.NONE)
    made = hostile_export(form, comments=Comments.SIDECAR)
    (name, data), (xml_name, xml) = *beside(made, "json").items(), *beside(made, "xml").items()
    assert {key: value for key, value in made.files.items() if key not in {name, xml_name}} == plain.files
    assert made.document["out"]["comments"] == 3 * ENTRIES
    assert words_in(plain.everything()) == set()
    assert len(words_in(data)) == 3 * ENTRIES
    records = json.loads(data)["comments"]
    assert len(records) == 3 * ENTRIES
    assert {type(record["html"]) for record in records} == {str}
    assert not any("<script" in record["html"] for record in records)
    threads = ET.fromstring(xml).findall("channel/item")
    assert len([each for thread in threads for each in thread.findall(f"{WP}comment")]) == 3 * ENTRIES
    folder = {"jekyll": "_data/"}.get(form, "")
    assert (name, xml_name) == (f"{folder}comments-public.json", f"{folder}comments-disqus-public.xml")


@every_reader
def test_without_comments_each_has_its_reason(form: str) -> None:
    made = hostile_export(form, comments=Comments.NONE)
    reasons = {row["reason"]: row["count"] for row in made.document["left_out"] if row["kind"] == "comments"}
    assert reasons["only --comments body or sidecar writes them"] == 3 * ENTRIES
    assert made.document["out"]["comments"] == 0


def test_feeds_have_none_by_default_and_other_formats_have_them_below() -> None:
    for form in READ:
        assert hostile_export(form).document["out"]["comments"] == (0 if form in {"atom", "jsonfeed"} else 3 * ENTRIES)


def test_a_thread_of_disqus() -> None:
    blog = Memory()
    blog.entry("5", title="<海>", year="2024", mon="03", day="05")
    blog.comment(
        "8", "5", name="潮 & 風", title="題", cm_text="やあ]]>です<script>x</script>", regist_date="2024/03/06"
    )
    blog.comment("9", "5", name="", title="", cm_text="お", regist_date="2024/03/06")
    made = export("hugo", blog, comments=Comments.SIDECAR, **ADDRESSES)
    item = ET.fromstring(made.files["comments-disqus-public.xml"]).find("channel/item")
    assert item is not None
    assert item.findtext("title") == "<海>"
    assert item.findtext("link") == "https://new.example/5/"
    assert item.findtext(f"{DSQ}thread_identifier") == "5"
    assert re.fullmatch(r"2024-03-0[45] [0-9]{2}:[0-9]{2}:[0-9]{2}", item.findtext(f"{WP}post_date_gmt") or "")
    first, second = item.findall(f"{WP}comment")
    fields = {each.tag.removeprefix(f"{WP}comment_"): each.text for each in first}
    assert set(fields) == {
        "id", "author", "author_email", "author_url", "author_IP", "date_gmt", "content", "approved", "parent",
    }  # fmt: skip
    assert (fields["author"], fields["content"]) == ("潮 & 風", "<b>題</b><br>\nやあ]]&gt;です")
    assert fields["author_email"] != second.findtext(f"{WP}comment_author_email")
    assert {row["limit"]: row["entries"] for row in made.document["preflight"]} == {
        "has a comment under three characters, which Disqus does not take": ["5"]
    }
    record = json.loads(made.files["comments-public.json"])["comments"][0]
    assert record["entry_url"] == "https://new.example/5/"
    assert (record["cm_id"], record["entry_id"], record["entry_title"]) == ("8", "5", "<海>")


def test_a_missing_address_for_disqus_is_reported() -> None:
    blog = Memory()
    blog.entry("5")
    blog.comment("8", "5", cm_text="こんにちは")
    made = export("hugo", blog, comments=Comments.SIDECAR)
    assert [row["entries"] for row in made.document["preflight"] if "Disqus" in row["limit"]] == [["5"]]
