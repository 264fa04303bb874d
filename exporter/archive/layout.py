"""The paths in an archive of format 1 (FORMAT.md specifies them), and the replacement of ``versions/`` by a prune.

All paths are :class:`~exporter.archive.safe_files.InnerPath`, so no file below the root is reached through a link.

A prune replaces the whole folder ``versions/``. It builds the new set under ``.work/`` and renames it to
``versions.new/``. Then the two folders exchange their names in one step. A system that cannot do that needs two steps,
with ``versions.old/`` between them.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from typing import TYPE_CHECKING, Final

from exporter.archive import atomic
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, InnerPath, NotPlain
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FORMAT_NAME = "blog-exporter-archive"
FORMAT_VERSION = 1
FORMAT_MINIMUM = 1
FORMAT_MAXIMUM = 1

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
CAPTURE = "capture.json"
MAX_CAPTURE_BYTES: Final = 8 << 20
"""The size limit for a ``capture.json``. One that names a thousand addresses has a few hundred kilobytes."""
_VERSIONS = "versions"
_CAPTURES = "captures"
_VERSION_NAMES = re.compile(r"(?<=/)(?:[0-9]{6}|[1-9][0-9]{6,9})(?=/)")
_ASSET: Final = re.compile(r"assets/([0-9a-f]{2})/(\1[0-9a-f]{62})(?:\.[a-z0-9]{1,8})?")
_CAPTURE_NAME: Final = re.compile(rf"{_CAPTURES}/([0-9]{{6}}|[1-9][0-9]{{6,9}})/{re.escape(CAPTURE)}")
FLEET_LEDGER: Final = "fleet.sqlite"
"""The ledger of a fleet, two folders above each of its archives."""
CAPTURE_RUNS: Final = f"{_CAPTURES}/runs.jsonl"
LARGEST_VERSION: Final = 2**32 - 1
"""A state stores version numbers in 32 bits."""
MAX_PRUNES: Final = 4
"""How often a reader starts again because of a prune. A prune takes seconds, so more in a row are deliberate."""


def asset_digest(path: str) -> str | None:
    """Return the SHA-256 that the path of a picture or file contains; ``None`` for any other path."""
    found = _ASSET.fullmatch(path)
    return None if found is None else found[2]


def version_name(number: int) -> str:
    """Return the folder name of a version: at least six digits."""
    return f"{number:06d}"


def manifest_name(number: int) -> str:
    """Return the path of a version's manifest as ``SHA256SUMS`` in the root names it."""
    return f"{_VERSIONS}/{version_name(number)}/{MANIFEST}"


def capture_name(number: int) -> str:
    """Return the path of a capture's description as ``SHA256SUMS`` in the root names it."""
    return f"{_CAPTURES}/{version_name(number)}/{CAPTURE}"


def captures_in(names: Iterable[str]) -> list[int]:
    """Return the numbers of the captures whose descriptions are among the rows of a ``SHA256SUMS``."""
    found = [_CAPTURE_NAME.fullmatch(name) for name in names]
    return numbers_in(each[1] for each in found if each is not None)


def numbers_in(names: Iterable[str]) -> list[int]:
    """Return the version numbers that these folder names stand for in order; other names are ignored.

    One expression searches all names at once: a run lists a folder of thousands several times.
    """
    found = _VERSION_NAMES.findall(f"/{'/'.join(names)}/")
    return sorted(number for number in map(int, found) if 0 < number <= LARGEST_VERSION)


def segment_name(kind: Kind) -> str:
    """Return the name of the file with a kind's lines in a version and in ``latest/``."""
    return f"{kind}.jsonl"


SEGMENTS = tuple(segment_name(kind) for kind in Kind)
NAMES: Final = "names.jsonl"
DECLARED: Final = "declared.jsonl"
OWNER_RECORDS: Final = (NAMES, DECLARED)
"""The files in the root that the owner's commands append to. An archive may lack them; copies have them."""
WHOLE_FILE: Final = 0
"""Stands for a line number if a whole file is missing or has the wrong size."""


