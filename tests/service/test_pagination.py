from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.exchange import Response
from exporter.model.kinds import Kind
from exporter.service.blog_v1 import DEFAULT, BlogV1, Options
from exporter.service.interface import PageFacts, Paginator

SMALL = Options(max_pages=40)
BLOG = "sample.blog.example"


def entry_pages(assume: Options) -> Paginator:
    return BlogV1(assume).pages(Kind.ENTRY_LIST, BLOG, ())


def comment_pages(assume: Options) -> Paginator:
    return BlogV1(assume).pages(Kind.COMMENTS, BLOG, ())


def file_pages(assume: Options) -> Paginator:
    return BlogV1(assume).pages(Kind.FILES, BLOG, ())


Answer = PageFacts | tuple[str, bool]


def chain(page: int, last: int | None, **changes: Any) -> PageFacts:
    """The facts of a full page in a list of ``last`` pages."""
    following = page + 1 if last is not None and page < last else None
    facts: dict[str, Any] = {
        "cursor": page,
        "echo": page,
        "next": following,
        "pages": last,
        "count": 20,
        "new": 20,
        "digest": f"page {page}",
    }
    return PageFacts(**{**facts, **changes})


def files(page: int, filenum: int | None, count: int = 20, **changes: Any) -> PageFacts:
    facts: dict[str, Any] = {
        "cursor": page,
        "echo": page,
        "count": count,
        "new": count,
        "digest": f"page {page}",
        "page_size": 20,
        "total": filenum,
    }
    return PageFacts(**{**facts, **changes})


def read_through(listing: Paginator, answer: Callable[[int], Answer], window: int = 4, bound: int = 500) -> list[int]:
    """Drive a paginator as the crawl does; return the requested pages."""
    asked: list[int] = []
    queue: list[int] = []
    for _ in range(bound):
        if listing.finished:
            return asked
        wanted = [int(cursor) for cursor in listing.wanted(window)]
        asked += wanted
        queue += wanted
        page = queue.pop(0)
        said = answer(page)
        if isinstance(said, PageFacts):
            listing.accept(said)
        else:
            listing.accept_failure(page, said[0], missing=said[1])
    raise AssertionError(f"the list did not end within {bound} pages")


def of(*answers: Answer, then: Answer | None = None) -> Callable[[int], Answer]:
    """Answer page n with the n-th element, and later pages with ``then`` or not at all."""

    def answer(page: int) -> Answer:
        if page <= len(answers):
            return answers[page - 1]
        assert then is not None, f"page {page} must not be requested"
        return then

    return answer


MISSING = ("answered 404", True)
BROKEN = ("answered 500", False)


# Requests


def test_page_1_is_asked_for_alone_and_only_once() -> None:
    listing = entry_pages(DEFAULT)
    assert listing.wanted(8) == [1]
    assert listing.wanted(8) == []


def test_pages_ahead_are_asked_for_once_their_number_is_known() -> None:
    listing = entry_pages(DEFAULT)
    listing.wanted(3)
    listing.accept(chain(1, 10))
    assert listing.wanted(3) == [2, 3, 4, 5]
    assert listing.wanted(3) == []
    listing.accept(chain(2, 10))
    assert listing.wanted(3) == [6]
    listing.accept(chain(3, 10))
    assert listing.wanted(100) == [7, 8, 9, 10]


@pytest.mark.parametrize("window", [0, -3])
def test_without_a_window_pages_come_one_by_one(window: int) -> None:
    listing = entry_pages(DEFAULT)
    assert listing.wanted(window) == [1]
    listing.accept(chain(1, 10))
    assert listing.wanted(window) == [2]


def test_a_finished_list_requests_and_accepts_nothing_more() -> None:
    listing = comment_pages(DEFAULT)
    listing.wanted(8)
    listing.accept(chain(1, 1))
    listing.accept(chain(2, 9, next=1))
    listing.accept_failure(3, "late", missing=False)
    assert listing.wanted(8) == []
    assert listing.complete
    assert listing.problems == []


