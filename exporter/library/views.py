"""``latest/`` and its views, Markdown and the offline site: which are kept, with which options, and when they are made.

What makes a view's files is imported when there are files to make: most runs find everything up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive.archive import Archive
from exporter.archive.front_door import refresh_front_door
from exporter.archive.known_damage import damaged_in_latest
from exporter.archive.latest import (
    DerivedFile,
    LatestCheck,
    LatestView,
    check_latest,
    is_current,
    read_index,
    read_record,
    write_latest,
)
from exporter.archive.layout import Layout
from exporter.errors import ArchiveDamaged, UsageError
from exporter.html.links import AddressPattern
from exporter.message import message, suggested
from exporter.model.kinds import Kind
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.site import SiteOptions, edition
from exporter.translation import LANGUAGES

if TYPE_CHECKING:
    from exporter.archive.latest_segments import Segments
    from exporter.archive.state import State

MARKDOWN: Final = "markdown"
SITE: Final = "site"


@dataclass(frozen=True, slots=True)
class LatestRepaired:
    """So many files of ``latest/`` were not as they had been written, and were made again."""

    files: int


@dataclass(frozen=True, slots=True)
class LatestRefreshed:
    """``latest/`` is up to date.

    Attributes:
        files: how many files of views were made.
        replaced: how many characters in them had to become U+FFFD.
    """

    files: int = 0
    replaced: int = 0


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
    """Bring ``latest/`` to the newest version or to version ``at``, with the files that lead people to it.

    What is damaged there is made again.

    Args:
        reader: the archive, whose lock the caller holds.
        views: the views to keep.
        at: the version to show.
        force: fold the versions and make everything again.
        looked: what :func:`~exporter.archive.latest.check_latest` found, where the caller has looked already.
        segments: the six files, where a commit has just written them.
        check: called before each file of a view; what it raises ends the work, and ``latest/`` stays as it was.
    """
    layout = reader.layout
    number = reader.newest() if at is None else at
    if number is None:
        return LatestRefreshed()
    refreshed = _refresh_views(reader, number, views, force=force, looked=looked, segments=segments, check=check)
    refresh_front_door(layout, reader.info.blog_id)
    return refreshed


def _refresh_views(
    reader: Archive,
    number: int,
    views: Iterable[LatestView],
    *,
    force: bool,
    looked: LatestCheck | None,
    segments: Segments | None,
    check: Callable[[], None],
) -> LatestRefreshed:
    layout = reader.layout
    wanted = [replace(view, files=_made(view, layout, check, force=force)) for view in views]
    if force:
        layout.site_facts.remove()
        layout.site_pictures.remove()
        made = write_latest(layout, _counted(reader, number), wanted, reuse=False)
    else:
        found = check_latest(layout, damaged_in_latest(layout)) if looked is None else looked
        if found.whole and is_current(layout, number, wanted):
            return LatestRefreshed()
        segments = segments if segments is not None and segments.version == number else None
        state = reader.state(number) if segments is None else reader.state_of(segments)
        made = write_latest(layout, state, wanted, damaged=found.damaged, segments=segments)
    return LatestRefreshed(made, sum(view.replaced() for view in wanted))


def _counted(reader: Archive, number: int) -> State:
    """Fold the versions up to a number, and refuse a state that holds less or more than the version's manifest counts.

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
                message(
                    "The versions up to {number} give {found:,} {kind}, and the manifest of version {number} counts "
                    "{total:,}; latest/ was left as it is. To see the damage: {command}",
                    number=number,
                    found=found,
                    kind=kind,
                    total=counts.total,
                    command=suggested("verify", reader.path),
                )
            )
    return state


def _made(
    view: LatestView, layout: Layout, check: Callable[[], None], *, force: bool
) -> Callable[[State], Iterator[DerivedFile]]:
    """Return what yields a view's files, with help for those that are not known to be there."""

    def files(state: State) -> Iterator[DerivedFile]:
        from exporter.library.page_helper import with_help  # noqa: PLC0415 - see above

        @cache
        def noted() -> set[int]:
            index = () if force else read_index(layout)
            return {hash((entry.path, entry.fingerprint)) for entry in index if entry.view == view.name}

        for file in with_help(view.files(state), lambda file: hash((file.path, file.fingerprint.hex())) in noted()):
            check()
            yield file

    return files


def wanted_views(settings: Settings, root: Path, service: Records) -> list[LatestView]:
    """Return the views that the settings ask to keep, of an archive that need not be there yet."""
    return _views(settings, root, service, markdown=settings.markdown, site=settings.site)


def present_views(settings: Settings, root: Path, *, also: Collection[str] = ()) -> list[LatestView]:
    """Return the views that are in ``latest/`` now, and ``also`` these: for commands that add and drop no others."""
    latest = Layout(root).latest
    markdown, site = (name in also or (latest / name).is_dir() for name in (MARKDOWN, SITE))
    service = service_of(settings, Archive.open(root).info.service)
    return _views(settings, root, service, markdown=markdown, site=site)


def site_options(settings: Settings, root: Path) -> SiteOptions:
    """Return what the site is to be like: what no setting says is as ``latest/`` was made last, at first Japanese."""
    options = _options(settings, root)
    entry_url = options.get("entry_url")
    return SiteOptions(
        title=options.get("site_title", ""),
        language=options.get("site_lang", "ja"),
        entry_addresses=() if entry_url is None else (entry_url,),
    )


def _options(settings: Settings, root: Path) -> dict[str, str]:
    """Return what views are made with: by the settings, or as ``latest/`` was made last.

    That is kept in the archive, which may be untrusted: what no setting would have allowed is passed over.
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


def _site_view(settings: Settings, root: Path, service: Records) -> LatestView:
    options = site_options(settings, root)

    def files(state: State) -> Iterable[DerivedFile]:
        from exporter.site.history import ArchiveHistory  # noqa: PLC0415 - see above
        from exporter.site.thumbnails import Thumbnails  # noqa: PLC0415 - see above
        from exporter.site.view import SiteView  # noqa: PLC0415 - see above

        archive = Archive(root, state.parsed)
        history = ArchiveHistory(archive, service, state.version)
        thumbnails = Thumbnails(archive.layout, keeps=True)
        return SiteView(service, history, options, archive.layout, thumbnails).files(state)

    def facts(version: int) -> str:
        from exporter.site.history import completeness_at  # noqa: PLC0415 - see above

        return repr(completeness_at(Archive.open(root), version))

    chosen = {"site_title": options.title, "site_lang": options.language}
    if options.entry_addresses:
        chosen["entry_url"] = options.entry_addresses[0]
    return LatestView(SITE, edition(service, options), files, chosen, facts=facts)
