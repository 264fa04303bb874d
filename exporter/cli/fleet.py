"""``fleet``: many blogs into one folder, each an archive, from a list and by a ledger."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.capture import capture_limit_options
from exporter.cli.contact import with_contact
from exporter.cli.fleet_archives import PoolChoice, catalogue, index, pool_options, rebuild, search, site, verify
from exporter.cli.fleet_captures import outlinks
from exporter.cli.help import PATH, HelpedGroup
from exporter.cli.options import Command, duration_option, setting_options, settings_of, with_config
from exporter.cli.output import OnLoss, Output
from exporter.clock import SystemClock
from exporter.errors import BlogExporterError, UsageError
from exporter.message import Message, message, message_n
from exporter.settings import variables

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from exporter.cli.signals import Signals
    from exporter.fleet.fleet_run import Backups, FleetMoment, FleetPlan
    from exporter.fleet.host_workers import HostTask
    from exporter.fleet.ledger import DueBlog, FleetLedger, Listing
    from exporter.fleet.pool import WorkerPool
    from exporter.settings import Settings

_EPILOG = message(
    """\b
Examples:
  blog-exporter fleet run blogs.txt --into ~/fleet --base-url https://api.example.jp --rate 100
  blog-exporter fleet run blogs.csv --into ~/fleet --deadline 2026-12-31
  blog-exporter fleet status ~/fleet
A list is text (BLOG_ID NAME=VALUE ...), .csv (a header with blog_id) or .toml ([[blogs]]).
"""
)
_EXPORT = message("Write every archive below DIR as FORMAT, each into a separate folder: OUT/ab/BLOG_ID.")
_NOTE_SECONDS = 2.0
_CAPTURES_AT_ONCE = 20
"""Each capture has a dozen open files and connections, and most systems permit a process 1,024."""


class _Group(HelpedGroup):
    """Imports its command ``export`` only on use, because its options import half of the program."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), "export"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "export":
            return super().get_command(ctx, cmd_name)
        from exporter.cli.fleet_export import command as export_command
        from exporter.cli.language import with_language

        return with_language(export_command)

    def headed_commands(self, _ctx: click.Context) -> Iterator[tuple[Message, Mapping[str, str]]]:
        lines = {name: each.short_help or each.help or "" for name, each in self.commands.items()}
        yield message("Commands"), {**lines, "export": _EXPORT}


@click.group(
    "fleet",
    cls=_Group,
    epilog=_EPILOG,
    help=message(
        "Save thousands of blogs: a list of blogs, an archive for each, and a ledger of all attempts.\n\n"
        "Run it again to continue; saved blogs are not asked for again."
    ),
)
def command() -> None:
    """Run a command over many blogs."""


for _each in (catalogue, index, outlinks, search, site, verify, rebuild):
    command.add_command(_each)


def _run_options(command: Command, at_once: int) -> Command:
    """Add the options of all runs over a list; ``at_once`` is the usual number of blogs under way."""
    for option in reversed(
        (
            click.argument("blogs", metavar="LIST", type=PATH),
            click.option(
                "--into", "root", required=True, type=PATH, metavar="DIR", help=message("The fleet's folder.")
            ),
            click.option(
                "--at-once",
                type=click.IntRange(1, 10_000),
                default=at_once,
                help=message("Most blogs under way at a time."),
            ),
            click.option(
                "--tries", type=click.IntRange(1, 100), default=4, help=message("Most attempts for a blog in this run.")
            ),
            click.option(
                "--retry-after",
                metavar="TIME",
                default="1m",
                help=message(
                    "Wait after a blog's first failure; each further wait is three times as long, a day at most."
                ),
            ),
            click.option("--retry-now", is_flag=True, help=message("Retry failed blogs at once.")),
            click.option(
                "--again-after", metavar="AGE", help=message("Save blogs again after AGE. [default: never again]")
            ),
            click.option("--new", is_flag=True, help=message("Begin a new fleet if a known one is missing.")),
            click.option(
                "--deadline",
                metavar="DATE",
                help=message("Begin no blog after this date or time, and forecast against it."),
            ),
        )
    ):
        command = option(command)
    return command


@command.command("run", help=message("Save every due blog of LIST, each into its own archive below DIR."))
@partial(_run_options, at_once=100)
@setting_options(
    "base_url", "profile", "concurrency", "rate", "retries", "give_up_after", "refresh", "max_age", "token_file",
    "token_for", "account", "timezone", "assets", "file_url", "entry_url", "max_asset_size", "archive_fallback",
    "skip_asset_hosts", "allow_private_network", "strict_assets",
)  # fmt: skip
@pool_options
@click.option("--site", flag_value="yes", default=None, help=message("Keep an offline site in every archive."))
@click.option("--markdown", flag_value="yes", default=None, help=message("Keep Markdown in every archive."))
@with_config(on_loss=OnLoss.WARN)
def run(**given: Any) -> int:
    """Run ``fleet run``."""
    return _over_list({"site": "no", "markdown": "no"}, **given)


