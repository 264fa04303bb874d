"""The form of counts in the output of commands: commas between thousands, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.cli.main import main
from exporter.model.kinds import Kind
from tests.site.building import of_records
from tests.site.test_view import entry

COUNT = 1_050


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of two versions; all 1,050 entries changed in the second one."""
    built = of_records(
        tmp_path_factory.mktemp("numbers") / "blog",
        {Kind.ENTRIES: {str(number): entry(number, "潮") for number in range(1, COUNT + 1)}},
    )
    built.commit({Kind.ENTRIES: {str(number): entry(number, "潮だまり") for number in range(1, COUNT + 1)}})
    return built.root


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize(
    "command",
    [
        ("status", "ARCHIVE"), ("log", "ARCHIVE"), ("diff", "ARCHIVE", "--stat"), ("search", "ARCHIVE", "潮だまり"),
        ("export", "csv", "ARCHIVE", "OUT"), ("inspect", "ARCHIVE"),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
@pytest.mark.sample(4)
def test_commands_write_counts_with_commas(
    large: Path, tmp_path: Path, language: str, command: tuple[str, ...], capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("BLOG_EXPORTER_LANG", language)
    paths = {"ARCHIVE": large, "OUT": tmp_path / "out"}
    main([str(paths.get(each, each)) for each in command])
    said = "".join(capfd.readouterr())
    assert "1,050" in said
    assert "1050" not in said
