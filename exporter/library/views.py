"""``latest/`` and its views, Markdown and the offline site: which are kept, with which options, and when they are made.

``rebuild``, ``prune`` and ``repair`` are here too: they change the archive offline and leave ``latest/`` up to date.
The code that renders a view is imported only if it has files to render, because most runs find everything up to date.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from exporter.archive.archive import Archive
from exporter.archive.atomic import remove_folder
from exporter.archive.checks import FindingCode
from exporter.archive.latest import (
    DerivedFile,
    LatestCheck,
    LatestView,
    check_latest,
    file_notes,
    is_current,
    missing_parts,
    read_record,
    refresh_root_files,
    write_latest,
)
from exporter.archive.layout import Layout
from exporter.archive.prune import PrunePlan, plan_prune
from exporter.archive.reader import damaged_in_latest
from exporter.archive.repair import RepairedFile
from exporter.arguments import checked
from exporter.clock import SystemClock
from exporter.errors import ArchiveDamaged, UsageError
from exporter.frozen import frozen
from exporter.html.links import AddressPattern
from exporter.message import suggested
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.site import SiteOptions, edition
from exporter.translation import LANGUAGES
from exporter.worker import Worker, WorkerFailed, processors

if TYPE_CHECKING:
    from exporter.archive.forgetting import Sign
    from exporter.archive.forgotten import ForgettingNote
    from exporter.archive.latest_segments import Segments
    from exporter.archive.state import State
    from exporter.archive.view_index import FileNotes
    from exporter.export.interface import RecordSource, RemotePage, ViewFile
    from exporter.site.captured import CapturedPages
    from exporter.site.single import OneFilePages

_OF_LATEST: Final = {FindingCode.LATEST_DAMAGED, FindingCode.LATEST_STALE, FindingCode.VIEW_DAMAGED}
_OF_VERSIONS: Final = {
    FindingCode.MANIFEST_MISSING, FindingCode.SEGMENT_MISSING, FindingCode.SEGMENT_DAMAGED, FindingCode.LINE_DAMAGED,
}  # fmt: skip
MARKDOWN: Final = "markdown"
SITE: Final = "site"
_THUMBNAILS: Final = "thumbnails"
PAGES_BEFORE_SECOND_PROCESS: Final = 300
"""Pages rendered before a second process starts. Starting it costs as much as some hundred pages."""
_FILES_AHEAD: Final = 64
"""Files that may wait for an earlier one, which the second process still renders."""
_BYTES_AHEAD: Final = 4_000_000
"""Bytes of such files that are rendered already."""


@frozen
class Pruned:
    """The versions that a prune keeps and drops, and the number and bytes of the removed files of ``assets/``."""

    plan: PrunePlan
    assets: int = 0
    asset_bytes: int = 0


@frozen
class LatestRepaired:
    """The number of files of ``latest/`` that were damaged and made again."""

    files: int


@frozen
class LatestRefreshed:
    """``latest/`` is up to date.

    Attributes:
        files: the number of rendered files of views.
        replaced: the number of characters in them that had to become U+FFFD.
        missing: the paths in the archive of files that could not be made for now.
    """

    files: int = 0
    replaced: int = 0
    missing: tuple[str, ...] = ()


def refresh_latest(
    reader: Archive,
    views: Iterable[LatestView],
    *,
    at: int | None = None,
    force: bool = False,
    looked: LatestCheck | None = None,
    segments: Segments | None = None,
    check: Callable[[], None] = lambda: None,
) -> LatestRefreshed:
    """Bring ``latest/`` and the archive's index page to the newest version or to version ``at``.

    Damaged files are made again.

    Args:
        reader: the archive, whose lock the caller holds.
        views: the views to keep.
        at: the version to show.
        force: fold the versions and make everything again.
        looked: the result of :func:`~exporter.archive.latest.check_latest`, if the caller has it.
        segments: the six files, if a commit has just written them.
        check: called before each file of a view; if it raises, ``latest/`` stays unchanged.
    """
    layout = reader.layout
    newest = reader.newest()
    number = newest if at is None else at
    if number is None or newest is None:
        return LatestRefreshed()
    in_place_of = None if number == newest else newest
    wanted = [replace(view, files=_made(view, layout, check, force=force)) for view in views]
    found = None if force else looked or check_latest(layout, damaged_in_latest(layout))
    made = 0
    if found is None:
        layout.site_facts.remove()
        layout.site_pictures.remove()
        made = write_latest(layout, _counted(reader, number), wanted, reuse=False, in_place_of=in_place_of)
    elif not found.whole or not is_current(layout, number, wanted):
        segments = segments if segments is not None and segments.version == number else None
        state = reader.state(number) if segments is None else reader.state_of(segments)
        damaged = found.damaged
        made = write_latest(layout, state, wanted, damaged=damaged, segments=segments, in_place_of=in_place_of)
    refresh_root_files(layout, reader.info.blog_id)
    return LatestRefreshed(made, sum(view.replaced() for view in wanted), tuple(missing_parts(layout, newest)))


def _counted(reader: Archive, number: int) -> State:
    """Fold the versions up to a number. Refuse a state with fewer or more records than the version's manifest counts.

    Raises:
        ArchiveDamaged: the counts differ, or a version cannot be read.
    """
    state = reader.fold(number)
    stated = reader.manifest(number).counts
    for kind in Kind:
        counts, found = stated.get(str(kind)), len(state.kinds[kind])
        if counts is not None and found != counts.total:
            state.close()
            raise ArchiveDamaged(
                "The versions up to {number} give {found:,} {kind}, and the manifest of version {number} counts "
                "{total:,}; latest/ was left as it is. To see the damage: {command}",
                number=number,
                found=found,
                kind=kind,
                total=counts.total,
                command=suggested("verify", reader.path),
            )
    return state


@checked
def rebuild(archive: Archive, settings: Settings, *, at: int | None = None) -> LatestRefreshed:
    """Make ``latest/`` again from the versions, with the views that the settings ask for.

    Args:
        archive: the archive.
        settings: which views to keep, and how long to wait for the lock.
        at: the version to show until the next backup; by default the newest.

    Raises:
        ArchiveLocked: another process is writing the archive.
        NoSuchRecord: the archive has no version ``at``.
        ArchiveDamaged: a version cannot be read.
    """
    with locked(archive, settings):
        version = None if at is None else archive.resolve(at)
        views = wanted_views(settings, archive.path, service_of(settings, archive.info.service))
        return refresh_latest(archive, views, force=True, at=version)


def refresh(
    archive: Archive, settings: Settings, *, at: int | None = None, also: Collection[str] = ()
) -> LatestRefreshed:
    """Bring ``latest/`` up to date with its present views and those in ``also``; errors as for :func:`rebuild`."""
    with locked(archive, settings):
        return refresh_latest(archive, present_views(settings, archive.path, also=also), at=at)


@checked
def prune(
    archive: Archive,
    settings: Settings,
    *,
    keep_last: int = 0,
    keep_daily: int = 0,
    keep_weekly: int = 0,
    keep_monthly: int = 0,
    keep_yearly: int = 0,
    dry_run: bool = False,
) -> Pruned:
    """Remove the versions that no rule keeps; the rules are those of :func:`~exporter.archive.prune.plan_prune`.

    Raises:
        UsageError: no rule is given, or one is invalid.
        ArchiveLocked: another process is writing the archive.
        ArchiveDamaged: a file does not match its hash; nothing was changed.
    """
    keep = {
        "keep_last": keep_last, "keep_daily": keep_daily, "keep_weekly": keep_weekly, "keep_monthly": keep_monthly,
        "keep_yearly": keep_yearly,
    }  # fmt: skip
    if dry_run:
        return Pruned(_prune_plan(archive, settings, keep))
    with locked(archive, settings):
        plan = _prune_plan(archive, settings, keep)
        views = present_views(settings, archive.path)
        done = archive.prune(plan)
        if plan.dropped:
            refresh_latest(archive, views, force=True)
    return Pruned(plan, done.assets, done.asset_bytes)


@checked
def repair(archive: Archive, settings: Settings) -> Iterator[RepairedFile]:
    """Restore damaged files without the service if possible, and yield each damaged file; ``latest`` counts as one.

    Raises:
        ArchiveLocked: another process is writing the archive.
    """
    with locked(archive, settings):
        yield from archive.repair()
        codes = {finding.code for finding in archive.verify()}
        if codes & _OF_LATEST and not codes & _OF_VERSIONS:
            refresh_latest(archive, present_views(settings, archive.path), force=True)
            yield RepairedFile("latest", True)


def _prune_plan(archive: Archive, settings: Settings, keep: dict[str, int]) -> PrunePlan:
    zone = settings.timezone
    rows = archive.log()
    return plan_prune([(row.version, datetime.fromisoformat(row.finished_at).astimezone(zone)) for row in rows], **keep)


@contextmanager
def locked(archive: Archive, settings: Settings) -> Iterator[None]:
    """Hold the archive's lock; a removal of records that was interrupted is finished first."""
    with archive.lock() as lock:
        lock.acquire(SystemClock().now(), settings.wait_lock.total_seconds())
        if archive.layout.forgetting.kind() is not None:
            finish_forgetting(archive, present_views(settings, archive.path))
        yield


