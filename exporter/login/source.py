"""Credentials for a run: a token in the settings, a command's output, or a sign-in that is renewed in time."""

from __future__ import annotations

import asyncio
import base64
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from exporter.clock import Clock, SystemClock
from exporter.errors import ArchiveLocked, NotAuthorised, ServiceError, SignInRevoked, UsageError
from exporter.http.credentials import MAX_TOKEN_CHARACTERS, Credentials, Redactor, TokenSource
from exporter.login.facts import (
    missing_token_advice,
    service_command,
    service_origin,
    token_place,
    withheld_notice,
)
from exporter.login.protocol import Tokens, ask_for_tokens, refresh_request
from exporter.login.signing import OAuth1, Wsse
from exporter.login.store import SignIn, SignInStore
from exporter.message import message, said
from exporter.service.declarations import DECLARATIONS
from exporter.settings import Settings
from exporter.text import printable
from exporter.worker import kill_group

if TYPE_CHECKING:
    from exporter.archive.lock import ArchiveLock
    from exporter.http.engine import Engine

_MARGIN_SECONDS: Final = 300.0
_MARGIN_SHARE: Final = 0.1
_LOCK_POLL_SECONDS: Final = 0.1
_LOCK_SECONDS: Final = 180.0
_PAUSE_SECONDS: Final = 60.0
COMMAND_SECONDS: Final = 30.0


def credentials_for(
    settings: Settings,
    engine: Engine,
    *,
    warn: Callable[[str], None] = lambda _: None,
    store: SignInStore | None = None,
    clock: Clock | None = None,
) -> TokenSource:
    """Return the credentials for the service of the settings.

    The sources, in order: a token in the settings, ``token_command``, the stored sign-in for the service.

    Args:
        settings: must have a ``base_url``.
        engine: sends the request to renew a sign-in.
        warn: called with a sentence if the token is sent unencrypted, or others can read it.
        store: the stored sign-ins; the user's own by default.
        clock: decides when a sign-in has ended.

    Raises:
        UsageError: the address or the token is invalid, or several accounts match.
    """
    service = DECLARATIONS.get(settings.service or "")
    if service is not None and service.anonymous:
        return Credentials()
    _require_secrets(settings)
    carrier = Credentials(None, settings.auth_header, settings.auth_scheme, query=settings.auth_query or "")
    base_url = settings.base_url or ""
    is_sent = not is_signed(settings) and bool(settings.token or settings.token_command)
    exposed = Credentials("a token").exposed_at(base_url) if is_sent else None
    if exposed is not None:
        warn(exposed)
    if settings.token:
        advice = _refused_advice(token_place(settings), settings)
        return replace(_carrying(carrier, settings.token, settings), advice=advice)
    if settings.token_command:
        return CommandSource(settings.token_command, carrier, settings)
    origin = service_origin(base_url)
    if settings.withheld and not settings.token_for:
        warn(withheld_notice(settings))
    store = store or SignInStore(warn=warn)
    account = store.choose(origin, settings.account)
    if account is None:
        if settings.account is not None:
            raise NotAuthorised(
                "Nobody is signed in at {origin} as {account}. Sign in: {command}",
                origin=origin,
                account=settings.account,
                command=service_command("login", settings),
            )
        return replace(carrier, advice=missing_token_advice(settings))
    login = service_command("login", settings)
    return SignInSource(store, origin, account, carrier, engine, clock or SystemClock(), settings.retries, login)


def is_signed(settings: Settings) -> bool:
    """Return whether requests are signed, so that no secret is sent."""
    return settings.auth in {"wsse", "oauth1"}


def _require_secrets(settings: Settings) -> None:
    """Check that the settings have everything that the authentication needs besides the token.

    Raises:
        UsageError: something is missing.
    """
    if not settings.token and not settings.token_command:
        return
    if settings.auth in {"basic", "wsse"} and settings.user is None:
        raise UsageError(
            "The authentication {auth} needs your name at the service: give it with --user.", auth=settings.auth
        )
    if settings.auth == "oauth1" and not (
        settings.oauth_client_id and settings.client_secret and settings.token_secret
    ):
        raise UsageError(
            message(
                "The authentication oauth1 needs four values: the consumer key (oauth_client_id), the consumer secret "
                "(BLOG_EXPORTER_CLIENT_SECRET or oauth_client_secret_file), the access token (BLOG_EXPORTER_TOKEN or "
                "token_file) and its secret (BLOG_EXPORTER_TOKEN_SECRET or token_secret_file)."
            )
        )


