"""Make a seal: the statement, a signature by the user's key, and a timestamp from an authority.

Only the statement's hash and a random number leave the machine. If the authority does not answer, the seal has the
signature alone, and the next seal asks again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from exporter.archive import atomic
from exporter.archive.checks import sha256_or_none
from exporter.archive.evidence import (
    CHAIN,
    MAX_PART_BYTES,
    MINISIGN_KEY,
    MINISIGN_SIGNATURE,
    SSH_SIGNATURE,
    TIMESTAMP,
    Seal,
    Statement,
    confirmation,
    read_seal,
    seal_numbers,
    seal_place,
    statement_now,
    write_seal,
)
from exporter.archive.layout import SUMS, capture_sha256, manifest_sha256
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.clock import Clock, SystemClock
from exporter.errors import ArchiveDamaged, BlogExporterError, BodyTooLarge, ServiceError, UsageError
from exporter.evidence import minisign_keys, ssh_keys
from exporter.evidence.checks import SIGNER_OF
from exporter.evidence.timestamps import Timestamp, check_token, request_for, trusted_roots
from exporter.frozen import frozen
from exporter.http.address_guard import check_base_url
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.message import message, said
from exporter.model.exchange import Request, Response

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.archive import Archive
    from exporter.archive.layout import Layout
    from exporter.settings import Settings

TSA_SECONDS: Final = 20.0
"""The limit for the request with all its retries, so that a slow authority delays no backup for longer."""
_TIMEOUTS: Final = Timeouts(connect=5.0, read=10.0, total=15.0)
_POLICY: Final = RetryPolicy(retries=2, base=0.5, ceiling=2.0, give_up_after=TSA_SECONDS, max_retry_after=5.0)
_OK: Final = 200
_SIGNATURE: Final = "signature"


@frozen
class Sealed:
    """The result of :func:`seal`.

    Attributes:
        seal: the newest seal of the present content; ``None`` if it could not be made.
        statement: the facts about the present archive.
        new: whether the seal was made now.
        stamp: its timestamp; ``None`` without one, and for a seal that was not made now.
        signer: the key that signed it now.
        trouble: the reason why a requested timestamp is missing.
    """

    seal: Seal | None
    statement: Statement
    new: bool = False
    stamp: Timestamp | None = None
    signer: str | None = None
    trouble: BlogExporterError | None = None


def seal(archive: Archive, settings: Settings, *, rewritten: bool = False, clock: Clock | None = None) -> Sealed:
    """Seal an archive's present content, unless a seal with all wanted proofs exists.

    Args:
        archive: the archive.
        settings: the key, the authority and its root, and how long to wait for the lock.
        rewritten: if the archive contradicts its newest seal, confirm that its owner pruned it on purpose.
        clock: gives the time that a minisign signature states.

    Raises:
        UsageError: neither a key nor an authority is set, the key cannot be used, or no version exists.
        ArchiveDamaged: the archive contradicts its newest seal, or a file cannot be read.
        ArchiveLocked: another process is writing the archive.
        NoSpace: the disk is full.
    """
    if settings.seal_key is None and settings.tsa is None:
        raise UsageError(
            message(
                "A seal needs a key, an authority, or both: set --seal-key FILE, --tsa URL, or the settings seal_key "
                "and tsa."
            )
        )
    clock = clock or SystemClock()
    with archive.lock() as lock:
        lock.acquire(clock.now(), settings.wait_lock.total_seconds())
        return _seal(archive, settings, clock, rewritten=rewritten)


def _seal(archive: Archive, settings: Settings, clock: Clock, *, rewritten: bool) -> Sealed:
    layout = archive.layout
    before = _newest(layout)
    earlier = None if before is None else Statement.decode(before.data)
    differs = earlier is not None and _differs(layout, earlier)
    if before is not None and differs and not rewritten:
        raise ArchiveDamaged(
            "{archive} contradicts its seal {number}: its history was changed after it. Nothing was sealed. If you "
            "pruned it yourself, or let it forget records, confirm that: {command}",
            archive=archive.path,
            number=before.number,
            command=confirmation(archive.path, settings.seal_key),
        )
    if differs and settings.seal_key is None:
        raise UsageError(message("--rewritten needs a key that confirms it: add --seal-key FILE."))
    statement = _present(archive, before, rewritten=differs)
    # A seal of the same content is made again only if it gains a proof that the newest one lacks.
    same = before if earlier is not None and statement.covers_the_same(earlier) else None
    proofs = set() if same is None else _proofs(same, settings)
    wanted = {_SIGNATURE} if settings.seal_key is not None else set()
    if wanted | ({TIMESTAMP} if settings.tsa is not None else set()) <= proofs:
        return Sealed(same, statement)
    data = statement.encode()
    signer, parts = (None, {}) if settings.seal_key is None else _signed(data, settings.seal_key, clock)
    stamp, trouble = None, None
    if settings.tsa is not None:
        try:
            stamp, token = _stamped(data, settings.tsa, settings.tsa_root)
            parts |= {TIMESTAMP: token, CHAIN: stamp.chain}
        except ServiceError as error:
            trouble = error
    if wanted | ({TIMESTAMP} if stamp is not None else set()) <= proofs:
        return Sealed(same, statement, trouble=trouble)
    parts[SUMS] = data
    number = 1 if before is None else before.number + 1
    write_seal(layout, number, parts)
    made = Seal(number, parts, seal_place(number))
    return Sealed(made, statement, new=True, stamp=stamp, signer=signer, trouble=trouble)


def _proofs(made: Seal, settings: Settings) -> set[str]:
    """Return the kinds of valid proof that a seal has: ``signature``, the name of a timestamp's file, or both."""
    found = set()
    for part, signer in SIGNER_OF.items():
        with suppress(ValueError):
            if part in made.parts and signer(made):
                found.add(_SIGNATURE)
    with suppress(ValueError):
        if settings.tsa is not None and TIMESTAMP in made.parts:
            check_token(made.data, made.parts[TIMESTAMP], trusted_roots(settings.tsa_root))
            found.add(TIMESTAMP)
    return found


