"""The tables of a catalogue and the rows of one archive.

Columns are named as in the exports ``parquet`` and ``sqlite``. The catalogue holds no texts of
entries and comments: ``show``, ``search`` and ``export`` give these.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.archive.layout import manifest_sha256
from exporter.archive.settings_file import kept_title
from exporter.archive.state import State
from exporter.export.csv_table import rough_text
from exporter.fleet.shards import UNREADABLE
from exporter.html.embedded import Use, embedded
from exporter.html.links import absolute, commenter_link, host_of
from exporter.html.text import collapse
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.model.labels import path_name
from exporter.model.records import Audience, Post
from exporter.service.interface import Records

Row = dict[str, Any]
Put = Callable[[str, Row], None]

EDITION: Final = 2
"""Increased when the program makes other rows, so that it reads all archives again."""
BLOGS: Final = "blogs"
COLUMNS: Final = {
    BLOGS: """
        blog_id TEXT, archive TEXT, title TEXT, owner TEXT, service TEXT, base_url TEXT, created_at TEXT,
        state TEXT, complete INTEGER, version INTEGER, saved_at TEXT,
        entries INTEGER, comments INTEGER, files INTEGER, versions INTEGER, runs INTEGER,
        private_entries INTEGER, unread_entries INTEGER, first_entry TEXT, last_entry TEXT, last_comment TEXT,
        characters INTEGER, language TEXT, files_saved INTEGER, files_missing INTEGER, file_bytes INTEGER,
        problems INTEGER, last_run TEXT, last_outcome TEXT, error TEXT, mark TEXT""",
    "entries": """
        blog_id TEXT, entry_id TEXT, title TEXT, name TEXT, date TEXT, year INTEGER, last_update TEXT,
        category TEXT, category_id TEXT, private INTEGER, access TEXT, saved INTEGER, version INTEGER,
        language TEXT, characters INTEGER, comments INTEGER, pictures INTEGER, pictures_missing INTEGER,
        links INTEGER, link_hosts TEXT,
        categories TEXT, tags TEXT, author TEXT, permalink TEXT, kind TEXT, audience TEXT""",
    "comments": """
        blog_id TEXT, cm_id TEXT, entry_id TEXT, date TEXT, name TEXT, title TEXT, characters INTEGER,
        url TEXT, url_host TEXT, deleted INTEGER, version INTEGER,
        kind TEXT, status TEXT, parent TEXT, by_owner INTEGER""",
    "files": """
        blog_id TEXT, url TEXT, host TEXT, state TEXT, error TEXT, status INTEGER, content_type TEXT,
        bytes INTEGER, sha256 TEXT, path TEXT, width INTEGER, height INTEGER,
        file_id TEXT, name TEXT, title TEXT, entries INTEGER, alt TEXT""",
    "versions": """
        blog_id TEXT, version INTEGER, parent INTEGER, started_at TEXT, finished_at TEXT, tool TEXT, base_url TEXT,
        complete INTEGER, problems INTEGER,
        entries INTEGER, entries_new INTEGER, entries_changed INTEGER, entries_gone INTEGER,
        comments INTEGER, comments_new INTEGER, comments_changed INTEGER, comments_gone INTEGER,
        bytes INTEGER, sha256 TEXT""",
    "runs": """
        blog_id TEXT, run INTEGER, started_at TEXT, finished_at TEXT, outcome TEXT, exit_code INTEGER, error TEXT,
        version INTEGER, requests INTEGER, retries INTEGER, bytes INTEGER, complete INTEGER, problems INTEGER""",
}
"""The columns of each table in SQL; docs/catalogue.md says what each is.

