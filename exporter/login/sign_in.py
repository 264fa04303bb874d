"""Sign in with a browser, store the tokens, and sign out again.

A receiver waits at a loopback address for the browser to return from the service's page (RFC 8252, section 7.3). It
ignores all requests without the right ``state``, such as those for an icon or from other pages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self
from urllib.parse import urlsplit

from exporter.clock import Clock, SystemClock
from exporter.errors import ClientRefused, NotAuthorised, ServiceError, UsageError, WrongSignInAnswer
from exporter.html.pages import message_page
from exporter.http.credentials import Credentials
from exporter.http.engine import Engine
from exporter.login.client import RegisteredClient, client_explained, client_refusal, known_client
from exporter.login.protocol import OAuthAddresses, SignInAttempt, ask_for_tokens, revoke, revoke_request
from exporter.login.store import KeptIn, SignIn, SignInStore
from exporter.message import message, said
from exporter.settings import Settings
from exporter.translation import current_language, translated

WAIT_SECONDS: Final = 300.0
_HOST: Final = "127.0.0.1"
_NAMES: Final = (_HOST, "localhost")
_MAX_HEAD_BYTES: Final = 16384
_HEAD_SECONDS: Final = 10.0
_HEADERS: Final = (
    "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\nConnection: close\r\n"
)


class Ask(Protocol):
    """Asks the user for a text."""

    def __call__(self, question: str, /, *, hidden: bool = False) -> str:
        """Return the answer, perhaps empty. If ``hidden``, the terminal does not show it."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The result of signing in: the sign-in, and its place."""

    sign_in: SignIn
    kept: KeptIn


async def sign_in(
    settings: Settings,
    *,
    ask: Ask,
    open_browser: Callable[[str], bool] | None,
    say: Callable[[str], None] = lambda _: None,
    client: RegisteredClient | None = None,
    store: SignInStore | None = None,
    clock: Clock | None = None,
    wait: float = WAIT_SECONDS,
) -> SignedIn:
    """Sign in at the service that the settings name, and store the sign-in for all commands.

    Args:
        settings: name the service, and perhaps the client.
        ask: asks for the address to paste, and for the client's ID and secret if neither the settings nor an earlier
            sign-in has them. What the service refuses is asked for again, until the answer is empty.
        open_browser: opens an address and returns whether that worked; ``None`` to have the user paste the address.
        say: called with each line for the user.
        client: the client that the user typed already.
        store: the stored sign-ins; the user's own by default.
        clock: gives the time that is stored.
        wait: seconds to wait for the browser.

    Raises:
        UsageError: a setting is invalid, or the user gave no answer.
        NotAuthorised: the service or the user refused.
        ServiceError: a response is unusable.
    """
    addresses = OAuthAddresses.of(settings)
    store, clock = store or SignInStore(warn=say), clock or SystemClock()
    attempts = _Attempts(settings, addresses, ask, open_browser, say, store, clock, wait)
    known = None if client is not None else known_client(settings, store)
    if known is None:
        return await attempts.with_typed_client(client)
    if known.secret is None:
        known = RegisteredClient(known.client_id, asked_secret(ask))
    try:
        return await attempts.with_client(known)
    except ClientRefused as refused:
        if settings.oauth_client_id:
            raise ClientRefused("{reason} Check oauth_client_id and its secret.", reason=said(refused)) from None
        say(said(refused))
        return await attempts.with_typed_client(None)


async def asked_client(settings: Settings, ask: Ask, say: Callable[[str], None]) -> RegisteredClient | None:
    """Ask for a client until the service's sign-in page does not refuse its ID; ``None`` for an empty answer.

    Args:
        settings: name the service.
        ask: asks for the ID, and for the secret if the settings have none.
        say: called with the complaint about a refused ID.

    Raises:
        UsageError: an address in the settings is invalid.
    """
    while True:
        client_id = ask(message("Client ID (Enter if you have none)"))
        if not client_id:
            return None
        complaint = await client_refusal(settings, client_id)
        if complaint is None:
            return RegisteredClient(client_id, settings.client_secret or asked_secret(ask))
        say(complaint)


