"""``fleet site``, ``fleet verify``, ``fleet rebuild``: what one archive takes, done with every archive of a fleet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import click

from exporter.cli.copy_options import StoreChoice, is_place_of_copies, places, store_options
from exporter.cli.fleet_hands import with_hands
from exporter.cli.help import option
from exporter.cli.options import config_option, setting_options, with_output
from exporter.cli.output import Output, shown, time_text
from exporter.errors import UsageError
from exporter.message import listed, message, message_n
from exporter.text import printable

if TYPE_CHECKING:
    from typing import BinaryIO

    from exporter.fleet.work import ArchiveResult, WorkTally
    from exporter.fleet.workers import Hands

_LINE_SECONDS: Final = 10.0
_NAMED: Final = 100
_REASON: Final = 300
_Command = Callable[..., Any]


def work_options(command: _Command) -> _Command:
    """Add what every work over a fleet takes: who does it, ``--report``, ``--config`` and those of outputs."""
    for add in (
        with_output(),
        config_option,
        option(
            "--report",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help=message("Write a line of JSON for every archive into FILE."),
        ),
        with_hands,
    ):
        command = add(command)
    return command


def _folder_or_copy(_context: click.Context, _parameter: click.Parameter, place: str) -> Path | str:
    return place if is_place_of_copies(place) else Path(place)


fleet_argument = click.argument("root", metavar="DIR", type=click.Path(path_type=Path))


@click.command(
    "site",
    help=message(
        "Make the offline site of every archive below DIR, in its latest/site.\n\n"
        "A site that is up to date stays as it is, so run it again after an interruption or the next fleet run."
    ),
)
@fleet_argument
@option(
    "--lang",
    "site_lang",
    type=click.Choice(["ja", "en"]),
    help=message("Language of the interface; kept. [default: ja]"),
)
@setting_options("timezone", "entry_url", "wait_lock")
@work_options
def site(
    *, out: Output, root: Path, hands: Hands, report: Path | None, config: Path | None, **given: str | None
) -> int:
    """Run ``fleet site``."""
    from exporter.fleet import archive_jobs

    options = archive_jobs.JobOptions(given, config)
    return work(out, root, "site", archive_jobs.site, options, hands, report, config)


@click.command(
    "verify",
    help=message(
        "Check every archive below DIR, or of a fleet's copy at an address such as s3://bucket/prefix: whether it is "
        "intact, and whether everything was read.\n\n"
        "Exits with 13 when something is damaged, with 3 when an archive is incomplete or cannot be checked. "
        "--report keeps the head of every archive, by which a later copy can be known."
    ),
)
@click.argument("root", metavar="DIR", callback=_folder_or_copy, shell_complete=places)
@option(
    "--quick", is_flag=True, help=message("Sizes and chains, and the sums of files that changed since the last time.")
)
@store_options()
@work_options
def verify(
    *,
    out: Output,
    root: Path | str,
    quick: bool,
    store: StoreChoice,
    hands: Hands,
    report: Path | None,
    config: Path | None,
) -> int:
    """Run ``fleet verify``."""
    if isinstance(root, str) or store.is_copy(str(root)):
        return _verify_copies(out, str(root), quick=quick, store=store, hands=hands, report=report, config=config)
    from exporter.fleet import archive_jobs

    options = archive_jobs.VerifyOptions(quick)
    return work(out, root, "verify", archive_jobs.verify, options, hands, report, config)


@click.command(
    "rebuild",
    help=message(
        "Make latest/ of every archive below DIR again, with the views that are there; versions/ is not touched.\n\n"
        "With --search it makes the indexes that `search` uses instead, where they are missing or out of date."
    ),
)
@fleet_argument
@option("--search", is_flag=True, help=message("Make search indexes, and nothing else."))
@option("--site", flag_value="yes", default=None, help=message("Also a site where there is none."))
@option("--markdown", flag_value="yes", default=None, help=message("Also Markdown where there is none."))
@setting_options("timezone", "entry_url", "wait_lock")
@work_options
def rebuild(
    *,
    out: Output,
    root: Path,
    search: bool,
    hands: Hands,
    report: Path | None,
    config: Path | None,
    **given: str | None,
) -> int:
    """Run ``fleet rebuild``."""
    from exporter.fleet import archive_jobs

    job = archive_jobs.search_index if search else archive_jobs.rebuild
    name = "search" if search else "rebuild"
    return work(out, root, name, job, archive_jobs.JobOptions(given, config), hands, report, config)


def _verify_copies(
    out: Output,
    place: str,
    *,
    quick: bool,
    store: StoreChoice,
    hands: Hands,
    report: Path | None,
    config: Path | None,
) -> int:
    """Check the copies of a fleet's archives, one after the other."""
    from exporter.fleet.copy_checks import copies_of_a_fleet, verify_copies
    from exporter.fleet.workers import LocalHands

    if quick or not isinstance(hands, LocalHands):
        raise UsageError(message("A copy is always checked whole, by this process: leave out --quick and --engine."))
    _adopt(out, config)
    opened = store.open(place)
    names = copies_of_a_fleet(opened)
    return _tell(out, opened.place, "verify", verify_copies(opened, names), len(names), 1, report)


