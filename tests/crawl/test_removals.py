"""Records are removed only if there is evidence."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter import lossless_json
from exporter.crawl.backup import BackupRun
from exporter.crawl.events import Event, RecordFailed, SweepDone
from exporter.crawl.ledger import EntryTexts
from exporter.demo.content import Blog, fields
from exporter.errors import MassDisappearance
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from tests.crawl.conftest import MakeCrawl
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import all_findings, folded, held, lines_of_runs


def tombstones(root: Path, version: int, kind: Kind) -> dict[str, Any]:
    """Return the evidence in a version's tombstones by ID."""
    lines = (root / f"versions/{version:06d}/{kind}.jsonl").read_bytes().splitlines()
    found = [lossless_json.loads(line) for line in lines]
    return {line["id"]: line["evidence"] for line in found if line["op"] == "remove"}


async def test_removed_records_leave_tombstones_with_evidence(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(30, 20, 20)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        first = folded(crawl.root)
        del blog.entries[4]
        del blog.comments[3]
        del blog.files[2]
        ran = await crawl.run()
        assert ran.code == 0
        counts = {kind: found.gone for kind, found in ran.outcome.counts.items()}
        assert counts == {"entries": 1, "entry_list": 1, "comments": 1, "files": 1, "user": 0, "assets": 0}
        absent = {"absent_in_sweeps": [1, 2]}
        refused = {**absent, "entry_get": {"status": 404, "message": "entry is not found"}}
        assert tombstones(crawl.root, 2, Kind.ENTRIES) == {"4": refused}
        assert tombstones(crawl.root, 2, Kind.ENTRY_LIST) == {"4": refused}
        assert tombstones(crawl.root, 2, Kind.COMMENTS) == {"4": absent}
        assert tombstones(crawl.root, 2, Kind.FILES) == {"3": absent}
        assert folded(crawl.root) == held(blog)
        # The older version still contains it.
        assert folded(crawl.root, 1) == first


async def test_an_entry_that_comes_back(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(9, 3, 3)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        record = blog.entries.pop(4)
        comment = blog.comments.pop(1)
        await crawl.run()
        blog.entries[4] = record
        blog.comments.insert(1, comment)
        for refresh in ("changed", "all"):
            ran = await crawl.run(refresh=refresh)
            assert ran.code == 0
        assert [run["version"] for run in lines_of_runs(crawl.root)] == [1, 2, 3, None]
        assert folded(crawl.root) == held(blog)


async def test_an_entry_that_is_unlisted_and_still_answers_stays(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(9)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        blog.list_items[4] = None
        blog.entries[4] = {**fields(blog.entries[4]), "entry_text": "改"}
        ran = await crawl.run()
        assert (ran.code, ran.outcome.version) == (3, 2)
        assert (ran.outcome.counts["entries"].gone, ran.outcome.counts["entry_list"].gone) == (0, 0)
        assert tombstones(crawl.root, 2, Kind.ENTRY_LIST) == {}
        assert "entries None: the service answers these entries, which are not on the entry list" in ran.reasons
        assert ran.outcome.completeness is not None
        assert ran.outcome.completeness["entries"] == {
            "listed": 9,
            "saved": 9,
            "left_out": {"pending": 0, "lost": 0, "by_choice": 0},
            "read": 9,
            "carried_over": 0,
            "contradicted": 1,
            "list_complete": True,
        }
        assert folded(crawl.root)[Kind.ENTRIES] == held(blog)[Kind.ENTRIES]
        # Every later run requests it, so that its changes and its removal are found.
        ran = await crawl.run(refresh="changed")
        assert (ran.code, ran.outcome.version) == (3, None)
        assert crawl.gets == ["4"]
        del blog.entries[4], blog.list_items[4]
        assert (await crawl.run(refresh="changed")).outcome.counts["entries"].gone == 1


async def test_an_unlisted_entry_that_cannot_be_asked_for_stays(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(9)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        before = folded(crawl.root)
        blog.list_items[4] = None
        service.before = faults.only("entry_id=4", faults.status(500))
        ran = await crawl.run()
        assert ran.code == 3
        assert "entries 4" in ran.reasons
        assert ran.of(RecordFailed)[-1].record_id == "4"
        assert ran.outcome.completeness is not None
        assert ran.outcome.completeness["entries"] == {
            "listed": 9,
            "saved": 8,
            "left_out": {"pending": 1, "lost": 0, "by_choice": 0},
            "read": 8,
            "carried_over": 0,
            "contradicted": 0,
            "list_complete": True,
        }
        assert folded(crawl.root)[Kind.ENTRIES] == before[Kind.ENTRIES]


async def test_another_entrys_answer_is_no_evidence(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(9)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        blog.list_items[4] = None
        blog.entries[4] = {**fields(blog.entries[4]), "entry_id": "5"}
        ran = await crawl.run()
        assert ran.code == 3
        assert "the answer is entry '5'" in ran.reasons
        assert ran.outcome.counts["entries"].gone == 0
        assert ran.outcome.counts["entries"].changed == 0


async def test_absent_in_one_sweep_only_is_no_evidence(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(9, 9, 9)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()

        def hide(_run: BackupRun, event: Event) -> None:
            # The blog changes between any two sweeps, and the record is missing only in the last sweep.
            if isinstance(event, SweepDone):
                blog.comments[0] = {**fields(blog.comments[0]), "title": f"改{event.sweep}"}
                if event.sweep == 3:
                    del blog.comments[5]

        ran = await crawl.run(hide)
        assert (ran.outcome.sweeps, ran.outcome.counts["comments"].gone) == (4, 0)
        assert "6" in folded(crawl.root)[Kind.COMMENTS]
        assert (await crawl.run()).outcome.counts["comments"].gone == 1


@pytest.mark.parametrize(("kind", "name"), [("entry_list", "entries"), ("comments", "comments"), ("files", "uploads")])
async def test_a_mass_disappearance_is_refused(crawl_of: MakeCrawl, kind: str, name: str) -> None:
    blog = generated_blog(20, 20, 20)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        before = folded(crawl.root)
        names = sorted(str(path) for path in crawl.root.rglob("*"))
        for number in range(1, 8):
            if kind == "entry_list":
                del blog.entries[number]
            else:
                del (blog.comments if kind == "comments" else blog.files)[0]
        ran = await crawl.run()
        assert isinstance(ran.error, MassDisappearance)
        assert f"7 of 20 {name} are gone" in str(ran.error)
        assert (ran.code, ran.outcome.outcome) == (4, "refused")
        assert folded(crawl.root) == before
        assert [line["outcome"] for line in lines_of_runs(crawl.root)] == ["saved", "refused"]
        assert sorted(str(path) for path in crawl.root.rglob("*")) == names
        ran = await crawl.run(accept_removals=True)
        assert (ran.code, ran.outcome.version) == (0, 2)
        assert folded(crawl.root) == held(blog)


@pytest.mark.parametrize(("there", "gone", "refused"), [(20, 6, False), (20, 7, True), (5, 5, False), (6, 6, True)])
async def test_the_limit_of_a_mass_disappearance(crawl_of: MakeCrawl, there: int, gone: int, refused: bool) -> None:
    blog = generated_blog(1, there, 0)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        del blog.comments[:gone]
        assert ((await crawl.run()).code == 4) is refused


async def test_a_service_that_suddenly_shows_an_empty_blog(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(20, 20, 20)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        before = folded(crawl.root)
        service.blogs[blog.blog_id] = Blog(blog.blog_id, blog.user)
        assert (await crawl.run()).code == 4
        assert folded(crawl.root) == before
        assert crawl.gets == []


@pytest.mark.parametrize("path", ["entry/list", "comment/list", "file/list"])
async def test_a_kind_whose_list_failed_claims_no_removals(crawl_of: MakeCrawl, path: str) -> None:
    blog = generated_blog(30, 50, 50)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        before = folded(crawl.root)
        del blog.entries[4]
        del blog.comments[3]
        del blog.files[2]
        service.before = faults.only(f"{path}?id=generated.blog.example.jp&page=2", faults.status(404))
        ran = await crawl.run()
        assert ran.code == 3
        gone = {kind for kind, found in ran.outcome.counts.items() if found.gone}
        kinds = {"entry/list": {"entries", "entry_list"}, "comment/list": {"comments"}, "file/list": {"files"}}
        assert gone == {"entries", "entry_list", "comments", "files"} - kinds[path]
        for kind in kinds[path]:
            assert folded(crawl.root)[Kind(kind)].keys() == before[Kind(kind)].keys()
        service.before = None
        assert (await crawl.run()).code == 0
        assert folded(crawl.root) == held(blog)
        assert [finding for finding in all_findings(crawl.root) if "latest" not in finding] == []


async def test_an_entry_that_vanishes_while_the_blog_is_read_is_no_problem(crawl_of: MakeCrawl) -> None:
    """The entry does not exist at the end; its list item is kept, and the next run corrects it."""
    blog = generated_blog(30)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)

        async def vanish(request: web.Request) -> None:
            if request.path.endswith("entry/get"):
                blog.entries.pop(1, None)

        service.before = vanish
        ran = await crawl.run()
        assert (ran.code, ran.reasons) == (0, "")
        assert set(folded(crawl.root)[Kind.ENTRIES]) == {str(number) for number in range(2, 31)}
        assert (await crawl.run()).code == 0
        assert folded(crawl.root) == held(blog)


@pytest.mark.parametrize("part", [lambda number: number % 4096, lambda number: number // 4096 % 4096])
def test_texts_whose_hashes_share_one_part_are_not_the_same(part: Callable[[int], int]) -> None:
    known: dict[int, str] = {}
    same = ""
    for number in itertools.count():
        same = f"text {number}"
        if part(hash(same)) in known:
            break
        known[part(hash(same))] = same
    other = known[part(hash(same))]
    texts = EntryTexts(DEFAULT_SERVICE)
    for _ in range(5):
        texts.count([same])
        texts.count([other])
    assert texts.alike == 5
    texts.count([other])
    assert texts.alike == 6
