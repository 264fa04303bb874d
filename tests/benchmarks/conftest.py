from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.blog_size import BlogSize
from benchmarks.measure import running_service

SIZE = BlogSize(45, 101, 21)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with running_service(SIZE, None) as url:
        yield url
