"""Records that cannot be read are named, the others are saved, and the next run tries again."""

from __future__ import annotations

import pytest
from aiohttp import web

from exporter.archive.archive import Archive
from exporter.crawl.events import RecordFailed
from exporter.demo.content import RecordList, fields
from exporter.errors import ApiError, BlogGone, ConnectFailed, NotAuthorised, TransportError
from exporter.model.kinds import Kind
from tests.crawl.conftest import MakeCrawl
from tests.support import faults
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.runs import folded, held, lines_of_runs

ID = "id=generated.blog.example.jp"


@pytest.mark.parametrize("status", [404, 500, 403])
async def test_an_entry_that_stays_unreadable(crawl_of: MakeCrawl, status: int) -> None:
    blog = generated_blog(30)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        older = folded(crawl.root)[Kind.ENTRIES]["7"]
        blog.entries[7] = {**fields(blog.entries[7]), "title": "改題", "entry_text": "新"}
        blog.entries[31] = {**fields(blog.entries[8]), "entry_id": "31"}
        service.before = faults.first_of(
            *(faults.only(f"entry_id={number}", faults.status(status)) for number in (7, 31))
        )
        ran = await crawl.run()
        assert (ran.code, ran.outcome.outcome, ran.error) == (3, "partial", None)
        assert {problem.id for problem in ran.outcome.problems} == {"7", "31"}
        assert str(status) in ran.reasons
        found = folded(crawl.root)
        assert found[Kind.ENTRIES]["7"] == older
        assert "31" in found[Kind.ENTRY_LIST]
        assert "31" not in found[Kind.ENTRIES]
        manifest = Archive.open(crawl.root).manifest(2)
        line = lines_of_runs(crawl.root)[-1]
        assert [problem.id for problem in manifest.problems] == [problem["id"] for problem in line["problems"]]
        assert manifest.completeness["entries"] == {
            "listed": 31,
            "saved": 29,
            "left_out": {"pending": 2, "lost": 0, "by_choice": 0},
            "read": 29,
            "carried_over": 0,
            "contradicted": 0,
            "list_complete": True,
        }
        assert {event.record_id for event in ran.of(RecordFailed)} == {"7", "31"}

        # Nothing else changed, so there is no new version; the run still reports the missing records.
        ran = await crawl.run()
        assert (ran.code, ran.outcome.version) == (3, None)
        assert set(crawl.gets[:2]) == {"7", "31"}
        service.before = None
        ran = await crawl.run(concurrency=1)
        assert ran.code == 0
        assert set(crawl.gets[:2]) == {"7", "31"}
        assert folded(crawl.root) == held(blog)


