"""The files of ``evidence/``: seals, each with a statement of hashes and the proofs over that statement.

A seal is a folder ``evidence/000001/`` that appears by one rename and is never changed. Its statement, ``SHA256SUMS``,
names the newest manifest, from which the hashes of all records, pictures and earlier versions follow. It also names
every file of the seal before it. A reader that knows nothing of seals ignores the folder. The root's ``SHA256SUMS``
finds accidents, because everyone can write it again; a seal also finds a forged history.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from exporter.archive import atomic
from exporter.archive.documents import head_hash, newest_capture
from exporter.archive.layout import SUMS, capture_name, captures_in, manifest_name, numbers_in, version_name
from exporter.archive.manifest import read_sums, write_sums
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.frozen import frozen
from exporter.message import CommandLine, message, suggested

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.layout import Layout

FOLDER: Final = "evidence"
SSH_SIGNATURE: Final = f"{SUMS}.sig"
MINISIGN_SIGNATURE: Final = f"{SUMS}.minisig"
MINISIGN_KEY: Final = "minisign.pub"
TIMESTAMP: Final = f"{SUMS}.tsr"
CHAIN: Final = "tsa-chain.pem"
PARTS: Final = (SSH_SIGNATURE, MINISIGN_SIGNATURE, MINISIGN_KEY, TIMESTAMP, CHAIN, SUMS)
"""The files of a seal in the order of sending: it exists once its statement does."""
MAX_PART_BYTES: Final = 64 * 1024
"""The size limit for a file of a seal; a token with a long chain of certificates has about 10 KB."""
_NAME: Final = re.compile(rf"{FOLDER}/([0-9]{{6}}|[1-9][0-9]{{6,9}})/({'|'.join(map(re.escape, PARTS))})")
_UP: Final = "../../"
_HEAD: Final = "# head "
_REWRITTEN: Final = "# rewritten"
_MANIFEST_ROW: Final = re.compile(r"versions/([0-9]{6,10})/manifest\.json")
_BEFORE_ROW: Final = re.compile(rf"\.\./([0-9]{{6,10}})/({'|'.join(map(re.escape, PARTS))})")


def seal_place(number: int) -> str:
    """Return the path to a seal's folder, such as ``evidence/000001``."""
    return f"{FOLDER}/{version_name(number)}"


def part_name(number: int, part: str) -> str:
    """Return the path to a file in a seal, such as ``evidence/000001/SHA256SUMS``."""
    return f"{seal_place(number)}/{part}"


def place_in_evidence(name: str) -> tuple[int | None, str]:
    """Return the number of a seal and its file for a path in an archive; ``None`` for all other paths."""
    found = _NAME.fullmatch(name)
    return (None, "") if found is None else (int(found[1]), found[2])


@frozen
class Statement:
    """The content of a seal's ``SHA256SUMS``: the archive's state when it was sealed. Hashes are SHA-256 in hex.

    Attributes:
        info: the hash of ``archive.json``.
        version: the newest version.
        manifest: the hash of its manifest.
        capture: number and hash of the newest capture's ``capture.json``; ``None`` without captures.
        head: the hash of the newest line of ``runs.jsonl``; ``None`` if that line has no links.
        before: the number of the seal before it; 0 for the first.
        proofs: the hashes of that seal's files, by name.
        rewritten: the owner confirms that the history was rewritten on purpose since the seal before it.
    """

    info: str
    version: int
    manifest: str
    capture: tuple[int, str] | None = None
    head: str | None = None
    before: int = 0
    proofs: Mapping[str, str] = field(default_factory=dict)
    rewritten: bool = False

    def encode(self) -> bytes:
        """Write it so that ``sha256sum -c`` inside the folder of the seal checks it."""
        rows = {f"{_UP}archive.json": self.info, f"{_UP}{manifest_name(self.version)}": self.manifest}
        if self.capture is not None:
            rows[f"{_UP}{capture_name(self.capture[0])}"] = self.capture[1]
        folder = version_name(self.before)
        rows |= {f"../{folder}/{name}": self.proofs[name] for name in PARTS if name in self.proofs}
        notes = [] if self.head is None else [f"{_HEAD}{self.head}\n"]
        notes += [f"{_REWRITTEN}\n"] if self.rewritten else []
        return write_sums(rows) + "".join(notes).encode("ascii")

    @classmethod
    def decode(cls, data: bytes) -> Statement:
        """Parse a statement.

        Raises:
            ValueError: the bytes are not exactly those of a statement.
        """
        rows = read_sums(data)
        inside = {name.removeprefix(_UP): digest for name, digest in rows.items() if name.startswith(_UP)}
        manifests = [(int(found[1]), inside[found[0]]) for found in map(_MANIFEST_ROW.fullmatch, inside) if found]
        earlier = [(int(found[1]), found[2], rows[found[0]]) for found in map(_BEFORE_ROW.fullmatch, rows) if found]
        lines = data.decode("ascii", "replace").splitlines()
        captures = [(number, inside[capture_name(number)]) for number in captures_in(inside)]
        if len(manifests) == 1 and "archive.json" in inside:
            found = cls(
                inside["archive.json"],
                *manifests[0],
                capture=next(iter(captures), None),
                head=next((each.removeprefix(_HEAD) for each in lines if each.startswith(_HEAD)), None),
                before=next((number for number, _, _ in earlier), 0),
                proofs={name: digest for _, name, digest in earlier},
                rewritten=_REWRITTEN in lines,
            )
            if found.encode() == data:
                return found
        raise ValueError(message("it is not the statement of a seal"))

    def covers_the_same(self, other: Statement) -> bool:
        """Return whether another statement names the same content. A run without a change only moves the head."""
        return (self.info, self.version, self.manifest, self.capture) == (
            other.info, other.version, other.manifest, other.capture,
        )  # fmt: skip


