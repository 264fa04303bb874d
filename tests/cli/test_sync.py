"""``sync``, ``verify`` and the reading commands on folders, fleets and S3."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import create_loader

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.copies.sync import SyncOptions, sync
from exporter.demo.content import fields
from exporter.errors import ArchiveLocked
from tests.cli.conftest import Program
from tests.copies.s3_servers import Service, moto
from tests.copies.support import files_in
from tests.support.generated import generated_blog
from tests.support.runs import Runs, Zygote, command_for, serving

pytestmark = pytest.mark.usefixtures("_own_cache")

LOADER = cache(create_loader)


@pytest.fixture(scope="module")
def little(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions of a small blog, because every file is sent many times."""
    folder = tmp_path_factory.mktemp("little")
    blog = generated_blog(5, 3, 2)
    with serving(blog) as service, Runs(folder / "process", zygote, workers=False) as runs:
        assert runs.run(*command_for(service, folder / "archive")).code == 0
        blog.entries[2] = {**fields(blog.entries[2]), "title": "改題"}
        assert runs.run(*command_for(service, folder / "archive")).code == 0
    return folder / "archive"


@pytest.fixture
def archive(little: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(little, tmp_path / "archive"))


@pytest.fixture
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Each command reads the description of S3 again, which is a megabyte of JSON.
    monkeypatch.setattr("botocore.session.create_loader", LOADER)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with moto() as running:
        yield running


