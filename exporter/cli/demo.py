"""``demo``: back up a sample blog over local HTTP, change it, back it up again, and verify."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exporter.cli.backup import back_up
from exporter.cli.help import PATH, cli_command
from exporter.cli.options import with_output
from exporter.cli.output import OnLoss, Output, counted
from exporter.clock import FixedClock
from exporter.demo import ENTRY_URL, FILE_URL
from exporter.errors import ArchiveDamaged, UsageError
from exporter.message import message, suggested
from exporter.model.kinds import Kind
from exporter.settings import CONFIG_VARIABLE, resolve
from exporter.text import left
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.archive.archive import Archive

_SAMPLE_START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_SAMPLE_URL = "http://demo.example.jp"
_SETTINGS = {"file_url": FILE_URL, "entry_url": ENTRY_URL, "allow_private_network": "yes"}
_NOBODYS_SETTINGS = {CONFIG_VARIABLE: os.devnull}
"""Ignores the settings file, which may name the monitor of a real blog."""


@cli_command(
    "demo",
    help=message(
        """Back up a sample blog into DIR (default: ./demo-archive), change the blog, back it up again, and verify.

        Nothing leaves this machine: the blog is served on a free local port."""
    ),
)
@click.argument("directory", metavar="[DIR]", default="demo-archive", type=PATH)
@click.option("--fixed-clock", is_flag=True, hidden=True, help=message("Write the same bytes every time."))
@click.option("-y", "--yes", is_flag=True, help=message("Ask nothing, and open no browser."))
@with_output(OnLoss.WARN)
def demo_command(*, out: Output, directory: Path, fixed_clock: bool, yes: bool) -> int:
    """Run ``demo``."""
    from exporter.archive.archive import Archive
    from exporter.demo.content import demo_blog, later_changes
    from exporter.demo.service import DemoService

    blog = demo_blog()
    _begin(out, directory, blog.blog_id)
    quiet = Output(as_json=False, verbosity=out.verbosity)
    service = DemoService(blog)
    with service.run_in_thread():
        settings = resolve({**_SETTINGS, "base_url": service.base_url}, environ=_NOBODYS_SETTINGS)

        def run(number: int) -> None:
            clock = FixedClock(_SAMPLE_START + timedelta(days=number)) if fixed_clock else None
            service.clock = clock or service.clock
            url = _SAMPLE_URL if fixed_clock else None
            back_up(
                directory, blog.blog_id, settings, quiet, new=True, clock=clock, recorded_url=url, locate=service.local
            )

        out.say("A sample blog is served at {url}. Backing it up:\n", url=service.base_url)
        run(0)
        later_changes(blog)
        out.say(message("\nNow an entry is edited, one is written, one is deleted. Backing it up again:\n"))
        run(1)
    reader = Archive.open(directory)
    findings = [finding for finding in reader.verify() if finding.damage]
    if findings:
        raise ArchiveDamaged(
            "The demo's archive is damaged: {path}: {detail}.", path=findings[0].path, detail=findings[0].detail
        )
    versions = counted(len(reader.versions()), "version")
    out.say("\nVerified: {versions}, every hash, chain and fold is correct. Look at:\n", versions=versions)
    for what, where in _sights(directory, reader):
        out.say(f"  {left(translated(what), 28)} {translated(where)}")
    out.document({"archive": str(directory.absolute()), "blog_id": blog.blog_id, "versions": len(reader.versions())})
    if out.attended and not yes:
        _offer_to_open(out, _start_page(directory))
    return 0


def _offer_to_open(out: Output, page: Path) -> None:
    """Ask whether to open the site. The demo has succeeded already, so Ctrl-C and Ctrl-D mean no."""
    from exporter.cli.login import open_browser
    from exporter.cli.questions import Questions

    out.say()
    try:
        wanted = Questions().agreed(message("Open the blog in your browser now?"), default=True)
    except click.Abort:
        out.say()
        return
    if wanted and not open_browser(page.absolute().as_uri()):
        out.say("No browser could be opened here. Open this file in one: {path}", path=page.absolute())


def _start_page(directory: Path) -> Path:
    return directory / "latest" / "site" / "index.html"


def _begin(out: Output, directory: Path, blog_id: str) -> None:
    """Refuse a folder with anything but an earlier demo, which gets new versions."""
    from exporter.archive.archive import Archive
    from exporter.archive.writer import require_place

    if not Archive.exists(directory):
        require_place(directory, blog_id)
        return
    reader = Archive.open(directory)
    found = reader.info.blog_id
    if found != blog_id:
        raise UsageError("{folder} is the archive of {blog_id}: name a new folder.", folder=directory, blog_id=found)
    out.say(
        "{folder} contains an earlier demo, and gets new versions. The sample blog starts from the beginning, "
        "so the first backup finds the last changes undone.\n",
        folder=directory,
    )


def _sights(directory: Path, reader: Archive) -> list[tuple[str, str]]:
    before, after = reader.versions()[-2:]
    edited = _edited_entry(reader, before, after)
    return [
        (message("the blog, in a browser"), str(_start_page(directory))),
        (message("the same, in any editor"), str(directory / "latest" / "markdown" / "index.md")),
        (message("what changed when"), suggested("log", directory)),
        (message("an entry that was edited"), suggested("show", directory, "entry", edited)),
        (message("the same, before the edit"), suggested("show", directory, "entry", edited, "--at", str(before))),
        (message("reading without the program"), str(directory / "README.txt")),
        (message("the records themselves"), str(directory / "versions")),
    ]


def _edited_entry(reader: Archive, before: int, after: int) -> str:
    first, newest = reader.state(before), reader.state(after)
    return next(
        key
        for key in first.ids(Kind.ENTRIES)
        if newest.identity(Kind.ENTRIES, key) not in (None, first.identity(Kind.ENTRIES, key))
    )
