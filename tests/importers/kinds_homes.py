"""The targets of the blog of kinds: each imports an export, and gives the page of every entry as its readers get it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
import zipfile
from base64 import b64decode
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urljoin, urlsplit

import yaml
from selectolax.lexbor import LexborNode

from exporter.archive.archive import Archive
from exporter.html.links import AddressPattern
from exporter.model.publication import Declared
from exporter.service.wxr.source import WxrFile
from tests.export.mt_readers import moment, read_carelessly
from tests.importers.blogs import Blog
from tests.importers.conftest import ROOT, Tool, serving
from tests.importers.kinds import HOST, SECRET, WORD, Seen, dom, folded
from tests.importers.sites import GENERATORS
from tests.importers.wordpress_site import Site, running_site

SCRIPT: Final = Path(__file__).parent / "wordpress.php"
BASE: Final = "https://example.org"
"""The address of the sites in the generators' settings."""
_REFRESH: Final = re.compile(r'http-equiv="?refresh"? content="[^"]*url=([^"]*)"', re.IGNORECASE)

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Home:
    """A target after the import: the page of each entry by its word, and the report of the export or the move.

    Attributes:
        pages: by the word in the entry's title.
        leaked: whether anything shows what readers of the blog never saw.
        report: as in ``OUT.report.json``; ``None`` for views of the archive, which have none.
    """

    pages: Mapping[str, Seen]
    leaked: bool
    report: Report | None


Homes = Callable[[Tool, "Kept", Path], AbstractContextManager[Home]]


@dataclass(frozen=True)
class Kept:
    """The archive of the blog, and the folder of an empty WordPress."""

    root: Path
    empty: Path

    def export(self, form: str, folder: Path, **options: Any) -> dict[str, Any]:
        """Export the public records and return the report."""
        reader = Archive.open(self.root)
        state = reader.state()
        try:
            return Blog("kinds", state, reader.layout.root).export(
                form, folder, **{"declared": Declared(), "service": WxrFile(), **options}
            )
        finally:
            state.close()


class Built:
    """A built site in a folder, whose addresses are below :data:`BASE`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, address: str) -> Path | None:
        """Return the file that an address leads to."""
        parts = urlsplit(address)
        if f"{parts.scheme}://{parts.netloc}" not in {BASE, HOST}:
            return None
        path = self._folder / unquote(parts.path).lstrip("/")
        found = path / "index.html" if path.is_dir() else path
        return found if found.is_file() else None

    def load(self, address: str) -> bytes | None:
        """Return the bytes at an address."""
        if address.startswith("data:"):
            return b64decode(address.partition(",")[2])
        found = self.file(address)
        return found.read_bytes() if found else None

    def lookup(self, address: str) -> str:
        """Return the word of the entry at an address, also through a page that only leads on."""
        for _ in range(2):
            html = (self.load(address) or b"").decode("utf-8", "replace")
            leads = _REFRESH.search(html)
            if leads is None:
                return word_in(html)
            address = urljoin(address, unescape(leads[1]))
        return ""

    def address(self, file: Path) -> str:
        """Return the address of a file."""
        return f"{BASE}/{quote(file.relative_to(self._folder).as_posix().removesuffix('index.html'))}"


def word_in(html: str) -> str:
    """Return the word in the title of a page."""
    found = re.search(r"<(?:title|h1)[^>]*>(.*?)</(?:title|h1)>", html, re.DOTALL)
    word = WORD.search(found[1]) if found else None
    return word[0] if word else ""


def first(page: LexborNode, css: str) -> LexborNode | None:
    """Return the first element."""
    found = page.css(css)
    return found[0] if found else None


def stated(page: LexborNode) -> dict[str, list[str]]:
    """Return the facts that a generator's template shows."""
    facts: dict[str, list[str]] = {}
    for each in page.css("i.fact"):
        facts.setdefault(str(each.attributes.get("title")), []).append(folded(each.text()))
    facts["cover"] = [each.attributes.get("src") or "" for each in page.css("img.cover")]
    return facts


