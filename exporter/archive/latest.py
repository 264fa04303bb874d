"""``latest/``: the newest state, a record a line, and the views people read. Derived; built aside and swapped in whole.

``.work/latest.json`` says which version it shows and the hashes of its six files, ``.work/views.jsonl`` those of the
views' files. Where that does not hold, the state is folded from the versions and the folder is built again, so nothing
ever depends on it. Both are written once everything they speak of is durable, and :func:`check_latest` compares before
they are believed.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import stat
import zlib
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self
from urllib.parse import quote

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checks import file_sha256, sha256_or_none
from exporter.archive.latest_segments import ROWS_HASH, Segments, Stamp, read_rows, stamp_of, write_segments
from exporter.archive.layout import SEGMENTS, Layout, is_inside, manifest_sha256
from exporter.archive.safe_files import FileTooLarge, HeldFolder
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged
from exporter.message import message
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

CHECKS_FOR_ALL: Final = 7
"""After so many checks every file of ``latest/`` was hashed at least once, whatever its size and time say."""
_HELD: Final = 8
"""So many folders of a view are held open: files come folder by folder, or of a few in turns."""


class DerivedFile(Protocol):
    """A file of a view: where it goes, what it depends on, and how it is made."""

    @property
    def path(self) -> str:
        """The place inside the view's folder, with forward slashes."""

    @property
    def fingerprint(self) -> bytes:
        """What changes whenever the content would."""

    @property
    def render(self) -> Callable[[], bytes]:
        """Make the content."""


@dataclass(frozen=True, slots=True)
class LatestView:
    """A folder of ``latest/`` made from the records.

    Attributes:
        name: the folder's name.
        edition: changes whenever the same records would give other files.
        files: yields the files, in any order.
        options: what it was made with, kept so that it can be made again without the settings at hand.
        replaced: says how many characters of the files made had to become U+FFFD.
        facts: what the files of a version tell beside its records, such as whether the newest run found all of them.
    """

    name: str
    edition: str
    files: Callable[[State], Iterable[DerivedFile]]
    options: Mapping[str, str] = field(default_factory=dict)
    replaced: Callable[[], int] = int
    facts: Callable[[int], str] = lambda _: ""


def read_record(layout: Layout) -> dict[str, Any]:
    """Read ``.work/latest.json``; empty when it is not there or not readable."""
    try:
        value = lossless_json.loads(layout.latest_record.read_bytes())
    except (OSError, lossless_json.NotJson):
        return {}
    objects = ("files", "views", "options", "stamps")
    right = isinstance(value, dict) and all(isinstance(value.get(name, {}), dict) for name in objects)
    return dict(value) if right else {}


def latest_version(layout: Layout) -> int | None:
    """Return the version that ``latest/`` was written for, as far as is known without reading it."""
    version = read_record(layout).get("version")
    return version if type(version) is int else None


def load_latest(layout: Layout, blog_id: str, version: int) -> State | None:
    """Return the state from ``latest/`` when it provably is that of ``version``, else ``None``."""
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
    """Fill a state from ``.work/latest.rows``, without a look at the lines.

    A file whose size and time are as noted is believed to have them, otherwise its hash decides. Damage that shows in
    neither is found when a record is read.
    """
    segments = {}
    for kind, entry in zip(Kind, _segment_entries(record), strict=True):
        number, stat = segments[kind] = state.segments.pin(layout.latest_segment(kind))
        if stamp_of(stat) != entry.stamp and _sha256(state, number) != entry.sha256:
            return False
    return read_rows(layout.latest_rows, record.get(ROWS_HASH), state, segments)


def _load_lines(layout: Layout, record: dict[str, Any], state: State) -> bool:
    """Fold the files of ``latest/``, where nothing else says what is in them."""
    for kind, entry in zip(Kind, _segment_entries(record), strict=True):
        path = layout.latest_segment(kind)
        if _sha256(state, state.segments.pin(path)[0]) != entry.sha256:
            return False
        state.fold(path, kind, state.version, pin=True)
    return True


def _sha256(state: State, number: int) -> str:
    with state.segments.stream(number) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_current(layout: Layout, version: int, views: Sequence[LatestView]) -> bool:
    """Tell whether ``latest/`` shows ``version`` with these views."""
    record = read_record(layout)
    return (
        record.get("version") == version
        and record.get("manifest_sha256") == manifest_sha256(layout, version)
        and record.get("views") == {view.name: view.edition for view in views}
        and record.get("facts") == {view.name: view.facts(version) for view in views}
        and all(layout.latest_segment(kind).is_file() for kind in Kind)
        and all((layout.latest / view.name).is_dir() for view in views)
    )


