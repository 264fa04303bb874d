"""The check of sums in these tests agrees with the tool that README.txt names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.archive.builder import Built
from tests.archive.sums import sums_agree


def sha256sum(folder: Path) -> bool:
    """Return whether ``sha256sum --check --strict`` accepts the folder."""
    command = ["sha256sum", "--check", "--strict", "--status", "SHA256SUMS"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


def test_the_tool_accepts_an_archive(five: Built) -> None:
    assert sha256sum(five.layout.version(2))
    assert sums_agree(five.layout.version(2))


@pytest.mark.importers
def test_both_accept_and_refuse_the_same(archive: Built) -> None:
    for folder in (archive.root, *map(archive.layout.version, archive.reader.versions())):
        assert sha256sum(folder)
        assert sums_agree(folder)
    sums, user = archive.layout.version(2) / "SHA256SUMS", archive.layout.version(2) / "user.jsonl"
    whole = sums.read_bytes()
    for changed in (b"", whole.replace(b"  user", b" user"), whole[1:], b"x" + whole, whole.replace(b"user", b"used")):
        sums.write_bytes(changed)
        assert (sha256sum(sums.parent), sums_agree(sums.parent)) == (False, False), changed
    sums.write_bytes(whole)
    user.write_bytes(b"x")
    assert (sha256sum(sums.parent), sums_agree(sums.parent)) == (False, False)
