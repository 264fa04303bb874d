"""Untrusted text for terminals, text files and columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.text import REPLACEMENT, left, printable, printable_json, printable_lines, right, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("日記 🍣 plain", "日記 🍣 plain"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\nb\tc\x00", "a\\x0ab\\x09c\\x00"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("line\u2028end", "line\\u2028end"),
        ("\ud83d", "\\ud83d"),
        ("", ""),
    ],
)
def test_control_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_long_text_is_cut_before_it_is_escaped() -> None:
    assert printable("x" * 400, 10) == "x" * 9 + "…"
    assert printable("x" * 10, 10) == "x" * 10


@given(st.text(st.characters(), max_size=50))
def test_the_result_has_no_control_or_unencodable_characters(text: str) -> None:
    out = printable(text)
    assert out.encode("utf-8").decode() == out
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) <= 0x9F for letter in out)


def test_lines_keep_their_ends_and_colours_only_on_request() -> None:
    text = "\x1b[1mtitle\x1b[0m\r\nnext\tcell\x1b[2J"
    assert printable_lines(text) == "\\x1b[1mtitle\\x1b[0m\nnext\tcell\\x1b[2J"
    assert printable_lines(text, colours=True) == "\x1b[1mtitle\x1b[0m\nnext\tcell\\x1b[2J"


def test_json_for_a_terminal_means_the_same() -> None:
    assert printable_json('{"a":"\u202e\x9b"}\r\n') == '{"a":"\\u202e\\u009b"} \n'


def test_columns_count_wide_characters_twice() -> None:
    assert (left("記事", 6), right("記事", 6)) == ("記事  ", "  記事")


@pytest.mark.parametrize("size", [3, 1_000_003])
def test_characters_that_text_files_cannot_hold_are_replaced_and_counted(size: int) -> None:
    text = "\ud800\x00" + "海" * size + "\t\n\r\x0c\x1b"
    assert visible(text) == (f"{REPLACEMENT * 2}{'海' * size}\t\n\r\x0c{REPLACEMENT}", 3)


def test_printable_shows_control_characters() -> None:
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