_FACT: Final = '<i class="fact" title="{}">{}</i>'
_HUGO: Final = {
    "layouts/_default/single.html": '<meta charset="utf-8"><title>{{ .Title }}</title><h1>{{ .Title }}</h1>'
    '<i class="fact" title="date">{{ .Date.Format "2006-01-02T15:04:05Z07:00" }}</i><i class="fact" title="author">{{ .Params.author }}</i>'
    '{{ range .Params.categories }}<i class="fact" title="category">{{ . }}</i>{{ end }}'
    '{{ range .Params.tags }}<i class="fact" title="tag">{{ . }}</i>{{ end }}<i class="fact" title="type">{{ .Section }}</i>'
    '<i class="fact" title="excerpt">{{ .Description }}</i>'
    '{{ with .Params.images }}{{ with $.Resources.GetMatch (index . 0) }}<img class="cover" src="{{ .RelPermalink }}">{{ end }}{{ end }}'
    "<main>{{ .Content }}</main>",
    "layouts/_default/list.html": "{{ range .Site.RegularPages }}<article>{{ .Content }}</article>{{ end }}",
}
_JEKYLL: Final = {
    f"_layouts/{name}.html": '<meta charset="utf-8"><title>{{ page.title | escape }}</title><h1>{{ page.title | escape }}</h1>'
    '<i class="fact" title="date">{{ page.date | date_to_xmlschema }}</i><i class="fact" title="author">{{ page.author }}</i>'
    '{% for each in page.categories %}<i class="fact" title="category">{{ each | escape }}</i>{% endfor %}'
    '{% for each in page.tags %}<i class="fact" title="tag">{{ each | escape }}</i>{% endfor %}'
    f'<i class="fact" title="type">{name}</i><i class="fact" title="excerpt">{{{{ page.excerpt | strip_html }}}}</i>'
    '{% if page.image %}<img class="cover" src="{{ page.image }}">{% endif %}<main>{{ content }}</main>'
    for name in ("post", "page")
}
_PELICAN: Final = {
    "pelicanconf.py": GENERATORS["Pelican"].files["pelicanconf.py"],
    **{
        f"templates/{name}.html": f'<meta charset="utf-8"><title>{{{{ {name}.title }}}}</title><h1>{{{{ {name}.title }}}}</h1>'
        f'<i class="fact" title="date">{{{{ {name}.date.isoformat() }}}}</i><i class="fact" title="author">{{{{ {name}.author }}}}</i>'
        f'<i class="fact" title="category">{{{{ {name}.category }}}}</i>'
        f'{{% for tag in {name}.tags %}}<i class="fact" title="tag">{{{{ tag }}}}</i>{{% endfor %}}'
        f'<i class="fact" title="type">{name}</i><i class="fact" title="excerpt">{{{{ {name}.summary | striptags }}}}</i>'
        f'{{% if {name}.cover %}}<img class="cover" src="{{{{ SITEURL }}}}/{{{{ {name}.cover }}}}">{{% endif %}}<main>{{{{ {name}.content }}}}</main>'
        for name in ("article", "page")
    },
}
_NUNJUCKS: Final = (
    '<meta charset="utf-8"><title>{{ title }}</title><h1>{{ title }}</h1><i class="fact" title="date">{{ date.toISOString() }}</i>'
    '<i class="fact" title="author">{{ author }}</i>{% for each in tags or [] %}<i class="fact" title="category">{{ each }}</i>'
    '<i class="fact" title="tag">{{ each }}</i>{% endfor %}<i class="fact" title="excerpt">{{ description }}</i>'
    '<i class="fact" title="type">{{ page.url }}</i>{% if cover %}<img class="cover" src="{{ cover }}">{% endif %}<main>{{ content | safe }}</main>'
)
_ELEVENTY: Final = {
    **GENERATORS["Eleventy's starter"].files,
    "_includes/post.njk": _NUNJUCKS,
    "content/pages/pages.json": '{"layout": "post.njk"}',
}
_ASTRO_BLOG: Final = "src/pages/blog/[...slug].astro"
_ASTRO: Final = {
    **GENERATORS["Astro's starter"].files,
    "src/content.config.ts": GENERATORS["Astro's starter"].files["src/content.config.ts"].replace(
        "tags: z.array(z.string()).optional()", "tags: z.array(z.string()).optional(), author: z.string().optional(), cover: z.string().optional()"
    ),
    _ASTRO_BLOG: GENERATORS["Astro's starter"].files[_ASTRO_BLOG].partition("<meta")[0]
    + """<meta charset="utf-8" /><title>{post.data.title}</title><h1>{post.data.title}</h1>
<i class="fact" title="date">{post.data.pubDate.toISOString()}</i><i class="fact" title="author">{post.data.author}</i>
{(post.data.tags ?? []).flatMap((each) => ["category", "tag"].map((name) => <i class="fact" title={name}>{each}</i>))}
<i class="fact" title="excerpt">{post.data.description}</i>
{post.data.cover && <img class="cover" src={post.data.cover} />}
<main><Content /></main>
""",
}  # fmt: skip
_FILES: Final = {
    "Hugo 0.168": _HUGO, "Jekyll": _JEKYLL, "Pelican": _PELICAN, "Eleventy's starter": _ELEVENTY, "Astro's starter": _ASTRO,
}  # fmt: skip


