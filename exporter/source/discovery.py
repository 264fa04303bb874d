"""Find the ways into a blog whose address a person pasted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from exporter.arguments import checked
from exporter.errors import BlogExporterError, RetryableStatus, ServiceError, TransportError
from exporter.http.deadline import Timeouts
from exporter.http.retry import RetryPolicy
from exporter.message import message
from exporter.model.exchange import Response
from exporter.service.declarations import BLOG_V1
from exporter.service.discovery import MAX_REQUESTS, Exploration, HomePage, WayIn
from exporter.service.registry import PROFILES, SERVICES, profile_for
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.http.engine import Client, Engine, PublicPage

_CHARSET: Final = re.compile(rb"""charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_CHARSET_BYTES: Final = 4096
_TIMEOUTS: Final = Timeouts(connect=10.0, read=20.0, total=40.0)
_POLICY: Final = RetryPolicy(retries=2, base=0.5, ceiling=5.0, give_up_after=60.0, max_retry_after=30.0)
_ONCE: Final = replace(_POLICY, retries=0)
_CONCURRENCY: Final = 4
_ERROR_STATUS: Final = 400
_ROBOTS: Final = "/robots.txt"


@dataclass(frozen=True, slots=True)
class Ways:
    """The result of a discovery.

    Attributes:
        address: the address of the blog after redirects.
        found: the ways in, the best first.
        forbidden: sentences about ways that the site forbids to look for.
    """

    address: str
    found: tuple[WayIn, ...]
    forbidden: tuple[str, ...] = ()

    def chosen(self, service: str | None) -> WayIn | None:
        """Return the way through this service, or the best one; ``None`` if no way was found."""
        return next((way for way in self.found if service in {None, way.service}), None)


@checked
async def discover(address: str, engine: Engine) -> Ways:
    """Read a blog's home page, and let each service explore it.

    Args:
        address: the blog's address, with ``http`` or ``https``.
        engine: sends the requests, at most :data:`~exporter.service.discovery.MAX_REQUESTS` for each service.

    Raises:
        ServiceError: the address does not answer, or answers with an error.
    """
    shown = printable(address, 200)
    try:
        page = await engine.page(address, timeouts=_TIMEOUTS)
    except TransportError as error:
        raise ServiceError(
            "{address} could not be read: {reason}. Check the address, or try again later.",
            address=shown,
            reason=error,
        ) from error
    home = _home_of(page)
    ways = list(_ways_by_host(home))
    forbidden: tuple[str, ...] = ()
    if page.status < _ERROR_STATUS:
        parts = urlsplit(home.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        client, once = (
            engine.client(origin, timeouts=_TIMEOUTS, policy=policy, concurrency=_CONCURRENCY)
            for policy in (_POLICY, _ONCE)
        )
        explorations = [found for service in SERVICES.values() if (found := service.explore(home)) is not None]
        results = await asyncio.gather(*(_explored(each, client, once) for each in explorations))
        ways += (each for each in results if isinstance(each, WayIn))
        forbidden = tuple(each for each in results if isinstance(each, str))
    if not ways and page.status >= _ERROR_STATUS:
        raise ServiceError(
            "{address} answered {status}. Check the address, or try again later.", address=shown, status=page.status
        )
    return Ways(home.url, tuple(sorted(ways, key=lambda way: way.rank)), forbidden)


def _ways_by_host(home: HomePage) -> Iterator[WayIn]:
    """Yield the way through an API that a known profile names for this host."""
    host = urlsplit(home.url).hostname or ""
    profile = profile_for(host, PROFILES.values())
    if profile is not None and profile.service == BLOG_V1.name:
        yield WayIn(
            profile.service,
            profile.settings["base_url"],
            host,
            profile.title,
            lacks=(message("everything needs a sign-in"),),
            rank=10,
        )


async def _explored(exploration: Exploration, client: Client, once: Client) -> WayIn | str | None:
    """Drive an exploration: send its requests, and return its result. A failed request is an answer of ``None``."""
    answer: Response | None = None
    try:
        request = next(exploration)
        for _ in range(MAX_REQUESTS):
            try:
                # An error in place of robots.txt forbids everything (RFC 9309, section 2.3.1.4), so it is not repeated.
                sender = once if request.path == _ROBOTS else client
                answer = await sender.fetch(request, lambda response: response)
            except RetryableStatus as error:
                answer = Response(error.status, {}, b"")
            except BlogExporterError:
                answer = None
            request = exploration.send(answer)
    except StopIteration as end:
        return end.value if isinstance(end.value, WayIn | str) else None
    exploration.close()
    return None


def _home_of(page: PublicPage) -> HomePage:
    """Decode a home page; the header names its charset, or the first bytes do. The default is UTF-8."""
    content_type = page.headers.get("content-type", "")
    found = _CHARSET.search(content_type.encode("ascii", "replace")) or _CHARSET.search(page.body[:_CHARSET_BYTES])
    charset = "utf-8" if found is None else found[1].decode("ascii")
    try:
        html = page.body.decode(charset, "replace")
    except LookupError:
        html = page.body.decode("utf-8", "replace")
    parts = urlsplit(page.url)
    url = page.url if parts.path else f"{page.url}/"
    return HomePage(url, page.headers, html if "html" in content_type.lower() or "<html" in html[:2000].lower() else "")
