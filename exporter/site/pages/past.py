"""The data from which a script shows the blog as of any version: today's lists, and the changes of each version.

``data/list-YEAR.js`` has a row for every entry in a year, and for every picture the entries that showed it and the
versions in which they did. ``data/past-N.js`` has, for version N and some after it, the state *before* the changes in
each. To show version 3, the script undoes the newest version's changes, then the previous version's, down to version 4.
So a new version rewrites one such file, and older files stay unchanged. ``data/past.js`` says what there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from exporter.clock import at_home
from exporter.export.interface import ViewFile
from exporter.message import message
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.model.labels import AUDIENCE_NAMES, joined_path
from exporter.site.catalogue import (
    StoredPicture,
    anchor_name,
    category_paths,
    fingerprint,
    safe_name,
)
from exporter.site.pages.gallery import UNUSED, shown_pictures
from exporter.site.pages.site import Site, category_page, listed
from exporter.site.post_list import PostSummary
from exporter.site.templating import data_script

if TYPE_CHECKING:
    from datetime import datetime

    from exporter.archive.history import VersionRow
    from exporter.site.history import ArchiveHistory

_VERSIONS_PER_FILE: Final = 64
"""The maximum number of versions in a file; files are split by version numbers, so that a prune does not move the
bounds."""
_MANY_CHANGES: Final = 500
"""A version with more changes gets a separate file, which later versions do not rewrite."""
_PRIVATE, _GONE, _DAMAGED, _PAGE = 1, 2, 4, 8
_KINDS: Final = (Kind.ENTRIES, Kind.ENTRY_LIST, Kind.COMMENTS)
_WORDS: Final = {
    "past_title": message("The blog on another day"),
    "past_at": message("The blog as of {when}", when="%s"),
    "past_back": message("Back to today"),
    "past_pick": message("Choose a day"),
    "past_older": message("The version before"),
    "past_newer": message("The version after"),
    "past_not_yet": message("On that day there was no such entry yet."),
    "past_today_only": message("This page shows today."),
    "past_no_pictures": message("There were no pictures on that day."),
    "past_damaged": message(
        "Versions after that day are damaged in places: what they changed there is shown as it is today."
    ),
    "recent": message("Recent entries"),
    "all_entries": message("All entries"),
    "years": message("By date"),
    "categories": message("Categories"),
    "gallery": message("Pictures"),
    "undated": message("Entries without a date"),
    "untitled": message("(untitled)"),
    "uncategorised": message("No category"),
    "private": message("Private"),
    "access": message("Visibility code {code}", code="%s"),
    "gone_word": message("gone"),
    "n_comments": message("Comments: {n}", n="%d"),
    "count": message("Entries: {n}", n="%d"),
    "previous": message("Previous entry"),
    "next": message("Next entry"),
    "total": message("Total"),
    "version": message("Version {n}", n="%d"),
    "damaged_state": message("This state is damaged, and there is no other copy of it."),
    "n_of": message("{n} pictures", n="%d"),
    "picture_of": message("Picture {n} of “{title}”", n="%d", title="%s"),
    "older": message("Older"),
    "newer": message("Newer"),
}


def past_files(site: Site, history: ArchiveHistory) -> Iterator[ViewFile]:
    """Yield the data; none if there is no past yet."""
    rows = history.rows()
    if len(rows) < 2:
        return
    years = site.catalogue.by_year()
    pictures = _pictures(site)
    for year in dict.fromkeys([*years, *pictures]):
        posts: Sequence[PostSummary] = years.get(year, ())
        shown = pictures.get(year, [])
        parts: list[bytes | str] = [
            listed(posts),
            repr([(each.path, each.entries, site.pictures.drawn(each.path)) for each in shown]),
        ]
        yield ViewFile(
            f"data/list-{year}.js", fingerprint("list", *parts), partial(_list, site, history, year, posts, shown)
        )
    chunks = [list(group) for _, group in groupby(rows[1:], key=_chunk)]
    for chunk in chunks:
        before = [history.versions_before(row.version) for row in chunk]
        identity = fingerprint("past", repr([tuple(row) for row in chunk]), repr(before), repr(site.owners))
        yield ViewFile(f"data/past-{chunk[0].version}.js", identity, partial(_changes, site, history, chunk))
    audiences = {f"audience_{name}": text for name, text in AUDIENCE_NAMES.items()} if site.catalogue.labelled else {}
    index = {
        "versions": [[row.version, _minute(site, row.finished_at)] for row in rows],
        "damaged": sorted(history.damaged_versions),
        "years": list(years),
        "pictures": list(pictures),
        "chunks": [[chunk[0].version, chunk[-1].version] for chunk in chunks],
        "categories": {joined_path(path): category_page(path) for path in site.catalogue.by_category()},
        "assets": site.options.assets,
        "words": {name: site.say(text) for name, text in (_WORDS | audiences).items()},
    }
    yield ViewFile("data/past.js", fingerprint("index", repr(index)), lambda: data_script("past", "", index))


def _minute(site: Site, written: str) -> str:
    """Return a time from the archive in the blog's time zone, for the script; empty if it is invalid."""
    moment = at_home(written, site.catalogue.service.timezone)
    return "" if moment is None else moment.isoformat()[:16]


