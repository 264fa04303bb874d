"""Blogger's file as its readers see it: read with a standard XML parser."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exporter.export.interface import Side
from exporter.html.links import AddressPattern
from exporter.model.publication import Declared
from tests.export.hostile import ENTRIES, hostile_export
from tests.export.memory import Made, Memory, export

ATOM = "{http://www.w3.org/2005/Atom}"
REPLY = "{http://purl.org/syndication/thread/1.0}in-reply-to"
DRAFTS = [f"{{{space}}}" for space in ("http://purl.org/atom/app#", "http://www.w3.org/2007/app")]
KIND = "http://schemas.google.com/g/2005#kind"
LABEL = "http://www.blogger.com/atom/ns#"
SINCE_2025 = "{http://schemas.google.com/blogger/2018}"
POST = "tag:blogger.com,1999:blog-0.post-"


def entries(made: Made, kind: str = "post") -> list[ET.Element]:
    """Return all files' entries of a kind in their order."""
    wanted = [f"http://schemas.google.com/blogger/2008/kind#{kind}"]
    found = [entry for data in made.files.values() for entry in ET.fromstring(data).iter(f"{ATOM}entry")]
    return [entry for entry in found if terms(entry, KIND) == wanted]


def terms(entry: ET.Element, scheme: str) -> list[str]:
    return [each.get("term", "") for each in entry.iter(f"{ATOM}category") if each.get("scheme") == scheme]


def text(entry: ET.Element, name: str) -> str:
    return entry.findtext("/".join(f"{ATOM}{part}" for part in name.split("/"))) or ""


def changes(made: Made) -> dict[str, list[str]]:
    return {row["what"]: row["ids"] for row in made.document["changed"]}


def test_a_post_with_everything() -> None:
    blog = Memory()
    blog.entry("42", entry_text="<p>前</p>", ps_title="続きを <b>読む</b>", ps_text="<p>後</p>")
    blog.comment("7", "42", title="題", url_text="https://kamome.example/")
    old = AddressPattern("https://umi.example/{entry_id}", "x")
    made = export("blogger-atom", blog, old_urls=(old,))
    (post,), (comment,) = entries(made), entries(made, "comment")
    assert text(post, "id") == f"{POST}42"
    assert text(post, "title") == "海の日"
    assert text(post, "published") == "2024-03-05T12:34:56.000+09:00"
    assert text(post, "updated") == "2024-03-06T01:02:03.000+09:00"
    lead = "<p><strong>続きを &lt;b&gt;読む&lt;/b&gt;</strong></p>"
    assert text(post, "content") == f"<p>前</p>\n<!--more-->\n{lead}\n<p>後</p>"
    assert terms(post, LABEL) == ["日記"]
    assert [link.get("href") for link in post.iter(f"{ATOM}link")] == ["https://umi.example/42"]
    assert terms(post, "tag:blogger.com,1999:blog-0") == ["日記"]
    assert not any(post.iter(f"{DRAFTS[0]}control"))
    assert [post.findtext(f"{SINCE_2025}{name}") for name in ("type", "status", "parent")] == ["POST", "LIVE", None]
    assert text(comment, "id") == f"{POST}42.comment-7"
    assert text(comment, "content") == "<b>題</b><br>\nいいですね"
    assert text(comment, "title") == "題 いいですね"
    assert text(comment, "author/uri") == "https://kamome.example/"
    reply = comment.find(REPLY)
    assert reply is not None
    assert [comment.findtext(f"{SINCE_2025}{name}") for name in ("type", "status")] == ["COMMENT", "LIVE"]
    assert comment.findtext(f"{SINCE_2025}parent") == f"{POST}42"
    assert reply.attrib == {"ref": f"{POST}42", "href": "https://umi.example/42", "type": "text/html"}


