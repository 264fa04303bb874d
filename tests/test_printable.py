from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.text import printable


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
def test_what_steers_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_long_text_is_cut_before_it_is_escaped() -> None:
    assert printable("x" * 400, 10) == "x" * 9 + "…"
    assert printable("x" * 10, 10) == "x" * 10


@given(st.text(st.characters(), max_size=50))
def test_nothing_that_comes_out_is_a_control_character_or_unencodable(text: str) -> None:
    out = printable(text)
    assert out.encode("utf-8").decode() == out
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) <= 0x9F for letter in out)
