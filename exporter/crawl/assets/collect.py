"""Which pictures and files a blog has, from its records. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from exporter.crawl.assets.truth import Expected
from exporter.model.kinds import Kind, sort_key
from exporter.model.records import FileInfo
from exporter.render.addresses import AddressPattern, absolute, is_picture, meaning
from exporter.render.embedded import Use, embedded

_BODIES = ("entry_text", "ps_text", "template_text")
_FILE_FIELDS = tuple(each.name for each in fields(FileInfo) if each.name not in {"raw", "problems"})

Ref = dict[str, str]


class Records(Protocol):
    """The state about to be committed."""

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the id and raw object of every record of a kind."""


@dataclass(slots=True)
class Wanted:
    """One address and who needs it.

    Attributes:
        url: absolute, in the one spelling of :func:`~exporter.render.addresses.absolute`.
        entries: ids of the entries that embed it or link to it.
        files: ids of the file records that mean it.
        sizes: the sizes these say it has.
        endings: the extensions these say it has, lower case.
        stamp: what changes when one of these file records does.
    """

    url: str
    entries: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    endings: set[str] = field(default_factory=set)
    stamp: str = ""

    @property
    def refs(self) -> list[Ref]:
        """Who needs it: ``{"entry": id}`` by number, then ``{"file": id}``."""
        return [
            *({"entry": entry_id} for entry_id in sorted(self.entries, key=sort_key)),
            *({"file": file_id} for file_id in sorted(self.files, key=sort_key)),
        ]

    @property
    def expected(self) -> Expected:
        """What is known of the file before it is read."""
        return Expected(bool(self.entries), frozenset(self.sizes), frozenset(self.endings))


class Collection:
    """Gathers addresses; one place is one address, however it is written.

    Args:
        base: the blog's address, which relative addresses start from.
        file_pattern: where uploaded files are served; ``None`` when that is not known.
    """

    def __init__(self, base: str, file_pattern: AddressPattern | None = None) -> None:
        self._base = base
        self._pattern = file_pattern
        self._wanted: dict[str, Wanted] = {}
        self._by_file: dict[str, str] = {}

    def add_file(self, file_id: str, record: Mapping[str, Any]) -> None:
        """Add an uploaded file; all files come before the entries.

        Raises:
            UsageError: the pattern names a field that neither this record nor API 2.6 has.
        """
        if self._pattern is None:
            return
        self._pattern.check({*_FILE_FIELDS, *record})
        url = self._pattern.fill(record)
        if url is None:
            return
        wanted = self._want(self._by_file.setdefault(meaning(url), url))
        info = FileInfo.from_raw(record)
        wanted.files.add(file_id)
        wanted.stamp = f"{wanted.stamp} {info.file_id}:{info.file_size}:{info.mtime}".strip()
        if info.file_size is not None:
            wanted.sizes.add(info.file_size)
        if info.extension:
            wanted.endings.add(info.extension.lower().lstrip("."))

    def add_entry(self, entry_id: str, record: Mapping[str, Any]) -> None:
        """Add what an entry's body, continuation and template embed, and the pictures and files they link to."""
        for name in _BODIES:
            html = record.get(name)
            if isinstance(html, str):
                for url in self._addresses(html):
                    self._want(url).entries.add(entry_id)

    def _addresses(self, html: str) -> Iterator[str]:
        for text, use in embedded(html):
            url = absolute(text, self._base)
            if url is None:
                continue
            of_file = self._by_file.get(meaning(url))
            if of_file is not None:
                yield of_file
            elif use is Use.SHOWN or is_picture(url) or (self._pattern is not None and self._pattern.fits(url)):
                yield url

    def _want(self, url: str) -> Wanted:
        return self._wanted.setdefault(url, Wanted(url))

    def wanted(self) -> dict[str, Wanted]:
        """Return all addresses, in the order of their text."""
        return {url: self._wanted[url] for url in sorted(self._wanted)}


def collect(files: Iterable[tuple[str, Any]], entries: Iterable[tuple[str, Any]], into: Collection) -> Iterator[None]:
    """Add all records, giving way after each, so that the caller can let other work go on.

    Raises:
        UsageError: see :meth:`Collection.add_file`.
    """
    for file_id, record in files:
        into.add_file(file_id, record)
        yield
    for entry_id, record in entries:
        into.add_entry(entry_id, record)
        yield
