"""Make small archives with the program's own writer, and keep a simple model of their contents."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.latest import LatestView, write_latest
from exporter.archive.layout import Layout
from exporter.archive.lines import put_line, remove_line
from exporter.archive.manifest import ArchiveInfo, KindCounts, RecordProblem
from exporter.model.kinds import Kind

BLOG = "sea.example"
CREATED = "2026-01-31T12:34:56Z"
EVIDENCE: dict[str, Any] = {"absent_in_sweeps": [1, 2], "entry_get": {"status": 404, "message": "no such entry"}}

Changes = Mapping[Kind, Mapping[str, bytes | None]]
"""For each kind and ID, the record's original JSON text, or ``None`` if the record is removed."""


def run_line(**members: Any) -> dict[str, Any]:
    """Return a run's line with outcome ``saved`` and these members."""
    return {"started_at": CREATED, "finished_at": CREATED, "outcome": "saved", **members}


@dataclass
class Built:
    """An archive at ``root``. ``states`` holds each version's expected contents: kind, ID, stored bytes, version."""

    root: Path
    states: list[dict[Kind, dict[str, tuple[bytes, int]]]] = field(default_factory=list)
    blog_id: str = BLOG

    def __post_init__(self) -> None:
        self.layout = Layout(self.root)
        writer.create(self.layout, ArchiveInfo(self.blog_id, CREATED))

    @classmethod
    def reopen(cls, root: Path) -> Built:
        """Open an existing archive, and read its states."""
        built = cls.__new__(cls)
        built.root, built.layout, built.states = root, Layout(root), []
        for number in built.reader.versions():
            state = built.reader.fold(number)
            built.states.append(
                {kind: {line.record_id: (line.data, line.version or 0) for line in state.lines(kind)} for kind in Kind}
            )
            state.close()
        return built

    def copied(self, root: Path) -> Built:
        """Copy the archive to a new place, where it may be changed."""
        shutil.copytree(self.root, root)
        built = Built.__new__(Built)
        built.root, built.layout, built.states, built.blog_id = root, Layout(root), list(self.states), self.blog_id
        return built

    @property
    def reader(self) -> Archive:
        """A reader of the archive in its current state."""
        return Archive.open(self.root)

    def commit(self, changes: Changes, *, run: bool = True, at: str = CREATED, healed: list[Any] | None = None) -> int:
        """Commit a version with these changes and the line of its run; return its number."""
        number = len(self.states) + 1
        before = self.states[-1] if self.states else {kind: {} for kind in Kind}
        after = {kind: dict(records) for kind, records in before.items()}
        lines: dict[Kind, list[bytes]] = {kind: [] for kind in Kind}
        counts = {}
        for kind in Kind:
            new = changed = gone = 0
            for record_id, text in changes.get(kind, {}).items():
                if text is None:
                    gone += 1
                    del after[kind][record_id]
                    lines[kind].append(remove_line(record_id, EVIDENCE))
                    continue
                frozen = lossless_json.freeze(lossless_json.loads(text))
                new, changed = (new, changed + 1) if record_id in before[kind] else (new + 1, changed)
                after[kind][record_id] = (frozen.data, number)
                lines[kind].append(put_line(record_id, frozen))
            counts[kind] = KindCounts(len(after[kind]), new, changed, gone)
        self.states.append(after)
        draft = writer.VersionDraft(
            parent=number - 1 or None,
            base_url="https://api.example",
            started_at=at,
            finished_at=at,
            counts=counts,
            completeness={"complete": True, "sweeps": 2},
            problems=[RecordProblem("entries", "13", "answered 404")],
            lines=lines,
            healed=healed,
        )
        assert writer.commit(self.layout, draft).version == number
        if run:
            self.run(version=number, completeness={"complete": True})
        return number

    def run(self, **members: Any) -> None:
        """Append a run's line, and seal the archive."""
        writer.append_run(self.layout, run_line(**members))

    def refresh(self, *views: LatestView, reuse: bool = True) -> int:
        """Update ``latest/`` to the newest version."""
        return write_latest(self.layout, self.reader.state(), views, reuse=reuse)


@dataclass(frozen=True)
class Page:
    """A view's file, like those that exporters make."""

    path: str
    fingerprint: bytes
    render: Callable[[], bytes]


def pages(files: Mapping[str, bytes], *, name: str = "markdown", edition: str = "1") -> LatestView:
    """Return a view of fixed files, each of which depends only on its content."""
    made = [Page(path, content, partial(bytes, content)) for path, content in files.items()]
    return LatestView(name, edition, lambda _state: made)


def record(**members: Any) -> bytes:
    """Return the JSON text of a record."""
    return json.dumps(members, ensure_ascii=False).encode("utf-8", "backslashreplace")


ODD_ID = 'x","data":{"\u2028\ud83d\n'
ODD_RECORDS: dict[str, bytes] = {
    "7": b'{"entry_id":7,"price":1.10,"a":{"k":1,"k":2}}',
    "007": b'{"entry_id":"007","title":"\\ud83d","much":1e400,"zero":-0}',
    "12345678901234567890": b'{"entry_id":12345678901234567890,"n":NaN}',
    ODD_ID: record(entry_id=ODD_ID, title=',"data":{}}', text="\u2028\x85\x00"),
    "abc": b'{"entry_id":"abc","deep":' + b"[" * 300 + b"]" * 300 + b"}",
    "": b'{"entry_id":"","long":' + b"9" * 5000 + b"}",
}


def entry(number: int, title: str) -> bytes:
    """Return the JSON text of an entry."""
    return record(entry_id=str(number), title=title, entry_text=f"<p>{title}</p>", year="2016", mon=None)


def five_versions(root: Path) -> Built:
    """Build an archive of five versions, with records that are removed, come back, or have odd contents."""
    built = Built(root)
    entries = {str(number): entry(number, f"題{number}") for number in range(1, 6)}
    comments = {str(number): record(cm_id=str(number), entry_id="2", cm_text="こ\u2028め") for number in (1, 2, 10)}
    built.commit(
        {
            Kind.ENTRIES: entries,
            Kind.ENTRY_LIST: {key: record(entry_id=key, title="題") for key in [*entries, "13"]},
            Kind.COMMENTS: comments,
            Kind.FILES: {"1": record(file_id="1", name="a.jpg")},
            Kind.USER: {"0f": record(id="0f", nickname="浜")},
            Kind.ASSETS: {"https://a.example/1.gif": record(url="https://a.example/1.gif", status=404)},
        }
    )
    built.commit({Kind.ENTRIES: {**ODD_RECORDS, "2": entry(2, "変")}, Kind.ENTRY_LIST: ODD_RECORDS})
    built.commit({Kind.ENTRIES: {"3": None, "7": None}, Kind.ENTRY_LIST: {"3": None}, Kind.COMMENTS: {"10": None}})
    built.commit({Kind.ENTRIES: {"7": ODD_RECORDS["7"].replace(b"1.10", b"1.100"), "6": entry(6, "新")}})
    built.commit({Kind.ENTRIES: {"3": entries["3"], ODD_ID: None}, Kind.FILES: {"1": None}})
    return built


def open_files() -> int:
    """Count this process's open files."""
    return len(list(Path("/dev/fd").iterdir()))
