"""The program: its commands, and how every failure becomes one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

import click

from exporter import __version__
from exporter.cli import events
from exporter.cli.help import HelpedGroup
from exporter.cli.language import speak, with_language
from exporter.cli.output import (
    OnLoss,
    Output,
    ReaderClosed,
    SafeStream,
    open_closed_streams,
    report,
    safe_streams,
    tell,
)
from exporter.errors import BlogExporterError, Interrupted, NoMemory, UsageError
from exporter.message import PROGRAM, Message, message
from exporter.translation import set_program_words

COMMANDS: Final = {
    "app": message("Open the window: everything on pages in your browser."),
    "init": message("Save a blog for the first time, and schedule a backup every night."),
    "backup": message("Back up a blog into an archive."),
    "capture": message("Capture the public pages of a blog as they look, as WARC."),
    "check": message("Check whether a backup of a blog would save everything."),
    "status": message("Show an archive's state: newest version, last run, completeness."),
    "doctor": message("Find the problems of an archive and its surroundings, and solve them."),
    "rename": message("Continue an archive after its blog was renamed."),
    "unjoin": message("Take a second source out of an archive again."),
    "log": message("List the versions of an archive."),
    "diff": message("Show what changed between two versions."),
    "show": message("Show a record, now or at an earlier version."),
    "search": message("Search titles, bodies, comments and file names."),
    "files": message("List uploads and pictures, with their uses and gaps."),
    "verify": message("Check that an archive is intact and complete."),
    "seal": message("Prove an archive's content and date with a signature and a timestamp."),
    "inspect": message("Show the values of a blog's undocumented flags."),
    "export": message("Export the blog for another service or program."),
    "move": message("Move the blog into a WordPress by its API."),
    "compare": message("Compare a new home with the archive."),
    "site": message("Make the offline site of any version, or a copy to publish."),
    "library": message("Make one site of several blogs of one person."),
    "serve": message("Serve the site locally, with a search over all versions."),
    "sync": message("Copy an archive to another disk or to S3, or restore it."),
    "prune": message("Remove old versions by rules such as --keep-daily 30."),
    "forget": message("Remove comments or an entry from everything, for good."),
    "rebuild": message("Rebuild latest/ and its views from the versions."),
    "login": message("Sign in at a blog's service for all later commands."),
    "logout": message("Delete a stored sign-in."),
    "whoami": message("Show which account is signed in and where its token is stored."),
    "profiles": message("List the known blog services and the source of each fact."),
    "schedule": message("Schedule a nightly backup with systemd, cron, launchd or Task Scheduler."),
    "fleet": message("Back up thousands of blogs from a list, and monitor them."),
    "completion": message("Print a completion script for bash, zsh or fish."),
    "demo": message("Try everything on a sample blog."),
}
"""Every command with its short help. The module of a command is imported only when the command is used."""

MODULES: Final = {
    "log": "versions", "diff": "versions", "inspect": "show", "prune": "upkeep", "rebuild": "upkeep",
    "logout": "login", "whoami": "login", "app": "exporter.window.command",
}  # fmt: skip
"""Modules whose names differ from their command's: shared modules, and the window's, which is above this room."""

GROUPS: Final = {
    message("Begin"): ("app", "init", "demo", "profiles", "login", "logout", "whoami", "check"),
    message("Back up"): ("backup", "capture", "schedule", "fleet", "status", "verify", "seal"),
    message("Look"): ("log", "diff", "show", "search", "files", "site", "library", "serve"),
    message("Move to a new home"): ("inspect", "export", "move", "compare"),
    message("Keep in order"): ("doctor", "rename", "unjoin", "sync", "prune", "forget", "rebuild", "completion"),
}
"""The headings of the commands in the help."""

_NO_ENCODING = {"ascii", "ansi_x3.4-1968", "us-ascii"}
"""The encodings that the locale C reports, which say nothing about the terminal."""
_EPILOG = """\b
Examples:
  blog-exporter backup NAME.blog.example.jp --base-url https://api.example.jp
  blog-exporter status NAME.blog.example.jp
  blog-exporter show NAME.blog.example.jp entry 42
  blog-exporter demo
"""
_MEMORY_LOST: Final = re.compile(
    r"without exception set|without setting an exception|malloc failure|NO_CIPHERS|No cipher can|unknown error \(_ssl"
)
"""Libraries that lose a MemoryError say this. Invalid certificates cause other errors."""
_RESERVE_BYTES: Final = 4_000_000
"""Given back before an error is reported, because a line about it also needs memory."""


class _LazyGroup(HelpedGroup):
    """A group that imports each command on its first use, since most need only a part of the program."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = MODULES.get(cmd_name, cmd_name)
        module = importlib.import_module(name if "." in name else f"exporter.cli.{name}")
        commands = (each for each in vars(module).values() if isinstance(each, click.Command))
        return with_language(next(each for each in commands if each.name == cmd_name))

    def headed_commands(self, ctx: click.Context) -> Iterator[tuple[Message, Mapping[str, str]]]:
        for heading, names in GROUPS.items():
            yield heading, {name: COMMANDS[name] for name in names if name in COMMANDS}


