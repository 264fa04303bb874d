"""``log``: the versions of an archive, oldest first."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from exporter.archive.manifest import Manifest
from exporter.archive.reader import ArchiveReader
from exporter.cli.options import archive_argument, talking
from exporter.cli.output import Output


@click.command("log")
@archive_argument
@talking
def command(*, out: Output, archive: Path) -> int:
    """List the versions of the archive in DIR: when, and what was new, changed and gone."""
    reader = ArchiveReader(archive)
    rows = [_row(reader.manifest(number)) for number in reader.versions()]
    out.document({"versions": rows})
    if not rows:
        reader.resolve()
    for row in rows:
        out.answer(_text(row))
    return 0


def _row(manifest: Manifest) -> dict[str, Any]:
    return {
        "version": manifest.version,
        "started_at": manifest.started_at,
        "finished_at": manifest.finished_at,
        "complete": bool(manifest.completeness.get("complete")),
        "counts": {kind: asdict(counts) for kind, counts in manifest.counts.items()},
        "problems": len(manifest.problems),
    }


def _text(row: dict[str, Any]) -> str:
    parts = []
    for kind in ("entries", "comments", "files", "assets"):
        counts = row["counts"].get(kind, {})
        signs = (("new", "+"), ("changed", "~"), ("gone", "-"))
        changes = " ".join(f"{sign}{counts[name]}" for name, sign in signs if counts.get(name))
        if changes:
            parts.append(f"{kind} {changes}")
    mark = "" if row["complete"] else "   INCOMPLETE"
    return f"{row['version']:>6}  {row['finished_at']}  {', '.join(parts) or 'lists only'}{mark}"
