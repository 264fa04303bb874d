"""Writes a fleet's index page, ``index.html`` in its folder, and ``fleet/`` with the pages that it links to.

The cards of archives are kept, so that only archives that changed are opened. A database on disk sorts the cards, so
memory does not grow with the number of blogs. All pages are then written anew, and replace the old ones in one step.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.atomic import full_disk_as_os_error
from exporter.archive.fleet_folder import require_fleet, shards_in
from exporter.archive.safe_files import InnerPath
from exporter.errors import UsageError
from exporter.fleet.catalogue_rows import archive_place_text, state_of, title_of
from exporter.fleet.pool import WorkerPool
from exporter.fleet.shards import ShardCounts, ShardTask, read_changed, update_shards
from exporter.fleet.work import trouble_of
from exporter.model.kinds import Kind
from exporter.search.folding import fold
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.site.fleet_page import IN_PART, ON_PAGE, BlogCard, FleetPages, IndexRow, static_files

_EDITION: Final = "1 "
_MARKER: Final = "made.json"
_GENERATOR: Final = b'<meta name="generator" content="blog-exporter">'
_HEAD_BYTES: Final = 2_000
_MAX_BLOGS_BY_ONE_LETTER: Final = 5_000
"""With more blogs, the index uses the first two letters of names."""
_OTHER: Final = "…"


class IndexPage(NamedTuple):
    """The first page, the number of list pages, and the counts of archives."""

    path: Path
    pages: int
    counts: ShardCounts


def make_index_page(root: Path, settings: Settings, pool: WorkerPool, language: str, title: str) -> IndexPage:
    """Write ``index.html`` and ``fleet/`` into a fleet's folder.

    Raises:
        NoArchive: there are no archives.
        UsageError: other files have these names, or nothing can be written.
        NoSpace: there is no room.
    """
    require_fleet(root)
    base = InnerPath.rooted(root)
    index, folder = base / "index.html", base / "fleet"
    _require_own(index, folder)
    counts = update_shards(root, settings, pool, make_cards)
    work = base / ".fleet"
    new = work / "page.new"
    with atomic.translated(index):
        atomic.remove_folder(new)
        for each in (new, new / "pages", new / "names", new / "static"):
            atomic.make_folder(each)
        cards = work / "cards.sqlite"
        with full_disk_as_os_error(cards), contextlib.closing(_sorted_cards(cards, root)) as connection:
            home, number = _write_pages(connection, new, FleetPages(language, title), counts)
        for name, content in static_files():
            atomic.write_small(new / "static" / name, content)
        atomic.write_small(new / _MARKER, lossless_json.dumps({"format": "blog-exporter-fleet-pages"}) + b"\n")
        atomic.sync_all(new, [path for path in new.rglob("*") if path.is_file()])
        atomic.swap_folder(new, folder, work / "page.old")
        atomic.write_file(index, home)
        cards.unlink(missing_ok=True)
    return IndexPage(Path(index), number, counts)


def _require_own(index: InnerPath, folder: InnerPath) -> None:
    """Refuse to replace files that this program did not write."""
    kind = index.kind()
    own = kind is None
    if kind == "":
        with index.open("rb") as file:
            own = _GENERATOR in file.read(_HEAD_BYTES)
    if own and folder.kind() is not None:
        own = folder.kind() == "a folder" and ((folder / _MARKER).kind() == "" or not folder.names())
        index = folder
    if not own:
        raise UsageError("{path} exists, and this program did not write it: move it away.", path=index)


def _cards_path(root: Path, shard: str) -> InnerPath:
    return InnerPath.rooted(root).joinpath(".fleet", "cards", f"{shard}.jsonl")


def make_cards(task: ShardTask) -> ShardCounts:
    """Update the cards of a shard; if an archive cannot be read, its card stays, as ``damaged``.

    Raises:
        BlogExporterError, NoSpace: they cannot be written.
    """
    counts = ShardCounts()
    path = _cards_path(task.root, task.shard)
    known = {card.blog_id: (mark, card) for mark, card in _cards(path)}
    marks = {blog_id: mark.removeprefix(_EDITION) for blog_id, (mark, _) in known.items()}
    made: list[tuple[str, BlogCard]] = []
    for found in read_changed(task, marks, partial(_card, task.settings), counts):
        place = archive_place_text(found.blog_id)
        empty = BlogCard(found.blog_id, place, "", 0, "", "", "damaged", site=False)
        card = found.made or known.get(found.blog_id, ("", empty))[1]
        if found.reason is not None:
            card = card._replace(state="damaged")
        page = InnerPath.rooted(task.root / place) / "latest" / "site" / "index.html"
        try:
            site = page.kind() == ""
        except OSError as error:
            site, card = False, card._replace(state="damaged")
            counts.fail(place, trouble_of(error))
        made.append((f"{_EDITION}{found.mark}", card._replace(site=site)))
        counts.entries += card.entries
    if made != list(known.values()):
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.write_lines(path, (lossless_json.dumps([mark, *card]) + b"\n" for mark, card in made))
    return counts


def _card(settings: Settings, archive: Archive) -> BlogCard:
    service = service_of(settings, archive.info.service)
    newest = archive.newest()
    days: list[str] = []
    with contextlib.closing(archive.state()) as state:
        for _, raw in state.scan(Kind.ENTRY_LIST):
            post = service.post(None, raw)
            days = _widened(days, post.period_date or post.listed_on)
        for entry_id in state.ids(Kind.ENTRIES):
            if state.identity(Kind.ENTRY_LIST, entry_id) is None:
                days = _widened(days, service.post(state.load(Kind.ENTRIES, entry_id)).date)
        entries = len(state.kinds[Kind.ENTRIES])
    last = next(archive.newest_backups(), None)
    complete = bool(archive.completeness()[0].get("complete"))
    return BlogCard(
        archive.info.blog_id,
        archive_place_text(archive.info.blog_id),
        title_of(archive) or "",
        entries,
        days[0] if days else "",
        days[1] if days else "",
        state_of(newest, None if last is None else str(last["outcome"]), complete=complete),
        site=False,
    )


def _widened(days: list[str], moment: datetime | None) -> list[str]:
    if moment is None:
        return days
    day = moment.date().isoformat()
    return [min(days[0], day), max(days[1], day)] if days else [day, day]


def _cards(path: InnerPath) -> Iterator[tuple[str, BlogCard]]:
    """Yield the cards of a file up to the first damaged line."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        for line in file:
            try:
                mark, *values = lossless_json.loads(line)
                card = BlogCard(*values)
            except (lossless_json.NotJson, TypeError, ValueError):
                return
            if [type(value) for value in (mark, *card)] != [str, str, str, str, int, str, str, str, bool]:
                return
            yield mark, card


