"""Many blogs of twenty entries in one process: all are complete, and the service's limit holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.content import BLOG_ID, BlogSize, Content
from exporter.archive.fleet_folder import archive_place
from exporter.model.kinds import Kind
from tests.fleet.platform_service import Platform, blog_ids, write_list
from tests.support.runs import Runs, folded

ENTRIES, COMMENTS, FILES = 20, 40, 2
SLOTS, RATE = 64, 300.0
PATIENCE = 900.0


def served(blog_id: str) -> dict[Kind, list[Any]]:
    """Return a blog's records from the service, ordered by ID."""
    content = Content(BlogSize(ENTRIES, COMMENTS, FILES))
    texts = {
        Kind.ENTRIES: [content.entry(number + 1) for number in range(ENTRIES)],
        Kind.ENTRY_LIST: [content.item(number + 1) for number in range(ENTRIES)],
        Kind.COMMENTS: [content.comment(number + 1) for number in range(COMMENTS)],
        Kind.FILES: [content.file(number + 1) for number in range(FILES)],
        Kind.USER: [content.user],
    }
    return {
        kind: [json.loads(each.replace(BLOG_ID.encode(), blog_id.encode())) for each in records]
        for kind, records in texts.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("count", [500, 2_000])
def test_all_verify_and_equal_the_service(runs: Runs, tmp_path: Path, count: int) -> None:
    root = tmp_path / "fleet"
    listed = write_list(tmp_path / "blogs.txt", blog_ids(count))
    budget = ["--concurrency", SLOTS, "--rate", RATE, "--at-once", 100]
    with Platform(ENTRIES, 0.05) as platform:
        service = ["--base-url", platform.base_url, "--assets", "none"]
        run = runs.start("fleet", "run", listed, "--into", root, *service, *budget, "--json").wait(PATIENCE)
        found = platform.record()
    sys.stdout.write(
        f"{count} blogs: {run.document['seconds']} s, {found['requests']:,} requests, "
        f"{found['requests'] / found['seconds']:.1f} a second; at most {found['peak']} in flight, "
        f"{found['most_in_a_second']} in a second\n"
    )
    assert run.code == 0
    assert found["peak"] <= SLOTS
    assert found["most_in_a_second"] <= RATE
    assert found["again"] == 0
    checked = runs.start("fleet", "verify", root, "--json").wait(PATIENCE)
    assert checked.code == 0
    assert checked.document["made"] == count
    for blog_id in blog_ids(count):
        records = folded(archive_place(root, blog_id))
        in_order = {
            kind: [json.loads(data) for _, data in sorted(each.items(), key=lambda item: item[0].zfill(40))]
            for kind, each in records.items()
        }
        assert in_order == served(blog_id)
