"""Markdown pages with front matter: plain ones that most generators read, or those of a preset. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from sys import maxsize
from typing import Final
from urllib.parse import quote, unquote

from exporter.export.csv_table import rough_text
from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, ExportFile, Preset
from exporter.export.media import FOLDER
from exporter.export.post_html import visible_xml
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.export.site_generators import (
    NAME_CHARACTERS,
    PAGES,
    PAGES_HOLD,
    POSTS,
    FrontFacts,
    Head,
    PageWriter,
    page_name,
    section,
    shown_title,
    site_path,
)
from exporter.export.term_names import ELEVENTY, ELEVENTY_COLLECTIONS, count_stated
from exporter.html.dialects import COMMONMARK, OBSIDIAN, Dialect, finds
from exporter.message import message

_ATTACHMENTS: Final = "attachments"
_DAILY: Final = "daily"
_NOTES: Final = "posts-of-this-vault/"
"""Begins the address of a note until it becomes a link of the vault; no body has such addresses."""
_SETTINGS: Final = {
    "app": {"attachmentFolderPath": _ATTACHMENTS, "useMarkdownLinks": False},
    "daily-notes": {"folder": _DAILY},
}
_TEXT: Final = r"\[((?:\\.|[^\[\]\\\n])*)\]"
_NOTE_LINK: Final = re.compile(rf"(?<!!){_TEXT}\({_NOTES}([^)\s#]+)(?:#[^)\s]*)?\)")
_NOTE_ADDRESS: Final = re.compile(rf'{_NOTES}([^)\s#"]+)')
# A linked picture stays Markdown, because the vault's own links cannot express it.
_FILE_LINK: Final = re.compile(rf"(?<!\[)(?<!\[!)(!?){_TEXT}\({_ATTACHMENTS}/([\w.-]+)\)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_NO_TAG: Final = re.compile(r"[^\w/-]+")


def vault(posts: Posts) -> Iterator[ExportFile]:
    """Yield the vault's settings, its notes with their attachments, and the daily notes."""
    for name, values in _SETTINGS.items():
        yield Content(f".obsidian/{name}.json", [f"{json.dumps(values, indent=2)}\n".encode()])

    def head(post: ExportPost, facts: FrontFacts) -> Head:
        return {
            "title": shown_title(post),
            "aliases": [shown_title(post)],
            "date": post.when,
            "updated": post.record.updated,
            "day": f"[[{_day(post)}]]",
            "tags": list(dict.fromkeys(map(_tag, facts.terms))),
            "publish": None if post.public else False,
            "entry_id": post.id,
            "old_paths": facts.aliases,
            **_extra(facts, "description"),
        }

    writer = PageWriter(
        posts,
        f"{_ATTACHMENTS}/",
        lambda post: _NOTES + quote(page_name(post)),
        lambda post: (f"{section(post) if post.public else 'drafts'}/{page_name(post)}.md", _ATTACHMENTS),
        head,
        finish=_linked,
        most=NAME_CHARACTERS,
        dialect=OBSIDIAN,
        prefix=lambda _: "",
    )
    yield from writer.pages()
    for day, those in groupby(posts.by_date(), _day):
        lines = (f"- {_wiki(page_name(post), shown_title(post))}\n" for post in those)
        yield Content(f"{_DAILY}/{day}.md", ["".join(lines).encode()])


def _linked(text: str, pictures: list[str]) -> str:
    """Return Markdown whose links to notes and attachments are as Obsidian writes its own."""
    held = set(pictures)

    def to_note(found: re.Match[str]) -> str:
        return _wiki(unquote(found[2]), found[1], in_table=_in_table(found))

    def to_file(found: re.Match[str]) -> str:
        if found[3] not in held:
            return found[0]
        return found[1] + _wiki(found[3], found[2], in_table=_in_table(found))

    # Nested tables and similar elements stay HTML, which has no links of the vault.
    return _NOTE_ADDRESS.sub(r"\1.md", _NOTE_LINK.sub(to_note, _FILE_LINK.sub(to_file, text)))


