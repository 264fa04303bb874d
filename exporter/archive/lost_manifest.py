"""Reconstruct a lost manifest from the run's line, the segments and the other manifests.

A disk may lose a manifest together with ``.work/``, which holds its copy. Its content is also elsewhere: counts and
problems are in the run's line in ``runs.jsonl``, sizes and hashes can be taken from the segments. The result counts
only if it has the hash that the seal, the version's ``SHA256SUMS`` or the next manifest states, so every byte is right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from exporter import lossless_json
from exporter.archive.layout import FORMAT_VERSION, SEGMENTS, manifest_sha256, version_numbers
from exporter.archive.manifest import TOOL, KindCounts, Manifest, RecordProblem, SegmentInfo, run_of
from exporter.archive.safe_files import LARGEST_DOCUMENT, newest_lines
from exporter.archive.settings_file import read_archive_settings
from exporter.clock import timestamp
from exporter.errors import BlogExporterError

if TYPE_CHECKING:
    from typing import Any

    from exporter.archive.layout import Layout

_LONGEST_RUN: Final = 48 * 3600
"""Seconds before the end of a run that its version may have been committed in; each is tried."""


def manifest_again(layout: Layout, version: int, sha256: str) -> bytes | None:
    """Return the bytes of a lost manifest, or ``None`` if they cannot be reconstructed.

    Args:
        layout: the archive.
        version: the version whose manifest is lost.
        sha256: the hash that the manifest had, in hexadecimal.
    """
    with suppress(OSError, BlogExporterError, ValueError, LookupError, TypeError):
        run = _run_of(layout, version)
        for manifest in () if run is None else _candidates(layout, version, run):
            data = lossless_json.dumps(manifest.document(), pretty=True) + b"\n"
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
    return None


def _run_of(layout: Layout, version: int) -> dict[str, Any] | None:
    """Return the line of the run that made a version."""
    for line in newest_lines(layout.runs):
        run = run_of(line)
        if run is not None and run.get("version") == version:
            return run
    return None


def _candidates(layout: Layout, version: int, run: dict[str, Any]) -> Iterator[Manifest]:
    """Yield candidates for the manifest: a run's line does not state the service's address or the commit time."""
    versions = version_numbers(layout)
    parent = max((number for number in versions if number < version), default=None)
    last = datetime.fromisoformat(run["finished_at"])
    seconds = min(_LONGEST_RUN, int((last - datetime.fromisoformat(run["started_at"])).total_seconds()))
    files = {name: _segment(layout, version, name) for name in SEGMENTS}
    for base_url, tool, format_version in _origins(layout, versions):
        made = Manifest(
            version=version,
            parent=None if parent is None else {"version": parent, "sha256": manifest_sha256(layout, parent)},
            blog_id=lossless_json.loads(layout.info.read_bytes(LARGEST_DOCUMENT))["blog_id"],
            base_url=base_url,
            started_at=run["started_at"],
            finished_at=run["finished_at"],
            counts={kind: KindCounts(**counts) for kind, counts in run["counts"].items()},
            completeness=run["completeness"],
            problems=[RecordProblem(**problem) for problem in run["problems"]],
            files=files,
            format_version=format_version,
            tool=tool,
        )
        for second in range(seconds + 1):
            yield replace(made, finished_at=timestamp(last - timedelta(seconds=second)))


def _origins(layout: Layout, versions: list[int]) -> Iterator[tuple[str, str, int]]:
    """Yield the service's address, the tool and the format that versions may have, the likeliest first."""
    remembered = read_archive_settings(layout.root)
    known = {**remembered.unconfirmed, **remembered.values}.get("base_url")
    yielded = set()
    for number in reversed(versions):
        with suppress(OSError, BlogExporterError):
            path = layout.manifest(number)
            found = Manifest.decode(path.read_bytes(LARGEST_DOCUMENT), str(path))
            origin = found.base_url, found.tool, found.format_version
            if origin not in yielded:
                yielded.add(origin)
                yield origin
    if isinstance(known, str):
        yield known, TOOL, FORMAT_VERSION


def _segment(layout: Layout, version: int, name: str) -> SegmentInfo:
    """Return the size and hash that a manifest states for an undamaged segment."""
    lines = size = 0
    running = hashlib.sha256()
    with (layout.version(version) / name).open("rb") as file:
        for line in file:
            lines, size = lines + 1, size + len(line)
            running.update(line)
    return SegmentInfo(lines, size, running.hexdigest())
