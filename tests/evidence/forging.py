"""A forger with write access: every kind of change to a sealed archive, with all hashes made to agree again."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minisign import KeyPair

from exporter import lossless_json
from exporter.archive.documents import seal
from exporter.archive.evidence import (
    MINISIGN_KEY,
    MINISIGN_SIGNATURE,
    SSH_SIGNATURE,
    TIMESTAMP,
    Statement,
    read_seal,
    statement_now,
)
from exporter.archive.layout import SEGMENTS, Layout, manifest_name
from exporter.archive.lines import put_line
from exporter.archive.manifest import SegmentInfo, line_digest, version_sums
from exporter.evidence import ssh_keys

SEALED = (1, 2, 3)
"""The versions that the newest seal covers."""


@dataclass
class Forger:
    """Changes an archive's files, and puts them back.

    Attributes:
        root: the archive.
        rng: chooses the change.
        key: a key of the forger's own.
        token: makes a token for any statement, by the forger's own authority.
    """

    root: Path
    rng: random.Random
    key: Path
    token: Callable[[bytes], bytes]
    _before: dict[Path, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._before = {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def restore(self) -> None:
        """Put every file back that differs."""
        for path in sorted(self.root.rglob("*"), reverse=True):
            if path.is_file() and path not in self._before:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        for path, data in self._before.items():
            if not path.exists() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

    def differs(self) -> bool:
        """Return whether a file has other bytes than before."""
        return any(path.read_bytes() != data for path, data in self._before.items())

    def segment(self) -> Path:
        """Choose a segment with lines."""
        found = [
            path for number in SEALED for name in SEGMENTS if (path := self._version(number) / name).stat().st_size
        ]
        return self.rng.choice(found)

    def _version(self, number: int) -> Path:
        return self.root / "versions" / f"{number:06d}"

    def flip(self, path: Path) -> None:
        """Flip a bit."""
        data = bytearray(path.read_bytes())
        data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
        path.write_bytes(data)

    def edit_record(self) -> None:
        """Change, remove, add or exchange a record, with the right hash of its line."""
        path = self.segment()
        lines = path.read_bytes().splitlines(keepends=True)
        at = self.rng.randrange(len(lines))
        line = lossless_json.loads(lines[at])
        what = self.rng.choice(("change", "remove", "add"))
        if what == "remove" or line["op"] == "remove":
            del lines[at]
        else:
            record_id = line["id"] if what == "change" else f"9{self.rng.randrange(10**9)}"
            data = {**line["data"], "forged": self.rng.random()}
            frozen = lossless_json.freeze(data)
            new = put_line(record_id, frozen)
            lines = [*lines[:at], new, *lines[at + 1 :]] if what == "change" else [*lines, new]
        path.write_bytes(b"".join(lines))

    def rechain(self) -> None:
        """Make every hash, count and link of the history agree with the lines."""
        layout = Layout(self.root)
        info = hashlib.sha256(layout.info.read_bytes()).hexdigest()
        parent: dict[str, Any] | None = None
        renamed: dict[str, str] = {}
        records: dict[str, set[str]] = {}
        for folder in sorted((self.root / "versions").iterdir()):
            path = folder / "manifest.json"
            old = path.read_bytes()
            document = json.loads(old)
            for name in SEGMENTS:
                data = (folder / name).read_bytes()
                lines = data.splitlines()
                digest = hashlib.sha256(data).hexdigest()
                document["files"][name] = {"lines": len(lines), "bytes": len(data), "sha256": digest}
                known = records.setdefault(name.removesuffix(".jsonl"), set())
                for line in map(json.loads, lines):
                    (known.add if line["op"] == "put" else known.discard)(line["id"])
            for kind, ids in records.items():
                document["counts"][kind]["total"] = len(ids)
            document["parent"] = parent
            new = lossless_json.dumps(document, pretty=True) + b"\n"
            path.write_bytes(new)
            digest = hashlib.sha256(new).hexdigest()
            files = {
                name: SegmentInfo(each["lines"], each["bytes"], each["sha256"])
                for name, each in document["files"].items()
            }
            (folder / "SHA256SUMS").write_bytes(version_sums(digest, info, files))
            renamed[hashlib.sha256(old).hexdigest()] = digest
            parent = {"version": document["version"], "sha256": digest}
        self.relink_runs(lambda run: {**run, "manifest_sha256": renamed.get(run["manifest_sha256"])})

    def relink_runs(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change the lines of runs, link them again, and seal the root again."""
        path = self.root / "runs.jsonl"
        before, lines = None, []
        for line in path.read_bytes().splitlines():
            made = lossless_json.dumps({**change(json.loads(line)), "previous": before}) + b"\n"
            before = line_digest(made)
            lines.append(made)
        path.write_bytes(b"".join(lines))
        layout = Layout(self.root)
        names = {"runs.jsonl", "archive.json", *(manifest_name(number) for number in (1, 2, 3, 4))}
        (self.root / "SHA256SUMS").unlink()
        seal(layout, anew=names)

    def forge_seals(self, *, signed: bool, stamped: bool, keep_signature: bool = False) -> None:
        """Write all seals again for the present history, as well as a forger can."""
        before: dict[str, str] = {}
        runs = (self.root / "runs.jsonl").read_bytes().splitlines()
        for folder in sorted((self.root / "evidence").iterdir()):
            old = Statement.decode((folder / "SHA256SUMS").read_bytes())
            manifest = self._version(old.version) / "manifest.json"
            new = Statement(
                info=hashlib.sha256((self.root / "archive.json").read_bytes()).hexdigest(),
                version=old.version,
                manifest=hashlib.sha256(manifest.read_bytes()).hexdigest() if manifest.exists() else old.manifest,
                capture=old.capture,
                head=line_digest(runs[-1]),
                before=old.before,
                proofs=before,
            )
            data = new.encode()
            (folder / "SHA256SUMS").write_bytes(data)
            if signed:
                (folder / SSH_SIGNATURE).write_bytes(ssh_keys.sign(data, self.key))
            elif not keep_signature:
                (folder / SSH_SIGNATURE).unlink(missing_ok=True)
            if stamped:
                (folder / TIMESTAMP).write_bytes(self.token(data))
            elif not keep_signature:
                (folder / TIMESTAMP).unlink(missing_ok=True)
                (folder / "tsa-chain.pem").unlink(missing_ok=True)
            before = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


