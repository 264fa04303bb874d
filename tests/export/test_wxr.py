"""WXR as its readers see it: read with a standard XML parser."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exporter.errors import UsageError
from exporter.export.importer_rules import nicename
from exporter.export.interface import Side
from exporter.export.targets import TARGETS
from exporter.html.links import AddressPattern
from tests.export.hostile import ENTRIES, PICTURES, hostile_blog
from tests.export.memory import Made, Memory, export

WP = "{http://wordpress.org/export/1.2/}"
BODY = "{http://purl.org/rss/1.0/modules/content/}encoded"


def items(made: Made, kind: str = "post") -> list[ET.Element]:
    return [
        item
        for data in made.files.values()
        for item in ET.fromstring(data).iter("item")
        if item.findtext(f"{WP}post_type") == kind
    ]


def texts(made: Made, name: str, kind: str = "post") -> list[str]:
    return [item.findtext(name) or "" for item in items(made, kind)]


def test_a_post_with_everything() -> None:
    blog = Memory()
    blog.entry("42", entry_text="<p>前</p>", ps_title="続きを--> <b>読む</b>", ps_text="<p>後</p>", name="umi-no-hi")
    blog.comment("7", "42", title="題", url_text="https://kamome.example/")
    made = export("wxr", blog)
    item = items(made)[0]
    assert item.findtext("title") == "海の日"
    assert item.findtext(f"{WP}post_id") == "42"
    assert item.findtext(f"{WP}post_date") == "2024-03-05 12:34:56"
    assert item.findtext(f"{WP}post_date_gmt") == "2024-03-05 03:34:56"
    assert item.findtext(f"{WP}post_modified") == "2024-03-06 01:02:03"
    assert item.findtext(f"{WP}status") == "publish"
    assert item.findtext(f"{WP}post_name") == "umi-no-hi"
    label = "続きを&#045;-&gt; &lt;b&gt;読む&lt;/b&gt;"
    assert item.findtext(BODY) == "\n".join(
        [
            "<!-- wp:html -->\n<p>前</p>\n<!-- /wp:html -->",
            '<!-- wp:more {"customText":"続きを\\u0026#045;-\\u0026gt; \\u0026lt;b\\u0026gt;読む\\u0026lt;/b\\u0026gt;"} -->',
            f"<!--more {label}-->\n<!-- /wp:more -->",
            "<!-- wp:html -->\n<p>後</p>\n<!-- /wp:html -->",
        ]
    )
    plain = items(export("wxr", blog, wordpress_body="plain"))[0]
    assert plain.findtext(BODY) == f"<p>前</p>\n<!--more {label}-->\n<p>後</p>"
    edited = items(export("wxr", blog, wordpress_body="blocks"))[0]
    assert (edited.findtext(BODY) or "").startswith(
        "<!-- wp:paragraph -->\n<p>前</p>\n<!-- /wp:paragraph -->\n<!-- wp:more"
    )
    category = item.find("category")
    assert category is not None
    assert category.text == "日記"
    assert category.get("nicename") == "%e6%97%a5%e8%a8%98"
    metas = {meta.findtext(f"{WP}meta_key"): meta.findtext(f"{WP}meta_value") for meta in item.iter(f"{WP}postmeta")}
    assert metas["_blog_open_flg"] == "1"
    assert metas["_blog_is_private"] == "f"
    comment = next(item.iter(f"{WP}comment"))
    assert comment.findtext(f"{WP}comment_content") == "<b>題</b><br>\nいいですね"
    assert comment.findtext(f"{WP}comment_author_url") == "https://kamome.example/"
    assert comment.findtext(f"{WP}comment_approved") == "1"
    assert comment.findtext(f"{WP}commentmeta/{WP}meta_key") == "_blog_cm_id"


def test_no_two_posts_have_one_title_and_date() -> None:
    blog = Memory()
    for number, title in enumerate(("だい", "ダイ", "ﾀﾞｲ", "", "別", "別", " 別 ", "0"), 1):
        blog.entry(str(number), title=title)
    made = export("wxr", blog)
    dates = texts(made, f"{WP}post_date")
    assert dates == [f"2024-03-05 12:34:{second}" for second in (56, 57, 58, 59, 56, 57, 58)] + ["2024-03-05 12:35:00"]
    assert [row["ids"] for row in made.document["changed"]] == [["2", "3", "4", "6", "7", "8"]]


def test_comments_have_distinct_seconds_in_the_order_of_their_ids() -> None:
    blog = Memory()
    blog.entry("1")
    blog.entry("2", title="他")
    for cm_id, entry_id in (("9", "1"), ("10", "2"), ("8", "1"), ("11", "1")):
        blog.comment(cm_id, entry_id, regist_date="2024/03/07" if cm_id != "11" else None)
    made = export("wxr", blog)
    dates = {
        comment.findtext(f"{WP}comment_id"): comment.findtext(f"{WP}comment_date")
        for item in items(made)
        for comment in item.iter(f"{WP}comment")
    }
    assert dates == {
        "8": "2024-03-07 00:00:00",
        "9": "2024-03-07 00:00:01",
        "11": "2024-03-05 12:34:56",
        "10": "2024-03-07 00:00:02",
    }


def test_hidden_comments_are_unapproved_if_requested() -> None:
    blog = Memory()
    blog.entry("1")
    blog.comment("1", "1")
    blog.comment("2", "1", delete_flg="t")
    made = export("wxr", blog, hidden_comments=True)
    approved = [comment.findtext(f"{WP}comment_approved") for comment in items(made)[0].iter(f"{WP}comment")]
    assert approved == ["1", "0"]


def test_hostile_entries_parse_and_keep_all_valid_xml_characters() -> None:
    blog = hostile_blog()
    made = export("wxr", blog, wordpress_body="plain")
    bodies = texts(made, BODY)
    assert len(bodies) == ENTRIES
    assert "]]> で終わる ]]]]><![CDATA[> CDATA" in bodies[3]
    names = texts(made, f"{WP}post_name")
    assert len(set(names)) == ENTRIES
    assert all(name.isascii() for name in names)
    removed = {row["what"]: row["times"] for row in made.document["changed"]}
    assert removed["characters removed from the body that XML cannot hold"] == 19
    for item in items(made):
        for comment in item.iter(f"{WP}comment"):
            content = (comment.findtext(f"{WP}comment_content") or "").lower()
            assert "<script" not in content
            assert "onerror" not in content.replace("&lt;img src=x onerror", "")


@pytest.mark.parametrize(
    ("media", "address"),
    [
        ({}, "https://files.example.jp/v1/4"),
        ({"media_base_url": "https://new.example/m/"}, "https://new.example/m/"),
        ({"media_folder": True}, "/media/"),
    ],
)
def test_attachments_and_the_addresses_in_bodies_are_the_same(media: dict[str, Any], address: str) -> None:
    made = export("wxr", hostile_blog(), **media)
    attachments = items(made, "attachment")
    numbers = [made.document[part]["pictures"] for part in ("out", "referred")]
    assert len(attachments) == PICTURES
    assert numbers == ([PICTURES, 0] if media.get("media_folder") else [0, PICTURES])
    first = attachments[0].findtext(f"{WP}attachment_url") or ""
    assert first.startswith(address)
    assert first in texts(made, BODY)[3]
    ids = [item.findtext(f"{WP}post_id") for item in [*items(made), *attachments]]
    assert len(set(ids)) == ENTRIES + PICTURES
    assert attachments[0].findtext(f"{WP}post_parent") == "4"
    assert len(made.copies) == (PICTURES if "media_folder" in media else 0)
    assert "shows pictures that the archive does not have" in str(made.document["preflight"])


def test_links_between_posts_lead_to_their_new_homes_unless_those_are_hidden() -> None:
    blog = Memory()
    old = "https://umi.blog.example.jp/Entry/"
    blog.entry("1", entry_text=f'<a href="{old}2/">二</a> <a href="{old}3/">三</a> <a href="https://x.example/">外</a>')
    blog.entry("2", title="二番")
    blog.entry("3", title="ひみつ", is_private="t")
    made = export(
        "wxr",
        blog,
        old_urls=(AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),),
        new_url=AddressPattern("https://new.example/{year}/{slug}", "x"),
    )
    body = texts(made, BODY)[0]
    assert 'href="https://new.example/2024/%E4%BA%8C%E7%95%AA"' in body
    assert f'href="{old}3/"' in body
    assert 'href="https://x.example/"' in body
    assert texts(made, "link")[1] == "https://new.example/2024/%E4%BA%8C%E7%95%AA"


def test_files_stay_below_the_limits_and_hold_every_entry_once() -> None:
    whole = export("wxr", hostile_blog())
    made = export("wxr", hostile_blog(), max_entries=7)
    assert list(made.files) == [f"wordpress-public-{number:03}.xml" for number in range(1, 16)]
    assert texts(made, f"{WP}post_id") == texts(whole, f"{WP}post_id")
    made = export("wxr", hostile_blog(), max_bytes=150_000)
    assert len(made.files) > 2
    assert all(
        len(data) <= 150_000 or data.count(b"<wp:post_type><![CDATA[post]]>") == 1 for data in made.files.values()
    )
    assert texts(made, f"{WP}post_id") == texts(whole, f"{WP}post_id")


def test_links_and_redirects_use_the_written_names() -> None:
    blog = Memory()
    old = "https://umi.blog.example.jp/Entry/"
    for entry_id, name in (("1", "20240305"), ("2", "海の日"), ("3", "umi"), ("4", "umi"), ("5", "a b")):
        links = "".join(f'<a href="{old}{each}/">次</a>' for each in range(1, 6))
        blog.entry(entry_id, title=entry_id, name=name, entry_text=links)
    patterns = {
        "old_urls": (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),),
        "new_url": AddressPattern("/archives/{post_name}/", "x", path=True),
    }
    made = export("wxr", blog, **patterns)
    names = texts(made, f"{WP}post_name")
    assert names == ["20240305", "%e6%b5%b7%e3%81%ae%e6%97%a5", "umi", "entry-4", "entry-5"]
    wanted = [f"/archives/{name}/" for name in names]
    assert [re.findall('href="(.*?)"', body) for body in texts(made, BODY)] == [wanted] * 5
    assert texts(made, "link") == [f"{old}{each}/" for each in range(1, 6)]
    rows = export("redirects", blog, **patterns).files["redirects.csv"].decode().splitlines()[1:]
    assert rows == [f'"{old}{each}/","{new}"' for each, new in enumerate(wanted, 1)]
    ascii_names = ["20240305", "entry-2", "umi", "entry-4", "entry-5"]
    plain = export("redirects", blog, target=TARGETS["hatena"], **patterns).files["redirects.csv"].decode()
    assert re.findall("/archives/(.*?)/", plain) == ascii_names
    assert re.findall("BASENAME: (.*)", export("movabletype", blog).only().decode()) == ascii_names
    limits = {row["limit"]: row["entries"] for row in made.document["preflight"]}
    assert [ids for limit, ids in limits.items() if "digits alone" in limit] == [["1"]]


@pytest.mark.parametrize("text", ["//host/{a}", "archives/{a}", "/archives/", "/{}", "/{a}}"])
def test_an_invalid_path_pattern_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="or a path"):
        AddressPattern(text, "--new-url", path=True)
    with pytest.raises(UsageError, match=r"\{name\}\.$"):
        AddressPattern("/archives/{a}", "--old-url")


def attached(made: Made) -> dict[str, list[str]]:
    """Return the addresses of the attachments in each file, without their common prefix."""
    return {
        name: [
            (item.findtext(f"{WP}attachment_url") or "").removeprefix("https://p.example/")
            for item in ET.fromstring(data).iter("item")
            if item.findtext(f"{WP}post_type") == "attachment"
        ]
        for name, data in made.files.items()
    }


def test_a_picture_is_in_the_file_of_its_last_post() -> None:
    blog = Memory()
    shown = {"1": ["a", "b"], "2": ["a", "long"], "3": ["b"], "4": ["a", "longer"], "5": ["lost"], "6": []}
    for entry_id, names in shown.items():
        pictures = [f"https://p.example/{name}" for name in names]
        for url in pictures:
            blog.picture(url, entry_id=entry_id, data=None if url.endswith("lost") else b"x")
        blog.entry(entry_id, title=entry_id, entry_text="".join(f'<img src="{url}">' for url in pictures))
    whole = export("wxr", blog)
    parts = export("wxr", blog, max_entries=2)
    assert attached(whole) == {"wordpress-public.xml": ["a", "b", "long", "longer"]}
    # The importer would replace the start of the longer address, which comes later.
    assert list(attached(parts).values()) == [[], ["b", "a", "long", "longer"], []]
    for made in (whole, parts):
        assert made.document["referred"]["pictures"] == 4


def test_an_undated_entry_is_a_draft_with_the_nearest_date() -> None:
    blog = Memory()
    blog.entry("1", mon="02", day="31")
    made = export("wxr", blog, side=Side.REST)
    assert texts(made, f"{WP}status") == ["draft"]
    assert texts(made, f"{WP}post_date") == ["2024-03-05 00:00:00"]


def test_ids_that_are_not_numbers_get_higher_numbers() -> None:
    blog = Memory()
    for entry_id in ("5", "abc", "007", "\ud83d"):
        blog.entry(entry_id, title=entry_id)
    assert sorted(map(int, texts(export("wxr", blog), f"{WP}post_id"))) == [5, 6, 7, 8]


@pytest.mark.parametrize("name", ["日記", "旅 と 食", "A&B", "長" * 300, "\ud83d\x00", "a--b"])
def test_a_nicename_is_ascii_and_at_most_200_bytes_of_whole_characters(name: str) -> None:
    made = nicename(name)
    assert made.isascii()
    assert len(made) <= 200
    assert made.count("%") % 3 == 0 or "�" in name or len(made) < 200


def test_names_are_html_as_in_wordpress() -> None:
    blog = Memory()
    blog.entry("1", category="旅 & <食>")
    blog.comment("1", "1", name="<管理人>")
    blog.comment("2", "1", name="&" + "名" * 100)
    made = export("wxr", blog)
    item = items(made)[0]
    assert item.findtext("category") == "旅 &amp; &lt;食&gt;"
    authors = [comment.findtext(f"{WP}comment_author") for comment in item.iter(f"{WP}comment")]
    assert authors == ["&lt;管理人&gt;", "&amp;" + "名" * 80]
    assert [row["ids"] for row in made.document["changed"]] == [["2"]]


def test_an_empty_post_gets_a_body_that_wordpress_accepts() -> None:
    blog = Memory()
    blog.entry("1", title=" ", entry_text="", sec="01")
    blog.entry("2", title="0", entry_text="0", sec="02")
    blog.entry("3", entry_text="")
    made = export("wxr", blog)
    assert texts(made, BODY) == ["<!-- -->", "<!-- wp:html -->\n0\n<!-- /wp:html -->", ""]
    assert [row["ids"] for row in made.document["changed"]] == [["1"]]
    plain = export("wxr", blog, wordpress_body="plain")
    assert texts(plain, BODY) == ["<!-- -->", "0<!-- -->", ""]
    assert [row["ids"] for row in plain.document["changed"]] == [["1", "2"]]


def test_comments_that_wordpress_treats_as_commands_are_named() -> None:
    blog = Memory()
    blog.entry("1", entry_text="前<!--more-->後<!--nextpage-->")
    (row,) = export("wxr", blog).document["changed"]
    assert (row["what"], row["times"]) == ("comments defused that WordPress obeys, such as <!--more-->", 2)
