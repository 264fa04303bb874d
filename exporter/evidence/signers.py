"""The keys that a user trusts, from a file: public keys of OpenSSH or minisign, or OpenSSH's ``allowed_signers``."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.evidence.minisign_keys import MARK
from exporter.evidence.ssh_keys import fingerprint
from exporter.message import message, system_reason

_MAX_BYTES: Final = 1 << 20
_SSH: Final = re.compile(r"(?:^|\s)(?:ssh-[a-z0-9]+|ecdsa-sha2-[a-z0-9]+)\s+(AAAA[A-Za-z0-9+/]+=*)(?:\s|$)")
_MINISIGN: Final = re.compile(r"RW[A-Za-z0-9+/]{54}")
_NARROWED: Final = re.compile(r"\b(?:valid-after|valid-before)=|\bcert-authority\b", re.IGNORECASE)


def read_signers(path: Path) -> frozenset[str]:
    """Return the keys in a file: of OpenSSH as fingerprints, of minisign in base 64.

    Raises:
        UsageError: the file cannot be read, has no key, or has an invalid line.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8")
    except OSError as error:
        raise UsageError("--signers {path}: {reason}.", path=path, reason=system_reason(error)) from error
    except UnicodeDecodeError:
        raise UsageError("--signers {path}: it is no text file with public keys.", path=path) from None
    keys = set()
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith(("#", MARK.decode())):
            continue
        if _NARROWED.search(line):
            reason = message("keys with a time limit and certificates are not supported")
            raise UsageError("--signers {path}, line {number}: {reason}.", path=path, number=number, reason=reason)
        keys.add(_key_in(line, path, number))
    if not keys:
        raise UsageError("--signers {path}: it has no public key.", path=path)
    return frozenset(keys)


def _key_in(line: str, path: Path, number: int) -> str:
    if _MINISIGN.fullmatch(line):
        return line
    found = _SSH.search(line)
    try:
        if found is not None:
            return fingerprint(base64.b64decode(found[1], validate=True))
    except binascii.Error:
        pass
    raise UsageError(
        "--signers {path}, line {number}: {reason}.",
        path=path,
        number=number,
        reason=message("it is not a public key of OpenSSH or minisign"),
    )
