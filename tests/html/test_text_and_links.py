from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.links import commenter_link, safe_frame_url, safe_image_url, safe_url
from exporter.text import printable, visible


def test_printable_shows_what_a_terminal_would_act_on() -> None:
    assert printable("a\x1b[31m\n\x9b\u202eb\ud83d\u2028あ😀") == r"a\x1b[31m\x0a\x9b\u202eb\ud83d\u2028あ😀"


@given(st.text(alphabet=st.characters(codec=None)))
def test_printable_is_one_printable_line(text: str) -> None:
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) < 0xE000 for char in shown)


def test_visible_counts_what_it_replaces() -> None:
    assert visible("a\x00\ud83d\x85\t\n\x7fあ") == ("a\ufffd\ufffd\ufffd\t\n\ufffdあ", 4)
    assert visible("") == ("", 0)


@given(st.text(alphabet=st.characters(codec=None)))
def test_visible_can_be_encoded_and_keeps_the_length(text: str) -> None:
    shown, count = visible(text)
    shown.encode()
    assert len(shown) == len(text)
    assert count == sum(a != b for a, b in zip(text, shown, strict=True))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://e.com/a b", "http://e.com/a%20b"),
        ("HTTPS://E.com", "HTTPS://E.com"),
        ("  /a\n/b ", "/a/b"),
        ("//e.com/", "//e.com/"),
        ("#x", "#x"),
        ("?a=b:c", "?a=b:c"),
        ("/日本/(a)[b]", "/日本/(a)[b]"),
        ("mailto:a@e.com", "mailto:a@e.com"),
        ('/"<>`|\\^{}', "/%22%3C%3E%60%7C%5C%5E%7B%7D"),
        ("/\ud83d", "/%3F"),
        ("", None),
        (" \t", None),
        ("javascript:x", None),
        ("\x00 JAVA\tSCRIPT\n:x", None),
        ("data:image/png,x", None),
        ("java\x01script:x", None),
        ("１:x", None),
        ("file:///etc/passwd", None),
    ],
)
def test_safe_url(url: str, expected: str | None) -> None:
    assert safe_url(url) == expected


def test_pictures_may_carry_their_pixels() -> None:
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
