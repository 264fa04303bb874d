"""Moves of comments that were changed, hidden or removed after the first move, in the old blog or in the new one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from exporter.errors import ServiceError
from exporter.model.kinds import Kind
from exporter.move.outcome import Did, MoveOutcome, Thing
from tests.export.memory import Memory
from tests.move.home import Home, running_home
from tests.move.moving import counts, move, small_blog

CHANGED_THERE = "changed there since it was moved"
ONLY_THERE = "public there, but hidden or removed in the archive"


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with running_home() as running:
        yield running


def rewritten(text: str = "書き直した", **changes: Any) -> Memory:
    """Return the blog with a comment that its author changed."""
    blog = small_blog()
    blog.comment("1", "1", **{"name": "<管理人>", "cm_text": text, **changes})
    return blog


def first(home: Home) -> dict[str, Any]:
    """Return the comment that is changed."""
    (found,) = [each for each in home.rest_comments.values() if each["author_email"].startswith("comment-1@")]
    return found


def named(outcome: MoveOutcome) -> dict[str, list[str]]:
    return {why: keys for (thing, _, why), keys in outcome.named.items() if thing is Thing.COMMENT}


async def test_a_change_in_the_old_blog_is_moved_once(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    number, tried = first(home)["id"], await move(home, rewritten(), tmp_path, dry_run=True)
    assert counts(tried, Did.CHANGED) == {"comments": 1}
    assert first(home)["content"] == "どうも", "a dry run sends nothing"
    outcome = await move(home, rewritten(), tmp_path)
    assert (outcome.whole, counts(outcome, Did.CHANGED)) == (True, {"comments": 1})
    assert (first(home)["id"], first(home)["content"]) == (number, "書き直した")
    writes = len(home.writes)
    assert counts(await move(home, rewritten(), tmp_path), Did.CHANGED) == {}
    assert len(home.writes) == writes
    outcome = await move(home, rewritten("もう一度", name="別名"), tmp_path)
    assert counts(outcome, Did.CHANGED) == {"comments": 1}
    assert (first(home)["author_name"], first(home)["content"]) == ("別名", "もう一度")


async def test_a_comment_whose_time_shifts_by_seconds_is_unchanged(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    blog = small_blog()
    blog.comment("0", "1", name="x", cm_text="先に")  # has the same time as all others, which shift by a second
    outcome = await move(home, blog, tmp_path)
    assert (counts(outcome, Did.MADE), counts(outcome, Did.CHANGED)) == ({"comments": 1}, {})


async def test_a_persons_changes_are_left_alone(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    first(home)["content"] = "私の返事"
    outcome = await move(home, small_blog(), tmp_path)
    assert counts(outcome, Did.THERE)["comments"] == 3, "the old blog has nothing new"
    for _ in range(2):
        outcome = await move(home, rewritten(), tmp_path)
        assert named(outcome) == {CHANGED_THERE: ["1"]}
        assert first(home)["content"] == "私の返事"
    assert outcome.whole, "a change by a person is no failure"


async def test_a_comment_that_a_person_rewrote_with_another_program_is_left_alone(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    first(home).update(content="私の返事", author_user_agent="wp-iphone/1.0")
    assert named(await move(home, small_blog(), tmp_path)) == {CHANGED_THERE: ["1"]}
    first(home).update(content="どうも")
    assert named(await move(home, small_blog(), tmp_path)) == {}


async def test_a_persons_changes_during_a_move_are_left_alone(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)

    def meddle(event: Any) -> None:
        if str(getattr(event, "stage", "")) == "posts and comments":
            first(home)["content"] = "私の返事"

    assert named(await move(home, rewritten(), tmp_path, tell=meddle)) == {CHANGED_THERE: ["1"]}
    assert first(home)["content"] == "私の返事"


async def test_without_the_map_nothing_that_may_be_a_persons_is_changed(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    (tmp_path / "map.jsonl").unlink()
    assert named(await move(home, rewritten(), tmp_path)) == {CHANGED_THERE: ["1"]}
    assert first(home)["content"] == "どうも"


async def test_a_lost_map_is_made_again_if_nothing_changed(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    (tmp_path / "map.jsonl").unlink()
    await move(home, small_blog(), tmp_path)
    assert counts(await move(home, rewritten(), tmp_path), Did.CHANGED) == {"comments": 1}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_death_while_one_is_changed(home: Home, tmp_path: Path, after: bool) -> None:
    await move(home, small_blog(), tmp_path)
    home.death.at, home.death.after = len(home.writes), after
    with pytest.raises(ServiceError):
        await move(home, rewritten(), tmp_path)
    home.death.at = -1
    if after:
        first(home)["content"] += " "  # WordPress does not keep the content exactly as sent
    outcome = await move(home, rewritten(), tmp_path)
    assert (outcome.whole, named(outcome), first(home)["content"].strip()) == (True, {}, "書き直した")
    assert counts(await move(home, rewritten("もう一度"), tmp_path), Did.CHANGED) == {"comments": 1}
    assert len(home.rest_comments) == 3


async def test_a_change_may_be_refused(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    home.refuse_write = lambda route, _: home.refuse(403, "no", "No.") if "comments/" in route else None
    outcome = await move(home, rewritten(), tmp_path)
    assert (outcome.whole, named(outcome)) == (False, {"No.": ["1"]})
    home.refuse_write = lambda route, _: home.created({"id": 1}) if "comments/" in route else None
    outcome = await move(home, rewritten(), tmp_path)
    assert named(outcome) == {"sent an unexpected answer": ["1"]}
    home.refuse_write = lambda _route, _fields: None
    assert counts(await move(home, rewritten(), tmp_path), Did.CHANGED) == {"comments": 1}


async def test_a_hidden_comment_is_held_if_hidden_comments_are_moved(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    hidden = rewritten("どうも", delete_flg="t")
    assert named(await move(home, hidden, tmp_path)) == {ONLY_THERE: ["1"]}
    assert first(home)["status"] == "approved"
    outcome = await move(home, hidden, tmp_path, hidden_comments=True)
    assert (counts(outcome, Did.CHANGED), first(home)["status"]) == ({"comments": 1}, "hold")
    assert named(await move(home, hidden, tmp_path)) == {}, "readers do not see it"


async def test_removed_comments_are_named_and_not_deleted(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    blog = small_blog()
    del blog.kinds[Kind.COMMENTS]["1"]
    writes = len(home.writes)
    outcome = await move(home, blog, tmp_path)
    assert (outcome.whole, named(outcome)) == (True, {ONLY_THERE: ["1"]})
    assert (len(home.rest_comments), len(home.writes)) == (3, writes)


async def test_a_removed_entry_is_named_and_not_deleted(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    keys = {f"umi.blog.example.jp/entry/{number}" for number in (1, 2)}
    outcome = await move(home, small_blog(), tmp_path, brought=keys)
    assert (outcome.whole, outcome.named) == (True, {(Thing.POST, Did.LEFT, ONLY_THERE): ["3"]})
    assert len(home.rest_posts) == 3
