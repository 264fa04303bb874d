"""``fleet``: many blogs into one folder, each an archive, from a list and by a ledger."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.options import config_option, duration_option, setting_options, with_output
from exporter.cli.output import OnLoss, Output
from exporter.errors import Incomplete, UsageError
from exporter.message import message, message_n

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.fleet.ledger import Ledger
    from exporter.fleet.run import FleetPlan


@click.group(
    "fleet",
    help=message(
        "Save many blogs at once: a list of them, an archive for each, and a ledger of what was done.\n\n"
        "Run it again to do what is due; nothing that is saved is asked for twice."
    ),
)
def command() -> None:
    """Take the name of what is to be done."""


@command.command("run", help=message("Save every blog of LIST that is due, each into its own archive below DIR."))
@click.argument("blogs", metavar="LIST", type=click.Path(path_type=Path))
@click.option("--into", "root", required=True, type=click.Path(path_type=Path), metavar="DIR", help=message("The fleet's folder."))
@click.option("--at-once", type=click.IntRange(1, 10_000), default=100, help=message("Most blogs under way at a time."))
@click.option("--tries", type=click.IntRange(1, 100), default=4, help=message("Most attempts for a blog in this run."))
@click.option("--retry-after", metavar="TIME", default="1m", help=message("Wait after a blog's first failure; each further one is three times as long."))
@click.option("--again-after", metavar="AGE", help=message("Save blogs again that were saved longer ago than AGE."))
@click.option("--deadline", metavar="DATE", help=message("Begin no blog after this date or time."))
@setting_options("base_url", "profile", "concurrency", "rate", "retries", "connect_timeout", "read_timeout", "total_timeout", "give_up_after", "refresh", "max_age", "token_file", "account", "timezone", "assets", "file_url", "entry_url", "max_asset_size", "skip_asset_hosts", "allow_private_network", "strict_assets")  # fmt: skip
@config_option
@with_output(OnLoss.WARN)
def run(*, out: Output, blogs: Path, root: Path, at_once: int, tries: int, retry_after: str, again_after: str | None, deadline: str | None, config: Path | None, **options: Any) -> int:
    """Run ``fleet run``."""
    ...
