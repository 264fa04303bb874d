"""Write the captures of an archive again without some recorded exchanges. All other records keep their bytes.

Each WARC record is a separate gzip member, so a record is removed by leaving out its bytes. Later records
move, so the index changes. From the first changed ``capture.json`` on, each names a new hash of the one before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.captures import INDEX, INFO, PAGES, Capture, CaptureInfo, captures, without_addresses
from exporter.archive.layout import MAX_CAPTURE_BYTES, SUMS, capture_sha256, version_name
from exporter.archive.rewriting import link_or_copy
from exporter.errors import ArchiveDamaged
from exporter.warc.cdxj import CaptureIndex
from exporter.warc.reading import BrokenRecord, all_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.archive.forgetting import Exchanges
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

_PIECE_BYTES: Final = 1 << 20


def rewrite_captures(
    layout: Layout, exchanges: Exchanges, addresses: Collection[str], target: InnerPath
) -> list[dict[str, Any]]:
    """Build all captures without these exchanges in a folder, durably.

    Args:
        layout: the archive.
        exchanges: the offsets at which the records begin, by capture and file.
        addresses: the addresses about which no ``capture.json`` states anything afterwards.
        target: the folder, on the same disk.

    Returns:
        ``{"capture", "before", "after"}`` for each ``capture.json`` that changed: the number and both hashes.

    Raises:
        ArchiveDamaged: a file of a capture is damaged.
    """
    atomic.remove_folder(target)
    atomic.make_folder(target)
    for name in layout.captures.names():
        if (layout.captures / name).kind() == "":
            link_or_copy(layout.captures / name, target / name)
    changed: list[dict[str, Any]] = []
    for capture in captures(layout):
        folder = target / version_name(capture.number)
        atomic.make_folder(folder)
        parent = changed[-1] if changed else None
        gone = exchanges.get(capture.number, {})
        document = lossless_json.loads((capture.folder / INFO).read_bytes(MAX_CAPTURE_BYTES))
        kept = without_addresses(document, addresses)
        if parent is None and not gone and kept == document:
            for name in capture.folder.names():
                link_or_copy(capture.folder / name, folder / name)
        else:
            before = capture_sha256(layout, capture.number)
            after = _Rewritten(capture, folder).write(kept, gone, None if parent is None else parent["after"])
            changed.append({"capture": capture.number, "before": before, "after": after})
        atomic.sync_folder(folder)
    atomic.sync_folder(target)
    return changed


class _Rewritten:
    """One capture that is written again."""

    def __init__(self, capture: Capture, folder: InnerPath) -> None:
        self._capture = capture
        self._folder = folder
        self._places: dict[tuple[str, int], int] = {}
        self._urls: set[str] = set()
        self._sizes: dict[str, tuple[int, str]] = {}

    def write(self, document: dict[str, Any], gone: Mapping[str, list[int]], parent_sha256: str | None) -> str:
        """Write its files with this ``capture.json``, after correcting its hashes; return its own hash."""
        source, rewritten = self._capture.folder, {INFO, SUMS, *gone, *((INDEX, PAGES) if gone else ())}
        for name in source.names():
            if name not in rewritten:
                link_or_copy(source / name, self._folder / name)
        for name, offsets in gone.items():
            self._segment(self._capture.segment(name), frozenset(offsets))
        if gone:
            self._put(INDEX, self._index(gone))
            self._put(PAGES, self._pages())
        for each in (*document["segments"], *document["files"]):
            if each["name"] in self._sizes:
                each["bytes"], each["sha256"] = self._sizes[each["name"]]
        if parent_sha256 is not None:
            document["parent"]["sha256"] = parent_sha256
        digest = atomic.write_small(self._folder / INFO, lossless_json.dumps(document, pretty=True) + b"\n")[0]
        atomic.sync_file(self._folder / INFO)
        atomic.write_file(self._folder / SUMS, CaptureInfo.of(document).sums(digest))
        return digest

    def _put(self, name: str, lines: Iterable[bytes]) -> None:
        with atomic.hashing(self._folder / name) as file:
            for line in lines:
                file.write(line)
            self._sizes[name] = file.size, file.close()

    def _segment(self, path: InnerPath, gone: frozenset[int]) -> None:
        def pieces() -> Iterator[bytes]:
            end = 0
            with path.open("rb") as file:
                for record in all_records(path):
                    if record.offset in gone:
                        self._urls.add(record.url)
                    else:
                        self._places[path.name, record.offset] = end
                        end += record.length
                        yield from _bytes(file, record.offset, record.length)

        try:
            self._put(path.name, pieces())
        except BrokenRecord as error:
            raise ArchiveDamaged("{path} is damaged: {reason}. Run verify.", path=path, reason=error) from error

    def _index(self, gone: Mapping[str, list[int]]) -> Iterator[bytes]:
        for line in CaptureIndex(self._capture.index):
            if line.filename not in gone:
                yield line.encode()
            elif (line.filename, line.offset) in self._places:
                yield replace(line, offset=self._places[line.filename, line.offset]).encode()

    def _pages(self) -> Iterator[bytes]:
        with self._capture.pages.open("rb") as file:
            for line in file:
                value = lossless_json.loads(line)
                if not isinstance(value, dict) or value.get("url") not in self._urls:
                    yield line


def _bytes(file: BinaryIO, offset: int, length: int) -> Iterator[bytes]:
    file.seek(offset)
    while length > 0 and (piece := file.read(min(length, _PIECE_BYTES))):
        length -= len(piece)
        yield piece
