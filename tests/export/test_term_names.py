"""Names of categories, tags, writers and posts in the addresses of site generators."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from exporter.export.interface import Preset
from exporter.export.term_names import ELEVENTY, HUGO, PELICAN, AddressRules
from tests.export.hostile import CATEGORIES
from tests.export.memory import Memory, export


@pytest.mark.parametrize("rules", [HUGO, PELICAN, ELEVENTY])
def test_every_name_has_an_address_of_its_own(rules: AddressRules) -> None:
    names = list(dict.fromkeys(CATEGORIES))
    stated = rules.addresses(names)
    addresses = [stated.get(name) or rules.address(name) for name in names]
    assert len({address.casefold() for address in addresses}) == len(names)
    for address in addresses:
        assert any(map(str.isalnum, address))
        assert len(address.encode()) <= 180
        assert not set(address) & set('/\\:*?"<>|#%')
    assert {"日記", "花", "画", "C", "index", "all"}.isdisjoint(stated), "these keep the address of the generator"
    assert {"/", ":", "..", "C#", "c", "CON", "😀"} <= set(stated)


def test_an_address_depends_on_the_name_alone() -> None:
    assert PELICAN.addresses(["C", "C++"])["C++"] == PELICAN.addresses(["x", "c", "C", "C++"])["C++"]
    assert ELEVENTY.addresses(["旅"], every=True) == {"旅": "旅"}
    assert PELICAN.addresses([""]) == {}


def test_posts_are_not_named_like_lists_of_pelican() -> None:
    blog = Memory()
    for number, name in enumerate(["index", "Archives", "tags2", "tag", "con", "about"], 1):
        blog.entry(str(number), name=name)
    pages = "".join(data.decode() for name, data in export("pelican", blog).files.items() if name.endswith(".md"))
    assert [line[6:] for line in pages.splitlines() if line.startswith("Slug: ")] == [
        "entry-1", "entry-2", "entry-3", "tag", "entry-5", "about",
    ]  # fmt: skip


HOSTILE_TITLE = "''' \"\"\" \\N{DIGIT ONE} \\ {x} </script>\u2028\x00\ud83d\n# 題"


def test_configurations_hold_any_title_and_name() -> None:
    blog = Memory()
    for number, name in enumerate(["C", "C#", "'''", "\\N{x}", '"""\\', "{%", "\u2028", "\x7f\x85"], 1):
        blog.entry(str(number), category=name)
    pelican = export("pelican", blog, title=HOSTILE_TITLE).files["pelicanconf.py"].decode()
    code = pelican[: pelican.index("def _state_addresses")].replace("from pelican import signals\n", "")
    found: dict[str, Any] = {}
    exec(compile(code, "pelicanconf.py", "exec"), found)
    assert found["SITENAME"].startswith("''' \"\"\" \\N{DIGIT ONE} \\ {x} &lt;/script&gt;")
    assert found["ADDRESSES"]["C#"].startswith("c-")
    assert found["TIMEZONE"] == "Asia/Tokyo"
    config = yaml.safe_load(export("jekyll", blog, title=HOSTILE_TITLE).files["_config.yml"])
    assert config["title"].startswith("''' \"\"\" \\N{DIGIT ONE} \\ {x} </script>")


def test_hugo_has_a_page_for_each_name_with_a_stated_address() -> None:
    blog = Memory()
    blog.entry("1", category="C")
    blog.entry("2", category="C#")
    blog.entry("3", category="秘密/", is_private="t")
    files = export("hugo", blog).files
    (page,) = [name for name in files if name.startswith("content/categories/")]
    assert yaml.safe_load(files[page].decode().split("---\n")[1]) == {"title": "C#"}
    key = page.split("/")[2]
    assert f'categories: ["{key}"]' in "".join(data.decode() for data in files.values())
    assert "秘密" not in str(files)


@pytest.mark.parametrize(
    ("form", "options", "times"),
    [("hugo", {}, 1), ("pelican", {}, 1), ("markdown", {"preset": Preset.ELEVENTY}, 1), ("jekyll", {}, 0)],
)
def test_names_whose_addresses_are_spelled_differently_are_counted(
    form: str, options: dict[str, Any], times: int
) -> None:
    blog = Memory()
    for number, name in enumerate(["C", "C#", "C", "日記"], 1):
        blog.entry(str(number), category=name)
    changed = [row for row in export(form, blog, **options).document["changed"] if row["code"] == "term_address"]
    assert [(row["ids"], row["times"]) for row in changed] == [(["2"], times)] * times


def test_jekyll_states_an_address_without_categories() -> None:
    blog = Memory()
    blog.entry("1", title="題", category="日記:旅")
    page = export("jekyll", blog).files["_posts/2024-03-05-題-1.md"].decode()
    assert 'permalink: "/posts/2024-03-05-題-1/"' in page
    assert 'categories: ["日記:旅"]' in page
