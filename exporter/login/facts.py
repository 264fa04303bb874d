"""Find where the token comes from and when it ends, without the network and the keyring."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError
from exporter.frozen import frozen
from exporter.message import message, said, suggested
from exporter.setting_sources import Origin
from exporter.setting_types import origin_of_address
from exporter.settings import Settings
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.login.store import SignInStore

_NOTICE_PERIOD: Final = timedelta(days=7)


def service_origin(base_url: str) -> str:
    """Return a service's scheme and host, and the port unless it is the scheme's default.

    Raises:
        UsageError: the address is invalid.
    """
    try:
        return origin_of_address(base_url)
    except ValueError:
        if "@" in base_url:  # it may hold a password
            raise UsageError(message("the base URL must look like https://HOST")) from None
        given = printable(base_url.partition("?")[0].partition("#")[0], 200)
        raise UsageError(
            "{name} must look like https://HOST, not {shown}", name=message("the base URL"), shown=given
        ) from None


def service_command(command: str, settings: Settings) -> str:
    """Return a command such as ``login`` with the arguments for the service of the settings.

    The arguments select the same settings again: a blog in the settings file, the archive's folder, a profile, or the
    address of the API.
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
    """Return advice on how to get a token that the service of the settings accepts.

    It includes ``login`` only if the program knows the service's sign-in page, or its own client ID.
    """
    if settings.withheld:
        return withheld_notice(settings)
    if settings.oauth_authorize_url is None and settings.oauth_client_id is None:
        return message("set BLOG_EXPORTER_TOKEN to a token that may read this blog, or name its file with --token-file")
    return message(
        "set BLOG_EXPORTER_TOKEN to a token that may read this blog, or sign in: {command}",
        command=service_command("login", settings),
    )


def withheld_notice(settings: Settings) -> str:
    """Return a sentence about a token that the service of the settings must not receive, without its full stop."""
    return message(
        "the token ({place}) is not sent to {origin}, because nothing beside it says that it belongs there. If it "
        "does, say --token-for {origin}, or set token_for in the place of the token",
        place=settings.withheld,
        origin=service_origin(settings.base_url or ""),
    )


@frozen
class TokenFacts:
    """The token's source, without the token.

    Attributes:
        place: for people: a variable, a setting, a file, the keyring, or nowhere.
        account: the account of the sign-in; ``None`` without one.
        expires_at: when the access token ends, in seconds since 1970.
        renewable: whether the program renews the sign-in.
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
    """Return the source of the token for the service of the settings.

    Raises:
        UsageError: the address is invalid, or several accounts match.
    """
    if settings.token:
        return TokenFacts(token_place(settings))
    if settings.token_command:
        return TokenFacts(token_place(settings, "token_command"))
    nowhere = TokenFacts(message("nowhere: there is no sign-in, and no token is set"))
    if settings.base_url is None:
        return nowhere
    origin = service_origin(settings.base_url)
    if store is None:
        from exporter.login.store import SignInStore  # noqa: PLC0415 - most runs need no stored sign-in

        store = SignInStore(warn=warn)
    account = store.choose(origin, settings.account)
    found = None if account is None else store.note(origin, account)
    if found is None:
        return nowhere
    return TokenFacts(
        store.place(origin, found.account), found.account, found.expires_at, found.renewable, found.ends_at
    )


def is_signed_in(settings: Settings) -> bool:
    """Return whether a run with these settings sends a token."""
    return bool(settings.token or settings.token_command) or token_facts(settings).account is not None


def token_place(settings: Settings, name: str = "token") -> str:
    """Return which variable, setting or file gave the token, or the setting with this name."""
    source = settings.sources.get(name)
    return name if source is None else source.place(name)


def sign_in_ends(
    settings: Settings, *, store: SignInStore | None = None, warn: Callable[[str], None] = lambda _: None
) -> datetime | None:
    """Return when the user must sign in again, or ``None`` if that is unknown or no sign-in is used.

    Raises:
        UsageError: as :func:`token_facts`.
    """
    ends_at = token_facts(settings, store=store, warn=warn).ends_at
    return None if ends_at is None else datetime.fromtimestamp(ends_at, UTC)


def ending_notice(settings: Settings, now: datetime, warn: Callable[[str], None]) -> str | None:
    """Return a message if the user must sign in again within a week, else ``None``."""
    try:
        ends = sign_in_ends(settings, warn=warn)
    except UsageError as error:
        return said(error)
    if ends is None or ends - now > _NOTICE_PERIOD:
        return None
    ending = {"origin": service_origin(settings.base_url or ""), "time": ends.astimezone().isoformat(" ", "minutes")}
    ending["command"] = service_command("login", settings)
    if ends <= now:
        return message("the sign-in at {origin} ended at {time}. Sign in again: {command}", **ending)
    return message(
        "the sign-in at {origin} ends at {time} and cannot be renewed. Sign in again before that: {command}", **ending
    )
