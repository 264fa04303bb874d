"""Reading an archive: its documents, versions, runs and known damage, and the state of all records at any version.

``.work/damaged.json`` lists the damaged files of versions, of ``latest/`` and of ``assets/`` that a run or ``verify``
has found. Without it, ``status`` and the next run would have to read the whole archive. If the list is lost, the next
runs check the files of the versions again in turn.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Collection
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.atomic import translate
from exporter.archive.checks import sha256_or_none
from exporter.archive.documents import intact_document
from exporter.archive.latest import latest_version, load_latest, read_index, read_record
from exporter.archive.layout import (
    SEGMENTS,
    SUMS,
    WHOLE_FILE,
    Layout,
    asset_digest,
    recover_versions,
    segment_name,
    version_numbers,
    versions_identity,
)
from exporter.archive.lines import ParsedRecords, RecordLine, split_checked
from exporter.archive.manifest import (
    FORGOTTEN,
    FROM_CAPTURE,
    UNJOINED,
    ArchiveInfo,
    Manifest,
    SegmentInfo,
    read_sums,
    run_of,
)
from exporter.archive.names import later_ids
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, FileTooLarge, HeldFolder, NotPlain, newest_lines
from exporter.archive.segments import missing_manifest, require_size, stated_segments, wrong_sizes
from exporter.archive.state import State
from exporter.arguments import argument
from exporter.errors import ArchiveDamaged, BlogExporterError, NewerFormat, NoArchive, NoSuchRecord, UsageError
from exporter.message import suggested, system_reason
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.archive.latest_segments import Segments

_VERSIONS_CHECKED: Final = 16
"""Newest versions whose files' sizes are compared with the manifest by every command."""
_KINDS = {segment_name(kind): kind for kind in Kind}
_INFO_ROWS = (b"  archive.json", b"  ../../archive.json")


