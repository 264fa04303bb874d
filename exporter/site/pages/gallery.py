"""The blog's pictures, by month and by the newest entry that shows each, and unused pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from exporter.export.interface import ViewFile
from exporter.model.kinds import Kind
from exporter.site.catalogue import StoredPicture, fingerprint, one_line
from exporter.site.pages.site import Site, file_name
from exporter.site.post_list import PostSummary
from exporter.site.templating import root_of

UNUSED: Final = "unused"
_NEWEST_PICTURES: Final = 48
_MIN_PIXELS: Final = 48


class _Item(NamedTuple):
    """A picture, the newest entry that uses it, and its caption."""

    picture: StoredPicture
    post: PostSummary | None
    caption: str


class _Group(NamedTuple):
    """One entry's pictures as HTML, the sum of their aspect ratios, and their number."""

    post: PostSummary | None
    shots: Markup
    ratio: float
    number: int


def gallery_files(site: Site) -> Iterator[ViewFile]:
    """Yield the pages of pictures."""
    found = (_Item(picture, post, _caption(site, picture)) for picture, post in shown_pictures(site))
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
                "months": _months(site, path, shown),
                "rows": [(names[year], target, count) for year, target, count in rows] if parts else [],
                "total": len(items) if parts else len(shown),
            }

        return site.file(path, "gallery.html", [title, *parts, _identity(site, shown)], context)

    yield page("gallery.html", title, [item for item in items if item.post][:_NEWEST_PICTURES], [repr(rows)])
    for year, path, _ in rows:
        yield page(path, f"{title} {names[year]}", years[year], [])


def shown_pictures(site: Site) -> Iterator[tuple[StoredPicture, PostSummary | None]]:
    """Yield each stored picture once with the newest entry that uses it; small icons are left out."""
    seen: set[str] = set()
    for picture in site.pictures.all:
        if picture.path in seen or (picture.width is not None and picture.width < _MIN_PIXELS):
            continue
        seen.add(picture.path)
        posts = [site.catalogue.by_id[each] for each in picture.entries if each in site.catalogue.by_id]
        post = max(posts, key=lambda post: site.catalogue.by_id.place(post.id), default=None)
        yield picture, post


def _newest_first(item: _Item) -> tuple[float, str, str]:
    date = item.post.date if item.post else None
    return 0.0 if date is None else -date.timestamp(), item.post.id if item.post else "", item.picture.url


def _caption(site: Site, picture: StoredPicture) -> str:
    for file_id in picture.files:
        raw = site.catalogue.records.load(Kind.FILES, file_id)
        if raw is not None:
            file = site.catalogue.service.upload(raw)
            return one_line(file.title or file.description or file.name)
    return file_name(picture)


def _months(site: Site, path: str, items: Sequence[_Item]) -> list[tuple[str, list[_Group]]]:
    """Return the name of each month, with its entries and their pictures."""

    def month(item: _Item) -> str:
        date = item.post.date if item.post else None
        return "" if date is None else site.dates.month_of(date)

    return [
        (name, [_group(site, path, list(of_post)) for _, of_post in groupby(of_month, lambda item: item.post)])
        for name, of_month in groupby(items, month)
    ]


def _group(site: Site, path: str, items: list[_Item]) -> _Group:
    post = items[0].post
    if post is not None and len(items) > 1:
        entry = site.catalogue.entry(post)
        text = entry.body + entry.more
        items.sort(key=lambda item: text.find(item.picture.url.rpartition("/")[2]) % (len(text) + 1))
    shots = Markup("").join(site.shot(item.picture, item.caption, root_of(path)) for item in items)
    return _Group(post, shots, round(sum(site.ratio(item.picture) for item in items), 2), len(items))


def _identity(site: Site, items: list[_Item]) -> bytes:
    """Return a fingerprint for the shown pictures; their order is that in the texts."""
    posts = [item.post and (item.post.listed, item.post.identity) for item in items]
    shown = [(item.picture.path, item.caption, site.pictures.drawn(item.picture.path)) for item in items]
    return fingerprint(repr(posts), repr(shown))