# Chains


@pytest.mark.parametrize("pages", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("window", [0, 1, 8])
def test_a_good_list_is_read_page_by_page_and_no_further(pages: int, window: int) -> None:
    listing = entry_pages(SMALL)
    asked = read_through(listing, lambda page: chain(page, pages), window)
    assert asked == list(range(1, pages + 1))
    assert listing.complete


def test_an_empty_list_is_complete() -> None:
    for last in (0, 1, None):
        listing = entry_pages(DEFAULT)
        read_through(listing, of(chain(1, last, count=0, new=0)))
        assert listing.complete


def test_without_a_number_of_pages_the_chain_is_followed() -> None:
    listing = entry_pages(DEFAULT)
    asked = read_through(listing, of(chain(1, None, next=2), chain(2, None, next=3), chain(3, None)))
    assert asked == [1, 2, 3]
    assert listing.complete


def test_a_blog_that_grows_while_read_is_read_to_its_new_end() -> None:
    listing = entry_pages(DEFAULT)
    asked = read_through(listing, of(chain(1, 2), chain(2, 3, new=19), chain(3, 3, count=1, new=1)))
    assert asked == [1, 2, 3]
    assert listing.complete


def test_a_blog_that_shrinks_while_read_ends_early() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, 3), chain(2, 2), then=MISSING))
    assert listing.complete


@pytest.mark.parametrize(
    "past", [chain(3, 2, echo=2), chain(3, 2, count=0, new=0, digest=""), chain(3, 2, digest="page 2"), MISSING]
)
def test_any_answer_past_the_end_is_the_end(past: Answer) -> None:
    listing = entry_pages(DEFAULT)
    asked = read_through(listing, of(chain(1, 2), chain(2, 2, next=3), past))
    assert asked == [1, 2, 3]
    assert listing.complete


def test_an_error_past_the_end_is_a_problem() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, 1, next=2), BROKEN))
    assert listing.finished
    assert listing.problems == ["entry list, page 2: could not be read: answered 500; run again"]


def test_a_last_page_that_is_empty_loses_nothing() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, 2), chain(2, 2, count=0, new=0)))
    assert listing.complete


def test_a_page_in_the_middle_that_is_empty_is_a_problem() -> None:
    listing = entry_pages(DEFAULT)
    asked = read_through(listing, of(chain(1, 5), chain(2, 5, count=0, new=0), *(chain(page, 5) for page in (3, 4, 5))))
    assert asked == [1, 2, 3, 4, 5]
    assert not listing.complete
    assert "page 2: is empty although the list has 5 pages" in listing.problems[0]


def test_a_page_in_the_middle_that_is_shorter_than_another_is_doubted() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, 3), chain(2, 3, count=7), chain(3, 3, count=5)))
    assert listing.complete
    (doubt,) = listing.doubts
    assert "page 2: holds 7 items, and another page holds 20" in doubt


def test_an_empty_first_page_that_names_a_next_is_a_problem() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, None, count=0, new=0, next=2)))
    assert listing.problems == ["entry list, page 1: is empty although page 2 is said to follow; run again"]


@pytest.mark.parametrize(
    ("made", "setting"), [(entry_pages, "entry_list_page_param"), (comment_pages, "comment_list_page_param")]
)
@pytest.mark.parametrize("echo", [1, 0, 7, -1])
def test_a_list_that_ignores_its_page_parameter_ends_at_once_and_names_the_setting(
    made: Callable[[Options], Paginator], setting: str, echo: int
) -> None:
    listing = made(DEFAULT)
    asked = read_through(listing, lambda page: chain(page, 15, echo=1 if page == 1 else echo, next=2))
    assert asked[0] == 1
    assert len(asked) <= 6
    assert not listing.complete
    assert setting in listing.problems[0]


def test_a_list_of_one_page_may_have_any_page_number() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, 1, echo=0)))
    assert listing.complete


