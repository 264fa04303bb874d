"""The pictures of an archive, and which entries use them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from exporter.html.local_links import stored_path
from exporter.model.asset import Asset

_OPENABLE: Final = frozenset(
    {"aac", "avif", "bmp", "flac", "gif", "heic", "ico", "jp2", "jpg", "jxl", "m4a", "mid", "mov", "mp3", "mp4"}
    | {"mpg", "ogg", "pdf", "png", "tif", "wav", "webm", "webp", "3gp"}
    | {"7z", "doc", "docx", "gz", "lzh", "pptx", "rar", "xlsx", "zip"}
)


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


def openable(path: str) -> bool:
    """Tell whether a link may lead to a stored file: never to one in which a browser would run a stranger's script."""
    return path.rpartition(".")[2] in _OPENABLE
