"""Seals made by the real command, and checked by it, by ``ssh-keygen``, by ``minisign`` and by ``openssl``."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from minisign import KeyPair

from tests.archive.builder import Built
from tests.archive.sums import sums_agree
from tests.cli.conftest import Program
from tests.evidence.conftest import commit, make_key
from tests.support.authority import Authority, Served

NAMESPACE = "blog-exporter-seal"


def folder_of(built: Built, number: int) -> Path:
    return built.root / "evidence" / f"{number:06d}"


def seal_and_check(program: Program, built: Built, key: Path, tsa: Served, root: Path) -> None:
    made = program("seal", built.root, "--seal-key", key, "--tsa", tsa.url, "--tsa-root", root)
    assert made.code == 0, made.err
    assert "version 3 and everything before it" in made.out
    assert {each.name for each in folder_of(built, 1).iterdir()} == {
        "SHA256SUMS", "SHA256SUMS.sig", "SHA256SUMS.tsr", "tsa-chain.pem",
    }  # fmt: skip
    checked = program("verify", built.root, "--evidence", "--tsa-root", root, "--signers", key.with_suffix(".pub"))
    assert checked.code == 0, checked.err + checked.out
    assert "Seal 1: version 3 and everything before it existed by 20" in checked.out
    assert "UTC, unaltered since. Confirmed by Test authority; signed by SHA256:" in checked.out


def test_a_signed_and_timestamped_seal_is_checked(
    program: Program, built: Built, key: Path, tsa: Served, authority: Authority
) -> None:
    seal_and_check(program, built, key, tsa, authority.root)
    assert sums_agree(folder_of(built, 1))


@pytest.mark.importers
def test_a_signed_and_timestamped_seal_is_checked_by_the_programs_of_others(
    program: Program, built: Built, openssl_tsa: Served, openssl_authority: Authority, tmp_path: Path
) -> None:
    key = make_key(tmp_path / "key")
    authority = openssl_authority
    seal_and_check(program, built, key, openssl_tsa, authority.root)
    folder = folder_of(built, 1)
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, capture_output=True)
    verify = [
        "openssl",
        "ts",
        "-verify",
        "-data",
        "SHA256SUMS",
        "-in",
        "SHA256SUMS.tsr",
        "-CAfile",
        str(authority.root),
    ]
    assert b"Verification: OK" in subprocess.run(verify, cwd=folder, check=True, capture_output=True).stdout
    signers = tmp_path / "signers"
    signers.write_text(f"me {key.with_suffix('.pub').read_text()}")
    check = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", "me", "-n", NAMESPACE, "-s", "SHA256SUMS.sig"]
    with (folder / "SHA256SUMS").open() as statement:
        subprocess.run(check, cwd=folder, stdin=statement, check=True, capture_output=True)
    checked = program("verify", built.root, "--evidence", "--tsa-root", authority.root, "--signers", signers)
    assert checked.code == 0, checked.err + checked.out


def test_only_a_hash_leaves_the_machine(
    program: Program, built: Built, key: Path, tsa: Served, authority: Authority
) -> None:
    assert program("seal", built.root, "--seal-key", key, "--tsa", tsa.url, "--tsa-root", authority.root).code == 0
    (query,) = tsa.queries
    assert len(query) < 100
    again = program("seal", built.root, "--tsa", tsa.url, "--tsa-root", authority.root, "--json")
    digest = again.json["sha256"]
    assert bytes.fromhex(digest) in query
    assert len(tsa.queries) == 1  # the second call found the seal


@pytest.mark.importers
@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
def test_keys_of_other_kinds_sign(program: Program, built: Built, tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path / "key", kind)
    assert program("seal", built.root, "--seal-key", key).code == 0
    signers = key.with_suffix(".pub")
    checked = program("verify", built.root, "--evidence", "--signers", signers)
    assert checked.code == 0, checked.out
    assert "No timestamp proves when." in checked.out


@pytest.mark.importers
@pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not installed")
def test_the_program_of_minisign_verifies_its_signature(program: Program, built: Built, tmp_path: Path) -> None:
    secret = tmp_path / "minisign.key"
    secret.write_bytes(bytes(KeyPair.generate().secret_key) + b"\n")
    assert program("seal", built.root, "--seal-key", secret).code == 0
    command = ["minisign", "-Vm", "SHA256SUMS", "-p", "minisign.pub"]
    subprocess.run(command, cwd=folder_of(built, 1), check=True)


def test_minisign_signs(program: Program, built: Built, tmp_path: Path) -> None:
    pair = KeyPair.generate()
    secret = tmp_path / "minisign.key"
    secret.write_bytes(bytes(pair.secret_key) + b"\n")
    assert program("seal", built.root, "--seal-key", secret).code == 0
    signers = tmp_path / "signers"
    signers.write_bytes(bytes(pair.public_key) + b"\n")
    assert program("verify", built.root, "--evidence", "--signers", signers).code == 0
    pair.secret_key.encrypt("secret", opslimit=32768, memlimit=1 << 24)
    secret.write_bytes(bytes(pair.secret_key) + b"\n")
    shutil.rmtree(built.root / "evidence")
    refused = program("seal", built.root, "--seal-key", secret)
    assert refused.code == 2
    assert "has a password, and nobody is asked for it" in refused.err


@pytest.mark.importers
def test_a_key_with_a_passphrase_is_used_through_the_agent_and_never_asked_for(
    program: Program, built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(tmp_path / "key", passphrase="secret")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    refused = program("seal", built.root, "--seal-key", key)
    assert refused.code == 2
    assert "has a passphrase, and nobody is asked for it. Load it once: ssh-add" in refused.err
    socket = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()  # it listens
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        subprocess.run(["ssh-keygen", "-q", "-p", "-P", "secret", "-N", "", "-f", key], check=True, capture_output=True)
        subprocess.run(["ssh-add", "-q", key], check=True)
        key.unlink()
        made = program("seal", built.root, "--seal-key", key.with_suffix(".pub"))
        agent.terminate()
    assert made.code == 0, made.err


def test_each_seal_names_the_one_before_it_and_new_versions_are_named_as_unsealed(
    program: Program, built: Built, key: Path
) -> None:
    assert program("seal", built.root, "--seal-key", key).code == 0
    again = program("seal", built.root, "--seal-key", key)
    assert "Seal 1 already has version 3." in again.out
    commit(built, 4)
    checked = program("verify", built.root, "--evidence")
    assert checked.code == 0
    assert "1 newer version has no seal yet" in checked.out
    assert program("seal", built.root, "--seal-key", key).code == 0
    assert "../000001/SHA256SUMS.sig" in (folder_of(built, 2) / "SHA256SUMS").read_text()
    document = program("verify", built.root, "--evidence", "--json").json["evidence"]
    assert [(each["seal"], each["version"], each["holds"]) for each in document["seals"]] == [
        (1, 3, True),
        (2, 4, True),
    ]
    assert document["unsealed"] == []


def test_a_run_without_a_change_makes_no_seal(program: Program, built: Built, key: Path) -> None:
    assert program("seal", built.root, "--seal-key", key).code == 0
    built.run(version=None, outcome="unchanged")
    assert program("seal", built.root, "--seal-key", key, "--json").json["new"] is False


def test_the_command_that_a_removal_prints_seals_the_rest(
    program: Program, built: Built, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_SEAL_KEY", str(key))
    assert program("seal", built.root).code == 0
    done = program("forget", built.root, "--entry", "2", "--yes")
    assert done.code == 0, done
    (command,) = re.findall("blog-exporter (.+)", done.err)
    assert program(*shlex.split(command)).code == 0
    checked = program("verify", built.root, "--evidence", "--signers", key.with_suffix(".pub"))
    assert checked.code == 0, checked


def test_a_prune_contradicts_earlier_seals_until_its_owner_confirms_it(
    program: Program, built: Built, key: Path, other_key: Path
) -> None:
    assert program("seal", built.root, "--seal-key", key).code == 0
    pruned = program("prune", built.root, "--keep-last", "1")
    assert pruned.code == 0
    assert "warning: Seals do not fit versions that are rewritten after them." in pruned.err
    found = program("verify", built.root, "--evidence")
    assert found.code == 13
    assert "the manifest of version 3 is not the sealed one" in found.out
    refused = program("seal", built.root, "--seal-key", key)
    assert refused.code == 13
    assert "seal" in refused.err
    assert "--rewritten" in refused.err
    stranger = shutil.copytree(built.root, built.root.with_name("stranger"))
    assert program("seal", built.root, "--seal-key", key, "--rewritten").code == 0
    unnamed = program("verify", built.root, "--evidence")
    assert unnamed.code == 13
    assert "it confirms a rewritten history, which counts only if --signers names its key" in unnamed.out
    checked = program("verify", built.root, "--evidence", "--signers", key.with_suffix(".pub"))
    assert checked.code == 0, checked.out
    assert "1 older seal proves nothing about the present versions: seal 2 confirms" in checked.out
    assert program("seal", stranger, "--seal-key", other_key, "--rewritten").code == 0
    forged = program("verify", stranger, "--signers", key.with_suffix(".pub"))
    assert forged.code == 13
    assert "the manifest of version 3 is not the sealed one" in forged.out
    assert "which --signers does not name" in forged.out


def test_an_archive_without_a_seal_or_a_key_gets_a_clear_line(program: Program, built: Built) -> None:
    none = program("verify", built.root, "--evidence")
    assert none.code == 5
    assert "has no seal, so nothing proves its age. Make one: blog-exporter seal DIR" in none.err
    quick = program("verify", built.root, "--evidence", "--quick")
    assert quick.code == 2
    assert "leave out --quick" in quick.err
    unset = program("seal", built.root)
    assert unset.code == 2
    assert "set --seal-key FILE, --tsa URL" in unset.err


def test_a_missing_library_gets_a_line_with_the_command(
    program: Program, built: Built, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.evidence.libraries.find_spec", lambda name: None)
    for command in (("seal", built.root, "--seal-key", key), ("verify", built.root, "--evidence")):
        refused = program(*command)
        assert refused.code == 2
        assert "pip install 'blog-exporter[evidence]'" in refused.err
