"""Signatures of OpenSSH keys: made by ``ssh-keygen -Y sign``, and checked in this module.

The format is SSHSIG (OpenSSH's PROTOCOL.sshsig). ``ssh-keygen -Y verify`` accepts the same files. It also signs with
keys in a running ``ssh-agent``, for which the public key's file is enough.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512, HashAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from exporter.errors import UsageError
from exporter.message import message
from exporter.text import printable
from exporter.worker import kill_group

NAMESPACE: Final = "blog-exporter-seal"
"""The purpose that the signature names, so that no signature for another purpose passes as a seal."""
SIGN_SECONDS: Final = 60.0
_MAGIC: Final = b"SSHSIG"
_ARMOUR: Final = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n?", re.ASCII
)
_DIGESTS: Final = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_RSA_HASHES: Final[dict[bytes, HashAlgorithm]] = {b"rsa-sha2-256": SHA256(), b"rsa-sha2-512": SHA512()}
_CURVE_HASHES: Final[dict[str, HashAlgorithm]] = {"secp256r1": SHA256(), "secp384r1": SHA384(), "secp521r1": SHA512()}


def sign(data: bytes, key: Path) -> bytes:
    """Sign the data with a key. No passphrase is asked for: a key with one must be in the agent.

    Raises:
        UsageError: ``ssh-keygen`` is missing, or cannot use the key.
    """
    program = shutil.which("ssh-keygen")
    if program is None:
        raise UsageError("ssh-keygen is missing, which signs with {key}: install OpenSSH.", key=key)
    if not key.is_file():
        raise UsageError("The key {key} does not exist: check seal_key.", key=key)
    environment = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "SSH_ASKPASS"}}
    process = subprocess.Popen(  # noqa: S603 - OpenSSH's own program, with the path that the user's settings name
        [program, "-Y", "sign", "-n", NAMESPACE, "-f", str(key.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment | {"SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"},
        # Without a terminal it cannot ask for a passphrase.
        start_new_session=True,
    )
    try:
        out, err = process.communicate(data, SIGN_SECONDS)
    except subprocess.TimeoutExpired:
        kill_group(process)
        process.communicate()
        raise UsageError("ssh-keygen did not sign with {key} within {n:.0f} s.", key=key, n=SIGN_SECONDS) from None
    if process.returncode == 0 and _ARMOUR.fullmatch(out):
        return out
    text = err.decode("utf-8", "replace")
    if "passphrase" in text:
        raise UsageError(
            "The key {key} has a passphrase, and nobody is asked for it. Load it once: ssh-add {key}; or name a key "
            "without one.",
            key=key,
        )
    lines = text.strip().splitlines() or [message("it gave no reason")]
    raise UsageError("ssh-keygen cannot sign with {key}: {reason}", key=key, reason=printable(lines[-1], 200))


def signer_of(data: bytes, signature: bytes) -> bytes:
    """Check a signature over the data, and return the public key that made it, in OpenSSH's encoding.

    Raises:
        ValueError: the signature is invalid, for another purpose, or of an unsupported kind.
    """
    found = _ARMOUR.fullmatch(signature)
    if found is None:
        raise ValueError(message("it is not an SSH signature"))
    blob = _Fields(base64.b64decode(found[1].replace(b"\n", b""), validate=True))
    if blob.take(len(_MAGIC)) != _MAGIC or blob.number() != 1:
        raise ValueError(message("it is not an SSH signature"))
    key, namespace, reserved, algorithm, signed = (blob.string() for _ in range(5))
    blob.require_end()
    if namespace != NAMESPACE.encode():
        raise ValueError(message("it was made for another purpose than a seal"))
    if algorithm not in _DIGESTS:
        raise ValueError(message("its kind of hash is not supported"))
    digest = _DIGESTS[algorithm](data).digest()
    content = _MAGIC + b"".join(map(_string, (namespace, reserved, algorithm, digest)))
    inner = _Fields(signed)
    kind, value = inner.string(), inner.string()
    inner.require_end()
    try:
        _verify(key, kind, value, content)
    except InvalidSignature:
        raise ValueError(message("the signature is not that of its key over this statement")) from None
    except UnsupportedAlgorithm:
        raise ValueError(message("its kind of key is not supported")) from None
    return key


def _verify(key: bytes, kind: bytes, value: bytes, content: bytes) -> None:
    """Check a signature.

    Raises:
        InvalidSignature: it is wrong.
        UnsupportedAlgorithm: keys of this kind are not supported.
        ValueError: the key is invalid.
    """
    name = _Fields(key).string()
    public = load_ssh_public_key(name + b" " + base64.b64encode(key))
    if isinstance(public, Ed25519PublicKey) and kind == name == b"ssh-ed25519":
        public.verify(value, content)
    elif isinstance(public, RSAPublicKey) and kind in _RSA_HASHES:
        public.verify(value, content, PKCS1v15(), _RSA_HASHES[kind])
    elif isinstance(public, EllipticCurvePublicKey) and kind == name and public.curve.name in _CURVE_HASHES:
        numbers = _Fields(value)
        pair = [int.from_bytes(numbers.string()) for _ in range(2)]
        numbers.require_end()
        public.verify(encode_dss_signature(*pair), content, ECDSA(_CURVE_HASHES[public.curve.name]))
    else:
        raise UnsupportedAlgorithm("a kind of key that is not supported")


def fingerprint(key: bytes) -> str:
    """Return a key's fingerprint, as ``ssh-keygen -l`` shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode("ascii").rstrip("=")


class _Fields:
    """Reads the fields of an SSH message (RFC 4251, section 5)."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            ValueError: fewer are left.
        """
        found = self._data[self._at : self._at + size]
        if len(found) != size:
            raise ValueError(message("it is cut short"))
        self._at += size
        return found

    def number(self) -> int:
        """Return the next 32 bits as a number."""
        return int(struct.unpack(">I", self.take(4))[0])

    def string(self) -> bytes:
        """Return the next string."""
        return self.take(self.number())

    def require_end(self) -> None:
        """Refuse further bytes."""
        if self._at != len(self._data):
            raise ValueError(message("more bytes follow its end"))


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
