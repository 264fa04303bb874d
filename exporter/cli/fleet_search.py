"""``fleet search``: words in all blogs of a fleet."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exporter.cli.fleet_hands import with_hands
from exporter.cli.options import config_option, with_output
from exporter.cli.output import OnLoss, Output, counted
from exporter.message import listed, message, message_n

if TYPE_CHECKING:
    from exporter.fleet.search_index import IndexOutcome
    from exporter.fleet.workers import Hands


@click.command(
    "search",
    help=message(
        "Find WORDS in all blogs below DIR: titles, bodies, comments and file names.\n\n"
        "Every word must be there, as any part of the text. The first search makes an index, which takes as long as "
        "reading all archives; --update brings it up to date with what was saved since."
    ),
)
@click.argument("root", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", metavar="KIND", help=message("Only entry, comment or file."))
@click.option("--since", metavar="DATE", help=message("Only what was written at or after DATE."))
@click.option(
    "--sort",
    type=click.Choice(["relevance", "date"]),
    default="relevance",
    show_default=True,
    help=message("The best first, or the newest."),
)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    metavar="N",
    help=message("Show at most N hits."),
)
@click.option("--update", is_flag=True, help=message("Read first what changed since the index was made."))
@with_hands
@config_option
@with_output(OnLoss.STOP)
def command(
    *,
    out: Output,
    root: Path,
    words: tuple[str, ...],
    kind: str | None,
    since: str | None,
    sort: str,
    limit: int,
    update: bool,
    hands: Hands,
    config: Path | None,
) -> int:
    """Run ``fleet search``."""
    from exporter.cli.fleet_catalogue import report_trouble
    from exporter.cli.language import adopt
    from exporter.cli.search import print_hit
    from exporter.clock import SystemClock
    from exporter.fleet.search import is_indexed, search, update_index
    from exporter.fleet.search_index import made_at
    from exporter.fleet.workers import LocalHands
    from exporter.processors import processors
    from exporter.search.query import parse_query
    from exporter.settings import resolve

    settings = adopt(resolve({}, config=config, warn=out.warn))
    query = parse_query(words, kind, since, limit=limit, by_date=sort == "date", timezone=settings.timezone)
    trouble: list[tuple[str, str]] = []
    if update or not is_indexed(root):

        def heard(outcome: IndexOutcome) -> None:
            trouble.extend(outcome.trouble)

        update_index(root, settings, hands, SystemClock(), heard)
        report_trouble(out, trouble, len(trouble))
    found = search(root, query, settings, hands.workers if isinstance(hands, LocalHands) else processors())
    when = datetime.fromtimestamp(made_at(root) or 0.0, UTC)
    out.document(
        {
            "found": found.total,
            "blogs": found.blogs,
            "outdated": found.outdated,
            "indexed_at": when.isoformat(timespec="seconds"),
            "hits": [hit.document() for hit in found.hits],
        }
    )
    for each in found.hits:
        print_hit(out, each.hit, each.blog_id)
    parts: list[str] = [
        message(
            "{hits} in {blogs}",
            hits=counted(found.total, "hit"),
            blogs=message_n("{n:,} blog", "{n:,} blogs", found.blogs),
        )
    ]
    if found.total > limit:
        parts.append(
            message("the newest {n:,} are shown", n=limit)
            if query.by_date
            else message("the best {n:,} are shown", n=limit)
        )
    if found.outdated:
        parts.append(message("{n:,} of them changed since: use --update", n=found.outdated))
    if not update:
        parts.append(message("index of {date}", date=f"{when:%Y-%m-%d %H:%M} UTC"))
    out.say(message("{parts}.", parts=listed(parts)))
    return 3 if trouble else 0
