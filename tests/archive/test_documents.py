"""The documents in an archive's root are sealed: ``verify`` finds all damage to them, and sealing hides none."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.documents import bundled_document, count_heads, head_hash, intact_document, seal
from exporter.archive.prune import KeptVersion, PrunePlan, prune
from exporter.archive.verify import verify
from exporter.errors import ArchiveError
from exporter.model.kinds import Kind
from tests.archive.builder import Built, entry
from tests.archive.sums import sums_agree

ROOT_FILES = ("README.txt", "FORMAT.md", "archive.json", "runs.jsonl", "SHA256SUMS")
FLIPS = 20
FROZEN = Path(__file__).parent / "frozen" / "format-1"


@pytest.fixture
def sealed(tmp_path: Path) -> Built:
    """An archive of two versions and four runs."""
    built = Built(tmp_path / "archive")
    built.commit({Kind.ENTRIES: {"1": entry(1, "海")}})
    built.run(outcome="unchanged")
    built.commit({Kind.ENTRIES: {"1": entry(1, "山")}})
    built.run(outcome="failed", error="the service failed")
    built.refresh()
    return built


def damage(root: Path) -> set[str]:
    """Return the damage that ``verify`` finds, or the error of opening the archive."""
    try:
        return {found.path for found in verify(Archive.open(root), quick=True) if found.damage}
    except ArchiveError as error:
        return {str(error)}


def notes(root: Path) -> set[tuple[str, str]]:
    """Return the findings of ``verify`` that are not damage."""
    return {(str(found.code), found.path) for found in verify(Archive.open(root), quick=True) if not found.damage}


Damage = tuple[str, Callable[[Path], object]]


def damages(root: Path) -> Iterator[Damage]:
    """Return all ways to damage a document in the root, each with a name."""
    draw = random.Random(20260131)
    for name in ROOT_FILES:
        data = (root / name).read_bytes()
        for _ in range(FLIPS):
            yield _flip(name, data, draw.randrange(len(data) * 8))
        for end in (0, 1, len(data) // 3, len(data) // 2, len(data) - 2, len(data) - 1):
            yield f"{name} cut at {end}", partial(_cut, name, end)
        yield f"{name} deleted", partial(_delete, name)
        for more in (b"x", b"\n", b"{}\n", b"\0" * 512):
            yield f"{name} + {more[:4]!r}", partial(_put, name, data + more)
        yield f"{name} doubled", partial(_put, name, data * 2)
        lines = data.splitlines(keepends=True)
        for number in range(min(4, len(lines))):
            rest = lines[:number] + lines[number + 1 :]
            yield f"{name} without line {number + 1}", partial(_put, name, b"".join(rest))
        if len(lines) > 1:
            other = [lines[1], lines[0], *lines[2:]]
            yield f"{name} reordered", partial(_put, name, b"".join(other))
    for one in ROOT_FILES:
        for other_name in ROOT_FILES:
            if one < other_name:
                yield f"{one} and {other_name} swapped", partial(_swapped, one, other_name)


def _flip(name: str, data: bytes, bit: int) -> Damage:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return f"{name} bit {bit}", partial(_put, name, bytes(changed))


def data_of(root: Path, name: str) -> bytes:
    return (root / name).read_bytes()


def _write(root: Path, name: str, data: bytes) -> None:
    (root / name).write_bytes(data)


def _put(name: str, data: bytes, root: Path) -> None:
    _write(root, name, data)


def _cut(name: str, end: int, root: Path) -> None:
    _write(root, name, data_of(root, name)[:end])


def _delete(name: str, root: Path) -> None:
    (root / name).unlink()


def _swapped(one: str, other: str, root: Path) -> None:
    _swap(root, one, other)


def _swap(root: Path, one: str, other: str) -> None:
    first, second = data_of(root, one), data_of(root, other)
    _write(root, one, second)
    _write(root, other, first)


class TestDamage:
    def test_all_damage_in_the_root_is_found(self, sealed: Built) -> None:
        root = sealed.root
        assert (damage(root), notes(root), sums_agree(root)) == (set(), set(), True)
        whole = {name: data_of(root, name) for name in ROOT_FILES}
        names = []
        for name, change in damages(root):
            names.append(name)
            change(root)
            changed = {each: data_of(root, each) if (root / each).exists() else None for each in ROOT_FILES} != whole
            assert changed, name
            found = damage(root)
            torn = name.startswith("runs.jsonl + ") and not found
            manifest_cut = name == "SHA256SUMS without line 5" and not found
            assert found or ((torn or manifest_cut) and notes(root)), name
            if not name.startswith("SHA256SUMS"):
                assert not sums_agree(root), name
            for each, data in whole.items():
                _write(root, each, data)
        assert len(names) == len(set(names)) >= 140, len(names)
        assert (damage(root), notes(root), sums_agree(root)) == (set(), set(), True)

    def test_leftovers_of_a_kill_are_not_damage(self, sealed: Built) -> None:
        for more, is_damage in ((b"x", False), (b'{"started', False), (b"{}\n", True), (b"\n", True)):
            whole = sealed.layout.runs.read_bytes()
            sealed.layout.runs.write_bytes(whole + more)
            assert (damage(sealed.root) == {"runs.jsonl"}) is is_damage
            sealed.layout.runs.write_bytes(whole)

    @pytest.mark.parametrize("name", ["README.txt", "FORMAT.md"])
    def test_the_next_run_does_not_hide_damage(self, sealed: Built, name: str) -> None:
        _write(sealed.root, name, b"damaged\n")
        sealed.run(outcome="unchanged")
        assert damage(sealed.root) == {name}
        assert not sums_agree(sealed.root)
        stated = dict(row.split("  ")[::-1] for row in sealed.layout.sums.read_text().splitlines())[name]
        document = intact_document(sealed.layout, name, stated)
        assert document == bundled_document(name)
        assert document is not None
        _write(sealed.root, name, document)
        assert (damage(sealed.root), sums_agree(sealed.root)) == (set(), True)
        assert intact_document(sealed.layout, name, "0" * 64) is None

    def test_missing_runs_are_reported_after_the_next_run(self, sealed: Built) -> None:
        lines = sealed.layout.runs.read_bytes().splitlines(keepends=True)
        sealed.layout.runs.write_bytes(b"".join(lines[:-1]))
        sealed.run(outcome="unchanged")
        assert damage(sealed.root) == {"runs.jsonl"}
        seal(sealed.layout, anew={"runs.jsonl"})
        assert (damage(sealed.root), sums_agree(sealed.root)) == (set(), True)


class TestKills:
    def test_between_the_line_and_the_seal(self, sealed: Built) -> None:
        before = sealed.layout.sums.read_bytes()
        sealed.run(outcome="unchanged")
        sealed.layout.sums.write_bytes(before)
        assert (damage(sealed.root), notes(sealed.root)) == (set(), {("not-sealed", "runs.jsonl")})
        seal(sealed.layout)
        assert (damage(sealed.root), notes(sealed.root), sums_agree(sealed.root)) == (set(), set(), True)

    def test_between_a_version_and_its_line(self, sealed: Built) -> None:
        sealed.commit({Kind.ENTRIES: {"2": entry(2, "川")}}, run=False)
        assert (damage(sealed.root), sums_agree(sealed.root)) == (set(), True)
        sealed.run(version=3)
        assert (damage(sealed.root), sums_agree(sealed.root)) == (set(), True)
        assert b"  versions/000003/manifest.json\n" in sealed.layout.sums.read_bytes()

    def test_around_the_exchange_of_a_prune(self, sealed: Built) -> None:
        newest = head_hash(sealed.layout)
        seal(sealed.layout, versions=False)
        assert damage(sealed.root) == {"SHA256SUMS"}
        sealed.layout.building.mkdir()
        assert (damage(sealed.root), notes(sealed.root)) == (set(), {("not-sealed", "SHA256SUMS")})
        assert sums_agree(sealed.root)
        loose = sealed.layout.sums.read_bytes()
        prune(sealed.layout, PrunePlan((KeptVersion(2, ("newest",), (1,)),)))
        sealed.refresh(reuse=False)
        assert (damage(sealed.root), notes(sealed.root), sums_agree(sealed.root)) == (set(), set(), True)
        sealed.layout.sums.write_bytes(loose)
        assert (damage(sealed.root), notes(sealed.root)) == (set(), {("not-sealed", "SHA256SUMS")})
        assert sums_agree(sealed.root)
        sealed.run(outcome="unchanged")
        assert (damage(sealed.root), notes(sealed.root), sums_agree(sealed.root)) == (set(), set(), True)
        assert newest is not None
        assert count_heads(sealed.layout, newest) == 1


class TestHead:
    def test_it_covers_every_line_and_the_newest_manifest(self, sealed: Built) -> None:
        lines = sealed.layout.runs.read_bytes().splitlines()
        heads = [hashlib.sha256(line).hexdigest() for line in lines]
        assert head_hash(sealed.layout) == heads[-1]
        assert [json.loads(line)["previous"] for line in lines] == [None, *heads[:-1]]
        manifests = [hashlib.sha256(sealed.layout.manifest(number).read_bytes()).hexdigest() for number in (1, 2)]
        found = [json.loads(line)["manifest_sha256"] for line in lines]
        assert found == [manifests[0], manifests[0], manifests[1], manifests[1]]
        assert [count_heads(sealed.layout, each[:8]) for each in heads] == [1, 1, 1, 1]
        assert count_heads(sealed.layout, "0" * 64) == 0

    def test_an_archive_without_runs_has_no_head(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "archive")
        assert head_hash(built.layout) is None
        built.layout.runs.unlink()
        assert (head_hash(built.layout), count_heads(built.layout, "0" * 8)) == (None, 0)


class TestArchivesOfEarlierPrograms:
    def test_they_are_intact_and_sealed_by_their_next_run(self, tmp_path: Path) -> None:
        shutil.copytree(FROZEN, tmp_path / "archive")
        old = Built.reopen(tmp_path / "archive")
        before = old.layout.runs.read_bytes()
        assert not old.layout.sums.exists()
        assert damage(old.root) == set()
        assert head_hash(old.layout) is None
        old.run(outcome="unchanged")
        assert (damage(old.root), sums_agree(old.root)) == (set(), True)
        added = json.loads(old.layout.runs.read_bytes().removeprefix(before))
        assert added["previous"] == hashlib.sha256(before.splitlines()[-1]).hexdigest()
        old.layout.runs.write_bytes(old.layout.runs.read_bytes().replace(b'"exit_code":0', b'"exit_code":3', 1))
        assert damage(old.root) == {"runs.jsonl"}

    def test_killed_before_their_first_link_they_are_sealed_already(self, tmp_path: Path) -> None:
        shutil.copytree(FROZEN, tmp_path / "archive")
        old = Built.reopen(tmp_path / "archive")
        seal(old.layout)
        assert (damage(old.root), sums_agree(old.root)) == (set(), True)
        assert head_hash(old.layout) is None