def _chunk(row: VersionRow) -> tuple[int, int]:
    counts = row.counts()
    many = sum(counts[kind].new + counts[kind].changed + counts[kind].gone for kind in _KINDS) > _MANY_CHANGES
    return row.version // _VERSIONS_PER_FILE, row.version if many else 0


def _pictures(site: Site) -> dict[str, list[StoredPicture]]:
    """Return the pictures by the year of their newest entry, newest first and without icons."""
    found: dict[str, list[tuple[int, StoredPicture]]] = {}
    for picture, post in shown_pictures(site):
        place = -1 if post is None else site.catalogue.by_id.place(post.id)
        found.setdefault(UNUSED if post is None else post.year, []).append((place, picture))
    return {
        year: [picture for _, picture in sorted(of_year, key=lambda each: -each[0])] for year, of_year in found.items()
    }


def _list(
    site: Site, history: ArchiveHistory, year: str, posts: Sequence[PostSummary], pictures: Sequence[StoredPicture]
) -> bytes:
    entries = [
        [*_row(post.id, post.date, post.title, _groups(post), _flags(post), post.access), post.comments]
        for post in posts
    ]
    shown = []
    for picture in pictures:
        drawn = site.pictures.drawn(picture.path)
        sides = drawn.size or (0, 0)
        small = drawn.source if drawn.source != f"{site.options.assets}{picture.path}" else ""
        shown.append([picture.path, *sides, _users(site, history, picture), small])
    return data_script("list", year, {"entries": entries, "pictures": shown})


def _flags(post: PostSummary) -> int:
    return post.private * _PRIVATE + (post.gone_in is not None) * _GONE


def _groups(post: PostSummary) -> str | list[str]:
    """Return an entry's category, or the names of all its categories."""
    return post.category if post.labels is None else list(map(joined_path, post.category_paths))


def _row(
    entry_id: str, date: datetime | None, title: str, groups: str | list[str], flags: int, access: str
) -> list[Any]:
    moment = "" if date is None else date.isoformat()[:16]
    return [safe_name(entry_id), moment, title, groups, flags, access]


def _users(site: Site, history: ArchiveHistory, picture: StoredPicture) -> list[list[Any]]:
    """Return the entries that ever showed a picture, each with its name, first version and last version.

    A first version of 0 means from the beginning, a last version of 0 means until today.
    """
    found: dict[str, list[int]] = {}
    for version, raw in history.steps(Kind.ASSETS, picture.url) or [
        (0, site.catalogue.records.load(Kind.ASSETS, picture.url))
    ]:
        asset = None if raw is None else Asset.from_raw(raw)
        users = set() if asset is None or asset.path is None else set(asset.ids("entry"))
        for entry_id in users:
            span = found.setdefault(entry_id, [version, 0])
            span[1] = 0
        for entry_id in found.keys() - users:
            found[entry_id][1] = found[entry_id][1] or version
    return [[safe_name(entry_id), *span] for entry_id, span in sorted(found.items())]


