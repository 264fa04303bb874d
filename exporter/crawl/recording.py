"""Records a run's exchanges from its first request to the capture. If this fails, the backup goes on."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from exporter.archive.manifest import RecordProblem
from exporter.clock import timestamp
from exporter.crawl.api_capture import ApiCapture
from exporter.crawl.exchange_keeper import RunExchanges
from exporter.crawl.tasks import finish_in_thread
from exporter.errors import BlogExporterError, NoSpace
from exporter.message import said

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.clock import Clock
    from exporter.crawl.checkpoint import Checkpoint
    from exporter.crawl.ingest import BackupSettings
    from exporter.crawl.outcome import Outcome
    from exporter.crawl.publicity import Publicity
    from exporter.http.engine import ServiceClient


@dataclass
class RunRecording:
    """Records the exchanges of a run if its client has a recorder.

    Attributes:
        layout: the archive, whose lock the caller holds.
        client: sends the requests.
        settings: those of the run.
        clock: the time of the run.
    """

    layout: Layout
    client: ServiceClient
    settings: BackupSettings
    clock: Clock
    _exchanges: RunExchanges | None = None
    _capture: ApiCapture | None = None

    async def begin(self, checkpoint: Checkpoint, opened: contextlib.AsyncExitStack) -> None:
        """Record all exchanges from now on; ``opened`` closes the files."""
        recorder, settings = self.client.recorder, self.settings
        if recorder is None or settings.dry_run:
            return
        started = datetime.fromisoformat(timestamp(self.clock.now()))
        self._capture = ApiCapture(self.layout, settings.blog_id, settings.base_url, started, settings.operator)
        begun = partial(RunExchanges.begun, self.layout, checkpoint.folder, repr(settings.declared), recorder)
        try:
            exchanges = await finish_in_thread(begun, close=lambda found: found.close())
        except BlogExporterError as error:
            self._capture.error = error
            return
        opened.callback(exchanges.close)
        self._capture.run = self._exchanges = recorder.keeper = exchanges

    def sync(self) -> None:
        """Make the recorded exchanges durable."""
        if self._exchanges is not None:
            self._exchanges.sync()

    async def write(self, publicity: Publicity) -> None:
        """End the recording, and write the public exchanges, which are only now known to be public."""
        capture, recorder = self._capture, self.client.recorder
        if capture is not None and recorder is not None:
            recorder.keeper = None
            await finish_in_thread(lambda: capture.write(publicity, self.clock.now()))

    async def seal(self, outcome: Outcome) -> None:
        """Move the capture into the archive, whose version is committed; state the result in ``outcome``."""
        capture = self._capture
        if capture is None:
            return
        await finish_in_thread(lambda: capture.seal(self.clock.now()))
        outcome.warc = capture.document()
        if capture.error is not None:
            outcome.problems = [*outcome.problems, RecordProblem("warc", None, said(capture.error))]
            outcome.completeness = {**(outcome.completeness or {}), "complete": False}

    def without_space(self) -> NoSpace | None:
        """Return the error if only the exchanges had no room."""
        error = None if self._capture is None else self._capture.error
        if not isinstance(error, NoSpace):
            return None
        return NoSpace("The backup is saved, but not the exchanges (--warc): {reason}", reason=said(error))
