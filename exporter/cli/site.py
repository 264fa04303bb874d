"""``site``: the offline site of any version, or a copy of it in a separate folder."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.archive.archive import Archive, read_consistently
from exporter.cli.help import PATH, cli_command
from exporter.cli.options import at_option, given_settings, opened, readable_archive, with_config
from exporter.cli.output import Output, counted, size_text
from exporter.errors import UsageError
from exporter.message import listed, message
from exporter.service.registry import FLAG_SETTINGS, service_of
from exporter.settings import Settings
from exporter.site import has_pillow
from exporter.text import printable
from exporter.translation import LANGUAGES

if TYPE_CHECKING:
    pass

_EPILOG = message(
    """\b
Examples:
  blog-exporter site DIR --open
  blog-exporter site DIR --title 潮だまり日記 --lang ja
  blog-exporter site DIR --at 2026-01-31 --open      (until the next backup, rebuild or site)
  blog-exporter site DIR OUT --public-only --public-open-flg 1 --visible-delete-flg f
"""
)


@cli_command(
    "site",
    epilog=_EPILOG,
    help=message(
        """Make the site of the archive in DIR: in latest/site, or with its pictures in the new folder OUT.

        With --at but no OUT, latest/ shows that older version until the next backup, rebuild or site."""
    ),
)
@readable_archive("PICTURES")
@click.argument("target", metavar="[OUT]", required=False, type=PATH)
@at_option
@click.option(
    "--title",
    "site_title",
    metavar="TEXT",
    help=message("Title of the blog. [default: the one that was found, or its id]"),
)
@click.option(
    "--lang",
    "site_lang",
    type=click.Choice(sorted(LANGUAGES, reverse=True)),
    help=message("Language of the site. [default: ja]"),
)
@click.option("--public-only", is_flag=True, help=message("Copy only public content, to publish OUT."))
@click.option("--open", "opens", is_flag=True, help=message("Open it in the browser."))
@click.option("--force", is_flag=True, help=message("Replace an earlier site in OUT."))
@with_config("entry_url", *FLAG_SETTINGS, "wait_lock")
def site_command(
    *, out: Output, archive: Path, target: Path | None, at: str | None, config: Path | None, **given: Any
) -> int:
    """Run ``site``."""
    if target is None and given["public_only"]:
        raise UsageError(message("--public-only makes a separate site: name a new folder OUT."))
    found, settings = opened(out, archive, given_settings(given), config)
    version = None if at is None else read_consistently(archive, lambda one: one.version_at(at, settings.timezone))
    if not has_pillow():
        text = message("Pictures have no thumbnails, since Pillow is not installed: pip install 'blog-exporter[site]'")
        out.say(text)
    if target is None:
        start = _refresh(out, found, settings, found.resolve(version))
    else:
        start = _copy(out, found, settings, target, version, given)
    if given["opens"]:
        import webbrowser

        webbrowser.open(start.absolute().as_uri())
    return 0


def _refresh(out: Output, archive: Archive, settings: Settings, version: int) -> Path:
    from exporter.library.views import SITE, refresh

    made = refresh(archive, settings, at=version, also={SITE})
    start = archive.layout.latest / SITE / "index.html"
    site = {"archive": str(archive.path.absolute()), "version": version, "site": str(start.absolute())}
    out.document({**site, "files_made": made.files})
    place, files = printable(str(start)), counted(made.files, "file")
    out.answer("{path} shows version {version}; {files} were made.", path=place, version=version, files=files)
    if version != archive.newest():
        out.say(
            "All of latest/ shows version {version} now; the next backup, rebuild or site brings back the newest.",
            version=version,
        )
    return start


def _copy(
    out: Output, archive: Archive, settings: Settings, target: Path, version: int | None, given: Mapping[str, Any]
) -> Path:
    from exporter.cli.answers import check_answers, declared_flags
    from exporter.cli.undeclared import require_declared_flags
    from exporter.library.export import copy_site

    blog_id, service = archive.info.blog_id, service_of(settings, archive.info.service)
    answers = None
    if given["public_only"]:
        answers = declared_flags(service, settings, archive.path, blog_id, out, all_as_draft=False)
        with contextlib.closing(archive.state(version)) as state:
            check_answers(answers, given, state, service, out.warn)
            require_declared_flags(answers, state, service, given, out)

    public = None if answers is None else answers.declared
    copy = copy_site(archive.path, target, settings, at=version, public=public, force=given["force"])
    document = copy.document
    out.document(document)
    files, entries = counted(document["file_count"], "file"), counted(document["written"]["entries"], "entry")
    parts = listed([files, size_text(document["bytes"]), entries])
    out.answer("{path}: {parts}.", path=printable(str(target)), parts=parts)
    if public is not None:
        left = document["left_out"]
        parts = listed([counted(left["entries"], "entry"), counted(left["comments"], "comment")])
        out.say("Left out as not public: {parts}.", parts=parts)
    return copy.start
