"""Check an archive's seals without a network.

A seal holds if its proofs are valid, and if every file that its statement names is unchanged: the manifest, the
capture, ``archive.json``, and the line of ``runs.jsonl``. The chain of manifests must be unbroken from the first
version to the newest. :func:`exporter.archive.verify.verify` compares records and pictures with the manifests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from cryptography import x509

from exporter.archive.checks import Finding, FindingCode, sha256_or_none
from exporter.archive.documents import run_lines
from exporter.archive.evidence import (
    CHAIN,
    FOLDER,
    MAX_PART_BYTES,
    MINISIGN_KEY,
    MINISIGN_SIGNATURE,
    PARTS,
    SSH_SIGNATURE,
    TIMESTAMP,
    Seal,
    Statement,
    read_seal,
    seal_numbers,
    seal_place,
)
from exporter.archive.layout import SUMS, capture_sha256, version_name
from exporter.archive.manifest import Manifest, line_digest
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.errors import ArchiveDamaged, UsageError
from exporter.evidence import minisign_keys, ssh_keys
from exporter.evidence.timestamps import Timestamp, UnknownRoot, check_chain, check_token
from exporter.frozen import frozen
from exporter.message import message, said, system_reason

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader

T = TypeVar("T")


@frozen
class Trust:
    """The certificates and keys that the user trusts.

    Attributes:
        roots: the root certificates of timestamp authorities.
        signers: keys as :func:`exporter.evidence.signers.read_signers` returns them; ``None`` if none were named.
    """

    roots: Sequence[x509.Certificate]
    signers: frozenset[str] | None = None


@frozen
class CheckedSeal:
    """The result of a seal's check.

    Attributes:
        seal: its files.
        statement: its statement; ``None`` if that cannot be read.
        stamp: its valid timestamp, if it has one.
        signers: the keys whose valid signatures it has.
        findings: the seal's faults, and the facts of the archive that contradict its statement.
        replaced: the number of a later seal in which the owner confirmed a rewritten history; 0 without one. The
            archive is then not compared with this seal.
    """

    seal: Seal
    statement: Statement | None
    stamp: Timestamp | None
    signers: tuple[str, ...]
    findings: tuple[Finding, ...]
    replaced: int = 0

    @property
    def holds(self) -> bool:
        """Whether it proves something about the present archive."""
        return self.statement is not None and not self.findings and not self.replaced


@frozen
class Evidence:
    """The result for all seals in an archive, and for those that were kept elsewhere.

    Attributes:
        seals: the seals, oldest first; those that were kept elsewhere follow.
        findings: everything that is wrong.
        unsealed: the versions that are newer than all seals that hold.
    """

    seals: tuple[CheckedSeal, ...]
    findings: tuple[Finding, ...]
    unsealed: tuple[int, ...]


def check_evidence(
    reader: ArchiveReader, trust: Trust, kept: Sequence[Seal] = (), digests: Sequence[str] = ()
) -> Evidence:
    """Check all seals.

    Args:
        reader: the archive.
        trust: the certificates and keys that count.
        kept: seals that were kept elsewhere.
        digests: hashes of seals that the archive must have.
    """
    layout = reader.layout
    history = _History(reader)
    found = [_checked(history, seal, trust) for seal in _read(layout)]
    findings = [*_numbering(layout), *_links([each.seal for each in found]), *_key_changes(found, trust)]
    found = _without_replaced(found, trust)
    known = {each.seal.digest: each for each in found}
    findings += [
        Finding(FindingCode.EVIDENCE_MISSING, FOLDER, message("no seal has the hash {hash}", hash=digest))
        for digest in digests
        if digest not in known
    ]
    checked = (*found, *(_kept(history, seal, trust, known) for seal in kept))
    findings += [finding for each in checked for finding in each.findings]
    newest = max((each.statement.version for each in checked if each.holds and each.statement), default=0)
    return Evidence(checked, tuple(findings), tuple(each for each in history.numbers if each > newest))


def read_kept(path: Path) -> Seal:
    """Read a seal that was kept elsewhere: its statement, and its proofs if they are in the same folder.

    Args:
        path: a copied folder, or a copied statement under any name.

    Raises:
        UsageError: the statement cannot be read.
    """
    statement = path / SUMS if path.is_dir() else path
    parts = {}
    for part in PARTS:
        place = statement.with_name(part.replace(SUMS, statement.name))
        try:
            with place.open("rb") as file:
                parts[part] = file.read(MAX_PART_BYTES)
        except OSError as error:
            if part == SUMS or not isinstance(error, FileNotFoundError):
                raise UsageError("--seal {path}: {reason}.", path=place, reason=system_reason(error)) from error
    try:
        Statement.decode(parts[SUMS])
    except ValueError as error:
        raise UsageError("--seal {path}: {reason}.", path=statement, reason=said(error)) from error
    return Seal(0, parts, str(statement))


class _History:
    """The archive's present state, which statements are compared with: manifests, captures and ``runs.jsonl``."""

    def __init__(self, reader: ArchiveReader) -> None:
        self._layout = reader.layout
        self.numbers = reader.versions()
        self._digests: dict[int, str] = {}
        self._breaks: list[int] = []
        before: tuple[int, str] | None = None
        for number in self.numbers:
            parent: object = None
            try:
                data = reader.layout.manifest(number).read_bytes(MAX_DOCUMENT_BYTES)
                self._digests[number] = hashlib.sha256(data).hexdigest()
                parent = Manifest.decode(data, "").parent
            except (OSError, ArchiveDamaged):
                self._breaks.append(number)
            if parent != (None if before is None else {"version": before[0], "sha256": before[1]}):
                self._breaks.append(number)
            before = (number, self._digests.get(number, ""))
        self._info = sha256_or_none(self._layout.info)
        self._heads: set[str] | None = None

    def contradictions(self, statement: Statement) -> Iterator[str]:
        """Yield a sentence for each fact of a statement that is no longer true."""
        number = statement.version
        if self._info != statement.info:
            yield message("archive.json is not the sealed one")
        if number not in self.numbers:
            yield message("version {number} is missing, which it names as the newest one", number=number)
        elif self._digests.get(number) != statement.manifest:
            yield message("the manifest of version {number} is not the sealed one", number=number)
        if self._breaks:
            yield message("the chain of versions is broken at version {number}", number=self._breaks[0])
        if statement.capture is not None and capture_sha256(self._layout, statement.capture[0]) != statement.capture[1]:
            yield message("capture {number} is not the sealed one", number=statement.capture[0])
        if statement.head is not None and statement.head not in self._known_heads():
            yield message("no line of runs.jsonl has the sealed head")

    def _known_heads(self) -> set[str]:
        if self._heads is None:
            self._heads = set()
            with suppress(OSError):
                self._heads = {line_digest(line) for line in run_lines(self._layout.runs) if line.endswith(b"\n")}
        return self._heads