def finish_forgetting(archive: Archive, views: Iterable[LatestView], sign: Sign | None = None) -> ForgettingNote | None:
    """Finish a removal of records that has begun; return its note, or ``None`` if there is no removal.

    Args:
        archive: the archive, whose lock the caller holds.
        views: the views to keep in ``latest/``.
        sign: signs the note.

    Raises:
        ArchiveDamaged: a file does not match its hash.
    """
    from exporter.archive import forgetting  # noqa: PLC0415 - only after a person asked for it
    from exporter.copies.cache import cached_copies  # noqa: PLC0415 - as above
    from exporter.warc.omission import rewrite_captures  # noqa: PLC0415 - as above

    plan = forgetting.pending(archive.layout)
    if plan is None:
        return None
    note = forgetting.execute(archive, plan, rewrite_captures, sign)
    for path in cached_copies(archive.layout):
        remove_folder(path)
    refresh_latest(archive, views, force=True)
    forgetting.finish(archive.layout)
    return note


def _made(
    view: LatestView, layout: Layout, check: Callable[[], None], *, force: bool
) -> Callable[[State], Iterator[DerivedFile]]:
    """Return a function that yields a view's files, with help for those that ``latest/`` does not have yet."""

    def files(state: State) -> Iterator[DerivedFile]:
        with contextlib.ExitStack() as opened:

            @cache
            def notes() -> FileNotes:
                return opened.enter_context(file_notes(layout))

            def is_there(file: ViewFile) -> bool:
                before = None if force else notes().find(view.name, file.path)
                return before is not None and before.fingerprint == file.fingerprint.hex()

            for file in with_help(cast("Iterator[ViewFile]", view.files(state)), is_there):
                check()
                yield file

    return files


