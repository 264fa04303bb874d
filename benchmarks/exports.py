"""``python -m benchmarks.exports`` measures every export of a blog of any size: seconds, processor seconds, memory.

With ``--importers``, the folder of an environment that has pelican-import, the time it takes to turn a WXR file into
Markdown is measured in the same run, on fewer posts, beside our Markdown made of as many.
"""

from __future__ import annotations

import json
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.blog_size import BLOG_ID
from benchmarks.measure import Sample, run
from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.layout import Layout
from exporter.archive.lines import put_line
from exporter.archive.manifest import ArchiveInfo, KindCounts
from exporter.demo.content import Record, fields
from exporter.export.folder import report_path
from exporter.export.formats import FORMATS
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from tests.support.generated import generated_blog

_POOL = 64
_WHEN = "2030-01-31T12:34:56Z"
_PATTERNS = ("--old-url", "https://{blog_id}/Entry/{entry_id}/", "--new-url", "https://new.example/{entry_id}/")
_SAID = ("--public-open-flg", "1", "--visible-delete-flg", "f", "--quiet")
_RIVAL_ENTRIES = 200


def main() -> int:
    """Measure and print a table."""
    options = _arguments()
    if options.build is not None:
        build(options.build, options.entries)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for row in _rows(Path(folder), options):
            print(row, flush=True)
    return 0


def build(root: Path, entries: int) -> None:
    """Make an archive of one version: so many entries, twice as many comments."""
    blog = generated_blog(_POOL, 2 * _POOL, 1, blog_id=BLOG_ID)
    items = blog.list_page(0, _POOL, newest_first=False)
    posts = list(blog.entries.values())
    changes: dict[Kind, Iterable[dict[str, object]]] = {
        Kind.ENTRIES: (_numbered(posts[n % _POOL], entry_id=n, title=f"第{n}回の日記") for n in range(1, entries + 1)),
        Kind.ENTRY_LIST: (_numbered(items[n % _POOL], entry_id=n) for n in range(1, entries + 1)),
        Kind.COMMENTS: (
            _numbered(blog.comments[n % _POOL], cm_id=n, entry_id=1 + n % entries) for n in range(1, 2 * entries + 1)
        ),
        Kind.USER: [dict(fields(blog.user))],
    }
    layout = Layout(root)
    writer.create(layout, ArchiveInfo(BLOG_ID, _WHEN))
    lines = {kind: _lines(kind, records) for kind, records in changes.items()}
    sizes = {Kind.ENTRIES: entries, Kind.ENTRY_LIST: entries, Kind.COMMENTS: 2 * entries, Kind.USER: 1}
    counts = {kind: KindCounts(sizes.get(kind, 0), sizes.get(kind, 0), 0) for kind in Kind}
    draft = writer.VersionDraft(
        None, "https://api.example", _WHEN, _WHEN, counts, {"complete": True, "sweeps": 2}, [], lines
    )
    writer.commit(layout, draft)


def _numbered(record: Record, **changes: object) -> dict[str, object]:
    known = dict(fields(record))
    return {**known, "open_flg": "1", "is_private": "f", "period_flg": "f"} | {
        name: str(value) for name, value in changes.items()
    }


def _lines(kind: Kind, records: Iterable[dict[str, object]]) -> Iterator[bytes]:
    return (put_line(DEFAULT_SERVICE.key(kind, record) or "", lossless_json.freeze(record)) for record in records)


def _rows(folder: Path, options: Namespace) -> Iterator[str]:
    archive = folder / "archive"
    _build(archive, options.entries)
    yield f"{options.entries:,} entries, {2 * options.entries:,} comments"
    yield f"{'format':<14} {'seconds':>8} {'CPU s':>8} {'peak MB':>8}"
    for name in options.formats or FORMATS:
        yield _row(name, _export(name, archive, folder / name))
    if options.importers is not None:
        small = folder / "small"
        _build(small, _RIVAL_ENTRIES)
        yield f"{_RIVAL_ENTRIES:,} entries to Markdown"
        yield _row("markdown", _export("markdown", small, folder / "ours"))
        _export("wxr", small, folder / "small-wxr")
        (folder / "theirs").mkdir()
        tool = str(options.importers / "bin" / "pelican-import")
        wxr = str(folder / "small-wxr" / "wordpress-public.xml")
        cost, _ = run([tool, "--wpfile", wxr, "-o", str(folder / "theirs"), "-m", "markdown"], None)
        yield _row("pelican-import", cost)


def _build(root: Path, entries: int) -> None:
    run([sys.executable, "-m", "benchmarks.exports", "--build", str(root), "--entries", str(entries)], None)


def _export(name: str, archive: Path, out: Path) -> Sample:
    command = [sys.executable, "-m", "exporter", "export", name, str(archive), str(out), *_SAID]
    whole = FORMATS[name].whole
    asked = {"redirects": _PATTERNS}.get(name, ("--only", "all") if whole else ())
    cost, _ = run([*command, *asked], None)
    report = json.loads(report_path(out.with_name(f"{name}.NOT-PUBLIC") if whole else out).read_bytes())
    if report["out"]["entries"] != report["in"]["entries"]:
        raise RuntimeError(f"{name} holds {report['out']['entries']} of {report['in']['entries']} entries")
    return cost


def _row(name: str, cost: Sample) -> str:
    return f"{name:<14} {cost.wall:>8.2f} {cost.cpu:>8.2f} {cost.peak / 1e6:>8.0f}"


def _arguments() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--formats", nargs="*", choices=list(FORMATS))
    parser.add_argument("--importers", type=Path, metavar="FOLDER")
    parser.add_argument("--build", type=Path, help="only make the archive")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
