"""Records of WordPress of any shape can be read, and nothing uncertain is public."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.model.records import Audience
from exporter.service.wordpress.source import WordPressService
from tests.support.json_texts import values

SERVICE = WordPressService()
TEXTS = st.sampled_from(["", "publish", "draft", "open", "0", "<p>a</p><!--more-->b", "2020-01-02T03:04:05", "\ud800"])
SMALL = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXTS | st.floats()
TERM = st.dictionaries(st.sampled_from(["id", "name", "slug", "taxonomy", "source_url"]), SMALL)
LISTS = st.lists(SMALL | TERM | st.lists(TERM | SMALL, max_size=3), max_size=3)
EMBEDDED = st.dictionaries(st.sampled_from(["author", "wp:term", "wp:featuredmedia"]), LISTS | SMALL)
INNER = st.dictionaries(
    st.sampled_from(["raw", "rendered", "protected", "1", "filesize", "width", "height"]), SMALL | LISTS
)
NAMES = (
    "id", "status", "type", "date", "date_gmt", "modified", "modified_gmt", "title", "content", "excerpt", "slug",
    "categories", "category_paths", "rest_base", "tags", "password", "link", "author", "parent", "post", "source_url",
    "media_details", "caption", "description", "alt_text", "comment_status", "sticky", "author_name", "blog_author",
)  # fmt: skip
RECORDS = st.dictionaries(st.sampled_from(NAMES), SMALL | INNER | LISTS | values) | st.fixed_dictionaries(
    {"_embedded": EMBEDDED | SMALL, "content": INNER, "categories": LISTS, "status": TEXTS}
)


@pytest.mark.parametrize("examples", [20, pytest.param(100, marks=pytest.mark.thorough)])
def test_any_record_can_be_read(examples: int) -> None:
    @settings(max_examples=examples)
    @given(RECORDS, RECORDS)
    def check(raw: dict[str, Any], item: dict[str, Any]) -> None:
        post = SERVICE.post(raw, item)
        assert post.raw == raw or repr(post.raw) == repr(raw)
        assert all(isinstance(each.name, str) and each.name for each in post.categories)
        SERVICE.post(None, item)
        SERVICE.comment(raw)
        SERVICE.upload(raw)
        SERVICE.user(raw)
        for kind in (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.USER):
            SERVICE.title(kind, raw)
        assert SERVICE.list_of(raw).isascii()
        if raw.get("status") != "publish":
            assert SERVICE.publication(post, Declared()).status != "publish"

    check()


@pytest.mark.parametrize(
    ("raw", "audience"),
    [
        ({"status": "publish"}, Audience.PUBLIC),
        ({"status": "publish", "content": {"protected": True}}, Audience.PASSWORD),
        ({"status": "publish", "password": "x"}, Audience.PASSWORD),
        ({"status": "publish", "password": 5}, Audience.PASSWORD),
        ({"status": "private"}, Audience.PRIVATE),
        ({"status": "future"}, Audience.SCHEDULED),
        ({"status": "pending"}, Audience.DRAFT),
        ({"status": "trash"}, Audience.DRAFT),
        ({"status": "archived"}, None),
        ({"status": True}, None),
        ({}, None),
    ],
)
def test_an_audience_in_doubt_is_none(raw: dict[str, Any], audience: Audience | None) -> None:
    post = SERVICE.post(raw)
    assert post.audience is audience
    assert (post.private is False) is (audience is Audience.PUBLIC)


@pytest.mark.parametrize(
    ("entry", "item", "audience"),
    [
        ("publish", "draft", Audience.DRAFT),
        ("draft", "publish", Audience.DRAFT),
        ("publish", "odd", None),
        ("publish", "publish", Audience.PUBLIC),
    ],
)
def test_the_more_closed_status_counts(entry: str, item: str, audience: Audience | None) -> None:
    assert SERVICE.post({"status": entry}, {"status": item}).audience is audience


@pytest.mark.parametrize(
    ("excerpt", "written"),
    [
        ({"rendered": "<p>The sea was blue and [&hellip;]</p>\n"}, ""),
        ({"rendered": '<p>The sea &hellip; <a class="more-link" href="x">Continue</a></p>'}, ""),
        ({"rendered": "<p>The sea was blue.</p>\n"}, ""),
        ({"rendered": "<p>A summary.</p>\n"}, "<p>A summary.</p>"),
        ({"rendered": "<p>x</p>", "raw": ""}, ""),
        ({"rendered": "<p>x</p>", "raw": "Mine"}, "Mine"),
    ],
)
def test_only_an_excerpt_that_the_writer_wrote_counts(excerpt: dict[str, str], written: str) -> None:
    content = {"rendered": "<p>The sea was <b>blue</b>.</p><p>And so on.</p>"}
    assert SERVICE.post({"content": content, "excerpt": excerpt}).excerpt == written


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("<p>a</p><p><!--more--></p><p>b</p>", ("<p>a</p>", "", "<p>b</p>")),
        ("<p>a</p>\n<!--more 続き &amp; more-->\n<p>b</p>", ("<p>a</p>", "続き & more", "<p>b</p>")),
        ("<p>a</p>", ("<p>a</p>", "", "")),
        ("<!--more", ("<!--more", "", "")),
        ("a<p> <!--more-->b</p>", ("a<p>", "", "b</p>")),
    ],
)
def test_the_part_below_the_fold(body: str, parts: tuple[str, str, str]) -> None:
    post = SERVICE.post({"content": {"rendered": body}})
    assert (post.body, post.more_title, post.more) == parts


def test_the_shown_text_is_the_body_and_the_typed_one_stays_in_the_record() -> None:
    raw = {"content": {"raw": "[gallery]", "rendered": "<div>pictures</div>"}, "title": {"raw": "A", "rendered": "B"}}
    assert (SERVICE.post(raw).body, SERVICE.post(raw).title) == ("<div>pictures</div>", "A")
    assert SERVICE.post({"content": {"raw": "only this"}}).body == "only this"


@pytest.mark.parametrize(
    ("raw", "date"),
    [
        ({"date": "2020-01-02T03:04:05", "date_gmt": "2020-01-01T18:04:05"}, "2020-01-02 03:04:05+09:00"),
        ({"date": "2020-01-02T03:04:05", "date_gmt": "2020-01-02T06:34:05"}, "2020-01-02 03:04:05-03:30"),
        ({"date": "2020-01-02T03:04:05", "date_gmt": None}, "2020-01-02 03:04:05+00:00"),
        ({"date": "2020-01-02T03:04:05", "date_gmt": "0001-01-01T00:00:00"}, "2020-01-02 03:04:05+00:00"),
        ({"date": "yesterday"}, "None"),
        ({"date": 5}, "None"),
    ],
)
def test_a_date_has_the_offset_of_the_blog(raw: dict[str, Any], date: str) -> None:
    assert str(SERVICE.post(raw).date) == date


def test_a_category_without_a_name_is_a_problem() -> None:
    post = SERVICE.post({"status": "publish", "categories": [7]})
    assert post.categories == ()
    assert [problem.field for problem in post.problems] == ["categories"]
    listed = SERVICE.post(None, {"categories": [7], "category_paths": {"7": ["A &amp; B", "C"]}})
    assert [(each.name, each.parents) for each in listed.categories] == [("C", ("A & B",))]


@pytest.mark.thorough
def test_hostile_texts_take_no_time() -> None:
    for text in ("<!--more" * 200_000, "<p> " * 200_000 + "<!--more", "<a " * 200_000, "[&hellip;" * 100_000):
        begun = time.process_time()
        SERVICE.post({"content": {"rendered": text}, "excerpt": {"rendered": text}})
        assert time.process_time() - begun < 5