def with_help(
    files: Iterable[ViewFile], is_there: Callable[[ViewFile], bool], alone: int = PAGES_BEFORE_SECOND_PROCESS
) -> Iterator[ViewFile]:
    """Yield the same files; a second process renders some of many pages as long as it works.

    Args:
        files: of a view.
        is_there: returns whether a file exists already, so that it need not be rendered.
        alone: how many pages are rendered before the second process starts.
    """
    helped: _Helped | None = None
    made = 0
    with contextlib.ExitStack() as opened:
        for file in files:
            page = None if file.remote is None or is_there(file) else file.remote
            made += page is not None
            if helped is None and page is not None and made > alone and processors() > 1:
                helped = _Helped(opened.enter_context(Worker(page.around)))
            if helped is None:
                yield file
            else:
                helped.add(file, page)
                yield from helped.finished(_FILES_AHEAD)
        if helped is not None:
            yield from helped.finished(0)


class _Waiting(NamedTuple):
    """A file after a page that the second process renders: it may be such a page, or have its bytes already."""

    file: ViewFile
    page: RemotePage | None = None
    size: int = 0


class _Helped:
    """Files in their order. Some wait for the second process, and this one renders others meanwhile.

    If the second process fails, this one renders everything that is left. A page with an error raises it here.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker: Worker | None = worker
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0

    def add(self, file: ViewFile, page: RemotePage | None) -> None:
        """Add a file; ``page`` is how the second process can render it."""
        if page is None or self._worker is None:
            self._waiting.append(_Waiting(file))
        elif self._worker.has_room:
            with self._fallible(self._worker):
                self._worker.submit(page.call, *page.parts())
            self._waiting.append(_Waiting(file, page))
        else:
            content = file.render()
            self._bytes += len(content)
            self._waiting.append(_Waiting(_rendered(file, content), size=len(content)))

    def finished(self, most: int) -> Iterator[ViewFile]:
        """Yield the first files until one is not finished; wait for it if more than ``most`` or many bytes wait."""
        while self._waiting:
            file, page, size = self._waiting[0]
            if page is not None and self._worker is not None:
                if not self._worker.done and len(self._waiting) <= most and self._bytes < _BYTES_AHEAD:
                    return
                with self._fallible(self._worker):
                    file = _rendered(file, page.finish(self._worker.result()))
            self._waiting.popleft()
            self._bytes -= size
            yield file

    @contextmanager
    def _fallible(self, worker: Worker) -> Iterator[None]:
        """Do without the second process after its failure."""
        try:
            yield
        except WorkerFailed:
            worker.close()
            self._worker = None


def _rendered(file: ViewFile, content: bytes) -> ViewFile:
    return replace(file, render=lambda: content)


def wanted_views(settings: Settings, root: Path, service: Records) -> list[LatestView]:
    """Return the views that the settings ask for. The archive need not exist yet."""
    return _views(settings, root, service, markdown=settings.markdown, site=settings.site)


def present_views(settings: Settings, root: Path, *, also: Collection[str] = ()) -> list[LatestView]:
    """Return the views that exist in ``latest/``, and those in ``also``: for commands that add and drop no others."""
    latest = Layout(root).latest
    markdown, site = (name in also or (latest / name).is_dir() for name in (MARKDOWN, SITE))
    service = service_of(settings, Archive.open(root).info.service)
    return _views(settings, root, service, markdown=markdown, site=site)


def site_options(settings: Settings, root: Path) -> SiteOptions:
    """Return the site's options: from the settings, else those that ``latest/`` was made with, else Japanese."""
    options = _options(settings, root)
    entry_url = options.get("entry_url")
    return SiteOptions(
        title=options.get("site_title", ""),
        language=options.get("site_lang", "ja"),
        entry_addresses=() if entry_url is None else (entry_url,),
    )


