"""What a sweep remembers of the pages it saw."""

from __future__ import annotations

from hashlib import sha256

from exporter.crawl.pages import PageIndex


def test_pages_are_found_again_in_whatever_order_they_came() -> None:
    seen = PageIndex(lambda *place: b"%d %d" % place)
    bodies = {page: sha256(b"%d" % page).digest() for page in (1, 2, 7, 4)}
    for page, body in bodies.items():
        seen.put(page, body, (page * 10**12, page))
    for page, body in bodies.items():
        assert seen.body(page) == body
        assert seen.line(page) == b"%d %d" % (page * 10**12, page)
    assert [seen.body(page) for page in (3, 5, 6, 8, 10**9)] == [None] * 5
    seen.clear()
    assert seen.body(1) is None


def test_a_page_whose_answer_is_not_known_any_more_is_never_the_same() -> None:
    seen = PageIndex(lambda *place: b"%d %d" % place)
    seen.put(1, b"", (5, 6))
    assert seen.body(1) is None
    assert seen.line(1) == b"5 6"
