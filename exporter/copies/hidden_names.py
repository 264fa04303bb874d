"""The names of an encrypted copy's objects, and the proof in each that a holder of the copy's secret wrote it. Pure.

The name of a stored picture is the SHA-256 of its content: who has the same picture could tell that the copy has it.
So it is encrypted with the copy's secret, in the way of SIV (RFC 5297, with HMAC-SHA256 in the place of AES): the same
name always gives the same one, which says nothing without the secret, and nobody without it can make one that is taken
for true. So are the blogs' IDs where the copy is of a fleet. The other names say what kind of file it is, and the
version's number, as in every archive.

Lengths are rounded up by the rule of Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files", 2019):
at most 12 % longer, 3 % from a megabyte on, and short ones all the same.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final

ENDING: Final = ".age"
SECRET_BYTES: Final = 32
_ASSETS: Final = "assets/"
_BLOGS: Final = "blogs/"
_BLOG: Final = re.compile(r"([0-9a-f]{2}/[^/\n]+)/(.*)", re.DOTALL)
"""An archive's folder in a fleet, and a name in it."""
_ASSET: Final = re.compile(r"assets/([0-9a-z]{2})/(\1[0-9a-z.]{0,78})")
_STORED_ASSET: Final = re.compile(r"assets/([0-9a-z]{2})/(\1[0-9a-z]+)\.age")
_STORED_BLOG: Final = re.compile(r"blogs/([0-9a-z]+)/(.*)", re.DOTALL)
_LONGEST_ASSET: Final = 80
_LONGEST_BLOG: Final = 128
_ROUND: Final = 64
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
        ValueError: it is below ``assets/`` and no name of an asset, is of a blog with an ID of more than 120 bytes, or
            holds a line feed.
    """
    home, inside = _split(secret, name)
    if "\n" in inside:
        raise ValueError(name)
    if not inside.startswith(_ASSETS):
        return home + inside + ENDING
    found = _ASSET.fullmatch(inside)
    if found is None:
        raise ValueError(name)
    sealed = _hidden(secret, found[2], _LONGEST_ASSET)
    return f"{home}{_ASSETS}{sealed[:2]}/{sealed}{ENDING}"


def stored_prefix(secret: bytes, prefix: str) -> str:
    """Return what the stored names of all names with a prefix begin with; others may begin so, too."""
    if re.fullmatch(r"[0-9a-f]{2}/", prefix):
        return _BLOGS
    home, inside = _split(secret, prefix)
    return home + (_ASSETS if inside.startswith(_ASSETS) else inside)


def plain_name(secret: bytes, stored: str) -> str | None:
    """Return the name that an object of this stored name has; ``None`` where nobody with the secret stored it so."""
    blog = _STORED_BLOG.fullmatch(stored)
    home, inside = "", stored
    if blog is not None:
        shown = _shown(secret, blog[1])
        if shown is None:
            return None
        home, inside = f"{shown}/", blog[2]
    if not inside.endswith(ENDING):
        return None
    if not inside.startswith(_ASSETS):
        return home + inside.removesuffix(ENDING)
    found = _STORED_ASSET.fullmatch(inside)
    tail = None if found is None else _shown(secret, found[2])
    return None if tail is None else f"{home}{_ASSETS}{tail[:2]}/{tail}"


def proof(secret: bytes, name: str) -> str:
    """Return what the object of a name begins with, inside its encryption, as 64 hexadecimal digits."""
    return _keyed(secret, b"proof", name.encode()).hex()


def copy_id(secret: bytes) -> str:
    """Return what tells this copy from others, 32 hexadecimal digits that anybody may see."""
    return _keyed(secret, b"id", b"").hex()[:32]


def readers_mark(secret: bytes, recipients: Iterable[str]) -> str:
    """Return what stands for a set of recipients, 32 hexadecimal digits that do not say who they are."""
    return _keyed(secret, b"readers", "\n".join(sorted(set(recipients))).encode()).hex()[:32]


def _split(secret: bytes, name: str) -> tuple[str, str]:
    """Return the stored folder of an archive in a fleet, with its slash, and the name in it; of no fleet, nothing."""
    blog = _BLOG.match(name)
    if blog is None:
        return "", name
    longest = _ROUND if len(blog[1].encode()) <= _ROUND else _LONGEST_BLOG
    return f"{_BLOGS}{_hidden(secret, blog[1], longest)}/", blog[2]


def _hidden(secret: bytes, text: str, longest: int) -> str:
    plain = text.encode().ljust(longest, b"\0")
    if len(plain) > longest:
        raise ValueError(text)
    iv = _keyed(secret, b"name", plain)[:_IV]
    return base64.b32encode(iv + _crossed(secret, iv, plain)).decode().rstrip("=").lower()


def _shown(secret: bytes, hidden: str) -> str | None:
    try:
        sealed = base64.b32decode(hidden.upper() + "=" * (-len(hidden) % 8))
    except ValueError:
        return None
    plain = _crossed(secret, sealed[:_IV], sealed[_IV:])
    if not hmac.compare_digest(_keyed(secret, b"name", plain)[:_IV], sealed[:_IV]):
        return None
    text = plain.rstrip(b"\0").decode("utf-8", "replace")
    return text if _hidden(secret, text, len(plain)) == hidden else None


def _crossed(secret: bytes, iv: bytes, data: bytes) -> bytes:
    """Encrypt or decrypt: the same."""
    blocks = (_keyed(secret, b"stream", bytes([number]) + iv) for number in range(-(-len(data) // 32)))
    return bytes(a ^ b for a, b in zip(data, b"".join(blocks), strict=False))


def _keyed(secret: bytes, purpose: bytes, data: bytes) -> bytes:
    return hmac.digest(secret, purpose + b"\0" + data, hashlib.sha256)
