"""Interfaces to record the exchanges between a client and its service, and bounded memory for answers.

An answer from a service may repeat the token of its request. So its bytes stay in memory until a keeper has taken the
secrets out, and never reach a temporary file before.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Protocol

from exporter.http.credentials import TokenSource
from exporter.http.wire import WireExchange
from exporter.model.exchange import Held

_MIB = 1024 * 1024


class KeptRequest(Protocol):
    """Receives each attempt for one request, also redirects and refusals."""

    async def attempt(self, exchange: WireExchange) -> None:
        """Take an exchange, which may be cut short."""

    def answered(self, held: Held | None) -> None:
        """End the request: its last answer was accepted and holds these records; ``None`` if unknown."""

    def failed(self) -> None:
        """End the request: no answer was accepted."""


class ExchangeKeeper(Protocol):
    """Receives all exchanges of a client from one moment on."""

    def begin(self, source: TokenSource) -> KeptRequest:
        """Begin a request that is sent with the credentials of ``source``."""

    def knows(self, url: str) -> bool:
        """Return whether an earlier run kept an answer of this address, or decided not to."""


class AnswerMemory:
    """The memory of all answers under way.

    Args:
        most: the most bytes of one answer.
        most_together: the most bytes of all answers.
    """

    def __init__(self, most: int, most_together: int = 64 * _MIB) -> None:
        self.most = most
        self.most_together = max(most, most_together)
        self.used = 0

    def answer(self) -> MemoryAnswer:
        """Return an empty answer."""
        return MemoryAnswer(self)


class MemoryAnswer(io.BytesIO):
    """The bytes of an answer. If they do not fit, all are dropped.

    Attributes:
        dropped: whether bytes were dropped.
    """

    def __init__(self, memory: AnswerMemory) -> None:
        super().__init__()
        self._memory = memory
        self._counted = 0
        self.dropped = False

    def write(self, data: bytes) -> int:  # type: ignore[override]  # aiohttp writes bytes only
        """Append bytes, unless there is no room."""
        if self.dropped:
            return len(data)
        memory = self._memory
        if self._counted + len(data) > memory.most or memory.used + len(data) > memory.most_together:
            self.dropped = True
            self.truncate(0)
            self._give_back()
            return len(data)
        self._counted += len(data)
        memory.used += len(data)
        return super().write(data)

    def close(self) -> None:
        """Release the memory."""
        self._give_back()
        super().close()

    def _give_back(self) -> None:
        self._memory.used -= self._counted
        self._counted = 0


@dataclass(slots=True)
class ExchangeRecorder:
    """Records the exchanges of a client while there is a keeper.

    Attributes:
        memory: of the answers under way.
        token_header: the header that may carry the token.
        token_parameter: the query parameter that may carry it; empty for none.
        keeper: receives the exchanges; ``None`` to record nothing.
    """

    memory: AnswerMemory
    token_header: str = "Authorization"  # noqa: S105 - the name of a header
    token_parameter: str = ""
    keeper: ExchangeKeeper | None = None
