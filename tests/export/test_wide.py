"""Every format with records that state more than one category: nothing lost without a word, nothing private shown."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exporter.errors import UsageError
from exporter.export.formats import FORMATS
from exporter.export.interface import Comments, Preset, Side
from exporter.export.parts import Part
from exporter.html.links import AddressPattern
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from tests.export.memory import Made, export
from tests.support.wide import AS_OF, EMAILS, FILES, HOST, SECRET, WIDE, WideBlog, wide_blog

FORMS = [name for name, form in FORMATS.items() if not form.whole and name != "redirects"]
every_format = pytest.mark.parametrize("form", FORMS)
WP = "{http://wordpress.org/export/1.2/}"
HAS: dict[Part, tuple[str, int]] = {
    Part.PARENTS: ("entries", 2), Part.TAGS: ("entries", 2), Part.AUTHOR: ("entries", 3), Part.EXCERPT: ("entries", 2),
    Part.FEATURED: ("entries", 2), Part.ADDRESS: ("entries", 4), Part.PAGE: ("entries", 1), Part.THREADS: ("comments", 5),
    Part.NOTICES: ("comments", 2), Part.EMAIL: ("comments", 2), Part.OWNER: ("comments", 1),
}  # fmt: skip
"""The parts of the public records, with the kind and the number of the records that have them."""
LOST = {
    Part.PARENTS: "the parents of its categories", Part.TAGS: "its tags", Part.AUTHOR: "its author's name",
    Part.EXCERPT: "its excerpt", Part.FEATURED: "its featured picture", Part.ADDRESS: "its old address", Part.PAGE: "its mark as a page",
    Part.THREADS: "the comment that it answers", Part.NOTICES: "its mark as a trackback or pingback",
    Part.EMAIL: "its writer's mail address", Part.OWNER: "its mark as the owner's",
}  # fmt: skip
HELD = {
    "wxr": set(HAS),
    "movabletype": {Part.TAGS, Part.AUTHOR, Part.EXCERPT, Part.NOTICES, Part.EMAIL},
    "blogger-atom": {Part.TAGS, Part.AUTHOR, Part.ADDRESS, Part.PAGE, Part.THREADS},
    "ghost": set(HAS) - {Part.PARENTS, Part.ADDRESS, Part.EMAIL},
    "csv": set(HAS),
    "atom": {Part.TAGS, Part.AUTHOR, Part.EXCERPT, Part.ADDRESS},
    "jsonfeed": {Part.TAGS, Part.AUTHOR, Part.EXCERPT, Part.ADDRESS, Part.FEATURED},
    "pelican": set(HAS) - {Part.PARENTS, Part.ADDRESS, Part.EMAIL},
    **dict.fromkeys(["sqlite", "parquet", "jsonl"], set(HAS) - {Part.EMAIL}),
    **dict.fromkeys(["epub", "pdf", "html"], set(HAS) - {Part.PAGE, Part.ADDRESS, Part.EMAIL}),
    **dict.fromkeys(["hugo", "jekyll", "markdown"], set(HAS) - {Part.PARENTS, Part.EMAIL}),
}


def made_of(form: str, blog: WideBlog | None = None, **options: Any) -> Made:
    chosen = {"declared": Declared(), "service": WIDE, "as_of": AS_OF, **options}
    return export(form, blog or wide_blog(), **chosen)


@cache
def public(form: str) -> Made:
    return made_of(form)


def page(made: Made, title: str) -> tuple[dict[str, Any], str]:
    """Return the front matter and the text of the page of an entry with this title."""
    text = next(data.decode() for name, data in made.files.items() if title in name and not name.startswith("daily"))
    _, head, body = text.split("---\n", 2)
    fields = (line.split(": ", 1) for line in head.splitlines())
    return {name: value if value[:1].isdecimal() else json.loads(value) for name, value in fields}, body


def test_what_nobody_may_see_is_in_no_public_export(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            for options in ({}, {"media_folder": True}, {"old_urls": (AddressPattern(f"{HOST}/{{id}}", "x"),)}):
                made = made_of(form, **options)
                assert SECRET not in made.everything()
                assert made.document["out"]["entries"] == 4


@pytest.mark.parametrize("form", [name for name in FORMS if FORMATS[name].shows is not None])
def test_files_beside_the_pages_hold_the_same(form: str) -> None:
    made = made_of(form, comments=Comments.SIDECAR)
    assert SECRET not in made.everything()
    comments = next(json.loads(data) for name, data in made.files.items() if name.endswith("comments-public.json"))
    parents = {each["cm_id"]: each["parent"] for each in comments["comments"]}
    assert parents == {"c9": None, "c5": "c9", "c7": "c5", "c1": None, "t1": None, "p1": None, "a1": None,
                       "loop1": "loop2", "loop2": "loop1"}  # fmt: skip
    disqus = next(data.decode() for name, data in made.files.items() if "disqus" in name)
    threads = dict(re.findall(r"<wp:comment_id>(\w+)</wp:comment_id>.*?<wp:comment_parent>(\w+)<", disqus, re.DOTALL))
    assert threads == {"c9": "0", "c5": "c9", "c7": "c5", "c1": "0", "t1": "0", "p1": "0", "a1": "0", "loop1": "0",
                       "loop2": "loop1"}  # fmt: skip


def test_mail_addresses_go_only_to_the_next_home(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            everything = public(form).everything()
            assert [email in everything for email in EMAILS] == [form in {"wxr", "movabletype"}] * 2


def test_the_report_counts_what_the_format_does_not_hold(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            lost = {
                part: HAS[part]
                for part in HAS
                if part not in HELD[form] and (HAS[part][0] == "entries" or _comments(form))
            }
            rows = [row for row in public(form).document["changed"] if row["code"] == "not_held"]
            wanted = {
                f"written without {LOST[part]}, which the format does not hold": (kind, number)
                for part, (kind, number) in lost.items()
            }
            assert {row["what"]: (row["kind"], row["records"]) for row in rows} == wanted


def _comments(form: str) -> bool:
    return FORMATS[form].comments


def test_an_answer_to_a_hidden_comment_is_named(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            rows = {row["code"]: row["ids"] for row in public(form).document["changed"]}
            held = _comments(form) and Part.THREADS in HELD[form]
            assert rows.get("answered_left_out") == (["c1"] if held else None)


def test_all_categories_are_counted(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            document = public(form).document
            assert document["in"]["categories"] == document["out"]["categories"] == 3


def test_the_choice_of_a_category_or_a_tag_looks_at_all_of_them(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            assert made_of(form, category="欧州").document["out"]["entries"] == 2
            assert made_of(form, category="海").document["out"]["entries"] == 1
            made = made_of(form, tag="貝, 砂")
            assert made.document["out"]["entries"] == 1
            assert "without the tag" in {row["reason"] for row in made.document["left_out"]}


@pytest.mark.parametrize("form", ["hugo", "jekyll", "pelican", "markdown", "ghost", "html", "epub"])
def test_links_between_entries_follow_the_addresses_that_these_state(form: str) -> None:
    assert public(form).document["links"] == {"rewritten": 2, "old_host": 0, "dead": 0}


def test_a_new_address_is_used_for_links_if_the_old_one_is_stated() -> None:
    made = made_of("wxr", new_url=AddressPattern("https://new.example/{post_name}/", "x", path=True))
    assert made.document["links"] == {"rewritten": 2, "old_host": 0, "dead": 0}
    assert b'<a href="https://new.example/tabi/#one">' in made.only()


def test_redirects_lead_from_the_stated_addresses() -> None:
    new = AddressPattern("https://new.example/{post_name}/", "x", path=True)
    made = made_of("redirects", new_url=new)
    assert made.files["redirects.csv"].decode().splitlines() == [
        '"old","new"',
        f'"{HOST}/about/","https://new.example/about/"',
        f'"{HOST}/?p=3","https://new.example/entry-plain/"',
        f'"{HOST}/archives/2024/tabi.html","https://new.example/tabi/"',
        f'"{HOST}/archives/2024/umi-no-hi.html","https://new.example/umi-no-hi/"',
    ]
    assert b'location = "/archives/2024/umi-no-hi.html"' in made.files["nginx.conf"]
    with pytest.raises(UsageError):
        made_of("redirects")


def items(made: Made) -> Iterator[ET.Element]:
    yield from ET.fromstring(made.only()).iter("item")


def item(made: Made, title: str) -> ET.Element:
    return next(each for each in items(made) if each.findtext("title") == title)


def test_wxr_has_categories_below_their_parents_and_tags() -> None:
    made = public("wxr")
    channel = ET.fromstring(made.only()).find("channel")
    assert channel is not None
    slugs = {each.findtext(f"{WP}category_nicename"): each for each in channel.iter(f"{WP}category")}
    known: set[str] = {""}
    for slug, each in slugs.items():
        assert (each.findtext(f"{WP}category_parent") or "") in known
        known.add(slug or "")

    def path(slug: str) -> list[str]:
        above = slugs[slug].findtext(f"{WP}category_parent")
        return [*(path(above) if above else []), slugs[slug].findtext(f"{WP}cat_name") or ""]

    terms = [
        (each.get("domain"), each.get("nicename") or "", each.text) for each in item(made, "海の日").iter("category")
    ]
    assert [path(slug) for domain, slug, _ in terms if domain == "category"] == [
        ["海"], ["旅", "外国", "欧州"], ["料理", "欧州"],
    ]  # fmt: skip
    assert [text for domain, _, text in terms if domain == "post_tag"] == ["夏", "貝, 砂"]
    assert "europe" in slugs


def test_wxr_has_the_page_the_excerpt_the_author_and_the_featured_picture() -> None:
    made = public("wxr")
    sea, about = item(made, "海の日"), item(made, "この人について")
    assert [each.findtext(f"{WP}post_type") for each in (sea, about)] == ["post", "page"]
    assert sea.findtext("{http://wordpress.org/export/1.2/excerpt/}encoded") == "海に行った <b>日</b>のこと"
    authors = {
        each.findtext(f"{WP}author_login"): each.findtext(f"{WP}author_display_name")
        for each in ET.fromstring(made.only()).iter(f"{WP}author")
    }
    assert authors == {"blog-author": "海の人", "Taro": "Taro"}
    creators = [item(made, title).findtext("{http://purl.org/dc/elements/1.1/}creator") for title in ("旅", "ふつう")]
    assert creators == ["Taro", "blog-author"]
    meta = {each.findtext(f"{WP}meta_key"): each.findtext(f"{WP}meta_value") for each in sea.iter(f"{WP}postmeta")}
    attached = next(each for each in items(made) if each.findtext(f"{WP}post_id") == meta["_thumbnail_id"])
    assert attached.findtext(f"{WP}attachment_url") == f"{FILES}/cover.png"
    alts = {each.findtext(f"{WP}meta_key"): each.findtext(f"{WP}meta_value") for each in attached.iter(f"{WP}postmeta")}
    assert alts == {"_wp_attachment_image_alt": "夏の海"}


def comments(element: ET.Element) -> dict[str, dict[str, str]]:
    """Return the comments of an item by the ids of the archive."""
    found = {}
    for each in element.iter(f"{WP}comment"):
        facts = {name.removeprefix(f"{WP}comment_"): text or "" for name, text in ((e.tag, e.text) for e in each)}
        meta = {e.findtext(f"{WP}meta_key"): e.findtext(f"{WP}meta_value") for e in each.iter(f"{WP}commentmeta")}
        found[meta["_blog_cm_id"] or ""] = facts
    return found


def test_wxr_numbers_an_answer_above_the_comment_that_it_answers() -> None:
    found = comments(item(public("wxr"), "海の日"))
    own = {name: int(facts["id"]) for name, facts in found.items()}
    parents = {name: int(facts["parent"]) for name, facts in found.items()}
    assert parents == {"c9": 0, "c5": own["c9"], "c7": own["c5"], "c1": 0, "t1": 0, "p1": 0}
    assert own["c9"] < own["c5"] < own["c7"]
    assert len(set(own.values())) == len(own)
    loop = comments(item(public("wxr"), "旅"))
    assert [loop["loop1"]["parent"], loop["loop2"]["parent"]] == ["0", loop["loop1"]["id"]]
    assert {name: facts["type"] for name, facts in found.items() if facts["type"] != "comment"} == {
        "t1": "trackback", "p1": "pingback",
    }  # fmt: skip
    assert found["c9"]["author_email"] == "kamome@mail.example"
    assert found["c5"]["user_id"] == "1"


def test_wxr_writes_hidden_comments_with_their_status_only_if_asked() -> None:
    made = made_of("wxr", hidden_comments=True)
    assert all("with-hidden-comments" in name for name in made.files)
    found = comments(item(made, "海の日"))
    assert [found[name]["approved"] for name in ("pending", "hidden", "spam", "c9")] == ["0", "0", "spam", "1"]
    assert found["c1"]["parent"] == found["hidden"]["id"]


def test_wxr_keeps_the_status_of_entries_that_are_not_public() -> None:
    made = made_of("wxr", side=Side.REST)
    found = {each.findtext("link"): each.findtext(f"{WP}status") for each in items(made)}
    statuses = {(link or "").rpartition("/")[2]: status for link, status in found.items()}
    assert {name: statuses[name] for name in ("private", "draft", "members", "password", "unknown")} == {
        "private": "private", "draft": "draft", "members": "private", "password": "private", "unknown": "private",
    }  # fmt: skip
    assert item(made, "zqsecretqz later").findtext(f"{WP}status") == "future"
    assert item(made, "zqsecretqz past").findtext(f"{WP}status") == "draft"
    lost = {row["what"]: row["ids"] for row in made.document["changed"] if row["code"] == "not_held"}
    assert lost == {
        "written without its mark as scheduled, which the format does not hold": ["scheduled-past"],
        "written without its limit to members, which the format does not hold": ["members"],
        "written without its password, which the format does not hold": ["password"],
    }


def test_drafts_of_all_entries_are_drafts() -> None:
    made = made_of("wxr", side=Side.DRAFTS, declared=Declared(all_as_draft=True))
    assert {each.findtext(f"{WP}status") for each in items(made)} == {"draft", "inherit"}
    for name in (b"private", b"members", b"password", b"unknown"):
        assert b"zqsecretqz " + name not in made.everything()


def test_a_featured_picture_in_a_later_file_is_named() -> None:
    blog = wide_blog()
    first = blog.kinds[Kind.ENTRIES]["about"]
    blog.add(Kind.ENTRIES, {**first, "featured": f"{FILES}/cover.png"})
    made = made_of("wxr", blog, max_entries=1)
    assert [row["entries"] for row in made.document["preflight"] if row["code"] == "featured_later"] == [["about"]]


def test_movable_type_has_every_category_tags_pings_and_mail_addresses() -> None:
    entry = next(each for each in public("movabletype").only().decode().split("--------\n") if "TITLE: 海の日" in each)
    for lines in (
        "AUTHOR: 海の人\nTITLE: 海の日\nBASENAME: umi-no-hi\nSTATUS: Publish\n",
        'PRIMARY CATEGORY: 海\nCATEGORY: 海\nCATEGORY: 欧州\nTAGS: 夏,"貝, 砂"\n-----\n',
        "EXCERPT:\n海に行った <b>日</b>のこと\n-----\n",
        "COMMENT:\nAUTHOR: カモメ\nEMAIL: kamome@mail.example\nURL: https://kamome.example/\nDATE: 04/01/2024 12:00:00 AM\n",
        "PING:\nTITLE: 海を読んで\nURL: https://other.example/1\nBLOG NAME: よその日記\nDATE: ",
    ):
        assert lines in entry
    rest = made_of("movabletype", side=Side.REST).only().decode()
    assert set(re.findall("STATUS: (.*)", rest)) == {"Draft"}


def test_movable_type_keeps_hostile_names_on_their_lines() -> None:
    blog = WideBlog()
    evil = "a\n-----\nSTATUS: Draft\n\u2028--------"
    blog.post("1", categories=[{"name": evil}, {"name": "b", "parents": [evil]}], tags=[evil, '"q', "'a,\"b"],
              author=evil, excerpt=evil, permalink="javascript:alert(1)")  # fmt: skip
    blog.said("2", "1", email="a@b.example\nSTATUS: Draft", name=evil, kind="trackback", title=evil, url="javascript:x")
    blog.said("3", "1", email="a@b.example\nSTATUS: Draft", name=evil)
    text = made_of("movabletype", blog).only().decode()
    assert [line for line in text.splitlines() if line.startswith("STATUS")] == ["STATUS: Publish"]
    assert text.count("\n--------\n") == 1
    assert "TAGS: a ----- STATUS: Draft --------,'\"q',''a,\"b'" in text
    assert "EMAIL" not in text


@pytest.mark.parametrize("form", ["hugo", "jekyll", "markdown"])
def test_front_matter_has_categories_tags_author_summary_cover_and_aliases(form: str) -> None:
    made = public(form)
    head, body = page(made, "海の日")
    assert head["categories"] == ["海", "欧州"]
    assert head["tags"] == ["夏", "貝, 砂"]
    path = {"jekyll": "redirect_from"}.get(form, "aliases")
    assert head[path] == ["/archives/2024/umi-no-hi.html"]
    assert head["author"] == "海の人"
    assert "海に行った 日のこと" in (head.get("summary") or head["excerpt"])
    cover = (head.get("images") or [head.get("image") or head.get("cover")])[0]
    name = re.sub(".*/", "", cover)
    assert any(path.endswith(name) for path in made.copies), cover
    assert body.index("声c9") < body.index("声c5") < body.index("声c7") < body.index("声c1")
    assert body.count("↩") == 2
    assert [row["entries"] for row in made.document["preflight"] if row["code"] == "csv_only"] == [["plain"]]
    pages = [name for name in made.files if "この人について" in name]
    assert len(pages) == 1
    assert "/pages/" in f"/{pages[0]}"


def test_pelican_has_one_category_and_the_others_as_tags() -> None:
    text = next(data.decode() for name, data in public("pelican").files.items() if "海の日" in name)
    assert (
        "Category: 海\nTags: 欧州, 夏, 貝&#44 砂\nAuthor: 海の人\nSummary: 海に行った 日のこと\nCover: images/cover-"
        in text
    )
    assert [row["records"] for row in public("pelican").document["changed"] if row["code"] == "category_as_tag"] == [1]
    assert any(name.startswith("content/pages/") for name in public("pelican").files)


@pytest.mark.parametrize("preset", [Preset.ASTRO, Preset.ELEVENTY, Preset.OBSIDIAN])
def test_presets_write_categories_and_tags_as_tags_and_pages_apart(preset: Preset) -> None:
    made = made_of("markdown", preset=preset)
    head, _ = page(made, "海の日")
    assert head["tags"] == ["海", "欧州", "夏", "貝, 砂" if preset is not Preset.OBSIDIAN else "貝-砂"]
    assert head["description"] == "海に行った 日のこと"
    assert head["author"] == "海の人"
    assert any("pages/" in name and "この人" in name for name in made.files)
    assert SECRET not in made.everything()


def test_no_alias_leads_out_of_a_site() -> None:
    blog = WideBlog()
    for number, path in enumerate(("/../../etc/x", "/a/%2e%2e/b", "//evil/", "/ok/", "/a\u202e/", "/q?x=1")):
        blog.post(str(number), permalink=HOST + path)
    made = made_of("hugo", blog)
    heads = [re.findall("aliases: (.*)", data.decode()) for name, data in made.files.items() if name.endswith(".md")]
    assert [each for found in heads for each in found] == ['["/ok/"]', '["/a%E2%80%AE/"]']


def test_ghost_has_tags_pages_excerpts_feature_images_and_authors() -> None:
    made = public("ghost")
    with zipfile.ZipFile(io.BytesIO(made.files["ghost-public.zip"])) as packed:
        data = json.loads(packed.read("ghost.json"))["db"][0]["data"]
        names = packed.namelist()
    posts = {each["title"]: each for each in data["posts"]}
    tags = {each["id"]: each["name"] for each in data["tags"]}
    sea = posts["海の日"]
    ordered = sorted(
        (row["sort_order"], tags[row["tag_id"]]) for row in data["posts_tags"] if row["post_id"] == sea["id"]
    )
    assert [name for _, name in ordered] == ["海", "欧州", "夏", "貝, 砂"]
    assert sea["custom_excerpt"] == "海に行った 日のこと"
    assert sea["feature_image_alt"] == "夏の海"
    assert sea["feature_image"].removeprefix("__GHOST_URL__/") in names
    assert {title: each["type"] for title, each in posts.items()}["この人について"] == "page"
    users = {each["id"]: each["name"] for each in data["users"]}
    writers = {row["post_id"]: users[row["author_id"]] for row in data["posts_authors"]}
    assert [writers.get(posts[title]["id"]) for title in ("海の日", "旅", "ふつう")] == ["海の人", "Taro", None]
    assert all(each["email"].endswith("@author.invalid") for each in data["users"])


def test_blogger_has_labels_pages_authors_and_threads() -> None:
    text = public("blogger-atom").only().decode()
    atom = "{http://www.w3.org/2005/Atom}"
    entries = {each.findtext(f"{atom}title"): each for each in ET.fromstring(text).iter(f"{atom}entry")}
    labels = [each.get("term") for each in entries["海の日"].iter(f"{atom}category")
              if each.get("scheme") == "http://www.blogger.com/atom/ns#"]  # fmt: skip
    assert labels == ["海", "欧州", "夏", "貝, 砂"]
    assert "<blogger:type>PAGE</blogger:type>" in text
    assert text.count("<blogger:inReplyTo>") == 3
    assert entries["旅"].findtext(f"{atom}author/{atom}name") == "Taro"


def test_tables_have_the_stated_facts_at_their_end() -> None:
    entries = [json.loads(line) for line in public("jsonl").files["entries-public.jsonl"].splitlines()]
    sea = next(each for each in entries if each["title"] == "海の日")
    assert list(sea)[-8:] == ["kind", "audience", "categories", "tags", "author", "permalink", "excerpt", "featured"]
    assert sea["categories"] == ["海", "旅 > 外国 > 欧州", "料理 > 欧州"]
    assert [sea["audience"], sea["author"], sea["permalink"]] == [
        "public", "海の人", f"{HOST}/archives/2024/umi-no-hi.html",
    ]  # fmt: skip
    said = [json.loads(line) for line in public("jsonl").files["comments-public.jsonl"].splitlines()]
    assert list(said[0])[-4:] == ["parent", "kind", "comment_status", "by_owner"]
    assert {each["cm_id"]: each["kind"] for each in said}["t1"] == "trackback"
    connection = sqlite3.connect(":memory:")
    connection.deserialize(public("sqlite").files["blog-public.sqlite"])
    row = connection.execute(
        "SELECT json_extract(categories, '$[1]'), tags FROM entries WHERE title = '海の日'"
    ).fetchone()
    assert row == ("旅 > 外国 > 欧州", '["夏", "貝, 砂"]')
    connection.close()


def test_books_show_categories_tags_authors_threads_and_the_featured_picture() -> None:
    text = public("html").only().decode()
    facts = "2024年3月1日（金）</time> · 海、旅 &gt; 外国 &gt; 欧州、料理 &gt; 欧州 · #夏 · #貝, 砂 · 海の人"
    assert f'<p class="when"><time datetime="2024-03-01">{facts}</p>' in text
    assert text.count('<ol class="replies">') == text.count("↩") == 3
    assert text.count("<ol") == text.count("</ol>")
    assert text.count('<li class="comment">') == text[text.index("</nav>") :].count("</li>") == 9
    assert 'alt="夏の海"' in text
    assert "<p>海に行った 日のこと</p>" in text
    with zipfile.ZipFile(io.BytesIO(public("epub").files["book-public.epub"])) as packed:
        chapter = next(data for name in packed.namelist() if "海の日" in (data := packed.read(name).decode("utf-8", "replace"))
                       and name.startswith("EPUB/entry"))  # fmt: skip
    assert facts.replace("（金）</time>", "") in chapter
    assert 'alt="夏の海"' in chapter
    assert "margin-inline-start: 2.2em" in chapter


def test_feeds_have_authors_terms_and_summaries() -> None:
    atom = public("atom").only().decode()
    assert "<author><name>Taro</name></author>" in atom
    assert '<category term="貝, 砂"/>' in atom
    assert "<summary" in atom
    feed = json.loads(public("jsonfeed").only())
    sea = next(each for each in feed["items"] if each["title"] == "海の日")
    assert sea["tags"] == ["海", "欧州", "夏", "貝, 砂"]
    assert sea["authors"] == [{"name": "海の人"}]
    assert sea["image"] == f"{FILES}/cover.png"


def test_long_and_odd_terms_break_no_format(subtests: pytest.Subtests) -> None:
    for form in FORMS:
        with subtests.test(form=form):
            blog = WideBlog()
            odd = ["長" * 400, "<b>&]]>", "a,b;c", "\ud83d", "\x00\x1b", "#", "--", "../x", "=1+1", "{{<x>}}"]
            blog.post("1", categories=[{"name": name, "parents": odd, "slug": name} for name in odd], tags=odd, author="\ud83d<x>",
                      excerpt="]]>\ud83d\x00" + "長" * 400, featured="javascript:x", slug="%e6%97%a5")  # fmt: skip
            blog.post(
                "2",
                categories=[{"name": "深", "parents": [str(n) for n in range(5000)]}],
                tags=[str(n) for n in range(500)],
            )
            previous = ""
            for number in range(60):
                blog.said(str(number), "1", parent=previous, email="x" * 300 + "@y.example")
                previous = str(number)
            made = made_of(form, blog)
            assert made.document["out"]["entries"] == 2
            rows = [row["ids"] for row in made.document["changed"] if "parents of its categories" in row["what"]]
            assert any({"2"} <= set(ids) for ids in rows)
            for name in made.files:
                assert all(len(part.encode()) <= 220 for part in name.split("/"))
            if form in {"wxr", "atom", "blogger-atom"}:
                ET.fromstring(made.only())
