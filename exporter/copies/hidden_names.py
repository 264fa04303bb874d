"""The names of an encrypted copy's objects, and the proof inside each that a holder of the copy's secret wrote it. Pure.

The name of a stored picture is the SHA-256 of its content: who has the same picture could tell that the copy has it. So
it is encrypted with the copy's secret, in the way of SIV (RFC 5297, with HMAC-SHA256 in the place of AES): the same name
always gives the same one, which says nothing without the secret, and nobody without it can make one that is taken for
true. The other names say what kind of file it is, and the version's number, as in every archive.

Lengths are rounded up by the rule of Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files", PETS 2019):
at most 12 % longer, 3 % from a megabyte on, and short ones all the same.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final

ENDING: Final = ".age"
SECRET_BYTES: Final = 32
_ASSETS: Final = "assets/"
_ASSET: Final = re.compile(r"assets/([0-9a-z]{2})/(\1[0-9a-z.]{0,78})")
_STORED_ASSET: Final = re.compile(r"assets/([0-9a-f]{2})/(\1[0-9a-f]{190})\.age")
_LONGEST: Final = 80
_IV: Final = 16
_SHORTEST: Final = 4096


def padded(length: int) -> int:
    """Return the length that so many bytes are filled up to."""
    wanted = max(length, _SHORTEST)
    exponent = wanted.bit_length() - 1
    free = (1 << (exponent - exponent.bit_length())) - 1
    return (wanted + free) & ~free


def stored_name(secret: bytes, name: str) -> str:
    """Return the name under which an object is stored.

    Raises:
        ValueError: it is below ``assets/`` and no name of an asset, or holds a line feed.
    """
    if "\n" in name:
        raise ValueError(name)
    if not name.startswith(_ASSETS):
        return name + ENDING
    found = _ASSET.fullmatch(name)
    if found is None:
        raise ValueError(name)
    plain = found[2].encode().ljust(_LONGEST, b"\0")
    iv = _keyed(secret, b"name", plain)[:_IV]
    sealed = (iv + _xor(plain, _stream(secret, iv))).hex()
    return f"{_ASSETS}{sealed[:2]}/{sealed}{ENDING}"


def plain_name(secret: bytes, stored: str) -> str | None:
    """Return the name that an object of this stored name has; ``None`` where nobody with the secret stored it so."""
    if not stored.startswith(_ASSETS):
        return stored.removesuffix(ENDING) if stored.endswith(ENDING) else None
    found = _STORED_ASSET.fullmatch(stored)
    if found is None:
        return None
    sealed = bytes.fromhex(found[2])
    plain = _xor(sealed[_IV:], _stream(secret, sealed[:_IV]))
    if not hmac.compare_digest(_keyed(secret, b"name", plain)[:_IV], sealed[:_IV]):
        return None
    tail = plain.rstrip(b"\0").decode()
    return f"{_ASSETS}{tail[:2]}/{tail}"


def proof(secret: bytes, name: str) -> str:
    """Return what the object of a name begins with, inside its encryption, as 64 hexadecimal digits."""
    return _keyed(secret, b"proof", name.encode()).hex()


def copy_id(secret: bytes) -> str:
    """Return what tells this copy from others, 32 hexadecimal digits that anybody may see."""
    return _keyed(secret, b"id", b"").hex()[:32]


def readers_mark(secret: bytes, recipients: Iterable[str]) -> str:
    """Return what stands for a set of recipients, 32 hexadecimal digits that do not say who they are."""
    return _keyed(secret, b"readers", "\n".join(sorted(set(recipients))).encode()).hex()[:32]


def _stream(secret: bytes, iv: bytes) -> bytes:
    blocks = (_keyed(secret, b"stream", bytes([number]) + iv) for number in range(-(-_LONGEST // 32)))
    return b"".join(blocks)[:_LONGEST]


def _keyed(secret: bytes, purpose: bytes, data: bytes) -> bytes:
    return hmac.digest(secret, purpose + b"\0" + data, hashlib.sha256)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