def _read(layout: Layout) -> Iterator[Seal]:
    """Yield the seals with a readable statement; :func:`_numbering` reports all others."""
    with suppress(OSError):
        for number in seal_numbers(layout):
            with suppress(OSError):
                yield read_seal(layout, number)


def _numbering(layout: Layout) -> Iterator[Finding]:
    """Report missing and unreadable seals, and files that belong to no seal."""
    try:
        numbers = seal_numbers(layout)
        names = layout.evidence.names() if layout.evidence.kind() is not None else []
    except OSError as error:
        yield Finding(FindingCode.EVIDENCE_DAMAGED, FOLDER, system_reason(error))
        return
    known = {version_name(number) for number in numbers}
    for name in names:
        if name not in known:
            yield Finding(FindingCode.STRANGE_FILE, f"{FOLDER}/{name}", message("no part of the format"))
    if numbers != list(range(1, len(numbers) + 1)):
        first = next(each for each in range(1, len(numbers) + 1) if each not in numbers)
        yield Finding(FindingCode.EVIDENCE_MISSING, seal_place(first), message("a later seal exists"))
    for number in numbers:
        place = seal_place(number)
        try:
            read_seal(layout, number)
            names = (layout.evidence / version_name(number)).names()
        except OSError as error:
            path = str(error.filename or "").rpartition("/")[2]
            detail = message("{name} cannot be read: {reason}", name=path, reason=system_reason(error))
            yield Finding(FindingCode.EVIDENCE_DAMAGED, place, detail)
            continue
        for name in names:
            if name not in PARTS:
                yield Finding(FindingCode.STRANGE_FILE, f"{place}/{name}", message("no part of the format"))


def _links(seals: Sequence[Seal]) -> Iterator[Finding]:
    """Check that each seal names all files of the seal before it."""
    nothing: dict[str, str] = {}
    digests = {0: nothing} | {seal.number: seal.digests() for seal in seals}
    for seal in seals:
        with suppress(ValueError):
            statement = Statement.decode(seal.data)
            if statement.before != seal.number - 1:
                detail = message("it does not name seal {number} as the one before it", number=seal.number - 1)
                yield Finding(FindingCode.EVIDENCE_CONTRADICTED, seal.place, detail)
            elif statement.before in digests and statement.proofs != digests[statement.before]:
                detail = message("its files are not those that seal {number} names", number=seal.number)
                yield Finding(FindingCode.EVIDENCE_CONTRADICTED, seal_place(statement.before), detail)


def _checked(history: _History, seal: Seal, trust: Trust) -> CheckedSeal:
    """Check a seal's proofs, and compare the archive with its statement."""
    findings: list[Finding] = []
    parts = seal.parts
    statement = _tried(findings, seal, SUMS, lambda: Statement.decode(seal.data))
    stamp = _tried(findings, seal, TIMESTAMP, lambda: check_token(seal.data, parts[TIMESTAMP], trust.roots))
    if stamp is not None:
        _tried(findings, seal, CHAIN, lambda: check_chain(parts[CHAIN], stamp))
    found = [_tried(findings, seal, part, partial(signer, seal)) for part, signer in SIGNER_OF.items()]
    signers = tuple(each for each in found if each is not None)
    findings += _unproven(seal, trust, signers)
    if statement is not None:
        details = history.contradictions(statement)
        findings += [Finding(FindingCode.EVIDENCE_CONTRADICTED, seal.place, detail) for detail in details]
    return CheckedSeal(seal, statement, stamp, signers, tuple(findings))


