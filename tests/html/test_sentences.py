"""Edits are shown as whole sentences and begin at a sentence's start."""

from __future__ import annotations

from exporter.html.diff import Op, in_context, with_readable_edits, word_diff


def test_an_added_sentence_is_shown_whole() -> None:
    before, after = "朝は晴れ。\n夜も晴れ。", "朝は晴れ。昼は雨。\n夜も晴れ。"
    assert [each for each in word_diff(before, after) if each[0] != "equal"] == [("insert", "昼は雨。")]


def test_an_edit_is_moved_to_the_start_of_a_sentence() -> None:
    assert list(
        with_readable_edits([("equal", "海へ行った"), ("insert", "。山へ行った"), ("equal", "。そして帰った")])
    ) == [
        ("equal", "海へ行った。"),
        ("insert", "山へ行った。"),
        ("equal", "そして帰った"),
    ]
    assert list(with_readable_edits([("equal", "一行目"), ("delete", "\n二行目"), ("equal", "\n三行目")])) == [
        ("equal", "一行目\n"),
        ("delete", "二行目\n"),
        ("equal", "三行目"),
    ]
    quoted = [("equal", "「はい」"), ("insert", "「いいえ」"), ("equal", "と答えた")]
    assert list(with_readable_edits([("equal", "「はい"), ("insert", "」「いいえ"), ("equal", "」と答えた")])) == quoted


def test_short_gaps_between_edits_are_part_of_them() -> None:
    parts: list[tuple[Op, str]] = [
        ("delete", "きのうは"),
        ("insert", "おとといは"),
        ("equal", "の"),
        ("delete", "おひるごろ"),
        ("insert", "夕方ごろ"),
    ]
    assert list(with_readable_edits([("equal", "あ、"), *parts, ("equal", "。")])) == [
        ("equal", "あ、"),
        ("delete", "きのうはのおひるごろ"),
        ("insert", "おとといはの夕方ごろ"),
        ("equal", "。"),
    ]
    kept: list[tuple[Op, str]] = [("delete", "長い文を消した"), ("equal", "。"), ("insert", "長い文を足した")]
    assert list(with_readable_edits(kept)) == kept


def test_no_mark_is_separated_from_its_letter() -> None:
    parts = word_diff("か。", "か。か\u3099。")
    assert "".join(text for op, text in parts if op != "delete") == "か。か\u3099。"
    assert all(not text.startswith("\u3099") for _, text in parts)


def test_the_context_begins_and_ends_with_a_sentence() -> None:
    far = "遠い文です。" * 20
    parts = list(in_context([("equal", far), ("insert", "新"), ("equal", far)], 40, sentences=True))
    assert parts[0][1].startswith("…遠い")
    assert parts[2][1].endswith("です。…")
    assert len(parts[0][1]) > 20
    assert next(iter(in_context([("equal", "a" * 99), ("insert", "b")], 10, sentences=True)))[1] == "…" + "a" * 10
