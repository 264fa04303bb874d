"""Posts are matched with entries by their common fields, each with at most one."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.compare.matching import Matches, match
from tests.compare.posts import TEXT, new, old


def test_the_same_posts_in_any_order_find_each_other() -> None:
    numbers = list(range(1, 50))
    news = [new(number) for number in numbers]
    random.Random(3).shuffle(news)
    found = match([old(number) for number in numbers], news)
    assert {old_at + 1: news[at].slug for old_at, at in found.pairs.items()} == {n: f"entry-{n}" for n in numbers}
    assert (found.again, found.missing, found.extra) == ({}, [], [])


def test_one_changed_field_does_not_prevent_a_match() -> None:
    olds = [old(number) for number in range(1, 7)]
    news = [
        new(1, text="まったく別の文章になってしまいました。だれが書いたのでしょうか。"),
        new(2, titles=("ほかの題",)),
        new(3, when=None),
        new(4, slug="p4"),
        new(5, text=TEXT[:20]),
        new(6, slug="", titles=(), when=None),
    ]
    assert match(olds, news).pairs == {at: at for at in range(6)}


def test_a_copy_is_a_duplicate_and_another_post_is_extra() -> None:
    found = match(
        [old(1)], [new(1), new(1, slug="entry-1-2"), new(9, text="新しい家で書いた。", titles=("初めまして",))]
    )
    assert found == Matches({0: 0}, {1: 0}, [], [2])


def test_a_list_that_contains_a_post_is_no_duplicate() -> None:
    page = new(1, titles=("日記",), slug="page-2", when=None, whole=False, article=False)
    assert match([old(1)], [new(1), page]).again == {}


def test_a_lost_post_does_not_take_the_place_of_one_that_is_like_it() -> None:
    olds = [old(number, title="日記", text="") for number in range(1, 200)]
    news = [new(number, titles=("日記",), text="") for number in range(2, 200)]
    found = match(olds, news)
    assert found.missing == [0]
    assert {olds[at].slugs for at in found.pairs} == {(f"entry-{n}",) for n in range(2, 200)}


def test_posts_with_one_text_are_distinguished_by_date_and_title() -> None:
    olds = [old(number, text=TEXT) for number in range(1, 300)]
    news = [new(number, text=TEXT, slug=f"p{number}") for number in range(1, 300)]
    assert match(olds, news).pairs == {at: at for at in range(299)}


def test_texts_alone_are_enough_and_short_ones_are_not() -> None:
    unlike = {"titles": (), "when": None, "slug": ""}
    assert match([old(1)], [new(1, **unlike)]).pairs == {0: 0}
    assert match([old(1, text="短い")], [new(1, text="短い", **unlike)]).pairs == {}


def test_a_page_contains_the_text_among_others() -> None:
    page = new(1, titles=(), when=None, slug="", whole=False, text=f"見出し{TEXT}その1カテゴリー")
    assert match([old(1)], [page]).pairs == {0: 0}


def similar(count: int) -> dict[int, int]:
    """Match posts with as many others that differ only in their days."""
    olds = [old(number, title="日記", text=TEXT, slugs=()) for number in range(count)]
    news = [new(number, titles=("日記",), text=TEXT, slug="") for number in range(count)]
    return match(olds, news).pairs


def test_similar_posts_are_matched_by_their_days() -> None:
    assert similar(100) == {at: at for at in range(100)}


@pytest.mark.thorough
def test_many_similar_posts_are_not_compared_pair_by_pair() -> None:
    """Comparing four million pairs would take minutes."""
    begun = time.process_time()
    assert similar(2000) == {at: at for at in range(2000)}
    assert time.process_time() - begun < 60


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=12), st.lists(st.integers(1, 4), max_size=12))
def test_no_post_is_matched_twice(news: list[tuple[int, bool]], olds: list[int]) -> None:
    found = match([old(number) for number in olds], [new(number, whole=whole) for number, whole in news])
    assert len(set(found.pairs.values())) == len(found.pairs)
    assert sorted([*found.pairs, *found.missing]) == list(range(len(olds)))
    assert sorted([*found.pairs.values(), *found.again, *found.extra]) == list(range(len(news)))