def generated(name: str) -> Homes:
    """A site that a generator builds."""

    @contextmanager
    def home(tool: Tool, kept: Kept, folder: Path) -> Iterator[Home]:
        generator = replace(GENERATORS[name], files=_FILES[name])
        report = kept.export(generator.form, folder / "site", preset=generator.preset)
        generator.prepare(folder / "site")
        tool(*generator.command, cwd=folder / "site")
        site = Built(folder / "site" / generator.built)
        files = sorted((folder / "site" / generator.built).rglob("*.html"))
        yield Home(dict(_of_files(site, files)), _leaked(files), report)

    return home


def _of_files(site: Built, files: Iterable[Path]) -> Iterator[tuple[str, Seen]]:
    """Read the pages of entries among the files of a site."""
    for file in files:
        html = file.read_text(encoding="utf-8")
        named = WORD.search(file.parent.name + file.name)
        word = word_in(html) or (named[0] if named and "http-equiv" not in html else "")
        page = dom(html)
        if not word or _REFRESH.search(html) or page.css("article article"):
            continue
        facts = stated(page)
        address = site.address(file)
        facts["type"] = [*facts.get("type", []), *unquote(urlsplit(address).path).split("/")[1:2]]
        title, body = first(page, "h1"), first(page, "main") or first(page, "body")
        assert body is not None
        yield word, Seen(address, page, body, title.text() if title else "", facts, site.load, site.lookup)


def _leaked(files: Iterable[Path]) -> bool:
    return any(SECRET.encode() in file.read_bytes() for file in files)


@contextmanager
def own_site(_tool: Tool, kept: Kept, _folder: Path) -> Iterator[Home]:
    """The archive's own site; it shows its owner everything, and marks what is not public."""
    folder = kept.root / "latest" / "site"
    site = Built(folder.parent.parent)
    listed = {
        Path(each.attributes.get("href") or "").name for each in dom((folder / "pages.html").read_text()).css("main a")
    }
    yield Home(dict(_own_pages(site, sorted((folder / "entry").glob("*.html")), listed)), leaked=False, report=None)


def _own_pages(site: Built, files: Iterable[Path], listed: Container[str]) -> Iterator[tuple[str, Seen]]:
    for file in files:
        page = dom(file.read_text(encoding="utf-8"))
        title, body, article = (first(page, css) for css in ("article h1", "article .body:not(.lead)", "article"))
        assert title is not None
        assert body is not None
        assert article is not None
        word = WORD.search(title.text())
        if word is not None:
            text = [folded(each.text()) for each in article.css("header.title p, header.title a")]
            facts = _told(text, article)
            facts["address"] = [each.attributes.get("href") or "" for each in page.css("footer.facts a")]
            facts["type"] = ["page"] if f"{file.name}" in listed else []
            yield word[0], Seen(site.address(file), article, body, title.text(), facts, site.load, site.lookup)


