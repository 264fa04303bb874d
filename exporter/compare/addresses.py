"""Follow the addresses of the old blog in a new home."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from exporter.errors import ServiceError
from exporter.html.links import absolute
from exporter.http.engine import Client
from exporter.model.exchange import Request, Response

_AT_ONCE: Final = 8
_MISSING: Final = frozenset({404, 410})
_LINK: Final = re.compile(r"<link\b[^<>]{0,2000}>", re.IGNORECASE)
_CANONICAL: Final = re.compile(r"\brel=[\"']?canonical\b", re.IGNORECASE)
_HREF: Final = re.compile(r"\bhref=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


async def follow(client: Client, addresses: Sequence[str]) -> Mapping[str, str]:
    """Return the pages to which the paths of addresses lead on the client's host; empty if the host has none there.

    A page states its own address as canonical (RFC 6596). WordPress and most themes do. An address that leads to
    another host, or to a page that does not state its address, is left out.
    """
    found: dict[str, str] = {}
    waiting = iter(dict.fromkeys(addresses))

    async def work() -> None:
        for address in waiting:
            try:
                target = await _target(client, address)
            except (ServiceError, ValueError):
                continue
            if target is not None:
                found[address] = target

    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
    return found


async def _target(client: Client, address: str) -> str | None:
    parts = urlsplit(address)
    base = client.base.raw_path.rstrip("/")
    if base and not parts.path.startswith(f"{base}/"):
        return None
    path = parts.path.removeprefix(base) or "/"
    query = dict(parse_qsl(parts.query, keep_blank_values=True))

    def read(response: Response) -> str | None:
        if response.status in _MISSING:
            return ""
        return _canonical(response, client.origin) if response.status == 200 else None

    return await client.fetch(Request("an old address", path, query, {}), read, probe=True)


def _canonical(response: Response, base: str) -> str | None:
    """Return the address that a page states for itself; ``None`` if it states none."""
    for link in _LINK.findall(response.body.decode("utf-8", "replace")):
        href = _HREF.search(link) if _CANONICAL.search(link) else None
        if href is not None:
            return absolute(unescape(href[1] or href[2] or href[3] or ""), base)
    return None