@command.command(
    "capture",
    help=message(
        "Capture the public pages of every due blog of LIST, each into the archive below DIR.\n\n"
        "The blogs of a service share the limits of one host. An archive that does not exist is made. The captures "
        "have a separate ledger, so both commands can use the same list and folder."
    ),
)
@partial(_run_options, at_once=_CAPTURES_AT_ONCE)
@setting_options(
    "base_url", "profile", "service", "home_url", "user_agent", "operator", "concurrency", "rate", "retries",
    "give_up_after", "page_rules", "obey_robots", "entry_url", "timezone", "max_asset_size", "skip_asset_hosts",
    "allow_private_network",
)  # fmt: skip
@capture_limit_options
@pool_options
@with_config(on_loss=OnLoss.WARN)
def capture(**given: Any) -> int:
    """Run ``fleet capture``."""
    return _over_list({}, captures=True, **given)


def _over_list(
    always: Mapping[str, str], /, *, captures: bool = False, out: Output, blogs: Path, root: Path, at_once: int,
    tries: int, retry_after: str, retry_now: bool, again_after: str | None, new: bool, deadline: str | None,
    pools: PoolChoice, config: Path | None, **given: str | None,
) -> int:  # fmt: skip
    """Back up or capture the due blogs of a list; options replace the settings in ``always``."""
    from exporter.archive.atomic import make_folder, translated
    from exporter.archive.settings_file import note_archive, require_fleet_if_known
    from exporter.cli.signals import catch_signals
    from exporter.fleet.blog_list import read_list
    from exporter.fleet.fleet_run import FleetPlan
    from exporter.fleet.host_workers import HostTask, recover
    from exporter.fleet.ledger import CAPTURES, FILE_NAME, FleetLedger
    from exporter.fleet.overview import fleet_lock
    from exporter.fleet.saving import require_obeyed

    ledger_name = CAPTURES if captures else FILE_NAME
    options = {**always, **{name: value for name, value in given.items() if value is not None}}
    settings = settings_of(out, config, options)
    if not captures:
        require_obeyed(settings)
    plan = FleetPlan(tries, duration_option("--retry-after", retry_after), _moment(deadline), max(100, at_once))
    again = None if again_after is None else duration_option("--again-after", again_after)
    pools.pool([root])

    if not new:
        require_fleet_if_known(root, exists=any((root / name).exists() for name in (FILE_NAME, CAPTURES)))
    if not (root / ledger_name).exists():
        _require_new(root, blogs)
    if captures:
        operator = with_contact(out, settings, config).operator
        options |= {} if operator is None else {"operator": operator}
    with translated(root):
        make_folder(root)
    with fleet_lock(root) as lock, catch_signals() as signals:
        lock.acquire(SystemClock().now())
        with FleetLedger.create(root, ledger_name) as ledger:
            listing = ledger.list_blogs(read_list(blogs), time.time())
            note_archive(root)
            recover(root, ledger)
            _print_listing(out, listing)
            begun = time.time()
            number = ledger.begin_run(
                begun,
                {"list": str(blogs), "at_once": at_once, "tries": tries, "deadline": deadline, **options},
                again_before=None if again is None else begun - again.total_seconds(),
                retry_now=retry_now,
            )
            exit_code = 1
            try:
                task = HostTask(
                    root.absolute(), 0, at_once, {}, options, config, ledger_name, after_kill=lock.holder_was_killed
                )
                exit_code = _run(ledger, plan, task, pools, out, signals, number)
            except BlogExporterError as error:
                exit_code = error.exit_code
                raise
            finally:
                ledger.end_run(time.time(), exit_code)
    return exit_code


def _require_new(root: Path, blogs: Path) -> None:
    """Check the folder and the list of a new fleet, so that a mistake leaves no file.

    Raises:
        UsageError: the folder is an archive, or the list is invalid.
    """
    from collections import deque

    from exporter.archive.layout import Layout
    from exporter.archive.reader import is_archive
    from exporter.fleet.blog_list import read_list

    if is_archive(Layout(root)):
        raise UsageError("{root} is the archive of a blog: name another folder for the fleet.", root=root)
    if blogs.is_file() or not blogs.exists():  # a pipe can be read only once
        deque(read_list(blogs), maxlen=0)


