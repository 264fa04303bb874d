"""Which addresses strangers' links may lead the program to.

An entry may hold any address, also one of a router or of a service that listens on this machine only. The check that
counts is made on the address a socket is about to be connected to, after every name has been resolved, so that
neither a number written oddly, nor a redirect, nor a name that resolves differently the second time gets past it.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from typing import Any, Final

from yarl import URL

from exporter.errors import TransportError
from exporter.text import printable

PORTS: Final = frozenset({80, 443, 8080})
"""Ports that the web is served on; other services may take a request for something else."""

_LONGEST = 8192
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_DOCUMENTATION = ipaddress.ip_network("3fff::/20")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_REFUSAL = "refused: it is no public address"

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(TransportError):
    """An address that is not asked, whatever it may hold."""


class NotPublic(AddressRefused):
    """A host or port that is only asked with ``--allow-private-network``."""


class _NotPublic(OSError):
    """Raised while connecting, where the connector takes an ``OSError`` as a reason to try the next address."""


class AddressGuard:
    """Lets requests through to the public web and to ``ports`` only; with ``allow_private`` to any host and port."""

    def __init__(self, *, allow_private: bool = False, ports: Collection[int] = PORTS) -> None:
        self._allow_private = allow_private
        self._ports = ports

    def check(self, address: str) -> URL:
        """Return an address parsed, to be sent exactly as it is written.

        Raises:
            AddressRefused: it is not http or https, has no host, holds a user name, or is no address at all.
            NotPublic: it names another port.
        """
        if len(address) > _LONGEST:
            raise AddressRefused(f"the address is longer than {_LONGEST} characters")
        try:
            url = URL(address, encoded=True)
            port = url.port
            (url.raw_host or "").encode("idna")  # what the name lookup does, where its complaint would be no OSError
        except ValueError:
            raise AddressRefused(f"this is no address: {printable(address, 100)}") from None
        if url.scheme not in {"http", "https"} or not url.raw_host:
            raise AddressRefused(f"only http and https are read, not {printable(address, 100)}")
        if url.raw_user is not None or url.raw_password is not None:
            raise AddressRefused("an address with a user name or password is not asked")
        if not self._allow_private and port not in self._ports:
            raise NotPublic(f"port {port} is not asked without --allow-private-network")
        return url

    def socket(self, info: tuple[Any, ...]) -> socket.socket:
        """Make the socket for a connection; the form is what a connector's ``socket_factory`` has.

        Args:
            info: family, type, protocol, canonical name and address, as ``getaddrinfo`` gives them.

        Raises:
            OSError: the address is not public; :func:`is_refusal` knows it again.
        """
        family, kind, protocol, _, address = info
        if not self._allow_private and not is_public(str(address[0])):
            raise _NotPublic(f"{_REFUSAL} ({printable(str(address[0]), 60)})")
        return socket.socket(family, kind, protocol)


def states_private(address: str) -> bool:
    """Tell whether an address itself names a private host, by a number or as ``localhost``, or an unusual port.

    A name that merely resolves to a private address just now (a captive portal, a name server that blocks) does not.
    """
    try:
        url = URL(address, encoded=True)
        host, port = (url.host or "").rstrip(".").lower(), url.port
    except ValueError:
        return False
    if port not in PORTS or host == "localhost" or host.endswith(".localhost"):  # RFC 6761, 6.3
        return True
    try:
        # The oldest spellings of numbers, such as 0x7f.1, are addresses to a name lookup too.
        return not is_public(socket.inet_ntoa(socket.inet_aton(host)) if ":" not in host else host)
    except (OSError, UnicodeError):
        return False


def is_refusal(error: BaseException) -> bool:
    """Tell whether connecting failed at the guard, also where several attempts are reported as one."""
    return _REFUSAL in str(getattr(error, "os_error", error))


def is_public(text: str) -> bool:
    """Tell whether a numeric address belongs to the public internet; what cannot be read does not.

    Addresses of IPv6 that stand for one of IPv4 (mapped, NAT64, 6to4) are judged by that one.
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
