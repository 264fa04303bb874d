"""Similar entries: found by shared words, and updated after changes with the same result as a new search."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.site import facts as module
from exporter.site.facts import MAX_SIMILAR, Known, marks_of, related
from exporter.site.row_file import MarkedEntries

_MARKS = st.lists(st.sampled_from("海空山川花鳥風月"), unique=True, max_size=4).map(" ".join)
_BLOG = st.dictionaries(st.integers(1, 12).map(str), st.tuples(_MARKS, st.sampled_from(["", "旅"])))
Blog = dict[str, tuple[str, str]]


def found(blog: Blog, before: dict[str, Known] | None = None) -> dict[str, Known]:
    now = MarkedEntries()
    for entry_id in sorted(blog, key=str):
        now.add(entry_id, *blog[entry_id])
    assert [each for each, _, _ in now] == sorted(blog, key=int)
    return dict(related(now, before or {}))


@settings(max_examples=30)
@given(st.lists(_BLOG, min_size=2, max_size=5))
def test_an_incremental_result_equals_a_new_one(blogs: list[Blog]) -> None:
    before: dict[str, Known] = {}
    for blog in blogs:
        before = found(blog, before)
        assert before == found(blog)


def test_only_entries_that_share_changed_words_are_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    blog = {str(number): (f"marker{number // 4} common", "") for number in range(40)}
    before = found(blog)
    asked: list[int] = []
    closest = module._closest

    def noted(now: object, place: int, *rest: object) -> tuple[str, ...]:
        asked.append(place)
        return closest(now, place, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_closest", noted)
    assert found(blog, before) == before
    assert asked == []
    blog["5"] = ("marker2 common", "")
    found(blog, before)
    assert len(asked) == 40  # "common" is still rare enough to count
    del asked[:]
    wide = {str(number): (f"marker{number // 4} common", "") for number in range(300)}
    before = found(wide)
    del asked[:]
    wide["5"] = ("marker2 common", "")
    found(wide, before)
    assert asked == [4, 5, 6, 7, 8, 9, 10, 11]


def test_rare_marks_and_an_equal_category_count_more() -> None:
    blog = {
        "1": ("桜 丘", "散歩"),
        "2": ("桜 海", "散歩"),
        "3": ("桜 丘", "旅"),
        "4": ("空", "散歩"),
        **{str(number): ("海", "") for number in range(10, 20)},
    }
    alike = {entry_id: known.alike for entry_id, known in found(blog).items()}
    assert alike["1"] == ("3", "2")
    assert alike["4"] == ()
    assert alike["10"] == ()
    assert len(found({str(number): ("桜 丘 海", "") for number in range(1, 10)})["5"].alike) == MAX_SIMILAR


def test_words_that_128_entries_share_do_not_count() -> None:
    def shared(count: int) -> set[tuple[str, ...]]:
        blog = {str(number): (" ".join(f"word{at}" for at in range(16)), "") for number in range(count)}
        return {known.alike for known in found(blog).values()}

    assert () not in shared(127)
    assert shared(128) == {()}


def test_marks_are_distinctive_words() -> None:
    text = "京都大学で「コンピューター」の話をしました。The library of Kyoto という図書館、図書館。"
    marks = marks_of("図書館にて", text).split(" ")
    assert marks[:2] == sorted(marks[:2], key=["図書", "書館"].index) or set(marks[:2]) == {"図書", "書館"}
    assert set(marks) == {"図書", "書館", "京都", "都大", "大学", "コンピューター", "library", "kyoto"}
    assert marks_of("", "ありがとう。") == ""
    assert len(marks_of("", "".join(chr(code) for code in range(0x4E00, 0x4F00))).split(" ")) == 16


def test_two_texts_choose_the_same_among_equal_marks() -> None:
    words = [chr(0x4E00 + 2 * at) + chr(0x4E01 + 2 * at) for at in range(60)]
    one, other = marks_of("", "、".join(words)), marks_of("", "、".join(reversed(words)))
    assert one == other
