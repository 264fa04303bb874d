"""Shared parts of page folders for site generators: front matter, bodies, comments and pictures. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from html import escape
from sys import maxsize
from typing import Any, Final
from urllib.parse import quote, unquote

from exporter.export.csv_table import rough_text
from exporter.export.entry_page import heading as markdown_heading
from exporter.export.entry_page import plain, render_comments, t
from exporter.export.interface import Content, ExportFile
from exporter.export.media import Copies, Media, old_addresses
from exporter.export.names import file_name, safe_id
from exporter.export.parts import FOR_READERS, Part
from exporter.export.post_html import comment_block, comment_marks, report_bodies, safe_body, visible_xml
from exporter.export.posts import ExportPost, Posts, ThreadedPostComment
from exporter.export.reasons import Reason
from exporter.html.anchors import Numbering, rename_places, wanted_places
from exporter.html.dialects import COMMONMARK, Dialect
from exporter.html.markdown import Markdown, to_markdown
from exporter.html.text import collapse
from exporter.model.publication import Cause
from exporter.model.records import CommentKind

_ESCAPED_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
NAME_CHARACTERS: Final = 60
"""The part of a category's or tag's name that generators can write as a folder's name."""
_CACHED_PLACES: Final = 1024
"""Size of the cache of posts' places: the newest posts link to each other, others to few."""

PAGES_HOLD: Final = FOR_READERS - {Part.PARENTS}
"""The parts that pages of all generators hold."""
POSTS: Final = "posts"
PAGES: Final = "pages"
MORE: Final = "<!--more-->"


Head = dict[str, Any]
"""The front matter of a page; a value of ``None`` is left out."""


def own_prefix(entry_id: str) -> str:
    """Return the prefix for ids in a post's text: lists show several posts on a page, many with a ``fn1``."""
    return f"e{safe_id(entry_id)}-"


@dataclass(frozen=True, slots=True)
class FrontFacts:
    """The facts about a post for its front matter, as generators can hold them.

    Attributes:
        categories: the names of its categories.
        tags: its tags.
        author: its writer; empty if unknown.
        summary: the summary that its writer wrote, as text on one line; may be empty.
        cover: the address of its featured picture; may be empty.
        cover_name: the file name of that picture; empty if the export does not have the file.
        aliases: the paths that it had in the old blog.
    """

    categories: list[str]
    tags: list[str]
    author: str
    summary: str
    cover: str
    cover_name: str
    aliases: list[str] | None

    @property
    def terms(self) -> list[str]:
        """Categories and tags without duplicates, for generators that know only tags."""
        return list(dict.fromkeys([*self.categories, *self.tags]))


