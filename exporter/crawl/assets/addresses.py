"""Which pictures and files a blog has, from its records. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

from exporter.crawl.assets.file_check import Expected
from exporter.html.embedded import Use, embedded
from exporter.html.links import AddressPattern, absolute, is_picture, meaning
from exporter.model.kinds import Kind, sort_key
from exporter.model.records import Post
from exporter.service.interface import Records

Ref = dict[str, str]
FoundAddress = tuple[str, Use]
"""An absolute address in an entry, and its use: ``SHOWN`` where it is shown or played, ``FRAMED``, or ``LINKED``."""

_ORDER = (Use.SHOWN, Use.FRAMED, Use.LINKED)
_PLAIN_USES = {Use.PLAYED: Use.SHOWN} | {use: use for use in _ORDER}


class StoredRecords(Protocol):
    """The state about to be committed."""

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the ids of all records of a kind."""

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return bytes that change with the record."""

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return a record's raw object."""

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the id and raw object of every record of a kind."""


@dataclass(slots=True)
class Wanted:
    """One address and who needs it.

    Attributes:
        url: absolute, in the one spelling of :func:`~exporter.html.links.absolute`.
        entries: ids of the entries that embed it or link to it.
        files: ids of the file records that mean it.
        sizes: the sizes these say it has.
        endings: the extensions these say it has, lower case.
        dimensions: the widths and heights in pixels these say it has.
        stamp: what changes when one of these file records does.
    """

    url: str
    entries: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    endings: set[str] = field(default_factory=set)
    dimensions: set[tuple[int, int]] = field(default_factory=set)
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
        stated = self.dimensions if len(self.files) == 1 else ()
        return Expected(bool(self.entries), frozenset(self.sizes), frozenset(self.endings), frozenset(stated))


def addresses(post: Post, base: str) -> list[FoundAddress]:
    """Return the addresses in an entry's body, continuation and template, each once, in the order of their text.

    Args:
        post: the entry.
        base: the blog's address, which relative addresses start from.
    """
    found: dict[str, Use] = {}
    for html in (post.body, post.more, post.template):
        for text, use in embedded(html):
            url = absolute(text, base)
            if url is not None:
                found[url] = min(_PLAIN_USES[use], found.get(url, Use.LINKED), key=_ORDER.index)
    return sorted(found.items(), key=itemgetter(0))


class AddressCollection:
    """Gathers addresses; one place is one address, however it is written.

    Args:
        service: reads the records.
        file_pattern: where uploaded files are served; ``None`` when that is not known.
        inferred: whether the pattern was not given by anybody, so that records may lack its fields.

    Attributes:
        uploads: the address of each uploaded file by its id; ``None`` where it is not known.
        framed: the addresses of pages and of players of other services, which are not read.
    """

    def __init__(self, service: Records, file_pattern: AddressPattern | None = None, *, inferred: bool = False) -> None:
        self.uploads: dict[str, str | None] = {}
        self.framed: set[str] = set()
        self._service = service
        self._pattern = file_pattern
        self._inferred = inferred
        self._wanted: dict[str, Wanted] = {}
        self._by_file: dict[str, str] = {}

    def add_file(self, file_id: str, record: Mapping[str, Any]) -> None:
        """Add an uploaded file; all files come before the entries.

        Raises:
            UsageError: the pattern names a field that neither this record nor API 2.6 has.
        """
        self.uploads[file_id] = None
        if self._pattern is None:
            return
        if not self._inferred:
            self._pattern.check({*self._service.upload_fields, *record})
        url = self._pattern.fill(record)
        if url is None:
            return
        wanted = self._want(self._by_file.setdefault(meaning(url), url))
        self.uploads[file_id] = wanted.url
        info = self._service.upload(record)
        wanted.files.add(file_id)
        wanted.stamp = f"{wanted.stamp} {info.id}:{info.bytes}:{info.modified}".strip()
        if info.bytes is not None:
            wanted.sizes.add(info.bytes)
        if info.width and info.height:
            wanted.dimensions.add((info.width, info.height))
        if info.extension:
            wanted.endings.add(info.extension.lower().lstrip("."))

    def add_entry(self, entry_id: str, shows: Iterable[FoundAddress]) -> None:
        """Add what an entry embeds, and the pictures and files it links to; see :func:`addresses`."""
        for url, use in shows:
            of_file = self._by_file.get(meaning(url))
            if of_file is not None:
                self._want(of_file).entries.add(entry_id)
            elif use is Use.SHOWN or is_picture(url) or (self._pattern is not None and self._pattern.fits(url)):
                self._want(url).entries.add(entry_id)
            elif use is Use.FRAMED:
                self.framed.add(url)

    def _want(self, url: str) -> Wanted:
        return self._wanted.setdefault(url, Wanted(url))

    def wanted(self) -> dict[str, Wanted]:
        """Return all addresses, in the order of their text."""
        return {url: self._wanted[url] for url in sorted(self._wanted)}
