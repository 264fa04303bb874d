"""The whole archive as a bag (BagIt 1.0, RFC 8493): every file of it below ``data``, with sums to check. Pure.

It contains everything, including private entries, drafts, hidden comments and earlier versions. It is a copy to keep,
never one to publish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from exporter import __version__
from exporter.export.formats import Format
from exporter.export.interface import (
    ArchiveCopy,
    Content,
    ExportFile,
    ExportOptions,
    RecordSource,
    Summary,
    WrittenFile,
)
from exporter.export.reasons import Reason, why_not_saved
from exporter.export.report import Report
from exporter.html.text import collapse
from exporter.message import message
from exporter.model.asset import Asset
from exporter.model.kinds import Kind

_PAYLOAD: Final = "data"
_DECLARATION: Final = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_NOTICE: Final = "NOT PUBLIC: holds private entries, drafts, hidden comments and earlier versions"


def export(records: RecordSource, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield the payload, then the tag files, which list the files before them."""
    _account(records, options, report)
    yield ArchiveCopy(_PAYLOAD)
    yield Content("bagit.txt", [_DECLARATION])
    yield Summary("bag-info.txt", partial(_info, records.blog_id, options))
    yield Summary("manifest-sha256.txt", partial(_sums, payload=True))
    yield Summary("tagmanifest-sha256.txt", partial(_sums, payload=False))


def _account(records: RecordSource, options: ExportOptions, report: Report) -> None:
    """Count the records of the state; the bag holds them all. An entry that is only listed was never read."""
    read = dict.fromkeys(records.ids(Kind.ENTRIES))
    for entry_id in {**read, **dict.fromkeys(records.ids(Kind.ENTRY_LIST))}:
        report.took("entries")
        if entry_id not in read:
            report.left("entries", Reason.NOT_READ, entry_id)
            continue
        raw = records.load(Kind.ENTRY_LIST, entry_id)
        found = () if raw is None else options.service.post(None, raw).every_category
        names = [name for category in found if (name := collapse(category.name))]
        report.wrote(0, *names)
    comments = len(records.ids(Kind.COMMENTS))
    report.took("comments", comments)
    report.written["comments"] += comments
    for url, raw in records.scan(Kind.ASSETS):
        asset = Asset.from_raw(raw)
        report.picture(url, None if asset.sha256 is not None else why_not_saved(asset))


def _info(blog_id: str, options: ExportOptions, files: Sequence[WrittenFile]) -> Iterator[bytes]:
    """Yield the metadata (section 2.2.2), with the date of the backup: one archive always gives the same bag."""
    payload = [file.bytes for file in files if _is_payload(file)]
    facts = {
        "External-Description": f"Archive of the blog {collapse(blog_id)}",
        "External-Identifier": collapse(blog_id),
        "Internal-Sender-Description": _NOTICE,
        "Bagging-Date": f"{options.as_of:%Y-%m-%d}" if options.as_of is not None else "",
        "Bag-Software-Agent": f"blog-exporter {__version__}",
        "Payload-Oxum": f"{sum(payload)}.{len(payload)}",
    }
    yield from (f"{name}: {value}\n".encode("utf-8", "replace") for name, value in facts.items() if value)


def _sums(files: Sequence[WrittenFile], *, payload: bool) -> Iterator[bytes]:
    return (f"{file.sha256}  {_written(file.path)}\n".encode() for file in files if _is_payload(file) is payload)


def _is_payload(file: WrittenFile) -> bool:
    return file.path.startswith(f"{_PAYLOAD}/")


def _written(path: str) -> str:
    """Return a path as manifests have it (section 2.1.3): characters that end a line are percent-encoded."""
    return path.replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")


FORMAT: Final = Format(
    message("libraries and vaults: the whole archive as a bag (RFC 8493)"), export_archive=export, media=False
)
