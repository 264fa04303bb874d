from __future__ import annotations

import pytest

from exporter.demo.content import Blog, fields, wire
from tests.demo.conftest import Get
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.mutation import Mutator

KINDS = ("entries", "comments", "files")


def now(blog: Blog, kind: str) -> dict[str, bytes]:
    if kind == "entries":
        return {str(key): wire(record) for key, record in blog.entries.items()}
    records, name = (blog.comments, "cm_id") if kind == "comments" else (blog.files, "file_id")
    return {fields(record)[name]: wire(record) for record in records}


@pytest.mark.parametrize("seed", range(8))
def test_it_knows_the_records_that_never_changed(seed: int) -> None:
    blog = generated_blog(12, comments=15, files=9, seed=seed)
    before = {kind: now(blog, kind) for kind in KINDS}
    mutator = Mutator(blog, every=1, most=0, seed=seed)
    for _ in range(20):
        mutator.change()
    assert mutator.done.total() == 20
    for kind in KINDS:
        after = now(blog, kind)
        unchanged = {key: sent for key, sent in before[kind].items() if after.get(key) == sent}
        assert mutator.standing(kind) == unchanged
        assert mutator.touched[kind] == before[kind].keys() - unchanged.keys()
        assert mutator.inserted[kind] <= after.keys() - before[kind].keys()
        assert len(mutator.inserted[kind]) <= mutator.done["insert"]


@pytest.mark.parametrize("move", ["insert", "delete", "edit"])
def test_a_move_does_what_its_name_says(move: str) -> None:
    blog = generated_blog(4, comments=4, files=4)
    before = {kind: now(blog, kind) for kind in KINDS}
    mutator = Mutator(blog, every=1, most=9, seed=1, moves=(move,))
    mutator.change()
    assert mutator.done == {move: 1}
    for kind in KINDS:
        after = now(blog, kind)
        assert len(after) == {"insert": 5, "delete": 3, "edit": 4}[move]
        differing = {key for key in before[kind].keys() | after.keys() if before[kind].get(key) != after.get(key)}
        assert len(differing) == 1
        assert differing == (mutator.inserted if move == "insert" else mutator.touched)[kind]


def test_an_empty_blog_can_only_grow() -> None:
    blog = generated_blog(0)
    mutator = Mutator(blog, every=1, most=9, seed=1, moves=("delete", "edit"))
    mutator.change()
    assert not blog.entries
    growing = Mutator(blog, every=1, most=9, seed=1, moves=("insert",))
    growing.change()
    growing.change()
    assert growing.inserted == {kind: {"1", "2"} for kind in KINDS}
    assert growing.standing("entries") == {}


def test_a_record_inserted_and_deleted_is_not_listed_as_inserted() -> None:
    blog = generated_blog(0)
    mutator = Mutator(blog, every=1, most=9, seed=1, moves=("insert",))
    mutator.change()
    mutator.moves = ("delete",)
    mutator.change()
    assert mutator.inserted == {kind: set() for kind in KINDS}
    assert mutator.touched == {kind: set() for kind in KINDS}


async def test_it_works_between_list_requests_and_stops_in_time(get: Get) -> None:
    blog = generated_blog(30, comments=30, files=30)
    async with DemoService(blog) as service:
        mutator = Mutator(blog, every=2, most=3, seed=1)
        service.before = mutator
        for number in range(1, 11):
            await get(service, "entry/list")
            assert mutator.done.total() == min(number // 2, 3)
            await get(service, "entry/get", entry_id=1)
        assert mutator.done.total() == 3