def _wiki(name: str, shown: str, *, in_table: bool = False) -> str:
    """Return a link in the vault, without a text if such a link cannot contain it."""
    plain = _ESCAPE.sub(r"\1", shown).strip()
    # Digits alone would be the width of a picture.
    if not plain or plain.isdecimal() or re.search(r"[\[\]|\n]", plain):
        return f"[[{name}]]"
    return f"[[{name}{chr(92) if in_table else ''}|{plain}]]"


def _in_table(found: re.Match[str]) -> bool:
    return found.string.startswith("|", found.string.rfind("\n", 0, found.start()) + 1)


def _day(post: ExportPost) -> str:
    return post.when.date().isoformat()


def _tag(category: str) -> str:
    """Return a category's name as a tag: without spaces and signs, and not of digits alone."""
    name = _NO_TAG.sub("-", category).strip("-/")
    return f"_{name}" if not name or name.isdecimal() else name


def _extra(facts: FrontFacts, summary: str = "") -> Head:
    """Return the fields that only some services state, with the name for the summary if the preset has no other one."""
    found = {"author": facts.author, summary: facts.summary, "cover": facts.cover}
    return {name: value for name, value in found.items() if name and value}


_ASTRO: Final = Dialect(
    footnotes=True, misread=finds(r"!\[(?:\\.|[^\[\]\\])*\]\((?!<?(?:[A-Za-z][A-Za-z0-9+.-]*:|[/#]))")
)
"""Astro ends the build at a picture with a relative address of which it does not have the file."""
_ADDRESSES: Final = """\
// Addresses of tags: Eleventy's filter "slugify" drops Japanese, and two equal addresses end the build.
// Add to eleventy.config.js, at its top and in its function:
//   import addresses from "./_config/addresses.js";
//   eleventyConfig.addPlugin(addresses);
const ADDRESSES = new Map({addresses});

export default function (eleventyConfig) {{
  const slugify = eleventyConfig.getFilter("slugify");
  eleventyConfig.addFilter("slugify", (text, ...options) => ADDRESSES.get(text) ?? slugify(text, ...options));
}}
"""
_DESCRIPTION_CHARACTERS: Final = 120
"""Maximum length of a description taken from a post's text."""


def astro(posts: Posts) -> Iterator[ExportFile]:
    """Yield pages for Astro's blog starter, whose schema wants a description and calls the date ``pubDate``.

    No starter of Astro omits drafts, so they are in a folder outside of its content.
    """

    def head(post: ExportPost, facts: FrontFacts) -> Head:
        return {
            "title": shown_title(post),
            "description": facts.summary or description(post),
            "pubDate": post.when,
            "updatedDate": post.record.updated,
            "tags": facts.terms,
            # The name in its address, which Astro would make of the file's in small letters.
            "slug": page_name(post),
            "entry_id": post.id,
            "aliases": facts.aliases,
            **_extra(facts),
        }

    place, pages, pictures = "src/content/blog", f"src/pages/{PAGES}", f"public/{FOLDER}"
    return _pages(posts, head, place=place, pages=pages, pictures=pictures, home="blog", dialect=_ASTRO)


def eleventy(posts: Posts) -> Iterator[ExportFile]:
    """Yield the addresses of tags and the pages for Eleventy's base blog; drafts have a mark, and a folder not read."""
    names = [_eleventy_tag(visible_xml(name).text) for name in (*posts.categories(), *posts.tags())]
    addresses = ELEVENTY.addresses(names, every=True)
    stated = {name for name, address in addresses.items() if address != ELEVENTY.address(name)}
    pairs = json.dumps(list(addresses.items()), ensure_ascii=False, indent=2)
    yield Content("_config/addresses.js", [_ADDRESSES.format(addresses=pairs).encode()])

    def head(post: ExportPost, facts: FrontFacts) -> Head:
        if any(map(ELEVENTY_COLLECTIONS.match, facts.terms)):
            posts.report.changed("entries", Reason.TAG_TAKEN, post.id)
        tags = list(map(_eleventy_tag, facts.terms))
        posts.report.changed("entries", Reason.TERM_ADDRESS, post.id, count_stated(stated, tags))
        return {
            "title": shown_title(post),
            "description": facts.summary or description(post),
            "date": post.when,
            "tags": tags,
            "draft": None if post.public else True,
            "entry_id": post.id,
            "aliases": facts.aliases,
            **_extra(facts),
            # Eleventy runs Liquid over Markdown unless another engine is named.
            "templateEngineOverride": "md",
        }

    place, pages, pictures = "content/blog", f"content/{PAGES}", f"public/{FOLDER}"
    tasks_as_signs = Dialect(tasks=False)
    yield from _pages(posts, head, place=place, pages=pages, pictures=pictures, home="blog", dialect=tasks_as_signs)