def test_the_same_page_again_without_an_echo_names_the_setting() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, lambda page: chain(page, 15, echo=None, digest="same", new=20 if page == 1 else 0))
    assert "entry_list_page_param" in listing.problems[0]
    assert "page 2" in listing.problems[0]


def test_a_chain_that_ends_before_the_last_page_continues_with_a_problem() -> None:
    listing = entry_pages(DEFAULT)
    asked = read_through(listing, lambda page: chain(page, 4, next=None))
    assert asked == [1, 2, 3, 4]
    assert not listing.complete
    assert all("holds items although an earlier page said no page follows" in problem for problem in listing.problems)


@pytest.mark.parametrize("after", [MISSING, chain(2, 4, count=0, new=0)])
def test_a_chain_that_correctly_ends_early_is_complete(after: Answer) -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, 4, next=None), then=after))
    assert listing.complete


@pytest.mark.parametrize("back", [2, 1, 0, -7])
def test_a_chain_that_goes_back_or_repeats_ends_the_pages(back: int) -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, None, next=2), chain(2, None, next=back)))
    assert not listing.complete
    assert f"says page {back} follows, which goes back" in listing.problems[0]


def test_a_chain_that_skips_is_followed_if_the_number_of_pages_is_unknown() -> None:
    listing = entry_pages(DEFAULT)
    assert read_through(listing, of(chain(1, None, next=3), BROKEN, chain(3, None))) == [1, 3]
    assert "skips pages" in listing.problems[0]


def test_a_chain_that_skips_is_not_followed_if_the_number_of_pages_is_known() -> None:
    listing = entry_pages(DEFAULT)
    assert read_through(listing, of(chain(1, 3, next=3), chain(2, 3), chain(3, 3))) == [1, 2, 3]
    assert len(listing.problems) == 1


def test_a_page_that_cannot_be_read_is_a_problem_and_the_next_is_read() -> None:
    for failure in (BROKEN, MISSING):
        listing = entry_pages(DEFAULT)
        asked = read_through(listing, of(chain(1, 4), failure, chain(3, 4), chain(4, 4)))
        assert asked == [1, 2, 3, 4]
        assert listing.problems == [f"entry list, page 2: could not be read: {failure[0]}; run again"]


@pytest.mark.parametrize("failure", [BROKEN, MISSING])
def test_a_first_page_that_cannot_be_read_ends_the_pages(failure: tuple[str, bool]) -> None:
    for listing in (entry_pages(DEFAULT), file_pages(DEFAULT)):
        read_through(listing, of(failure))
        assert not listing.complete
        assert len(listing.problems) == 1


def test_a_last_page_that_cannot_be_read_ends_the_pages() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(chain(1, 2), MISSING))
    assert len(listing.problems) == 1


def test_a_page_left_out_by_the_caller_is_a_problem() -> None:
    listing = entry_pages(DEFAULT)
    listing.accept(chain(1, 3))
    listing.accept(chain(3, 3))
    assert listing.finished
    assert listing.problems == ["entry list, page 2: was left out; run again"]


def test_a_page_accepted_before_is_ignored() -> None:
    listing = entry_pages(DEFAULT)
    listing.accept(chain(1, 3))
    listing.accept(chain(1, 3, next=1))
    assert listing.wanted(0) == [2]
    assert listing.problems == []


# No paging object


def bare(page: int, count: int) -> PageFacts:
    return chain(page, None, echo=None, count=count, new=count)


@pytest.mark.parametrize("count", [0, 7, 19])
def test_a_comment_list_without_paging_is_complete_when_its_page_is_short(count: int) -> None:
    listing = comment_pages(DEFAULT)
    assert read_through(listing, of(bare(1, count))) == [1]
    assert listing.complete


