"""``logout``: delete a stored sign-in, and revoke its tokens if the service can."""

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
    help=message("Delete the stored sign-in at a blog's service, and revoke its tokens if the service can."),
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
        out.say(message("There is no stored sign-in for this service."))
    elif done.revoked:
        out.say(message("Signed out: the stored tokens are deleted, and the service revoked them."))
    elif done.revoked is None:
        out.say(
            message(
                "Signed out: the stored tokens are deleted. The service has no address to revoke them. To end this "
                "program's access at once, use the service's own pages."
            )
        )
    else:
        out.warn(
            message(
                "the stored tokens are deleted, but the service did not revoke them ({reason}): "
                "end this program's access on the service's own pages",
                reason=done.reason or message("it refused"),
            )
        )
    return 0
