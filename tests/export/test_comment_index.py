"""The comments of each post, and the distinct second that each comment gets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exporter.export.comment_index import CommentIndex

DAY = 86_400


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 2, DAY, DAY + 1, -DAY])), max_size=40))
def test_every_comment_is_with_its_post_and_has_a_distinct_second(comments: list[tuple[int, int]]) -> None:
    index = CommentIndex()
    for number, (row, second) in enumerate(comments):
        index.add(str(row), str(number), second)
    index.finish()
    found = [list(index.of(str(row))) for row in range(5)]
    for row, places in enumerate(found):
        assert [place[0] for place in places] == [str(n) for n, (of, _) in enumerate(comments) if of == row]
    everything = {int(place[0]): place[1] for places in found for place in places}
    assert len(set(everything.values())) == len(comments)
    for number, (_, second) in enumerate(comments):
        assert everything[number] >= second
        for other, (_, same) in enumerate(comments[:number]):
            assert same != second or everything[other] < everything[number]


def test_a_free_second_is_kept() -> None:
    index = CommentIndex()
    for number, second in enumerate((5, 5, 100, 5)):
        index.add("0", str(number), second)
    index.finish()
    assert [place[1] for place in index.of("0")] == [5, 6, 100, 7]
