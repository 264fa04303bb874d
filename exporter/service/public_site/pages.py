"""Read a post's page as a record with its comments, and state how sure the reading is. Pure."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Final

from exporter.errors import ApiError
from exporter.html.selection import PageElement, parse_page
from exporter.html.text import collapse
from exporter.html.tree import TooComplex
from exporter.message import message, message_n, said
from exporter.model.exchange import Request, Response
from exporter.model.records import Audience, PostKind
from exporter.service.answers import refusal
from exporter.service.interface import EntryAnswer, Original, Refused, Validators, WrongRecord
from exporter.service.public_site.article import ArticleReader, Confidence, PageArticle
from exporter.service.public_site.comments import read_comments
from exporter.service.public_site.extraction import extraction
from exporter.service.public_site.facts import read_facts
from exporter.service.public_site.feeds import FeedItem
from exporter.service.public_site.merging import FEED, TAKEN_FROM, feed_facts, merge
from exporter.service.public_site.paths import SitePaths
from exporter.service.public_site.post_list import SiteReading
from exporter.service.public_site.text import decode_page
from exporter.text import printable

_OK: Final = 200
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml", "")
_GZIP_LEVEL: Final = 6
_NAMED: Final = 3
_MIN_LISTED: Final = 3
"""Links to other posts that a home page has, at least."""


@dataclass
class PageReader:
    """Reads the posts of one run.

    Attributes:
        reading: the robots.txt, feeds and notes that the list found.
        timezone: of dates without an offset.
    """

    reading: SiteReading
    timezone: tzinfo
    _ways: dict[str, list[str]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about the posts that were read with less certainty."""
        return [_uncertain(what, count, self._ways[what]) for what, count in self._counts.items()]

    def read(self, paths: SitePaths, post_id: str, request: Request, response: Response) -> EntryAnswer:
        """Read a page, or the full text in the feed if the page cannot be read.

        Raises:
            Refused: the page is gone, or the home page was sent in its place.
            WrongRecord: another post was sent.
            ApiError: neither the page nor a feed has the post.
        """
        if response.status in {404, 410}:
            raise refusal(request, response, message("the page is gone"))
        try:
            return self._from_page(paths, post_id, request, response)
        except (Refused, WrongRecord):
            raise
        except ApiError:
            item = self.reading.feed_items.get(post_id)
            if item is None or not item.content:
                raise
            return self._from_feed(paths, post_id, item)

    def _from_page(self, paths: SitePaths, post_id: str, request: Request, response: Response) -> EntryAnswer:
        if response.status != _OK:
            raise refusal(request, response, message("the page is not shown to the public"))
        content_type = response.headers.get("content-type", "")
        if content_type.partition(";")[0].strip().lower() not in _HTML_TYPES:
            raise refusal(request, response, message("it is no page but {type}", type=printable(content_type, 60)))
        page = decode_page(response.body, content_type)
        address = _address(paths, post_id)
        try:
            root = parse_page(page.text)
            facts = read_facts(root, page.text, lambda text: paths.post_at(text, address) == post_id)
            self._require_this(paths, post_id, request, response, root, facts.canonical)
            comments = read_comments(root, facts, paths.rules, post_id, address, self.timezone)
            reader = ArticleReader(paths.rules, self.timezone, extraction())
            article = reader.read(root, facts, page.text, address)
        except TooComplex as error:
            raise refusal(request, response, said(error)) from error
        if article is None:
            raise refusal(request, response, message("it shows no entry"))
        data = {"id": post_id, "url": address, **_record(article), "encoding": page.encoding}
        item = self.reading.feed_items.get(post_id)
        if item is not None and not article.password:
            data = merge(data, feed_facts(item, address, self.timezone))
        self._count_doubts(post_id, data, damaged=page.damaged)
        original = Original(f"page:{address}", gzip.compress(response.body, _GZIP_LEVEL, mtime=0))
        shortage = ""
        stated = article.comments_stated or 0
        if stated > len(comments):
            if paths.rules is not None and paths.rules.comments_elsewhere:
                self._count("comments", post_id)
            else:
                shortage = message(
                    "its page states {stated} comments and shows {shown}", stated=stated, shown=len(comments)
                )
        return EntryAnswer(data, Validators.of(response), tuple(comments), original, shortage)

    def _count_doubts(self, post_id: str, data: dict[str, Any], *, damaged: int) -> None:
        if data["confidence"] == Confidence.LOW:
            self._count(data["how"], post_id)
        if damaged:
            self._count("damaged", post_id)
        if data["status"] == Audience.PASSWORD:
            self._count("password", post_id)
        elif not data["date"] and data["kind"] == PostKind.POST:
            self._count("undated", post_id)

    def _from_feed(self, paths: SitePaths, post_id: str, item: FeedItem) -> EntryAnswer:
        self._count("feed", post_id)
        address = _address(paths, post_id)
        empty = {"id": post_id, "url": address, **_record(PageArticle(FEED, Confidence.MEDIUM))}
        data = merge(empty, feed_facts(item, address, self.timezone))
        return EntryAnswer({**data, "feed_item": item.source}, Validators())

    def _require_this(
        self, paths: SitePaths, post_id: str, request: Request, response: Response, root: PageElement, canonical: str
    ) -> None:
        """Require that the page is that of the post: services send their home page or another post for a gone one."""
        place = paths.path_of(canonical) if canonical else None
        if place is None:
            return
        if paths.inside(place) == "" and paths.post_path(post_id) != paths.home:
            others = {paths.post_at(each.attribute("href")) for each in root.select("a[href]")} - {None, post_id}
            if len(others) >= _MIN_LISTED:
                raise Refused(request.operation, {}, response.status, message("the home page was sent in its place"))
        other = paths.post_at(canonical)
        if other is not None and other != post_id and _plain(other) != _plain(post_id):
            raise WrongRecord(
                request.operation,
                {},
                response.status,
                message("the page of {other} was sent in its place", other=printable(place, 200)),
            )

    def _count(self, what: str, post_id: str) -> None:
        """Count a post for a note, once."""
        if not what:
            return
        named = self._ways.setdefault(what, [])
        self._counts[what] = self._counts.get(what, 0) + 1
        if len(named) < _NAMED:
            named.append(printable(post_id, 80))


