"""Saving one blog of a fleet, by the very call that ``backup`` makes, and saying how that ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from exporter.clock import Clock
from exporter.errors import BlogExporterError, Interrupted, NoMemory
from exporter.fleet.blog_list import archive_place
from exporter.fleet.ledger import Attempt, DueBlog
from exporter.http.engine import Engine
from exporter.library.backup import Backup, backup, open_service
from exporter.message import message, said
from exporter.settings import Settings

_REASON: Final = 2000


class Saver:
    """Saves blogs with one engine, any number at a time.

    Args:
        root: the fleet's folder.
        engine: sends all requests.
        settings_of: the settings of a blog, with those of its line; raises a UsageError.
        clock: the time of day.
        worker: names this process in the ledger.
    """

    def __init__(
        self, root: Path, engine: Engine, settings_of: Callable[[DueBlog], Settings], clock: Clock, worker: str = ""
    ) -> None:
        self._root = root
        self._engine = engine
        self._settings_of = settings_of
        self._clock = clock
        self._worker = worker
        self._running: dict[int, Backup] = {}
        self._end: Interrupted | None = None

    def stop(self, error: Interrupted) -> None:
        """End all that is under way soon and in order."""
        self._end = error
        for each in self._running.values():
            each.stop(error)

    async def save(self, blog: DueBlog) -> Attempt:
        """Back up a blog into its archive; whatever goes wrong is in what is returned."""
        started = self._clock.now().timestamp()
        run: Backup | None = None
        error: BlogExporterError | None = None
        try:
            if self._end is not None:
                raise self._end
            settings = self._settings_of(blog)
            async with AsyncExitStack() as stack:
                service = await stack.enter_async_context(open_service(blog.blog_id, settings, engine=self._engine))
                place = archive_place(self._root, blog.blog_id)
                place.parent.mkdir(mode=0o700, exist_ok=True)
                run = await stack.enter_async_context(backup(place, service, settings))
                self._running[blog.number] = run
                async for _ in run:
                    pass
        except BlogExporterError as failure:
            error = failure
        except MemoryError:
            error = NoMemory()
        except Exception as failure:  # noqa: BLE001 - whatever it is, the other blogs have their turn
            error = BlogExporterError(message("Unexpected: {kind}: {reason}", kind=type(failure).__name__, reason=failure))
        finally:
            self._running.pop(blog.number, None)
        return self._attempt(blog, started, run, error)

    def _attempt(self, blog: DueBlog, started: float, run: Backup | None, error: BlogExporterError | None) -> Attempt:
        outcome = None if run is None else run.outcome
        code = error.exit_code if error is not None else outcome.exit_code if outcome is not None else 1
        reason = said(error) if error is not None else outcome.error if outcome is not None else None
        return Attempt(
            blog.number,
            started,
            self._clock.now().timestamp(),
            code,
            type(error).__name__ if error is not None else "Incomplete" if code else None,
            None if reason is None else str(reason)[:_REASON],
            None if outcome is None or error is not None else outcome.version,
            0 if outcome is None else outcome.requests,
            0 if outcome is None else outcome.retries,
            0 if outcome is None else outcome.bytes,
            self._worker,
        )
