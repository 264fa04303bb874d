"""OAuth 2.0 for one service: the authorization request, its answer, the token requests and the tokens.

The authorization code grant (RFC 6749, section 4.1) with ``state`` and PKCE (RFC 7636). ``oauthlib`` writes and reads
the messages. A service without PKCE ignores its parameters (RFC 6749, section 3.1).
"""

from __future__ import annotations

import json
import math
import secrets
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from exporter.errors import ClientRefused, NotAuthorised, ServiceError, SignInRevoked, UsageError, WrongSignInAnswer
from exporter.frozen import frozen
from exporter.http.address_guard import check_base_url
from exporter.http.credentials import Credentials, is_encrypted_or_near
from exporter.http.deadline import Timeouts
from exporter.http.retry import RetryPolicy
from exporter.login.facts import service_origin
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.text import printable

if TYPE_CHECKING:
    from oauthlib.oauth2 import WebApplicationClient

    from exporter.clock import Clock
    from exporter.http.engine import Client, Engine
    from exporter.settings import Settings

_MAX_SECONDS: Final = 100 * 365 * 86400.0
_VERIFIER_LENGTH: Final = 64
_MAX_RESPONSE_BYTES: Final = 1 << 18
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_GIVE_UP_SECONDS: Final = 120.0
_CLIENT_ERRORS: Final = frozenset({"invalid_client", "unauthorized_client"})
"""The errors that blame the client ID or its secret (RFC 6749, sections 4.1.2.1 and 5.2)."""


@frozen
class OAuthAddresses:
    """The addresses of a service for signing in.

    Attributes:
        origin: the API's origin, which receives the tokens.
        authorize: the page to open in the browser.
        token: issues tokens.
        revoke: revokes tokens; ``None`` if no such address is known.
    """

    origin: str
    authorize: str
    token: str
    revoke: str | None

    @classmethod
    def of(cls, settings: Settings) -> OAuthAddresses:
        """Return the addresses in the settings. The defaults are below the service's address.

        Raises:
            UsageError: no service is set, an address is invalid, or a secret would be sent unencrypted.
        """
        if settings.base_url is None:
            raise UsageError(
                message("Sign in where? Name the service with --base-url or --profile, or give a blog's ID.")
            )
        base = settings.base_url.rstrip("/")
        authorize = settings.oauth_authorize_url or f"{base}/oauth"
        token = settings.oauth_token_url or f"{base}/oauth/token"
        for address, name in (
            (base, "base_url"),
            (authorize, "oauth_authorize_url"),
            (token, "oauth_token_url"),
            (settings.oauth_revoke_url, "oauth_revoke_url"),
        ):
            if address is not None:
                _check(address, name)
        return cls(service_origin(base), authorize, token, settings.oauth_revoke_url)


def _check(address: str, name: str) -> None:
    check_base_url(address.partition("?")[0], name, "BLOG_EXPORTER_CLIENT_SECRET")
    if not is_encrypted_or_near(address):
        shown = printable(address.partition("?")[0], 200)
        raise UsageError(
            "{name} is {address}: signing in sends secrets, which needs an https:// address.", name=name, address=shown
        )


