"""``fleet catalogue``: tables over all archives of a fleet, kept up to date."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exporter.cli.fleet_hands import with_hands
from exporter.cli.options import config_option, with_output
from exporter.cli.output import Output, counted
from exporter.message import listed, message, message_n
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.fleet.catalogue.update import CatalogueResult
    from exporter.fleet.workers import Hands

_FORMATS = ("parquet", "sqlite", "duckdb")
_PLACES = {"parquet": "catalogue", "sqlite": "catalogue.sqlite", "duckdb": "catalogue.duckdb"}
_LINE_SECONDS = 10.0
_NAMED = 20
_EPILOG = message(
    """\b
Examples:
  blog-exporter fleet catalogue parquet DIR
  duckdb -c "FROM 'DIR/catalogue/blogs/*.parquet' ORDER BY entries"
  blog-exporter fleet catalogue sqlite DIR blogs.sqlite
"""
)


@click.command(
    "catalogue",
    epilog=_EPILOG,
    help=message(
        "Make tables of all blogs below DIR: blogs, entries, comments, files, versions and runs.\n\n"
        "Run it again to bring them up to date: only archives that changed are read. OUT is DIR/catalogue, "
        "DIR/catalogue.sqlite or DIR/catalogue.duckdb unless you name another place."
    ),
)
@click.argument("form", metavar="parquet|sqlite|duckdb", type=click.Choice(_FORMATS))
@click.argument("root", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("target", metavar="[OUT]", required=False, type=click.Path(path_type=Path))
@with_hands
@config_option
@with_output()
def command(*, out: Output, form: str, root: Path, target: Path | None, hands: Hands, config: Path | None) -> int:
    """Run ``fleet catalogue``."""
    from exporter.cli.language import adopt
    from exporter.clock import SystemClock
    from exporter.fleet.catalogue.update import CatalogueOptions, update_duckdb, update_parquet, update_sqlite
    from exporter.settings import resolve

    settings = adopt(resolve({}, config=config, warn=out.warn))
    options = CatalogueOptions(settings, hands, SystemClock(), CatalogueProgress(out))
    update = {"parquet": update_parquet, "sqlite": update_sqlite, "duckdb": update_duckdb}[form]
    result = update(root, root / _PLACES[form] if target is None else target, options)
    out.document(
        {
            "format": form,
            "catalogue": str(result.path.absolute()),
            "changed": result.changed,
            "blogs": result.blogs,
            "entries": result.entries,
            "read": result.read,
            "unchanged": result.kept,
            "dropped": result.dropped,
            "troubles": result.troubles,
            "trouble": [{"archive": printable(name), "reason": reason} for name, reason in result.trouble],
        }
    )
    report_trouble(out, result.trouble, result.troubles)
    parts = [
        message_n("{n:,} blog", "{n:,} blogs", result.blogs),
        counted(result.entries, "entry"),
        message_n("{n:,} archive read", "{n:,} archives read", result.read),
        message_n("{n:,} unchanged", "{n:,} unchanged", result.kept),
    ]
    if result.dropped:
        parts.append(message("{n:,} gone", n=result.dropped))
    out.say(message("{catalogue}: {parts}.", catalogue=result.path, parts=listed(parts)))
    return 3 if result.troubles else 0


def report_trouble(out: Output, trouble: list[tuple[str, str]], count: int) -> None:
    """Name archives that could not be read, the first twenty of them."""
    for name, reason in trouble[:_NAMED]:
        out.warn(message("{archive}: {reason}", archive=printable(name, 300), reason=reason))
    if count > _NAMED:
        out.warn(message_n("{n:,} more could not be read.", "{n:,} more could not be read.", count - _NAMED))


class CatalogueProgress:
    """Says how far it is, in a line every ten seconds."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._next = time.monotonic() + _LINE_SECONDS

    def __call__(self, result: CatalogueResult, done: float) -> None:
        """Hear which part of the folders is done."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _LINE_SECONDS
        self._out.say(
            message(
                "{percent}% done: {blogs}, of which {read:,} read.",
                percent=int(done * 100),
                blogs=message_n("{n:,} blog", "{n:,} blogs", result.blogs),
                read=result.read,
            )
        )
