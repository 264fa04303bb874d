"""Pages with the same answer as before are not parsed again, and the run has the same result as if they were."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from aiohttp import web
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.crawl import seen_pages
from exporter.crawl.backup import BackupRun
from exporter.crawl.events import Event, PageRead
from exporter.demo.content import Blog, fields
from exporter.demo.service import COMMENTS
from exporter.errors import Interrupted
from exporter.model.exchange import Response
from exporter.service.blog_v1 import BlogV1
from exporter.service.interface import Call, Cursor, Page, Paginator
from tests.crawl.conftest import Crawl
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.runs import folded, held

PAGES = 3 + 4 + 3
"""Of the three lists of :func:`blog_of_pages`."""
SMALL_PAGES = ServiceOptions(entry_page_size=5, comment_page_size=5, file_page_size=5)


@pytest.fixture(autouse=True)
def keep_short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_pages, "_FEWEST_PAGES", 1)


def blog_of_pages() -> Blog:
    return generated_blog(11, 17, 11)


def kept(root: Path) -> list[Path]:
    """Return the files with notes for the next run."""
    return sorted((root / ".work").glob("pages-*"))


def kept_comments(root: Path) -> Path:
    return root / ".work" / "pages-comments.jsonl"


def change_comment(blog: Blog, at: int) -> None:
    fields(blog.comments[at % len(blog.comments)])["cm_text"] = f"changed {at}"


def add_comment(blog: Blog, at: int) -> None:
    blog.comments.append({**fields(blog.comments[0]), "cm_id": str(1000 + len(blog.comments) + at)})


def drop_comment(blog: Blog, at: int) -> None:
    del blog.comments[at % len(blog.comments)]


def drop_file(blog: Blog, at: int) -> None:
    del blog.files[at % len(blog.files)]


def retitle(blog: Blog, at: int) -> None:
    key = list(blog.entries)[at % len(blog.entries)]
    fields(blog.entries[key])["title"] = f"title {at}"


def drop_entry(blog: Blog, at: int) -> None:
    del blog.entries[list(blog.entries)[at % len(blog.entries)]]


def state_more_comments(blog: Blog, at: int) -> None:
    key = list(blog.entries)[at % len(blog.entries)]
    blog.list_items[key] = {"entry_id": str(key), "comment_count": str(50 + at)}


def leave(_blog: Blog, _at: int) -> None:
    """Change nothing."""


Change = Callable[[Blog, int], None]
changes = st.lists(
    st.tuples(
        st.sampled_from(
            [leave, change_comment, add_comment, drop_comment, state_more_comments, drop_file, retitle, drop_entry]
        ),
        st.integers(0, 99),
    ),
    max_size=4,
)


async def history(root: Path, steps: list[tuple[Change, int]], *, keep: bool) -> list[Any]:
    """Back a blog up after each change, with or without the notes that the run before kept."""
    blog = generated_blog(6, 11, 6)
    found: list[Any] = []
    async with DemoService(blog, SMALL_PAGES) as service:
        crawl = Crawl(root, service)
        for change, at in [(leave, 0), *steps]:
            change(blog, at)
            if not keep:
                for path in kept(root):
                    path.unlink()
            ran = await crawl.run(refresh="changed", accept_removals=True)
            done = ran.outcome
            found += [done.outcome, done.counts, done.completeness, done.problems, done.requests, ran.of(PageRead)]
    return [*found, folded(root)]


@pytest.mark.parametrize("examples", [3, pytest.param(10, marks=pytest.mark.thorough)])
@pytest.mark.no_cover
def test_the_notes_change_no_result(examples: int) -> None:
    @settings(max_examples=examples)
    @given(changes)
    @example([(state_more_comments, 2), (leave, 0), (change_comment, 5), (leave, 0)])
    def check(steps: list[tuple[Change, int]]) -> None:
        with TemporaryDirectory() as one, TemporaryDirectory() as other:
            with_notes = asyncio.run(history(Path(one, "archive"), deepcopy(steps), keep=True))
            without = asyncio.run(history(Path(other, "archive"), steps, keep=False))
        assert with_notes == without

    check()


class Counting(BlogV1):
    """Counts the pages that are parsed."""

    parsed = 0

    def pages(self, *asked: Any) -> Paginator:
        paginator = super().pages(*asked)
        call = paginator.call

        def counted(cursor: Cursor) -> Call[Page]:
            made = call(cursor)

            def parse(response: Response) -> Page:
                self.parsed += 1
                return made.parse(response)

            return made._replace(parse=parse)

        paginator.call = counted  # type: ignore[method-assign]  # to count what is parsed
        return paginator


class CountingCrawl(Crawl):
    """Runs that count the pages that they parse."""

    def made(self, service: Any, *given: Any) -> BackupRun:
        self.counting = Counting(service._options)
        return super().made(self.counting, *given)


@pytest.fixture
def counting_of(tmp_path: Path) -> Callable[[DemoService], CountingCrawl]:
    return lambda service: CountingCrawl(tmp_path / "archive", service)


MakeCounting = Callable[[DemoService], CountingCrawl]


async def test_pages_with_the_answer_of_the_run_before_are_not_parsed(counting_of: MakeCounting) -> None:
    blog = blog_of_pages()
    async with DemoService(blog, SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        assert crawl.counting.parsed == PAGES, "the second sweep repeats the first"
        written = {path.name: path.stat().st_mtime_ns for path in kept(crawl.root)}
        assert len(written) == 3
        ran = await crawl.run()
        assert (ran.outcome.outcome, crawl.counting.parsed, crawl.lists) == ("unchanged", 0, 2 * PAGES)
        assert {path.name: path.stat().st_mtime_ns for path in kept(crawl.root)} == written
        change_comment(blog, 5)
        await crawl.run()
        assert crawl.counting.parsed == 1
        await crawl.run()
        assert crawl.counting.parsed == 0
        assert folded(crawl.root) == held(blog)


def cut(text: bytes) -> bytes:
    return text[:-70]


def change_number(text: bytes) -> bytes:
    return text.replace(b'"10"', b'"11"', 1)


def empty(_text: bytes) -> bytes:
    return b""


def add_line(text: bytes) -> bytes:
    return text + b"\n"


def of_older_program(text: bytes) -> bytes:
    return text.replace(b'"program":"', b'"program":"0.', 1)


@pytest.mark.parametrize("damage", [cut, change_number, empty, add_line, of_older_program])
async def test_damaged_notes_are_not_used(counting_of: MakeCounting, damage: Callable[[bytes], bytes]) -> None:
    async with DemoService(blog_of_pages(), SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        path = kept_comments(crawl.root)
        text = path.read_bytes()
        assert damage(text) != text
        path.write_bytes(damage(text))
        ran = await crawl.run()
        assert (ran.outcome.outcome, crawl.counting.parsed) == ("unchanged", 4)
        assert path.read_bytes() == text


def without_records(note: dict[str, Any]) -> None:
    note["records"] = []


def with_a_number_as_id(note: dict[str, Any]) -> None:
    note["records"]["ids"][0] = 7


def with_fewer_owners(note: dict[str, Any]) -> None:
    del note["records"]["owners"][0]


def with_a_wrong_position(note: dict[str, Any]) -> None:
    note["records"]["hidden"] = [10**6]


def with_a_text_as_number(note: dict[str, Any]) -> None:
    note["facts"]["next"] = "x"


def with_unknown_facts(note: dict[str, Any]) -> None:
    note["facts"]["more"] = 1


def without_count(note: dict[str, Any]) -> None:
    note["facts"]["count"] = None


def with_amounts_for_owners(note: dict[str, Any]) -> None:
    note["records"] |= {"owners": [], "amounts": [0] * len(note["records"]["ids"])}


def with_a_problem(note: dict[str, Any]) -> None:
    note["problems"] = [7]


def without_unnamed_items(note: dict[str, Any]) -> None:
    del note["unnamed"]


def with_a_wrong_count_of_forgotten_records(note: dict[str, Any]) -> None:
    note["forgotten"] = ["x"]


def of_another_page(note: dict[str, Any]) -> None:
    note["page"] = note["facts"]["cursor"] = 99


def with_fewer_ids(note: dict[str, Any]) -> None:
    del note["records"]["ids"][0], note["records"]["owners"][0]


@pytest.mark.parametrize(
    "change",
    [
        without_records, with_a_number_as_id, with_fewer_owners, of_another_page, with_a_problem,
        *(
            pytest.param(change, marks=pytest.mark.thorough)
            for change in (
                with_a_wrong_position, with_a_text_as_number, with_unknown_facts, with_fewer_ids, without_unnamed_items,
                with_a_wrong_count_of_forgotten_records, without_count, with_amounts_for_owners,
            )
        ),
    ],
)  # fmt: skip
async def test_forged_notes_are_not_used(counting_of: MakeCounting, change: Callable[[dict[str, Any]], None]) -> None:
    async with DemoService(blog_of_pages(), SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        path = kept_comments(crawl.root)
        head, *notes, _ = path.read_bytes().splitlines(keepends=True)
        forged = [lossless_json.loads(note) for note in notes]
        for line in forged:
            change(line["journal"])
        text = head + b"".join(lossless_json.dumps(line) + b"\n" for line in forged)
        path.write_bytes(text + hashlib.sha256(text).hexdigest().encode() + b"\n")
        ran = await crawl.run()
        assert (ran.outcome.outcome, crawl.counting.parsed) == ("unchanged", 4)


async def test_a_forged_note_about_an_unusable_answer_hides_no_problem(counting_of: MakeCounting) -> None:
    async def answer_nonsense(request: web.Request) -> web.StreamResponse | None:
        is_first = request.path == COMMENTS and request.query["page"] == "1"
        return web.Response(body=b"[]", content_type="application/json") if is_first else None

    async with DemoService(blog_of_pages(), SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        path = kept_comments(crawl.root)
        head, note, *_ = path.read_bytes().splitlines(keepends=True)
        forged = lossless_json.loads(note)
        forged["journal"]["answer"] = hashlib.sha256(b"[]").hexdigest()
        forged["journal"]["records"]["ids"][0] = "none"
        text = head + lossless_json.dumps(forged) + b"\n"
        path.write_bytes(text + hashlib.sha256(text).hexdigest().encode() + b"\n")
        service.before = answer_nonsense
        ran = await crawl.run()
        assert (ran.outcome.outcome, ran.code) == ("partial", 3)
        assert "comments None: comment list, page 1: could not be read" in ran.reasons


async def test_notes_older_than_the_archive_are_not_used(counting_of: MakeCounting) -> None:
    blog = blog_of_pages()
    async with DemoService(blog, SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        path = kept_comments(crawl.root)
        first = path.read_bytes()
        change_comment(blog, 5)
        await crawl.run()
        path.write_bytes(first)
        blog.comments[5] = blog_of_pages().comments[5]
        await crawl.run()
        assert crawl.counting.parsed == 1, "the page whose records the archive has in another state"
        assert folded(crawl.root) == held(blog)


async def test_another_setting_of_the_service_reads_every_page(counting_of: MakeCounting) -> None:
    async with DemoService(blog_of_pages(), SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        await crawl.run(max_pages=500)
        assert crawl.counting.parsed == PAGES


async def test_a_list_with_a_damaged_record_is_parsed(counting_of: MakeCounting) -> None:
    blog = blog_of_pages()
    async with DemoService(blog, SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        lines = crawl.root / "versions/000001/comments.jsonl"
        text = lines.read_bytes()
        lines.chmod(0o600)
        lines.write_bytes(text.replace(b'"cm_text":"', b'"cm_text":"x', 1))
        ran = await crawl.run()
        assert crawl.counting.parsed == 2 * 4, "the comment list alone, in both sweeps"
        assert ran.outcome.healed
        assert folded(crawl.root) == held(blog)


async def test_a_record_that_no_page_has_any_more_is_removed(counting_of: MakeCounting) -> None:
    blog = blog_of_pages()
    async with DemoService(blog, SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        drop_comment(blog, 16)
        ran = await crawl.run(accept_removals=True)
        # Each page of comments states their number, and an entry on the entry list states its own.
        assert (crawl.counting.parsed, ran.outcome.counts["comments"].gone) == (4 + 1, 1)
        again = await crawl.run()
        assert (again.outcome.outcome, crawl.counting.parsed) == ("unchanged", 0)
        assert folded(crawl.root) == held(blog)


async def test_an_interrupted_run_keeps_its_pages_when_it_resumes(counting_of: MakeCounting) -> None:
    async with DemoService(blog_of_pages(), SMALL_PAGES) as service:
        crawl = counting_of(service)

        def stop(run: BackupRun, event: Event) -> None:
            if isinstance(event, PageRead) and event.sweep == 2 and event.page == 2:
                run.stop(Interrupted("stop"))

        stopped = await crawl.run(stop)
        assert stopped.error is not None
        ran = await crawl.run()
        assert (ran.outcome.outcome, ran.outcome.resumed_from is None) == ("saved", False)
        unchanged = await crawl.run()
        assert (unchanged.outcome.outcome, crawl.counting.parsed) == ("unchanged", 0)


async def test_short_lists_are_not_kept(counting_of: MakeCounting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_pages, "_FEWEST_PAGES", 4)
    async with DemoService(blog_of_pages(), SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run()
        assert [path.name for path in kept(crawl.root)] == ["pages-comments.jsonl"]
        await crawl.run()
        assert crawl.counting.parsed == 3 + 3


async def test_a_rehearsal_keeps_nothing(counting_of: MakeCounting) -> None:
    async with DemoService(blog_of_pages(), SMALL_PAGES) as service:
        crawl = counting_of(service)
        await crawl.run(dry_run=True)
        assert not crawl.root.exists()
        await crawl.run()
        before = {path: path.read_bytes() for path in kept(crawl.root)}
        await crawl.run(dry_run=True)
        assert crawl.counting.parsed == 0
        assert {path: path.read_bytes() for path in kept(crawl.root)} == before
