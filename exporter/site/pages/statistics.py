"""The blog in numbers: each chart with a table that says the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from exporter.export.comment_index import UNDATED
from exporter.export.interface import ViewFile
from exporter.model.kinds import Kind
from exporter.site.charts import ChartValue, bars, rows
from exporter.site.pages.lists import calendar_years
from exporter.site.pages.site import Site, category_page

_MOST_CATEGORIES: Final = 12
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
        *(post.identity + post.listed for post in catalogue.posts),
        catalogue.identities(Kind.COMMENTS, catalogue.records.ids(Kind.COMMENTS)),
        *(f"{picture.path} {picture.entries}" for picture in site.pictures.all),
    ]
    yield site.file("statistics.html", "statistics.html", parts, lambda: _context(site))


def _context(site: Site) -> dict[str, Any]:
    catalogue = site.catalogue
    longest = sorted(catalogue.posts, key=lambda post: -post.length)[:5]
    posts = Counter(_month(post.date.year, post.date.month) for post in catalogue.posts if post.date)
    comments = catalogue.comment_table.by_month()
    charts = [
        _monthly(site, "per-month", site.t("Entries a month"), posts),
        _monthly(site, "comments-month", site.t("Comments a month"), comments),
        _histogram(site, [post.length for post in catalogue.posts]),
        _sizes(site),
        _top_categories(site),
    ]
    total = sum(post.length for post in catalogue.posts)
    return {
        "title": site.t("Statistics"),
        "current": "statistics",
        "charts": [chart for chart in charts if chart.lines],
        "calendar": calendar_years(catalogue.by_year()),
        "facts": [
            site.t("Entries: {n}", n=len(catalogue.posts)),
            site.t("Comments: {n}", n=len(catalogue.records.ids(Kind.COMMENTS))),
            site.t("{n} pictures", n=len(site.pictures.all)),
            site.t("{n} characters in all", n=f"{total:,}"),
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
    for picture in site.pictures.all:
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
        ChartValue(name or site.t("No category"), len(posts), "", category_page(name))
        for name, posts in list(site.catalogue.by_category().items())[:_MOST_CATEGORIES]
    ]
    lines = [(bar.name, bar.number) for bar in values]
    title = site.t("Most used categories")
    return _Chart("categories", title, rows(values, title), (site.t("Categories"), site.t("Number", "site")), lines)


def _size(count: int) -> str:
    return f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"
