"""The part of ``verify`` about seals: their proofs and their faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.archive import Archive
from exporter.archive.settings_file import settings_to_read_with
from exporter.cli.output import Output
from exporter.cli.seal import stamp_text
from exporter.errors import NoSuchRecord
from exporter.message import Message, message, message_n, suggested

if TYPE_CHECKING:
    from exporter.evidence.checks import CheckedSeal, Evidence

_DIGEST: Final = re.compile("[0-9a-f]{64}")


def evidence_check(
    out: Output, *, signers: Path | None, kept: Sequence[str], tsa_root: Path | None
) -> Callable[[Archive, str], Evidence]:
    """Read the files that the user named, and return the check of an archive's seals.

    The check takes the archive, and its path or address for messages. It raises NoSuchRecord if neither the archive nor
    the user has a seal.

    Args:
        out: prints warnings about settings.
        signers: the file with the keys that the user trusts.
        kept: seals that were kept elsewhere: files, folders or hashes.
        tsa_root: the file with the roots that the user trusts; by default that of the settings.

    Raises:
        UsageError: a file cannot be read, or a library is missing.
    """
    from exporter.evidence.libraries import require_libraries

    require_libraries()
    from exporter.evidence.checks import Trust, check_evidence, read_kept
    from exporter.evidence.signers import read_signers
    from exporter.evidence.timestamps import trusted_roots

    keys = None if signers is None else read_signers(signers)
    roots = None if tsa_root is None else trusted_roots(tsa_root)
    digests = [each for each in kept if _DIGEST.fullmatch(each)]
    seals = [read_kept(Path(each)) for each in kept if each not in digests]

    def check(archive: Archive, place: str) -> Evidence:
        trusted = roots
        if trusted is None:
            trusted = trusted_roots(settings_to_read_with(archive, {}, None, out.warn).tsa_root)
        found = check_evidence(archive, Trust(trusted, keys), seals, digests)
        if not found.seals and not found.findings:
            raise NoSuchRecord(
                "{archive} has no seal, so nothing proves its age. Make one: {command}",
                archive=place,
                command=suggested("seal", "DIR"),
            )
        return found

    return check


def evidence_lines(found: Evidence, *, every: bool) -> Iterator[Message]:
    """Yield the proofs by the oldest and the newest seal, or by every one."""
    good = [each for each in found.seals if each.holds]
    for each in good if every else (*good[:1], *good[1:][-1:]):
        yield _proof(each)
    replaced = [each for each in found.seals if each.replaced]
    if replaced:
        yield message_n(
            "{n:,} older seal proves nothing about the present versions: seal {by} confirms that you rewrote them.",
            "{n:,} older seals prove nothing about the present versions: seal {by} confirms that you rewrote them.",
            len(replaced),
            by=replaced[-1].replaced,
        )
    if found.unsealed:
        yield message_n(
            "{n:,} newer version has no seal yet, so changes of it are not found this way.",
            "{n:,} newer versions have no seal yet, so changes of them are not found this way.",
            len(found.unsealed),
        )


def _proof(checked: CheckedSeal) -> Message:
    number, version = checked.seal.number, 0 if checked.statement is None else checked.statement.version
    what = message("Seal {number}", number=number) if number else checked.seal.place
    keys = ", ".join(checked.signers) or message("no key")
    values: dict[str, Any] = {"what": what, "version": version, "keys": keys}
    if checked.stamp is not None:
        return message(
            "{what}: version {version} and everything before it existed by {time}, unaltered since. Confirmed by "
            "{authority}; signed by {keys}.",
            time=stamp_text(checked.stamp),
            authority=checked.stamp.authority,
            **values,
        )
    if checked.signers:
        return message(
            "{what}: version {version} and everything before it is unaltered since it was signed by {keys}. No "
            "timestamp proves when.",
            **values,
        )
    return message(
        "{what}: version {version} and everything before it is unaltered since you kept this seal.", **values
    )


def evidence_document(found: Evidence) -> dict[str, Any]:
    """Return the JSON object about the seals."""
    return {
        "seals": [
            {
                "seal": each.seal.number or None,
                "place": each.seal.place,
                "sha256": each.seal.digest,
                "version": None if each.statement is None else each.statement.version,
                "existed_by": None if each.stamp is None else each.stamp.time.isoformat(),
                "authority": None if each.stamp is None else each.stamp.authority,
                "root_sha256": None if each.stamp is None else each.stamp.root,
                "signed_by": list(each.signers),
                "holds": each.holds,
                "replaced_by": each.replaced or None,
            }
            for each in found.seals
        ],
        "unsealed": list(found.unsealed),
    }