Tampering = Callable[[Forger], None]


def record_bytes(forger: Forger) -> None:
    forger.flip(forger.segment())


def removed_line(forger: Forger) -> None:
    path = forger.segment()
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[forger.rng.randrange(len(lines))]
    path.write_bytes(b"".join(lines))


def swapped_lines(forger: Forger) -> None:
    path = next(each for each in iter(forger.segment, None) if each.read_bytes().count(b"\n") > 1)
    lines = path.read_bytes().splitlines(keepends=True)
    one, other = forger.rng.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]
    path.write_bytes(b"".join(lines))


def manifest_field(forger: Forger) -> None:
    path = forger.root / manifest_name(forger.rng.choice(SEALED))
    document = json.loads(path.read_bytes())
    name = forger.rng.choice(["base_url", "tool", "started_at", "finished_at"])
    year = forger.rng.randrange(1990, 2090)
    document[name] = f"{year}-01-01T00:00:00Z" if name.endswith("_at") else f"forged {forger.rng.random()}"
    path.write_bytes(lossless_json.dumps(document, pretty=True) + b"\n")


def rechained_manifest_field(forger: Forger) -> None:
    manifest_field(forger)
    forger.rechain()


def rechained_records(forger: Forger) -> None:
    forger.edit_record()
    forger.rechain()


def rechained_many(forger: Forger) -> None:
    for _ in range(forger.rng.randrange(2, 5)):
        forger.edit_record()
    if not forger.differs():  # one edit undid the other
        forger.edit_record()
    forger.rechain()


def removed_version(forger: Forger) -> None:
    shutil.rmtree(forger.root / "versions" / f"{forger.rng.choice(SEALED):06d}")
    forger.rechain()


def runs_rewritten(forger: Forger) -> None:
    forger.relink_runs(lambda run: {**run, "forged": forger.rng.random()})


def archive_json(forger: Forger) -> None:
    path = forger.root / "archive.json"
    path.write_bytes(path.read_bytes().replace(b"2026", str(forger.rng.randrange(1990, 2026)).encode()))
    forger.rechain()


