"""The homes that show posts: each takes an export of a blog, and says where every post is then to be seen."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from exporter.export.interface import Preset
from exporter.html.links import AddressPattern
from tests.export.mt_readers import moment, read_carelessly
from tests.importers.blogs import Blog
from tests.importers.conftest import NODE_MODULES, Tool, serving
from tests.importers.ghost import running
from tests.importers.pages import Place, named_pages
from tests.importers.wordpress_site import running_site

OLD: Final = (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),)
SCRIPT: Final = Path(__file__).parent / "wordpress.php"
LISTS: Final = re.compile(r"index[0-9]*|archives|authors|categories|tags")
"""The pages of Pelican that are no posts."""

Seen = AbstractContextManager[tuple[dict[str, Place], dict[str, Any]]]
"""Where each post is, by its id, and the export's report; as long as the home runs."""

HUGO: Final = '<meta charset="utf-8"><title>{{ .Title }}</title><time datetime="{{ .Date.Format "2006-01-02T15:04:05Z07:00" }}"></time><main>{{ .Content }}</main>'
JEKYLL: Final = '<meta charset="utf-8"><title>{{ page.title | escape }}</title><time datetime="{{ page.date | date_to_xmlschema }}"></time><main>{{ content }}</main>'
PELICAN: Final = '<meta charset="utf-8"><title>{{ article.title }}</title><time datetime="{{ article.date.isoformat() }}"></time><main>{{ article.content }}</main>'
ELEVENTY: Final = (
    '<meta charset="utf-8"><title>{{ title }}</title><time datetime="{{ date.toLocaleDateString("sv-SE", {timeZone: "Asia/Tokyo"}) }}"></time>'
    "<main>{{ content | safe }}</main>"
)
ELEVENTY_SITE: Final = (
    'export default (config) => { config.addPassthroughCopy("media"); config.setUseGitIgnore(false); };\n'
)

ASTRO: Final = {
    "astro.config.mjs": "export default { cacheDir: './.cache', site: 'https://example.org', markdown: { smartypants: false } };\n",
    # The schema is that of Astro's blog starter, and strict, so that a field that it does not have is noticed.
    "src/content.config.ts": """
import { defineCollection, z } from 'astro:content';
import { glob } from 'astro/loaders';
const fields = {
  title: z.string(), description: z.string(), pubDate: z.coerce.date(), updatedDate: z.coerce.date().optional(),
};
const blog = defineCollection({
  loader: glob({ base: './src/content/blog', pattern: '**/*.{md,mdx}' }),
  schema: ({ image }) => z.object({ ...fields, heroImage: image().optional(), tags: z.array(z.string()).optional() }),
});
export const collections = { blog };
""",
    "src/pages/blog/[...slug].astro": """---
import { getCollection, render } from 'astro:content';
export async function getStaticPaths() {
  const posts = await getCollection('blog');
  return posts.map((post) => ({ params: { slug: post.id }, props: post }));
}
const post = Astro.props;
const { Content } = await render(post);
---
<meta charset="utf-8" /><title>{post.data.title}</title>
<time datetime={post.data.pubDate.toLocaleDateString("sv-SE", { timeZone: "Asia/Tokyo" })}></time>
{(post.data.tags ?? []).map((each) => <i class="category">{each}</i>)}
<main><Content /></main>
""",
    "src/pages/index.astro": """---
import { getCollection } from 'astro:content';
const posts = await getCollection('blog');
---
{posts.map((post) => <a href={`/blog/${post.id}/`}>{post.data.title} {post.data.description}</a>)}
""",
}
ELEVENTY_STARTER: Final = {
    "eleventy.config.mjs": """
export default (config) => {
  config.addPreprocessor("drafts", "*", (data) => (data.draft ? false : undefined));
  config.addPassthroughCopy({ "./public/": "/" });
  config.setUseGitIgnore(false);
};
export const config = { dir: { input: "content", includes: "../_includes", output: "_site" } };
""",
    "_includes/post.njk": '<meta charset="utf-8"><title>{{ title }}</title>'
    '<time datetime="{{ date.toLocaleDateString("sv-SE", {timeZone: "Asia/Tokyo"}) }}"></time>{% for each in tags %}{% if each != "posts" %}'
    '<i class="category">{{ each }}</i>{% endif %}{% endfor %}<main>{{ content | safe }}</main>',
    "content/blog/blog.json": '{"layout": "post.njk", "tags": ["posts"]}',
    "content/feed.njk": "---\npermalink: feed.xml\neleventyExcludeFromCollections: true\n---\n"
    "{% for each in collections.all %}{{ each.data.title }}{{ each.content }}{% endfor %}",
}


class Starter(NamedTuple):
    """What a generator's starter has beside the posts, the command that builds it, and the folder with what it built."""

    files: dict[str, str]
    command: tuple[str, ...]
    built: str


STARTERS: Final = {
    Preset.ASTRO: Starter(ASTRO, ("astro", "build"), "dist"),
    Preset.ELEVENTY: Starter(ELEVENTY_STARTER, ("eleventy", "--quiet"), "_site"),
}


