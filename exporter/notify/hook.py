"""A command of the user's own that is run when something is news: mail, a message, a lamp."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from typing import IO, Final

from exporter.message import Message, message
from exporter.settings import PREFIX

PATIENCE_SECONDS: Final = 60.0
_SAID = 300
_PIPED = 4096


def run_command(
    command: str, text: str, facts: Mapping[str, str], *, patience: float = PATIENCE_SECONDS
) -> Message | None:
    """Run a command without a shell, with a text on its standard input, and return what is wrong with it, if anything.

    Args:
        command: its words, split as a shell does; nothing else of a shell is there.
        text: what it reads.
        facts: variables that it gets with the prefix ``BLOG_EXPORTER_``, in place of all others with that prefix, of
            which one may be a token.
        patience: seconds after which it is ended, with whatever it has started.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment.update({PREFIX + name: value for name, value in facts.items()})
    # Files in place of pipes: what it leaves running in the background may keep them open, and is not waited for.
    with contextlib.ExitStack() as files:
        said = _file(files)
        given = _file(files, text.encode("utf-8", "replace") + b"\n")
        try:
            words = shlex.split(command)
            if not words:
                return message("it cannot be started: {reason}", reason=message("it names no program"))
            process = subprocess.Popen(  # noqa: S603 - the user's own command, from the user's own settings
                words,
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL if said is None else said,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            return message("it cannot be started: {reason}", reason=reason)
        try:
            code = process.wait(patience)
        except subprocess.TimeoutExpired:
            _end(process)
            return message("it did not end within {seconds:.0f} s and was ended", seconds=patience)
        if code == 0:
            return None
        if said is None:
            return message("it ended with {code}", code=code)
        said.seek(0)
        last = said.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        if not last:
            return message("it ended with {code}", code=code)
        return message("it ended with {code}: {said}", code=code, said=last[0][:_SAID])


def _file(files: contextlib.ExitStack, content: bytes = b"") -> IO[bytes] | None:
    """Return a file that holds a text; on a full disk, of which the command is to hear, a pipe with a short one.

    A pipe takes that many bytes before anybody reads. ``None`` where there is no text and no file.
    """
    with contextlib.suppress(OSError):
        file = files.enter_context(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - the stack closes it
        if file.write(content) == len(content):
            file.seek(0)
            return file
    if not content:
        return None
    reading, writing = os.pipe()
    pipe = files.enter_context(os.fdopen(reading, "rb", 0))
    with os.fdopen(writing, "wb", 0) as pipe_in:
        pipe_in.write(content[:_PIPED])
    return pipe


def _end(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
