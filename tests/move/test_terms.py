"""Categories and tags have one slug each, and every category follows the one above it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exporter.export.names import ADDRESS_BYTES
from exporter.model.records import Category, Post
from exporter.move.home_terms import HomeTerms
from exporter.move.terms import planned_categories, planned_tags, slugs_of

NAMES = st.text("海Aa -…%/", min_size=1, max_size=6)


@given(st.lists(st.lists(NAMES, min_size=1, max_size=4).map(tuple)), st.dictionaries(st.tuples(NAMES), NAMES))
def test_every_category_follows_the_one_above_it(
    paths: list[tuple[str, ...]], slugs: dict[tuple[str, ...], str]
) -> None:
    found = planned_categories([], paths, slugs)
    places = {path: at for at, path in enumerate(found)}
    assert all(len(path) == 1 or places[path[:-1]] < at for path, at in places.items())
    assert set(paths) <= set(found)
    each = [term.slug for term in found.values()]
    assert len(set(each)) == len(each)
    assert all(0 < len(slug) <= ADDRESS_BYTES for slug in each)
    assert len({term.key for term in found.values()}) == len(found)


def test_a_stated_slug_is_kept_and_decoded() -> None:
    post = Post("1", categories=(Category("旅", (), "tabi"), Category("海", ("旅",), "%e6%b5%b7")))
    found = planned_categories([], [("旅",), ("旅", "海")], dict(slugs_of(post)))
    assert [(term.name, term.slug, term.words) for term in found.values()] == [
        ("旅", "tabi", "旅"), ("海", "%e6%b5%b7", "旅 / 海"),
    ]  # fmt: skip


def test_categories_of_one_level_keep_the_names_of_exports() -> None:
    found = planned_categories(["日記", "...", "日記帳"], [], {})
    assert [(path, term.slug, term.path) for path, term in found.items()] == [
        (("日記",), "%e6%97%a5%e8%a8%98", ()), (("...",), "category", ()), (("日記帳",), "%e6%97%a5%e8%a8%98%e5%b8%b3", ()),
    ]  # fmt: skip


def test_terms_are_found_by_their_place() -> None:
    home = HomeTerms()
    for raw in (
        {"id": 1, "name": "旅", "slug": "tabi", "parent": 0}, {"id": 2, "name": "海", "slug": "umi", "parent": 1},
        {"id": 3, "name": "Foo", "slug": "foo"}, {"id": 0}, {"name": "x"}, None,
    ):  # fmt: skip
        home.enter(raw)
    trip, sea = planned_categories([], [("旅", "海")], {}).values()
    assert (home.find(trip, 0), home.find(sea, 1), home.find(sea, 0)) == (1, 2, None)
    big, small = planned_tags(["Foo", "foo"]).values()
    assert (home.find(big, 0), home.find(small, 0)) == (3, None), "a name is no slug"
