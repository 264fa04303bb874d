"""A Japanese reader sees no English: what every command prints about the sample archive is Japanese but for names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.runs import Runs

COMMANDS = (
    "status DIR", "log DIR", "log DIR --entry 50", "diff DIR --stat", "search DIR xyzzy", "verify DIR", "files DIR --missing",
    "inspect DIR", "rebuild DIR", "prune DIR --keep-last 1 --dry-run", "site DIR OUT", "site DIR OUT --public-only",
    "export wxr DIR OUT --public-open-flg 1", "export hugo DIR OUT --public-open-flg 1", "export csv DIR OUT --all-as-draft",
    "compare DIR DIR/latest/site --public-open-flg 1", "schedule print cron DIR", "schedule status DIR", "sync DIR OUT",
    "backup nowhere.invalid", "check nowhere.invalid", "show DIR entry 12345", "whoami nowhere.invalid",
    "move wordpress DIR --to https://nowhere.invalid", "logout nowhere.invalid",
)  # fmt: skip

ALLOWED = re.compile(
    r"""
    https?://\S+ | \S*[/\\]\S* | [\w.-]+\.[a-z]{2,8}(?![a-z])   # addresses, paths, names of files and hosts
    | --?[a-z][\w-]* | \b[A-Z][A-Z_|<>.]+\b              # options, and what stands for an argument
    | \bblog-exporter(?:\s+[\w.-]+)* | \b\w+_\w+\b       # commands to type, fields and settings
    | \b[0-9a-f]{64}\b | \{[^}]*\} | '[^']*' | "[^"]*"                      # patterns and values as they are
    | \b(?:lang|rate|concurrency|timezone|name|title|status|count)\b(?=\ *[=:]|\ {2})
    | \d+(?:\.\d+)?\ (?:B|kB|MB|GB)\b | \b[A-Z][A-Za-z0-9]*\b
    """,
    re.VERBOSE,
)
"""What is the same in every language: names, commands, options, formats, values and units."""

ENGLISH = re.compile(r"(?<![A-Za-z])[a-z]{2,}(?![A-Za-z])")
KNOWN = frozenset({
    "css", "html", "json", "markdown", "wordpress", "latest", "ninja", "cron", "systemd", "launchd", "windows",
    "body", "or", "sidecar", "inspect", "entry", "get", "list", "kazu", "hugo", "crontab", "demo", "archive",
    "wxr", "movabletype", "blogger", "atom", "ghost", "jekyll", "pelican", "csv",
})  # fmt: skip
"""Names of formats, of requests and of people in the sample blog."""


def english(line: str) -> list[str]:
    """Return the English words of a line that are no names."""
    return [word for word in ENGLISH.findall(ALLOWED.sub(" ", line)) if word not in KNOWN]


def test_english_words_are_found() -> None:
    assert english("変更 1 件、1 gone") == ["gone"]
    assert english("    https://pictures.example.jp/kieta.jpg (it answered 404)") == ["it", "answered"]
    assert english("blog-exporter files DIR --missing で一覧できます。記事 60 件、1.5 MB") == []


@pytest.mark.parametrize("command", COMMANDS)
def test_no_english_word_is_in_what_a_command_says(
    runs: Runs, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    words = command.replace("DIR", str(archive)).replace("OUT", str(tmp_path / "out")).split()
    done = runs.run("--lang", "ja", *words)
    lines = (done.out + done.err).splitlines()
    assert lines
    # The text of the blog itself is Japanese; a crontab and a unit are programs.
    found = {line: said for line in lines if not line.startswith("#") and (said := english(line))}
    assert found == {}
