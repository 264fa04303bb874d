"""The commands on an archive with captures: what status and verify say about them."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.captures import append_capture_run
from tests.archive.builder import Built
from tests.support.captures import captured
from tests.support.runs import Runs
from tests.support.styled_blog import styled_blog


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive with two captures and no version."""
    root = tmp_path_factory.mktemp("captures") / "archive"
    built = Built(root)
    blog = styled_blog(1)
    with blog.serving_in_thread():
        captured(root, blog, ["/"], moment=datetime(2026, 11, 26, 1, 2, 3, tzinfo=UTC))
        captured(root, blog, ["/css/style.css"], moment=datetime(2026, 11, 27, 1, 2, 3, tzinfo=UTC))
    assert built.reader.versions() == []
    return root


@pytest.fixture
def archive(whole: Path, tmp_path: Path) -> Built:
    shutil.copytree(whole, tmp_path / "archive")
    return Built.reopen(tmp_path / "archive")


def test_status_names_the_newest_capture(runs: Runs, archive: Built) -> None:
    archive.commit({})
    archive.refresh()
    append_capture_run(
        archive.layout, {"finished_at": "2026-11-28T01:02:03Z", "outcome": "unchanged", "exit_code": 0, "capture": None}
    )
    done = runs.run("status", archive.root)
    assert done.code == 0, done.err
    assert "Captures: 2, the newest of 2026-11-27T10:02:03+09:00 (complete)" in done.out
    assert "Last capture: 2026-11-28T10:02:03+09:00 nothing had changed" in done.out
    found = json.loads(runs.run("status", archive.root, "--json").out)["capture"]
    assert found == {
        "captures": 2, "newest": 2, "kind": "pages", "finished_at": "2026-11-27T01:02:03Z", "complete": True,
        "problems": 0,
        "last_run": {"finished_at": "2026-11-28T01:02:03Z", "outcome": "unchanged", "exit_code": 0},
    }  # fmt: skip


def test_an_archive_with_captures_alone(runs: Runs, archive: Built) -> None:
    done = runs.run("status", archive.root)
    assert done.code == 0, done.err
    assert done.out.startswith("OK · captures alone, no backup yet\n")
    assert "INCOMPLETE" not in done.out
    checked = runs.run("verify", archive.root)
    assert checked.code == 0, checked.err
    assert "Intact: 0 versions, 2 captures, every hash, chain, fold and record of a capture holds." in checked.out
    path = archive.root / "captures/000002/capture.json"
    path.write_bytes(path.read_bytes().replace(b'"complete": true', b'"complete": false'))
    assert runs.run("status", archive.root).code == 3
    shutil.rmtree(archive.root / "captures")
    assert runs.run("verify", archive.root).code == 10


def test_a_damaged_capture_is_damage(runs: Runs, archive: Built) -> None:
    archive.commit({})
    (archive.root / "captures/000002/capture.json").write_bytes(b"{}")
    done = runs.run("status", archive.root)
    assert done.code == 13
    assert "captures/000002/capture.json" in done.err
    checked = runs.run("verify", archive.root, "--json")
    assert checked.code == 13
    codes = {(each["code"], each["path"]) for each in json.loads(checked.out.splitlines()[0])["findings"]}
    assert ("capture-damaged", "captures/000002/capture.json") in codes


def test_an_archive_without_captures_says_nothing_of_them(runs: Runs, tmp_path: Path) -> None:
    built = Built(tmp_path / "plain")
    built.commit({})
    built.refresh()
    assert "apture" not in runs.run("status", built.root).out
    assert json.loads(runs.run("status", built.root, "--json").out)["capture"] is None
    assert "capture" not in runs.run("verify", built.root).out
