"""The notification page, with forms that set how a person learns about failed nights.

It writes a monitor's address and a date into the user's settings file. It never writes a command to run: no page in a
browser may decide which programs run on this machine.
"""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive.archive import Archive
from exporter.archive.settings_file import settings_to_read_with, table_of
from exporter.cli.init import table_name
from exporter.cli.user_settings import add_blog, set_setting
from exporter.errors import UsageError
from exporter.message import message, said, suggested
from exporter.notify.delivery import Monitor, Signal
from exporter.setting_sources import Origin
from exporter.settings import own_config_path, read_config
from exporter.translation import translated
from exporter.window.actions import about_blog, complaints, line
from exporter.window.pages import Redirect

if TYPE_CHECKING:
    from exporter.settings import Settings
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

_EXAMPLE: Final = "on_failure = \"mail -s 'blog backup' you@example.jp\""


def notifications(window: Window, asked: Asked, archive: Path) -> Answer:
    """Answer a request for ``blog/KEY/notifications``: show the settings, set one, or try the monitor."""
    wrong, told = list[str](), ""
    reader = Archive.open(archive)
    settings = settings_to_read_with(reader, {}, window.config)
    if asked.method == "POST":
        with complaints(window, wrong):
            if asked.text("task") == "try":
                told = translated(_tried(settings), window.language)
            else:
                _set(window, asked, reader)
                return Redirect(f"blog/{asked.parts[1]}/notifications")
    return window.page(
        "notifications.html",
        status=400 if wrong else 200,
        **about_blog(asked, archive),
        monitor=None if settings.ping_url is None else _host(settings.ping_url),
        hook=settings.on_failure,
        closing="" if settings.closing is None else settings.closing.isoformat(),
        places={name: _place(window, settings, name) for name in ("ping_url", "on_failure", "closing")},
        path=own_config_path(window.config),
        example=_EXAMPLE,
        metrics=suggested("status", archive, "--prometheus"),
        look=suggested("status", archive),
        told=told,
        given=asked.text,
        wrong=wrong,
    )


def _place(window: Window, settings: Settings, name: str) -> str:
    """Return where a setting comes from; empty if nothing sets it."""
    source = settings.sources[name]
    return "" if source.origin is Origin.DEFAULT else translated(source.place(name), window.language)


def _host(url: str) -> str:
    """Return the monitor's host: its whole address is a secret."""
    try:
        return Monitor(url).host
    except UsageError:
        return "?"


def _tried(settings: Settings) -> str:
    """Send the monitor a ping that is neither a success nor a failure, and return what came of it.

    Raises:
        UsageError: there is no monitor, or its address is wrong.
    """
    if settings.ping_url is None:
        raise UsageError(message("There is no monitor yet. Save its address first."))
    monitor = Monitor(settings.ping_url)
    asyncio.run(monitor.send(Signal.LOG, translated(message("a test from the window of blog-exporter"))))
    if monitor.trouble is not None:
        return message("The monitor did not answer: {reason}", reason=said(monitor.trouble))
    return message("The monitor answered. Its page shows the test as an event of this minute.")


def _set(window: Window, asked: Asked, archive: Archive) -> None:
    """Write a form's setting into the blog's table in the settings file, and make the table if needed.

    Raises:
        UsageError, ValueError: the value is wrong, or the file cannot be changed.
    """
    name, value = _asked_setting(asked)
    blogs = read_config(window.config).blogs
    table = table_of(archive.path, archive.info.blog_id, blogs)
    path = own_config_path(window.config)
    if table is not None:
        set_setting(path, name, value, table.name)
    elif value is not None:
        about = {"blog_id": archive.info.blog_id, "archive": str(archive.path)}
        add_blog(path, table_name(archive.info.blog_id, blogs), {**about, name: value})


def _asked_setting(asked: Asked) -> tuple[str, str | None]:
    """Return a form's setting and its text, ``None`` for no value.

    Raises:
        UsageError: the value is wrong.
    """
    task = asked.text("task")
    if task == "monitor":
        url = line(asked, "url")
        if url:
            Monitor(url)
        return "ping_url", url or None
    if task != "closing":
        raise UsageError(message("There is no such setting."))
    day = line(asked, "day")
    try:
        return "closing", date.fromisoformat(day).isoformat() if day else None
    except ValueError:
        raise UsageError(message("Give the day as 2026-03-31.")) from None
