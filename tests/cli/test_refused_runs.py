"""Backups refused before they started, and the output of ``status`` afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog

BLOG = "one.blog.example.jp"


@pytest.fixture(scope="module")
def service() -> Iterator[DemoService]:
    with DemoService(generated_blog(4, 2, 1, blog_id=BLOG)).run_in_thread() as served:
        yield served


@pytest.fixture
def options(service: DemoService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return ["--base-url", service.base_url, "--assets", "none", "--no-site", "--retries", "0"]


def runs(root: Path) -> list[int]:
    return [json.loads(line)["exit_code"] for line in (root / "runs.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [(["--concurrency", "0"], 2), (["--token-file", "nowhere"], 2), (["--account", "nobody"], 12)],
)
def test_status_learns_of_a_backup_that_was_refused_before_it_began(
    program: Program, options: list[str], tmp_path: Path, wrong: list[str], code: int
) -> None:
    root = tmp_path / "blog"
    command = ("backup", BLOG, "--archive", root, *options, "-q")
    assert program(*command).code == 0
    for _ in range(2):
        assert program(*command, *wrong).code == code
    assert program("status", root).code == 7
    assert runs(root) == [0, code, code]
    assert program("verify", root).code == 0
    assert program(*command).code == 0
    assert program("status", root).code == 0


def test_a_wrong_settings_file_is_a_failed_night_for_every_blog(
    program: Program, options: list[str], tmp_path: Path
) -> None:
    root, config = tmp_path / "blog", tmp_path / "settings.toml"
    table = f'[blogs.diary]\nblog_id = "{BLOG}"\narchive = "{root}"\n'
    config.write_text(table)
    every = ("backup", "--all", "--config", config, *options, "-q")
    assert program(*every).code == 0
    config.write_text(f'{table}token_command = "{tmp_path}/missing"\n')
    assert program(*every).code != 0
    assert program("status", root).code == 7
    config.write_text(table)
    assert program(*every).code == 0
    assert program("status", root).code == 0


def test_typing_errors_and_a_running_backup_are_not_failed_runs(
    program: Program, options: list[str], tmp_path: Path
) -> None:
    root = tmp_path / "blog"
    command = ("backup", BLOG, "--archive", root, *options)
    assert program(*command).code == 0
    assert program(*command, "--concurrency", "0").code == 2
    assert program(*command, "--dry-run", "-q", "--account", "nobody").code == 12
    assert runs(root) == [0]
    assert program("status", root).code == 0
    assert program("backup", BLOG, "--archive", tmp_path / "never", *options, "-q", "--rate", "x").code == 2
    assert not (tmp_path / "never").exists()


def test_the_folder_of_an_archive_needs_no_second_name(
    program: Program, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "is the folder of an archive, so leave out --archive: blog-exporter backup"
    root = tmp_path / "blog"
    assert program("backup", BLOG, "--archive", root, *options, "-q").code == 0
    for other in (root, tmp_path / "other"):
        done = program("backup", root, "--archive", other)
        assert (done.code, done.out) == (2, "")
        assert done.err.endswith(f"{root} {said} {root}\n")
    assert not (tmp_path / "other").exists()
    named = tmp_path / BLOG
    root.rename(named)
    monkeypatch.chdir(tmp_path)
    assert program("backup", BLOG, "--archive", named, *options, "-q").code == 0
