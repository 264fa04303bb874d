"""``backup``: back up one blog, or all blogs in the settings file, with progress and a summary."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.cli.contact import with_contact
from exporter.cli.help import PATH, cli_command
from exporter.cli.main import as_own_error
from exporter.cli.options import duration_option, setting_options, with_config, without_views
from exporter.cli.output import OnLoss, Output, report
from exporter.cli.source import NamedSource, find_source, way_lines
from exporter.cli.target import BlogTarget, named_archive, remember_options
from exporter.clock import SystemClock
from exporter.errors import ArchiveDamaged, BlogExporterError, Incomplete, Interrupted, JoinRefused, NoSpace, UsageError
from exporter.message import message, message_n, restored_from, said, suggested
from exporter.service.registry import FLAG_SETTINGS, SERVICE_OPTIONS
from exporter.setting_sources import Origin
from exporter.settings import Settings, own_config_path, read_config

if TYPE_CHECKING:
    from exporter.capture.outcome import CaptureOutcome
    from exporter.cli.questions import Questions
    from exporter.cli.signals import Signals
    from exporter.crawl.outcome import Outcome
    from exporter.http.engine import Engine
    from exporter.library.backup import Backup
    from exporter.library.views import LatestRefreshed
    from exporter.model.publication import Declared
    from exporter.notify.delivery import Monitor
    from exporter.source.export_files import ExportFiles

_EPILOG = message(
    """\b
Examples:
  blog-exporter backup https://name.example.jp/
  blog-exporter backup export.txt --archive ~/blog
  blog-exporter backup NAME.blog.example.jp --base-url https://api.example.jp
  blog-exporter backup ~/blog -q      (an existing archive, for cron)
The access token is read from BLOG_EXPORTER_TOKEN or --token-file, never from the command line.
"""
)
_RUN_OPTIONS: Final = ("retry_lost", "accept_doubtful", "accept_removals", "accept_join", "new", "dry_run")
"""The options for :func:`back_up` that are no settings."""
SAVED: Final = frozenset({0, Incomplete.exit_code, ArchiveDamaged.exit_code, NoSpace.exit_code})
"""The exit codes of backups that ended with a saved state; with the last one only the exchanges had no room."""
ORDER: Final = (1, 28, 13, 14, 2, 12, 10, 11, 4, 20, 3, 0)
"""Exit codes, the worst first. Problems of this machine precede those of archives, settings and services."""


@cli_command(
    "backup",
    epilog=_EPILOG,
    help=message(
        """Back up the blog SOURCE: all its content, and every earlier state.

        SOURCE is the blog's address, its ID at a known service, or an export file from its service (or a ZIP or folder
        of them). It can also be the archive's folder, or the blog's name in your settings file. For later backups the
        archive's folder is enough: it remembers the options. To resume an interrupted backup, run the command again."""
    ),
)
@click.argument("words", metavar="SOURCE", required=False)
@click.option("--all", "every", is_flag=True, help=message("Back up each [blogs.NAME] of the settings file."))
@click.option("--archive", type=PATH, metavar="DIR", help=message("The archive. [default: ./BLOG_ID]"))
@setting_options(
    "base_url", "profile", "service", "user", "auth", "refresh", "max_age", "concurrency", "rate", "retries",
    "give_up_after",
    "wait_lock",
    "token_file", "token_for", "account", *SERVICE_OPTIONS, "timezone", "ping_url", "on_failure", "closing", "assets",
    "file_url", "entry_url", "max_asset_size", "archive_fallback", "skip_asset_hosts", "allow_private_network",
    "strict_assets", "capture", "home_url", "user_agent", "operator", "warc", "seal", "seal_key", "tsa", "tsa_root",
    *FLAG_SETTINGS,
)  # fmt: skip
@click.option(
    "--title",
    "site_title",
    metavar="TEXT",
    help=message("Title of the blog. [default: the one that was found, or its id]"),
)
@click.option("--retry-lost", is_flag=True, help=message("Request the pictures that are gone again now."))
@click.option("--accept-doubtful", is_flag=True, help=message("Confirm stored pictures that contradict the file list."))
@click.option("--accept-removals", is_flag=True, help=message("Record removals of a large part of the blog."))
@click.option("--accept-join", is_flag=True, help=message("Join a source that has few of the archive's entries."))
@click.option("--new", is_flag=True, help=message("Create a new archive in place of a missing one."))
@click.option("--dry-run", is_flag=True, help=message("Only read the lists, and print the expected changes."))
@click.option("--no-remember", is_flag=True, help=message("Do not keep these options in the archive's settings.toml."))
@click.option(
    "--unless-newer", metavar="AGE", help=message("Skip a blog that was saved less than AGE ago, such as 20h.")
)
@without_views
@with_config(on_loss=OnLoss.WARN)
def backup_command(
    *, out: Output, words: str | None, every: bool, archive: Path | None, config: Path | None, no_remember: bool,
    unless_newer: str | None, **options: Any,
) -> int:  # fmt: skip
    """Run ``backup``."""
    from exporter.library.backup import recording_refusal

    run_options = {name: options.pop(name) for name in _RUN_OPTIONS}
    dry_run = run_options["dry_run"]

    def one(words: str, out: Output) -> int:
        place = named_archive(words, archive, config)
        with recording_refusal(place, unattended=out.verbosity < 0, dry_run=dry_run):
            new = run_options["new"]
            source = find_source(words, options, out=out, archive=archive, config=config, new=new)
            target = source.target
            if unless_newer is not None and not _is_due(target.root, unless_newer):
                age = unless_newer
                out.say("Nothing to do: the blog was saved less than {age} ago, or was just tried.", age=age)
                about = {"blog_id": target.blog_id, "archive": str(target.root.absolute())}
                out.document({**about, "dry_run": dry_run, "outcome": "skipped"})
                return 0
            for line in way_lines(source):
                out.say(line)
            if not dry_run and target.settings.site_title is None:
                source = _with_title(source, out)
                target = source.target
            remembered = _RememberedOptions(source, out, remembers=not no_remember)
            how: dict[str, Any] = {"files": source.files, "named": source.name, "proven": remembered.keep}
            outcome = _back_up_target(target, out, **how, **run_options)
            if not dry_run and outcome.exit_code in SAVED:
                remembered.advise()
            return outcome.exit_code

    if every:
        if words is not None or archive is not None:
            text = message("--all backs up every blog of the settings file: leave out the blog and --archive.")
            raise UsageError(text)
        return _back_up_all(config, out, one)
    if words is None:
        raise UsageError(
            message("Name what to back up: a blog ID, an archive, a name from the settings file, or --all.")
        )
    return one(words, out)


