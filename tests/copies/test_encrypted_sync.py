"""Encrypted copies on the command line: sent, verified, read, restored, and refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tests.archive.builder import Built
from tests.cli.conftest import Program, Result
from tests.copies.support import files_in
from tests.copies.test_encrypted import Owner, owner


@pytest.fixture
def alice(tmp_path: Path) -> Owner:
    return owner(tmp_path, "alice")


@pytest.fixture
def copy(program: Program, archive: Path, alice: Owner, tmp_path: Path) -> Path:
    place = tmp_path / "copy"
    done = program("sync", archive, place, "--encrypt-to", alice.recipient)
    assert done.code == 0, done.err
    return place


def right(done: Result) -> Result:
    assert done.code == 0, done.err
    return done


def sent(root: Path) -> dict[str, bytes]:
    """Return the files of an archive that a copy contains."""
    left_out = {"settings.toml", "index.html", "最初にお読みください.txt"}
    return {name: data for name, data in files_in(root).items() if name not in left_out}


def test_an_archive_is_copied_and_restored(
    program: Program, archive: Path, copy: Path, alice: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    key = ("--identity", alice.file)
    assert not any(
        path.suffix != ".age" for path in copy.glob("*/**/*") if path.is_file() and ".work" not in path.parts
    )
    assert "nothing is missing" in right(program("sync", archive, copy, "--encrypt-to", alice.recipient)).out
    assert "every hash, chain and fold holds" in right(program("verify", copy, *key)).out
    shown = right(program("log", copy, *key, "--json")).json
    assert shown["versions"] == right(program("log", archive, "--json")).json["versions"]
    back = tmp_path / "back"
    right(program("sync", copy, back, *key))
    assert sent(back) == sent(archive)
    right(program("sync", back, copy, "--encrypt-to", alice.recipient))


def test_without_a_key_names_and_sizes_are_checked(program: Program, copy: Path) -> None:
    done = right(program("verify", copy, "--json"))
    assert done.json["intact"] is None
    assert done.json["versions"] == len(list((copy / "versions").iterdir()))
    assert done.json["objects"] == sum(path.suffix == ".age" for path in copy.rglob("*"))
    assert "Their content was not checked, since that needs --identity." in right(program("verify", copy)).out
    assert program("verify", copy, "--expect", "0" * 64).code == 2


def test_without_a_key_missing_truncated_and_unknown_files_are_found(program: Program, copy: Path) -> None:
    first, second, *_ = sorted((copy / "versions").iterdir())
    (first / "entries.jsonl.age").unlink()
    cut = second / "comments.jsonl.age"
    cut.write_bytes(cut.read_bytes()[:-1])
    (second / "files.jsonl.age").write_bytes(b"")
    for path in copy.glob("keys/*"):
        path.unlink()
    picture = next((copy / "assets").rglob("*.age"))
    picture.write_bytes(picture.read_bytes() + b"x")
    (copy / "runs.jsonl.age").write_bytes(b"plain")
    (copy / "entries.txt").write_bytes(b"plain")
    (copy / "versions/000009").mkdir()
    shutil.copy(first / "manifest.json.age", copy / "versions/000009/SHA256SUMS.age")
    done = program("verify", copy, "--json")
    assert done.code == 13
    found = {(each["code"], each["path"]) for each in done.answer_before_error["findings"]}
    assert found == {
        ("segment-missing", f"versions/{first.name}/entries.jsonl.age"),
        ("segment-damaged", f"versions/{second.name}/comments.jsonl.age"),
        ("segment-damaged", f"versions/{second.name}/files.jsonl.age"),
        ("document-damaged", "keys/"),
        ("document-damaged", "runs.jsonl.age"),
        ("asset-damaged", picture.relative_to(copy).as_posix()),
        ("strange-file", "entries.txt"),
        ("unfinished", "versions/000009/"),
    }


def test_with_the_key_every_changed_byte_is_found(program: Program, copy: Path, alice: Owner) -> None:
    first = copy / "versions/000001/entries.jsonl.age"
    data = bytearray(first.read_bytes())
    data[-100] ^= 1
    first.write_bytes(data)
    assert program("verify", copy).code == 0
    done = program("verify", copy, "--identity", alice.file, "--json")
    assert done.code == 13
    assert {each["path"] for each in done.answer_before_error["findings"]} == {"versions/000001/entries.jsonl"}


@pytest.mark.parametrize("hidden", [False, True])
def test_nothing_plain_is_sent_to_an_encrypted_copy(program: Program, archive: Path, copy: Path, hidden: bool) -> None:
    """Also if the host of the copy removes the file that marks it as encrypted."""
    if hidden:
        (copy / "encrypted-copy.json").unlink()
    before = files_in(copy)
    done = program("sync", archive, copy)
    assert done.code == 2
    assert "is an encrypted copy: give --encrypt-to" in done.err
    assert files_in(copy) == before


def test_nothing_encrypted_is_sent_to_a_plain_copy(
    program: Program, archive: Path, alice: Owner, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    right(program("sync", archive, plain))
    before = files_in(plain)
    done = program("sync", archive, plain, "--encrypt-to", alice.recipient)
    assert done.code == 2
    assert "has no encrypted copy" in done.err
    assert files_in(plain) == before


def test_a_dry_run_begins_no_copy(program: Program, archive: Path, alice: Owner, tmp_path: Path) -> None:
    done = right(program("sync", archive, tmp_path / "new", "--encrypt-to", alice.recipient, "--dry-run"))
    assert "would send" in done.out
    assert not (tmp_path / "new").exists()
    assert not (archive / ".work/copies.json").exists()


def test_recipients_come_from_a_file_and_from_the_settings(
    program: Program, archive: Path, alice: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = owner(tmp_path, "bob")
    listed = tmp_path / "recipients.txt"
    listed.write_text(f"# bob\n{bob.recipient}\n", encoding="utf-8")
    place = tmp_path / "copy"
    right(program("sync", archive, place, "--encrypt-to", alice.recipient, "--recipients-file", listed))
    for each in (alice, bob):
        right(program("verify", place, "--identity", each.file))
    monkeypatch.setenv("BLOG_EXPORTER_ENCRYPT_TO", alice.recipient)
    monkeypatch.setenv("BLOG_EXPORTER_RECIPIENTS_FILE", str(listed))
    done = right(program("sync", archive, place))
    assert done.err == ""
    done = right(program("sync", archive, place, "--encrypt-to", alice.recipient))
    assert f"{bob.recipient} cannot decrypt new objects in" in done.err
    carol = owner(tmp_path, "carol")
    done = right(program("sync", archive, place, "--encrypt-to", carol.recipient))
    assert f"{carol.recipient} can only decrypt new objects in" in done.err
    monkeypatch.setenv("BLOG_EXPORTER_ENCRYPT_TO", "AGE-SECRET-KEY-1QQQQ")
    done = program("sync", archive, place)
    assert done.code == 2
    assert "was given as a recipient" in done.err
    assert "QQQQ" not in done.err


@pytest.mark.parametrize("word", ["age1x", "AGE-SECRET-KEY-1QQQQ"])
def test_a_wrong_recipient_is_reported(program: Program, archive: Path, tmp_path: Path, word: str) -> None:
    done = program("sync", archive, tmp_path / "copy", "--encrypt-to", word)
    assert done.code == 2
    assert "recipient" in done.err
    assert "QQQQ" not in done.err


def test_a_wrong_identity_is_reported(program: Program, copy: Path, tmp_path: Path) -> None:
    bob = owner(tmp_path, "bob")
    for arguments in (("verify", copy), ("sync", copy, tmp_path / "back"), ("log", copy)):
        done = program(*arguments, "--identity", bob.file)
        assert done.code == 2
        assert "decrypts nothing in" in done.err
    assert not (tmp_path / "back").exists()


def test_reading_without_a_key_names_the_option(program: Program, copy: Path) -> None:
    done = program("log", copy)
    assert done.code == 2
    assert "--identity" in done.err


def test_another_copy_in_its_place_is_noticed(
    program: Program, archive: Path, copy: Path, alice: Owner, tmp_path: Path
) -> None:
    """The host of the copy forged a history and encrypted it to the recipient."""
    Built(tmp_path / "made-up").commit({})
    shutil.rmtree(copy)
    right(program("sync", tmp_path / "made-up", copy, "--encrypt-to", alice.recipient))
    done = program("sync", archive, copy, "--encrypt-to", alice.recipient)
    assert done.code == 13
    assert "someone has replaced it" in done.err


@pytest.mark.thorough
def test_a_fleet_is_one_copy(program: Program, archive: Path, alice: Owner, tmp_path: Path) -> None:
    fleet, place, back = tmp_path / "fleet", tmp_path / "copy", tmp_path / "back"
    fleet.mkdir()
    (fleet / "fleet.sqlite").write_bytes(b"")
    for blog in ("one.blog.example.jp", "two.blog.example.jp"):
        shard = hashlib.sha256(blog.encode()).hexdigest()[:2]
        shutil.copytree(archive, fleet / shard / blog)
    for _ in range(2):
        right(program("sync", fleet, place, "--encrypt-to", alice.recipient))
    assert not any("example" in path.as_posix() for path in place.rglob("*"))
    assert len(list((place / "keys").iterdir())) == 1
    seen = right(program("verify", place, "--json")).json
    assert seen["versions"] == 2 * len(list((archive / "versions").iterdir()))
    assert right(program("fleet", "verify", place, "--identity", alice.file, "--json")).json["made"] == 2
    right(program("sync", place, back, "--identity", alice.file))
    for root in fleet.glob("??/*"):
        assert sent(back / root.relative_to(fleet)) == sent(root)
    assert json.loads((back / ".work/copies.json").read_bytes()) == {
        **json.loads((fleet / ".work/copies.json").read_bytes())
    }


def test_the_documentation_has_the_recipe_of_the_copy() -> None:
    """tests/importers/test_age.py runs the recipe in the copy's README.txt that restores it without this program."""
    root = Path(__file__).parent.parent.parent
    page = (root / "docs/encrypted-copies.md").read_text("utf-8")
    recipe = page.split("```sh\n")[1].split("```")[0]
    indented = "".join(f"    {line}\n" if line else "\n" for line in recipe.splitlines())
    assert indented in (root / "exporter/copies/README.txt").read_text("utf-8")


def test_a_copy_is_pruned_only_with_its_identity(program: Program, archive: Path, copy: Path, alice: Owner) -> None:
    """A prune reads the versions back, which the writer's own key cannot decrypt."""
    right(program("prune", archive, "--keep-last", "1"))
    before = files_in(copy)
    send = ("sync", archive, copy, "--encrypt-to", alice.recipient, "--prune")
    done = program(*send)
    assert done.code == 2, done.err
    assert "--identity" in done.err
    assert files_in(copy) == before
    shutil.copytree(copy / "versions/000002", copy / "versions.new/000002")
    manifest = copy / "versions/000002/manifest.json.age"
    manifest.rename(copy / "manifest")
    assert "a prune of this copy was interrupted" in program("verify", copy).out
    assert program("verify", copy).code == 13
    (copy / "manifest").rename(manifest)
    shutil.rmtree(copy / "versions.new")
    key = ("--identity", alice.file)
    right(program(*send, *key))
    right(program("verify", copy, *key))
    assert len(list((copy / "versions").iterdir())) == 1
