"""``compare``: the differences between an archive and a new home."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.cli.blog_names import archive_named, completed_address, is_web_address
from exporter.cli.export_options import choice_options, chosen
from exporter.cli.help import PATH, OrderedCommand, cli_command
from exporter.cli.options import archive_argument, given_settings, opened, require_new_file, with_config
from exporter.cli.output import OnLoss, Output, sentence, shown
from exporter.errors import Incomplete, NoArchive
from exporter.export.interface import check_days
from exporter.message import message
from exporter.settings import Settings
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.cli.signals import Signals
    from exporter.compare.posts import Scope
    from exporter.library.compare import Arrivals, Compared

_EPILOG = message(
    """\b
Examples:
  blog-exporter compare DIR https://new.example --public-open-flg 1
  blog-exporter compare DIR https://new.example --new-home-user me --report compare.json
  blog-exporter compare DIR ./hugo-site/public

\b
A WordPress is read by its REST API. With the application password in BLOG_EXPORTER_NEW_HOME_TOKEN or
--new-home-token-file this includes drafts, private posts and held comments. Any other site is read by its
sitemap or feed.
"""
)
_PROGRESS_EVERY: Final = 500
"""Pages, posts or pictures between two lines of progress."""
_READ: Final[dict[str, Callable[[int], str]]] = {
    "pages": lambda n: message("{n:,} pages read", n=n),
    "posts": lambda n: message("{n:,} entries read", n=n),
    "pictures": lambda n: message("{n:,} pictures read", n=n),
}


class _Command(OrderedCommand):
    def swapped(self, values: Mapping[str, Any]) -> tuple[str, str] | None:
        archive, home = str(values.get("archive")), str(values.get("home"))
        if not is_web_address(archive) or is_web_address(home):
            return None
        # An archive may be named by its blog's address.
        try:
            archive_named(archive, values.get("config"))
        except NoArchive:
            return archive, home
        return None


@cli_command(
    "compare",
    cls=_Command,
    epilog=_EPILOG,
    help=message(
        """Compare the archive in DIR with NEW_HOME: the address of a site, or a folder of HTML or Markdown.

        Lists the entries that arrived unchanged, are missing, changed or unexpected, and everything that could
        not be compared. Exits with 0 only if nothing is missing or changed and everything was compared."""
    ),
)
@archive_argument
@click.argument("home", metavar="NEW_HOME")
@choice_options
@click.option("--new-url", metavar="PATTERN", help=message("Entry addresses of the new blog, as for export."))
@click.option(
    "--old-host",
    "old_hosts",
    multiple=True,
    metavar="HOST",
    help=message("Another host that closes with the old blog."),
)
@click.option(
    "--map", "map_file", type=PATH, metavar="FILE", help=message("Map of the move to NEW_HOME. [default: next to DIR]")
)
@click.option("--no-pictures", is_flag=True, help=message("Compare the addresses of pictures only."))
@click.option("--no-comments", is_flag=True, help=message("Do not compare comments."))
@click.option("--report", type=PATH, metavar="FILE", help=message("Write the full result as JSON."))
@click.option("--force", is_flag=True, help=message("Replace an existing report."))
@with_config(
    "new_home_user",
    "new_home_token_file",
    "new_home_token_for",
    "allow_plain_http",
    "allow_private_network",
    on_loss=OnLoss.STOP,
)
def compare_command(
    *, out: Output, archive: Path, home: str, report: Path | None, config: Path | None, **given: Any
) -> int:
    """Run ``compare``."""
    from exporter.cli.signals import catch_signals
    from exporter.compare.report import document, lines, verdict
    from exporter.library.compare import expected_posts, scope_of

    check_days(given["since"], given["until"])
    home = completed_address(home) if is_web_address(home) else home
    if report is not None:
        require_new_file(report, force=given["force"])
    found, settings = opened(out, archive, given_settings(given), config)
    choice = chosen(out, found.path, found.info, settings, given)
    expected = expected_posts(
        found.path, choice.options, at=choice.version, only=given["only"], check=choice.check,
        home=home, map_file=given["map_file"],
    )  # fmt: skip
    parts = {"comments": not given["no_comments"], "pictures": not given["no_pictures"]}
    scope = scope_of(expected, old_hosts=given["old_hosts"], **parts)

    def progress(what: str, count: int) -> None:
        if count % _PROGRESS_EVERY == 0:
            out.say(_READ[what](count))

    with catch_signals(lambda: message("nothing was written")) as signals:
        kind, comparison = compared_with(home, settings, expected, scope, signals, progress)
    out.say("Compared with {home}, a {kind}:", home=printable(home, 200), kind=kind)
    result = document(comparison, **expected.about, home={"kind": kind, "place": home})
    out.document(result)
    if report is not None:
        _write(report, result)
    for line in lines(comparison, every=out.verbosity > 0):
        out.answer(shown(line))
    said = verdict(comparison)
    if not comparison.whole:
        raise Incomplete("{home}: {verdict}.", home=printable(home, 200), verdict=said)
    out.answer(sentence(said))
    return 0


def compared_with(
    place: str,
    settings: Settings,
    expected: Arrivals,
    scope: Scope,
    signals: Signals,
    progress: Callable[[str, int], None] = lambda _what, _count: None,
) -> Compared:
    """Read the new home at ``place`` and compare it with the archive, until a signal comes."""
    import asyncio

    from exporter.library.compare import compare, open_home

    async def run() -> Compared:
        async with open_home(place, settings, progress=progress) as home:
            return await compare(home, expected, scope)

    return asyncio.run(signals.cancelling(run()))


def _write(report: Path, result: dict[str, Any]) -> None:
    from exporter import lossless_json
    from exporter.archive import atomic

    with atomic.translated(report):
        atomic.write_file(report, lossless_json.dumps(result, pretty=True) + b"\n")
