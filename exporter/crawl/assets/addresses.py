"""A blog's pictures and files, found in its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

from exporter import lossless_json
from exporter.archive import atomic
from exporter.crawl.assets.file_check import Expected
from exporter.html.embedded import Use, embedded
from exporter.html.links import AddressPattern, absolute, is_picture, meaning
from exporter.html.originals import originals
from exporter.model.kinds import Kind, sort_key
from exporter.model.records import Post, Upload
from exporter.service.interface import Records

Ref = dict[str, str]
FoundAddress = tuple[str, Use]
"""An absolute address in an entry, and its use: ``SHOWN`` (including played), ``FRAMED`` or ``LINKED``."""

_ORDER = (Use.SHOWN, Use.FRAMED, Use.LINKED)
_PLAIN_USES = {Use.PLAYED: Use.SHOWN} | {use: use for use in _ORDER}
_RULES_VERSION = 4
"""Incremented when :func:`addresses` finds more, so that entries are parsed again."""


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
    """One address and the records that need it.

    Attributes:
        url: absolute, in the spelling of :func:`~exporter.html.links.absolute`.
        entries: ids of the entries that embed it or link to it.
        files: ids of the file records with this address.
        sizes: the sizes in these records.
        endings: the extensions in these records, in lower case.
        dimensions: the widths and heights in pixels in these records.
        stamp: a text that changes when one of these records does.
        original_of: the embedded thumbnail, if only a rule for thumbnails leads to this address. Such a file is an
            extra: if it does not exist, nothing of the blog is missing.
    """

    url: str
    entries: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    endings: set[str] = field(default_factory=set)
    dimensions: set[tuple[int, int]] = field(default_factory=set)
    stamp: str = ""
    original_of: str | None = None

    @property
    def refs(self) -> list[Ref]:
        """The records that need it: ``{"entry": id}`` by number, then ``{"file": id}``."""
        return [
            *({"entry": entry_id} for entry_id in sorted(self.entries, key=sort_key)),
            *({"file": file_id} for file_id in sorted(self.files, key=sort_key)),
        ]

    def state(self, info: Upload) -> None:
        """Add what the record of an uploaded file states."""
        if info.bytes is not None:
            self.sizes.add(info.bytes)
        if info.width and info.height:
            self.dimensions.add((info.width, info.height))
        if info.extension:
            self.endings.add(info.extension.lower().lstrip("."))

    @property
    def expected(self) -> Expected:
        """The stated properties of the file."""
        stated = self.dimensions if len(self.files) == 1 else ()
        return Expected(bool(self.entries), frozenset(self.sizes), frozenset(self.endings), frozenset(stated))


def addresses(post: Post, base: str) -> list[FoundAddress]:
    """Return the addresses in an entry's body, continuation and template, and its featured picture, each once, sorted.

    Args:
        post: the entry.
        base: the blog's address, used to resolve relative addresses.
    """
    found: dict[str, Use] = {}
    featured = absolute(post.featured, base) if post.featured else None
    if featured is not None:
        found[featured] = Use.SHOWN
    texts = [post.body, post.more, post.template, *(text for other in post.others for text in (other.body, other.more))]
    for html in texts:
        for text, use in embedded(html):
            url = absolute(text, base)
            if url is not None:
                found[url] = min(_PLAIN_USES[use], found.get(url, Use.LINKED), key=_ORDER.index)
    return sorted(found.items(), key=itemgetter(0))


class AddressCache:
    """A cache for the addresses in entries; each run parses only changed entries.

    Args:
        path: the file.
        base: the blog's address; the cache of another one is not used.
        service: reads the records.
    """

    def __init__(self, path: Path, base: str, service: Records) -> None:
        self._path = path
        self._base = base
        self._service = service
        self._known: dict[str, tuple[str, list[FoundAddress]]] = {}
        self._used: dict[str, tuple[str, list[FoundAddress]]] = {}
        self._load()

    def of(
        self, entry_id: str, identity: bytes | None, load: Callable[[], Mapping[str, Any] | None]
    ) -> list[FoundAddress]:
        """Return an entry's addresses; ``load`` reads the entry if this ``identity`` is not in the cache."""
        state = (identity or b"").hex()
        known = self._known.get(entry_id)
        if known is None or known[0] != state or not state:
            known = (state, addresses(self._service.post(load() or {}), self._base))
        self._used[entry_id] = known
        return known[1]

    def save(self) -> None:
        """Write the addresses that were requested."""
        if self._used == self._known:
            return
        head = lossless_json.dumps({"rules": _RULES_VERSION, "base": self._base})
        lines = [
            lossless_json.dumps([entry_id, state, [(url, use.value) for url, use in shows]])
            for entry_id, (state, shows) in self._used.items()
        ]
        with atomic.translated(self._path):
            atomic.make_folder(self._path.parent)
            atomic.write_file(self._path, b"\n".join([head, *lines, b""]))

    def _load(self) -> None:
        try:
            head, *lines = self._path.read_bytes().splitlines()
            if lossless_json.loads(head) != {"rules": _RULES_VERSION, "base": self._base}:
                return
            for line in lines:
                entry_id, state, shows = lossless_json.loads(line)
                self._known[entry_id] = (state, [(url, Use(use)) for url, use in shows])
        except (OSError, lossless_json.NotJson, TypeError, ValueError):
            self._known = {}


