"""The pictures in rows, the newest entry first, and unused pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import floor
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from exporter.export.interface import ViewFile
from exporter.html.picture_rows import row_lengths
from exporter.site.catalogue import StoredPicture, fingerprint
from exporter.site.pages.site import Site
from exporter.site.post_list import PostSummary
from exporter.site.templating import CONTENT_LANGUAGE, root_of

UNUSED: Final = "unused"
_NEWEST_PICTURES: Final = 48


class _Rows(NamedTuple):
    """Rows in a window: the sum of ratios that gives the best height, and the most pictures."""

    ratio: float
    most: int


_WIDE: Final = _Rows(4.0, 6)
_NARROW: Final = _Rows(2.1, 3)


class _Item(NamedTuple):
    """A picture, the newest entry that uses it, and the words that describe it."""

    picture: StoredPicture
    post: PostSummary | None
    words: str


def gallery_files(site: Site) -> Iterator[ViewFile]:
    """Yield the pages of pictures."""
    found = (_Item(picture, post, site.words_of(picture)) for picture, post in shown_pictures(site))
    items = sorted(found, key=_newest_first)
    years: defaultdict[str, list[_Item]] = defaultdict(list)
    for item in items:
        years[item.post.year if item.post else UNUSED].append(item)
    names = {year: site.year_name(year) for year in years} | {UNUSED: site.t("Pictures no entry uses")}
    rows = [(year, f"gallery/{year}.html", len(years[year])) for year in years]
    title = site.t("Pictures")

    def page(path: str, title: str, shown: list[_Item], parts: list[str]) -> ViewFile:
        def context() -> dict[str, Any]:
            return {
                "title": title,
                "current": "gallery",
                "months": [] if parts else _month_links(site, shown),
                "shots": _flow(site, path, shown, of_year=not parts),
                "rows": [(names[year], target, count) for year, target, count in rows] if parts else [],
                "total": len(items) if parts else len(shown),
            }

        return site.file(path, "gallery.html", [title, *parts, _identity(site, shown)], context)

    yield page("gallery.html", title, [item for item in items if item.post][:_NEWEST_PICTURES], [repr(rows)])
    for year, path, _ in rows:
        yield page(path, f"{title} {names[year]}", years[year], [])


def shown_pictures(site: Site) -> Iterator[tuple[StoredPicture, PostSummary | None]]:
    """Yield each picture with the newest entry that uses it."""
    for picture in site.pictures.shown:
        posts = [site.catalogue.by_id[each] for each in picture.entries if each in site.catalogue.by_id]
        post = max(posts, key=lambda post: site.catalogue.by_id.place(post.id), default=None)
        yield picture, post


def _newest_first(item: _Item) -> tuple[float, str, str]:
    date = item.post.date if item.post else None
    return 0.0 if date is None else -date.timestamp(), item.post.id if item.post else "", item.picture.url


def _month(site: Site, item: _Item, *, of_year: bool) -> tuple[str, str]:
    """Return anchor and name for a picture's month; both are empty without a date.

    The name has no year on a page that shows one year.
    """
    date = item.post.date if item.post else None
    if date is None:
        return "", ""
    return f"m{date:%Y-%m}", site.dates.month(date.month) if of_year else site.dates.month_of(date)


def _month_links(site: Site, items: Sequence[_Item]) -> list[tuple[str, str, int]]:
    """Return the name, the anchor and the number of pictures of each month; none for a single month."""
    by_month = groupby(items, lambda item: _month(site, item, of_year=True))
    found = [(name, anchor, len(list(of_month))) for (anchor, name), of_month in by_month]
    return [each for each in found if each[1]] if len(found) > 1 else []


def _flow(site: Site, path: str, items: Sequence[_Item], *, of_year: bool) -> Markup:
    """Return all pictures as HTML: the items of a list whose rows fill the width."""
    placed = [each for _, of_post in groupby(items, lambda item: item.post) for each in _in_order(site, list(of_post))]
    ratios = [site.ratio(item.picture) for item, _ in placed]
    wide, narrow = (_shares(ratios, rows) for rows in (_WIDE, _NARROW))
    months = [_month(site, item, of_year=of_year) for item, _ in placed]
    parts = []
    for at, (item, name) in enumerate(placed):
        (share, gaps), (narrow_share, narrow_gaps) = wide[at], narrow[at]
        style = f"--r:{ratios[at]:g};--d:{share:g};--k:{gaps};--p:{narrow_share:g};--q:{narrow_gaps}"
        anchor, month = months[at]
        heading = f'<h2 id="{anchor}">{month}</h2>' if month and (at == 0 or months[at - 1] != months[at]) else ""
        shown = site.linked_picture(item.picture, name, root_of(path), described=bool(item.words))
        parts.append(
            f'<li style="{style}" data-item>{heading}<figure>{shown}{_caption(site, path, item)}</figure></li>\n'
        )
    return Markup("".join(parts))  # noqa: S704  escaped above


def _in_order(site: Site, items: list[_Item]) -> list[tuple[_Item, str]]:
    """Sort one entry's pictures as its text does, and return each with its alternative text."""
    post = items[0].post
    if post is None:
        return [(item, item.words or site.t("Picture {n}", n=at)) for at, item in enumerate(items, 1)]
    if len(items) > 1:
        entry = site.catalogue.entry(post)
        text = entry.body + entry.more
        items.sort(key=lambda item: text.find(item.picture.url.rpartition("/")[2]) % (len(text) + 1))
    title = post.title or site.t("(untitled)")
    return [
        (item, item.words or site.t("Picture {n} of “{title}”", n=at, title=title)) for at, item in enumerate(items, 1)
    ]


def _shares(ratios: Sequence[float], rows: _Rows) -> list[tuple[float, int]]:
    """Return each picture's share of its row's width without gaps, and the number of these gaps."""
    found = []
    start = 0
    for length in row_lengths(ratios, wanted=rows.ratio, most=rows.most, fills_last=False):
        row = ratios[start : start + length]
        start += length
        total = sum(row) if start < len(ratios) else max(sum(row), rows.ratio)
        # Rounded down, so that the sum of a row never exceeds its width.
        found += [(floor(ratio / total * 10_000) / 10_000, length - 1) for ratio in row]
    return found


def _caption(site: Site, path: str, item: _Item) -> str:
    """Return the title, as a link, and the date of the entry that shows a picture."""
    post = item.post
    if post is None:
        return ""
    date = f'<time datetime="{post.date:%Y-%m-%d}">{site.dates.short_day(post.date)}</time>' if post.date else ""
    title = f'<a lang="{CONTENT_LANGUAGE}" href="{root_of(path)}{post.page}">{site.parts.title(post)}</a>'
    return f"<figcaption>{title} <small>{date} {site.parts.badges(post)}</small></figcaption>"


def _identity(site: Site, items: list[_Item]) -> bytes:
    """Return a fingerprint for the shown pictures; their order is that in the texts."""
    posts = [item.post and (item.post.listed, item.post.identity) for item in items]
    shown = [(item.picture.path, item.words, site.pictures.drawn(item.picture.path)) for item in items]
    return fingerprint(repr(posts), repr(shown))