def _changes(site: Site, history: ArchiveHistory, rows: Sequence[VersionRow]) -> bytes:
    past = _Past(site, history)
    versions = [
        [row.version, *map(list, (past.entries(row.version), past.comments(row.version), past.pictures(row.version)))]
        for row in rows
    ]
    return data_script("past", str(rows[0].version), versions)


class _Past:
    """The changes in versions, as the state before them."""

    def __init__(self, site: Site, history: ArchiveHistory) -> None:
        self._site = site
        self._catalogue = site.catalogue
        self._history = history

    def entries(self, version: int) -> Iterator[list[Any]]:
        """Yield the name of each entry that a version changed, whether its text changed since, and its row in lists.

        A new entry has no row; at the end of a row is the version of that state.
        """
        changed = self._history.changed_in(Kind.ENTRIES, version)
        for entry_id in changed:
            if entry_id in self._catalogue.by_id:
                put = int(self._history.existed(Kind.ENTRIES, entry_id, version))
                yield self._before(entry_id, version, put)
        for entry_id in self._history.changed_in(Kind.ENTRY_LIST, version):
            if entry_id not in changed and entry_id in self._catalogue.by_id:
                before, after = (self._category(entry_id, each) for each in (version - 1, version))
                if before != after and self._history.existed(Kind.ENTRIES, entry_id, version - 1):
                    yield self._before(entry_id, version, 0)

    def _before(self, entry_id: str, version: int, put: int) -> list[Any]:
        post, known = self._catalogue.by_id[entry_id], self._history.last_state(entry_id, version - 1)
        if known is None:
            return [safe_name(entry_id), put]
        raw = self._catalogue.record_at(Kind.ENTRIES, entry_id, known) if known else None
        there = self._history.existed(Kind.ENTRIES, entry_id, version - 1)
        then = None if raw is None else self._catalogue.service.post(raw)
        facts = post if then is None else self._catalogue.shown(then)
        flags = facts.private * _PRIVATE + (not there) * _GONE + (raw is None and bool(known)) * _DAMAGED
        category = self._category(entry_id, version - 1)
        groups: str | list[str] = category
        if post.labels is not None:
            flags += post.is_page * _PAGE
            groups = _groups(post) if then is None else list(map(joined_path, category_paths(then))) or [category]
        row = _row(entry_id, facts.date, facts.title, groups, flags, facts.access)
        return [row[0], put, *row[1:], known]

    def _category(self, entry_id: str, version: int) -> str:
        raw = self._catalogue.record_at(Kind.ENTRY_LIST, entry_id, version)
        return "" if raw is None else self._catalogue.category(raw)

    def comments(self, version: int) -> Iterator[list[Any]]:
        """Yield the id of each changed comment, its entry's name, whether it existed before, and its HTML.

        The HTML is the state before, and empty for a new comment.
        """
        service = self._catalogue.service
        for comment_id in self._history.changed_in(Kind.COMMENTS, version):
            before, after = (self._catalogue.record_at(Kind.COMMENTS, comment_id, at) for at in (version - 1, version))
            raw = before or after
            if raw is None:
                continue
            comment = service.comment(raw)
            html = "" if before is None else self._site.shown(comment, "").html
            yield [anchor_name(comment_id), safe_name(service.post_id(raw)), int(after is not None), html]

    def pictures(self, version: int) -> Iterator[list[str]]:
        """Yield the stem of each file that a version replaced another one with, and the stem of the other one."""
        for url in self._history.changed_in(Kind.ASSETS, version):
            before, after = (self._history.file_at(url, each) for each in (version - 1, version))
            if before and after and before != after:
                yield [PurePosixPath(after).stem, before]
