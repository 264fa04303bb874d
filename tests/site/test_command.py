"""The command ``site``."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.site.test_view import many_entries


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = many_entries(tmp_path_factory.mktemp("small") / "a", 5)
    return built.root


def test_it_makes_the_site_and_opens_it(small: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    found = program("site", small, "--title", "海の題", "--lang", "en", "--open", "--json")
    assert found.code == 0, found
    start = Path(found.json["site"])
    assert opened == [start.as_uri()]
    assert "海の題" in start.read_text("utf-8")
    assert program("site", small, "--json").json["files_made"] == 0
    assert '<html lang="en">' in start.read_text("utf-8")
    assert program("site", small, "--title", "", "--lang", "ja").code == 0
    assert "海の題" not in start.read_text("utf-8")


def test_a_copy_stands_alone(small: Path, program: Program, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    found = program("site", small, out, "--at", "1", "--json")
    assert found.code == 0, found
    assert found.json["side"] == "all"
    assert (out / "history.html").is_file()
    assert program("site", small, out).code == 2
    assert program("site", small, out, "--force").code == 0


@pytest.mark.parametrize("option", [("--public-only",), ("--at", "1")])
def test_what_needs_a_folder_says_so(small: Path, program: Program, option: tuple[str, ...]) -> None:
    found = program("site", small, *option)
    assert found.code == 2
    assert "OUT" in found.err


@pytest.mark.parametrize("arguments", [("--lang", "fr"), ("--at", "9", "out"), ("--entry-url", "x")])
def test_wrong_words_are_one_clear_line(
    small: Path, program: Program, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    found = program("site", small, *arguments)
    assert found.code == 2
    assert found.err.count("\n") == 1