@dataclass(frozen=True, slots=True)
class LatestCheck:
    """What a check of ``latest/`` found.

    Attributes:
        known: whether it is noted at all what should be there.
        damaged: the files that are not there or not what was written, as paths below ``latest/``.
    """

    known: bool = True
    damaged: frozenset[str] = frozenset()

    @property
    def whole(self) -> bool:
        """Whether everything is as it was written."""
        return self.known and not self.damaged


def check_latest(layout: Layout, suspected: Collection[str] = ()) -> LatestCheck:
    """Compare every file of ``latest/`` with what was noted when it was written; the caller holds the archive's lock.

    A file whose size and time are as noted is believed, otherwise its hash decides. A seventh of the files, another one
    at each check, is hashed in any case: damage of the disk changes neither size nor time. So are those of
    ``suspected``, which were found damaged before.

    Raises:
        ArchiveDamaged: ``latest/`` is a link.
    """
    record = read_record(layout)
    index = _index(layout, record)
    if index is None:
        return LatestCheck(known=False)
    noted = [*_segment_entries(record), *index]
    turn = _turn(record)
    kept: list[IndexEntry] = []
    moved: list[InnerPath] = []
    damaged = set()
    with atomic.translated(layout.latest):
        found = _stamps(layout.latest)
        for entry in noted:
            stamp = found.get(entry.place)
            same = stamp is not None and stamp == entry.stamp
            if same and entry.place not in suspected and zlib.crc32(entry.place.encode()) % CHECKS_FOR_ALL != turn:
                kept.append(entry)
            elif sha256_or_none(path := layout.latest / entry.place) != entry.sha256:
                damaged.add(entry.place)
            elif same or stamp is None:
                kept.append(entry)
            else:
                moved.append(path)
                kept.append(entry._replace(stamp=stamp))
        if not damaged:
            if moved:
                atomic.sync_all(layout.latest, moved)
                record = {**record, **_write_notes(layout, kept)}
            _write_record(layout, {**record, "turn": (turn + 1) % CHECKS_FOR_ALL})
    return LatestCheck(damaged=frozenset(damaged))


def _stamps(folder: InnerPath) -> dict[str, Stamp]:
    """Return the stamps of all regular files below a folder by their paths, with forward slashes."""
    found: dict[str, Stamp] = {}
    folder.require_folder()
    waiting = [("", str(folder))]
    while waiting:
        prefix, place = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((f"{prefix}{entry.name}/", entry.path))
                elif entry.is_file(follow_symlinks=False):
                    found[prefix + entry.name] = stamp_of(entry.stat(follow_symlinks=False))
    return found


def write_latest(
    layout: Layout,
    state: State,
    views: Sequence[LatestView],
    *,
    reuse: bool = True,
    damaged: Collection[str] = (),
    segments: Segments | None = None,
) -> int:
    """Build ``latest/`` for a state and swap it in; returns how many files of views were made anew.

    With ``reuse``, a view's file whose fingerprint is unchanged is linked from the folder that is there now, as
    long as its view's edition is the same, it still is what was written, and it is not among the ``damaged``. The
    ``segments`` are the six files where a commit has written them already. The state must not be read afterwards: its
    places may be in the folder that was replaced.
    """
    with atomic.translated(layout.latest):
        for each in layout.folders():
            each.require_folder()
        record = read_record(layout)
        same = {view.name for view in views if reuse and record.get("views", {}).get(view.name) == view.edition}
        known = {
            (entry.view, entry.path): entry
            for entry in read_index(layout)
            if entry.view in same and entry.place not in damaged
        }
        written = write_segments(layout, state) if segments is None else segments
        made = 0

        def filled(new: atomic.NewFolder) -> Iterator[IndexEntry]:
            nonlocal made
            for name, digest, stamp in written.move(new.path):
                new.note(new.path / name)
                yield IndexEntry("", name, "", digest, stamp)
            for view in views:
                old, folder = layout.latest / view.name, new.path / view.name
                new.make_folder(folder)
                with _KeptFiles(old, new, folder) as kept:
                    for file in view.files(state):
                        entry = kept.keep(file, known.get((view.name, file.path)))
                        if entry is None:
                            made += 1
                            entry = _make(new, _target(new, folder, file.path), view.name, file)
                        yield entry
            state.close()
            new.sync()

        with atomic.NewFolder(layout.work / "latest.new") as new:
            notes = _write_notes(layout, filled(new))
        atomic.swap_folder(new.path, layout.latest, layout.work / "latest.old")
        record = {
            "version": state.version,
            "manifest_sha256": manifest_sha256(layout, state.version),
            "views": {view.name: view.edition for view in views},
            "facts": {view.name: view.facts(state.version) for view in views},
            "options": {name: value for view in views for name, value in view.options.items()},
            "turn": _turn(record),
            **notes,
            ROWS_HASH: _keep_rows(layout, *written.rows),
        }
        _write_record(layout, record)
    return made