def work(
    out: Output,
    root: Path,
    name: str,
    job: Callable[[Any, Any], Any],
    options: Any,
    hands: Hands,
    report: Path | None,
    config: Path | None,
    more: dict[str, Any] | None = None,
) -> int:
    """Do a job with every archive of a fleet, and tell what came of it.

    Args:
        out: how the command talks.
        root: the fleet's folder.
        name: what the work is called in JSON.
        job: a function of :mod:`exporter.fleet.archive_jobs`.
        options: what it takes.
        hands: who does it.
        report: where a line for every archive goes.
        config: the settings file asked for.
        more: what else JSON shows.

    Raises:
        NoArchive: there is no fleet.
        ArchiveDamaged, Incomplete: archives are damaged, or failed.
        Interrupted: it was stopped.
    """
    from exporter.archive.fleet_folder import folders_in, require_fleet
    from exporter.fleet.work import work_over

    _adopt(out, config)
    require_fleet(root)
    with contextlib.closing(work_over(root, job, options, hands)) as results:
        return _tell(out, str(root.absolute()), name, results, folders_in(root), hands.workers, report, more)


def _adopt(out: Output, config: Path | None) -> None:
    """Speak the language that the settings name."""
    from exporter.cli.language import adopt
    from exporter.settings import resolve

    adopt(resolve({}, config=config, warn=out.warn))


def _tell(
    out: Output,
    place: str,
    name: str,
    results: Iterator[ArchiveResult],
    total: int,
    workers: int,
    report: Path | None,
    more: dict[str, Any] | None = None,
) -> int:
    """Tell what comes of each archive, and of all."""
    from exporter.fleet.work import WorkTally

    tally, begun = WorkTally(), time.monotonic()
    with _lines(report) as lines, WorkDisplay(out, total) as display:
        for result in results:
            tally.count(result)
            display.handle(result, tally)
            if lines is not None:
                from exporter import lossless_json

                lines.write(lossless_json.dumps(result.document()) + b"\n")
    seconds = time.monotonic() - begun
    out.document(
        {
            "fleet": place, "work": name, "workers": workers, "seconds": round(seconds, 1),
            "cpu_seconds": round(tally.cpu_seconds, 1), **tally.document(), **(more or {}),
        }
    )  # fmt: skip
    for line in summary_lines(tally, seconds):
        out.say(line)
    problem = tally.problem()
    if problem is not None:
        raise problem
    return 0


@contextlib.contextmanager
def _lines(report: Path | None) -> Iterator[BinaryIO | None]:
    if report is None:
        yield None
        return
    from exporter.archive.atomic import translated
    from exporter.archive.reader import require_outside_archives

    require_outside_archives(report)
    with translated(report), report.open("wb") as file:
        yield file


class WorkDisplay:
    """Shows how far the work is: a bar on a terminal, elsewhere a line every ten seconds, and failures as they come.

    Args:
        out: how the command talks.
        total: how many folders there are, some of which may hold no archive.
    """

    def __init__(self, out: Output, total: int) -> None:
        from exporter.cli.progress import ProgressBar

        self._out = out
        self._total = total
        self._bar = ProgressBar(out, message("archives"))
        self._begun = time.monotonic()
        self._next = self._begun + _LINE_SECONDS
        self._failures = 0

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.__exit__(*failure)

    def handle(self, result: ArchiveResult, tally: WorkTally) -> None:
        """Show a result."""
        if result.reason is not None:
            self._failures += 1
            if self._failures <= _NAMED:
                self._out.answer(failure_line(result))
        done = tally.archives
        self._bar.update(done, max(done, self._total))
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _LINE_SECONDS
            rate = done / (now - self._begun)
            self._out.say(
                message(
                    "{done:,} of {total:,} archives, {rate:.1f} a second; done in {time}.",
                    done=done,
                    total=max(done, self._total),
                    rate=rate,
                    time=time_text(max(0, self._total - done) / rate),
                )
            )


def failure_line(result: ArchiveResult) -> str:
    """Name an archive and what is wrong with it."""
    return message(
        "{archive}: {reason}", archive=printable(str(result.path), _REASON), reason=shown(result.reason or "", _REASON)
    )


def summary_lines(tally: WorkTally, seconds: float) -> Iterator[str]:
    """Yield what is said at the end."""
    from exporter.fleet.work import CURRENT, EMPTY, FAILED, MADE

    states = tally.states
    parts = [
        message_n("{n:,} archive done", "{n:,} archives done", states[MADE]),
        message_n("{n:,} up to date", "{n:,} up to date", states[CURRENT]),
    ]
    if states[EMPTY]:
        parts.append(message_n("{n:,} without a version yet", "{n:,} without a version yet", states[EMPTY]))
    if states[FAILED]:
        parts.append(message_n("{n:,} failed", "{n:,} failed", states[FAILED]))
    rate = tally.archives / seconds if seconds else 0.0
    yield message("{parts}; {time}, {rate:.1f} a second.", parts=listed(parts), time=time_text(seconds), rate=rate)
    if states[FAILED] > _NAMED:
        yield message("The first {n} failures are named above; --report FILE names all.", n=_NAMED)
