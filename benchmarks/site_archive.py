"""``python -m benchmarks.site_archive ROOT``: an archive to make sites of, or a version more in one that is there."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.blog_size import BLOG_ID
from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.lines import put_line
from exporter.archive.manifest import ArchiveInfo, KindCounts
from exporter.demo.content import fields
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from tests.support.generated import generated_blog

_WHEN = "2030-02-01T12:34:56Z"
_COMPLETE = {"complete": True, "sweeps": 2}
_POOL = 64


def build(root: Path, entries: int) -> None:
    """Make an archive of one version: so many entries, no two alike, over twenty years, and twice as many comments."""
    blog = generated_blog(_POOL, 2 * _POOL, 1, blog_id=BLOG_ID)
    posts = [fields(each) for each in blog.entries.values()]
    items = [fields(each) for each in blog.list_page(0, _POOL, newest_first=False)]
    talks = [fields(each) for each in blog.comments]
    records: dict[Kind, list[dict[str, Any]]] = {
        Kind.ENTRIES: [_entry(posts[number % _POOL], number, entries) for number in range(1, entries + 1)],
        Kind.ENTRY_LIST: [{**items[number % _POOL], "entry_id": str(number)} for number in range(1, entries + 1)],
        Kind.COMMENTS: [
            {**talks[number % _POOL], "cm_id": str(number), "entry_id": str(1 + number % entries)}
            for number in range(1, 2 * entries + 1)
        ],
        Kind.USER: [dict(fields(blog.user))],
    }
    lines = {kind: [_line(kind, each) for each in found] for kind, found in records.items()}
    counts = {kind: KindCounts(len(lines.get(kind, ())), len(lines.get(kind, ())), 0) for kind in Kind}
    layout = Layout(root)
    writer.create(layout, ArchiveInfo(BLOG_ID, _WHEN))
    writer.commit(layout, writer.VersionDraft(None, "https://api.example", _WHEN, _WHEN, counts, _COMPLETE, [], lines))


def _entry(record: Mapping[str, Any], number: int, entries: int) -> dict[str, Any]:
    """Return a record as another entry: its number in the title and in a paragraph, its year by its place."""
    text = f"<p>これで{number}回目の日記になりました。</p>{record['entry_text']}"
    year = str(2006 + 20 * number // (entries + 1))
    return {**record, "entry_id": str(number), "title": f"第{number}回の日記", "entry_text": text, "year": year}


def _line(kind: Kind, record: dict[str, Any]) -> bytes:
    return put_line(DEFAULT_SERVICE.key(kind, record) or "", lossless_json.freeze(record))


def add_version(root: Path, edits: int) -> None:
    """Commit a version in which so many entries, evenly spread, have another text."""
    reader = Archive.open(root)
    before = reader.resolve()
    state = reader.state()
    counts = {kind: KindCounts(len(state.ids(kind)), 0, 0, 0) for kind in Kind}
    ids = state.ids(Kind.ENTRIES)
    lines = []
    for entry_id in ids[:: max(1, len(ids) // edits)][:edits]:
        record = state.load(Kind.ENTRIES, entry_id) or {}
        changed = {**record, "entry_text": f"{record['entry_text']}<p>追記: 版{before + 1}でことばを直しました。</p>"}
        lines.append(put_line(entry_id, lossless_json.freeze(changed)))
    counts[Kind.ENTRIES] = KindCounts(len(ids), 0, len(lines), 0)
    state.close()
    changes = {Kind.ENTRIES: lines}
    draft = writer.VersionDraft(before, "https://api.example", _WHEN, _WHEN, counts, _COMPLETE, [], changes)
    writer.commit(Layout(root), draft)


def main() -> int:
    """Read the command line and do it."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--entries", type=int, default=5_000)
    parser.add_argument("--edits", type=int, default=50, help="entries changed by the version that is added")
    options = parser.parse_args()
    if not options.root.exists():
        build(options.root, options.entries)
    add_version(options.root, options.edits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