def _told(text: list[str], article: LexborNode) -> dict[str, list[str]]:
    """Return the facts of a page that shows them in lines of text."""
    parts = [part for line in text for part in re.split(" · |: ", line)]
    facts = dict.fromkeys(("author", "category", "tag", "type", "excerpt"), parts)
    facts["date"] = [each.attributes.get("datetime") or "" for each in article.css("time")][:1] or parts
    facts["excerpt"] = [folded(article.text())]
    facts["cover"] = [each.attributes.get("src") or "" for each in article.css("img")]
    return facts


_MICROMARK: Final = """
import {readFileSync} from "node:fs";
const {micromark} = await import(process.env.NODE_PATH + "/micromark/index.js");
const {gfm, gfmHtml} = await import(process.env.NODE_PATH + "/micromark-extension-gfm/index.js");
const pages = JSON.parse(readFileSync(process.argv[2], "utf8"));
const options = {extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true, allowDangerousProtocol: true};
console.log(JSON.stringify(pages.map((page) => micromark(page, options))));
"""


@contextmanager
def own_markdown(tool: Tool, kept: Kept, folder: Path) -> Iterator[Home]:
    """The archive's Markdown, rendered by a reader of GitHub's dialect."""
    place = kept.root / "latest" / "markdown"
    files = [each for each in sorted(place.rglob("*.md")) if each.name != "index.md"]
    texts = [each.read_text(encoding="utf-8").split("---\n", 2) for each in files]
    folder.mkdir(parents=True)
    (folder / "pages.json").write_text(json.dumps([text for _, _, text in texts]), encoding="utf-8")
    (folder / "render.mjs").write_text(_MICROMARK, encoding="utf-8")
    shown = json.loads(tool("node", folder / "render.mjs", folder / "pages.json"))
    site = Built(kept.root)
    words = {file: WORD.search(head) for file, (_, head, _) in zip(files, texts, strict=True)}

    def lookup(address: str) -> str:
        found = site.file(address)
        word = words.get(found) if found else None
        return word[0] if word else ""

    pages = {}
    for file, (_, head, _), html in zip(files, texts, shown, strict=True):
        word = words[file]
        if word is not None:
            page = dom(f"<body><main>{html}</main></body>")
            title, body = first(page, "h1"), first(page, "main")
            assert title is not None
            assert body is not None
            text = title.text()
            title.decompose()
            facts = _headed(head) | {"cover": [each.attributes.get("src") or "" for each in page.css("img")]}
            pages[word[0]] = Seen(site.address(file), page, body, text, facts, site.load, lookup)
    yield Home(pages, leaked=False, report=None)


def _headed(head: str) -> dict[str, list[str]]:
    """Return the facts in the front matter of a page."""
    front = yaml.safe_load(head)
    paths = [name for path in front.get("category_paths") or () for name in path]
    return {
        "date": [str(front.get("date"))], "author": [front.get("author", "")], "tag": front.get("tags") or [],
        "category": [*(front.get("categories") or []), *paths], "excerpt": [front.get("excerpt", "")],
        "type": [front.get("kind", "")], "address": [front.get("permalink", "")],
    }  # fmt: skip


@contextmanager
def epub(_tool: Tool, kept: Kept, folder: Path) -> Iterator[Home]:
    """The chapters of a book."""
    report = kept.export("epub", folder / "out", new_url=None)
    with zipfile.ZipFile(folder / "out" / "book-public.epub") as packed:
        packed.extractall(folder / "book")
    site = Built(folder / "book")
    files = sorted((folder / "book" / "EPUB").glob("*.xhtml"))
    pages = {}
    for file in files:
        page = dom(file.read_text(encoding="utf-8").partition("?>")[2])
        title, body = first(page, "h1"), first(page, ".text")
        word = WORD.search(title.text()) if title else None
        if word and title and body:
            facts = _told([folded(each.text()) for each in page.css(".facts")], page)
            pages[word[0]] = Seen(site.address(file), page, body, title.text(), facts, site.load, site.lookup)
    yield Home(pages, _leaked(files), report)


