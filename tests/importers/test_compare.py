"""Comparisons with real homes: a WordPress after an import, a Hugo site, and a hundred losses in 2,000 posts."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from exporter.compare.archived import old_posts
from exporter.compare.posts import Fault, Scope
from exporter.compare.reconcile import Comparison
from exporter.export.interface import ExportOptions
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.html.links import AddressPattern
from exporter.library.compare import Arrivals, compare, open_home
from exporter.settings import Settings
from tests.compare.moved import OLD, Moved, moved_blog
from tests.compare.test_losses import named
from tests.export.hostile import ENTRIES
from tests.export.memory import SAID
from tests.importers.blogs import BLOGS, Blog, blog
from tests.importers.conftest import Tool, serving
from tests.importers.test_wordpress import SCRIPT as IMPORTER
from tests.importers.test_wordpress import installed
from tests.importers.wordpress_site import SCRIPT, Site, running_site

__all__ = ["installed"]

OLD_URLS = (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "entry_url"),)
MOST_SECONDS = 60
KNOWN = {
    "demo": {},
    # Every second picture is not in the archive.
    "hostile": {str(number): {Fault.PICTURE_ON_OLD_HOST} for number in range(8, ENTRIES + 1, 8)},
}
"""The known differences in WordPress, with their reasons."""


def expected(moved: Blog, **options: Any) -> Arrivals:
    """Return the posts that the home should have."""
    chosen = ExportOptions(**{"declared": SAID, "hidden_comments": True, "old_urls": OLD_URLS, **options})
    posts = Posts(moved.records, chosen, Report(), holds_back=True)
    return Arrivals(list(old_posts(posts, asked=True)), posts.report.old_hosts, {})


async def compared(place: str, arrivals: Arrivals, site: Site | None = None) -> Comparison:
    settings = Settings(
        new_home_user=None if site is None else "owner",
        new_home_token=None if site is None else site.password,
        allow_private_network=True,
    )
    async with open_home(place, settings) as home:
        return (await compare(home, arrivals, Scope(old_hosts=arrivals.old_hosts))).comparison


@pytest.mark.parametrize("name", BLOGS)
async def test_wordpress_has_all_imported_posts(tool: Tool, installed: Path, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved, running_site(tool, installed, tmp_path / "site") as site:
        links = {"old_urls": OLD_URLS, "new_url": AddressPattern(f"{site.url}/?p={{entry_id}}", "--new-url")}
        moved.export("wxr", tmp_path / "pictures", media_folder=True)
        with serving(tmp_path / "pictures" / "media") as address:
            moved.export("wxr", tmp_path / "out", media_base_url=address, **links)
            tool("php", IMPORTER, "read", site.folder, tmp_path / "out" / "wordpress-public.xml")
        found = await compared(site.url, expected(moved), site)
        assert named(found) == KNOWN[name]
        assert len(found.results) == len(moved.posts())
        assert [each for each in found.unchecked if each.asked] == []
        assert found.extra == []


LINKED: dict[str, Any] = {"old_urls": OLD_URLS, "new_url": AddressPattern("https://new.example/{slug}/", "--new-url")}
both_bodies = pytest.mark.parametrize("body", ["markdown", "html"])


UNMARKED = {
    Fault.LINK_ELSEWHERE: (r"<a\b[^>]*>\s*(<img[^>]*>)\s*</a>", r"\1"),
    Fault.BOLD: (r"</?(?:strong|b)>", ""),
    Fault.ITALIC: (r"</?em>", ""),
    Fault.RUBY: (r"</?(?:ruby|rp|rt)>", ""),
    Fault.QUOTE: (r"</?(?:blockquote|q)>", "<br>"),
    Fault.HEADING: (r"(</?)h[34]\b", r"\1h5"),
    Fault.TABLE: (r"</?(?:table|thead|tbody|t[rdh])\b[^>]*>", "<br>"),
    Fault.LIST: (r"</?(?:[uo]l|li)\b[^>]*>", "<br>"),
}
"""Damage to the built pages of entries that have such marks."""


async def check_marks(folder: Path, moved: Blog) -> None:
    """Take marks and links from a built site, each kind from one page, and check that exactly these are named."""
    arrivals, harmed = expected(moved), dict[str, Fault]()
    pages = {result.old.id: result.key for result in (await compared(str(folder), arrivals)).results}
    for kind, (pattern, new) in UNMARKED.items():
        for old in arrivals.posts:
            assert old.marked is not None
            marked = any(key[0] is kind and texts for key, texts in old.marked.passages.items())
            linked = kind is Fault.LINK_ELSEWHERE and any(link.picture for link in old.marked.links)
            page = folder / unquote(urlsplit(pages[old.id]).path).lstrip("/")
            if old.id not in harmed and (marked or linked) and re.search(pattern, page.read_text("utf-8")):
                page.write_text(re.sub(pattern, new, page.read_text("utf-8")), "utf-8")
                harmed[old.id] = kind
                break
    assert set(harmed.values()) == set(UNMARKED)
    assert named(await compared(str(folder), arrivals)) == {entry_id: {kind} for entry_id, kind in harmed.items()}


async def check(place: Path | str, moved: Blog) -> None:
    """Check that a comparison with a complete home finds no fault."""
    found = await compared(str(place), expected(moved))
    assert named(found) == {}
    assert found.identical == len(moved.posts())
    assert [each for each in found.unchecked if each.asked] == []


def spoil_pages(public: Path, moved: Blog) -> dict[str, set[Fault]]:
    """Join lines and change links between posts in Hugo's output; return the faults to find."""
    linking = [post for post in expected(moved).posts if post.own_links and post.asked]
    assert len(linking) >= 3
    pages = {page: page.read_text("utf-8") for page in public.rglob("index.html")}
    harmed = {}
    for number, post in enumerate(linking[:3]):
        (page,) = (page for page, text in pages.items() if f"<title>{escape(post.title)} |" in text)
        text = pages[page]
        if number == 0:
            new, kind = re.sub(r"<br>|</p>\s*<p>|<br />", " ", text), Fault.LINE_BREAKS
        else:
            place = "/nowhere/" if number == 1 else f"/{page.parent.name}/"
            new, kind = (
                re.sub(r'href="?(?:https://new\.example)?/[^">\s]*"?', f'href="{place}"', text),
                Fault.LINK_ASTRAY,
            )
        assert new != text
        page.write_text(new, "utf-8")
        harmed[post.id] = {kind}
    return harmed