class _RememberedOptions:
    """Stores a backup's options in its archive, and shows the command for the next backup.

    They are stored as soon as they have proven right, so that a run that is interrupted leaves a command that works. A
    run that is refused, or whose service never answers, leaves those of earlier runs.
    """

    def __init__(self, source: NamedSource, out: Output, *, remembers: bool) -> None:
        self._source = source
        self._out = out
        self._remembers = remembers
        self._kept: Path | None = None

    def keep(self) -> None:
        """Store the options."""
        if self._remembers:
            others = {name: value for name, value in self._source.options.items() if name not in FLAG_SETTINGS}
            self._kept = remember_options(self._source.target, others, self._out)

    def advise(self) -> None:
        """Store the answers about flags after a saved run, and show the command for the next one."""
        source, target, out = self._source, self._source.target, self._out
        flags = {name: source.options.get(name) for name in FLAG_SETTINGS}
        if self._remembers and any(flags.values()):
            from exporter.cli.answers import keep_answers
            from exporter.library.backup import records_of

            keep_answers(flags, target.root, records_of(target.root, target.settings), out)
        if source.files is not None:
            command = suggested("backup", "FILE", "--archive", target.root)
            out.say("When you have a newer export file: {command}", command=command)
        elif self._kept is not None and target.table is None:
            out.say("From now on this is enough: {command}", command=suggested("backup", target.root))


