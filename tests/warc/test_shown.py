"""Which pages show a forgotten record, by its marks alone; and what the marks do not give away."""

from __future__ import annotations

import itertools
import secrets
from datetime import UTC, datetime

import pytest

from exporter.archive.forgotten import id_sign, mark
from exporter.model.kinds import Kind
from exporter.model.records import Comment
from exporter.service.identity import address_sign, comment_signs, shown_signs
from exporter.warc.shown import ShownRecords

SALT = secrets.token_hex(32)
LONG = "来週の土曜日に引っ越しをするので、このブログにはもう何も書きません。\nさようなら。"
LINES = "引っ越します。\nもう書きません。\nお元気で。\nさようなら、みなさん。"
PAGE = "https://blog.example/archives/7.html"


def comment(text: str, name: str = "まめこ") -> Comment:
    return Comment("70001", "1", datetime(2020, 1, 2, 3, 4, tzinfo=UTC), True, name, "", text, "", None, {}, None, {})


def marked(kind: Kind, *signs: str) -> ShownRecords:
    return ShownRecords([(SALT, [mark(bytes.fromhex(SALT), kind, each) for each in signs])], "blog/v1")


def of_comment(text: str, name: str = "まめこ") -> ShownRecords:
    signs = comment_signs(comment(text, name), sought=False) | shown_signs([text, *text.splitlines()])
    return marked(Kind.COMMENTS, id_sign("blog/v1", "70001"), *signs)


@pytest.mark.parametrize(
    ("page", "shows"),
    [
        ("<p>最新: 来週の<b>土曜日</b>に引っ越しを<br>するので、このブログにはも…</p>", True),
        (r'{"text": "\u6765\u9031\u306e土曜日に引っ越しをするので、このブログにはもう"}', True),
        ("<p>来週の土曜日に引っ越しをするので</p>", False),
        ("<p>このブログにはもう何も書きません。さようなら。さようなら。さようなら。</p>", False),
        ('<a href="/archives/1.html#comment-70001">まめこ</a>', True),
        ('<li id="comment-70001">', True),
        ('<li id="comment-70002"><a href="/70001">70001 comments</a>', False),
    ],
)
def test_a_comment_is_known_by_its_anchor_or_the_beginning_of_a_line(page: str, shows: bool) -> None:
    assert of_comment(LONG).is_on_page(page, PAGE) == shows


def test_a_comment_of_short_lines_is_known_as_a_whole() -> None:
    assert of_comment(LINES).is_on_page("".join(f"<p>{each}</p>" for each in LINES.split()), PAGE)
    assert not of_comment(LINES).is_on_page("<p>引っ越します。</p><p>お元気で。</p>", PAGE)


@pytest.mark.parametrize(
    ("page", "shows"),
    [
        ("<b>まめこ</b><p>はい</p>", True),
        ("<p>は<i>い</i>。</p><small>2020/01/02</small><b>まめこ</b>", True),
        ("<b>さば缶</b><p>はい</p>", False),
        ("<b>まめこ</b><p>いいえ</p>", False),
        ("<p>はい</p>", False),
    ],
)
def test_a_short_comment_is_known_with_its_writer_alone(page: str, shows: bool) -> None:
    assert of_comment("はい。").is_on_page(page, PAGE) == shows


def test_a_short_text_has_no_mark_that_a_list_of_words_reveals() -> None:
    assert shown_signs(["はい。", "二十四文字にはならない、ひとつの行です。"]) == set()
    signs = comment_signs(comment("はい。"), sought=False)
    known = {each for text in ("はい", "はい。") for each in comment_signs(comment(text, ""), sought=True)}
    assert signs & known == set(), "without the name, the text alone tests nothing"


def test_links_to_a_forgotten_entry_count_in_every_spelling() -> None:
    shown = marked(Kind.ENTRIES, address_sign("https://blog.example/archives/日記.html"))
    for link in (
        '<a href="/archives/%E6%97%A5%E8%A8%98.html#more">', "<a href=日記.html>", "<loc>http://www.blog.example/archives/日記.html</loc>",
        '<div data-url="https://blog.example/archives/日記.html">', '<a href="https://[broken/">x</a><a href="日記.html">',
    ):  # fmt: skip
        assert shown.is_on_page(link, PAGE), link
        assert not shown.is_on_page(link.replace("日記", "日誌").replace("%E6%97%A5%E8%A8%98", "1"), PAGE), link


def test_a_home_page_is_no_forgotten_entry() -> None:
    shown = marked(Kind.ENTRIES, address_sign("https://blog.example/"), address_sign("https://blog.example/?p=1"))
    assert not shown.is_on_page('<a href="/">home</a>', PAGE)
    assert shown.is_on_page('<a href="/?p=1">entry</a>', PAGE)


def test_nothing_forgotten_is_nothing_to_look_for() -> None:
    shown = ShownRecords()
    assert not shown
    endless = itertools.repeat(b"")
    assert not shown.is_content(endless)
    assert not shown.is_on_page("<p>はい</p>", PAGE)
    assert not shown.is_address(PAGE)
