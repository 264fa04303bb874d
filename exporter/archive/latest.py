"""``latest/`` and the other derived files: the newest state, a record a line, the views, and the index page.

``latest/`` is built in ``.work/`` and replaced as a whole. ``.work/latest.json`` holds its version and the hashes of
its six files, ``.work/views.jsonl`` the hashes of the views' files. Both are written after the files are durable, and
:func:`check_latest` compares the files before a reader trusts them. If they differ, the state is folded from the
versions and the folder is built again, so nothing depends on it.

``index.html`` in the root leads to the site and exists as long as the site does. 最初にお読みください.txt is README.txt
in Japanese. Its byte order mark and CR LF line ends are for Notepad on old Windows. Each run that updates ``latest/``
writes both again; a file of these names that the program did not write is left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import stat
import zlib
from collections import deque
from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checks import file_sha256, sha256_or_none
from exporter.archive.documents import bundled_document
from exporter.archive.latest_segments import (
    ROWS_HASH,
    Segments,
    Stamp,
    read_rows,
    stamp_of,
    write_segments,
)
from exporter.archive.layout import SEGMENTS, Layout, is_inside, manifest_sha256
from exporter.archive.safe_files import FileTooLarge, HeldFolder
from exporter.archive.state import State
from exporter.archive.view_index import FileNotes, IndexEntry, index_entries, noted_stamp
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.message import message
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from exporter.archive.safe_files import InnerPath

CHECKS_FOR_ALL: Final = 7
"""After this number of checks every file of ``latest/`` was hashed at least once, even with unchanged size and time."""
_OPEN_FOLDERS: Final = 8
"""A view yields its files folder by folder, or alternates between a few folders."""
_INDEX_HASH: Final = "index_sha256"
"""The member of ``.work/latest.json`` with the hash of the index of the views' files."""
_LACKS: Final = "lacks"
"""The member with the paths of the missing files, by view, if they could not be made for now."""
_IN_PLACE_OF: Final = "in_place_of"
"""The member with the newest version, if a person asked for an older one in its place."""
_NO_INDEX: Final = (OSError, lossless_json.NotJson)


class DerivedFile(Protocol):
    """A file of a view: its path, its inputs and its content."""

    @property
    def path(self) -> str:
        """The path inside the view's folder, with forward slashes."""

    @property
    def fingerprint(self) -> bytes:
        """Changes whenever the content would change."""

    @property
    def render(self) -> Callable[[], bytes]:
        """Return a function that makes the content."""


@frozen
class LatestView:
    """A folder of ``latest/`` made from the records.

    Attributes:
        name: the folder's name.
        edition: changes whenever the same records would give other files.
        files: yields the files in any order.
        options: the settings it was made with, stored so that it can be made again without them.
        replaced: returns the number of characters that had to become U+FFFD in the files made.
        facts: the facts about a version that its files show in addition to its records, such as completeness.
        lacks: returns the path, inside the folder, of files that could not be made for now; empty if it is whole.
    """

    name: str
    edition: str
    files: Callable[[State], Iterable[DerivedFile]]
    options: Mapping[str, str] = field(default_factory=dict)
    replaced: Callable[[], int] = int
    facts: Callable[[int], str] = lambda _: ""
    lacks: Callable[[], str] = str


def read_record(layout: Layout) -> dict[str, Any]:
    """Read ``.work/latest.json``; empty if it is missing or damaged."""
    try:
        value = lossless_json.loads(layout.latest_record.read_bytes())
    except (OSError, lossless_json.NotJson):
        return {}
    objects = ("files", "views", "options", "stamps", "root_files", _LACKS)
    right = isinstance(value, dict) and all(isinstance(value.get(name, {}), dict) for name in objects)
    return dict(value) if right else {}


def latest_version(layout: Layout) -> int | None:
    """Return the version that ``latest/`` was written for, without checking the files."""
    version = read_record(layout).get("version")
    return version if type(version) is int else None


def load_latest(layout: Layout, blog_id: str, version: int) -> State | None:
    """Return the state from ``latest/`` if its files are those of ``version``, else ``None``."""
    record = read_record(layout)
    if record.get("version") != version or record.get("manifest_sha256") != manifest_sha256(layout, version):
        return None
    for load in (_load_rows, _load_lines):
        state = State(blog_id, version)
        try:
            if load(layout, record, state):
                return state
        except (OSError, ArchiveDamaged):
            pass
        state.close()
    return None