@contextmanager
def book(_tool: Tool, kept: Kept, folder: Path) -> Iterator[Home]:
    """The single page with all entries."""
    report = kept.export("html", folder / "out")
    file = folder / "out" / "book-public.html"
    site, whole = Built(folder / "out"), dom(file.read_text(encoding="utf-8"))
    entries = whole.css("article[id]")
    words = {str(each.attributes["id"]): WORD.search(each.text()) for each in entries}

    def lookup(address: str) -> str:
        word = words.get(urlsplit(address).fragment)
        return word[0] if word else ""

    pages = {}
    for each in entries:
        title, body = first(each, "h2"), first(each, ".body")
        word = words[str(each.attributes["id"])]
        if word and title and body:
            facts = _told([folded(line.text()) for line in each.css("header.title p")], each)
            pages[word[0]] = Seen(site.address(file), each, body, title.text(), facts, site.load, lookup)
    yield Home(pages, _leaked([file]), report)


_FEED: Final = """
import feedparser, json, sys
feed = feedparser.parse(sys.argv[1], resolve_relative_uris=False, sanitize_html=False)
print(json.dumps([{"title": each.title_detail.value, "type": each.title_detail.type, "content": each.content[0].value if "content" in each else "",
    "summary": each.get("summary", ""), "date": each.published, "author": each.get("author", ""), "link": each.link,
    "tags": [tag.get("label") or tag.term for tag in each.get("tags", [])]} for each in feed.entries]))
"""


@contextmanager
def atom(tool: Tool, kept: Kept, folder: Path) -> Iterator[Home]:
    """A feed as a reader shows it: the pages of the old blog, and no files."""
    report = kept.export("atom", folder / "out")
    file = folder / "out" / "feed-public.atom"
    entries = json.loads(tool("python", "-W", "ignore", "-c", _FEED, file))
    words = {each["link"]: WORD.search(each["title"]) for each in entries}

    def lookup(address: str) -> str:
        word = words.get(address)
        return word[0] if word else ""

    pages = {}
    for each in entries:
        page = dom(f"<body><main>{each['content']}</main></body>")
        body, word = first(page, "main"), words[each["link"]]
        assert body is not None
        assert word is not None
        title = each["title"] if each["type"] == "text/plain" else dom(each["title"]).text()
        facts = {
            "date": [each["date"]],
            "author": [each["author"]],
            "tag": each["tags"],
            "category": each["tags"],
            "excerpt": [each["summary"]],
        }
        pages[word[0]] = Seen(each["link"], page, body, title, facts, lambda _: None, lookup)
    yield Home(pages, _leaked([file]), report)


@contextmanager
def wxr(tool: Tool, kept: Kept, folder: Path) -> Iterator[Home]:
    """A WordPress after its importer read the file and fetched the pictures."""
    kept.export("wxr", folder / "pictures", media_folder=True)
    with running_site(tool, kept.empty, folder / "wp") as site, serving(folder / "pictures" / "media") as address:
        report = kept.export("wxr", folder / "out", media_base_url=address, new_url=_names(site))
        tool("php", SCRIPT, "read", site.folder, folder / "out" / "wordpress-public.xml")
        yield _wordpress(tool, site, report)


