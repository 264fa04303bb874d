"""Keeps the new and changed exchanges that a run has with its service, without secrets.

A failure here never ends the run: the backup matters more. The keeper notes the failure, gives its space back and keeps
nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.crawl.exchange_spool import ExchangeSpool, RequestEnd
from exporter.crawl.known_exchanges import KnownExchanges
from exporter.errors import BlogExporterError
from exporter.http.credentials import Credentials
from exporter.http.recording import MemoryAnswer
from exporter.warc.records import facts_of
from exporter.warc.redaction import NotRedactable, Removal, redacted

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.http.credentials import TokenSource
    from exporter.http.recording import ExchangeRecorder
    from exporter.http.wire import WireExchange
    from exporter.model.exchange import Held

NOT_MODIFIED = 304


@dataclass
class RunExchanges:
    """Implements :class:`~exporter.http.recording.ExchangeKeeper` for one run.

    Attributes:
        spool: the new and changed exchanges so far.
        known: the answers in the archive's captures.
        recorder: knows how credentials are sent.
        unchanged: the exchanges of this process that were not kept.
        failure: why nothing more is kept.
    """

    spool: ExchangeSpool
    known: KnownExchanges
    recorder: ExchangeRecorder
    unchanged: int = 0
    failure: BlogExporterError | None = None

    @classmethod
    def begun(cls, layout: Layout, folder: Path, declared: str, recorder: ExchangeRecorder) -> RunExchanges:
        """Begin or continue the spool in the checkpoint's ``folder``.

        Raises:
            BlogExporterError: a file cannot be written.
        """
        known = KnownExchanges(layout, declared)
        try:
            return cls(ExchangeSpool(folder), known, recorder)
        except BaseException:
            known.close()
            raise

    def begin(self, source: TokenSource) -> RunRequest:
        """Begin a request."""
        return RunRequest(self, source, self.spool.begin())

    def knows(self, url: str) -> bool:
        """Return whether an earlier run kept an answer of this address, or decided not to."""
        try:
            return self.failure is not None or self.known.newest(url) is not None
        except BlogExporterError as error:
            self.fail(error)
            return True

    def fail(self, error: BlogExporterError) -> None:
        """Note why nothing more is kept, and give the space back."""
        if self.failure is None:
            self.failure = error
            self.spool.drop()

    def sync(self) -> None:
        """Make everything kept durable."""
        if self.failure is None:
            try:
                self.spool.sync()
            except BlogExporterError as error:
                self.fail(error)

    def close(self) -> None:
        """Close the files; the spool stays for the next run."""
        self.spool.close()
        self.known.close()


@dataclass
class RunRequest:
    """Implements :class:`~exporter.http.recording.KeptRequest`."""

    run: RunExchanges
    source: TokenSource
    number: int
    attempts: int = 0
    refused: str = ""

    async def attempt(self, exchange: WireExchange) -> None:
        """Keep an exchange without its secrets if it is new or changed."""
        self.attempts += 1
        try:
            if self.run.failure is None:
                self._keep(exchange)
        except NotRedactable:
            self.refused = "secret"
        except BlogExporterError as error:
            self.run.fail(error)
        except Exception as error:  # noqa: BLE001 - whatever a hostile answer causes here, the backup goes on
            reason = f"{type(error).__name__}: {error}"
            self.run.fail(BlogExporterError("an exchange could not be recorded ({reason})", reason=reason))
        finally:
            exchange.close()

    def _keep(self, exchange: WireExchange) -> None:
        run, answer = self.run, exchange.answer
        if isinstance(answer, MemoryAnswer) and answer.dropped:
            self.refused = "too_large"
            return
        recorder = run.recorder
        secrets = self.source.redactor.secrets
        removal = Removal(secrets, recorder.token_header, recorder.token_parameter, 2 * recorder.memory.most)
        kept = redacted(exchange, removal)
        facts = None if kept is None else facts_of(kept.exchange)
        if kept is None or facts is None:
            return
        newest, status = run.known.newest(kept.exchange.url), facts.head.status
        if status == NOT_MODIFIED or (newest is not None and newest.is_same(status, facts.digest)):
            run.unchanged += 1
            return
        run.spool.put(self.number, self.attempts, status, kept)

    def answered(self, held: Held | None) -> None:
        """End the request: its last answer was accepted and holds these records."""
        self._end(RequestEnd(self.number, self.attempts, held, refused=self.refused, anonymous=self._anonymous()))

    def failed(self) -> None:
        """End the request: no answer was accepted."""
        end = RequestEnd(self.number, self.attempts, failed=True, refused=self.refused, anonymous=self._anonymous())
        self._end(end)

    def _end(self, end: RequestEnd) -> None:
        if self.run.failure is None:
            try:
                self.run.spool.end(end)
            except BlogExporterError as error:
                self.run.fail(error)

    def _anonymous(self) -> bool:
        source = self.source
        return isinstance(source, Credentials) and not source.token and source.signer is None
