"""Titles and names that look like markup are shown as the same texts by the programs that read the exports."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from selectolax.lexbor import LexborHTMLParser

from exporter.export.targets import TARGETS
from exporter.html.text import collapse
from exporter.model.publication import Declared
from tests.export.odd_texts import TEXTS, category_of, odd_blog
from tests.importers.blogs import Blog
from tests.importers.conftest import Tool
from tests.importers.sites import GENERATORS
from tests.importers.test_wordpress import SCRIPT, installed
from tests.support.wide import AS_OF, WIDE

__all__ = ["installed"]

CHOSEN: dict[str, Any] = {"declared": Declared(), "service": WIDE, "as_of": AS_OF, "title": TEXTS["canvas"]}
RAN = "y()"


@pytest.fixture
def odd(tmp_path: Path) -> Blog:
    """The blog of such texts."""
    records = odd_blog()
    records.write_pictures(tmp_path / "archive")
    return Blog("odd", records, tmp_path / "archive")


def fields_of(page: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each field that a page marks; fail if a field gave birth to an element."""
    parsed = LexborHTMLParser(page)
    for script in parsed.css("script"):
        assert RAN not in script.text()
    for node in [*parsed.css("i[class]"), *parsed.css("title")]:
        assert next(node.iter(), None) is None, node.html
        yield node.attributes.get("class") or "title", collapse(node.text())


def check(pages: Iterable[str], fields: Iterable[str]) -> None:
    """Check that the pages show each of the texts in each of the fields."""
    found: dict[str, set[str]] = {}
    for page in pages:
        for name, text in fields_of(page):
            found.setdefault(name, set()).add(text)
    for name in fields:
        wanted = {category_of(text) if name == "category" else text for text in TEXTS.values()}
        missing = wanted - found.get(name, set())
        assert missing == set(), (name, found.get(name))


def marked(fields: Mapping[str, str]) -> str:
    """Return a template's part that marks fields, by the expressions that print them."""
    return "".join(f'<i class="{name}">{expression}</i>' for name, expression in fields.items())


EACH = "{{% for each in {0} %}}<i class='{1}'>{{{{ {2} }}}}</i>{{% endfor %}}"
TEMPLATES: dict[str, dict[str, str]] = {
    "Hugo 0.168": {
        "layouts/_default/single.html": "<title>{{ .Title }}</title>"
        + marked({"author": "{{ .Params.author }}"})
        + "{{ range .Params.categories }}<i class='category'>{{ . }}</i>{{ end }}"
        "{{ range .Params.tags }}<i class='tag'>{{ . }}</i>{{ end }}<main>{{ .Content }}</main>",
        "layouts/_default/list.html": "<title>{{ .Title }}</title>",
    },
    "Jekyll": {
        "_layouts/post.html": "<title>{{ page.title | escape }}</title>"
        + marked({"author": "{{ page.author | escape }}"})
        + EACH.format("page.categories", "category", "each | escape")
        + EACH.format("page.tags", "tag", "each | escape")
        + "<main>{{ content }}</main>",
    },
    "Pelican": {
        "pelicanconf.py": GENERATORS["Pelican"].files["pelicanconf.py"]
        + "AUTHOR_FEED_ATOM = CATEGORY_FEED_ATOM = None\n",
        "templates/article.html": marked(
            {"title": "{{ article.title }}", "author": "{{ article.author }}", "category": "{{ article.category }}"}
        )
        + EACH.format("article.tags", "tag", "each")
        + "<main>{{ article.content }}</main>",
    },
    "Eleventy": {
        **GENERATORS["Eleventy"].files,
        "_includes/post.njk": "<title>{{ title }}</title>"
        + marked({"author": "{{ author }}"})
        + EACH.format("categories", "category", "each")
        + EACH.format("tags", "tag", "each")
        + "<main>{{ content | safe }}</main>",
    },
    "Astro's starter": {
        **GENERATORS["Astro's starter"].files,
    },
}
FIELDS = {
    **dict.fromkeys(["Hugo 0.168", "Jekyll", "Eleventy", "Pelican"], ("title", "author", "category", "tag")),
    "Astro's starter": ("title", "category"),
}


@pytest.mark.parametrize(("name", "body"), [*((name, "markdown") for name in FIELDS), ("Pelican", "html")])
def test_generators_show_them(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, odd: Blog, tmp_path: Path, name: str, body: str
) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    generator = replace(GENERATORS[name], files=TEMPLATES[name])
    odd.export(generator.form, tmp_path / "site", preset=generator.preset, body=body, **CHOSEN)
    site = generator.build(tool, tmp_path / "site")
    pages = [page.read_text("utf-8") for page in site.glob(generator.pages)]
    check(pages, FIELDS[name])
    for page in pages:
        check_comments(page)


def check_comments(page: str) -> None:
    """Check that the names and titles of comments gave birth to no element on a page."""
    assert not [
        each for each in LexborHTMLParser(page).css("script, canvas") if RAN in each.text() or each.tag == "canvas"
    ]
