"""Signing in: asking for what is missing, the browser, the tokens, and keeping them; and signing out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from exporter.clock import Clock, SystemClock
from exporter.errors import NotAuthorised, ServiceError, UsageError
from exporter.http.credentials import Credentials
from exporter.http.engine import Engine
from exporter.login.exchange import ask_for_tokens, give_back
from exporter.login.protocol import OAuthAddresses, SignInAttempt, revoke_request
from exporter.login.receiver import Receiver, is_loopback
from exporter.login.store import KeptIn, SignIn, SignInStore
from exporter.message import message
from exporter.settings import Settings

WAIT_SECONDS: Final = 300.0


class Ask(Protocol):
    """Asks a person for a text."""

    def __call__(self, question: str, /, *, hidden: bool = False) -> str:
        """Return the answer, which is not shown while it is typed where ``hidden``; empty where there is none."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What signing in gave: the sign-in, and where it is kept."""

    sign_in: SignIn
    kept: KeptIn


async def sign_in(
    settings: Settings,
    *,
    ask: Ask,
    open_browser: Callable[[str], bool] | None,
    say: Callable[[str], None] = lambda _: None,
    store: SignInStore | None = None,
    clock: Clock | None = None,
    wait: float = WAIT_SECONDS,
) -> SignedIn:
    """Sign in at the service of the settings, and keep the sign-in for all commands.

    Args:
        settings: name the service, and what the program is registered as there.
        ask: asked for the client's ID and secret where the settings have none, and for the address to paste.
        open_browser: opens an address, and tells whether that went well; ``None`` to have the address pasted.
        say: called with each line that the person needs.
        store: where to keep it; the user's own by default.
        clock: the time of day that is written down.
        wait: seconds to wait for the browser.

    Raises:
        UsageError: the settings cannot be right, or nothing was answered.
        NotAuthorised: the service, or the person, refused.
        ServiceError: the service gave no usable answer.
    """
    addresses = OAuthAddresses.of(settings)
    store, clock = store or SignInStore(warn=say), clock or SystemClock()
    client_id = settings.oauth_client_id or ask(message("Client ID of this program at the service"))
    if not client_id:
        raise UsageError(
            message(
                "Signing in needs a client ID: register a client at the service, then give its ID with "
                "--oauth-client-id. A token needs none: set BLOG_EXPORTER_TOKEN, or name its file with --token-file."
            )
        )
    secret = settings.client_secret
    if secret is None:
        secret = ask(message("Client secret, which is not shown (Enter where there is none)"), hidden=True) or None
    try:
        attempt, code = await _code(
            settings, addresses, client_id, ask=ask, open_browser=open_browser, say=say, wait=wait
        )
    except NotAuthorised:
        if settings.oauth_authorize_url is None:
            say(
                message(
                    "Nothing says where this service's page for signing in is, so {address} was tried. If that page "
                    "does not exist, set oauth_authorize_url and oauth_token_url, or use a token: set "
                    "BLOG_EXPORTER_TOKEN, or name its file with --token-file.",
                    address=addresses.authorize,
                )
            )
        raise
    hidden = [code, *([secret] if secret else [])]
    async with Engine() as engine:
        content = attempt.token_request(code, secret)
        tokens = await ask_for_tokens(engine, addresses.token, content, hidden, clock, settings.retries)
    # What no header can carry is refused now, not at night.
    Credentials(tokens.access_token, settings.auth_header, settings.auth_scheme)
    made = SignIn(
        origin=addresses.origin,
        account=settings.account or "",
        client_id=client_id,
        token_url=addresses.token,
        revoke_url=addresses.revoke,
        obtained_at=clock.now().timestamp(),
        expires_at=tokens.expires_at,
        refresh_ends_at=tokens.refresh_ends_at,
        renewable=tokens.refresh_token is not None,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        client_secret=secret,
    )
    return SignedIn(made, store.write(made, settings.sign_in_store))


