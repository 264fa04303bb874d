"""Write docs/cli.md, docs/cli.ja.md and docs/blog-exporter.1 from the commands: ``python docs/reference.py``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from exporter.cli.help import ALL_OPTIONS  # noqa: E402 - it is found only then
from exporter.cli.main import COMMANDS, cli  # noqa: E402
from exporter.cli.output import PROGRAM  # noqa: E402
from exporter.translation import set_language, translated  # noqa: E402

TITLES = {"en": "The command line", "ja": "コマンドライン"}
NOTES = {
    "en": "This is the output of `--help-all`, written by `make cli-docs`.",
    "ja": "`--help-all` の内容を `make cli-docs` で書き出したものです。",
}


def helps() -> Iterator[tuple[str, str]]:
    """Yield every command line with its full help at 80 columns."""
    os.environ["COLUMNS"] = "80"
    main = cli.context_class(cli, info_name=PROGRAM, **cli.context_settings)
    main.meta[ALL_OPTIONS] = True
    yield PROGRAM, cli.get_help(main)
    for name in COMMANDS:
        command = cli.get_command(main, name)
        assert command is not None
        yield from _helps(command, command.context_class(command, info_name=name, parent=main))


def _helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _helps(inner, inner.context_class(inner, info_name=name, parent=context))


def page(language: str) -> str:
    """Return the page of a language."""
    set_language(language)
    try:
        parts = [f"# {TITLES[language]}\n\n{NOTES[language]}\n"]
        parts += [f"## {path}\n\n```text\n{text.rstrip()}\n```\n" for path, text in helps()]
        return "\n".join(parts)
    finally:
        set_language("en")


def manual() -> str:
    """Return the manual page, in the language of man(7)."""
    line = translated(cli.help or "")
    parts = [f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM}" "User Commands"', ".SH NAME", f"{PROGRAM} \\- {_roff(line)}"]
    for number, (path, text) in enumerate(helps()):
        parts += [".SH SYNOPSIS" if number == 0 else f".SH {_roff(path.removeprefix(f'{PROGRAM} ').upper())}", ".nf"]
        parts += [_roff(each) for each in text.rstrip().splitlines()] + [".fi"]
    return "\n".join(parts) + "\n"


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped)


def pages() -> dict[str, str]:
    """Return the files by their names."""
    return {"cli.md": page("en"), "cli.ja.md": page("ja"), "blog-exporter.1": manual()}


def main() -> None:
    """Write all of them."""
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
