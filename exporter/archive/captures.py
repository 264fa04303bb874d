"""The captures of an archive: folders of WARC files with recorded public pages, or with an API's answers.

``captures/000001/`` appears by one rename and is never changed. Its ``SHA256SUMS`` covers every file in it, so a person
checks it with ``sha256sum -c``. Each ``capture.json`` names the previous one's hash, and ``SHA256SUMS`` in the root
names the newest one's. ``captures/runs.jsonl`` has a line for each run, also for one that found no change.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, field, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checks import file_sha256
from exporter.archive.documents import newest_capture, run_lines, seal
from exporter.archive.layout import CAPTURE, MAX_CAPTURE_BYTES, SUMS, capture_numbers, is_inside, version_name
from exporter.archive.manifest import capture_fault, capture_run_fault, read_sums, write_sums
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.message import STORED, message
from exporter.text import printable

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

INFO: Final = CAPTURE
INDEX: Final = "index.cdxj"
PAGES: Final = "pages.jsonl"
RUNS: Final = "runs.jsonl"
SUFFIX: Final = ".warc.gz"
FORMAT: Final = "blog-exporter-capture"
API: Final = "api"
"""The kind of a capture with the answers of an API."""
_MOST_PROBLEMS: Final = 5_000
MAX_NAME_BYTES: Final = 112
"""The longest name of a file in a capture, so that an encrypted copy has room for its hidden form."""


@frozen
class CaptureInfo:
    """``capture.json``.

    Attributes:
        capture: its number, from 1.
        kind: ``pages`` for public pages, or ``api`` for a backup's exchanges.
        blog_id: as in ``archive.json``.
        started_at: as all times, in UTC.
        finished_at: when the last answer arrived.
        tool: the program and its version.
        user_agent: as sent.
        operator: who made it, as the user stated; may be empty.
        scope: the addresses below which pages belong to the blog.
        counts: numbers by name, such as ``requests`` and ``pages``.
        complete: whether everything in the scope was answered, or is gone.
        problems: ``{"url": …, "reason": …}`` for each address that is missing for now.
        left_out: numbers of exchanges with an API that were left out, by reason.
        removed: the names of header fields and parameters that were taken out of exchanges with an API.
        segments: ``{"name": …, "bytes": …, "sha256": …}`` for each WARC file.
        files: likewise for each other file but ``capture.json`` and ``SHA256SUMS``.
        parent: ``{"capture": …, "sha256": …}`` of the capture before it; ``None`` for the first.
    """

    capture: int
    kind: str
    blog_id: str
    started_at: str
    finished_at: str
    tool: str
    user_agent: str
    operator: str = ""
    scope: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    problems: list[dict[str, str]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    segments: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    parent: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        stated = {"format": FORMAT, "capture": self.capture, "parent": self.parent, **asdict(self)}
        for name in _OF_APIS:
            if self.kind != API:
                del stated[name]
        return stated

    def parts(self) -> dict[str, tuple[int, str]]:
        """Return size and SHA-256 of each file by name, without ``capture.json`` and ``SHA256SUMS``.

        Raises:
            ArchiveDamaged: a capture cannot have a file of this name.
        """
        found = {each["name"]: (each["bytes"], each["sha256"]) for each in (*self.segments, *self.files)}
        for name in found:
            if not is_capture_file(name) or name in {INFO, SUMS}:
                raise ArchiveDamaged(
                    "Capture {number} names the file {name!r}, which no capture has. Verify the archive.",
                    number=self.capture,
                    name=printable(name, 80),
                )
        return found

    def sums(self, digest: str) -> bytes:
        """Return its ``SHA256SUMS``; ``digest`` is the hash of its ``capture.json``."""
        rows = {name: found[1] for name, found in self.parts().items()}
        return write_sums(dict(sorted({**rows, INFO: digest}.items())))

    @classmethod
    def of(cls, raw: Any) -> CaptureInfo:
        """Read a stranger's document.

        Raises:
            ValueError: it is no such document.
        """
        fault = capture_fault(raw)
        if fault is None and raw.get("format") != FORMAT:
            fault = message("its format is not {name}", name=FORMAT)
        if fault is not None:
            raise ValueError(fault)
        return cls(**{each.name: raw[each.name] for each in fields(cls) if raw.get(each.name) is not None})


_NAMED: Final = ("problems", "absent", "notes")
"""Members that name addresses: ``{"url": …, "reason": …}``."""
_OF_APIS: Final = ("left_out", "removed")
"""Members that only a capture of an API has."""


@frozen
class Capture:
    """A capture of an archive."""

    number: int
    folder: InnerPath

    @property
    def index(self) -> InnerPath:
        """Its index."""
        return self.folder / INDEX

    @property
    def pages(self) -> InnerPath:
        """The list of its pages, without pictures and styles."""
        return self.folder / PAGES

    def info(self) -> CaptureInfo:
        """Return its description of itself.

        Raises:
            ArchiveDamaged: ``capture.json`` cannot be read.
        """
        path = self.folder / INFO
        try:
            return CaptureInfo.of(lossless_json.loads(path.read_bytes(MAX_CAPTURE_BYTES)))
        except OSError as error:
            raise _unreadable(path) from error
        except ValueError as error:
            raise ArchiveDamaged(
                "{path} is damaged: {error}. Verify the archive.", path=path, error=printable(str(error), 200)
            ) from error

    def segment(self, name: str) -> InnerPath:
        """Return the path of a WARC file that an index names.

        Raises:
            ArchiveDamaged: no WARC file can have this name.
        """
        if not name.endswith(SUFFIX) or not is_capture_file(name):
            raise ArchiveDamaged("{index} names a file that no capture has.", index=self.index)
        return self.folder / name

    def segments(self) -> list[InnerPath]:
        """Return the paths of its WARC files, in order."""
        return [self.folder / name for name in self.folder.names() if name.endswith(SUFFIX)]


def captures(layout: Layout) -> list[Capture]:
    """Return an archive's captures, the oldest first.

    Raises:
        ArchiveDamaged: ``captures/`` is a link.
    """
    return [Capture(number, layout.captures / version_name(number)) for number in capture_numbers(layout)]


def is_capture_file(name: str) -> bool:
    """Return whether a name from a stranger may be the name of a file in a capture."""
    return is_inside(name) and "/" not in name and not name.startswith(".") and len(name.encode()) <= MAX_NAME_BYTES


def next_capture(layout: Layout) -> int:
    """Return the number of the next capture. The number of one that is missing is not used again."""
    newest = newest_capture(layout, _sealed(layout))
    return 1 if newest is None else newest[0] + 1


def _sealed(layout: Layout) -> dict[str, str]:
    with contextlib.suppress(FileNotFoundError):
        return read_sums(layout.sums.read_bytes(MAX_DOCUMENT_BYTES))
    return {}


def seal_capture(layout: Layout, folder: Path, info: CaptureInfo) -> Capture:
    """Write ``capture.json`` and ``SHA256SUMS`` into a finished folder, move it into the archive, and seal the archive.

    Args:
        layout: the archive, whose lock the caller holds.
        folder: on the same disk, with the segments, the index and the list of pages.
        info: its statement; the segments, the files and the parent are added. It keeps the first 5,000 problems, so
            that readers accept its size; the line of the run has them all.

    Raises:
        NoSpace: the disk is full; the archive is unchanged.
    """
    target = Capture(info.capture, layout.captures / version_name(info.capture))
    with atomic.translated(layout.captures):
        atomic.make_folder(layout.captures)
        del info.problems[_MOST_PROBLEMS:]
        for path in folder.iterdir():
            if path.name in {INFO, SUMS} or path.name.startswith("."):
                path.unlink()  # left by a run that was killed while it sealed the folder
        names = sorted(path.name for path in folder.iterdir() if path.name != INFO)
        for found, warc in ((info.segments, True), (info.files, False)):
            found[:] = [
                {"name": name, "bytes": (folder / name).stat().st_size, "sha256": file_sha256(folder / name)}
                for name in names
                if name.endswith(SUFFIX) is warc
            ]
        before = newest_capture(layout, _sealed(layout))
        parent = None if before is None else {"capture": before[0], "sha256": before[1]}
        document = lossless_json.dumps(replace(info, parent=parent).document(), pretty=True) + b"\n"
        digest = atomic.write_small(folder / INFO, document)[0]
        atomic.write_file(folder / SUMS, info.sums(digest))
        for name in names:
            atomic.sync_file(folder / name)
        atomic.move_folder(folder, target.folder)
    _seal(layout)
    return target


def append_capture_run(layout: Layout, line: Mapping[str, Any]) -> None:
    """Append a line about a run to ``captures/runs.jsonl``, and seal the archive; the caller holds the lock."""
    path = layout.capture_runs
    with atomic.translated(path):
        atomic.make_folder(layout.captures)
        if path.kind() is not None:
            atomic.cut_torn_tail(path)
        atomic.append_line(path, lossless_json.dumps(dict(line)) + b"\n")
    _seal(layout)


def _seal(layout: Layout) -> None:
    """Seal the archive; a folder with captures alone has no seal."""
    if layout.info.kind() is not None:
        seal(layout)


def capture_runs(layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the lines of ``captures/runs.jsonl``, the oldest first; a line that is no run is skipped.

    Raises:
        ArchiveDamaged: the file is a link, or cannot be read.
    """
    try:
        for line in run_lines(layout.capture_runs):
            with contextlib.suppress(lossless_json.NotJson):
                value = lossless_json.loads(line)
                if capture_run_fault(value) is None:
                    yield value
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _unreadable(layout.capture_runs) from error


