"""Reading archives from the window: each one has a server as `serve` starts it, with a separate port and secret."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Final

from exporter.archive.archive import Archive
from exporter.archive.settings_file import settings_to_read_with
from exporter.serve.app import Server, site_folder
from exporter.serve.listening import Place

_STARTING_SECONDS: Final = 300.0
"""A server starts late if the archive has no site yet, because it makes the site first."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """A server that runs: its address, its loop, and the event that ends it."""

    address: str
    loop: asyncio.AbstractEventLoop
    ended: asyncio.Event


class Readers:
    """The servers of the archives that the window shows; each has a thread.

    Args:
        config: the settings file named on the command line.
    """

    def __init__(self, config: Path | None) -> None:
        self._config = config
        self._open: dict[Path, _Reader] = {}
        self._opening = Lock()

    def address(self, archive: Path) -> str:
        """Return the address of an archive's server; empty if it does not run."""
        reader = self._open.get(archive)
        return "" if reader is None else reader.address

    def are_open(self) -> bool:
        """Return whether any server runs."""
        return bool(self._open)

    def open(self, archive: Path) -> str:
        """Start an archive's server, unless it runs; return the address of the first page.

        Raises:
            BlogExporterError: the archive cannot be read.
        """
        with self._opening:
            if archive not in self._open:
                started: Future[_Reader] = Future()
                Thread(target=self._run, args=(archive, started), name="reader", daemon=True).start()
                self._open[archive] = started.result(_STARTING_SECONDS)
        return self._open[archive].address

    def close(self) -> None:
        """End all servers."""
        for reader in self._open.values():
            reader.loop.call_soon_threadsafe(reader.ended.set)
        self._open.clear()

    def _run(self, archive: Path, started: Future[_Reader]) -> None:
        try:
            settings = settings_to_read_with(Archive.open(archive), {}, self._config)
            with site_folder(archive, settings, None, lambda _: None) as site:
                place = Place(token=secrets.token_urlsafe(16))
                asyncio.run(_serve(Server(archive, site, settings, place), started))
        except Exception as error:  # noqa: BLE001 - the page shows it
            if not started.done():
                started.set_exception(error)


async def _serve(server: Server, started: Future[_Reader]) -> None:
    ended = asyncio.Event()
    async with server.listening() as address:
        started.set_result(_Reader(address, asyncio.get_running_loop(), ended))
        await ended.wait()
