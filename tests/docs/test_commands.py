"""The program's own parser accepts every command line that the documents show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from exporter.cli.main import COMMANDS, cli
from exporter.errors import UsageError
from exporter.message import PROGRAM

ROOT = Path(__file__).parent.parent.parent
RUN = {"screens.md", "screens.ja.md"}
"""Pages written by a real run, including mistyped commands; ``test_screens.py`` checks them."""
DOCUMENTS = [
    *(ROOT / "README.md", ROOT / "README.ja.md"),
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in RUN),
]
FENCE = re.compile(r"^ *```")
SHOWN = re.compile(rf"^\s*(?:\$ |docker run .* |[0-9*]+(?: [0-9*]+){{4}} +/\S+/)?{PROGRAM} +(\S.*)$")
"""A line that starts with the program, after a prompt, in a container, or in a crontab."""
SPOKEN = re.compile(rf"`(?:uvx |pipx run )?{PROGRAM} +([^`]+)`")
REMARK = re.compile(r"\s{2,}\S.*$")
SHELL = re.compile(r"(?<=\s)(?:\||>|&&|\|\||#|2>).*$|;.*$")


def shown(text: str) -> Iterator[str]:
    """Yield the command lines of code blocks, without comments, pipes and other shell syntax."""
    fenced = False
    for line in text.replace("\\\n", " ").splitlines():
        if FENCE.match(line):
            fenced = not fenced
        elif (fenced or line.startswith("    ")) and (found := SHOWN.match(line)) is not None:
            yield SHELL.sub("", REMARK.sub("", found[1])).strip()


def parse(words: list[str]) -> None:
    """Parse a command line with the program's parser, including the innermost subcommand.

    Raises:
        UsageError: the command line is invalid.
    """
    command: click.Command = cli
    context = cli.make_context(PROGRAM, words)
    while isinstance(command, click.Group):
        rest = [*context._protected_args, *context.args]
        name, inner, rest = command.resolve_command(context, rest)
        assert inner is not None
        context = inner.make_context(name, rest, parent=context)
        command = inner


def test_the_parser_accepts_the_commands_in_a_document(subtests: pytest.Subtests) -> None:
    for path in DOCUMENTS:
        with subtests.test(path=path):
            text = path.read_text("utf-8")
            wrong = []
            for line in shown(text):
                try:
                    parse(shlex.split(line))
                except UsageError as error:
                    wrong.append((line, str(error)))
            for line in SPOKEN.findall(text):
                try:
                    parse(shlex.split(line))
                except click.exceptions.NoArgsIsHelpError:
                    continue
                except UsageError as error:
                    if not isinstance(
                        error.__cause__, click.MissingParameter
                    ):  # in a sentence, arguments may be missing
                        wrong.append((line, str(error)))
            assert wrong == []


def test_most_commands_are_shown_and_a_wrong_one_is_found() -> None:
    lines = [line for path in DOCUMENTS for line in shown(path.read_text("utf-8"))]
    assert len(lines) > 60
    assert {line.split()[0] for line in lines} <= {*COMMANDS}
    text = "```sh\n$ blog-exporter backup DIR \\\n  --quiet   in silence\n```\n    blog-exporter log DIR --json | jq .; ls\n"
    assert list(shown(text)) == ["backup DIR", "log DIR --json"]
    for line in (
        "backpu DIR",
        "backup DIR --no-such",
        "status",
        "schedule instal DIR",
        "schedule print DIR --for cronn",
    ):
        with pytest.raises(UsageError):
            parse(line.split())