def _write_notes(layout: Layout, entries: Iterable[IndexEntry]) -> dict[str, Any]:
    """Write ``.work/views.jsonl``; returns what ``.work/latest.json`` has to say of it and of the six files.

    All the files are durable once ``entries`` has ended. The index counts once the record names its hash, so until then
    nothing is believed of the views.
    """
    segments = []
    with atomic.hashing(layout.work / "views.new.jsonl") as index:
        for entry in entries:
            if entry.view:
                index.write(entry.encode())
            else:
                segments.append(entry)
        index_sha256 = index.close()
    (layout.work / "views.new.jsonl").replace(_index_path(layout))
    return {
        "files": {entry.path: entry.sha256 for entry in segments},
        "stamps": {entry.path: entry.stamp for entry in segments},
        "index_sha256": index_sha256,
    }


def _write_record(layout: Layout, record: dict[str, Any]) -> None:
    atomic.write_file(layout.latest_record, lossless_json.dumps(record, pretty=True) + b"\n")


def _turn(record: dict[str, Any]) -> int:
    """Return which seventh of the files the next check hashes."""
    turn = record.get("turn")
    return turn % CHECKS_FOR_ALL if type(turn) is int else 0


def _keep_rows(layout: Layout, path: InnerPath, sha256: str) -> str:
    """Make the rows durable and give them their name; returns their hash."""
    atomic.sync_file(path)
    path.replace(layout.latest_rows)
    return sha256


class IndexEntry(NamedTuple):
    """What is known of one file of ``latest/``: of a view's in ``.work/views.jsonl``, of the six in the record.

    Attributes:
        view: the view it is of; empty for one of the six.
        path: its place in the folder of the view.
        fingerprint: what its content depends on; empty for one of the six.
        sha256: of its content, in hexadecimal.
        stamp: its size and time; ``None`` where an earlier program wrote it down.
    """

    view: str
    path: str
    fingerprint: str
    sha256: str
    stamp: Stamp | None = None

    @property
    def place(self) -> str:
        """The path below ``latest/``."""
        return f"{self.view}/{self.path}" if self.view else self.path

    def encode(self) -> bytes:
        """Write its line."""
        return lossless_json.dumps([self.view, self.path, self.fingerprint, self.sha256, *(self.stamp or ())]) + b"\n"


def read_index(layout: Layout) -> Iterator[IndexEntry]:
    """Read ``.work/views.jsonl``; nothing when it does not belong to what stands in ``latest/``."""
    yield from _index(layout, read_record(layout)) or ()


def _index(layout: Layout, record: dict[str, Any]) -> list[IndexEntry] | None:
    """Read the index that a record speaks of; ``None`` when it is another one, or none."""
    try:
        data = _index_path(layout).read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data).hexdigest() != record.get("index_sha256"):
        return None
    try:
        # Read in one piece, which takes a fifth of the time that ten thousand lines take.
        lines = lossless_json.loads(b"[" + b",".join(data.splitlines()) + b"]")
    except lossless_json.NotJson:
        return None
    return [entry for line in lines if (entry := _index_entry(line)) is not None]


def _index_entry(line: Any) -> IndexEntry | None:
    """Take a line of the index apart; ``None`` where it is none, or names a file that is not in its view."""
    if not isinstance(line, list) or len(line) < 4 or not all(isinstance(text, str) for text in line[:4]):
        return None
    view, path, fingerprint, digest, *stamp = line
    if not is_inside(f"{view}/{path}"):
        return None
    return IndexEntry(view, path, fingerprint, digest, _noted(stamp))


def _segment_entries(record: dict[str, Any]) -> Iterator[IndexEntry]:
    """Yield what a record says of the six files; of one it is silent about, that nothing is known to be right."""
    files, stamps = record.get("files", {}), record.get("stamps", {})
    for name in SEGMENTS:
        yield IndexEntry("", name, "", str(files.get(name)), _noted(stamps.get(name)))


def _noted(stamp: Any) -> Stamp | None:
    """Return a stamp as it was written down; ``None`` where it is none."""
    if not isinstance(stamp, list) or [type(number) for number in stamp] != [int, int]:
        return None
    return stamp[0], stamp[1]


def _index_path(layout: Layout) -> InnerPath:
    return layout.work / "views.jsonl"


