"""Pages of lists kept from run to run: what answers as before is not parsed again, and nothing else comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter.crawl.events import PageRead
from exporter.demo.content import Blog, fields
from exporter.demo.service import DemoService, ServiceOptions
from exporter.model.exchange import Response
from exporter.service.blog_v1 import BlogV1
from exporter.service.interface import Call, Cursor, Page, Paginator
from tests.crawl.conftest import Crawl, MakeCrawl
from tests.support.generated import generated_blog
from tests.support.runs import folded, held

KEPT = ".work/pages.jsonl"


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


def keep_comments_back(blog: Blog, at: int) -> None:
    key = list(blog.entries)[at % len(blog.entries)]
    blog.list_items[key] = {"entry_id": str(key), "comment_count": str(50 + at)}


def leave(_blog: Blog, _at: int) -> None:
    """Change nothing."""


changes = st.lists(
    st.tuples(
        st.sampled_from(
            [leave, change_comment, add_comment, drop_comment, keep_comments_back, drop_file, retitle, drop_entry]
        ),
        st.integers(0, 99),
    ),
    max_size=4,
)


async def history(root: Path, steps: list[tuple[Callable[[Blog, int], None], int]], *, kept: bool) -> list[Any]:
    """Back a blog up after each change of it, with or without what the run before kept."""
    blog = generated_blog(21, 42, 21)
    found: list[Any] = []
    async with DemoService(blog, ServiceOptions()) as service:
        crawl = Crawl(root, service)
        for change, at in [(leave, 0), *steps]:
            change(blog, at)
            if not kept:
                root.joinpath(KEPT).unlink(missing_ok=True)
            ran = await crawl.run(refresh="changed", accept_removals=True)
            done = ran.outcome
            said = [each for each in ran.events if isinstance(each, PageRead)]
            found += [
                done.outcome,
                done.counts,
                done.completeness,
                done.problems,
                done.requests,
                len(said),
                crawl.lists,
            ]
    return [*found, folded(root)]


@pytest.mark.no_cover
@settings(max_examples=10)
@given(changes)
@example([(keep_comments_back, 2), (leave, 0), (change_comment, 5), (leave, 0)])
def test_nothing_else_comes_out(steps: list[tuple[Callable[[Blog, int], None], int]]) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        with_kept = asyncio.run(history(Path(one, "archive"), deepcopy(steps), kept=True))
        without = asyncio.run(history(Path(other, "archive"), steps, kept=False))
    assert with_kept == without


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

    def made(self, _service: Any, *given: Any) -> Any:
        self.counting = Counting()
        return super().made(self.counting, *given)


@pytest.fixture
def counting_of(tmp_path: Path) -> Callable[[DemoService], CountingCrawl]:
    return lambda service: CountingCrawl(tmp_path / "archive", service)


MakeCounting = Callable[[DemoService], CountingCrawl]


async def test_pages_that_answer_as_in_the_run_before_are_not_parsed(counting_of: MakeCounting) -> None:
    blog = generated_blog(45, 62, 41)
    async with DemoService(blog) as service:
        crawl = counting_of(service)
        await crawl.run()
        assert crawl.counting.parsed == 3 + 4 + 3
        kept = (crawl.root / KEPT).stat().st_mtime_ns
        ran = await crawl.run()
        assert (ran.outcome.outcome, crawl.counting.parsed, crawl.lists) == ("unchanged", 0, 2 * (3 + 4 + 3))
        assert (crawl.root / KEPT).stat().st_mtime_ns == kept, "what holds still is not written again"
        change_comment(blog, 5)
        await crawl.run()
        assert crawl.counting.parsed == 1
        await crawl.run()
        assert crawl.counting.parsed == 0
        assert folded(crawl.root) == held(blog)


def cut(text: bytes) -> bytes:
    return text[:-70]


def bend(text: bytes) -> bytes:
    return text.replace(b'"10"', b'"11"', 1)


def empty(_text: bytes) -> bytes:
    return b""


def nonsense(text: bytes) -> bytes:
    return text.split(b"\n", 1)[0] + b'\n{"comments":{"records":62,"bodies":"00","lengths":[-5,1e9]}}\n"x"\n'


def older(text: bytes) -> bytes:
    return text.replace(b'"program":"', b'"program":"0.', 1)


@pytest.mark.parametrize("damage", [cut, bend, empty, nonsense, older])
async def test_what_was_kept_counts_as_a_whole_or_not_at_all(
    counting_of: MakeCounting, damage: Callable[[bytes], bytes]
) -> None:
    async with DemoService(generated_blog(45, 62, 41)) as service:
        crawl = counting_of(service)
        await crawl.run()
        text = (crawl.root / KEPT).read_bytes()
        assert damage(text) != text
        (crawl.root / KEPT).write_bytes(damage(text))
        ran = await crawl.run()
        assert (ran.outcome.outcome, crawl.counting.parsed) == ("unchanged", 3 + 4 + 3)


async def test_pages_of_another_version_are_not_those_of_this_one(counting_of: MakeCounting) -> None:
    blog = generated_blog(45, 62, 41)
    async with DemoService(blog) as service:
        crawl = counting_of(service)
        await crawl.run()
        first = (crawl.root / KEPT).read_bytes()
        change_comment(blog, 5)
        await crawl.run()
        (crawl.root / KEPT).write_bytes(first)
        blog.comments[5] = generated_blog(45, 62, 41).comments[5]
        await crawl.run()
        assert crawl.counting.parsed == 3 + 4 + 3
        assert folded(crawl.root) == held(blog)


async def test_a_list_with_a_damaged_record_is_parsed(counting_of: MakeCounting) -> None:
    blog = generated_blog(45, 62, 41)
    async with DemoService(blog) as service:
        crawl = counting_of(service)
        await crawl.run()
        lines = crawl.root / "versions/000001/comments.jsonl"
        text = lines.read_bytes()
        lines.chmod(0o600)
        lines.write_bytes(text.replace(b'"cm_text":"', b'"cm_text":"x', 1))
        ran = await crawl.run()
        assert crawl.counting.parsed == 4, "the comment list alone"
        assert ran.outcome.healed
        assert folded(crawl.root) == held(blog)


async def test_an_archive_with_more_records_than_the_list_is_read_anew(counting_of: MakeCounting) -> None:
    blog = generated_blog(45, 62, 41)
    async with DemoService(blog) as service:
        crawl = counting_of(service)
        await crawl.run()
        del blog.comments[3]
        await crawl.run(accept_removals=True)
        removed = await crawl.run()
        assert removed.outcome.outcome == "unchanged"
        assert crawl.counting.parsed == 0
        assert folded(crawl.root) == held(blog)


async def test_a_page_that_moved_or_failed_in_between(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(45, 62, 41)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        add_comment(blog, 1)
        blog.comments.insert(0, blog.comments.pop())
        await crawl.run()
        assert folded(crawl.root) == held(blog)
