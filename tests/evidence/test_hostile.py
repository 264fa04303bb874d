"""Hostile files in ``evidence/``: one clear finding each, never a crash, and never a wrong "it holds"."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509

from exporter.archive.archive import Archive
from exporter.archive.evidence import MAX_PART_BYTES, PARTS, Statement
from exporter.evidence import minisign_keys, ssh_keys
from exporter.evidence.checks import Trust, check_evidence
from exporter.evidence.timestamps import check_token
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.support.authority import Authority
from tests.support.ssh_signing import signed

SEAL = "evidence/000001"


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def huge(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(10 << 40)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def long_lines(path: Path) -> None:
    path.write_bytes(b"A" * MAX_PART_BYTES)


def terminal(path: Path) -> None:
    path.write_bytes(b"\x1b]0;title\x07\x1b[2J" * 100)


def nested(path: Path) -> None:
    path.write_bytes(b"\x30\x80" * 30_000)


MADE: list[Callable[[Path], None]] = [link, fifo, huge, emptied, folder, long_lines, terminal, nested]


@pytest.fixture
def sealed(program: Program, built: Built, key: Path) -> Path:
    assert program("seal", built.root, "--seal-key", key).code == 0
    return built.root


@pytest.mark.parametrize("change", MADE, ids=lambda change: change.__name__)
@pytest.mark.parametrize("part", ["SHA256SUMS", "SHA256SUMS.sig"])
@pytest.mark.sample(4)
def test_a_hostile_file_is_a_finding(part: str, change: Callable[[Path], None], sealed: Path, program: Program) -> None:
    change(sealed / SEAL / part)
    found = program("verify", sealed, "--evidence")
    assert found.code == 13
    assert "evidence-" in found.out
    assert "\x1b" not in found.out
    refused = program("seal", sealed, "--seal-key", "/none")
    assert refused.code in {2, 13}  # the key is missing, or the newest seal cannot be read
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("evidence", "evidence-damaged"), (SEAL, "evidence-damaged"), ("evidence/000003", "evidence-missing"),
        ("evidence/notes", "strange-file"), (f"{SEAL}/notes", "strange-file"),
    ],
)  # fmt: skip
def test_strange_names_and_links_to_folders(place: str, code: str, sealed: Path, program: Program) -> None:
    path = sealed / place
    if code == "evidence-damaged":
        moved = path.rename(sealed.parent / "moved")
        path.symlink_to(moved, target_is_directory=True)
    else:
        path.mkdir()
    found = program("verify", sealed, "--evidence")
    assert found.code == 13
    assert code in found.out
    assert program("verify", sealed).code == (13 if code == "evidence-damaged" else 0)  # a link is damage everywhere


def test_a_seal_without_a_proof_proves_nothing(sealed: Path, program: Program) -> None:
    (sealed / SEAL / "SHA256SUMS.sig").unlink()
    assert "so everyone could have written it" in program("verify", sealed, "--evidence").out


def test_random_bytes_in_every_file_never_crash_a_check(sealed: Path) -> None:
    rng = random.Random(1)
    original = {part: (sealed / SEAL / part).read_bytes() for part in PARTS if (sealed / SEAL / part).exists()}
    for part in PARTS:
        for _ in range(40):
            data = bytearray(original.get(part, b"") or rng.randbytes(200))
            for _ in range(rng.randrange(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            (sealed / SEAL / part).write_bytes(data)
            found = check_evidence(Archive.open(sealed), Trust([]))
            assert found.findings or bytes(data) == original.get(part) or part == "SHA256SUMS.sig"
        (sealed / SEAL / part).unlink()
        if part in original:
            (sealed / SEAL / part).write_bytes(original[part])


@pytest.mark.parametrize("changes", [100, pytest.param(2000, marks=pytest.mark.thorough)])
def test_random_changes_of_a_token_state_the_same_or_are_refused(authority: Authority, changes: int) -> None:
    roots = x509.load_pem_x509_certificates(authority.root.read_bytes())
    data, rng = b"statement", random.Random(2)
    token = authority.reply(authority.query(data))
    right = check_token(data, token, roots)
    same = 0
    for _ in range(changes):
        changed = bytearray(token)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        for size in (len(changed), rng.randrange(len(changed))):
            try:
                found = check_token(data, bytes(changed[:size]), roots)
            except ValueError:
                continue
            assert (found.time, found.root) == (right.time, right.root)
            same += 1
    assert same <= changes // 50  # bytes that the signature does not cover, such as a version number


CHECKS: dict[str, Callable[[bytes], object]] = {
    "ssh": lambda data: ssh_keys.signer_of(b"another text", data),
    "minisign": lambda data: minisign_keys.signer_of(b"text", data, data),
    "statement": Statement.decode,
}


@pytest.mark.parametrize("check", CHECKS)
def test_random_signatures_raise_only_value_errors(check: str, sealed: Path) -> None:
    rng = random.Random(3)
    signature = (sealed / SEAL / "SHA256SUMS.sig").read_bytes()
    for _ in range(300):
        data = bytearray(signature if check == "ssh" else rng.randbytes(100))
        for _ in range(3):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with pytest.raises(ValueError):
            CHECKS[check](bytes(data))


def test_a_signature_for_another_purpose_is_no_seal(sealed: Path, key: Path, program: Program) -> None:
    statement = (sealed / SEAL / "SHA256SUMS").read_bytes()
    (sealed / SEAL / "SHA256SUMS.sig").write_bytes(signed(statement, key, "git"))
    assert "it was made for another purpose than a seal" in program("verify", sealed, "--evidence").out


def test_files_of_keys_are_read_with_care(sealed: Path, program: Program, tmp_path: Path, key: Path) -> None:
    signers = tmp_path / "signers"
    for text, reason in (
        ("", "it has no public key"),
        ("hello\n", "line 1: it is not a public key"),
        (f'me valid-before="20300101" {key.with_suffix(".pub").read_text()}', "keys with a time limit"),
    ):
        signers.write_text(text)
        refused = program("verify", sealed, "--evidence", "--signers", signers)
        assert refused.code == 2
        assert reason in refused.err
    signers.write_bytes(b"\xff\xfe")
    assert "it is no text file" in program("verify", sealed, "--signers", signers).err
    assert program("verify", sealed, "--signers", tmp_path / "none").code == 2
    roots = program("verify", sealed, "--tsa-root", signers)
    assert "it has no certificate in PEM" in roots.err


def test_older_commands_do_not_need_the_folder(sealed: Path, program: Program) -> None:
    shutil.rmtree(sealed / SEAL)
    (sealed / "evidence" / "000001").write_bytes(b"no folder")
    for command in (("verify", sealed), ("log", sealed), ("show", sealed, "entry", "1")):
        assert program(*command).code == 0