@both_bodies
async def test_hugo_shows_all_exported_posts(tool: Tool, tmp_path: Path, body: str) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        moved.export("hugo", tmp_path / "site", body=body, **LINKED)
        layouts, public = tmp_path / "site" / "layouts" / "_default", tmp_path / "site" / "public"
        layouts.mkdir(parents=True)
        (layouts / "single.html").write_text(
            '<title>{{ .Title }} | 新しい家</title><time datetime="{{ .Date.Format "2006-01-02T15:04:05Z07:00" }}"></time>'
            '{{ range .Params.categories }}<a rel="category">{{ . }}</a>{{ end }}<article>{{ .Content }}</article>'
        )
        (layouts / "list.html").write_text("{{ range .Pages }}<h2>{{ .Title }}</h2>{{ .Content }}{{ end }}")
        public.mkdir()
        with serving(public) as address:
            tool("hugo", "--quiet", "--baseURL", address, cwd=tmp_path / "site")
            assert (public / "sitemap.xml").is_file()
            await check(address, moved)
            harmed = spoil_pages(public, moved)
            assert named(await compared(address, expected(moved))) == harmed
        await check(tmp_path / "site" / "content", moved)
        if body == "html":
            tool("hugo", "--quiet", cwd=tmp_path / "site")
            await check_marks(public, moved)


async def test_jekyll_shows_all_exported_posts(tool: Tool, tmp_path: Path) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        moved.export("jekyll", tmp_path / "site", body="html", **LINKED)
        (tmp_path / "site" / "_layouts").mkdir()
        (tmp_path / "site" / "_layouts" / "post.html").write_text(
            '<title>{{ page.title | escape }}</title><time datetime="{{ page.date | date_to_xmlschema }}"></time>'
            '{% for each in page.categories %}<i class="category">{{ each | escape }}</i>{% endfor %}<main>{{ content }}</main>'
        )
        (tmp_path / "site" / "_config.yml").write_text("future: true\ntimezone: Asia/Tokyo\n")
        tool("jekyll", "build", "--quiet", cwd=tmp_path / "site")
        await check(tmp_path / "site" / "_site", moved)
        await check_marks(tmp_path / "site" / "_site", moved)


@pytest.mark.parametrize("form", ["jekyll", "pelican"])
async def test_sources_of_a_site_equal_the_export(tmp_path: Path, form: str) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        moved.export(form, tmp_path / "site", **LINKED)
        await check(tmp_path / "site", moved)


