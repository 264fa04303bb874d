"""``logout``: forget a sign-in, and give its tokens back where the service takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exporter.cli.login import blog_argument, resolved, service_options
from exporter.cli.options import config_option, with_output
from exporter.cli.output import OnLoss, Output
from exporter.message import message


@click.command(
    "logout",
    help=message("""Forget the sign-in at the service of the blog BLOG_ID, or of --base-url or --profile."""),
)
@blog_argument
@service_options
@config_option
@with_output(OnLoss.FAIL)
def command(*, out: Output, words: str, config: Path | None, **options: Any) -> int:
    """Sign out."""
    import asyncio

    from exporter.login.sign_in import sign_out

    done = asyncio.run(sign_out(resolved(out, words, config, options)[1]))
    out.document({"signed_out": done is not None, "account": done and done.account, "revoked": done and done.revoked})
    if done is None:
        out.say(message("Nobody is signed in there."))
    elif done.revoked:
        out.say(message("Signed out: the tokens are removed here, and the service took them back."))
    elif done.revoked is None:
        out.say(message("Signed out: the tokens are removed here. The service has no address that takes them back,"))
        out.say(message("so end this program's access on its own pages if you want it to end at once."))
    else:
        out.warn(
            message(
                "the tokens are removed here, but the service did not take them back ({reason}): "
                "end this program's access on its own pages",
                reason=done.reason or message("it refused"),
            )
        )
    return 0
