"""Processes that work beside this one: what they answer, how they die, and what that costs."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from exporter.errors import BlogExporterError
from exporter.fleet import workers
from exporter.fleet.workers import LocalHands
from exporter.processors import processors
from tests.fleet.calls import buried, deadly, deaf, doubled, refused, slow


def test_every_argument_is_answered_by_some_process_that_keeps_to_one_processor() -> None:
    found = list(LocalHands(2).each_done(doubled, range(40)))
    assert sorted(answer for answer, _, _ in found) == list(range(0, 80, 2))
    assert os.getpid() not in {process for _, process, _ in found}
    assert {used for _, _, used in found} == {1}
    assert list(LocalHands(1).each_done(doubled, range(2))) == [
        (0, os.getpid(), processors()),
        (2, os.getpid(), processors()),
    ]


def test_what_a_call_raises_ends_the_work() -> None:
    with pytest.raises(BlogExporterError, match="ValueError: no threes"):
        list(LocalHands(2).each_done(refused, range(9)))


@pytest.mark.no_cover
def test_a_process_that_dies_loses_one_argument_which_is_tried_once_more(tmp_path: Path) -> None:
    found = list(LocalHands(2).each_done(partial(deadly, tmp_path), range(1, 31), lost=buried))
    assert sorted(found) == sorted([*(number for number in range(1, 31) if number % 7), 14, -7, -21, -28])


@pytest.mark.no_cover
def test_suspects_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_SUSPECTS", 1)
    assert list(LocalHands(1).each_done(partial(deadly, tmp_path), [7, 1, 2], lost=buried)).index(-7) < 2


@pytest.mark.no_cover
def test_without_a_word_for_the_lost_a_death_ends_the_work(tmp_path: Path) -> None:
    with pytest.raises(BlogExporterError, match=r"ended before its work was done \(SIGKILL\)"):
        list(LocalHands(2).each_done(partial(deadly, tmp_path), [1, 7, 2, 3]))


@pytest.mark.no_cover
@pytest.mark.parametrize(("work", "left"), [(slow, "tidied"), (deaf, "begun")])
def test_leaving_ends_what_is_under_way_within_seconds(
    tmp_path: Path, work: Callable[[Path, int], int], left: str
) -> None:
    found = LocalHands(2).each_done(partial(work, tmp_path), iter(range(8)), lost=buried)
    monitor = _Monitor(tmp_path)
    with pytest.raises(KeyboardInterrupt), monitor:
        next(found)
    assert time.monotonic() - monitor.at < 5
    assert len(list(tmp_path.glob(f"{left}*"))) == 2
    for each in tmp_path.glob("begun-*-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(each.name.split("-")[-1]), 0)


class _Monitor:
    """Interrupts this process when two calls have begun, as Ctrl-C does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.at = 0.0

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _look(self, *_: object) -> None:
        if len(list(self._folder.glob("begun*"))) == 2:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.at = time.monotonic()
            raise KeyboardInterrupt


@pytest.mark.no_cover
def test_processes_that_cannot_start_are_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BlogExporterError, match="No worker process can be started"):
        list(LocalHands(2).each_done(doubled, range(4)))