def _newest(layout: Layout) -> Seal | None:
    """Return the newest seal.

    Raises:
        ArchiveDamaged: it cannot be read.
    """
    try:
        numbers = seal_numbers(layout)
        found = read_seal(layout, numbers[-1]) if numbers else None
        if found is not None:
            Statement.decode(found.data)
    except (OSError, ValueError) as error:
        raise ArchiveDamaged(
            "{path} cannot be read, so nothing was sealed: {reason}. Restore it from another copy of the archive.",
            path=layout.evidence,
            reason=said(atomic.translate(error, layout.evidence) if isinstance(error, OSError) else error),
        ) from error
    return found


def _differs(layout: Layout, statement: Statement) -> bool:
    """Return whether a file that a statement names has changed. Only ``verify --evidence`` checks the chain."""
    capture = statement.capture
    return (
        sha256_or_none(layout.info) != statement.info
        or manifest_sha256(layout, statement.version) != statement.manifest
        or (capture is not None and capture_sha256(layout, capture[0]) != capture[1])
    )


def _present(archive: Archive, before: Seal | None, *, rewritten: bool) -> Statement:
    layout = archive.layout
    number = archive.newest()
    if number is None:
        raise UsageError(
            "{archive} has no version yet, so there is nothing to seal: back it up first.", archive=archive.path
        )
    with atomic.translated(layout.root):
        manifest = layout.manifest(number).read_bytes(MAX_DOCUMENT_BYTES)
        return statement_now(layout, number, manifest, before, rewritten=rewritten)


def _signed(data: bytes, key: Path, clock: Clock) -> tuple[str, dict[str, bytes]]:
    """Return the key that signed the statement, and the files with the signature."""
    if minisign_keys.is_secret_key(key):
        comment = f"timestamp:{int(clock.now().timestamp())}\tfile:{SUMS}\thashed"
        signature, public = minisign_keys.sign(data, key, comment)
        return minisign_keys.signer_of(data, signature, public), {MINISIGN_SIGNATURE: signature, MINISIGN_KEY: public}
    signature = ssh_keys.sign(data, key)
    try:
        signer = ssh_keys.fingerprint(ssh_keys.signer_of(data, signature))
    except ValueError as error:
        raise UsageError("The key {key} cannot be used for seals: {reason}", key=key, reason=said(error)) from error
    return signer, {SSH_SIGNATURE: signature}


def _stamped(data: bytes, url: str, root: Path | None) -> tuple[Timestamp, bytes]:
    """Return a timestamp for the statement, and the answer that contains it.

    Raises:
        UsageError: the address is invalid, or the roots cannot be read.
        ServiceError: no valid answer came; nothing of it is kept.
    """
    host = check_base_url(url, message("the address of the timestamp authority"), "tsa").host
    roots = trusted_roots(root)
    request = request_for(data)
    try:
        answer = asyncio.run(_answer(url, request.as_bytes()))
        return check_token(data, answer, roots, request), answer
    except TimeoutError:
        reason: str = message("it did not answer within {seconds:.0f} s", seconds=TSA_SECONDS)
    except BodyTooLarge:
        reason = message("its answer has more than {limit:,} bytes", limit=MAX_PART_BYTES)
    except (ServiceError, ValueError) as error:
        reason = said(error)
    raise ServiceError("No timestamp from {host}: {reason}", host=host, reason=reason)


async def _answer(url: str, content: bytes) -> bytes:
    """Send a request as RFC 3161, section 3.4, describes, and return the body of the answer."""
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    request = Request(message("The timestamp authority"), "", {}, headers, "POST", content)
    async with asyncio.timeout(TSA_SECONDS), Engine() as engine:
        client = engine.client(url, timeouts=_TIMEOUTS, policy=_POLICY, max_body=MAX_PART_BYTES)
        return await client.fetch(request, _body)


def _body(response: Response) -> bytes:
    if response.status != _OK:
        raise ServiceError("it answered {status}", status=response.status)
    return response.body