@click.group(
    cls=_LazyGroup,
    help=message("Back up a whole blog into a versioned archive that never loses anything."),
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", prog_name=PROGRAM, help=message("Show the version and exit."))
def cli() -> None:
    """Parse the options before the command."""


def run() -> NoReturn:
    """Run the program with the process's arguments, and exit."""
    open_closed_streams()
    if os.name == "posix" and sys.getfilesystemencoding() != "utf-8":
        _begin_in_utf8()
    set_program_words(_shell_words)
    sys.exit(main(sys.argv[1:] or _without_a_command()))


def _without_a_command() -> list[str]:
    """Return the command of a start by a double-click; otherwise none, which shows the help."""
    from exporter.cli.double_click import is_double_clicked, keep_the_address_secret

    if not is_double_clicked(os.environ):
        return []
    keep_the_address_secret()
    return ["app"]


def _shell_words() -> str:
    from exporter.cli.shell_words import shell_words

    return shell_words()


def _begin_in_utf8() -> NoReturn:
    """Restart the program with file names in UTF-8, so that an archive is the same in every locale.

    The arguments are passed on in UTF-8; a terminal keeps its own encoding.
    """
    if sys.stdout is not None and sys.stdout.encoding.lower() not in _NO_ENCODING:
        os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
    words = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
    os.execv(sys.executable, [word.encode("utf-8", "surrogateescape") for word in words])  # noqa: S606 - no shell is wanted


with_language(cli)


def main(arguments: list[str]) -> int:
    """Run the program and return its exit code."""
    speak(arguments, os.environ)
    with safe_streams() as stdout:
        reserve = b""
        try:
            reserve = bytes(_RESERVE_BYTES)  # never touched, so it takes address space but no memory
            result: Any = cli.main(arguments, prog_name=PROGRAM, standalone_mode=False, obj=stdout)
            code = result if isinstance(result, int) else 0
        except BaseException as error:  # noqa: BLE001 - the one place where every failure becomes a line and a code
            del reserve
            if stdout.on_loss is OnLoss.STOP:
                stdout.on_loss = OnLoss.FAIL
            code = _failed(error, arguments)
        code = _with_loss(code, stdout)
        if events.wanted():
            events.tell("end", exit_code=code)
        return code


def _with_loss(code: int, stdout: SafeStream) -> int:
    """Return the exit code of a command; not 0 if its answer could not be written."""
    lost = stdout.report()
    if lost is not None and stdout.on_loss is OnLoss.WARN:
        text = message("Standard output could not be written; the backup itself is not affected. {reason}", reason=lost)
        Output().warn(text)
    elif lost is not None and code == 0:
        report(lost, as_json=False)
        code = lost.exit_code
    return code


def _failed(error: BaseException, arguments: list[str]) -> int:
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        tell("said", error.format_message())
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, ReaderClosed):
        return 0
    ours = as_own_error(error)
    if ours.exit_code == 1 and any(argument.startswith("-vv") for argument in arguments):
        import traceback

        tell("said", "".join(traceback.format_exception(error)).rstrip("\n"))
    report(ours, as_json="--json" in arguments)
    return ours.exit_code


def _is_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out; threads and libraries report that in different ways."""
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, RuntimeError) and "can't start new thread" in str(error))
        or (isinstance(error, ImportError) and "failed to map segment" in str(error))
        or (isinstance(error, SystemError | OSError) and bool(_MEMORY_LOST.search(str(error))) and _has_memory_limit())
    )


def _has_memory_limit() -> bool:
    """Return whether this process has one; without it, the errors of :data:`_MEMORY_LOST` have other causes."""
    if os.name != "posix":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def as_own_error(error: BaseException) -> BlogExporterError:
    """Turn any exception into one of our errors."""
    if isinstance(error, BlogExporterError):
        return error
    if isinstance(error, click.UsageError):
        return UsageError(" ".join(error.format_message().split()))
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return Interrupted(message("Interrupted."))
    if _is_of_memory(error):
        return NoMemory()
    if isinstance(error, OSError):
        from exporter.archive.atomic import translate

        return translate(error, message("a file"))
    reason = f"{type(error).__name__}: {error}".rstrip(": ")
    return BlogExporterError("Unexpected: {reason}. Please report this with the output of -vv.", reason=reason)
