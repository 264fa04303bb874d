"""Credentials that may change between two requests of a run: added to each, and asked for again once where refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

from yarl import URL

from exporter.http.credentials import Credentials, TokenSource
from exporter.http.transport import HttpRequest, HttpResponse, Transport

_REFUSED = 401


@dataclass(frozen=True, slots=True)
class Authorised:
    """Adds to each request what its source hands out; everything that passes here goes to the service's own origin."""

    transport: Transport
    source: TokenSource

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, and once more with other credentials where these are refused (RFC 6750, section 3).

        Raises:
            ServiceError: there are no credentials any more.
            TransportError: as the transport raised it.
        """
        credentials = await self.source.credentials()
        response = await self.transport.send(_with(request, credentials))
        if response.status != _REFUSED:
            return response
        renewed = await self.source.renewed(credentials)
        return response if renewed is None else await self.transport.send(_with(request, renewed))


def _with(request: HttpRequest, credentials: Credentials) -> HttpRequest:
    # The short way to the service knows the headers of most requests again by being the same object.
    headers = {**request.headers, **credentials.headers} if request.headers else credentials.headers
    parameter = credentials.parameter
    if not parameter:
        return replace(request, headers=headers)
    joint = "&" if request.url.raw_query_string else "?"
    address, _, fragment = str(request.url).partition("#")
    asked = f"{address}{joint}{parameter}" + (f"#{fragment}" if fragment else "")
    return replace(request, headers=headers, url=URL(asked, encoded=True))
