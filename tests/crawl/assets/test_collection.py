"""The addresses that a blog needs, collected from its records."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.crawl.assets.addresses import AddressCollection, addresses
from exporter.demo.content import demo_blog
from exporter.errors import UsageError
from exporter.html.embedded import Use
from exporter.html.links import AddressPattern
from exporter.service.registry import DEFAULT_SERVICE

BASE = "https://blog.example.jp/"
PATTERN = "https://files.example.jp/u/{user_id}/{mtime}"


def gathered(
    entries: dict[str, Any], files: dict[str, Any] | None = None, pattern: str | None = PATTERN, base: str = BASE
) -> AddressCollection:
    collection = AddressCollection(DEFAULT_SERVICE, None if pattern is None else AddressPattern(pattern, "--file-url"))
    for file_id, record in (files or {}).items():
        collection.add_file(file_id, record)
    for entry_id, record in entries.items():
        collection.add_entry(entry_id, addresses(DEFAULT_SERVICE.post(record), base))
    return collection


def test_bodies_continuations_and_templates_are_looked_at() -> None:
    entry = {"entry_text": "<img src=/a.gif>", "ps_text": "<img src=b.gif>", "template_text": "<img src='c.gif'>"}
    wanted = gathered({"7": entry}).wanted()
    assert list(wanted) == [f"{BASE}{name}.gif" for name in "abc"]
    assert all(each.refs == [{"entry": "7"}] for each in wanted.values())


@pytest.mark.parametrize(
    "body", [None, 7, ["<img src=a.gif>"], "", "ただの文", "<img src='data:image/gif;base64,AAAA'>"]
)
def test_an_invalid_body_is_skipped(body: Any) -> None:
    assert gathered({"7": {"entry_text": body}}).wanted() == {}


def test_a_link_counts_if_it_leads_to_a_picture_or_an_upload() -> None:
    body = (
        "<a href=b.jpg>1</a><a href=b.html>2</a><a href=//files.example.jp/u/x/1>3</a><a href=//files.example.jp/>4</a>"
    )
    assert list(gathered({"7": {"entry_text": body}}).wanted()) == [
        "https://blog.example.jp/b.jpg",
        "https://files.example.jp/u/x/1",
    ]


def test_an_upload_is_the_address_that_means_it() -> None:
    files = {"3": {"user_id": "x", "mtime": "1", "file_size": "9", "extension": ".JPG", "file_id": "3"}}
    body = "<img src='http://files.example.jp/u/x/1/'><a href=https://files.example.jp/u/x/1#a>"
    (wanted,) = gathered({"12": {"entry_text": body}, "7": {"ps_text": body}}, files).wanted().values()
    assert wanted.url == "https://files.example.jp/u/x/1"
    assert wanted.refs == [{"entry": "7"}, {"entry": "12"}, {"file": "3"}]
    assert (wanted.sizes, wanted.endings, wanted.stamp) == ({9}, {"jpg"}, "3:9:1")
    assert wanted.expected.embedded


def test_an_upload_that_no_entry_shows_is_wanted() -> None:
    files = {"3": {"user_id": "x", "mtime": "1"}, "4": {"user_id": "x", "mtime": ""}, "5": {"user_id": None}}
    (wanted,) = gathered({}, files).wanted().values()
    assert (wanted.refs, wanted.sizes, wanted.endings) == ([{"file": "3"}], set(), set())
    assert not wanted.expected.embedded


def test_two_uploads_in_one_second_share_an_address() -> None:
    files = {"3": {"user_id": "x", "mtime": "1", "file_size": "9"}, "4": {"user_id": "x", "mtime": "1"}}
    (wanted,) = gathered({}, files).wanted().values()
    assert wanted.refs == [{"file": "3"}, {"file": "4"}]


def test_without_a_pattern_uploads_have_no_address() -> None:
    assert gathered({}, {"3": {"user_id": "x", "mtime": "1"}}, None).wanted() == {}


def test_a_field_of_a_record_that_the_document_does_not_know_is_fine() -> None:
    assert list(gathered({}, {"3": {"secret": "s"}}, "https://h/{secret}").wanted()) == ["https://h/s"]
    with pytest.raises(UsageError, match="secret"):
        gathered({}, {"3": {"mtime": "1"}}, "https://h/{secret}")


def test_the_sample_blogs_pictures_are_all_found() -> None:
    blog = demo_blog()
    files = {str(number): record for number, record in enumerate(blog.files)}
    entries = {str(key): record for key, record in blog.entries.items()}
    pattern = "https://files.example.jp/v1/blog/user/{user_id}/{mtime}"
    wanted = gathered(entries, files, pattern, f"https://{blog.blog_id}/").wanted()
    assert set(blog.pictures) <= set(wanted)


def test_an_address_both_shown_and_linked_to_is_shown() -> None:
    entry = {"entry_text": "<a href=x>1</a><img src=x><a href=x>2</a><a href=a>3</a>"}
    assert addresses(DEFAULT_SERVICE.post(entry), BASE) == [(f"{BASE}a", Use.LINKED), (f"{BASE}x", Use.SHOWN)]
