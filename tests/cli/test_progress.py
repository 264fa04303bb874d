"""A backup's progress: rows on a terminal, sentences elsewhere."""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC
from pathlib import Path

import pytest

from exporter.cli.output import Output
from exporter.cli.progress import progress_for
from exporter.crawl.events import AssetRead, AssetsPlanned, EntriesPlanned, EntryRead, PageRead, RecordFailed
from exporter.demo.content import demo_blog
from exporter.library.backup import BackupEvent
from exporter.model.kinds import Kind
from tests.support.runs import Runs, backup_command, serving
from tests.support.terminal import Terminal

CODES = re.compile("\x1b\\[[0-9;?]*[a-zA-Z]")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.no_cover
def test_pages_and_entries_are_shown_at_once_on_a_terminal(runs: Runs, tmp_path: Path) -> None:
    with serving(demo_blog(), entry_page_size=5, comment_page_size=10, file_page_size=10) as service:
        command = backup_command(service, tmp_path / "archive", "--assets", "none", "--no-site", "--rate", "80")
        terminal = Terminal(runs, [*command, "--no-markdown"], tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
        assert terminal.end() == 0
    frames = [CODES.sub("", frame) for frame in re.split("\r\x1b\\[2K", terminal.shown)]
    both = [frame for frame in frames if "of 12 pages" in frame and "of 60 entries" in frame]
    assert both, terminal.shown
    assert any("read again" in frame and "of 15 pages" in frame for frame in both)
    assert max(len(row) for frame in both for row in frame.splitlines() if "━" in row) <= 80


EVENTS: list[BackupEvent] = [
    PageRead(Kind.FILES, 1, 7, None), PageRead(Kind.ENTRY_LIST, 2, 1, 1), EntriesPlanned(1), EntryRead("1"),
    AssetsPlanned(0, 0, 0), AssetsPlanned(2, 0, 0), AssetRead("https://a.example/1", 9), RecordFailed(Kind.FILES, None, "it is gone"),
]  # fmt: skip


def test_rows_name_their_units_and_totals_that_are_known(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    progress = progress_for(Output(), UTC)
    for event in EVENTS:
        progress.handle(event)
    progress.close()
    shown = CODES.sub("", capsys.readouterr().err)
    for row in ("7 pages", "1 of 1 page read again", "1 of 1 entry", "1 of 2 pictures and files", "! it is gone"):
        assert row in re.sub(" +", " ", shown)


def test_lines_count_pages_entries_and_pictures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = progress_for(Output(), UTC)
    for event in EVENTS:
        progress.handle(event)
    later = time.monotonic() + 11
    monkeypatch.setattr(time, "monotonic", lambda: later)
    progress.handle(EntryRead("2"))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["  ! it is gone", "2 list pages, 2 of 1 entry, 1 of 2 pictures and files read"]
