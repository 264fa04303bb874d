"""A backup in one call: the service is opened for it, and closed after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.arguments import checked
from exporter.crawl.outcome import Outcome
from exporter.http.engine import Engine
from exporter.http.retry import RetryEvent
from exporter.library.backup import Backup, BackupEvent, backup, open_service
from exporter.library.naming import present_name
from exporter.library.running import run_alone
from exporter.settings import Settings

if TYPE_CHECKING:
    from exporter.source.export_files import ExportFiles


@checked
@asynccontextmanager
async def open_backup(
    archive: Path | str,
    blog_id: str,
    settings: Settings,
    *,
    files: ExportFiles | None = None,
    engine: Engine | None = None,
    accept_removals: bool = False,
    accept_join: bool = False,
    retry_lost: bool = False,
    accept_doubtful: bool = False,
    dry_run: bool = False,
    warn: Callable[[str], None] = lambda _: None,
    on_retry: Callable[[RetryEvent], None] = lambda _: None,
) -> AsyncIterator[Backup]:
    """Open the service of a blog and yield its backup; iterating over that does the work and yields the events.

    Leaving the ``async with`` early releases the archive's lock, and the next backup resumes.

    Args:
        archive: the archive's folder; the first backup that gets an answer makes it.
        blog_id: the blog, such as ``NAME.blog.example.jp``.
        settings: the address of the service, the parts to read, and the views to keep.
        files: the export files to read instead of a service, from ``find_export_files``.
        engine: sends the requests. The blogs of one engine share connections and rate limits. ``None`` makes a new one.
        accept_removals: record removals even if a large part of the blog is gone.
        accept_join: join a second source even if it has hardly any entry of the archive.
        retry_lost: request pictures again that were gone.
        accept_doubtful: confirm stored pictures that contradict their records.
        dry_run: only read the lists, and write nothing.
        warn: called with a sentence if the token would travel unencrypted, or others can read a stored sign-in.
        on_retry: called when a retry was scheduled.

    Raises:
        UsageError: an argument or setting is invalid, the service is unknown, or the archive is of another blog.
        NoArchive: the folder holds other files.
    """
    archive = Path(archive)
    name = present_name(archive, settings)
    renamed_to = None if name is None or files is not None else name.blog_id
    async with open_service(
        blog_id, settings, files=files, renamed_to=renamed_to, engine=engine, warn=warn, on_retry=on_retry
    ) as service:
        made = backup(
            archive,
            service,
            settings,
            accept_removals=accept_removals,
            accept_join=accept_join,
            retry_lost=retry_lost,
            accept_doubtful=accept_doubtful,
            dry_run=dry_run,
            name=name,
        )
        async with made:
            yield made


@checked
def backup_blog(
    archive: Path | str,
    blog_id: str,
    settings: Settings,
    *,
    files: ExportFiles | None = None,
    accept_removals: bool = False,
    accept_join: bool = False,
    retry_lost: bool = False,
    accept_doubtful: bool = False,
    dry_run: bool = False,
    on_event: Callable[[BackupEvent], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
    on_retry: Callable[[RetryEvent], None] = lambda _: None,
) -> Outcome:
    """Back up a blog, and return the outcome: ``exit_code``, ``version``, ``problems`` and more.

    The outcome's ``exit_code`` is 3 if some records could not be read. SIGINT ends the backup with
    ``KeyboardInterrupt``, and so does an error of ``on_event`` with that error. The next backup resumes.

    Args:
        archive: as the others, as for :func:`open_backup`.
        blog_id: the blog, such as ``NAME.blog.example.jp``.
        settings: the address of the service, the parts to read, and the views to keep.
        files: the export files to read instead of a service.
        accept_removals: record removals even if a large part of the blog is gone.
        accept_join: join a second source even if it has hardly any entry of the archive.
        retry_lost: request pictures again that were gone.
        accept_doubtful: confirm stored pictures that contradict their records.
        dry_run: only read the lists, and write nothing.
        on_event: called with each event.
        warn: called with a sentence about each problem of the sign-in.
        on_retry: called when a retry was scheduled.

    Raises:
        UsageError: as for :func:`open_backup`, or an event loop runs already.
        BlogExporterError: nothing was saved.
    """

    async def run() -> Outcome:
        async with open_backup(
            archive,
            blog_id,
            settings,
            files=files,
            accept_removals=accept_removals,
            accept_join=accept_join,
            retry_lost=retry_lost,
            accept_doubtful=accept_doubtful,
            dry_run=dry_run,
            warn=warn,
            on_retry=on_retry,
        ) as made:
            async for event in made:
                on_event(event)
        return made.outcome

    return run_alone(run, "backup_blog", "open_backup")
