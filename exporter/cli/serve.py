"""``serve``: the site over HTTP on this machine, with a search over all versions and a JSON API."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exporter.cli.help import cli_command
from exporter.cli.options import at_option, readable_archive, with_archive
from exporter.cli.output import OnLoss, Output
from exporter.errors import UsageError
from exporter.message import message
from exporter.settings import Settings

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.cli.signals import Signals
    from exporter.serve.app import Server

_EPILOG = message(
    """\b
Examples:
  blog-exporter serve DIR --open                 (show it in the browser; Ctrl-C ends it)
  blog-exporter serve DIR --at 2020-01-31        (an earlier state)
  blog-exporter serve DIR --mcp                  (for an assistant; docs/assistant.md)
  blog-exporter serve DIR --host 192.168.1.5 --let-the-network-read-all
"""
)


@cli_command(
    "serve",
    epilog=_EPILOG,
    help=message(
        """Show the archive in DIR in a browser: its site, and a search that includes earlier versions.

        It changes nothing in the archive, and a backup may run at the same time."""
    ),
)
@readable_archive("PICTURES")
@at_option
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help=message("Port. [default: a free one]")
)
@click.option(
    "--host", default="127.0.0.1", metavar="HOST", help=message("Address to listen at. [default: this machine alone]")
)
@click.option("--open", "opens", is_flag=True, help=message("Open it in the browser."))
@click.option(
    "--mcp",
    is_flag=True,
    help=message("Answer an assistant by the Model Context Protocol on standard input and output."),
)
@click.option("--everything", is_flag=True, help=message("With --mcp: include private and removed records."))
@click.option("--no-secret", is_flag=True, help=message("Use no secret address: all users here may read it."))
@click.option(
    "--let-the-network-read-all",
    "consent",
    is_flag=True,
    help=message("With --host: allow others to read all, unencrypted."),
)
@with_archive(on_loss=OnLoss.STOP)
def serve_command(
    *,
    out: Output,
    archive: Archive,
    settings: Settings,
    at: str | None,
    port: int,
    host: str,
    opens: bool,
    mcp: bool,
    everything: bool,
    no_secret: bool,
    consent: bool,
) -> int:
    """Run ``serve``."""
    import asyncio
    import secrets

    from exporter.cli.signals import catch_signals
    from exporter.serve.app import Server, site_folder
    from exporter.serve.listening import Place, is_loopback

    if mcp:
        return _serve_assistant(archive, settings, everything=everything)
    if everything:
        raise UsageError(message("--everything needs --mcp: the site on this machine has everything anyway."))
    if not host.strip("[]"):
        raise UsageError(message("--host is empty: name the address to listen at, or leave it out."))
    if not is_loopback(host) and not consent:
        raise UsageError(
            "With --host {host} everyone in that network with the address can read the whole blog, private entries "
            "and past versions included, and it travels unencrypted. If you want that, add "
            "--let-the-network-read-all.",
            host=host,
        )
    version = archive.version_at(at, settings.timezone)
    place = Place(host, port, "" if no_secret else secrets.token_urlsafe(16))
    shown = None if at is None else version
    with (
        catch_signals(lambda: message("the server has ended, and nothing was changed")) as signals,
        site_folder(archive.path, settings, shown, out.say) as site,
    ):
        asyncio.run(_run(Server(archive.path, site, settings, place, shown, out.warn), out, signals, opens=opens))
    return 0


def _serve_assistant(archive: Archive, settings: Settings, *, everything: bool) -> int:
    from tempfile import TemporaryDirectory

    from exporter.serve.assistant import Assistant
    from exporter.serve.mcp_server import serve

    with TemporaryDirectory(prefix="blog-exporter-mcp-") as folder:
        serve(Assistant(archive.path, settings, Path(folder), everything=everything))
    return 0


async def _run(server: Server, out: Output, signals: Signals, *, opens: bool) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    with signals.passed_to(lambda error: None if ended.done() else ended.set_exception(error)):
        async with server.listening() as address:
            out.document({"url": address})
            out.answer(address)
            if not opens:
                out.say(message("Open it in a browser. Ctrl-C ends the server."))
                await ended
            out.say(message("It opens in your browser. If it does not, open that address. Ctrl-C ends the server."))
            with shown_in_browser(address):
                await ended


@contextlib.contextmanager
def shown_in_browser(address: str) -> Iterator[None]:
    """Open an address in a browser, through a file that only this user can read.

    Other users here can read the browser's arguments, so they must not contain the secret address.
    """
    import html
    import tempfile
    import threading

    from exporter.cli.login import open_browser

    with tempfile.TemporaryDirectory(prefix="blog-exporter-serve-") as folder:
        page = Path(folder) / "open.html"
        page.touch(0o600)
        shown = html.escape(address)
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0;url={shown}"><a href="{shown}">{shown}</a>\n',
            "utf-8",
        )
        # A browser for terminals returns only when it ends, so nothing waits for it.
        threading.Thread(target=open_browser, args=(page.as_uri(),), daemon=True).start()
        yield