def _uncertain(what: str, count: int, named: Sequence[str]) -> str:
    """Return the note about posts that were read in a way that is not certain."""
    posts = ", ".join(named) + (", …" if count > len(named) else "")
    match what:
        case "extracted":
            return message_n(
                "{n:,} page has no known form, so its text was extracted and may lack parts: {posts}",
                "{n:,} pages have no known form, so their texts were extracted and may lack parts: {posts}",
                count,
                posts=posts,
            )
        case "guessed":
            return message_n(
                "{n:,} page has no known form, so its text may have too much: install blog-exporter[pages] to read it "
                "better: {posts}",
                "{n:,} pages have no known form, so their texts may have too much: install blog-exporter[pages] to "
                "read them better: {posts}",
                count,
                posts=posts,
            )
        case "feed":
            return message_n(
                "{n:,} page could not be read, so its text is that of the feed: {posts}",
                "{n:,} pages could not be read, so their texts are those of the feed: {posts}",
                count,
                posts=posts,
            )
        case "damaged":
            return message_n(
                "{n:,} page has bytes that no encoding explains: {posts}",
                "{n:,} pages have bytes that no encoding explains: {posts}",
                count,
                posts=posts,
            )
        case "undated":
            return message_n(
                "{n:,} page shows no date that this program can read, so its entry is undated: {posts}",
                "{n:,} pages show no date that this program can read, so their entries are undated: {posts}",
                count,
                posts=posts,
            )
        case "password":
            return message_n(
                "{n:,} entry asks for a password, so it has no text: {posts}",
                "{n:,} entries ask for a password, so they have no text: {posts}",
                count,
                posts=posts,
            )
        case _:
            return message_n(
                "the page of {n:,} entry shows its comments only with scripts, so they are missing: {posts}",
                "the pages of {n:,} entries show their comments only with scripts, so they are missing: {posts}",
                count,
                posts=posts,
            )


def _address(paths: SitePaths, post_id: str) -> str:
    return paths.origin + (paths.post_path(post_id) or paths.home)


def _plain(place: str) -> str:
    """Return an address without what canonical addresses often leave out."""
    return place.partition("?")[0].rstrip("/").removesuffix("index.html").lower()


def _record(article: PageArticle) -> dict[str, Any]:
    """Return the members of a record that a reading gives."""
    return {
        "how": article.how,
        "confidence": str(article.confidence),
        "title": collapse(article.title),
        "date": article.date,
        "updated": article.updated,
        "author": article.author,
        "categories": article.categories,
        "tags": article.tags,
        "excerpt": article.excerpt,
        "featured": article.featured,
        "kind": str(PostKind.PAGE if article.is_page else PostKind.POST),
        "status": str(Audience.PASSWORD if article.password else Audience.PUBLIC),
        "body": article.body,
        "more": article.more,
        TAKEN_FROM: article.sources,
    }
