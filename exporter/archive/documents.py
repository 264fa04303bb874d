"""The documents that exist once in an archive: sealed with ``SHA256SUMS`` and copied to ``.work/``.

A damaged record can be restored from ``latest/``, from another version or from the service. ``archive.json``, the
manifests and ``runs.jsonl`` cannot, so the archive keeps three safeguards:

- Each line of ``runs.jsonl`` names the hashes of its predecessor, of the newest manifest and of the newest capture.
  Each manifest and each capture names the hash of its predecessor. So the newest line's hash is the archive's *head*:
  it covers all runs, versions and captures.
- ``SHA256SUMS`` in the root, the *seal*, has the hashes of that file and of the other root files. It is written after
  the line. After a kill in between, the file still begins with the sealed content. A hash stays in the seal until the
  file has it again: sealing never makes damage valid.
- ``.work/documents.jsonl`` has a line ``[name, sha256, text]`` for ``archive.json`` and each manifest, and
  ``.work/runs.jsonl`` is a copy of that file. A copy is used only if its hash is the sealed one, so a foreign or
  damaged copy does no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checks import file_sha256, sha256_or_none
from exporter.archive.layout import (
    CAPTURE_RUNS,
    MANIFEST,
    SUMS,
    capture_name,
    capture_numbers,
    capture_sha256,
    captures_in,
    manifest_name,
    manifest_sha256,
    version_numbers,
)
from exporter.archive.manifest import (
    CAPTURE_SHA256,
    FORGOTTEN_SHA256,
    MANIFEST_SHA256,
    PREVIOUS,
    SegmentInfo,
    line_digest,
    read_sums,
    run_of,
    version_sums,
    write_sums,
)
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, FileTooLarge, inner, newest_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

_BLOCK_BYTES: Final = 1 << 20
_BUNDLED: Final = ("README.txt", "FORMAT.md")


def bundled_document(name: str) -> bytes:
    """Return a file of this package, such as the ``README.txt`` or ``FORMAT.md`` of new archives."""
    from importlib import resources  # noqa: PLC0415 - only a new archive needs it

    return resources.files("exporter.archive").joinpath(name).read_bytes()


def write_manifest(folder: Path, document: Mapping[str, Any], info_sha256: str) -> str:
    """Write ``manifest.json`` and ``SHA256SUMS`` for complete segments; return the manifest's hash.

    Args:
        folder: the version's folder.
        document: the manifest, which may have members of a later program.
        info_sha256: SHA-256 of ``archive.json``.
    """
    files = {
        name: SegmentInfo(found["lines"], found["bytes"], found["sha256"]) for name, found in document["files"].items()
    }
    with atomic.hashing(folder / MANIFEST) as file:
        file.write(lossless_json.dumps(document, pretty=True) + b"\n")
        digest = file.close()
    with atomic.hashing(folder / SUMS) as file:
        file.write(version_sums(digest, info_sha256, files))
        file.close()
    return digest


def sealed_names(layout: Layout) -> tuple[str, ...]:
    """Return the file names in every seal, in their order; the newest manifest and capture may follow."""
    return (layout.readme.name, layout.format_document.name, layout.info.name, layout.runs.name)


def append_run(layout: Layout, run: Mapping[str, Any]) -> None:
    """Append a run's line with the links to the line before it, and seal the archive; the caller holds the lock.

    An archive without a seal is sealed first, so that a line with links never exists without a seal.
    """
    if layout.sums.kind() is None:
        seal(layout)
    with atomic.translated(layout.runs):
        atomic.cut_torn_tail(layout.runs)
        before = _newest_run_line(layout)
        newest = max(version_numbers(layout), default=None)
        links = {
            PREVIOUS: None if before is None else line_digest(before),
            MANIFEST_SHA256: None if newest is None else manifest_sha256(layout, newest),
        }
        captured = newest_capture(layout, read_sums(_read_or_nothing(layout.sums)))
        if captured is not None:
            links[CAPTURE_SHA256] = captured[1]
        forgotten = sha256_or_none(layout.forgotten)
        if forgotten is not None:
            links[FORGOTTEN_SHA256] = forgotten
        atomic.append_line(layout.runs, lossless_json.dumps({**run, **links}) + b"\n")
    seal(layout)


def seal(layout: Layout, *, versions: bool = True, anew: Collection[str] = ()) -> None:
    """Update ``SHA256SUMS`` in the root and the second copies; the caller holds the lock.

    Args:
        layout: the archive.
        versions: name the newest manifest; false while ``versions/`` is about to be replaced.
        anew: names of files that were changed on purpose; their old hashes are not kept.
    """
    with atomic.translated(layout.sums):
        atomic.cut_torn_tail(layout.runs)
        old = _read_or_nothing(layout.sums)
        stated = {name: digest for name, digest in read_sums(old).items() if name not in anew}
        rows = {name: stated.get(name) or _document_sha256(layout, name) for name in sealed_names(layout)[:-1]}
        rows[layout.runs.name] = runs_sha256(layout.runs, stated.get(layout.runs.name))
        numbers = version_numbers(layout) if versions else []
        if numbers:
            name = manifest_name(numbers[-1])
            digest = stated.get(name) or manifest_sha256(layout, numbers[-1])
            rows |= {} if digest is None else {name: digest}
        rows |= _capture_rows(layout, stated)
        new = write_sums(rows)
        if new != old:
            atomic.write_file(layout.sums, new)
        if versions:
            atomic.make_folder(layout.work)
            _copy_documents(layout, rows, numbers)
            _copy_runs(layout, rows.get(layout.runs.name))


def newest_capture(layout: Layout, stated: Mapping[str, str]) -> tuple[int, str] | None:
    """Return number and hash of the newest capture; of one that the seal states and that is missing too.

    Args:
        layout: the archive.
        stated: the rows of the seal.
    """
    number = max([*capture_numbers(layout), *captures_in(stated)], default=None)
    digest = None if number is None else stated.get(capture_name(number)) or capture_sha256(layout, number)
    return None if number is None or digest is None else (number, digest)


def _capture_rows(layout: Layout, stated: Mapping[str, str]) -> dict[str, str]:
    """Return the rows for the newest capture and for the log of captures; none for an archive without captures."""
    found = newest_capture(layout, stated)
    rows = {} if found is None else {capture_name(found[0]): found[1]}
    if CAPTURE_RUNS in stated or layout.capture_runs.kind() == "":
        rows[CAPTURE_RUNS] = runs_sha256(layout.capture_runs, stated.get(CAPTURE_RUNS))
    return rows


def head_hash(layout: Layout) -> str | None:
    """Return the archive's head, or ``None`` if the program of the newest line did not link lines yet."""
    with contextlib.suppress(OSError):
        line = _newest_run_line(layout)
        run = None if line is None else run_of(line)
        if line is not None and run is not None and PREVIOUS in run:
            return line_digest(line)
    return None


