from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter.html import diff
from exporter.html.diff import ALIGNED_BY_LINES_CHARACTERS, Op, word_diff

LETTERS = st.text(alphabet="海の日はナミab1 \n、👨\u200d👩\u3099\r", max_size=60)


def check(before: str, after: str) -> list[tuple[Op, str]]:
    """Diff, and check the properties of every diff."""
    parts = word_diff(before, after)
    assert "".join(text for op, text in parts if op != "insert") == before
    assert "".join(text for op, text in parts if op != "delete") == after
    ops = [op for op, _ in parts]
    assert all(one != other for one, other in pairwise(ops))
    assert ("insert", "delete") not in pairwise(ops)
    assert all(text for _, text in parts)
    return parts


def test_japanese_words_are_runs_of_one_script() -> None:
    assert check("今日は海の日です。", "今日は山の日でした。") == [
        ("equal", "今日は"),
        ("delete", "海"),
        ("insert", "山"),
        ("equal", "の日"),
        ("delete", "です"),
        ("insert", "でした"),
        ("equal", "。"),
    ]


def test_latin_words_and_numbers_stay_whole() -> None:
    assert check("price 1980 yen", "price 1880 yen") == [
        ("equal", "price "),
        ("delete", "1980"),
        ("insert", "1880"),
        ("equal", " yen"),
    ]


@pytest.mark.parametrize("whole", ["👨\u200d👩\u200d👧", "か\u3099", "e\u0301", "👍🏽"])
def test_a_visible_character_is_never_cut(whole: str) -> None:
    assert check(f"あ、{whole}", f"あ、{whole[0]}") == [("equal", "あ、"), ("delete", whole), ("insert", whole[0])]


def test_equal_texts_and_empty_ones() -> None:
    assert check("", "") == []
    assert check("海", "海") == [("equal", "海")]
    assert check("", "海") == [("insert", "海")]
    assert check("海", "") == [("delete", "海")]


@given(before=LETTERS, after=LETTERS)
@example(before="\u200d", after="\u200d\u200d")
def test_every_diff_restores_both_texts(before: str, after: str) -> None:
    check(before, after)


@given(before=st.text(max_size=50), after=st.text(max_size=50))
def test_any_unicode_restores_both_texts(before: str, after: str) -> None:
    check(before, after)


@settings(max_examples=60)
@given(
    before=st.lists(st.sampled_from(["海", "の", "日", "、", "。\n"]), max_size=80),
    after=st.lists(st.sampled_from(["海", "の", "空", "、", "。\n"]), max_size=80),
)
def test_without_a_budget_the_result_is_still_correct(before: list[str], after: list[str]) -> None:
    for budget in (0, 50, 500):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(diff, "_MAX_COMPARISONS", budget)
            patch.setattr(diff, "ALIGNED_BY_LINES_CHARACTERS", 20)
            check("".join(before), "".join(after))


def test_long_texts_are_aligned_by_lines_then_words() -> None:
    lines = [f"{number}日目は晴れて、海がよく見えた。\n" for number in range(2000)]
    changed = list(lines)
    changed[1000] = "1000日目は曇って、海がよく見えた。\n"
    before, after = "".join(lines), "".join(changed)
    assert len(before) > ALIGNED_BY_LINES_CHARACTERS
    found = [(op, text) for op, text in check(before, after) if op != "equal"]
    assert found == [("delete", "晴れて"), ("insert", "曇って")]


def test_every_second_word_of_a_long_text() -> None:
    before = " ".join(f"w{number}" for number in range(9000))
    after = " ".join(f"w{number}" if number % 2 else f"v{number}" for number in range(9000))
    parts = check(before, after)
    assert sum(op == "delete" for op, _ in parts) == 4500


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x y " * 50_000, "x x y y " * 25_000),
        ("x\ny\n" * 50_000, "x\nx\ny\ny\n" * 25_000),
        ("\n" * 100_000 + "x\n" * 50_000, "x\n" * 50_000 + "\n" * 100_000),
        ("海の" * 100_000, "海、の、" * 50_000),
    ],
)
def test_two_hundred_thousand_characters_of_the_worst_kind_take_seconds_at_most(before: str, after: str) -> None:
    started = time.process_time()
    check(before, after)
    assert time.process_time() - started < 10
