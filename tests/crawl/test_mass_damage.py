"""A run that damages many texts of one kind is refused, in every field and in every way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from exporter.demo.content import Blog, fields
from exporter.errors import MassDisappearance
from tests.crawl.conftest import MakeCrawl
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import folded, held

Change = Callable[[str], str]
COUNT = 20
LATER = (f"{year}-01-01 00:00:00" for year in itertools.count(2030))
DAMAGES: dict[str, tuple[Change, str]] = {
    "the same": (lambda _: "maintenance", "the same"),
    "empty": (lambda _: "", "is empty now"),
    "spaces": (lambda _: " \n", "is empty now"),
    "question marks": (lambda text: "".join("?" if each > "\x7f" else each for each in text), "mostly ? or U+FFFD"),
    "replaced": (lambda text: text.encode().decode("ascii", "replace"), "mostly ? or U+FFFD"),
    "half": (lambda text: text[: len(text) // 2], "only half as long"),
}
FIELDS = [
    ("entries", "title", "title"),
    ("entries", "entry_text", "body"),
    ("entries", "ps_text", "more"),
    ("entries", "name", "slug"),
    ("comments", "cm_text", "text"),
    ("comments", "title", "title"),
    ("comments", "name", "name"),
    ("files", "explanation", "description"),
    ("files", "title", "title"),
    ("files", "name", "name"),
]
CASES = [
    pytest.param(
        *field, damage, marks=[] if at % 7 == 0 else pytest.mark.thorough, id=f"{field[0]}.{field[1]}: {damage}"
    )
    for at, (field, damage) in enumerate((field, damage) for field in FIELDS for damage in DAMAGES)
]


def blog_with(kind: str, name: str) -> Blog:
    """Return a blog in which a field has its own Japanese text in every record."""
    blog = generated_blog(COUNT, COUNT, COUNT)
    change(blog, kind, name, COUNT, lambda number: f"{number}番目の灯台と<b>港の</b>朝市")
    return blog


def change(blog: Blog, kind: str, name: str, count: int, text: Callable[[Any], str]) -> None:
    """Set a field of the first records; ``text`` gets the number of a record."""
    records: Any = getattr(blog, kind)
    for number, key in enumerate(list(records)[:count] if kind == "entries" else range(count)):
        record = fields(records[key])
        later = {"last_update": next(LATER)} if kind == "entries" else {}
        records[key] = {**record, name: text(number), **later}


def damage(blog: Blog, kind: str, name: str, count: int, way: Change) -> None:
    records: Any = getattr(blog, kind)
    old = [str(fields(each)[name]) for each in (records.values() if kind == "entries" else records)]
    change(blog, kind, name, count, lambda number: way(old[number]))


@pytest.mark.parametrize(("kind", "raw", "field", "way"), CASES)
async def test_damage_to_a_field_of_many_records_is_refused(
    crawl_of: MakeCrawl, kind: str, raw: str, field: str, way: str
) -> None:
    blog = blog_with(kind, raw)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        before = folded(crawl.root)
        changed, says = DAMAGES[way]
        damage(blog, kind, raw, 7, changed)
        ran = await crawl.run()
        assert ran.code == 4, ran.reasons
        assert isinstance(ran.error, MassDisappearance)
        said = str(ran.error).replace("uploads", "files")
        assert f"7 of 20 {kind}" in said
        assert (f"the {field} of " in said and says in said) or "entries have the same text" in said
        assert folded(crawl.root) == before
        assert (await crawl.run(accept_removals=True)).code == 0
        assert folded(crawl.root) == held(blog)
        assert (await crawl.run()).code == 0


async def test_a_few_damaged_records_are_accepted(crawl_of: MakeCrawl) -> None:
    blog = blog_with("comments", "cm_text")
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        damage(blog, "comments", "cm_text", 6, lambda _: "")
        assert (await crawl.run()).code == 0


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(lambda number: f"夕立のあとで別の話を{number}回しました。", id="other texts"),
        pytest.param(lambda number: f"{number}番目の灯台と<b>港の</b>朝市？本当?", id="a question"),
    ],
)
async def test_many_edits_are_accepted(crawl_of: MakeCrawl, new: Callable[[int], str]) -> None:
    blog = blog_with("comments", "cm_text")
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        change(blog, "comments", "cm_text", COUNT, new)
        assert (await crawl.run()).code == 0
        assert folded(crawl.root) == held(blog)


@pytest.mark.parametrize("new", ["田中", "山田太郎の新しい名前"])
async def test_a_name_that_all_records_share_may_change(crawl_of: MakeCrawl, new: str) -> None:
    blog = generated_blog(COUNT, COUNT, COUNT)
    change(blog, "comments", "name", COUNT, lambda _: "田中一郎")
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        change(blog, "comments", "name", COUNT, lambda _: new)
        assert (await crawl.run()).code == 0
        assert folded(crawl.root) == held(blog)
