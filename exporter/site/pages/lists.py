"""The lists of entries: the years, and the categories."""

from __future__ import annotations

from calendar import SUNDAY, Calendar
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple

from exporter.export.comment_index import UNDATED
from exporter.export.interface import ViewFile
from exporter.html.embedded import Use, embedded
from exporter.html.page_body import DrawnPicture
from exporter.model.kinds import Kind
from exporter.site.catalogue import ORPHANS_PAGE, PostSummary, fingerprint, one_line
from exporter.site.pages.site import Site, category_page, listed, year_page
from exporter.site.pages.statistics import SHADES, calendar_years, strip
from exporter.site.templating import data_script, root_of

_Years = dict[str, list[PostSummary]]
_WEEKS: Final = Calendar(SUNDAY)


class _Day(NamedTuple):
    """A day in a month: its number, entries, shade and link."""

    number: int
    entries: int
    shade: int
    link: str


class _Month(NamedTuple):
    """A month: its number, name and number of entries, the weekday of its first day (0: Sunday), and its days."""

    number: int
    name: str
    total: int
    first: int
    days: Sequence[_Day]


def list_files(site: Site) -> Iterator[ViewFile]:
    """Yield all lists."""
    years = site.catalogue.by_year()
    yield _all_years(site, years)
    for year, posts in years.items():
        parts: list[bytes | str] = [listed(posts), *_neighbours(years, year)]
        yield site.file(year_page(year), "year.html", parts, partial(_year, site, years, year))
    yield from _categories(site)


def _all_years(site: Site, years: _Years) -> ViewFile:
    catalogue = site.catalogue
    calendar = calendar_years(years)
    unread = [
        catalogue.service.post(None, catalogue.records.load(Kind.ENTRY_LIST, item_id)) for item_id in catalogue.unread
    ]
    gone = [post for post in reversed(catalogue.posts) if post.gone_in is not None]
    parts: list[bytes | str] = [
        repr(calendar),
        str(len(catalogue.posts)),
        catalogue.identities(Kind.ENTRY_LIST, catalogue.unread),
        listed(gone),
        str(len(catalogue.orphans)),
    ]
    return site.file("years.html", "years.html", parts, lambda: {
        "title": site.t("By date"),
        "current": "years",
        "calendar": calendar,
        "undated": len(years.get(UNDATED, ())),
        "undated_page": year_page(UNDATED),
        "unread": [(item.listed_on, one_line(item.title), one_line(item.id)) for item in unread],
        "gone": gone,
        "orphans": len(catalogue.orphans),
        "orphans_page": ORPHANS_PAGE,
        "total": len(catalogue.posts),
    })  # fmt: skip


def _neighbours(years: _Years, year: str) -> tuple[str, str]:
    """Return the next newer and older year as text, empty at the ends."""
    names = ["", *years, ""]
    at = names.index(year, 1)
    return names[at - 1], names[at + 1]


def _year(site: Site, years: _Years, year: str) -> dict[str, Any]:
    newer, older = _neighbours(years, year)
    posts = years[year]
    return {
        "title": site.year_name(year),
        "current": "years",
        "months": [
            (month, site.dates.month(month) if month else "", list(of_month))
            for month, of_month in groupby(posts, key=lambda post: post.date.month if post.date else 0)
        ],
        "calendar": [] if year == UNDATED else _calendar(site, year, posts),
        "total": len(posts),
        "newer": (site.year_name(newer), year_page(newer)) if newer else None,
        "older": (site.year_name(older), year_page(older)) if older else None,
    }


def _calendar(site: Site, year: str, posts: Sequence[PostSummary]) -> list[_Month]:
    """Return the months that have entries; a day leads to its entry, or to its month if it has several."""
    days: defaultdict[int, defaultdict[int, list[PostSummary]]] = defaultdict(lambda: defaultdict(list))
    for post in posts:
        if post.date is not None:
            days[post.date.month][post.date.day].append(post)
    root = root_of(year_page(year))

    def day(month: int, number: int) -> _Day:
        found = days[month].get(number, [])
        link = root + found[0].page if len(found) == 1 else f"#m{month}"
        return _Day(number, len(found), min(len(found) + 1, SHADES), link)

    months = []
    for month in sorted(days):
        numbers = list(_WEEKS.itermonthdays(int(year), month))
        total = sum(map(len, days[month].values()))
        shown = [day(month, number) for number in numbers if number]
        months.append(_Month(month, site.dates.month(month), total, numbers.index(1), shown))
    return months


