from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.permits.budget import MARGIN, Budget, Heard, HostLimits, Portion, fair

NEVER = float("-inf")
LEASE, LONGEST = 2.0, 10.0
MUCH = Portion(50, 50)
NOTHING = Portion(0, 0)
WITHHELD = LEASE + LONGEST + 1.0 + MARGIN


def budget(settled: float = NEVER) -> Budget:
    made = Budget(HostLimits(8, 10.0), LEASE, LONGEST, settled)
    made.ceiling.limit = 8.0
    return made


def test_what_one_holds_another_is_not_given_until_it_is_given_back() -> None:
    shared = budget()
    assert shared.report("a", NOTHING, MUCH, 0, 0.0, lasts=False) == (8, 10)
    assert shared.report("b", NOTHING, MUCH, 0, 0.1, lasts=False) == (0, 0)
    assert shared.aim("a", 0.1) == (4, 5)
    assert shared.report("a", Portion(6, 5), MUCH, 6, 0.2, lasts=True) == (6, 5)
    assert shared.report("b", NOTHING, MUCH, 0, 0.3, lasts=True) == (2, 5)


def test_what_a_silent_crawler_held_is_withheld_for_its_lease_and_the_longest_request() -> None:
    shared = budget()
    shared.report("a", NOTHING, MUCH, 0, 0.0, lasts=False)
    assert shared.report("b", NOTHING, MUCH, 0, WITHHELD - 0.1, lasts=False) == (0, 0)
    assert shared.holders(WITHHELD - 0.1) == 2
    assert shared.report("b", NOTHING, MUCH, 0, WITHHELD, lasts=True) == (8, 10)
    assert not shared.holds("a")


def test_one_that_comes_back_says_what_it_holds_and_the_rest_is_free_at_once() -> None:
    shared = budget()
    shared.report("a", NOTHING, MUCH, 0, 0.0, lasts=False)
    shared.report("b", NOTHING, MUCH, 0, 4.9, lasts=False)
    assert shared.report("a", Portion(1, 2), NOTHING, 1, 5.0, lasts=False) == (1, 2)
    assert shared.report("b", NOTHING, MUCH, 0, 5.1, lasts=True) == (7, 8)


def test_one_that_leaves_holds_nothing() -> None:
    shared = budget()
    shared.report("a", NOTHING, MUCH, 0, 0.0, lasts=False)
    shared.gone("a")
    assert shared.report("b", NOTHING, MUCH, 0, 0.1, lasts=False) == (8, 10)


def test_a_new_owner_gives_nothing_but_what_living_crawlers_held_before() -> None:
    shared = budget(settled=20.0)
    assert shared.report("new", NOTHING, MUCH, 0, 0.0, lasts=False) == (0, 0)
    assert shared.report("old", Portion(5, 6), MUCH, 5, 0.1, lasts=True) == (5, 6)
    assert shared.report("old", Portion(3, 4), Portion(3, 4), 3, 0.2, lasts=True) == (3, 4)
    assert shared.report("new", NOTHING, MUCH, 0, 0.3, lasts=True) == (2, 2), "what the other gave back"
    assert shared.report("late", Portion(2, 2), MUCH, 2, 0.4, lasts=False) == (2, 2)
    assert shared.report("new", Portion(2, 2), MUCH, 0, 0.5, lasts=True) == (2, 2)
    assert shared.report("new", Portion(2, 2), MUCH, 0, 20.0, lasts=True) == (8, 10), "all others are silent by then"


def test_a_new_owner_begins_with_what_was_borne_before() -> None:
    shared = Budget(HostLimits(20, None), LEASE, LONGEST, 20.0)
    shared.report("old", Portion(15, 0), MUCH, 5, 0.1, lasts=True)
    assert shared.ceiling.limit == 15


def test_refusals_lower_what_all_may_and_a_place_without_a_slot_is_given_to_nobody() -> None:
    shared = budget()
    shared.report("a", NOTHING, MUCH, 8, 0.0, lasts=False)
    shared.report("b", NOTHING, MUCH, 0, 0.0, lasts=False)
    for _ in range(8):
        shared.heard(Heard(0, 0.0, 0.1, refused=True))
    assert shared.ceiling.limit == 1
    shared.report("a", Portion(0, 0), MUCH, 0, 0.2, lasts=True)
    assert sorted([shared.aim("a", 0.2), shared.aim("b", 0.2)]) == [(0, 0), (1, 10)]
    for _ in range(40):
        shared.heard(Heard(1, 0.5, 0.1, refused=False))
    assert shared.ceiling.limit == 8


@given(
    st.integers(-3, 60),
    st.dictionaries(st.text(max_size=2), st.integers(0, 30), min_size=1, max_size=8),
    st.integers(0, 9),
)
def test_a_fair_share(total: int, wanted: dict[str, int], turn: int) -> None:
    found = fair(total, wanted, turn)
    assert found.keys() == wanted.keys()
    assert sum(found.values()) <= max(0, total)
    assert min(found.values()) >= 0
    short = {name for name in wanted if found[name] < wanted[name]}
    if short:
        assert sum(found.values()) == max(0, total), "nothing is left where somebody wants more"
        assert max(found.values()) - min(found[name] for name in short) <= 1


@pytest.mark.parametrize("total", [1, 2])
def test_where_there_is_less_than_there_are_crawlers_all_have_their_turn(total: int) -> None:
    wanted = dict.fromkeys("abc", 5)
    turns = [fair(total, wanted, turn) for turn in range(3)]
    assert [sum(each[name] for each in turns) for name in "abc"] == [total] * 3
