"""Normalization of addresses, and patterns of addresses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import UsageError
from exporter.html.links import AddressPattern, absolute, is_picture, meaning
from exporter.http.address_guard import AddressGuard

BASE = "https://blog.example.jp/"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://h/a.jpg", "https://h/a.jpg"),
        ("HTTP://H.Example:80/A.JPG#top", "http://h.example/A.JPG"),
        ("https://h:443", "https://h/"),
        ("http://h:8080/a", "http://h:8080/a"),
        ("//h/a.jpg", "https://h/a.jpg"),
        ("/img/a.jpg", "https://blog.example.jp/img/a.jpg"),
        ("img/a.jpg?x=1", "https://blog.example.jp/img/a.jpg?x=1"),
        ("../a.jpg", "https://blog.example.jp/a.jpg"),
        ("?p=1", "https://blog.example.jp/?p=1"),
        ("  https://h/a\n.jpg\t", "https://h/a.jpg"),
        ("http:\\\\h\\a\\b.jpg?c\\d", "http://h/a/b.jpg?c%5Cd"),
        ("http:/h/a", "http://h/a"),
        ("\\\\h\\a.gif", "https://h/a.gif"),
        ("https://h/海 辺.jpg?色=青", "https://h/%E6%B5%B7%20%E8%BE%BA.jpg?%E8%89%B2=%E9%9D%92"),
        ("https://h/%E6%B5%B7.jpg", "https://h/%E6%B5%B7.jpg"),
        ("https://日本.example/a", "https://xn--wgv71a.example/a"),
        ("https://[::1]:81/a", "https://[::1]:81/a"),
        ("https://u:p@h/a", "https://u:p@h/a"),
        ("https://h/\ud83d.gif", "https://h/%3F.gif"),
        ("", None),
        ("   ", None),
        ("data:image/gif;base64,AAAA", None),
        ("javascript:alert(1)", None),
        ("mailto:a@b", None),
        ("file:///a.jpg", None),
        ("http://", None),
        ("http://h:port/", None),
        ("http://[::1/", None),
        ("http://" + "あ" * 64 + ".example/", None),
    ],
)
def test_how_browsers_read_it(text: str, address: str | None) -> None:
    assert absolute(text, BASE) == address


@given(st.text(max_size=60), st.sampled_from(["", "http:", "https://h/", "//", "/", "?"]))
def test_an_address_is_stable_ascii_that_the_guard_can_read(text: str, start: str) -> None:
    address = absolute(start + text, BASE)
    if address is not None:
        assert address.isascii()
        assert absolute(address, BASE) == address
        assert meaning(address)
    assert AddressGuard(allow_private=True).check(absolute("a.gif", BASE) or "").host == "blog.example.jp"


def test_two_addresses_of_one_place_have_the_same_key() -> None:
    assert meaning("http://h/a/") == meaning("https://h/a") == "h/a"


@pytest.mark.parametrize("name", ["a.jpg", "a.JPEG?x", "d.e/a.webp", "a.svg", "a.gif"])
def test_a_picture_by_its_ending(name: str) -> None:
    assert is_picture("http://h/" + name)


@pytest.mark.parametrize("name", ["", "a", "a.html", "jpg", "a.jpg/b", "a?b=c.jpg", "a.txt"])
def test_no_picture_by_its_ending(name: str) -> None:
    assert not is_picture("http://h/" + name)


@pytest.mark.parametrize(
    "text", ["", "https://h/", "{a}", "ftp://h/{a}", "https://h/{}", "https://h/{a", "https://h/{a}}"]
)
def test_no_pattern(text: str) -> None:
    with pytest.raises(UsageError, match="--file-url must be an address with fields in braces"):
        AddressPattern(text, "--file-url")


def test_a_record_fills_a_pattern() -> None:
    pattern = AddressPattern(" https://h/{user_id}/{name}?v={mtime} ", "--file-url")
    assert pattern.fields == ("user_id", "name", "mtime")
    record = {"user_id": "u", "name": "海/../辺.jpg", "mtime": 12}
    assert pattern.fill(record) == "https://h/u/%E6%B5%B7%2F..%2F%E8%BE%BA.jpg?v=12"


@pytest.mark.parametrize("value", [None, "", True, [], {}])
def test_a_record_without_a_field_has_no_address(value: Any) -> None:
    assert AddressPattern("https://h/{a}", "x").fill({"a": value}) is None
    assert AddressPattern("https://h/{a}", "x").fill({}) is None


def test_a_field_unknown_is_named() -> None:
    with pytest.raises(UsageError, match=r"{zzz} is not a field of the record: it may be a, b"):
        AddressPattern("https://h/{a}/{zzz}", "--file-url").check(["a", "b"])


def test_addresses_that_match_a_pattern() -> None:
    pattern = AddressPattern("https://h/blog/{user_id}/{mtime}/", "--file-url")
    assert pattern.fits("http://h/blog/abc/12")
    assert pattern.fits("https://h/blog/abc/12/")
    assert not pattern.fits("https://h/blog/abc")
    assert not pattern.fits("https://h/blog/abc/12/13")
    assert not pattern.fits("https://hx/blog/abc/12")
