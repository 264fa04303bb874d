"""The page of all screens shows the current output of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.support import screens
from tests.support.runs import Runs, Zygote


@pytest.mark.no_cover
@pytest.mark.parametrize("language", screens.LANGUAGES)
def test_the_screens_are_current(language: str, zygote: Zygote) -> None:
    assert screens.page(language, zygote) == screens.page_of(language).read_text("utf-8"), "run make screens"


def test_without_a_command_the_help_is_shown_unchanged(runs: Runs) -> None:
    shown = runs.run()
    assert shown.code == 2
    assert shown.err == runs.run("--help").out


def test_the_demo_reads_no_user_settings(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "blog-exporter"
    folder.mkdir(parents=True)
    (folder / "blog-exporter.toml").write_text('ping_url = "http://127.0.0.1:9/"\nassets = "none"\n')
    done = program("demo", tmp_path / "demo")
    assert done.code == 0
    assert "49 assets" in done.err
    assert "ping" not in done.err
