"""Charts as inline SVG, drawn here: bars and a grid of shades, each value with a tip. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from exporter.export.interface import ViewFile
from exporter.html.links import Use, embedded
from exporter.html.text import plain_text
from exporter.model.kinds import Kind
from exporter.site.catalogue import ORPHANS_PAGE, UNDATED, Catalogue, PostSummary, fingerprint, shown
from exporter.site.pages.page import Site, category_page, listed
from exporter.site.search_data import script
from exporter.site.templating import root_of

_HEIGHT: Final = 160
_WIDTH: Final = 720
_BASE: Final = 22
_SHADES: Final = 4


class Bar(NamedTuple):
    """One value: what it is called, how large it is, what stands under it, and where it leads."""

    name: str
    value: int
    label: str = ""
    link: str = ""


def bars(values: Sequence[Bar], title: str) -> Markup:
    """Return a chart of upright bars; ``title`` says what it shows to those who do not see it."""
    most = max((bar.value for bar in values), default=0) or 1
    step = _WIDTH / max(1, len(values))
    parts = []
    for at, bar in enumerate(values):
        height = bar.value * (_HEIGHT - _BASE - 8) / most
        x = at * step
        shape = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            x + step * 0.1, _HEIGHT - _BASE - height, max(0.6, step * 0.8), height
        )
        tip = Markup('<g><title>{}: {:,}</title><rect class="hit" x="{:.1f}" y="0" width="{:.1f}" height="{}"/>{}</g>')
        parts.append(_linked(bar.link, tip.format(bar.name, bar.value, x, step, _HEIGHT - _BASE, shape)))
        if bar.label:
            parts.append(Markup('<text x="{:.1f}" y="{}">{}</text>').format(x + step / 2, _HEIGHT - 6, bar.label))
    return _svg(_WIDTH, _HEIGHT, title, parts)


def rows(values: Sequence[Bar], title: str) -> Markup:
    """Return a chart of lying bars with their names beside them."""
    most = max((bar.value for bar in values), default=0) or 1
    parts = []
    for at, bar in enumerate(values):
        y = at * 28
        width = bar.value * (_WIDTH - 290) / most
        row = Markup(
            '<g><title>{0}: {1:,}</title><text class="name" x="200" y="{2}">{3}</text>'
            '<rect x="212" y="{4}" width="{5:.1f}" height="18"/>'
            '<text class="value" x="{6:.1f}" y="{2}">{1:,}</text></g>'
        ).format(bar.name, bar.value, y + 18, _cut(bar.name), y + 4, width, 220 + width)
        parts.append(_linked(bar.link, row))
    return _svg(_WIDTH, max(28, len(values) * 28), title, parts)


def grid(lines: Sequence[tuple[str, Sequence[Bar]]], heads: Sequence[str], title: str, cell: int = 34) -> Markup:
    """Return a grid of shades: a line for each name with a cell for each value, the heads above.

    Args:
        lines: name and values of each line.
        heads: what stands above the columns.
        title: what it shows, for those who do not see it.
        cell: the width of a column; lines are a little less high.
    """
    most = max((bar.value for _, cells in lines for bar in cells), default=0) or 1
    left, height = 56, cell - cell // 5
    parts = [
        Markup('<text x="{}" y="14">{}</text>').format(left + at * cell + cell // 2, head)
        for at, head in enumerate(heads)
        if head
    ]
    for line, (name, values) in enumerate(lines):
        y = 22 + line * height
        parts.append(Markup('<text class="name" x="{}" y="{}">{}</text>').format(left - 8, y + height * 3 // 4, name))
        for at, bar in enumerate(values):
            shade = -(-bar.value * _SHADES // most)
            shape = Markup('<rect class="shade s{}" x="{}" y="{}" width="{}" height="{}" rx="4"/>').format(
                shade, left + at * cell + 2, y, cell - 4, height - 4
            )
            tip = Markup("<g><title>{}: {:,}</title>{}</g>").format(bar.name, bar.value, shape)
            parts.append(_linked(bar.link if bar.value else "", tip))
    return _svg(left + len(heads) * cell, 26 + len(lines) * height, title, parts)


def _linked(link: str, shape: Markup) -> Markup:
    return Markup('<a href="{}">{}</a>').format(link, shape) if link else shape


def _cut(name: str) -> str:
    return name if len(name) <= 12 else name[:11] + "…"


def _svg(width: int, height: int, title: str, parts: Sequence[Markup]) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="group" aria-label="{}">')
    return opening.format(width, height, title) + Markup("").join(parts) + Markup("</svg>")


_RECENT: Final = 12
_EXCERPT: Final = 110
_LOOKED_AT: Final = 200_000
"""How much of a body is read for its beginning."""

_PICTURE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)


def list_files(site: Site) -> Iterator[ViewFile]:
    """Yield all lists."""
    years = site.catalogue.by_year()
    yield _home(site, years)
    yield _years(site, years)
    for year, posts in years.items():
        yield site.file(
            year_page(year), "year.html", [listed(posts), *_neighbours(years, year)],
            partial(_year_context, site, years, year, posts),
        )  # fmt: skip
    yield from _categories(site)
    yield from _days(site)


def year_page(year: str) -> str:
    """Return the path of a year's page."""
    return f"year/{year}.html"


