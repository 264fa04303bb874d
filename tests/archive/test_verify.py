"""Each kind of finding is produced by an archive with that damage, and every flipped bit is found."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.checks import NOTES, Finding, FindingCode
from exporter.archive.documents import seal
from exporter.archive.lines import put_line, remove_line
from exporter.archive.manifest import KindCounts
from exporter.archive.verify import verify
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind
from tests.archive.builder import CREATED, EVIDENCE, Built, entry, pages, record, run_line

FLIPS = 2000
V3 = "versions/000003"


def edit(path: Path, old: bytes, new: bytes) -> None:
    """Replace bytes that occur once in a file."""
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


def commit_lines(archive: Built, lines: list[bytes], total: int | None = None) -> None:
    """Commit a sixth version with these lines of entries, even invalid ones, and update ``latest/``."""
    counts = {kind: KindCounts(len(archive.states[-1][kind])) for kind in Kind}
    if total is not None:
        counts[Kind.ENTRIES] = KindCounts(total)
    made = {Kind.ENTRIES: lines}
    writer.commit(archive.layout, writer.VersionDraft(5, "https://api.example", CREATED, CREATED, counts, {}, [], made))
    archive.refresh()


def entry_line(archive: Built, record_id: str) -> bytes:
    """Return the line of an entry's newest state."""
    return put_line(
        record_id, lossless_json.freeze(lossless_json.loads(archive.states[-1][Kind.ENTRIES][record_id][0]))
    )


Damage = Callable[[Built], object]


def unsealed(archive: Built, change: Callable[[], object]) -> None:
    """Change an archive like a run that is killed before it seals it."""
    before = archive.layout.sums.read_bytes()
    change()
    archive.layout.sums.write_bytes(before)


def relink(archive: Built, **changed: str) -> None:
    """Change the newest run's line, and seal the archive."""
    *lines, newest = archive.layout.runs.read_bytes().splitlines(keepends=True)
    lines.append(lossless_json.dumps({**lossless_json.loads(newest), **changed}) + b"\n")
    archive.layout.runs.write_bytes(b"".join(lines))
    seal(archive.layout, anew={"runs.jsonl"})


def in_turn(*damages: Damage) -> Damage:
    """Apply several kinds of damage to an archive."""

    def damage(archive: Built) -> None:
        for each in damages:
            each(archive)

    return damage


