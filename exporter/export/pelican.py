"""A Pelican site's articles, as Markdown with metadata lines or as HTML. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final
from urllib.parse import quote

from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, ExportFile
from exporter.export.parts import Part
from exporter.export.post_html import visible_xml
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.export.site_generators import (
    PAGES,
    PAGES_HOLD,
    FrontFacts,
    Head,
    PageWriter,
    page_name,
    shown_title,
    zone_name,
)
from exporter.export.term_names import PELICAN, count_stated
from exporter.html.dialects import PYTHON_MARKDOWN
from exporter.text import visible

_PICTURES = "images"
"""The only folder of files that Pelican copies without configuration."""

_ARTICLE = "/an-article-of-this-site"
_STATIC = "/a-file-of-this-site"
"""Placeholders for Pelican's link syntax, which addresses in bodies must not contain."""

_VIDEO: Final = re.compile(rf"(<video poster=\"{_STATIC}[^<>\"]*\")( src=\"{_STATIC}[^<>\"]*\")([^<>]*>)")

_CONFIG: Final = """# What the content needs of Pelican; take it over into your site's own configuration.
from html import unescape

from pelican import signals

SITENAME = {title}
SITEURL = ""  # the address of your site, if it has feeds
PATH = "content"
TIMEZONE = {zone}
DEFAULT_LANG = "ja"
USE_FOLDER_AS_CATEGORY = False
DEFAULT_PAGINATION = False
# Pages of long lists are in folders, because "c2.html" could be page 2 of "c" or the category "c2".
PAGINATION_PATTERNS = [
    (1, "{{url}}", "{{save_as}}"),
    (2, "{{base_name}}/page/{{number}}/", "{{base_name}}/page/{{number}}/index.html"),
]
# A category and a writer of one name would share a feed. To have one feed of all articles, set SITEURL and
# FEED_ALL_ATOM = "feeds/all.atom.xml".
FEED_ALL_ATOM = CATEGORY_FEED_ATOM = AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = TRANSLATION_FEED_ATOM = None
# Addresses keep the letters of each language; in Latin ones, two Chinese characters can be equal.
SLUGIFY_USE_UNICODE = True
INTRASITE_LINK_REGEX = "{{(?P<what>.*?)}}"
LOG_FILTER = [(30, "Empty alt attribute for image %s in %s")]  # the old blog had no description of these pictures

# Categories, tags and writers whose addresses would be equal or unusable, such as C, C++ and C#.
ADDRESSES = {{{addresses}}}


def _state_addresses(_generator, metadata):
    single = [metadata[name] for name in ("category", "author") if name in metadata]
    for each in [*single, *metadata.get("tags", []), *metadata.get("authors", [])]:
        if unescape(each.name) in ADDRESSES:
            each.slug = ADDRESSES[unescape(each.name)]


signals.article_generator_context.connect(_state_addresses, weak=False)
signals.page_generator_context.connect(_state_addresses, weak=False)
"""

