"""The captures of an archive: folders of WARC files with the public pages as they were, or with the answers of an API.

``captures/000001/`` appears by one rename and is never changed. Its ``SHA256SUMS`` covers every file in it, so a person
checks it with ``sha256sum -c``. ``captures/runs.jsonl`` has a line for each run, also for one that found no change.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checks import file_sha256
from exporter.archive.layout import SUMS, is_inside, numbers_in, version_name
from exporter.archive.manifest import read_sums, write_sums
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, NotPlain
from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

INFO: Final = "capture.json"
INDEX: Final = "index.cdxj"
PAGES: Final = "pages.jsonl"
RUNS: Final = "runs.jsonl"
SUFFIX: Final = ".warc.gz"
FORMAT: Final = "blog-exporter-capture"
API: Final = "api"
"""The kind of a capture with the answers of an API."""


@dataclass(frozen=True, slots=True)
class CaptureInfo:
    """``capture.json``.

    Attributes:
        capture: its number, from 1.
        kind: ``pages`` of the public web, or ``api`` for the exchanges of a backup.
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

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        stated = {"format": FORMAT, **asdict(self)}
        for name in ("left_out", "removed"):
            if self.kind != API:
                del stated[name]
        return stated

    @classmethod
    def of(cls, raw: Any) -> CaptureInfo:
        """Return what a document of a stranger states.

        Raises:
            ValueError: it is no such document.
        """
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise ValueError(FORMAT)
        text = {name: str(raw.get(name) or "") for name in _TEXTS}
        counts, scope, removed = raw.get("counts"), raw.get("scope"), raw.get("removed")
        return cls(
            capture=raw["capture"] if isinstance(raw.get("capture"), int) else 0,
            **text,
            scope=[str(each) for each in scope] if isinstance(scope, list) else [],
            counts=_numbers(counts),
            left_out=_numbers(raw.get("left_out")),
            removed=[str(each) for each in removed] if isinstance(removed, list) else [],
            complete=raw.get("complete") is True,
            problems=[each for each in _objects(raw.get("problems")) if {"url", "reason"} <= set(each)],
            segments=[each for each in _objects(raw.get("segments")) if isinstance(each.get("name"), str)],
        )


_TEXTS: Final = ("kind", "blog_id", "started_at", "finished_at", "tool", "user_agent", "operator")


def _numbers(raw: Any) -> dict[str, int]:
    return {str(name): value for name, value in raw.items() if isinstance(value, int)} if isinstance(raw, dict) else {}


def _objects(raw: Any) -> list[dict[str, Any]]:
    return [each for each in raw if isinstance(each, dict)] if isinstance(raw, list) else []


@dataclass(frozen=True, slots=True)
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
        """Return what it states about itself.

        Raises:
            ArchiveDamaged: ``capture.json`` cannot be read.
        """
        path = self.folder / INFO
        try:
            return CaptureInfo.of(lossless_json.loads(path.read_bytes(MAX_DOCUMENT_BYTES)))
        except (OSError, ValueError, lossless_json.NotJson) as error:
            raise ArchiveDamaged("{path} cannot be read. Verify the archive.", path=path) from error

    def segment(self, name: str) -> InnerPath:
        """Return the path of a WARC file that an index names.

        Raises:
            ArchiveDamaged: the name is none of a WARC file.
        """
        if "/" in name or not name.endswith(SUFFIX) or not is_inside(name):
            raise ArchiveDamaged("{index} names a file that no capture has.", index=self.index)
        return self.folder / name

    def segments(self) -> list[InnerPath]:
        """Return the paths of its WARC files, in order."""
        return [self.folder / name for name in self.folder.names() if name.endswith(SUFFIX)]


def captures(layout: Layout) -> list[Capture]:
    """Return the captures of an archive, the oldest first.

    Raises:
        ArchiveDamaged: ``captures/`` is a link.
    """
    try:
        numbers = numbers_in(layout.captures.names())
    except NotPlain as error:
        raise atomic.translate(error, layout.captures) from error
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [Capture(number, layout.captures / version_name(number)) for number in numbers]


def seal_capture(layout: Layout, folder: Path, info: CaptureInfo) -> Capture:
    """Write ``capture.json`` and ``SHA256SUMS`` into a finished folder, and move it into the archive.

    Args:
        layout: the archive, whose lock the caller holds.
        folder: on the same disk, with the segments, the index and the list of pages.
        info: its statement; the segments are added.

    Raises:
        NoSpace: the disk is full; the archive is unchanged.
    """
    target = Capture(info.capture, layout.captures / version_name(info.capture))
    with atomic.translated(layout.captures):
        atomic.make_folder(layout.captures)
        names = sorted(path.name for path in folder.iterdir())
        sums = {name: file_sha256(folder / name) for name in names}
        info.segments[:] = [
            {"name": name, "bytes": (folder / name).stat().st_size, "sha256": sums[name]}
            for name in names
            if name.endswith(SUFFIX)
        ]
        document = lossless_json.dumps(info.document(), pretty=True) + b"\n"
        sums[INFO] = atomic.write_small(folder / INFO, document)[0]
        atomic.write_file(folder / SUMS, write_sums(dict(sorted(sums.items()))))
        for name in names:
            atomic.sync_file(folder / name)
        atomic.move_folder(folder, target.folder)
    return target


def append_capture_run(layout: Layout, line: Mapping[str, Any]) -> None:
    """Append a line about a run to ``captures/runs.jsonl``; the caller holds the lock."""
    path = layout.captures / RUNS
    with atomic.translated(path):
        atomic.make_folder(layout.captures)
        if path.kind() is not None:
            atomic.cut_torn_tail(path)
        atomic.append_line(path, lossless_json.dumps(dict(line)) + b"\n")


def capture_runs(layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the lines of ``captures/runs.jsonl``, the oldest first; a line that is no JSON object is skipped."""
    with contextlib.suppress(FileNotFoundError), (layout.captures / RUNS).open("rb") as file:
        while line := file.readline(MAX_DOCUMENT_BYTES):
            with contextlib.suppress(lossless_json.NotJson):
                value = lossless_json.loads(line)
                if isinstance(value, dict):
                    yield value


def stated_sums(capture: Capture) -> dict[str, str]:
    """Return the hashes that a capture's ``SHA256SUMS`` states, by name.

    Raises:
        ArchiveDamaged: the file cannot be read.
    """
    path = capture.folder / SUMS
    try:
        return dict(read_sums(path.read_bytes(MAX_DOCUMENT_BYTES)))
    except (OSError, ValueError) as error:
        raise ArchiveDamaged("{path} cannot be read. Verify the archive.", path=path) from error
