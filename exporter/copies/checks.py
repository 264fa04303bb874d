"""Check a copy: a sample at each sync, everything like ``verify``, or an encrypted copy without its key.

A copy can lose data silently: a disk flips a bit, a provider restores an old state, a person removes files. Sizes and
names show little of that, so each sync hashes a thirtieth of all objects. Their names determine the turn.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.checks import ChecksumCache, Finding, FindingCode
from exporter.archive.layout import MANIFEST, OWNER_RECORDS, SEGMENTS, SUMS, Layout, asset_digest
from exporter.archive.manifest import version_sums
from exporter.archive.safe_files import HeldFolder
from exporter.archive.state import State
from exporter.archive.verify import OnProgress, VersionCheck, check_seal
from exporter.clock import SystemClock
from exporter.copies.age_files import HEADER_READ, payload_size
from exporter.copies.captures import check_copied, documents_of, expected_digest
from exporter.copies.contents import (
    FORGOTTEN,
    INFO,
    NEW_VERSIONS,
    PARTS,
    PLAIN_DOCUMENTS,
    RUNS,
    VERSIONS,
    LocalHistory,
    SecondCopy,
    part_name,
    place_in_capture,
    place_in_version,
)
from exporter.copies.encrypted import KEYS, MARKER, README
from exporter.copies.evidence import expected_seal_digest, seal_documents
from exporter.copies.hidden_names import ENDING, padded
from exporter.copies.memory import KnownCopy
from exporter.copies.store import Store, StoredObject
from exporter.copies.transfer import in_parallel
from exporter.errors import ArchiveDamaged, NoKeyFits
from exporter.message import message
from exporter.model.asset import is_sha256

SYNCS_PER_CYCLE: Final = 30
"""The number of syncs that hash a whole copy."""
_MAX_UNKNOWN_BYTES: Final = 1 << 30
"""The limit for a segment whose size is unknown."""
_USUAL_HEADER_BYTES: Final = 2048
_BLOG: Final = r"(blogs/[0-9a-z]+/)?"
_STORED_PART: Final = re.compile(rf"{_BLOG}versions(?:\.new)?/([0-9]{{6,10}})/([A-Za-z0-9_.]+)")
_STORED_CAPTURE: Final = re.compile(rf"{_BLOG}captures/(?:[0-9]{{6,10}}/)?[A-Za-z0-9_.]+")
_STORED_NAME: Final = re.compile(
    rf"{_BLOG}(?:assets/[0-9a-z]{{2}}/[0-9a-z]+|evidence/[0-9]{{6,10}}/[A-Za-z0-9._-]+|[A-Za-z0-9._]+)"
)


def check_sample(copy: SecondCopy, history: LocalHistory, info: bytes, known: KnownCopy) -> list[str]:
    """Hash the next thirtieth and the objects known as damaged, and count the turn.

    Args:
        copy: the copy before the sync.
        history: the archive's history.
        info: the content of ``archive.json``.
        known: the state of the copy.

    Returns:
        The names of the objects with a wrong hash.
    """
    turn = (known.turn if known.turn or known.head else SystemClock().now().toordinal()) % SYNCS_PER_CYCLE
    known.turn = turn + 1
    names = [name for name in sorted(copy.objects) if turn_of(name) == turn or name in known.damaged]
    numbers = set(history.numbers())
    layout = history.layout
    expected = (
        (
            name,
            _expected(history, numbers, info, name)
            or expected_digest(layout, name)
            or expected_seal_digest(layout, name),
        )
        for name in names
    )
    jobs = (partial(_is_right, copy, name, digest, known.sealed) for name, digest in expected if digest is not None)
    known.damaged = [name for name, right in in_parallel(jobs) if not right]
    return known.damaged


def turn_of(name: str) -> int:
    """Return the turn in which an object is hashed."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % SYNCS_PER_CYCLE


def _expected(history: LocalHistory, numbers: set[int], info: bytes, name: str) -> str | None:
    """Return the SHA-256 that the archive has for an immutable object."""
    number, part = place_in_version(name)
    if name == INFO:
        return hashlib.sha256(info).hexdigest()
    if number is None:
        return asset_digest(name)
    with suppress(ArchiveDamaged):
        if number in numbers:
            digest, manifest = history.manifest(number)
            if part == MANIFEST:
                return digest
            if part == SUMS:
                sums = version_sums(digest, hashlib.sha256(info).hexdigest(), manifest.files)
                return hashlib.sha256(sums).hexdigest()
            if part in manifest.files:
                return manifest.files[part].sha256
    return None