def asked_secret(ask: Ask) -> str:
    """Ask for the secret of a client; empty if it has none."""
    return ask(message("Client secret, which is not shown (Enter if there is none)"), hidden=True)


@dataclass(frozen=True, slots=True)
class _Attempts:
    """The attempts of one :func:`sign_in`, with its arguments."""

    settings: Settings
    addresses: OAuthAddresses
    ask: Ask
    open_browser: Callable[[str], bool] | None
    say: Callable[[str], None]
    store: SignInStore
    clock: Clock
    wait: float

    async def with_typed_client(self, client: RegisteredClient | None) -> SignedIn:
        """Sign in with a client that the user types, again after each refusal of the service."""
        settings = self.settings
        if client is None:
            for line in client_explained(settings):
                self.say(line)
        while True:
            client = client or await asked_client(settings, self.ask, self.say)
            if client is None:
                raise UsageError(
                    message(
                        "Signing in needs a client ID. A token needs none: set BLOG_EXPORTER_TOKEN, or name its file "
                        "with --token-file. The public part of a blog needs neither: back it up by its address, with "
                        "--service public-site."
                    )
                )
            try:
                return await self.with_client(client)
            except ClientRefused as refused:
                self.say(message("{reason} Please type both again.", reason=said(refused)))
                client, settings = None, replace(settings, client_secret=None)

    async def with_client(self, client: RegisteredClient) -> SignedIn:
        """Let the user agree in a browser, exchange the code for tokens, and store them."""
        settings, addresses, secret = self.settings, self.addresses, client.secret or None
        try:
            attempt, code = await self._code(client.client_id)
        except NotAuthorised:
            if settings.oauth_authorize_url is None:
                self.say(
                    message(
                        "Nothing says where this service's page for signing in is, so {address} was tried. If that "
                        "page does not exist, set oauth_authorize_url and oauth_token_url, or use a token: set "
                        "BLOG_EXPORTER_TOKEN, or name its file with --token-file.",
                        address=addresses.authorize,
                    )
                )
            raise
        hidden = [code, *([secret] if secret else [])]
        async with Engine() as engine:
            content = attempt.token_request(code, secret)
            tokens = await ask_for_tokens(engine, addresses.token, content, hidden, self.clock, settings.retries)
        # Refuse a token that no header can carry now, not in a nightly run.
        Credentials(tokens.access_token, settings.auth_header, settings.auth_scheme)
        made = SignIn(
            origin=addresses.origin,
            account=settings.account or "",
            client_id=client.client_id,
            token_url=addresses.token,
            revoke_url=addresses.revoke,
            obtained_at=self.clock.now().timestamp(),
            expires_at=tokens.expires_at,
            refresh_ends_at=tokens.refresh_ends_at,
            renewable=tokens.refresh_token is not None,
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            client_secret=secret,
        )
        return SignedIn(made, self.store.write(made, settings.sign_in_store))

    async def _code(self, client_id: str) -> tuple[SignInAttempt, str]:
        """Let the user agree in a browser; return the attempt and its code."""
        wished = self.settings.oauth_redirect_uri
        if wished is not None and not is_loopback(wished):
            return _pasted(SignInAttempt.of(self.settings, self.addresses, client_id, wished), self.ask, self.say)
        async with Receiver(wished, self.say) as receiver:
            attempt = SignInAttempt.of(self.settings, self.addresses, client_id, receiver.redirect_uri)
            if self.open_browser is not None:
                self.say(
                    message(
                        "Your browser opens the service's page: sign in and agree there. If it does not, open this:"
                    )
                )
                self.say(attempt.address)
                code = await _returned(receiver, attempt, self.open_browser, self.wait)
                if code is not None:
                    return attempt, code
                self.say(message("No browser could be opened here."))
        return _pasted(attempt, self.ask, self.say)


async def _returned(
    receiver: Receiver, attempt: SignInAttempt, open_browser: Callable[[str], bool], wait: float
) -> str | None:
    """Open the browser, which may fill the terminal until it ends. Return ``None`` if there is no browser."""
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
    """The result of signing out.

    Attributes:
        account: the account of the deleted sign-in.
        revoked: whether the service revoked the tokens; ``None`` if it has no address for that.
        reason: why it did not.
    """

    account: str
    revoked: bool | None
    reason: str = ""