def _eleventy_tag(name: str) -> str:
    """Return a tag's name, spelled differently if Eleventy uses that name itself."""
    if not ELEVENTY_COLLECTIONS.match(name):
        return name
    return name.replace("[", "［").replace("]", "］") if "]" in name or "[" in name else f"_{name}"


def _pages(
    posts: Posts,
    head: Callable[[ExportPost, FrontFacts], Head],
    *,
    place: str,
    pages: str,
    pictures: str,
    home: str,
    dialect: Dialect = COMMONMARK,
    most: int = maxsize,
) -> Iterator[ExportFile]:
    """Yield the pages of a preset; drafts and their pictures are in ``drafts``.

    Args:
        posts: the posts of the export.
        head: makes the front matter from a post and its facts.
        place: the folder for published posts.
        pages: the folder for published pages.
        pictures: the folder for their pictures.
        home: the first part of the addresses that the generator gives to posts.
        dialect: the Markdown that the generator reads.
        most: the maximum length in characters for the name of a category or tag.
    """

    def placed(post: ExportPost) -> tuple[str, str]:
        public = pages if post.page else place
        folder, shown = (public, pictures) if post.public else ("drafts", f"drafts/{FOLDER}")
        return f"{folder}/{page_name(post)}.md", shown

    def address(post: ExportPost) -> str:
        return site_path(PAGES if post.page else home, page_name(post))

    return PageWriter(posts, f"/{FOLDER}/", address, placed, head, dialect=dialect, most=most).pages()


def description(post: ExportPost) -> str:
    """Return the start of a post's text in one line; its title if the text is empty."""
    words = " ".join(visible_xml(rough_text(post.record.body)).text.split())
    if not words:
        return shown_title(post)
    return words if len(words) <= _DESCRIPTION_CHARACTERS else f"{words[: _DESCRIPTION_CHARACTERS - 1]}…"


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the pages as the preset wants them."""
    presets = {Preset.PLAIN: plain, Preset.ASTRO: astro, Preset.ELEVENTY: eleventy, Preset.OBSIDIAN: vault}
    return presets[posts.options.preset](posts)


def plain(posts: Posts) -> Iterator[ExportFile]:
    """Yield a page for each post, below ``posts`` or ``drafts``, and the pictures they show below ``media``.

    No mark for drafts works in all generators: Eleventy publishes the drafts that ``draft`` alone holds back elsewhere.
    So drafts and their pictures are in a separate folder, and Eleventy must make neither a page nor a feed item from
    them.
    """

    def head(post: ExportPost, facts: FrontFacts) -> Head:
        return {
            "title": shown_title(post),
            "date": post.when,
            "updated": post.record.updated,
            "draft": not post.public,
            "permalink": None if post.public else False,
            "eleventyExcludeFromCollections": None if post.public else True,
            "categories": facts.categories,
            "tags": facts.tags or None,
            "entry_id": post.id,
            "aliases": facts.aliases,
            **_extra(facts, "summary"),
            # Eleventy runs Liquid over Markdown unless another engine is named.
            "templateEngineOverride": "md",
        }

    return _pages(posts, head, place=POSTS, pages=PAGES, pictures=FOLDER, home=POSTS, most=NAME_CHARACTERS)


FORMAT: Final = Format(
    message("Astro, Eleventy, Obsidian and others: Markdown (--preset)"),
    export,
    drafts=True,
    bodies=True,
    shows=Comments.BODY,
    holds=PAGES_HOLD,
)
