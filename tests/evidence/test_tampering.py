"""Every change of a sealed byte is found against a seal: 10,000 random tamperings, forged histories included."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509

from exporter.archive.archive import Archive
from exporter.archive.evidence import read_seal
from exporter.cli.main import main
from exporter.evidence.checks import Evidence, Trust, check_evidence, read_kept
from exporter.evidence.signers import read_signers
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.cli.conftest import Program
from tests.evidence.conftest import commit
from tests.evidence.forging import ALL, FAST, UNSEEN_BY_VERIFY, Forger
from tests.support.authority import Authority, serving_authority
from tests.support.local_authority import make_local_authority
from tests.support.ssh_signing import signing_here

EACH = -(-10_000 // len(FAST))
PICTURE = b"GIF89a" + bytes(range(200))


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory, key: Path, authority: Authority) -> Path:
    """An archive of four versions: the first seal covers two of them, the second one three."""
    built = Built(tmp_path_factory.mktemp("sealed") / "archive")
    digest = hashlib.sha256(PICTURE).hexdigest()
    place = built.root / "assets" / digest[:2] / f"{digest}.gif"
    place.parent.mkdir(parents=True)
    place.write_bytes(PICTURE)
    url = "https://a.example/1.gif"
    data = record(url=url, status=200, content_type="image/gif", bytes=len(PICTURE), sha256=digest, error=None, refs=[])
    built.commit({Kind.ASSETS: {url: data}, Kind.COMMENTS: {"7": record(cm_id="7", entry_id="1")}})
    commit(built, 2)
    with serving_authority(authority) as tsa, signing_here():
        words = ["seal", str(built.root), "--seal-key", str(key), "--tsa", tsa.url, "--tsa-root", str(authority.root)]
        assert main([*words, "-q"]) == 0
        commit(built, 3)
        assert main([*words, "-q"]) == 0
    commit(built, 4)
    shutil.rmtree(built.root / "latest")  # the views are derived, and a forger would make them again
    return built.root


@pytest.fixture(scope="module")
def forged_token(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], bytes]:
    stranger = make_local_authority(tmp_path_factory.mktemp("stranger"))
    return lambda data: stranger.reply(stranger.query(data))


@pytest.fixture
def forger(sealed: Path, tmp_path: Path, other_key: Path, forged_token: Callable[[bytes], bytes]) -> Forger:
    return Forger(shutil.copytree(sealed, tmp_path / "archive"), random.Random(0), other_key, forged_token)


@pytest.fixture
def trust(key: Path, authority: Authority) -> Trust:
    return Trust(x509.load_pem_x509_certificates(authority.root.read_bytes()), read_signers(key.with_suffix(".pub")))


def evidence(root: Path, trust: Trust, kept: Path | None = None) -> Evidence:
    return check_evidence(Archive.open(root), trust, [] if kept is None else [read_kept(kept)])


def is_damaged(root: Path) -> bool:
    return any(each.damage for each in Archive.open(root).verify(remember=False))


@pytest.mark.thorough
@pytest.mark.parametrize("count", [EACH // 5, pytest.param(EACH, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FAST)
def test_thousands_of_tamperings_are_found(name: str, count: int, forger: Forger, sealed: Path, trust: Trust) -> None:
    kept = sealed / "evidence" / "000002"
    for seed in range(count):
        forger.rng.seed(f"{name} {seed}")
        FAST[name](forger)
        needs_kept = name in {"all_seals_removed", "newest_seal_and_version_removed"}
        found = evidence(forger.root, trust, kept if needs_kept else None).findings
        if name in UNSEEN_BY_VERIFY:
            assert found, seed
        else:
            assert found or is_damaged(forger.root), seed
        forger.restore()
    assert evidence(forger.root, trust, kept).findings == ()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.sample(5)
def test_a_tampering_of_each_kind_is_found_by_the_command(
    name: str, forger: Forger, sealed: Path, program: Program, key: Path, authority: Authority
) -> None:
    signers = key.with_suffix(".pub")
    words = ("verify", forger.root, "--evidence", "--signers", signers, "--tsa-root", authority.root)
    kept = ("--seal", sealed / "evidence" / "000002")
    assert program(*words, *kept).code == 0
    ALL[name](forger)
    if name in UNSEEN_BY_VERIFY:
        assert program("verify", forger.root).code == 0  # without the seals nothing is found
    found = program(*words, *kept)
    assert found.code == 13, found.out
    assert "is damaged: " in found.err


def test_what_no_seal_in_the_archive_can_find(
    forger: Forger, sealed: Path, program: Program, authority: Authority, trust: Trust
) -> None:
    """If the forger removes the newest seals with everything after them, only a copy kept elsewhere shows it."""
    ALL["newest_seal_and_version_removed"](forger)
    assert evidence(forger.root, trust).findings == ()
    digest = read_seal(Archive.open(sealed).layout, 2).digest
    for kept in (digest, sealed / "evidence" / "000002", sealed / "evidence" / "000002" / "SHA256SUMS"):
        found = program("verify", forger.root, "--tsa-root", authority.root, "--seal", kept)
        assert found.code == 13
        assert "no seal has the hash" in found.out or "the archive no longer has this seal" in found.out


def test_no_key_in_the_archive_confirms_a_forged_history(
    forger: Forger, program: Program, authority: Authority
) -> None:
    ALL["confirmed_by_a_stranger"](forger)
    found = program("verify", forger.root, "--evidence", "--tsa-root", authority.root)
    assert found.code == 13
    assert "which counts only if --signers names its key" in found.out


def test_a_statement_alone_under_another_name_is_enough(
    forger: Forger, sealed: Path, program: Program, authority: Authority, tmp_path: Path
) -> None:
    kept = shutil.copy(sealed / "evidence" / "000002" / "SHA256SUMS", tmp_path / "blog-2026.txt")
    words = ("verify", forger.root, "--tsa-root", authority.root, "--seal", kept)
    assert program(*words).code == 0
    ALL["rechained_records"](forger)
    assert "the manifest of version 3 is not the sealed one" in program(*words).out
    wrong = program(*words[:-1], tmp_path)
    assert wrong.code == 2
    (tmp_path / "text").write_text("no statement")
    assert "it is not the statement of a seal" in program(*words[:-1], tmp_path / "text").err
