"""``compare``: what of an archive arrived in a new home, and how."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.cli import answers
from exporter.cli.export_options import check_choice, choice_options, old_urls, stop_undeclared
from exporter.cli.options import archive_argument, config_option, opened, setting_options, with_output
from exporter.cli.output import OnLoss, Output, shown
from exporter.errors import Incomplete, UsageError
from exporter.message import message
from exporter.settings import SETTINGS, Settings
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.state import State
    from exporter.compare.posts import Scope
    from exporter.library.compare import Arrivals, Compared

_EPILOG = message(
    """\b
Examples:
  blog-exporter compare DIR https://new.example --public-open-flg 1
  blog-exporter compare DIR https://new.example --new-home-user me --report compare.json
  blog-exporter compare DIR ./hugo-site/public

\b
A WordPress is read by its REST API, with the application password in BLOG_EXPORTER_NEW_HOME_TOKEN or
--new-home-token-file also its drafts, private posts and held comments; any other site by its sitemap or feed.
"""
)
_OFTEN: Final = 500
"""After how many posts or pictures a line says so."""
_READ: Final[dict[str, Callable[[int], str]]] = {
    "pages": lambda n: message("{n:,} pages read", n=n),
    "posts": lambda n: message("{n:,} posts read", n=n),
    "pictures": lambda n: message("{n:,} pictures read", n=n),
}


@click.command(
    "compare",
    epilog=_EPILOG,
    help=message(
        """Compare the archive in DIR with NEW_HOME: the address of a site, or a folder of HTML or Markdown.

        Says which entries arrived as they were, which are missing or changed and how, what else is there, and
        what could not be compared. Ends with 0 only where nothing is missing or changed and all was compared
        that was asked for."""
    ),
)
@archive_argument
@click.argument("home", metavar="NEW_HOME")
@choice_options
@click.option("--new-url", metavar="PATTERN", help=message("Addresses of the new posts, as for export."))
@click.option("--old-host", "old_hosts", multiple=True, metavar="HOST", help=message("Another host that dies with it."))
@click.option("--no-pictures", is_flag=True, help=message("Fetch no pictures; compare their addresses only."))
@click.option("--no-comments", is_flag=True, help=message("Do not compare comments."))
@click.option("--no-slugs", is_flag=True, help=message("Do not compare the names in addresses."))
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help=message("Write the whole result as JSON.")
)
@click.option("--force", is_flag=True, help=message("Let the report replace a file that is there."))
@setting_options(
    "new_home_user", "new_home_token_file", "allow_plain_http", "allow_private_network", "concurrency", "rate",
    "retries", "max_asset_size", "timezone", "entry_url",
)  # fmt: skip
@config_option
@with_output(OnLoss.STOP)
def command(*, out: Output, archive: Path, home: str, report: Path | None, config: Path | None, **given: Any) -> int:
    """Run ``compare``."""
    from exporter.compare.report import document, lines, verdict

    check_choice(given)
    if report is not None:
        _check_report(report, force=given["force"])
    options = {name: value for name, value in given.items() if name in SETTINGS} | answers.flag_answers(given)
    found, settings = opened(out, archive, options, config)
    expected = _expected(out, found, settings, given)
    kind, comparison = _compare(out, expected, home, settings, given)
    out.say(message("Compared with {home}, a {kind}:", home=printable(home, 200), kind=kind))
    result = document(comparison, **expected.about, home={"kind": kind, "place": home})
    out.document(result)
    if report is not None:
        _write(report, result)
    for line in lines(comparison, every=out.verbosity > 0):
        out.answer(shown(line))
    said = verdict(comparison)
    if not comparison.whole:
        raise Incomplete(message("{home}: {verdict}.", home=printable(home, 200), verdict=said))
    told = translated(said)
    out.answer(message("{sentence}.", sentence=told[0].upper() + told[1:]))
    return 0


def _expected(out: Output, archive: Archive, settings: Settings, given: Mapping[str, Any]) -> Arrivals:
    """Return what should have arrived, by what the owner said of the blog's flags."""
    from exporter.archive.archive import read_consistently
    from exporter.export.interface import ExportOptions
    from exporter.html.links import AddressPattern
    from exporter.library.compare import expected_posts
    from exporter.service.registry import service_of

    blog_id, drafts = archive.info.blog_id, given["all_as_draft"]
    service, on_stored = service_of(settings, archive.info.service), answers.stored_printer(out, blog_id)
    declared = answers.declared_flags(service, settings, blog_id, on_stored, all_as_draft=drafts)
    options = ExportOptions(
        declared=declared,
        since=given["since"],
        until=given["until"],
        category=given["category"],
        hidden_comments=given["hidden_comments"],
        old_urls=old_urls(given, settings),
        new_url=None if given["new_url"] is None else AddressPattern(given["new_url"], "--new-url", path=True),
        service=service,
    )
    at, version = given["at"], None
    if at is not None:
        version = read_consistently(archive.path, lambda reader: reader.version_at(at, settings.timezone))

    def check(state: State) -> None:
        if service.is_undeclared(declared):
            stop_undeclared(state, service, out, drafts=True)
        answers.check_answers(declared, given, state, service, out.warn)

    return expected_posts(archive.path, options, at=version, only=given["only"], check=check)


def _compare(out: Output, expected: Arrivals, place: str, settings: Settings, given: Mapping[str, Any]) -> Compared:
    """Read the new home, with a line for people now and then, and compare."""
    import asyncio

    from exporter.cli.signals import catch_signals
    from exporter.compare.posts import Aspect, Scope

    left_out = {
        aspect for aspect, option in ((Aspect.COMMENTS, "no_comments"), (Aspect.SLUG, "no_slugs")) if given[option]
    }
    hosts = expected.old_hosts | {host.strip().rstrip(".").lower() for host in given["old_hosts"]}
    scope = Scope(frozenset(Aspect) - left_out, fetch=not given["no_pictures"], old_hosts=hosts)

    def progress(what: str, count: int) -> None:
        if count % _OFTEN == 0:
            out.say(_READ[what](count))

    with catch_signals(lambda: message("nothing was written")) as signals:
        return asyncio.run(signals.cancelling(_read(place, settings, progress, expected, scope)))


async def _read(
    place: str, settings: Settings, progress: Callable[[str, int], None], expected: Arrivals, scope: Scope
) -> Compared:
    from exporter.library.compare import compare, open_home

    async with open_home(place, settings, progress=progress) as home:
        return await compare(home, expected, scope)


def _check_report(report: Path, *, force: bool) -> None:
    from exporter.archive.reader import require_outside_archives

    require_outside_archives(report)
    if report.is_dir():
        raise UsageError(message("{path} is a folder; name a file.", path=report))
    if os.path.lexists(report) and not force:
        raise UsageError(
            message("{path} is there already; add --force to replace it, or name another file.", path=report)
        )


def _write(report: Path, result: dict[str, Any]) -> None:
    from exporter import lossless_json
    from exporter.archive import atomic

    with atomic.translated(report):
        atomic.write_file(report, lossless_json.dumps(result, pretty=True) + b"\n")
