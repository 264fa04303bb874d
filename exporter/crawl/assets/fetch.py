"""Reading one file into the store and telling what became of it; a failure is an answer here, not an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from exporter.crawl.assets.file_check import Expected, NotTheFile, check_file
from exporter.errors import (
    AddressRefused,
    BadBody,
    BodyTooLarge,
    HostGivenUp,
    NotPublic,
    RetryableStatus,
    TransportError,
    Unreachable,
    UsageError,
)
from exporter.http.address_guard import states_private
from exporter.message import message
from exporter.model.asset import Asset, AssetState

if TYPE_CHECKING:
    from exporter.archive.assets import AssetStore, PartialFile
    from exporter.http.engine import Download, Downloader

_OK, _NOT_MODIFIED = 200, 304
_GONE = frozenset({404, 410})
_ELSEWHERE = frozenset({401, 403, 404, 410, 451})
"""What a web archive may still hold."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of an address.

    Attributes:
        asset: its record, without ``refs``; ``sha256`` is ``None`` when it could not be read.
        answer: the last answer, where there was one.
        unchanged: whether the server said that the file known is still right.
    """

    asset: Asset
    answer: Download | None = None
    unchanged: bool = False


class _Failed(Exception):
    """Why a file could not be had.

    Attributes:
        status: the status of the answer, where there was one.
        state: what that means for the backup.
        elsewhere: whether it is worth asking a web archive.
        size: the bytes that were too many.
    """

    def __init__(
        self,
        reason: str,
        status: int | None = None,
        state: AssetState = AssetState.PENDING,
        *,
        elsewhere: bool = False,
        size: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.state = state
        self.elsewhere = elsewhere
        self.size = size


def check_fallback(pattern: str | None) -> None:
    """Check the address of a web archive.

    Raises:
        UsageError: it is not an address with ``{url}`` in it.
    """
    if pattern is not None and ("{url}" not in pattern or not pattern.startswith(("http://", "https://"))):
        raise UsageError(
            message("--archive-fallback must be an address with {{url}} in it, such as https://HOST/{{url}}.")
        )


class Fetcher:
    """Reads files into the store.

    Args:
        downloader: what asks.
        store: where files go.
        max_bytes: the largest file that it reads.
        fallback: the address of a web archive with ``{url}`` in it, asked for what is gone.
        locate: says where an address is really asked for.
    """

    def __init__(
        self,
        downloader: Downloader,
        store: AssetStore,
        max_bytes: int,
        fallback: str | None = None,
        locate: Callable[[str], str] | None = None,
    ) -> None:
        self._downloader = downloader
        self._store = store
        self._max_bytes = max_bytes
        self._fallback = fallback
        self._locate = locate or str

    async def fetch(self, url: str, expected: Expected, known: Download | None = None) -> Fetched:
        """Read the file at ``url``; ``known`` is the answer it came with before, if it did.

        Raises:
            BlogExporterError: it could not be written; what the web does wrong is in the result.
        """
        try:
            return await self._read(url, expected, known)
        except _Failed as error:
            failed = error
        if failed.elsewhere and self._fallback is not None:
            source = self._fallback.replace("{url}", url)
            try:
                found = await self._read(source, expected, None)
                return Fetched(replace(found.asset, url=url, source=source), None)
            except _Failed:
                pass
        return Fetched(Asset(url, failed.status, bytes=failed.size, error=str(failed), absence=failed.state))

    async def _read(self, url: str, expected: Expected, known: Download | None) -> Fetched:
        part = self._store.part(url)
        try:
            return await self._whole(url, part, expected, known)
        except NotTheFile as error:
            part.restart(None, None)
            raise _Failed(str(error), _OK, elsewhere=True) from None
        except NotPublic as error:
            stated = states_private(self._locate(url))
            raise _Failed(str(error), None, AssetState.REFUSED if stated else AssetState.PENDING) from None
        except AddressRefused as error:
            raise _Failed(str(error), None, AssetState.LOST) from None
        except BodyTooLarge as error:
            part.restart(None, None)
            raise _Failed(str(error), _OK, AssetState.LEFT_OUT, size=self._max_bytes) from None
        except TransportError as error:
            status = error.status if isinstance(error, RetryableStatus) else None
            raise _Failed(str(error), status, elsewhere=isinstance(error, Unreachable | HostGivenUp)) from None
        finally:
            part.close()

    async def _whole(
        self, url: str, part: PartialFile, expected: Expected, known: Download | None, before: str | None = None
    ) -> Fetched:
        """Read a file; one that may have been cut short is read a second time, and believed if it is the same."""
        answer = await self._downloader.read(self._locate(url), part, known=known)
        if answer.status == _NOT_MODIFIED and known is not None:
            return Fetched(Asset(url), answer, unchanged=True)
        if answer.status != _OK:
            state = AssetState.LOST if answer.status in _GONE else AssetState.PENDING
            raise _Failed(
                message("it answered {status}", status=answer.status),
                answer.status,
                state,
                elsewhere=answer.status in _ELSEWHERE,
            )
        try:
            return await self._keep(url, part, answer, expected, certain=answer.framed or part.sha256 == before)
        except BadBody:
            if before is not None:
                raise
            before = part.sha256
            part.restart(None, None)
        return await self._whole(url, part, expected, known, before)

    async def _keep(
        self, url: str, part: PartialFile, answer: Download, expected: Expected, *, certain: bool
    ) -> Fetched:
        facts = check_file(part.file, part.size, expected, certain=certain)
        asset = Asset(
            url,
            status=answer.status,
            content_type=facts.content_type,
            bytes=part.size,
            sha256=part.sha256,
            error=facts.doubt,
            width=facts.size.width if facts.size else None,
            height=facts.size.height if facts.size else None,
        )
        await asyncio.to_thread(self._store.keep, part, facts.content_type)
        return Fetched(asset, answer)
