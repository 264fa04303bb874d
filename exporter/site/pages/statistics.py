"""The statistics page: charts, each with a table, and the calendar of years."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from exporter.export.comment_index import UNDATED
from exporter.export.interface import ViewFile
from exporter.model.kinds import Kind
from exporter.model.labels import joined_path
from exporter.site.pages.site import Site, author_page, category_page, changing, year_page
from exporter.site.post_list import PostSummary

_HEIGHT: Final = 160
_BASE_HEIGHT: Final = 22
_ROW_HEIGHT: Final = 38
_WIDE_PIXELS: Final = 680
_NARROW_PIXELS: Final = 330
"""Width in pixels on a large screen and on a phone."""
_LETTER_PIXELS: Final = 6.5
_MAX_NAME_CHARACTERS: Final = 24
SHADES: Final = 4


class ChartValue(NamedTuple):
    """One value: its name, its number, the label under it, its link, and its text form."""

    name: str
    value: int
    label: str = ""
    link: str = ""
    said: str = ""

    @property
    def number(self) -> str:
        """Return the value as people write it."""
        return self.said or f"{self.value:,}"


def bars(values: Sequence[ChartValue], title: str) -> Markup:
    """Return a chart with upright bars; ``title`` describes it to screen readers.

    Widths are a share of the page's width, heights and letters are fixed, so the chart is readable at any width. Values
    are above the bars; if they do not fit, only above the highest.
    """
    most = max((bar.value for bar in values), default=0) or 1
    step = 100 / max(1, len(values))
    width = min(max(0.1, step * 0.8), 7)
    highest = next((at for at, bar in enumerate(values) if bar.value == most), None)
    said = _every([bar.number for bar in values])
    labels = _every([bar.label for bar in values if bar.label])
    labelled = 0
    parts = []
    for at, bar in enumerate(values):
        height = bar.value * (_HEIGHT - _BASE_HEIGHT - 16) / most
        x = at * step
        shape = Markup('<rect x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}"/>').format(
            x + (step - width) / 2, _HEIGHT - _BASE_HEIGHT - height, width, height
        )
        tip = Markup('<g><title>{}: {}</title><rect class="hit" x="{:.2f}%" y="0" width="{:.2f}%" height="{}"/>{}</g>')
        parts.append(_linked(bar.link, tip.format(bar.name, bar.number, x, step, _HEIGHT - _BASE_HEIGHT, shape)))
        if bar.value and (said[0] == 1 or at == highest):
            place = min(max(x + step / 2, 3), 97), _HEIGHT - _BASE_HEIGHT - height - 4
            parts.append(_text(*place, bar.number, spare=said[1] > 1 and at != highest))
        if bar.label:
            if labelled % labels[0] == 0:
                parts.append(_text(x + step / 2, _HEIGHT - 6, bar.label, spare=labelled % labels[1] > 0))
            labelled += 1
    return _svg(_HEIGHT, title, parts)


def rows(values: Sequence[ChartValue], title: str) -> Markup:
    """Return a chart of lying bars with their names above them."""
    most = max((bar.value for bar in values), default=0) or 1
    parts = []
    for at, bar in enumerate(values):
        y = at * _ROW_HEIGHT
        row = Markup(
            '<g><title>{0}: {1:,}</title><rect class="hit" x="0" y="{2}" width="100%" height="{3}"/>'
            '<text class="name" x="0" y="{4}">{5}</text><text class="value" x="100%" y="{4}">{1:,}</text>'
            '<rect x="0" y="{6}" width="{7:.1f}%" height="8" rx="4"/></g>'
        ).format(bar.name, bar.value, y, _ROW_HEIGHT - 4, y + 14, _cut(bar.name), y + 21, bar.value * 100 / most)
        parts.append(_linked(bar.link, row))
    return _svg(len(values) * _ROW_HEIGHT, title, parts)


def strip(values: Sequence[int], most: int) -> Markup:
    """Return a row of shades without text, with ``most`` as the darkest; the text next to it names the numbers."""
    parts = [
        Markup('<rect class="shade s{}" x="{}" y="0" width="7" height="8" rx="1.5"/>').format(
            -(-value * SHADES // most), at * 8
        )
        for at, value in enumerate(values)
    ]
    opening = Markup('<svg class="strip chart" viewBox="0 0 {} 8" aria-hidden="true">').format(len(values) * 8 - 1)
    return opening + Markup("").join(parts) + Markup("</svg>")


def _linked(link: str, shape: Markup) -> Markup:
    return Markup('<a href="{}">{}</a>').format(link, shape) if link else shape


def _every(texts: Sequence[str]) -> tuple[int, int]:
    """Return the labels in a row that fit, each or every second and so on: on a large screen, and on a phone."""
    room = max(map(len, texts), default=0) * _LETTER_PIXELS * len(texts)
    return max(1, -int(-room // _WIDE_PIXELS)), max(1, -int(-room // _NARROW_PIXELS))


def _text(x: float, y: float, text: str, *, spare: bool) -> Markup:
    """Return a text around a place; one to spare is left out on phones."""
    more = Markup(' class="spare"') if spare else ""
    return Markup('<text{} x="{:.2f}%" y="{:.1f}">{}</text>').format(more, x, y, text)


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARACTERS else name[: _MAX_NAME_CHARACTERS - 1] + "…"


def _svg(height: int, title: str, parts: Sequence[Markup]) -> Markup:
    opening = Markup('<svg class="chart" width="100%" height="{}" role="group" aria-label="{}">')
    return opening.format(height, title) + Markup("").join(parts) + Markup("</svg>")


class CalendarYear(NamedTuple):
    """A year in the calendar: name, page, number of entries, and for each month number, entries and shade."""

    year: str
    page: str
    total: int
    months: Sequence[tuple[int, int, int]]


def calendar_years(years: Mapping[str, Sequence[PostSummary]]) -> list[CalendarYear]:
    """Return the dated years with the newest first, with a shade for each month."""
    counts = {year: Counter(post.date.month for post in posts if post.date) for year, posts in years.items()}
    most = max((number for months in counts.values() for number in months.values()), default=1)
    return [
        CalendarYear(year, year_page(year), len(posts), [
            (month, counts[year][month], -(-counts[year][month] * SHADES // most)) for month in range(1, 13)
        ])
        for year, posts in years.items() if year != UNDATED
    ]  # fmt: skip


_MAX_CATEGORIES: Final = 12
_LENGTHS: Final = (100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800)


class _Chart(NamedTuple):
    """A chart: its anchor, title, drawing, and its table for screen readers: heads and lines."""

    name: str
    title: str
    drawing: Markup
    heads: tuple[str, str]
    lines: list[tuple[str, str]]


def statistics_files(site: Site) -> Iterator[ViewFile]:
    """Yield the page of statistics."""
    catalogue = site.catalogue
    parts: list[bytes | str] = [
        changing(post.identity + post.listed for post in catalogue.posts),
        catalogue.identities(Kind.COMMENTS, catalogue.records.ids(Kind.COMMENTS)),
        *(f"{picture.path} {picture.entries}" for picture in site.pictures.shown),
    ]
    yield site.file("statistics.html", "statistics.html", parts, lambda: _context(site))


def _context(site: Site) -> dict[str, Any]:
    catalogue = site.catalogue
    longest = nsmallest(5, catalogue.dated, key=lambda post: -post.length)
    posts = Counter(_month(post.date.year, post.date.month) for post in catalogue.dated if post.date)
    pages = len(catalogue.posts) - len(catalogue.dated)
    comments = catalogue.comment_table.by_month()
    charts = [
        _monthly(site, "per-month", site.t("Entries a month"), posts),
        _monthly(site, "comments-month", site.t("Comments a month"), comments),
        _histogram(site, [post.length for post in catalogue.dated]),
        _sizes(site),
        _top_categories(site),
        _most_used(site, "tags", site.t("Most used tags"), site.t("Tags"), site.tags, site.tag_page),
        _most_used(site, "authors", site.t("Entries by author"), site.t("Authors"), site.authors, author_page),
    ]
    total = sum(post.length for post in catalogue.posts)
    return {
        "title": site.t("Statistics"),
        "current": "statistics",
        "charts": [chart for chart in charts if chart.lines],
        "calendar": calendar_years(catalogue.by_year()),
        "facts": [
            site.t("Entries: {n}", n=len(catalogue.dated)),
            *([site.t("Pages: {n}", n=pages)] if pages else []),
            site.t("Comments: {n}", n=len(catalogue.records.ids(Kind.COMMENTS))),
            site.t("{n} pictures", n=len(site.pictures.shown)),
            site.t("{n} characters in all", n=total),
        ],
        "longest": [(post, post.length) for post in longest],
    }


def _month(year: int, month: int) -> str:
    return f"{year:04d}-{month:02d}"


def _months(counts: Counter[str]) -> Sequence[str]:
    """Return every month from the first to the last that has anything; over 60 years, only those that have."""
    if not counts:
        return ()
    first, last = min(counts), max(counts)
    start, end = (int(name[:4]) * 12 + int(name[5:]) - 1 for name in (first, last))
    if end - start > 720:
        return sorted(counts)
    return [_month(at // 12, at % 12 + 1) for at in range(start, end + 1)]


def _monthly(site: Site, name: str, title: str, counts: Counter[str]) -> _Chart:
    months = _months(counts)
    years = max(1, len(months) // 12)
    every = -(-years // 12)
    values = [
        ChartValue(month, counts[month], month[:4] if month.endswith("-01") and int(month[:4]) % every == 0 else "")
        for month in months
    ]
    lines = [(month, f"{counts[month]:,}") for month in months if counts[month]]
    return _Chart(name, title, bars(values, title), (site.t("Month"), site.t("Number", "site")), lines)


def _histogram(site: Site, lengths: list[int]) -> _Chart:
    title = site.t("Length of entries")
    edges = [0, *_LENGTHS]
    values = []
    for at, low in enumerate(edges):
        high = edges[at + 1] if at + 1 < len(edges) else None
        number = sum(1 for length in lengths if length >= low and (high is None or length < high))
        name = f"{low:,}–{high - 1:,}" if high else f"{low:,}–"
        values.append(ChartValue(name, number, f"{low:,}–"))
    lines = [(bar.name, bar.number) for bar in values] if lengths else []
    return _Chart("lengths", title, bars(values, title), (site.t("Characters"), site.t("Number", "site")), lines)


def _sizes(site: Site) -> _Chart:
    sizes: Counter[str] = Counter()
    for picture in site.pictures.shown:
        post = next((site.catalogue.by_id[each] for each in picture.entries if each in site.catalogue.by_id), None)
        if post is not None:
            sizes[post.year] += picture.size
    years = sorted(sizes)
    names = {year: site.t("Entries without a date") if year == UNDATED else year for year in years}
    values = [ChartValue(names[year], sizes[year], names[year], "", _size(sizes[year])) for year in years]
    lines = [(bar.name, bar.number) for bar in values]
    title = site.t("Size of saved pictures by year")
    return _Chart("sizes", title, bars(values, title), (site.t("Year"), site.t("Bytes")), lines)


def _top_categories(site: Site) -> _Chart:
    values = [
        ChartValue(joined_path(path) or site.t("No category"), len(posts), "", category_page(path))
        for path, posts in list(site.catalogue.by_category().items())[:_MAX_CATEGORIES]
    ]
    lines = [(bar.name, bar.number) for bar in values]
    title = site.t("Most used categories")
    return _Chart("categories", title, rows(values, title), (site.t("Categories"), site.t("Number", "site")), lines)


def _most_used(
    site: Site,
    name: str,
    title: str,
    head: str,
    found: Mapping[str, Sequence[PostSummary]],
    page: Callable[[str], str],
) -> _Chart:
    values = [ChartValue(each, len(posts), "", page(each)) for each, posts in list(found.items())[:_MAX_CATEGORIES]]
    lines = [(bar.name, bar.number) for bar in values]
    return _Chart(name, title, rows(values, title), (head, site.t("Number", "site")), lines)


def _size(count: int) -> str:
    return f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"
