"""Archives made record by record with the writer of backups, and a fold that shares no code with the reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.lines import RecordLine, put_line, remove_line
from exporter.archive.manifest import ArchiveInfo, KindCounts
from exporter.archive.safe_files import HeldFolder, InnerPath
from exporter.archive.segments import find_line
from exporter.clock import timestamp
from exporter.model.kinds import Kind, sort_key

Changes = Mapping[Kind, Mapping[str, Any]]
State = dict[Kind, dict[str, bytes]]

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVIDENCE = {"absent_in_sweeps": [1, 2]}


class ArchiveMaker:
    """Commits versions; a change maps an ID to its new raw object, or to ``None`` if the record is removed."""

    def __init__(self, root: Path, step: timedelta = timedelta(days=1)) -> None:
        self.layout = Layout(root)
        self._step = step
        self._now = START - step
        self._known: dict[Kind, dict[str, bytes]] = {kind: {} for kind in Kind}
        self._newest: int | None = None
        writer.create(self.layout, ArchiveInfo("sea.example", timestamp(START)))

    @property
    def reader(self) -> Archive:
        return Archive.open(self.layout.root)

    def commit(self, changes: Changes) -> int:
        """Commit one version and return its number; unchanged records are left out, as in a run."""
        self._now += self._step
        lines: dict[Kind, list[bytes]] = {}
        counts: dict[Kind, KindCounts] = {}
        for kind in Kind:
            known = self._known[kind]
            new = changed = gone = 0
            for record_id in sorted(changes.get(kind, {}), key=sort_key):
                data = changes[kind][record_id]
                if data is None:
                    if known.pop(record_id, None) is not None:
                        lines.setdefault(kind, []).append(remove_line(record_id, EVIDENCE))
                        gone += 1
                    continue
                frozen = lossless_json.freeze(data)
                if known.get(record_id) == frozen.identity:
                    continue
                new, changed = (new + 1, changed) if record_id not in known else (new, changed + 1)
                known[record_id] = frozen.identity
                lines.setdefault(kind, []).append(put_line(record_id, frozen))
            counts[kind] = KindCounts(len(known), new, changed, gone)
        draft = writer.VersionDraft(
            parent=self._newest,
            base_url="https://api.example",
            started_at=timestamp(self._now - timedelta(minutes=5)),
            finished_at=timestamp(self._now),
            counts=counts,
            completeness={"complete": True},
            problems=[],
            lines=lines,
        )
        self._newest = writer.commit(self.layout, draft).version
        return self._newest


def plain_states(root: Path, *, lenient: bool = False) -> dict[int, State]:
    """Fold every version with the standard library only; a record is the bytes of its ``data``.

    A tombstone of a missing record is an error unless ``lenient``: a prune leaves such tombstones.
    """
    state: State = {kind: {} for kind in Kind}
    found: dict[int, State] = {}
    for folder in sorted((root / "versions").iterdir(), key=lambda path: int(path.name)):
        for kind in Kind:
            for line in (folder / f"{kind}.jsonl").read_bytes().split(b"\n")[:-1]:
                head = json.loads(line)
                if head["op"] == "put":
                    state[kind][head["id"]] = line.split(b',"data":', 1)[1][:-1]
                elif lenient:
                    state[kind].pop(head["id"], None)
                else:
                    del state[kind][head["id"]]
        found[int(folder.name)] = {kind: dict(records) for kind, records in state.items()}
    return found


def entry(entry_id: str, title: str = "海の日", text: str = "<p>波の音</p>", **more: Any) -> dict[str, Any]:
    """Return a raw entry with the fields that these tests use."""
    return {
        "entry_id": entry_id,
        "title": title,
        "entry_text": text,
        "year": "2024",
        "mon": "07",
        "day": "15",
        "hour": "09",
        "min": "30",
        "sec": "00",
        **more,
    }


def comment(cm_id: str, entry_id: str = "1", text: str = "きれい", **more: Any) -> dict[str, Any]:
    """Return a raw comment with the fields that these tests use."""
    return {
        "cm_id": cm_id,
        "entry_id": entry_id,
        "name": "通りすがり",
        "title": "",
        "cm_text": text,
        "regist_date": "2024/07/16",
        **more,
    }


def find_in(path: InnerPath, record_id: str) -> RecordLine | None:
    """Return a record's line in a segment."""
    with HeldFolder(path.parent) as folder:
        return find_line(folder, path.name, record_id)
