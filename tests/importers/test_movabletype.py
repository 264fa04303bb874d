"""Two readers of Movable Type's format, a strict one and one like old importers, find the same.

The services that import the format have no importer to run here, so both are written from its public rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.export.mt_readers import CHUNK, Entry, moment, read_carelessly, read_strictly
from tests.importers.blogs import BLOGS, bare, blog, shown
from tests.importers.ledger import Count, Ledger

READERS = [("strict reader", read_strictly), (f"reader in chunks of {CHUNK:,} bytes", read_carelessly)]


def printed(title: str) -> str:
    """Return what a browser shows of a title, which Movable Type prints into its pages as HTML."""
    heading = LexborHTMLParser(f"<h2>{title}</h2>").css_first("h2")
    assert heading is not None
    return heading.text()


@pytest.mark.parametrize("name", BLOGS)
@pytest.mark.parametrize(("reader", "read"), READERS)
def test_movable_type(
    ledger: Ledger, tmp_path: Path, name: str, reader: str, read: Callable[[bytes], list[Entry]]
) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("movabletype", tmp_path / "out")
        data = (tmp_path / "out" / "movabletype-public.txt").read_bytes()
        assert max(map(len, data.split(b"\n"))) < CHUNK
        begun = time.perf_counter()
        entries = read(data)
        seconds = time.perf_counter() - begun
        posts = moved.posts()
        assert [bare(printed(entry.fields["TITLE"])) for entry in entries] == [
            bare(post.title.replace("\ud83d", "")) for post in posts
        ]
        assert {entry.fields["STATUS"] for entry in entries} == {"Publish"}
        dates = [(entry.fields["TITLE"], moment(entry.fields["DATE"])) for entry in entries]
        assert len(set(dates)) == len(dates)
        comments = [comment for entry in entries for comment in entry.comments]
        assert moved.comments_in(shown("\n".join(comment.text for comment in comments))) == len(comments)
        categories = {name for entry in entries for name in entry.categories}
        count = Count(len(entries), len(comments), len(categories))
        ledger.enter("movabletype", reader, name, moved.count(), count, report, seconds)


def test_the_careless_reader_would_misread_unescaped_bodies() -> None:
    body = "TITLE: にせ\n" + "あ" * 5_000
    data = f"TITLE: 題\nSTATUS: Publish\nDATE: 01/01/2020 00:00:00 AM\n-----\nBODY:\n{body}\n-----\n--------\n".encode()
    (entry,) = read_carelessly(data)
    assert entry.fields["TITLE"] == "にせ"
    assert "�" in entry.body
