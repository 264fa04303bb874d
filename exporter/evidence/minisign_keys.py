"""Signatures of minisign keys. The program ``minisign`` verifies the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from minisign import Error, PublicKey, SecretKey, Signature

from exporter.errors import UsageError
from exporter.message import message, system_reason

MARK: Final = b"untrusted comment:"
"""The beginning of every minisign file."""
_MAX_KEY_BYTES: Final = 4096


def is_secret_key(path: Path) -> bool:
    """Return whether a file is a minisign key. Any other key is used with OpenSSH.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError as error:
        raise UsageError(
            "The key {key} cannot be read: {reason}. Check seal_key.", key=path, reason=system_reason(error)
        ) from error


def sign(data: bytes, key: Path, comment: str) -> tuple[bytes, bytes]:
    """Return the signature over the data, and the file of the public key.

    Args:
        data: the statement.
        key: a file with a secret key without a password.
        comment: the trusted comment, which is signed as well.

    Raises:
        UsageError: the file has no secret key, or the key has a password.
    """
    try:
        with key.open("rb") as file:
            secret = SecretKey.from_bytes(file.read(_MAX_KEY_BYTES))
        if secret.is_encrypted():
            raise UsageError(
                "The key {key} has a password, and nobody is asked for it. Make a key for seals without one: "
                "minisign -G -W",
                key=key,
            )
        with secret:
            public = secret.get_public_key()
            return bytes(secret.sign(data, trusted_comment=comment)) + b"\n", bytes(public) + b"\n"
    except OSError as error:
        raise UsageError(
            "The key {key} cannot be read: {reason}. Check seal_key.", key=key, reason=system_reason(error)
        ) from error
    except (Error, ValueError) as error:
        raise UsageError("The key {key} is not a secret key of minisign: {reason}", key=key, reason=error) from error


def signer_of(data: bytes, signature: bytes, key: bytes) -> str:
    """Return the public key in base 64, if its signature over the data is valid.

    Args:
        data: the statement.
        signature: the file of the signature.
        key: the file of the public key.

    Raises:
        ValueError: a file is invalid, or the signature is wrong.
    """
    try:
        public = PublicKey.from_bytes(key)
        public.verify(data, Signature.from_bytes(signature))
    except Error:
        raise ValueError(message("the signature is not that of its key over this statement")) from None
    return str(public.to_base64(), "ascii")
