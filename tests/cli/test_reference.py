"""The command-line reference matches the current help of the commands."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import click
import pytest

from exporter.cli.main import COMMANDS, cli
from exporter.text import width
from tests.support.runs import Runs

DOCS = Path(__file__).parent.parent.parent / "docs"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    # A command keeps the help option of its first use. The window's tests use some without the program above them.
    for name in COMMANDS:
        monkeypatch.setattr(cli.get_command(click.Context(cli), name), "_help_option", None)
    return loaded("reference")


def test_the_picture_of_the_demo_is_current(runs: Runs, tmp_path: Path) -> None:
    picture = loaded("picture")
    said = runs.run(*picture.WORDS, folder=tmp_path).err.replace(f"{tmp_path}/", "")
    assert (DOCS / "demo.svg").read_text(encoding="utf-8") == picture.drawn(said), "run python docs/picture.py"


@pytest.mark.parametrize("name", ["cli.md", "cli.ja.md", "blog-exporter.1"])
def test_it_is_current(reference: ModuleType, name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == reference.pages()[name], "run make cli-docs"


def test_it_has_every_command_in_both_languages(reference: ModuleType) -> None:
    pages = reference.pages()
    for name in COMMANDS:
        assert f"\n## blog-exporter {name}\n" in pages["cli.md"]
        assert f"\n## blog-exporter {name}\n" in pages["cli.ja.md"]
        assert f"\n.SH {name.upper()}\n" in pages["blog-exporter.1"]
    english = {line for line in pages["cli.md"].splitlines() if line.startswith("  ") and line.endswith(".")}
    said_in_english = [line for line in pages["cli.ja.md"].splitlines() if line in english and line.count(" ") > 6]
    assert said_in_english == []
    assert max(width(line) for line in pages["cli.ja.md"].splitlines() if "blog-exporter" not in line) <= 80
