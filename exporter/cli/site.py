"""``site``: the offline site again, of any version, or a copy of it in a folder of its own."""

from __future__ import annotations

import contextlib
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.archive.archive import Archive, read_consistently
from exporter.cli.answers import HINT, check_answers, declared_flags, teller
from exporter.cli.options import archive_argument, config_option, setting_options, talking
from exporter.cli.output import Output, counted, size_text
from exporter.clock import SystemClock
from exporter.errors import UsageError
from exporter.export.folder import check_target, write_export
from exporter.export.interface import WrittenFile
from exporter.library.export import listed, newest_beside, read_at
from exporter.library.views import present_views, refresh_latest, site_options
from exporter.model.kinds import Kind
from exporter.service.records_v1 import service_of
from exporter.settings import Settings, resolve
from exporter.site.history import ArchiveHistory
from exporter.site.options import NAME
from exporter.site.public import PublicRecords
from exporter.site.view import SiteView, copied_site
from exporter.site.words import LANGUAGES
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.archive.state import State
    from exporter.export.interface import RecordSource

_EPILOG = """\b
Examples:
  blog-exporter site DIR --open
  blog-exporter site DIR --title 潮だまり日記 --lang ja
  blog-exporter site DIR --at 2026-01-31 --open      (until the next backup, rebuild or site)
  blog-exporter site DIR OUT --public-only --public-open-flg 1 --visible-delete-flg f
"""


@click.command("site", epilog=_EPILOG)
@archive_argument
@click.argument("target", metavar="[OUT]", required=False, type=click.Path(path_type=Path))
@click.option("--at", metavar="N|DATE", help="As of version N, or of a date. [default: the newest]")
@click.option("--title", "site_title", metavar="TEXT", help="What the site calls the blog; kept. [default: its id]")
@click.option(
    "--lang", "site_lang", type=click.Choice(list(LANGUAGES)), help="Language of the interface; kept. [default: ja]"
)
@click.option("--public-only", is_flag=True, help="Only what is public, fit to be published; with OUT.")
@click.option("--open", "opens", is_flag=True, help="Show it in the browser.")
@click.option("--force", is_flag=True, help="Replace an earlier site in OUT.")
@setting_options(
    "timezone", "entry_url", "public_open_flg", "period_flg_public", "visible_delete_flg", "wait_lock"
)  # fmt: skip
@config_option
@talking
def command(
    *,
    out: Output,
    archive: Path,
    target: Path | None,
    at: str | None,
    public_only: bool,
    opens: bool,
    force: bool,
    config: Path | None,
    **options: Any,
) -> int:
    """Make the site of the archive in DIR: in latest/site, or with its pictures in the new folder OUT.

    With --at and without OUT, latest/ shows that older version until the next backup, rebuild or site.
    """
    settings = resolve(options, config=config, blog_id=Archive.open(archive).info.blog_id, warn=out.warn)
    if target is None and public_only:
        raise UsageError("--public-only makes a site of its own: name a new folder OUT for it.")

    def made(reader: Archive) -> Path:
        version = reader.resolve() if at is None else reader.version_at(at, settings.timezone)
        if target is None:
            return _refresh(out, reader, settings, version)
        return _copy(out, reader, settings, target, version, options, public_only=public_only, force=force)

    start = read_consistently(archive, made)
    if opens:
        webbrowser.open(start.absolute().as_uri())
    return 0


def _refresh(out: Output, reader: Archive, settings: Settings, version: int) -> Path:
    with reader.lock() as lock:
        lock.acquire(SystemClock().now(), settings.wait_lock.total_seconds())
        views = present_views(settings, reader.layout.root, also={NAME})
        made = refresh_latest(reader, views, at=version)
    start = reader.layout.latest / NAME / "index.html"
    site = {"archive": str(reader.layout.root.absolute()), "version": version, "site": str(start.absolute())}
    out.document({**site, "files_made": made.files})
    out.answer(printable(f"{start} shows version {version}; {counted(made.files, 'file')} were made."))
    if version != reader.newest():
        out.say(f"All of latest/ shows version {version} now; the next backup, rebuild or site brings back the newest.")
    return start


def _copy(
    out: Output,
    reader: Archive,
    settings: Settings,
    target: Path,
    version: int,
    given: Mapping[str, Any],
    *,
    public_only: bool,
    force: bool,
) -> Path:
    root = reader.layout.root
    if target.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{target} is inside the archive; name a folder outside of it.")
    check_target(target, force=force)
    view = SiteView(
        service_of(settings),
        None if public_only else ArchiveHistory(reader, service_of(settings), version),
        replace(site_options(settings, root), public=public_only, assets=""),
    )
    with contextlib.closing(reader.state(version)) as state:
        records: RecordSource = _public(out, reader, settings, state, given) if public_only else state
        left = records.left_out if isinstance(records, PublicRecords) else dict.fromkeys(Kind, 0)
        counts = {kind: len(records.ids(kind)) for kind in Kind}

        def document(written: list[WrittenFile]) -> dict[str, Any]:
            return {
                "format": NAME,
                "blog_id": reader.info.blog_id,
                "version": version,
                "side": "public" if public_only else "all",
                "folder": str(target.resolve()),
                "written": {str(kind): counts[kind] for kind in Kind},
                "left_out": {str(kind): left[kind] for kind in Kind},
                **listed(written, public=public_only),
            }

        written = write_export(copied_site(view, records), root, target, document)
    out.document(document(written))
    total = size_text(sum(file.bytes for file in written))
    entries = counted(counts[Kind.ENTRIES], "entry")
    out.answer(printable(f"{target}: {counted(len(written), 'file')}, {total}, {entries}."))
    if public_only:
        out.say(f"Left out as not public: {left[Kind.ENTRIES]:,} entries, {left[Kind.COMMENTS]:,} comments.")
    return target / "index.html"


def _public(out: Output, reader: Archive, settings: Settings, state: State, given: Mapping[str, Any]) -> PublicRecords:
    blog_id = reader.info.blog_id
    declared = declared_flags(settings, blog_id, teller(out, blog_id), all_as_draft=False)
    if declared.public_access is None:
        raise UsageError(f"Nothing says yet which entries are public: say so with --public-open-flg. {HINT}")
    check_answers(declared, given, state, service_of(settings), out.warn)
    with newest_beside(reader, state.version) as newest:
        return PublicRecords(state, declared, read_at(reader, state.version), service_of(settings), newest)
