"""Timestamps of RFC 3161: the request, and the check of a token against its certificates and trusted roots.

A token states that a hash existed at a time, signed by a timestamp authority. Certificates are judged at the token's
time, so it stays valid after they expire (RFC 3161, appendix B). Nothing here looks for certificates that were revoked
later.
"""

from __future__ import annotations

import hashlib
import ssl
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.utils import CryptographyDeprecationWarning
from rfc3161_client import (
    HashAlgorithm,
    PKIStatus,
    TimestampRequestBuilder,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from exporter.errors import UsageError
from exporter.frozen import frozen
from exporter.message import message, system_reason
from exporter.text import printable

if TYPE_CHECKING:
    from rfc3161_client import TimeStampRequest, TimeStampResponse

_SHA256: Final = "2.16.840.1.101.3.4.2.1"
_LONGEST_PATH: Final = 10
_MAX_ROOTS_BYTES: Final = 4 << 20
_CERTIFICATES: Final = 0xA0
_ODD: Final = (KeyError, TypeError, UnsupportedAlgorithm)
"""Further errors that the library raises for strange certificates, besides ValueError."""


class UnknownRoot(ValueError):
    """The token itself is valid, but its chain ends at an untrusted certificate."""


@frozen
class Timestamp:
    """The facts in a valid token.

    Attributes:
        time: when the statement existed.
        authority: its name, from its certificate.
        root: the SHA-256 of the root's certificate in hexadecimal.
        chain: the certificates from the authority to the root, as PEM.
    """

    time: datetime
    authority: str
    root: str
    chain: bytes


def request_for(data: bytes) -> TimeStampRequest:
    """Return a request about the data's hash, with a random number that the answer must repeat."""
    return TimestampRequestBuilder().data(data).hash_algorithm(HashAlgorithm.SHA256).build()


def check_token(
    data: bytes, answer: bytes, roots: Sequence[x509.Certificate], request: TimeStampRequest | None = None
) -> Timestamp:
    """Check an authority's answer and return its facts.

    Args:
        data: the statement whose hash must be in it.
        answer: ``TimeStampResp`` in DER.
        roots: the trusted certificates.
        request: the request that it must answer, if it was just sent.

    Raises:
        UnknownRoot: its chain ends at no trusted certificate.
        ValueError: anything else is wrong with it.
    """
    try:
        return _checked(data, answer, roots, request)
    except ValueError:
        raise
    except Exception as error:  # strange bytes make the libraries raise errors of undocumented kinds
        raise ValueError(message("it is not the answer of a timestamp authority")) from error


def _checked(
    data: bytes, answer: bytes, roots: Sequence[x509.Certificate], request: TimeStampRequest | None
) -> Timestamp:
    try:
        response = decode_timestamp_response(_in_order(answer))
        status = response.status
    except ValueError:
        raise ValueError(message("it is not the answer of a timestamp authority")) from None
    if status != PKIStatus.GRANTED:
        raise ValueError(message("the authority refused: {reason}", reason=_refusal(response)))
    try:
        stated = response.tst_info
        imprint, time, nonce = stated.message_imprint, stated.gen_time, stated.nonce
        certificates = [_certificate(each) for each in response.signed_data.certificates]
        signers = list(response.signed_data.signer_infos)
        hashed = imprint.hash_algorithm.dotted_string == _SHA256 and imprint.message == hashlib.sha256(data).digest()
    except ValueError:
        raise ValueError(message("it is not the answer of a timestamp authority")) from None
    if not hashed:
        raise ValueError(message("it is for another hash"))
    if request is not None and nonce != request.nonce:
        raise ValueError(message("it answers another request: its nonce is not the one that was sent"))
    leaf = next(
        (
            each
            for each in certificates
            if len(signers) == 1 and (each.issuer, each.serial_number) == (signers[0].issuer, signers[0].serial_number)
        ),
        None,
    )
    if leaf is None:
        raise ValueError(message("it does not contain the certificate of its signer"))
    path = _path(leaf, certificates, roots)
    for each in path:
        if not each.not_valid_before_utc <= time <= each.not_valid_after_utc:
            raise ValueError(message("the certificate of {name} was not valid at that time", name=_name(each)))
    try:
        anchors = [each for each in path if each in roots]
        VerifierBuilder(roots=anchors).build().verify(response, hashlib.sha256(data).digest())
    except (VerificationError, ValueError) as error:
        reason = printable(str(error), 200)
        raise ValueError(message("its signature or its certificates are not valid: {reason}", reason=reason)) from None
    chain = b"".join(each.public_bytes(Encoding.PEM) for each in path)
    return Timestamp(time, _name(leaf), path[-1].fingerprint(SHA256()).hex(), chain)


def check_chain(chain: bytes, stamp: Timestamp) -> None:
    """Check the certificates in a seal's PEM file: the authority's first, each issued by the next.

    Raises:
        ValueError: they do not belong to the token.
    """
    try:
        kept = x509.load_pem_x509_certificates(chain)
        leaf = x509.load_pem_x509_certificates(stamp.chain)[0]
        right = kept[0] == leaf and all(_issued(one, other) for one, other in pairwise(kept))
    except Exception:  # noqa: BLE001 - as in check_token
        right = False
    if not right:
        raise ValueError(message("the certificates in it are not those of the token"))


def _path(
    leaf: x509.Certificate, certificates: Sequence[x509.Certificate], roots: Sequence[x509.Certificate]
) -> list[x509.Certificate]:
    """Return the certificates from the signer's to a trusted one that issued itself.

    Raises:
        UnknownRoot: no trusted certificate ends the chain.
    """
    path = [leaf]
    while len(path) < _LONGEST_PATH:
        last = path[-1]
        if last in roots and _issued(last, last):
            return path
        above = next((each for each in (*roots, *certificates) if each not in path and _issued(last, each)), None)
        if above is None:
            break
        path.append(above)
    raise UnknownRoot(
        message(
            "no trusted root confirms its authority, {name}. Get the root certificate of {root} from its owner, and "
            "name it with --tsa-root FILE",
            name=_name(leaf),
            root=printable(path[-1].issuer.rfc4514_string(), 200),
        )
    )


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    with suppress(ValueError, InvalidSignature, *_ODD):
        if certificate.issuer == issuer.subject:
            certificate.verify_directly_issued_by(issuer)
            return True
    return False


def _name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return printable(str(names[0].value) if names else certificate.subject.rfc4514_string(), 100)


def _refusal(response: TimeStampResponse) -> str:
    words = ", ".join(response.status_string) if response.status_string else ""
    names = {each.value: each.name.lower().replace("_", " ") for each in PKIStatus}
    state = names.get(response.status, str(response.status))
    return printable(f"{state}: {words}" if words else state, 200)


def trusted_roots(path: Path | None) -> list[x509.Certificate]:
    """Return the certificates in a PEM file, or without a file, those that this system trusts.

    Raises:
        UsageError: the file cannot be read or has no certificates.
    """
    if path is None:
        return list(_system_roots())
    try:
        with path.open("rb") as file:
            return x509.load_pem_x509_certificates(file.read(_MAX_ROOTS_BYTES))
    except OSError as error:
        raise UsageError("--tsa-root {path}: {reason}.", path=path, reason=system_reason(error)) from error
    except (ValueError, *_ODD) as error:
        raise UsageError("--tsa-root {path}: it has no certificate in PEM.", path=path) from error


def _certificate(data: bytes) -> x509.Certificate:
    """Parse a certificate in DER, also an old one with a serial number that is not positive.

    Raises:
        ValueError: the bytes are no certificate.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        return x509.load_der_x509_certificate(data)


def _system_roots() -> Iterator[x509.Certificate]:
    """Yield the system's certificates. OpenSSL does not list the certificates in a folder, which Debian uses."""
    found = ssl.create_default_context().get_ca_certs(binary_form=True)
    for each in found:
        with suppress(ValueError, *_ODD):
            yield _certificate(each)
    folder = ssl.get_default_verify_paths().capath
    if not found and folder is not None:
        for path in sorted(Path(folder).glob("*.0")):
            with suppress(OSError, ValueError, *_ODD):
                yield _certificate(ssl.PEM_cert_to_DER_cert(path.read_text("ascii")))


def _in_order(answer: bytes) -> bytes:
    """Return the answer with its certificates in the order of DER (X.690, 11.6).

    Authorities that use OpenSSL send them in another order, which the parser refuses. The signature does not cover
    them. Any other bytes are returned unchanged.
    """
    try:
        _, start, end = next(_elements(answer, 0, len(answer)))
        _, token = list(_elements(answer, start, end))[:2]
        _, content = list(_elements(answer, *token[1:]))
        _, start, end = next(_elements(answer, *content[1:]))
        _, start, end = next(each for each in _elements(answer, start, end) if each[0] == _CERTIFICATES)
        ends = [inner[2] for inner in _elements(answer, start, end)]
    except (ValueError, StopIteration):
        return answer
    pieces = sorted(answer[before:after] for before, after in pairwise([start, *ends]))
    return answer[:start] + b"".join(pieces) + answer[end:]


def _elements(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the tag of each element in a part of DER, and where its content begins and ends.

    Raises:
        ValueError: an element does not end within the part.
    """
    while start < end:
        tag, size, at = data[start], *_length(data, start + 1, end)
        if at + size > end:
            raise ValueError
        yield tag, at, at + size
        start = at + size


def _length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the length that begins at a position, and the position after it."""
    count = data[at] & 0x7F if at < end and data[at] & 0x80 else 0
    if at + count >= end or count > 4:
        raise ValueError
    return (int.from_bytes(data[at + 1 : at + 1 + count]) if count else data[at]), at + 1 + count
