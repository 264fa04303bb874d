"""Blogs of every shape are archived completely, without unnecessary requests."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from exporter import lossless_json
from exporter.crawl.events import EntriesPlanned, EntryRead, PageRead, Started, SweepDone
from exporter.demo.content import Blog, RawJson, RecordList, demo_blog, fields
from exporter.model.kinds import Kind
from tests.crawl.conftest import MakeCrawl
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.runs import all_findings, canonical, folded, held

SMALL_PAGES = {"entry_page_size": 5, "comment_page_size": 5, "file_page_size": 5}


async def check(crawl_of: MakeCrawl, blog: Blog, **options: Any) -> None:
    """Back up a blog, compare all records, and check that a second run adds no version."""
    async with DemoService(blog, ServiceOptions(**options)) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert (ran.code, ran.reasons, ran.error) == (0, "", None)
        assert sorted(crawl.gets) == sorted(str(key) for key in blog.entries)
        assert folded(crawl.root) == held(blog)
        again = await crawl.run()
        assert (again.outcome.outcome, again.outcome.version) == ("unchanged", None)
        assert sorted(crawl.gets) == sorted(str(key) for key in blog.entries)
        assert not [finding for finding in all_findings(crawl.root) if "latest-stale" not in finding]


@pytest.mark.parametrize(
    ("entries", "comments", "files", "pages"),
    [(30, 73, 41, 2 + 4 + 3), pytest.param(300, 730, 131, 15 + 37 + 7, marks=pytest.mark.thorough)],
)
async def test_a_blog_of_many_pages(crawl_of: MakeCrawl, entries: int, comments: int, files: int, pages: int) -> None:
    blog = generated_blog(entries, comments, files)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert (ran.code, ran.outcome.version, ran.outcome.sweeps) == (0, 1, 2)
        assert len(crawl.gets) == len(set(crawl.gets)) == entries
        assert folded(crawl.root) == held(blog)
        counts = ran.outcome.counts
        assert [(counts[kind].total, counts[kind].new) for kind in ("entries", "comments", "files", "user")] == [
            (entries, entries), (comments, comments), (files, files), (1, 1),
        ]  # fmt: skip
        # Two sweeps of all pages, the entries, and the user.
        assert ran.outcome.requests == len(service.requests) == 2 * pages + entries + 1
        again = await crawl.run()
        assert (again.outcome.outcome, again.outcome.version, len(crawl.gets)) == ("unchanged", None, entries)
        assert [path.name for path in (crawl.root / "versions").iterdir()] == ["000001"]


async def test_the_made_up_blog_with_all_its_oddities(crawl_of: MakeCrawl) -> None:
    async with DemoService(demo_blog()) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert folded(crawl.root) == held(demo_blog())
        assert ran.code in {0, 3}


async def test_an_empty_blog(crawl_of: MakeCrawl) -> None:
    for all_page in (0, 1):
        await check(crawl_of, generated_blog(0), empty_all_page=all_page)


async def test_one_of_everything(crawl_of: MakeCrawl) -> None:
    await check(crawl_of, generated_blog(1, 1, 1))


@pytest.mark.parametrize("past_end", ["empty", "404", "repeat"])
@pytest.mark.parametrize("count", [5, 10, 11])
async def test_full_pages_and_any_answer_after_the_last(
    crawl_of: MakeCrawl, count: int, past_end: Literal["empty", "404", "repeat"]
) -> None:
    await check(crawl_of, generated_blog(count, count, count), past_end=past_end, **SMALL_PAGES)


@pytest.mark.parametrize("size", [1, 7, 23, 24, 1000])
async def test_any_page_size_of_the_entry_list(crawl_of: MakeCrawl, size: int) -> None:
    await check(crawl_of, generated_blog(23, 3, 3), entry_page_size=size)


@pytest.mark.parametrize("newest_first", [True, False])
async def test_either_order_of_the_lists(crawl_of: MakeCrawl, newest_first: bool) -> None:
    await check(crawl_of, generated_blog(8, 13, 7), newest_first=newest_first, **SMALL_PAGES)


@pytest.mark.parametrize("compression", ["gzip", "deflate"])
async def test_compressed_answers(crawl_of: MakeCrawl, compression: str) -> None:
    await check(crawl_of, generated_blog(5, 5, 5), compression=compression)


async def test_another_page_parameter(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(18)
    async with DemoService(blog, ServiceOptions(entry_page_param="p", entry_page_size=5)) as service:
        crawl = crawl_of(service)
        assert (await crawl.run(entry_list_page_param="p")).code == 0
        assert folded(crawl.root) == held(blog)


async def test_an_entry_list_that_ignores_its_page_parameter(crawl_of: MakeCrawl) -> None:
    """The run ends soon, saves the entries that it saw or that comments name, and names the setting to correct."""
    async with DemoService(
        generated_blog(100, 5, 5), ServiceOptions(ignore_entry_page=True, entry_page_size=5)
    ) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert (ran.code, ran.outcome.outcome) == (3, "partial")
        assert "entry_list_page_param" in ran.reasons
        named = {fields(comment)["entry_id"] for comment in service.blogs["generated.blog.example.jp"].comments}
        assert set(crawl.gets) == named | {str(number) for number in range(96, 101)}
        assert crawl.lists < 40
        assert ran.outcome.completeness is not None
        assert not ran.outcome.completeness["complete"]
        assert not ran.outcome.completeness["entries"]["list_complete"]


HOSTILE = {
    "duplicate keys": b'{"entry_id":"1","title":"a","title":"b","x":{"y":1,"y":2}}',
    "huge integers": b'{"entry_id":"1","n":' + b"9" * 400 + b',"m":-0,"f":1.10,"e":1e400}',
    "not a number": b'{"entry_id":"1","n":NaN,"i":-Infinity}',
    "lone surrogates": b'{"entry_id":"1","title":"\\ud83d \\udc00\\ud800"}',
    "control characters": b'{"entry_id":"1","title":"\\u0000\\u001b[31m\\u202e","entry_text":"a\\r\\nb"}',
    "wrong types": b'{"entry_id":1,"title":{"a":[null]},"entry_text":[],"year":false,"last_update":12,"is_private":[]}',
    "nested": b'{"entry_id":"1","x":' + b"[" * 3000 + b"]" * 3000 + b"}",
    "separators": '{"entry_id":"1","title":"a\u2028b\u2029c\u0085d"}'.encode(),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_hostile_entries_are_kept_unchanged(crawl_of: MakeCrawl, text: bytes) -> None:
    blog = generated_blog(2)
    blog.entries[1] = RawJson(text)
    blog.list_items = {1: {"entry_id": "1", "comment_count": "-7"}}
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        lacks_text = b'"entry_text":' not in text
        assert (await crawl.run()).code == (3 if lacks_text else 0)
        assert folded(crawl.root)[Kind.ENTRIES]["1"] == canonical(text)
        assert (await crawl.run()).outcome.outcome == "unchanged"


@pytest.mark.parametrize("text", [b"{}", b'{"entry_id":["1"],"title":"?"}'], ids=["nothing", "its id is a list"])
async def test_an_answer_without_a_usable_id_is_not_kept_as_the_entry(crawl_of: MakeCrawl, text: bytes) -> None:
    blog = generated_blog(2)
    blog.entries[1] = RawJson(text)
    blog.list_items = {1: {"entry_id": "1", "comment_count": "0"}}
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert (ran.code, [problem.id for problem in ran.outcome.problems]) == (3, ["1"])
        assert "the answer has no usable entry_id" in ran.reasons
        assert set(folded(crawl.root)[Kind.ENTRIES]) == {"2"}


async def test_hostile_list_items_and_comments(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(1)
    huge = "9" * 300
    blog.comments = RecordList(
        [
            RawJson(b'{"cm_id":1,"name":"a","name":"b","entry_id":"404"}'),
            RawJson(f'{{"cm_id":{huge},"n":1.0}}'.encode()),
            RawJson(b'{"cm_id":"\\ud800 ../../etc","cm_text":null}'),
        ]
    )
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        assert (await crawl.run()).code == 0
        found = folded(crawl.root)[Kind.COMMENTS]
        assert set(found) == {"1", huge, "\ud800 ../../etc"}
        assert lossless_json.loads(found["1"])["name"] == "b"
        assert b'"name":"a"' in found["1"]
        assert (await crawl.run()).outcome.outcome == "unchanged"


async def test_items_without_an_id_are_reported(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(1)
    blog.files = RecordList([{"file_id": None}, RawJson(b'"text"'), {"file_id": "5"}])
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert ran.code == 3
        assert ran.reasons.count("has no usable id") == 2
        assert set(folded(crawl.root)[Kind.FILES]) == {"5"}


async def test_two_records_of_one_id_are_reported(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(1)
    blog.files = RecordList(
        [{"file_id": "5", "name": "a"}, {"file_id": 5, "name": "b"}, {"file_id": "6"}, {"file_id": "6"}]
    )
    async with DemoService(blog) as service:
        ran = await crawl_of(service).run()
        assert ran.code == 3
        assert "two records have the id 5" in ran.reasons
        assert "two records have the id 6" not in ran.reasons


async def test_a_run_reports_its_progress(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(25, 1, 1)) as service:
        ran = await crawl_of(service).run()
        assert ran.events[0] == Started("generated.blog.example.jp", None)
        assert PageRead(Kind.ENTRY_LIST, 1, 2, 2) in ran.events
        assert PageRead(Kind.FILES, 2, 1, 1) in ran.events
        assert ran.of(EntriesPlanned) == [EntriesPlanned(25)]
        assert {event.entry_id for event in ran.of(EntryRead)} == {str(number) for number in range(1, 26)}
        assert ran.of(SweepDone) == [SweepDone(1, False), SweepDone(2, True)]
        assert (ran.outcome.version, ran.outcome.counts[Kind.ENTRIES].new) == (1, 25)


async def test_a_dry_run_reads_lists_only_and_writes_nothing(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(30, 7, 3)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        ran = await crawl.run(dry_run=True)
        assert (ran.code, crawl.gets, crawl.root.exists()) == (0, [], False)
        assert ran.outcome.counts[Kind.ENTRY_LIST].new == 30
        await crawl.run()
        before = sorted(crawl.root.rglob("*"))
        del blog.entries[4]
        blog.comments[0] = {**fields(blog.comments[0]), "name": "別人"}
        ran = await crawl.run(dry_run=True)
        counts = ran.outcome.counts
        assert (counts[Kind.ENTRY_LIST].gone, counts[Kind.COMMENTS].changed, counts[Kind.FILES].new) == (1, 1, 0)
        assert sorted(crawl.root.rglob("*")) == before