def read_info(layout: Layout) -> ArchiveInfo:
    """Read ``archive.json``, or its copy if the file is missing or differs from the sealed one.

    Raises:
        NoArchive: the folder has no ``archive.json`` and no copy of one.
        NewerFormat: it needs a newer program.
        ArchiveDamaged: ``archive.json`` was changed; its hash differs from the one in ``SHA256SUMS``.
    """
    copy = copied_info(layout)
    if copy is not None:
        return copy
    try:
        data = layout.info.read_bytes(MAX_DOCUMENT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise NoArchive(
            "{root} is not an archive: it has no archive.json. Give the folder that `blog-exporter backup` wrote.",
            root=layout.root,
        ) from None
    except (NotPlain, FileTooLarge) as error:
        raise translate(error, layout.info) from error
    except OSError as error:
        raise BlogExporterError(
            "Cannot read {path}: {reason}.", path=layout.info, reason=system_reason(error)
        ) from error
    try:
        return ArchiveInfo.decode(data, str(layout.root))
    except (NoArchive, NewerFormat):
        if _is_sealed_otherwise(layout, hashlib.sha256(data).hexdigest()):
            raise ArchiveDamaged(
                "{info} is damaged: its hash is not the one in SHA256SUMS; "
                "restore it from another copy of the archive.",
                info=layout.info,
            ) from None
        raise


def ids_at(root: Path) -> tuple[str, ...]:
    """Return all IDs of the blog in a folder, the first one first; none without a readable archive."""
    layout = Layout(root)
    try:
        return tuple(dict.fromkeys((read_info(layout).blog_id, *later_ids(layout))))
    except (BlogExporterError, OSError):
        return ()


def copied_info(layout: Layout) -> ArchiveInfo | None:
    """Return the content of ``archive.json`` from its copy; ``None`` if the file matches its seal or has no copy."""
    try:
        sealed = read_sums(layout.sums.read_bytes(MAX_DOCUMENT_BYTES)).get(layout.info.name)
        with contextlib.suppress(FileNotFoundError):
            if sealed in {None, hashlib.sha256(layout.info.read_bytes(MAX_DOCUMENT_BYTES)).hexdigest()}:
                return None
    except OSError:
        return None
    data = intact_document(layout, layout.info.name, sealed or "")
    return None if data is None else ArchiveInfo.decode(data, str(layout.root))


def is_archive(layout: Layout) -> bool:
    """Return whether the folder is an archive: it has ``archive.json``, or a copy of it."""
    return layout.info.kind() is not None or copied_info(layout) is not None


def require_outside_archives(path: Path) -> None:
    """Refuse a place for output inside an archive, because the output could replace the only copy of a file.

    Raises:
        UsageError: it is an archive's folder or inside one.
    """
    place = path.resolve()
    for folder in (place, *place.parents):
        if folder.is_dir() and is_archive(Layout(folder)):
            raise UsageError(
                "{path} is inside the archive {archive}; name a place outside of it.", path=path, archive=folder
            )


def _is_sealed_otherwise(layout: Layout, digest: str) -> bool:
    """Return whether the archive, or any version, was sealed with another ``archive.json``."""
    for path in (layout.sums, *(layout.version(number) / SUMS for number in version_numbers(layout))):
        with contextlib.suppress(OSError):
            rows = path.read_bytes(MAX_DOCUMENT_BYTES).splitlines()
            return any(row[64:] in _INFO_ROWS and row[:64] != digest.encode() for row in rows)
    return False


class ArchiveReader:
    """An archive opened for reading, without a lock.

    Attributes:
        damage: the damage that was found and that ``latest/`` made up for.

    Raises:
        NoArchive: ``root`` has no ``archive.json`` and no copy of one.
        NewerFormat: it needs a newer program.
        ArchiveDamaged: ``archive.json`` cannot be read.
    """

    def __init__(self, root: Path, parsed: ParsedRecords | None = None) -> None:
        self.layout = Layout(root)
        self.damage: list[ArchiveDamaged] = []
        self.parsed = ParsedRecords() if parsed is None else parsed
        self.info = read_info(self.layout)
        recover_versions(self.layout)
        self._versions = versions_identity(self.layout)

    def is_replaced(self) -> bool:
        """Return whether a prune has replaced the versions since the archive was opened."""
        return versions_identity(self.layout) != self._versions

    def versions(self) -> list[int]:
        """Return the version numbers, oldest first."""
        return version_numbers(self.layout)

    def newest(self) -> int | None:
        """Return the newest version's number; ``None`` for an archive without versions."""
        return max(self.versions(), default=None)

    def manifest(self, number: int) -> Manifest:
        """Read a version's manifest.

        Raises:
            ArchiveDamaged: it is missing or cannot be read.
        """
        path = self.layout.manifest(number)
        try:
            return Manifest.decode(path.read_bytes(MAX_DOCUMENT_BYTES), str(path))
        except (NotPlain, FileTooLarge) as error:
            raise translate(error, path) from error
        except OSError as error:
            raise missing_manifest(path) from error

    def resolve(self, at: int | None = None) -> int:
        """Return the version to show: ``at``, or the newest.

        Raises:
            NoArchive: there is no version yet.
            NoSuchRecord: the archive has no version ``at``.
        """
        versions = self.versions()
        if not versions:
            raise NoArchive(
                "{root} holds no version yet: its first backup has not finished. Back up: {command}",
                root=self.layout.root,
                command=suggested("backup", self.layout.root),
            )
        if at is None:
            return versions[-1]
        if argument("at", at, int) not in versions:
            raise NoSuchRecord(
                "There is no version {at}: this archive has {oldest} to {newest}.",
                at=at,
                oldest=versions[0],
                newest=versions[-1],
            )
        return at

    def state(self, at: int | None = None, kinds: Iterable[Kind] = tuple(Kind)) -> State:
        """Return the state at a version (default: the newest; empty without versions), with these kinds at least.

        The newest state comes from ``latest/`` if its files are unchanged, so that the cost does not grow with the
        number of versions. Otherwise the versions are folded.
        """
        versions = self.versions()
        if not versions and at is None:
            return self._named(State(self.info.blog_id))
        number = versions[-1] if at is None else self.resolve(at)
        if number == versions[-1]:
            state = self._from_latest(versions)
            if state is not None:
                return state
        return self.fold(number, kinds)

    def _named(self, state: State) -> State:
        state.names = dict.fromkeys(later_ids(self.layout), state.blog_id)
        return state

    def _from_latest(self, versions: list[int]) -> State | None:
        """Return the newest state from ``latest/``, and apply the versions that are newer."""
        version = latest_version(self.layout)
        if version not in versions:
            return None
        state = load_latest(self.layout, self.info.blog_id, version)
        if state is None:
            return None
        self._named(state).fallback, state.parsed = self.find_intact, self.parsed
        try:
            for newer in versions[versions.index(version) + 1 :]:
                apply_version(state, self.layout, newer)
        except ArchiveDamaged:
            state.close()
            return None
        return state

    def line_in_latest(self, kind: Kind, record_id: str, version: int) -> RecordLine | None:
        """Return a record's line at the newest version from ``latest/`` if its files are unchanged.

        ``None`` if the record does not exist, or if ``version`` is an older one.
        """
        versions = self.versions()
        state = self._from_latest(versions) if version == versions[-1] else None
        if state is None:
            return None
        with contextlib.closing(state):
            return state.line(kind, record_id)

    def state_of(self, segments: Segments) -> State:
        """Return the state from the files for ``latest/`` that a commit has just written.

        Raises:
            ArchiveDamaged: the files are gone.
        """
        state = self._named(segments.state(self.info.blog_id))
        state.fallback, state.parsed = self.find_intact, self.parsed
        return state

    def fold(
        self,
        number: int,
        kinds: Iterable[Kind] = tuple(Kind),
        *,
        forgiven: Collection[tuple[int, Kind, int]] | None = None,
    ) -> State:
        """Return the state at a version from the versions alone, with these kinds only.

        Args:
            number: the version.
            kinds: the kinds to fold.
            forgiven: version, kind and number of the lines that may be damaged; by default those that a version up to
                this one has healed.

        Raises:
            ArchiveDamaged: a line is damaged that no version has healed.
        """
        state = self._named(State(self.info.blog_id, number, self.find_intact))
        state.parsed = self.parsed
        versions = [version for version in self.versions() if version <= number]
        healed = cache(lambda: self.healed(versions) if forgiven is None else forgiven)
        for version in versions:
            apply_version(state, self.layout, version, kinds, forgiven=healed)
        state.version = number
        return state

    def healed(self, versions: Iterable[int] | None = None) -> set[tuple[int, Kind, int]]:
        """Return version, kind and number of every line that one of these versions (default: all) has healed."""
        found: set[tuple[int, Kind, int]] = set()
        for version in self.versions() if versions is None else versions:
            with contextlib.suppress(ArchiveDamaged):
                rows = self.manifest(version).healed or ()
                found.update(
                    (row["version"], _KINDS[row["file"]], row["line"]) for row in rows if row["file"] in _KINDS
                )
        return found

    def wrong_sizes(self) -> Iterator[tuple[str, ArchiveDamaged]]:
        """Yield the files of the newest versions that have a wrong size, by path, unless a later version healed them.

        A power cut leaves such files. Each command calls this, so it does not look at thousands of versions.
        """
        for number in self.versions()[-_VERSIONS_CHECKED:]:
            with HeldFolder(self.layout.version(number)) as folder:
                for name, damage in wrong_sizes(folder):
                    if name not in _KINDS or (number, _KINDS[name], WHOLE_FILE) not in self.healed():
                        yield f"versions/{number:06d}/{name}", damage

    def find_intact(self, kind: Kind, record_id: str, identity: bytes) -> RecordLine | None:
        """Return an undamaged line for a record in one state from anywhere in the archive, or ``None``."""
        segments = [self.layout.latest_segment(kind), *(self.layout.segment(each, kind) for each in self.versions())]
        for path in segments:
            with contextlib.suppress(OSError), path.open("rb") as file:
                for text in file:
                    line, fault = split_checked(text)
                    if line is not None and fault is None and line.record_id == record_id and line.identity == identity:
                        return line
        return None

    def completeness(self, version: int | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return ``completeness`` and ``problems`` as recorded by the run that made a version.

        For the newest version (the default), the newest run that read the service counts: it may have found nothing new
        and still lack something. If ``runs.jsonl`` cannot be read, the manifest counts.

        Raises:
            NoSuchRecord: the archive has no such version.
        """
        newest = self.newest()
        number = newest if version is None else self.resolve(version)
        if number == newest:
            with contextlib.suppress(OSError):
                for run in self.newest_runs():
                    completeness = run.get("completeness")
                    if isinstance(completeness, dict):
                        return completeness, list(run.get("problems", []))
        if number is None:
            return {}, []
        manifest = self.manifest(number)
        return manifest.completeness, [problem.document() for problem in manifest.problems]

    def runs(self) -> list[dict[str, Any]]:
        """Return the lines of ``runs.jsonl``, oldest first; an incomplete last line is skipped."""
        return list(self.newest_runs())[::-1]

    def newest_backups(self) -> Iterator[dict[str, Any]]:
        """Yield the runs that read a service, or tried to, newest first.

        Captures complete pictures without it, and records are forgotten without it.
        """
        others = (FROM_CAPTURE, FORGOTTEN, UNJOINED)
        return (run for run in self.newest_runs() if all(run.get(name) is None for name in others))

    def newest_runs(self) -> Iterator[dict[str, Any]]:
        """Yield the runs in ``runs.jsonl``, newest first, and skip lines that are no runs.

        The file is read only as far as the caller iterates.
        """
        with contextlib.suppress(FileNotFoundError):
            for line in newest_lines(self.layout.runs):
                run = run_of(line)
                if run is not None:
                    yield run


def apply_version(
    state: State,
    layout: Layout,
    version: int,
    kinds: Iterable[Kind] = tuple(Kind),
    *,
    forgiven: Callable[[], Collection[tuple[int, Kind, int]]] = tuple,
) -> None:
    """Fold one version into a state, only the lines of these kinds.

    ``forgiven`` returns version, kind and number of the lines that may be damaged; see :meth:`State.fold`.
    """
    with HeldFolder(layout.version(version)) as folder:
        damage: ArchiveDamaged | None = None
        stated: dict[str, SegmentInfo] = {}
        try:
            stated = stated_segments(folder)
        except ArchiveDamaged as error:
            damage = error
        for kind in kinds:
            name = segment_name(kind)
            info = stated.get(name)
            if info is not None and not info.bytes and folder.is_empty(name):
                continue  # true for most files of most versions; opening them would cost more than all the rest
            segment = layout.segment(version, kind)
            forgives = partial(_is_forgiven, forgiven, version, kind)
            found = state.fold(segment, kind, version, folder=folder, forgives=forgives)
            try:
                if damage is not None:
                    raise damage
                require_size(segment, *found, info)
            except ArchiveDamaged:
                if not forgives(WHOLE_FILE):
                    raise
    state.version = version


def _is_forgiven(
    forgiven: Callable[[], Collection[tuple[int, Kind, int]]], version: int, kind: Kind, line: int
) -> bool:
    return (version, kind, line) in forgiven()


_LATEST: Final = "latest/"
_CAPTURES: Final = "captures/"
_IN_A_VERSION: Final = re.compile(r"versions/([0-9]{1,18})/")


def remember_damage(layout: Layout, paths: Collection[str]) -> None:
    """Replace the list of damaged files, if the archive can be written; paths are relative to the archive."""
    if set(paths) == set(_remembered(layout)):
        return
    with contextlib.suppress(OSError, BlogExporterError), atomic.translated(layout.known_damage):
        if not paths:
            layout.known_damage.unlink()
            return
        atomic.make_folder(layout.work)
        atomic.write_file(layout.known_damage, lossless_json.dumps(sorted(paths)) + b"\n")


def known_damage(reader: ArchiveReader) -> list[str]:
    """Return the sorted list of files that are still damaged; see :func:`is_read_again`."""
    return [path for path in _remembered(reader.layout) if _is_damaged(reader, path)]


def damaged_version(path: str) -> int | None:
    """Return the version that a damaged file belongs to; ``None`` for other files."""
    found = _IN_A_VERSION.match(path)
    return None if found is None else int(found[1])


def is_segment(path: str) -> bool:
    """Return whether a path names a version's segment. The manifest states its hash."""
    return damaged_version(path) is not None and PurePosixPath(path).name in SEGMENTS


def is_read_again(path: str) -> bool:
    """Return whether no run writes the file anew: a look shows that it is right again, or a check of the captures."""
    return is_segment(path) or asset_digest(path) is not None or path.startswith((_LATEST, _CAPTURES))


def damaged_in_latest(layout: Layout) -> frozenset[str]:
    """Return the listed files of ``latest/`` by their paths in it, even if they are right again."""
    return frozenset(path.removeprefix(_LATEST) for path in _remembered(layout) if path.startswith(_LATEST))


def _remembered(layout: Layout) -> list[str]:
    with contextlib.suppress(OSError, lossless_json.NotJson, ValueError):
        found = lossless_json.loads(layout.known_damage.read_bytes(MAX_DOCUMENT_BYTES))
        if isinstance(found, list):
            return [path for path in found if isinstance(path, str)]
    return []


def _is_damaged(reader: ArchiveReader, path: str) -> bool:
    """Return whether a file is still damaged. For documents the list decides, since each run makes it anew."""
    digest = asset_digest(path)
    if digest is not None:
        folder = reader.layout.root / PurePosixPath(path).parent
        with contextlib.suppress(OSError):
            return not any(sha256_or_none(folder / name) == digest for name in folder.names() if digest in name)
        return True
    if path.startswith(_LATEST):
        return _is_damaged_in_latest(reader.layout, path.removeprefix(_LATEST))
    number = damaged_version(path)
    if number is not None and number not in reader.versions():
        return False
    if number is None or not is_segment(path):
        return True
    name = PurePosixPath(path).name
    try:
        info = reader.manifest(number).files.get(name)
    except ArchiveDamaged:
        return True
    return info is None or sha256_or_none(reader.layout.version(number) / name) != info.sha256


def _is_damaged_in_latest(layout: Layout, place: str) -> bool:
    """Return whether a file of ``latest/`` differs from its noted hash; a file without a note is not damaged."""
    files = read_record(layout).get("files", {})
    expected = files.get(place) if place in SEGMENTS else None
    if expected is None:
        expected = next((entry.sha256 for entry in read_index(layout) if entry.place == place), None)
    return expected is not None and sha256_or_none(layout.latest / place) != expected