def _load_rows(layout: Layout, record: dict[str, Any], state: State) -> bool:
    """Fill a state from ``.work/latest.rows`` without reading the lines.

    A file with the noted size and time is trusted, otherwise its hash decides. Other damage is found when a record is
    read.
    """
    segments = {}
    for kind, entry in zip(Kind, _segment_entries(record), strict=True):
        number, stat = segments[kind] = state.segments.pin(layout.latest_segment(kind))
        if stamp_of(stat) != entry.stamp and _sha256(state, number) != entry.sha256:
            return False
    return read_rows(layout.latest_rows, record.get(ROWS_HASH), state, segments)


def _load_lines(layout: Layout, record: dict[str, Any], state: State) -> bool:
    """Fill a state from the lines of ``latest/``, if the rows are missing."""
    for kind, entry in zip(Kind, _segment_entries(record), strict=True):
        path = layout.latest_segment(kind)
        if _sha256(state, state.segments.pin(path)[0]) != entry.sha256:
            return False
        state.fold(path, kind, state.version)
    return True


def _sha256(state: State, number: int) -> str:
    with state.segments.stream(number) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_current(layout: Layout, version: int, views: Sequence[LatestView]) -> bool:
    """Return whether ``latest/`` shows ``version`` with these views."""
    record = read_record(layout)
    return (
        record.get("version") == version
        and record.get("manifest_sha256") == manifest_sha256(layout, version)
        and record.get("views") == {view.name: view.edition for view in views}
        and not record.get(_LACKS)
        and record.get("facts") == {view.name: view.facts(version) for view in views}
        and all(layout.latest_segment(kind).is_file() for kind in Kind)
        and all((layout.latest / view.name).is_dir() for view in views)
    )


def missing_parts(layout: Layout, newest: int) -> list[str]:
    """Return the paths of what ``latest/`` lacks to show the newest version; of another version it lacks everything.

    Only ``.work/latest.json``, which is written last, and the folder's entries are read, so this is cheap. Without that
    file, as in an archive copied without ``.work/``, the folder counts, because it is only replaced as a whole. A copy
    has no ``latest/`` until a backup or ``rebuild`` makes one.
    """
    record, latest = read_record(layout), layout.latest
    if not record and latest.kind() is None and layout.copy_id.kind() is not None:
        return []
    if latest.kind() != "a folder" or (record and not _is_of(record, layout, newest)):
        return [latest.name]
    parts = [name for name in SEGMENTS if not (latest / name).is_file()]
    views = [name for name in record.get("views", {}) if is_inside(name)]
    parts += [name for name in views if not (latest / name).is_dir()]
    lacking = record.get(_LACKS, {})
    parts += [f"{name}/{lacking[name]}" for name in views if name in lacking and name not in parts]
    return [f"{latest.name}/{part}" for part in parts]


def _is_of(record: dict[str, Any], layout: Layout, newest: int) -> bool:
    """Return whether a record names the newest version, or the one that a person asked for in its place."""
    wanted = record.get("version") if record.get(_IN_PLACE_OF) == newest else newest
    if type(wanted) is not int or record.get("version") != wanted:
        return False
    return record.get("manifest_sha256") == manifest_sha256(layout, wanted)


@frozen
class LatestCheck:
    """The result of a check of ``latest/``.

    Attributes:
        known: whether the hashes of its files are known.
        damaged: the files that are missing or changed, as paths below ``latest/``.
    """

    known: bool = True
    damaged: frozenset[str] = frozenset()

    @property
    def whole(self) -> bool:
        """Whether all files are known and unchanged."""
        return self.known and not self.damaged