def _categories(site: Site) -> Iterator[ViewFile]:
    categories = site.catalogue.by_category()
    rows = [(name, category_page(name), len(posts)) for name, posts in categories.items()]
    shown = {"title": site.t("Categories"), "current": "categories", "rows": rows}
    yield site.file("categories.html", "categories.html", [repr(rows)], lambda: shown)
    for name, posts in categories.items():
        context = partial(_category, site, name, posts)
        yield site.file(category_page(name), "category.html", [name, listed(posts)], context)


def _category(site: Site, name: str, posts: Sequence[PostSummary]) -> dict[str, Any]:
    return {
        "title": name or site.t("No category"),
        "current": "categories",
        "years": [(year, list(of_year)) for year, of_year in groupby(posts, key=lambda post: post.year)],
        "total": len(posts),
    }


_HOME_PAGE: Final = "index.html"
_NEWEST_ENTRIES: Final = 12
_ICON_PIXELS: Final = 64


class _Card(NamedTuple):
    """An entry on the home page: its beginning, and its first picture."""

    post: PostSummary
    excerpt: str
    thumbnail: DrawnPicture | None


def home_files(site: Site) -> Iterator[ViewFile]:
    """Yield the home page, and for each calendar day with entries a script with these, from all years."""
    days: defaultdict[str, list[PostSummary]] = defaultdict(list)
    for post in reversed(site.catalogue.posts):
        if post.date is not None and post.gone_in is None:
            days[f"{post.date:%m%d}"].append(post)
    yield _home(site, " ".join(sorted(days)))
    for day, posts in sorted(days.items()):
        yield ViewFile(f"data/day-{day}.js", _cards_identity(site, posts), partial(_day_script, site, day, posts))


def _home(site: Site, days: str) -> ViewFile:
    posts = site.catalogue.posts
    recent = [post for post in reversed(posts) if post.gone_in is None][:_NEWEST_ENTRIES]
    dates = [post.date for post in posts if post.date is not None]
    first, last = (dates[0], dates[-1]) if dates else (None, None)
    years = [
        (
            year,
            len(of_year),
            tuple(Counter(post.date.month for post in of_year if post.date)[at] for at in range(1, 13)),
        )
        for year, of_year in site.catalogue.by_year().items()
    ]
    parts: list[bytes | str] = [_cards_identity(site, recent), repr(years), str(first or ""), str(last or ""), days]
    most = max((max(months) for _, _, months in years), default=0)
    return site.file(_HOME_PAGE, "home.html", parts, lambda: {
        "current": "home",
        "named": bool(site.options.title),
        "recent": [_card(site, post) for post in recent],
        "years": [
            (year_page(year), site.year_name(year), number, strip(months, most) if any(months) else "")
            for year, number, months in years
        ],
        "total": len(posts),
        "first": first,
        "last": last,
        "days": days,
    })  # fmt: skip


def _cards_identity(site: Site, posts: Sequence[PostSummary]) -> bytes:
    identity = site.pictures.identity
    return fingerprint("cards", *(part for each in posts for part in (each.identity, each.listed, identity(each.id))))


def _card(site: Site, post: PostSummary) -> _Card:
    return _Card(post, site.catalogue.beginning(post), _thumbnail(site, post))


def _thumbnail(site: Site, post: PostSummary) -> DrawnPicture | None:
    """Return the first picture of an entry that is not an icon."""
    known = {picture.url: picture for picture in site.pictures.by_entry.get(post.id, ())}
    shown = embedded(site.catalogue.entry(post).body) if known else ()
    addresses = [found.text for found in shown if found.use is Use.SHOWN]
    for picture in [*(known[each] for each in addresses if each in known), *known.values()]:
        if picture.width is None or picture.width >= _ICON_PIXELS:
            return site.pictures.drawn(picture.path)
    return None


def _day_script(site: Site, day: str, posts: Sequence[PostSummary]) -> bytes:
    """Return the entries on a day, newest first: page, day, title, excerpt, picture, whether private."""
    rows: list[list[Any]] = []
    for post in posts:
        _, excerpt, thumbnail = _card(site, post)
        source = thumbnail.source if thumbnail else ""
        rows.append([post.page, site.dates.day(post.date), post.title, excerpt, source, post.private])
    return data_script("day", day, rows)
