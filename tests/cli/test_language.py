"""How the program chooses its language: option, variable, settings file, locale; also for errors."""

from __future__ import annotations

import json
import locale
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from exporter.cli import language as cli_language
from exporter.cli.language import language
from exporter.cli.output import ago_text, size_text, time_text
from tests.support.runs import Runs


@pytest.mark.parametrize(
    ("arguments", "environ", "expected"),
    [
        ("", {}, "en"),
        ("status DIR --lang ja", {"LANG": "en_US.UTF-8"}, "ja"),
        ("--lang=ja status DIR", {}, "ja"),
        ("--lang en status --lang ja", {}, "ja"),
        ("status -- --lang ja", {}, "en"),
        ("status --lang", {"LANG": "ja_JP.UTF-8"}, "ja"),
        ("status --lang fr", {"LANG": "ja_JP.UTF-8"}, "ja"),
        ("status --lang en", {"BLOG_EXPORTER_LANG": "ja"}, "en"),
        ("", {"BLOG_EXPORTER_LANG": "ja", "LC_ALL": "C"}, "ja"),
        ("", {"BLOG_EXPORTER_LANG": "klingon", "LC_ALL": "ja_JP.eucJP"}, "ja"),
        ("", {"LC_ALL": "C.UTF-8", "LANG": "ja_JP.UTF-8"}, "en"),
        ("", {"LC_ALL": "", "LC_MESSAGES": "ja_JP", "LANG": "de_DE"}, "ja"),
        ("", {"LANG": "ja"}, "ja"),
        ("", {"LANG": "jam_JM"}, "en"),
        ("", {"LANG": "ja-JP"}, "ja"),
    ],
)
def test_the_first_setting_decides(arguments: str, environ: dict[str, str], expected: str) -> None:
    assert language(arguments.split(), environ) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("Japanese_Japan", "ja"), ("ja_JP", "ja"), ("en_US", "en"), (None, "en")]
)
def test_without_a_variable_the_system_decides(
    monkeypatch: pytest.MonkeyPatch, name: str | None, expected: str
) -> None:
    monkeypatch.setattr(locale, "getlocale", lambda: (name, "cp932"))
    monkeypatch.setattr(cli_language, "_of_the_machine", partial(cli_language._of_the_machine, "win32"))
    assert language([], {}) == expected


def test_an_error_is_in_the_chosen_language_and_in_json_in_english(runs: Runs, tmp_path: Path) -> None:
    for words in (["--lang", "ja", "status"], ["status", "--lang=ja"]):
        run = runs.run(*words, str(tmp_path), "--json")
        assert "blog-exporter: エラー: " in run.err
        assert run.code == 10
        assert json.loads(run.out.splitlines()[-1])["error"]["message"].isascii()


def test_a_parser_error_is_in_the_chosen_language(runs: Runs) -> None:
    assert "エラー" in runs.run("status", "--no-such-option", "--lang", "ja").err
    run = runs.run("status", "--lang", "fr", "x")
    assert run.code == 2
    assert "error: " in run.err


def test_the_settings_file_can_set_the_language(runs: Runs, archive: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('lang = "ja"\n')
    command = ["show", str(archive), "entry", "4711", "--config", str(file)]
    assert "エラー: " in runs.run(*command).err
    assert "error: " in runs.run(*command, "--lang", "en").err
    assert "error: " in runs.run(*command, environ={"BLOG_EXPORTER_LANG": "en"}).err


def test_amounts() -> None:
    assert [size_text(n) for n in (0, 999, 1000, 3_400_000, 5 * 10**9, 2 * 10**12)] == [
        "0 B", "999 B", "1.0 kB", "3.4 MB", "5.0 GB", "2.0 TB",
    ]  # fmt: skip
    assert [time_text(n) for n in (0.26, 42.9, 61, 3600 + 180)] == ["0.3 s", "42 s", "1 min 01 s", "1 h 03 min"]
    spans = [timedelta(seconds=59), timedelta(minutes=59), timedelta(hours=47), timedelta(days=2), timedelta(days=1000)]
    assert [ago_text(span) for span in spans] == ["just now", "59 min ago", "47 h ago", "2 days ago", "1,000 days ago"]


def test_the_page_of_a_diff_and_the_rules_of_a_prune_are_in_the_language(
    runs: Runs, archive: Path, tmp_path: Path
) -> None:
    page = tmp_path / "diff.html"
    assert runs.run("diff", str(archive), "--html", str(page), "--lang", "ja").code == 0
    text = page.read_text("utf-8")
    assert '<html lang="ja">' in text
    assert "バージョン 1（" in text
    assert [f'<th scope="col">{word}</th>' in text for word in ("新規", "変更", "消失")] == [True] * 3
    assert '<th scope="row">記事</th>' in text
    assert "本文" in text
    prune = ["prune", str(archive), "--keep-last", "1", "--dry-run"]
    assert "最新" in runs.run(*prune, "--lang", "ja").out
    assert json.loads(runs.run(*prune, "--lang", "ja", "--json").out)["kept"][0]["reasons"] == ["last"]
