"""``login``, ``logout``, ``whoami``: sign in at a blog's service once for all later runs, and sign out."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.cli import events
from exporter.cli.help import cli_command
from exporter.cli.options import settings_of, with_config
from exporter.cli.output import OnLoss, Output
from exporter.cli.questions import ask
from exporter.errors import UsageError
from exporter.message import message, suggested
from exporter.settings import Settings

if TYPE_CHECKING:
    from exporter.login.facts import TokenFacts
    from exporter.login.store import KeptIn, SignIn
    from exporter.model.records import User

_EPILOG = """\b
Examples:
  blog-exporter login NAME.blog.shinobi.jp
  blog-exporter login --profile ninja --no-browser
"""
_EXAMPLE: Final = "https://api.example.jp"

blog_argument = click.argument("words", metavar="[BLOG_ID|DIR|NAME]", default="")
_OF_A_SERVICE: Final = ("base_url", "profile", "account")


@cli_command(
    "login",
    epilog=_EPILOG,
    help=message(
        """Sign in at a blog's service. Name the blog, the archive, --base-url or --profile.

        NAME is a blog in your settings file. The service's page opens in your browser, and your password stays
        there. The keyring, or a file that only you can read, stores the tokens. Later commands renew them."""
    ),
)
@blog_argument
@click.option("--no-browser", is_flag=True, help=message("Open no browser: show the address and ask for the result."))
@with_config(*_OF_A_SERVICE, "oauth_client_id", "oauth_client_secret_file", "sign_in_store")
def login_command(*, out: Output, words: str, config: Path | None, no_browser: bool, **options: Any) -> int:
    """Sign in."""
    import asyncio

    from exporter.login.sign_in import sign_in

    _, settings = resolved(out, words, config, options)
    done = asyncio.run(
        sign_in(
            settings,
            ask=ask,
            open_browser=None if no_browser else open_browser,
            say=lambda text: out.say(text, level=-1),
        )
    )
    for line in signed_in_lines(done.sign_in, done.kept, settings):
        out.say(line)
    out.document(
        {
            "service": done.sign_in.origin,
            "account": done.sign_in.account,
            "kept_in": "keyring" if done.kept.path is None else str(done.kept.path),
            "expires_at": time_of(done.sign_in.expires_at),
            "renewable": done.sign_in.renewable,
        }
    )
    return 0


def resolved(out: Output, words: str, config: Path | None, options: dict[str, Any]) -> tuple[str, Settings]:
    """Resolve the settings for a command that contacts a service, and use their language.

    Args:
        out: receives warnings.
        words: a blog ID, an archive's folder, a blog in the settings file, or an empty text.
        config: the settings file to read.
        options: the options of the command line.

    Returns:
        the blog's ID, or an empty text, and the settings with the service's address.

    Raises:
        UsageError: the words name no blog, or its service is unknown.
    """
    from exporter.cli.target import find_target

    command = click.get_current_context().info_name or "login"
    if not words:
        settings = settings_of(out, config, options)
        if settings.base_url is None:
            raise UsageError(
                "Which service? Name a blog, the folder of an archive, --profile or --base-url: {command}",
                command=suggested(command, "--base-url", _EXAMPLE),
            )
        return "", settings
    target = find_target(words, options, config=config, command=command, warn=out.warn)
    if target.settings.base_url is None:
        unknown = message(
            "Nothing says which service has {blog_id}. Give the address of its API: {command}",
            blog_id=target.blog_id,
            command=suggested(command, words, "--base-url", _EXAMPLE),
        )
        raise UsageError(target.notice or unknown)
    return target.blog_id, target.settings


def open_browser(address: str) -> bool:
    """Open an address in the browser, or leave that to the reader of the events; return whether it worked."""
    if events.wanted():
        events.tell("open", url=address)
        return True
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def signed_in_lines(found: SignIn, kept: KeptIn, settings: Settings) -> list[str]:
    """Return lines about the place and the end of a sign-in."""
    place = {"origin": found.origin, "path": str(kept.path), "reason": kept.reason}
    if kept.path is None:
        where = message("The sign-in at {origin} is kept in the keyring.", **place)
    elif kept.reason:
        where = message(
            "The sign-in at {origin} is kept in {path}, which only you can read, as no keyring took it: {reason}.",
            **place,
        )
    else:
        where = message("The sign-in at {origin} is kept in {path}, which only you can read.", **place)
    return [message("Signed in."), where, lasting_line(found.renewable, found.ends_at, settings)]


def lasting_line(renewable: bool, ends_at: float | None, settings: Settings) -> str:
    """Return a line about the end of a sign-in."""
    from exporter.login.facts import service_command

    until = time_of(ends_at)
    if until is not None:
        login = service_command("login", settings)
        return message("It ends at {time}. Sign in again before that: {command}", time=until, command=login)
    if renewable:
        logout = service_command("logout", settings)
        return message("The program renews it until the service ends it. To end it yourself: {command}", command=logout)
    return message("The service does not say when it ends, and gave nothing to renew it with.")


def time_of(seconds: float | None) -> str | None:
    """Return a time in this machine's time zone, in ISO 8601."""
    from datetime import UTC, datetime

    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(timespec="seconds")


