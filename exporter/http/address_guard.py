"""Which addresses may be requested: valid base URLs, and the permitted targets of untrusted links.

An entry may hold any address, including that of a router or of a service that listens on this machine only. The
decisive check is made on the address that a socket is about to connect to, after all names are resolved. So unusual
spellings of numbers, redirects, and names that resolve differently the second time cannot bypass it.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from yarl import URL

from exporter.errors import AddressRefused, NotPublic, UsageError
from exporter.frozen import frozen
from exporter.message import message
from exporter.text import printable

PORTS: Final = frozenset({80, 443, 8080})
"""Ports of web servers; a service on another port may misinterpret a request."""

_MAX_CHARACTERS = 8192
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_DOCUMENTATION = ipaddress.ip_network("3fff::/20")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_REFUSAL = message("refused: it is not a public address")

_asks_service: ContextVar[bool] = ContextVar("_asks_service", default=False)

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class _NotPublic(OSError):
    """Raised while connecting; the connector tries the next address after an ``OSError``."""


@frozen
class AddressGuard:
    """Permits requests to the public web and to ``ports`` only.

    Attributes:
        allow_private: permit requests to any host and port.
        ports: of public hosts.
        service: an address whose host and port are permitted even if private, because the user named them.
    """

    allow_private: bool = False
    ports: frozenset[int] = PORTS
    service: str | None = None

    def check(self, address: str) -> URL:
        """Return the parsed address, which is then sent exactly as written.

        Raises:
            AddressRefused: the address is not http or https, has no host, holds a user name, or is not a URL.
            NotPublic: the address names another port.
        """
        if len(address) > _MAX_CHARACTERS:
            raise AddressRefused("the address is longer than {longest} characters", longest=_MAX_CHARACTERS)
        try:
            url = _parsed(address, encoded=True)
            port = url.port
        except ValueError:
            raise AddressRefused("not a valid address: {address}", address=printable(address, 100)) from None
        if url.scheme not in {"http", "https"} or not url.raw_host:
            raise AddressRefused("only http and https are read, not {address}", address=printable(address, 100))
        if url.raw_user is not None or url.raw_password is not None:
            raise AddressRefused(message("an address with a user name or password is not asked"))
        if not self.allow_private and port not in self.ports and (url.raw_host, port) != self._service_place():
            raise NotPublic("port {port} is only asked with --allow-private-network", port=port)
        return url

    def socket(self, info: tuple[Any, ...]) -> socket.socket:
        """Create the socket for a connection, as aiohttp's ``socket_factory``.

        Args:
            info: family, type, protocol, canonical name and address, as returned by ``getaddrinfo``.

        Raises:
            OSError: the address is not public; :func:`is_refusal` recognises this error.
        """
        family, kind, protocol, _, address = info
        if not self.allow_private and not is_public(str(address[0])) and not _asks_service.get():
            raise _NotPublic(message("{refusal} ({address})", refusal=_REFUSAL, address=printable(str(address[0]), 60)))
        return socket.socket(family, kind, protocol)

    def _service_place(self) -> tuple[str | None, int | None] | None:
        if self.service is None:
            return None
        try:
            url = _parsed(self.service, encoded=True)
            place = url.raw_host, url.port
        except ValueError:
            return None
        return place

    @contextmanager
    def asking(self, url: URL) -> Iterator[None]:
        """Inform :meth:`socket`, within this context, whether the request goes to the service's own host and port.

        A socket only sees a numeric address, and another name that resolves to the service's private address must be
        refused.
        """
        token = _asks_service.set((url.raw_host, url.port) == self._service_place())
        try:
            yield
        finally:
            _asks_service.reset(token)


def states_private(address: str) -> bool:
    """Return whether an address itself names a private host, by number or as ``localhost``, or an unusual port.

    A name that only resolves to a private address now (a captive portal, a blocking name server) does not count.
    """
    try:
        url = URL(address, encoded=True)
        host, port = (url.host or "").rstrip(".").lower(), url.port
    except ValueError:
        return False
    if port not in PORTS or host == "localhost" or host.endswith(".localhost"):  # RFC 6761, 6.3
        return True
    try:
        # A name lookup also accepts old spellings of numbers, such as 0x7f.1.
        return not is_public(socket.inet_ntoa(socket.inet_aton(host)) if ":" not in host else host)
    except (OSError, UnicodeError):
        return False


def is_refusal(error: BaseException) -> bool:
    """Return whether the guard refused a connection, also if several attempts are reported as one error."""
    return _REFUSAL in str(getattr(error, "os_error", error))


def is_public(text: str) -> bool:
    """Return whether a numeric address belongs to the public internet; an invalid one does not.

    An IPv6 address that represents an IPv4 address (mapped, NAT64, 6to4) is judged by the latter.
    """
    try:
        address: _Address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is None:
            return address.is_global and address in _GLOBAL_UNICAST and address not in _DOCUMENTATION
        address = inner
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _parsed(text: str, *, encoded: bool = False) -> URL:
    """Parse a URL and check that its host can be looked up and shown.

    Raises:
        ValueError: the URL or its host is invalid.
    """
    url = URL(text, encoded=encoded)
    (url.raw_host or "").encode("idna")  # the lookup would raise this error too, but not as an OSError
    _ = url.host  # decodes a host that begins with xn--
    return url


def is_host(name: str) -> bool:
    """Return whether a host in ASCII can be looked up and shown, also by the newer rules of RFC 5891."""
    try:
        return bool(_parsed(f"http://{name}/", encoded=True).host)
    except ValueError:
        return False


def origin_of(url: URL) -> str:
    """Return a URL's scheme and host, and its port unless that is the scheme's default."""
    host = (url.raw_host or "").rstrip(".").lower()
    host = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{host}" if url.is_default_port() else f"{url.scheme}://{host}:{url.port}"


def check_base_url(text: str, name: str = message("the base URL"), variable: str = "BLOG_EXPORTER_TOKEN") -> URL:
    """Return the parsed base URL; its path, if any, is prefixed to that of every request.

    Args:
        text: the user's input.
        name: its name in messages.
        variable: the environment variable for a secret.

    Raises:
        UsageError: the text is not an http or https URL with a host, or has a user name, a query or a fragment. The
            message never shows a URL that may hold a password, nor a query, which may hold a token.
    """
    if "@" in text:
        raise UsageError(
            "{name} must not hold a user name or password: give a secret in {variable}", name=name, variable=variable
        )
    shown = printable(re.split(r"[?#]", text, maxsplit=1)[0], 200)
    if not text.isprintable() or "\\" in text or " " in text:
        raise UsageError("{name} holds characters that no address has: {shown}", name=name, shown=shown)
    try:
        url = _parsed(text)
    except ValueError as error:
        raise UsageError(
            "{name} is not a valid URL: {shown} ({error})", name=name, shown=shown, error=printable(str(error))
        ) from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise UsageError("{name} must look like https://HOST, not {shown}", name=name, shown=shown)
    if url.raw_query_string or url.raw_fragment or text.endswith(("?", "#")):
        raise UsageError(
            "{name} must end with its path, without ? or #: {shown}; give a secret in {variable}",
            name=name,
            shown=shown,
            variable=variable,
        )
    return url
