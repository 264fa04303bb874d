"""Where the token comes from and until when it lasts, found without asking anybody: no network, no keyring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from exporter.errors import UsageError
from exporter.message import message, suggested
from exporter.settings import Origin, Settings
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.login.store import SignInStore

_EARLY: Final = timedelta(days=7)
_PORTS: Final = {"http": 80, "https": 443}


def service_origin(base_url: str) -> str:
    """Return the scheme and the host of a service, and its port where it is not the scheme's own.

    Raises:
        UsageError: it is no such address.
    """
    try:
        parts = urlsplit(base_url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        host, port = "", None
    if not host or parts.scheme not in _PORTS:
        if "@" in base_url:  # it may hold a password
            raise UsageError(message("the base URL must look like https://HOST"))
        given = printable(base_url.partition("?")[0].partition("#")[0], 200)
        raise UsageError(
            message("{name} must look like https://HOST, not {shown}", name=message("the base URL"), shown=given)
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" if port in {None, _PORTS[parts.scheme]} else f"{parts.scheme}://{shown}:{port}"


def service_command(command: str, settings: Settings) -> str:
    """Return a command such as ``login`` with the words that name the service of the settings.

    The words give the same settings again: a blog of the settings file, the folder of the archive that remembers the
    service, a profile, or the address of the service's API.
    """
    words: list[str | Path] = ["--account", settings.account] if settings.account else []
    source = settings.sources.get("base_url")
    if source is not None and source.origin is Origin.BLOG:
        words.append(source.blog)
    elif source is not None and source.origin is Origin.ARCHIVE:
        words.append(Path(source.where).parent)
    elif source is not None and source.origin is Origin.PROFILE:
        words += ["--profile", source.where]
    else:
        words += ["--base-url", settings.base_url or ""]
    return suggested(command, *words)


def missing_token_advice(settings: Settings) -> str:
    """Say how to give the service of the settings a token that it accepts.

    Signing in is named only if the program knows the service's pages for that, or its own ID there.
    """
    if settings.oauth_authorize_url is None and settings.oauth_client_id is None:
        return message("set BLOG_EXPORTER_TOKEN to a token that may read this blog, or name its file with --token-file")
    return message(
        "set BLOG_EXPORTER_TOKEN to a token that may read this blog, or sign in: {command}",
        command=service_command("login", settings),
    )


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """Where the token comes from, never the token.

    Attributes:
        place: in words: a variable, a setting, a file, the keyring; or that there is none.
        account: of the sign-in; ``None`` where none is used.
        expires_at: when the access token ends, in seconds since 1970.
        renewable: whether the sign-in is renewed by itself.
        ends_at: when the user must sign in again.
    """

    place: str
    account: str | None = None
    expires_at: float | None = None
    renewable: bool | None = None
    ends_at: float | None = None


def token_facts(
    settings: Settings, *, store: SignInStore | None = None, warn: Callable[[str], None] = lambda _: None
) -> TokenFacts:
    """Tell where the token for the service of the settings comes from.

    Raises:
        UsageError: the address cannot be right, or it is not clear which account is meant.
    """
    if settings.token:
        return TokenFacts(token_place(settings))
    if settings.token_command:
        return TokenFacts(token_place(settings, "token_command"))
    nowhere = TokenFacts(message("nowhere: nobody is signed in, and no token is set"))
    if settings.base_url is None:
        return nowhere
    origin = service_origin(settings.base_url)
    if store is None:
        from exporter.login.store import SignInStore  # noqa: PLC0415 - a token that is set, or no address, needs none

        store = SignInStore(warn=warn)
    account = store.choose(origin, settings.account)
    found = None if account is None else store.note(origin, account)
    if found is None:
        return nowhere
    return TokenFacts(
        store.place(origin, found.account), found.account, found.expires_at, found.renewable, found.ends_at
    )


def token_place(settings: Settings, name: str = "token") -> str:
    """Say which variable, setting or file gave the token of the settings, or the setting of a name."""
    source = settings.sources.get(name)
    return name if source is None else source.place(name)


def sign_in_ends(
    settings: Settings, *, store: SignInStore | None = None, warn: Callable[[str], None] = lambda _: None
) -> datetime | None:
    """Return when the user must sign in again, as far as that is known.

    ``None`` where no sign-in is used, or nothing says that it ends.

    Raises:
        UsageError: as :func:`token_facts`.
    """
    ends_at = token_facts(settings, store=store, warn=warn).ends_at
    return None if ends_at is None else datetime.fromtimestamp(ends_at, UTC)


def ending_notice(settings: Settings, now: datetime, warn: Callable[[str], None]) -> str | None:
    """Say that the user must soon sign in again; ``None`` where that is a week away, or nothing says so."""
    try:
        ends = sign_in_ends(settings, warn=warn)
    except UsageError as error:
        return str(error)
    if ends is None or ends - now > _EARLY:
        return None
    ending = {"origin": service_origin(settings.base_url or ""), "time": ends.astimezone().isoformat(" ", "minutes")}
    ending["command"] = service_command("login", settings)
    if ends <= now:
        return message("the sign-in at {origin} ended at {time}. Sign in again: {command}", **ending)
    return message(
        "the sign-in at {origin} ends at {time} and is not renewed by itself. Sign in again before that: {command}",
        **ending,
    )
