"""``backup`` and ``fleet run`` obey the same settings, or refuse those that they do not obey."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.fleet.saving import NOT_OBEYED, require_obeyed
from exporter.settings import SETTINGS, Settings
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog


@pytest.fixture(scope="module")
def service() -> Iterator[DemoService]:
    with DemoService(generated_blog(4, 2, 1)).run_in_thread() as served:
        yield served


@contextmanager
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Note the settings that are read, without copies of all and refusals."""
    found: set[str] = set()
    usual, get = Settings.__getattribute__, Settings.get

    def noted(self: Settings, name: str) -> object:
        caller = sys._getframe(1)
        if name in SETTINGS and caller.f_globals["__name__"] != "dataclasses" and caller.f_code is not get.__code__:
            found.add(name)
        return usual(self, name)

    def noted_get(self: Settings, name: str) -> object:
        if sys._getframe(1).f_code is not require_obeyed.__code__:
            found.add(name)
        return get(self, name)

    with monkeypatch.context() as patched:
        patched.setattr(Settings, "__getattribute__", noted)
        patched.setattr(Settings, "get", noted_get)
        yield found


VALUES = {
    "capture": "yes", "closing": "2030-01-01", "on_failure": "true", "ping_url": "https://ping.example/x",
    "remind_after": "1d", "seal": "yes",
}  # fmt: skip
OF_VIEWS = {"entry_url", "site_lang", "site_title"}
"""Settings of the site, which a fleet has only with ``--site``."""
BLOG = "generated.blog.example.jp"


@pytest.fixture
def fleet(service: DemoService, tmp_path: Path) -> list[str]:
    listed = tmp_path / "list.txt"
    listed.write_text(f"{BLOG}\n", encoding="utf-8")
    return ["fleet", "run", str(listed), "--into", str(tmp_path / "fleet"), *options(service), "--tries", "1"]


def options(service: DemoService) -> list[str]:
    return ["--base-url", service.base_url, "--retries", "0", "--assets", "none"]


def test_a_fleet_obeys_what_a_backup_obeys_or_refuses_it(
    program: Program, service: DemoService, fleet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reads(monkeypatch) as of_one:
        done = program("backup", BLOG, "--archive", tmp_path / "one", *options(service), "-q")
        assert done.code == 0, done.err
    with reads(monkeypatch) as of_many:
        done = program(*fleet)
        assert done.code == 0, done.err
    assert of_one - of_many - OF_VIEWS <= set(NOT_OBEYED) == VALUES.keys()
    assert {"capture", "closing", "ping_url", "seal"} <= of_one
    assert of_many - of_one == set()


@pytest.mark.parametrize("source", ["variable", "file", "list"])
def test_a_setting_that_a_fleet_does_not_obey_is_refused(
    program: Program,
    service: DemoService,
    fleet: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
) -> None:
    service.requests.clear()
    for name, value in VALUES.items():
        more: list[str] = []
        with monkeypatch.context() as patched:
            if source == "variable":
                patched.setenv(f"BLOG_EXPORTER_{name.upper()}", value)
            elif source == "file":
                more = ["--config", str(tmp_path / "settings.toml")]
                (tmp_path / "settings.toml").write_text(f'{name} = "{value}"\n', encoding="utf-8")
            else:
                (tmp_path / "list.txt").write_text(f"{BLOG} {name}={value}\n", encoding="utf-8")
            done = program(*fleet, *more)
        assert done.code == 2, name
        (line,) = done.err.splitlines()
        assert name in line.lower()
    assert service.requests == []


def test_a_setting_with_its_default_value_is_not_refused(
    program: Program, fleet: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_CAPTURE", "no")
    assert program(*fleet).code == 0


def test_exchanges_that_would_all_be_left_out_are_refused(
    program: Program, fleet: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_WARC", "yes")
    done = program(*fleet)
    assert done.code != 0
    assert "Nothing says which entries are public" in done.err
    monkeypatch.setenv("BLOG_EXPORTER_PUBLIC_OPEN_FLG", "1")
    assert program(*fleet, "--retry-now").code == 0
