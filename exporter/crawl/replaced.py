"""Entries that the service sends with less than before, or with the same text for all of them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

from exporter.message import message
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.model.records import Raw
    from exporter.service.interface import BlogService

_BUCKETS: Final = 4096
"""Texts are counted by a part of their hash: a share of many texts shows all the same, and memory stays flat."""


class Replaced:
    """Compares the entries that are new or changed with the archive's, and their texts with one another.

    Args:
        service: knows the fields.

    Attributes:
        emptied: how many entries had a text and have none now.
    """

    def __init__(self, service: BlogService) -> None:
        self._service = service
        self._names = service.bodies[Kind.ENTRIES]
        self._texts = array("L", bytes(array("L").itemsize * _BUCKETS))
        self.emptied = 0

    @property
    def alike(self) -> int:
        """How many entries have the same text, at most."""
        return max(self._texts)

    def is_blank(self, raw: Raw) -> bool:
        """Return whether an entry has neither a title nor a text."""
        return not any(self._bodies(raw)) and not self._service.title(Kind.ENTRIES, raw)

    def count(self, raw: Raw, before: Raw | None) -> None:
        """Count the text of an entry that is new or differs from the one ``before``."""
        text = "".join(self._bodies(raw))
        if text:
            self._texts[hash(text) % _BUCKETS] += 1
        elif before is not None and any(self._bodies(before)):
            self.emptied += 1

    def lost_text(self, raw: Raw, before: Raw) -> str | None:
        """Return why an entry may have been cut: its text became shorter, and it was not updated; else ``None``."""
        new, old = ([self._service.title(Kind.ENTRIES, each), *self._bodies(each)] for each in (raw, before))
        if not any(len(now) < len(then) and then.startswith(now) for now, then in zip(new, old, strict=True)):
            return None
        updated = self._service.post(before).updated
        if updated is None or self._service.post(raw).updated != updated:
            return None
        return message(
            "a part of its text is missing, although its date of change is the same; the archive keeps the whole text. "
            "If the service is right, run again with --accept-removals"
        )

    def _bodies(self, raw: Raw) -> list[str]:
        return [found if isinstance(found := raw.get(name), str) else "" for name in self._names]