def _back_up_all(config: Path | None, out: Output, back_up: Callable[[str, Output], int]) -> int:
    """Back up every ``[blogs.NAME]`` in the settings file, in its order; a failure does not stop the others.

    Returns:
        the worst exit code.

    Raises:
        UsageError: the file names no blog.
        Interrupted: a backup was interrupted; the remaining blogs are skipped.
    """
    blogs = read_config(config).blogs
    if not blogs:
        path = own_config_path(config)
        raise UsageError("{path} names no blog: add a table [blogs.NAME], or name a blog.", path=path)
    ends: dict[str, str] = {}
    codes = []
    for name, table in blogs.items():
        out.say("{name}: {blog_id}", name=name, blog_id=table.blog_id)
        own = replace(out, name=name)
        try:
            code = back_up(name, own)
            ends[name] = message("saved, but not all of it") if code else message("saved")
        except (Interrupted, KeyboardInterrupt):
            raise
        except Exception as failure:  # noqa: BLE001 - after any failure the other blogs are backed up
            error = as_own_error(failure)
            if not error.reported:
                report(BlogExporterError("{name}: {reason}", name=name, reason=said(error)), as_json=False)
            own.document({"error": {"type": type(error).__name__, "message": str(error), "exit_code": error.exit_code}})
            ends[name], code = said(error), error.exit_code
        codes.append(code)
        out.say()
    for name, end in ends.items():
        out.say("{name}: {end}", name=name, end=end)
    return min(codes, key=lambda code: ORDER.index(code) if code in ORDER else -1)


def _back_up_target(
    target: BlogTarget,
    out: Output,
    *,
    files: ExportFiles | None,
    named: str | None,
    proven: Callable[[], None],
    **run_options: bool,
) -> Outcome:
    """Back up a blog as the user named it; ``proven`` and ``run_options`` as for :func:`back_up`.

    Raises:
        UsageError: only the archive says where the blog is, in a proposal that may not be used.
        BlogExporterError: the blog could not be saved.
    """
    from exporter.archive.layout import Layout
    from exporter.archive.names import newest_id
    from exporter.archive.settings_file import note_archive

    settings = target.settings
    if target.notice is not None:
        if settings.base_url is None:
            raise UsageError(target.notice)
        out.warn(target.notice)
    if settings.capture and not run_options["dry_run"]:
        settings = with_contact(out, settings, click.get_current_context().params.get("config"))
    how: dict[str, Any] = {"files": files, "label": target.label, "named": named, "proven": proven, **run_options}
    outcome = back_up(target.root, target.blog_id, settings, out, **how)
    if not run_options["dry_run"] and outcome.exit_code in SAVED:
        note_archive(target.root, target.label, newest_id(Layout(target.root), settings.service))
    return outcome


def _is_due(root: Path, unless_newer: str) -> bool:
    from exporter.archive.archive import Archive
    from exporter.library.status import is_due

    limit = duration_option("--unless-newer", unless_newer)
    return not Archive.exists(root) or is_due(Archive.open(root), limit)


def _with_title(source: NamedSource, out: Output) -> NamedSource:
    """Return a source with the blog's title: that at its address, or before its first backup a person's answer."""
    from exporter.archive.archive import Archive
    from exporter.archive.settings_file import kept_title
    from exporter.cli.questions import Questions

    target, title = source.target, source.title
    if Archive.exists(target.root):
        title = "" if kept_title(target.root) else title
    elif out.attended and target.settings.site:
        title = asked_title(Questions(), target.blog_id, title)
    if not title:
        return source
    settings = replace(target.settings, site_title=title)
    return replace(source, target=replace(target, settings=settings), options={**source.options, "site_title": title})


def asked_title(ask: Questions, blog_id: str, found: str) -> str:
    """Ask for a blog's title; the default is the title found or the address. Return an empty text for the address."""
    answer = ask.text(message("What is the blog called? Its site and its books show this"), found or blog_id).strip()
    return "" if answer == blog_id else answer