def _home(site: Site, years: dict[str, list[PostSummary]]) -> ViewFile:
    catalogue = site.catalogue
    recent = [post for post in reversed(catalogue.posts) if post.gone_in is None][:_RECENT]
    dated = [post for post in catalogue.posts if post.date is not None]
    parts: list[bytes | str] = [
        *(fingerprint(post.identity, post.listed, site.pictures.depends(post.id)) for post in recent),
        repr([(year, len(posts)) for year, posts in years.items()]),
        str(dated[0].date if dated else ""),
        str(dated[-1].date if dated else ""),
        " ".join(_months(catalogue)),
    ]
    return site.file("index.html", "home.html", parts, lambda: {
        "current": "home",
        "recent": [_card(site, post) for post in recent],
        "years": [(year, year_page(year), len(posts)) for year, posts in years.items()],
        "total": len(catalogue.posts),
        "first": dated[0].date if dated else None,
        "last": dated[-1].date if dated else None,
        "months": " ".join(_months(catalogue)),
    })  # fmt: skip


def _card(site: Site, post: PostSummary) -> dict[str, Any]:
    entry = site.catalogue.entry(post)
    text = shown(plain_text(_PICTURE.sub("", entry.body[:_LOOKED_AT]))[: _EXCERPT * 2])
    return {
        "post": post,
        "excerpt": text if len(text) <= _EXCERPT else text[:_EXCERPT].rstrip() + "…",
        "thumbnail": _thumbnail(site, post, entry.body),
    }


def _thumbnail(site: Site, post: PostSummary, html: str) -> str | None:
    """Return the first picture of an entry that is no icon."""
    known = {picture.url: picture for picture in site.pictures.by_entry.get(post.id, ())}
    addresses = [found.text for found in embedded(html) if found.use is Use.SHOWN]
    for picture in [*(known[each] for each in addresses if each in known), *known.values()]:
        if picture.width is None or picture.width >= 64:
            return site.asset("index.html", picture.path)
    return None


