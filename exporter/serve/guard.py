"""Who is answered: those who call this machine by a name of its own, and know the secret in the address. Pure."""

from __future__ import annotations

from hmac import compare_digest
from ipaddress import ip_address
from typing import Final

from exporter.site.templating import POLICY

HEADERS: Final = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
"""With every answer. No page of another site reads, frames or embeds any of it, and no link tells the secret on."""
STORED_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; sandbox"
"""Of files that anybody wrote: opened alone, such as an SVG, they run nothing."""


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address to listen at."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_own_name(header: str, host: str) -> bool:
    """Tell whether a request's ``Host`` is one that a page elsewhere cannot have pointed at this machine.

    A name of the Internet can be made to lead to 127.0.0.1 (DNS rebinding), an address or ``localhost`` cannot.

    Args:
        header: as sent, perhaps with a port.
        host: where the server listens.
    """
    name = header[: header.rfind(":")] if header[header.rfind("]") + 1 :].count(":") == 1 else header
    name = name.strip("[]").lower()
    if name in ("localhost", host.strip("[]").lower()):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_loopback(host)


def below_token(path: str, token: str) -> str | None:
    """Return the rest of a path that begins with the secret; ``None`` for any other. No secret is needed if empty."""
    if not token:
        return path
    first, _, rest = path.lstrip("/").partition("/")
    return f"/{rest}" if compare_digest(first.encode("utf-8", "replace"), token.encode()) else None
