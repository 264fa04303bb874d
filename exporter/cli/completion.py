"""``completion``: print a script for shell completion of commands, options and their values."""

from __future__ import annotations

import sys
from typing import Any

import click

from exporter.cli.help import cli_command
from exporter.cli.options import with_output
from exporter.cli.output import OnLoss, Output
from exporter.message import PROGRAM, message

_WHERE = {
    "bash": message('Put this line into ~/.bashrc: eval "$(blog-exporter completion bash)"'),
    "zsh": message('Put this line into ~/.zshrc, below compinit: eval "$(blog-exporter completion zsh)"'),
    "fish": message("Write it once: blog-exporter completion fish > ~/.config/fish/completions/blog-exporter.fish"),
}


@cli_command(
    "completion",
    help=message(
        """Print a completion script for bash, zsh or fish.

        On a terminal, the command also explains how to install it."""
    ),
)
@click.argument("shell", type=click.Choice(list(_WHERE)), metavar="bash|zsh|fish")
@with_output(OnLoss.STOP)
def completion_command(*, out: Output, shell: str) -> int:
    """Run ``completion``."""
    from click.shell_completion import get_completion_class

    from exporter.cli.main import cli

    kind: Any = get_completion_class(shell)
    script = kind(cli, {}, PROGRAM, f"_{PROGRAM.replace('-', '_').upper()}_COMPLETE").source()
    out.document({"shell": shell, "script": script})
    out.answer(script)
    if sys.stdout.isatty():
        out.say(_WHERE[shell])
    return 0
