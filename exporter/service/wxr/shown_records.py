"""The records of a WXR file that an entry shows parts of: files of galleries, and synced patterns. Pure.

The file's index finds them once and adds two members to the entry's record: ``patterns``, the source of each pattern
by its number, and ``attachments``, a list of files by their numbers. So the record can be read alone, and it
changes when they change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from exporter.html.wordpress_blocks import MAX_PATTERN_CHARACTERS, pattern_numbers
from exporter.html.wordpress_content import Surroundings
from exporter.html.wordpress_galleries import Attachment, named_files
from exporter.message import filled, message_template
from exporter.model.records import Lack, Problem, Raw, Unshown, Upload
from exporter.service.export_file import WantedParts
from exporter.service.wxr.members import text_of

_TYPE: Final = "wp_block"
_MAX_CAPTION_CHARACTERS: Final = 10_000


_LACKS: Final[Mapping[Lack, str]] = {
    Lack.PATTERN: message_template("the synced pattern {name} is not in the export file"),
    Lack.PATTERNS_LARGE: message_template("its synced patterns are too large to be shown as often as it names them"),
    Lack.PICTURES: message_template("the export file does not have all pictures of its gallery"),
    Lack.RECORDINGS: message_template("the export file does not have all recordings of its playlist"),
    Lack.NOTES: message_template("the texts of its footnotes are missing or cannot be read"),
}


class Uploads(Protocol):
    """Reads files."""

    def upload(self, raw: Raw, /) -> Upload:
        """Read a file."""


def lacks(unshown: Iterable[Unshown]) -> Iterator[Problem]:
    """Yield the parts of an entry that a whole export file would have shown, as problems of its body."""
    for each in unshown:
        reason = _LACKS.get(each.lack)
        if reason is not None:
            yield Problem("content:encoded", each.name, filled(reason, name=each.name))


def has_files(body: str) -> bool:
    """Return whether a body may show files by their numbers."""
    return "[gallery" in body or "[playlist" in body


def wanted(body: str) -> WantedParts:
    """Return the patterns and the files of galleries that a body names."""
    files = named_files(body)
    return WantedParts(files.ids, tuple(pattern_numbers(body)), files.parents)


def patterns(found: Mapping[str, Raw]) -> dict[str, str]:
    """Return the sources of patterns by their numbers. WordPress shows an unpublished one as nothing."""
    of_type = {key: raw for key, raw in found.items() if text_of(raw.get("wp:post_type")).strip() == _TYPE}
    shown = {key: text_of(raw.get("content:encoded")) if is_published(raw) else "" for key, raw in of_type.items()}
    return {key: source for key, source in shown.items() if len(source) <= MAX_PATTERN_CHARACTERS}


def is_published(raw: Raw) -> bool:
    """Return whether everyone may read a record."""
    return text_of(raw.get("wp:status")).strip() == "publish" and not text_of(raw.get("wp:post_password"))


def attachments(service: Uploads, found: Mapping[str, Raw]) -> list[dict[str, Any]]:
    """Return the files for an entry's record, by their numbers: their order in the export file says nothing."""
    rows = []
    for key, raw in sorted(found.items(), key=lambda each: (len(each[0]), each[0])):
        info = service.upload(raw)
        order = text_of(raw.get("wp:menu_order")).strip()
        row = Attachment(
            id=key,
            url=info.url,
            alt=info.alt,
            caption=text_of(raw.get("excerpt:encoded"))[:_MAX_CAPTION_CHARACTERS],
            title=(info.title or "")[:_MAX_CAPTION_CHARACTERS],
            order=int(order) if order.isascii() and order.isdecimal() and len(order) < 10 else 0,
            date=text_of(raw.get("wp:post_date"))[:19],
            parent=text_of(raw.get("wp:post_parent")).strip()[:20],
        )
        if row.url and key.isdecimal():
            rows.append({name: value for name, value in row._asdict().items() if value})
    return rows


def surroundings(raw: Raw, footnotes: str) -> Surroundings:
    """Return the parts of other records and custom fields that an entry's body shows."""
    sources, files = raw.get("patterns"), raw.get("attachments")
    return Surroundings(
        post_id=text_of(raw.get("wp:post_id")).strip(),
        patterns={key: text for key, text in sources.items() if isinstance(text, str)}
        if isinstance(sources, dict)
        else {},
        files={each.id: each for each in map(_attachment, files) if each.id.isdecimal()}
        if isinstance(files, list)
        else {},
        footnotes=footnotes,
    )


def _attachment(row: Any) -> Attachment:
    """Read a file from a record's member; it has no number if the member is invalid."""
    if not isinstance(row, dict):
        return Attachment("", "")
    texts = {
        name: str(value)
        for name in Attachment._fields
        if name != "order" and isinstance(value := row.get(name, ""), str)
    }
    order = row.get("order")
    return Attachment(**{"id": "", "url": "", **texts}, order=order if type(order) is int else 0)
