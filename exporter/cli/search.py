"""``search``: substrings in the blog's texts, in any script, ranked, with marked hits."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.help import cli_command
from exporter.cli.options import Command, at_option, readable_archive, with_archive
from exporter.cli.output import OnLoss, Output, counted
from exporter.message import listed, message
from exporter.model.kinds import Kind
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.search.folding import Excerpt
    from exporter.search.index import Hit
    from exporter.search.query import Query

_EPILOG = """\b
Examples:
  blog-exporter search DIR 猫
  blog-exporter search DIR '"full phrase"' word --kind entry --since 2020-01-01
  blog-exporter search DIR '第[一二三]回' --regex
"""
_NAMES = {Kind.ENTRIES: message("entry"), Kind.COMMENTS: message("comment"), Kind.FILES: message("file")}
_MARK, _RESET = "\x1b[1;33m", "\x1b[0m"


def search_options(command: Command) -> Command:
    """Add the options that a search in one archive and a search in a fleet share."""
    for add in (
        click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, metavar="N",
                     help=message("Show at most N hits.")),
        click.option("--sort", type=click.Choice(["relevance", "date"]), default="relevance", show_default=True,
                     help=message("Order of the hits.")),
        click.option("--since", metavar="DATE", help=message("Search only texts written on DATE or later.")),
        click.option("--kind", metavar="KIND", help=message("Search only the kind entry, comment or file.")),
    ):  # fmt: skip
        command = add(command)
    return command


@cli_command(
    "search",
    epilog=_EPILOG,
    help=message(
        """Find WORDS in the titles, bodies, comments and file names of the archive in DIR.

        Every word must occur, as any part of the text. Case, width, and old and new forms of kanji do not matter.
        Put a phrase in double quotes. Records with similar spellings only, such as hiragana for katakana or another
        long vowel, come last and are counted separately."""
    ),
)
@readable_archive("RECORDS")
@click.argument("words", nargs=-1, required=True)
@search_options
@click.option("--regex", is_flag=True, help=message("Read WORDS as a regular expression of Python."))
@at_option
@with_archive(on_loss=OnLoss.STOP)
def search_command(
    *, out: Output, archive: Archive, settings: Settings, words: tuple[str, ...], at: str | None, **given: Any
) -> int:
    """Run ``search``."""
    from exporter.search.index import Index

    query = query_of(words, given, settings)
    version = archive.version_at(at, settings.timezone)
    with Index(archive, service_of(settings, archive.info.service), at=version) as index:
        found = index.search(query)
    out.document(
        {
            "version": version,
            "found": found.total,
            "hits": [hit.document() for hit in found.hits],
            "similar_found": found.similar_total,
            "similar_hits": [hit.document() for hit in found.similar],
        }
    )
    for hit in found.hits:
        print_hit(out, hit)
    if found.similar:
        out.answer(message("Similar spellings:"))
    for hit in found.similar:
        print_hit(out, hit)
    parts: list[str] = [counted(found.total, "hit")]
    if found.similar_total:
        parts.append(message("{n:,} more in similar spellings", n=found.similar_total))
    if found.total + found.similar_total > given["limit"]:
        parts.append(shown_line(query))
    out.say("{parts}.", parts=listed(parts))
    return 0


def query_of(words: tuple[str, ...], given: Mapping[str, Any], settings: Settings) -> Query:
    """Return the query that the options of :func:`search_options` ask for."""
    from exporter.search.query import parse_query

    return parse_query(
        words,
        given["kind"],
        given["since"],
        regex=given.get("regex", False),
        limit=given["limit"],
        by_date=given["sort"] == "date",
        timezone=settings.timezone,
    )


def shown_line(query: Query) -> str:
    """Return the words about the limit of a search that found more."""
    if query.by_date:
        return message("the newest {n:,} are shown", n=query.limit)
    return message("the best {n:,} are shown", n=query.limit)


def print_hit(out: Output, hit: Hit, blog_id: str = "") -> None:
    """Print a hit: its date, its blog if one is given, its kind and title; below it the excerpt."""
    colour = sys.stdout.isatty()
    day = "" if hit.date is None else f"{hit.date.date()}  "
    what: str = message("{kind} {id}", kind=_NAMES[hit.kind], id=printable(hit.record_id, 40))
    if hit.kind is Kind.COMMENTS:
        what = message("{comment} on entry {entry}", comment=what, entry=printable(hit.entry_id, 40))
    blog = f"{printable(blog_id, 100)}  " if blog_id else ""
    out.answer(f"{day}{blog}{translated(what)}  {printable(hit.title, 100)}")
    out.answer(f"    {_marked(hit.excerpt, colour=colour)}", colour=colour)


def _marked(part: Excerpt, *, colour: bool) -> str:
    before, after = (_MARK, _RESET) if colour else ("[", "]")
    parts = ["…" if part.start else ""]
    done = 0
    for start, end in part.marks:
        parts += [printable(part.text[done:start]), before, printable(part.text[start:end]), after]
        done = end
    parts += [printable(part.text[done:]), "…" if part.cut else ""]
    return "".join(parts)
