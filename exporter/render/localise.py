"""Pointing a body at the archive: pictures to their files, links between entries to their pages. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exporter.render.htmltree import Element
from exporter.render.local import AssetMap, EntryAddresses, relative_link

_NO_ALT = "(画像)"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a page can point at; all paths are relative to the archive.

    Attributes:
        assets: the pictures and files.
        entries: the addresses of the blog's own entries.
        pages: the path of each entry's page by its id.
    """

    assets: AssetMap
    entries: EntryAddresses
    pages: Mapping[str, str]

    def localise(self, body: Element, page: str) -> None:
        """Change the tree of a body that stands on ``page``.

        A picture whose file is there points at it and keeps its address as its title; one that is lost becomes a link
        with its alternative text. A link to a file or to an entry of the blog leads there.
        """
        for element in body.walk():
            if isinstance(element, Element):
                if element.tag == "img":
                    self._picture(element, page)
                elif element.tag == "a":
                    self._link(element, page)

    def _picture(self, element: Element, page: str) -> None:
        found = self.assets.find(element.attributes.get("src", ""))
        if found is None:
            return
        element.attributes.pop("srcset", None)
        if found.path is not None:
            element.attributes["src"] = relative_link(page, found.path)
            element.attributes["title"] = element.attributes.get("title") or found.address
            return
        element.tag = "a"
        element.children = [element.attributes.get("alt") or _NO_ALT]
        element.attributes = {"href": found.address, "title": found.address}

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
