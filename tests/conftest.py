"""Fixtures for all tests. Property tests are not timed: a busy machine is no defect."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from exporter.cli.language import language
from tests.cli.conftest import archive, made, program
from tests.support.disks import without_waiting
from tests.support.runs import Runs, Zygote

__all__ = ["archive", "made", "program"]

# A shell gives what it starts in the background a Ctrl-C that is ignored, and every process started here would have that.
signal.signal(signal.SIGINT, signal.default_int_handler)

if language([], os.environ) != "en":
    os.environ["BLOG_EXPORTER_LANG"] = "en"  # tests compare what is said

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _children_are_measured_as_their_test_is(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("no_cover"):
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors: some tests wait, for answers that come late and pauses that are kept."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What is written in this process need not outlive a power cut; tests of that have processes of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", without_waiting)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_ones_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whoever runs the tests keeps their settings, and the tests are not moved by them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One process to fork for all tests, which the hundreds of runs would otherwise import the program for."""
    with Zygote() as started:
        yield started


@pytest.fixture
def runs(zygote: Zygote, tmp_path: Path) -> Iterator[Runs]:
    """Run the real command in processes of its own."""
    with Runs(tmp_path / "process", zygote) as started:
        yield started
