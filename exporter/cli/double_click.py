"""The start of the built program by a double-click: without a terminal and without a command, it opens the window."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def is_double_clicked(environ: Mapping[str, str]) -> bool:
    """Return whether a person started the program without a terminal, and a browser can show the window.

    Only the built program has a file that people double-click. An installed ``blog-exporter`` is a command: scripts,
    cron and systemd call it without a terminal, and without a command they must get the help and its exit code, not a
    server. For a crontab that calls the built program, the same follows from the missing display.
    """
    if not getattr(sys, "frozen", False):
        return False
    if sys.platform == "win32":
        import ctypes

        # After a double-click, no other process shares its console; in a terminal, the shell does:
        # https://learn.microsoft.com/windows/console/getconsoleprocesslist
        return ctypes.windll.kernel32.GetConsoleProcessList((ctypes.c_uint32 * 2)(), 2) < 2
    if any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return False
    return sys.platform == "darwin" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def keep_the_address_secret() -> None:
    """Print nothing from now on: a desktop writes what its programs print to a log that other users may read."""
    with open(os.devnull, "r+b", buffering=0) as nowhere:  # noqa: PTH123 - a device, not a file of ours
        os.dup2(nowhere.fileno(), 1)
