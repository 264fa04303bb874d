"""The signs of a forgotten entry, and of records that only look like it."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from exporter.archive.forgotten import ForgettingNote, Suppressed, mark
from exporter.model.kinds import Kind
from exporter.model.records import Post
from exporter.service.identity import entry_signs

TEXT = "散歩に出かけて、海を見ながら昼ごはんを食べ、夕方に帰ってきました。"
MINUTE = datetime(2020, 1, 2, 12, 30, 15)  # noqa: DTZ001 - as a file states it
DAY = datetime(2020, 1, 2)  # noqa: DTZ001


def post(title: str, text: str, when: datetime) -> Post:
    return Post(id="1", title=title, body=text, date=when)


FORGOTTEN = post("海へ", f"<p>{TEXT}</p>", MINUTE)


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (post("海へ", TEXT, MINUTE), True),
        (post("山へ", TEXT.replace("夕方", "夜"), MINUTE), True),
        (post("海へ", TEXT.replace("夕方", "夜"), DAY), True),
        (post("海へ", TEXT[:20], DAY), True),
        (post("海へ", "", DAY), True),
        (post("海へ", "朝から雨なので、家で本を読んでいました。", DAY), False),
        (post("山へ", "朝から雨なので、家で本を読んでいました。", MINUTE), False),
    ],
)
def test_an_entry_is_known_by_its_signs(other: Post, alike: bool) -> None:
    assert bool(entry_signs(other, sought=True) & entry_signs(FORGOTTEN, sought=False)) == alike


@pytest.mark.parametrize(
    ("written", "kept_out"),
    [(None, True), (date(2020, 1, 2), True), (date(2026, 11, 28), True), (date(2026, 12, 1), False)],
)
def test_a_record_that_was_written_after_a_forgetting_was_not_meant(written: date | None, kept_out: bool) -> None:
    salt = "ab" * 32
    note = ForgettingNote("2026-11-28T10:00:00Z", {}, 0, 0, salt, [mark(bytes.fromhex(salt), Kind.ENTRIES, "sign")])
    assert Suppressed([note]).has_sign(Kind.ENTRIES, ["sign"], written) == kept_out
