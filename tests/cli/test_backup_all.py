"""Several blogs in one settings file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.cli.backup import ORDER
from exporter.errors import BlogExporterError
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.test_docs import codes


@pytest.fixture
def service() -> Iterator[DemoService]:
    one, two = (generated_blog(2, 1, 1, blog_id=f"{name}.blog.example.jp") for name in ("one", "two"))
    with DemoService(one, None, two).run_in_thread() as served:
        yield served


def written(folder: Path, service: DemoService, middle: str = "") -> Path:
    """Write a settings file with two blogs, and optionally one between them."""
    one, two = service.blogs
    path = folder / "my.toml"
    path.write_text(
        f'base_url = "{service.base_url}"\nassets = "none"\nsite = false\nretries = 0\n'
        f'[blogs.one]\nblog_id = "{one}"\narchive = "one"\nmarkdown = false\n{middle}\n'
        f'[blogs.two]\nblog_id = "{two}"\narchive = "two"\n',
        encoding="utf-8",
    )
    return path


def test_a_blog_is_backed_up_by_its_name_and_by_its_folder(
    program: Program, service: DemoService, tmp_path: Path
) -> None:
    config = written(tmp_path, service)
    assert program("backup", "one", "--config", config).code == 0
    assert not (tmp_path / "one" / "latest" / "markdown").exists()
    assert not (tmp_path / "two").exists()
    assert tomllib.loads((tmp_path / "one" / "settings.toml").read_text()) == {"markdown": "no"}
    done = program("backup", tmp_path / "one", "--config", config, "--json")
    assert (done.code, done.json["outcome"]) == (0, "unchanged")
    done = program("rebuild", tmp_path / "one", "--config", config)
    assert done.code == 0
    assert not (tmp_path / "one" / "latest" / "markdown").exists()


def test_all_blogs_are_backed_up_even_if_one_fails(program: Program, service: DemoService, tmp_path: Path) -> None:
    lost = '[blogs.lost]\nblog_id = "lost.blog.example.jp"\narchive = "lost"\n'
    wrong = '[blogs.wrong]\nblog_id = "wrong.blog.example.jp"\narchive = "wrong"\nrate = "fast"\n'
    config = written(tmp_path, service, lost + wrong)
    done = program("backup", "--all", "--config", config)
    assert done.code == 2
    assert "blog-exporter: error: lost: " in done.err
    assert "blog-exporter: error: wrong: " in done.err
    assert done.err.splitlines()[-4] == "one: saved"
    assert done.err.splitlines()[-3].startswith("lost: ")
    assert done.err.splitlines()[-1] == "two: saved"
    assert (tmp_path / "one" / "versions").exists()
    assert (tmp_path / "two" / "versions").exists()

    quiet = program("backup", "--all", "--config", config, "-q", "--json")
    assert quiet.code == 2
    lines = [json.loads(line) for line in quiet.out.splitlines()]
    assert [line["name"] for line in lines] == ["one", "lost", "wrong", "two"]
    assert [line.get("outcome") for line in lines] == ["unchanged", None, None, "unchanged"]
    assert lines[2]["error"] == {"type": "UsageError", "message": lines[2]["error"]["message"], "exit_code": 2}
    assert "one: saved" not in quiet.err


def test_each_saved_blog_is_reported(program: Program, service: DemoService, tmp_path: Path) -> None:
    config = written(tmp_path, service)
    assert program("backup", "--all", "--config", config, "-q").err == ""
    done = program("backup", "--all", "--config", config, "--dry-run")
    assert done.code == 0
    assert done.err.endswith("one: saved\ntwo: saved\n")


def test_an_unexpected_failure_ends_no_other_backup(
    program: Program, service: DemoService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = written(tmp_path, service)
    (tmp_path / "one").write_text("a file", encoding="utf-8")
    assert program("backup", "--all", "--config", config).code not in {0, 1}
    assert (tmp_path / "two" / "versions").exists()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("exporter.cli.backup.find_source", broken)
    done = program("backup", "--all", "--config", config)
    assert done.code == 1
    assert done.err.count("Unexpected: ZeroDivisionError") == 4


def test_ctrl_c_ends_all_backups(
    program: Program, service: DemoService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("exporter.cli.backup.find_source", interrupted)
    done = program("backup", "--all", "--config", written(tmp_path, service))
    assert done.code == 130
    assert "two" not in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--all", "one"], "leave out the blog and --archive"),
        (["--all", "--archive", "x"], "leave out the blog and --archive"),
        ([], "Name what to back up"),
    ],
)
def test_contradictory_options(program: Program, arguments: list[str], said: str) -> None:
    done = program("backup", *arguments)
    assert done.code == 2
    assert said in done.err


def test_a_settings_file_without_blogs_is_named(program: Program, tmp_path: Path) -> None:
    done = program("backup", "--all")
    assert done.code == 2
    assert f"{tmp_path / 'config' / 'blog-exporter' / 'blog-exporter.toml'} names no blog" in done.err


def test_the_order_of_exit_codes_has_each_that_a_backup_can_end_with() -> None:
    of_other_commands = {5, 6, 7, 15, 130, 143}
    assert set(ORDER) == (codes(BlogExporterError) | {0}) - of_other_commands
