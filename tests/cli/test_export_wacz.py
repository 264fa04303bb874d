"""``export wacz``: one file, its report, and the options that it takes."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.support.captured import captured
from tests.support.captured_demo import ENTRY_PATH, demo_as_it_is_now

SAID = ("--public-open-flg", "1", "--visible-delete-flg", "f")


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with demo_as_it_is_now().serving_in_thread() as found:
        yield found


@pytest.fixture
def archive(made: Path, origin: str, tmp_path: Path) -> Path:
    """The demo's archive with a capture."""
    root = tmp_path / "archive"
    shutil.copytree(made, root)
    captured(root, origin)
    return root


def test_the_file_and_its_report(program: Program, archive: Path, origin: str, tmp_path: Path) -> None:
    target = tmp_path / "blog.wacz"
    result = program("export", "wacz", archive, target, *SAID, "--old-url", origin + ENTRY_PATH)
    assert result.code == 0
    assert "Packed: 1 capture with 55 entries" in result.err
    with zipfile.ZipFile(target) as packed:
        assert packed.testzip() is None
    assert (tmp_path / "blog.wacz.report.json").is_file()
    again = program("export", "wacz", archive, target, *SAID, "--old-url", origin + ENTRY_PATH)
    assert (again.code, "--force" in again.err) == (2, True)


def test_json_says_what_is_packed(program: Program, archive: Path, origin: str, tmp_path: Path) -> None:
    given = ("export", "wacz", archive, tmp_path / "blog.wacz", *SAID, "--old-url", origin + ENTRY_PATH, "--json")
    dry = program(*given, "--dry-run").json["exports"][0]
    assert not (tmp_path / "blog.wacz").exists()
    made = program(*given).json["exports"][0]
    assert made["captures"] == dry["captures"]
    assert made["captures"]["posts"] == made["out"]["entries"] == 55
    assert made["bytes"] == (tmp_path / "blog.wacz").stat().st_size


def test_an_archive_without_captures(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "wacz", made, tmp_path / "blog.wacz", *SAID)
    assert result.code == 5
    assert f"blog-exporter capture {made}" in result.err


@pytest.mark.parametrize(
    "options",
    [("--since", "2016-01-01"), ("--only", "all"), ("--all-as-draft",), ("--body", "html"), ("--by-year",)],
    ids=str,
)
@pytest.mark.sample(2)
def test_options_of_records_are_refused(
    program: Program, archive: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    result = program("export", "wacz", archive, tmp_path / "blog.wacz", *SAID, *options)
    assert (result.code, f"{options[0]} has no effect on wacz" in result.err) == (2, True)


def test_options_of_captures_are_refused_for_records(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "csv", made, tmp_path / "out", *SAID, "--rendered")
    assert (result.code, "--rendered is for wacz" in result.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_the_help_names_it(program: Program) -> None:
    assert "wacz" in program("export", "--help").out
    assert program("export", "wacz").code == 2
