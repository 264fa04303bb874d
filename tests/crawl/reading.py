"""Invented readings of runs, for tests of the assessment of completeness."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from exporter.crawl.ingest import BackupSettings, EntryCounts, Ingest, Unread
from exporter.crawl.kept_out import KeptOut
from exporter.crawl.sweep import SweepResult
from exporter.model.kinds import Kind
from exporter.service.blog_v1 import BlogV1

NONE = EntryCounts(0, 0, 0)


def reading(
    sweeps: dict[Kind, SweepResult],
    *,
    number_of_sweeps: int = 2,
    entries: EntryCounts = NONE,
    unread: dict[str, str] | None = None,
    short_comments: dict[str, int] | None = None,
    user: Any = None,
    strict_assets: bool = False,
) -> Ingest:
    """Return a reading in which nothing else is missing."""
    made = SimpleNamespace(
        sweeps=[sweeps] * number_of_sweeps,
        count_entries=lambda: entries,
        unread={entry_id: Unread(reason, 0) for entry_id, reason in (unread or {}).items()},
        short_comments=lambda: short_comments or {},
        extra_comments=dict,
        doubts=dict,
        user_failure=user,
        other_user=False,
        contradicted=[],
        not_asked=0,
        shortages={},
        textless=set(),
        kept_out=KeptOut(),
        service=BlogV1(),
        settings=BackupSettings("b.example.jp", "https://api.example.jp", strict_assets=strict_assets),
    )
    return cast("Ingest", made)
