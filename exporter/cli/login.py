"""``login``: sign in at a blog's service, once, for all runs that follow."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.language import adopt
from exporter.cli.options import config_option, setting_options, with_output
from exporter.cli.output import OnLoss, Output
from exporter.cli.signals import ended_at_a_question
from exporter.errors import UsageError
from exporter.message import message
from exporter.settings import Settings, resolve
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.login.store import KeptIn, SignIn

_EPILOG = """\b
Examples:
  blog-exporter login NAME.blog.shinobi.jp
  blog-exporter login --profile ninja --no-browser
"""

blog_argument = click.argument("blog_id", metavar="[BLOG_ID]", default="")
service_options = setting_options("base_url", "profile", "account")


@click.command(
    "login",
    epilog=_EPILOG,
    help=message(
        """Sign in at the service of the blog BLOG_ID, or of --base-url or --profile.

        The service's own page opens in your browser; your password stays there. What it gives in return is kept
        in the keyring, or in a file that only you can read, and renewed by the commands that need it."""
    ),
)
@blog_argument
@service_options
@setting_options(
    "oauth_client_id", "oauth_client_secret_file", "oauth_scope", "oauth_redirect_uri", "sign_in_store",
)  # fmt: skip
@click.option(
    "--no-browser",
    is_flag=True,
    help=message("Open no browser: show the address, and take the one that it leads to."),
)
@config_option
@with_output(OnLoss.FAIL)
def command(*, out: Output, blog_id: str, config: Path | None, no_browser: bool, **options: Any) -> int:
    """Sign in."""
    import asyncio

    from exporter.login.sign_in import sign_in

    settings = resolved(out, blog_id, config, options)
    done = asyncio.run(
        sign_in(
            settings,
            ask=ask,
            open_browser=None if no_browser else open_browser,
            say=lambda text: out.say(text, level=-1),
        )
    )
    for line in signed_in_lines(done.sign_in, done.kept):
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


def resolved(out: Output, blog_id: str, config: Path | None, options: dict[str, Any]) -> Settings:
    """Join the settings of a command about a service, and speak their language."""
    settings = resolve(options, config=config, blog_id=blog_id, warn=out.warn)
    adopt(settings)
    return settings


def open_browser(address: str) -> bool:
    """Open an address in the person's browser, and tell whether that went well."""
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def ask(question: str, /, *, hidden: bool = False) -> str:
    """Ask a person; a secret, which may be left out, only where somebody is there.

    Raises:
        UsageError: there is nobody to answer.
    """
    if hidden and not sys.stdin.isatty():
        return ""
    try:
        with ended_at_a_question():
            answer: str = click.prompt(
                printable(translated(question)), default="", show_default=False, hide_input=hidden, err=True
            )
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise UsageError(message("Nobody is there to answer: {question}.", question=question)) from None
    return answer.strip()


def signed_in_lines(found: SignIn, kept: KeptIn) -> list[str]:
    """Say where a sign-in is kept, and until when it lasts."""
    if kept.path is None:
        where = message("The sign-in at {origin} is kept in the keyring.", origin=found.origin)
    elif kept.reason:
        where = message(
            "The sign-in at {origin} is kept in {path}, which only you can read, as no keyring took it: {reason}.",
            origin=found.origin,
            path=str(kept.path),
            reason=kept.reason,
        )
    else:
        where = message(
            "The sign-in at {origin} is kept in {path}, which only you can read.",
            origin=found.origin,
            path=str(kept.path),
        )
    return [message("Signed in."), where, lasting_line(found.renewable, found.ends_at)]


def lasting_line(renewable: bool, ends_at: float | None) -> str:
    """Say until when somebody is signed in."""
    until = time_of(ends_at)
    if until is not None:
        return message("It ends at {time}: run blog-exporter login again before that.", time=until)
    if renewable:
        return message("It is renewed by itself, until you run blog-exporter logout or the service ends it.")
    return message("The service does not say when it ends, and gave nothing to renew it with.")


def time_of(seconds: float | None) -> str | None:
    """Write a moment as the clocks of this machine have it."""
    from datetime import UTC, datetime

    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(timespec="seconds")