async def test_a_momentary_refusal_is_tried_once_more(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(30)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        service.before = faults.only("entry_id=7", faults.times(1, faults.status(404)))
        ran = await crawl.run()
        assert ran.code == 0
        assert crawl.gets.count("7") == 2
        assert folded(crawl.root) == held(blog)


@pytest.mark.parametrize("path", ["entry/list", "comment/list", "file/list"])
async def test_one_failing_list_does_not_stop_the_others(crawl_of: MakeCrawl, path: str) -> None:
    blog = generated_blog(30, 50, 50)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        service.before = faults.only(path, faults.status(500))
        ran = await crawl.run()
        assert (ran.code, ran.outcome.version) == (3, 1)
        found, there = folded(crawl.root), held(blog)
        lost = {
            "entry/list": {Kind.ENTRIES, Kind.ENTRY_LIST},
            "comment/list": {Kind.COMMENTS},
            "file/list": {Kind.FILES},
        }[path]
        for kind, records in there.items():
            assert found[kind] == ({} if kind in lost else records)
        service.before = None
        assert (await crawl.run()).code == 0
        assert folded(crawl.root) == there


async def test_a_page_that_fails_for_a_while_costs_a_sweep_and_nothing_else(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(30, 100, 5)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        service.before = faults.only(f"comment/list?{ID}&page=3", faults.times(1, faults.status(404)))
        ran = await crawl.run()
        assert (ran.code, ran.outcome.sweeps) == (0, 3)
        assert folded(crawl.root) == held(blog)


async def test_a_failing_user_operation(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(5)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        service.before = faults.only("/v1/user", faults.status(404))
        ran = await crawl.run()
        assert (ran.code, ran.outcome.version) == (3, 1)
        assert "the user could not be read" in ran.reasons
        assert ran.outcome.completeness is not None
        assert ran.outcome.completeness["user"] == {"read": False}
        service.before = None
        assert (await crawl.run()).code == 0
        assert folded(crawl.root) == held(blog)


async def test_an_answer_that_is_another_entry(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(5)
    blog.entries[3] = {**fields(blog.entries[4])}
    blog.list_items[3] = {"entry_id": "3"}
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert ran.code == 3
        assert "the answer is entry '4'" in ran.reasons
        assert "3" not in folded(crawl.root)[Kind.ENTRIES]


@pytest.mark.parametrize("entry_id", [None, "", [], {}, True], ids=repr)
async def test_an_answer_that_does_not_say_which_entry_it_is(crawl_of: MakeCrawl, entry_id: object) -> None:
    blog = generated_blog(5)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        before = folded(crawl.root)
        blog.entries[3] = {**fields(blog.entries[3]), "entry_id": entry_id, "title": "誰"}
        blog.list_items[3] = {"entry_id": "3", "comment_count": "0"}
        ran = await crawl.run()
        assert (ran.code, [problem.id for problem in ran.outcome.problems]) == (3, ["3"])
        assert "the answer has no usable entry_id" in ran.reasons
        assert folded(crawl.root)[Kind.ENTRIES] == before[Kind.ENTRIES]


@pytest.mark.parametrize(
    ("blog_id", "taken"),
    [("other.blog.example.jp", False), ("Generated.Blog.example.JP", True), ("", True), (None, True), (7, True)],
)
async def test_an_answer_of_another_blog(crawl_of: MakeCrawl, blog_id: object, taken: bool) -> None:
    blog = generated_blog(5)
    blog.entries[3] = {**fields(blog.entries[3]), "blog_id": blog_id}
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert ran.code == (0 if taken else 3)
        assert ("3" in folded(crawl.root)[Kind.ENTRIES]) is taken
        assert ("the answer is of blog 'other.blog.example.jp'" in ran.reasons) is not taken


async def test_fewer_comments_than_an_entry_counts(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(3, 4)
    listed = sum(fields(comment)["entry_id"] == "2" for comment in blog.comments)
    blog.list_items[2] = {"entry_id": "2", "comment_count": "99"}
    async with DemoService(blog) as service:
        ran = await crawl_of(service).run()
        assert ran.code == 3
        assert f"{99 - listed} comments that the entries count are not on the comment list" in ran.reasons
        assert ran.outcome.completeness is not None
        comments = ran.outcome.completeness["comments"]
        assert comments["left_out"] == {"pending": 99 - listed, "lost": 0, "by_choice": 0}
        assert (comments["saved"], comments["listed"]) == (4, 4 + 99 - listed)


async def test_comments_of_an_unknown_entry_do_not_make_up_for_those_kept_back(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(2, 0)
    blog.list_items[1] = {"entry_id": "1", "comment_count": "5"}
    blog.comments = RecordList([{"cm_id": str(number), "entry_id": "404"} for number in range(5)])
    async with DemoService(blog) as service:
        ran = await crawl_of(service).run()
        assert ran.code == 3
        assert (
            "5 comments that the entries count are not on the comment list, because the service keeps them back, of these entries: 1"
            in ran.reasons
        )


async def test_a_hit_counter_in_the_list_does_not_hide_that_comments_are_kept_back(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(3, 0)
    hits = 0
    async with DemoService(blog) as service:

        async def count(request: web.Request) -> None:
            nonlocal hits
            if request.path.endswith("entry/list"):
                hits += 1
                blog.list_items[1] = {"entry_id": "1", "comment_count": "15", "hits": str(hits)}

        service.before = count
        ran = await crawl_of(service).run()
        assert (ran.code, ran.outcome.sweeps) == (3, 4)
        assert (
            "15 comments that the entries count are not on the comment list, because the service keeps them back, of these entries: 1"
            in ran.reasons
        )


async def test_a_comment_that_comes_while_the_lists_are_read_is_not_missing(crawl_of: MakeCrawl) -> None:
    """The two lists of a sweep are read at different times; comments seen in another sweep count."""
    blog = generated_blog(3, 0)
    pages = 0
    async with DemoService(blog) as service:

        async def change(request: web.Request) -> None:
            nonlocal pages
            if request.path.endswith("entry/list"):
                pages += 1
                # The entry list of each sweep counts a comment that the comment list of this sweep does not have yet.
                blog.list_items[1] = {"entry_id": "1", "comment_count": str(pages)}
            if request.path.endswith("comment/list") and pages:
                blog.comments = RecordList(
                    [{"cm_id": str(number), "entry_id": "1"} for number in range(max(pages - pages % 2, 0))]
                )

        service.before = change
        ran = await crawl_of(service).run()
        assert (ran.code, ran.outcome.sweeps, ran.reasons) == (0, 4, "")


async def test_fewer_files_than_the_summary_counts(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(1, 0, 5)
    async with DemoService(blog) as service:

        async def boast(request: web.Request) -> web.StreamResponse | None:
            if not request.path.endswith("file/list"):
                return None
            items = ",".join(f'{{"file_id":"{number}"}}' for number in range(5)) if request.query["page"] == "1" else ""
            body = f'{{"json":{{"result":"ok","message":"","data":{{"list":[{items}],"page":1,"limit":20,"summary":{{"filenum":"7"}}}}}}}}'
            return web.Response(text=body, content_type="application/json")

        service.before = boast
        ran = await crawl_of(service).run()
        assert ran.code == 3
        assert "5 of 7 files" in ran.reasons


async def test_a_token_that_is_not_accepted(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(3), ServiceOptions(require_token="secret")) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert isinstance(ran.error, NotAuthorised)
        assert ran.code == 12
        assert len(service.requests) <= 4
        assert not (crawl.root / "archive.json").exists()


async def test_a_token_that_expires_in_the_middle(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(60, 5, 5)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)

        async def expire(request: web.Request) -> web.StreamResponse | None:
            if len(crawl.gets) > 20:
                return web.Response(status=401)
            return None

        service.before = expire
        ran = await crawl.run()
        assert isinstance(ran.error, NotAuthorised)
        assert ran.code == 12
        assert (crawl.root / ".work/checkpoint").is_dir()
        service.before = None
        assert (await crawl.run()).code == 0
        assert len(crawl.gets) <= 60 - 12
        assert folded(crawl.root) == held(blog)


async def test_a_token_that_expires_while_the_lists_are_read(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(60, 200, 5)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)

        async def expire(request: web.Request) -> web.StreamResponse | None:
            return web.Response(status=403) if len(service.requests) > 8 else None

        service.before = expire
        ran = await crawl.run()
        assert (ran.code, type(ran.error)) == (12, NotAuthorised)
        service.before = None
        assert (await crawl.run()).code == 0
        assert folded(crawl.root) == held(blog)


async def test_an_unknown_blog(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(3)) as service:
        crawl = crawl_of(service)
        ran = await crawl.run(blog_id="nobody.blog.example.jp")
        assert (ran.code, type(ran.error)) == (20, BlogGone)
        assert "check the blog ID" in str(ran.error)
        assert not (crawl.root / "archive.json").exists()


async def test_an_unreachable_host(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(3)) as service:
        crawl = crawl_of(service)
        service.base_url = "http://127.0.0.1:9"
        ran = await crawl.run()
        assert isinstance(ran.error, ConnectFailed)
        assert not isinstance(ran.error, ApiError)
        assert ran.code == 20


async def test_a_host_that_only_speaks_html(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(3)) as service:
        service.before = faults.html
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert isinstance(ran.error, TransportError)
        assert (ran.code, (crawl.root / "archive.json").exists()) == (20, False)


async def test_ids_that_fit_no_address_and_items_without_one_are_counted(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(3)
    blog.list_items = {
        f"x{number}": {"entry_id": "9" * 5000 if number % 2 else f"{number}"} for number in range(10, 310)
    }
    async with DemoService(blog) as service:
        ran = await crawl_of(service).run()
    assert ran.code == 3
    assert "has no usable id and could not be kept" in ran.reasons
    assert "50 more items had no usable id" in ran.reasons
    assert "9" * 5000 not in ran.reasons
