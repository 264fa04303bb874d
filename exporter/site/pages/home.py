"""The home page: the newest entries, all years at a glance, and what it asks for on the day that it is opened."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from exporter.export.interface import ViewFile
from exporter.html.embedded import Use, embedded
from exporter.html.page_body import DrawnPicture
from exporter.site.catalogue import PostSummary, fingerprint
from exporter.site.charts import strip
from exporter.site.pages.site import Site, year_page
from exporter.site.templating import data_script

_PAGE: Final = "index.html"
_NEWEST: Final = 12
_ICON: Final = 64


class _Card(NamedTuple):
    """An entry as the home page shows it: how it begins, and its first picture, as seen from there."""

    post: PostSummary
    excerpt: str
    thumbnail: DrawnPicture | None


def home_files(site: Site) -> Iterator[ViewFile]:
    """Yield the home page, and for each day of the year that has entries what was written on it, in all years."""
    days: defaultdict[str, list[PostSummary]] = defaultdict(list)
    for post in reversed(site.catalogue.posts):
        if post.date is not None and post.gone_in is None:
            days[f"{post.date:%m%d}"].append(post)
    yield _home(site, " ".join(sorted(days)))
    for day, posts in sorted(days.items()):
        yield ViewFile(f"data/day-{day}.js", _identity(site, posts), partial(_day_script, site, day, posts))


def _home(site: Site, days: str) -> ViewFile:
    posts = site.catalogue.posts
    recent = [post for post in reversed(posts) if post.gone_in is None][:_NEWEST]
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
    parts: list[bytes | str] = [_identity(site, recent), repr(years), str(first or ""), str(last or ""), days]
    most = max((max(months) for _, _, months in years), default=0)
    return site.file(_PAGE, "home.html", parts, lambda: {
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


def _identity(site: Site, posts: Sequence[PostSummary]) -> bytes:
    identity = site.pictures.identity
    return fingerprint("cards", *(part for each in posts for part in (each.identity, each.listed, identity(each.id))))


def _card(site: Site, post: PostSummary) -> _Card:
    return _Card(post, site.catalogue.beginning(post), _thumbnail(site, post))


def _thumbnail(site: Site, post: PostSummary) -> DrawnPicture | None:
    """Return the first picture of an entry that is no icon."""
    known = {picture.url: picture for picture in site.pictures.by_entry.get(post.id, ())}
    shown = embedded(site.catalogue.entry(post).body) if known else ()
    addresses = [found.text for found in shown if found.use is Use.SHOWN]
    for picture in [*(known[each] for each in addresses if each in known), *known.values()]:
        if picture.width is None or picture.width >= _ICON:
            return site.pictures.drawn(picture.path)
    return None


def _day_script(site: Site, day: str, posts: Sequence[PostSummary]) -> bytes:
    """Return the entries of a day, the newest first: page, day in words, title, excerpt, picture, whether private."""
    rows: list[list[Any]] = []
    for post in posts:
        _, excerpt, thumbnail = _card(site, post)
        source = thumbnail.source if thumbnail else ""
        rows.append([post.page, site.dates.day(post.date), post.title, excerpt, source, post.private])
    return data_script("day", day, rows)
