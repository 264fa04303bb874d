"""The commands that read all archives of a fleet: site, verify, rebuild, catalogue, index and search."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from exporter.cli.help import PATH, cli_command
from exporter.cli.options import (
    Command,
    complete_folders,
    identity_option,
    is_copy,
    setting_options,
    settings_of,
    store_at,
    with_config,
)
from exporter.cli.output import OnLoss, Output, counted
from exporter.cli.search import print_hit, query_of, search_options, shown_line
from exporter.clock import SystemClock
from exporter.errors import UsageError
from exporter.message import listed, message, message_n

if TYPE_CHECKING:
    from typing import BinaryIO

    from exporter.fleet.pool import WorkerPool
    from exporter.fleet.work import ArchiveResult

_KEPT: Final = message("finished results are kept; run the same command again to continue")
_SHARED: Final = ("root", "target")
"""Parameters that name folders which the work reads or writes."""

_language_option = click.option(
    "--lang", "site_lang", type=click.Choice(["ja", "en"]), help=message("Language of the site. [default: ja]")
)
fleet_argument = click.argument("root", metavar="DIR", type=PATH)


class PoolChoice(NamedTuple):
    """The options about worker pools."""

    engine: str
    workers: int | None
    scheduler: str | None

    def pool(self, folders: list[Path], most: int | None = None) -> WorkerPool:
        """Return the pool, with at most ``most`` workers if it starts them.

        Args:
            folders: the folders that the work reads or writes.
            most: the largest number of workers that is useful.

        Raises:
            UsageError: the options contradict each other, or a library is missing.
        """
        from exporter.fleet.local_pool import LocalPool
        from exporter.worker import processors

        number = self.workers or processors()
        number = number if most is None else min(number, most)
        if self.engine == "dask":
            from exporter.fleet.dask_pool import DaskPool, check_dask

            check_dask(self.workers, self.scheduler)
            return DaskPool(folders[0], folders[1:], workers=number, scheduler=self.scheduler)
        if self.scheduler is not None:
            raise UsageError(message("--scheduler needs --engine dask: add it."))
        return LocalPool(number)


def pool_options(command: Command) -> Command:
    """Add ``--workers``, ``--engine`` and ``--scheduler``; the command gets them as ``pools``."""

    @click.option(
        "--workers",
        type=click.IntRange(1, 1000),
        metavar="N",
        help=message("Number of processes. [default: one for each processor]"),
    )
    @click.option(
        "--engine",
        type=click.Choice(["local", "dask"]),
        default="local",
        help=message("Work in processes on this machine, or in a Dask cluster (extra: fleet)."),
    )
    @click.option(
        "--scheduler", metavar="URL", help=message("Dask: a scheduler such as tcp://10.0.0.5:8786, with its workers.")
    )
    @wraps(command)
    def wrapped(*, workers: int | None, engine: str, scheduler: str | None, **given: Any) -> Any:
        return command(pools=PoolChoice(engine, workers, scheduler), **given)

    return wrapped


def with_pool(on_loss: OnLoss = OnLoss.FAIL) -> Callable[[Command], Command]:
    """Add the options of pools, ``--config`` and those of outputs; the command gets a worker pool as ``pool``.

    Both signals end it; finished results stay. For a cluster all paths are absolute, because its workers may have been
    started in any folder.
    """

    def decorate(command: Command) -> Command:
        @pool_options
        @with_config(on_loss=on_loss)
        @wraps(command)
        def wrapped(*, pools: PoolChoice, **given: Any) -> Any:
            from exporter.cli.signals import catch_signals

            if pools.engine == "dask":
                given = {name: value.absolute() if isinstance(value, Path) else value for name, value in given.items()}
            folders = [Path(given[name]).absolute() for name in _SHARED if given.get(name) is not None]
            pool = pools.pool(folders)
            with catch_signals(lambda: _KEPT):
                return command(pool=pool, **given)

        return wrapped

    return decorate


class FleetWork(NamedTuple):
    """How a command works on all archives of a fleet.

    Attributes:
        out: the command's output.
        pool: runs the jobs.
        report: the file for a line about every archive.
        config: the settings file of the command line.
    """

    out: Output
    pool: WorkerPool
    report: Path | None
    config: Path | None

    def run(
        self,
        root: Path,
        name: str,
        job: Callable[[Any, Any], Any],
        options: Any,
        *,
        of_captures: bool = False,
        **more: Any,
    ) -> int:
        """Do a job with every archive, and print the results.

        Args:
            root: the fleet's folder.
            name: the name of the work in JSON.
            job: a function of :mod:`exporter.fleet.work`.
            options: its second argument.
            of_captures: whether it also works on archives that have captures and no version.
            more: further members of the JSON object.

        Raises:
            NoArchive: there is no fleet.
            ArchiveDamaged, Incomplete: archives are damaged, or failed.
            Interrupted: it was stopped.
        """
        from exporter.archive.fleet_folder import folders_in, require_fleet
        from exporter.fleet.work import work_over

        settings_of(self.out, self.config)
        require_fleet(root)
        with contextlib.closing(work_over(root, job, options, self.pool, of_captures=of_captures)) as results:
            return self.print_results(str(root.absolute()), name, results, folders_in(root), **more)

    def print_results(self, place: str, name: str, results: Iterator[ArchiveResult], total: int, **more: Any) -> int:
        """Print the result for each archive and the sums, and write them into the report."""
        from exporter import lossless_json
        from exporter.cli.fleet_output import WorkDisplay, work_lines
        from exporter.fleet.work import WorkTally

        tally, begun = WorkTally(), time.monotonic()
        with _report_file(self.report) as lines, WorkDisplay(self.out, total) as display:
            for result in results:
                tally.count(result)
                display.handle(result, tally)
                if lines is not None:
                    lines.write(lossless_json.dumps(result.document()) + b"\n")
        seconds = time.monotonic() - begun
        about = {"fleet": place, "work": name, "workers": self.pool.slots, "seconds": round(seconds, 1)}
        self.out.document({**about, "cpu_seconds": round(tally.cpu_seconds, 1), **tally.document(), **more})
        for line in work_lines(tally, seconds):
            self.out.say(line)
        problem = tally.problem()
        if problem is not None:
            raise problem
        return 0


@contextlib.contextmanager
def _report_file(report: Path | None) -> Iterator[BinaryIO | None]:
    if report is None:
        yield None
        return
    from exporter.archive.atomic import translated
    from exporter.archive.reader import require_outside_archives

    require_outside_archives(report)
    with translated(report), report.open("wb") as file:
        yield file


def with_work(command: Command) -> Command:
    """Add ``--report`` and the options of :func:`with_pool`; the command gets a :class:`FleetWork` as ``work``."""

    @click.option(
        "--report",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=message("Write a line of JSON for every archive into FILE."),
    )
    @with_pool()
    @wraps(command)
    def wrapped(*, out: Output, pool: WorkerPool, report: Path | None, config: Path | None, **given: Any) -> Any:
        return command(work=FleetWork(out, pool, report, config), **given)

    return wrapped


@cli_command(
    "site",
    help=message(
        "Make the offline site of every archive below DIR, in its latest/site.\n\n"
        "It skips sites that are up to date, so run it again after an interruption or the next fleet run."
    ),
)
@fleet_argument
@_language_option
@setting_options("timezone", "entry_url", "wait_lock")
@with_work
def site(*, work: FleetWork, root: Path, **given: str | None) -> int:
    """Run ``fleet site``."""
    from exporter.fleet import work as jobs

    return work.run(root, "site", jobs.site, jobs.JobOptions(given, work.config))


@cli_command(
    "verify",
    help=message(
        "Check every archive below DIR, or of a fleet's copy at an address such as s3://bucket/prefix: whether it is "
        "intact, and whether everything was read.\n\n"
        "Exits with 13 when something is damaged, with 3 when an archive is incomplete or cannot be checked. "
        "--report keeps the head of every archive, by which a later copy can be known."
    ),
)
@click.argument("root", metavar="DIR", shell_complete=complete_folders)
@click.option(
    "--quick", is_flag=True, help=message("Sizes and chains, and the sums of files that changed since the last time.")
)
@identity_option
@with_work
def verify(*, work: FleetWork, root: str, quick: bool, identities: tuple[Path, ...]) -> int:
    """Run ``fleet verify``."""
    from exporter.fleet import work as jobs
    from exporter.fleet.local_pool import LocalPool

    if not is_copy(root, identities):
        return work.run(Path(root).absolute(), "verify", jobs.verify, quick, of_captures=True)
    if quick or not isinstance(work.pool, LocalPool):
        raise UsageError(message("A copy is always checked whole, by this process: leave out --quick and --engine."))
    settings_of(work.out, work.config)
    opened = store_at(root, identities)
    names = jobs.copies_of_a_fleet(opened)
    alone = work._replace(pool=LocalPool(1))
    return alone.print_results(opened.place, "verify", jobs.verify_copies(opened, names), len(names))


@cli_command(
    "rebuild",
    help=message(
        "Make latest/ of every archive below DIR again, with the views that exist; versions/ is not touched.\n\n"
        "With --search it makes the indexes of `search` instead, if they are missing or out of date."
    ),
)
@fleet_argument
@click.option("--search", is_flag=True, help=message("Make only search indexes."))
@click.option("--site", flag_value="yes", default=None, help=message("Also make missing sites."))
@click.option("--markdown", flag_value="yes", default=None, help=message("Also make missing Markdown."))
@setting_options("timezone", "entry_url", "wait_lock")
@with_work
def rebuild(*, work: FleetWork, root: Path, search: bool, **given: str | None) -> int:
    """Run ``fleet rebuild``."""
    from exporter.fleet import work as jobs

    name, job = ("search", jobs.search_index) if search else ("rebuild", jobs.rebuild)
    return work.run(root, name, job, jobs.JobOptions(given, work.config))


@cli_command(
    "catalogue",
    epilog=message(
        """\b
