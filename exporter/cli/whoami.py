"""``whoami``: the signed-in account, and the source of its token."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.login import blog_argument, lasting_line, resolved, service_options, time_of
from exporter.cli.options import config_option, with_output
from exporter.cli.output import OnLoss, Output
from exporter.errors import UsageError
from exporter.message import message

if TYPE_CHECKING:
    from exporter.login.facts import TokenFacts
    from exporter.model.records import User
    from exporter.settings import Settings


@click.command(
    "whoami",
    help=message(
        """Show which account is signed in at a blog's service, and where its token is stored.

        The token itself is never shown. The exit code is 12 if the service refuses the token."""
    ),
)
@blog_argument
@service_options
@config_option
@with_output(OnLoss.STOP)
def command(*, out: Output, words: str, config: Path | None, **options: Any) -> int:
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
    out.answer(message("{name} (user {id}) at {base_url}", name=user.name, id=user.id, base_url=settings.base_url))
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
