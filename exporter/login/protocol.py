"""OAuth 2.0 for one service: what is asked of the browser, what comes back, what is sent for tokens, what they are.

The authorization code grant (RFC 6749, section 4.1) with ``state`` and PKCE (RFC 7636); ``oauthlib`` makes and reads
the messages. A service that does not know PKCE ignores its parameters (RFC 6749, section 3.1).
"""

from __future__ import annotations

import json
import math
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from exporter.errors import NotAuthorised, ServiceError, SignInRevoked, UsageError, WrongSignInAnswer
from exporter.http.address_guard import check_base_url
from exporter.http.credentials import is_encrypted_or_near
from exporter.login.facts import service_origin
from exporter.message import message
from exporter.text import printable

if TYPE_CHECKING:
    from oauthlib.oauth2 import WebApplicationClient

    from exporter.settings import Settings

_LONGEST: Final = 100 * 365 * 86400.0
_VERIFIER: Final = 64


@dataclass(frozen=True, slots=True)
class OAuthAddresses:
    """Where a service signs people in.

    Attributes:
        origin: of the service's API, which its tokens are sent to.
        authorize: the page that is opened in the browser.
        token: what gives tokens.
        revoke: what takes them back; ``None`` where the service has none that is known.
    """

    origin: str
    authorize: str
    token: str
    revoke: str | None

    @classmethod
    def of(cls, settings: Settings) -> OAuthAddresses:
        """Return those of the settings; what they leave open is below the service's address.

        Raises:
            UsageError: there is no service, an address cannot be right, or a secret would travel unencrypted.
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
            message(
                "{name} is {address}: signing in sends secrets, which needs an https:// address.",
                name=name,
                address=shown,
            )
        )


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a service answered; times are seconds since 1970 by this machine's clock."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: float | None
    refresh_ends_at: float | None


class SignInAttempt:
    """One attempt to sign in.

    Attributes:
        address: what to open in the browser.
        state: what the answer must repeat.
        redirect_uri: where the answer comes to.
    """

    def __init__(self, addresses: OAuthAddresses, client_id: str, redirect_uri: str, *, scope: str, pkce: bool) -> None:
        self._client = _client(client_id)
        self.state = secrets.token_urlsafe(24)
        self.redirect_uri = redirect_uri
        challenge: dict[str, str] = {}
        self._verifier: str | None = None
        if pkce:
            self._verifier = self._client.create_code_verifier(_VERIFIER)
            challenge = {
                "code_challenge": self._client.create_code_challenge(self._verifier, "S256"),
                "code_challenge_method": "S256",
            }
        made = self._client.prepare_request_uri(
            _encrypted(addresses.authorize), redirect_uri, scope or None, self.state, **challenge
        )
        self.address = addresses.authorize.partition(":")[0] + made[len("https") :]

    def code_in(self, address: str) -> str:
        """Return the code in the address that the browser was sent to.

        Raises:
            WrongSignInAnswer: it is not the answer to this attempt.
            NotAuthorised: the service, or whoever was asked, refused.
        """
        from oauthlib.oauth2 import OAuth2Error  # noqa: PLC0415 - slow to start with
        from oauthlib.oauth2.rfc6749.errors import MismatchingStateError, MissingCodeError  # noqa: PLC0415

        try:
            # Only what comes after the question mark tells anything, and the library wants https before it.
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
        """Return what is sent to exchange the code for tokens."""
        more = {} if client_secret is None else {"client_secret": client_secret}
        body: str = self._client.prepare_request_body(
            code, self.redirect_uri, include_client_id=True, code_verifier=self._verifier, **more
        )
        return body.encode()


def refresh_request(client_id: str, client_secret: str | None, refresh_token: str) -> bytes:
    """Return what is sent to renew an access token."""
    more = {} if client_secret is None else {"client_secret": client_secret}
    body: str = _client(client_id).prepare_refresh_body(
        refresh_token=refresh_token, client_id=client_id, include_client_id=True, **more
    )
    return body.encode()


def revoke_request(client_id: str, client_secret: str | None, token: str) -> bytes:
    """Return what is sent to give a token back (RFC 7009)."""
    from oauthlib.oauth2.rfc6749.parameters import prepare_token_revocation_request  # noqa: PLC0415 - as above

    more = {"client_id": client_id, "client_secret": client_secret or ""}
    _, _, body = prepare_token_revocation_request("https://unused.invalid", token, None, **more)
    return str(body).encode()


def read_tokens(status: int, body: bytes, now: float) -> Tokens:
    """Return the tokens of an answer.

    How long they last may be a number or text (``"36000"``), or a moment in seconds since 1970 (``expires``); both, and
    the refresh token, may be missing.

    Raises:
        SignInRevoked: the code or the refresh token is not taken any more.
        NotAuthorised: the service refuses this client.
        ServiceError: the answer holds no token.
    """
    from oauthlib.oauth2 import OAuth2Error  # noqa: PLC0415 - as above

    nothing = ServiceError(
        message("The service answered {status} and gave no token: check oauth_token_url.", status=status)
    )
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
    return None if lifetime is None else now + min(lifetime, _LONGEST)


def _before(moment: float | None, now: float) -> float | None:
    return None if moment is None else min(moment, now + _LONGEST)


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
    """Return an address as if it were https: the library knows no loopback, which :func:`_check` has let through."""
    return "https:" + address[len("http:") :] if urlsplit(address).scheme == "http" else address


def _refused(error: Any) -> NotAuthorised:
    code = printable(str(error.error or ""), 100)
    more = printable(str(error.description or ""), 300).rstrip(".")
    said = f"{code}: {more}" if more else code
    if code == "access_denied":
        return NotAuthorised(
            message("Signing in was refused on the service's page ({said}): nothing was stored.", said=said)
        )
    if code == "invalid_grant":
        return SignInRevoked(message("The service takes this sign-in no more ({said}): sign in again.", said=said))
    return NotAuthorised(
        message(
            "The service refuses to sign this program in ({said}): check oauth_client_id and its secret.", said=said
        )
    )
