"""What ``log`` shows of every version, in time that hardly grows with their number.

It is kept as ``log`` prints it, text and JSON, in ``.work/versions.json``, derived. It is believed when the folder
lists the same versions and the newest of them still has the manifest it was made with: that names the hash of the one
before it, and so on down the chain, so an older manifest cannot have been replaced. (One that was *damaged* is found
by ``verify``.)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.layout import manifest_sha256
from exporter.archive.manifest import KindCounts
from exporter.errors import BlogExporterError
from exporter.model.kinds import Kind
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath

_EDITION = 2
_KINDS = [str(kind) for kind in Kind]
_IN_TEXT = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.ASSETS)
_COUNTED = ("total", "new", "changed", "gone")


class VersionRow(NamedTuple):
    """One version as ``log`` shows it.

    Attributes:
        version: its number.
        started_at: when its run began to read, as in the manifest.
        finished_at: when it was committed.
        complete: whether everything could be read.
        problems: how many things could not be read.
        numbers: for each kind in the order of :class:`Kind`: total, new, changed, gone; see :meth:`counts`.
        pruned: how many older versions were folded into it.
    """

    version: int
    started_at: str
    finished_at: str
    complete: bool
    problems: int
    numbers: Sequence[Sequence[int]]
    pruned: int

    def counts(self) -> dict[Kind, KindCounts]:
        """Return the counts by kind."""
        return {kind: KindCounts(*found) for kind, found in zip(Kind, self.numbers, strict=True)}

    def document(self) -> dict[str, Any]:
        """Return it as ``log --json`` prints it."""
        return {
            "version": self.version,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "complete": self.complete,
            "problems": self.problems,
            "pruned": self.pruned,
            "counts": {
                kind: dict(zip(_COUNTED, found, strict=True)) for kind, found in zip(_KINDS, self.numbers, strict=True)
            },
        }

    @classmethod
    def of(cls, document: dict[str, Any]) -> VersionRow:
        """Read it back from its document."""
        numbers = [[document["counts"][kind][name] for name in _COUNTED] for kind in _KINDS]
        return cls(**{name: document[name] for name in cls._fields if name != "numbers"}, numbers=numbers)

    def text(self) -> str:
        """Return it as ``log`` prints it: what was new (+), changed (~) and gone (-)."""
        counts = self.counts()
        parts = []
        for kind in _IN_TEXT:
            signs = ((counts[kind].new, "+"), (counts[kind].changed, "~"), (counts[kind].gone, "-"))
            changes = " ".join(f"{sign}{number}" for number, sign in signs if number)
            if changes:
                parts.append(f"{kind} {changes}")
        folded = f"   {self.pruned} older folded in" if self.pruned else ""
        mark = "" if self.complete else "   INCOMPLETE"
        finished = printable(self.finished_at, 40)
        return f"{self.version:>6}  {finished}  {', '.join(parts) or 'lists only'}{folded}{mark}"


@dataclass(frozen=True, slots=True)
class VersionLog:
    """All versions as ``log`` prints them, oldest first.

    Attributes:
        versions: their numbers.
        texts: a line of text for each, in UTF-8.
        documents: a line of JSON for each.
    """

    versions: list[int]
    texts: bytes = b""
    documents: bytes = b""

    def rows(self) -> list[VersionRow]:
        """Take the documents apart."""
        array = b"[" + b",".join(self.documents.splitlines()) + b"]"
        return [VersionRow.of(document) for document in json.loads(array)]  # our own lines: the codec's care is spared

    def and_more(self, rows: Sequence[VersionRow]) -> VersionLog:
        """Return it with newer versions behind."""
        return VersionLog(
            [*self.versions, *(row.version for row in rows)],
            self.texts + b"".join(row.text().encode("utf-8") + b"\n" for row in rows),
            self.documents + b"".join(lossless_json.dumps(row.document()) + b"\n" for row in rows),
        )


def version_rows(reader: ArchiveReader) -> list[VersionRow]:
    """Return a row for every version, oldest first.

    Raises:
        ArchiveDamaged: a manifest cannot be read.
    """
    return version_log(reader).rows()


def version_log(reader: ArchiveReader) -> VersionLog:
    """Return what ``log`` prints, and keep it for the next time.

    Raises:
        ArchiveDamaged: a manifest cannot be read.
    """
    layout = reader.layout
    versions = reader.versions()
    log = _known(layout, versions)
    missing = versions[len(log.versions) :]
    if missing:
        log = log.and_more([_row(reader, number) for number in missing])
        _keep(layout, log)
    return log


def cache_path(layout: Layout) -> InnerPath:
    """Return ``.work/versions.json``."""
    return layout.work / "versions.json"


def _row(reader: ArchiveReader, number: int) -> VersionRow:
    manifest = reader.manifest(number)
    found = [manifest.counts.get(kind, KindCounts()) for kind in _KINDS]
    return VersionRow(
        number,
        manifest.started_at,
        manifest.finished_at,
        bool(manifest.completeness.get("complete")),
        len(manifest.problems),
        [[counts.total, counts.new, counts.changed, counts.gone] for counts in found],
        0 if manifest.pruned is None else int(manifest.pruned.get("count", 0)),
    )


def _known(layout: Layout, versions: list[int]) -> VersionLog:
    """Return what is kept and still holds: of the oldest versions, maybe of all."""
    try:
        digest, _, body = cache_path(layout).read_bytes().partition(b"\n")
        if digest.decode("ascii") != hashlib.sha256(body).hexdigest():
            return VersionLog([])
        line, _, lines = body.partition(b"\n")
        head = json.loads(line)
        kept = list(head["versions"])
        if head["edition"] != _EDITION or kept != versions[: len(kept)]:
            return VersionLog([])
        if manifest_sha256(layout, kept[-1]) != head["manifest_sha256"]:
            return VersionLog([])
        return VersionLog(kept, lines[: head["texts"]], lines[head["texts"] :])
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return VersionLog([])


def _keep(layout: Layout, log: VersionLog) -> None:
    """Write it down; a place that cannot be written costs only time."""
    head = {
        "edition": _EDITION,
        "manifest_sha256": manifest_sha256(layout, log.versions[-1]),
        "texts": len(log.texts),
        "versions": log.versions,
    }
    body = b"".join((lossless_json.dumps(head), b"\n", log.texts, log.documents))
    with contextlib.suppress(OSError, BlogExporterError):
        atomic.make_folder(layout.work)
        atomic.write_file(cache_path(layout), hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body)
