"""Each smaller format as its readers see it."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import zipfile
from contextlib import closing
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Any
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import pytest
import yaml

from exporter.errors import UsageError
from exporter.export.csv_table import CELL_CHARACTERS
from exporter.export.interface import Side
from exporter.export.names import UniqueNames, plain_name, wordpress_name
from exporter.export.posts import comment_combinations, entry_combinations, flag_lines
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.export.sqlite import spaced
from exporter.html.embedded import rewrite_addresses
from exporter.html.links import AddressPattern
from exporter.model.publication import Cause, Hidden
from exporter.service.blog_v1 import BlogV1, Options
from exporter.service.registry import DEFAULT_SERVICE
from tests.export.hostile import ENTRIES, PICTURES, entry_word, hostile_blog, hostile_export
from tests.export.memory import Memory, export

OLD = AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x")
NEW = AddressPattern("https://new.example/{year}/{slug}", "x")


def rows(**options: Any) -> list[dict[str, str]]:
    data = hostile_export("csv", **options).only()
    assert data.startswith(b"\xef\xbb\xbf")
    assert data.endswith(b"\r\n")
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_no_cell_of_the_table_is_a_formula_or_too_long() -> None:
    found = rows()
    assert len(found) == ENTRIES
    for row in found:
        for name, cell in row.items():
            assert not re.match(r"[\s\u3000]*[=+@|%-]", cell), (name, cell[:40])
            assert len(cell) <= CELL_CHARACTERS
    assert found[11]["title"].startswith("'=1")
    assert "区切り" in found[0]["text"]


def test_no_title_is_a_formula(subtests: pytest.Subtests) -> None:
    for first in ("=", "+", "-", "@", "|", "%", "＝", "＋", "－", "＠", " =", "\u3000@"):
        with subtests.test(first):
            blog = Memory()
            blog.entry("1", title=f"{first}SUM(1)")
            data = export("csv", blog).only().decode("utf-8-sig")
            (row,) = csv.DictReader(io.StringIO(data, newline=""))
            assert row["title"].startswith("'"), row


def test_json_lines_are_typed_and_lossless() -> None:
    made = hostile_export("jsonl", old_urls=(OLD,), new_url=NEW)
    entries = [json.loads(line) for line in made.files["entries-public.jsonl"].splitlines()]
    assert len(entries) == ENTRIES
    assert "�" in entries[6]["body_html"]
    assert entries[2]["pictures"] == []
    assert entries[19]["pictures"] == ["https://files.example.jp/v1/20"]
    assert entries[0]["url"] == "https://umi.blog.example.jp/Entry/1/"
    comments = [json.loads(line) for line in made.files["comments-public.jsonl"].splitlines()]
    assert {type(comment["visible"]) for comment in comments} == {bool}
    assert len(comments) == 3 * ENTRIES


def test_a_feed_is_well_formed_with_the_newest_first() -> None:
    blog = Memory()
    for number, year in enumerate(("2015", "2017", "2016"), 1):
        blog.entry(str(number), title=f"題{number}", year=year, ps_title="続き", ps_text="<script>x</script>後")
    feed = ET.fromstring(export("atom", blog, new_url=NEW, media_folder=True).only())
    name = "{http://www.w3.org/2005/Atom}"
    assert [entry.findtext(f"{name}title") for entry in feed.iter(f"{name}entry")] == ["題2", "題3", "題1"]
    assert feed.findtext(f"{name}entry/{name}content") == "<p>本文</p>\n<h2>続き</h2>\n後"
    link = feed.find(f"{name}entry/{name}link")
    assert link is not None
    assert link.get("href") == "https://new.example/2017/%E9%A1%8C2"
    items = json.loads(export("jsonfeed", blog, old_urls=(OLD,)).only())["items"]
    assert [item["title"] for item in items] == ["題2", "題3", "題1"]
    assert items[0]["url"] == "https://umi.blog.example.jp/Entry/2/"
    assert items[0]["tags"] == ["日記"]


def test_hostile_feeds_are_well_formed() -> None:
    assert len(list(ET.fromstring(hostile_export("atom").only()))) == ENTRIES + 4
    feed = json.loads(hostile_export("jsonfeed", media_folder=True).files["feed-public.json"])
    assert len({item["id"] for item in feed["items"]}) == ENTRIES
    assert not any("<script" in item["content_html"] for item in feed["items"])


def test_redirects_in_four_forms() -> None:
    blog = Memory()
    blog.entry("1", title='海 "の" $日')
    blog.entry("2", is_private="t")
    made = export("redirects", blog, old_urls=(OLD,), new_url=AddressPattern("https://new.example/{year}/{name}", "x"))
    assert {name: data.decode().splitlines()[-1] for name, data in made.files.items()} == {
        "redirects.csv": '"https://umi.blog.example.jp/Entry/1/","https://new.example/2024/umi"',
        "nginx.conf": 'location = "/Entry/1/" { return 301 "https://new.example/2024/umi"; }',
        "apache.conf": 'RedirectMatch 301 "^/Entry/1/$" "https://new.example/2024/umi"',
        "_redirects": "/Entry/1/ https://new.example/2024/umi 301",
    }
    assert made.document["out"]["entries"] == 1


def test_hostile_redirects_stay_within_their_lines() -> None:
    made = export(
        "redirects", hostile_blog(), old_urls=(AddressPattern("https://old.example/{title}", "x"),), new_url=NEW
    )
    for name, data in made.files.items():
        lines = data.decode().splitlines()
        assert all(line.isascii() or name in {"nginx.conf", "apache.conf"} for line in lines)
        wanted = {
            "nginx.conf": r'# .*|location [=~] "(\\.|[^"\\])*" \{ return 301 "[^"$]*"; \}',
            "_redirects": r"\S+ \S+ 301",
        }
        assert all(re.fullmatch(wanted.get(name, ".*"), line) for line in lines), name
    assert any(row["reason"].startswith("lacks a field") for row in made.document["left_out"])


def test_an_old_address_with_a_query_is_only_in_the_table() -> None:
    blog = Memory()
    blog.entry("7")
    made = export(
        "redirects", blog, old_urls=(AddressPattern("https://old.example/?eid={entry_id}", "x"),), new_url=NEW
    )
    assert b'"https://old.example/?eid=7","https://new.example/' in made.files["redirects.csv"]
    for name in ("nginx.conf", "apache.conf", "_redirects"):
        assert (
            made.files[name].decode().splitlines()[-1].startswith("# No line can say where /?eid=7 went: https://new")
        )
    assert [row["entries"] for row in made.document["preflight"]] == [["7"]]


def test_apache_escapes_addresses_itself_and_nginx_needs_expressions_for_long_ones() -> None:
    blog = Memory()
    blog.entry("1", title="海" * 90)
    old = AddressPattern("https://old.example/{title}", "x")
    made = export("redirects", blog, old_urls=(old,), new_url=AddressPattern("https://new.example/海/{name}", "x"))
    path = "海" * 90
    assert f'RedirectMatch 301 "^/{path}$" "https://new.example/海/umi"' in made.files["apache.conf"].decode()
    assert f'location ~ "^/{path}$" {{ return 301 "https://new.example/' in made.files["nginx.conf"].decode()


@pytest.mark.parametrize("title", ["../../etc/passwd", "a//b", "."])
def test_paths_that_a_server_would_shorten_are_left_out(title: str) -> None:
    blog = Memory()
    blog.entry("1", title=title)
    made = export("redirects", blog, old_urls=(AddressPattern("https://old.example/x/{title}", "x"),), new_url=NEW)
    for name in ("nginx.conf", "apache.conf"):
        assert made.files[name].decode().splitlines()[-1].startswith("# No line can say")


def test_apache_refuses_escaped_slashes() -> None:
    blog = Memory()
    blog.entry("1", title="a/b")
    made = export("redirects", blog, old_urls=(AddressPattern("https://old.example/{title}", "x"),), new_url=NEW)
    assert made.files["apache.conf"].decode().splitlines()[-1].startswith("# No line can say")
    assert made.files["nginx.conf"].decode().splitlines()[-1].startswith('location = "/a/b"')


def test_apache_reads_quotes_before_expressions() -> None:
    blog = Memory()
    blog.entry("1", title=r"\N{ONE}\u0041\.")
    made = export("redirects", blog, old_urls=(AddressPattern("https://old.example/{title}", "x"),), new_url=NEW)
    line = made.files["apache.conf"].decode().splitlines()[-1]
    assert line.startswith(r'RedirectMatch 301 "^/\\\\N\{ONE\}\\\\u0041\\\\\.$" "https://new.example/')


def test_redirects_need_patterns() -> None:
    with pytest.raises(UsageError, match="both patterns"):
        export("redirects", Memory(), new_url=NEW)


def test_a_ghost_zip() -> None:
    made = hostile_export("ghost")
    with zipfile.ZipFile(io.BytesIO(made.files["ghost-public.zip"])) as packed:
        names = packed.namelist()
        data = json.loads(packed.read("ghost.json"))["db"][0]["data"]
    posts = data["posts"]
    assert len(posts) == len({post["slug"] for post in posts}) == len({post["id"] for post in posts}) == ENTRIES
    assert not {post["slug"] for post in posts} & {"amp", "ghost", "rss"}
    assert all(1 <= len(post["title"]) <= 255 for post in posts)
    cards = [json.loads(post["lexical"])["root"]["children"][0]["html"] for post in posts]
    assert all(entry_word(number) in card for number, card in enumerate(cards, 1))
    assert {post["status"] for post in posts} == {"published"}
    shown = re.findall(r"__GHOST_URL__/(content/images/[^\"]+)", "".join(cards))
    assert len(shown) == PICTURES
    assert set(shown) == set(names) - {"ghost.json"}
    assert {row["post_id"] for row in data["posts_tags"]} == {post["id"] for post in posts}
    assert len(made.files["comments-public.jsonl"].splitlines()) == 3 * ENTRIES
    drafts = Memory()
    drafts.entry("1", title="", open_flg="2", day="99")
    with zipfile.ZipFile(io.BytesIO(export("ghost", drafts, side=Side.REST).files["ghost-NOT-PUBLIC.zip"])) as packed:
        post = json.loads(packed.read("ghost.json"))["db"][0]["data"]["posts"][0]
    assert (post["status"], post["published_at"], post["title"]) == ("draft", None, "(無題)")


def test_the_database_finds_one_character() -> None:
    blog = Memory()
    blog.entry("1", title="海の日", entry_text="<p>潮の香り</p>")
    blog.entry("2", title="山")
    blog.comment("7", "1", cm_text="香ばしい")
    blog.picture("https://files.example.jp/1", entry_id="1")
    made = export("sqlite", blog, media_folder=True)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(made.files["blog-public.sqlite"])

        def found(words: str) -> list[tuple[str, str]]:
            return connection.execute("SELECT kind, id FROM search(?) ORDER BY id", [f'"{spaced(words)}"']).fetchall()

        assert found("香") == [("entry", "1"), ("comment", "7")]
        assert found("海の") == [("entry", "1")]
        assert found("の海") == []
        assert found("山") == [("entry", "2")]
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT title FROM entries ORDER BY entry_id").fetchall() == [("海の日",), ("山",)]


def test_the_book_loads_nothing() -> None:
    made = hostile_export("html")
    page = made.only().decode()
    assert page.count("<article ") == ENTRIES
    assert page.count('src="data:image/png;base64,assets/') == made.document["out"]["pictures"] == PICTURES
    assert "<script" not in page.replace("&lt;script", "")
    assert not re.search(r'(?:src|poster)="https?:(?!//files\.example\.jp/v1/(?:8|16|24|32|40)")', page)
    assert "inlined-picture" not in page


@pytest.mark.parametrize("form", ["hugo", "jekyll", "markdown"])
def test_front_matter_reads_back(form: str) -> None:
    made = hostile_export(form, old_urls=(OLD,))
    pages = [data.decode() for name, data in made.files.items() if name.endswith(".md") and "_index" not in name]
    heads = [yaml.safe_load(page.split("---\n")[1]) for page in pages]
    assert len(heads) == ENTRIES
    assert heads[5]["title"] == "no"
    assert heads[6]["title"] == "2024-01-01"
    assert {key for head in heads for key in head} >= {"title", "date", "categories"}
    assert any("/Entry/1/" in str(head.get("aliases") or head.get("redirect_from")) for head in heads)


@pytest.mark.parametrize("form", ["jekyll", "pelican"])
def test_empty_lines_between_paragraphs_do_not_force_html(form: str) -> None:
    blog = Memory()
    blog.entry("1", entry_text="<p>**前**</p><p><br></p><p><b>中</b></p><p><br><br></p><hr><p>後</p>")
    blog.entry("2", entry_text="<p>前</p><details><p><b>中</b></p></details><p>後</p>")
    pages = {name: data.decode() for name, data in export(form, blog).files.items()}
    plain, kept = (next(text for name, text in pages.items() if name.endswith(f"-{number}.md")) for number in (1, 2))
    assert "**中**" in plain
    assert "<b>中</b>" in kept


def test_drafts_in_folders_are_marked() -> None:
    blog = Memory()
    blog.entry("1", title="下書き", open_flg="2")
    assert b"draft: true" in next(
        data for name, data in export("hugo", blog, side=Side.REST).files.items() if "content" in name
    )
    assert list(export("jekyll", blog, side=Side.REST).files) == ["_config.yml", "_drafts/下書き-1.md"]
    assert b"Status: draft" in export("pelican", blog, side=Side.REST).files["drafts/2024-03-05-下書き-1.md"]
    assert b"draft: true" in export("markdown", blog, side=Side.REST).only()


@pytest.mark.parametrize(("form", "folder"), [("jekyll", "_drafts/"), ("pelican", "drafts/"), ("markdown", "drafts/")])
def test_drafts_and_their_pictures_are_outside_of_generator_paths(form: str, folder: str) -> None:
    blog = Memory()
    url = "https://files.example.jp/a.png"
    blog.entry("1", open_flg="2", entry_text=f'<img src="{url}">')
    blog.picture(url, entry_id="1")
    made = export(form, blog, side=Side.REST)
    assert len(made.copies) == 1
    assert all(path.startswith((folder, "_config", "pelicanconf.py")) for path in [*made.files, *made.copies])


def test_names_in_addresses_are_unique() -> None:
    names = UniqueNames()
    made = [names.fit(*pair) for pair in (("a-b", "1"), ("A-B", "2"), ("", "3"), ("123", "4"), ("entry-5", "9"), ("x y", "5"), ("", "\ud83d"))]  # fmt: skip
    assert made[:6] == ["a-b", "entry-2", "entry-3", "123", "entry-5", "entry-5-2"]
    assert made[6].isascii()


def test_a_name_is_spelled_as_in_wordpress_or_left_out(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("20240305", "20240305"),
        ("Umi_no-Hi", "umi_no-hi"),
        ("海の日", "%e6%b5%b7%e3%81%ae%e6%97%a5"),
        ("カ\u3099ルー", "%e3%82%ac%e3%83%ab%e3%83%bc"),
        ("café", "caf%c3%a9"),
        ("海。！", "%e6%b5%b7%e3%80%82%ef%bc%81"),
        *(
            (name, "")
            for name in (
                "",
                "a b",
                "a.b",
                "a--b",
                "-a",
                "a%20",
                "feed",
                "海\u3000日",
                "\ud83d",
                "字" * 23,
                "×",
                "a\u0301\u0301",
            )
        ),
    ]
    for name, written in rows:
        with subtests.test(name=name, written=written):
            assert wordpress_name(name) == written
            assert plain_name(name) == (
                written if written.isalnum() or name == "Umi_no-Hi" else {"a--b": "a--b", "feed": "feed"}.get(name, "")
            )


def test_the_short_table() -> None:
    report = Report()
    report.took("entries", 7)
    report.wrote(2, "日記")
    for number in range(6):
        report.left("entries", Reason.OTHER_DAY, str(number))
    report.left("comments", Cause(Hidden.COMMENT, "flag", "'t'"), "1")
    report.changed("entries", Reason.LINES_BROKEN, "9", 3)
    report.changed("entries", Reason.NOT_EMPTY, "9", 0)
    report.limit(Reason.TITLE_LONG.at(65_535), "9")
    report.limit(Reason.TITLE_LONG.at(65_535), "9")
    lines = list(report.lines())
    assert lines[1].split() == ["entries", "7", "1", "0", "6"]
    assert lines[-5:] == [
        "left out: 6 entries: outside of the dates asked for (0, 1, 2, 3, 4, …)",
        "changed: 1 entry: long lines broken (9)",
        "mind: 1 entry: has a title above the 65,535 bytes WordPress holds (9)",
        f"closing: 6 entries: {Reason.CHOICE_STAYS.value} (0, 1, 2, 3, 4, …)",
        "closing: 1 comment: not in this export, being hidden; kept by the archive",
    ]


def test_the_survey_distinguishes_values() -> None:
    blog = Memory()
    for number, private in enumerate(("f", "f", False, None, [1]), 1):
        blog.entry(str(number), title="" if number == 1 else "題" * 100, is_private=private)
        blog.comment(str(number), str(number), delete_flg="ft"[number % 2])
    found = entry_combinations(blog, DEFAULT_SERVICE)
    assert [(one.flags["is_private"], one.count) for one in found] == [
        ("f", 2),
        ("(no text)", 1),
        (False, 1),
        (None, 1),
    ]
    assert found[0].samples == ["(1)", "題" * 60]
    assert [one.document()["count"] for one in comment_combinations(blog, DEFAULT_SERVICE)] == [3, 2]
    assert len(list(flag_lines(blog, DEFAULT_SERVICE))) == 9


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="old">x</a>', '<a href="n&amp;w">x</a>'),
        ("<IMG SRC=old ALT='src=old'>", "<IMG SRC=\"n&amp;w\" ALT='src=old'>"),
        ("<img src='o&#108;d'>", '<img src="n&amp;w">'),
        ('<img srcset="old 1x, other 2x">', '<img srcset="n&amp;w 1x, other 2x">'),
        ('<p style="color:red;background:url(old) url(\'old\')">', "<p style=\"color:red;background:url(n&amp;w) url(&#x27;n&amp;w&#x27;)\">"),
        ('<p style="color:old" style="x:URL( old )">', '<p style="color:old" style="x:URL( n&amp;w )">'),
        ('<img lowsrc="old" data-image="old">', '<img lowsrc="n&amp;w" data-image="old">'),
        ('<a title="old" href="other">', '<a title="old" href="other">'),
        ('<!-- <a href="old"> --><script>"<a href=old>"</script>', '<!-- <a href="old"> --><script>"<a href=old>"</script>'),
        ("href=old", "href=old"),
    ],
)  # fmt: skip
def test_addresses_are_rewritten_and_nothing_else(html: str, expected: str) -> None:
    assert rewrite_addresses(html, lambda address: "n&w" if address == "old" else None) == expected


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        (timezone(timedelta(hours=9), "JST"), "Asia/Tokyo"),
        (ZoneInfo("Europe/Berlin"), "Europe/Berlin"),
        (timezone(timedelta(hours=-5)), "Etc/GMT+5"),
        (UTC, "Etc/UTC"),
    ],
)
def test_jekyll_gets_the_time_zone_of_the_dates(zone: tzinfo, name: str) -> None:
    blog = Memory()
    blog.entry("1")
    service = BlogV1(Options(timezone=zone))
    assert f"timezone: {name}\n".encode() in export("jekyll", blog, service=service).files["_config.yml"]
