"""What a transport is, and what it brings back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Response:
    """An answer read to its end.

    Attributes:
        status: the HTTP status.
        headers: by lower-case name; of a repeated header the last.
        body: the decompressed bytes; of an answer that is no success perhaps only the first of them.
        objects: the bytes of memory that its JSON may take once parsed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    objects: int = 96 * 1024 * 1024


class Transport(Protocol):
    """What sends a GET and brings back the whole answer, whatever its status."""

    async def get(self, path: str, params: Mapping[str, str], headers: Mapping[str, str], patience: float) -> Response:
        """Read ``path`` under the base URL; after ``patience`` seconds nobody waits for the answer any more.

        Raises:
            TransportError: no whole answer arrived.
        """

    async def close(self) -> None:
        """Let go of the connections."""