def single_pages(archive: Archive, settings: Settings, language: str) -> OneFilePages:
    """Return the writer of pages in one file, in a language, with the site's name for the blog."""
    from exporter.site.single import OneFilePages  # noqa: PLC0415 - only two commands write such pages

    options = replace(served_options(settings, archive), language=language)
    return OneFilePages(archive, service_of(settings, archive.info.service), options)


def titled(options: SiteOptions, records: RecordSource, service: Records) -> SiteOptions:
    """Return the options with the title that the records state, if the owner chose none."""
    from exporter.export.blog_title import blog_title  # noqa: PLC0415 - see above

    return replace(options, title=blog_title(options.title, records, service))


def served_options(settings: Settings, archive: Archive) -> SiteOptions:
    """Return an archive's site options with the blog's title, for a page that is made alone."""
    options = site_options(settings, archive.path)
    if options.title:
        return options
    with contextlib.closing(archive.state(archive.resolve(), [Kind.USER])) as state:
        return titled(options, state, service_of(settings, archive.info.service))


def _options(settings: Settings, root: Path) -> dict[str, str]:
    """Return the options of views: from the settings, else those that ``latest/`` was made with.

    The archive records the latter and may be untrusted, so invalid values are ignored.
    """
    kept = read_record(Layout(root)).get("options", {})
    options = {name: value for name, value in kept.items() if isinstance(value, str)}
    if options.get("site_lang") not in LANGUAGES:
        options.pop("site_lang", None)
    try:
        AddressPattern(options.get("entry_url", ""), "entry_url")
    except UsageError:
        options.pop("entry_url", None)
    if settings.site_title is not None:
        options["site_title"] = " ".join(settings.site_title.split())
    given = {"site_lang": settings.site_lang, "entry_url": settings.entry_url}
    return options | {name: value for name, value in given.items() if value}


