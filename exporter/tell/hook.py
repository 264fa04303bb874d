"""A command of the user's own that is run when something is to be told: mail, a message, a lamp."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Final

from exporter.message import Message, message
from exporter.settings import PREFIX

PATIENCE_SECONDS: Final = 60.0
_SAID = 300


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
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as given:
        given.write(text.encode("utf-8", "replace") + b"\n")
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, from the user's own settings
                shlex.split(command),
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=said,
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
        said.seek(0)
        last = said.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        if not last:
            return message("it ended with {code}", code=code)
        return message("it ended with {code}: {said}", code=code, said=last[0][:_SAID])


def _end(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
