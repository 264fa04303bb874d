"""The option ``--warc`` of ``backup``: remembered, explained, resumed after kills, and harmless when it fails."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.demo.content import Blog
from tests.service.wxr_samples import channel, item
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Runs, backup_command, serving

pytestmark = pytest.mark.no_cover

TOKEN = "s3cret-t0ken-9f8e7d6c5b4a"
ENVIRON = {"BLOG_EXPORTER_TOKEN": TOKEN}
QUICK = ("--assets", "none", "--no-site", "--no-markdown")
FLAGS = ("--public-open-flg", "1", "--visible-delete-flg", "f")


@pytest.fixture
def blog() -> Blog:
    return generated_blog(30, 25, 5)


@pytest.fixture
def service(blog: Blog) -> Iterator[DemoService]:
    with serving(blog, require_token=TOKEN, etag=True) as running:
        yield running


def warc_of(runs: Runs, root: Path, *more: object, code: int = 0, **how: Any) -> dict[str, Any]:
    done = runs.run("backup", root, "--json", *more, environ=ENVIRON, **how)
    assert done.code == code, done
    found: dict[str, Any] = json.loads(done.out.splitlines()[0])["warc"]
    return found


def check_unseen(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert TOKEN.encode() not in data, path
            assert not path.name.endswith(".gz") or TOKEN.encode() not in gzip.decompress(data), path


def test_the_option_and_the_answers_are_remembered(runs: Runs, service: DemoService, tmp_path: Path) -> None:
    root = tmp_path / "a"
    done = runs.run(*backup_command(service, root, "--warc", *FLAGS, *QUICK), environ=ENVIRON)
    assert done.code == 0, done
    assert "WARC: 34 exchanges new or changed, in captures/000001." in done.err
    assert "Left out of the WARC: 3 exchanges" in done.err
    assert 'warc = "yes"' in (root / "settings.toml").read_text()
    found = warc_of(runs, root)
    assert (found["capture"], found["written"], found["left_out"]) == (None, 0, {"of_owner": 3})
    line = json.loads((root / "runs.jsonl").read_text().splitlines()[-1])
    assert line["warc"] == found
    # A nightly run that is quiet says nothing about a good run.
    quiet = runs.run("backup", root, "-q", environ=ENVIRON)
    assert (quiet.code, quiet.err) == (0, "")
    assert runs.run("verify", root).code == 0
    check_unseen(root)


def test_nothing_changes_without_the_option(runs: Runs, service: DemoService, tmp_path: Path) -> None:
    root = tmp_path / "a"
    done = runs.run(*backup_command(service, root, *QUICK, "--json"), environ=ENVIRON)
    assert "warc" not in done.document
    assert not (root / "captures").exists()
    assert not list((root / ".work").glob("exchanges*"))


def test_an_undeclared_blog_is_refused_at_once_and_warned_of_at_night(
    runs: Runs, service: DemoService, tmp_path: Path
) -> None:
    root = tmp_path / "a"
    done = runs.run(*backup_command(service, root, "--warc", *QUICK), environ=ENVIRON)
    assert done.code == 2
    assert "--warc would keep no exchange" in done.err
    assert "--public-open-flg" in done.err
    assert not service.requests
    assert runs.run(*backup_command(service, root, *QUICK), environ=ENVIRON).code == 0
    night = runs.run("backup", root, "-q", environ={**ENVIRON, "BLOG_EXPORTER_WARC": "yes"})
    assert night.code == 0
    assert "--warc would keep no exchange" in night.err


def test_a_dry_run_writes_nothing(runs: Runs, service: DemoService, tmp_path: Path) -> None:
    command = backup_command(service, tmp_path / "a", "--warc", *FLAGS, *QUICK, "--dry-run")
    assert runs.run(*command, environ=ENVIRON).code == 0
    assert not (tmp_path / "a").exists()


def test_an_export_file_has_no_exchanges(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "blog.xml"
    path.write_text(channel(item(1)))
    done = runs.run("backup", path, "--archive", tmp_path / "a", "--warc")
    assert done.code == 2
    assert "An export file has no exchanges" in done.err
    done = runs.run("backup", path, "--archive", tmp_path / "a", environ={"BLOG_EXPORTER_WARC": "yes"})
    assert done.code == 0
    assert "--warc changes nothing" in done.err


@pytest.mark.parametrize("kills", [5, pytest.param(30, marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_a_run_goes_on_after_any_kill(runs: Runs, service: DemoService, tmp_path: Path, kills: int) -> None:
    """Kills, spread over all calls that change the disk: each next run ends with whole captures, and all is there."""
    whole = tmp_path / "whole"
    command = ("--warc", *FLAGS, *QUICK)
    done = runs.run(*backup_command(service, whole, *command), environ=ENVIRON)
    assert done.code == 0
    expected = addresses(whole)
    killed = 0
    for number in range(kills):
        root = tmp_path / "killed"
        shutil.rmtree(root, ignore_errors=True)
        at = 3 + number * done.calls // (kills + 1)
        cut = runs.run(*backup_command(service, root, *command, "--new"), environ=ENVIRON, kill_at=at)
        killed += cut.code == -9
        for folder in (root / "captures").glob("0*"):
            assert {"SHA256SUMS", "capture.json", "index.cdxj"} <= {path.name for path in folder.iterdir()}
        check_unseen(root)
        service.requests.clear()
        after = runs.run(*backup_command(service, root, *command, "--new"), environ=ENVIRON)
        assert after.code == 0, (at, after)
        # What was lost is asked for again by the same run, without a condition.
        assert addresses(root) == expected, at
        assert runs.run("verify", root).code == 0, at
        check_unseen(root)
    assert killed > kills * 4 // 5  # the number of calls depends on the time


def addresses(root: Path) -> list[str]:
    found = []
    for index in (root / "captures").glob("0*/index.cdxj"):
        found += [json.loads(line.split(" ", 2)[2])["url"] for line in index.read_text().splitlines()]
    return sorted(found)


def test_a_full_disk_loses_the_exchanges_and_not_the_backup(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path
) -> None:
    """A file-size limit that the spool reaches and no file of the version does."""
    for number in range(1, 31):
        entry = blog.entry(str(number))
        assert isinstance(entry, dict)
        entry["entry_text"] = f"{number} " * 4000
    root = tmp_path / "a"
    assert runs.run(*backup_command(service, root, *QUICK), environ=ENVIRON).code == 0
    command = backup_command(service, root, "--warc", *FLAGS, *QUICK, "--json")
    done = runs.run(*command, environ=ENVIRON, file_size=200_000)
    assert done.code == 28, done
    answer = json.loads(done.out.splitlines()[0])
    assert (answer["outcome"], answer["completeness"]["complete"]) == ("partial", False)
    assert answer["warc"]["capture"] is None
    assert "No space left" in answer["warc"]["error"]
    assert not list((root / "captures").glob("0*"))
    assert runs.run("status", root).code == 3
    again = runs.run(*command, environ=ENVIRON)
    assert (again.code, again.document["warc"]["capture"]) == (0, 1)
    assert again.document["warc"]["written"] >= 30
