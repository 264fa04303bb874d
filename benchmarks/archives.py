"""Archives of the measured blog with one version or thousands, made through the writer that backups use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from benchmarks.content import BLOG_ID, BlogSize, Content
from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.lines import put_line
from exporter.archive.manifest import ArchiveInfo, KindCounts
from exporter.clock import timestamp
from exporter.crawl.outcome import Outcome
from exporter.library.views import refresh_latest
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE

Changes = Mapping[Kind, Iterable[bytes]]
"""The new and changed records of each kind, as JSON."""

_FIRST_NIGHT = datetime(2016, 1, 1, 18, 30, tzinfo=UTC)
_RUN_TAKES = timedelta(minutes=2)
_COMPLETE = {"complete": True, "sweeps": 2, "sweeps_agreed": True}


class Nightly:
    """An archive at ``root`` that gets a version and a line in ``runs.jsonl`` for each night with a change."""

    def __init__(self, root: Path, blog_id: str = BLOG_ID) -> None:
        self.layout = Layout(root)
        self.night = 0
        self._known: dict[Kind, set[str]] = {kind: set() for kind in Kind}
        writer.create(self.layout, ArchiveInfo(blog_id, timestamp(_FIRST_NIGHT)))

    def commit(self, changes: Changes) -> None:
        """Commit the next night's version without fsync, since a benchmark need not survive a power failure."""
        counts: dict[Kind, KindCounts] = {}
        lines: dict[Kind, list[bytes]] = {}
        for kind in Kind:
            known, written = self._known[kind], lines.setdefault(kind, [])
            before = len(known)
            for text in changes.get(kind, ()):
                record = lossless_json.loads(text)
                record_id = record["url"] if kind is Kind.ASSETS else DEFAULT_SERVICE.key(kind, record) or ""
                known.add(record_id)
                written.append(put_line(record_id, lossless_json.freeze(record)))
            new = len(known) - before
            counts[kind] = KindCounts(len(known), new, len(written) - new)
        began = _FIRST_NIGHT + timedelta(days=self.night)
        times = (timestamp(began), timestamp(began + _RUN_TAKES))
        parent = self.night or None
        with patch.object(os, "fsync"):
            draft = writer.VersionDraft(parent, "https://api.example.jp", *times, counts, _COMPLETE, [], lines)
            manifest = writer.commit(self.layout, draft)
            writer.append_run(self.layout, Outcome.of(manifest).line())
        self.night += 1


def nightly(root: Path, size: BlogSize, versions: int, *, real: bool = False) -> Iterator[Nightly]:
    """Make an archive whose newest version is the blog as served, and yield it after each version.

    Each night from the second on, one entry with an older text gets its final text, and one comment is added. The more
    versions there are, the more the first one differs.
    """
    content, archive = Content(size, real=real), Nightly(root)
    nights = versions - 1
    edits = [1 + (night - 1) % size.entries for night in range(1, nights + 1)]

    def as_of(number: int, left: int) -> bytes:
        """Return an entry in its state before its last ``back`` edits."""
        mark = b'"template_text":"%b"' % (b"%d" % left if left else b"")
        return content.entry(number).replace(b'"template_text":""', mark)

    def numbers(count: int, record: Callable[[int], bytes]) -> list[bytes]:
        return [record(number) for number in range(1, count + 1)]

    archive.commit(
        {
            Kind.ENTRIES: numbers(size.entries, lambda number: as_of(number, edits.count(number))),
            Kind.ENTRY_LIST: numbers(size.entries, content.item),
            Kind.COMMENTS: numbers(size.comments - nights, content.comment),
            Kind.FILES: numbers(size.files, content.file),
            Kind.USER: [content.user],
        }
    )
    yield archive
    for night, number in enumerate(edits, 1):
        text = as_of(number, edits[night:].count(number))
        comment = content.comment(size.comments - nights + night)
        archive.commit({Kind.ENTRIES: [text], Kind.COMMENTS: [comment]})
        yield archive


def build(root: Path, size: BlogSize, versions: int = 1, *, real: bool = False) -> Nightly:
    """Make such an archive with its ``latest/``; with ``real``, its entries are as long and as varied as real ones."""
    *_, archive = nightly(root, size, versions, real=real)
    refresh_latest(Archive.open(root), [])
    return archive
