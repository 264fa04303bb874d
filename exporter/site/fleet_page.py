"""The pages over the sites of many blogs: a first page, pages of some hundred blogs, and the names to search in.

They look like the sites, and follow the same rules: nothing from the network, only their own scripts, and all text from
blogs escaped. A page opened from a folder cannot fetch files, so names are in scripts, a few thousand in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from exporter.message import message
from exporter.search.folding import fold
from exporter.site.folds import folds_script
from exporter.site.templating import CONTENT_LANGUAGE, POLICY, escaped, render_alone, script
from exporter.text import visible
from exporter.translation import translated, translator

ON_PAGE: Final = 300
IN_PART: Final = 5_000
"""Names in one script, some hundred kilobytes."""
_HERE: Final = Path(__file__).parent
_FILES: Final = ("fleet_static/fleet.js", "static/folding.js", "static/icon.svg", "static/site.css", "static/theme.js")
_SITE: Final = "latest/site/index.html"
_STATES: Final = {
    "partial": message("not wholly saved"),
    "failed": message("last backup failed"),
    "new": message("not saved yet"),
    "damaged": message("damaged"),
}


class BlogCard(NamedTuple):
    """The facts about a blog on the pages.

    Attributes:
        blog_id: the blog.
        archive: its archive's folder below the fleet's, with slashes.
        title: its name; empty if it is unknown.
        entries: the number of its entries.
        first: the day of its first entry, ISO 8601; empty if unknown.
        last: the day of its last entry.
        state: ``saved``, ``partial``, ``failed``, ``new`` or ``damaged``.
        site: whether it has an offline site.
    """

    blog_id: str
    archive: str
    title: str
    entries: int
    first: str
    last: str
    state: str
    site: bool

    @property
    def name(self) -> str:
        """The displayed name."""
        return visible(self.title or self.blog_id)[0]


class IndexRow(NamedTuple):
    """The first letters of names, the page number where they start, and the number of such names."""

    letters: str
    page: int
    blogs: int


def static_files() -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the pages' static files."""
    for path in (_HERE / name for name in _FILES):
        yield path.name, path.read_bytes()
    yield "folds.js", folds_script()


class FleetPages:
    """Writes the pages in one language.

    Args:
        language: the interface language, ``ja`` or ``en``.
        title: the title of all pages; a default title if empty.
    """

    def __init__(self, language: str, title: str = "") -> None:
        self._language, self._t = language, translator(language)
        self._title = visible(title or self._t("The saved blogs"))[0]

    def home(self, index: Sequence[IndexRow], blogs: int, entries: int, cards: Sequence[BlogCard]) -> bytes:
        """Return the first page, ``index.html``, with the list itself if the blogs are few."""
        rows = [(visible(row.letters)[0], f"{row.page:06d}", f"{row.blogs:,}") for row in index]
        values = {"root": "", "number": 0, "pages": 0, "lines": self._lines(cards, ""), "index": rows}
        return self._rendered({**values, "blogs": blogs, "entries": entries}, blogs)

    def page(self, number: int, pages: int, cards: Sequence[BlogCard], blogs: int) -> bytes:
        """Return one list page, ``fleet/pages/000001.html``."""
        lines = self._lines(cards, "../../")
        values = {"root": "../../", "number": number, "pages": pages, "lines": lines, "index": []}
        return self._rendered({**values, "blogs": blogs, "entries": 0}, blogs)

    def names(self, cards: Sequence[BlogCard]) -> bytes:
        """Return names for the search, ``fleet/names/000001.js``: the folded and the displayed text for each blog."""
        rows = [
            [
                fold(f"{card.title} {card.blog_id}"),
                card.name,
                visible(card.blog_id)[0],
                _address(card) if card.site else "",
                self._note(card),
                _years(card),
            ]
            for card in cards
        ]
        return script("blogNames", rows)

    def _rendered(self, values: dict[str, object], blogs: int) -> bytes:
        own = {"site_title": self._title, "policy": POLICY, "parts_of_names": -(-blogs // IN_PART)}
        return visible(render_alone("fleet.html", self._language, {**own, **values}))[0].encode()

    def _lines(self, cards: Sequence[BlogCard], root: str) -> Markup:
        return Markup("\n".join(self._line(card, root) for card in cards))  # noqa: S704  escaped there

    def _line(self, card: BlogCard, root: str) -> str:
        name = escaped(card.name)
        shown = f'<span lang="{CONTENT_LANGUAGE}">{name}</span>'
        if card.site:
            shown = f'<a href="{root}{escaped(_address(card))}" lang="{CONTENT_LANGUAGE}">{name}</a>'
        other = f" <small>{escaped(visible(card.blog_id)[0])}</small>" if card.title else ""
        years = f"<time>{_years(card)}</time>"
        return f'<li class="line">{years}{shown}{other} <small>{escaped(self._note(card))}</small></li>'

    def _note(self, card: BlogCard) -> str:
        """Return the note next to a blog: its number of entries, and its problem if it has one."""
        parts = [self._t("Entries: {n}", n=card.entries)]
        if card.state in _STATES:
            parts.append(translated(_STATES[card.state], self._language))
        if not card.site:
            parts.append(self._t("no pages to read"))
        return " · ".join(parts)


def _years(card: BlogCard) -> str:
    first, last = card.first[:4], card.last[:4]
    return first if first == last else f"{first}–{last}"


def _address(card: BlogCard) -> str:
    """Return the relative link from the fleet's folder to a blog's site."""
    return quote(f"{card.archive}/{_SITE}", safe="/", errors="replace")
