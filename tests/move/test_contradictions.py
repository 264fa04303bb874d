"""Answers of the new home that contradict the plan, also after a broken connection, and quiet changes later."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.errors import PrivateExposed, ServiceError
from exporter.export.interface import Side
from exporter.model.kinds import Kind
from exporter.move.home import HomeFile
from exporter.move.outcome import Did, LeftAlone, Thing
from exporter.move.privacy import is_file_shown, is_post_shown
from tests.export.memory import Memory
from tests.move.home import Home, running_home
from tests.move.moving import counts, move
from tests.move.wide_blog import WIDE, wide_blog

Spoil = Callable[[dict[str, Any]], dict[str, Any]]
WISHES: dict[str, Any] = {"service": WIDE, "old_urls": (), "side": Side.REST}


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with running_home() as running:
        yield running


def secret_blog() -> Memory:
    """Return private entries and drafts, with a picture and a hidden comment."""
    blog = wide_blog()
    url = "https://pictures.example.jp/secret.png"
    blog.picture(url, entry_id="6")
    blog.kinds[Kind.ENTRIES]["6"]["body"] = f'<p>秘密の本文<img src="{url}"></p>'
    return blog


def becoming(before: str, after: str) -> Spoil:
    return lambda fields: {**fields, "status": after} if fields.get("status") == before else fields


LIES: dict[str, Spoil] = {
    "pictures detached": lambda fields: (
        {**fields, "post": 0} if {"post", "author_name"} & set(fields) == {"post"} else fields
    ),
    "private": becoming("private", "publish"),
    "private, later": becoming("private", "future"),
    "drafts": becoming("draft", "publish"),
    "scheduled": becoming("future", "publish"),
    "spam": becoming("spam", "approve"),
}


def shown(home: Home) -> list[str]:
    """Return the private content that everybody sees."""
    public = {number for number, each in home.rest_posts.items() if each["status"] in {"publish", "future"}}
    posts = [
        each["title"] for number, each in home.rest_posts.items() if number in public and each["title"] != "四つ目"
    ]
    files = [
        each["slug"] for each in home.media.values() if each["status"] == "inherit" and each["post"] in {0, *public}
    ]
    texts = [each["content"] for each in home.rest_comments.values() if each["status"] == "approved"]
    return [*posts, *files, *(text for text in texts if "秘密" in text)]


@pytest.mark.parametrize("lie", LIES)
async def test_what_contradicts_the_plan_is_deleted_and_made_again_later(home: Home, tmp_path: Path, lie: str) -> None:
    home.spoil = LIES[lie]
    with pytest.raises(PrivateExposed, match="It deleted there again: "):
        await move(home, secret_blog(), tmp_path, **WISHES)
    assert shown(home) == []
    home.spoil = lambda fields: fields
    outcome = await move(home, secret_blog(), tmp_path, **WISHES)
    assert (outcome.whole, counts(outcome, Did.REFUSED)) == (True, {})
    assert sorted(each["status"] for each in home.rest_posts.values()) == ["draft"] * 2 + ["future"] + ["private"] * 4
    assert [each["status"] for each in home.rest_comments.values()].count("spam") == 1


@pytest.mark.parametrize("concurrency", [4, 8])
async def test_several_requests_at_once_are_all_checked(home: Home, tmp_path: Path, concurrency: int) -> None:
    made: list[str] = []

    def spoil(fields: dict[str, Any]) -> dict[str, Any]:
        made.append(fields.get("slug", ""))
        return becoming("private", "publish")(fields) if len(made) > 2 else fields

    home.spoil = spoil
    with pytest.raises(PrivateExposed):
        await move(home, secret_blog(), tmp_path, concurrency=concurrency, **WISHES)
    assert shown(home) == []
    assert {each["status"] for each in home.rest_posts.values()} == {"private"}


@pytest.mark.parametrize("after", range(24))
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.sample(3)
async def test_a_move_that_broke_off_is_checked_when_it_continues(
    home: Home, tmp_path: Path, lie: str, after: int
) -> None:
    home.death.at, home.death.after, home.spoil = after, True, LIES[lie]
    with pytest.raises((ServiceError, PrivateExposed)):
        await move(home, secret_blog(), tmp_path, **WISHES)
    home.death.at = -1
    named: list[str] = []
    try:
        # If the answer to the text itself was lost, a person may have published the post. Then it is named.
        named = (await move(home, secret_blog(), tmp_path, **WISHES)).named[Thing.POST, Did.LEFT, LeftAlone.SHOWN]
        assert named
    except PrivateExposed:
        pass
    assert "秘密の本文" not in str([each for each in home.rest_posts.values() if each["status"] == "publish"])
    home.spoil = lambda fields: fields
    assert (await move(home, secret_blog(), tmp_path, **WISHES)).whole
    assert len(shown(home)) == len(named)


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("after", range(20))
@pytest.mark.sample(2)
async def test_an_honest_home_is_complete_after_any_broken_connection(
    home: Home, tmp_path: Path, after: int, made: bool
) -> None:
    home.death.at, home.death.after = after, made
    with pytest.raises(ServiceError):
        await move(home, secret_blog(), tmp_path, **WISHES)
    home.death.at = -1
    assert (await move(home, secret_blog(), tmp_path, **WISHES)).whole
    assert not [each for each in home.rest_comments.values() if each["content"] == "<!-- -->"]
    assert (len(home.rest_posts), len(home.media)) == (7, 1)


@pytest.mark.parametrize(
    ("sent", "answered", "seen"),
    [
        ("private", "private", False), ("private", "pending", False), ("private", "publish", True),
        ("private", "future", True), ("private", "", True), ("draft", "of-a-plugin", True), ("future", "future", False),
    ],
)  # fmt: skip
def test_a_status_that_may_be_shown_counts_as_shown(sent: str, answered: str, seen: bool) -> None:
    assert is_post_shown(sent, answered) is seen


def test_a_file_is_hidden_by_its_post_or_its_status() -> None:
    hidden = HomeFile(id=1, post=7, status="inherit"), HomeFile(id=1, post=0, status="private")
    assert [is_file_shown(each, 7) for each in hidden] == [False, False]
    wrong = HomeFile(id=1, post=0, status="inherit"), HomeFile(id=1, post=8, status="inherit")
    assert [is_file_shown(each, 7) for each in wrong] == [True, True]
    assert is_file_shown(wrong[0], 0)