@pytest.fixture
def bucket(service: Service, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a new bucket to which the program may write."""
    for name, value in service.variables.items():
        monkeypatch.setenv(name, value)
    return f"s3://{service.bucket()}/blogs/mine"


def test_a_folder_gets_a_copy_that_is_an_archive(program: Program, archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    dry = program("sync", archive, copy, "--dry-run")
    assert (dry.code, copy.exists()) == (0, False)
    assert "would send" in dry.out
    done = program("sync", archive, copy, "-v")
    assert done.code == 0
    assert f"{archive}: sent " in done.out
    assert "run rebuild" in done.err
    found, ours = files_in(copy), files_in(archive)
    left = {"index.html", "最初にお読みください.txt", "settings.toml"}
    assert found == {name: data for name, data in ours.items() if name not in left}
    assert program("verify", copy).code == program("verify", archive).code
    back = program("sync", copy, tmp_path / "back", "--json").json
    size = sum(map(len, found.values()))
    assert (back["objects"], back["bytes"], back["archives"][0]["versions"]) == (
        len(found),
        size,
        Archive.open(archive).versions(),
    )
    again = program("sync", archive, copy, "--json").json
    assert (again["objects"], again["archives"][0]["relation"]) == (0, "same")
    assert "nothing is missing" in program("sync", archive, copy).out


def test_quiet_reports_a_dry_run_but_not_a_sync(program: Program, archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert "would send" in program("sync", archive, copy, "--dry-run", "-q").out
    for _ in range(2):
        done = program("sync", archive, copy, "-q")
        assert (done.code, done.out, done.err) == (0, "", "")
    assert "remove 1." in program("prune", archive, "--keep-last", "1", "--dry-run", "-q").out
    assert program("prune", archive, "--keep-last", "1", "-q").out == ""


def test_versions_pulled_into_an_archive_update_latest(program: Program, archive: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(archive, older)
    newest = max(Archive.open(archive).versions())
    shutil.rmtree(older / "versions" / f"{newest:06d}")
    runs = (older / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (older / "runs.jsonl").write_bytes(b"".join(runs[:-1]))
    (older / "SHA256SUMS").unlink()
    if newest == 1:
        assert program("sync", archive, older).code == 0
    else:
        assert "sent 1 version" in program("sync", archive, older).out
    assert program("show", older, "user", "--json").out == program("show", archive, "user", "--json").out
    behind = tmp_path / "behind"
    assert program("sync", archive, behind).code == 0
    shutil.rmtree(older / "versions" / f"{newest:06d}")
    assert "has newer versions" in program("sync", older, behind).out or newest == 1


def test_damage_is_named_and_exits_with_13(program: Program, archive: Path, tmp_path: Path) -> None:
    picture = next(archive.glob("assets/*/*"))
    picture.write_bytes(b"another picture")
    done = program("sync", archive, tmp_path / "copy", "--json")
    assert done.code == 13
    assert done.answer_before_error["archives"][0]["damaged"] == [picture.relative_to(archive).as_posix()]
    said = program("sync", archive, tmp_path / "copy")
    assert said.code == 13
    assert f"{picture.relative_to(archive).as_posix()} is damaged or missing, and is not sent." in said.err


def test_invalid_syncs_are_refused(program: Program, archive: Path, tmp_path: Path) -> None:
    for source, target, code in (
        (archive, archive, 2),
        (archive, archive / "copy", 2),
        (archive, archive.parent, 2),
        ("s3://a/b", "s3://c/d", 2),
        (tmp_path / "nowhere", tmp_path / "copy", 10),
    ):
        assert program("sync", source, target).code == code


def test_sync_and_prune_exclude_each_other(program: Program, archive: Path, tmp_path: Path, bucket: str) -> None:
    copy = tmp_path / "copy"
    with ArchiveLock(Layout(archive).lock) as lock:
        lock.acquire(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        for target in (copy, bucket):
            done = program("sync", archive, target)
            assert done.code == 11, done.err
        assert not copy.exists()
        assert program("sync", archive, copy, "--dry-run").code == 0
        assert program("sync", archive, copy, "--wait-lock", "0.2s").code == 11
    with ArchiveLock(Layout(archive).lock) as lock:
        lock.acquire(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        released = threading.Timer(0.5, lock.release)
        released.start()
        assert program("sync", archive, copy, "--wait-lock", "1m").code == 0
        released.join()
    with ArchiveLock(Layout(copy).lock) as lock:
        lock.acquire(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        assert program("sync", copy, tmp_path / "back").code == 11


def test_prune_waits_for_no_sync_that_reads_the_archive(archive: Path, tmp_path: Path) -> None:
    held = []

    def started(_name: str) -> Any:
        with ArchiveLock(Layout(archive).lock) as lock, pytest.raises(ArchiveLocked):
            lock.acquire(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        held.append(True)
        return lambda *_: None

    list(sync(str(archive), str(tmp_path / "copy"), SyncOptions(), started))
    assert held == [True]


@pytest.mark.parametrize("place", ["gs://bucket/x", "sftp://host/x", "https://host/x", "b2:bucket"])
def test_no_folder_is_made_for_an_address_of_another_kind(
    program: Program, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("sync", archive, place), ("sync", place, "DIR"), ("verify", place), ("show", place, "entry", 1)):
        done = program(*words)
        assert (done.code, list(tmp_path.iterdir())) == (2, [archive]), done.err
        assert "is not supported" in done.err
    assert program("export", "jsonl", place, "out").code == 2
    assert program("fleet", "verify", place).code == 2


def fleet(root: Path, archive: Path, *blogs: str) -> Path:
    """Make a fleet in which all blogs have the same archive."""
    for blog in blogs:
        shutil.copytree(archive, root / hashlib.sha256(blog.encode()).hexdigest()[:2] / blog)
    (root / "fleet.sqlite").write_bytes(b"")
    return root


@pytest.mark.thorough
def test_a_fleet_is_synced_archive_by_archive(program: Program, archive: Path, tmp_path: Path, bucket: str) -> None:
    root = fleet(tmp_path / "fleet", archive, "a.example", "b.example", "c.example")
    bad = hashlib.sha256(b"b.example").hexdigest()[:2] + "/b.example"
    (root / bad / "archive.json").write_bytes(b"{}")
    for target in (str(tmp_path / "copy"), bucket):
        done = program("sync", root, target, "--json")
        assert done.code in {3, 13}
        rows = {row["archive"]: row for row in done.answer_before_error["archives"]}
        assert len(rows) == 3
        assert rows[bad]["error"] is not None
        assert [row["error"] for name, row in rows.items() if name != bad] == [None, None]
    said = program("sync", root, bucket)
    assert "1 of 3 archives could not be synced" in said.err
    checked = program("fleet", "verify", bucket, "--json").json
    assert (checked["fleet"], checked["work"], checked["made"], checked["failed"]) == (bucket, "verify", 2, 0)
    assert program("fleet", "verify", bucket, "--quick").code == 2
    back = tmp_path / "back"
    assert program("sync", bucket, back).code == 0
    shutil.rmtree(root / bad)
    (root / "fleet.sqlite").unlink()
    assert {path.parent.relative_to(back) for path in back.glob("*/*/archive.json")} == {
        path.parent.relative_to(root) for path in root.glob("*/*/archive.json")
    }


@pytest.mark.thorough
def test_a_damaged_copy_in_a_fleet_s_is_named_and_the_others_are_checked(
    program: Program, archive: Path, tmp_path: Path, service: Service, bucket: str
) -> None:
    root = fleet(tmp_path / "fleet", archive, "a.example", "b.example")
    assert program("sync", root, bucket).code == 0
    lost = hashlib.sha256(b"b.example").hexdigest()[:2] + "/b.example"
    client = service.client()
    client.delete_object(Bucket=bucket.split("/")[2], Key=f"blogs/mine/{lost}/versions/000001/entries.jsonl")
    client.close()
    done = program("fleet", "verify", bucket, "--report", tmp_path / "report.jsonl")
    assert done.code == 13
    assert f"{bucket}/{lost}: Damaged" in done.out
    rows = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert sorted((row["archive"], row["exit_code"]) for row in rows if row["exit_code"]) == [(f"{bucket}/{lost}", 13)]
    assert len(rows) == 2
    assert program("fleet", "verify", f"{bucket}/{lost}").code == 2
    assert program("fleet", "verify", f"{bucket}/nothing").code == 10


@pytest.mark.parametrize(
    "name",
    [
        "../a.example",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("zz/a.example", "00/a.example", "00/..")),
    ],
)
def test_a_fleet_s_copy_makes_no_folder_of_a_strange_name(
    program: Program, tmp_path: Path, service: Service, bucket: str, name: str
) -> None:
    client = service.client()
    client.put_object(Bucket=bucket.split("/")[2], Key=f"blogs/mine/{name}/archive.json", Body=b"{}")
    client.close()
    done = program("sync", bucket, tmp_path / "back" / "here")
    assert done.code in {2, 10, 13}
    assert not (tmp_path / "back").exists()


def test_a_copy_can_be_made_read_and_restored(program: Program, archive: Path, tmp_path: Path, bucket: str) -> None:
    assert program("sync", archive, bucket).code == 0
    head = program("verify", archive, "--json").json["head"]
    verified = program("verify", bucket, "--json", "--expect", head).json
    assert (verified["archive"], verified["intact"], verified["findings"]) == (bucket, True, [])
    assert program("verify", bucket, "--quick").code == 2
    for words in (("log",), ("log", "--entry", "3"), ("show", "entry", "3", "--json"), ("diff",), ("search", "海")):
        command, *rest = words
        here, there = program(command, archive, *rest), program(command, bucket, *rest)
        assert (here.code, here.out) == (0, there.out), words
    files = program("files", bucket, "--json").json
    assert files["counts"]["stored"] == program("files", archive, "--json").json["counts"]["stored"]
    status = program("status", bucket, "--json").json
    assert status["last_run"] == program("status", archive, "--json").json["last_run"]
    out = tmp_path / "export"
    assert program("export", "jsonl", bucket, out).code == program("export", "jsonl", archive, tmp_path / "o2").code
    assert program("site", bucket, tmp_path / "site").code == 0
    assert any((tmp_path / "site").rglob("*.html"))
    back = tmp_path / "back"
    restored = program("sync", bucket, back, "--json").json
    ours, found = files_in(archive), files_in(back)
    assert (restored["objects"], restored["bytes"]) == (len(found), sum(map(len, found.values())))
    assert found == {name: ours[name] for name in found}
    assert program("rebuild", back).code == 0
    assert program("sync", back, bucket, "--json").json["objects"] == 0


def test_a_damaged_copy_is_reported(
    program: Program, archive: Path, tmp_path: Path, service: Service, bucket: str
) -> None:
    assert program("sync", archive, bucket).code == 0
    client = service.client()
    name = bucket.split("/")[2]
    client.put_object(Bucket=name, Key="blogs/mine/versions/000001/comments.jsonl", Body=b"forged\n")
    client.put_object(Bucket=name, Key="blogs/mine/notes.txt", Body=b"?")
    client.close()
    done = program("verify", bucket, "--json")
    assert done.code == 13
    found = {(row["code"], row["path"]) for row in done.answer_before_error["findings"]}
    assert {("segment-damaged", "versions/000001/comments.jsonl"), ("strange-file", "notes.txt")} <= found
    assert program("search", bucket, "海").code == 13
    back = program("sync", bucket, tmp_path / "back", "--json")
    assert back.code == 13
    assert back.answer_before_error["archives"][0]["damaged"] == ["versions/000001/comments.jsonl"]
    assert json.loads((tmp_path / "back" / "archive.json").read_bytes())["format"] == "blog-exporter-archive"


def test_a_pruned_archive_asks_before_the_copy_is_pruned(
    program: Program, archive: Path, tmp_path: Path, bucket: str
) -> None:
    for target in (bucket, str(tmp_path / "copy")):
        assert program("sync", archive, target).code == 0
    if len(Archive.open(archive).versions()) == 1:
        pytest.fail("the archive has but one version")
    assert program("prune", archive, "--keep-last", "1").code == 0
    for target in (bucket, str(tmp_path / "copy")):
        refused = program("sync", archive, target)
        assert refused.code == 15
        assert "--prune" in refused.err
        assert program("sync", archive, target, "--prune").code == 0
        assert program("verify", target, "--json").json["intact"]