@dataclass(slots=True)
class AddressCollection:
    """Collects addresses; different spellings of one address count once.

    Attributes:
        service: reads the records.
        pattern: the addresses of uploaded files; ``None`` if unknown.
        inferred: whether the pattern was inferred, so that records may lack its fields.
        uploads: the address of each uploaded file by its id; ``None`` if unknown.
        framed: the addresses of embedded pages and players of other services, which are not read.
    """

    service: Records
    pattern: AddressPattern | None = None
    inferred: bool = False
    uploads: dict[str, str | None] = field(default_factory=dict)
    framed: set[str] = field(default_factory=set)
    _wanted: dict[str, Wanted] = field(default_factory=dict)
    _by_file: dict[str, str] = field(default_factory=dict)

    def add_file(self, file_id: str, record: Mapping[str, Any]) -> None:
        """Add an uploaded file; all files must be added before the entries.

        Raises:
            UsageError: the pattern names a field that neither this record nor API 2.6 has.
        """
        self.uploads[file_id] = None
        info = self.service.upload(record)
        url = absolute(info.url, "") if info.url else self._by_pattern(record)
        if url is None:
            return
        wanted = self._wanted_at(self._by_file.setdefault(meaning(url), url))
        self.uploads[file_id] = wanted.url
        wanted.files.add(file_id)
        wanted.stamp = f"{wanted.stamp} {info.id}:{info.bytes}:{info.modified}".strip()
        wanted.state(info)

    def _by_pattern(self, record: Mapping[str, Any]) -> str | None:
        if self.pattern is None:
            return None
        if not self.inferred:
            self.pattern.check({*self.service.upload_fields, *record})
        return self.pattern.fill(record)

    def add_entry(self, entry_id: str, shows: Iterable[FoundAddress]) -> None:
        """Add the files that an entry embeds or links to; see :func:`addresses`."""
        for url, use in shows:
            of_file = self._by_file.get(meaning(url))
            if of_file is not None:
                self._wanted_at(of_file).entries.add(entry_id)
                continue
            if use is Use.SHOWN:
                self._add_originals(entry_id, url)
            if use is Use.SHOWN or is_picture(url) or (self.pattern is not None and self.pattern.fits(url)):
                self._wanted_at(url).entries.add(entry_id)
            elif use is Use.FRAMED:
                self.framed.add(url)

    def _add_originals(self, entry_id: str, url: str) -> None:
        for original in originals(url):
            if original not in self._wanted:
                self._wanted[original] = Wanted(original, original_of=url)
            self._wanted[original].entries.add(entry_id)

    def _wanted_at(self, url: str) -> Wanted:
        """Return an address that a record has."""
        wanted = self._wanted.setdefault(url, Wanted(url))
        wanted.original_of = None
        return wanted

    def wanted(self) -> dict[str, Wanted]:
        """Return all addresses, sorted."""
        return {url: self._wanted[url] for url in sorted(self._wanted)}