def back_up(
    root: Path,
    blog_id: str,
    settings: Settings,
    out: Output,
    *,
    files: ExportFiles | None = None,
    label: str | None = None,
    new: bool = False,
    dry_run: bool = False,
    **how: Any,
) -> Outcome:
    """Make one backup, show its progress, and print a summary.

    Args:
        root: the archive, which need not exist.
        blog_id: the blog.
        settings: those of the blog.
        out: prints the progress and the summary.
        files: the export files to read instead of a service.
        label: the blog's table in the settings file, if it has one.
        new: begin a new archive, even if one was known at ``root``.
        dry_run: read only the lists, and write nothing.
        how: ``proven`` is called once the options have proven right, before the views are made; the rest is as for
            :func:`exporter.library.backup.backup`; ``named`` is the ID of the blog at an explored address.

    Raises:
        NoArchive: a known archive is missing.
        BlogExporterError: the blog could not be saved.
    """
    from exporter.archive.settings_file import require_archive_if_known
    from exporter.cli.notify import notifying

    if dry_run:
        if not new:
            require_archive_if_known(root, label)
        return _back_up(root, blog_id, settings, out, None, files, dry_run=True, **how)
    clock = how.get("clock") or SystemClock()
    with notifying(root, blog_id, settings, out, clock) as notifier:
        if not new:
            require_archive_if_known(root, label)
        notifier.outcome = _back_up(root, blog_id, settings, out, notifier.monitor, files, dry_run=False, **how)
        if settings.closing is not None:
            from exporter.cli.summary import closing_lines, closing_report

            notifier.closing = closing_report(root, settings, notifier.outcome, clock.now())
            if notifier.closing is not None:
                for line in closing_lines(notifier.closing, has_fallback=settings.archive_fallback is not None):
                    out.say(line)
    return notifier.outcome


def _declared(
    root: Path, blog_id: str, settings: Settings, out: Output, files: ExportFiles | None
) -> tuple[Settings, Declared | None]:
    """Return the settings and the owner's declaration about flags, for ``--warc``.

    Raises:
        UsageError: the option asks for exchanges that do not exist, or nothing says which of them are public.
    """
    if not settings.warc:
        return settings, None
    from exporter.cli.answers import declared_for_backup
    from exporter.library.backup import records_of

    asked = settings.sources["warc"].origin is Origin.OPTION
    if files is not None:
        if asked:
            raise UsageError(message("An export file has no exchanges with a service: leave out --warc."))
        out.say(message("An export file has no exchanges with a service, so --warc changes nothing."))
        return replace(settings, warc=False), None
    service = records_of(root, settings)
    declared = declared_for_backup(service, settings, root, blog_id, out)
    if service.is_undeclared(declared):
        text = message(
            "Nothing says yet which entries are public, so --warc would keep no exchange. Back up without it first. "
            "{hint}",
            hint=service.flag_hint,
        )
        if asked:
            raise UsageError(text)
        out.warn(text)
    return settings, declared


def _back_up(
    root: Path,
    blog_id: str,
    settings: Settings,
    out: Output,
    monitor: Monitor | None,
    files: ExportFiles | None,
    *,
    dry_run: bool,
    named: str | None = None,
    proven: Callable[[], None] = lambda: None,
    **how: Any,
) -> Outcome:
    import asyncio

    from exporter.cli.progress import progress_for
    from exporter.cli.signals import catch_signals
    from exporter.cli.summary import dry_run_lines, quiet_line, summary_lines
    from exporter.crawl.events import OptionsProven
    from exporter.library.backup import backup, is_known_service, open_service
    from exporter.library.naming import present_name

    settings, declared = _declared(root, blog_id, settings, out, files)
    name = present_name(root, settings, named)
    begun = time.monotonic()
    progress = progress_for(out, settings.timezone)
    pages: CaptureOutcome | BlogExporterError | None = None

    async def run() -> Backup:
        nonlocal pages
        async with (
            contextlib.nullcontext() if monitor is None else monitor.started(),
            open_service(
                blog_id,
                settings,
                files=files,
                renamed_to=None if name is None else name.blog_id,
                known=is_known_service(root, settings.base_url),
                warn=out.warn,
                on_retry=progress.retrying,
            ) as service,
        ):
            made = backup(root, service, settings, dry_run=dry_run, declared=declared, name=name, **how)
            with signals.passed_to(made.stop):
                async with made:
                    async for event in made:
                        progress.handle(event)
                        if isinstance(event, OptionsProven):
                            proven()
            progress.close()
            if settings.capture and not dry_run:
                pages = await _pages_of(root, blog_id, settings, service.client.engine, out, signals)
            return made

    with catch_signals() as signals, contextlib.closing(progress):
        done = _joined(lambda: asyncio.run(run()), how, out)
    outcome, refreshed = done.outcome, done.refreshed
    took = timedelta(seconds=time.monotonic() - begun)
    for line in dry_run_lines(outcome, took) if dry_run else summary_lines(root, outcome, took):
        out.say(line)
    for line in _page_lines(pages):
        out.say(line)
    notice = quiet_line(blog_id, outcome) if dry_run and out.verbosity < 0 else None
    if notice is not None:
        out.warn(notice)
    document = {"blog_id": blog_id, "archive": str(root.absolute()), "dry_run": dry_run, **outcome.line()}
    _say_views(root, outcome, refreshed, out)
    if pages is not None:
        _join_pages(outcome, pages)
        document["capture"] = _pages_document(pages)
    document["exit_code"] = outcome.exit_code
    if settings.seal and not dry_run and outcome.exit_code in SAVED:
        from exporter.cli.seal import seal_after_backup

        document["seal"] = seal_after_backup(root, settings, out)
    out.document({**document, "characters_replaced": refreshed.replaced, "missing_views": list(refreshed.missing)})
    return outcome


