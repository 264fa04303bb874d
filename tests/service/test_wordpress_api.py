"""A WordPress is backed up through its REST API: everything once, only changes later, and every lack by name."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.archive.archive import Archive
from exporter.crawl.outcome import Outcome
from exporter.errors import BlogExporterError, NotAuthorised, ServiceError
from exporter.http.credentials import Credentials
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.library.backup import OpenService, backup
from exporter.model.kinds import Kind
from exporter.model.records import Comment, Post
from exporter.service.wordpress.source import WordPressService, prefix_of
from exporter.settings import resolve
from exporter.wordpress import application_password
from tests.service.wordpress_server import PASSWORD, USER, WordPress, sample, served

QUICK = RetryPolicy(retries=2, base=0.002, ceiling=0.004)
BLOG = "sea.example"
HIDDEN = {"150", "151", "152", "153"}


@pytest.fixture
async def blog() -> AsyncIterator[WordPress]:
    async with served(sample()) as running:
        yield running


async def back_up(
    root: Path, blog: WordPress, *, signed_in: bool = True, password: str = PASSWORD, base: str = "", **given: Any
) -> Outcome:
    blog.asked.clear()
    base_url = base or blog.url
    rest_route = bool(given.pop("rest_route", False))
    settings = resolve({
        "base_url": base_url, "service": "wordpress", "allow_private_network": "yes", "markdown": "no", "site": "no",
        **given,
    })  # fmt: skip
    credentials = application_password(USER, password) if signed_in else Credentials()
    async with Engine() as engine:
        service = WordPressService(signed_in=signed_in, base_url=base_url, rest_route=rest_route)
        client = engine.client(base_url, credentials, policy=QUICK)
        run = backup(root, OpenService(BLOG, service, client), settings)
        async for _ in run:
            pass
    return run.outcome


def posts(root: Path) -> dict[str, Post]:
    state = Archive.open(root).state()
    items = dict(state.scan(Kind.ENTRY_LIST))
    return {key: WordPressService().post(raw, items.get(key)) for key, raw in state.scan(Kind.ENTRIES)}


def comments(root: Path) -> dict[str, Comment]:
    return {key: WordPressService().comment(raw) for key, raw in Archive.open(root).records(Kind.COMMENTS)}


def problems(outcome: Outcome) -> str:
    return "\n".join(f"{each.kind} {each.id} {each.reason}" for each in outcome.problems)


async def test_everything_is_saved_in_few_requests_and_a_second_run_finds_nothing(
    tmp_path: Path, blog: WordPress
) -> None:
    root = tmp_path / "archive"
    outcome = await back_up(root, blog)
    assert (outcome.outcome, outcome.exit_code, outcome.problems) == ("saved", 0, [])
    assert len(blog.asked) < 40, blog.routes()
    found = posts(root)
    assert set(found) == {str(number) for number in blog.posts}
    assert {key: str(found[key].audience) for key in ("149", "150", "151", "152", "153", "154")} == {
        "149": "public", "150": "draft", "151": "private", "152": "scheduled", "153": "draft", "154": "password",
    }  # fmt: skip
    assert [(each.name, each.parents, each.slug) for each in found["12"].categories] == [
        ("日本", ("旅行 & 散歩", "Asia"), "c4"), ("Uncategorized", (), "c1"),
    ]  # fmt: skip
    assert (found["12"].tags, found["12"].author, found["12"].kind) == (("sea",), "美香", "post")
    assert (found["160"].kind, found["160"].categories) == ("page", ())
    read = found["155"]
    assert (read.body, read.more_title) == ("<p>before</p>", "Read on")
    assert read.more.startswith("<p>after</p>")
    assert read.featured == f"{blog.url}/umi.png"
    assert read.permalink == f"{blog.url}/post-155/"
    assert str(read.date) == "2020-01-02 12:00:00+09:00"
    assert (found["150"].title, found["150"].permalink) == ("A <draft>", "")
    talk = comments(root)
    assert {key: (str(each.status), str(each.kind)) for key, each in talk.items() if key > "3"} == {
        "4": ("pending", "comment"), "5": ("spam", "comment"), "6": ("shown", "comment"), "7": ("shown", "pingback"),
    }  # fmt: skip
    assert (talk["2"].parent, talk["2"].by_owner, talk["1"].by_owner, talk["3"].by_owner) == ("1", True, False, None)
    assert talk["1"].email == "c1@mail.example"
    upload = WordPressService().upload(dict(Archive.open(root).records(Kind.FILES))["201"])
    assert (upload.name, upload.title, upload.alt, upload.description) == ("umi.png", "海 & 空", "the sea", "A caption")
    assert outcome.completeness is not None
    assert outcome.completeness["comments"]["expected"] == 7
    assert outcome.completeness["files"]["expected"] == 2
    records = (root / "latest" / "entries.jsonl").read_text()
    assert "_links" not in records + (root / "latest" / "comments.jsonl").read_text()
    again = await back_up(root, blog)
    assert (again.outcome, again.version) == ("unchanged", None)


async def test_a_night_reads_what_changed_and_records_what_is_gone(tmp_path: Path, blog: WordPress) -> None:
    root = tmp_path / "archive"
    await back_up(root, blog)
    blog.posts[20] |= {"raw": "<p>edited</p>", "modified": "2024-01-01T00:00:00"}
    del blog.posts[21]
    blog.posts[22]["status"] = "trash"
    del blog.posts[160]
    blog.add_comment(8, 10, parent=1)
    outcome = await back_up(root, blog, refresh="changed")
    assert (outcome.version, outcome.problems) == (2, [])
    counts = {name: (each.new, each.changed, each.gone) for name, each in outcome.counts.items()}
    assert (counts["entries"], counts["comments"]) == ((0, 1, 3), (1, 0, 0))
    read = [route for route in blog.routes() if "/" in route and not route.startswith("users")]
    assert sorted(read) == ["pages/160", "posts/20", "posts/21", "posts/22"]
    assert posts(root)["20"].body == "<p>edited</p>"
    removed = (root / "versions" / "000002" / "entries.jsonl").read_text()
    assert "is in the trash" in removed
    assert "rest_post_invalid_id" in removed or "Invalid post ID" in removed


async def test_a_new_gallery_does_not_change_the_posts_around_it(tmp_path: Path, blog: WordPress) -> None:
    """WordPress numbers the galleries of an answer, so a text depends on the entries that are read with it."""
    root = tmp_path / "archive"
    await back_up(root, blog)
    blog.add_post(170, galleries=3)
    outcome = await back_up(root, blog)
    counts = outcome.counts["entries"]
    assert (counts.new, counts.changed, counts.gone) == (1, 0, 0)
    assert (await back_up(root, blog)).version is None


async def test_entries_that_cannot_be_read_together_are_read_alone(tmp_path: Path, blog: WordPress) -> None:
    def fault(request: web.Request, route: str) -> web.Response | None:
        broken = "include" in request.query or route == "posts/77"
        return web.Response(status=500, text="<html>") if broken else None

    blog.fault = fault
    outcome = await back_up(tmp_path / "archive", blog)
    assert outcome.exit_code == 3
    assert {problem.id for problem in outcome.problems} == {"77"}
    assert len(posts(tmp_path / "archive")) == len(blog.posts) - 1


async def test_a_post_that_vanishes_between_two_pages_is_no_problem(tmp_path: Path, blog: WordPress) -> None:
    def fault(request: web.Request, route: str) -> web.Response | None:
        if route == "posts" and request.query["page"] == "2":
            for number in range(10, 60):
                blog.posts.pop(number, None)
        return None

    blog.fault = fault
    outcome = await back_up(tmp_path / "archive", blog)
    assert outcome.problems == []
    assert set(posts(tmp_path / "archive")) == {str(number) for number in blog.posts}


async def test_the_public_run_names_what_it_cannot_read(tmp_path: Path, blog: WordPress) -> None:
    root = tmp_path / "archive"
    outcome = await back_up(root, blog, signed_in=False)
    assert set(posts(root)) == {str(number) for number in blog.posts} - HIDDEN - {"154"}
    assert set(comments(root)) == {"1", "2", "3"}
    assert [problem.id for problem in outcome.problems] == ["154"]
    assert "protected by a password" in problems(outcome)
    assert not any("context" in params for _, params in blog.asked)
    blog.posts[30]["status"] = "draft"
    outcome = await back_up(root, blog, signed_in=False)
    assert outcome.counts["entries"].gone == 1
    assert [problem.id for problem in outcome.problems] == ["154"]


async def test_a_run_without_the_sign_in_keeps_drafts_and_names_them(tmp_path: Path, blog: WordPress) -> None:
    root = tmp_path / "archive"
    await back_up(root, blog)
    outcome = await back_up(root, blog, signed_in=False, refresh="changed")
    assert {problem.id for problem in outcome.problems} >= HIDDEN
    assert set(posts(root)) >= HIDDEN
    assert "needs a sign-in" in problems(outcome)
    assert "another user than before" in problems(outcome)
    assert set(comments(root)) == {str(number) for number in blog.comments}, "those that wait are not gone"


async def test_types_of_plugins_are_saved_if_the_blog_shows_them(tmp_path: Path, blog: WordPress) -> None:
    blog.types = {
        "portfolio": {"rest_base": "portfolio"},
        "feedback": {"rest_base": "feedback", "viewable": False},
        "odd": {"rest_base": "../odd"},
    }
    blog.add_post(180, type="portfolio")
    blog.add_post(181, type="feedback", raw="a message to the owner")
    outcome = await back_up(tmp_path / "archive", blog)
    found = posts(tmp_path / "archive")
    assert (found["180"].kind, outcome.exit_code) == ("page", 0)
    assert "181" not in found
    assert "a message" not in "".join(each.read_text() for each in (tmp_path / "archive" / "latest").glob("*.jsonl"))
    del blog.posts[180]
    await back_up(tmp_path / "archive", blog)
    assert "portfolio/180" in blog.routes()
    assert "180" not in posts(tmp_path / "archive")


def closed(status: int, code: str, text: str = "Closed.") -> web.Response:
    body = json.dumps({"code": code, "message": text, "data": {"status": status}})
    return web.Response(status=status, text=body, content_type="application/json")


@pytest.mark.parametrize(
    ("answer", "exit_code", "words"),
    [
        (lambda: closed(401, "rest_cannot_access", "Only authenticated users."), 12, "closes its REST API"),
        (lambda: closed(403, "itsec_rest_api_access_restricted"), 12, "an export file"),
        (lambda: web.Response(status=403, text="<html>", content_type="text/html"), 12, "in front of WordPress"),
        (lambda: web.Response(text="<html>Checking", content_type="text/html"), 20, "a security plugin"),
        (lambda: web.Response(status=404, text="<html>", content_type="text/html"), 20, "--rest-route"),
        (lambda: closed(404, "rest_no_route", "No route was found."), 20, "rest_no_route"),
        (lambda: web.Response(text="<br />\n<b>Fatal error</b>:  foo() in <b>x.php</b><br />\n"), 20, "error log"),
        (lambda: web.Response(text="\nParse error: foo in x.php on line 3\n"), 20, "error log"),
        (lambda: web.Response(text=f"<!doctype html><script>{[]}</script><p>{[1] * 9}"), 20, "a security plugin"),
        (lambda: web.Response(status=503, text="<html>"), 20, "503"),
    ],
)
async def test_a_blog_that_does_not_answer_ends_the_run_with_advice(
    tmp_path: Path, blog: WordPress, answer: Any, exit_code: int, words: str
) -> None:
    blog.fault = lambda _request, _route: answer()
    with pytest.raises(BlogExporterError) as failed:
        await back_up(tmp_path / "archive", blog, signed_in=False)
    assert words in str(failed.value)
    assert failed.value.exit_code == exit_code or (exit_code == 20 and isinstance(failed.value, ServiceError))
    assert not (tmp_path / "archive").exists()


async def test_a_wrong_password_is_said(tmp_path: Path, blog: WordPress) -> None:
    with pytest.raises(NotAuthorised, match="did not accept the sign-in"):
        await back_up(tmp_path / "archive", blog, password="wrong")


async def test_closed_lists_of_users_and_categories_are_no_problem(tmp_path: Path, blog: WordPress) -> None:
    def fault(_: web.Request, route: str) -> web.Response | None:
        blocked = route in {"users", "types", "categories"}
        return web.Response(status=403, text="<html>", content_type="text/html") if blocked else None

    blog.fault = fault
    outcome = await back_up(tmp_path / "archive", blog, signed_in=False)
    assert [problem.id for problem in outcome.problems] == ["154"]
    assert comments(tmp_path / "archive")["2"].by_owner is None
    category = posts(tmp_path / "archive")["12"].categories[0]
    assert (category.name, category.parents) == ("日本", ())


async def test_a_list_that_fails_only_now_changes_nothing(tmp_path: Path, blog: WordPress) -> None:
    root = tmp_path / "archive"
    await back_up(root, blog)
    blog.fault = lambda _, route: web.Response(status=500) if route in {"users", "categories"} else None
    outcome = await back_up(root, blog)
    assert (outcome.exit_code, outcome.version) == (3, None)
    assert "could not be read" in problems(outcome)


async def test_records_that_are_counted_and_not_shown_are_named(tmp_path: Path, blog: WordPress) -> None:
    """As an author, who may not see the drafts of others."""

    def fault(request: web.Request, route: str) -> web.Response | None:
        if route != "posts" or "include" in request.query:
            return None
        if request.query["page"] != "1":
            return closed(400, "rest_post_invalid_page_number")
        rows = [{"id": number, "type": "post", "status": "publish"} for number in range(10, 108)]
        return web.json_response(rows, headers={"X-WP-Total": "100", "X-WP-TotalPages": "1"})

    blog.fault = fault
    outcome = await back_up(tmp_path / "archive", blog)
    assert outcome.exit_code == 3
    assert "2 of 100 records are not shown to this user" in problems(outcome)


NOTICE = b"<br />\n<b>Warning</b>:  Undefined array key [0] in <b>/x.php</b> on line <b>3</b><br />\n"
AROUND = {
    "PHP's messages": (NOTICE * 2, b""),
    "PHP's messages as text": (b'\nDeprecated: foo("bar") in x.php on line 3\nArray\n(\n    [0] => {5}\n)\n', b""),
    "a cache plugin's comment": (b"", b"\n<!-- Cached page [5], {generated} in 0.2 seconds. -->\n"),
    "an analytics script": (b"", b'<script>var x = [1], y = {"a": "long"};</script>'),
    "spaces and a byte order mark": (b"\xef\xbb\xbf\n\n", b"\n"),
    "both": (NOTICE, b"<!-- [cache] -->"),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("signed_in", [True, False])
async def test_bytes_around_the_json_are_left_out(
    tmp_path: Path, blog: WordPress, around: tuple[bytes, bytes], *, signed_in: bool
) -> None:
    await back_up(tmp_path / "plain", blog, signed_in=signed_in)
    blog.around = around
    root = tmp_path / "archive"
    for version in (1, None):
        outcome = await back_up(root, blog, signed_in=signed_in)
        assert [problem.id for problem in outcome.problems] == ([] if signed_in else ["154"]), problems(outcome)
        assert outcome.version == version
    assert posts(root) == posts(tmp_path / "plain")
    assert comments(root) == comments(tmp_path / "plain")


SIZES = [
    pytest.param(most, totals, how, marks=[] if most == 40 else pytest.mark.thorough)
    for most in (1, 7, 40, 50, 99, None)
    for totals in (True, False)
    for how in ("refused", "short", "short, pages by request")
]


@pytest.mark.parametrize("totals", [True, False])
async def test_without_totals_completeness_is_not_provable(tmp_path: Path, blog: WordPress, totals: bool) -> None:
    blog.totals = totals
    outcome = await back_up(tmp_path / "archive", blog)
    assert outcome.exit_code == 0, problems(outcome)
    assert outcome.completeness is not None
    assert (outcome.completeness["complete"], outcome.completeness.get("provable", True)) == (True, totals)


@pytest.mark.parametrize(("most", "totals", "how"), SIZES)
async def test_shorter_pages_and_missing_totals_lose_nothing(
    tmp_path: Path, blog: WordPress, most: int | None, totals: bool, how: str
) -> None:
    blog.comments = {}
    for number in range(1, 131):
        blog.add_comment(number, 10 + number % 100)
    blog.most, blog.refuses, blog.totals, blog.true_pages = (
        most,
        how == "refused",
        totals,
        how != "short, pages by request",
    )
    for version in (1, None):
        outcome = await back_up(tmp_path / "archive", blog)
        assert (outcome.exit_code, outcome.version, problems(outcome)) == (0, version, "")
    assert posts(tmp_path / "archive").keys() == {str(number) for number in blog.posts}
    assert len(comments(tmp_path / "archive")) == 130
    alone = [route for route in blog.routes() if route.startswith("posts/")]
    assert len(alone) < 10 or most in {1, 99}, blog.routes()


async def test_short_pages_of_a_public_run_lose_nothing(tmp_path: Path, blog: WordPress) -> None:
    blog.most, blog.true_pages = 40, False
    outcome = await back_up(tmp_path / "archive", blog, signed_in=False)
    assert [problem.id for problem in outcome.problems] == ["154"]
    assert len(posts(tmp_path / "archive")) == len(blog.posts) - len(HIDDEN) - 1


@pytest.mark.parametrize("pretty", [True, False])
async def test_a_blog_in_a_folder_without_pretty_permalinks(tmp_path: Path, *, pretty: bool) -> None:
    blog = sample()
    blog.folder, blog.pretty = "/my/blog", pretty
    async with served(blog):
        outcome = await back_up(tmp_path / "archive", blog, rest_route=not pretty)
        assert outcome.counts["entries"].total == len(blog.posts)
        assert not outcome.problems


async def test_a_blog_at_wordpress_com(tmp_path: Path) -> None:
    blog = sample()
    blog.prefix = "/wp/v2/sites/sea.wordpress.com"
    async with served(blog):
        outcome = await back_up(
            tmp_path / "archive", blog, signed_in=False, base=f"{blog.url}/wp/v2/sites/sea.wordpress.com"
        )
        assert [problem.id for problem in outcome.problems] == ["154"]


def test_the_address_may_name_the_blog_or_its_api() -> None:
    assert prefix_of("https://example.jp/blog/") == "/wp-json/wp/v2"
    assert prefix_of("https://example.jp/blog/wp-json/") == "/wp/v2"
    assert prefix_of("https://example.jp/api/wp/v2") == ""
    assert prefix_of("https://public-api.wordpress.com/wp/v2/sites/a.wordpress.com") == ""
    assert prefix_of("") == "/wp-json/wp/v2"


def test_a_sign_in_is_known_from_the_settings() -> None:
    assert WordPressService.of({"user": "owner", "rest_route": True}).options == {"signed_in": True}
    assert WordPressService.of({}).options == {"signed_in": False}
    assert WordPressService.of({}).capabilities.user is False