@pytest.mark.parametrize("pages", [entry_pages, comment_pages])
@pytest.mark.parametrize("after", [MISSING, bare(3, 0)])
def test_without_paging_pages_are_tried_until_none_follows(
    pages: Callable[[Options], Paginator], after: Answer
) -> None:
    listing = pages(DEFAULT)
    assert read_through(listing, of(bare(1, 20), bare(2, 20), after)) == [1, 2, 3]
    assert listing.complete
    assert "page 1: has no paging object" in listing.doubts[0]
    assert len(listing.doubts) >= 2


def test_a_page_that_was_only_tried_and_fails_is_a_problem() -> None:
    listing = entry_pages(DEFAULT)
    read_through(listing, of(bare(1, 3), BROKEN))
    assert "page 2: could not be read" in listing.problems[0]


def test_the_same_page_again_without_paging_is_a_problem() -> None:
    listing = entry_pages(DEFAULT)
    assert read_through(listing, of(bare(1, 3), replace(bare(2, 3), digest="page 1"))) == [1, 2]
    assert "entry_list_page_param" in listing.problems[0]


@pytest.mark.parametrize("number", [0, "0"])
def test_a_next_page_of_0_is_none(number: object) -> None:
    call = entry_pages(DEFAULT).call(1)
    paging = {"page_no": 1, "next_no": number, "all_page": 1}
    body = json.dumps({"json": {"result": "ok", "message": "", "data": {"list": [], "paging": paging}}}).encode()
    assert call.parse(Response(200, {}, body)).next is None


def test_paging_that_disappears_later_does_not_end_a_list_of_known_length() -> None:
    listing = entry_pages(DEFAULT)
    assert read_through(listing, of(chain(1, 3), bare(2, 20), chain(3, 3))) == [1, 2, 3]


# Absurd numbers


def test_an_absurd_number_of_pages_ends_at_the_first_empty_page() -> None:
    listing = entry_pages(DEFAULT)
    asked = read_through(listing, lambda page: chain(page, 10**9, **({"count": 0, "new": 0} if page > 3 else {})))
    assert len(asked) <= 8
    assert not listing.complete


def test_an_absurd_number_of_pages_ends_when_nothing_new_comes() -> None:
    listing = entry_pages(DEFAULT)
    asked = read_through(listing, lambda page: chain(page, 10**9, new=20 if page == 1 else 0))
    assert len(asked) <= 8
    assert "3 pages in a row brought nothing new" in listing.problems[0]


def test_an_absurd_number_of_pages_ends_when_none_can_be_read() -> None:
    listing = entry_pages(DEFAULT)
    asked = read_through(listing, of(chain(1, 10**9), then=MISSING))
    assert len(asked) <= 8
    assert not listing.complete


def test_a_list_that_never_ends_ends_at_the_most_pages() -> None:
    listing = entry_pages(SMALL)
    asked = read_through(listing, lambda page: chain(page, page + 1))
    assert len(asked) == 40
    assert "goes on after page 40" in listing.problems[-1]
    assert "max_pages" in listing.problems[-1]


@pytest.mark.parametrize(
    ("pages", "answer", "read", "said"),
    [
        (entry_pages, lambda page: chain(page, 299 + page), 700, "page 700: is not the last one, although the list said it has 300 pages"),
        (comment_pages, lambda page: chain(page, 1, next=page + 1), 500, "although the list said it has 1 pages"),
        (entry_pages, lambda page: chain(page, None, next=page + 1), 1000, "page 1000: is not the last one, and no page says"),
        (file_pages, lambda page: files(page, 5980 + 20 * page), 700, "page 700: is not the last one, although the list said it has 300 pages"),
        (file_pages, lambda page: files(page, None), 1000, "page 1000: is not the last one, and no page says"),
    ],
)  # fmt: skip
def test_a_list_with_new_records_for_ever_ends_by_what_it_stated(
    pages: Callable[[Options], Paginator], answer: Callable[[int], PageFacts], read: int, said: str
) -> None:
    listing = pages(DEFAULT)
    assert read <= len(read_through(listing, answer, bound=2000)) <= read + 4
    assert said in listing.problems[-1]
    assert not listing.complete


