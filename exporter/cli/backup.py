"""How ``backup`` reads pictures and files, from its settings."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from exporter.archive import writer
from exporter.archive.archive import ArchiveReader, is_archive
from exporter.archive.atomic import remove_folder
from exporter.archive.latest import Looked, View, look, read_record
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.cli.options import config_option, flag_options, running, setting_options, without_views
from exporter.cli.output import Output, counted
from exporter.cli.progress import progress_for
from exporter.cli.signals import Signals, caught
from exporter.cli.summary import dry_run_lines, quiet_line, summary_lines
from exporter.cli.views import Refreshed, chosen_views, refresh_latest
from exporter.clock import Clock, SystemClock
from exporter.crawl.assets.fetch import check_fallback
from exporter.crawl.assets.plan import Mode
from exporter.crawl.assets.run import AssetSettings
from exporter.crawl.backup import BackupRun
from exporter.crawl.commit import Outcome, RunSettings
from exporter.crawl.freshness import Refresh
from exporter.crawl.ingest import ReadingSettings
from exporter.errors import ArchiveDamaged, UsageError
from exporter.html.links import AddressPattern
from exporter.http.auth import Credentials
from exporter.http.download import DownloadLimits
from exporter.http.memory import prepare_memory
from exporter.http.retry import RetryPolicy
from exporter.http.transport import TransportOptions
from exporter.model.assumptions import assumptions_of
from exporter.service.blog_v1 import open_api
from exporter.settings import Settings, resolve


def asset_settings(
    blog_id: str, settings: Settings, locate: Callable[[str], str] | None, *, retry_lost: bool
) -> AssetSettings:
    """Return how pictures and files are read.

    Raises:
        UsageError: an address pattern cannot be right.
    """
    pattern = settings.file_url
    check_fallback(settings.archive_fallback)
    return AssetSettings(
        base=f"https://{blog_id}/",
        mode=Mode(settings.assets),
        file_url=None if pattern is None else AddressPattern(pattern, "file_url"),
        archive_fallback=settings.archive_fallback,
        allow_private_network=settings.allow_private_network,
        concurrency=settings.concurrency,
        limits=DownloadLimits(max_bytes=settings.max_asset_size),
        retry_lost=retry_lost,
        skipped_hosts=settings.skip_asset_hosts,
        locate=locate,
    )


_EPILOG = """\b
Examples:
  blog-exporter backup NAME.blog.example.jp --base-url https://api.example.jp
  blog-exporter backup NAME.blog.shinobi.jp --archive ~/blog -q      (for cron)
