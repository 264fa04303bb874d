"""Download one upload and one picture as a backup would, and discard them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from exporter.check.facts import CheckResult, DownloadFacts
from exporter.compare.pictures import SpooledSink
from exporter.crawl.assets.addresses import addresses
from exporter.crawl.assets.file_check import Expected, NotTheFile, check_file
from exporter.crawl.assets.upload_rule import infer_file_url
from exporter.errors import BadBody, BodyTooLarge, RetryableStatus, ServiceError
from exporter.html.embedded import Use
from exporter.html.links import AddressPattern, absolute
from exporter.http.address_guard import AddressGuard
from exporter.http.deadline import Timeouts
from exporter.http.engine import Downloader
from exporter.http.retry import RetryPolicy
from exporter.library.backup import OpenService
from exporter.message import message, said
from exporter.model.kinds import Kind
from exporter.settings import Settings

MAX_PAUSE_SECONDS: Final = 5.0
"""The longest ``Retry-After``, in seconds, after which the check continues."""
WITH_UPLOADS: Final = frozenset({"linked", "files"})
"""The values of the setting ``assets`` that include uploads."""
_MAX_BYTES: Final = 20_000_000
_OK: Final = 200


class Reader(Protocol):
    """The records that a check has read."""

    def records(self, kind: Kind) -> Sequence[Any]:
        """Return one kind's records as the service sent them."""

    def more_entries(self) -> AsyncIterator[Any]:
        """Read further entries one by one."""


async def fetch_samples(
    result: CheckResult, opened: OpenService, settings: Settings, reader: Reader, locate: Callable[[str], str] | None
) -> None:
    """Download the newest upload and the first embedded picture, if the settings include such files.

    If no setting names the address of uploads, more entries are read until it can be inferred from them.

    Args:
        result: receives the result of each download.
        opened: the service.
        settings: the files to save, and the timeouts.
        reader: the records read so far, and further entries.
        locate: maps an address to the one to request.
    """
    service = opened.service
    timeouts = Timeouts(
        connect=settings.connect_timeout.total_seconds(), read=settings.read_timeout.total_seconds(), total=30.0
    )
    downloader = opened.client.engine.downloader(
        AddressGuard(allow_private=settings.allow_private_network, service=settings.base_url),
        timeouts=timeouts,
        max_bytes=min(settings.max_asset_size, _MAX_BYTES),
        policy=RetryPolicy(retries=0, max_retry_after=MAX_PAUSE_SECONDS),
    )
    base = f"https://{opened.blog_id}/"
    found: dict[str, Use] = {}
    for entry in reader.records(Kind.ENTRIES):
        found.update(addresses(service.post(entry), base))
    upload: str | None = None
    records = [each for each in reader.records(Kind.FILES) if isinstance(each, dict)]
    if settings.assets in WITH_UPLOADS and records:
        upload = _upload_address(service, settings, records, list(found))
        if upload is None:
            async for entry in reader.more_entries():
                found.update(addresses(service.post(entry), base))
                upload = _upload_address(service, settings, records, list(found))
                if upload is not None:
                    break
        if upload is None:
            problem = message("its address is not known")
            result.downloads.append(DownloadFacts("upload", None, problem=problem))
        else:
            size = service.upload(records[0])
            expected = Expected(False, [size.bytes] if size.bytes else [], [size.extension.lower()])
            result.downloads.append(await _fetch("upload", upload, downloader, expected, locate))
    if settings.assets in {"linked", "embedded"}:
        picture = next((url for url, use in found.items() if use is Use.SHOWN and url != upload), None)
        if picture is not None:
            result.downloads.append(await _fetch("picture", picture, downloader, Expected(), locate))


def _upload_address(
    service: Any, settings: Settings, records: Sequence[Mapping[str, Any]], embedded: Sequence[str]
) -> str | None:
    """Return the newest upload's address, from its record, the setting, or inferred from embedded addresses."""
    stated = service.upload(records[0]).url
    if stated:
        return absolute(stated, "")
    if settings.file_url is not None:
        return AddressPattern(settings.file_url, "file_url").fill(records[0])
    rule = infer_file_url(service, records, embedded)
    return None if rule is None else rule.pattern.fill(records[0])


async def _fetch(
    what: str, url: str, downloader: Downloader, expected: Expected, locate: Callable[[str], str] | None
) -> DownloadFacts:
    with SpooledSink() as sink:
        try:
            answer = await downloader.read(locate(url) if locate is not None else url, sink)
        except BodyTooLarge:
            return DownloadFacts(what, url, _OK, sink.size)  # large, but it exists
        except ServiceError as error:
            status = error.status if isinstance(error, RetryableStatus) else None
            return DownloadFacts(what, url, status, problem=said(error))
        if answer.status != _OK:
            return DownloadFacts(
                what, url, answer.status, problem=message("it answered {status}", status=answer.status)
            )
        try:
            facts = check_file(sink.file, sink.size, expected, certain=answer.framed)
        except (NotTheFile, BadBody) as error:
            return DownloadFacts(what, url, answer.status, sink.size, problem=said(error))
    return DownloadFacts(what, url, answer.status, sink.size, facts.content_type, facts.doubt or "")
