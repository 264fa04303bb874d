"""Untrusted text cannot control the terminal, with any command; files and pipes receive it unchanged."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from exporter import lossless_json
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.hostile.commands import HOME
from tests.support.runs import Runs
from tests.support.terminal import Terminal

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals"),
    pytest.mark.no_cover,
]

CONTROLS: Final = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
BIDI: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff"
SEQUENCES: Final = "\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\x\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[7m\x9b31m\x9d0;t\x9c\x1bP$q\x1b\\\x1b[6n"
PAYLOAD: Final = f"海{SEQUENCES}猫{CONTROLS}{BIDI}末"
STEERING: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDI}]")
OWN: Final = re.compile("\r?\x1b\\[(?:\\?25[lh]|2K|1A|(?:0|1;33|3[1-69]|9[01])m)")
"""The program's own colours and bars, which do not occur in the payload."""
URL: Final = "https://files.example/1"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions in which every text field contains all sequences that control a terminal."""
    built = Built(tmp_path_factory.mktemp("hostile") / "archive")
    for state in ("甲", "乙"):
        said = PAYLOAD + state
        dated = {"year": "2020", "mon": "1", "day": "2", "hour": "3", "min": "4", "sec": "5"}
        built.commit(
            {
                Kind.ENTRIES: {
                    "1": record(entry_id="1", title=said, entry_text=said, ps_title=said, ps_text=f"<p>{said}</p>",
                                open_flg=said[:9], period_flg=said, is_private="f", name=said, odd={said: [said]}, **dated),
                    "2": record(entry_id="2", title="題", entry_text=f"x{state}", open_flg="1", is_private="f", period_flg="f", **dated),
                    said: record(entry_id=said, title=said),
                },
                Kind.ENTRY_LIST: {"1": record(entry_id="1", title=said, category=said, regist_date=said)},
                Kind.COMMENTS: {"7": record(cm_id="7", entry_id="1", name=said, title=said, cm_text=said, url_text=said,
                                            delete_flg=said, regist_date="2020/01/02")},
                Kind.FILES: {"9": record(file_id="9", name=said, title=said, explanation=said, mtime="1", filesize="5")},
                Kind.USER: {"1": record(id="1", nickname=said)},
                Kind.ASSETS: {URL: record(url=URL, status=404, content_type=said, error=said, refs=[{"entry": "1"}, {"file": "9"}])},
            }
        )  # fmt: skip
    built.refresh()
    return built.root


def on_terminal(runs: Runs, folder: Path, *arguments: object) -> str:
    """Run the program on its own terminal, and return all its output."""
    terminal = Terminal(runs, arguments, folder, {"XDG_CONFIG_HOME": str(folder / "config")})
    terminal.end()
    return terminal.shown


def in_pipe(runs: Runs, folder: Path, *arguments: object) -> bytes:
    """Run the program with its output into a pipe, and return standard output."""
    reading, writing = os.pipe()
    try:
        run = runs.start(*arguments, folder=folder, stdout=writing)
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read()
    run.wait()
    return said


COMMANDS: Final[list[tuple[Any, ...]]] = [
    *(("show", kind, number, *form)
      for kind, number in (("entry", "1"), ("item", "1"), ("comment", "7"), ("file", "9"), ("user", "1"), ("asset", URL))
      for form in ((), ("--json",), ("--html",))),
    ("show", "entry", "1", "--markdown"),
    ("show", "comment", "7", "--markdown"),
    ("show", "entry", PAYLOAD.replace("\x00", "")),
    ("files",),
    ("files", "--csv"),
    ("files", "--json"),
    ("search", "海"),
    ("search", "海", "--json"),
    ("search", "海.*猫", "--regex"),
    ("log",),
    ("log", "--json"),
    ("log", "--entry", "1"),
    ("diff",),
    ("diff", "--json"),
    ("diff", "--stat"),
    ("inspect",),
    ("inspect", "--json"),
    ("status",),
    ("status", "--json"),
    ("verify",),
    ("compare", HOME, "--all-as-draft", "-v"),
    ("compare", HOME, "--all-as-draft", "--json"),
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command", COMMANDS, ids=lambda command: " ".join(command)[:30].encode("unicode_escape").decode()
)
def test_no_command_lets_text_control_the_terminal(
    runs: Runs, hostile: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    name, *rest = command
    shown = on_terminal(runs, tmp_path, name, hostile, *rest)
    assert shown
    assert STEERING.findall(OWN.sub("", shown)) == []


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["wxr", "csv", "epub", "hugo"])
def test_no_export_lets_text_control_the_terminal(runs: Runs, hostile: Path, tmp_path: Path, form: str) -> None:
    for options in (["--public-open-flg", "1"], ["--all-as-draft"], ["--category", PAYLOAD.replace("\x00", "")], []):
        for end in (["--dry-run"], ["--dry-run", "--json"]):
            shown = on_terminal(runs, tmp_path, "export", form, hostile, tmp_path / "out", *options, *end)
            assert shown
            assert STEERING.findall(OWN.sub("", shown)) == []


def test_the_questions_do_not_let_text_control_the_terminal(runs: Runs, hostile: Path, tmp_path: Path) -> None:
    terminal = Terminal(
        runs, ["export", hostile], tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config"), "LANG": "C.UTF-8"}
    )
    terminal.interrupt("1  ")
    terminal.end()
    assert STEERING.findall(terminal.shown) == []


def test_the_name_of_a_blog_does_not_control_the_terminal(runs: Runs, tmp_path: Path) -> None:
    built = Built(tmp_path / "archive")
    built.commit({Kind.ENTRIES: {"1": record(entry_id="1", title="題", entry_text="海")}})
    info = json.loads(built.layout.info.read_text())
    built.layout.info.write_text(json.dumps({**info, "blog_id": PAYLOAD, "tool": PAYLOAD}))
    for command in ("status", "log", "inspect", "verify", "files"):
        shown = on_terminal(runs, tmp_path, command, built.root)
        assert STEERING.findall(OWN.sub("", shown)) == []
    for more in (
        ["search", built.root, "海"],
        ["export", "csv", built.root, tmp_path / "o", "--all-as-draft", "--dry-run"],
    ):
        assert STEERING.findall(OWN.sub("", on_terminal(runs, tmp_path, *more))) == []


@pytest.mark.parametrize(("kind", "number"), [("entry", "1"), ("comment", "7"), ("asset", URL), ("user", "1")])
def test_json_on_a_terminal_is_the_same_json(runs: Runs, hostile: Path, tmp_path: Path, kind: str, number: str) -> None:
    command = ("show", hostile, kind, number, "--json")
    assert json.loads(on_terminal(runs, tmp_path, *command)) == json.loads(in_pipe(runs, tmp_path, *command))


def test_a_pipe_gets_every_byte(runs: Runs, hostile: Path, tmp_path: Path) -> None:
    made = in_pipe(runs, tmp_path, "show", hostile, "entry", "1", "--json")
    assert made in (hostile / "latest" / "entries.jsonl").read_bytes()
    assert BIDI.encode() in made
    assert lossless_json.loads(made)["data"]["title"] == f"{PAYLOAD}乙"
    table = in_pipe(runs, tmp_path, "files", hostile, "--csv")
    assert table.startswith(b"\xef\xbb\xbf")
    assert any(PAYLOAD in cell for row in csv.reader(io.StringIO(table.decode()[1:], newline="")) for cell in row)
    assert BIDI.encode() in in_pipe(runs, tmp_path, "show", hostile, "entry", "1", "--markdown")


def test_a_terminal_shows_tables_and_pages_line_by_line(runs: Runs, hostile: Path, tmp_path: Path) -> None:
    shown = on_terminal(runs, tmp_path, "files", hostile, "--csv")
    assert shown.startswith('"held"' if shown[0] == '"' else "held,url,")
    assert "\\x1b]0;title\\x07" in shown
    assert on_terminal(runs, tmp_path, "show", hostile, "entry", "2", "--markdown").count("\n") > 5
