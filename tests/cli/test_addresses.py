"""Every command answers an invalid address with one line and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.site.test_view import entry

_HOSTS = ("http://xn--.jp", "https://xn--a.jp/x", "http://name.example.jp:99999/")
_WORDS = (
    ("check", "{}"),
    ("backup", "{}"),
    ("capture", "{}"),
    ("init", "{}", "--yes"),
    ("status", "{}"),
    ("check", "name.example.jp", "--base-url", "{}"),
    ("backup", "name.example.jp", "--base-url", "{}"),
    ("backup", "name.example.jp", "--base-url", "http://127.0.0.1:9", "--ping-url", "{}"),
    ("login", "--base-url", "{}"),
    ("move", "wordpress", "DIR", "--to", "{}"),
    ("compare", "DIR", "{}", "--all-as-draft"),
    ("seal", "DIR", "--tsa", "{}"),
)


@pytest.mark.parametrize("words", _WORDS, ids=" ".join)
def test_an_invalid_address(
    words: tuple[str, ...], program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.chdir(tmp_path)
    built = Built(tmp_path / "DIR")
    built.commit({Kind.ENTRIES: {"1": entry(1, "海")}})
    for address in _HOSTS:
        with subtests.test(address):
            done = program(*(word.format(address) for word in words))
            assert (done.code, "Unexpected" in done.err) == (2, False), done.err
