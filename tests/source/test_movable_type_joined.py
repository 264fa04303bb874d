"""Joined export files through the command line: the exit code, the line, and what exports publish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.service.test_movable_type_joined import FIRST, HEAD, REST


def published(program: Program, archive: Path, out: Path) -> str:
    """Return the texts of all public outputs."""
    program("export", "wordpress", archive, out / "wordpress")
    program("site", archive, out / "site", "--public-only")
    files = [each for each in out.rglob("*") if each.is_file() and "report" not in each.name]
    assert len(files) > 1
    return "".join(each.read_text("utf-8", "replace") for each in files)


@pytest.mark.parametrize("between", ["-----\n--------\n\ufeff", "-----\n--------\n\x1a# comment\n記事番号: 12\n"])
def test_a_draft_in_the_second_file_stays_one(program: Program, between: str, tmp_path: Path) -> None:
    path, archive = tmp_path / "export.txt", tmp_path / "archive"
    path.write_text(FIRST + between + HEAD + REST, "utf-8")
    assert program("backup", path, "--archive", archive, "--assets", "none", "--no-site").code == 0
    found = published(program, archive, tmp_path / "out")
    assert "本文" in found
    assert "ひみつ" not in found


def test_a_head_inside_a_text_is_named_and_not_published(program: Program, tmp_path: Path) -> None:
    path, archive = tmp_path / "export.txt", tmp_path / "archive"
    path.write_text(FIRST + HEAD.replace("Draft", "Publish") + REST, "utf-8")
    done = program("backup", path, "--archive", archive, "--assets", "none", "--no-site")
    assert done.code == 3
    assert "export.txt, line 8: " in " ".join(done.err.split())
    assert "line 8" in json.dumps(json.loads((archive / "versions" / "000001" / "manifest.json").read_text("utf-8")))
    found = published(program, archive, tmp_path / "out")
    assert "本文" in found
    assert "ひみつ" not in found
    assert program("check", path).code == 3
