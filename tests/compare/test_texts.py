"""Texts that new homes are known to write differently are equal; all other differences count."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.compare.texts import (
    body_letters,
    body_pieces,
    first_difference,
    letters,
    likeness,
    only_words,
    same_words,
    sketch,
    word_letters,
)


def test_known_rewritings_are_equal(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("\"quoted\" and 'so'", "“quoted” and ‘so’"),
        ("``quoted''", "“quoted”"),
        ("1996--2003 --- or so", "1996–2003 — or so"),
        ("――だよ", "—だよ"),
        ("wait...", "wait…"),
        ("80x60", "80×60"),
        ("a(tm)", "a™"),
        ("a b\tc\n d", "abcd"),
        ("soft\u00adhyphen\u200b\ufeff", "softhyphen"),
        ("が", "か\u3099"),
        ("fine :) :-(", "fine 🙂 🙁"),
        ("cool 8-)", "cool 😎"),
        ("<<so>>", "«so»"),
        ("a\x00b\ufffd\ud83d", "ab"),
        ("Wordpress", "WordPress"),
        ("x'''", "x’””"),
        ('字下げ""', "字下げ”’"),
    ]
    for before, after in rows:
        with subtests.test(before=before, after=after):
            assert letters(before) == letters(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ー", "-"),
        ("カ", "ｶ"),
        ("Ａ", "A"),
        ("😀", ""),
        ("no!", "no"),
        ("１", "1"),
        ("http://x.example:8080/8O", "http://x.example😯080/8O"),
        ("猫", "描"),
    ],
)
def test_other_texts_are_different(before: str, after: str) -> None:
    assert letters(before) != letters(after)


@pytest.mark.parametrize(
    ("html", "pieces"),
    [
        ("<p>海へ</p><p>行った</p>", ["海へ行った"]),
        ('<p>前</p><iframe src="https://video.example/embed/1">player</iframe><p>後</p>', ["前", "後"]),
        (
            '<p>本<sup id="r"><a href="#n">1</a></sup>を</p><ol><li id="n">注だ<a href="#r">↩</a></li></ol><p>終</p>',
            ["本", "を終", "注だ"],
        ),
        ("", []),
    ],
)
def test_texts_are_split_where_exports_insert_words(html: str, pieces: list[str]) -> None:
    assert [piece.letters for piece in body_pieces(html).texts] == pieces


@given(st.text())
@example("\u0339 \u0334")
@example("×\u0307")
def test_letters_are_their_own_letters(text: str) -> None:
    once = letters(text)
    assert letters(f"x{once}x") == letters(f"x{text}x") or ":" in text or ";" in text or "8" in text
    assert only_words(only_words(once)) == only_words(once)


def test_html_gives_the_letters_that_a_reader_sees() -> None:
    html = '<p>Tom &amp; <b>Jerry</b><br>\n"so"</p><script>x</script><!-- wp:html --><img alt="絵">'
    assert body_letters(html) == 'Tom&Jerry"so"絵'
    assert word_letters("A &amp; B") == word_letters("A & B") == "A&B"
    assert same_words("「日記」 &#8211; 一", ["other", "「日記」-一"])


@given(st.text(max_size=200), st.text(max_size=200))
def test_likeness_is_of_both_and_between_0_and_1(one: str, other: str) -> None:
    alike = likeness(sketch(one), sketch(other))
    assert 0.0 <= alike <= 1.0
    assert alike == likeness(sketch(other), sketch(one))
    assert likeness(sketch(one), sketch(one)) == (1.0 if one else 0.0)


def test_a_half_is_like_the_whole_and_another_text_is_not() -> None:
    text = "".join(chr(0x4E00 + number) for number in range(500))
    assert likeness(sketch(text), sketch(text[:250])) > 0.6
    assert likeness(sketch(text), sketch(text[::-1])) == 0.0


def test_texts_are_shown_from_where_they_differ() -> None:
    assert first_difference("abc", "abd") == ("abc", "abd")
    before, after = first_difference("x" * 100 + "a" + "y" * 100, "x" * 100 + "b")
    assert before == "…" + "x" * 10 + "a" + "y" * 29 + "…"
    assert after == "…" + "x" * 10 + "b"
    assert first_difference("abc", "") == ("abc", "")
