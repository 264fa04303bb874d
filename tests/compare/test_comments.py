"""Comments are matched, and the difference of each is named."""

from __future__ import annotations

from exporter.compare.comments import compare_comments, find_comments
from exporter.compare.posts import Fault, NewComment, OldComment
from tests.compare.posts import new_comment, old_comment


def faults(olds: list[OldComment], news: list[NewComment]) -> list[Fault]:
    return [each.change for each in compare_comments(olds, news).differences]


def test_the_same_comments_in_any_order_differ_in_nothing() -> None:
    olds = [old_comment("a", "一"), old_comment("b", "一"), old_comment("a", "一", day=6), old_comment("", "名無し")]
    news = [
        new_comment("a", "一", day=6),
        new_comment("Anonymous", "名無し"),
        new_comment("b", "一"),
        new_comment("a", "一"),
    ]
    assert compare_comments(olds, news) == ([], 0)


def test_missing_held_duplicate_and_new_comments_are_named() -> None:
    olds = [old_comment("a", "あ"), old_comment("b", "い"), old_comment("c", "う")]
    news = [
        new_comment("b", "い", held=True),
        new_comment("c", "う"),
        new_comment("c", "う"),
        new_comment("z", "新しい"),
    ]
    found = compare_comments(olds, news)
    assert [each.change for each in found.differences] == [
        Fault.COMMENT_MISSING, Fault.COMMENT_HELD, Fault.COMMENT_DUPLICATE,
    ]  # fmt: skip
    assert found.extra == 1


def test_writer_text_and_day_are_compared() -> None:
    text = "きのう行ってきました。とても良い所でしたよ。"
    assert faults([old_comment("a", text)], [new_comment("b", text)]) == [Fault.COMMENT_CHANGED]
    assert faults([old_comment("a", text)], [new_comment("a", text[:10])]) == [Fault.COMMENT_CHANGED]
    assert faults([old_comment("a", text)], [new_comment("a", text, day=6)]) == [Fault.COMMENT_CHANGED]
    assert faults([old_comment("a", text)], [new_comment("b", text[:15], day=9)]) == [Fault.COMMENT_CHANGED] * 3


def test_hidden_comments_must_not_be_shown_and_may_be_missing() -> None:
    hidden = old_comment(visible=False)
    assert faults([hidden], []) == []
    assert faults([hidden], [new_comment(held=True)]) == []
    assert faults([hidden], [new_comment()]) == [Fault.COMMENT_SHOWN]


def test_on_pages_comments_are_found_by_their_letters() -> None:
    comments = [old_comment("umi", "いいですね"), old_comment("yama", "また来ます", title="題")]
    assert find_comments(comments, "…umi2020-01-05いいですね…yama題また来ます") == []
    assert [each.change for each in find_comments(comments, "umiいいですねyamaまた来ます")] == [Fault.COMMENT_MISSING]
    hidden = [old_comment("umi", "秘密の話", visible=False)]
    assert [each.change for each in find_comments(hidden, "umi秘密の話")] == [Fault.COMMENT_SHOWN]
    assert find_comments(hidden, "umi") == []


def test_many_similar_comments_are_compared_quickly() -> None:
    olds = [old_comment(f"n{number}", f"t{number}") for number in range(3000)]
    news = [new_comment(f"m{number}", f"u{number}") for number in range(3000)]
    assert len(compare_comments(olds, news).differences) >= 3000