async def _code(
    settings: Settings,
    addresses: OAuthAddresses,
    client_id: str,
    *,
    ask: Ask,
    open_browser: Callable[[str], bool] | None,
    say: Callable[[str], None],
    wait: float,
) -> tuple[SignInAttempt, str]:
    """Have the person agree in a browser; returns the attempt and its code."""
    wished = settings.oauth_redirect_uri
    scope = settings.oauth_scope_separator.join((settings.oauth_scope or "").split())

    def attempt_for(redirect_uri: str) -> SignInAttempt:
        return SignInAttempt(addresses, client_id, redirect_uri, scope=scope, pkce=settings.oauth_pkce)

    if wished is not None and not is_loopback(wished):
        return _pasted(attempt_for(wished), ask, say)
    async with Receiver(wished, say) as receiver:
        attempt = attempt_for(receiver.redirect_uri)
        if open_browser is not None:
            say(message("Your browser opens the service's page: sign in and agree there. If it does not, open this:"))
            say(attempt.address)
            code = await _returned(receiver, attempt, open_browser, wait)
            if code is not None:
                return attempt, code
            say(message("No browser could be opened here."))
    return _pasted(attempt, ask, say)


async def _returned(
    receiver: Receiver, attempt: SignInAttempt, open_browser: Callable[[str], bool], wait: float
) -> str | None:
    """Open the browser, which may be one that fills the terminal until it ends; ``None`` where there is none."""
    opening = asyncio.create_task(asyncio.to_thread(open_browser, attempt.address))
    answer = asyncio.create_task(receiver.code_for(attempt, wait))
    try:
        await asyncio.wait((opening, answer), return_when=asyncio.FIRST_COMPLETED)
        return None if not answer.done() and not opening.result() else await answer
    finally:
        answer.cancel()


def _pasted(attempt: SignInAttempt, ask: Ask, say: Callable[[str], None]) -> tuple[SignInAttempt, str]:
    say(message("Open this address in a browser, on this machine or another, sign in and agree there:"))
    say(attempt.address)
    say(
        message(
            "The browser then goes to an address that begins with {address} and may show an error: that is fine.",
            address=attempt.redirect_uri,
        )
    )
    pasted = ask(message("Paste that whole address here"))
    if not pasted.strip():
        raise NotAuthorised(message("No address was given: nothing was stored."))
    return attempt, attempt.code_in(pasted)


@dataclass(frozen=True, slots=True)
class SignedOut:
    """What signing out did: whose sign-in was forgotten, and whether the service took the tokens back.

    Attributes:
        account: of the sign-in.
        revoked: ``None`` where the service has no address for that.
        reason: why it did not.
    """

    account: str
    revoked: bool | None
    reason: str = ""


async def sign_out(settings: Settings, *, store: SignInStore | None = None) -> SignedOut | None:
    """Forget the sign-in at the service of the settings, having given its tokens back; ``None`` where there is none.

    Raises:
        UsageError: the settings cannot be right, or there are several accounts.
    """
    origin = OAuthAddresses.of(settings).origin
    store = store or SignInStore()
    account = store.choose(origin, settings.account)
    note = None if account is None else store.note(origin, account)
    if account is None or note is None:
        return None
    revoked, reason = None, ""
    if note.revoke_url is not None:
        try:
            revoked = await _revoke(store.read(origin, account), note.revoke_url)
        except (NotAuthorised, ServiceError, UsageError) as error:
            revoked, reason = False, str(error)
    store.remove(note)
    return SignedOut(account, revoked, reason)


async def _revoke(found: SignIn | None, address: str) -> bool:
    taken = found is not None
    async with Engine() as engine:
        for token in (found.refresh_token, found.access_token) if found is not None else ():
            if token is not None and found is not None:
                content = revoke_request(found.client_id, found.client_secret, token)
                taken = await give_back(engine, address, content, found.secrets) and taken
    return taken
