"""Posts that moved to another blog: which pairs are recognised, and which that look alike are not."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from benchmarks.moved_posts import BlogPost, counted, labelled_posts, recognised
from exporter.compare.moved import Closeness, close

JAPAN = timezone(timedelta(hours=9))
WHEN = datetime(2012, 8, 11, 21, 7, 13, tzinfo=JAPAN)
OLD, NEW = "old.example/12", "new.example/umi"
LETTERS = "あいうえおかきくけこさしすせそたちつてとなにぬねの海山川空星花鳥風月"


def text(seed: int, letters: int = 240) -> str:
    """Return a text; two seeds give texts without a common piece."""
    chance = random.Random(seed)
    return "".join(chance.choices(LETTERS, k=letters))


def post(blog: int, title: str, body: str, date: datetime = WHEN, **other: object) -> BlogPost:
    return replace(BlogPost(blog, title, body, date, "", "", f"{(OLD, NEW)[blog % 2]}{blog}"), **other)  # type: ignore[arg-type]  # any fields


def groups(*posts: BlogPost) -> list[tuple[int, ...]]:
    return recognised(list(posts)).groups


@pytest.mark.parametrize(
    ("title", "body", "date"),
    [
        pytest.param("海の話", text(1), WHEN, id="unchanged"),
        pytest.param("海の話", f"<p>{text(1)[:120]}</p>\n<p>{text(1)[120:]}</p>", WHEN, id="paragraphs"),
        pytest.param("別の題", text(1), WHEN, id="another title"),
        pytest.param("海の話 | しおねの家", text(1)[:90] + " …続きを読む", WHEN, id="only the beginning"),
        pytest.param("海の話", text(1), WHEN.astimezone(UTC), id="the same moment elsewhere"),
        pytest.param("海の話", text(1), WHEN - timedelta(hours=9), id="the wrong time zone"),
        pytest.param("海の話", text(1), WHEN.replace(hour=0, minute=0, second=0), id="only the day"),
        pytest.param("海の話", f"{text(1)}追記: 直しました。", WHEN, id="corrected"),
    ],
)
def test_a_moved_post_is_recognised(title: str, body: str, date: datetime) -> None:
    assert groups(post(0, "海の話", text(1)), post(1, title, body, date)) == [(0, 1)]


@pytest.mark.parametrize(
    ("title", "body", "date"),
    [
        pytest.param("今週の日記", text(2), WHEN, id="a digest of the same minute"),
        pytest.param("今週の日記", text(1), WHEN + timedelta(days=7), id="another week, once"),
        pytest.param("海の話", text(2), WHEN + timedelta(hours=3), id="another text on the day"),
        pytest.param("【再掲】今週の日記", f"再掲です。{text(1)}", WHEN + timedelta(days=400), id="published again"),
        pytest.param("今週の日記", f"{text(1)[:60]}{text(3, 400)}", WHEN + timedelta(days=2), id="a quotation"),
        pytest.param("", "", WHEN, id="nothing"),
    ],
)
def test_a_post_that_only_looks_alike_is_not(title: str, body: str, date: datetime) -> None:
    assert groups(post(0, "今週の日記", text(1)), post(1, title, body, date)) == []


def test_a_form_that_was_filled_in_again_is_another_post() -> None:
    form = "いつもありがとうございます。{}月{}日の夜、{}時から点検のため書き込みができません。" + text(4, 80)
    dates = WHEN, WHEN + timedelta(hours=1)
    assert groups(*(post(at, "お知らせ", form.format(8, 11 + at, 2 + at), dates[at]) for at in (0, 1))) == []


def test_posts_under_other_dates_are_believed_only_in_numbers_or_if_one_names_the_other() -> None:
    later = WHEN + timedelta(days=900)
    olds = [post(0, f"題{at}", text(at), WHEN + timedelta(days=at, minutes=at * 7)) for at in range(6)]
    news = [post(1, f"題{at}", text(at), later + timedelta(minutes=at)) for at in range(6)]
    assert len(groups(*olds, *news)) == 6
    few = recognised([*olds[:3], *news[:3]])
    assert few.groups == []
    assert len(few.doubtful) == 3
    named = replace(news[0], others=(olds[0].address,))
    assert groups(olds[0], named) == [(0, 1)]


def test_one_post_has_at_most_one_partner_in_each_blog() -> None:
    twice = [post(1, "海の話", text(1)), post(1, "海の話", text(1), WHEN + timedelta(seconds=20))]
    assert groups(post(0, "海の話", text(1)), *twice, post(2, "海の話", text(1))) == [(0, 1, 3)]


@pytest.mark.parametrize("title", ["\ud800", "題" * 100_000, "\x00", "<b>"])
def test_hostile_texts_are_compared_like_others(title: str) -> None:
    # A title of marks alone has no letters, so the text must decide.
    assert groups(post(0, title, f"{title}{text(5)}"), post(1, title, f"{title}{text(5)}")) == [(0, 1)]


def test_dates() -> None:
    assert close(WHEN, None) is Closeness.UNKNOWN
    assert close(WHEN, WHEN + timedelta(seconds=40)) is Closeness.MINUTE
    assert close(WHEN, WHEN + timedelta(hours=5, minutes=30)) is Closeness.ZONE
    assert close(WHEN, WHEN + timedelta(hours=5, minutes=17)) is Closeness.UNKNOWN
    assert close(WHEN, WHEN + timedelta(hours=15)) is Closeness.UNKNOWN
    assert close(datetime.max.replace(tzinfo=UTC), WHEN) is Closeness.UNKNOWN


@pytest.mark.slow
def test_real_moves_through_exports_are_recognised_with_high_precision(tmp_path: Path) -> None:
    posts = labelled_posts(tmp_path, 60, seed=7)
    counts = counted(posts, recognised(posts))
    assert counts.true == 180
    assert counts.precision >= 0.99, counts.wrong
    assert counts.recall >= 0.85, counts.missed