def _carrying(carrier: Credentials, token: str, settings: Settings) -> Credentials:
    """Return the credentials with a token. With a user, it is a password, sent as in RFC 7617 (Basic)."""
    user = settings.user
    if settings.auth == "oauth1":
        keys = (settings.oauth_client_id or "", settings.client_secret or "", token, settings.token_secret or "")
        return replace(carrier, signer=OAuth1(*keys))
    if settings.auth == "wsse":
        return replace(carrier, signer=Wsse(user or "", token))
    if settings.auth == "bearer" or user is None:
        return replace(carrier, token=token)
    pair = base64.b64encode(f"{user}:{token}".encode()).decode("ascii")
    return replace(carrier, token=pair, scheme="Basic", secrets=(token,))


def _header_of(carrier: Credentials) -> str:
    return "" if carrier.query else carrier.header


def _refused_advice(place: str, settings: Settings) -> str:
    if settings.auth == "oauth1":
        return message(
            "the token ({place}) was refused: check the four values of oauth1 and this machine's clock", place=place
        )
    if settings.auth == "wsse":
        return message(
            "the name {user} with the key ({place}) was refused: check both and this machine's clock",
            user=printable(settings.user or "", 100),
            place=place,
        )
    if settings.auth == "basic":
        return message(
            "the name {user} with the key ({place}) was refused: check both. The key is that of the API, not your "
            "password",
            user=printable(settings.user or "", 100),
            place=place,
        )
    return message("the token ({place}) was refused: make a new one that may read this blog", place=place)


class CommandSource:
    """The token that a command prints. The command runs for the first request, and again if the token is refused."""

    def __init__(self, command: str, carrier: Credentials, settings: Settings) -> None:
        self.advice = _refused_advice(token_place(settings, "token_command"), settings)
        self._command = command
        self._carrier = carrier
        self._settings = settings
        self._token: str | None = None
        self._current: Credentials | None = None
        self._turn = asyncio.Lock()
        self.redactor = Redactor()

    @property
    def token_header(self) -> str:
        """The name of the header that carries the token."""
        return self._current.token_header if self._current is not None else _header_of(self._carrier)

    async def credentials(self) -> Credentials:
        """Return the printed token."""
        async with self._turn:
            if self._current is None:
                self._current = await self._ask()
            return self._current

    async def renewed(self, refused: Credentials, /) -> Credentials | None:
        """Run the command again. Return ``None`` if it prints the same token."""
        async with self._turn:
            before = self._token
            if self._current is refused:
                self._current = await self._ask()
                return self._current if self._token != before else None
            return self._current

    async def _ask(self) -> Credentials:
        token = await asyncio.to_thread(token_of, self._command)
        carried = _carrying(self._carrier, token, self._settings)
        self._token = token
        self.redactor.learn([token, carried.token or "", *(carried.signer.secrets if carried.signer else ())])
        return replace(carried, advice=self.advice)


