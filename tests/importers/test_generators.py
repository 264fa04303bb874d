"""Site generators build the exports, and the built pages contain every public title, picture and comment."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from exporter.export.interface import Side
from exporter.model.publication import Declared
from tests.export.hostile import ENTRIES, SECRET, entry_word
from tests.importers.blogs import BLOGS, Blog, bare, blog, shown
from tests.importers.conftest import Tool
from tests.importers.ledger import Count, Ledger
from tests.importers.sites import GENERATORS, HUGOS

both_blogs = pytest.mark.parametrize("name", BLOGS)
both_bodies = pytest.mark.parametrize("body", ["markdown", "html"])
LISTS = re.compile(r"index[0-9]*|archives|authors|categories|tags")
NAMED = re.compile(r'<i class="category">(.*?)</i>')


def found_in(site: Path, moved: Blog, pages: list[Path], categories: int | None = None) -> Count:
    """Count the records of a blog on the pages of a built site.

    Fail if a title or a text is missing, or if any file has a word of the records that are not public.
    """
    html = "\n".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    text = shown(html)
    assert moved.titles_missing(text) == []
    if moved.name == "hostile":
        assert [number for number in range(1, ENTRIES + 1) if entry_word(number) not in text] == []
    files = [path for path in site.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes() or SECRET in str(path)] == []
    built = {path.name for path in files}
    return Count(
        posts=len(pages),
        comments=moved.comments_in(text),
        categories=len({unescape(each) for each in NAMED.findall(html)}) if categories is None else categories,
        pictures=len({name for name in moved.pictures() & built if name in html}),
    )


@both_blogs
@both_bodies
@pytest.mark.parametrize("version", HUGOS)
def test_hugo(tool: Tool, ledger: Ledger, tmp_path: Path, name: str, body: str, version: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        site = tmp_path / "site"
        report = moved.export("hugo", site, body=body)
        built = GENERATORS[version].build(tool, site)
        pages = list((built / "posts").rglob("*/index.html"))
        found = found_in(built, moved, pages)
        ledger.enter(f"hugo, {body}", version, name, moved.count(), found, report, tool.seconds)
        if name == "hostile":
            text = shown("".join(path.read_text(encoding="utf-8") for path in pages))
            assert "{{<shortcode>}}{{%other%}}{{.Title}}" in text
            assert '{{<ref"a">}}' in text


@both_blogs
@both_bodies
def test_jekyll(tool: Tool, ledger: Ledger, tmp_path: Path, name: str, body: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        site = tmp_path / "site"
        report = moved.export("jekyll", site, body=body)
        (site / "_layouts").mkdir()
        (site / "_layouts" / "post.html").write_text(
            "<title>{{ page.title | escape }}</title>{% for each in page.categories %}"
            '<i class="category">{{ each | escape }}</i>{% endfor %}<main>{{ content }}</main>'
        )
        tool("jekyll", "build", "--quiet", cwd=site)
        found = found_in(site / "_site", moved, list((site / "_site").rglob("*.html")))
        ledger.enter(f"jekyll, {body}", "Jekyll", name, moved.count(), found, report, tool.seconds)


@both_blogs
@both_bodies
def test_pelican(tool: Tool, ledger: Ledger, tmp_path: Path, name: str, body: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        site = tmp_path / "site"
        report = moved.export("pelican", site, body=body)
        said = tool("pelican", "content", "-o", "output", cwd=site)
        assert "WARNING" not in said, said
        assert f"Processed {report['out']['entries']} articles, 0 drafts" in " ".join(said.split())
        output = site / "output"
        pages = [path for path in output.glob("*.html") if not LISTS.fullmatch(path.stem)]
        found = found_in(output, moved, pages, len(list((output / "category").glob("*.html"))))
        ledger.enter(f"pelican, {body}", "Pelican", name, moved.count(), found, report, tool.seconds)


ELEVENTY_FEED = """---
permalink: feed.xml
eleventyExcludeFromCollections: true
---
{% for each in collections.all %}<entry>{{ each.data.title }}{{ each.content }}</entry>{% endfor %}
"""


@both_blogs
@pytest.mark.parametrize(
    ("form", "command", "built"),
    [
        ("hugo", ("hugo", "--quiet"), "public"),
        ("jekyll", ("jekyll", "build", "--quiet"), "_site"),
        ("markdown", ("eleventy", "--quiet"), "_site"),
        ("pelican", ("pelican", "content", "-o", "output"), "output"),
    ],
)
def test_no_generator_publishes_a_draft(
    tool: Tool, tmp_path: Path, name: str, form: str, command: tuple[str, ...], built: str
) -> None:
    with blog(name, tmp_path / "archive") as moved:
        site = tmp_path / "site"
        report = moved.export(form, site, side=Side.DRAFTS, declared=Declared(all_as_draft=True))
        assert report["out"]["entries"] >= (ENTRIES if name == "hostile" else 40)
        (site / "eleventy.config.mjs").write_text(
            'export default (config) => { config.addPassthroughCopy("media"); config.setUseGitIgnore(false); };\n'
        )
        (site / "content").mkdir(exist_ok=True)
        (site / "feed.njk").write_text(ELEVENTY_FEED)
        (site / "layouts" / "_default").mkdir(parents=True)
        (site / "layouts" / "_default" / "single.html").write_text("<main>{{ .Title }}{{ .Content }}</main>")
        (site / "layouts" / "_default" / "list.html").write_text(
            "{{ range .Site.RegularPages }}<main>{{ .Title }}{{ .Content }}</main>{{ end }}"
        )
        tool(*command, cwd=site)
        pages = [path for path in (site / built).rglob("*") if path.suffix in {".html", ".xml"}]
        assert pages
        text = shown("".join(path.read_text(encoding="utf-8") for path in pages))
        # Hugo itself writes the words "categories" and "tags".
        titles = [title for post in moved.posts() if len(title := bare(post.title)) > 4 and title != "categories"]
        assert titles
        assert [title for title in titles if title in bare(text)] == []
        assert [number for number in range(1, ENTRIES + 1) if entry_word(number) in text] == []
        assert moved.pictures() & {path.name for path in (site / built).rglob("*")} == set()


@both_blogs
@both_bodies
def test_eleventy(tool: Tool, ledger: Ledger, tmp_path: Path, name: str, body: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        site = tmp_path / "site"
        report = moved.export("markdown", site, body=body)
        (site / "_includes").mkdir()
        (site / "_includes" / "post.njk").write_text(
            '<title>{{ title }}</title>{% for each in categories %}<i class="category">{{ each }}</i>{% endfor %}'
            "<main>{{ content | safe }}</main>"
        )
        (site / "posts" / "posts.json").write_text('{"layout": "post.njk"}')
        (site / "eleventy.config.mjs").write_text(
            'export default (config) => { config.addPassthroughCopy("media"); config.setUseGitIgnore(false); };\n'
        )
        tool("eleventy", "--quiet", cwd=site)
        found = found_in(site / "_site", moved, list((site / "_site" / "posts").rglob("index.html")))
        ledger.enter(f"markdown, {body}", "Eleventy", name, moved.count(), found, report, tool.seconds)


@both_bodies
def test_pictures_of_jekyll_are_found_below_a_folder_of_the_host(tool: Tool, tmp_path: Path, body: str) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        site = tmp_path / "site"
        moved.export("jekyll", site, body=body)
        with (site / "_config.yml").open("a", encoding="utf-8") as config:
            config.write("baseurl: /blog\n")
        (site / "_layouts").mkdir()
        (site / "_layouts" / "post.html").write_text("<main>{{ page.excerpt }}{{ content }}</main>")
        said = tool("jekyll", "build", cwd=site)
        assert "Warning" not in said
        pages = "".join(path.read_text(encoding="utf-8") for path in (site / "_site").rglob("*.html"))
        shown_there = set(re.findall(r'(?:src|href)="(/[^"]*/media/[^"]+)"', pages))
        written = "".join(path.read_text(encoding="utf-8") for path in (site / "_posts").iterdir())
        assert {path.removeprefix("/blog/media/") for path in shown_there} == {
            name for name in moved.pictures() if name in written
        }
        assert len(shown_there) > 40
        assert (site / "_site" / "media").is_dir()