@frozen
class Seal:
    """The files of a seal.

    Attributes:
        number: its number, from 1; 0 if it was kept elsewhere.
        parts: the content of its files by name.
        place: its path for messages.
    """

    number: int
    parts: Mapping[str, bytes]
    place: str

    @property
    def data(self) -> bytes:
        """The bytes of its statement, which all proofs are about."""
        return self.parts[SUMS]

    @property
    def digest(self) -> str:
        """The SHA-256 of its statement."""
        return hashlib.sha256(self.data).hexdigest()

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each file by name."""
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.parts.items()}


def seal_numbers(layout: Layout) -> list[int]:
    """Return all seal numbers, oldest first.

    Raises:
        NotPlain: ``evidence/`` is a link.
    """
    try:
        return numbers_in(layout.evidence.names())
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_seal(layout: Layout, number: int) -> Seal:
    """Read the files of a seal; other names in its folder are ignored.

    Raises:
        OSError: it has no statement, or a file is a link, too large or unreadable.
    """
    folder = layout.evidence / version_name(number)
    names = folder.names()
    parts = {name: (folder / name).read_bytes(MAX_PART_BYTES) for name in PARTS if name in names or name == SUMS}
    return Seal(number, parts, seal_place(number))


def statement_now(layout: Layout, version: int, manifest: bytes, before: Seal | None, *, rewritten: bool) -> Statement:
    """Return the statement about the present archive; the caller holds the lock.

    Args:
        layout: the archive.
        version: its newest version.
        manifest: the bytes of that version's manifest.
        before: the newest seal.
        rewritten: as in :class:`Statement`.

    Raises:
        OSError: ``archive.json`` cannot be read.
    """
    return Statement(
        info=hashlib.sha256(layout.info.read_bytes(MAX_DOCUMENT_BYTES)).hexdigest(),
        version=version,
        manifest=hashlib.sha256(manifest).hexdigest(),
        capture=newest_capture(layout, {}),
        head=head_hash(layout),
        before=0 if before is None else before.number,
        proofs={} if before is None else before.digests(),
        rewritten=rewritten,
    )


def write_seal(layout: Layout, number: int, parts: Mapping[str, bytes]) -> Path:
    """Write a seal, which appears by one rename; the caller holds the lock.

    Raises:
        NoSpace: the disk is full; nothing changed.
    """
    target = layout.evidence / version_name(number)
    building = layout.work / "new-seal"
    with atomic.translated(layout.evidence):
        atomic.remove_folder(building)
        atomic.make_folder(building)
        for name, data in parts.items():
            atomic.write_file(building / name, data)
        atomic.make_folder(layout.evidence)
        atomic.move_folder(building, target)
    return target


def confirmation(root: Path, key: Path | None) -> CommandLine:
    """Return the command by which the owner confirms with a key that the history was changed on purpose."""
    return suggested("seal", root, "--rewritten", "--seal-key", key or "FILE")
