"""One upload and one picture really fetched, as a backup would fetch them, and nothing kept of them."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from exporter.check.facts import CheckResult, DownloadFacts
from exporter.crawl.assets.addresses import addresses
from exporter.crawl.assets.file_check import Expected, NotTheFile, check_file
from exporter.crawl.assets.upload_rule import infer_file_url
from exporter.errors import BadBody, BodyTooLarge, RetryableStatus, ServiceError
from exporter.html.embedded import Use
from exporter.html.links import AddressPattern
from exporter.http.address_guard import AddressGuard
from exporter.http.deadline import Timeouts
from exporter.http.engine import Downloader
from exporter.http.retry import RetryPolicy
from exporter.library.backup import OpenService
from exporter.message import message, said
from exporter.model.kinds import Kind
from exporter.settings import Settings

LONGEST_PAUSE: Final = 5.0
"""Seconds that a host may wish to be left alone, and is asked once more after these."""
WITH_UPLOADS: Final = frozenset({"linked", "files"})
"""Values of the setting ``assets`` with which uploads are saved."""
_MOST_BYTES: Final = 20_000_000
_OK: Final = 200


class _Memory:
    """A sink that forgets everything with itself."""

    def __init__(self) -> None:
        self.file = io.BytesIO()
        self.size = 0
        self.validator: str | None = None

    def restart(self, validator: str | None, length: int | None) -> None:  # noqa: ARG002 - no use for the length
        self.validator, self.size = validator, 0
        self.file = io.BytesIO()

    def write(self, data: bytes) -> None:
        self.file.write(data)
        self.size += len(data)


class Reader(Protocol):
    """The records of a blog that a check has read."""

    def records(self, kind: Kind) -> Sequence[Any]:
        """Return the records of a kind, as sent."""

    def more_entries(self) -> AsyncIterator[Any]:
        """Read further entries, one a step."""


async def fetch_samples(
    result: CheckResult,
    opened: OpenService,
    settings: Settings,
    reader: Reader,
    locate: Callable[[str], str] | None,
) -> None:
    """Fetch the newest upload and the first embedded picture, if the settings include such files.

    If no setting says where uploads are served, more entries are read until the addresses in them show it.

    Args:
        result: gets the outcome of each download.
        opened: the service.
        settings: which files a backup saves, and the time-outs.
        reader: the records read so far, and more entries.
        locate: maps an address to the one that is requested.
    """
    service = opened.service
    timeouts = Timeouts(
        connect=settings.connect_timeout.total_seconds(), read=settings.read_timeout.total_seconds(), total=30.0
    )
    downloader = opened.client.engine.downloader(
        AddressGuard(allow_private=settings.allow_private_network, service=settings.base_url),
        timeouts=timeouts,
        max_bytes=min(settings.max_asset_size, _MOST_BYTES),
        policy=RetryPolicy(retries=0, max_retry_after=LONGEST_PAUSE),
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
    """Return where the newest upload is, by the setting or by the rule that embedded addresses show."""
    if settings.file_url is not None:
        return AddressPattern(settings.file_url, "file_url").fill(records[0])
    rule = infer_file_url(service, records, embedded)
    return None if rule is None else rule.pattern.fill(records[0])


async def _fetch(
    what: str, url: str, downloader: Downloader, expected: Expected, locate: Callable[[str], str] | None
) -> DownloadFacts:
    sink = _Memory()
    try:
        answer = await downloader.read(locate(url) if locate is not None else url, sink)
    except BodyTooLarge:
        return DownloadFacts(what, url, _OK, sink.size)  # more than is read for a check, and it is there
    except ServiceError as error:
        status = error.status if isinstance(error, RetryableStatus) else None
        return DownloadFacts(what, url, status, problem=said(error))
    if answer.status != _OK:
        return DownloadFacts(what, url, answer.status, problem=message("it answered {status}", status=answer.status))
    try:
        facts = check_file(sink.file, sink.size, expected, certain=answer.framed)
    except (NotTheFile, BadBody) as error:
        return DownloadFacts(what, url, answer.status, sink.size, problem=said(error))
    return DownloadFacts(what, url, answer.status, sink.size, facts.content_type, facts.doubt or "")
