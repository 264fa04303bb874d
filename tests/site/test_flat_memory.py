"""A site is made of rows on disk: memory grows by little for each entry and comment."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Final

import pytest

from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site.history import ArchiveHistory
from exporter.site.view import SiteView
from tests.archive.builder import Built, record

ENTRIES: Final = 1_000
FEW_ENTRIES: Final = 150
FEW_ENTRIES_BYTES: Final = 2_000_000
COMMENTS: Final = 10
"""Comments of each entry."""
BYTES_PER_ENTRY: Final = 800
"""Of an entry with its comments, at the peak."""


def blog(root: Path, entries: int) -> Built:
    built = Built(root)
    numbers = range(1, entries + 1)
    when = [f"20{number * 25 // entries:02d}/{number % 12 + 1:02d}/{number % 28 + 1:02d}" for number in numbers]
    built.commit(
        {
            Kind.ENTRIES: {
                str(number): record(
                    entry_id=str(number), title=f"{number}番目の記事の題名です", entry_text="<p>海</p>",
                    year=day[:4], mon=day[5:7], day=day[8:], category_name="日記",
                )
                for number, day in zip(numbers, when, strict=True)
            },
            Kind.ENTRY_LIST: {
                str(number): record(entry_id=str(number), title="題", category_name=f"分類{number % 9}") for number in numbers
            },
            Kind.COMMENTS: {
                str(number): record(
                    cm_id=str(number), entry_id=str(number % entries + 1), cm_text="声", regist_date=when[number % entries]
                )
                for number in range(1, COMMENTS * entries + 1)
            },
        }
    )  # fmt: skip
    return built


def peak(built: Built) -> int:
    """Return the bytes that listing all files of a site takes at most, its rendering left out."""
    reader = built.reader
    state = reader.state()
    view = SiteView(DEFAULT_SERVICE, ArchiveHistory(reader, DEFAULT_SERVICE))
    gc.collect()
    tracemalloc.start()
    for _ in view.files(state):
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    state.close()
    return most


@pytest.mark.thorough
def test_an_entry_and_its_comments_take_little_memory(tmp_path: Path) -> None:
    peak(blog(tmp_path / "warm", 20))  # what is read once for the whole program
    small, large = (peak(blog(tmp_path / f"{entries}", entries)) for entries in (ENTRIES, 2 * ENTRIES))
    assert (large - small) / ENTRIES < BYTES_PER_ENTRY


@pytest.mark.thorough
def test_a_small_blog_takes_little_memory(tmp_path: Path) -> None:
    peak(blog(tmp_path / "warm", 20))
    assert peak(blog(tmp_path / "blog", FEW_ENTRIES)) < FEW_ENTRIES_BYTES
