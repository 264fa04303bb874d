"""Plans with paths that are hard to quote, and a machine with the schedulers of a test."""

from __future__ import annotations

from datetime import time
from pathlib import Path

import pytest

from exporter.schedule.plan import NightPlan
from tests.support.schedulers import machine, machine_with_programs

__all__ = ["machine", "machine_with_programs"]

STRANGE = (
    "50% of it",
    "100%%",
    "a\\%b",
    "a\\\\%",
    "a\\\\\\b",
    'it\'s "mine"',
    "$HOME ${HOME} $$",
    "日記 思い出",
    "a;b&c|d>e#f `g`",
    "\\",
    "~",
)
"""Names of folders that a scheduler's file could misread."""


@pytest.fixture(params=STRANGE)
def plan(request: pytest.FixtureRequest) -> NightPlan:
    """A plan with a name that is hard to quote, also in the program's path."""
    return plan_of(request.param)


def plan_of(name: str, program: str = "/opt/{}/blog-exporter") -> NightPlan:
    """Plan a backup into a folder of that name."""
    archive = Path("/home/me") / name
    words = ("backup", "me.blog.example.jp", "--archive", str(archive), "--quiet")
    return NightPlan(archive, "me.blog.example.jp", (program.format(name), *words), time(3, 7))