@dataclass(slots=True)
class PageWriter:
    """Writes the pages of a site with bodies in Markdown or HTML.

    Attributes:
        posts: the posts of the export.
        way: from a page to its pictures, with a slash at the end; unused if they have an address.
        home: gives the address of a post's page for all others.
        place: returns two paths in the export: a post's page, and the folder for its pictures.
        head: returns a page's front matter, given the post and its facts.
        text: returns a page's text, given its front matter and its body.
        most: the maximum length in characters for the name of a category or tag that becomes a folder's name.
        finish: returns a body's final text, given the text and the names of its pictures.
        dialect: the Markdown that the generator reads.
        prefix: returns the prefix for ids and labels in a post's text, by the post's id.
        redirects: whether the generator itself redirects from the old paths in the front matter.
    """

    posts: Posts
    way: str | None
    home: Callable[[ExportPost], str]
    place: Callable[[ExportPost], tuple[str, str]]
    head: Callable[[ExportPost, FrontFacts], Head]
    text: Callable[[Head, str], str] = lambda head, body: f"{page_header(head)}\n{body}"
    most: int = maxsize
    finish: Callable[[str, list[str]], str] = lambda text, _: text
    dialect: Dialect = COMMONMARK
    prefix: Callable[[str], str] = own_prefix
    redirects: bool = False
    _media: Media = field(init=False)
    _html: bool = field(init=False)

    def __post_init__(self) -> None:
        options = self.posts.options
        known = lru_cache(maxsize=_CACHED_PLACES)(lambda entry_id: self.home(self.posts.post(entry_id)))
        self._media = Media(self.posts, known if options.new_url is None else None, self.prefix)
        self._html = options.body == "html"
        self.way = None if options.media_base_url else self.way

    def pages(self) -> Iterator[ExportFile]:
        """Yield the page of each post, then the pictures it shows that were not there yet."""
        folder, copies = "", Copies(self.posts.report)
        for post in self.posts:
            path, pictures = self.place(post)
            head = self.head(post, self._facts(post))
            yield Content(path, [self.text(head, self._body(post)).encode()])
            if self.way is not None:
                if folder != pictures:
                    folder, copies = pictures, Copies(self.posts.report, pictures)
                yield from copies.of(self._media.pictures(post))
            self.posts.wrote(post)

    def _body(self, post: ExportPost) -> str:
        """Return a page's text: the body, what continues it, and the comments."""
        body = self._text(post.record.body, post, post.record.more)
        more = self._text(post.record.more, post, post.record.body, body.footnotes)
        parts, lead = [body.text], collapse(post.record.more_title)
        if lead or more.text:
            parts += [MORE, self._heading(2, lead) if lead else "", more.text]
        if post.comments:
            parts += [self._heading(2, t("Comments ({n})", n=len(post.comments))), *map(self._comment, post.threads())]
        self._media.account(post)
        report_bodies(post, self.posts.report)
        # Generators put bodies into feeds, and fail if XML cannot hold a character.
        clean = visible_xml("\n\n".join(part for part in parts if part))
        self.posts.report.changed("entries", Reason.NOT_IN_PAGES, post.id, clean.characters)
        names = [] if self.way is None else [each.name for each in self._media.pictures(post) if each.source]
        text = self.finish(clean.text, names)
        # Astro strips a page's text, and takes the space that begins a Japanese paragraph for white space.
        return f"&#12288;{text[1:]}\n" if text.startswith("\u3000") else f"{text}\n"

    def _facts(self, post: ExportPost) -> FrontFacts:
        found = ([category.name for category in post.categories], post.tags)
        names = [list(dict.fromkeys(visible_xml(name).text for name in each)) for each in found]
        if any(len(name) > self.most for each in names for name in each):
            self.posts.report.changed("entries", Reason.FOLDER_CUT, post.id)
        categories, tags = ([name[: self.most].rstrip() for name in each] for each in names)
        cover, held = "", ""
        if post.record.featured:
            picture = self._media.featured(post)
            cover = visible_xml(post.record.featured).text if picture is None else self._media.new_address(picture)
            if picture is not None and self.way is not None:
                cover, held = f"{self.way}{picture.name}", picture.name
        summary = collapse(visible_xml(rough_text(post.record.excerpt)).text) if post.record.excerpt else ""
        author = visible_xml(post.author).text
        return FrontFacts(categories, tags, author, summary, cover, held, self._aliases(post))

    def _aliases(self, post: ExportPost) -> list[str] | None:
        """Return the paths a post had in the old blog, for redirects; ``None`` if they are unknown."""
        found = []
        for address in old_addresses(post, self.posts.options):
            path = "/" + address.split("/", 3)[3]
            if post.record.permalink and not is_plain_path(path):
                self.posts.report.limit(Reason.CSV_ONLY, post.id)
            else:
                found.append(path)
        if found and Part.ADDRESS not in self.posts.holds:
            if not post.record.permalink:  # a stated address is counted with the other parts of the record
                self.posts.report.changed("entries", Cause(Reason.NOT_HELD, Part.ADDRESS), post.id)
        elif found and not self.redirects:
            self.posts.report.limit(Reason.ADDRESS_UNUSED, post.id)
        return found or None

    def _text(self, body: str, post: ExportPost, other: str, footnotes: int = 0) -> Markdown:
        """Return one part in a post, given the other part and its number of footnotes."""
        places, prefix = self._media.places(post), self.prefix(post.id)
        if self._html:
            return Markdown(self._as_html(body, places, prefix), 0)
        numbering = None
        if self.dialect.footnotes and places and not post.comments:
            numbering = Numbering(footnotes + 1, prefix, self._media.asked(post.id) | wanted_places(other))
        made = to_markdown(
            self._media.rewritten(body, self.way),
            partial(rename_places, prefix=prefix, wanted=places) if places else None,
            places,
            dialect=self.dialect,
            footnotes=numbering,
        )
        self.posts.report.changed("entries", Reason.NOT_IN_PAGES, post.id, made.replaced)
        if not self.dialect.misread(made.text):
            self.posts.report.changed("entries", Reason.KEPT_AS_HTML, post.id, min(made.kept, 1))
            return made
        self.posts.report.changed("entries", Reason.KEPT_AS_HTML, post.id)
        return Markdown(self._as_html(body, places, prefix), 0)

    def _as_html(self, body: str, places: frozenset[str], prefix: str) -> str:
        shown = safe_body(self._media.rewritten(body, self.way), places, prefix)
        if not self._html:
            shown = self.dialect.in_html(shown)
        return f"<div>\n{without_commands(shown)}\n</div>" if shown else ""

    def _heading(self, level: int, text: str) -> str:
        made = markdown_heading(level, text, self.dialect)
        if self._html or self.dialect.misread(made):
            return f"<h{level}>{without_commands(escape(collapse(text), quote=False))}</h{level}>"
        return made

    def _comment(self, threaded: ThreadedPostComment) -> str:
        comment, answers = threaded.found.comment, threaded.answers
        # The marks are written here, because a single comment does not show the one that it answers.
        made = render_comments([replace(comment, kind=CommentKind.COMMENT, by_owner=None)], self.dialect).text
        marks = "\n".join(f"- {plain(mark, self.dialect)}" for mark in comment_marks(comment, answers))
        if marks:
            head, _, rest = made.partition("\n\n")
            made = "\n".join([head, "", marks, *([] if rest.startswith("- ") else [""]), rest])
        shown = not self._html and not self.dialect.misread(made)
        return made if shown else without_commands(comment_block(threaded.found, answers))