def _tried(findings: list[Finding], seal: Seal, part: str, check: Callable[[], T]) -> T | None:
    """Check one of a seal's files, if it exists; a failure becomes a finding."""
    if part not in seal.parts:
        return None
    try:
        return check()
    except ValueError as error:
        code = FindingCode.EVIDENCE_UNTRUSTED if isinstance(error, UnknownRoot) else FindingCode.EVIDENCE_DAMAGED
        findings.append(Finding(code, f"{seal.place}/{part}" if seal.number else seal.place, said(error)))
        return None


SIGNER_OF: Final[dict[str, Callable[[Seal], str]]] = {
    SSH_SIGNATURE: lambda seal: ssh_keys.fingerprint(ssh_keys.signer_of(seal.data, seal.parts[SSH_SIGNATURE])),
    MINISIGN_SIGNATURE: lambda seal: minisign_keys.signer_of(
        seal.data, seal.parts[MINISIGN_SIGNATURE], seal.parts.get(MINISIGN_KEY, b"")
    ),
}
"""For each kind of signature, a function that returns the key, or raises a ValueError if the signature is invalid."""


def _unproven(seal: Seal, trust: Trust, signers: Sequence[str]) -> Iterator[Finding]:
    if seal.number and not {TIMESTAMP, *SIGNER_OF} & seal.parts.keys():
        detail = message("it has neither a signature nor a timestamp, so everyone could have written it")
        yield Finding(FindingCode.EVIDENCE_DAMAGED, seal.place, detail)
    for part, proof in ((MINISIGN_KEY, MINISIGN_SIGNATURE), (CHAIN, TIMESTAMP)):
        if part in seal.parts and proof not in seal.parts:
            yield Finding(FindingCode.STRANGE_FILE, f"{seal.place}/{part}", message("no part of the format"))
    for signer in signers:
        if trust.signers is not None and signer not in trust.signers:
            detail = message("the key {key} signed it, which --signers does not name", key=signer)
            yield Finding(FindingCode.EVIDENCE_UNTRUSTED, seal.place, detail)


def _key_changes(seals: Sequence[CheckedSeal], trust: Trust) -> Iterator[Finding]:
    """If the user named no keys, report each seal whose key differs from the key of the signed seal before it."""
    before: CheckedSeal | None = None
    for each in seals:
        if not each.signers or trust.signers is not None:
            continue
        if before is not None and not {*before.signers} & {*each.signers}:
            detail = message("it is signed by another key than seal {number}", number=before.seal.number)
            yield Finding(FindingCode.EVIDENCE_UNTRUSTED, each.seal.place, detail)
        before = each


def _without_replaced(seals: Sequence[CheckedSeal], trust: Trust) -> list[CheckedSeal]:
    """Drop the contradictions to all seals before a rewritten history that a key in ``--signers`` confirms.

    Other keys do not count: a forger can add a signature to the newest seal, and confirm with the same key.
    """
    newest = 0
    checked = []
    for each in seals:
        made = each
        if each.statement is not None and each.statement.rewritten:
            if trust.signers is not None and {*each.signers} & trust.signers:
                newest = newest if _contradicted(each) else each.seal.number
            else:
                detail = message("it confirms a rewritten history, which counts only if --signers names its key")
                finding = Finding(FindingCode.EVIDENCE_UNTRUSTED, each.seal.place, detail)
                made = replace(each, findings=(*each.findings, finding))
        checked.append(made)
    return [_replaced(each, newest) if each.seal.number < newest else each for each in checked]


def _replaced(checked: CheckedSeal, by: int) -> CheckedSeal:
    own = tuple(each for each in checked.findings if each.code is not FindingCode.EVIDENCE_CONTRADICTED)
    return replace(checked, findings=own, replaced=by)


def _contradicted(checked: CheckedSeal) -> bool:
    return any(each.code is FindingCode.EVIDENCE_CONTRADICTED for each in checked.findings)


def _kept(history: _History, seal: Seal, trust: Trust, known: Mapping[str, CheckedSeal]) -> CheckedSeal:
    """Check a seal that was kept elsewhere. The archive must still have it."""
    checked = _checked(history, seal, trust)
    here = known.get(seal.digest)
    if here is None:
        detail = message("the archive no longer has this seal: it was removed or replaced")
        finding = Finding(FindingCode.EVIDENCE_MISSING, seal.place, detail)
        return replace(checked, findings=(*checked.findings, finding))
    return _replaced(checked, here.replaced) if here.replaced else checked