def check_latest(layout: Layout, damaged_before: Collection[str] = ()) -> LatestCheck:
    """Compare every file of ``latest/`` with its noted hash; the caller holds the archive's lock.

    A file with the noted size and time is trusted, otherwise its hash decides. A seventh of the files, a different one
    at each check, is always hashed, because disk damage changes neither size nor time. The files in
    ``damaged_before`` are also hashed.

    Raises:
        ArchiveDamaged: ``latest/`` is a link.
    """
    record = read_record(layout)
    turn = _turn(record)
    moved: dict[str, Stamp] = {}
    damaged = set()

    def noted() -> Iterator[IndexEntry]:
        return chain(_segment_entries(record), index_entries(layout.latest_index, record.get(_INDEX_HASH)))

    with atomic.translated(layout.latest):
        layout.latest.require_folder()
        with _Stamps(layout.latest) as stamps:
            try:
                for entry in noted():
                    stamp = stamps.of(entry.place)
                    same = stamp is not None and stamp == entry.stamp
                    in_turn = zlib.crc32(entry.place.encode()) % CHECKS_FOR_ALL == turn
                    if same and entry.place not in damaged_before and not in_turn:
                        continue
                    if sha256_or_none(layout.latest / entry.place) != entry.sha256:
                        damaged.add(entry.place)
                    elif not same and stamp is not None:
                        moved[entry.place] = stamp
            except _NO_INDEX:
                return LatestCheck(known=False)
        if not damaged:
            if moved:
                atomic.sync_all(layout.latest, [layout.latest / place for place in moved])
                kept = (entry._replace(stamp=moved.get(entry.place, entry.stamp)) for entry in noted())
                record = {**record, **_write_notes(layout, kept)}
            _write_record(layout, {**record, "turn": (turn + 1) % CHECKS_FOR_ALL})
    return LatestCheck(damaged=frozenset(damaged))


class _Stamps:
    """Looks up the stamps of the regular files below a folder; the last folders stay open. Use it in ``with``."""

    def __init__(self, root: InnerPath) -> None:
        self._root = root
        self._held: dict[str, HeldFolder] = {}
        self._opened: deque[contextlib.ExitStack] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._held:
            self._release()

    def of(self, place: str) -> Stamp | None:
        """Return a file's stamp; ``None`` if there is no such file, or only through a link."""
        parent, _, name = place.rpartition("/")
        held = self._held.get(parent)
        if held is None:
            held = self._hold(parent)
        try:
            found = held.lstat(name)
        except OSError:
            return None
        return stamp_of(found) if stat.S_ISREG(found.st_mode) else None

    def _hold(self, parent: str) -> HeldFolder:
        if len(self._held) == _OPEN_FOLDERS:
            self._release()
        opened = contextlib.ExitStack()
        held = self._held[parent] = opened.enter_context(HeldFolder(self._root / parent))
        self._opened.append(opened)
        return held

    def _release(self) -> None:
        del self._held[next(iter(self._held))]
        self._opened.popleft().close()


def write_latest(
    layout: Layout,
    state: State,
    views: Sequence[LatestView],
    *,
    reuse: bool = True,
    damaged: Collection[str] = (),
    segments: Segments | None = None,
    in_place_of: int | None = None,
) -> int:
    """Build ``latest/`` for a state and replace the old folder; return how many files of views were made anew.

    The state must not be read afterwards: its files may be in the replaced folder.

    Args:
        layout: the archive, whose lock the caller holds.
        state: the state.
        views: the views to keep.
        reuse: link a view's file from the old folder if its fingerprint, its content and the view's edition are
            unchanged.
        damaged: files of the old folder that are never linked.
        segments: the six files, if a commit has written them already.
        in_place_of: the newest version, if a person asked for an older one.
    """
    with atomic.translated(layout.latest):
        for each in layout.folders():
            each.require_folder()
        record = read_record(layout)
        same = {view.name for view in views if reuse and record.get("views", {}).get(view.name) == view.edition}
        written = write_segments(layout, state) if segments is None else segments
        made = 0

        def filled(new: atomic.NewFolder) -> Iterator[IndexEntry]:
            nonlocal made
            for name, digest, stamp in written.move(new.path):
                new.note(new.path / name)
                yield IndexEntry("", name, "", digest, stamp)
            with file_notes(layout) as notes:
                for view in views:
                    folder = new.path / view.name
                    new.make_folder(folder)
                    with _KeptFiles(layout.latest / view.name, new, folder) as kept:
                        for file in view.files(state):
                            before = notes.find(view.name, file.path) if view.name in same else None
                            entry = None if before is None or before.place in damaged else kept.keep(file, before)
                            if entry is None:
                                made += 1
                                entry = _make(new, folder, view.name, file)
                            yield entry
            state.close()
            new.sync()

        with atomic.NewFolder(layout.work / "latest.new") as new:
            notes = _write_notes(layout, filled(new))
        atomic.swap_folder(new.path, layout.latest, layout.work / "latest.old")
        rows, rows_sha256 = written.rows
        atomic.sync_file(rows)
        rows.replace(layout.latest_rows)
        record = {
            "version": state.version,
            "manifest_sha256": manifest_sha256(layout, state.version),
            "views": {view.name: view.edition for view in views},
            "facts": {view.name: view.facts(state.version) for view in views},
            "options": {name: value for view in views for name, value in view.options.items()},
            "turn": _turn(record),
            _LACKS: {view.name: lacking for view in views if (lacking := view.lacks())},
            **({} if in_place_of is None else {_IN_PLACE_OF: in_place_of}),
            "root_files": record.get("root_files", {}),
            **notes,
            ROWS_HASH: rows_sha256,
        }
        _write_record(layout, record)
    return made


