"""``sync`` finds flipped bits in a copy, an older state in its place, and an empty disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.copies.checks import SYNCS_PER_CYCLE, check_sample, turn_of
from exporter.copies.contents import LocalHistory, SecondCopy
from exporter.copies.folder import FolderStore
from exporter.copies.memory import KnownCopy
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.copies.conftest import add_pictures
from tests.copies.s3_servers import Service
from tests.copies.test_encrypted import Owner, owner


def flip(path: Path) -> None:
    """Flip a bit in the middle, which keeps the file's size."""
    data = bytearray(path.read_bytes() or b"x")
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def parts(archive: Path) -> list[str]:
    newest = max(Archive.open(archive).versions())
    version = f"versions/{newest:06d}"
    picture = next(path for path in sorted(archive.glob("assets/*/*"))).relative_to(archive).as_posix()
    return [f"{version}/entries.jsonl", f"{version}/manifest.json", f"{version}/SHA256SUMS", picture]


@pytest.mark.thorough
def test_a_flipped_bit_is_found_within_thirty_syncs_and_named_until_it_is_gone(
    program: Program, archive: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    assert program("sync", archive, copy).code == 0
    for name in parts(archive):
        flip(copy / name)
        for _ in range(SYNCS_PER_CYCLE):
            done = program("sync", archive, copy, "-q")
            if done.code:
                break
        assert (done.code, name in done.err) == (13, True), name
        assert program("sync", archive, copy, "-q").code == 13
        if name.startswith("versions") and not name.endswith("entries.jsonl"):
            assert "verify --repair" in done.err
            assert program("verify", "--repair", copy).code == 0
        else:
            (copy / name).unlink()
        assert program("sync", archive, copy, "-q").code == 0


def test_thirty_turns_read_every_object_that_never_changes(program: Program, archive: Path, tmp_path: Path) -> None:
    assert program("sync", archive, tmp_path / "copy").code == 0
    found = SecondCopy(FolderStore(tmp_path / "copy"))
    info, known = (archive / "archive.json").read_bytes(), KnownCopy(head=1)
    for name in found.objects:
        flip(tmp_path / "copy" / name)
    bad = [
        name
        for _ in range(SYNCS_PER_CYCLE)
        for name in check_sample(found, LocalHistory(Archive.open(archive)), info, known)
    ]
    assert set(bad) == found.objects.keys() - {"README.txt", "FORMAT.md", "runs.jsonl", "SHA256SUMS"}


def turn_to(archive: Path, place: str, name: str) -> None:
    """Let the next sync check the object with this name."""
    memory = archive / ".work" / "copy-checks.json"
    known = json.loads(memory.read_bytes())
    ((copy_id, _),) = known[place].items()
    known[place][copy_id]["turn"] = turn_of(name)
    memory.write_text(json.dumps(known))


@pytest.mark.parametrize("syncs", [1, pytest.param(SYNCS_PER_CYCLE, marks=pytest.mark.thorough)])
def test_the_copy_in_s3_is_also_checked(
    program: Program, small: Built, s3: Service, monkeypatch: pytest.MonkeyPatch, syncs: int
) -> None:
    archive = small.root
    for name, value in s3.variables.items():
        monkeypatch.setenv(name, value)
    bucket = s3.bucket()
    place = f"s3://{bucket}/blogs/mine"
    assert program("sync", archive, place).code == 0
    (name,) = parts(archive)[-1:]
    client = s3.client()
    data = bytearray((archive / name).read_bytes())
    data[len(data) // 2] ^= 1
    client.put_object(Bucket=bucket, Key=f"blogs/mine/{name}", Body=bytes(data))
    client.close()
    if syncs == 1:
        turn_to(archive, place, name)
    codes = {program("sync", archive, place, "-q").code for _ in range(syncs)}
    assert 13 in codes


@pytest.fixture
def alice(tmp_path: Path) -> Owner:
    return owner(tmp_path, "alice")


@pytest.mark.parametrize("cycle", [5, pytest.param(SYNCS_PER_CYCLE, marks=pytest.mark.thorough)])
def test_an_encrypted_copy_is_compared_with_earlier_checks(
    program: Program, archive: Path, tmp_path: Path, alice: Owner, monkeypatch: pytest.MonkeyPatch, cycle: int
) -> None:
    """The sending machine cannot decrypt the pictures, but they never change, so their bytes can be compared."""
    monkeypatch.setattr("exporter.copies.checks.SYNCS_PER_CYCLE", cycle)
    copy = tmp_path / "copy"
    for _ in range(cycle + 1):
        assert program("sync", archive, copy, "--encrypt-to", alice.recipient, "-q").code == 0
    assert not list((copy).glob("*/.work"))
    flip(max(copy.glob("assets/*/*"), key=lambda path: path.stat().st_size))
    done = [program("sync", archive, copy, "--encrypt-to", alice.recipient, "-q") for _ in range(cycle)]
    assert {each.code for each in done[:-1]} <= {0, 13}
    assert done[-1].code == 13


def test_a_copy_replaced_by_an_older_state_is_reported_and_updated(
    program: Program, source: Built, tmp_path: Path
) -> None:
    archive, copy, kept = source.root, tmp_path / "copy", tmp_path / "kept"
    assert program("sync", archive, copy).code == 0
    shutil.copytree(copy, kept)
    add_pictures(source, b"a later picture")
    newest = max(Archive.open(archive).versions())
    assert program("sync", archive, copy).code == 0
    shutil.rmtree(copy)
    shutil.copytree(kept, copy)
    dry = program("sync", archive, copy, "--dry-run", "--json")
    assert dry.code == 13
    assert dry.answer_before_error["archives"][0]["rolled_back"] == {"from": newest, "to": newest - 1}
    done = program("sync", archive, copy)
    assert done.code == 13
    assert f"had version {newest} after the last sync and now has only version {newest - 1}" in done.err
    assert program("sync", archive, copy).code == 0
    assert program("verify", copy).code == 0


def test_two_disks_take_turns_at_one_mount_point(program: Program, source: Built, tmp_path: Path) -> None:
    archive, place = source.root, tmp_path / "disk"
    one, two = tmp_path / "one", tmp_path / "two"
    assert program("sync", archive, place).code == 0
    place.rename(one)
    assert program("sync", archive, place, "--new").code == 0
    place.rename(two)
    for number, disk in enumerate((one, two, one)):
        add_pictures(source, b"a later picture" + bytes([number]))
        disk.rename(place)
        assert program("sync", archive, place).code == 0
        place.rename(disk)


def test_an_empty_place_that_had_a_copy_is_a_disk_that_is_not_connected(
    program: Program, archive: Path, tmp_path: Path
) -> None:
    place = tmp_path / "disk"
    assert program("sync", archive, place).code == 0
    shutil.rmtree(place)
    place.mkdir()
    for _ in range(2):
        done = program("sync", archive, place)
        assert done.code == 10
        assert "add --new" in done.err
        assert not list(place.iterdir())
    assert program("sync", archive, place, "--new").code == 0
    assert program("sync", archive, place).code == 0


def test_a_prune_is_no_rollback(program: Program, archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert program("sync", archive, copy).code == 0
    assert program("prune", archive, "--keep-last", "1").code == 0
    turn_to(archive, str(copy), "versions/000002/manifest.json")
    done = program("sync", archive, copy, "--prune", "--json")
    assert (done.code, done.json["archives"][0]["rolled_back"]) == (0, None)
    assert program("sync", archive, copy).code == 0


def test_a_damaged_record_of_checks_is_discarded(
    program: Program, small: Built, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    assert program("sync", small.root, tmp_path / "copy").code == 0
    memory = small.root / ".work" / "copy-checks.json"
    for text in ("", "{", "[]", '{"x": 1}', '{"x": {"y": {"head": "z"}}}'):
        with subtests.test(text=text):
            memory.write_text(text)
            assert program("sync", small.root, tmp_path / "copy").code == 0
            assert json.loads(memory.read_bytes())[str(tmp_path / "copy")]