@cli_command(
    "logout", help=message("Delete the stored sign-in at a blog's service, and revoke its tokens if the service can.")
)
@blog_argument
@with_config(*_OF_A_SERVICE)
def logout_command(*, out: Output, words: str, config: Path | None, **options: Any) -> int:
    """Sign out."""
    import asyncio

    from exporter.login.sign_in import sign_out

    done = asyncio.run(sign_out(resolved(out, words, config, options)[1]))
    out.document({"signed_out": done is not None, "account": done and done.account, "revoked": done and done.revoked})
    if done is None:
        out.say(message("There is no stored sign-in for this service."))
    elif done.revoked:
        out.say(message("Signed out: the stored tokens are deleted, and the service revoked them."))
    elif done.revoked is None:
        text = message(
            "Signed out: the stored tokens are deleted. The service has no address to revoke them. To end this "
            "program's access at once, use the service's own pages."
        )
        out.say(text)
    else:
        out.warn(
            "the stored tokens are deleted, but the service did not revoke them ({reason}): "
            "end this program's access on the service's own pages",
            reason=done.reason or message("it refused"),
        )
    return 0


@cli_command(
    "whoami",
    help=message(
        """Show which account is signed in at a blog's service, and where its token is stored.

        The token itself is never shown. The exit code is 12 if the service refuses the token."""
    ),
)
@blog_argument
@with_config(*_OF_A_SERVICE, on_loss=OnLoss.STOP)
def whoami_command(*, out: Output, words: str, config: Path | None, **options: Any) -> int:
    """Show the account."""
    import asyncio

    from exporter.login.facts import token_facts

    blog_id, settings = resolved(out, words, config, options)
    facts = token_facts(settings, warn=out.warn)
    user = asyncio.run(_user(blog_id, settings, out))
    facts = token_facts(settings)
    out.document(
        {
            "base_url": settings.base_url,
            "user": {"id": user.id, "nickname": user.name},
            "token_from": facts.place,
            "account": facts.account,
            "expires_at": time_of(facts.expires_at),
            "renewable": facts.renewable,
            "ends_at": time_of(facts.ends_at),
        }
    )
    out.answer("{name} (user {id}) at {base_url}", name=user.name, id=user.id, base_url=settings.base_url)
    out.answer(_place_line(facts))
    if facts.account is not None:
        out.answer(lasting_line(bool(facts.renewable), facts.ends_at, settings))
    return 0


async def _user(blog_id: str, settings: Settings, out: Output) -> User:
    from exporter.library.backup import open_service

    async with open_service(blog_id or message("the service"), settings, warn=out.warn) as opened:
        if not opened.service.capabilities.user:
            raise UsageError(message("This service does not name the calling user."))
        return opened.service.user(await opened.client.fetch(*opened.service.user_call()))


def _place_line(facts: TokenFacts) -> str:
    if facts.account is None:
        return message("The token comes from {place}.", place=facts.place)
    if facts.account:
        return message("Signed in as {account}, kept in {place}.", account=facts.account, place=facts.place)
    return message("Signed in with blog-exporter login, kept in {place}.", place=facts.place)
