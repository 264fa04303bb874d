"""Encrypt names and pad lengths in an encrypted copy, and prove who wrote an object. Pure.

A picture's name is the SHA-256 of its content, so it would reveal the picture to other owners of the same picture. A
WARC file's name has the blog's ID. Therefore names of both are encrypted with the copy's secret, similar to SIV
(RFC 5297, with HMAC-SHA256 instead of AES). The same name always gives the same encrypted name, and only the secret can
make a valid one. A fleet's copy encrypts blog IDs in the same way. Other names reveal the kind of file and the number
of the version or capture.

Lengths are padded by the Padmé rule (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files", 2019): by at
most 12 %, or 3 % from a megabyte on. Short files all have the same length.
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
"""An archive's folder in a fleet, and a name in this folder."""
_ASSET: Final = re.compile(r"assets/([0-9a-z]{2})/(\1[0-9a-z.]{0,78})")
_STORED_ASSET: Final = re.compile(r"assets/([0-9a-z]{2})/(\1[0-9a-z]+)\.age")
_STORED_BLOG: Final = re.compile(r"blogs/([0-9a-z]+)/(.*)", re.DOTALL)
_CAPTURED: Final = re.compile(r"captures/([0-9]{6,10})/(.*)", re.DOTALL)
_PLAIN_IN_CAPTURES: Final = frozenset({"capture.json", "SHA256SUMS", "index.cdxj", "pages.jsonl"})
_MAX_CAPTURED_BYTES: Final = 128
_MAX_ASSET_CHARACTERS: Final = 80
_MAX_BLOG_BYTES: Final = 128
_USUAL_BLOG_BYTES: Final = 64
_IV_BYTES: Final = 16
_MIN_PADDED_BYTES: Final = 4096


def padded(length: int) -> int:
    """Return the padded length for a number of bytes."""
    wanted = max(length, _MIN_PADDED_BYTES)
    exponent = wanted.bit_length() - 1
    free = (1 << (exponent - exponent.bit_length())) - 1
    return (wanted + free) & ~free


def stored_name(secret: bytes, name: str) -> str:
    """Return the stored name of an object.

    Raises:
        ValueError: the name has a line feed, a blog ID of more than 120 bytes, an invalid asset below ``assets/``, or
            a name of more than 112 bytes in a capture.
    """
    home, inside = _split(secret, name)
    if "\n" in inside:
        raise ValueError(name)
    captured = _CAPTURED.fullmatch(inside)
    if captured is not None and captured[2] not in _PLAIN_IN_CAPTURES:
        hidden = _hidden(secret, f"{captured[1]}/{captured[2]}", _MAX_CAPTURED_BYTES)
        return f"{home}captures/{captured[1]}/{hidden}{ENDING}"
    if not inside.startswith(_ASSETS):
        return home + inside + ENDING
    found = _ASSET.fullmatch(inside)
    if found is None:
        raise ValueError(name)
    sealed = _hidden(secret, found[2], _MAX_ASSET_CHARACTERS)
    return f"{home}{_ASSETS}{sealed[:2]}/{sealed}{ENDING}"


def stored_prefix(secret: bytes, prefix: str) -> str:
    """Return a prefix that the stored names of all names with a prefix share. Other names may also have it."""
    if re.fullmatch(r"[0-9a-f]{2}/", prefix):
        return _BLOGS
    home, inside = _split(secret, prefix)
    return home + (_ASSETS if inside.startswith(_ASSETS) else inside)


def plain_name(secret: bytes, stored: str) -> str | None:
    """Return the name for a stored name; ``None`` if the name was not made with the secret."""
    blog = _STORED_BLOG.fullmatch(stored)
    home, inside = "", stored
    if blog is not None:
        shown = _shown(secret, blog[1])
        if shown is None:
            return None
        home, inside = f"{shown}/", blog[2]
    if not inside.endswith(ENDING):
        return None
    captured = _CAPTURED.fullmatch(inside.removesuffix(ENDING))
    if captured is not None and captured[2] not in _PLAIN_IN_CAPTURES:
        shown = _shown(secret, captured[2])
        return f"{home}captures/{shown}" if shown is not None and shown.startswith(f"{captured[1]}/") else None
    if not inside.startswith(_ASSETS):
        return home + inside.removesuffix(ENDING)
    found = _STORED_ASSET.fullmatch(inside)
    tail = None if found is None else _shown(secret, found[2])
    return None if tail is None else f"{home}{_ASSETS}{tail[:2]}/{tail}"


def proof(secret: bytes, name: str) -> str:
    """Return an object's proof, 64 hexadecimal digits, which is at its start inside the encryption."""
    return _keyed(secret, b"proof", name.encode()).hex()


def copy_id(secret: bytes) -> str:
    """Return the public id of a copy: 32 hexadecimal digits."""
    return _keyed(secret, b"id", b"").hex()[:32]


def readers_mark(secret: bytes, recipients: Iterable[str]) -> str:
    """Return a hash of a set of recipients: 32 hexadecimal digits that do not reveal them."""
    return _keyed(secret, b"readers", "\n".join(sorted(set(recipients))).encode()).hex()[:32]


def _split(secret: bytes, name: str) -> tuple[str, str]:
    """Return an archive's stored folder with its slash, and the name inside; outside a fleet, the folder is empty."""
    blog = _BLOG.match(name)
    if blog is None:
        return "", name
    longest = _USUAL_BLOG_BYTES if len(blog[1].encode()) <= _USUAL_BLOG_BYTES else _MAX_BLOG_BYTES
    return f"{_BLOGS}{_hidden(secret, blog[1], longest)}/", blog[2]


def _hidden(secret: bytes, text: str, longest: int) -> str:
    plain = text.encode().ljust(longest, b"\0")
    if len(plain) > longest:
        raise ValueError(text)
    iv = _keyed(secret, b"name", plain)[:_IV_BYTES]
    return base64.b32encode(iv + _crossed(secret, iv, plain)).decode().rstrip("=").lower()


def _shown(secret: bytes, hidden: str) -> str | None:
    try:
        sealed = base64.b32decode(hidden.upper() + "=" * (-len(hidden) % 8))
    except ValueError:
        return None
    plain = _crossed(secret, sealed[:_IV_BYTES], sealed[_IV_BYTES:])
    if not hmac.compare_digest(_keyed(secret, b"name", plain)[:_IV_BYTES], sealed[:_IV_BYTES]):
        return None
    text = plain.rstrip(b"\0").decode("utf-8", "replace")
    return text if _hidden(secret, text, len(plain)) == hidden else None


def _crossed(secret: bytes, iv: bytes, data: bytes) -> bytes:
    """Encrypt or decrypt by XOR with a key stream."""
    blocks = (_keyed(secret, b"stream", bytes([number]) + iv) for number in range(-(-len(data) // 32)))
    return bytes(a ^ b for a, b in zip(data, b"".join(blocks), strict=False))


def _keyed(secret: bytes, purpose: bytes, data: bytes) -> bytes:
    return hmac.digest(secret, purpose + b"\0" + data, hashlib.sha256)