The table of blogs has columns with the names of other tables: how many rows the blog has there.
"""
TABLES: Final = {table: tuple(column.split()[0] for column in columns.split(",")) for table, columns in COLUMNS.items()}
"""The column names by table, in order."""
PARTS: Final = tuple(table for table in TABLES if table != BLOGS)
"""The tables that have any number of rows for a blog."""

_ADDED_UP: Final = frozenset(
    {*PARTS, "private_entries", "unread_entries", "characters", "files_saved", "files_missing", "file_bytes"}
)
_RUN_NUMBERS: Final = ("exit_code", "version", "requests", "retries", "bytes")
_MAX_INTEGER: Final = 2**63 - 1
_FAILED: Final = frozenset({"failed", "refused", "interrupted"})
_READ_CHARACTERS: Final = 4_000
_MIN_LETTERS: Final = 2
_LETTERS_PER_KANA: Final = 20
_SCRIPTS: Final = {
    "ko": re.compile("[\u1100-\u11ff\uac00-\ud7af]"),
    "und-Hani": re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"),
    "und-Latn": re.compile("[A-Za-z\u00c0-\u024f]"),
    "und-Cyrl": re.compile("[\u0400-\u04ff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "und-Arab": re.compile("[\u0600-\u06ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "und-Deva": re.compile("[\u0900-\u097f]"),
}
_KANA: Final = re.compile("[\u3041-\u30ff\uff66-\uff9d]")


def state_of(newest: int | None, outcome: str | None, *, complete: bool) -> str:
    """Return a blog's state after its newest run, as a fleet's ledger names it.

    ``new``: there is no version yet. ``failed``: the newest run saved nothing, but an earlier one did.
    """
    if newest is None:
        return "new" if outcome is None else "failed"
    if outcome in _FAILED:
        return "failed"
    return "saved" if complete else "partial"


def title_of(archive: Archive) -> str | None:
    """Return the title that the archive remembers; ``None`` if it has none."""
    return kept_title(archive.path) or None


def damaged_row(blog_id: str, reason: str, known: Mapping[str, Any] | None) -> Row:
    """Return the row of a blog whose archive cannot be read: its last good values, and the reason.

    Its fingerprint matches no archive, so it is read again each time.
    """
    row = dict.fromkeys(TABLES[BLOGS]) if known is None else dict(known)
    counts = {part: row[part] or 0 for part in PARTS}
    place = archive_place_text(blog_id)
    own = {"blog_id": blog_id, "archive": place, "state": "damaged", "complete": False}
    return {**row, **counts, **own, "error": reason, "mark": f"{EDITION} {UNREADABLE}"}


def archive_place_text(blog_id: str) -> str:
    """Return the path of a blog's archive in its fleet's folder, with slashes."""
    return archive_place(Path(), blog_id).as_posix()


def blog_rows(archive: Archive, service: Records, put: Put) -> Row:
    """Pass an archive's rows to ``put``, and return the blog's own row without its mark.

    Args:
        archive: the archive; its folder is named as its blog.
        service: reads its records.
        put: takes a table's name and a row with all of its columns.

    Raises:
        ArchiveDamaged: a part of it cannot be read.
    """
    blog = _Blog(archive.info.blog_id, service, put)
    newest = archive.newest()
    with contextlib.closing(archive.state()) as state:
        blog.read(state)
    blog.versions(archive)
    last = blog.runs(archive)
    completeness, problems = archive.completeness()
    outcome = None if last is None else last["outcome"]
    manifest = None if newest is None else archive.manifest(newest)
    complete = bool(completeness.get("complete"))
    row: Row = {
        "archive": archive_place_text(archive.info.blog_id),
        "title": title_of(archive),
        "service": archive.info.service or service.name,
        "base_url": None if manifest is None else manifest.base_url,
        "created_at": _written(archive.info.created_at),
        "state": state_of(newest, outcome, complete=complete),
        "complete": complete,
        "version": newest,
        "saved_at": None if manifest is None else _written(manifest.finished_at),
        "problems": len(problems),
        "last_run": None if last is None else last["finished_at"],
        "last_outcome": outcome,
        "error": None,
    }
    return blog.row(row)


@dataclass
class _Blog:
    """The sums over the rows of a blog."""

    blog_id: str
    service: Records
    _put: Put
    counts: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None
    last_comment: datetime | None = None
    owner: str | None = None

    def row(self, more: Row) -> Row:
        """Return the blog's own row."""
        counts = {name: self.counts[name] for name in TABLES[BLOGS] if name in _ADDED_UP}
        return {
            "blog_id": self.blog_id,
            "owner": self.owner,
            **counts,
            "first_entry": _iso(self.first),
            "last_entry": _iso(self.last),
            "last_comment": _iso(self.last_comment),
            "language": next((tag for tag, _ in self.languages.most_common(1)), None),
            **more,
        }

    def put(self, table: str, row: Row) -> None:
        """Pass a row of another table to ``put``."""
        self.counts[table] += 1
        self._put(table, {"blog_id": self.blog_id, **row})

    def read(self, state: State) -> None:
        """Pass the rows of a state to ``put``; memory holds only some numbers for each entry."""
        self.owner = next((collapse(self.service.user(raw).name) or None for _, raw in state.scan(Kind.USER)), None)
        uses: Counter[str] = Counter()
        missing: Counter[str] = Counter()
        self._files(state, uses, missing)
        talk: Counter[str] = Counter()
        self._comments(state, talk)
        for entry_id, raw in state.scan(Kind.ENTRIES):
            post = self.service.post(raw, state.load(Kind.ENTRY_LIST, entry_id))
            version = _version(state, Kind.ENTRIES, entry_id)
            self._entry(entry_id, post, version, (talk[entry_id], uses[entry_id], missing[entry_id]))
        for entry_id in state.ids(Kind.ENTRY_LIST):
            if state.identity(Kind.ENTRIES, entry_id) is None:
                post = self.service.post(None, state.load(Kind.ENTRY_LIST, entry_id))
                self._entry(entry_id, post, None, (talk[entry_id], uses[entry_id], missing[entry_id]))

    def _entry(self, entry_id: str, post: Post, version: int | None, found: tuple[int, int, int]) -> None:
        text = rough_text(f"{post.body}\n{post.more}")
        language = language_of(text)
        date = post.date or post.period_date or post.listed_on
        links = list(_linked(post, f"https://{self.blog_id}/"))
        hosts = sorted(set(filter(None, map(host_of, links))))
        comments, pictures, missing = found
        self.counts["characters"] += len(text)
        private = post.private if post.audience is None else post.audience is not Audience.PUBLIC
        self.counts["private_entries"] += private is True
        self.counts["unread_entries"] += version is None
        if language is not None:
            self.languages[language] += 1
        if date is not None:
            self.first, self.last = min(self.first or date, date), max(self.last or date, date)
        row = {
            "entry_id": entry_id,
            "title": collapse(post.title),
            "name": post.slug or None,
            "date": _iso(date),
            "year": None if date is None else date.year,
            "last_update": _iso(post.updated),
            "category": collapse(post.category or "") or None,
            "category_id": post.category_id or None,
            "private": private,
            "access": post.access or None,
            "saved": version is not None,
            "version": version,
            "language": language,
            "characters": len(text),
            "comments": comments,
            "pictures": pictures,
            "pictures_missing": missing,
            "links": len(links),
            "link_hosts": hosts,
            "categories": [collapse(path_name(each)) for each in post.every_category],
            "tags": list(map(collapse, post.tags)),
            "author": collapse(post.author) or None,
            "permalink": post.permalink or None,
            "kind": str(post.kind),
            "audience": None if post.audience is None else str(post.audience),
        }
        self.put("entries", row)

    def _comments(self, state: State, talk: Counter[str]) -> None:
        for comment_id, raw in state.scan(Kind.COMMENTS):
            comment = self.service.comment(raw)
            talk[comment.post_id] += 1
            if comment.date is not None:
                self.last_comment = max(self.last_comment or comment.date, comment.date)
            url = commenter_link(comment.url)
            row = {
                "cm_id": comment_id,
                "entry_id": comment.post_id,
                "date": _iso(comment.date),
                "name": collapse(comment.name),
                "title": collapse(comment.title),
                "characters": len(rough_text(comment.text)),
                "url": url,
                "url_host": None if url is None else host_of(url) or None,
                "deleted": comment.deleted,
                "version": _version(state, Kind.COMMENTS, comment_id),
                "kind": str(comment.kind),
                "status": None if comment.status is None else str(comment.status),
                "parent": comment.parent or None,
                "by_owner": comment.by_owner,
            }
            self.put("comments", row)

    def _files(self, state: State, uses: Counter[str], missing: Counter[str]) -> None:
        """Pass the rows of pictures and uploads to ``put``; an upload without a known address has none."""
        seen: set[str] = set()
        for url, raw in state.scan(Kind.ASSETS):
            asset = Asset.from_raw(raw)
            entries, uploads = asset.ids("entry"), asset.ids("file")
            seen.update(uploads)
            uses.update(entries)
            saved = asset.sha256 is not None
            if not saved:
                missing.update(entries)
            if entries or uploads:
                self.counts["files_saved"] += saved
                self.counts["files_missing"] += not saved
            self.counts["file_bytes"] += (asset.bytes or 0) if saved else 0
            about = {
                "url": url,
                "host": host_of(url) or None,
                "state": str(asset.state),
                **{name: getattr(asset, name) for name in ("error", "content_type", "sha256", "path")},
                **{name: _whole(getattr(asset, name)) for name in ("status", "bytes", "width", "height")},
                "entries": len(entries),
            }
            self._file(state, uploads[0] if uploads else None, about)
        for file_id in state.ids(Kind.FILES):
            if file_id not in seen:
                self.counts["files_missing"] += 1
                address = self.service.upload(state.load(Kind.FILES, file_id) or {}).url
                known = {"url": address or None, "host": host_of(address) or None}
                self._file(state, file_id, dict.fromkeys(TABLES["files"]) | known | {"state": "pending", "entries": 0})

    def _file(self, state: State, file_id: str | None, about: Row) -> None:
        raw = None if file_id is None else state.load(Kind.FILES, file_id)
        upload = None if raw is None else self.service.upload(raw)
        named = {
            "file_id": file_id,
            "name": None if upload is None else upload.name,
            "title": None if upload is None else upload.title,
            "alt": None if upload is None else upload.alt or None,
        }
        self.put("files", {**about, **named, "blog_id": self.blog_id})

    def versions(self, archive: Archive) -> None:
        """Pass a row for each version to ``put``, the oldest first."""
        for number in archive.versions():
            found = archive.manifest(number)
            counts = {
                f"{kind}{'' if name == 'total' else f'_{name}'}": _whole(getattr(found.counts.get(kind), name, 0))
                for kind in ("entries", "comments")
                for name in ("total", "new", "changed", "gone")
            }
            row = {
                "version": number,
                "parent": None if found.parent is None else found.parent["version"],
                "started_at": _written(found.started_at),
                "finished_at": _written(found.finished_at),
                "tool": found.tool,
                "base_url": found.base_url,
                "complete": bool(found.completeness.get("complete")),
                "problems": len(found.problems),
                **counts,
                "bytes": _whole(sum(file.bytes for file in found.files.values())),
                "sha256": manifest_sha256(archive.layout, number),
            }
            self.put("versions", row)

    def runs(self, archive: Archive) -> Row | None:
        """Pass a row for each run to ``put``, the oldest first, and return the newest."""
        row: Row | None = None
        with contextlib.suppress(OSError):
            for number, run in enumerate(archive.runs(), 1):
                completeness = run.get("completeness")
                problems = run.get("problems")
                row = {
                    "run": number,
                    **{name: _written(run.get(name)) for name in ("started_at", "finished_at")},
                    **{name: _text(run.get(name)) for name in ("outcome", "error")},
                    **{name: _whole(run.get(name)) for name in _RUN_NUMBERS},
                    "complete": bool(completeness.get("complete")) if isinstance(completeness, dict) else None,
                    "problems": len(problems) if isinstance(problems, list) else 0,
                }
                self.put("runs", row)
        return row