Examples:
  blog-exporter fleet catalogue sqlite DIR
  sqlite3 DIR/catalogue.sqlite "SELECT * FROM blogs ORDER BY entries"
  duckdb -c "ATTACH 'DIR/catalogue.sqlite' AS c (TYPE sqlite); FROM c.blogs"
"""
    ),
    help=message(
        "Make tables of all blogs below DIR: blogs, entries, comments, files, versions and runs.\n\n"
        "They are one SQLite database. Run it again to update it: only archives that changed are read. OUT is "
        "DIR/catalogue.sqlite unless you name another place."
    ),
)
@click.argument("form", metavar="sqlite")
@click.argument("root", metavar="DIR", type=PATH)
@click.argument("target", metavar="[OUT]", required=False, type=PATH)
@with_pool()
def catalogue(*, out: Output, form: str, root: Path, target: Path | None, pool: WorkerPool, config: Path | None) -> int:
    """Run ``fleet catalogue``."""
    from exporter.archive.fleet_folder import folders_in, require_fleet
    from exporter.cli.fleet_output import WorkDisplay, report_trouble, trouble_document
    from exporter.fleet.catalogue import update

    if form != "sqlite":
        raise UsageError(
            "A catalogue is an SQLite database, not {form}: use fleet catalogue sqlite. DuckDB opens it with "
            "{attach}, and converts each table with {copy}.",
            form=repr(form),
            attach="ATTACH 'catalogue.sqlite' AS c (TYPE sqlite)",
            copy="COPY c.blogs TO 'blogs.parquet'",
        )
    settings = settings_of(out, config)
    path = root / "catalogue.sqlite" if target is None else target
    require_fleet(root)
    with WorkDisplay(out, folders_in(root)) as display:
        result = update(root, path, settings, pool, SystemClock(), lambda found: display.advance(found.blogs))
    out.document(
        {
            "format": form,
            "catalogue": str(path.absolute()),
            "changed": result.changed,
            "blogs": result.blogs,
            "entries": result.entries,
            "read": result.read,
            "unchanged": result.kept,
            "dropped": result.dropped,
            "troubles": result.troubles,
            "trouble": trouble_document(result.trouble),
        }
    )
    report_trouble(out, result.trouble, result.troubles)
    parts = [
        message_n("{n:,} blog", "{n:,} blogs", result.blogs),
        counted(result.entries, "entry"),
        message_n("{n:,} archive read", "{n:,} archives read", result.read),
        message("{n:,} unchanged", n=result.kept),
    ]
    if result.dropped:
        parts.append(message("{n:,} gone", n=result.dropped))
    out.say("{catalogue}: {parts}.", catalogue=path, parts=listed(parts))
    return 3 if result.troubles else 0


@cli_command(
    "index",
    help=message(
        "Make an index page with links to the sites of all blogs below DIR: DIR/index.html.\n\n"
        "It opens with a double click, lists all blogs, and finds them by their names. Only archives that changed "
        "since the last time are opened."
    ),
)
@fleet_argument
@click.option("--title", default="", metavar="TEXT", help=message("Title of the page."))
@_language_option
@with_pool()
def index(*, out: Output, root: Path, title: str, site_lang: str | None, pool: WorkerPool, config: Path | None) -> int:
    """Run ``fleet index``."""
    from exporter.cli.fleet_output import report_trouble, trouble_document
    from exporter.fleet.index_page import make_index_page

    settings = settings_of(out, config, {"site_lang": site_lang})
    found = make_index_page(root, settings, pool, settings.site_lang or "ja", title)
    counts = found.counts
    out.document(
        {
            "page": str(found.path.absolute()),
            "blogs": counts.blogs,
            "entries": counts.entries,
            "read": counts.read,
            "pages": found.pages,
            "troubles": counts.troubles,
            "trouble": trouble_document(counts.trouble),
        }
    )
    report_trouble(out, counts.trouble, counts.troubles)
    parts = [message_n("{n:,} blog", "{n:,} blogs", counts.blogs), counted(counts.entries, "entry")]
    out.say("{page}: {parts}.", page=found.path, parts=listed(parts))
    return 3 if counts.troubles else 0


@cli_command(
    "search",
    help=message(
        "Find WORDS in all blogs below DIR: titles, bodies, comments and file names.\n\n"
        "Every word must occur as any part of the text. The first search makes an index, which takes as long as "
        "reading all archives; --update adds newer backups to it."
    ),
)
@fleet_argument
@click.argument("words", nargs=-1, required=True)
@search_options
@click.option("--update", is_flag=True, help=message("Update the index first."))
@with_pool(OnLoss.STOP)
def search(
    *, out: Output, root: Path, words: tuple[str, ...], pool: WorkerPool, config: Path | None, **given: Any
) -> int:
    """Run ``fleet search``."""
    from exporter.cli.fleet_output import report_trouble
    from exporter.fleet.local_pool import LocalPool
    from exporter.fleet.search import search as find
    from exporter.fleet.search import update_index
    from exporter.fleet.search_index import made_at
    from exporter.worker import processors

    settings = settings_of(out, config)
    query = query_of(words, given, settings)
    troubles = 0
    if given["update"] or made_at(root) is None:
        updated = update_index(root, settings, pool, SystemClock())
        troubles = updated.troubles
        report_trouble(out, updated.trouble, troubles)
    found = find(root, query, settings, pool.slots if isinstance(pool, LocalPool) else processors())
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
    blogs = message_n("{n:,} blog", "{n:,} blogs", found.blogs)
    parts: list[str] = [message("{hits} in {blogs}", hits=counted(found.total, "hit"), blogs=blogs)]
    if found.total > given["limit"]:
        parts.append(shown_line(query))
    if found.outdated:
        parts.append(message("{n:,} of them changed since: use --update", n=found.outdated))
    if not given["update"]:
        parts.append(message("index of {date}", date=f"{when:%Y-%m-%d %H:%M} UTC"))
    out.say("{parts}.", parts=listed(parts))
    return 3 if troubles else 0
