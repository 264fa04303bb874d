"""What sends requests: one session for each service, with its throttle, its retries and its budget of memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from exporter.http.auth import Credentials
from exporter.http.memory import Budget
from exporter.http.retry import Retrying, Statistics
from exporter.model.exchange import Request, Response

T = TypeVar("T")


class Client:
    """Sends the requests of one blog to its service, with its credentials.

    Attributes:
        budget: what all answers take together, also pages that wait for their turn.
    """

    def __init__(self, retrying: Retrying, credentials: Credentials, budget: Budget) -> None:
        self._retrying = retrying
        self._headers = credentials.headers
        self.budget = budget

    @property
    def statistics(self) -> Statistics:
        """What was sent and received so far."""
        return self._retrying.statistics

    async def fetch(self, request: Request, parse: Callable[[Response], T], *, probe: bool = False) -> T:
        """Send ``request`` until ``parse`` makes something of the answer; what it raises is the attempt's failure.

        Args:
            request: without the credentials.
            parse: raises a TransportError for what another attempt may mend, any other ServiceError for what it cannot.
            probe: whether this request, once answered, is sent again in doubt to learn whether the service still lives.

        Raises:
            NotAuthorised, ApiError: as ``parse`` raised them, at once.
            TransportError: the last failure, when retries are used up and the service answers others, or never did.
            ServiceError: nobody got an answer for ``give_up_after`` seconds, or the service wishes a longer pause.
        """
        if self._headers:
            request = replace(request, headers={**request.headers, **self._headers})
        answer = await self._retrying.call(request, parse)
        if probe:
            self._retrying.liveness.probe_with(lambda: self._retrying.attempt(request, parse))
        return answer
