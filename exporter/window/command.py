"""``app``: the window, in the person's own browser. A second start opens the window that already runs."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from exporter.cli.help import PATH, cli_command
from exporter.cli.options import with_config
from exporter.cli.output import OnLoss, Output
from exporter.message import message

if TYPE_CHECKING:
    from exporter.cli.signals import Signals
    from exporter.window.server import WindowServer

_NOTE: Final = "window.json"
_ASKING_SECONDS: Final = 3.0


@cli_command(
    "app",
    help=message(
        """Open the window: everything the program does, on pages in your own browser.

        The pages are served to this machine alone, at a secret address. A second start opens the same window.
        Backups go on when the page or the window is closed."""
    ),
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help=message("Port. [default: a free one]")
)
@click.option("--no-open", is_flag=True, help=message("Only print the address."))
@click.option("--job", type=PATH, hidden=True)
@with_config(on_loss=OnLoss.STOP)
def app_command(*, out: Output, port: int, no_open: bool, job: Path | None, config: Path | None) -> int:
    """Run ``app``."""
    if job is not None:
        from exporter.window.jobs import run_job

        return run_job(job)

    import asyncio

    from exporter.archive.lock import ArchiveLock
    from exporter.cli.language import adopt
    from exporter.cli.signals import catch_signals
    from exporter.clock import SystemClock
    from exporter.errors import ArchiveLocked
    from exporter.serve.listening import Place
    from exporter.settings import resolve
    from exporter.translation import current_language
    from exporter.window.routes import ROUTES
    from exporter.window.server import WindowServer
    from exporter.window.window import Window, window_folder

    adopt(resolve({}, config=config))
    folder = window_folder()
    with ArchiveLock(folder / "lock") as lock:
        try:
            lock.acquire(SystemClock().now())
        except ArchiveLocked:
            _open_other(folder, out, opens=not no_open)
            return 0
        token = secrets.token_urlsafe(16)
        window = Window(folder, current_language(), f"/{token}/", ROUTES, config)
        server = WindowServer(window, Place("127.0.0.1", port, token), out.warn)
        with catch_signals(lambda: message("the window has ended; backups go on")) as signals:
            asyncio.run(_run(server, out, signals, opens=not no_open))
    return 0


async def _run(server: WindowServer, out: Output, signals: Signals, *, opens: bool) -> None:
    import asyncio
    import contextlib

    from exporter.archive import atomic
    from exporter.cli.serve import shown_in_browser

    loop = asyncio.get_running_loop()
    failed = loop.create_future()
    note = server.window.folder / _NOTE
    with signals.passed_to(lambda error: None if failed.done() else failed.set_exception(error)):
        async with server.listening() as address:
            atomic.write_file(note, json.dumps({"url": address}).encode())
            try:
                out.document({"url": address})
                out.answer(address)
                out.say(message("This is the window's address. Ctrl-C ends the window; running backups go on."))
                with shown_in_browser(address) if opens else contextlib.nullcontext():
                    ended = asyncio.create_task(server.ended.wait())
                    await asyncio.wait((failed, ended), return_when=asyncio.FIRST_COMPLETED)
                    if failed.done():
                        ended.cancel()
                        failed.result()
            finally:
                note.unlink(missing_ok=True)


def _open_other(folder: Path, out: Output, *, opens: bool) -> None:
    """Open the window of another process in the browser.

    Raises:
        UsageError: that process does not state its address within a few seconds.
    """
    import time

    from exporter.cli.serve import shown_in_browser
    from exporter.errors import UsageError

    until = time.monotonic() + _ASKING_SECONDS
    while True:
        try:
            address = str(json.loads((folder / _NOTE).read_bytes())["url"])
            break
        except (OSError, ValueError, KeyError, TypeError):
            if time.monotonic() > until:
                raise UsageError(message("Another window is just starting or ending. Try again.")) from None
            time.sleep(0.1)
    out.document({"url": address})
    out.answer(address)
    if opens:
        with shown_in_browser(address):
            time.sleep(_ASKING_SECONDS)  # the browser needs the page that leads there
