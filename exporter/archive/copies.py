"""Second copies of the small documents that nothing else in an archive could give back.

A damaged record comes back from ``latest/``, from another version or from the service. ``archive.json``, the manifests
and ``runs.jsonl`` stand once, and a service knows nothing of them, so ``.work/`` holds each of them again:
``documents.jsonl`` has a line ``[name, sha256, text]`` for ``archive.json`` and each manifest, ``runs.jsonl`` is a copy
of that file. A copy is believed only where its hash is the one that the original was sealed with, so a foreign or
damaged copy is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.latest import file_sha256
from exporter.archive.layout import manifest_name
from exporter.archive.safe_files import LARGEST_DOCUMENT, newest_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

_PIECE: Final = 1 << 20


def keep_copies(layout: Layout, sealed: Mapping[str, str], versions: Sequence[int]) -> None:
    """Bring the copies up to date with the originals that are what they were sealed as; the caller holds the lock.

    Args:
        layout: the archive.
        sealed: the hashes in ``SHA256SUMS`` at the root, by name.
        versions: the numbers of all versions, oldest first.
    """
    atomic.make_folder(layout.work)
    _keep_documents(layout, sealed, versions)
    with contextlib.suppress(FileNotFoundError):
        _keep_runs(layout, sealed.get(layout.runs.name))


def copied_document(layout: Layout, name: str, sha256: str) -> bytes | None:
    """Return what ``archive.json`` or a manifest was, by its name and hash; ``None`` where there is no such copy."""
    for copy in _copies(layout):
        if (copy.name, copy.sha256) == (name, sha256) and hashlib.sha256(copy.data).hexdigest() == sha256:
            return copy.data
    return None


def runs_copy(layout: Layout) -> InnerPath:
    """Return where the copy of ``runs.jsonl`` stands."""
    return layout.work / layout.runs.name


class _Copy(NamedTuple):
    """One document: its path from the root, the hash that it was sealed with, its bytes."""

    name: str
    sha256: str
    data: bytes

    def line(self) -> bytes:
        """Write it as a line of ``documents.jsonl``."""
        return lossless_json.dumps([self.name, self.sha256, self.data.decode()]) + b"\n"

    def parent_sha256(self) -> str | None:
        """Return the hash that a manifest names the one before it by; ``None`` for the first, and for what is none."""
        try:
            return str(lossless_json.loads(self.data)["parent"]["sha256"])
        except (lossless_json.NotJson, LookupError, TypeError):
            return None


def _keep_documents(layout: Layout, sealed: Mapping[str, str], versions: Sequence[int]) -> None:
    path = _documents(layout)
    info, *manifests = [layout.info.name, *map(manifest_name, versions)]
    newest = [info, *manifests][-1]
    last = _newest(path)
    if last is not None and (last.name, last.sha256) == (newest, sealed.get(newest)):
        return
    made = _original(layout, newest, sealed.get(newest))
    if made is None:
        return
    if last is not None and last.name in manifests[-2:-1] and last.sha256 == made.parent_sha256():
        atomic.append_line(path, made.line())
        return
    # There are no copies yet, or those of other versions: a prune changes all manifests after the first it folded.
    # What is damaged today keeps the copy that it has.
    kept = {(copy.name, copy.sha256): copy for copy in _copies(layout)}
    found: list[_Copy] = []
    digest = sealed.get(newest)
    for name in reversed(manifests):
        manifest = _original(layout, name, digest) or kept.get((name, digest or ""))
        if manifest is None:
            break
        found.append(manifest)
        digest = manifest.parent_sha256()
    first = _original(layout, info, sealed.get(info)) or kept.get((info, sealed.get(info, "")))
    if first is not None:
        atomic.write_lines(path, (copy.line() for copy in (first, *reversed(found))))


def _original(layout: Layout, name: str, sealed: str | None) -> _Copy | None:
    """Read a document; ``None`` where it is not what was sealed, or no text."""
    try:
        data = (layout.root / name).read_bytes(LARGEST_DOCUMENT)
        data.decode()
    except (OSError, UnicodeDecodeError):
        return None
    return _Copy(name, sealed, data) if sealed and hashlib.sha256(data).hexdigest() == sealed else None


def _keep_runs(layout: Layout, sealed: str | None) -> None:
    """Add to the copy what the original has got since, or copy all of it where it does not begin with the copy."""
    copy = runs_copy(layout)
    whole, begins, rest = hashlib.sha256(), hashlib.sha256(), bytearray()
    left = _size(copy)
    with layout.runs.open("rb") as file:
        while piece := file.read(_PIECE):
            whole.update(piece)
            begins.update(piece[:left])
            rest += piece[left:]
            left = max(0, left - len(piece))
    if whole.hexdigest() != sealed:
        return
    if left or begins.hexdigest() != _sha256(copy):
        with layout.runs.open("rb") as file:
            atomic.write_lines(copy, iter(lambda: file.read(_PIECE), b""))
    elif rest:
        atomic.append_line(copy, bytes(rest))


def _size(path: InnerPath) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def _sha256(path: InnerPath) -> str:
    try:
        return file_sha256(path)
    except FileNotFoundError:
        return hashlib.sha256().hexdigest()


def _documents(layout: Layout) -> InnerPath:
    return layout.work / "documents.jsonl"


def _newest(path: InnerPath) -> _Copy | None:
    try:
        return _decode(next(newest_lines(path), b""))
    except OSError:
        return None


def _copies(layout: Layout) -> Iterator[_Copy]:
    with contextlib.suppress(OSError), _documents(layout).open("rb") as file:
        while line := file.readline(LARGEST_DOCUMENT):
            copy = _decode(line)
            if copy is not None:
                yield copy


def _decode(line: bytes) -> _Copy | None:
    """Take a line of ``documents.jsonl`` apart; ``None`` where it is none."""
    try:
        value = lossless_json.loads(line)
    except lossless_json.NotJson:
        return None
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(each, str) for each in value):
        return None
    name, sha256, text = value
    return _Copy(name, sha256, text.encode("utf-8", "replace"))