_MARKUP: Final = re.compile(r"[\\`*_{}\[\]()#+!|~^$-]")
_MARK: Final = re.compile(r"[<>&,;][0-9]*")
"""What tags must not have as HTML, with the digits that a reference without a semicolon would take for its own."""
_TITLE_END: Final = re.compile("<(?=/title)", re.IGNORECASE)


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the configuration, and below ``content`` or ``drafts`` an article for each post and the pictures they show.

    Pelican makes a page from a draft in ``content``, and anyone could guess its address.
    """
    names = [visible_xml(name).text for name in (*posts.categories(), *posts.tags(), *posts.authors())]
    stated = PELICAN.addresses(names)
    yield Content("pelicanconf.py", [_configuration(posts, stated).encode()])
    ending, text = (".html", _html) if posts.options.body == "html" else (".md", _markdown)

    def name(post: ExportPost) -> str:
        return f"{PAGES}/{page_name(post)}{ending}" if post.page else f"{page_name(post)}{ending}"

    def place(post: ExportPost) -> tuple[str, str]:
        folder = "content" if post.public else "drafts"
        return f"{folder}/{name(post)}", f"{folder}/{_PICTURES}"

    def head(post: ExportPost, facts: FrontFacts) -> Head:
        if _title(post) != shown_title(post):
            posts.report.changed("entries", Reason.TITLE_WIDENED, post.id)
        if len(facts.categories) > 1:
            posts.report.changed("entries", Reason.CATEGORY_AS_TAG, post.id, len(facts.categories) - 1)
        posts.report.changed(
            "entries", Reason.TERM_ADDRESS, post.id, count_stated(stated, [*facts.terms, facts.author])
        )
        return _facts(post, facts, posts.name(post.id), in_html=ending == ".html")

    writer = PageWriter(
        posts,
        f"{_STATIC}/{_PICTURES}/",
        lambda post: f"{_ARTICLE}/{quote(name(post))}",
        place,
        head,
        text,
        finish=lambda text, _: _with_internal_links(text),
        dialect=PYTHON_MARKDOWN,
    )
    yield from writer.pages()


def _configuration(posts: Posts, stated: Mapping[str, str]) -> str:
    """Return the configuration with the stated addresses; Python reads texts as written by ``repr``."""
    return _CONFIG.format(
        title=repr(escape(visible(posts.title)[0], quote=False)),
        zone=repr(zone_name(posts)),
        addresses="".join(f"\n    {name!r}: {address!r}," for name, address in stated.items()) + "\n" * bool(stated),
    )


def _with_internal_links(text: str) -> str:
    """Write a page's links in Pelican's syntax. Pelican reads one per tag, so a video with a poster gets two tags."""
    apart = _VIDEO.sub(r"\1\3<source\2>", _with_indents(text))
    return apart.replace(_ARTICLE, "{filename}").replace(_STATIC, "{static}")


_FENCE: Final = re.compile("[ ]*(`{3,}|~{3,})")


def _with_indents(text: str) -> str:
    """Protect the ideographic space that begins a paragraph, which Python-Markdown strips; code stays unchanged."""
    lines, fence = text.split("\n"), ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif mark is not None:
            fence = mark[1]
        elif line.startswith("\u3000") and not (at and lines[at - 1]):
            lines[at] = f"&#12288;{line[1:]}"
    return "\n".join(lines)


def _facts(post: ExportPost, facts: FrontFacts, name: str, *, in_html: bool) -> Head:
    """Return the metadata; titles and names are HTML to Pelican's themes, and a summary is read as the body is."""
    summary = escape(facts.summary, quote=False)
    found = {
        "title": escape(_title(post)),
        "date": post.when.isoformat(),
        "modified": post.record.updated.isoformat() if post.record.updated is not None else "",
        "category": escape("".join(facts.categories[:1])),
        "tags": _listed([name for name in facts.terms if name not in facts.categories[:1]]),
        "author": escape(facts.author),
        "summary": summary if in_html else _MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", summary),
        "cover": escape(facts.cover.replace(_STATIC, "").lstrip("/") if facts.cover_name else facts.cover),
        "slug": name,
        "status": "published" if post.public else "draft",
    }
    return {key: " ".join(value.splitlines()) for key, value in found.items() if value}


def _title(post: ExportPost) -> str:
    """Return a title that ends nothing in themes that decode its references, as Pelican's own does (``striptags``).

    A quotation mark ends an attribute there, and what follows can begin another one or an element.
    """
    title = _TITLE_END.sub("＜", shown_title(post))
    end = max(map(title.rfind, "<=>"))
    return title[: end + 1].replace('"', "＂") + title[end + 1 :]


def _listed(names: list[str]) -> str:
    """Return tags as a list. Pelican parts it at commas, or at semicolons, also those of references."""
    return ", ".join(_MARK.sub(_bare_references, name) for name in names)


def _bare_references(found: re.Match[str]) -> str:
    """Return characters as references without the semicolons that would part a tag."""
    return "".join(f"&#{ord(sign)}" for sign in found[0])


def _markdown(facts: Head, body: str) -> str:
    head = "".join(f"{key.capitalize()}: {value}\n" for key, value in facts.items())
    return f"{head}\n{body}"


def _html(facts: Head, body: str) -> str:
    """Return a page whose metadata Pelican decodes, except for the title, and then takes for HTML."""
    metas = "\n".join(
        f'<meta name="{key}" content="{escape(value)}" />' for key, value in facts.items() if key != "title"
    )
    head = f"<title>{facts['title']}</title>\n{metas}"
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{body}</body>\n</html>\n"


FORMAT: Final = Format(
    "Pelican",
    export,
    drafts=True,
    bodies=True,
    shows=Comments.BODY,
    names=PELICAN.post_name,
    holds=PAGES_HOLD - {Part.ADDRESS},
)