def test_an_owner_who_knows_that_the_lists_are_long_has_them_read() -> None:
    listing = entry_pages(Options(max_pages=200_000))
    asked = read_through(listing, lambda page: chain(page, 1, next=page + 1 if page < 1200 else None), bound=3000)
    assert len(asked) == 1200


@pytest.mark.parametrize("stated", [1, None])
def test_such_a_list_is_read_beyond_the_usual_number_of_pages(stated: int | None) -> None:
    listing = comment_pages(Options(max_pages=100_003))
    asked = read_through(listing, lambda page: chain(page, stated, next=page + 1), bound=200_000)
    assert len(asked) == 100_003
    assert "goes on after page 100003" in listing.problems[-1]


def test_a_negative_number_of_pages_is_a_problem_and_the_chain_is_followed() -> None:
    listing = entry_pages(DEFAULT)
    assert read_through(listing, of(chain(1, -5, next=2), chain(2, 2))) == [1, 2]
    assert listing.problems == ["entry list, page 1: says the list has -5 pages; run again"]


# Files


@pytest.mark.parametrize(("filenum", "pages"), [(0, 1), (1, 1), (19, 1), (20, 1), (21, 2), (40, 2), (131, 7)])
@pytest.mark.parametrize("window", [0, 8])
def test_files_are_read_until_their_number_is_reached(filenum: int, pages: int, window: int) -> None:
    listing = file_pages(DEFAULT)
    asked = read_through(listing, lambda page: files(page, filenum, max(0, min(20, filenum - 20 * (page - 1)))), window)
    assert asked == list(range(1, pages + 1))
    assert listing.complete


def test_file_pages_ahead_are_asked_for_once_their_number_is_known() -> None:
    listing = file_pages(DEFAULT)
    listing.wanted(8)
    listing.accept(files(1, 131))
    assert listing.wanted(3) == [2, 3, 4, 5]


@pytest.mark.parametrize(
    "past", [files(3, 50, 0, digest=""), files(3, 50, new=0), files(3, 50, new=0, digest="page 2"), MISSING]
)
def test_fewer_files_than_promised_are_a_problem(past: Answer) -> None:
    listing = file_pages(DEFAULT)
    read_through(listing, of(files(1, 50), files(2, 50), past, then=MISSING))
    assert listing.finished
    assert any("40 of 50 files" in problem or "could not be read" in problem for problem in listing.problems)


@pytest.mark.parametrize("past", [files(3, None, 0, digest=""), files(3, None, new=0), MISSING, files(3, None, 5)])
def test_without_a_number_the_files_end_when_nothing_new_comes(past: Answer) -> None:
    listing = file_pages(DEFAULT)
    assert read_through(listing, of(files(1, None), files(2, None), past)) == [1, 2, 3]
    assert listing.complete


@pytest.mark.parametrize("changes", [{"echo": 1}, {"digest": "page 1", "echo": None}])
def test_a_file_list_that_ignores_its_page_parameter_names_the_setting(changes: dict[str, Any]) -> None:
    for filenum in (131, None):
        listing = file_pages(DEFAULT)
        read_through(listing, of(files(1, filenum), then=files(2, filenum, new=0, **changes)))
        assert "file_list_page_param" in listing.problems[0]
        assert len(listing.problems) == (1 if filenum is None else 2)


def test_a_repeated_page_past_the_end_is_only_the_end() -> None:
    listing = file_pages(DEFAULT)
    read_through(listing, of(files(1, 25), files(2, 25, 4), files(3, 25, new=0, echo=2)))
    assert listing.problems == ["file list, page 3: the list ends after 24 of 25 files; run again"]


def test_pages_smaller_than_declared_are_all_read() -> None:
    listing = file_pages(DEFAULT)
    assert read_through(listing, lambda page: files(page, 30, 10)) == [1, 2, 3]
    assert listing.complete


