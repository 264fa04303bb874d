"""What of an encrypted copy can be checked without a key: that it is all there, and that nothing is cut short.

Objects are encrypted files of a length that the writer rounds to, so nearly every one that is cut short has another.
That bytes were changed, exchanged, or put there by somebody else shows only with an identity.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from exporter.archive.checks import Finding, FindingCode
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS
from exporter.copies.age_files import HEADER_READ, payload_size
from exporter.copies.encrypted import KEYS, MARKER, README
from exporter.copies.hidden_names import ENDING, padded
from exporter.errors import ArchiveDamaged
from exporter.message import message

if TYPE_CHECKING:
    from exporter.copies.store import Store, StoredObject

_USUAL_HEADER: Final = 2048
_BLOG: Final = r"(blogs/[0-9a-z]+/)?"
_PART: Final = re.compile(rf"{_BLOG}versions(?:\.new)?/([0-9]{{6,10}})/([A-Za-z0-9_.]+)")
_KNOWN: Final = re.compile(rf"{_BLOG}(?:assets/[0-9a-z]{{2}}/[0-9a-z]+|[A-Za-z0-9._]+)")
_PARTS: Final = frozenset({MANIFEST, SUMS, *SEGMENTS})


class SeenOutside:
    """A look at an encrypted copy without a key.

    Args:
        inner: the place itself, whose content is encrypted.

    Attributes:
        objects: how many encrypted objects were found.
        bytes: how many bytes they have.
        versions: how many versions, of all archives that are in it.
    """

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self._found = [each for each in inner.list() if each.name not in {MARKER, README}]
        self._versions: dict[str, set[str]] = defaultdict(set)
        self.objects = self.bytes = self.versions = 0

    def findings(self, progress: Callable[[int, int], None]) -> Iterator[Finding]:
        """Yield what is wrong, as it is found; ``progress`` counts the objects checked."""
        if not any(each.name.startswith(KEYS) for each in self._found):
            yield Finding(FindingCode.DOCUMENT_DAMAGED, KEYS, message("the keys of the copy are not there"))
        for done, each in enumerate(self._found, 1):
            yield from self._one(each)
            progress(done, len(self._found))
        yield from self._missing()

    def _one(self, found: StoredObject) -> Iterator[Finding]:
        name = found.name.removesuffix(ENDING)
        part = _PART.fullmatch(name)
        if name == found.name or not (part or _KNOWN.fullmatch(name) or name.startswith(KEYS)):
            yield Finding(FindingCode.STRANGE_FILE, found.name, message("no part of an encrypted copy"))
            return
        self.objects += 1
        self.bytes += found.size or 0
        if part is not None:
            self._versions[name.removesuffix(part[3])].add(part[3])
        if not self._is_whole(found):
            code = FindingCode.ASSET_DAMAGED if "assets/" in name else FindingCode.DOCUMENT_DAMAGED
            code = FindingCode.SEGMENT_DAMAGED if part is not None and part[3] in SEGMENTS else code
            yield Finding(code, found.name, message("it is cut short, or no encrypted file of this program"))

    def _is_whole(self, found: StoredObject) -> bool:
        try:
            beginning = self._inner.read_range(found.name, 0, _USUAL_HEADER)
            if b"\n--- " not in beginning:
                beginning = self._inner.read_range(found.name, 0, HEADER_READ)
        except ArchiveDamaged:
            return False
        if found.size is None:
            return payload_size(beginning, 1 << 40) is not None
        length = payload_size(beginning, found.size)
        return length is not None and (found.name.startswith(KEYS) or padded(length) == length)

    def _missing(self) -> Iterator[Finding]:
        for folder, parts in sorted(self._versions.items()):
            if MANIFEST not in parts:
                detail = message("its manifest is not there yet: a transfer is under way, or was cut short")
                yield Finding(FindingCode.UNFINISHED, folder, detail)
                continue
            self.versions += 1
            for part in sorted(_PARTS - parts):
                yield Finding(FindingCode.SEGMENT_MISSING, f"{folder}{part}{ENDING}", message("it is not there"))
