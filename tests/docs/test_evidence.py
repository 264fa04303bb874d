"""The commands of docs/evidence.md that check a seal without the program: both pages have the same, and they work."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.evidence.conftest import authority, built, key, tsa
from tests.evidence.forging import Forger
from tests.support.authority import Authority, Served

pytestmark = pytest.mark.importers  # bash, openssl and ssh-keygen

__all__ = ["authority", "built", "key", "tsa"]

DOCS = Path(__file__).parent.parent.parent / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENGLISH, JAPANESE = ((DOCS / f"evidence{ending}").read_text("utf-8") for ending in (".md", ".ja.md"))


def run(block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", block], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_commands_of_the_page_check_a_seal(
    program: Program, built: Built, key: Path, tsa: Served, authority: Authority
) -> None:
    seal, chain = BLOCK.findall(ENGLISH)
    assert BLOCK.findall(JAPANESE) == [seal, chain]
    assert program("seal", built.root, "--seal-key", key, "--tsa", tsa.url, "--tsa-root", authority.root).code == 0
    shutil.copy(authority.root, built.root.parent / "root.pem")
    (built.root.parent / "signers").write_text(f"me {key.with_suffix('.pub').read_text()}")
    done = run(seal, built.root)
    assert done.returncode == 0, done.stderr
    assert "Verification: OK" in done.stdout
    assert "Time stamp: " in done.stdout
    assert 'Good "blog-exporter-seal" signature' in done.stdout
    assert run(chain, built.root).stdout == "The chain holds.\n"


def test_they_find_a_forged_history(program: Program, built: Built, key: Path) -> None:
    seal, chain = BLOCK.findall(ENGLISH)
    assert program("seal", built.root, "--seal-key", key).code == 0
    first = seal.replace("openssl", "true").replace("ssh-keygen", "true").replace("< SHA256SUMS", "")
    assert run(first, built.root).returncode == 0
    path = built.root / "versions" / "000001" / "manifest.json"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"api.example", b"api.forged_"))
    assert run(chain, built.root).returncode != 0
    path.write_bytes(data)
    forger = Forger(built.root, random.Random(0), key, bytes)
    forger.edit_record()
    forger.rechain()
    assert run(chain, built.root).returncode == 0
    assert run(first, built.root).returncode != 0
