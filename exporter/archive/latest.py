"""``latest/``: the newest state, a record a line, and the views people read. Derived; built aside and swapped in whole.

``.work/latest.json`` says which version it shows and the hashes of its six files. Where that does not hold, the
state is folded from the versions and the folder is built again, so nothing ever depends on it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from exporter import codec
from exporter.archive import atomic
from exporter.archive.inside import inner
from exporter.archive.layout import Layout, is_inside, segment_name
from exporter.archive.lines import as_latest
from exporter.archive.plain import LARGEST_DOCUMENT
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from exporter.archive.inside import InnerPath


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
class View:
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
        value = codec.loads(layout.latest_record.read_bytes())
    except (OSError, codec.NotJson):
        return {}
    objects = ("files", "views", "options")
    right = isinstance(value, dict) and all(isinstance(value.get(name, {}), dict) for name in objects)
    return dict(value) if right else {}


def shown_version(layout: Layout) -> int | None:
    """Return the version that ``latest/`` was written for, as far as can be told without reading it."""
    version = read_record(layout).get("version")
    return version if type(version) is int else None


def load_latest(layout: Layout, blog_id: str, version: int) -> State | None:
    """Return the state from ``latest/`` when it provably is that of ``version``, else ``None``."""
    record = read_record(layout)
    if record.get("version") != version or record.get("manifest_sha256") != manifest_sha256(layout, version):
        return None
    files = record.get("files")
    if not isinstance(files, dict):
        return None
    state = State(blog_id, version)
    try:
        if all(_load_segment(state, layout.latest_segment(kind), kind, files) for kind in Kind):
            return state
    except (OSError, ArchiveDamaged):
        pass
    state.close()
    return None


def _load_segment(state: State, path: Path, kind: Kind, files: dict[str, Any]) -> bool:
    """Fold one pinned file of ``latest/``, unless its hash is not the recorded one."""
    with state.segments.stream(state.segments.add(path, pin=True)) as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != files.get(segment_name(kind)):
            return False
    state.fold(path, kind, state.version, pin=True)
    return True


def is_current(layout: Layout, version: int, views: Sequence[View]) -> bool:
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


def write_latest(layout: Layout, state: State, views: Sequence[View], *, reuse: bool = True) -> int:
    """Build ``latest/`` for a state and swap it in; returns how many files of views were made anew.

    With ``reuse``, a view's file whose fingerprint is unchanged is linked from the folder that stands there now, as
    long as its view's edition is the same. The state must not be
    read afterwards: its places may be in the folder that was replaced.
    """
    new = layout.work / "latest.new"
    with atomic.translated(layout.latest):
        for each in layout.folders():
            each.require_folder()
        atomic.remove_folder(new)
        atomic.make_folder(new)
        files = {segment_name(kind): _write_segment(new / segment_name(kind), state, kind) for kind in Kind}
        same = {
            view.name for view in views if reuse and read_record(layout).get("views", {}).get(view.name) == view.edition
        }
        known = {(entry.view, entry.path): entry for entry in read_index(layout) if entry.view in same}
        made = 0
        with atomic.hashing(layout.work / "views.new.jsonl") as index:
            for view in views:
                folder = new / view.name
                atomic.make_folder(folder)
                for file in view.files(state):
                    before = known.get((view.name, file.path))
                    entry = _keep(layout.latest / view.name, folder, file, before)
                    if entry is None:
                        made += 1
                        entry = _make(folder, view.name, file)
                    index.write(entry.encode())
            index_sha256 = index.close()
        state.close()
        (layout.work / "views.new.jsonl").replace(_index_path(layout))
        atomic.swap_folder(new, layout.latest, layout.work / "latest.old")
        record = {
            "version": state.version,
            "manifest_sha256": manifest_sha256(layout, state.version),
            "files": files,
            "views": {view.name: view.edition for view in views},
            "facts": {view.name: view.facts(state.version) for view in views},
            "options": {name: value for view in views for name, value in view.options.items()},
            "index_sha256": index_sha256,
        }
        atomic.write_file(layout.latest_record, codec.dumps(record, pretty=True) + b"\n")
    return made


def _write_segment(path: Path, state: State, kind: Kind) -> str:
    with atomic.hashing(path) as file:
        for line in segment_lines(state, kind):
            file.write(line)
        return file.close()


def segment_lines(state: State, kind: Kind) -> Iterator[bytes]:
    """Yield the lines of ``latest/KIND.jsonl`` for a state."""
    for text, version in state.texts(kind):
        yield as_latest(text, version)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What ``.work/views.jsonl`` knows of one file of a view."""

    view: str
    path: str
    fingerprint: str
    sha256: str

    def encode(self) -> bytes:
        """Write its line."""
        return codec.dumps([self.view, self.path, self.fingerprint, self.sha256]) + b"\n"


def read_index(layout: Layout) -> Iterator[IndexEntry]:
    """Read ``.work/views.jsonl``; nothing when it does not belong to what stands in ``latest/``."""
    expected = read_record(layout).get("index_sha256")
    try:
        data = _index_path(layout).read_bytes()
    except OSError:
        return
    if hashlib.sha256(data).hexdigest() != expected:
        return
    for line in data.splitlines():
        entry = _index_entry(line)
        if entry is not None:
            yield entry


def _index_entry(line: bytes) -> IndexEntry | None:
    """Take a line of the index apart; ``None`` where it is none, or names a file that is not in its view."""
    try:
        view, path, fingerprint, digest = codec.loads(line)
    except (codec.NotJson, TypeError, ValueError):
        return None
    if not all(isinstance(text, str) for text in (view, path, fingerprint, digest)):
        return None
    return IndexEntry(view, path, fingerprint, digest) if is_inside(f"{view}/{path}") else None


def _index_path(layout: Layout) -> InnerPath:
    return layout.work / "views.jsonl"


def _keep(old: InnerPath, folder: InnerPath, file: DerivedFile, before: IndexEntry | None) -> IndexEntry | None:
    """Link an unchanged file from the old folder; ``None`` when it must be made."""
    if before is None or before.fingerprint != file.fingerprint.hex():
        return None
    target = _target(folder, file.path)
    try:
        old.joinpath(file.path).add_name(target)
    except OSError:
        return None
    return before


def _make(folder: InnerPath, view: str, file: DerivedFile) -> IndexEntry:
    target = _target(folder, file.path)
    with atomic.hashing(target) as made:
        made.write(file.render())
        digest = made.close(sync=False)
    return IndexEntry(view, file.path, file.fingerprint.hex(), digest)


def _target(folder: InnerPath, path: str) -> InnerPath:
    """Return where a view's file goes, its folders made; a path that leaves the view's folder is a defect."""
    if not is_inside(path):
        raise ValueError(f"a view asked for the path {path!r}")
    target = folder.joinpath(path)
    if not target.parent.is_dir():
        atomic.make_folder(target.parent)
    return target


def manifest_sha256(layout: Layout, version: int) -> str | None:
    """Return the SHA-256 of a version's manifest, ``None`` when it cannot be read."""
    try:
        return hashlib.sha256(layout.manifest(version).read_bytes(LARGEST_DOCUMENT)).hexdigest()
    except OSError:
        return None


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with inner(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
