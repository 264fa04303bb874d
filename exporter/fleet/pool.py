"""The interface of worker pools, and the function that runs calls in one.

:mod:`exporter.fleet.local_pool` starts processes on this machine; :mod:`exporter.fleet.dask_pool` uses a Dask cluster.
A worker that dies loses only the call that it was running.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from exporter.archive.atomic import translate
from exporter.errors import BlogExporterError, NoMemory
from exporter.message import message

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")
Lost: TypeAlias = Callable[[Argument, str], Answer]
"""Return the answer for an argument that killed its worker twice, and how the worker died the second time."""

TASKS_PER_SLOT: Final = 2
"""Tasks submitted per worker slot: one running, one ready."""
POLL_SECONDS: Final = 1.0


class Returned(NamedTuple):
    """The value that a call returned."""

    value: Any


class Raised(NamedTuple):
    """The error that a call raised."""

    error: BlogExporterError


class Died(NamedTuple):
    """The worker died during the call; ``how`` is a signal's name or another hint, perhaps empty."""

    how: str


Outcome: TypeAlias = Returned | Raised | Died


class WorkerPool(Protocol):
    """Runs functions of this program in other processes; enter it before use, leave it to end all calls.

    Attributes:
        slots: calls at a time, as far as known; at least 1.
        runs_here: whether one process is enough, so that calls may run in this one.
        dashboard: the address of a page that shows the work; ``None`` without one.
    """

    slots: int
    runs_here: bool
    dashboard: str | None

    def submit(self, number: int, work: Callable[[Any], Any], argument: Any) -> None:
        """Queue a call of a module-level function; the argument must be picklable."""

    def done(self, seconds: float) -> list[tuple[int, Outcome]]:
        """Return the calls that ended, by number, after waiting up to ``seconds`` for the first.

        Raises:
            BlogExporterError: no worker can run anything.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


def results_as_completed(
    pool: WorkerPool,
    work: Callable[[Argument], Answer],
    arguments: Iterable[Argument],
    *,
    lost: Lost[Argument, Answer] | None = None,
) -> Generator[Answer]:
    """Yield the result of a function for each argument, in the order of completion.

    Args:
        pool: runs the calls; entered and left here.
        work: a module-level function or a partial. If its worker dies, it may be called twice.
        arguments: read one by one as the pool has room.
        lost: if given, an argument whose worker died is tried again at the end, while nothing else runs. If that
            worker dies too, this function gives the answer.

    Raises:
        BlogExporterError: a call raised it, a worker died and there is no ``lost``, or no worker can run anything.
    """
    if pool.runs_here and lost is None:
        yield from map(work, arguments)
        return
    calls: _Calls[Argument, Answer] = _Calls(pool, work, may_die=lost is not None)
    with pool:
        for argument in arguments:
            calls.submit(argument)
            while len(calls.running) >= TASKS_PER_SLOT * pool.slots:
                yield from calls.answers()
        while calls.running:
            yield from calls.answers()
        quarantined, calls.died = calls.died, []
        for argument, _ in quarantined:
            calls.submit(argument)
            while calls.running:
                yield from calls.answers()
        for argument, how in calls.died:
            if lost is not None:
                yield lost(argument, how)


class _Calls(Generic[Argument, Answer]):
    """The unanswered calls of a pool.

    Attributes:
        running: their arguments.
        died: arguments whose worker died, with the cause.
    """

    def __init__(self, pool: WorkerPool, work: Callable[[Argument], Answer], *, may_die: bool) -> None:
        self._pool = pool
        self._work = work
        self._may_die = may_die
        self._numbers = count()
        self.running: dict[int, Argument] = {}
        self.died: list[tuple[Argument, str]] = []

    def submit(self, argument: Argument) -> None:
        number = next(self._numbers)
        self.running[number] = argument
        self._pool.submit(number, self._work, argument)

    def answers(self) -> Iterator[Answer]:
        """Wait for calls to end, and yield their results."""
        for number, outcome in self._pool.done(POLL_SECONDS):
            argument = self.running.pop(number)
            if isinstance(outcome, Raised):
                raise outcome.error
            if isinstance(outcome, Returned):
                yield outcome.value
            elif self._may_die:
                self.died.append((argument, outcome.how))
            else:
                raise worker_died_error(outcome.how)


def worker_died_error(how: str) -> BlogExporterError:
    """Return the error for a worker that died before its work was done."""
    return BlogExporterError(
        "A worker process ended before its work was done{reason}; run the command again, "
        "with fewer --workers where memory is short.",
        reason=how and f" ({how})",
    )


def called(call: bytes) -> Outcome:
    """Run a pickled pair of function and argument, in a worker."""
    try:
        work, argument = pickle.loads(call)  # noqa: S301 - our own process wrote it
        return Returned(work(argument))
    except Exception as failure:  # noqa: BLE001 - the calling process reports it
        return Raised(error_of(failure))


def error_of(failure: Exception) -> BlogExporterError:
    """Return the error to report for any failure of a call."""
    if isinstance(failure, BlogExporterError):
        return failure
    if isinstance(failure, MemoryError):
        return NoMemory()
    if isinstance(failure, OSError):
        return translate(failure, message("a file"))
    return BlogExporterError("Unexpected: {kind}: {reason}", kind=type(failure).__name__, reason=str(failure))
