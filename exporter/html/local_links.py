"""Addresses of the blog mapped to the archive: to a picture's file or an entry's page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from exporter.html.links import AddressPattern, absolute, host_of, meaning
from exporter.html.tree import Element
from exporter.model.asset import Asset


class AssetMap:
    """Maps addresses in entries to files of the archive.

    Args:
        assets: the raw records of the kind ``assets``.
        base: the blog's address, used to resolve relative addresses.

    Attributes:
        base: as given.
    """

    def __init__(self, assets: Iterable[Mapping[str, Any]], base: str) -> None:
        self.base = base
        self._by_url: dict[str, Asset] = {}
        self._by_meaning: dict[str, Asset] = {}
        for raw in assets:
            asset = Asset.from_raw(raw)
            self._by_url[asset.url] = asset
            if asset.ids("file"):
                self._by_meaning[meaning(asset.url)] = asset

    def find(self, address: str) -> Asset | None:
        """Return the asset at an address in an entry; ``None`` for any other address."""
        url = absolute(address, self.base)
        return None if url is None else self._by_url.get(url) or self._by_meaning.get(meaning(url))

    def local_path(self, address: str) -> str | None:
        """Return the path to an address's file relative to the archive, or ``None`` if the archive lacks it."""
        found = self.find(address)
        return None if found is None else found.path


class EntryAddresses:
    """Maps addresses to the blog's own entries, by patterns such as ``https://{blog_id}/Entry/{entry_id}/``.

    An address shared by several entries (such as a day's) leads to no entry. If a blog was renamed, addresses below
    each of its names lead to its entries.

    Args:
        patterns: build the blog's addresses from an entry's record.
        entries: id and raw record of each entry.
        base: the blog's address, used to resolve relative addresses.
        names: the first ID of the blog by each later one. The records may name further ones.
    """

    def __init__(
        self,
        patterns: Iterable[AddressPattern],
        entries: Iterable[tuple[str, Mapping[str, Any]]],
        base: str,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._base = base
        self._patterns = tuple(patterns)
        self._entries: dict[str, str | None] = {}
        self._first = base.partition("://")[2].rstrip("/")
        self._names: dict[str, dict[str, str]] = {}
        for name, first in names.items():
            self._add_name(name, first)
        for entry_id, record in entries:
            named = record.get("blog_id")
            if isinstance(named, str) and not f"{self._first}/".startswith(f"{named}/"):
                self._add_name(named, self._first)
            for pattern in self._patterns:
                address = pattern.fill(record)
                if address is not None:
                    self.add(entry_id, address)

    def _add_name(self, name: str, first: str) -> None:
        if name not in self._names.get(host := host_of(f"https://{name}/"), {}):
            known = {**self._names.get(host, {}), name: first}
            self._names[host] = dict(sorted(known.items(), key=lambda each: -len(each[0])))

    def add(self, entry_id: str, address: str) -> None:
        """Add an address that a pattern built from an entry's record."""
        key = self._key(address)
        self._entries[key] = None if self._entries.get(key, entry_id) != entry_id else entry_id

    def entry_of(self, address: str) -> str | None:
        """Return the entry's id for an address, ignoring query and fragment; ``None`` for other addresses."""
        url = absolute(address, self._base) if self._entries else None
        if url is None:
            return None
        found = self._entries.get(self._key(url))
        plain, query, _ = url.partition("?")
        return self._entries.get(self._key(plain)) if query and not found else found

    def _key(self, url: str) -> str:
        """Return an address's meaning, with the blog's first name in place of a later one."""
        names = self._names.get(host_of(url)) if self._names else None
        return meaning(by_first_name(url, names) if names else url)


def by_first_name(url: str, names: Mapping[str, str]) -> str:
    """Return an address below a later name of a blog as it is below its first one; other addresses stay.

    Args:
        url: the address.
        names: the first name by each later one, those with the most characters first.
    """
    scheme, _, rest = url.partition("://")
    for name, first in names.items():
        if rest.lower().startswith(name.lower()) and rest[len(name) : len(name) + 1] in {"", "/", "?", "#"}:
            return f"{scheme}://{first}{rest[len(name) :]}"
    return url


def relative_link(page: str, target: str) -> str:
    """Return the percent-encoded link between two paths, both relative to the archive."""
    here, there = page.split("/")[:-1], target.split("/")
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
    return quote("/".join([*[".."] * (len(here) - shared), *there[shared:]]))


_NO_ALT = "(画像)"
_PLAYED = frozenset({"audio", "source", "video"})


@dataclass(frozen=True, slots=True)
class ArchiveLinks:
    """The possible targets of links in a page; all paths are relative to the archive.

    Attributes:
        assets: the pictures and files.
        entries: the addresses of the blog's own entries.
        pages: the path of each entry's page by its id.
    """

    assets: AssetMap
    entries: EntryAddresses
    pages: Mapping[str, str]

    def localise(self, body: Element, page: str) -> None:
        """Replace the addresses in the tree of a body on ``page`` by local ones.

        A stored picture points at its file. A lost one becomes a link to its address with its alternative text. A link
        to a file or to an entry of the blog leads to the local copy. Stored sounds and films play from the archive.
        """
        for element in body.elements():
            if element.tag == "img":
                self._picture(element, page)
            elif element.tag == "a":
                self._link(element, page)
            elif element.tag in _PLAYED:
                self._played(element, page)

    def _picture(self, element: Element, page: str) -> None:
        source = element.attributes.get("src", "")
        found, address = self.assets.find(source), absolute(source, self.assets.base)
        if found is None or address is None:
            return
        element.attributes.pop("srcset", None)
        if found.path is not None:
            element.attributes["src"] = relative_link(page, found.path)
            return
        element.tag = "a"
        element.children = [element.attributes.get("alt") or _NO_ALT]
        element.attributes = {"href": address}

    def _played(self, element: Element, page: str) -> None:
        for name in ("src", "poster"):
            found = self.assets.local_path(element.attributes.get(name, ""))
            if found is not None:
                element.attributes[name] = relative_link(page, found)

    def _link(self, element: Element, page: str) -> None:
        address = element.attributes.get("href", "")
        found = self.assets.find(address)
        if found is not None:
            if found.path is not None:
                element.attributes["href"] = relative_link(page, found.path)
            return
        entry_id = self.entries.entry_of(address)
        target = None if entry_id is None else self.pages.get(entry_id)
        if target is not None:
            element.attributes["href"] = relative_link(page, target)
