"""The contact for webmasters in the user's settings file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from exporter.cli.user_settings import keep_setting
from exporter.errors import UsageError
from exporter.http.user_agent import USER_AGENT, contact_addresses, user_agent_of
from exporter.settings import resolve
from tests.fleet.captured import PageServer
from tests.support.runs import Runs
from tests.support.terminal import Terminal

_QUESTION = "Who should a webmaster write to?"
_FILES = {
    "missing": None,
    "empty": "",
    "no final line feed": "rate = 5",
    "comments alone": "# mine\n",
    "tables": '# mine\nrate = 5\n\n# the diary\n[blogs.diary]\nblog_id = "d.example"\narchive = "d"\n',
    "only tables": '[profiles.mine]\nbase_url = "https://a.example"\n',
    "an array whose lines look like tables": 'skip = [\n[1],\n[2]\n]\n[blogs.d]\nblog_id = "d"\narchive = "d"\n',
    "a text whose lines look like tables": 'a = """\n[blogs.x]\n"""\n# b\nb = 1\n[profiles.c]\n',
    "Windows": 'rate = 5\r\n[blogs.d]\r\nblog_id = "d"\r\narchive = "d"\r\n',
}


@pytest.mark.parametrize("name", _FILES)
def test_a_setting_is_added_above_the_tables_and_changes_nothing_else(tmp_path: Path, name: str) -> None:
    path, text = tmp_path / "blog-exporter.toml", _FILES[name]
    if text is not None:
        path.write_bytes(text.encode())
    keep_setting(path, "operator", 'Bücher "&" 図書館 <web@library.example>')
    after = path.read_bytes().decode()
    assert tomllib.loads(after) == {
        **tomllib.loads(text or ""),
        "operator": 'Bücher "&" 図書館 <web@library.example>',
    }
    kept = [line for line in after.split("\n") if not line.startswith("operator = ")]
    assert text is None or "\n".join(kept).rstrip("\n") == text.rstrip("\n")
    if name == "tables":
        assert after.index("operator") < after.index("# the diary")


@pytest.mark.parametrize("text", [b"operator = 'a'\n", b"[[[\n", b"\xff\n"])
def test_a_file_that_cannot_be_added_to_stays_and_the_line_is_named(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "blog-exporter.toml"
    path.write_bytes(text)
    with pytest.raises(UsageError, match=r'add this yourself: operator = "b@c\.example"'):
        keep_setting(path, "operator", "b@c.example")
    assert path.read_bytes() == text


def test_requests_name_the_contact_but_no_text_that_a_header_cannot_hold() -> None:
    assert user_agent_of(None, None) == user_agent_of(None, "") == user_agent_of(None, "国立図書館") == USER_AGENT
    found = user_agent_of(None, "国立図書館 <web@ndl.example>, https://ndl.example/bot)")
    assert found.startswith("blog-exporter/")
    assert found.endswith(" (+web@ndl.example https://ndl.example/bot)")
    assert user_agent_of("mine/1 (+a@b.example)", "c@d.example") == "mine/1 (+a@b.example)"
    assert contact_addresses("a\u200b@b") == []


@pytest.mark.parametrize("name", ["user_agent", "operator"])
@pytest.mark.parametrize("value", ["a\r\nCookie: b", "a\x00", "a\x85b", "x" * 501])
def test_values_cannot_add_a_line(name: str, value: str) -> None:
    with pytest.raises(UsageError, match="one line"):
        resolve({name: value}, environ={})


def test_a_user_agent_is_ascii_and_an_operator_any_line() -> None:
    assert resolve({"operator": " 国立　図書館 a@b.example ", "user_agent": " mine/1 "}, environ={}).operator == (
        "国立　図書館 a@b.example"
    )
    with pytest.raises(UsageError, match="a text in ASCII"):
        resolve({"user_agent": "図書館"}, environ={})
    assert resolve({"operator": ""}, environ={}).operator == ""


def test_the_first_capture_at_a_terminal_asks_once_and_keeps_the_answer(runs: Runs, tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "TERM": "dumb"}
    file = tmp_path / "config" / "blog-exporter" / "blog-exporter.toml"
    with PageServer({"/": "<p>home"}).running() as server:
        command = ["capture", f"{server.origin}/", "--archive", tmp_path / "archive", "--rate", "200"]
        first = Terminal(runs, command, tmp_path, environment)
        first.answer(_QUESTION, "me")
        first.answer("Please type a mail address", "me@home.example")
        assert first.end() == 0, first.shown
        assert tomllib.loads(file.read_text("utf-8")) == {"operator": "me@home.example"}
        second = Terminal(runs, command, tmp_path, environment)
        assert second.end() == 0, second.shown
        assert _QUESTION not in second.shown
        assert server.asked[-1][1].endswith(" (+me@home.example)")
        file.unlink()
        third = Terminal(runs, command, tmp_path, environment)
        third.answer(_QUESTION, "")
        assert third.end() == 0, third.shown
        assert tomllib.loads(file.read_text("utf-8")) == {"operator": ""}
        fourth = Terminal(runs, command, tmp_path, environment)
        assert fourth.end() == 0, fourth.shown
        assert _QUESTION not in fourth.shown


@pytest.mark.parametrize("option", ["--quiet", "--json", "--dry-run", "--user-agent=mine/1", "--operator="])
@pytest.mark.sample(1)
def test_other_captures_never_ask(runs: Runs, tmp_path: Path, option: str) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "TERM": "dumb"}
    with PageServer({"/": "<p>home"}).running() as server:
        command = ["capture", f"{server.origin}/", "--archive", tmp_path / "archive", "--rate", "200", option]
        terminal = Terminal(runs, command, tmp_path, environment)
        assert terminal.end() == 0, terminal.shown
    assert _QUESTION not in terminal.shown
    assert not (tmp_path / "config" / "blog-exporter" / "blog-exporter.toml").exists()
