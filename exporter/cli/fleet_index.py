"""``fleet index``: a page over all sites of a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from exporter.cli.fleet_hands import with_hands
from exporter.cli.options import config_option, with_output
from exporter.cli.output import Output, counted
from exporter.message import listed, message, message_n
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.fleet.workers import Hands


@click.command(
    "index",
    help=message(
        "Make a page that leads to the sites of all blogs below DIR: DIR/index.html.\n\n"
        "It opens by a double click, lists all blogs, and finds them by their names. Only archives that changed since "
        "the last time are opened."
    ),
)
@click.argument("root", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--title", default="", metavar="TEXT", help=message("What the page is called."))
@click.option(
    "--lang",
    "site_lang",
    type=click.Choice(["ja", "en"]),
    help=message("Language of the page. [default: ja]"),
)
@with_hands
@config_option
@with_output()
def command(*, out: Output, root: Path, title: str, site_lang: str | None, hands: Hands, config: Path | None) -> int:
    """Run ``fleet index``."""
    from exporter.cli.fleet_catalogue import report_trouble
    from exporter.cli.language import adopt
    from exporter.fleet.landing import make_landing
    from exporter.settings import resolve

    settings = adopt(resolve({"site_lang": site_lang}, config=config, warn=out.warn))
    found = make_landing(root, settings, hands, settings.site_lang or "ja", title)
    out.document(
        {
            "page": str(found.page.absolute()),
            "blogs": found.blogs,
            "entries": found.entries,
            "read": found.read,
            "pages": found.pages,
            "troubles": len(found.trouble),
            "trouble": [{"archive": printable(name), "reason": reason} for name, reason in found.trouble[:1000]],
        }
    )
    report_trouble(out, found.trouble, len(found.trouble))
    parts = [message_n("{n:,} blog", "{n:,} blogs", found.blogs), counted(found.entries, "entry")]
    out.say(message("{page}: {parts}.", page=found.page, parts=listed(parts)))
    return 3 if found.trouble else 0