def without_commands(html: str) -> str:
    """Return HTML in which no template language finds its braces; browsers show the same."""
    return re.sub(r"\{(?=[{%#])", "&#123;", html)


def page_header(fields: Head) -> str:
    """Return YAML front matter with texts as JSON strings, which every YAML parser reads, and plain dates."""
    lines = [f"{name}: {_value(value)}" for name, value in fields.items() if value is not None]
    return "\n".join(["---", *lines, "---", ""])


def _value(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    text = json.dumps(_visible(value), ensure_ascii=False)
    return _ESCAPED_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _visible(value: Any) -> Any:
    if isinstance(value, list):
        return [_visible(each) for each in value]
    return visible_xml(value).text if isinstance(value, str) else value


def page_name(post: ExportPost) -> str:
    """Return the name for a post's page, without its extension."""
    return file_name(post.record.date, post.title, post.id).removesuffix(".md")


def zone_name(posts: Posts) -> str:
    """Return the name of the blog's time zone in the tz database; if it has none, the name of its fixed offset."""
    when = posts.newest().astimezone(posts.options.service.timezone)
    name = getattr(when.tzinfo, "key", "Asia/Tokyo" if when.tzname() == "JST" else "")
    hours = (when.utcoffset() or timedelta()) // timedelta(hours=1)
    return name or (f"Etc/GMT{-hours:+}" if hours else "Etc/UTC")


def section(post: ExportPost) -> str:
    """Return the folder for a post or a page."""
    return PAGES if post.page else POSTS


def site_path(folder: str, name: str) -> str:
    """Return the path of a folder's index page; it is absolute, because feeds show links as well."""
    return f"/{folder}/{quote(name)}/"


def shown_title(post: ExportPost) -> str:
    """Return a post's title as one line of visible text; generators refuse pages without one."""
    return visible_xml(post.title).text or t("(untitled)")


def is_plain_path(path: str) -> bool:
    """Return whether a generator can answer at a path: without a query, and without parts that lead elsewhere."""
    parts = unquote(path).split("/")
    return "?" not in path and path.isprintable() and "//" not in path and not {".", ".."} & set(parts)