def is_inside(path: str) -> bool:
    """Return whether an untrusted relative path is plain and stays below its folder."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return not {"", ".", ".."} & set(path.split("/")) and not {"\0", "\\"} & set(path)


class _Below:
    """A path of a layout. It is made when it is first used, since most users of a layout need few of its paths."""

    def __init__(self, folder: str, *parts: str) -> None:
        self._folder, self._parts = folder, parts

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, layout: object, _owner: type) -> InnerPath:
        folder: InnerPath = getattr(layout, self._folder)
        made = folder.joinpath(*self._parts)
        vars(layout)[self._name] = made  # from now on the attribute itself is found
        return made


class Layout:
    """The paths of the archive at ``root``.

    Attributes:
        capture_runs: a line for each run of ``capture``.
        evidence: signed and timestamped statements about the archive.
        checkpoint: the records that an unfinished run has read.
        forgotten: the notes about records that were removed on purpose.
        names: the later names of the blog, see :mod:`exporter.archive.names`.
        declared: the owner's declarations about flags.
        forgetting: the plan of a removal of records that has begun.
        latest_record: the version in ``latest/``, and the hashes of its files.
        copy_id: the id of a copy in this folder, made by ``sync`` or fetched to be read.
        latest_rows: the ids, hashes and lengths of the lines of ``latest/``.
        latest_index: the hashes of the views' files.
        checked: which segments and pictures were right when they were last read.
        version_log: the rows of ``log``.
        freshness: when each entry was last read, and its validators.
        documents_copy: second copies of ``archive.json`` and of the manifests.
        runs_copy: the second copy of ``runs.jsonl``.
        building: the folder in which a prune builds the new set of versions.
        notified: which problems the owner was already notified of.
        exchanges: the newest API answers in the captures, by address.
        staged_exchanges: a complete capture of API answers, before it moves to ``captures/``.
        replacing: the new set, complete and durable, before it becomes ``versions/``.
        replaced: the old set, on systems where two folders cannot exchange their names in one step.
    """

    info = _Below("root", "archive.json")
    readme = _Below("root", "README.txt")
    readme_ja = _Below("root", "最初にお読みください.txt")
    index = _Below("root", "index.html")
    format_document = _Below("root", "FORMAT.md")
    runs = _Below("root", "runs.jsonl")
    sums = _Below("root", SUMS)
    forgotten = _Below("root", "forgotten.jsonl")
    names = _Below("root", NAMES)
    declared = _Below("root", DECLARED)
    versions = _Below("root", _VERSIONS)
    replacing = _Below("root", "versions.new")
    replaced = _Below("root", "versions.old")
    assets = _Below("root", "assets")
    captures = _Below("root", _CAPTURES)
    capture_runs = _Below("root", *CAPTURE_RUNS.split("/"))
    evidence = _Below("root", "evidence")
    latest = _Below("root", "latest")
    work = _Below("root", ".work")
    lock = _Below("work", "lock")
    checkpoint = _Below("work", "checkpoint")
    latest_record = _Below("work", "latest.json")
    copy_id = _Below("work", "copy-id")
    latest_rows = _Below("work", "latest.rows")
    latest_index = _Below("work", "views.jsonl")
    checked = _Below("work", "checked.jsonl")
    version_log = _Below("work", "versions.json")
    freshness = _Below("work", "freshness.jsonl")
    site_facts = _Below("work", "site.facts")
    site_pictures = _Below("work", "site.pictures")
    documents_copy = _Below("work", "documents.jsonl")
    runs_copy = _Below("work", "runs.jsonl")
    building = _Below("work", "new-versions")
    forgetting = _Below("work", "forgetting.json")
    notified = _Below("work", "notified.json")
    known_damage = _Below("work", "damaged.json")
    exchanges = _Below("work", "exchanges.sqlite")
    staged_exchanges = _Below("work", "exchanges.new")

    def __init__(self, root: Path) -> None:
        self.root = InnerPath.rooted(root)

    def folders(self) -> tuple[InnerPath, ...]:
        """Return the four folders of the root."""
        return (self.versions, self.assets, self.latest, self.work)

    def pages(self, kind: Kind) -> InnerPath:
        """Return the file with notes about a list's pages, by the hashes of their answers."""
        return self.work / f"pages-{kind}.jsonl"

    def version(self, number: int) -> InnerPath:
        """Return ``versions/000001/``."""
        return self.root.joinpath(_VERSIONS, version_name(number))

    def manifest(self, number: int) -> InnerPath:
        """Return ``versions/000001/manifest.json``."""
        return self.root.joinpath(_VERSIONS, version_name(number), MANIFEST)

    def segment(self, number: int, kind: Kind) -> InnerPath:
        """Return ``versions/000001/entries.jsonl``."""
        # One step, not three: this runs for thousands of versions.
        return self.root.joinpath(_VERSIONS, version_name(number), segment_name(kind))

    def latest_segment(self, kind: Kind) -> InnerPath:
        """Return ``latest/entries.jsonl``."""
        return self.latest / segment_name(kind)