The access token is read from BLOG_EXPORTER_TOKEN or --token-file, never from the command line.
"""


@click.command("backup", epilog=_EPILOG)
@click.argument("blog_id", metavar="BLOG_ID")
@click.option("--archive", type=click.Path(path_type=Path), metavar="DIR", help="The archive. [default: ./BLOG_ID]")
@setting_options(
    "base_url", "profile", "refresh", "max_age", "concurrency", "rate", "retries", "connect_timeout", "read_timeout",
    "total_timeout", "give_up_after", "resume_max_age", "wait_lock", "token_file", "entry_list_page_param", "timezone",
)  # fmt: skip
@setting_options("assets", "file_url", "entry_url", "max_asset_size", "archive_fallback", "skip_asset_hosts")
@flag_options("allow_private_network", "strict_assets")
@click.option(
    "--retry-lost", is_flag=True, help="Ask at once for pictures that were gone, whenever they were last asked for."
)
@click.option("--accept-removals", is_flag=True, help="Record removals also when a large part of the blog is gone.")
@click.option("--dry-run", is_flag=True, help="Only read the lists and say what a backup would find.")
@without_views
@config_option
@running
def command(
    *,
    out: Output,
    blog_id: str,
    archive: Path | None,
    config: Path | None,
    retry_lost: bool,
    accept_removals: bool,
    dry_run: bool,
    **options: Any,
) -> int:
    """Back up the blog BLOG_ID: everything it holds, and every state it had.

    An interrupted backup goes on where it was when the same command is run again.
    """
    settings = resolve(options, config=config, blog_id=blog_id, warn=out.warn)
    root = archive if archive is not None else _default_archive(blog_id)
    outcome = back_up(
        root, blog_id, settings, out, accept_removals=accept_removals, retry_lost=retry_lost, dry_run=dry_run
    )
    return outcome.exit_code


def back_up(
    root: Path,
    blog_id: str,
    settings: Settings,
    out: Output,
    *,
    accept_removals: bool = False,
    retry_lost: bool = False,
    dry_run: bool = False,
    clock: Clock | None = None,
    recorded_url: str | None = None,
    locate: Callable[[str], str] | None = None,
) -> Outcome:
    """Run one backup of a blog into the archive at ``root``, and say what it did.

    ``clock``, ``recorded_url`` (the service's address as the archive shall state it) and ``locate`` (where a picture's
    address is really asked for) are for the made-up blog, whose archive must depend on neither the hour nor a port.

    Raises:
        BlogExporterError: whatever kept it from being saved.
    """
    base_url = settings.base_url
    if base_url is None:
        raise UsageError(f"Where is {blog_id}? Name its service with --base-url or --profile.")
    writer.require_place(root, blog_id)
    assume = assumptions_of(settings)
    reading = ReadingSettings(settings.concurrency, Refresh(settings.refresh), settings.max_age, assume)
    run_settings = RunSettings(
        blog_id,
        recorded_url or base_url,
        reading,
        accept_removals,
        dry_run,
        settings.resume_max_age,
        _assets(blog_id, settings, locate, retry_lost=retry_lost),
        settings.strict_assets,
    )
    timing = clock or SystemClock()
    begun = time.monotonic()
    prepare_memory()
    views = chosen_views(settings, root)
    with caught() as signals, _writing(root, settings.wait_lock.total_seconds(), timing, dry_run=dry_run):
        looked = Looked() if dry_run else _catch_up(root, views, out)
        outcome = asyncio.run(_run(root, base_url, settings, run_settings, out, timing, signals))
        shown = Refreshed() if dry_run else refresh_latest(ArchiveReader(root), views, looked=looked)
    took = timedelta(seconds=time.monotonic() - begun)
    for line in dry_run_lines(outcome, took) if dry_run else summary_lines(root, outcome, took):
        out.say(line)
    notice = quiet_line(blog_id, outcome)
    if notice is not None and out.verbosity < 0:
        out.warn(notice)
    if shown.replaced:
        out.say(f"{counted(shown.replaced, 'character')} that no text file can hold stand as U+FFFD in the views.")
    document = {"blog_id": blog_id, "archive": str(root.absolute()), "dry_run": dry_run, **outcome.line()}
    out.document({**document, "characters_replaced": shown.replaced})
    return outcome


def _catch_up(root: Path, views: list[View], out: Output) -> Looked:
    """Show in ``latest/`` what a run saved that died before it could show it, and make again what is damaged there.

    Before the service is asked for anything: it may be down today. Returns what is still damaged.
    """
    layout = Layout(root)
    if not is_archive(layout):
        return Looked()
    reader = ArchiveReader(root)
    looked = look(layout)
    if looked.whole and read_record(layout).get("version") == reader.newest():
        return looked
    try:
        refresh_latest(reader, views, looked=looked)
    except ArchiveDamaged:  # the run that follows heals it, and shows all then
        return looked
    if looked.damaged:
        out.say(f"Made again in latest/, since not as it was written: {counted(len(looked.damaged), 'file')}.")
    return Looked()


def _assets(
    blog_id: str, settings: Settings, locate: Callable[[str], str] | None, *, retry_lost: bool
) -> AssetSettings | None:
    if settings.assets == "none":
        return None
    return asset_settings(blog_id, settings, locate, retry_lost=retry_lost)


def _default_archive(blog_id: str) -> Path:
    if not blog_id or blog_id.startswith(".") or any(mark in blog_id for mark in "/\\:\0"):
        raise UsageError(f"{blog_id!r} is no blog ID such as NAME.blog.example.jp.")
    return Path(blog_id)


@contextlib.contextmanager
def _writing(root: Path, wait: float, clock: Clock, *, dry_run: bool) -> Iterator[None]:
    """Hold the archive's lock, and leave nothing behind where no archive came about."""
    if dry_run:
        yield
        return
    layout = Layout(root)
    made = not root.exists()
    with ArchiveLock(layout.lock) as lock:
        lock.acquire(clock.now(), wait)
        writer.clean_leftovers(layout)
        try:
            yield
        finally:
            writer.clean_leftovers(layout)
            if not is_archive(layout):
                remove_folder(layout.work)
                with contextlib.suppress(OSError):
                    if made:
                        root.rmdir()


async def _run(
    root: Path,
    base_url: str,
    settings: Settings,
    run_settings: RunSettings,
    out: Output,
    clock: Clock,
    signals: Signals,
) -> Outcome:
    progress = progress_for(out)
    credentials = Credentials(settings.token, settings.auth_header, settings.auth_scheme)
    warning = credentials.exposed_at(base_url)
    if warning is not None:
        out.warn(warning)
    options = TransportOptions(
        connect_timeout=settings.connect_timeout.total_seconds(),
        read_timeout=settings.read_timeout.total_seconds(),
        total_timeout=settings.total_timeout.total_seconds(),
        max_body=settings.max_body,
    )
    policy = RetryPolicy(retries=settings.retries, give_up_after=settings.give_up_after.total_seconds())
    try:
        async with open_api(
            base_url,
            run_settings.blog_id,
            credentials=credentials,
            options=options,
            policy=policy,
            max_concurrency=settings.concurrency,
            rate=settings.rate,
            assume=run_settings.reading.assume,
            on_retry=progress.retrying,
        ) as api:
            run = BackupRun(root, api, run_settings, clock)
            with signals.handed_to(run.stop):
                async for event in run.events():
                    progress.handle(event)
            return run.outcome
    finally:
        progress.close()