def asset_bytes(forger: Forger) -> None:
    forger.flip(forger.rng.choice([path for path in (forger.root / "assets").rglob("*") if path.is_file()]))


def replaced_statement(forger: Forger) -> None:
    """The history is forged, and the statements agree with it; the proofs are the old ones."""
    forger.edit_record()
    forger.rechain()
    forger.forge_seals(signed=False, stamped=False, keep_signature=True)


def without_proofs(forger: Forger) -> None:
    forger.edit_record()
    forger.rechain()
    forger.forge_seals(signed=False, stamped=False)


def older_seal_put_back(forger: Forger) -> None:
    """The newest seal is replaced by the files of the first one."""
    folder = forger.root / "evidence"
    shutil.rmtree(folder / "000002")
    shutil.copytree(folder / "000001", folder / "000002")


def first_seal_removed(forger: Forger) -> None:
    shutil.rmtree(forger.root / "evidence" / "000001")


def seal_bytes(forger: Forger) -> None:
    """A flipped bit in any file that the second seal names."""
    forger.flip(forger.rng.choice(sorted((forger.root / "evidence" / "000001").iterdir())))


def all_seals_removed(forger: Forger) -> None:
    """Only a seal that was kept elsewhere finds this."""
    if forger.rng.random() < 0.5:
        forger.edit_record()
        forger.rechain()
    shutil.rmtree(forger.root / "evidence")


def newest_seal_and_version_removed(forger: Forger) -> None:
    """A consistent earlier state with its own seal. Only a seal that was kept elsewhere finds this."""
    shutil.rmtree(forger.root / "evidence" / "000002")
    shutil.rmtree(forger.root / "versions" / "000004")
    shutil.rmtree(forger.root / "versions" / "000003")
    lines = (forger.root / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (forger.root / "runs.jsonl").write_bytes(b"".join(lines[:2]))
    forger.relink_runs(lambda run: run)


def confirmed_by_a_stranger(forger: Forger) -> None:
    """The forger's key also signs the newest seal, and then confirms the forged history as a prune of its owner."""
    forger.edit_record()
    forger.rechain()
    before = forger.root / "evidence" / "000002"
    pair = KeyPair.generate()

    def sign(folder: Path) -> None:
        signature = pair.secret_key.sign((folder / "SHA256SUMS").read_bytes())
        (folder / MINISIGN_SIGNATURE).write_bytes(bytes(signature) + b"\n")
        (folder / MINISIGN_KEY).write_bytes(bytes(pair.public_key) + b"\n")

    sign(before)
    layout = Layout(forger.root)
    manifest = layout.manifest(4).read_bytes()
    folder = forger.root / "evidence" / "000003"
    folder.mkdir()
    statement = statement_now(layout, 4, manifest, read_seal(layout, 2), rewritten=True)
    (folder / "SHA256SUMS").write_bytes(statement.encode())
    sign(folder)


def replaced_key(forger: Forger) -> None:
    """All seals are made again with the forger's key and the forger's authority."""
    forger.edit_record()
    forger.rechain()
    forger.forge_seals(signed=True, stamped=forger.rng.random() < 0.5)


FAST: dict[str, Tampering] = {
    each.__name__: each
    for each in (
        record_bytes, removed_line, swapped_lines, manifest_field, rechained_manifest_field, rechained_records,
        rechained_many, removed_version, runs_rewritten, archive_json, asset_bytes, replaced_statement, without_proofs,
        older_seal_put_back, first_seal_removed, seal_bytes, all_seals_removed, newest_seal_and_version_removed,
        confirmed_by_a_stranger,
    )
}  # fmt: skip
"""Tamperings without the making of real signatures, which take a process each."""
ALL: dict[str, Tampering] = {**FAST, replaced_key.__name__: replaced_key}
UNSEEN_BY_VERIFY = frozenset(
    {
        "rechained_manifest_field", "rechained_many", "rechained_records", "runs_rewritten", "archive_json",
        "replaced_statement", "without_proofs", "older_seal_put_back", "first_seal_removed", "seal_bytes",
        "all_seals_removed", "newest_seal_and_version_removed", "replaced_key", "confirmed_by_a_stranger",
    }
)  # fmt: skip
"""Every hash agrees again, so that an ordinary check finds no damage."""