def _years(site: Site, years: dict[str, list[PostSummary]]) -> ViewFile:
    catalogue = site.catalogue
    counts = {year: Counter(post.date.month for post in posts if post.date) for year, posts in years.items()}
    unread = [
        catalogue.service.post(None, catalogue.records.load(Kind.ENTRY_LIST, item_id)) for item_id in catalogue.unread
    ]
    gone = [post for post in reversed(catalogue.posts) if post.gone_in is not None]
    most = max((number for months in counts.values() for number in months.values()), default=1)
    parts: list[bytes | str] = [
        repr([(year, len(posts), sorted(counts[year].items())) for year, posts in years.items()]),
        catalogue.identities(Kind.ENTRY_LIST, catalogue.unread),
        listed(gone),
        str(len(catalogue.orphans)),
    ]
    return site.file("years.html", "years.html", parts, lambda: {
        "title": site.pages.words["years"],
        "current": "years",
        "rows": [
            (year, year_page(year), len(posts), [
                (month, counts[year][month], -(-counts[year][month] * _SHADES // most)) for month in range(1, 13)
            ])
            for year, posts in years.items() if year != UNDATED
        ],
        "undated": len(years.get(UNDATED, ())),
        "undated_page": year_page(UNDATED),
        "unread": [(item.listed_on, shown(item.title), shown(item.id)) for item in unread],
        "gone": gone,
        "orphans": len(catalogue.orphans),
        "orphans_page": ORPHANS_PAGE,
        "total": len(catalogue.posts),
    })  # fmt: skip


def _neighbours(years: dict[str, list[PostSummary]], year: str) -> tuple[str, str]:
    """Return the names of the newer and the older year, empty at the ends."""
    names = list(years)
    at = names.index(year)
    return names[at - 1] if at else "", names[at + 1] if at + 1 < len(names) else ""


def _year_context(
    site: Site, years: dict[str, list[PostSummary]], year: str, posts: list[PostSummary]
) -> dict[str, Any]:
    newer, older = _neighbours(years, year)
    words, dates = site.pages.words, site.pages.dates

    def name(each: str) -> str:
        return words["undated"] if each == UNDATED else dates.year(each)

    return {
        "title": name(year),
        "current": "years",
        "months": [
            (month, dates.month(month) if month else "", list(of_month))
            for month, of_month in groupby(posts, key=lambda post: post.date.month if post.date else 0)
        ],
        "days": None if year == UNDATED else _days_chart(site, year, posts),
        "total": len(posts),
        "newer": (name(newer), year_page(newer)) if newer else None,
        "older": (name(older), year_page(older)) if older else None,
    }


def _days_chart(site: Site, year: str, posts: list[PostSummary]) -> Markup:
    """Return the year as a grid of days; a day leads to its entry, or to its month where it has several."""
    days: defaultdict[tuple[int, int], list[PostSummary]] = defaultdict(list)
    for post in posts:
        if post.date is not None:
            days[post.date.month, post.date.day].append(post)
    root = root_of(year_page(year))
    lines = []
    for month in range(1, 13):
        cells = []
        for day in range(1, monthrange(int(year), month)[1] + 1):
            found = days.get((month, day), [])
            link = root + found[0].page if len(found) == 1 else f"#m{month}"
            cells.append(Bar(f"{site.pages.dates.month(month)} {day}", len(found), "", link))
        lines.append((str(month), cells))
    return grid(lines, [str(day) if day % 5 == 0 or day == 1 else "" for day in range(1, 32)], year, cell=22)


def _categories(site: Site) -> Iterator[ViewFile]:
    categories = site.catalogue.by_category()
    rows = [(name, category_page(name), len(posts)) for name, posts in categories.items()]
    title = site.pages.words["categories"]
    yield site.file(
        "categories.html", "categories.html", [repr(rows)],
        lambda: {"title": title, "current": "categories", "rows": rows},
    )  # fmt: skip
    for name, posts in categories.items():
        yield site.file(
            category_page(name), "category.html", [name, listed(posts)],
            partial(_category_context, site, name, posts),
        )  # fmt: skip


def _category_context(site: Site, name: str, posts: Sequence[PostSummary]) -> dict[str, Any]:
    return {
        "title": name or site.pages.words["uncategorised"],
        "current": "categories",
        "years": _grouped(posts),
        "total": len(posts),
    }


def _grouped(posts: Sequence[PostSummary]) -> list[tuple[str, list[PostSummary]]]:
    return [(year, list(of_year)) for year, of_year in groupby(posts, key=lambda post: post.year)]


def _months(catalogue: Catalogue) -> list[str]:
    return sorted({f"{post.date.month:02d}" for post in catalogue.posts if post.date and post.gone_in is None})


def _days(site: Site) -> Iterator[ViewFile]:
    """Yield what the home page asks for on a day of each month: day, year, title and page of every entry."""
    months: defaultdict[str, list[PostSummary]] = defaultdict(list)
    for post in site.catalogue.posts:
        if post.date is not None and post.gone_in is None:
            months[f"{post.date.month:02d}"].append(post)
    for month, posts in sorted(months.items()):
        yield ViewFile(
            f"data/days-{month}.js", fingerprint("days", listed(posts)),
            partial(_days_script, month, posts),
        )  # fmt: skip


def _days_script(month: str, posts: Sequence[PostSummary]) -> bytes:
    rows = [[post.date.day, post.date.year, post.title, post.page] for post in posts if post.date]
    return script("days", month, rows)
