from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives of these tests need not outlive a power cut; what happens at each fsync is tested in a child process."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
