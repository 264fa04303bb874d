"""Help: headings, two columns that fit the terminal, and allowed values; and the messages after typing errors."""

from __future__ import annotations

import re

import click
import pytest

from exporter.cli.help import _MAIN, _MAX_OPTIONS, HelpedGroup
from exporter.cli.main import COMMANDS, GROUPS, cli
from exporter.message import Message
from exporter.settings import SETTINGS
from exporter.text import width
from tests.cli.conftest import Program


def test_every_command_is_under_one_heading() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert set(COMMANDS) <= set(grouped)


def test_the_main_help_has_all_commands(program: Program) -> None:
    shown = program("--help").out
    for name, line in COMMANDS.items():
        assert f"  {name} " in shown
        assert line.split()[0] in shown


def commands() -> list[tuple[list[str], click.Command]]:
    """Return every command that is not a group, with its words."""
    context, found = click.Context(cli), []
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            inner = ((each, command.get_command(context, each)) for each in command.list_commands(context))
            found += [([name, each], one) for each, one in inner if one is not None]
        else:
            found.append(([name], command))
    return found


def options_in(shown: str) -> set[str]:
    """Return the options listed in a help, by long name."""
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", shown.partition("Options:")[2], re.MULTILINE))


@pytest.mark.parametrize(("words", "command"), commands(), ids=lambda each: each[0] if isinstance(each, list) else "")
def test_a_help_shows_the_options_that_matter_and_help_all_shows_all(
    program: Program, words: list[str], command: click.Command
) -> None:
    declared = {
        max(each.opts, key=len) for each in command.params if isinstance(each, click.Option) and not each.hidden
    }
    short = options_in(program(*words, "--help").out)
    assert 1 < len(short) <= _MAX_OPTIONS
    assert "--help" in short
    assert ("--help-all" in short) == (len(declared) >= _MAX_OPTIONS)
    assert (
        options_in(program(*words, "--help-all").out)
        - {
            "--help",
            "--help-all",
        }
        == declared
    )


def test_the_main_options_exist() -> None:
    by_name = {words[0]: {each.name for each in command.params} for words, command in commands()}
    assert {name: set(names) - by_name[name] - {"FLAGS"} for name, names in _MAIN.items()} == {
        name: set() for name in _MAIN
    }


def test_a_long_help_has_the_allowed_values(program: Program) -> None:
    lines = program("backup", "--help-all").out.splitlines()
    for option in (
        "--refresh all|changed|auto",
        "--assets linked|embedded|files|none",
        "--profile ninja|hatena|livedoor|NAME",
    ):
        assert any(line.startswith(f"  {option}") for line in lines)
    assert lines.index("Options:") < lines.index("More options:")


def test_a_help_names_each_option_once_and_those_of_its_examples(program: Program) -> None:
    for words, _ in commands():
        for everything in ("--help", "--help-all"):
            shown = program(*words, everything).out
            rows = re.findall(r"^  (-.*?)(?:  |$)", shown, re.MULTILINE)
            assert len(rows) == len(set(rows)), (words, rows)
            names = {name for row in rows for name in re.findall(r"(?<![\w-])--?[a-z][\w-]*", row)}
            examples = re.findall(rf"^ +blog-exporter {' '.join(words)} .*", shown, re.MULTILINE)
            told = re.findall(r"(?<= )--?[a-z][a-z-]*", "\n".join(examples))
            assert set(told) <= names, (words, set(told) - names)


def test_a_short_help_has_no_second_heading(program: Program) -> None:
    shown = program("log", "--help").out
    assert "Options:" in shown
    assert "More options:" not in shown


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_fits_a_terminal(
    program: Program, name: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = program(*name.split(), "--help", "--lang", language)
    assert shown.code == 0
    too_wide = [line for line in shown.out.splitlines() if width(line) > 80 and "blog-exporter " not in line]
    assert too_wide == []


def test_narrow_terminals_break_lines_earlier(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = program("log", "--help").out
    assert max(map(len, shown.partition("Options:")[2].splitlines())) <= 60


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bakup x", "There is no command 'bakup' (did you mean backup?); see blog-exporter --help."),
        ("xyzzy", "There is no command 'xyzzy'; see blog-exporter --help."),
        (
            "backup x --refesh",
            "There is no option --refesh (did you mean --refresh?); see blog-exporter backup --help.",
        ),
        ("log x --xyzzy", "There is no option --xyzzy; see blog-exporter log --help."),
        ("log", "Missing argument DIR: the form is blog-exporter log [OPTIONS] DIR; see blog-exporter log --help."),
        ("log a b", "'b' is one argument too many: the form is blog-exporter log [OPTIONS] DIR."),
        ("show a entri 1", "KIND is 'entri': one of "),
        ("search a b --sort dat", "--sort is 'dat': one of relevance, date is expected (did you mean date?)."),
        ("search a b --sort x", "--sort is 'x': one of relevance, date is expected."),
        ("search a b --limit 0", "--limit is '0': a whole number from 1 to 10000 is expected."),
        ("export csv a b --max-entries 0", "--max-entries is '0': a whole number of 1 or more is expected."),
        ("serve a --port 99999", "--port is '99999': a whole number from 0 to 65535 is expected."),
        ("prune a --keep-last x", "--keep-last is 'x': a whole number is expected."),
        ("export wxr a b --since x", "--since: 'x' is not a day such as 2016-03-19; see blog-exporter export --help."),
        ("log a --entry", "Option --entry needs a value; see blog-exporter log --help."),
        ("log a --json=1", "Option --json takes no value; see blog-exporter log --help."),
        (
            "backup x --refresh al",
            "option --refresh is 'al': one of all, changed, auto is expected (did you mean all?).",
        ),
    ],
)
def test_the_message_after_a_typing_error(program: Program, words: str, said: str) -> None:
    failed = program(*words.split())
    assert failed.code == 2
    assert said in failed.err
    assert failed.err.count("\n") == 1


def test_help_lines_can_be_translated() -> None:
    assert [name for name, setting in SETTINGS.items() if not isinstance(setting.help, Message)] == []
    assert [name for name, line in COMMANDS.items() if not isinstance(line, Message)] == []


def test_a_group_of_commands_gets_the_same_help(capsys: pytest.CaptureFixture[str]) -> None:
    @click.group("outer", cls=HelpedGroup, help="Do things.")
    def outer() -> None:
        pass

    @outer.command("inner", short_help="Do one.")
    @click.option("--size", type=int, default=3, show_default=True, help="How {large}.")
    def inner(size: int) -> int:
        return size

    @outer.command("secret", hidden=True)
    def secret() -> None:
        pass

    assert outer.main(["--help"], prog_name="x", standalone_mode=False) == 0
    shown = capsys.readouterr().out
    assert "Commands:\n  inner  Do one.\n" in shown
    assert "secret" not in shown
    assert outer.main(["inner", "--help"], prog_name="x", standalone_mode=False) == 0
    assert "--size INTEGER  How {large}. [default: 3]" in capsys.readouterr().out
    assert outer.main(["inner", "--size", "4"], prog_name="x", standalone_mode=False) == 4
