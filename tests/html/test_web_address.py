"""Addresses are those that a browser sends for the same text (examples of the URL Standard and of old blogs)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.web_address import parsed, web_address

BASE = parsed("http://blog.example/a/b/c.html?x=1")


def test_an_address_is_resolved_as_in_a_browser(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str | None]] = [
        ("d.png", "http://blog.example/a/b/d.png"),
        ("../d.png", "http://blog.example/a/d.png"),
        ("/x/./y/../z", "http://blog.example/x/z"),
        ("/a/%2e%2E/b", "http://blog.example/b"),
        ("//CDN.example:80/a b.png", "http://cdn.example/a%20b.png"),
        ("\\\\h.example\\p", "http://h.example/p"),
        ("?p=2", "http://blog.example/a/b/c.html?p=2"),
        ("", "http://blog.example/a/b/c.html?x=1"),
        ("#part", "http://blog.example/a/b/c.html?x=1"),
        ("http:foo", "http://blog.example/a/b/foo"),
        ("https:foo", "https://foo/"),
        ("HTTP://A.example", "http://a.example/"),
        ("http://a.example/x/%2e%2e/y", "http://a.example/y"),
        ("  ht\ntp://a.example/\tx ", "http://a.example/x"),
        ("http://例え.jp/日本?q=日本", "http://xn--r8jz45g.jp/%E6%97%A5%E6%9C%AC?q=%E6%97%A5%E6%9C%AC"),
        ("http://a.example/|[]{}^`", "http://a.example/|[]%7B%7D%5E%60"),
        ("http://a.example/?|{}'\"<>", "http://a.example/?|{}%27%22%3C%3E"),
        ("http://a.example//x//y", "http://a.example//x//y"),
        ("/a/%zz é", "http://blog.example/a/%zz%20%C3%A9"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http://h.example:0080/x", "http://h.example/x"),
        ("..", "http://blog.example/a/"),
        ("../../../..", "http://blog.example/"),
        ("data:image/gif;base64,xx", None),
        ("javascript:void(0)", None),
        ("mailto:a@b.example", None),
        ("http://user:word@h.example/", None),
        ("http://h.example:99999/", None),
        ("//", None),
        ("http://a.example/" + "x" * 5_000, None),
    ]
    for text, expected in rows:
        with subtests.test(text=text, expected=expected):
            found = web_address(text, BASE)
            assert (None if found is None else str(found)) == expected


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("cp932", "q=%93%FA%96{"),
        ("euc_jp", "q=%C6%FC%CB%DC"),
        ("utf-8", "q=%E6%97%A5%E6%9C%AC"),
        ("none", "q=%E6%97%A5%E6%9C%AC"),
    ],
)
def test_a_query_is_in_the_encoding_of_its_page(encoding: str, expected: str) -> None:
    assert str(web_address("?q=日本", BASE, encoding)) == f"http://blog.example/a/b/c.html?{expected}"


def test_a_character_that_the_encoding_lacks_becomes_a_reference() -> None:
    assert str(web_address("?q=☃", BASE, "cp932")).endswith("?q=%26%239731%3B")


@given(st.text(max_size=60))
def test_any_text_gives_an_address_that_stays_the_same(text: str) -> None:
    found = web_address(text, BASE)
    if found is not None:
        assert str(found).isascii()
        assert web_address(str(found)) == found
        assert web_address(str(found), BASE) == found
