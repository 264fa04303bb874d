"""Writes a fleet's index page, ``index.html`` in its folder, and ``fleet/`` with the pages that it links to.

The cards of archives are kept, so that only archives that changed are opened. A database on disk sorts the cards, so
memory does not grow with the number of blogs. All pages are then written anew, and replace the old ones in one step.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.archive import Archive, read_consistently
from exporter.archive.atomic import full_disk_as_os_error
from exporter.archive.fleet_folder import FoundArchive, archives_in, mark_of, open_archive, require_fleet, shards_in
from exporter.archive.safe_files import InnerPath
from exporter.errors import UsageError
from exporter.fleet.catalogue_rows import archive_place_text, state_of, title_of
from exporter.fleet.pool import WorkerPool, results_as_completed
from exporter.fleet.work import FATAL, trouble_of
from exporter.model.kinds import Kind
from exporter.search.folding import fold
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.site.fleet_page import IN_PART, ON_PAGE, BlogCard, FleetPages, IndexRow, static_files

_EDITION: Final = "1"
_MARKER: Final = "made.json"
_GENERATOR: Final = b'<meta name="generator" content="blog-exporter">'
_HEAD_BYTES: Final = 2_000
_MAX_BLOGS_BY_ONE_LETTER: Final = 5_000
"""With more blogs, the index uses the first two letters of names."""
_OTHER: Final = "…"


class CardTask(NamedTuple):
    """The task of a worker: update the cards of one of the fleet's 256 folders."""

    root: Path
    shard: str
    settings: Settings


@dataclass(slots=True)
class CardOutcome:
    """The result for a shard: counts of archives read and unchanged, and the archives that failed."""

    shard: str
    read: int = 0
    kept: int = 0
    trouble: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class IndexPageResult:
    """Counts of blogs, entries, archives read now and pages, and the archives that failed."""

    page: Path
    blogs: int = 0
    entries: int = 0
    read: int = 0
    pages: int = 0
    trouble: list[tuple[str, str]] = field(default_factory=list)


def make_index_page(root: Path, settings: Settings, pool: WorkerPool, language: str, title: str) -> IndexPageResult:
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
    result = IndexPageResult(Path(index))
    shards = shards_in(root)
    tasks = (CardTask(root, shard, settings.without_secrets()) for shard in shards)
    with contextlib.closing(results_as_completed(pool, make_cards, tasks)) as outcomes:
        for outcome in outcomes:
            result.read += outcome.read
            result.trouble += outcome.trouble
    work = base / ".fleet"
    new = work / "page.new"
    with atomic.translated(index):
        atomic.remove_folder(new)
        for each in (new, new / "pages", new / "names", new / "static"):
            atomic.make_folder(each)
        cards = work / "cards.sqlite"
        with full_disk_as_os_error(cards), contextlib.closing(_sorted_cards(cards, root, shards)) as connection:
            home = _write_pages(connection, new, FleetPages(language, title), result)
        for name, content in static_files():
            atomic.write_small(new / "static" / name, content)
        atomic.write_small(new / _MARKER, lossless_json.dumps({"format": "blog-exporter-fleet-pages"}) + b"\n")
        atomic.sync_all(new, [path for path in new.rglob("*") if path.is_file()])
        atomic.swap_folder(new, folder, work / "page.old")
        atomic.write_file(index, home)
        (work / "cards.sqlite").unlink(missing_ok=True)
    return result


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


