from __future__ import annotations

import json
import random
from statistics import fmean, median
from typing import Any

import pytest

from benchmarks.content import BLOG_ID, BlogSize, Content, addresses, pages, pictures
from benchmarks.real_posts import MEDIAN_CHARACTERS, real_body
from exporter.html.tree import parse
from exporter.service.registry import DEFAULT_SERVICE

# Others run the same lines; measuring them here too would more than double the time.
pytestmark = [pytest.mark.bench, pytest.mark.no_cover]

SIZE = BlogSize(45, 101, 21)


@pytest.fixture(scope="module")
def content() -> Content:
    return Content(SIZE)


def data(content: Content, name: str, **params: int) -> dict[str, Any]:
    query = "".join(f"&{key}={value}" for key, value in params.items())
    body = content.answer(f"/blog/v1/{name}?id={BLOG_ID}{query}".encode())
    assert body is not None
    envelope = json.loads(body)["json"]
    assert (envelope["result"], envelope["message"]) == ("ok", "")
    return dict(envelope["data"])


def whole(content: Content, name: str, count: int) -> list[dict[str, Any]]:
    return [item for page in range(1, pages(count) + 1) for item in data(content, name, page=page)["list"]]


def test_every_address_has_an_answer(content: Content) -> None:
    every = list(addresses(SIZE))
    assert len(every) == 1 + 45 + 2 * (3 + 6 + 2)
    assert len(list(addresses(SIZE, entries=False))) == len(every) - 45
    assert all(content.answer(address.encode()) for address in every)


def test_records_are_whole_and_typed(content: Content) -> None:
    for number in (1, 7, 45):
        entry = DEFAULT_SERVICE.post(data(content, "entry/get", entry_id=number))
        assert (entry.id, entry.problems) == (str(number), ())
    for read, name, count in (
        (lambda raw: DEFAULT_SERVICE.post(None, raw), "entry/list", SIZE.entries),
        (DEFAULT_SERVICE.comment, "comment/list", SIZE.comments),
        (DEFAULT_SERVICE.upload, "file/list", SIZE.files),
    ):
        records = [read(each) for each in whole(content, name, count)]
        assert len(records) == count
        assert [record.problems for record in records] == [()] * count


def test_lists_hold_each_id_once_the_newest_first(content: Content) -> None:
    for name, key, count in (
        ("entry/list", "entry_id", SIZE.entries),
        ("comment/list", "cm_id", SIZE.comments),
        ("file/list", "file_id", SIZE.files),
    ):
        assert [int(item[key]) for item in whole(content, name, count)] == list(range(count, 0, -1))


def test_the_counts_agree_with_each_other(content: Content) -> None:
    said = {item["entry_id"]: int(item["comment_count"]) for item in whole(content, "entry/list", SIZE.entries)}
    found = dict.fromkeys(said, 0)
    for comment in whole(content, "comment/list", SIZE.comments):
        found[comment["entry_id"]] += 1
    assert said == found
    files = whole(content, "file/list", SIZE.files)
    summary = data(content, "file/list", page=1)["summary"]
    assert int(summary["filenum"]) == len(files)
    assert int(summary["totalsize"]) == sum(int(file["file_size"]) for file in files)


def test_paging_is_a_chain(content: Content) -> None:
    numbers = [data(content, "comment/list", page=page)["paging"] for page in (1, 2, 6)]
    assert numbers == [
        {"prev_no": None, "next_no": 2, "page_no": 1, "all_page": 6},
        {"prev_no": 1, "next_no": 3, "page_no": 2, "all_page": 6},
        {"prev_no": 5, "next_no": None, "page_no": 6, "all_page": 6},
    ]


def test_the_same_bytes_come_every_time(content: Content) -> None:
    again = Content(SIZE)
    assert all(content.answer(each.encode()) == again.answer(each.encode()) for each in addresses(SIZE))


def test_entries_look_as_those_of_real_blogs_do(content: Content) -> None:
    entries = [content.entry(number) for number in range(1, SIZE.entries + 1)]
    assert 7_000 < sum(map(len, entries)) / len(entries) < 10_000
    assert all(each.isascii() and rb"\u3002" in each for each in entries)
    bodies = [str(json.loads(each)["entry_text"]) for each in entries]
    for tag in ("div", "font", "img", "table", "ul", "blockquote", "span", "h4", "strike", "p", "br", "a"):
        assert any(f"<{tag}" in each for each in bodies), tag
    lines = [line for each in bodies for line in each.splitlines() if line.count("<") < len(line) / 20]
    assert sum(any(mark in line for mark in "！？（）～。、") for line in lines) > len(lines) / 2


def test_every_picture_has_an_address_that_entries_name() -> None:
    bodies = "".join(Content(SIZE, "http://here").entry(number).decode() for number in range(1, SIZE.entries + 1))
    assert all(f"http://here{address}" in bodies for address in pictures(SIZE))
    assert "img.example.jp" not in bodies


def test_an_edit_changes_one_entry_and_its_item(content: Content) -> None:
    before = content.entry(1), content.item(1), content.entry(2)
    edited = Content(SIZE)
    edited.edits = 1
    after = edited.entry(1), edited.item(1), edited.entry(2)
    assert [one == two for one, two in zip(before, after, strict=True)] == [False, False, True]


@pytest.mark.parametrize(
    "target",
    [
        f"/blog/v1/entry/get?id={BLOG_ID}&entry_id=46",
        f"/blog/v1/entry/get?id={BLOG_ID}&entry_id=0",
        f"/blog/v1/entry/get?id={BLOG_ID}",
        "/blog/v1/entry/get?id=another.example&entry_id=1",
        f"/blog/v1/tag/list?id={BLOG_ID}",
    ],
)
def test_what_is_not_there_is_not_answered(content: Content, target: str) -> None:
    assert content.answer(target.encode()) is None


@pytest.mark.parametrize("target", ["/blog/v1/entry/get", f"/blog/v1/entry/list?id={BLOG_ID}&page=x"])
def test_a_query_that_is_none_is_an_error(content: Content, target: str) -> None:
    with pytest.raises(ValueError):
        content.answer(target.encode())


def test_real_posts_have_the_lengths_and_the_markup_of_real_blogs() -> None:
    chance = random.Random(1)
    bodies = [real_body(chance, "https://img.example.jp") for _ in range(400)]
    assert median(map(len, bodies)) == pytest.approx(MEDIAN_CHARACTERS, rel=0.2)
    assert fmean(map(len, bodies)) == pytest.approx(4_600, rel=0.15)
    tags = {element.tag for body in bodies for element in parse(body).elements()}
    assert tags >= {"a", "blockquote", "br", "font", "h3", "iframe", "img", "li", "object", "p", "pre", "ruby", "table"}
    assert fmean(body.count("<") for body in bodies) > 100


def test_real_posts_are_served_whole_and_each_differs() -> None:
    entries = [data(Content(SIZE, real=True), "entry/get", entry_id=number) for number in (1, 2, 45)]
    posts = [DEFAULT_SERVICE.post(entry) for entry in entries]
    assert [post.id for post in posts] == ["1", "2", "45"]
    assert len({post.body for post in posts}) == 3
    assert not any("@id@" in post.body for post in posts)
