"""Work on every archive of a fleet, in many processes: sites, exports, verification, ``latest/``, search indexes.

Whatever is wrong with one archive is said of it and keeps no other from its turn, also where it ends the process that
works on it. No list of the archives is held: a million take the memory of one folder's names.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import FoundArchive, archives_in, open_archive, shards_in
from exporter.errors import ArchiveDamaged, BlogExporterError, Incomplete, NoMemory, NoSpace, UsageError
from exporter.fleet.archive_jobs import Done
from exporter.fleet.workers import Hands
from exporter.message import message, message_n, said

MADE: Final = "made"
CURRENT: Final = "up_to_date"
EMPTY: Final = "empty"
FAILED: Final = "failed"
STATES: Final = (MADE, CURRENT, EMPTY, FAILED)

_NAMED: Final = 1000
_REFUSED: Final = 20
"""Where so many archives at the beginning are refused as a mistake in usage, and nothing else, it is one."""
Options = TypeVar("Options")


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """What came of one archive.

    Attributes:
        blog_id: its blog, by the folder's name.
        path: its folder, or the address of a copy of it.
        state: ``made``, ``up_to_date``, ``empty`` where no version is in it yet, or ``failed``.
        exit_code: what the command for this archive alone would have ended with.
        kind: the class of the error; ``None`` for none.
        reason: what the error says.
        facts: what there is to say of the archive, as JSON shows it.
        seconds: how long it took.
        cpu_seconds: the processor's time, of that process.
    """

    blog_id: str
    path: Path | str
    state: str
    exit_code: int = 0
    kind: str | None = None
    reason: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        return {
            "blog_id": self.blog_id,
            "archive": str(self.path),
            "state": self.state,
            "exit_code": self.exit_code,
            "kind": self.kind,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
            **self.facts,
        }


def do(job: Callable[[Archive, Options], Done], options: Options, found: FoundArchive) -> ArchiveResult:
    """Do a job with one archive; whatever goes wrong is in what is returned.

    All arguments and the result pickle, so any process that sees the fleet's folder can be asked for it.
    """

    def work() -> Done | None:
        archive = open_archive(found)
        return None if archive.newest() is None else job(archive, options)

    return result_of(found.blog_id, found.path, work)


def result_of(blog_id: str, path: Path | str, work: Callable[[], Done | None]) -> ArchiveResult:
    """Do something with an archive; whatever goes wrong is in what is returned.

    Args:
        blog_id: its blog.
        path: where it is.
        work: what is to be done; returns ``None`` where the archive has no version yet.
    """
    begun, cpu = time.monotonic(), time.process_time()
    done: Done | None = None
    error: BlogExporterError | None = None
    try:
        done = work()
        error = None if done is None else done.problem
    except BlogExporterError as failure:
        error = failure
    except MemoryError:
        error = NoMemory()
    except Exception as failure:  # noqa: BLE001 - whatever it is, the other archives have their turn
        text = message("Unexpected: {kind}: {reason}", kind=type(failure).__name__, reason=str(failure))
        error = BlogExporterError(text)
    state = EMPTY if done is None else MADE if done.made else CURRENT
    return ArchiveResult(
        blog_id,
        path,
        FAILED if error is not None else state,
        0 if error is None else error.exit_code,
        None if error is None else type(error).__name__,
        None if error is None else said(error),
        {} if done is None else done.facts,
        time.monotonic() - begun,
        time.process_time() - cpu,
    )


def lost(found: FoundArchive, how: str) -> ArchiveResult:
    """Return what came of an archive with which two processes died."""
    text = message(
        "The process that worked on it died twice, the second time with no other beside it ({how}): "
        "it may need more memory.",
        how=how or message("it did not say why"),
    )
    return ArchiveResult(
        found.blog_id, found.path, FAILED, BlogExporterError.exit_code, BlogExporterError.__name__, text
    )


def work_over(
    root: Path, job: Callable[[Archive, Options], Done], options: Options, hands: Hands
) -> Generator[ArchiveResult]:
    """Yield what comes of each archive of a fleet, in any order.

    Args:
        root: the fleet's folder.
        job: a function of a module.
        options: what it takes; pickles.
        hands: who does it.

    Raises:
        NoSpace: the disk is full, also for all others.
        UsageError: the options cannot be right for any archive.
        BlogExporterError: nobody can do the work.
    """
    archives = (found for shard in shards_in(root) for found in archives_in(root, shard))
    refused = 0
    with closing(hands.each_done(partial(do, job, options), archives, lost=lost)) as results:
        for done, result in enumerate(results, 1):
            yield result
            refused += result.kind == UsageError.__name__
            if refused == done == _REFUSED:
                raise UsageError(
                    message("Every archive was refused, the last one so: {reason}", reason=result.reason or "")
                )
            if result.kind == NoSpace.__name__:
                raise NoSpace(result.reason or "")


class WorkTally:
    """Counts results, and keeps the first thousand failures.

    Attributes:
        states: how many archives are in which state.
        codes: how many failed with which exit code.
        failures: those that are named.
        sums: of every number that the results tell, but versions.
        cpu_seconds: the processor's time of all.
    """

    def __init__(self) -> None:
        self.states: Counter[str] = Counter(dict.fromkeys(STATES, 0))
        self.codes: Counter[int] = Counter()
        self.failures: list[ArchiveResult] = []
        self.sums: Counter[str] = Counter()
        self.cpu_seconds = 0.0

    @property
    def archives(self) -> int:
        """How many archives there were."""
        return self.states.total()

    def count(self, result: ArchiveResult) -> None:
        """Count a result."""
        self.states[result.state] += 1
        self.cpu_seconds += result.cpu_seconds
        for name, value in result.facts.items():
            if isinstance(value, int) and not isinstance(value, bool) and name != "version":
                self.sums[name] += value
        if result.state == FAILED:
            self.codes[result.exit_code] += 1
            if len(self.failures) < _NAMED:
                self.failures.append(result)

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON shows it."""
        return {
            "archives": self.archives,
            **{state: self.states[state] for state in STATES},
            "exit_codes": {str(code): count for code, count in sorted(self.codes.items())},
            "sums": dict(self.sums),
            "failures": [each.document() for each in self.failures],
            "failures_not_named": self.states[FAILED] - len(self.failures),
        }

    def problem(self) -> BlogExporterError | None:
        """Return what the command ends with: damage where there is any, else that something failed."""
        damaged = self.codes[ArchiveDamaged.exit_code]
        if damaged:
            return ArchiveDamaged(
                message_n(
                    "{n:,} archive is damaged: verify it by itself, then verify --repair, or save its blog again.",
                    "{n:,} archives are damaged: verify each by itself, then verify --repair, or save its blog again.",
                    damaged,
                )
            )
        if self.states[FAILED]:
            return Incomplete(
                message_n(
                    "{n:,} archive failed: see why above, then run the same command again.",
                    "{n:,} archives failed: see why above, then run the same command again.",
                    self.states[FAILED],
                )
            )
        return None
