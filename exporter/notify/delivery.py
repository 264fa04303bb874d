"""Deliver a notification: pings to a monitor that speaks healthchecks.io's protocol, and the user's own command.

A run sends ``URL/start``, and at its end ``URL`` for success, ``URL/fail``, or ``URL/log`` if it neither succeeded nor
failed. All have the same ``rid``, by which the monitor measures the run (https://healthchecks.io/docs/http_api/). The
monitor itself notices a night without a success.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import IO, Final
from urllib.parse import parse_qsl

from exporter.errors import ApiError, Interrupted, ServiceError, UsageError
from exporter.http.address_guard import check_base_url
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.message import Message, message
from exporter.model.exchange import Request, Response
from exporter.setting_sources import PREFIX
from exporter.worker import kill_group

MAX_BODY_BYTES: Final = 10_000
"""The smallest limit among servers of this protocol."""
PING_SECONDS: Final = 5.0
"""The limit for one ping with all its retries, so that a slow monitor delays no backup for longer."""
COMMAND_SECONDS: Final = 60.0
_TIMEOUTS = Timeouts(connect=2.0, read=3.0, total=3.0)
_POLICY = RetryPolicy(retries=2, base=0.25, ceiling=0.5, give_up_after=PING_SECONDS, max_retry_after=1.0)
_MAX_ANSWER_BYTES = 64 * 1024
_ADDRESS = re.compile(r"[^?#]+(?:\?[^#]*)?")
_MAX_REASON_CHARACTERS = 300
_PIPE_BYTES = 4096


class Signal(StrEnum):
    """A kind of ping; the value is the end of its address."""

    START = "/start"
    SUCCESS = ""
    FAIL = "/fail"
    LOG = "/log"


class Monitor:
    """One check on a monitor, for one run.

    Args:
        url: the check's address; a query, such as ``?create=1``, is part of every ping.

    Attributes:
        host: the monitor's host, for messages; the full address is a secret.
        trouble: the reason why a ping failed; ``None`` if all succeeded.

    Raises:
        UsageError: the address is not valid for a monitor.
    """

    def __init__(self, url: str) -> None:
        if not _ADDRESS.fullmatch(url):
            raise UsageError(
                message("The ping URL must not have a #: give the address that the monitor shows for the check.")
            )
        self._base, _, query = url.partition("?")
        self.host = check_base_url(self._base, message("the ping URL"), "ping_url").host or ""
        self._query: Mapping[str, str] = {**dict(parse_qsl(query)), "rid": str(uuid.uuid4())}
        self.trouble: ServiceError | None = None

    async def send(self, signal: Signal, body: str = "") -> None:
        """Send a ping with a text. A failure sets ``trouble`` and raises nothing."""
        content = body.encode("utf-8", "replace")[-MAX_BODY_BYTES:]
        request = Request(
            message("The monitor"),
            signal.value,
            self._query,
            {"Content-Type": "text/plain; charset=utf-8"},
            "POST",
            content,
        )
        try:
            async with asyncio.timeout(PING_SECONDS), Engine() as engine:
                client = engine.client(self._base, timeouts=_TIMEOUTS, policy=_POLICY, max_body=_MAX_ANSWER_BYTES)
                await client.fetch(request, _parse)
        except ServiceError as error:
            self.trouble = error
        except TimeoutError:
            self.trouble = ServiceError(message("it did not answer in time"))

    @asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Send the start ping in parallel with the block, and wait for it at the end of the block."""
        task = asyncio.create_task(self.send(Signal.START))
        try:
            yield
        except Interrupted:
            task.cancel()
            raise
        finally:
            await asyncio.wait([task])


def _parse(response: Response) -> None:
    if not 200 <= response.status < 300:
        raise ApiError("ping", {}, response.status, message("it does not know this check"))


def run_command(
    command: str, text: str, facts: Mapping[str, str], *, timeout: float = COMMAND_SECONDS
) -> Message | None:
    """Run a command without a shell, and return the reason if it fails.

    Args:
        command: its words, split by the rules of a shell.
        text: its standard input.
        facts: its environment variables with the prefix ``BLOG_EXPORTER_``. They replace all other variables with this
            prefix, because one may be a token.
        timeout: the seconds until it is killed with all its child processes.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment.update({PREFIX + name: value for name, value in facts.items()})
    # Files instead of pipes: a background process of the command may keep them open, and is not waited for.
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
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            kill_group(process)
            return message("it did not end within {seconds:.0f} s and was killed", seconds=timeout)
        if code == 0:
            return None
        if said is None:
            return message("it ended with {code}", code=code)
        said.seek(0)
        last = said.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        if not last:
            return message("it ended with {code}", code=code)
        return message("it ended with {code}: {said}", code=code, said=last[0][:_MAX_REASON_CHARACTERS])


def _file(files: contextlib.ExitStack, content: bytes = b"") -> IO[bytes] | None:
    """Return a temporary file with a content. On a full disk, return a pipe with its first bytes.

    A pipe holds ``_PIPE_BYTES`` without a reader. Without content and without a file, return ``None``.
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
        pipe_in.write(content[:_PIPE_BYTES])
    return pipe