DAMAGES: list[tuple[FindingCode, str, str, Damage]] = [
    (
        FindingCode.INFO_DAMAGED, "archive.json", "its hash is not the one in versions/000001/SHA256SUMS",
        lambda a: edit(a.layout.info, b"sea.example", b"tea.example"),
    ),
    (FindingCode.MANIFEST_MISSING, f"{V3}/manifest.json", "it cannot be read", lambda a: a.layout.manifest(3).unlink()),
    (
        FindingCode.MANIFEST_MISSING, f"{V3}/manifest.json", "it cannot be read",
        in_turn(lambda a: shutil.rmtree(a.layout.version(3)), lambda a: a.layout.version(3).write_bytes(b"")),
    ),
    (FindingCode.MANIFEST_DAMAGED, f"{V3}/manifest.json", "is damaged", lambda a: a.layout.manifest(3).write_bytes(b"{")),
    (
        FindingCode.MANIFEST_DAMAGED, f"{V3}/manifest.json", "its hash is not the one in SHA256SUMS",
        lambda a: edit(a.layout.manifest(3), b"answered 404", b"answered 504"),
    ),
    (
        FindingCode.MANIFEST_DAMAGED, f"{V3}/manifest.json", "it says version 8",
        lambda a: edit(a.layout.manifest(3), b'"version": 3', b'"version": 8'),
    ),
    (
        FindingCode.MANIFEST_DAMAGED, f"{V3}/user.jsonl", "the manifest does not list this file",
        lambda a: edit(a.layout.manifest(3), b'"user.jsonl"', b'"users.json"'),
    ),
    (
        FindingCode.SUMS_DAMAGED, f"{V3}/SHA256SUMS", "it does not agree with the manifest",
        lambda a: edit(a.layout.version(3) / "SHA256SUMS", b"  user.jsonl", b"  uses.jsonl"),
    ),
    (
        FindingCode.SUMS_DAMAGED, f"{V3}/SHA256SUMS", "it does not agree with the manifest",
        lambda a: (a.layout.version(3) / "SHA256SUMS").unlink(),
    ),
    (
        FindingCode.SEGMENT_MISSING, f"{V3}/user.jsonl", "it cannot be read",
        lambda a: a.layout.segment(3, Kind.USER).unlink(),
    ),
    (
        FindingCode.SEGMENT_DAMAGED, f"{V3}/user.jsonl", "its size or hash is not the one in the manifest",
        lambda a: a.layout.segment(3, Kind.USER).write_bytes(put_line("x", lossless_json.freeze({"id": "x"}))),
    ),
    (
        FindingCode.SEGMENT_DAMAGED, f"{V3}/user.jsonl", "it has 1 lines, the manifest says 0",
        lambda a: a.layout.segment(3, Kind.USER).write_bytes(put_line("x", lossless_json.freeze({"id": "x"}))),
    ),
    (
        FindingCode.LINE_DAMAGED, "versions/000001/user.jsonl", "line 1: its data does not match its sha256",
        lambda a: edit(a.layout.segment(1, Kind.USER), "浜".encode(), "海".encode()),
    ),
    (
        FindingCode.LINE_DAMAGED, "versions/000002/entries.jsonl", "line 1: ",
        lambda a: edit(a.layout.segment(2, Kind.ENTRIES), b'"id":"7"', b'"id": 7 '),
    ),
    (
        FindingCode.CHAIN_BROKEN, "versions/000004/manifest.json", "its parent is not version 2 of this archive",
        lambda a: shutil.rmtree(a.layout.version(3)),
    ),
    (
        FindingCode.CHAIN_BROKEN, "versions/000002/manifest.json", "it names a parent, but no version precedes it",
        lambda a: shutil.rmtree(a.layout.version(1)),
    ),
    (
        FindingCode.CHAIN_BROKEN, "versions/000004/manifest.json", "its parent is not version 3 of this archive",
        lambda a: edit(a.layout.manifest(3), b"answered 404", b"answered 504"),
    ),
    (
        FindingCode.CHAIN_BROKEN, "versions/000005", "runs.jsonl names the run that made it, and it is missing",
        lambda a: shutil.rmtree(a.layout.version(5)),
    ),
    (
        FindingCode.CHAIN_BROKEN, "versions/000005", "runs.jsonl names the run that made it, and it is missing",
        lambda a: shutil.rmtree(a.layout.versions),
    ),
    (
        FindingCode.FOLD_WRONG, "versions/000006/entries.jsonl", "1 is put but did not change",
        lambda a: commit_lines(a, [entry_line(a, "1")]),
    ),
    (
        FindingCode.FOLD_WRONG, "versions/000006/entries.jsonl", "999 is removed but did not exist",
        lambda a: commit_lines(a, [remove_line("999", EVIDENCE)]),
    ),
    (
        FindingCode.FOLD_WRONG, "versions/000006/entries.jsonl", "1 has two lines",
        lambda a: commit_lines(a, [put_line("1", lossless_json.freeze({"n": n})) for n in (1, 2)]),
    ),
    (
        FindingCode.COUNTS_WRONG, "versions/000006/manifest.json", "it counts 77 entries, the lines give 11",
        lambda a: commit_lines(a, [], total=77),
    ),
    (
        FindingCode.STRANGE_FILE, f"{V3}/notes.txt", "no part of the format",
        lambda a: (a.layout.version(3) / "notes.txt").write_bytes(b""),
    ),
    (
        FindingCode.STRANGE_FILE, "versions/3", "no part of the format",
        lambda a: (a.layout.versions / "3").mkdir(),
    ),
    (
        FindingCode.NOT_PLAIN, "latest/markdown/2016", "it is a link",
        in_turn(
            lambda a: shutil.rmtree(a.layout.latest / "markdown/2016"),
            lambda a: (a.root / "latest/markdown/2016").symlink_to(a.root),
        ),
    ),
    (FindingCode.NOT_PLAIN, ".work/queue", "it is a FIFO", lambda a: os.mkfifo(a.layout.work / "queue")),
    (FindingCode.RUNS_DAMAGED, "runs.jsonl", "it cannot be read", lambda a: a.layout.runs.unlink()),
    (FindingCode.RUNS_DAMAGED, "runs.jsonl", "line 6 is not a run", lambda a: a.layout.runs.open("ab").write(b"[1]\n")),
    (FindingCode.RUNS_DAMAGED, "runs.jsonl", "line 6 is not a run", lambda a: a.layout.runs.open("ab").write(b"{\n")),
    (
        FindingCode.LATEST_DAMAGED, "latest/user.jsonl", "it differs from version 5",
        lambda a: edit(a.layout.latest_segment(Kind.USER), "浜".encode(), "海".encode()),
    ),
    (
        FindingCode.LATEST_DAMAGED, "latest/user.jsonl", "it differs from version 5",
        lambda a: a.layout.latest_segment(Kind.USER).unlink(),
    ),
    (
        FindingCode.LATEST_DAMAGED, "latest/user.jsonl", "it differs from version 5",
        in_turn(lambda a: a.layout.latest_record.unlink(), lambda a: a.layout.latest_segment(Kind.USER).write_bytes(b"")),
    ),
    (
        FindingCode.RUNS_DAMAGED, "runs.jsonl", "line 6 is not a run: outcome is missing",
        lambda a: a.layout.runs.open("ab").write(b"{}\n"),
    ),
    (
        FindingCode.RUNS_REWRITTEN, "runs.jsonl", "it does not begin with the sealed lines",
        lambda a: edit(a.layout.runs, b'"version":5', b'"version":4'),
    ),
    (
        FindingCode.RUNS_REWRITTEN, "runs.jsonl", "line 4 does not name the line before it",
        lambda a: edit(a.layout.runs, b'"version":3', b'"version":2'),
    ),
    (
        FindingCode.RUNS_REWRITTEN, "runs.jsonl", "line 6 does not name the line before it",
        lambda a: a.layout.runs.open("ab").write(lossless_json.dumps(run_line()) + b"\n"),
    ),
    (
        FindingCode.CHAIN_BROKEN, "runs.jsonl", "the manifest that its newest line names is missing",
        lambda a: relink(a, manifest_sha256="0" * 64),
    ),
    (
        FindingCode.DOCUMENT_DAMAGED, "README.txt", "it differs from the sealed one",
        lambda a: edit(a.layout.readme, b"no network needed", b"no network nedeed"),
    ),
    (FindingCode.DOCUMENT_DAMAGED, "FORMAT.md", "it cannot be read", lambda a: a.layout.format_document.unlink()),
    (
        FindingCode.INFO_DAMAGED, "archive.json", "it differs from the sealed one",
        lambda a: edit(a.layout.info, b"sea.example", b"tea.example"),
    ),
    (
        FindingCode.MANIFEST_DAMAGED, "versions/000005/manifest.json", "it differs from the sealed one",
        lambda a: edit(a.layout.manifest(5), b"answered 404", b"answered 504"),
    ),
    (
        FindingCode.MANIFEST_MISSING, "versions/000005/manifest.json", "SHA256SUMS names it, and it cannot be read",
        lambda a: shutil.rmtree(a.layout.version(5)),
    ),
    (FindingCode.SEAL_DAMAGED, "SHA256SUMS", "it is missing", lambda a: a.layout.sums.unlink()),
    (
        FindingCode.SEAL_DAMAGED, "SHA256SUMS", "it does not have a row for each of README.txt, FORMAT.md",
        lambda a: edit(a.layout.sums, b"README.txt", b"README.tyt"),
    ),
    (
        FindingCode.SEAL_DAMAGED, "SHA256SUMS", "it cannot be read",
        in_turn(lambda a: a.layout.sums.unlink(), lambda a: a.layout.sums.mkdir()),
    ),
    (FindingCode.NOT_SEALED, "runs.jsonl", "1 more than were sealed", lambda a: unsealed(a, a.run)),
    (
        FindingCode.NOT_SEALED, "runs.jsonl", "its last line was cut short, and was not sealed",
        lambda a: a.layout.runs.open("ab").write(b'{"started_at":'),
    ),
    (
        FindingCode.SEAL_DAMAGED, "SHA256SUMS", "it does not name the newest manifest",
        lambda a: seal(a.layout, versions=False),
    ),
    (
        FindingCode.NOT_SEALED, "SHA256SUMS", "it does not name the newest manifest",
        in_turn(lambda a: seal(a.layout, versions=False), lambda a: a.layout.building.mkdir()),
    ),
    (
        FindingCode.NOTES_DAMAGED, "forgotten.jsonl", "it is missing",
        lambda a: relink(a, forgotten_sha256="0" * 64),
    ),
    (
        FindingCode.NOTES_DAMAGED, "forgotten.jsonl", "the newest run names another",
        lambda a: a.layout.forgotten.write_bytes(b""),
    ),
    (
        FindingCode.NOTES_DAMAGED, "forgotten.jsonl", "its last line was cut short",
        lambda a: a.layout.forgotten.write_bytes(b"{"),
    ),
    (
        FindingCode.FORGETTING, "forgotten.jsonl", "a removal was interrupted",
        in_turn(lambda a: a.layout.forgotten.write_bytes(b""), lambda a: a.layout.forgetting.write_bytes(b"{}")),
    ),
    (FindingCode.LATEST_STALE, "latest", "it is missing", lambda a: shutil.rmtree(a.layout.latest)),
    (
        FindingCode.LATEST_STALE, "latest/markdown", "it is missing",
        lambda a: shutil.rmtree(a.layout.latest / "markdown"),
    ),
    (
        FindingCode.LATEST_STALE, "latest", "it does not show version 6 yet",
        lambda a: a.commit({Kind.ENTRIES: {"99": entry(99, "後")}}),
    ),
    (
        FindingCode.VIEW_DAMAGED, "latest/markdown/2016/01/a.md", "it was changed after it was written",
        lambda a: (a.layout.latest / "markdown/2016/01/a.md").write_bytes(b"b\n"),
    ),
    (
        FindingCode.VIEW_DAMAGED, "latest/markdown/index.md", "it was changed after it was written",
        lambda a: (a.layout.latest / "markdown/index.md").unlink(),
    ),
]  # fmt: skip
ONLY_IN_COPIES = {FindingCode.UNFINISHED}  # tests/copies tests these
CAPTURES = {
    FindingCode.CAPTURE_MISSING,
    FindingCode.CAPTURE_DAMAGED,
    FindingCode.RECORD_DAMAGED,
    FindingCode.INDEX_WRONG,
}  # test_captures.py tests these
SEALS = {each for each in FindingCode if each.startswith("evidence-")}  # tests/evidence tests these
STORED_FILES = {FindingCode.ASSET_MISSING, FindingCode.ASSET_DAMAGED}
"""Findings about stored pictures, which the tests of the picture store produce."""