def _write_notes(layout: Layout, entries: Iterable[IndexEntry]) -> dict[str, Any]:
    """Write ``.work/views.jsonl``; return what ``.work/latest.json`` says about it and about the six files.

    All files are durable when ``entries`` ends. The index is valid only once the record names its hash.
    """
    segments = []
    with atomic.hashing(layout.work / "views.new.jsonl") as index:
        for entry in entries:
            if entry.view:
                index.write(entry.encode())
            else:
                segments.append(entry)
        index_sha256 = index.close()
    (layout.work / "views.new.jsonl").replace(layout.latest_index)
    return {
        "files": {entry.path: entry.sha256 for entry in segments},
        "stamps": {entry.path: entry.stamp for entry in segments},
        _INDEX_HASH: index_sha256,
    }


def _write_record(layout: Layout, record: dict[str, Any]) -> None:
    atomic.write_file(layout.latest_record, lossless_json.dumps(record, pretty=True) + b"\n")


def _turn(record: dict[str, Any]) -> int:
    """Return which seventh of the files the next check hashes."""
    turn = record.get("turn")
    return turn % CHECKS_FOR_ALL if type(turn) is int else 0


def read_index(layout: Layout) -> Iterator[IndexEntry]:
    """Read ``.work/views.jsonl``; empty if it does not belong to ``latest/``."""
    with contextlib.suppress(OSError, lossless_json.NotJson):
        yield from index_entries(layout.latest_index, read_record(layout).get(_INDEX_HASH))


def file_notes(layout: Layout) -> FileNotes:
    """Return the entries of ``.work/views.jsonl`` by view and path; none if it does not belong to ``latest/``."""
    return FileNotes(layout.latest_index, read_record(layout).get(_INDEX_HASH))


def _segment_entries(record: dict[str, Any]) -> Iterator[IndexEntry]:
    """Yield the record's notes about the six files; a missing note matches no file."""
    files, stamps = record.get("files", {}), record.get("stamps", {})
    for name in SEGMENTS:
        yield IndexEntry("", name, "", str(files.get(name)), noted_stamp(stamps.get(name)))


class _KeptFiles:
    """Links the unchanged files of a view from its old folder into the new one; use it in ``with``.

    The last folders stay open, since reaching a file from the root costs many times the link.
    """

    def __init__(self, old: InnerPath, new: atomic.NewFolder, folder: InnerPath) -> None:
        self._old = old
        self._new = new
        self._folder = folder
        self._held: dict[str, tuple[HeldFolder, HeldFolder, contextlib.ExitStack]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._held:
            self._release()

    def keep(self, file: DerivedFile, before: IndexEntry) -> IndexEntry | None:
        """Link a file; return ``None`` if it must be made."""
        if before.fingerprint != file.fingerprint.hex():
            return None
        parent, _, name = file.path.rpartition("/")
        try:
            old, new = self._folders(parent)
            found = old.lstat(name)
            stamp = stamp_of(found)
            if not stat.S_ISREG(found.st_mode):
                return None
            if stamp != before.stamp:
                if file_sha256(self._old / file.path) != before.sha256:
                    return None
                self._new.note(self._folder / file.path)
            old.add_name(name, new)
        except OSError:
            return None
        return before if stamp == before.stamp else before._replace(stamp=stamp)

    def _folders(self, parent: str) -> tuple[HeldFolder, HeldFolder]:
        """Return the old and the new folder of this name; the new one is created."""
        held = self._held.get(parent)
        if held is None:
            if len(self._held) == _OPEN_FOLDERS:
                self._release()
            self._new.make_folder(self._folder / parent)
            opened = contextlib.ExitStack()
            old, new = (opened.enter_context(HeldFolder(each / parent)) for each in (self._old, self._folder))
            held = self._held[parent] = old, new, opened
        return held[:2]

    def _release(self) -> None:
        self._held.pop(next(iter(self._held)))[2].close()


def _make(new: atomic.NewFolder, folder: InnerPath, view: str, file: DerivedFile) -> IndexEntry:
    """Write a view's file. A path that leaves the view's folder is a defect of the program."""
    if not is_inside(file.path):
        raise ValueError(message("a view asked for the path {path!r}", path=file.path))
    target = folder / file.path
    new.make_folder(target.parent)
    digest, state = atomic.write_small(target, file.render())
    new.note(target)
    return IndexEntry(view, file.path, file.fingerprint.hex(), digest, stamp_of(state))


_MAX_ROOT_FILE_BYTES: Final = 1 << 20
_MARKS: Final = (b'<meta name="generator" content="blog-exporter">', "このフォルダーは、blog-exporter ".encode())
"""A text near the beginning of each of the two files when the program wrote it."""
_BEGINNING_BYTES: Final = 1000
_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{margin:0;font:1rem/1.8 system-ui,sans-serif}"
    "main{max-width:36rem;margin:0 auto;padding:2rem 1rem}"
    "h1{font-size:1.2rem;overflow-wrap:anywhere}"
    "section{margin-top:2rem}"
    ".open{display:inline-block;padding:.6rem 1.4rem;border:2px solid;border-radius:.5rem}"
    ".open{font-weight:bold;text-decoration:none}"
    ".open span{margin-left:.6em;font-weight:normal}"
)