def test_comments_follow_their_post_in_their_order() -> None:
    blog = Memory()
    for entry_id in ("1", "2"):
        blog.entry(entry_id, title=f"題{entry_id}")
    for cm_id, entry_id in (("9", "1"), ("10", "2"), ("8", "1"), ("11", "1")):
        blog.comment(cm_id, entry_id, regist_date="2024/03/07")
    made = export("blogger-atom", blog)
    ids = [
        entry.findtext(f"{ATOM}id", "").removeprefix(POST) for entry in ET.fromstring(made.only()).iter(f"{ATOM}entry")
    ]
    assert ids == ["1", "1.comment-8", "1.comment-9", "1.comment-11", "2", "2.comment-10"]
    moments = [datetime.fromisoformat(text(each, "published")) for each in entries(made, "comment")]
    assert len(set(moments)) == 4
    assert moments[:3] == sorted(moments[:3])
    assert {text(each, "updated") == text(each, "published") for each in entries(made, "comment")} == {True}
    assert not any("href" in reply.attrib for reply in ET.fromstring(made.only()).iter(REPLY))


@pytest.mark.parametrize(
    ("side", "options"), [(Side.REST, {}), (Side.DRAFTS, {"declared": Declared(all_as_draft=True)})]
)
def test_private_entries_are_exported_as_drafts(side: Side, options: dict[str, Any]) -> None:
    blog = Memory()
    blog.entry("1", open_flg="2")
    blog.entry("2", title="秘", is_private="t")
    made = export("blogger-atom", blog, side=side, **options)
    found = entries(made)
    assert len(found) == (2 if side is Side.REST else 1)
    for entry in found:
        assert [entry.findtext(f"{space}control/{space}draft") for space in DRAFTS] == ["yes", "yes"]
        assert entry.findtext(f"{SINCE_2025}status") == "DRAFT"


def test_labels_have_only_permitted_characters() -> None:
    blog = Memory()
    for number, name in enumerate(("旅 & <食>", "@home!", "い" * 201), 1):
        blog.entry(str(number), category=name, title=f"題{number}")
    made = export("blogger-atom", blog)
    assert [terms(entry, LABEL) for entry in entries(made)] == [["旅 ＆ ＜食＞"], ["＠home！"], ["い" * 200]]
    assert changes(made) == {
        "label cut at the 200 characters Blogger holds": ["3"],
        "label's & < > @ ! written full-width, since Blogger allows none of them": ["1", "2"],
    }


def test_comments_that_blogger_would_refuse_are_corrected_or_named() -> None:
    blog = Memory()
    blog.entry("1")
    blog.comment("1", "1", name="  ", url_text="javascript:alert(1)")
    blog.comment("2", "1", cm_text="", title="")
    blog.comment("3", "1", cm_text="あ" * 80)
    made = export("blogger-atom", blog)
    first, third = entries(made, "comment")
    assert (text(first, "author/name"), first.find(f"{ATOM}author/{ATOM}uri")) == ("Anonymous", None)
    assert text(third, "title") == "あ" * 50
    (left,) = made.document["left_out"]
    assert (left["reason"], left["ids"]) == ("without a text, and Blogger takes none such", ["2"])
    assert changes(made) == {"name made up, since Blogger wants one": ["1"]}
    assert made.document["out"]["comments"] == 2


def test_pictures_are_addresses_unless_they_are_included() -> None:
    blog = Memory()
    url = "https://files.example.jp/sea.png"
    blog.picture(url, entry_id="1")
    blog.entry("1", entry_text=f'<img src="{url}">')
    made = export("blogger-atom", blog)
    assert (made.document["out"]["pictures"], made.document["referred"]["pictures"]) == (0, 1)
    assert url in text(entries(made)[0], "content")
    moved = export("blogger-atom", blog, media_folder=True, media_base_url="https://new.example/m/")
    assert moved.document["out"]["pictures"] == 1
    assert 'src="https://new.example/m/' in text(entries(moved)[0], "content")


def test_a_post_and_its_comments_are_in_one_file() -> None:
    made = hostile_export("blogger-atom", max_bytes=20_000)
    assert len(made.files) > 3
    for data in made.files.values():
        feed = ET.fromstring(data)
        ids = {entry.findtext(f"{ATOM}id") for entry in feed.iter(f"{ATOM}entry")}
        assert {reply.get("ref") for reply in feed.iter(REPLY)} <= ids
        assert feed.findtext(f"{ATOM}generator") == "Blogger"


def test_themes_and_settings_are_never_written() -> None:
    made = hostile_export("blogger-atom")
    every = list(ET.fromstring(made.only()).iter(f"{ATOM}entry"))
    assert len(every) == len(entries(made)) + len(entries(made, "comment")) == 4 * ENTRIES