def check(archive: Built) -> list[Finding]:
    return list(verify(archive.reader))


class TestFindings:
    def test_an_intact_archive_has_no_findings(self, five: Built) -> None:
        assert check(five) == []

    @pytest.mark.filterwarnings("ignore::ResourceWarning")
    @pytest.mark.parametrize(
        ("code", "path", "detail", "damage"), DAMAGES, ids=[f"{at}-{row[0]}" for at, row in enumerate(DAMAGES)]
    )
    def test_each_damage_is_found(
        self, archive: Built, code: FindingCode, path: str, detail: str, damage: Damage
    ) -> None:
        damage(archive)
        found = check(archive)
        matching = [each for each in found if (each.code, each.path) == (code, path) and detail in each.detail]
        assert len(matching) == 1, found
        assert matching[0].damage == (code not in NOTES)
        assert matching[0].mend == code.mend
        assert all("\n" not in each.detail for each in found)

    def test_every_code_has_its_damage(self) -> None:
        assert {code for code, *_ in DAMAGES} == set(FindingCode) - CAPTURES - SEALS - STORED_FILES - ONLY_IN_COPIES
        assert all(code.mend for code in FindingCode)

    def test_a_broken_version_does_not_hide_the_next(self, archive: Built) -> None:
        edit(archive.layout.segment(1, Kind.USER), "浜".encode(), "海".encode())
        archive.layout.segment(4, Kind.ENTRIES).unlink()
        paths = [found.path for found in check(archive)]
        assert "versions/000001/user.jsonl" in paths
        assert "versions/000004/entries.jsonl" in paths

    def test_a_strange_file_does_not_hide_damage_in_latest(self, archive: Built) -> None:
        (archive.layout.version(2) / ".DS_Store").write_bytes(b"")
        archive.layout.latest_segment(Kind.USER).write_bytes(b"")
        assert {found.code for found in check(archive)} == {FindingCode.STRANGE_FILE, FindingCode.LATEST_DAMAGED}

    def test_rebuilding_repairs_derived_files(self, archive: Built) -> None:
        (archive.layout.latest / "markdown/index.md").write_bytes(b"x")
        archive.layout.latest_segment(Kind.USER).write_bytes(b"")
        assert {found.mend for found in check(archive)} == {"run rebuild"}
        archive.refresh(pages({"index.md": b"# index\n", "2016/01/a.md": b"a\n"}), reuse=False)
        assert check(archive) == []

    def test_an_archive_without_versions_is_intact(self, tmp_path: Path) -> None:
        assert check(Built(tmp_path / "archive")) == []

    def test_nothing_derived_is_needed(self, archive: Built) -> None:
        shutil.rmtree(archive.layout.work)
        assert check(archive) == []
        shutil.rmtree(archive.layout.latest)
        assert [found.damage for found in check(archive)] == [False]

    def test_a_hostile_manifest_is_damage_and_no_failure(self, archive: Built) -> None:
        document = json.loads(archive.layout.manifest(3).read_bytes())
        document["files"]["../../../\ud83d"] = {"lines": None, "bytes": [], "sha256": {"a": "あ"}}
        archive.layout.manifest(3).write_text(json.dumps(document))
        found = [each.detail for each in check(archive) if each.path == f"{V3}/manifest.json"]
        assert any("files" in detail and "lines is null, not a number" in detail for detail in found), found


