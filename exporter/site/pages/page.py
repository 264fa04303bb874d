"""What all pages of a site are made from, and how comments and entries are shown on more than one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter.export.interface import ViewFile
from exporter.html.links import commenter_link
from exporter.site.catalogue import Catalogue, PostSummary, fingerprint, shown
from exporter.site.templating import Pages, root_of

if TYPE_CHECKING:
    from markupsafe import Markup

    from exporter.html.links import AddressPattern
    from exporter.html.page_body import BodyWriter
    from exporter.model.kinds import Kind
    from exporter.model.records import Comment
    from exporter.site.options import SiteOptions
    from exporter.site.pictures import Pictures

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


@dataclass(frozen=True, slots=True)
class Site:
    """One site under way."""

    options: SiteOptions
    catalogue: Catalogue
    pages: Pages
    bodies: BodyWriter
    pictures: Pictures
    page_of: Callable[[str], str | None]
    addresses: Sequence[AddressPattern] = ()

    def file(
        self, path: str, template: str, parts: Sequence[bytes | str], context: Callable[[], dict[str, Any]]
    ) -> ViewFile:
        """Return a page whose context is only made when one of the parts of its fingerprint has changed."""
        return ViewFile(path, fingerprint(template, *parts), lambda: self.pages.page(template, path, **context()))

    def leads(self, kind: Kind, record_id: str) -> str:
        """Return what changes whenever links of an entry or a comment lead to other pages of the site."""
        return "\n".join(f"{link} {self.page_of(link)}" for link in self.catalogue.links[kind].get(record_id, ()))

    def asset(self, page: str, path: str) -> str:
        """Return the way from a page to a stored file."""
        return f"{root_of(page)}{self.options.assets}{path}"

    def address_of(self, raw: Mapping[str, Any]) -> str | None:
        """Return where an entry stood on the web, when the form of such addresses is known."""
        return next(filter(None, (pattern.fill(raw) for pattern in self.addresses)), None)

    def comments(self, cm_ids: tuple[str, ...] | list[str], page: str) -> list[ShownComment]:
        """Read comments as a page shows them, in the order of their ids."""
        return [self._comment(comment, page) for comment in self.catalogue.comments(cm_ids)]

    def _comment(self, comment: Comment, page: str) -> ShownComment:
        return ShownComment(
            f"comment-{shown(comment.id)}",
            shown(comment.name)[:_NAME_KEPT],
            shown(comment.title)[:_NAME_KEPT],
            self.pages.dates.day(comment.date),
            "" if comment.date is None else f"{comment.date:%Y-%m-%d}",
            commenter_link(comment.url),
            self.bodies.html(comment.text, root_of(page)),
            comment.deleted is True,
            shown(comment.reply or ""),
        )


def listed(posts: Sequence[PostSummary]) -> bytes:
    """Return one fingerprint for what lists show of entries."""
    return fingerprint(*(post.listed for post in posts))


def category_page(name: str) -> str:
    """Return the path of a category's page; names may hold anything, so it is called by its hash."""
    return f"category/{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}.html"