def _print_listing(out: Output, listing: Listing) -> None:
    text = message_n(
        "{n:,} blog listed, {new:,} new.", "{n:,} blogs listed, {new:,} new.", listing.blogs, new=listing.new
    )
    out.say(text)
    if listing.repeated:
        out.say(message_n("{n:,} line names a blog again.", "{n:,} lines name a blog again.", listing.repeated))
    if listing.left_out:
        text = message_n(
            "{n:,} blog of the earlier list is missing from this one; its archive stays.",
            "{n:,} blogs of the earlier list are missing from this one; their archives stay.",
            listing.left_out,
        )
        out.warn(text)


def _moment(text: str | None) -> float | None:
    """Return a date or time as seconds since 1970; a date means its end, without a zone it is local time."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            "option --deadline is {text}: give a date such as 2026-12-31, or 2026-12-31T18:00.", text=repr(text)
        ) from error
    if len(text) == len("2026-12-31"):
        moment += timedelta(days=1)
    return moment.timestamp()


def _run(
    ledger: FleetLedger, plan: FleetPlan, task: HostTask, pools: PoolChoice, out: Output, signals: Signals, number: int
) -> int:
    import asyncio

    from exporter.cli.fleet_output import RunDisplay
    from exporter.fleet.fleet_run import FleetRun
    from exporter.fleet.host_workers import hosts_of
    from exporter.fleet.saving import settings_for

    def settings(blog: DueBlog) -> Settings:
        return settings_for(blog, task.options, task.config)

    async def save() -> tuple[FleetMoment, BlogExporterError | None]:
        """Run the fleet; return its last moment, and the error that ended it early."""
        clock, noted = SystemClock(), 0.0
        async with _backups(task, settings, pool, hosts) as backups:
            fleet = FleetRun(ledger, backups, plan, clock)
            moment = fleet.moment()
            with signals.passed_to(fleet.stop):
                try:
                    async for moment in fleet.moments():
                        progress.handle(moment)
                        if clock.monotonic() - noted >= _NOTE_SECONDS:
                            noted = clock.monotonic()
                            ledger.note_progress({**progress.note(moment), "dashboard": backups.dashboard})
                except BlogExporterError as error:
                    return moment, error
        return moment, None

    hosts = len(hosts_of(ledger.listed(), settings, task.ledger))
    with contextlib.ExitStack() as stack:
        pool: WorkerPool | None = None
        if hosts > 1 and (pools.engine == "dask" or pools.workers != 1):
            pool = stack.enter_context(pools.pool([task.root], hosts))
        progress = stack.enter_context(RunDisplay(out, plan))
        moment, error = asyncio.run(save())
    document = {"run": number, **progress.summary(task.root, moment)}
    out.document(document)
    problem = error or progress.problem(document)
    if problem is not None:
        raise problem
    return 0


@contextlib.asynccontextmanager
async def _backups(
    task: HostTask, settings: Callable[[DueBlog], Settings], pool: WorkerPool | None, hosts: int
) -> AsyncIterator[Backups]:
    """Save blogs in this process, or with a pool in one worker for each group of hosts."""
    from exporter.fleet.host_workers import HostWorkers, saver_of
    from exporter.fleet.overview import fleet_lock
    from exporter.fleet.saving import rare_collections
    from exporter.http.engine import Engine

    if pool is not None:
        shared = task._replace(
            holder=fleet_lock(task.root).holder(),
            options={**variables(os.environ), **task.options},
            config=None if task.config is None else task.config.absolute(),
        )
        async with HostWorkers(pool, min(hosts, pool.slots), shared, settings) as workers:
            yield workers
        return
    clock = SystemClock()
    with rare_collections():
        http = Engine(clock=clock, after_kill=task.after_kill)
        async with http, saver_of(task, http, clock) as saver:
            yield saver


@command.command("status", help=message("Show a fleet's state: saved and failing blogs, and the forecast."))
@click.argument("root", metavar="DIR", type=PATH)
@click.option("--prometheus", is_flag=True, help=message("Print metrics for Prometheus in place of words."))
@click.option("--captures", is_flag=True, help=message("The state of the captures instead."))
@with_config()
def status(*, out: Output, root: Path, prometheus: bool, captures: bool, config: Path | None) -> int:
    """Run ``fleet status``."""
    from exporter.cli.fleet_output import overview_lines, problem_of
    from exporter.fleet.ledger import CAPTURES, FILE_NAME
    from exporter.fleet.overview import metrics, overview

    if prometheus and out.as_json:
        raise UsageError(message("Give --json or --prometheus, not both."))
    settings_of(out, config)
    document = overview(root, time.time(), CAPTURES if captures else FILE_NAME)
    out.document(document)
    if prometheus:
        out.raw(metrics(document).encode())
    else:
        for line in overview_lines(document):
            out.answer(line)
    problem = problem_of(document)
    if problem is not None:
        raise problem
    return 0
