"""The signature of a WACZ file, by a key of its maker (WACZ Signing and Verification 0.1.0, anonymous signature).

It proves that two files come from the holder of one key. Who that is, readers must know by other means. The form is the
one that ReplayWeb.page verifies: ECDSA on the curve P-384 with SHA-256, and each number of the signature as 48 bytes.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.message import message

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_CURVE: Final = "secp384r1"
_NUMBER_BYTES: Final = 48
_MAX_KEY_BYTES: Final = 64 * 1024
_VERSION: Final = "0.1.0"


class PackageSigner:
    """Signs digests with a private key.

    Args:
        path: a PEM file with a private key on the curve P-384, without a passphrase.

    Raises:
        UsageError: the file has no such key, or the library for signatures is missing.
    """

    def __init__(self, path: Path) -> None:
        self._key = _read_key(path)

    def signed(self, digest: str, created: str, software: str) -> dict[str, Any]:
        """Return ``signedData`` for ``datapackage-digest.json``.

        Args:
            digest: the hash of ``datapackage.json``, as ``sha256:`` and hexadecimal digits.
            created: as ``datapackage.json`` states it.
            software: the program and its version.
        """
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

        first, second = decode_dss_signature(_signature(self._key, digest.encode("ascii")))
        numbers = b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in (first, second))
        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return {
            "hash": digest,
            "created": created,
            "software": software,
            "version": _VERSION,
            "signature": base64.b64encode(numbers).decode("ascii"),
            "publicKey": base64.b64encode(public).decode("ascii"),
        }


def _read_key(path: Path) -> EllipticCurvePrivateKey:
    try:
        # Imported here because most exports are not signed, and the library is an extra.
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            message("--sign needs the package cryptography: pip install 'blog-exporter[sign]', or leave out --sign.")
        ) from error
    try:
        with path.open("rb") as file:
            key = load_pem_private_key(file.read(_MAX_KEY_BYTES), None)
    except OSError as error:
        raise UsageError("--sign {path}: {reason}.", path=path, reason=error.strerror or error) from error
    except TypeError as error:
        raise UsageError("--sign {path}: the key has a passphrase; name a file without one.", path=path) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError("--sign {path}: the file has no private key in PEM.", path=path) from error
    if not isinstance(key, EllipticCurvePrivateKey) or key.curve.name != _CURVE:
        raise UsageError(
            "--sign {path}: readers of WACZ files verify keys on the curve P-384 only. Make one with: "
            "openssl ecparam -name secp384r1 -genkey -noout -out KEY.pem",
            path=path,
        )
    return key


def _signature(key: EllipticCurvePrivateKey, data: bytes) -> bytes:
    """Return the signature in DER: always the same one for the same data (RFC 6979), if the library can do that."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA  # noqa: PLC0415
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

    try:
        return key.sign(data, ECDSA(SHA256(), deterministic_signing=True))
    except UnsupportedAlgorithm:
        return key.sign(data, ECDSA(SHA256()))
