"""Records with several categories, tags, pages, threads and statuses arrive in the programs that read the exports."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from exporter.export.interface import Preset, Side
from exporter.html.links import AddressPattern
from exporter.model.publication import Declared
from tests.importers.blogs import Blog
from tests.importers.conftest import Tool, serving
from tests.importers.ghost import running
from tests.importers.sites import GENERATORS, Generator
from tests.importers.test_wordpress import SCRIPT, installed
from tests.support.wide import AS_OF, WIDE, wide_blog

__all__ = ["installed"]

CHOSEN: dict[str, Any] = {"declared": Declared(), "service": WIDE, "as_of": AS_OF}
SEA, TRIP, PLAIN, ABOUT = "海の日", "旅", "ふつう", "この人について"


@pytest.fixture
def wide(tmp_path: Path) -> Blog:
    """The blog of wide records."""
    records = wide_blog()
    records.write_pictures(tmp_path / "archive")
    return Blog("wide", records, tmp_path / "archive")


def test_wordpress_has_everything(tool: Tool, installed: Path, wide: Blog, tmp_path: Path) -> None:
    site = shutil.copytree(installed, tmp_path / "wordpress")
    wide.export("wxr", tmp_path / "pictures", media_folder=True, **CHOSEN)
    with serving(tmp_path / "pictures" / "media") as address:
        chosen = {**CHOSEN, "media_base_url": address}
        wide.export("wxr", tmp_path / "out", hidden_comments=True, **chosen)
        wide.export("wxr", tmp_path / "rest", side=Side.REST, **chosen)
        for file in [*(tmp_path / "out").iterdir(), *(tmp_path / "rest").iterdir()]:
            assert json.loads(tool("php", SCRIPT, "read", site, file)) == []
    rows = {row["title"]: row for row in json.loads(tool("php", SCRIPT, "rows", site))}
    assert len(rows) == 11
    sea, trip, about = rows[SEA], rows[TRIP], rows[ABOUT]
    assert sorted(sea["categories"]) == sorted([["海"], ["旅", "外国", "欧州"], ["料理", "欧州"]])
    assert trip["categories"] == [["旅", "外国", "欧州"]]
    assert [sorted(row["tags"]) for row in (sea, trip, about)] == [["夏", "貝, 砂"], ["夏"], []]
    assert [row["type"] for row in (sea, about)] == ["post", "page"]
    assert [row["name"] for row in (sea, trip, about)] == ["umi-no-hi", "tabi", "about"]
    assert sea["excerpt"] == "海に行った <b>日</b>のこと"
    assert [row["author"] for row in (sea, trip, rows[PLAIN])] == ["海の人", "Taro", "海の人"]
    assert sea["picture"].startswith("cover-")
    assert sea["alt"] == "夏の海"
    said = {each["id"]: each for each in sea["comments"]}
    assert {name: each["parent"] for name, each in said.items()} == {
        "c9": "", "c5": "c9", "c7": "c5", "c1": "hidden", "t1": "", "p1": "", "pending": "", "hidden": "", "spam": "",
    }  # fmt: skip
    assert {name: each["approved"] for name, each in said.items() if each["approved"] != "1"} == {
        "pending": "0", "hidden": "0", "spam": "spam",
    }  # fmt: skip
    assert {name: each["type"] for name, each in said.items() if each["type"] != "comment"} == {
        "t1": "trackback", "p1": "pingback",
    }  # fmt: skip
    assert [said["c9"]["email"], said["c9"]["url"]] == ["kamome@mail.example", "https://kamome.example/"]
    assert [said["c5"]["user"], said["c9"]["user"]] == ["海の人", ""]
    hidden = {title.removeprefix("zqsecretqz "): row["status"] for title, row in rows.items() if "zqsecret" in title}
    assert hidden == {"private": "private", "draft": "draft", "members": "private", "password": "private",
                      "unknown": "private", "later": "future", "past": "draft"}  # fmt: skip


HUGO: Mapping[str, str] = {
    "layouts/_default/single.html": '<meta charset="utf-8"><title>{{ .Title }}</title>'
    '{{ range (.GetTerms "categories") }}<i class="category">{{ .LinkTitle }}</i>{{ end }}'
    '{{ range (.GetTerms "tags") }}<i class="tag">{{ .LinkTitle }}</i>{{ end }}'
    '<i class="author">{{ .Params.author }}</i><i class="type">{{ .Section }}</i><i class="summary">{{ .Summary | plainify | htmlUnescape }}</i>'
    '<i class="description">{{ .Description }}</i>'
    '{{ with .Params.images }}{{ with $.Resources.GetMatch (index . 0) }}<img class="cover" src="{{ .RelPermalink }}">{{ end }}{{ end }}'
    "<main>{{ .Content }}</main>",
    "layouts/_default/list.html": "{{ range .Pages }}<article>{{ .LinkTitle }}</article>{{ end }}",
}


def facts(page: str) -> dict[str, list[str]]:
    """Return the facts that a page shows, by their names."""
    found: dict[str, list[str]] = {}
    for name, text in re.findall(r'<i class="(\w+)">(.*?)</i>', page, re.DOTALL):
        found.setdefault(name, []).append(unescape(text).strip())
    return found


def page_with(site: Path, pattern: str, title: str) -> tuple[Path, str]:
    """Return the page with a title, and its text."""
    pages = {path: path.read_text("utf-8") for path in site.glob(pattern)}
    return next((path, text) for path, text in pages.items() if f"<title>{title}</title>" in text)


def exported(wide: Blog, generator: Generator, folder: Path, **options: Any) -> dict[str, Any]:
    return wide.export(generator.form, folder, preset=generator.preset, **CHOSEN, **options)


@pytest.mark.parametrize("name", ["Hugo 0.111", "Hugo 0.168"])
@pytest.mark.parametrize("body", ["markdown", "html"])
def test_hugo_builds_taxonomies_pages_summaries_covers_and_redirects(
    tool: Tool, wide: Blog, tmp_path: Path, name: str, body: str
) -> None:
    hugo = replace(GENERATORS[name], files=HUGO)
    exported(wide, hugo, tmp_path / "site", body=body)
    site = hugo.build(tool, tmp_path / "site")
    path, sea = page_with(site, "posts/*/index.html", SEA)
    assert facts(sea) == {"category": ["海", "欧州"], "tag": ["夏", "貝, 砂"], "author": ["海の人"], "type": ["posts"],
                          "summary": ["海へ 旅の話"], "description": ["海に行った 日のこと"]}  # fmt: skip
    cover = re.search(r'class="cover" src="([^"]*)"', sea)
    assert cover is not None
    assert (site / unquote(cover[1]).removeprefix("https://example.org").lstrip("/")).is_file()
    about = facts(page_with(site, "pages/*/index.html", ABOUT)[1])
    assert [about["type"], about["summary"]] == [["pages"], ["自己_紹介_ *です* <"]]
    europe = (site / "categories" / "欧州" / "index.html").read_text("utf-8")
    assert sorted(re.findall("<article>(.*?)</article>", europe)) == sorted([SEA, TRIP])
    summer = (site / "tags" / "夏" / "index.html").read_text("utf-8")
    assert len(re.findall("<article>", summer)) == 2
    redirect = (site / "archives" / "2024" / "umi-no-hi.html").read_text("utf-8")
    assert path.parent.name.lower() in redirect.lower() or "%e6" in redirect.lower()


JEKYLL = {
    f"_layouts/{name}.html": f'<meta charset="utf-8"><title>{{{{ page.title | escape }}}}</title><i class="type">{name}</i>'
    '{% for each in page.categories %}<i class="category">{{ each | escape }}</i>{% endfor %}'
    '{% for each in page.tags %}<i class="tag">{{ each | escape }}</i>{% endfor %}'
    '<i class="author">{{ page.author }}</i><i class="summary">{{ page.excerpt | strip_html }}</i>'
    '<img class="cover" src="{{ page.image }}"><main>{{ content }}</main>'
    for name in ("post", "page")
} | {
    "index.html": "---\n---\n{% for each in site.categories %}<i class='in'>{{ each[0] }}: {{ each[1].size }}</i>{% endfor %}"
    "{% for each in site.tags %}<i class='in'>{{ each[0] }}: {{ each[1].size }}</i>{% endfor %}"
}


@pytest.mark.parametrize("body", ["markdown", "html"])
def test_jekyll_builds_categories_tags_pages_and_excerpts(tool: Tool, wide: Blog, tmp_path: Path, body: str) -> None:
    jekyll = replace(GENERATORS["Jekyll"], files=JEKYLL)
    exported(wide, jekyll, tmp_path / "site", body=body)
    site = jekyll.build(tool, tmp_path / "site")
    _, sea = page_with(site, "posts/**/*.html", SEA)
    assert facts(sea) == {"category": ["海", "欧州"], "tag": ["夏", "貝, 砂"], "author": ["海の人"], "type": ["post"],
                          "summary": ["海に行った 日のこと"]}  # fmt: skip
    cover = re.search(r'class="cover" src="/([^"]*)"', sea)
    assert cover is not None
    assert (site / cover[1]).is_file()
    _, about = page_with(site, "pages/**/*.html", ABOUT)
    assert [facts(about)["type"], facts(about)["summary"]] == [["page"], ["自己_紹介_ *です* <"]]
    link = re.search(r'href="(/posts/[^"]*)"', about)
    assert link is not None
    assert {"海: 1", "欧州: 2", "夏: 2", "貝, 砂: 1"} == set(
        re.findall("<i class='in'>(.*?)</i>", (site / "index.html").read_text("utf-8"))
    )


PELICAN = {
    "pelicanconf.py": GENERATORS["Pelican"].files["pelicanconf.py"],
    **{
        f"templates/{name}.html": f'<meta charset="utf-8"><title>{{{{ {name}.title }}}}</title><i class="type">{name}</i>'
        f'<i class="category">{{{{ {name}.category }}}}</i>'
        f'{{% for tag in {name}.tags %}}<i class="tag">{{{{ tag }}}}</i>{{% endfor %}}'
        f'<i class="author">{{{{ {name}.author }}}}</i><i class="summary">{{{{ {name}.summary | striptags }}}}</i>'
        f'<img class="cover" src="{{{{ {name}.cover }}}}"><main>{{{{ {name}.content }}}}</main>'
        for name in ("article", "page")
    },
}


@pytest.mark.parametrize("body", ["markdown", "html"])
def test_pelican_builds_a_category_tags_pages_and_summaries(tool: Tool, wide: Blog, tmp_path: Path, body: str) -> None:
    pelican = replace(GENERATORS["Pelican"], files=PELICAN)
    exported(wide, pelican, tmp_path / "site", body=body)
    site = pelican.build(tool, tmp_path / "site")
    _, sea = page_with(site, "*.html", SEA)
    found = facts(sea)
    assert found == {"category": ["海"], "tag": ["欧州", "夏", "貝, 砂"], "author": ["海の人"], "type": ["article"],
                     "summary": ["海に行った 日のこと"]}  # fmt: skip
    cover = re.search(r'class="cover" src="([^"]*)"', sea)
    assert cover is not None
    assert (site / cover[1]).is_file()
    about = facts(page_with(site, "pages/*.html", ABOUT)[1])
    assert [about["type"], about["summary"]] == [["page"], ["自己_紹介_ *です* <"]]
    assert (site / "tag").is_dir()


@pytest.mark.parametrize("name", ["Eleventy", "Eleventy's starter", "Astro's starter"])
def test_presets_build_tags_and_pages(tool: Tool, wide: Blog, tmp_path: Path, name: str) -> None:
    generator = GENERATORS[name]
    exported(wide, generator, tmp_path / "site")
    site = generator.build(tool, tmp_path / "site")
    _, sea = page_with(site, generator.pages, SEA)
    wanted = ["夏", "貝, 砂"] if generator.preset is Preset.PLAIN else ["海", "欧州", "夏", "貝, 砂"]
    assert facts(sea)["category"] == wanted
    pages = [path for path in site.glob("pages/*/index.html") if "紹介" in path.read_text("utf-8")]
    assert len(pages) == 1


def test_ghost_has_everything(tool: Tool, wide: Blog, tmp_path: Path) -> None:
    wide.export("ghost", tmp_path / "out", **CHOSEN)
    file = tmp_path / "out" / "ghost-public.zip"
    with running(tmp_path / "ghost", tool.path("node")) as started:
        started.tell_zone("Asia/Tokyo")
        held = started.take(file)
    posts = {each["title"]: each for each in held["posts"]}
    own = {"Coming soon", "About this site"}
    assert {title: [each["type"], each["status"]] for title, each in posts.items() if title not in own} == {
        SEA: ["post", "published"], TRIP: ["post", "published"], PLAIN: ["post", "published"],
        ABOUT: ["page", "published"],
    }  # fmt: skip
    sea = posts[SEA]
    tags = {each["id"]: each["name"] for each in held["tags"]}
    rows = sorted(held["posts_tags"], key=lambda row: row["sort_order"])
    # The last one is a mark that Ghost adds to all that it imports.
    assert [tags[row["tag_id"]] for row in rows if row["post_id"] == sea["id"]][:-1] == ["海", "欧州", "夏", "貝, 砂"]
    assert sea["custom_excerpt"] == "海に行った 日のこと"
    assert "/content/images/cover-" in sea["feature_image"]
    assert [each["feature_image_alt"] for each in held["posts_meta"] if each["post_id"] == sea["id"]] == ["夏の海"]
    users = {each["id"]: each["name"] for each in held["users"]}
    writers = {row["post_id"]: users[row["author_id"]] for row in held["posts_authors"]}
    assert [writers[posts[title]["id"]] for title in (SEA, TRIP, PLAIN)] == ["海の人", "Taro", "owner"]


def test_blogger_file_fits_the_schema(tool: Tool, wide: Blog, tmp_path: Path) -> None:
    for side in (Side.PUBLIC, Side.REST):
        wide.export("blogger-atom", tmp_path / side, side=side, **CHOSEN)
        tool("jing", "-c", Path(__file__).parent / "blogger.rnc", *(tmp_path / side).iterdir())


def test_books_pass_epubcheck(tool: Tool, wide: Blog, tmp_path: Path) -> None:
    for vertical in (False, True):
        folder = tmp_path / f"book-{vertical}"
        wide.export("epub", folder, vertical=vertical, **CHOSEN)
        book = folder / "book-public.epub"
        tool("java", "-jar", tool.path("epubcheck"), book, "--json", tmp_path / "said.json", "--quiet")
        said = json.loads((tmp_path / "said.json").read_text("utf-8"))
        assert [each for each in said["messages"] if each["severity"] in {"FATAL", "ERROR", "WARNING"}] == []
        with zipfile.ZipFile(book) as packed:
            assert any(name.startswith("EPUB/media/cover-") for name in packed.namelist())


def test_redirects_of_stated_addresses_work_in_nginx(wide: Blog, tmp_path: Path) -> None:
    new = AddressPattern("https://new.example/{post_name}/", "x", path=True)
    wide.export("redirects", tmp_path / "out", new_url=new, **CHOSEN)
    lines = (tmp_path / "out" / "nginx.conf").read_text("utf-8")
    assert 'location = "/archives/2024/umi-no-hi.html" { return 301 "https://new.example/umi-no-hi/"; }' in lines