def build(tool: Tool, form: str, site: Path, preset: Preset | None = None) -> Path:
    """Let a generator build a site of an export, with a layout for its posts; returns the folder with the pages."""
    if preset is not None:
        return _starter(tool, site, preset)
    if form == "hugo":
        _write(site / "layouts" / "_default" / "single.html", HUGO)
        tool("hugo", "--quiet", cwd=site)
        return site / "public"
    if form == "jekyll":
        _write(site / "_layouts" / "post.html", JEKYLL)
        tool("jekyll", "build", "--quiet", cwd=site)
        return site / "_site"
    if form == "pelican":
        _write(site / "theme" / "templates" / "article.html", PELICAN)
        (site / "theme" / "static").mkdir()
        zone = f"TIMEZONE={json.dumps('Asia/Tokyo')}"
        tool("pelican", "content", "-o", "output", "-t", "theme", "-e", zone, cwd=site)
        return site / "output"
    _write(site / "_includes" / "post.njk", ELEVENTY)
    _write(site / "posts" / "posts.json", '{"layout": "post.njk"}')
    _write(site / "eleventy.config.mjs", ELEVENTY_SITE)
    tool("eleventy", "--quiet", cwd=site)
    return site / "_site"


def generated(form: str, body: str, preset: Preset | None = None) -> Callable[[Tool, Blog, Path], Seen]:
    """A home of pages that a generator builds."""

    @contextmanager
    def home(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
        options = {} if preset is None else {"preset": preset}
        report = moved.export(form, folder / "site", body=body, old_urls=OLD, **options)
        built = build(tool, form, folder / "site", preset)
        below = {"pelican": ""}.get(form, "posts") if preset is None else "blog"
        files = [
            each for each in (built / below).rglob("*.html") if not (form == "pelican" and LISTS.fullmatch(each.stem))
        ]
        with serving(built) as address:
            yield named_pages(moved, built, files, address), report

    return home


def wordpress(form: str, style: str, installed: Path) -> Callable[[Tool, Blog, Path], Seen]:
    """A WordPress with its own theme, which took a file."""

    @contextmanager
    def home(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
        moved.export(form, folder / "pictures", media_folder=True)
        with running_site(tool, installed, folder / "wp") as site, serving(folder / "pictures" / "media") as address:
            report = moved.export(
                form, folder / "out", wordpress_body=style, media_base_url=address, old_urls=OLD,
                new_url=AddressPattern(f"{site.url}/{{post_name}}/", "x"),
            )  # fmt: skip
            if form == "wxr":
                tool("php", SCRIPT, "read", site.folder, folder / "out" / "wordpress-public.xml")
            else:
                _insert(tool, site.folder, folder / "out" / "movabletype-public.txt")
            addresses = json.loads(tool("php", SCRIPT, "addresses", site.folder))
            posts = moved.posts()
            yield {post.id: Place(url, ".entry-content") for post, url in zip(posts, addresses, strict=True)}, report

    return home


@contextmanager
def ghost(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
    """A Ghost with its own theme, which took the ZIP."""
    report = moved.export("ghost", folder / "out", old_urls=OLD)
    file = folder / "out" / "ghost-public.zip"
    with zipfile.ZipFile(file) as packed:
        sent = json.loads(packed.read("ghost.json"))["db"][0]["data"]["posts"]
    with running(folder / "ghost", tool.path("node")) as started:
        started.tell_zone("Asia/Tokyo")
        started.take(file)
        yield (
            {str(each["id"]): Place(f"{started.address}/{quote(each['slug'])}/", ".gh-content") for each in sent},
            report,
        )


@contextmanager
def epub(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
    """A book whose chapters a browser opens, as readers of books do."""
    report = moved.export("epub", folder / "out", old_urls=OLD)
    with zipfile.ZipFile(folder / "out" / "book-public.epub") as packed:
        packed.extractall(folder / "book")
    with serving(folder / "book" / "EPUB") as address:
        yield {post.id: Place(f"{address}entry-{post.id}.xhtml", ".text") for post in moved.posts()}, report


@contextmanager
def single_page(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
    """The one page with everything in it."""
    report = moved.export("html", folder / "out", old_urls=OLD)
    with serving(folder / "out") as address:
        url = f"{address}book-public.html"
        yield {post.id: Place(url, f"#e{post.id} > div", f"e{post.id}") for post in moved.posts()}, report


def _insert(tool: Tool, site: Path, file: Path) -> None:
    rows = [
        [
            entry.fields["TITLE"], entry.body.strip(), entry.extended.strip(),
            {
                "date": str(moment(entry.fields["DATE"])),
                "name": entry.fields["BASENAME"],
                "comments": [{**asdict(each), "date": str(moment(each.date))} for each in entry.comments],
            },
        ]
        for entry in read_carelessly(file.read_bytes())
    ]  # fmt: skip
    _write(site.parent / "posts.json", json.dumps(rows))
    tool("php", SCRIPT, "insert", site, site.parent / "posts.json")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _starter(tool: Tool, site: Path, preset: Preset) -> Path:
    for name, text in STARTERS[preset].files.items():
        _write(site / name, text)
    (site / "node_modules").symlink_to(NODE_MODULES)
    tool(*STARTERS[preset].command, cwd=site)
    return site / STARTERS[preset].built
