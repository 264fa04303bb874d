"""Comments follow the ones that they answer, whatever their service states about their parents."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from exporter.export.comment_order import NoParent, Threaded, threaded
from exporter.export.posts import PostComment
from tests.support.wide_posts import WidePosts

DEEP = 50_000


def comments(parents: dict[str, str]) -> list[PostComment]:
    """Return comments by their ids and the ids of those that they answer."""
    read = WidePosts().comment
    when = datetime(2020, 1, 2, tzinfo=UTC)
    return [PostComment(read({"id": own, "parent": parent}), True, when) for own, parent in parents.items()]


def order(parents: dict[str, str]) -> list[tuple[str, str, NoParent | None]]:
    return [(each.comment.comment.id, each.parent, each.lost) for each in threaded(comments(parents))]


def test_an_answer_follows_its_comment() -> None:
    assert order({"1": "3", "2": "", "3": "2", "4": ""}) == [
        ("2", "", None), ("3", "2", None), ("1", "3", None), ("4", "", None),
    ]  # fmt: skip


def test_a_missing_comment_and_a_loop_are_named() -> None:
    assert order({"1": "gone", "2": "3", "3": "4", "4": "2", "5": "5", "6": "3"}) == [
        ("1", "", NoParent.MISSING), ("2", "", NoParent.LOOP), ("4", "2", None), ("3", "4", None),
        ("5", "", NoParent.LOOP), ("6", "3", None),
    ]  # fmt: skip


def test_deep_threads_are_no_problem() -> None:
    parents = {str(number): str(number + 1) for number in range(DEEP)}
    found = order(parents)
    assert (len(found), found[0], found[-1]) == (DEEP, (str(DEEP - 1), "", NoParent.MISSING), ("0", "1", None))


IDS = st.sampled_from([str(number) for number in range(12)])


@given(st.dictionaries(IDS, st.one_of(st.just(""), IDS)))
def test_every_comment_comes_once_and_after_the_one_that_it_answers(parents: dict[str, str]) -> None:
    found = list(threaded(comments(parents)))
    places = {each.comment.comment.id: at for at, each in enumerate(found)}
    assert len(places) == len(found) == len(parents)

    def fits(at: int, each: Threaded) -> bool:
        stated = each.comment.comment.parent
        return places[each.parent] < at if each.parent else not stated or each.lost is not None

    assert all(fits(at, each) for at, each in enumerate(found))
