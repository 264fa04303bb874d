"""Movable Type's format as two readers see it: one strict, one careless; both must find the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from exporter.export.interface import Side
from exporter.export.movabletype import MAX_BYTES, defused
from tests.export.hostile import BODIES, ENTRIES, PICTURES, comment_word, entry_word, hostile_blog
from tests.export.memory import Memory, export
from tests.export.mt_readers import read_carelessly, read_strictly


def shown(html: str) -> str:
    """Return the text a browser shows, with white space normalized."""
    root = LexborHTMLParser(f"<body>{html}").body
    assert root is not None
    root.strip_tags(["style", "script"])
    return "".join((root.text() or "").split())


def test_a_post_with_everything() -> None:
    blog = Memory()
    blog.entry("42", title="海の\n日", entry_text="<p>前</p>", ps_title="続き<b>", ps_text="一\n二", hour="00")
    blog.comment("7", "42", url_text="https://kamome.example/")
    assert export("movabletype", blog, wordpress_body="plain").only().decode() == (
        "AUTHOR: umi.blog.example.jp\nTITLE: 海の 日\nBASENAME: umi\nSTATUS: Publish\nALLOW COMMENTS: 1\nALLOW PINGS: 0\n"
        "CONVERT BREAKS: 0\nDATE: 03/05/2024 12:34:56 AM\nCATEGORY: 日記\n-----\nBODY:\n<p>前</p>\n-----\nEXTENDED BODY:\n"
        "<p><strong>続き&lt;b></strong></p>\n一<br>\n二\n-----\nCOMMENT:\nAUTHOR: カモメ\nURL: https://kamome.example/\n"
        "DATE: 03/07/2024 12:00:00 AM\nいいですね\n-----\n--------\n"
    )


@pytest.mark.parametrize(
    ("hour", "shown"), [("00", "12:34:56 AM"), ("11", "11:34:56 AM"), ("12", "12:34:56 PM"), ("23", "11:34:56 PM")]
)
def test_the_hours_of_the_day(hour: str, shown: str) -> None:
    blog = Memory()
    blog.entry("1", hour=hour)
    assert read_strictly(export("movabletype", blog).only())[0].fields["DATE"] == f"03/05/2024 {shown}"


def test_names_of_control_characters_keep_a_sign() -> None:
    blog = Memory()
    blog.entry("1", title="\0", category="\0")
    blog.entry("2", title=" ")
    blog.comment("7", "2", name="\x80")
    one, other = read_strictly(export("movabletype", blog).only())
    assert b"AUTHOR: \xef\xbf\xbd\n" in export("movabletype", blog).only()
    assert "<wp:comment_author><![CDATA[\ufffd]]>" in export("wxr", blog).only().decode()
    assert (one.fields["TITLE"], one.categories, other.fields["TITLE"]) == ("\ufffd", ["\ufffd"], "")


def test_both_readers_find_every_hostile_entry_and_comment() -> None:
    data = export("movabletype", hostile_blog()).only()
    for entries in (read_strictly(data), read_carelessly(data)):
        assert len(entries) == ENTRIES
        for number, entry in enumerate(entries, 1):
            assert entry_word(number) in entry.body
            assert [entry_word(number) in each.body for each in entries].count(True) == 1
            assert len(entry.comments) == 3
            assert all(comment_word(3 * number + place) in each.text for place, each in enumerate(entry.comments))
            assert entry.fields["STATUS"] == "Publish"
            assert "�" not in entry.body or number == 7


def test_the_careless_reader_shows_the_same_text() -> None:
    blog = hostile_blog()
    strict = read_strictly(export("movabletype", blog).only())
    careless = read_carelessly(export("movabletype", blog).only())
    for one, other in zip(strict, careless, strict=True):
        assert shown(one.body) == shown(other.body)
        assert shown(one.extended) == shown(other.extended)
        assert (one.fields, one.categories) == (other.fields, other.categories)


def test_an_escaped_body_shows_the_same_text(subtests: pytest.Subtests) -> None:
    for body in BODIES:
        with subtests.test(body=body):
            made = defused(body)
            plain = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", body).replace("\ud83d", "�")
            assert shown(made.text) == shown(plain)
            assert all(len(line.encode()) <= MAX_BYTES for line in made.text.split("\n"))
            assert made.long == 0


def test_preformatted_lines_survive_the_careless_reader() -> None:
    blog = Memory()
    blog.entry("1", entry_text="<pre>一\n\n\n  四\n\t五\n-----\nTITLE: 六\n\n</pre>")
    body = read_carelessly(export("movabletype", blog).only())[0].body
    root = LexborHTMLParser(body).css_first("pre")
    assert root is not None
    assert (root.text() or "").rstrip("\n") == "一\n\n\n  四\n\t五\n-----\nTITLE: 六"


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            [
                "-----",
                "TITLE: x",
                "<b>",
                "</b>",
                "\n",
                "<br>",
                "あ" * 900,
                "&amp;",
                " ",
                "BODY:",
                "x" * 3000,
                "<p>",
                "　",
            ]
        )
    )
)
def test_any_body_shows_the_same_in_short_lines(parts: list[str]) -> None:
    body = "".join(parts)
    made = defused(body)
    assert shown(made.text) == shown(body)
    assert all(len(line.encode()) <= MAX_BYTES for line in made.text.split("\n"))
    assert not re.search(r"(?m)^[ \t\u3000]*(-{5}|[A-Z ]+:)", made.text)


def test_a_tag_that_is_too_long_is_reported() -> None:
    blog = Memory()
    blog.entry("1", entry_text=f'<img src="data:image/png;base64,{"A" * 9000}">')
    limits = export("movabletype", blog).document["preflight"]
    assert next(row["entries"] for row in limits if row["limit"].startswith("has lines")) == ["1"]


def test_drafts_are_drafts_and_files_are_split() -> None:
    blog = hostile_blog()
    made = export("movabletype", blog, max_entries=9, media_folder=True)
    assert list(made.files) == [f"movabletype-public-{number:03}.txt" for number in range(1, 13)]
    assert sum(len(read_strictly(data)) for data in made.files.values()) == ENTRIES
    assert len(made.copies) == PICTURES
    blog = Memory()
    blog.entry("1", is_private="t")
    assert read_strictly(export("movabletype", blog, side=Side.REST).only())[0].fields["STATUS"] == "Draft"
