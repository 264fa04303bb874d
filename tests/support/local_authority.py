"""A timestamp authority in Python: the same certificates and answers as those that :mod:`tests.support.authority` makes.

It writes DER itself, because the libraries only read answers. Tests in the lane importers use ``openssl``.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID
from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

from tests.support.authority import FROM, UNTIL, Authority

_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
_TST_INFO = bytes.fromhex("060b2a864886f70d0109100104")
_CONTENT_TYPE = bytes.fromhex("06092a864886f70d010903")
_MESSAGE_DIGEST = bytes.fromhex("06092a864886f70d010904")
_SIGNING_CERTIFICATE = bytes.fromhex("060b2a864886f70d010910022f")
_POLICY = bytes.fromhex("06042a030401")
_SEQUENCE, _SET, _OCTETS, _NUMBER, _TIME = 0x30, 0x31, 0x04, 0x02, 0x18
_FIRST, _FIRST_INSIDE = 0xA0, 0xA0


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def _number(value: int) -> bytes:
    return _der(_NUMBER, value.to_bytes(value.bit_length() // 8 + 1))


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tag of each element in the content of short DER, and the whole element."""
    at = 0
    while at < len(data):
        assert data[at + 1] < 0x80
        end = at + 2 + data[at + 1]
        yield data[at], data[at:end]
        at = end


_SHA256 = _der(_SEQUENCE, bytes.fromhex("0609608648016503040201"))
_ECDSA = _der(_SEQUENCE, bytes.fromhex("06082a8648ce3d040302"))


def _attribute(name: bytes, value: bytes) -> bytes:
    return _der(_SEQUENCE, name, _der(_SET, value))


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


@dataclass
class LocalAuthority(Authority):
    """An authority that starts no process."""

    _serials: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def issue(self, name: str, by: str, kind: str, *, since: str = FROM, until: str = UNTIL) -> None:
        """Make a key and a certificate with the extensions of a section."""
        key = ec.generate_private_key(ec.SECP256R1())
        signs = kind in {"root", "above"}
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"Test {name}")])
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if by == name else self._certificate(by).subject)
            .public_key(key.public_key())
            .serial_number(next(self._serials))
            .not_valid_before(_time(since))
            .not_valid_after(_time(until))
            .add_extension(x509.BasicConstraints(ca=signs, path_length=0 if kind == "above" else None), critical=signs)
        )
        if kind != "server":
            usage = x509.KeyUsage(
                digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, content_commitment=False,
                key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
                decipher_only=False,
            )  # fmt: skip
            made = made.add_extension(usage, critical=True)
        if signs:
            made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        else:
            names = ExtendedKeyUsageOID
            purpose = names.TIME_STAMPING if kind == "authority" else names.SERVER_AUTH
            made = made.add_extension(x509.ExtendedKeyUsage([purpose]), critical=kind == "authority")
        certificate = made.sign(key if by == name else self._key(by), SHA256())
        private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        (self.folder / f"{name}.key").write_bytes(private)
        (self.folder / f"{name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))

    def query(self, data: bytes) -> bytes:
        """Make another query with another nonce."""
        return TimestampRequestBuilder().data(data).hash_algorithm(HashAlgorithm.SHA256).build().as_bytes()

    def reply(self, query: bytes, signer: str = "authority") -> bytes:
        """Answer a query."""
        [(_, request)] = _elements(query)
        _, (_, imprint), *rest = _elements(request[2:])
        nonce = next(each for tag, each in rest if tag == _NUMBER)
        certificate = self._certificate(signer)
        stated = _der(
            _SEQUENCE, _number(1), _POLICY, imprint, _number(next(self._serials)),
            _der(_TIME, f"{datetime.now(UTC):%Y%m%d%H%M%SZ}".encode()), _der(_SEQUENCE, _number(1)), nonce,
        )  # fmt: skip
        hashed = _der(_OCTETS, certificate.fingerprint(SHA256()))
        attributes = sorted([
            _attribute(_CONTENT_TYPE, _TST_INFO),
            _attribute(_MESSAGE_DIGEST, _der(_OCTETS, hashlib.sha256(stated).digest())),
            _attribute(_SIGNING_CERTIFICATE, _der(_SEQUENCE, _der(_SEQUENCE, _der(_SEQUENCE, hashed)))),
        ])  # fmt: skip
        signature = self._key(signer).sign(_der(_SET, *attributes), ec.ECDSA(SHA256()))
        info = _der(
            _SEQUENCE, _number(1),
            _der(_SEQUENCE, certificate.issuer.public_bytes(), _number(certificate.serial_number)),
            _SHA256, _der(_FIRST_INSIDE, *attributes), _ECDSA, _der(_OCTETS, signature),
        )  # fmt: skip
        chain = sorted(each.public_bytes(Encoding.DER) for each in (certificate, self._certificate("above")))
        signed = _der(
            _SEQUENCE, _number(3), _der(_SET, _SHA256),
            _der(_SEQUENCE, _TST_INFO, _der(_FIRST, _der(_OCTETS, stated))), _der(_FIRST_INSIDE, *chain), _der(_SET, info),
        )  # fmt: skip
        granted = _der(_SEQUENCE, _number(0))
        return _der(_SEQUENCE, granted, _der(_SEQUENCE, _SIGNED_DATA, _der(_FIRST, signed)))

    def _key(self, name: str) -> ec.EllipticCurvePrivateKey:
        found = load_pem_private_key((self.folder / f"{name}.key").read_bytes(), None)
        return cast("ec.EllipticCurvePrivateKey", found)

    def _certificate(self, name: str) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.folder / f"{name}.pem").read_bytes())


def make_local_authority(folder: Path) -> LocalAuthority:
    """Make the certificates."""
    folder.mkdir(parents=True, exist_ok=True)
    made = LocalAuthority(folder)
    made.issue("root", "root", "root")
    made.issue("above", "root", "above")
    made.issue("authority", "above", "authority")
    return made
