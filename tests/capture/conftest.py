"""Sites whose pictures are reduced in this process, because these tests look at other things."""

from __future__ import annotations

import pytest

from tests.support.local_worker import LocalWorker


@pytest.fixture(autouse=True)
def _pictures_are_reduced_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.site.thumbnails.Worker", LocalWorker)
