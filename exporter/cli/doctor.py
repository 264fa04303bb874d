"""``doctor``: find problems in an archive and on its machine, and show the repair for each."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exporter.cli.blog_names import archive_named
from exporter.cli.help import cli_command
from exporter.cli.options import complete_archives, with_config
from exporter.cli.output import Output, counted
from exporter.errors import BlogExporterError
from exporter.message import message
from exporter.text import left, printable, width, wrapped
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.check.doctor import Diagnosis
    from exporter.check.facts import CheckFinding

_EPILOG = """\b
Examples:
  blog-exporter doctor ~/blog
  blog-exporter doctor ~/blog --offline
  blog-exporter doctor sakura --json
"""
_LINE_COLUMNS = 79


@cli_command(
    "doctor",
    epilog=_EPILOG,
    help=message(
        """Find problems in the archive in DIR and its surroundings, and show how to solve each.

        DIR is the archive's folder, the blog's address, or its name in the settings file. The first line says how many
        problems there are. Each one has its advice, with the command to type. Remarks begin with a hyphen: they need
        no action. At the end are all places where this machine keeps something of the program.

        The command writes one small file into the archive's .work folder, to try whether a backup could, and removes
        it. It sends the service a few requests, or none with --offline. It exits with 0 if all is well, and otherwise
        with the worst problem's code, as status and check do."""
    ),
)
@click.argument("words", metavar="DIR", shell_complete=complete_archives)
@click.option("--offline", is_flag=True, help=message("Send no request to the blog's service."))
@with_config()
def command(*, out: Output, words: str, offline: bool, config: Path | None) -> int:
    """Run ``doctor``."""
    from exporter.check.doctor import diagnose
    from exporter.cli.signals import catch_signals

    with catch_signals():
        found = diagnose(_place(words, config), config=config, offline=offline, warn=out.warn)
    out.document(found.document())
    if out.verbosity >= 0 or found.exit_code:
        _print(out, found)
    return found.exit_code


def _place(words: str, config: Path | None) -> Path:
    """Return the folder to look at. A known one counts even if it is missing now."""
    from exporter.archive.settings_file import known_archives, place_of

    path = Path(words)
    with suppress(BlogExporterError):  # unreadable notes are a finding
        if "\0" not in words and place_of(path) in map(str, known_archives()):
            return path
    return archive_named(words, config)


def _print(out: Output, found: Diagnosis) -> None:
    well = message("No problems, but see below.") if found.findings else message("All is well.")
    out.answer(counted(len(found.problems), "problem") if found.problems else well)
    for finding in found.findings:
        if finding.exit_code or out.verbosity >= 0:
            for line in _lines(finding):
                out.answer(line)
    if out.verbosity < 0:
        return
    out.answer("")
    out.answer(message("What this machine keeps:"))
    labels = [_shown(each.what) for each in found.places]
    columns = max(map(width, labels))
    for label, place in zip(labels, found.places, strict=True):
        where = printable(place.where)
        shown = message("{path} (not there)", path=where) if place.exists is False else where
        out.answer(f"  {left(label, columns)}  {_shown(shown)}")


def _lines(finding: CheckFinding) -> list[str]:
    """Return the lines of a finding. Its command has a separate line, so that it can be copied."""
    lines = _wrapped("! " if finding.exit_code else "- ", finding.said)
    if finding.advice:
        lines += _wrapped("    ", finding.advice)
    return [*lines, f"    {_shown(finding.command)}"] if finding.command else lines


def _wrapped(lead: str, text: str) -> list[str]:
    lines = wrapped(_shown(text), _LINE_COLUMNS - width(lead))
    return [(lead if number == 0 else " " * width(lead)) + line for number, line in enumerate(lines)]


def _shown(text: str) -> str:
    return printable(translated(text))
