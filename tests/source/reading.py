"""Back up export files through the library, and read the archive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.archive.archive import Archive
from exporter.crawl.events import SourceNotes
from exporter.crawl.outcome import Outcome
from exporter.http.engine import Engine
from exporter.library.backup import OpenService, backup
from exporter.model.kinds import Kind
from exporter.model.records import Comment, Post
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.source.export_files import find_export_files
from exporter.source.file_index import FileClient

BLOG = "umi.example.jp"
SETTINGS = Settings(assets="none", markdown=False, site=False)


@dataclass(frozen=True)
class Saved:
    """The result of a backup.

    Attributes:
        outcome: of the run.
        notes: the parts of the file that fit no rule.
    """

    outcome: Outcome
    notes: tuple[str, ...]


async def back_up(path: Path, root: Path, settings: Settings = SETTINGS, **options: Any) -> Saved:
    """Back up the export file at a path into the archive at ``root``."""
    files = find_export_files(path)
    async with Engine() as engine:
        service = files.format.of(settings).of_file(files.digest())
        client = FileClient(files, service, engine)
        run = backup(root, OpenService(BLOG, service, client), settings, **options)
        notes = [event async for event in run if isinstance(event, SourceNotes)]
    return Saved(run.outcome, notes[0].notes if notes else ())


def posts_in(root: Path) -> dict[str, Post]:
    """Return the entries of an archive."""
    archive = Archive.open(root)
    service = service_of(SETTINGS, archive.info.service)
    return {key: service.post(raw) for key, raw in archive.records(Kind.ENTRIES)}


def comments_in(root: Path) -> dict[str, Comment]:
    """Return the comments of an archive."""
    archive = Archive.open(root)
    service = service_of(SETTINGS, archive.info.service)
    return {key: service.comment(raw) for key, raw in archive.records(Kind.COMMENTS)}