async def test_pelican_shows_all_exported_posts(tool: Tool, tmp_path: Path) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        moved.export("pelican", tmp_path / "site", body="html", **LINKED)
        tool("pelican", "content", "-o", "output", "-e", f"TIMEZONE={json.dumps('Asia/Tokyo')}", cwd=tmp_path / "site")
        await check(tmp_path / "site" / "output", moved)
        await check_marks(tmp_path / "site" / "output", moved)


async def test_eleventy_shows_all_exported_posts(tool: Tool, tmp_path: Path) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        site = tmp_path / "site"
        moved.export("markdown", site, body="markdown", **LINKED)
        (site / "_includes").mkdir()
        (site / "_includes" / "post.njk").write_text(
            '<title>{{ title }}</title><time datetime="{{ date.toISOString() }}"></time>'
            '{% for each in categories %}<i class="category">{{ each }}</i>{% endfor %}<main>{{ content | safe }}</main>'
        )
        (site / "posts" / "posts.json").write_text('{"layout": "post.njk"}')
        (site / "eleventy.config.mjs").write_text(
            'export default (config) => { config.addPassthroughCopy("media"); config.setUseGitIgnore(false); };\n'
        )
        tool("eleventy", "--quiet", cwd=site)
        await check(site / "_site", moved)
        await check_marks(site / "_site", moved)


@pytest.mark.parametrize(("count", "losses"), [(300, 3), pytest.param(2000, 10, marks=pytest.mark.slow)])
async def test_exactly_the_losses_among_many_posts_are_named(
    tool: Tool, installed: Path, tmp_path: Path, count: int, losses: int
) -> None:
    """Lose things of ten kinds, each in several posts."""
    moved = moved_blog(count)
    posts = Posts(moved.archive, ExportOptions(declared=SAID, hidden_comments=True), Report(), holds_back=True)
    arrivals = Arrivals(list(old_posts(posts, asked=True)), posts.report.old_hosts, {})
    with running_site(tool, installed, tmp_path / "site") as site:
        fill(tool, site, moved, tmp_path / "posts.json")
        found = await compared(site.url, arrivals, site)
        assert named(found) == {}
        assert (found.identical, found.whole) == (count, True)
        harmed = moved.harmed(losses)
        assert Counter(harmed.values()) == dict.fromkeys(harmed.values(), losses)
        spoil(tool, site, moved, harmed, tmp_path / "harm.json")
        begun = time.process_time()
        found = await compared(site.url, arrivals, site)
        busy = time.process_time() - begun
        assert named(found) == {entry_id: {kind} for entry_id, kind in harmed.items()}
        assert (found.identical, found.extra) == (count - len(harmed), [])
        assert busy < MOST_SECONDS  # in addition to WordPress' own time


def fill(tool: Tool, site: Site, moved: Moved, file: Path) -> None:
    """Import a blog into a WordPress."""
    media = site.folder / "wp-content" / "uploads" / "old"
    media.mkdir(parents=True)
    for name, content in moved.files.items():
        (media / name).write_bytes(content)
    file.write_text(
        json.dumps(
            [
                {
                    "post_title": post.title,
                    "post_content": post.content.replace("{media}", f"{site.url}/wp-content/uploads/old/").replace(
                        "{home}", site.url
                    ),
                    "post_date": post.date.replace("T", " "),
                    "post_name": post.slug,
                    "post_status": "publish",
                    "category": post.category,
                    "comments": [
                        {"comment_author": name, "comment_content": text, "comment_date": date.replace("T", " ")}
                        for name, text, date in post.comments
                    ],
                }
                for post in moved.posts.values()
            ]
        )
    )
    tool("php", SCRIPT, "fill", site.folder, file)


def spoil(tool: Tool, site: Site, moved: Moved, harmed: dict[str, Fault], file: Path) -> None:
    """Damage a WordPress."""
    file.write_text(
        json.dumps(
            [
                {
                    "slug": moved.posts[entry_id].slug,
                    "kind": str(kind),
                    "file": f"wp-content/uploads/old/photo-{entry_id}.png",
                    "link": f'<p><a href="{OLD}/Entry/1/"><!-- old --></a></p>',
                }
                for entry_id, kind in harmed.items()
            ]
        )
    )
    tool("php", SCRIPT, "spoil", site.folder, file)
