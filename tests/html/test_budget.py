"""The limit on the cost of a body: beyond it, every view shows the text and says so, in bounded time and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from html import escape

import pytest

from exporter.export.movabletype import defused
from exporter.export.post_html import comment_html, safe_body
from exporter.export.reasons import Reason
from exporter.html.diff import word_diff
from exporter.html.embedded import embedded, rewrite_addresses
from exporter.html.markdown import to_markdown
from exporter.html.page_body import BodyWriter
from exporter.html.tags import candidates
from exporter.html.text import plain_text, text_of
from exporter.html.tree import BODY_CHARACTERS, BODY_MARKS, TooLarge, parse, too_large, too_large_words
from exporter.search.folding import excerpt, spans_of
from exporter.service.registry import DEFAULT_SERVICE
from exporter.text import visible
from tests.export.memory import Memory, export
from tests.html import records

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = pytest.mark.no_cover

LARGE = "<p>x</p>" * (BODY_MARKS // 2 + 1)
SIZE = 1_000_000
GENEROUS_SECONDS = 60.0
"""A limit for code that takes a second or two: a quadratic walk would take hours."""
MOST_KILOBYTES = 300_000

BODIES = {
    "paragraphs": "<p>x</p>" * (SIZE // 8),
    "nested": "<div>" * 100_000 + "x" + "</div>" * 100_000,
    "one line": "x" * SIZE,
    "spaces": "x" + " " * SIZE + "x<br>",
    "line ends": "\n" * SIZE,
    "attributes": "<p " + " ".join(f"a{number}=1" for number in range(SIZE)) + ">x</p>",
    "one attribute": '<p title="' + "x" * SIZE + '">x</p>',
    "a name without a value": "<p " + "x" * SIZE + ">y",
    "cells": "<table><tr>" + "<td>x" * SIZE,
    "references": "&amp;" * (SIZE // 5) + "<br>",
    "references to references": "&" * SIZE + "<br>",
    "comments": "<!--" * (SIZE // 4),
    "scripts": "<script>" * (SIZE // 8),
    "preformatted": "<pre>" * (SIZE // 5),
    "less than": "<" * SIZE,
    "tags without an end": "<a " * (SIZE // 3),
    "quotes without an end": '<a ">"' * (SIZE // 6),
    "srcset": '<img srcset="' + "a" * SIZE + ' x y">',
    "pictures": "<img src=a>" * (SIZE // 11),
}


def writer(language: str = "ja") -> BodyWriter:
    return BodyWriter(lambda _: None, "https://sea.example/", language)


WAYS: dict[str, Callable[[str], object]] = {
    "Markdown": to_markdown,
    "site": lambda body: writer().html(body, ""),
    "search": plain_text,
    "feed": safe_body,
    "text": text_of,
    "addresses": lambda body: rewrite_addresses(body, lambda _: "z"),
    "pictures": lambda body: sum(1 for _ in embedded(body)),
    "Movable Type": defused,
}


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BODIES)
def test_no_body_takes_long(name: str, way: str) -> None:
    begun = time.monotonic()
    WAYS[way](BODIES[name])
    assert time.monotonic() - begun < GENEROUS_SECONDS


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of one program alone")
@pytest.mark.parametrize("way", ["Markdown", "site", "search", "feed", "addresses", "pictures"])
def test_a_body_of_megabytes_of_tags_takes_little_memory(way: str) -> None:
    """A separate process tells its peak memory, which for the same body was once 680 MB and more."""
    code = (
        "from tests.html.test_budget import WAYS\n"
        f"WAYS[{way!r}]('<p>x</p>' * 1_000_000)\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < MOST_KILOBYTES


def test_the_budget_counts_characters_and_pieces_of_a_page() -> None:
    assert not too_large("x" * BODY_CHARACTERS)
    assert too_large("x" * (BODY_CHARACTERS + 1))
    for mark in ("<b>", "&amp;", "\n"):
        assert not too_large(mark * BODY_MARKS)
        assert too_large(mark * (BODY_MARKS + 1))
    with pytest.raises(TooLarge):
        parse(LARGE)


@pytest.mark.thorough
def test_a_body_within_the_budget_keeps_its_markup() -> None:
    body = "<p><b>太字</b></p>" * (BODY_MARKS // 4)
    assert to_markdown(body).text.count("**太字**") == BODY_MARKS // 4
    assert writer().html(body, "").count("<b>太字</b>") == BODY_MARKS // 4


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>東<b>京</b></p><p>大阪</p>", "東京\n大阪"),
        ("東京<br>大阪<BR/>海", "東京\n大阪\n海"),
        ("a &amp; b &lt;c&gt; &copy", "a & b <c> ©"),
        ('<img src="x" alt="海の写真">と<img alt=\'a > b\'>!<img alt=c><img data-alt="d">', "海の写真とa > b!c"),
        ("<script>a<b></script>東<style>p{}</style><title>x</title>京<template><p>x</template>", "東京"),
        ("<!-- a > b -->東<!-->京<!--->府<!-- x --!>内<!-- never ends <p>", "東京府内"),
        ("<ul><li>一<li>二</ul>", "一\n二"),
        ('<a href="x>y">海</a><a title=\'"\'>山</a>', "海山"),
        ("5 < 6 <3 <>x", "5 < 6 <3 <>x"),
        ("海<p never ends", "海"),
        ('海<p title="never ends>山', "海"),
        ("海<!DOCTYPE x><?php y ?></ >山", "海山"),
        ("a \t\n\n  b", "a \t\n\n  b"),
        ("a \t\n\n  b<i>", "a\nb"),
        ("", ""),
    ],
)
def test_the_text_of_a_body_that_is_not_parsed(source: str, text: str) -> None:
    assert text_of(source) == text


def test_pieces_without_text_do_not_end_the_text() -> None:
    assert text_of("<img alt=''>" * 50_000 + "底") == "底"


def test_every_view_shows_the_text_and_a_note_in_its_language() -> None:
    words = too_large_words(len(LARGE))
    lines = "\n".join("x" * (BODY_MARKS // 2 + 1))
    assert to_markdown(LARGE).text == f"{words}\n\n```\n{lines}\n```"
    assert plain_text(LARGE) == lines
    assert words in writer().html(LARGE, "")
    assert lines in writer().html(LARGE, "")
    assert "too large" in writer("en").html(LARGE, "")
    assert safe_body(LARGE) == f"<p>{words}</p>\n<pre>{lines}</pre>"
    assert words in comment_html(DEFAULT_SERVICE.comment(records.comment(cm_text=LARGE)))


def test_nothing_of_a_large_body_runs() -> None:
    body = LARGE + "<script>pwned=1</script><img src=x onerror=pwned=1>&lt;script>pwned=1&lt;/script>"
    comment = DEFAULT_SERVICE.comment(records.comment(cm_text=body))
    for made in (writer().html(body, ""), safe_body(body), comment_html(comment)):
        assert "<script" not in made
        assert "<img" not in made
        assert escape("<script>pwned=1</script>") in made


@pytest.mark.parametrize(
    "form", ["hugo", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("html", "epub", "atom", "jsonfeed"))]
)
def test_an_export_with_the_text_only_names_the_entry(form: str) -> None:
    blog = Memory()
    blog.entry("1", entry_text=LARGE)
    blog.entry("2", entry_text="<p>x</p>")
    assert {
        "kind": "entries",
        "what": Reason.ONLY_TEXT.value,
        "code": "only_text",
        "records": 1,
        "times": 1,
        "ids": ["1"],
    } in export(form, blog).document["changed"]


@pytest.mark.parametrize(
    "form", ["wxr", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("movabletype", "ghost", "jsonl"))]
)
def test_an_export_for_importers_holds_all_of_it(form: str) -> None:
    blog = Memory()
    blog.entry("1", entry_text=LARGE)
    blog.comment("7", "1", cm_text=LARGE)
    made = export(form, blog)
    assert made.everything().replace(b"\n", b"").count(b"<p>x</p>") >= BODY_MARKS // 2 + 1
    named = [row for row in made.document["changed"] if row["code"] == "only_text"]
    assert [(row["kind"], row["ids"]) for row in named] == ([("comments", ["7"])] if form != "jsonl" else [])


def test_addresses_before_an_unclosed_comment_or_script_are_rewritten() -> None:
    def resolve(address: str) -> str:
        return f"new-{address}"

    for end in ("<!--", "<script>", "<!-- a <img src=b>", "<textarea><img src=b>"):
        assert rewrite_addresses(f"<img src=a>{end}", resolve) == f'<img src="new-a">{end}'
    assert (
        rewrite_addresses("<!--><img src=a><!--x--!><img src=b>", resolve)
        == '<!--><img src="new-a"><!--x--!><img src="new-b">'
    )
    assert rewrite_addresses("<script>x</script foo><img src=a>", resolve) == '<script>x</script foo><img src="new-a">'
    assert rewrite_addresses('<img srcset="a 1x, b,c 2x">', resolve) == '<img srcset="new-a 1x, new-b,c 2x">'
    assert list(candidates("a 1x, b,c 2x")) == ["a", "b,c"]


def test_every_picture_of_a_large_body_is_found() -> None:
    body = LARGE + "".join(f"<p><img src={number}.jpg><a href=x{number}>x</a>" for number in range(3_000))
    found = [each.text for each in embedded(body)]
    assert found == [text for number in range(3_000) for text in (f"{number}.jpg", f"x{number}")]


@pytest.mark.thorough
def test_a_hit_deep_in_a_large_text_is_shown() -> None:
    text = "波" * 250_000 + "海の日" + "砂" * 250_000
    assert spans_of(text, ["海の日"]) == [(250_000, 250_003)]
    part = excerpt(text, spans_of(text, ["海の日"]))
    assert part.text[part.marks[0][0] : part.marks[0][1]] == "海の日"
    for place in range(99_990, 100_010):
        assert spans_of("波" * place + "海の日" + "砂" * 300, ["海の日"]) == [(place, place + 3)]
    assert spans_of("波" * 250_000, ["海"]) == []


def test_a_change_in_a_large_text_is_shown_at_its_place() -> None:
    before, after = "波" * 700_000 + "古い" + "砂" * 700_000, "波" * 700_000 + "新しい" + "砂" * 700_000
    parts = word_diff(before, after)
    assert [op for op, _ in parts] == ["equal", "delete", "insert", "equal"]
    assert "".join(text for op, text in parts if op != "insert") == before
    assert "".join(text for op, text in parts if op != "delete") == after
    assert (parts[1][1], parts[2][1]) == ("古", "新し")
    assert word_diff(before, before) == [("equal", before)]
    assert word_diff("a" * 1_000_001, "") == [("delete", "a" * 1_000_001)]
    assert [op for op, _ in word_diff("a" * 1_000_001, "a" * 1_000_005)] == ["equal", "insert"]


def test_a_large_text_is_made_visible_in_pieces() -> None:
    text = ("x" * 999_999 + "\x00") * 3 + "\ud83d"
    assert visible(text) == (("x" * 999_999 + "\ufffd") * 3 + "\ufffd", 4)