def _linked(post: Post, base: str) -> Iterator[str]:
    for body in (post.body, post.more):
        for found in embedded(body):
            address = absolute(found.text, base) if found.use is Use.LINKED else None
            if address is not None:
                yield address


def _version(state: State, kind: Kind, record_id: str) -> int | None:
    records = state.kinds[kind]
    row = records.row(record_id)
    return None if row is None else records.version(row)


def _iso(date: datetime | None) -> str | None:
    return None if date is None else date.isoformat()


def _written(value: Any) -> str | None:
    """Return a time of a document of the archive; ``None`` if it is not a time with a zone."""
    try:
        return value if datetime.fromisoformat(value).tzinfo is not None else None
    except (TypeError, ValueError):
        return None


def _whole(value: Any) -> int | None:
    return value if type(value) is int and -_MAX_INTEGER <= value <= _MAX_INTEGER else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def language_of(text: str) -> str | None:
    """Return a text's language as a BCP 47 tag, from its script; ``None`` if it has too few letters.

    A script that many languages share gives ``und-`` and its name, such as ``und-Latn``: English and French are not
    distinguished. A text with one kana in twenty letters is Japanese, since only Japanese uses kana.
    """
    beginning = text[:_READ_CHARACTERS]
    kana = len(_KANA.findall(beginning))
    counts = Counter({tag: len(script.findall(beginning)) for tag, script in _SCRIPTS.items()})
    letters = kana + counts.total()
    if letters < _MIN_LETTERS:
        return None
    return "ja" if kana * _LETTERS_PER_KANA >= letters else counts.most_common(1)[0][0]