def version_numbers(layout: Layout) -> list[int]:
    """Return the version numbers, oldest first.

    Raises:
        ArchiveDamaged: ``versions/`` is a link.
    """
    names: list[str] = []
    for _ in range(MAX_PRUNES):
        before = versions_identity(layout)
        try:
            names = layout.versions.names()
        except NotPlain as error:
            raise atomic.translate(error, layout.versions) from error
        except (FileNotFoundError, NotADirectoryError):
            names = []
        if versions_identity(layout) == before:
            # Otherwise a prune replaced the folder meanwhile, and was emptying the listed one.
            break
    return numbers_in(names)


def capture_numbers(layout: Layout) -> list[int]:
    """Return the capture numbers, oldest first.

    Raises:
        ArchiveDamaged: ``captures/`` is a link.
    """
    try:
        return numbers_in(layout.captures.names())
    except NotPlain as error:
        raise atomic.translate(error, layout.captures) from error
    except (FileNotFoundError, NotADirectoryError):
        return []


def capture_sha256(layout: Layout, number: int) -> str | None:
    """Return the hash of a capture's ``capture.json`` in hexadecimal; ``None`` if it cannot be read."""
    try:
        return hashlib.sha256((layout.root / capture_name(number)).read_bytes(MAX_CAPTURE_BYTES)).hexdigest()
    except OSError:
        return None


def versions_identity(layout: Layout) -> tuple[int, int] | None:
    """Return device and inode of ``versions/``. Another folder of this name has another identity."""
    try:
        found = layout.versions.lstat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def manifest_sha256(layout: Layout, version: int) -> str | None:
    """Return the hash of a version's manifest in hexadecimal; ``None`` if it cannot be read."""
    try:
        return hashlib.sha256(layout.manifest(version).read_bytes(MAX_DOCUMENT_BYTES)).hexdigest()
    except OSError:
        return None


def replace_versions(layout: Layout) -> None:
    """Replace ``versions/`` by the set that a prune has built; the caller holds the lock.

    The files in the set are durable already. This function makes its folders durable.
    """
    for folder in (*layout.building.iterdir(), layout.building):
        atomic.sync_folder(folder)
    layout.building.rename(layout.replacing)
    atomic.sync_folder(layout.root)
    if not atomic.exchange(layout.replacing, layout.versions):
        layout.versions.rename(layout.replaced)
        with contextlib.suppress(FileNotFoundError):
            # A reader that found no versions/ may have renamed the new set already.
            layout.replacing.rename(layout.versions)
    atomic.sync_folder(layout.root)
    clear_replaced(layout)


def recover_versions(layout: Layout) -> None:
    """Rename the new set to ``versions/`` if a kill came before that. Needs no lock; ignores missing write access."""
    if layout.versions.kind() is not None:
        return
    with contextlib.suppress(OSError):
        layout.replacing.rename(layout.versions)
        atomic.sync_folder(layout.root)


def clear_replaced(layout: Layout) -> None:
    """Remove the folders that a prune left next to ``versions/``; the caller holds the lock."""
    recover_versions(layout)
    if layout.versions.kind() is not None:
        for folder in (layout.replacing, layout.replaced, layout.building):
            atomic.remove_folder(folder)


def is_prune_under_way(layout: Layout) -> bool:
    """Return whether a prune is writing, or was killed while it wrote."""
    return any(folder.kind() is not None for folder in (layout.building, layout.replacing, layout.replaced))
