"""Who does the work of a command over a fleet: ``--workers`` of this machine, or ``--engine dask``."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.cli.help import option
from exporter.errors import UsageError
from exporter.message import message

if TYPE_CHECKING:
    from exporter.fleet.workers import Hands

_KEPT: Final = message("what was made is kept; run the same command again to go on")
_SHARED: Final = ("root", "target")
"""Folders that the work reads or writes, by the names of parameters."""
_Command = Callable[..., Any]


def with_hands(command: _Command) -> _Command:
    """Add ``--workers``, ``--engine`` and ``--scheduler``, and hand the command a :class:`Hands` as ``hands``.

    Both signals end it with what was made kept. For a cluster all paths are absolute, since its workers may have been
    started in any folder.
    """

    @option(
        "--workers",
        type=click.IntRange(1, 256),
        metavar="N",
        help=message("How many processes work. [default: one for each processor]"),
    )
    @option(
        "--engine",
        type=click.Choice(["local", "dask"]),
        default="local",
        help=message("Work in processes of this machine, or in a cluster by Dask, which the extra fleet installs."),
    )
    @option(
        "--scheduler",
        metavar="URL",
        help=message("Dask: a scheduler such as tcp://10.0.0.5:8786, with its workers."),
    )
    @wraps(command)
    def wrapped(*, workers: int | None, engine: str, scheduler: str | None, **given: Any) -> Any:
        from exporter.cli.signals import catch_signals

        if engine == "dask":
            given = {name: value.absolute() if isinstance(value, Path) else value for name, value in given.items()}
        hands = _hands(given, workers, engine, scheduler)
        with catch_signals(lambda: _KEPT):
            return command(hands=hands, **given)

    return wrapped


def _hands(given: dict[str, Any], workers: int | None, engine: str, scheduler: str | None) -> Hands:
    from exporter.fleet.workers import LocalHands
    from exporter.processors import processors

    if engine == "dask":
        from exporter.clock import SystemClock
        from exporter.fleet.dask_hands import DaskHands
        from exporter.fleet.dask_link import check_dask
        from exporter.settings import shared_variables

        check_dask(workers, scheduler)
        root, *places = (given[name] for name in _SHARED if given.get(name) is not None)
        environ = shared_variables(os.environ)
        return DaskHands(root, places, environ, SystemClock(), workers=workers, scheduler=scheduler)
    if scheduler is not None:
        raise UsageError(message("--scheduler is of the engine dask: add --engine dask."))
    return LocalHands(workers or processors())
