"""What an export says of itself: what went in and came out, what was left out or changed and why. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

KINDS: Final = ("entries", "comments", "pictures", "categories")
_ONE: Final = {"entries": "entry", "comments": "comment", "pictures": "picture", "categories": "category"}

_OF_IDS: Final = ("entries", "comments")
"""The kinds whose names in a report are ids of the service; those of the others are words that people chose."""

_NAMED: Final = 5
_NAMED_LONG: Final = 2
_SHORT: Final = 24


class _Fate(IntEnum):
    """What became of a picture, the better the higher: only a picture whose bytes are in the export is written."""

    LEFT = 0
    REFERRED = 1
    WRITTEN = 2


class Report:
    """The account of one export; every record that went in is written, referred to or left out, with the reason.

    Entries and comments are counted as the archive holds them; pictures and categories as far as entries of this export
    have them, so that nothing of the others is named.

    Args:
        public: whether the entries of this export are; the report of any other names ids and flags, but no category and
            no address of a picture, which their writers chose.
    """

    def __init__(self, *, public: bool = True) -> None:
        self._public = public
        self.received: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self.left_out: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self.changes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.limits: defaultdict[str, list[str]] = defaultdict(list)
        self._categories: dict[str, bool] = {}
        self._pictures: dict[int, _Fate] = {}
        self._addresses: defaultdict[tuple[_Fate, str], dict[str, None]] = defaultdict(dict)

    def took(self, kind: str, count: int = 1) -> None:
        """Count records that the archive holds."""
        self.received[kind] += count

    def category(self, name: str) -> None:
        """Name a category that entries of this export have."""
        self._categories.setdefault(name, False)

    def wrote(self, comments: int, category: str) -> None:
        """Count an entry that is in a file now, with so many comments."""
        self.written["entries"] += 1
        self.written["comments"] += comments
        if category:
            self._categories[category] = True

    def picture(self, address: str, reason: str = "", *, referred: bool = False) -> None:
        """Count a picture or file of the entries, once and by the best that happened to it.

        Args:
            address: where it was.
            reason: why its bytes are not in the export; empty when they are.
            referred: whether an address of it is, where its bytes are not.
        """
        fate = _Fate.WRITTEN if not reason else _Fate.REFERRED if referred else _Fate.LEFT
        digest = hash(address)
        before = self._pictures.get(digest)
        if before is not None and before >= fate:
            return
        self._pictures[digest] = fate
        if before is not None:
            for (of, _), addresses in self._addresses.items():
                if of is before:
                    addresses.pop(address, None)
        if reason:
            self._addresses[fate, reason][address] = None

    def left(self, kind: str, reason: str, record_id: str) -> None:
        """Name a record that is in no file, and say why."""
        self.left_out[kind, reason].append(record_id)

    def changed(self, kind: str, what: str, record_id: str, times: int = 1) -> None:
        """Name a record of which something had to be written otherwise, and how often."""
        if times:
            self.changes[kind, what][record_id] += times

    def limit(self, what: str, entry_id: str) -> None:
        """Name an entry that meets a known limit of the target."""
        if entry_id not in self.limits[what][-1:]:
            self.limits[what].append(entry_id)

    def left_count(self, kind: str) -> int:
        """Return how many records of a kind are in no file."""
        return sum(len(ids) for (of, _), ids in self.left_out.items() if of == kind)

    def document(self) -> dict[str, Any]:
        """Return the report as it is written to ``OUT.report.json``."""
        received, written, left_out = dict(self.received), dict(self.written), dict(self.left_out)
        fates = Counter(self._pictures.values())
        received["pictures"], written["pictures"] = fates.total(), fates[_Fate.WRITTEN]
        received["categories"] = received.get("categories", 0) + len(self._categories)
        written["categories"] = written.get("categories", 0) + sum(self._categories.values())
        lost = [name for name, is_written in self._categories.items() if not is_written]
        if lost:
            left_out["categories", "its entries are left out"] = lost
        left_out |= self._of_pictures(_Fate.LEFT)
        return {
            "in": {kind: received.get(kind, 0) for kind in KINDS},
            "out": {kind: written.get(kind, 0) for kind in KINDS},
            "referred": {kind: fates[_Fate.REFERRED] if kind == "pictures" else 0 for kind in KINDS},
            "left_out": self._rows(left_out),
            "by_address": self._rows(self._of_pictures(_Fate.REFERRED)),
            "changed": [
                {
                    "kind": kind,
                    "what": what,
                    "records": len(times),
                    "times": times.total(),
                    "ids": self._named(kind, list(times)),
                }
                for (kind, what), times in sorted(self.changes.items())
            ],
            "preflight": [
                {"limit": what, "count": len(ids), "entries": ids} for what, ids in sorted(self.limits.items())
            ],
        }

    def _of_pictures(self, fate: _Fate) -> dict[tuple[str, str], list[str]]:
        rows = self._addresses.items()
        return {("pictures", reason): list(found) for (of, reason), found in rows if of is fate and found}

    def _rows(self, found: Mapping[tuple[str, str], list[str]]) -> list[dict[str, Any]]:
        return [
            {"kind": kind, "reason": reason, "count": len(ids), "ids": self._named(kind, ids)}
            for (kind, reason), ids in sorted(found.items())
        ]

    def _named(self, kind: str, ids: list[str]) -> list[str]:
        return ids if self._public or kind in _OF_IDS else []


def short_table(document: Mapping[str, Any]) -> list[str]:
    """Return a report's document as lines for people, without the ids beyond the first five."""
    lines = [f"{'':<12} {'in':>9} {'written':>9} {'referred':>9} {'left out':>9}"]
    for kind in KINDS:
        left = sum(row["count"] for row in document["left_out"] if row["kind"] == kind)
        numbers = (document["in"][kind], document["out"][kind], document["referred"][kind], left)
        lines.append(" ".join([f"{kind:<12}", *(f"{number:>9,}" for number in numbers)]))
    lines += [_row("left out", row["kind"], row["reason"], row["count"], row["ids"]) for row in document["left_out"]]
    lines += [_row("referred", row["kind"], row["reason"], row["count"], row["ids"]) for row in document["by_address"]]
    lines += [_row("changed", row["kind"], row["what"], row["records"], row["ids"]) for row in document["changed"]]
    lines += [_row("mind", "entries", row["limit"], row["count"], row["entries"]) for row in document["preflight"]]
    return lines


def _row(verb: str, kind: str, reason: str, count: int, ids: list[str]) -> str:
    named = f" ({names(ids)})" if ids else ""
    return f"{verb}: {count:,} {_ONE[kind] if count == 1 else kind}: {reason}{named}"


def names(ids: Sequence[str]) -> str:
    """Return the first of some ids, fewer where they are as long as addresses."""
    most = _NAMED if all(len(each) <= _SHORT for each in ids[:_NAMED]) else _NAMED_LONG
    return ", ".join(ids[:most]) + (", …" if len(ids) > most else "")
