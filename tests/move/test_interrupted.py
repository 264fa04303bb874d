"""A move that is interrupted at any request, or that loses answers, makes no record twice and loses none."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from exporter.errors import ServiceError
from exporter.move.outcome import Did
from tests.http.clocks import JumpClock
from tests.move.home import Home, running_home
from tests.move.moving import counts, move, small_blog

STEP = pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.thorough)])
EACH = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


def canonical(home: Home) -> list[object]:
    """Return the content of the WordPress without the numbers of its records."""
    posts = [
        {
            name: re.sub(r"/2026/02/\d+-", "/", str(each[name]).replace("&#47;&#47;", "//"))
            for name in ("title", "slug", "content", "status")
        }
        for each in home.rest_posts.values()
    ]
    titles = {number: each["slug"] for number, each in home.rest_posts.items()}
    comments = [
        (titles[each["post"]], each["author_name"], each["date_gmt"], each["content"], each["status"])
        for each in home.rest_comments.values()
    ]
    files = [(each["slug"], each["title"]) for each in home.media.values()]
    terms = [(each["name"], each["slug"]) for each in home.terms.values()]
    return [sorted(posts, key=str), sorted(comments), sorted(files), sorted(terms)]


@pytest.fixture
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a move without interruptions."""
    return tmp_path_factory.mktemp("calm")


async def undisturbed(folder: Path) -> tuple[list[object], int]:
    """Move without interruptions; return the resulting content and the number of requests that changed something."""
    async with running_home() as home:
        await move(home, small_blog(), folder)
        return [str(part).replace(home.url, "") for part in canonical(home)], len(home.writes)


def check(home: Home, wanted: list[object]) -> None:
    assert [str(part).replace(home.url, "") for part in canonical(home)] == wanted


@EACH
@STEP
async def test_a_death_at_any_request(tmp_path: Path, calm: Path, after: bool, step: int) -> None:
    wanted, requests = await undisturbed(calm)
    assert requests >= 13
    for number in range(0, requests, step):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with running_home() as home:
            home.death.at, home.death.after = number, after
            with pytest.raises(ServiceError):
                await move(home, small_blog(), folder)
            home.death.at = -1
            outcome = await move(home, small_blog(), folder)
            assert outcome.whole
            check(home, wanted)
            writes = len(home.writes)
            assert writes == requests + (0 if after else 1), "no record that was made is sent again"
            await move(home, small_blog(), folder)
            assert len(home.writes) == writes, "the third run has nothing to do"


@EACH
@pytest.mark.parametrize("keep", [True, False], ids=["with the map", "without"])
async def test_every_run_dies_at_its_next_request(tmp_path: Path, calm: Path, after: bool, keep: bool) -> None:
    """Even if the map is also lost each time, the WordPress itself shows which records were moved."""
    wanted, requests = await undisturbed(calm)
    async with running_home() as home:
        home.death.after = after
        deaths = 0
        while True:
            # A request that is lost before it changes anything brings progress only if the request before it succeeded.
            home.death.at = len(home.writes) + (0 if after else 1)
            try:
                outcome = await move(home, small_blog(), tmp_path, concurrency=3)
                break
            except ServiceError:
                deaths += 1
            if not keep:
                (tmp_path / "map.jsonl").unlink()
            assert deaths < 3 * requests, home.writes
        assert outcome.whole
        assert deaths >= requests // 4
        check(home, wanted)


@EACH
@STEP
async def test_after_a_lost_answer_the_record_is_looked_up_before_a_retry(
    tmp_path: Path, calm: Path, after: bool, step: int
) -> None:
    wanted, requests = await undisturbed(calm)
    for number in range(0, requests, step):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with running_home() as home:
            home.death.at, home.death.after = number, after
            outcome = await move(home, small_blog(), folder, retries=2, clock=JumpClock())
            assert (outcome.whole, sum(counts(outcome, Did.MADE).values())) == (True, 10)
            check(home, wanted)


async def test_a_run_waits_for_a_request_that_may_still_arrive(tmp_path: Path) -> None:
    clock = JumpClock()
    async with running_home() as home:
        home.death.at = 2  # the first post
        with pytest.raises(ServiceError):
            await move(home, small_blog(), tmp_path, clock=clock)
        home.death.at = -1
        clock.advance(10)
        begun = clock.monotonic()
        await move(home, small_blog(), tmp_path, clock=clock, settling=timedelta(seconds=30))
        assert clock.monotonic() - begun == pytest.approx(20, abs=1)
        titles = [each["title"] for each in home.rest_posts.values()]
        assert titles == ["二つ目", "", "一つ目"]


async def test_if_a_delayed_request_arrives_during_the_wait_it_is_not_sent_again(tmp_path: Path) -> None:
    async with running_home() as home:
        home.death.at, home.death.after = 2, True  # the first post
        with pytest.raises(ServiceError):
            await move(home, small_blog(), tmp_path)
        home.death.at = -1
        arriving = home.rest_posts.popitem()

        class Waiting(JumpClock):
            async def sleep(self, seconds: float) -> None:
                home.rest_posts.setdefault(*arriving)
                await super().sleep(seconds)

        outcome = await move(home, small_blog(), tmp_path, clock=Waiting(), settling=timedelta(seconds=30))
        assert outcome.whole
        posts = [each for each in home.writes if each in {"POST wp/v2/posts", "POST wp/v2/pages"}]
        assert len(posts) == len(home.rest_posts) == 3, home.writes


@pytest.mark.parametrize("kind", ["posts", "media"])
async def test_if_a_delayed_request_arrives_after_the_wait_the_duplicate_is_deleted(
    tmp_path: Path, calm: Path, kind: str
) -> None:
    """The server carries out a delayed request just before its retry."""
    wanted, _ = await undisturbed(calm)
    async with running_home(late=kind) as home:
        outcome = await move(home, small_blog(), tmp_path)
        assert outcome.whole
        assert [each.partition(" ")[0] for each in home.writes].count("DELETE") == 1
        check(home, wanted)
