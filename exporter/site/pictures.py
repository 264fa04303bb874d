"""The pictures of an archive, and which entries use them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from exporter.html.local_links import stored_path
from exporter.model.asset import Asset


class Picture(NamedTuple):
    """A stored picture: its path relative to the archive, its address, its size where known, and who uses it."""

    path: str
    url: str
    width: int | None
    height: int | None
    size: int
    entries: tuple[str, ...]
    files: tuple[str, ...]


class Pictures:
    """All stored pictures, by the entries that use them."""

    def __init__(self, assets: Iterable[Mapping[str, Any]]) -> None:
        self.all: list[Picture] = []
        self.by_entry: defaultdict[str, list[Picture]] = defaultdict(list)
        self._depends: defaultdict[str, list[str]] = defaultdict(list)
        for raw in assets:
            asset = Asset.from_raw(raw)
            path = stored_path(asset)
            entries = tuple(asset.ids("entry"))
            for entry_id in entries:
                self._depends[entry_id].append(f"{asset.url} {path}")
            if path is None or not (asset.content_type or "").startswith("image/"):
                continue
            picture = Picture(
                path, asset.url, asset.width, asset.height, asset.bytes or 0, entries, tuple(asset.ids("file"))
            )
            self.all.append(picture)
            for entry_id in entries:
                self.by_entry[entry_id].append(picture)

    def depends(self, entry_id: str) -> str:
        """Return what changes whenever an entry's page would show other files."""
        return "\n".join(self._depends.get(entry_id, ()))
