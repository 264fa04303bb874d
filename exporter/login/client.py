"""The client at a service: the ID and secret by which the service knows the program that asks for a sign-in.

The service issues both to the person who registers a program there (RFC 6749, section 2). This program does
not come with a client ID, because all its users would share the secret.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from exporter.errors import BlogExporterError, ServiceError
from exporter.frozen import frozen
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.login.protocol import OAuthAddresses, SignInAttempt
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.service.declarations import DEVELOPER_PAGE, Profile
from exporter.service.registry import PROFILES

if TYPE_CHECKING:
    from exporter.login.store import SignInStore
    from exporter.settings import Settings

_REFUSED: Final = frozenset({400, 401})
_TIMEOUTS: Final = Timeouts(connect=10.0, read=20.0, total=30.0)
_LOOPBACK: Final = "http://127.0.0.1/"


@frozen
class RegisteredClient:
    """A client that a service knows; ``secret`` is empty if it has none, and ``None`` if that is unknown."""

    client_id: str
    secret: str | None = field(default=None, repr=False)


def known_client(settings: Settings, store: SignInStore) -> RegisteredClient | None:
    """Return the client in the settings, or that of an earlier sign-in at the same service; ``None`` without one.

    A stored secret is only used for the address that issued tokens for it.

    Raises:
        UsageError: the addresses in the settings are invalid.
    """
    if settings.oauth_client_id:
        return RegisteredClient(settings.oauth_client_id, settings.client_secret)
    addresses = OAuthAddresses.of(settings)
    with suppress(BlogExporterError):  # a sign-in that cannot be read is made again
        for account in store.accounts(addresses.origin):
            found = store.read(addresses.origin, account)
            if found is not None and found.token_url == addresses.token:
                return RegisteredClient(found.client_id, found.client_secret or "")
    return None


def client_explained(settings: Settings) -> list[str]:
    """Return sentences that explain client IDs, and how to get one for this service if that is known."""
    profile = _profile_at(settings.base_url)
    known = None if profile is None else profile.facts.get(DEVELOPER_PAGE)
    about = message(
        "To save drafts and private entries you sign in, and that needs a client ID: the name by which the service "
        "knows a program. The service issues it, with a client secret, to the person who registers a program there. "
        "This program comes without one, so you need one of your own."
    )
    if profile is None or known is None:
        return [
            about,
            message(
                "If this service offers that, it is on its pages for developers: register an application there, with "
                "{address} as its redirect address.",
                address=_LOOPBACK,
            ),
        ]
    where = message(
        "{service} describes both on {page} (client_id and client_secret). That page does not say where to register "
        "an application, and no other public page is known that does: ask the service's support.",
        service=profile.title,
        page=known.value,
    )
    return [about, where]


def _profile_at(base_url: str | None) -> Profile | None:
    return next(
        (each for each in PROFILES.values() if base_url and each.settings.get("base_url") == base_url.rstrip("/")), None
    )


async def client_refusal(settings: Settings, client_id: str) -> str | None:
    """Ask a service's sign-in page whether it knows a client ID, and return the complaint; ``None`` without one.

    A service answers a wrong client ID on its page, and never sends the browser back (RFC 6749, section 4.1.2.1). So
    the page is requested once without signing in. Any answer but 400 and 401 is left to the browser.

    Raises:
        UsageError: the addresses in the settings are invalid.
    """
    addresses = OAuthAddresses.of(settings)
    redirect_uri = settings.oauth_redirect_uri or _LOOPBACK
    attempt = SignInAttempt.of(settings, addresses, client_id, redirect_uri)
    parts = urlsplit(attempt.address)
    params = dict(parse_qsl(parts.query, keep_blank_values=True))
    request = Request("sign-in page", parts.path or "/", params, {"Accept": "text/html,*/*;q=0.8"})
    status = 0

    def parse(response: Response) -> None:
        nonlocal status
        status = response.status

    async with Engine() as engine:
        client = engine.client(
            f"{parts.scheme}://{parts.netloc}", timeouts=_TIMEOUTS, policy=RetryPolicy(retries=0), concurrency=1
        )
        with suppress(ServiceError):
            await client.fetch(request, parse, once=True)
    if status not in _REFUSED:
        return None
    return message(
        "The service answers {status} to this client ID: it is wrong, or {address} is not registered as its redirect "
        "address. Please type it again.",
        status=status,
        address=redirect_uri,
    )