@dataclass(eq=False)
class SignInSource:
    """The access token of a sign-in. It is renewed shortly before it ends, and once if it is refused.

    A service may accept each refresh token only once. So runs that renew at the same time wait for a lock, and use the
    tokens that the first one received.
    """

    store: SignInStore
    origin: str
    account: str
    carrier: Credentials
    engine: Engine
    clock: Clock
    retries: int
    login: str

    def __post_init__(self) -> None:
        self.advice = message(
            "the sign-in was refused. Sign in again, as the user whose blog it is: {command}", command=self.login
        )
        self.token_header = _header_of(self.carrier)
        self.redactor = Redactor()
        self._turn = asyncio.Lock()
        self._sign_in: SignIn | None = None
        self._current: Credentials | None = None
        self._trouble: tuple[float, str] | None = None

    async def credentials(self) -> Credentials:
        """Return the access token, renewed if it is about to end."""
        if self._current is not None and not self._is_due():
            return self._current
        async with self._turn:
            current = self._current or self._adopt(self._stored())
            return await self._renew(current, refused=False) if self._is_due() else current

    async def renewed(self, refused: Credentials, /) -> Credentials | None:
        """Return a new access token after a refusal."""
        async with self._turn:
            return await self._renew(refused, refused=True) if self._current is refused else self._current

    def _adopt(self, sign_in: SignIn) -> Credentials:
        self.redactor.learn(sign_in.secrets)
        self._sign_in = sign_in
        self._current = replace(self.carrier, token=sign_in.access_token, advice=self.advice)
        return self._current

    def _stored(self) -> SignIn:
        found = self.store.read(self.origin, self.account)
        if found is None:
            raise NotAuthorised(
                "Nobody is signed in at {origin} any more. Sign in: {command}", origin=self.origin, command=self.login
            )
        return found

    def _is_due(self) -> bool:
        found = self._sign_in
        if found is None or found.expires_at is None or not found.renewable:
            return False
        margin = min(_MARGIN_SECONDS, (found.expires_at - found.obtained_at) * _MARGIN_SHARE)
        return self._seconds() >= found.expires_at - margin

    def _seconds(self) -> float:
        return self.clock.now().timestamp()

    async def _renew(self, current: Credentials, *, refused: bool) -> Credentials:
        """Use the tokens that another run renewed meanwhile, or renew the sign-in."""
        if self._trouble is not None and self.clock.monotonic() < self._trouble[0]:
            self._give_up(self._trouble[1], refused=refused)
            return current
        with self.store.lock(self.origin, self.account) as lock:
            await self._acquire(lock)
            stored = self._stored()
            adopted = self._adopt(stored)
            if adopted.token != current.token and not self._is_due():
                return adopted
            if stored.refresh_token is None:
                raise NotAuthorised(
                    "The sign-in at {origin} has ended, and the service issued no refresh token. "
                    "Sign in again: {command}",
                    origin=self.origin,
                    command=self.login,
                )
            try:
                tokens = await self._ask(stored, stored.refresh_token)
            except SignInRevoked as error:
                raise SignInRevoked("{reason} Run: {command}", reason=said(error), command=self.login) from None
            except ServiceError as error:
                self._trouble = self.clock.monotonic() + _PAUSE_SECONDS, said(error)
                self._give_up(said(error), refused=refused)
                return adopted
            renewed = renewed_sign_in(stored, tokens, self._seconds())
            self.redactor.learn(renewed.secrets)
            self.store.rewrite(renewed)
            return self._adopt(renewed)

    async def _ask(self, sign_in: SignIn, refresh_token: str) -> Tokens:
        content = refresh_request(sign_in.client_id, sign_in.client_secret, refresh_token)
        return await ask_for_tokens(self.engine, sign_in.token_url, content, sign_in.secrets, self.clock, self.retries)

    def _give_up(self, reason: str, *, refused: bool) -> None:
        """Continue with a token that is still valid, or raise the reason why it could not be renewed."""
        if self._sign_in is None or refused or self._seconds() >= (self._sign_in.expires_at or 0.0):
            raise ServiceError(
                "The sign-in at {origin} could not be renewed: {reason}. Run again later.",
                origin=self.origin,
                reason=reason,
            )

    async def _acquire(self, lock: ArchiveLock) -> None:
        deadline = self.clock.monotonic() + _LOCK_SECONDS
        while True:
            try:
                lock.acquire(self.clock.now())
            except ArchiveLocked:
                if self.clock.monotonic() >= deadline:
                    raise ServiceError(
                        "Another run has been renewing the sign-in at {origin} for minutes: run again later.",
                        origin=self.origin,
                    ) from None
                await asyncio.sleep(_LOCK_POLL_SECONDS)
            else:
                return


def renewed_sign_in(before: SignIn, tokens: Tokens, now: float) -> SignIn:
    """Return a sign-in with new tokens. Without a new refresh token the old one stays (RFC 6749, section 6)."""
    return replace(
        before,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or before.refresh_token,
        obtained_at=now,
        expires_at=tokens.expires_at,
        refresh_ends_at=tokens.refresh_ends_at or before.refresh_ends_at,
    )


def token_of(command: str, seconds: float = COMMAND_SECONDS) -> str:
    """Run a command without a shell and return its output, stripped.

    Raises:
        UsageError: the command cannot be started.
        NotAuthorised: it fails, prints nothing or too much, or takes longer than ``seconds``.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError("token_command cannot be read: {reason}.", reason=str(error)) from None
    if not words:
        raise UsageError(message("token_command is empty."))
    program = printable(words[0], 100)
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own settings name it, and no shell is used
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(
            "token_command: {program} cannot be started: {reason}.", program=program, reason=reason
        ) from None
    with process:
        try:
            out, complaint = process.communicate(timeout=seconds)
        except BaseException as error:
            kill_group(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise NotAuthorised(
                "token_command: {program} printed no token within {seconds:g} s.", program=program, seconds=seconds
            ) from None
    if process.returncode != 0:
        complaints = printable(complaint.decode("utf-8", "replace").strip().rpartition("\n")[2], 200)
        raise NotAuthorised(
            "token_command: {program} ended with {code}: {said}",
            program=program,
            code=process.returncode,
            said=complaints or message("it did not say why"),
        )
    token = out.decode("utf-8", "replace").strip()
    if not token or len(out) > MAX_TOKEN_CHARACTERS or "\n" in token:
        raise NotAuthorised("token_command: {program} must print one line, the token.", program=program)
    return token
