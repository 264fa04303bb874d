"""The threads of comments by their stated parents, in any blog."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from exporter.export.threads import in_order, stated_answers, threads
from exporter.model.records import Comment, CommentStatus

_START = datetime(2024, 5, 1, tzinfo=UTC)


def comment(comment_id: str, parent: str = "", *, hour: int | None = None) -> Comment:
    date = None if hour is None else _START + timedelta(hours=hour)
    return Comment(
        comment_id, "p", date, True, comment_id, "", "", "", None, {}, None, {},
        parent=parent, status=CommentStatus.SHOWN,
    )  # fmt: skip


def drawn(*comments: Comment) -> list[tuple[str, int]]:
    return [(each.comment.id, each.level) for each in threads(comments)]


def test_answers_come_after_what_they_answer() -> None:
    found = drawn(
        comment("a", hour=1), comment("b", hour=2), comment("c", "a", hour=3), comment("d", "c", hour=4),
        comment("e", "a", hour=5),
    )  # fmt: skip
    assert found == [("a", 0), ("c", 1), ("d", 2), ("e", 1), ("b", 0)]


def test_an_answer_may_be_older_than_what_it_answers() -> None:
    assert drawn(comment("a", "b", hour=1), comment("b", hour=2)) == [("b", 0), ("a", 1)]


def test_a_parent_that_is_missing_or_the_comment_itself_counts_as_none() -> None:
    assert drawn(comment("a", "gone", hour=1), comment("b", "b", hour=2)) == [("a", 0), ("b", 0)]


def test_circles_lose_no_comment() -> None:
    circle = [
        comment("a", "c", hour=1),
        comment("b", "a", hour=2),
        comment("c", "b", hour=3),
        comment("d", "c", hour=4),
    ]
    assert drawn(*circle) == [("a", 0), ("b", 1), ("c", 2), ("d", 3)]


def test_ten_thousand_levels_are_read_without_recursion() -> None:
    comments = [comment(str(at), str(at - 1), hour=at % 5) for at in range(10_000)]
    assert [each.level for each in threads(comments)] == list(range(10_000))


def test_comments_are_in_the_order_of_their_times_or_ids() -> None:
    dated = [comment("x9", hour=3), comment("x1", hour=5), comment("10", hour=4), comment("u")]
    assert [each.id for each in in_order(dated)] == ["x9", "10", "x1", "u"]
    plain = [replace(each, status=None) for each in dated]
    assert [each.id for each in in_order(plain)] == ["10", "u", "x1", "x9"]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=9))
def test_every_comment_has_one_place(pairs: list[tuple[int, int]]) -> None:
    comments = [comment(str(at), str(parent), hour=hour) for at, (parent, hour) in enumerate(pairs)]
    found = list(threads(comments))
    assert sorted(each.comment.id for each in found) == sorted(each.id for each in comments)
    seen: dict[str, int] = {}
    for each in found:
        assert each.level == (0 if each.answers is None else seen[each.answers.id] + 1)
        seen[each.comment.id] = each.level
    answers = stated_answers(comments)
    for start in range(len(answers)):
        at: int | None = start
        for _ in range(len(answers) + 1):
            at = None if at is None else answers[at]
        assert at is None, "a circle is left"