def _is_right(copy: SecondCopy, name: str, expected: str, sealed: dict[str, str]) -> tuple[str, bool]:
    """Compare an object's hash; if it cannot be decrypted, compare its encrypted bytes with the first reading."""
    try:
        return name, _hash(copy.store.read(name)) == expected
    except NoKeyFits:
        if not (asset_digest(name) or place_in_version(name)[1] in SEGMENTS or place_in_capture(name)[0]):
            return name, False
        found = _hash(copy.store.read_sealed(name))
        return name, sealed.setdefault(name, found) == found
    except ArchiveDamaged:
        return name, False


def _hash(pieces: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


class CopyCheck:
    """A full check of a copy without keeping it; the ``with`` block removes its temporary folder.

    The folder has the documents and manifests, so that an archive's checks can read them. It has a version's lines only
    during the check of this version. Pictures are hashed as they arrive.

    Args:
        store: the store of the copy.

    Attributes:
        archive: the documents and manifests, as an archive without lines and pictures.

    Raises:
        NoArchive: there is no copy.
        NewerFormat, ArchiveDamaged: its ``archive.json`` cannot be read.
    """

    def __init__(self, store: Store) -> None:
        self._copy = SecondCopy(store)
        info, _ = self._copy.info()
        self._info_sha256 = hashlib.sha256(info).hexdigest()
        self._folder = tempfile.TemporaryDirectory(prefix="blog-exporter-verify-")
        self._layout = Layout(Path(self._folder.name))
        self._write(INFO, info)
        for name in (*PLAIN_DOCUMENTS, RUNS, SUMS, FORGOTTEN, *OWNER_RECORDS):
            self._fetch(name, name)
        for name, data in (*documents_of(self._copy), *seal_documents(self._copy)):
            self._write(name, data)
        self._unsealed = not {RUNS, SUMS} & self._copy.objects.keys()
        if self._unsealed:
            self._write(RUNS, b"")
        atomic.make_folder(self._layout.versions)
        for number in self._copy.numbers():
            for part in (MANIFEST, SUMS):
                self._fetch(self._copy.part(number, part), part_name(number, part))
        self.archive = Archive.open(self._layout.root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def findings(self, progress: OnProgress) -> Iterator[Finding]:
        """Yield the findings; ``progress`` counts the versions and pictures checked."""
        numbers, assets = self._copy.numbers(), self._copy.assets()
        total = len(numbers) + len(assets)
        yield from check_seal(self.archive)
        state = State(self.archive.info.blog_id)
        cache = ChecksumCache(self._layout, quick=False)
        parent: tuple[int, str | None] | None = None
        named: dict[str, str] = {}
        foldable = True
        for done, number in enumerate(numbers, 1):
            self._fetch_segments(number)
            with HeldFolder(self._layout.version(number)) as folder:
                version = VersionCheck(folder, number, self._info_sha256, cache, state=state if foldable else None)
                for finding in version.files(parent):
                    yield finding
                    foldable = False
                if foldable:
                    yield from version.fold()
                named.update((str(data.get("sha256")), str(data.get("url"))) for _, data in version.assets())
            for part in SEGMENTS:
                (self._layout.version(number) / part).unlink(missing_ok=True)
            parent = number, version.digest
            progress(done, total)
        state.close()
        digests = {asset_digest(name) for name in assets}
        for digest, url in named.items():
            if is_sha256(digest) and digest not in digests:
                detail = message("it is the content of {url}", url=url)
                yield Finding(FindingCode.ASSET_MISSING, f"assets/{digest[:2]}/{digest}", detail)
        yield from check_copied(self._copy)
        for done, (name, right) in enumerate(in_parallel(partial(self._check_asset, name) for name in assets), 1):
            if not right:
                yield Finding(FindingCode.ASSET_DAMAGED, name, message("its content is not what its name says"))
            progress(len(numbers) + done, total)
        yield from self._unfinished()

    def _unfinished(self) -> Iterator[Finding]:
        """Yield foreign objects and the objects of unfinished transfers."""
        if self._unsealed:
            yield Finding(FindingCode.UNFINISHED, RUNS, message("it is sent last, and does not exist yet"))
        for number in self._copy.unfinished():
            yield Finding(FindingCode.UNFINISHED, self._copy.part(number, "").rstrip("/"), _no_manifest())
        if self._copy.pruning is not None:
            yield Finding(FindingCode.UNFINISHED, VERSIONS, message("a prune is running or was interrupted"))
        for name in self._copy.strange:
            yield Finding(FindingCode.STRANGE_FILE, name, message("no part of the format"))

    def _check_asset(self, name: str) -> tuple[str, bool]:
        try:
            return name, _hash(self._copy.store.read(name)) == asset_digest(name)
        except ArchiveDamaged:
            return name, False

    def _fetch(self, name: str, inside: str) -> None:
        """Write a document to the folder; if it is damaged, the checks find it missing."""
        with suppress(ArchiveDamaged):
            self._write(inside, self._copy.document(name))

    def _write(self, inside: str, data: bytes) -> None:
        path = self._layout.root / inside
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.write_small(path, data)

    def _fetch_segments(self, number: int) -> None:
        """Write a version's segments unchecked, but no more bytes than the manifest says."""
        files: dict[str, Any] = {}
        with suppress(ArchiveDamaged):
            files = self._copy.manifest(number)[1].files
        for part in SEGMENTS:
            path = self._layout.version(number) / part
            most = files[part].bytes if part in files else _MAX_UNKNOWN_BYTES
            try:
                with atomic.translated(path), atomic.hashing(path) as file:
                    for piece in self._copy.store.read(self._copy.part(number, part)):
                        file.write(piece)
                        if file.size > most:
                            break
                    file.close(sync=False)
            except ArchiveDamaged:
                path.unlink(missing_ok=True)


class KeylessCheck:
    """A check of an encrypted copy without a key: no object is missing or truncated.

    Encrypted objects have padded lengths, so nearly every truncated object has an invalid length. Changed, exchanged or
    foreign objects are only found with an identity.

    Args:
        inner: the store of the encrypted objects.

    Attributes:
        objects: the number of encrypted objects found.
        bytes: their size.
        versions: the number of versions in all archives.
    """

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self._found = [each for each in inner.list() if each.name not in {MARKER, README}]
        self._versions: dict[str, set[str]] = defaultdict(set)
        self.objects = self.bytes = self.versions = 0

    def findings(self, progress: Callable[[int, int], None]) -> Iterator[Finding]:
        """Yield the findings; ``progress`` counts the objects checked."""
        if not any(each.name.startswith(KEYS) for each in self._found):
            yield Finding(FindingCode.DOCUMENT_DAMAGED, KEYS, message("the keys of the copy do not exist"))
        for done, each in enumerate(self._found, 1):
            yield from self._check(each)
            progress(done, len(self._found))
        for folder, parts in sorted(self._versions.items()):
            if MANIFEST not in parts:
                replaced = folder.replace(f"{VERSIONS}/", f"{NEW_VERSIONS}/")
                if MANIFEST in self._versions.get(replaced, ()):
                    reason = message("a prune of this copy was interrupted: run sync --prune with --identity")
                    yield Finding(FindingCode.MANIFEST_MISSING, f"{folder}{MANIFEST}{ENDING}", reason)
                    continue
                yield Finding(FindingCode.UNFINISHED, folder, _no_manifest())
                continue
            self.versions += 1
            for part in sorted({*PARTS} - parts):
                yield Finding(FindingCode.SEGMENT_MISSING, f"{folder}{part}{ENDING}", message("it does not exist"))

    def _check(self, found: StoredObject) -> Iterator[Finding]:
        name = found.name.removesuffix(ENDING)
        part = _STORED_PART.fullmatch(name)
        captured = _STORED_CAPTURE.fullmatch(name) is not None
        if name == found.name or not (part or captured or _STORED_NAME.fullmatch(name) or name.startswith(KEYS)):
            yield Finding(FindingCode.STRANGE_FILE, found.name, message("no part of an encrypted copy"))
            return
        self.objects += 1
        self.bytes += found.size or 0
        if part is not None:
            self._versions[name.removesuffix(part[3])].add(part[3])
        if not self._is_whole(found):
            code = FindingCode.ASSET_DAMAGED if "assets/" in name else FindingCode.DOCUMENT_DAMAGED
            code = FindingCode.CAPTURE_DAMAGED if captured else code
            code = FindingCode.SEGMENT_DAMAGED if part is not None and part[3] in SEGMENTS else code
            yield Finding(code, found.name, message("it is truncated, or not an encrypted file of this program"))

    def _is_whole(self, found: StoredObject) -> bool:
        try:
            beginning = self._inner.read_start(found.name, _USUAL_HEADER_BYTES)
            if b"\n--- " not in beginning:
                beginning = self._inner.read_start(found.name, HEADER_READ)
        except ArchiveDamaged:
            return False
        if found.size is None:
            return payload_size(beginning, 1 << 40) is not None
        length = payload_size(beginning, found.size)
        return length is not None and (found.name.startswith(KEYS) or padded(length) == length)


def _no_manifest() -> str:
    return message("its manifest does not exist yet: a transfer is running or was interrupted")
