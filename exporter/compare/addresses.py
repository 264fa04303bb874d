"""Follow the addresses of the old blog in a new home."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from exporter.errors import ServiceError
from exporter.html.links import absolute
from exporter.http.engine import Client
from exporter.model.exchange import Request, Response

_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_STEPS: Final = 5
_AT_ONCE: Final = 8


async def follow(client: Client, addresses: Sequence[str]) -> Mapping[str, str]:
    """Return the addresses to which the paths of others lead on the client's host; empty if nothing is there.

    An address whose target is on another host or unknown is left out.
    """
    found: dict[str, str] = {}
    waiting = iter(dict.fromkeys(addresses))

    async def work() -> None:
        for address in waiting:
            try:
                target = await _target(client, address)
            except ServiceError:
                continue
            if target is not None:
                found[address] = target

    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
    return found


async def _target(client: Client, address: str) -> str | None:
    origin = client.origin
    at = _on(origin, address)
    for _ in range(_STEPS):
        parts = urlsplit(at)
        request = Request("an old address", parts.path or "/", dict(parse_qsl(parts.query, keep_blank_values=True)), {})
        status, location = await client.fetch(request, _read, probe=True)
        if status not in _MOVED:
            return at if status == 200 else ""
        following = absolute(location, at)
        if following is None or not following.startswith(f"{origin}/"):
            return None
        at = following
    return ""


def _on(origin: str, address: str) -> str:
    """Return an address with another origin, without its fragment."""
    parts = urlsplit(address)
    return f"{origin}{parts.path or '/'}{'?' + parts.query if parts.query else ''}"


def _read(response: Response) -> tuple[int, str]:
    return response.status, response.headers.get("location", "")