def stated_addresses(layout: Layout) -> Iterator[str]:
    """Yield the addresses that captures and their runs name as missing, gone or noted.

    Raises:
        ArchiveDamaged: a document cannot be read.
    """
    for document in chain((each.info().document() for each in captures(layout)), capture_runs(layout)):
        for name in _NAMED:
            for each in _rows(document.get(name)):
                if isinstance(each.get("url"), str):
                    yield each["url"]


def without_addresses(document: Mapping[str, Any], addresses: Collection[str]) -> dict[str, Any]:
    """Return a ``capture.json``, or a line of ``captures/runs.jsonl``, without its statements about these addresses."""
    found = dict(document)
    for name in _NAMED:
        if any(_is_about(each, addresses) for each in _rows(found.get(name))):
            found[name] = [each for each in _rows(found[name]) if not _is_about(each, addresses)]
    if any(each in str(found.get("error") or "") for each in addresses):
        found["error"] = None
        found.pop(STORED, None)
    return found


def _rows(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _is_about(row: dict[str, Any], addresses: Collection[str]) -> bool:
    return isinstance(row.get("url"), str) and row["url"] in addresses


def stated_sums(capture: Capture) -> dict[str, str]:
    """Return the hashes that a capture's ``SHA256SUMS`` states, by name.

    Raises:
        ArchiveDamaged: the file cannot be read.
    """
    path = capture.folder / SUMS
    try:
        return dict(read_sums(path.read_bytes(MAX_DOCUMENT_BYTES)))
    except OSError as error:
        raise _unreadable(path) from error


def _unreadable(path: InnerPath) -> ArchiveDamaged:
    return ArchiveDamaged("{path} cannot be read. Verify the archive.", path=path)
