"""Which addresses may become links."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter.html.links import absolute, commenter_link, safe_frame_url, safe_image_url, safe_url

ACTIVE = (
    "about", "blob", "chrome", "data", "feed:javascript", "file", "filesystem", "intent", "jar", "javascript", "mk", "ms-msdt",
    "res", "search-ms", "shell", "vbscript", "view-source", "ws",
)  # fmt: skip
"""Schemes of addresses that a browser runs or reads itself, or that start a program with commands."""


def test_safe_url(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str | None]] = [
        ("http://e.com/a b", "http://e.com/a%20b"),
        ("HTTPS://E.com", "HTTPS://E.com"),
        ("  /a\n/b ", "/a/b"),
        ("//e.com/", "//e.com/"),
        ("#x", "#x"),
        ("?a=b:c", "?a=b:c"),
        ("/日本/(a)[b]", "/日本/(a)[b]"),
        ("mailto:a@e.com", "mailto:a@e.com"),
        ("line://ti/p/@sea", "line://ti/p/@sea"),
        ("TEL:0312345678", "TEL:0312345678"),
        ("sms:+8190?body=海", "sms:+8190?body=海"),
        ("geo:35.1,139.2", "geo:35.1,139.2"),
        ("webcal://e.com/a.ics", "webcal://e.com/a.ics"),
        ("magnet:?xt=urn:btih:ab", "magnet:?xt=urn:btih:ab"),
        ('/"<>`|\\^{}', "/%22%3C%3E%60%7C%5C%5E%7B%7D"),
        ("/\ud83d", "/%3F"),
        ("", None),
        (" \t", None),
        ("javascript:x", None),
        ("\x00 JAVA\tSCRIPT\n:x", None),
        ("data:image/png,x", None),
        *((f"{scheme}:x", None) for scheme in ACTIVE),
        ("java\x01script:x", None),
        ("１:x", None),
        ("file:///etc/passwd", None),
    ]
    for url, expected in rows:
        with subtests.test(url=url, expected=expected):
            assert safe_url(url) == expected


def test_pictures_may_be_data_addresses() -> None:
    assert safe_image_url("data:image/GIF;base64,AA= =") == "data:image/GIF;base64,AA=%20="
    assert safe_image_url("data:image/svg+xml,<svg>") is None
    assert safe_image_url("/a.jpg") == "/a.jpg"


def test_frames_need_a_host() -> None:
    assert safe_frame_url("https://e.com/") == "https://e.com/"
    assert safe_frame_url("//e.com/") == "//e.com/"
    assert safe_frame_url("/a") is None
    assert safe_frame_url("mailto:a@b") is None


@pytest.mark.parametrize(
    ("url_text", "expected"),
    [
        ("http://e.com/", "http://e.com/"),
        ("https://e.com/?a=<b>", "https://e.com/?a=%3Cb%3E"),
        ("e.com", None),
        ("//e.com", None),
        ("http:///x", None),
        ("javascript:x", None),
        ("mailto:a@b", None),
        ("<a href='http://e.com'>", None),
        ("", None),
    ],
)
def test_commenter_link(url_text: str, expected: str | None) -> None:
    assert commenter_link(url_text) == expected


PARTS = ["a", "B", "e.com", "..", ".", "/", "//", "/..", "/./", "?", "#", ";", "%", "%2e", "[", "]", "@", ":", ":80", ":443", "&", "=", "*", "\\", " ", "海", "~", "_", "-", "xn--"]  # fmt: skip


@settings(max_examples=200)
@given(st.sampled_from(["http://", "https://", "https://e.com/"]), st.lists(st.sampled_from(PARTS), max_size=8))
@example("https://", ["..", "/"])
@example("https://", ["a", "/", "x", ";"])
@example("http://", ["e.com", "/..", "/a", "?"])
def test_the_fast_path_for_absolute_addresses_agrees_with_the_parser(start: str, parts: list[str]) -> None:
    address = start + "".join(parts)
    assert absolute(address, "https://blog.example/") == absolute(f" {address}", "https://blog.example/")