def make_cards(task: CardTask) -> CardOutcome:
    """Update the cards of a shard; if an archive cannot be read, its card stays, as ``damaged``.

    Raises:
        BlogExporterError, NoSpace: they cannot be written.
    """
    outcome = CardOutcome(task.shard)
    path = _cards_path(task.root, task.shard)
    known = {card.blog_id: (mark, card) for mark, card in _cards(path)}
    made: list[tuple[str, BlogCard]] = []
    for found in archives_in(task.root, task.shard):
        if found.trouble is not None:
            outcome.trouble.append((f"{task.shard}/{found.blog_id}", found.trouble))
            continue
        before = known.get(found.blog_id)
        try:
            mark = f"{_EDITION} {mark_of(found.path)}"
            if before is not None and before[0] == mark:
                card = before[1]
                outcome.kept += 1
            else:
                card = _card(found, task.settings)
                outcome.read += 1
        except FATAL:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an archive has in it, the others have their turn
            outcome.trouble.append((f"{task.shard}/{found.blog_id}", trouble_of(error)))
            place = archive_place_text(found.blog_id)
            empty = BlogCard(found.blog_id, place, "", 0, "", "", "damaged", site=False)
            mark, card = "unreadable", empty if before is None else before[1]._replace(state="damaged")
        site = (InnerPath.rooted(found.path) / "latest" / "site" / "index.html").kind() == ""
        made.append((mark, card._replace(site=site)))
    if made != list(known.values()):
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.write_lines(path, (lossless_json.dumps([mark, *card]) + b"\n" for mark, card in made))
    return outcome


def _card(found: FoundArchive, settings: Settings) -> BlogCard:
    def read(archive: Archive) -> BlogCard:
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
        last = next(archive.newest_runs(), None)
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

    open_archive(found)
    return read_consistently(found.path, read)


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


def _sorted_cards(path: InnerPath, root: Path, shards: list[str]) -> sqlite3.Connection:
    """Return a database with all cards, sorted by name."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("CREATE TABLE cards (name TEXT, blog_id TEXT, card TEXT)")
    connection.execute("BEGIN")
    for shard in shards:
        cards = (card for _, card in _cards(_cards_path(root, shard)))
        rows = ((_key(card), card.blog_id, lossless_json.dumps([*card])) for card in cards)
        connection.executemany("INSERT INTO cards VALUES (?, ?, ?)", rows)
    connection.execute("CREATE INDEX by_name ON cards (name, blog_id)")
    connection.execute("COMMIT")
    return connection


def _key(card: BlogCard) -> str:
    return fold(card.name).encode("utf-8", "replace").decode()


def _write_pages(
    connection: sqlite3.Connection, folder: InnerPath, pages: FleetPages, result: IndexPageResult
) -> bytes:
    """Write the pages and the names, and return the first page."""
    (result.blogs,) = connection.execute("SELECT count(*) FROM cards").fetchone()
    result.pages = max(1, -(-result.blogs // ON_PAGE))
    letters = 1 if result.blogs <= _MAX_BLOGS_BY_ONE_LETTER else 2
    index: list[IndexRow] = []
    names: list[BlogCard] = []
    parts = 0
    some: list[BlogCard] = []
    cards = _in_order(connection)
    for number in range(1, result.pages + 1):
        some = list(islice(cards, ON_PAGE))
        page = pages.page(number, result.pages, some, result.blogs)
        atomic.write_small(folder / "pages" / f"{number:06d}.html", page)
        for card in some:
            result.entries += card.entries
            beginning = _key(card)[:letters].strip() or _OTHER
            if index and index[-1].letters == beginning:
                index[-1] = index[-1]._replace(blogs=index[-1].blogs + 1)
            else:
                index.append(IndexRow(beginning, number, 1))
        names += some
        if len(names) >= IN_PART or number == result.pages:
            parts += 1
            atomic.write_small(folder / "names" / f"{parts:06d}.js", pages.names(names[:IN_PART]))
            names = names[IN_PART:]
    return pages.home(index, result.blogs, result.entries, some if result.pages == 1 else ())


def _in_order(connection: sqlite3.Connection) -> Iterator[BlogCard]:
    for (card,) in connection.execute("SELECT card FROM cards ORDER BY name, blog_id"):
        values: Any = lossless_json.loads(card)
        yield BlogCard(*values)