def test_the_pages_own_limit_takes_precedence() -> None:
    listing = file_pages(DEFAULT)
    listing.wanted(0)
    listing.accept(files(1, 100, 50, page_size=50))
    assert listing.wanted(8) == [2]
    odd = file_pages(DEFAULT)
    odd.wanted(0)
    odd.accept(files(1, 100, page_size=0))
    assert odd.wanted(8) == [2, 3, 4, 5]


def test_a_file_page_that_cannot_be_read_is_a_problem_and_the_next_is_read() -> None:
    listing = file_pages(DEFAULT)
    asked = read_through(listing, of(files(1, 60), BROKEN, files(3, 60), then=MISSING))
    assert asked == [1, 2, 3, 4]
    assert listing.problems == [
        "file list, page 2: could not be read: answered 500; run again",
        "file list, page 4: the list ends after 40 of 60 files; run again",
    ]


def test_a_finished_file_list_accepts_nothing_more() -> None:
    listing = file_pages(DEFAULT)
    listing.accept(files(1, 20))
    listing.accept(files(2, 99))
    listing.accept_failure(3, "late", missing=False)
    assert listing.wanted(8) == []
    assert listing.complete


def test_a_negative_or_changing_number_of_files() -> None:
    listing = file_pages(DEFAULT)
    assert read_through(listing, of(files(1, -1), files(2, 30, 10))) == [1, 2]
    assert listing.complete


def test_an_absurd_number_of_files_ends() -> None:
    listing = file_pages(DEFAULT)
    assert len(read_through(listing, of(files(1, 10**12), then=MISSING))) <= 8
    assert not listing.complete


def test_files_without_end_end_at_the_most_pages() -> None:
    listing = file_pages(SMALL)
    assert len(read_through(listing, lambda page: files(page, 10**9))) == 40
    assert "max_pages" in listing.problems[0]


def sized(
    page: int, filenum: int | None, count: int, new_bytes: int | None, totalsize: int | None, **more: Any
) -> PageFacts:
    """The facts of a page of files whose records say their sizes."""
    return files(page, filenum, count, new_size=new_bytes, total_size=totalsize, **more)


@pytest.mark.parametrize("window", [0, 8])
@pytest.mark.parametrize("count", [5, 19])
def test_a_number_of_files_too_low_for_their_size_does_not_end_the_list(window: int, count: int) -> None:
    """The count says 20 files, but the total size is that of 25: the size wins, and a short page ends the list."""
    listing = file_pages(DEFAULT)
    size = 20 + count
    asked = read_through(
        listing, of(sized(1, 20, 20, 2000, 100 * size), sized(2, 20, count, 100 * count, 100 * size)), window
    )
    assert asked == [1, 2]
    assert listing.complete


def test_a_full_page_that_brings_the_missing_bytes_ends_the_list() -> None:
    listing = file_pages(DEFAULT)
    assert read_through(listing, of(sized(1, 20, 20, 2000, 4000), sized(2, 20, 20, 2000, 4000))) == [1, 2]
    assert listing.complete


def test_full_pages_are_read_while_bytes_are_missing() -> None:
    listing = file_pages(DEFAULT)
    asked = read_through(listing, lambda page: sized(page, 20, 20 if page < 4 else 3, 2000 if page < 4 else 300, 6300))
    assert asked == [1, 2, 3, 4]
    assert listing.complete


@pytest.mark.parametrize(
    "past",
    [sized(2, 20, 0, 0, 2500, digest=""), sized(2, 20, 20, 0, 2500, new=0), MISSING,
     sized(2, 20, 20, 0, 2500, new=0, digest="page 1"), sized(2, 20, 20, 0, 2500, new=0, echo=1)],
)  # fmt: skip
def test_missing_bytes_end_the_list_when_nothing_new_comes(past: Answer) -> None:
    """All counted files were seen; the caller that adds up the sizes reports the difference."""
    listing = file_pages(DEFAULT)
    assert read_through(listing, of(sized(1, 20, 20, 2000, 2500), past)) == [1, 2]
    assert listing.complete