async def sign_out(settings: Settings, *, store: SignInStore | None = None) -> SignedOut | None:
    """Revoke the stored tokens for the service that the settings name, and delete them. Return ``None`` without any.

    Raises:
        UsageError: a setting is invalid, or there are several accounts.
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
                taken = await revoke(engine, address, content, found.secrets) and taken
    return taken


def is_loopback(redirect_uri: str) -> bool:
    """Return whether this machine can wait at a redirect address: plain http, and loopback."""
    try:
        parts = urlsplit(redirect_uri)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname in _NAMES


class Receiver:
    """Waits at a loopback address; use it in ``async with``.

    Args:
        redirect_uri: the redirect address that is registered at the service; ``None`` for a free port.
        say: called with a sentence about each wrong answer.

    Attributes:
        redirect_uri: the address with the actual port.
    """

    def __init__(self, redirect_uri: str | None, say: Callable[[str], None]) -> None:
        self.redirect_uri = redirect_uri or f"http://{_HOST}:0/"
        self._say = say
        self._server: asyncio.Server | None = None
        self._attempt: SignInAttempt | None = None
        self._answer: asyncio.Future[str] | None = None

    async def __aenter__(self) -> Self:
        """Begin to listen.

        Raises:
            UsageError: the port is in use.
        """
        parts = urlsplit(self.redirect_uri)
        port = parts.port if parts.port is not None else 80
        try:
            self._server = await asyncio.start_server(self._serve, _HOST, port, limit=_MAX_HEAD_BYTES)
        except OSError as error:
            raise UsageError(
                "Cannot wait for the browser on port {port}: {reason}.", port=port, reason=error.strerror or ""
            ) from None
        port = self._server.sockets[0].getsockname()[1]
        self.redirect_uri = parts._replace(netloc=f"{parts.hostname}:{port}", path=parts.path or "/").geturl()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 2.0)

    async def code_for(self, attempt: SignInAttempt, seconds: float) -> str:
        """Wait for the answer to an attempt and return its code.

        Raises:
            NotAuthorised: the service refused, or the user did not sign in within ``seconds``.
        """
        self._attempt = attempt
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(self._answer, seconds)
        except TimeoutError:
            minutes = max(1, round(seconds / 60))
            raise NotAuthorised(
                "Nobody signed in within {minutes} min: run the same command again.", minutes=minutes
            ) from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, title, text = self._answered(head.decode("latin-1"))
            page = message_page(translated(title), translated(text), current_language()).encode()
            writer.write(f"HTTP/1.1 {status}\r\n{_HEADERS}Content-Length: {len(page)}\r\n\r\n".encode() + page)
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not the browser with the answer
        finally:
            writer.close()

    def _answered(self, head: str) -> tuple[str, str, str]:
        """Accept the answer if the request is one. Return the status, and a title and a text for the page."""
        lines = head.split("\r\n")
        method, _, rest = lines[0].partition(" ")
        target = rest.rpartition(" ")[0]
        mine = urlsplit(self.redirect_uri)
        hosts = [line.partition(":")[2].strip().lower() for line in lines[1:] if line.lower().startswith("host:")]
        nothing = (
            message("Nothing is here"),
            message("This program only waits for the answer from your blog's service."),
        )
        if hosts not in [[f"{name}:{mine.port}"] for name in _NAMES] or target.partition("?")[0] != mine.path:
            return "404 Not Found", *nothing
        if method != "GET" or self._attempt is None or self._answer is None or self._answer.done():
            return "404 Not Found", *nothing
        try:
            code = self._attempt.code_in(f"http://{mine.netloc}{target}")
        except WrongSignInAnswer:
            self._say(message("An answer of another attempt to sign in arrived and was ignored."))
            return "400 Bad Request", message("Not the expected answer"), message("Go back and sign in again.")
        except NotAuthorised as error:
            self._answer.set_exception(error)
            return "200 OK", message("Not signed in"), message("{reason} You can close this window.", reason=error)
        self._answer.set_result(code)
        return ("200 OK", message("Signed in"), message("You can close this window, and go on in the terminal."))
