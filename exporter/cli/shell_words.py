"""The words that start this program from the user's shell, for the commands that it prints."""

from __future__ import annotations

import os
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Final

from exporter.message import PROGRAM

_UVX_FOLDER: Final = "archive-v"
"""The folder in uv's cache that has the environments of ``uvx``, without the version at its end."""


@cache
def shell_words() -> str:
    """Return the words that start this program from the folder in which it was started, quoted for a POSIX shell.

    :data:`~exporter.message.PROGRAM` if the shell finds this installation under that name, else the path or the
    interpreter that the user named.
    """
    if "UV" in os.environ and Path(sys.prefix).parent.name.startswith(_UVX_FOLDER):
        return f"uvx {PROGRAM}"  # uvx extends PATH for this process only
    script = Path(sys.argv[0])
    if _is_on_path(script):
        return PROGRAM
    if script.name == "__main__.py":
        return shlex.join([sys.executable, "-m", script.parent.name])
    return shlex.quote(sys.argv[0] if len(script.parts) > 1 else f"./{script}")


def _is_on_path(script: Path) -> bool:
    """Return whether the file that the shell finds is next to the interpreter or the script."""
    from shutil import which

    found = which(PROGRAM)
    own = {Path(sys.executable).parent.resolve(), script.parent.resolve()}
    return found is not None and {Path(found).parent.resolve(), Path(found).resolve().parent} & own != set()