@contextmanager
def movable_type(tool: Tool, kept: Kept, folder: Path) -> Iterator[Home]:
    """A WordPress after its importer read a file of Movable Type; the pictures are where ``--media-base-url`` says."""
    kept.export("movabletype", folder / "pictures", media_folder=True)
    with running_site(tool, kept.empty, folder / "wp") as site:
        (site.folder / "old").symlink_to(folder / "pictures" / "media")
        report = kept.export("movabletype", folder / "out", media_base_url=f"{site.url}/old/", new_url=_names(site))
        entries = read_carelessly((folder / "out" / "movabletype-public.txt").read_bytes())
        rows = [
            [
                each.fields["TITLE"], each.body.strip(), each.extended.strip(),
                {
                    "date": str(moment(each.fields["DATE"])), "name": each.fields["BASENAME"], "excerpt": each.excerpt.strip(),
                    "author": each.fields["AUTHOR"], "categories": each.categories, "tags": each.fields.get("TAGS", ""),
                    "comments": [{**asdict(said), "date": str(moment(said.date))} for said in each.comments],
                },
            ]
            for each in entries
        ]  # fmt: skip
        (folder / "posts.json").write_text(json.dumps(rows), encoding="utf-8")
        tool("php", SCRIPT, "insert", site.folder, folder / "posts.json")
        yield _wordpress(tool, site, report)


@contextmanager
def move(tool: Tool, kept: Kept, folder: Path) -> Iterator[Home]:
    """A WordPress after the move by its API."""
    folder.mkdir(parents=True)
    with running_site(tool, kept.empty, folder / "wp") as site:
        command = [
            sys.executable, "-m", "exporter", "move", "wordpress", kept.root, "--to", site.url, "--map", folder / "map.jsonl",
            "--new-home-user", "owner", "--allow-private-network", "--json",
        ]  # fmt: skip
        environ = {**os.environ, "BLOG_EXPORTER_NEW_HOME_TOKEN": site.password, "XDG_CONFIG_HOME": str(folder)}
        done = subprocess.run(list(map(str, command)), cwd=ROOT, env=environ, capture_output=True, timeout=600)
        assert done.stdout, done.stderr.decode()
        (folder / "said.json").write_bytes(done.stdout)
        (side,) = json.loads(done.stdout.splitlines()[0])["sides"]
        yield _wordpress(tool, site, side)


def _names(site: Site) -> AddressPattern:
    return AddressPattern(f"{site.url}/{{post_name}}/", "x")


def _wordpress(tool: Tool, site: Site, report: Report) -> Home:
    """Read every page of a WordPress, and of its database what its theme does not show."""
    rows = json.loads(tool("php", SCRIPT, "rows", site.folder))
    addresses = [f"{site.url}/{quote(row['name'])}/" for row in rows]

    def load(address: str) -> bytes | None:
        if not address.startswith(site.url):
            return None
        try:
            with urllib.request.urlopen(address) as response:
                data: bytes = response.read()
                return data
        except OSError:
            return None

    def lookup(address: str) -> str:
        return word_in((load(address) or b"").decode())

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(load, addresses))
    pages = {}
    for row, address, data in zip(rows, addresses, found, strict=True):
        word = WORD.search(row["title"])
        if word is None or data is None:
            continue
        page = dom(data.decode())
        title, body = first(page, "h1"), first(page, ".entry-content")
        assert title is not None
        assert body is not None
        facts = {
            "date": [each.attributes.get("datetime") or "" for each in page.css(".wp-block-post-date time")][:1] or [row["date"]],
            "author": [row["author"]], "category": [name for path in row["categories"] for name in path], "tag": row["tags"],
            "excerpt": [row["excerpt"]], "type": [row["type"]],
            "cover": [each.attributes.get("src") or "" for each in page.css(".wp-block-post-featured-image img")],
        }  # fmt: skip
        pages[word[0]] = Seen(address, page, body, title.text(), facts, load, lookup)
    public = [row for row in rows if row["status"] == "publish"]
    return Home(pages, any(SECRET in json.dumps(row, ensure_ascii=False) for row in public), report)


TARGETS: Final[Mapping[str, Homes]] = {
    "site": own_site,
    "Markdown": own_markdown,
    "Hugo": generated("Hugo 0.168"),
    "Jekyll": generated("Jekyll"),
    "Eleventy": generated("Eleventy's starter"),
    "Astro": generated("Astro's starter"),
    "Pelican": generated("Pelican"),
    "WXR": wxr,
    "move": move,
    "Movable Type": movable_type,
    "EPUB": epub,
    "book": book,
    "Atom": atom,
}
"""The targets in the order of the table."""
