"""A token that a command of the user's prints, such as one of a password manager."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from typing import Final

from exporter.errors import NotAuthorised, UsageError
from exporter.message import message
from exporter.text import printable

LONGEST_SECONDS: Final = 30.0
_LARGEST: Final = 16384


def token_of(command: str, seconds: float = LONGEST_SECONDS) -> str:
    """Run a command without a shell and return what it prints, without outer white space.

    Raises:
        UsageError: it cannot be started.
        NotAuthorised: it fails, prints nothing or far too much, or takes longer than ``seconds``.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(message("token_command cannot be read: {reason}.", reason=str(error))) from None
    if not words:
        raise UsageError(message("token_command is empty."))
    program = printable(words[0], 100)
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own settings name it, and no shell reads it
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(
            message("token_command: {program} cannot be started: {reason}.", program=program, reason=reason)
        ) from None
    try:
        out, complaint = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        raise NotAuthorised(
            message("token_command: {program} printed no token within {seconds:g} s.", program=program, seconds=seconds)
        ) from None
    except BaseException:
        _end(process)
        raise
    if process.returncode != 0:
        said = printable(complaint.decode("utf-8", "replace").strip().rpartition("\n")[2], 200)
        raise NotAuthorised(
            message(
                "token_command: {program} ended with {code}: {said}",
                program=program,
                code=process.returncode,
                said=said or message("it did not say why"),
            )
        )
    token = out.decode("utf-8", "replace").strip()
    if not token or len(out) > _LARGEST or "\n" in token:
        raise NotAuthorised(message("token_command: {program} must print one line, the token.", program=program))
    return token


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and what it started."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()
