"""A timestamp authority that is down, slow, wrong or hostile: its answer is never kept, and no backup fails by it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509

from exporter.demo.content import demo_blog
from exporter.evidence import sealing
from exporter.evidence.timestamps import check_token, request_for
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.evidence.conftest import commit
from tests.support.authority import Authority, Served
from tests.support.runs import Runs, backup_command, lines_of_runs, serving


def another_nonce(authority: Authority, served: Served) -> None:
    """Answer for the same hash and another nonce, as an authority that repeats an old answer."""

    def answer(query: bytes) -> bytes:
        own = bytearray(query)
        own[own.rindex(b"\x01\x01\xff") - 1] ^= 1  # the nonce's last byte, before certReq
        return authority.reply(bytes(own))

    served.answer = answer


def wrong_imprint(authority: Authority, served: Served) -> None:
    served.answer = lambda _query: authority.reply(authority.query(b"another text"))


def expired(authority: Authority, served: Served) -> None:
    if not (authority.folder / "expired.pem").exists():
        authority.issue("expired", "above", "authority", since="20200101000000Z", until="20210101000000Z")
    served.answer = lambda query: authority.reply(query, "expired")


def refusing(authority: Authority, served: Served) -> None:
    # TimeStampResp with PKIStatus 5, revocationNotification (RFC 3161, section 2.4.2), and a text.
    text = b"\x30\x0f\x0c\x0drevoked today"
    body = b"\x02\x01\x05" + text
    served.answer = lambda _query: b"\x30" + bytes([len(body) + 2]) + b"\x30" + bytes([len(body)]) + body


def garbage(authority: Authority, served: Served) -> None:
    served.answer = lambda _query: b"<html>maintenance</html>"


def huge(authority: Authority, served: Served) -> None:
    served.answer = lambda _query: b"\x30\x84\x06\x00\x00\x00" + bytes(100_000_000)


def unwell(authority: Authority, served: Served) -> None:
    served.status, served.answer = 403, lambda _query: b"no"


def nested(authority: Authority, served: Served) -> None:
    served.answer = lambda _query: b"\x30\x80" * 30_000


WRONG: dict[str, tuple[Callable[[Authority, Served], None], str]] = {
    "nonce": (another_nonce, "its nonce is not the one"),
    "imprint": (wrong_imprint, "it is for another hash"),
    "expired": (expired, "was not valid at that time"),
    "revoked": (refusing, "the authority refused: revocation notification: revoked today"),
    "garbage": (garbage, "it is not the answer of a timestamp authority"),
    "huge": (huge, "its answer has more than 65,536 bytes"),
    "403": (unwell, "answered 403"),
    "nested": (nested, "it is not the answer of a timestamp authority"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_gives_one_line_and_leaves_nothing(
    name: str, program: Program, built: Built, tsa: Served, authority: Authority
) -> None:
    arrange, words = WRONG[name]
    arrange(authority, tsa)
    made = program("seal", built.root, "--tsa", tsa.url, "--tsa-root", authority.root)
    assert made.code == 20
    assert "No timestamp from 127.0.0.1: " in made.err
    assert words in made.err
    assert made.err.count("\n") == 1
    assert not (built.root / "evidence").exists()


def test_an_authority_that_nobody_trusts_is_refused(
    program: Program, built: Built, tsa: Served, authority: Authority
) -> None:
    made = program("seal", built.root, "--tsa", tsa.url)
    assert made.code == 20
    assert "no trusted root confirms its authority, Test authority" in made.err
    assert "--tsa-root FILE" in made.err
    other = authority.folder / "stranger.pem"
    if not other.exists():
        authority.issue("stranger", "stranger", "root")
    assert "no trusted root" in program("seal", built.root, "--tsa", tsa.url, "--tsa-root", other).err


def test_a_certificate_for_another_purpose_signs_no_timestamp(authority: Authority) -> None:
    if not (authority.folder / "server.pem").exists():
        authority.issue("server", "above", "server")
    data = b"statement"
    request = request_for(data)
    roots = x509.load_pem_x509_certificates(authority.root.read_bytes())
    assert check_token(data, authority.reply(request.as_bytes()), roots, request).authority == "Test authority"
    try:
        answer = authority.reply(request.as_bytes(), "server")
    except AssertionError:
        return  # openssl itself refuses to sign with it
    with pytest.raises(ValueError, match="not valid"):
        check_token(data, answer, roots, request)


def test_a_slow_authority_is_given_up(
    program: Program, built: Built, key: Path, tsa: Served, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "TSA_SECONDS", 0.5)
    ended = threading.Event()

    def never(query: bytes) -> bytes:
        ended.wait(60)
        return b""

    tsa.answer = never
    made = program("seal", built.root, "--seal-key", key, "--tsa", tsa.url, "--tsa-root", authority.root)
    ended.set()
    assert made.code == 20
    assert "Signed by SHA256:" in made.out  # the signature is kept
    assert "it did not answer within 0 s" in made.err or "not done within" in made.err


def test_the_next_seal_gets_the_timestamp_that_was_missed(
    program: Program, built: Built, key: Path, tsa: Served, authority: Authority
) -> None:
    words = ("seal", built.root, "--seal-key", key, "--tsa", tsa.url, "--tsa-root", authority.root)
    good, tsa.answer = tsa.answer, lambda _query: b"down"
    assert program(*words).code == 20
    assert program(*words).code == 20
    assert [each.name for each in sorted((built.root / "evidence").iterdir())] == [
        "000001"
    ]  # no second one without use
    commit(built, 4)
    assert program(*words).code == 20
    tsa.answer = good
    assert program(*words).code == 0
    document = program("verify", built.root, "--evidence", "--tsa-root", authority.root, "--json").json["evidence"]
    assert [(each["version"], each["existed_by"] is not None) for each in document["seals"]] == [
        (3, False), (4, False), (4, True),
    ]  # fmt: skip


def test_an_outage_never_fails_a_backup_and_the_next_run_seals_what_was_missed(
    runs: Runs, tmp_path: Path, key: Path, tsa: Served, authority: Authority
) -> None:
    root = tmp_path / "blog"
    good, tsa.answer = tsa.answer, lambda _query: b"down"
    with serving(demo_blog()) as service:
        options = ("--no-site", "--no-markdown", "--assets", "none", "-q", "--seal")
        sealing_options = ("--tsa", tsa.url, "--tsa-root", authority.root)
        first = runs.run(*backup_command(service, root, *options, *sealing_options))
        assert first.code == 0
        assert "warning: The backup is saved, but its time was not confirmed. No timestamp from 127.0.0.1" in first.err
        assert first.err.count("\n") == 1
        assert not (root / "evidence").exists()
        tsa.answer = good
        second = runs.run("backup", root, "-q")  # the archive remembers the options
        assert (second.code, second.err) == (0, "")
        assert (root / "evidence" / "000001" / "SHA256SUMS.tsr").is_file()
        third = runs.run("backup", root, "--json")
        assert third.document["seal"]["seal"] == 1
        assert third.document["seal"]["new"] is False
        unusable = runs.run("backup", root, "-q", "--seal-key", tmp_path / "none", "--no-remember")
        assert unusable.code == 0
        assert "warning: The backup is saved, but it was not sealed. The key" in unusable.err
    assert [run["exit_code"] for run in lines_of_runs(root)] == [0, 0, 0, 0]
    assert len(tsa.queries) == 2
