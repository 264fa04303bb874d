"""A window with the demo's archive, in an empty home folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import printed
from tests.support.runs import Zygote
from tests.window.forked_jobs import forked_jobs
from tests.window.in_thread import Running, running_window


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, for this process and the jobs that it starts."""
    place = tmp_path / "home"
    place.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(place))
    for name, folder in (("CONFIG", ".config"), ("DATA", ".local/share"), ("STATE", ".state"), ("CACHE", ".cache")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(place / folder))
    return place


@pytest.fixture
def running(home: Path, archive: Path, zygote: Zygote) -> Iterator[Running]:
    """A window that knows the demo's archive."""
    printed.run_with(zygote)
    with forked_jobs(zygote), running_window(home / "window", archive) as window:
        yield window
        assert window.warnings == []
