"""Titles and names that look like markup are shown as the same texts by the programs that read the exports."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from selectolax.lexbor import LexborHTMLParser

from exporter.compare.archived import old_posts
from exporter.compare.posts import Scope
from exporter.export.interface import Comments, ExportOptions
from exporter.export.names import wordpress_name
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.html.text import collapse
from exporter.library.compare import Arrivals, compare, open_home
from exporter.model.publication import Declared
from exporter.move.outcome import Did
from exporter.settings import Settings
from tests.export.memory import Memory
from tests.export.odd_texts import TEXTS, category_of, odd_blog
from tests.importers.blogs import Blog
from tests.importers.conftest import Tool, serving
from tests.importers.ghost import running
from tests.importers.sites import GENERATORS
from tests.importers.test_wordpress import SCRIPT, installed
from tests.importers.wordpress_site import running_site
from tests.move.moving import move
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
        + "{{ range .GetTerms `categories` }}<i class='category'>{{ .LinkTitle }}</i>{{ end }}"
        "{{ range .GetTerms `tags` }}<i class='tag'>{{ .LinkTitle }}</i>{{ end }}<main>{{ .Content }}</main>",
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
        "pelicanconf.py": GENERATORS["Pelican"].files["pelicanconf.py"],
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
    check([page.replace("＜/title", "&lt;/title").replace("＂", "&quot;") for page in pages], FIELDS[name])
    for page in pages:
        check_comments(page)


def check_comments(page: str) -> None:
    """Check that the names and titles of comments gave birth to no element on a page."""
    born = LexborHTMLParser(page).css("script, canvas")
    assert not [each.html for each in born if RAN in each.text() or each.tag == "canvas"]


def test_a_pelican_site_with_its_own_theme_runs_no_title(tool: Tool, odd: Blog, tmp_path: Path) -> None:
    report = odd.export("pelican", tmp_path / "site", **CHOSEN)
    tool("pelican", "content", "-o", "output", "-s", "pelicanconf.py", cwd=tmp_path / "site")
    for page in (tmp_path / "site" / "output").rglob("*.html"):
        check_comments(page.read_text("utf-8"))
    for name in set(TEXTS) - {"end"}:
        shown = LexborHTMLParser((tmp_path / "site" / "output" / f"slug-{name}.html").read_text("utf-8"))
        assert [collapse(each.text()) for each in shown.css("h1.entry-title")] == [TEXTS[name]]
    (row,) = (each for each in report["changed"] if each["code"] == "title_widened")
    assert row["ids"] == ["end"]


WORDPRESS = ("title", "author", "category", "parent", "tag", "file", "lead", "commenter", "comment", "alt")


def check_wordpress(tool: Tool, site: Path, fields: Iterable[str]) -> None:
    """Check the texts that the themes of a WordPress show."""
    pages = json.loads(tool("php", SCRIPT, "fields", site))
    alts = [node.attributes.get("alt") or "" for page in pages for node in LexborHTMLParser(page).css("img")]
    check([*pages, *(f"<i class='alt'>{escape(each)}</i>" for each in alts)], fields)


def test_wordpress_shows_them_after_an_import(tool: Tool, installed: Path, odd: Blog, tmp_path: Path) -> None:
    site = shutil.copytree(installed, tmp_path / "wordpress")
    odd.export("wxr", tmp_path / "pictures", media_folder=True, **CHOSEN)
    with serving(tmp_path / "pictures" / "media") as address:
        odd.export("wxr", tmp_path / "out", media_base_url=address, **CHOSEN)
        file = tmp_path / "out" / "wordpress-public.xml"
        assert json.loads(tool("php", SCRIPT, "read", site, file)) == []
        # The importer knows all of them again by their titles.
        again = json.loads(tool("php", SCRIPT, "read", site, file))
        assert len([row for row in again if row[0] == "post"]) == len(TEXTS)
    check_wordpress(tool, site, WORDPRESS)


async def test_wordpress_shows_them_after_a_move(tool: Tool, installed: Path, odd: Blog, tmp_path: Path) -> None:
    with running_site(tool, installed, tmp_path / "site") as site:
        assert isinstance(odd.records, Memory)
        moved = partial(move, site, odd.records, odd.root, service=WIDE, old_urls=(), login=("owner", site.password))
        outcome = await moved()
        assert outcome.whole, outcome.document()
        check_wordpress(tool, site.folder, [name for name in WORDPRESS if name != "author"])
        options = ExportOptions(Declared(), service=WIDE)
        posts = Posts(odd.records, options, Report(), holds_back=True, spelling=wordpress_name)
        settings = Settings(new_home_user="owner", new_home_token=site.password, allow_private_network=True)
        async with open_home(site.url, settings) as home:
            arrivals = Arrivals([*old_posts(posts, asked=True)], frozenset(), {})
            found = (await compare(home, arrivals, Scope())).comparison
        assert found.whole, [(each.old.id, each.differences) for each in found.results if each.differences]
        again = await moved()
        assert all(made[Did.MADE] == made[Did.CHANGED] == 0 for made in again.counts.values())


FEED = """
import feedparser, json, sys
read = feedparser.parse(sys.argv[1], sanitize_html=False)
print(json.dumps([[each.title_detail.type, each.title] for each in (read.feed, *read.entries)]))
"""


def test_books_and_feeds_show_them(tool: Tool, odd: Blog, tmp_path: Path) -> None:
    titles = set(TEXTS.values())
    odd.export("epub", tmp_path / "epub", **CHOSEN)
    with zipfile.ZipFile(tmp_path / "epub" / "book-public.epub") as packed:
        chapters = [ET.fromstring(packed.read(name)) for name in packed.namelist() if name.endswith(".xhtml")]
        package = next(ET.fromstring(packed.read(name)) for name in packed.namelist() if name.endswith(".opf"))
    words = {collapse("".join(node.itertext())) for chapter in chapters for node in chapter.iter()}
    assert titles <= words
    assert not [node for chapter in chapters for node in chapter.iter() if node.tag.endswith(("script", "canvas"))]
    assert TEXTS["canvas"] in {node.text for node in package.iter()}
    odd.export("html", tmp_path / "html", **CHOSEN)
    page = LexborHTMLParser((tmp_path / "html" / "book-public.html").read_text("utf-8"))
    assert titles <= {collapse(node.text()) for node in page.css("h2, h3")}
    assert not page.css("canvas")
    odd.export("atom", tmp_path / "atom", comments=Comments.BODY, **CHOSEN)
    (file,) = (tmp_path / "atom").iterdir()
    feed = json.loads(tool("python", "-c", FEED, file))
    odd.export("jsonfeed", tmp_path / "json", **CHOSEN)
    (file,) = (tmp_path / "json").iterdir()
    items = json.loads(file.read_bytes())["items"]
    odd.export("blogger-atom", tmp_path / "blogger", **CHOSEN)
    (file,) = (tmp_path / "blogger").iterdir()
    blogger = json.loads(tool("python", "-c", FEED, file))
    plain = {("text/plain", text) for text in titles}
    assert {tuple(each) for each in feed[1:]} == plain
    assert {each["title"] for each in items} == titles
    assert plain <= {tuple(each) for each in blogger}
    assert feed[0] == blogger[0] == ["text/plain", TEXTS["canvas"]]


def test_ghost_shows_them(tool: Tool, odd: Blog, tmp_path: Path) -> None:
    odd.export("ghost", tmp_path / "out", **CHOSEN)
    with running(tmp_path / "ghost", tool.path("node")) as started:
        started.tell_zone("Asia/Tokyo")
        held = started.take(tmp_path / "out" / "ghost-public.zip")
        pages = {name: LexborHTMLParser(started.page(f"slug-{name}")) for name in TEXTS}
    for name, text in TEXTS.items():
        (title,) = pages[name].css("h1")
        assert (collapse(title.text()), next(title.iter(), None)) == (text, None)
        assert not [each for each in pages[name].css("script") if each.text().strip() == RAN]
    assert set(TEXTS.values()) <= {each["name"] for each in held["users"]}
