"""What is in the root of an archive, against the seal it was left with: see :mod:`exporter.archive.documents`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from exporter import lossless_json
from exporter.archive.checksums import file_sha256
from exporter.archive.documents import run_lines, sealed_names
from exporter.archive.findings import Finding, FindingCode
from exporter.archive.layout import SUMS, is_prune_under_way, manifest_name, manifest_sha256, version_name
from exporter.archive.manifest import MANIFEST_SHA256, PREVIOUS, line_digest, read_sums, run_fault, write_sums
from exporter.archive.safe_files import LARGEST_DOCUMENT
from exporter.errors import ArchiveDamaged
from exporter.message import message

if TYPE_CHECKING:
    from exporter.archive.reader import ArchiveReader

_RUNS = "runs.jsonl"
_OTHERWISE = message("it is not what the archive was sealed with")


def check_seal(reader: ArchiveReader) -> Iterator[Finding]:
    """Check the documents of the root, the lines of the runs and ``SHA256SUMS``, and that the newest version is there.

    The seal is read first, so that a run that ends meanwhile is one that the seal does not know yet.
    """
    stated = _Seal(reader)
    yield from stated.check_form()
    yield from stated.check_documents()
    runs = _Runs(stated.rows.get(_RUNS))
    yield from runs.check(reader)
    if not runs.readable:
        return
    if runs.linked and not stated.there:
        yield Finding(FindingCode.SEAL_DAMAGED, SUMS, message("it is missing"))
    elif stated.there:
        yield from runs.check_sealed()
    yield from stated.check_manifest(runs)


class _Seal:
    """``SHA256SUMS`` as it is."""

    def __init__(self, reader: ArchiveReader) -> None:
        self._reader = reader
        self._fault: str | None = None
        self._data = b""
        self.there = True
        try:
            self._data = reader.layout.sums.read_bytes(LARGEST_DOCUMENT)
        except FileNotFoundError:
            self.there = False
        except OSError:
            self._fault = message("it cannot be read")
        self.rows = read_sums(self._data)
        self._versions = reader.versions()

    def check_form(self) -> Iterator[Finding]:
        names = list(self.rows)
        expected = list(sealed_names(self._reader.layout))
        manifests = [name for name in names if name.startswith("versions/")]
        right = write_sums(self.rows) == self._data and names == expected + manifests and len(manifests) < 2
        if self._fault is None and self.there and not right:
            self._fault = message(
                "it does not have a row for each of {names} and the newest manifest", names=", ".join(expected)
            )
        if self._fault is not None:
            yield Finding(FindingCode.SEAL_DAMAGED, SUMS, self._fault)

    def check_documents(self) -> Iterator[Finding]:
        layout = self._reader.layout
        for path, code in (
            (layout.readme, FindingCode.DOCUMENT_DAMAGED),
            (layout.format_document, FindingCode.DOCUMENT_DAMAGED),
            (layout.info, FindingCode.INFO_DAMAGED),
        ):
            digest = self.rows.get(path.name)
            if digest is None:
                continue
            try:
                if file_sha256(path) != digest:
                    yield Finding(code, path.name, _OTHERWISE)
            except OSError:
                yield Finding(code, path.name, message("it cannot be read"))

    def check_manifest(self, runs: _Runs) -> Iterator[Finding]:
        """Check that a manifest vouched for by the seal, or by the newest line, is one of those that are there."""
        named = [name for name in self.rows if name.startswith("versions/")]
        for name in named:
            number = next((each for each in self._versions if manifest_name(each) == name), None)
            found = None if number is None else manifest_sha256(self._reader.layout, number)
            if found is None:
                yield Finding(
                    FindingCode.MANIFEST_MISSING, name, message("{sums} names it, and it cannot be read", sums=SUMS)
                )
            elif found != self.rows[name]:
                yield Finding(FindingCode.MANIFEST_DAMAGED, name, _OTHERWISE)
            if found != self.rows[name]:
                return
        digest = runs.newest.get(MANIFEST_SHA256)
        if digest is None or self._is_there(digest):
            if self.there and not named and self._versions and (digest is not None or not runs.linked):
                # A kill after the line leaves the line unsealed, too, and one in a prune what the prune had built.
                killed = digest is None or not runs.sealed or is_prune_under_way(self._reader.layout)
                code = FindingCode.NOT_SEALED if killed else FindingCode.SEAL_DAMAGED
                yield Finding(code, SUMS, message("it does not name the newest manifest"))
        elif not self._was_pruned():
            yield Finding(
                FindingCode.CHAIN_BROKEN, _RUNS, message("the manifest that its newest line names is not there")
            )
        elif not named:
            yield Finding(FindingCode.NOT_SEALED, SUMS, message("a prune changed the manifests after it was written"))

    def _is_there(self, digest: str) -> bool:
        layout = self._reader.layout
        return any(manifest_sha256(layout, number) == digest for number in reversed(self._versions))

    def _was_pruned(self) -> bool:
        """Tell whether older versions were folded into one, which gives all after it other manifests."""
        for number in self._versions:
            try:
                if self._reader.manifest(number).pruned is not None:
                    return True
            except ArchiveDamaged:
                continue
        return False


class _Runs:
    """The lines of ``runs.jsonl``, in one pass.

    Attributes:
        newest: the newest line that is a run's.
        linked: whether a line names the one before it.
        readable: whether the file could be read to its end.
    """

    def __init__(self, sealed: str | None) -> None:
        self._sealed = sealed
        self._running = hashlib.sha256()
        self._sealed_lines = 0 if sealed == self._running.hexdigest() else None
        self._lines = 0
        self._torn = False
        self._before: bytes | None = None
        self.newest: dict[str, Any] = {}
        self.linked = False
        self.readable = True

    @property
    def sealed(self) -> bool:
        """Whether the newest line was sealed."""
        return self._sealed is not None and self._sealed_lines == self._lines and not self._torn

    def check(self, reader: ArchiveReader) -> Iterator[Finding]:
        made = 0
        try:
            for line in run_lines(reader.layout.runs):
                if not line.endswith(b"\n"):
                    self._torn = True
                    break
                yield from self._line(line)
                made = max(made, self.newest.get("version") or 0)
        except OSError:
            self.readable = False
            yield Finding(FindingCode.RUNS_DAMAGED, _RUNS, message("it cannot be read"))
            return
        if made > (reader.newest() or 0):
            detail = message("{runs} says that a run made it, and it is not there", runs=_RUNS)
            yield Finding(FindingCode.CHAIN_BROKEN, f"versions/{version_name(made)}", detail)

    def _line(self, line: bytes) -> Iterator[Finding]:
        self._lines += 1
        self._running.update(line)
        if self._sealed is not None and self._running.hexdigest() == self._sealed:
            self._sealed_lines = self._lines
        try:
            value = lossless_json.loads(line)
            fault = run_fault(value)
        except lossless_json.NotJson as error:
            value, fault = None, message("it is not JSON: {error}", error=error)
        if fault is not None:
            yield Finding(
                FindingCode.RUNS_DAMAGED,
                _RUNS,
                message("line {lines} is not a run: {fault}", lines=self._lines, fault=fault),
            )
        else:
            self.newest = dict(value)
            self.linked = self.linked or PREVIOUS in self.newest
            before = None if self._before is None else line_digest(self._before)
            if self.linked and (PREVIOUS not in self.newest or self.newest[PREVIOUS] != before):
                yield Finding(
                    FindingCode.RUNS_REWRITTEN,
                    _RUNS,
                    message("line {lines} does not name the line before it", lines=self._lines),
                )
        self._before = line

    def check_sealed(self) -> Iterator[Finding]:
        """Check that what was sealed is what the file begins with."""
        if self._sealed is None:
            return
        if self._sealed_lines is None:
            detail = message("what was sealed is not what it begins with: lines were changed or cut off")
            yield Finding(FindingCode.RUNS_REWRITTEN, _RUNS, detail)
        elif self._lines > self._sealed_lines:
            yield Finding(
                FindingCode.NOT_SEALED,
                _RUNS,
                message("{lines} more than were sealed", lines=self._lines - self._sealed_lines),
            )
        elif self._torn:
            yield Finding(FindingCode.NOT_SEALED, _RUNS, message("its last line was cut short, and was not sealed"))
