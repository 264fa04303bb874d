"""The pictures of the blog, by the year of the entry that used each first, and those no entry uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from exporter.export.interface import ViewFile
from exporter.model.asset import openable
from exporter.model.kinds import Kind
from exporter.site.catalogue import PostSummary, StoredPicture, fingerprint, one_line
from exporter.site.pages.site import Site

_UNUSED: Final = "unused"
_NEWEST: Final = 48
_SMALLEST: Final = 48


class _Item(NamedTuple):
    """A picture, the newest entries that use it first, what its file record calls it, and whether it opens alone."""

    picture: StoredPicture
    posts: tuple[PostSummary, ...]
    caption: str
    opens: bool


def gallery_files(site: Site) -> Iterator[ViewFile]:
    """Yield the pages of pictures."""
    items = sorted(_items(site), key=_newest_first)
    groups: defaultdict[str, list[_Item]] = defaultdict(list)
    for item in items:
        groups[item.posts[0].year if item.posts else _UNUSED].append(item)
    names = {year: site.words["unused"] if year == _UNUSED else site.year_name(year) for year in groups}
    rows = [(year, f"gallery/{year}.html", len(groups[year])) for year in groups]
    title = site.words["gallery"]

    def page(path: str, title: str, shown: list[_Item], parts: list[str]) -> ViewFile:
        def context() -> dict[str, Any]:
            return {
                "title": title,
                "current": "gallery",
                "items": [(item, site.asset(path, item.picture.path)) for item in shown],
                "rows": [(names[year], target, count) for year, target, count in rows] if parts else [],
                "total": len(items) if parts else len(shown),
            }

        return site.file(path, "gallery.html", [title, *parts, _items_identity(shown)], context)

    yield page("gallery.html", title, [item for item in items if item.posts][:_NEWEST], [repr(rows)])
    for year, path, _ in rows:
        yield page(path, f"{title} {names[year]}", groups[year], [])


def _items(site: Site) -> Iterator[_Item]:
    """Yield each stored picture once; small icons are no pictures of the blog."""
    seen: set[str] = set()
    for picture in site.pictures.all:
        if picture.path in seen or (picture.width is not None and picture.width < _SMALLEST):
            continue
        seen.add(picture.path)
        posts = [site.catalogue.by_id[each] for each in picture.entries if each in site.catalogue.by_id]
        posts.sort(key=lambda post: site.catalogue.places[post.id], reverse=True)
        yield _Item(picture, tuple(posts), _caption(site, picture), openable(picture.path))


def _newest_first(item: _Item) -> tuple[float, str]:
    date = item.posts[0].date if item.posts else None
    return (0.0 if date is None else -date.timestamp(), item.picture.path)


def _caption(site: Site, picture: StoredPicture) -> str:
    for file_id in picture.files:
        raw = site.catalogue.records.load(Kind.FILES, file_id)
        if raw is not None:
            file = site.catalogue.service.upload(raw)
            return one_line(file.title or file.description or file.name)
    return ""


def _items_identity(items: list[_Item]) -> bytes:
    return fingerprint(
        *(
            repr((item.picture.path, item.caption, [(post.page, post.title, post.private) for post in item.posts]))
            for item in items
        )
    )
