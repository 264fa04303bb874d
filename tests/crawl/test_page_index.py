"""What a sweep remembers of the pages it saw."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.crawl.checkpoint import note_of
from exporter.crawl.pages import PageIndex, page_note, seen_again, without_records

TEXTS = st.text() | st.sampled_from([',"facts":', ',"records":{', '"},"records":', "\\", '\\",'])
CURSORS = st.integers(1) | TEXTS


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


@example(1, 2, {"": "", "records": ""}, [], [])
@given(CURSORS, CURSORS, st.dictionaries(TEXTS, TEXTS), st.lists(TEXTS), st.lists(TEXTS))
def test_a_note_of_a_page_seen_again_is_told_from_what_is_written(
    cursor: int | str, later: int | str, facts: dict[str, Any], to_read: list[str], ids: list[str]
) -> None:
    """Whatever texts of strangers are in it."""
    records = {"ids": ids, "amounts": [], "owners": to_read}
    note = page_note(1, cursor, facts, records, differing=3, to_read=to_read, problems=ids, unnamed=2, body="ab")
    line = b'{"journal":' + lossless_json.dumps(note) + b"}\n"
    assert note_of(line) == note
    again = {**note, "sweep": 2, "page": later, "differing": 0, "to_read": []}
    text = seen_again(line, 2, later)
    assert lossless_json.loads(text) == again
    assert without_records(text) == {name: value for name, value in again.items() if name != "records"}