class _KeptFiles:
    """Links the unchanged files of a view from its old folder into the new one; use it in ``with``.

    The folders used last are held open, since the way to a file from the root costs many times the link.
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

    def keep(self, file: DerivedFile, before: IndexEntry | None) -> IndexEntry | None:
        """Link a file; ``None`` when it must be made."""
        if before is None or before.fingerprint != file.fingerprint.hex():
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
        """Return the old and the new folder of this name, the new one made."""
        held = self._held.get(parent)
        if held is None:
            if len(self._held) == _HELD:
                self._release()
            self._new.make_folder(self._folder / parent)
            opened = contextlib.ExitStack()
            old, new = (opened.enter_context(HeldFolder(each / parent)) for each in (self._old, self._folder))
            held = self._held[parent] = old, new, opened
        return held[:2]

    def _release(self) -> None:
        self._held.pop(next(iter(self._held)))[2].close()


def _make(new: atomic.NewFolder, target: InnerPath, view: str, file: DerivedFile) -> IndexEntry:
    digest, state = atomic.write_small(target, file.render())
    new.note(target)
    return IndexEntry(view, file.path, file.fingerprint.hex(), digest, stamp_of(state))


def _target(new: atomic.NewFolder, folder: InnerPath, path: str) -> InnerPath:
    """Return where a view's file goes, its folders made; a path that leaves the view's folder is a defect."""
    if not is_inside(path):
        raise ValueError(message("a view asked for the path {path!r}", path=path))
    target = folder / path
    new.make_folder(target.parent)
    return target


_LARGEST_ROOT_FILE: Final = 1 << 20
_MARKS: Final = (b'<meta name="generator" content="blog-exporter">', "このフォルダーは、blog-exporter ".encode())
"""What each of the two files has near its beginning when the program wrote it."""
_BEGINNING: Final = 1000
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


def refresh_front_door(layout: Layout, blog_id: str) -> None:
    """Bring both files up to date; the caller holds the lock.

    Raises:
        BlogExporterError: they cannot be written.
    """
    site = (layout.latest / "site" / "index.html").kind() == ""
    page = index_page(blog_id, layout.readme_ja.name) if site else None
    with atomic.translated(layout.root):
        atomic.make_folder(layout.work)
        noted = _noted_files(layout)
        for path, wanted in ((layout.index, page), (layout.readme_ja, readme_ja())):
            _bring_up_to_date(layout, noted, path, wanted)


def damaged_files(layout: Layout) -> Iterator[str]:
    """Yield the names of those that are not as they were written."""
    for name, digest in _noted_files(layout).items():
        if sha256_or_none(layout.root / name) != digest:
            yield name


def index_page(blog_id: str, readme_name: str) -> bytes:
    """Return ``index.html``: a page without scripts that leads to the site; ``blog_id`` is untrusted."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    values = {"digest": digest, "style": _STYLE, "blog_id": escape(blog_id), "readme_ja": quote(readme_name)}
    return _bundled("front_door.html").format(**values).encode("utf-8", "replace")


def readme_ja() -> bytes:
    """Return README.txt in Japanese, with a byte order mark and line ends CR LF."""
    return _bundled("README.ja.txt").replace("\n", "\r\n").encode("utf-8-sig")


def _bundled(name: str) -> str:
    return resources.files("exporter.archive").joinpath(name).read_text("utf-8")


def _noted_files(layout: Layout) -> dict[str, str]:
    """Return the hashes of what was written, of these two names alone."""
    try:
        rows = lossless_json.loads(layout.front_door.read_bytes(_LARGEST_ROOT_FILE))
    except (OSError, lossless_json.NotJson):
        return {}
    known = rows if isinstance(rows, dict) else {}
    return {name: str(known[name]) for name in (layout.index.name, layout.readme_ja.name) if name in known}


def _bring_up_to_date(layout: Layout, noted: dict[str, str], path: InnerPath, wanted: bytes | None) -> None:
    """Make a file what it should be, or remove it for ``None``, unless somebody else put it there.

    While it changes no hash of it is noted, so that a kill leaves nothing that looks like damage.
    """
    kind = path.kind()
    try:
        found = path.read_bytes(_LARGEST_ROOT_FILE) if kind == "" else None
    except FileTooLarge:
        found = b""
    if kind or (found is not None and path.name not in noted and not _is_ours(found)):
        return
    digest = None if wanted is None else hashlib.sha256(wanted).hexdigest()
    if found != wanted:
        if noted.pop(path.name, None) is not None:
            atomic.write_file(layout.front_door, lossless_json.dumps(noted))
        if wanted is None:
            path.unlink(missing_ok=True)
        else:
            atomic.write_file(path, wanted)
    if digest is not None and noted.get(path.name) != digest:
        noted[path.name] = digest
        atomic.write_file(layout.front_door, lossless_json.dumps(noted))


def _is_ours(data: bytes) -> bool:
    return any(mark in data[:_BEGINNING] for mark in _MARKS)
