"""The seal of an archive: ``SHA256SUMS`` at its root, and the chain of the lines in ``runs.jsonl``.

Each line names the hash of the line before it and of the newest manifest, which names the one before it, and so on. So
the hash of the newest line, the archive's *head*, covers every run and every version. ``SHA256SUMS`` has the hash of
the whole file and of what else is in the root, and is written after the line: a kill in between leaves it as it was,
and what it was written for is then the beginning of the file.

A hash that was written stays until the file has it again: sealing never turns damage into what is right.
"""

from __future__ import annotations

import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Any

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.copies import keep_copies
from exporter.archive.latest import file_sha256, manifest_sha256
from exporter.archive.layout import manifest_name
from exporter.archive.manifest import MANIFEST_SHA256, PREVIOUS, line_digest, read_sums, run_of, write_sums
from exporter.archive.reader import version_numbers
from exporter.archive.safe_files import LARGEST_DOCUMENT, FileTooLarge, inner, newest_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from exporter.archive.layout import Layout


def bundled_document(name: str) -> bytes:
    """Return what this program writes as ``README.txt`` or ``FORMAT.md`` into a new archive."""
    return resources.files("exporter.archive").joinpath(name).read_bytes()


def sealed_document(name: str, sealed: str) -> bytes | None:
    """Return what ``README.txt`` or ``FORMAT.md`` was, by the hash it was sealed with.

    ``None`` when another program wrote it, so that only another copy of the archive has it.
    """
    data = bundled_document(name)
    return data if hashlib.sha256(data).hexdigest() == sealed else None


def sealed_names(layout: Layout) -> tuple[str, ...]:
    """Return the files that every seal names, in their order; a manifest may follow."""
    return (layout.readme.name, layout.format_document.name, layout.info.name, layout.runs.name)


def append_run(layout: Layout, run: dict[str, Any]) -> None:
    """Add a run's line to ``runs.jsonl``, linked to the one before it, and seal the archive; the caller holds the lock.

    One that was never sealed is sealed before, too, so that at no instant there is a line with a link and no seal.
    """
    if layout.sums.kind() is None:
        seal(layout)
    with atomic.translated(layout.runs):
        atomic.cut_torn_tail(layout.runs)
        before = _newest_line(layout)
        newest = max(version_numbers(layout), default=None)
        links = {
            PREVIOUS: None if before is None else line_digest(before),
            MANIFEST_SHA256: None if newest is None else manifest_sha256(layout, newest),
        }
        atomic.append_line(layout.runs, lossless_json.dumps({**run, **links}) + b"\n")
    seal(layout)


def seal(layout: Layout, *, versions: bool = True, anew: Collection[str] = ()) -> None:
    """Bring ``SHA256SUMS`` at the root up to date, if it is not; the caller holds the lock.

    Args:
        layout: the archive.
        versions: name the newest manifest; not while ``versions/`` is about to be replaced.
        anew: names of files that were changed on purpose, and whose hash in the old seal is not kept.
    """
    with atomic.translated(layout.sums):
        atomic.cut_torn_tail(layout.runs)
        old = _read(layout)
        stated = {name: digest for name, digest in read_sums(old).items() if name not in anew}
        rows = {name: stated.get(name) or _digest(layout, name) for name in sealed_names(layout)[:-1]}
        rows[layout.runs.name] = runs_digest(layout.runs, stated.get(layout.runs.name))
        numbers = version_numbers(layout) if versions else []
        if numbers:
            name = manifest_name(numbers[-1])
            digest = stated.get(name) or manifest_sha256(layout, numbers[-1])
            rows |= {} if digest is None else {name: digest}
        new = write_sums(rows)
        if new != old:
            atomic.write_file(layout.sums, new)
        if versions:
            keep_copies(layout, rows, numbers)


def head_hash(layout: Layout) -> str | None:
    """Return the hash of the newest line; ``None`` where that is of a program that did not link the lines yet."""
    try:
        line = _newest_line(layout)
    except OSError:
        return None
    run = None if line is None else run_of(line)
    return line_digest(line) if line is not None and run is not None and PREVIOUS in run else None


def count_heads(layout: Layout, digits: str) -> int:
    """Return how many lines have a hash that begins with these digits; each has been the archive's head."""
    try:
        return sum(line_digest(line).startswith(digits) for line in run_texts(layout.runs) if line.endswith(b"\n"))
    except OSError:
        return 0


def run_texts(path: Path) -> Iterator[bytes]:
    """Yield the lines of ``runs.jsonl``, oldest first, with their line feeds; one cut short has none.

    Raises:
        OSError: the file cannot be read.
    """
    with inner(path).open("rb") as file:
        while line := file.readline(LARGEST_DOCUMENT + 1):
            if len(line) > LARGEST_DOCUMENT:
                raise FileTooLarge(str(path), LARGEST_DOCUMENT)
            yield line


def _newest_line(layout: Layout) -> bytes | None:
    try:
        return next(newest_lines(layout.runs), None)
    except FileNotFoundError:
        return None


def _read(layout: Layout) -> bytes:
    try:
        return layout.sums.read_bytes(LARGEST_DOCUMENT)
    except FileNotFoundError:
        return b""


def _digest(layout: Layout, name: str) -> str:
    """Return the hash of a file of the root; of a document that is not there, that of the one it should be."""
    try:
        return file_sha256(layout.root / name)
    except OSError:
        if name == layout.info.name:
            raise
        return hashlib.sha256(bundled_document(name)).hexdigest()


def runs_digest(path: Path, stated: str | None) -> str:
    """Return the hash to seal ``runs.jsonl`` with: its own, unless what was sealed is no longer what it begins with."""
    running = hashlib.sha256()
    grown = stated in (None, running.hexdigest())
    try:
        for line in run_texts(path):
            running.update(line)
            grown = grown or running.hexdigest() == stated
    except FileNotFoundError:
        pass
    return running.hexdigest() if grown or stated is None else stated
