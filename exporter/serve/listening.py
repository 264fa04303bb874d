"""Listening on this machine: where, for whom, and for how many connections at once."""

from __future__ import annotations

import logging
import os
import socket
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from exporter.errors import UsageError
from exporter.message import message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_MAX_CONNECTIONS: Final = 100
"""A browser opens six. With a file for each, they stay below every system's limit of open files."""
IDLE_SECONDS: Final = 60.0
"""How long a connection may be idle, before a request or before it takes the next piece of a file."""
WRONG_HOST: Final = message("Open the address that the server printed. It refuses all other addresses.")
_SILENT: Final = logging.getLogger(f"{__name__}.silent")
_SILENT.setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen: a host, a port (0 for any free one), and the secret token in the address (empty for none)."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""


class LimitedServer(web.Server):
    """Closes the oldest connections when there are too many, and logs nothing.

    A log of malformed requests would contain the token.
    """

    def __init__(self, answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        super().__init__(
            answer, handler_cancellation=True, keepalive_timeout=IDLE_SECONDS, access_log=None, logger=_SILENT
        )

    def __call__(self) -> Any:
        """Return the handler of a new connection."""
        for connection in self.connections[: 1 - _MAX_CONNECTIONS]:
            connection.force_close()
        return super().__call__()


async def listen(runner: web.ServerRunner, place: Place) -> str:
    """Listen at a place, and return the origin to open, such as ``http://127.0.0.1:8000``.

    Raises:
        UsageError: the host or port cannot be used.
    """
    host, port = place.host.strip("[]"), place.port
    try:
        await web.TCPSite(runner, host, port).start()
    except (OSError, UnicodeError) as error:
        where = message("{host}, port {port}", host=host, port=port) if port else host
        raise UsageError(
            "Cannot listen at {where}: {reason}. Name another address or port.", where=where, reason=_reason(error)
        ) from error
    name = _reached_at(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{runner.addresses[0][1]}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host to listen at."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_own_name(header: str, host: str) -> bool:
    """Return whether a request's ``Host`` names this machine beyond doubt.

    Anybody can point a host name at 127.0.0.1 (DNS rebinding), but not an address or ``localhost``.

    Args:
        header: as sent, perhaps with a port.
        host: the address to listen on.
    """
    name = named_host(header).strip("[]").lower()
    if name in ("localhost", host.strip("[]").lower()):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_loopback(host)


def named_host(header: str) -> str:
    """Return the host that a ``Host`` names, without the port."""
    return header[: header.rfind(":")] if header[header.rfind("]") + 1 :].count(":") == 1 else header


def below_token(path: str, token: str) -> str | None:
    """Return the rest of a path that begins with the token; ``None`` for any other. An empty token matches all."""
    if not token:
        return path
    first, _, rest = path.lstrip("/").partition("/")
    return f"/{rest}" if compare_digest(first.encode("utf-8", "replace"), token.encode()) else None


def is_from_elsewhere(request: web.BaseRequest) -> bool:
    """Return whether another site's page requests this as its own part, not by a link that a person follows."""
    site, mode = request.headers.get("Sec-Fetch-Site", "none"), request.headers.get("Sec-Fetch-Mode", "navigate")
    return site not in ("same-origin", "none") and mode != "navigate"


def _reason(error: OSError | UnicodeError) -> str:
    if not isinstance(error, OSError) or not error.errno:
        return str(error)
    return str(error.strerror) if isinstance(error, socket.gaierror) else os.strerror(error.errno)


def _reached_at(host: str) -> str:
    """Return the host name for a browser; if the server listens at all addresses, one of the machine's own."""
    try:
        found = ip_address(host)
    except ValueError:
        return host
    if not found.is_unspecified:
        return host
    family, elsewhere = (socket.AF_INET, "192.0.2.1") if found.version == 4 else (socket.AF_INET6, "2001:db8::1")
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        try:
            way.connect((elsewhere, 9))  # sends nothing; the system chooses the address that would
        except OSError:
            return host
        return str(way.getsockname()[0])
