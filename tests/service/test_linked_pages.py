"""Lists whose pages name the next one end for any pages, and say where they were cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exporter.service.atompub.linked_pages import MAX_BARREN_PAGES, MAX_CURSOR_CHARACTERS, LinkedPages
from exporter.service.interface import Call, Page, PageFacts


def never(_: str) -> Call[Page]:
    raise AssertionError("a page was requested")


def read(pages: LinkedPages, answers: Iterator[tuple[int, int, str, str | None]]) -> list[str]:
    """Answer each wanted page with its count, its new records, its digest and its next page."""
    read: list[str] = []
    while not pages.finished:
        (cursor,) = pages.wanted(5)
        assert pages.wanted(5) == []
        read.append(str(cursor))
        count, new, digest, following = next(answers)
        pages.accept(PageFacts(cursor, count, new, digest, next=following))
    return read


def test_the_lists_are_read_one_after_the_other() -> None:
    pages = LinkedPages("list", never)
    answers = iter([(0, 0, "", "/a /b"), (7, 7, "1", "/a?2 /b"), (3, 3, "2", "/b"), (1, 1, "3", None)])
    assert read(pages, answers) == ["", "/a /b", "/a?2 /b", "/b"]
    assert pages.complete


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([(7, 7, "1", "/a?2"), (7, 0, "1", "/a?3")], "same records as the page before"),
        ([(7, 7, "1", "/a?2"), (7, 7, "2", "/a?2")], "already read"),
        ([(7, 7, "1", "/a")], "already read"),
        ([(7, 7, "1", "/" + "a" * MAX_CURSOR_CHARACTERS)], "too long"),
        ([(0, 0, f"{n}", f"/a?{n}") for n in range(1, 100)], f"{MAX_BARREN_PAGES} pages that brought nothing new"),
        ([(1, 1, f"{n}", f"/a?{n}") for n in range(1, 100)], "no more pages are read"),
    ],
)
def test_a_list_that_leads_on_and_on_is_cut(answers: list[tuple[int, int, str, str | None]], problem: str) -> None:
    pages = LinkedPages("list", never, max_pages=80)
    read(pages, iter([(0, 0, "", "/a"), *answers]))
    assert not pages.complete
    assert problem in pages.problems[0]
    assert len(pages.problems) == 1


@pytest.mark.parametrize(("count", "following", "cut"), [(20, None, True), (19, None, False), (20, "/b", True)])
def test_a_full_page_at_the_end_may_be_cut(count: int, following: str | None, cut: bool) -> None:
    pages = LinkedPages("list", never, limit=20)
    read(pages, iter([(0, 0, "", "/a /b" if following else "/a"), (count, count, "1", following), (1, 1, "2", None)]))
    assert pages.complete is not cut
    assert len(pages.problems) == cut


def test_the_lists_after_one_that_fails_are_read() -> None:
    pages = LinkedPages("list", never)
    pages.wanted(0)
    pages.accept(PageFacts("", 0, 0, "", next="/a /b"))
    (cursor,) = pages.wanted(0)
    pages.accept_failure(cursor, "it broke", missing=True)
    assert pages.wanted(0) == ["/b"]
    pages.accept(PageFacts("/b", 1, 1, "1"))
    assert pages.finished
    assert pages.problems == ["list, page 2: could not be read: it broke; run again"]


def test_nothing_is_read_after_a_service_document_that_fails() -> None:
    pages = LinkedPages("list", never)
    (cursor,) = pages.wanted(0)
    pages.accept_failure(cursor, "it broke", missing=False)
    assert pages.finished
    assert not pages.complete
