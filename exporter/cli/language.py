"""The program's language: as requested, or else the machine's."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from exporter.message import message
from exporter.translation import LANGUAGES, set_language

if TYPE_CHECKING:
    from exporter.settings import Settings

_OPTION: Final = "--lang"
_VARIABLE: Final = "BLOG_EXPORTER_LANG"
_LOCALE: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first that is set decides, as in POSIX (Base Definitions, 8.2)."""


_command_line = {"names one": False}


def speak(arguments: Sequence[str], environ: Mapping[str, str]) -> None:
    """Use the language of a command line from now on."""
    _command_line["names one"] = bool(_asked(arguments))
    set_language(language(arguments, environ))


def language(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the language for a command line that is not parsed yet: ``--lang``, variable, or locale."""
    asked = _asked(arguments)
    if asked in LANGUAGES:
        return asked
    if environ.get(_VARIABLE) in LANGUAGES:
        return environ[_VARIABLE]
    name = next((environ[each] for each in _LOCALE if environ.get(each)), None)
    if name is None:
        name = _of_the_machine()
    return "ja" if name.lower().replace("-", "_").split(".")[0].split("_")[0] in {"ja", "japanese"} else "en"


def _asked(arguments: Sequence[str]) -> str:
    """Return the value of the last option ``--lang``, or an empty text."""
    options = list(arguments)
    if "--" in options:
        del options[options.index("--") :]
    for at in reversed(range(len(options))):
        if options[at].startswith(f"{_OPTION}="):
            return options[at].partition("=")[2]
        if options[at] == _OPTION and at + 1 < len(options):
            return options[at + 1]
    return ""


def _of_the_machine(platform: str = sys.platform) -> str:
    """Return the locale that Windows and macOS know without a variable."""
    if platform not in {"win32", "darwin"}:
        return ""
    import locale

    return locale.getlocale()[0] or ""


def with_language(command: click.Command) -> click.Command:
    """Add ``--lang`` to a command and its subcommands; :func:`speak` reads it before they are parsed."""
    if not any(_OPTION in each.opts for each in command.params):
        command.params.append(
            click.Option(
                [_OPTION],
                type=click.Choice(LANGUAGES),
                expose_value=False,
                help=message("Language of messages. [default: the machine's]"),
            )
        )
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        with_language(inner)
    return command


def adopt(settings: Settings) -> Settings:
    """Use the language in the environment or the settings file, unless the command line names one."""
    if settings.lang is not None and not _command_line["names one"]:
        set_language(settings.lang)
    return settings
