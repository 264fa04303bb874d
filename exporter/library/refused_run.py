"""A run that ended before it began still leaves its line in ``runs.jsonl``, so that ``status`` learns of it.

A wrong setting or a missing sign-in ends a backup before it reads anything. Without this line, ``status`` would judge
the last run that began, night after night.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from exporter.archive.documents import append_run
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.reader import is_archive
from exporter.clock import SystemClock, timestamp
from exporter.crawl.outcome import Outcome
from exporter.errors import ArchiveLocked, BlogExporterError, Interrupted, UsageError
from exporter.message import message

_NO_RUN: Final = (ArchiveLocked, Interrupted)
"""Another run has the archive and leaves its own line, or a person ended this one."""

_A_SETTING: Final = message("a setting is wrong; run the backup at a terminal to see which")


@contextmanager
def recording_refusal(root: Path, *, unattended: bool, dry_run: bool) -> Iterator[None]:
    """Do a backup; if it fails and left no line in the archive's ``runs.jsonl``, write one.

    Args:
        root: the archive, which need not exist.
        unattended: whether ``-q`` was given. Otherwise a usage error is a typing error and not recorded.
        dry_run: whether nothing may be written.
    """
    if dry_run:
        yield
        return
    layout, begun = Layout(root), SystemClock().now()
    size = _size(layout)
    try:
        yield
    except BlogExporterError as error:
        typed = isinstance(error, UsageError) and not unattended
        if not typed and not isinstance(error, _NO_RUN):
            with suppress(BlogExporterError, OSError):
                _record(layout, error, timestamp(begun), size)
        raise


def _size(layout: Layout) -> int:
    try:
        return layout.runs.lstat().st_size
    except OSError:
        return 0


def _record(layout: Layout, error: BlogExporterError, begun: str, size: int) -> None:
    if not is_archive(layout):
        return
    now = SystemClock().now()
    with ArchiveLock(layout.lock) as lock:
        lock.acquire(now)
        if _size(layout) == size:
            # The message may quote a secret that the user typed, and no secret may reach the archive.
            reason = _A_SETTING if isinstance(error, UsageError) else str(error)
            append_run(layout, Outcome(begun, timestamp(now), exit_code=error.exit_code, error=reason).line())
