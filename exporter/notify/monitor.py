"""Signals to a monitor that a run begins and how it ends, by the protocol of healthchecks.io.

A run sends ``URL/start`` and then ``URL`` for success, ``URL/fail``, or ``URL/log`` for what is neither; both bear the
same ``rid``, by which the monitor measures the run (https://healthchecks.io/docs/http_api/). The monitor notices by
itself when a night brings no success.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl

from exporter.errors import ApiError, Interrupted, ServiceError, UsageError
from exporter.http.address_guard import check_base_url
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.message import message
from exporter.model.exchange import Request, Response

MOST_BYTES: Final = 10_000
"""Of a body: the least that servers of this protocol keep."""
PATIENCE_SECONDS: Final = 5.0
"""For one signal with all its tries: a monitor that is slow or gone delays no backup by more than this."""

_TIMEOUTS = Timeouts(connect=2.0, read=3.0, total=3.0)
_POLICY = RetryPolicy(retries=2, base=0.25, ceiling=0.5, give_up_after=PATIENCE_SECONDS, max_retry_after=1.0)
_LARGEST_ANSWER = 64 * 1024
_GOOD = range(200, 300)
_ADDRESS = re.compile(r"[^?#]+(?:\?[^#]*)?")


class Signal(StrEnum):
    """What a monitor is sent; the value is what its address ends with."""

    START = "/start"
    SUCCESS = ""
    FAIL = "/fail"
    LOG = "/log"


class Monitor:
    """One check of a monitor, for one run.

    Args:
        url: the check's address; a query, such as ``?create=1``, goes with every signal.

    Attributes:
        host: where it is, for messages: whoever knows the whole address could speak in the user's name.
        trouble: why a signal could not be sent, ``None`` while all were.

    Raises:
        UsageError: that is no address of a monitor.
    """

    def __init__(self, url: str) -> None:
        if not _ADDRESS.fullmatch(url):
            raise UsageError(
                message("The ping URL must have no #: give the address that the monitor shows for the check.")
            )
        self._base, _, query = url.partition("?")
        self.host = check_base_url(self._base, "the ping URL", "ping_url").host or ""
        self._query: Mapping[str, str] = {**dict(parse_qsl(query)), "rid": str(uuid.uuid4())}
        self.trouble: ServiceError | None = None

    async def send(self, signal: Signal, body: str = "") -> None:
        """Send a signal with a text; that it could not be sent is noted in ``trouble`` and raises nothing."""
        content = body.encode("utf-8", "replace")[-MOST_BYTES:]
        request = Request(
            message("The monitor"),
            signal.value,
            self._query,
            {"Content-Type": "text/plain; charset=utf-8"},
            "POST",
            content,
        )
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), Engine() as engine:
                client = engine.client(self._base, timeouts=_TIMEOUTS, policy=_POLICY, max_body=_LARGEST_ANSWER)
                await client.fetch(request, _parse)
        except ServiceError as error:
            self.trouble = error
        except TimeoutError:
            self.trouble = ServiceError(message("it gave no answer in time"))

    @asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Send that the run begins, while it does: the block does not wait for the monitor, its end does."""
        task = asyncio.create_task(self.send(Signal.START))
        try:
            yield
        except Interrupted:
            task.cancel()
            raise
        finally:
            await asyncio.wait([task])


def _parse(response: Response) -> None:
    if response.status not in _GOOD:
        raise ApiError("ping", {}, response.status, message("it does not know this check"))