def count_heads(layout: Layout, digits: str) -> int:
    """Return the number of lines whose hash begins with these digits; each has been the archive's head."""
    try:
        return sum(line_digest(line).startswith(digits) for line in run_lines(layout.runs) if line.endswith(b"\n"))
    except OSError:
        return 0


def run_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of ``runs.jsonl`` with their line feeds, oldest first; an incomplete last line has none.

    Raises:
        OSError: the file cannot be read.
    """
    with inner(path).open("rb") as file:
        while line := file.readline(MAX_DOCUMENT_BYTES + 1):
            if len(line) > MAX_DOCUMENT_BYTES:
                raise FileTooLarge(str(path), MAX_DOCUMENT_BYTES)
            yield line


def _newest_run_line(layout: Layout) -> bytes | None:
    try:
        return next(newest_lines(layout.runs), None)
    except FileNotFoundError:
        return None


def _read_or_nothing(path: InnerPath) -> bytes:
    try:
        return path.read_bytes(MAX_DOCUMENT_BYTES)
    except FileNotFoundError:
        return b""


def _document_sha256(layout: Layout, name: str) -> str:
    """Return the hash of a file in the root; for a missing bundled document, the hash that it should have."""
    try:
        return file_sha256(layout.root / name)
    except OSError:
        if name not in _BUNDLED:
            raise
        return hashlib.sha256(bundled_document(name)).hexdigest()


def runs_sha256(path: Path, stated: str | None) -> str:
    """Return the hash to seal ``runs.jsonl`` with: its own, unless it no longer begins with the sealed content."""
    running = hashlib.sha256()
    grown = stated in (None, running.hexdigest())
    with contextlib.suppress(FileNotFoundError):
        for line in run_lines(path):
            running.update(line)
            grown = grown or running.hexdigest() == stated
    return running.hexdigest() if grown or stated is None else stated


class _Copy(NamedTuple):
    """A copy of one document with its path from the root, the sealed hash, and the bytes."""

    name: str
    sha256: str
    data: bytes

    def line(self) -> bytes:
        return lossless_json.dumps([self.name, self.sha256, self.data.decode()]) + b"\n"

    def parent_sha256(self) -> str | None:
        """Return the hash by which a manifest names its predecessor; ``None`` for the first and for other documents."""
        try:
            return str(lossless_json.loads(self.data)["parent"]["sha256"])
        except (lossless_json.NotJson, LookupError, TypeError):
            return None


def intact_document(layout: Layout, name: str, sha256: str) -> bytes | None:
    """Return a root document or a manifest with this hash, or ``None`` if no copy has it."""
    if name in _BUNDLED:
        data = bundled_document(name)
        return data if hashlib.sha256(data).hexdigest() == sha256 else None
    for copy in _copies(layout):
        if (copy.name, copy.sha256) == (name, sha256) and hashlib.sha256(copy.data).hexdigest() == sha256:
            return copy.data
    return None


def _copy_documents(layout: Layout, sealed: Mapping[str, str], versions: Sequence[int]) -> None:
    """Update ``documents.jsonl`` from the originals that match their seal."""
    path = layout.documents_copy
    info, *manifests = [layout.info.name, *map(manifest_name, versions)]
    newest = [info, *manifests][-1]
    last = None
    with contextlib.suppress(OSError):
        last = _decode_copy(next(newest_lines(path), b""))
    if last is not None and (last.name, last.sha256) == (newest, sealed.get(newest)):
        return
    made = _sealed_original(layout, newest, sealed.get(newest))
    if made is None:
        return
    if last is not None and last.name in manifests[-2:-1] and last.sha256 == made.parent_sha256():
        atomic.append_line(path, made.line())
        return
    # No copies exist yet, or those of other versions: a prune changes all later manifests.
    # A document that is damaged now keeps its copy.
    kept = {(copy.name, copy.sha256): copy for copy in _copies(layout)}
    found: list[_Copy] = []
    digest = sealed.get(newest)
    for name in reversed(manifests):
        manifest = _sealed_original(layout, name, digest) or kept.get((name, digest or ""))
        if manifest is None:
            break
        found.append(manifest)
        digest = manifest.parent_sha256()
    first = _sealed_original(layout, info, sealed.get(info)) or kept.get((info, sealed.get(info, "")))
    if first is not None:
        atomic.write_lines(path, (copy.line() for copy in (first, *reversed(found))))


def _sealed_original(layout: Layout, name: str, sealed: str | None) -> _Copy | None:
    """Read a document; ``None`` if it differs from its seal or is no text."""
    try:
        data = (layout.root / name).read_bytes(MAX_DOCUMENT_BYTES)
        data.decode()
    except (OSError, UnicodeDecodeError):
        return None
    return _Copy(name, sealed, data) if sealed and hashlib.sha256(data).hexdigest() == sealed else None


def _copy_runs(layout: Layout, sealed: str | None) -> None:
    """Copy ``runs.jsonl`` if it has the sealed content and the copy does not."""
    if sealed not in {None, sha256_or_none(layout.runs_copy)} and sha256_or_none(layout.runs) == sealed:
        copy_file(layout.runs, layout.runs_copy)


def copy_file(source: InnerPath, target: InnerPath) -> None:
    """Replace a file by a copy of another one."""
    with source.open("rb") as file:
        atomic.write_lines(target, iter(lambda: file.read(_BLOCK_BYTES), b""))


def _copies(layout: Layout) -> Iterator[_Copy]:
    with contextlib.suppress(OSError), layout.documents_copy.open("rb") as file:
        while line := file.readline(MAX_DOCUMENT_BYTES):
            copy = _decode_copy(line)
            if copy is not None:
                yield copy


def _decode_copy(line: bytes) -> _Copy | None:
    """Parse a line of ``documents.jsonl``; ``None`` if it is invalid."""
    try:
        value = lossless_json.loads(line)
    except lossless_json.NotJson:
        return None
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(each, str) for each in value):
        return None
    name, sha256, text = value
    return _Copy(name, sha256, text.encode("utf-8", "replace"))