@pytest.fixture
def small(tmp_path: Path) -> Built:
    """An archive of two small versions."""
    built = Built(tmp_path / "archive")
    built.commit(
        {Kind.ENTRIES: {"1": entry(1, "海"), "2": b'{"entry_id":"2","n":1.10}'}, Kind.USER: {"u": record(id="u")}}
    )
    built.commit({Kind.ENTRIES: {"1": None, "2": entry(2, "\ud83d")}, Kind.FILES: {"5": record(file_id=5)}})
    return built


@pytest.mark.no_cover
class TestFlippedBits:
    """Flips a few thousand bits in a small archive, chosen with a fixed seed."""

    def blamed(self, root: Path) -> set[str]:
        """Return the files reported as damaged by ``verify`` or by opening the archive."""
        try:
            return {found.path for found in verify(Archive.open(root)) if found.damage}
        except ArchiveDamaged as error:
            return {str(path.relative_to(root)) for path in [root / "archive.json"] if str(path) in str(error)}

    def suspects(self, name: str) -> set[str]:
        """Return the files that may be reported for a flip in one file: itself, and those linked to it by a hash."""
        folder, _, file = name.rpartition("/")
        following = {"versions/000002/manifest.json"} if folder.endswith("1") else set()
        if file == "archive.json":
            return {name, "versions/000001/SHA256SUMS", "versions/000002/SHA256SUMS"}
        if file == "SHA256SUMS":
            return {name, f"{folder}/manifest.json", "archive.json"}
        if file == "manifest.json":
            return {name, f"{folder}/SHA256SUMS", *following, *(f"{folder}/{kind}.jsonl" for kind in Kind)}
        return {name}

    @pytest.mark.parametrize("flips", [40, pytest.param(FLIPS, marks=pytest.mark.thorough)])
    def test_each_is_reported_and_the_right_file_named(self, small: Built, flips: int) -> None:
        assert self.blamed(small.root) == set()
        versions = [path for path in small.layout.versions.rglob("*") if path.is_file()]
        whole = {path: path.read_bytes() for path in [small.layout.info, *versions]}
        places = [(path, bit) for path, data in whole.items() for bit in range(len(data) * 8)]
        assert {path.name for path, _ in places} >= {"archive.json", "manifest.json", "SHA256SUMS", "entries.jsonl"}
        for path, bit in random.Random(20260131).sample(places, flips):
            changed = bytearray(whole[path])
            changed[bit // 8] ^= 1 << bit % 8
            path.write_bytes(changed)
            name = path.relative_to(small.root).as_posix()
            blamed = self.blamed(small.root)
            assert name in blamed, f"bit {bit} of {name}: {blamed}"
            assert blamed <= self.suspects(name), f"bit {bit} of {name}"
            path.write_bytes(whole[path])
        assert self.blamed(small.root) == set()

    @pytest.mark.parametrize("flips", [60, pytest.param(400, marks=pytest.mark.thorough)])
    @pytest.mark.parametrize("kind", [Kind.ENTRIES, Kind.USER])
    def test_a_fold_over_flipped_bits_succeeds_or_reports_damage(self, small: Built, kind: Kind, flips: int) -> None:
        path = small.layout.segment(1, kind)
        whole = path.read_bytes()
        outcomes = set()
        for bit in random.Random(7).sample(range(len(whole) * 8), flips):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            path.write_bytes(changed)
            complaint = str(path)
            try:
                small.reader.fold(2).close()
                outcomes.add("folded")
            except ArchiveDamaged as error:
                complaint = str(error)
                outcomes.add("damaged")
            assert str(path) in complaint
        path.write_bytes(whole)
        assert outcomes == {"folded", "damaged"}


class TestCompleteness:
    def test_it_comes_from_the_newest_run_that_read_the_service(self, archive: Built) -> None:
        problems = [{"kind": "entries", "id": "13", "reason": "answered 404"}]
        writer.append_run(archive.layout, run_line(completeness={"complete": False}, problems=problems))
        writer.append_run(archive.layout, run_line(completeness=None, outcome="failed"))
        assert archive.reader.completeness() == ({"complete": False}, problems)

    def test_without_runs_the_newest_manifest_is_used(self, archive: Built) -> None:
        archive.layout.runs.unlink()
        problems = [{"kind": "entries", "id": "13", "reason": "answered 404"}]
        assert archive.reader.completeness() == ({"complete": True, "sweeps": 2}, problems)

    def test_without_runs_and_manifests_it_is_unknown(self, tmp_path: Path) -> None:
        assert Built(tmp_path / "archive").reader.completeness() == ({}, [])
