"""All commands print Japanese without English words about the sample archive, except for names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.japanese import english, english_lines
from tests.support.runs import Runs

COMMANDS = (
    "status DIR", "log DIR", "log DIR --entry 50", "diff DIR --stat", "search DIR xyzzy", "verify DIR", "files DIR --missing",
    "inspect DIR", "rebuild DIR", "prune DIR --keep-last 1 --dry-run", "site DIR OUT", "site DIR OUT --public-only",
    "export wxr DIR OUT --public-open-flg 1", "export hugo DIR OUT --public-open-flg 1", "export csv DIR OUT --all-as-draft",
    "compare DIR DIR/latest/site --public-open-flg 1", "schedule print DIR --for cron", "schedule status DIR", "sync DIR OUT",
    "backup nowhere.invalid", "check nowhere.invalid", "show DIR entry 12345", "whoami nowhere.invalid",
    "move wordpress DIR --to https://nowhere.invalid", "logout nowhere.invalid", "rename DIR nonsense",
    "forget DIR entry", "forget DIR", "forget DIR entry 3 --dry-run", "show DIR comment", "backup DIR --base-url http://127.0.0.1:9 --ping-url nonsense",
)  # fmt: skip


def test_english_words_are_found() -> None:
    assert english("変更 1 件、1 gone") == ["gone"]
    assert english("    https://pictures.example.jp/kieta.jpg (it answered 404)") == ["it", "answered"]
    assert english("blog-exporter files DIR --missing で一覧できます。記事 60 件、1.5 MB") == []


OFTEN = {
    "status DIR", "log DIR", "diff DIR --stat", "prune DIR --keep-last 1 --dry-run", "export csv DIR OUT --all-as-draft",
    "backup nowhere.invalid", "rename DIR nonsense", "forget DIR entry", "backup DIR --base-url http://127.0.0.1:9 --ping-url nonsense",
}  # fmt: skip
"""The commands that are always tried."""


@pytest.mark.parametrize(
    "command", [each if each in OFTEN else pytest.param(each, marks=pytest.mark.thorough) for each in COMMANDS]
)
@pytest.mark.sample(2)
def test_no_command_prints_an_english_word(
    runs: Runs, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    words = command.replace("DIR", str(archive)).replace("OUT", str(tmp_path / "out")).split()
    done = runs.run("--lang", "ja", *words)
    said = done.out + done.err
    assert said
    # The text of the blog is Japanese.
    assert english_lines(said) == {}
