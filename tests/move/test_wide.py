"""Moving posts with several categories, tags, pages, statuses and threads: what arrives, and what is only named."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from exporter.export.interface import Side
from exporter.export.report import Report
from exporter.http.engine import Engine
from exporter.model.kinds import Kind
from exporter.move.home import home_time
from exporter.move.home_terms import read_authors
from exporter.move.outcome import Did, LeftAlone, Thing
from exporter.wordpress import application_password, open_wordpress
from tests.move.home import Home, running_home
from tests.move.moving import counts, move
from tests.move.test_move import edited, post, stored
from tests.move.wide_blog import PICTURE, WIDE, wide_blog
from tests.wordpress.fake import LOGIN


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with running_home() as running:
        yield running


async def moved(home: Home, folder: Path, blog: Any = None, **options: Any) -> tuple[Any, Report]:
    """Move both sides of the wide blog; return the outcome of the second and the report of both."""
    report = Report()
    options = {"service": WIDE, "old_urls": (), "report": report, **options}
    source = blog or wide_blog()
    first = await move(home, source, folder, **options)
    assert first.whole
    return await move(home, source, folder, **{**options, "side": Side.REST}), report


def changes(report: Report, code: str) -> list[str]:
    """Return the ids that a report names with a code."""
    return [each for row in report.document()["changed"] if row["code"] == code for each in row["ids"]]


async def test_all_that_a_post_has_arrives(home: Home, tmp_path: Path) -> None:
    home.users[7] = {"id": 7, "name": "海子", "username": "umiko"}
    outcome, _ = await moved(home, tmp_path, authors={"海子": 7})
    assert outcome.whole
    one = post(home, "一つ目")
    named = {number: each["name"] for number, each in home.terms.items()}
    above = {each["name"]: named.get(each["parent"], "") for each in home.terms.values()}
    assert [named[each] for each in one["categories"]] == ["日記", "海", "海"]
    assert sorted((each["name"], named.get(each["parent"], "")) for each in home.terms.values()) == [
        ("山", "旅"), ("旅", ""), ("日記", ""), ("海", "山"), ("海", "旅"),
    ]  # fmt: skip
    assert above["日記"] == ""
    assert next(each["slug"] for each in home.terms.values() if each["name"] == "日記") == "diary"
    assert [home.rest_tags[each]["name"] for each in one["tags"]] == ["Foo", "foo", "夏"]
    assert (one["slug"], one["excerpt"], one["author"]) == ("first", "<p>抜粋</p>", 7)
    (file,) = home.media.values()
    assert (one["featured_media"], file["post"], file["alt_text"]) == (file["id"], one["id"], "灯台")
    assert f'href="{home.url}/about/"' in one["content"]
    page = post(home, "私について")
    assert (page["type"], page["slug"], page["status"]) == ("page", "about", "publish")
    assert f'href="{home.url}/first/"' in page["content"]


async def test_statuses_are_kept_or_hidden(home: Home, tmp_path: Path) -> None:
    seen = []

    def watch(_route: str, _fields: Any) -> None:
        seen.append({each["title"]: each["status"] for each in home.rest_posts.values()})

    home.refuse_write = watch
    _, report = await moved(home, tmp_path)
    statuses = {each["title"]: each["status"] for each in home.rest_posts.values()}
    assert statuses == {
        "一つ目": "publish", "私について": "publish", "三つ目": "draft", "四つ目": "future", "五つ目": "draft",
        "六つ目": "private", "七つ目": "private", "八つ目": "private", "九つ目": "private",
    }  # fmt: skip
    assert stored(home, "四つ目")["date_gmt"] == "2031-05-01T00:00:00"
    assert all(state.get(title) != "publish" for state in seen for title in statuses if statuses[title] != "publish")
    assert {code: changes(report, code) for code in ("schedule_passed", "members_private", "password_unknown")} == {
        "schedule_passed": ["5"], "members_private": ["7"], "password_unknown": ["8"],
    }  # fmt: skip


async def test_threads_are_kept_and_broken_ones_are_named(home: Home, tmp_path: Path) -> None:
    _, report = await moved(home, tmp_path)
    found = {each["content"]: each for each in home.rest_comments.values()}
    parents = {text: next((other for other in found if found[other]["id"] == each["parent"]), "")
               for text, each in found.items()}  # fmt: skip
    assert parents == {
        "最初": "", "返事": "最初", "返事の返事": "返事", "迷子": "", "輪一": "", "輪二": "輪一", "トラックバック": "",
        "自分": "", "秘密の返事": "",
    }  # fmt: skip
    assert [found[text]["author_email"] for text in ("最初", "返事")] == [
        "umi@mail.example", "comment-c2@umi.blog.example.jp.invalid",
    ]  # fmt: skip
    assert found["秘密の返事"]["status"] == "spam"
    assert found["最初"]["author_url"] == "https://umi.example/"
    assert found["返事"]["date_gmt"] == "2020-01-03T03:04:05"
    assert changes(report, "thread_broken") == ["c4", "c8"]
    assert changes(report, "thread_loop") == ["c5", "c9"]
    assert changes(report, "ping_as_comment") == ["c7"]
    assert changes(report, "not_held") == ["c3"]


async def test_the_same_words_of_one_writer_twice_arrive_twice(home: Home, tmp_path: Path) -> None:
    blog = wide_blog()
    for number in ("t1", "t2"):
        record = {"id": number, "post_id": "1", "name": "umi", "email": "umi@mail.example", "text": "同じ",
                  "date": "2020-01-09T00:00:00", "status": "shown"}  # fmt: skip
        blog.kinds[Kind.COMMENTS][number] = record
    await moved(home, tmp_path, blog)
    assert [each["content"] for each in home.rest_comments.values()].count("同じ") == 2
    outcome, _ = await moved(home, tmp_path, blog)
    assert counts(outcome, Did.MADE) == {}


@pytest.mark.parametrize("lost", [False, True])
async def test_a_second_run_does_nothing(home: Home, tmp_path: Path, lost: bool) -> None:
    home.users[7] = {"id": 7, "name": "海子", "username": "umiko"}
    await moved(home, tmp_path, authors={"海子": 7})
    if lost:
        (tmp_path / "map.jsonl").unlink()
    writes = len(home.writes)
    await moved(home, tmp_path, authors={"海子": 7})
    assert home.writes[writes:] == []


async def test_a_broken_connection_at_any_request_makes_nothing_twice(tmp_path: Path) -> None:
    async with running_home() as whole:
        await moved(whole, tmp_path / "whole")
        wanted, total = shape(whole), len(whole.writes)
    for after in (False, True):
        for at in range(1 + after, total, 11):
            async with running_home() as home:
                home.death.at, home.death.after = at, after
                folder = tmp_path / f"{at}-{after}"
                with pytest.raises(Exception, match="broke"):
                    await moved(home, folder)
                home.death.at = -1
                await moved(home, folder)
                assert shape(home) == wanted, (at, after)


def shape(home: Home) -> Any:
    """Return the content of a home without its numbers."""
    posts = {each["id"]: each["title"] for each in home.rest_posts.values()}
    texts = {each["id"]: each["content"] for each in home.rest_comments.values()}
    return (
        sorted((each["title"], each["type"], each["status"], each["slug"], len(each["categories"]))
               for each in home.rest_posts.values()),
        sorted((each["content"], each["status"], posts[each["post"]], texts.get(each["parent"], ""))
               for each in home.rest_comments.values()),
        sorted((each["name"], bool(each["parent"])) for each in home.terms.values()),
        sorted(each["name"] for each in home.rest_tags.values()),
        sorted(posts[each["post"]] for each in home.media.values()),
    )  # fmt: skip


async def test_terms_of_private_posts_alone_are_not_made(home: Home, tmp_path: Path) -> None:
    outcome, _ = await moved(home, tmp_path)
    assert outcome.named[Thing.CATEGORY, Did.LEFT, LeftAlone.WOULD_BE_PUBLIC] == ["秘密の箱"]
    assert outcome.named[Thing.TAG, Did.LEFT, LeftAlone.TAG_WOULD_BE_PUBLIC] == ["秘密の札"]
    assert "秘密の" not in str([*home.terms.values(), *home.rest_tags.values()])


async def test_a_category_that_a_person_moved_is_found_again(home: Home, tmp_path: Path) -> None:
    await moved(home, tmp_path)
    diary = next(each for each in home.terms.values() if each["name"] == "日記")
    diary["parent"] = next(each["id"] for each in home.terms.values() if each["name"] == "旅")
    await moved(home, tmp_path)
    assert [each["name"] for each in home.terms.values()].count("日記") == 1


async def test_a_scheduled_post_that_wordpress_published_stays_public(home: Home, tmp_path: Path) -> None:
    await moved(home, tmp_path)
    stored(home, "四つ目")["status"] = "publish"
    blog, later = wide_blog(), datetime(2031, 6, 1, tzinfo=UTC)
    outcome, _ = await moved(home, tmp_path, blog, now=later)
    assert stored(home, "四つ目")["status"] == "publish"
    assert counts(outcome, Did.THERE)["posts"] == 7
    blog.kinds[Kind.ENTRIES]["4"]["body"] = "書き直した"
    outcome, _ = await moved(home, tmp_path, blog, now=later)
    assert (stored(home, "四つ目")["status"], counts(outcome, Did.CHANGED)) == ("publish", {"posts": 1})
    blog.kinds[Kind.ENTRIES]["4"]["audience"] = "public"
    blog.kinds[Kind.ENTRIES]["4"]["date"] = "2026-01-01T00:00:00"
    await moved(home, tmp_path, blog, now=later)
    assert (stored(home, "四つ目")["status"], stored(home, "四つ目")["date_gmt"]) == ("publish", "2025-12-31T15:00:00")


async def test_a_persons_tags_and_excerpt_are_left_alone(home: Home, tmp_path: Path) -> None:
    await moved(home, tmp_path)
    edited(home, "一つ目", excerpt="私の抜粋")
    blog = wide_blog()
    blog.kinds[Kind.ENTRIES]["1"]["body"] = "書き直した"
    await moved(home, tmp_path, blog)
    assert post(home, "一つ目")["excerpt"] == "私の抜粋"
    assert "書き直した" not in post(home, "一つ目")["content"]


async def test_changed_tags_and_parents_are_moved(home: Home, tmp_path: Path) -> None:
    await moved(home, tmp_path)
    blog = wide_blog()
    blog.kinds[Kind.ENTRIES]["1"]["tags"] = ["冬"]
    blog.kinds[Kind.COMMENTS]["c3"]["parent"] = "c1"
    writes = len(home.writes)
    await moved(home, tmp_path, blog)
    assert [home.rest_tags[each]["name"] for each in post(home, "一つ目")["tags"]] == ["冬"]
    found = {each["content"]: each for each in home.rest_comments.values()}
    assert found["返事の返事"]["parent"] == found["最初"]["id"]
    assert len(home.writes) == writes + 3


async def test_an_author_without_an_account_is_named_and_found_later(home: Home, tmp_path: Path) -> None:
    _, report = await moved(home, tmp_path)
    assert changes(report, "author_unknown") == ["1"]
    assert "author" not in home.rest_posts[stored(home, "一つ目")["id"]]
    await moved(home, tmp_path, authors={"海子": 7})
    assert stored(home, "一つ目")["author"] == 7


async def test_a_featured_picture_that_is_missing_is_named(home: Home, tmp_path: Path) -> None:
    blog = wide_blog()
    del blog.kinds[Kind.ASSETS][PICTURE]
    _, report = await moved(home, tmp_path, blog)
    assert changes(report, "featured_lost") == ["1"]
    assert stored(home, "一つ目")["featured_media"] == 0
    assert "the archive does not have it" in str(report.document()["left_out"])


async def test_a_dry_run_sends_nothing_and_reports_the_plan(home: Home, tmp_path: Path) -> None:
    outcome, report = await moved(home, tmp_path, dry_run=True)
    assert (home.writes, counts(outcome, Did.MADE)["posts"]) == ([], 7)
    assert changes(report, "password_unknown") == ["8"]
    await moved(home, tmp_path)
    outcome, _ = await moved(home, tmp_path, dry_run=True)
    assert counts(outcome, Did.MADE) == counts(outcome, Did.CHANGED) == {}


async def test_the_clock_of_the_new_home_decides_what_is_still_to_come(home: Home, tmp_path: Path) -> None:
    await moved(home, tmp_path, now=datetime(2031, 4, 30, 23, 30, tzinfo=UTC))
    assert stored(home, "四つ目")["status"] == "draft", "its date is too near"
    async with Engine() as engine:
        api = await open_wordpress(engine.client(home.url, application_password(*LOGIN)))
        there = await home_time(api)
        users = await read_authors(api)
    assert there is not None
    assert abs(there - datetime.now(UTC)) < timedelta(minutes=2)
    assert users == {}


async def test_names_of_several_users_are_not_guessed(home: Home) -> None:
    for number, names in ((1, ("海", "umi")), (2, ("海", "sea")), (3, ("山 &amp; 川", "yama"))):
        home.users[number] = {"id": number, "name": names[0], "username": names[1]}
    async with Engine() as engine:
        api = await open_wordpress(engine.client(home.url, application_password(*LOGIN)))
        assert await read_authors(api) == {"umi": 1, "sea": 2, "山 & 川": 3, "yama": 3}
        home.refuse_users = True
        assert await read_authors(api) == {}


async def test_an_entry_that_became_a_page_keeps_its_place(home: Home, tmp_path: Path) -> None:
    await moved(home, tmp_path)
    blog = wide_blog()
    blog.kinds[Kind.ENTRIES]["3"] |= {"kind": "page", "body": "書き直した"}
    outcome, _ = await moved(home, tmp_path, blog)
    assert counts(outcome, Did.CHANGED) == {"posts": 1}
    assert (stored(home, "三つ目")["type"], len(home.rest_posts)) == ("post", 9)
