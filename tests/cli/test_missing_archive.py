"""A known archive that is missing, because its disk is not connected, is an error and never created again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Runs

BLOG = "one.blog.example.jp"


@pytest.fixture(scope="module")
def service() -> Iterator[DemoService]:
    with DemoService(generated_blog(4, 2, 1, blog_id=BLOG)).run_in_thread() as served:
        yield served


@pytest.fixture
def options(service: DemoService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return ["--base-url", service.base_url, "--assets", "none", "--no-site", "--retries", "0"]


def nothing(root: Path) -> bool:
    return not root.exists() or not any(root.iterdir())


@pytest.mark.parametrize("mount_point", [False, True])
@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
def test_a_known_archive_that_is_missing_is_not_begun_again(
    program: Program, options: list[str], tmp_path: Path, dry_run: tuple[str, ...], *, mount_point: bool
) -> None:
    root = tmp_path / "disk" / "blog"
    command = ("backup", BLOG, "--archive", root, *options, "-q")
    assert program(*command).code == 0
    shutil.rmtree(root)
    if mount_point:
        root.mkdir()
    for words in (command, ("backup", root, *options, "-q")):
        done = program(*words, *dry_run)
        assert done.code == 10, done.err
        assert "To begin a new archive there, add --new" in done.err
        assert nothing(root)
    if not dry_run:
        assert program(*command, "--new").code == 0
        assert program(*command).code == 0


def test_named_blogs_also_need_their_known_archives(program: Program, options: list[str], tmp_path: Path) -> None:
    config, root = tmp_path / "settings.toml", tmp_path / "disk" / "blog"

    def write(archive: Path) -> None:
        config.write_text(f'[blogs.diary]\nblog_id = "{BLOG}"\narchive = "{archive}"\n')

    write(root)
    for words in (["diary"], ["--all"]):
        assert program("backup", *words, "--config", config, *options, "-q").code == 0
    (tmp_path / "away").mkdir()
    root.rename(tmp_path / "away" / "blog")
    for words in (["diary"], ["--all"]):
        done = program("backup", *words, "--config", config, *options, "-q")
        assert (done.code, nothing(root)) == (10, True), done.err
    write(tmp_path / "elsewhere")
    done = program("backup", "diary", "--config", config, *options, "-q")
    assert (done.code, nothing(tmp_path / "elsewhere")) == (10, True)
    assert str(root) in done.err
    write(tmp_path / "away" / "blog")
    assert program("backup", "diary", "--config", config, *options, "-q").code == 0


def test_a_missing_archive_is_reported_to_the_monitor_and_the_command(
    program: Program, options: list[str], tmp_path: Path
) -> None:
    root, heard = tmp_path / "blog", tmp_path / "heard"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\nprintf '%s' \"$BLOG_EXPORTER_EXIT_CODE\" > {heard}\n")
    hook.chmod(0o755)
    command = ("backup", BLOG, "--archive", root, *options, "-q", "--on-failure", hook)
    assert program(*command).code == 0
    shutil.rmtree(root)
    assert program(*command).code == 10
    assert heard.read_text() == "10"


def test_the_line_for_cron_ends_with_an_error_as_cron_runs_it(
    runs: Runs, program: Program, options: list[str], tmp_path: Path
) -> None:
    root = tmp_path / "blog"
    assert program("backup", BLOG, "--archive", root, *options).code == 0
    shutil.rmtree(root)
    given = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = runs.run("backup", BLOG, "--archive", root, *options, "--quiet", environ=given)
    assert (done.code, nothing(root)) == (10, True), done.err


def test_a_fleet_that_is_missing_is_not_begun_again(program: Program, options: list[str], tmp_path: Path) -> None:
    root, listed = tmp_path / "fleet", tmp_path / "blogs.txt"
    listed.write_text(f"{BLOG}\n")
    given = [word for word in options if word != "--no-site"]
    command = ("fleet", "run", listed, "--into", root, *given, "--again-after", "0s")
    assert program(*command).code == 0
    archive = next(path for path in root.rglob(BLOG))
    archive.rename(tmp_path / "away")
    done = program(*command)
    assert done.code == 3, done.err
    assert "is missing, though an earlier run saved it there" in done.err
    assert not archive.exists()
    (tmp_path / "away").rename(archive)
    assert program(*command, "--retry-now").code == 0
    shutil.rmtree(root)
    done = program(*command)
    assert (done.code, nothing(root)) == (10, True), done.err
    assert program(*command, "--new").code == 0