def refresh_root_files(layout: Layout, blog_id: str) -> None:
    """Update the index page and the Japanese README; the caller holds the lock.

    Raises:
        BlogExporterError: they cannot be written.
    """
    site = (layout.latest / "site" / "index.html").kind() == ""
    page = index_page(blog_id, layout.readme_ja.name) if site else None
    with atomic.translated(layout.root):
        atomic.make_folder(layout.work)
        for path, wanted in ((layout.index, page), (layout.readme_ja, readme_ja())):
            _update_root_file(layout, path, wanted)


def damaged_root_files(layout: Layout) -> Iterator[str]:
    """Yield the names of those of the two files that were changed."""
    for name, digest in _noted_root_files(layout).items():
        if sha256_or_none(layout.root / name) != digest:
            yield name


def index_page(blog_id: str, readme_name: str) -> bytes:
    """Return ``index.html``: a page without scripts that leads to the site; ``blog_id`` is untrusted."""
    import base64  # noqa: PLC0415 - most commands only read
    from html import escape  # noqa: PLC0415
    from urllib.parse import quote  # noqa: PLC0415

    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    values = {"digest": digest, "style": _STYLE, "blog_id": escape(blog_id), "readme_ja": quote(readme_name)}
    return bundled_document("index_page.html").decode().format(**values).encode("utf-8", "replace")


def readme_ja() -> bytes:
    """Return README.txt in Japanese, with a byte order mark and line ends CR LF."""
    return bundled_document("README.ja.txt").decode().replace("\n", "\r\n").encode("utf-8-sig")


def _noted_root_files(layout: Layout) -> dict[str, str]:
    """Return the noted hashes of the two files by their names."""
    noted = read_record(layout).get("root_files", {})
    return {name: str(noted[name]) for name in (layout.index.name, layout.readme_ja.name) if name in noted}


def _update_root_file(layout: Layout, path: InnerPath, wanted: bytes | None) -> None:
    """Write a file, or remove it for ``None``, unless another program or the user put it there.

    While the file changes no hash of it is noted, so that a kill leaves nothing that looks like damage.
    """
    noted = _noted_root_files(layout)
    kind = path.kind()
    try:
        found = path.read_bytes(_MAX_ROOT_FILE_BYTES) if kind == "" else None
    except FileTooLarge:
        found = b""
    if kind or (found is not None and path.name not in noted and not _is_ours(found)):
        return
    if found != wanted:
        if noted.pop(path.name, None) is not None:
            _write_record(layout, {**read_record(layout), "root_files": noted})
        if wanted is None:
            path.unlink(missing_ok=True)
        else:
            atomic.write_file(path, wanted)
    digest = None if wanted is None else hashlib.sha256(wanted).hexdigest()
    if digest is not None and noted.get(path.name) != digest:
        _write_record(layout, {**read_record(layout), "root_files": {**noted, path.name: digest}})


def _is_ours(data: bytes) -> bool:
    return any(mark in data[:_BEGINNING_BYTES] for mark in _MARKS)
