from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.content import BlogSize
from benchmarks.measure import Bench, Service, serving

SIZE = BlogSize(45, 101, 21)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with serving(SIZE) as started:
        yield started


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(2, tmp_path, small=True)
