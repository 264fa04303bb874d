"""Fixtures for all tests. Property tests have no deadline, since a slow machine is not a defect."""

import gc
import os
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from exporter.cli.language import language
from tests.cli.conftest import archive, made, nothing_declared, program
from tests.support import printed
from tests.support.disks import without_waiting
from tests.support.runs import Runs, Zygote

__all__ = ["archive", "made", "nothing_declared", "program"]

# A shell's background process ignores Ctrl-C, and every process started here would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

if language([], os.environ) != "en":
    os.environ["BLOG_EXPORTER_LANG"] = "en"  # tests compare English messages

# The program prints its commands as the shell finds it; tests compare them with its short name.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _children_are_measured_as_their_test_is(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("no_cover"):
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


def pytest_configure() -> None:
    """Collect no garbage while tests are collected: all of these objects live until the end."""
    gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option with which a lane of long tests runs some cases of each."""
    parser.addoption("--cases", type=int, metavar="N", help="run N cases of each test, evenly spread, instead of all")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Leave the first cases of a test with ``sample(cases)`` in its lane, and give the others to the lane thorough.

    Of the lane that is left, ``--cases`` takes some cases of each test that is not ``long``.
    """
    seen: Counter[str] = Counter()
    for item in items:
        sample = item.get_closest_marker("sample")
        if sample is not None:
            function = item.nodeid.partition("[")[0]
            seen[function] += 1
            if seen[function] > sample.args[0]:
                item.add_marker("thorough")
    yield
    most = config.getoption("--cases")
    if most is not None:
        by_test: defaultdict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            if item.get_closest_marker("long") is None:
                by_test[item.nodeid.partition("[")[0]].append(item)
        chosen = {cases[len(cases) * number // most] for cases in by_test.values() for number in range(most)}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]


def pytest_collection_finish() -> None:
    """Collect garbage in tests, without looking at the tests themselves again and again."""
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors, because some tests wait for late responses. In CI, other lanes use that time."""
    return (os.cpu_count() or 1) + (not os.environ.get("CI"))


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Skip fsync in this process; tests of power cuts use separate processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", without_waiting)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_ones_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the settings of the person who runs the tests away from the tests, and unchanged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _printed_commands_are_recorded() -> None:
    printed.record()


@pytest.fixture(autouse=True)
def _printed_commands(request: pytest.FixtureRequest) -> None:
    """Run the commands that the program prints in the short tests, but not in those that count what services receive."""
    others = ("counts_requests", "thorough", "slow", "importers", "browser", "packages", "bench")
    printed.pause(paused=any(map(request.node.get_closest_marker, others)))


@pytest.fixture(autouse=True)
def _no_scheduler_of_ones_own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the crontab of the person who runs the tests away from tests in this process."""
    if "machine_with_programs" not in request.fixturenames and not request.node.get_closest_marker("importers"):
        monkeypatch.setattr("exporter.schedule.programs.run", lambda *_, **__: None)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One process to fork for all tests, so that hundreds of runs need not import the program again."""
    with Zygote() as started:
        yield started


@pytest.fixture
def runs(zygote: Zygote, tmp_path: Path) -> Iterator[Runs]:
    """Run the real command in separate processes."""
    with Runs(tmp_path / "process", zygote) as started:
        yield started
