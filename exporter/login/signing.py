"""Signatures that prove a secret without sending it: WSSE and OAuth 1.0a."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import UTC
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from exporter.clock import Clock, SystemClock
from exporter.errors import UsageError
from exporter.message import message

if TYPE_CHECKING:
    from oauthlib.oauth1 import Client

_NONCE_BYTES: Final = 20
_SYSTEM_CLOCK: Final = SystemClock()


@dataclass(frozen=True)
class Wsse:
    """The ``X-WSSE`` header with a UsernameToken, as Hatena and livedoor document it.

    ``PasswordDigest`` is SHA-1 over the nonce, the time and the key. The nonce is random for each request.

    Attributes:
        user: the name at the service.
        key: the secret.
        clock: the time of each request.
    """

    user: str
    key: str = field(repr=False)
    clock: Clock = _SYSTEM_CLOCK
    header: str = "X-WSSE"

    def __post_init__(self) -> None:
        if not self.user.isascii() or not self.user.isprintable() or '"' in self.user:
            raise UsageError(message("--user may have ASCII characters without quotation marks only"))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key."""
        return (self.key,)

    def headers(self, _method: str, _url: str) -> dict[str, str]:
        """Return the headers of a request that is sent now."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        created = self.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        digest = hashlib.sha1(nonce + created.encode() + self.key.encode(), usedforsecurity=False).digest()
        token = (
            f'UsernameToken Username="{self.user}", PasswordDigest="{_base64(digest)}", Nonce="{_base64(nonce)}", '
            f'Created="{created}"'
        )
        return {"Authorization": 'WSSE profile="UsernameToken"', self.header: token}


@dataclass(frozen=True)
class OAuth1:
    """The ``Authorization`` header of OAuth 1.0a with HMAC-SHA1 (RFC 5849).

    Attributes:
        client_key: the consumer key of this program at the service.
        client_secret: its secret.
        token: the access token.
        token_secret: its secret.
    """

    client_key: str
    client_secret: str = field(repr=False)
    token: str = field(repr=False)
    token_secret: str = field(repr=False)
    header: str = "Authorization"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token and both secrets."""
        return self.client_secret, self.token, self.token_secret

    @cached_property
    def _client(self) -> Client:
        from oauthlib.oauth1 import Client  # noqa: PLC0415 - few runs sign requests

        return Client(self.client_key, self.client_secret, self.token, self.token_secret)

    def headers(self, method: str, url: str) -> dict[str, str]:
        """Return the headers of a request that is sent now to this address."""
        _, signed, _ = self._client.sign(url, http_method=cast("Any", method))
        return {str(name): str(value) for name, value in signed.items()}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
