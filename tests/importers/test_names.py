"""Categories, tags and writers of awkward names: each has a page of its own in the sites that generators build."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from exporter.html.text import collapse
from exporter.model.publication import Declared
from tests.export.hostile import CATEGORIES, SLUGS
from tests.importers.blogs import Blog
from tests.importers.conftest import Tool
from tests.importers.sites import GENERATORS, HUGOS
from tests.support.wide import AS_OF, WIDE, WideBlog

NAMES = list(dict.fromkeys(name for name in map(collapse, CATEGORIES) if name != "\0"))
LISTED = re.compile("<h1>(.*?)</h1>((?:<article>.*?</article>)*)")


@pytest.fixture
def named(tmp_path: Path) -> Blog:
    """A blog with a post for each name, which is its category, the next post's tag, and its writer."""
    made = WideBlog()
    for number, name in enumerate(NAMES):
        made.post(
            f"p{number}", title=f"題{number}", slug=SLUGS[number % len(SLUGS)], categories=[{"name": name}], author=name,
            tags=[NAMES[number - 1]], date=f"2024-03-05T09:{number % 60:02}:00", kind="page" if number % 9 == 8 else "post",
        )  # fmt: skip
    return Blog("named", made, tmp_path / "archive")


def pages_in(folder: Path, pattern: str) -> dict[str, list[str]]:
    """Return the titles that each page with a list shows, by the name of the page."""
    found: dict[str, list[str]] = {}
    for path in folder.glob(pattern):
        for name, titles in LISTED.findall(path.read_text("utf-8")):
            assert collapse(unescape(name)) not in found, name
            found[collapse(unescape(name))] = re.findall("<article>(.*?)</article>", titles)
    return found


HUGO = {
    "layouts/_default/single.html": "<title>{{ .Title }}</title>",
    "layouts/_default/list.html": "{{ if eq .Kind `term` }}<h1>{{ .Title }}</h1>{{ range .Pages }}<article>{{ .Title }}</article>{{ end }}{{ end }}",
}


@pytest.mark.parametrize("version", HUGOS)
def test_hugo(tool: Tool, named: Blog, tmp_path: Path, version: str) -> None:
    named.export("hugo", tmp_path / "site", declared=Declared(), service=WIDE, as_of=AS_OF)
    site = replace(GENERATORS[version], files=HUGO).build(tool, tmp_path / "site")
    for kind, shift in (("categories", 0), ("tags", 1)):
        found = pages_in(site, f"{kind}/*/index.html")
        assert found == {NAMES[number - shift]: [f"題{number}"] for number in range(len(NAMES))}


PELICAN_LIST = "<article>{{ article.title }}</article>{% endfor %}"
PELICAN = {
    f"templates/{name}.html": f"<h1>{{{{ {name} }}}}</h1>{{% for article in articles %}}{PELICAN_LIST}"
    for name in ("category", "tag", "author")
} | {"pelicanconf.py": "THEME_TEMPLATES_OVERRIDES = ['templates']\n"}


@pytest.mark.parametrize("body", ["markdown", "html"])
def test_pelican(tool: Tool, named: Blog, tmp_path: Path, body: str) -> None:
    named.export("pelican", tmp_path / "site", declared=Declared(), service=WIDE, as_of=AS_OF, body=body)
    site = replace(GENERATORS["Pelican"], files=PELICAN).build(tool, tmp_path / "site")
    # Pelican lists articles alone.
    articles = [number for number in range(len(NAMES)) if number % 9 != 8]
    for kind, shift in (("category", 0), ("tag", 1), ("author", 0)):
        found = pages_in(site, f"{kind}/*.html")
        assert found == {NAMES[number - shift]: [f"題{number}"] for number in articles}
    assert len(list(site.glob("*.html"))) == len(articles) + 5


def test_jekyll(tool: Tool, named: Blog, tmp_path: Path) -> None:
    lists = "".join(
        f"{{% for each in site.{kind} %}}<h1>{{{{ each[0] | escape }}}}</h1>{{% for post in each[1] %}}"
        "<article>{{ post.title }}</article>{% endfor %}{% endfor %}--"
        for kind in ("categories", "tags")
    )
    files = {
        "index.html": f"---\n---\n{lists}",
        "_layouts/post.html": "{{ content }}",
        "_layouts/page.html": "{{ content }}",
    }
    named.export("jekyll", tmp_path / "site", declared=Declared(), service=WIDE, as_of=AS_OF)
    site = replace(GENERATORS["Jekyll"], files=files).build(tool, tmp_path / "site")
    posts = [number for number in range(len(NAMES)) if number % 9 != 8]
    text = (site / "index.html").read_text("utf-8")
    shown = [collapse(unescape(name)) for name, _ in LISTED.findall(text)]
    assert sorted(shown) == sorted([*(NAMES[number] for number in posts), *(NAMES[number - 1] for number in posts)])
    assert len(list(site.glob("posts/*/index.html"))) == len(posts)


def test_eleventy(tool: Tool, named: Blog, tmp_path: Path) -> None:
    generator = GENERATORS["Eleventy's starter"]
    files = dict(generator.files)
    files["content/tag-pages.njk"] = (
        files["content/tag-pages.njk"].replace('<a href="{{ each.url }}">', "<article>").replace("</a>", "</article>")
    )
    named.export("markdown", tmp_path / "site", declared=Declared(), service=WIDE, as_of=AS_OF, preset=generator.preset)
    site = replace(generator, files=files).build(tool, tmp_path / "site")
    found = pages_in(site, "tags/*/index.html")
    written = {"all": "_all", "posts": "_posts", "[x]": "［x］"}
    assert set(found) == {written.get(name, name) for name in NAMES}
    assert all(len(titles) == 2 for titles in found.values())