def _say_views(root: Path, outcome: Outcome, refreshed: LatestRefreshed, out: Output) -> None:
    """Print the faults of the views, and add missing files to the command's result."""
    from exporter.archive.manifest import RecordProblem
    from exporter.cli.summary import missing_views_text

    if refreshed.replaced:
        text = message_n(
            "{n:,} character that no text file can hold became U+FFFD in the views.",
            "{n:,} characters that no text file can hold became U+FFFD in the views.",
            refreshed.replaced,
        )
        out.say(text)
    if refreshed.missing:
        text = missing_views_text(root, refreshed.missing)
        out.warn(text)
        outcome.problems = [*outcome.problems, RecordProblem("latest", None, text)]
        outcome.exit_code = min(outcome.exit_code, Incomplete.exit_code, key=ORDER.index)


def _joined(run: Callable[[], Backup], how: dict[str, Any], out: Output) -> Backup:
    """Do a backup; at a terminal ask whether two sources are of one blog although they have few entries in common."""
    from exporter.cli.questions import Questions

    try:
        return run()
    except JoinRefused as error:
        if not out.attended or not Questions().agreed(
            message("{reason} Join them now?", reason=said(error)), default=False
        ):
            raise
    how["accept_join"] = True
    return run()


async def _pages_of(
    root: Path, blog_id: str, settings: Settings, engine: Engine, out: Output, signals: Signals
) -> CaptureOutcome | BlogExporterError:
    """Capture the public pages after a backup; a failure is a result, because the backup is saved.

    Raises:
        Interrupted: a signal ended it.
        NoSpace: the disk is full.
    """
    from exporter.cli.capture_output import captured

    out.say(message("The public pages:"))
    try:
        return await captured(root, blog_id, settings, engine, out, dry_run=False, signals=signals)
    except (Interrupted, NoSpace):
        raise
    except BlogExporterError as error:
        return error


def _page_lines(pages: CaptureOutcome | BlogExporterError | None) -> Iterator[str]:
    """Yield the lines about the capture after a backup."""
    if pages is None:
        return
    yield ""
    if isinstance(pages, BlogExporterError):
        yield message("The public pages could not be captured: {reason}", reason=said(pages))
        return
    from exporter.cli.capture_output import capture_lines

    yield from capture_lines(pages, dry_run=False)


def _join_pages(outcome: Outcome, pages: CaptureOutcome | BlogExporterError) -> None:
    """Add the capture's result to the command's, also for notifications."""
    from exporter.archive.manifest import RecordProblem

    if isinstance(pages, BlogExporterError):
        problems = [RecordProblem("capture", None, said(pages))]
    else:
        problems = [
            RecordProblem("capture", each["url"] or None, restored_from(each, "reason")) for each in pages.problems
        ]
    outcome.problems = [*outcome.problems, *problems]
    # The backup is saved, so a capture that failed makes it incomplete and not failed.
    code = pages.exit_code if pages.exit_code in SAVED else Incomplete.exit_code
    outcome.exit_code = min(outcome.exit_code, code, key=ORDER.index)


def _pages_document(pages: CaptureOutcome | BlogExporterError) -> dict[str, Any]:
    if isinstance(pages, BlogExporterError):
        return {"outcome": "failed", "exit_code": pages.exit_code, "error": str(pages)}
    return pages.line()