def _sorted_cards(path: InnerPath, root: Path) -> sqlite3.Connection:
    """Return a database with all cards, sorted by name."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("CREATE TABLE cards (name TEXT, blog_id TEXT, card TEXT)")
    connection.execute("BEGIN")
    for shard in shards_in(root):
        cards = (card for _, card in _cards(_cards_path(root, shard)))
        rows = ((_key(card), card.blog_id, lossless_json.dumps([*card])) for card in cards)
        connection.executemany("INSERT INTO cards VALUES (?, ?, ?)", rows)
    connection.execute("CREATE INDEX by_name ON cards (name, blog_id)")
    connection.execute("COMMIT")
    return connection


def _key(card: BlogCard) -> str:
    return fold(card.name).encode("utf-8", "replace").decode()


def _write_pages(
    connection: sqlite3.Connection, folder: InnerPath, pages: FleetPages, counts: ShardCounts
) -> tuple[bytes, int]:
    """Write the pages and the names, and return the first page and the number of list pages."""
    last = max(1, -(-counts.blogs // ON_PAGE))
    letters = 1 if counts.blogs <= _MAX_BLOGS_BY_ONE_LETTER else 2
    index: list[IndexRow] = []
    names: list[BlogCard] = []
    parts = 0
    some: list[BlogCard] = []
    cards = _in_order(connection)
    for number in range(1, last + 1):
        some = list(islice(cards, ON_PAGE))
        page = pages.page(number, last, some, counts.blogs)
        atomic.write_small(folder / "pages" / f"{number:06d}.html", page)
        for card in some:
            beginning = _key(card)[:letters].strip() or _OTHER
            if index and index[-1].letters == beginning:
                index[-1] = index[-1]._replace(blogs=index[-1].blogs + 1)
            else:
                index.append(IndexRow(beginning, number, 1))
        names += some
        if len(names) >= IN_PART or number == last:
            parts += 1
            atomic.write_small(folder / "names" / f"{parts:06d}.js", pages.names(names[:IN_PART]))
            names = names[IN_PART:]
    return pages.home(index, counts.blogs, counts.entries, some if last == 1 else ()), last


def _in_order(connection: sqlite3.Connection) -> Iterator[BlogCard]:
    for (card,) in connection.execute("SELECT card FROM cards ORDER BY name, blog_id"):
        values: Any = lossless_json.loads(card)
        yield BlogCard(*values)
