"""Lists in turn: a resumed run knows what the pages of an earlier process said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.model.exchange import Response
from exporter.model.kinds import Kind
from exporter.service.interface import Page, PageFacts
from exporter.service.wordpress.answers import page_limit, without_noise
from exporter.service.wordpress.lists import MAX_PAGES, MAX_UNSTATED_PAGES, ListsInTurn, told
from exporter.service.wordpress.source import WordPressService


def facts(cursor: str | int, page: Page, new: int | None = None) -> PageFacts:
    count = len(page.items)
    return PageFacts(cursor, count, count if new is None else new, str(cursor), next=page.next)


def answer(value: Any, total: int = 1, pages: int = 1) -> Response:
    return Response(200, {"x-wp-total": str(total), "x-wp-totalpages": str(pages)}, json.dumps(value).encode())


def test_a_resumed_run_knows_the_categories() -> None:
    first = WordPressService().pages(Kind.ENTRY_LIST, "", ())
    (cursor,) = first.wanted(4)
    page = first.call(cursor).parse(answer([{"id": 1, "name": "A", "parent": 0}, {"id": 2, "name": "B", "parent": 1}]))
    assert page.items == []
    note = json.loads(json.dumps(page.next))

    resumed = WordPressService().pages(Kind.ENTRY_LIST, "", ())
    assert resumed.wanted(4) == [cursor]
    resumed.accept(facts(cursor, Page([], next=note)))
    (cursor,) = resumed.wanted(4)
    item = resumed.call(cursor).parse(answer([{"id": 5, "type": "post", "categories": [2]}])).items[0]
    assert item["category_paths"] == {"2": ["A", "B"]}


def test_categories_in_a_circle_end() -> None:
    service = WordPressService()
    pages = service.pages(Kind.ENTRY_LIST, "", ())
    (cursor,) = pages.wanted(0)
    terms = [{"id": 1, "name": "A", "parent": 2}, {"id": 2, "name": "B", "parent": 1}]
    pages.accept(facts(cursor, pages.call(cursor).parse(answer(terms))))
    (cursor,) = pages.wanted(0)
    item = pages.call(cursor).parse(answer([{"id": 5, "categories": [1, "x", None, 9]}])).items[0]
    assert item["category_paths"] == {"1": ["B", "A"]}


def lists(*names: str) -> ListsInTurn:
    return ListsInTurn("the list", names, set(), lambda *_: None, lambda *_: [], lambda _: True)  # type: ignore[arg-type]


def test_pages_are_read_ahead_only_in_one_list() -> None:
    pages = lists("posts", "pages")
    assert pages.wanted(8) == ["posts 1"]
    pages.accept(facts("posts 1", Page([1] * 100, next=told(total=250, pages=3))))
    assert pages.wanted(8) == ["posts 2", "posts 3"]
    assert pages.wanted(8) == []
    pages.accept(facts("posts 2", Page([1] * 100, next=told(total=250, pages=3))))
    pages.accept(facts("posts 3", Page([1] * 50, next=told(total=250, pages=3))))
    assert pages.wanted(8) == ["pages 1"]
    pages.accept(facts("pages 1", Page([], next=told(total=0, pages=0))))
    assert pages.complete
    assert pages.doubts == []


def test_totals_that_contradict_are_doubts() -> None:
    pages = lists("posts")
    pages.wanted(1)
    pages.accept(facts("posts 1", Page([1] * 100, next=told(total=150, pages=2))))
    pages.wanted(1)
    pages.accept(facts("posts 2", Page([1] * 49, next=told(total=149, pages=2))))
    assert pages.complete
    assert len(pages.doubts) == 1
    assert "149" in pages.doubts[0]


def test_a_list_that_repeats_itself_ends() -> None:
    pages = lists("posts")
    for _ in range(10):
        for cursor in pages.wanted(0):
            number = int(str(cursor).split()[1])
            page = Page([1] * 100, next=told(total=10**9, pages=10**7))
            pages.accept(facts(cursor, page, new=100 if number == 1 else 0))
    assert pages.finished
    assert "nothing new" in pages.problems[0]


def test_no_list_is_believed_to_have_millions_of_pages() -> None:
    pages = lists("posts")
    pages.accept(facts("posts 1", Page([1] * 100, next=told(total=10**9, pages=10**7))))
    pages.accept(facts(f"posts {MAX_PAGES}", Page([1] * 100, next=told(total=10**9, pages=10**7))))
    assert pages.finished
    assert not pages.complete


@pytest.mark.parametrize(("stated", "read"), [(300, 700), (3, 500), (None, MAX_UNSTATED_PAGES)])
def test_a_list_with_new_records_for_ever_ends_by_what_it_stated(stated: int | None, read: int) -> None:
    pages, asked = lists("posts"), 0
    while not pages.finished:
        for cursor in pages.wanted(4):
            asked += 1
            growing = None if stated is None else stated + asked
            pages.accept(facts(cursor, Page([1] * 100, next=told(pages=stated if asked == 1 else growing))))
    assert read <= asked <= read + 4
    assert f"page {read}: is not the last one, although the list stated fewer" in pages.problems[0]


def test_a_page_that_fails_is_named_and_the_others_are_read() -> None:
    pages = lists("posts", "pages")
    pages.accept(facts("posts 1", Page([1] * 100, next=told(total=250, pages=3))))
    pages.accept_failure("posts 2", "it answered 500", missing=False)
    pages.accept(facts("posts 3", Page([1] * 50, next=told(total=250, pages=3))))
    pages.accept_failure("pages 1", "it answered 500", missing=False)
    assert pages.finished
    assert not pages.complete
    assert [each.split(":")[0] for each in pages.problems] == ["the list (posts), page 2", "the list (pages), page 1"]


def noisy(body: bytes, status: int = 200) -> Response:
    return without_noise(Response(status, {}, body))


def test_a_note_says_that_more_than_json_was_sent() -> None:
    service = WordPressService()
    pages = service.pages(Kind.FILES, "", ())
    (cursor,) = pages.wanted(0)
    pages.call(cursor).parse(Response(200, {}, b"[]"))
    assert list(service.notes) == []
    assert pages.call(cursor).parse(Response(200, {}, b"<b>Notice</b>: [x]\n[]")).items == []
    assert "messages of PHP" in service.notes[0]


def test_a_failure_after_a_message_of_php_has_the_status_that_it_states() -> None:
    failure = b'{"code":"rest_forbidden","message":"No.","data":{"status":401}}'
    assert noisy(b"Warning: x in y.php on line 3\n" + failure).status == 401
    assert noisy(failure).status == 200
    assert noisy(b"\n" + failure, 403).status == 403


def test_json_of_any_form_stays_as_it_is() -> None:
    for body in (b"[[]]", b"[null]", b'["x"]', b"[1, {}]", b"{}\n", b"null", b""):
        assert noisy(body).body == body


def test_hostile_noise_is_read_in_one_pass() -> None:
    for body in (b'x"' + b'\\"' * 300_000, b"x" + b"[{" * 300_000, b"x[]" * 300_000, b'x{"' + b'\\"' * 300_000):
        assert len(noisy(body).body) in {2, len(body)}


def test_half_as_many_records_are_requested_if_no_limit_is_stated() -> None:
    pages, asked = lists("posts"), []
    while not pages.finished:
        (cursor,) = pages.wanted(0)
        asked.append(cursor)
        size = int(str(cursor).partition(" 1 ")[2] or 100)
        refused = Response(400, {}, b'{"code":"rest_invalid_param","data":{"params":{"per_page":"Too many."}}}')
        limit = page_limit(refused, size)
        pages.accept(facts(cursor, Page([], next=told(total=0) if limit is None else told(size=limit))))
    assert asked == ["posts 1", *(f"posts 1 {size}" for size in (50, 25, 12, 6, 3, 1))]
    assert pages.complete