@frozen
class Tokens:
    """Tokens of a service; times are seconds since 1970 by this machine's clock."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: float | None
    refresh_ends_at: float | None


class SignInAttempt:
    """One attempt to sign in.

    Attributes:
        address: the address to open in the browser.
        state: a random text that the answer must repeat.
        redirect_uri: the address that receives the answer.
    """

    def __init__(self, addresses: OAuthAddresses, client_id: str, redirect_uri: str, *, scope: str, pkce: bool) -> None:
        self._client = _client(client_id)
        self.state = secrets.token_urlsafe(24)
        self.redirect_uri = redirect_uri
        challenge: dict[str, str] = {}
        self._verifier: str | None = None
        if pkce:
            self._verifier = self._client.create_code_verifier(_VERIFIER_LENGTH)
            challenge = {
                "code_challenge": self._client.create_code_challenge(self._verifier, "S256"),
                "code_challenge_method": "S256",
            }
        made = self._client.prepare_request_uri(
            _encrypted(addresses.authorize), redirect_uri, scope or None, self.state, **challenge
        )
        self.address = addresses.authorize.partition(":")[0] + made[len("https") :]

    @classmethod
    def of(cls, settings: Settings, addresses: OAuthAddresses, client_id: str, redirect_uri: str) -> SignInAttempt:
        """Return an attempt with the scope of the settings."""
        scope = settings.oauth_scope_separator.join((settings.oauth_scope or "").split())
        return cls(addresses, client_id, redirect_uri, scope=scope, pkce=settings.oauth_pkce)

    def code_in(self, address: str) -> str:
        """Return the code in the address that the browser was redirected to.

        Raises:
            WrongSignInAnswer: the address does not answer this attempt.
            NotAuthorised: the service or the user refused.
        """
        from oauthlib.oauth2 import OAuth2Error  # noqa: PLC0415 - slow to start with
        from oauthlib.oauth2.rfc6749.errors import MismatchingStateError, MissingCodeError  # noqa: PLC0415

        try:
            # Only the query matters, and the library requires https before it.
            answer = f"https://answer.invalid/?{urlsplit(address.strip()).query}"
            found = self._client.parse_request_uri_response(answer, self.state)
        except (MismatchingStateError, ValueError):
            raise WrongSignInAnswer(
                message("This is not the answer to this attempt to sign in: it has another state, or none.")
            ) from None
        except MissingCodeError:
            raise WrongSignInAnswer(message("This address holds no code: copy all of it.")) from None
        except OAuth2Error as error:
            raise _refused(error) from None
        return str(found["code"])

    def token_request(self, code: str, client_secret: str | None) -> bytes:
        """Return the request to exchange the code for tokens."""
        more = {} if client_secret is None else {"client_secret": client_secret}
        body: str = self._client.prepare_request_body(
            code, self.redirect_uri, include_client_id=True, code_verifier=self._verifier, **more
        )
        return body.encode()


def refresh_request(client_id: str, client_secret: str | None, refresh_token: str) -> bytes:
    """Return the request to renew an access token."""
    more = {} if client_secret is None else {"client_secret": client_secret}
    body: str = _client(client_id).prepare_refresh_body(
        refresh_token=refresh_token, client_id=client_id, include_client_id=True, **more
    )
    return body.encode()


def revoke_request(client_id: str, client_secret: str | None, token: str) -> bytes:
    """Return the request to revoke a token (RFC 7009)."""
    from oauthlib.oauth2.rfc6749.parameters import prepare_token_revocation_request  # noqa: PLC0415 - as above

    more = {"client_id": client_id, "client_secret": client_secret or ""}
    _, _, body = prepare_token_revocation_request("https://unused.invalid", token, None, **more)
    return str(body).encode()


def read_tokens(status: int, body: bytes, now: float) -> Tokens:
    """Return the tokens in a response.

    The lifetime may be a number or text (``"36000"``), or a time in seconds since 1970 (``expires``). The lifetime and
    the refresh token may be missing.

    Raises:
        SignInRevoked: the service no longer accepts the code or the refresh token.
        ClientRefused: the service refuses the client ID or its secret.
        NotAuthorised: the service refuses for another reason.
        ServiceError: the response has no token.
    """
    from oauthlib.oauth2 import OAuth2Error  # noqa: PLC0415 - as above

    nothing = ServiceError("The service answered {status} and gave no token: check oauth_token_url.", status=status)
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise nothing from None
    if not isinstance(answer, dict):
        raise nothing
    lifetimes = {
        name: _number(answer.pop(name, None)) for name in ("expires_in", "expires", "refresh_token_expires_in")
    }
    answer.pop("expires_at", None)
    try:
        found: dict[str, Any] = _client("").parse_request_body_response(json.dumps(answer))
    except OAuth2Error as error:
        if "error" not in answer:
            raise nothing from None
        raise _refused(error) from None
    except (ValueError, TypeError, AttributeError):
        raise nothing from None
    access, refresh = found.get("access_token"), found.get("refresh_token")
    if not isinstance(access, str) or not access or status >= 400:
        raise nothing
    return Tokens(
        access,
        refresh if isinstance(refresh, str) and refresh else None,
        _moment(lifetimes["expires_in"], now) or _before(lifetimes["expires"], now),
        _moment(lifetimes["refresh_token_expires_in"], now),
    )


def _moment(lifetime: float | None, now: float) -> float | None:
    return None if lifetime is None else now + min(lifetime, _MAX_SECONDS)


def _before(moment: float | None, now: float) -> float | None:
    return None if moment is None else min(moment, now + _MAX_SECONDS)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number > 0 else None


def _client(client_id: str) -> WebApplicationClient:
    from oauthlib.oauth2 import WebApplicationClient  # noqa: PLC0415 - as above

    return WebApplicationClient(client_id)


def _encrypted(address: str) -> str:
    """Return an address as https: the library refuses http, which :func:`_check` allows for loopback only."""
    return "https:" + address[len("http:") :] if urlsplit(address).scheme == "http" else address


def _refused(error: Any) -> NotAuthorised:
    code = printable(str(error.error or ""), 100)
    more = printable(str(error.description or ""), 300).rstrip(".")
    said = f"{code}: {more}" if more else code
    if code == "access_denied":
        return NotAuthorised("Signing in was refused on the service's page ({said}): nothing was stored.", said=said)
    if code == "invalid_grant":
        return SignInRevoked("The service no longer accepts this sign-in ({said}): sign in again.", said=said)
    if code in _CLIENT_ERRORS:
        return ClientRefused("The service refuses the client ID or its secret ({said}).", said=said)
    return NotAuthorised("The service refuses this client ({said}): check oauth_client_id and its secret.", said=said)


async def ask_for_tokens(
    engine: Engine, address: str, content: bytes, secrets: list[str], clock: Clock, retries: int
) -> Tokens:
    """Send a token request, with retries.

    Args:
        engine: sends the request.
        address: the only address that receives it: redirects are not followed.
        content: the request, which holds secrets.
        secrets: texts to keep out of every message.
        clock: gives the time of the tokens.
        retries: the number of retries.

    Raises:
        SignInRevoked, NotAuthorised: the service refuses.
        ServiceError: the response is unusable.
    """

    def parse(response: Response) -> Tokens:
        return read_tokens(response.status, response.body, clock.now().timestamp())

    return await _sender(engine, address, secrets, retries).fetch(_request(address, content, "sign-in"), parse)


async def revoke(engine: Engine, address: str, content: bytes, secrets: list[str]) -> bool:
    """Send a revocation request (RFC 7009), and return whether the service accepted it.

    Raises:
        ServiceError: the response is unusable.
    """
    client = _sender(engine, address, secrets, 1)
    return await client.fetch(_request(address, content, "sign-out"), lambda response: response.status < 300)


def _sender(engine: Engine, address: str, secrets: list[str], retries: int) -> Client:
    parts = urlsplit(address)
    return engine.client(
        f"{parts.scheme}://{parts.netloc}",
        Credentials(secrets=tuple(secrets)),
        timeouts=Timeouts(),
        max_body=_MAX_RESPONSE_BYTES,
        policy=RetryPolicy(retries=retries, give_up_after=_GIVE_UP_SECONDS),
        concurrency=8,
    )


def _request(address: str, content: bytes, operation: str) -> Request:
    parts = urlsplit(address)
    params = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Request(operation, parts.path or "/", params, _FORM, "POST", content)