def test_a_short_last_page_ends_the_list_despite_missing_bytes() -> None:
    listing = file_pages(DEFAULT)
    assert read_through(listing, of(sized(1, 25, 20, 2000, 9000), sized(2, 25, 5, 500, 9000))) == [1, 2]
    assert listing.complete


@pytest.mark.parametrize("size", [2000, 2500, 1999])
def test_enough_bytes_end_the_list_at_its_number(size: int) -> None:
    listing = file_pages(DEFAULT)
    assert read_through(listing, of(sized(1, 20, 20, size, min(size, 2000)))) == [1]
    assert listing.complete


@pytest.mark.parametrize("first", [None, 100])
def test_a_size_that_cannot_be_read_leaves_only_the_number(first: int | None) -> None:
    listing = file_pages(DEFAULT)
    pages = [sized(1, 40, 20, first, 10**6), sized(2, 40, 20, None if first is not None else 100, 10**6)]
    assert read_through(listing, of(*pages)) == [1, 2]
    assert listing.complete


def test_sizes_without_a_total_leave_only_the_number() -> None:
    listing = file_pages(DEFAULT)
    assert read_through(listing, of(sized(1, 20, 20, 2000, None))) == [1]
    assert listing.complete


def test_bytes_without_end_end_at_the_most_pages() -> None:
    listing = file_pages(SMALL)
    assert len(read_through(listing, lambda page: sized(page, 20, 20, 1, 10**30))) == 40
    assert "max_pages" in listing.problems[0]


# Arbitrary responses


NUMBER = st.none() | st.integers(-2, 9) | st.sampled_from([10**9, 10**30, -(10**9)])


@st.composite
def any_answer(draw: st.DrawFn) -> Callable[[int], Answer]:
    kind = draw(st.sampled_from(["page", "page", "page", "page", "missing", "broken"]))
    if kind != "page":
        return lambda page: MISSING if kind == "missing" else BROKEN
    count = draw(st.integers(0, 25))
    new = draw(st.integers(0, count))
    echo, following, last, limit, filenum, totalsize = (draw(NUMBER) for _ in range(6))
    new_bytes = draw(st.none() | st.integers(0, 9))
    digest = draw(st.sampled_from(["a", "b", "c"]))
    honest = draw(st.booleans())

    def answer(page: int) -> Answer:
        echoed, after = (page, page + 1) if honest else (echo, following)
        return PageFacts(page, count, new, digest, echoed, after, last, limit, filenum, totalsize, new_bytes)

    return answer


@pytest.mark.parametrize("examples", [50, pytest.param(400, marks=pytest.mark.thorough)])
def test_every_sequence_of_answers_ends_within_a_bound(examples: int) -> None:
    @settings(max_examples=examples)
    @given(
        st.lists(any_answer(), min_size=1, max_size=8), st.integers(0, 9), st.sampled_from(["entry", "comment", "file"])
    )
    def check(answers: list[Callable[[int], Answer]], window: int, kind: str) -> None:
        makers: dict[str, Callable[[Options], Paginator]] = {
            "entry": entry_pages,
            "comment": comment_pages,
            "file": file_pages,
        }
        listing = makers[kind](SMALL)
        asked = read_through(listing, lambda page: answers[page % len(answers)](page), window, bound=41)
        assert len(set(asked)) == len(asked)
        assert asked == sorted(asked)
        assert max(asked) <= 40
        assert listing.complete is not bool(listing.problems)
        assert all("; " in problem or ": set " in problem for problem in listing.problems)

    check()


@given(st.integers(0, 30), st.integers(0, 6), st.integers(0, 9))
def test_every_consistent_list_is_complete(pages: int, per_page: int, window: int) -> None:
    total = pages * (per_page + 1)
    listing = entry_pages(DEFAULT)
    last = max(1, pages)
    size = per_page + 1 if total else 0
    asked = read_through(listing, lambda page: chain(page, last, count=size, new=size), window)
    assert asked == list(range(1, last + 1))
    assert listing.complete