def _views(settings: Settings, root: Path, service: Records, *, markdown: bool, site: bool) -> list[LatestView]:
    return [
        *([_markdown_view(settings, root, service)] if markdown else []),
        *([_site_view(settings, root, service)] if site else []),
    ]


def _markdown_view(settings: Settings, root: Path, service: Records) -> LatestView:
    from exporter.export.markdown_view import MarkdownView  # noqa: PLC0415 - see above

    pattern = _options(settings, root).get("entry_url")
    view = MarkdownView(service, [] if pattern is None else [AddressPattern(pattern, "entry_url")])
    options = {} if pattern is None else {"entry_url": pattern}
    return LatestView(MARKDOWN, view.edition, view.files, options, lambda: view.replaced)


def captured_pages(archive: Archive, state: State, settings: Settings) -> CapturedPages:
    """Return an archive's captured pages, with the patterns of its entries' addresses."""
    from exporter.site.captured import CapturedPages  # noqa: PLC0415 - see above

    found = CapturedPages(archive.layout)
    if not found.rows:
        return found
    from exporter.library.blog_addresses import address_builder  # noqa: PLC0415 - only archives with captures need it

    return CapturedPages(archive.layout, address_builder(state, service_of(settings, archive.info.service), settings))


def _site_view(settings: Settings, root: Path, service: Records) -> LatestView:
    options, declared = site_options(settings, root), service.declared(settings)
    unmade = 0

    def files(state: State) -> Iterable[DerivedFile]:
        nonlocal unmade
        from exporter.library.visibility import visibility_of  # noqa: PLC0415 - see above
        from exporter.site.history import ArchiveHistory  # noqa: PLC0415 - see above
        from exporter.site.thumbnails import Thumbnails  # noqa: PLC0415 - see above
        from exporter.site.view import SiteView  # noqa: PLC0415 - see above

        archive = Archive(root, state.parsed)
        history = ArchiveHistory(archive, service, state.version)
        thumbnails = Thumbnails(archive.layout, keeps=True)
        captured = captured_pages(archive, state, settings)
        visibility = visibility_of(archive, state, service, settings)
        shown = titled(options, state, service)
        yield from SiteView(service, history, shown, archive.layout, thumbnails, captured, visibility).files(state)
        unmade = thumbnails.unmade

    def facts(version: int) -> str:
        from exporter.site.captured import CapturedPages  # noqa: PLC0415 - see above
        from exporter.site.history import completeness_at  # noqa: PLC0415 - see above

        reader = Archive.open(root)
        flags = "" if declared == Declared() else f"{sorted(declared.public_access or ())} {declared.period_public}"
        return repr(completeness_at(reader, version)) + CapturedPages(reader.layout).identity + flags

    def lacks() -> str:
        return _THUMBNAILS if unmade else ""

    chosen = {"site_title": options.title, "site_lang": options.language}
    if options.entry_addresses:
        chosen["entry_url"] = options.entry_addresses[0]
    return LatestView(SITE, edition(service, options), files, chosen, facts=facts, lacks=lacks)
