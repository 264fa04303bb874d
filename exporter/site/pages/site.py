"""One site while it is made: what all its pages are made from, and what more than one of them shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter.export.interface import ViewFile
from exporter.html.links import AddressPattern, commenter_link
from exporter.html.local_links import AssetMap
from exporter.html.page_body import BodyWriter
from exporter.model.kinds import Kind
from exporter.site.catalogue import UNDATED, Catalogue, PostSummary, StoredPictures, fingerprint, one_line
from exporter.site.templating import PageRenderer, root_of
from exporter.site.words import LANGUAGES, Dates

if TYPE_CHECKING:
    from markupsafe import Markup

    from exporter.export.interface import RecordSource
    from exporter.model.records import Comment
    from exporter.service.interface import Records
    from exporter.site.history import ArchiveHistory
    from exporter.site.options import SiteOptions

_NAME_KEPT = 200


class ShownComment(NamedTuple):
    """A comment as templates show it."""

    anchor: str
    name: str
    title: str
    day: str
    stamp: str
    link: str | None
    text: Markup
    flagged: bool
    replied: str


class Site:
    """One site.

    Attributes:
        options: what it is to be like.
        words: of the interface, by name.
        dates: writes dates.
        catalogue: the entries and comments.
        pictures: the stored pictures.
        bodies: turns bodies into HTML.
    """

    def __init__(
        self, records: RecordSource, service: Records, history: ArchiveHistory | None, options: SiteOptions
    ) -> None:
        self.options = options
        self.words = LANGUAGES[options.language]
        self.dates = Dates(options.language)
        base = f"https://{records.blog_id}/"
        patterns = [AddressPattern(text, "entry_url") for text in options.entry_addresses]
        assets = [raw for _, raw in records.scan(Kind.ASSETS)]
        self.catalogue = Catalogue(records, service, patterns, base, history)
        self.pictures = StoredPictures(assets)
        self.bodies = BodyWriter(
            AssetMap(assets, base).local_path,
            base,
            options.language,
            prefix=options.assets,
            page_of=self.catalogue.page_of,
        )
        self._renderer = PageRenderer(options, records.blog_id)

    def file(
        self, path: str, template: str, parts: Sequence[bytes | str], context: Callable[[], dict[str, Any]]
    ) -> ViewFile:
        """Return a page whose context is only made when one of the parts of its fingerprint has changed."""
        return ViewFile(path, fingerprint(template, *parts), lambda: self._renderer.render(template, path, **context()))

    def asset(self, page: str, path: str) -> str:
        """Return the way from a page to a stored file."""
        return f"{root_of(page)}{self.options.assets}{path}"

    def year_name(self, year: str) -> str:
        """Return what a year, or :data:`~exporter.site.catalogue.UNDATED`, is called."""
        return self.words["undated"] if year == UNDATED else self.dates.year(year)

    def comments(self, comment_ids: Iterable[str], page: str) -> list[ShownComment]:
        """Read comments as a page shows them, in the order of their ids."""
        return [self._comment(comment, root_of(page)) for comment in self.catalogue.comments(comment_ids)]

    def _comment(self, comment: Comment, root: str) -> ShownComment:
        return ShownComment(
            anchor=f"comment-{one_line(comment.id)}",
            name=one_line(comment.name)[:_NAME_KEPT],
            title=one_line(comment.title)[:_NAME_KEPT],
            day=self.dates.day(comment.date),
            stamp="" if comment.date is None else f"{comment.date:%Y-%m-%d}",
            link=commenter_link(comment.url),
            text=self.bodies.html(comment.text, root),
            flagged=comment.deleted is True,
            replied=one_line(comment.reply or ""),
        )


def listed(posts: Iterable[PostSummary]) -> bytes:
    """Return one fingerprint for what lists show of entries."""
    return fingerprint(*(post.listed for post in posts))


def category_page(name: str) -> str:
    """Return the path of a category's page; names may hold anything, so it is called by its hash."""
    return f"category/{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}.html"
