"""Keys and signatures of OpenSSH, made in Python. Tests in the lane importers use ``ssh-keygen``."""

from __future__ import annotations

import base64
import hashlib
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)


def make_local_key(path: Path) -> Path:
    """Make a key with its public key beside it."""
    key = Ed25519PrivateKey.generate()
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b" test\n")
    return path


def _string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def signed(data: bytes, key: Path, namespace: str) -> bytes:
    """Return a signature as ``ssh-keygen -Y sign`` writes it."""
    private = cast("Ed25519PrivateKey", load_ssh_private_key(key.read_bytes(), None))
    public = base64.b64decode(private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).split()[1])
    facts = (namespace.encode(), b"", b"sha512")
    content = b"SSHSIG" + b"".join(map(_string, (*facts, hashlib.sha512(data).digest())))
    value = _string(b"ssh-ed25519") + _string(private.sign(content))
    blob = b"SSHSIG" + struct.pack(">I", 1) + b"".join(map(_string, (public, *facts, value)))
    lines = base64.b64encode(blob)
    rows = [lines[at : at + 70] for at in range(0, len(lines), 70)]
    return b"\n".join([b"-----BEGIN SSH SIGNATURE-----", *rows, b"-----END SSH SIGNATURE-----", b""])


class _Keygen:
    """A process of ``ssh-keygen -Y sign`` that is none."""

    returncode = 0

    def __init__(self, command: Sequence[str], **_: Any) -> None:
        self._command = list(command)

    def communicate(self, data: bytes, _: float) -> tuple[bytes, bytes]:
        program, *words, namespace, f, key = self._command
        assert (program, words, f) == ("ssh-keygen", ["-Y", "sign", "-n"], "-f"), self._command
        return signed(data, Path(key), namespace), b""


@contextmanager
def signing_here() -> Iterator[None]:
    """Let the program sign without ``ssh-keygen``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exporter.evidence.ssh_keys.shutil", SimpleNamespace(which=lambda name: name))
        processes = SimpleNamespace(Popen=_Keygen, PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired)
        patch.setattr("exporter.evidence.ssh_keys.subprocess", processes)
        yield
