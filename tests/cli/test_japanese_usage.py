"""Every form of wrong command line, of every command, gets a Japanese sentence."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from exporter.cli.main import cli, main
from exporter.errors import UsageError
from exporter.message import PROGRAM, said
from exporter.settings import SETTINGS, check_setting
from exporter.translation import set_language, translated
from tests.support.japanese import english_in
from tests.translation.typography import misplaced_spaces


@pytest.fixture(autouse=True)
def _in_japanese() -> Iterator[None]:
    set_language("ja")
    yield
    set_language("en")


def commands(command: click.Command = cli, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with the words that lead to it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, *path, name)


def wrong(command: click.Command) -> Iterator[list[str]]:
    """Yield every form of wrong command line for a command: its words after the command's name."""
    arguments = ["WORD"] * sum(isinstance(each, click.Argument) and each.required for each in command.params)
    yield ["--nonsense"]
    yield ["-Z"]
    if isinstance(command, click.Group):
        yield ["nonsense"]
        yield from ([name[:-1]] for name in command.list_commands(click.Context(command)))
    else:
        yield [*arguments, *["word"] * 9]
        yield from (arguments[:n] for n in range(len(arguments)))
    for each in command.params:
        if isinstance(each, click.Option):
            name = max(each.opts, key=len)
            yield [*arguments, name[:-1] + "q"]
            yield [*arguments, f"{name}=word"] if each.is_flag or each.count else [*arguments, name]
            yield [*arguments, name, "nonsense!"]
            yield [*arguments, name, "0.5"]
            yield [*arguments, name, "-1"]


def heard(path: tuple[str, ...], command: click.Command, words: list[str]) -> str | None:
    """Return the sentence about a command line; ``None`` if it is not wrong. No command runs."""
    try:
        context = command.make_context(" ".join((PROGRAM, *path)), list(words))
        if isinstance(command, click.Group) and not words[0].startswith("-"):
            command.resolve_command(context, words)
    except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):
        return None
    except UsageError as error:
        return said(error)
    return None


def faults(sentences: dict[str, str]) -> dict[str, str]:
    """Return the sentences with English words or misplaced spaces in Japanese."""
    return {
        place: shown
        for place, text in sentences.items()
        if (shown := translated(text)) and (english_in(text) or misplaced_spaces(shown))
    }


def test_no_sentence_about_a_wrong_command_line_has_an_english_word() -> None:
    said = {
        " ".join((*path, *words)): sentence
        for path, command in commands()
        for words in wrong(command)
        if (sentence := heard(path, command, words)) is not None
    }
    assert len(said) > 1000
    assert faults(said) == {}


@pytest.mark.parametrize("words", [[], ["fleet"], ["schedule"]])
def test_a_missing_command_is_said_in_japanese(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--lang", "ja"]) == 2
    place = " ".join((PROGRAM, *words, "--help"))
    assert capfd.readouterr().err == f"blog-exporter: エラー: コマンドを指定してください。{place} をご覧ください。\n"


def test_no_sentence_about_a_wrong_setting_has_an_english_word() -> None:
    said_of = {}
    for name in SETTINGS:
        for value in ("nonsense! ", "-1", "0", "12", "", "\n", [1]):
            try:
                check_setting(name, value)
            except ValueError as error:
                said_of[f"{name} = {value!r}"] = said(error)
    assert len(said_of) > 100
    assert faults(said_of) == {}
