"""The report on an export: records in and out, and the reasons for omissions and changes. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Final, Literal, NamedTuple

from exporter import text
from exporter.export.reasons import Reason, kind_name, sentence, why_not_saved
from exporter.html.links import host_of
from exporter.message import filled, message, message_template
from exporter.model.asset import Asset
from exporter.model.publication import Cause, Hidden
from exporter.model.records import Audience

Part = Literal["left_out", "by_address", "changed", "preflight", "closing"]

CLOSING: Final[dict[str, tuple[str, Reason]]] = {
    "fetched": ("pictures", Reason.LOST_UNLESS_FETCHED),
    "old_address": ("pictures", Reason.LOST_WITH_THE_OLD),
    "not_saved_yet": ("pictures", Reason.LOST_UNLESS_SAVED),
    "gone": ("pictures", Reason.LOST_ALREADY),
    "not_saved": ("pictures", Reason.NOT_IN_ARCHIVE),
    "not_read": ("entries", Reason.LOST_UNLESS_SAVED),
    "links": ("links", Reason.LINK_DEAD),
    "drafts": ("entries", Reason.DRAFT_STAYS),
    "private": ("entries", Reason.PRIVATE_STAYS),
    "entries_by_choice": ("entries", Reason.CHOICE_STAYS),
    "entries_not_held": ("entries", Reason.NOT_HELD_STAYS),
    "comments_undeclared": ("comments", Reason.UNDECLARED_STAYS),
    "comments_hidden": ("comments", Reason.HIDDEN_STAYS),
    "comments_of_others": ("comments", Reason.COMMENTS_OF_OTHERS),
    "comments_by_choice": ("comments", Reason.COMMENTS_STAY),
    "comments_not_held": ("comments", Reason.NOT_HELD_STAYS),
    "new_address": ("pictures", Reason.ADDRESS_GOES),
    "pictures_not_held": ("pictures", Reason.NOT_HELD_STAYS),
    "files_not_shown": ("files", Reason.NOT_SHOWN_STAYS),
}
"""The parts that the new home lacks, by their names in the report, with kind and reason. The archive or the old blog
has them."""

HEADINGS: Final = (message("in"), message("written"), message("referred"), message("left out"))
_LINES: Final[Mapping[Part, str]] = {
    "left_out": message_template("left out: {count} {kind}: {why}"),
    "by_address": message_template("referred: {count} {kind}: {why}"),
    "changed": message_template("changed: {count} {kind}: {why}"),
    "preflight": message_template("mind: {count} {kind}: {why}"),
    "closing": message_template("closing: {count} {kind}: {why}"),
}
KINDS: Final = ("entries", "comments", "pictures", "categories")
_OF_IDS: Final = ("entries", "comments")
"""The kinds whose names in a report are ids of the service; those of the others are texts that people wrote."""

_PRIVATE: Final = (Hidden.FLAG, Hidden.REMOVED, Hidden.WITHDRAWN)
"""Why an entry is private; for all other reasons it is a draft."""
_UNPUBLISHED: Final = (repr(str(Audience.DRAFT)), repr(str(Audience.SCHEDULED)))
"""The flags of drafts, if the service states them."""

_NOT_SAVED: Final = {
    Reason.NOT_SAVED_YET: "not_saved_yet",
    Reason.GONE: "gone",
    Reason.NOT_SAVED: "not_saved",
}
_CHOICES: Final = {
    Reason.IN_PUBLIC, Reason.IN_DRAFTS, Reason.OTHER_CATEGORY, Reason.OTHER_TAG, Reason.NO_DAY, Reason.OTHER_DAY,
}  # fmt: skip
"""Why entries are left out, if options leave them out."""
_OF_COMMENTS: Final[dict[Any, str]] = {
    Hidden.UNDECLARED: "comments_undeclared",
    Reason.ENTRY_LEFT_OUT: "comments_of_others",
    Reason.ENTRY_UNKNOWN: "comments_of_others",
    Reason.COMMENTS_UNWANTED: "comments_by_choice",
}
_MAX_SHORT_IDS: Final = 5
_MAX_LONG_IDS: Final = 2
_SHORT_ID_CHARACTERS: Final = 24


@dataclass(frozen=True, slots=True)
class Row:
    """Records of a kind that share an outcome and its reason.

    Attributes:
        kind: one of :data:`KINDS`.
        cause: the reason.
        count: how many records.
        ids: their ids, or the names of pictures and categories; empty if these must not be named.
        times: how often it happened to all of them together.
    """

    kind: str
    cause: Cause
    count: int
    ids: list[str]
    times: int

    @property
    def code(self) -> str:
        """The reason's name, which is the same in every language and version of the program."""
        return self.cause.reason.name.lower()

    @property
    def english(self) -> str:
        """The reason as a sentence in English."""
        return str(sentence(self.kind, self.cause))


class ClosingLoss(NamedTuple):
    """Records with one outcome on the closing day: their number, and the ids of the entries concerned."""

    number: int
    entries: Sequence[str] = ()


class _PictureOutcome(IntEnum):
    """The outcomes for a picture, from worst to best; only a picture whose bytes are in the export is written."""

    LEFT = 0
    REFERRED = 1
    WRITTEN = 2


class Link(StrEnum):
    """The outcome of a link that leads to the blog itself. The values are the names in ``OUT.report.json``."""

    REWRITTEN = "rewritten"
    """It leads to the place that the entry has in the new home."""
    OLD_HOST = "old_host"
    """It leads to the old blog, and ends with it."""
    DEAD = "dead"
    """It has the address of an entry that the archive does not have: the old blog deleted it."""


class Report:
    """An export's report: every record is written, referred to or left out, with the reason.

    Entries and comments are counted as the archive holds them; pictures and categories as far as entries of this export
    have them, so that nothing of the others is named.

    Args:
        public: whether the entries are public; otherwise the report names ids and flags, but no categories and no
            addresses of pictures, because people wrote those.
        both: whether the same export has another folder, with the entries of the other side.
        tell_mails: called before the first file with the number of mail addresses in the export, unless it is 0.

    Attributes:
        old_hosts: the hosts that close with the old blog, set by the reader of its posts.
        elsewhere: the ids of records, by kind, that are in that other folder.
    """

    def __init__(
        self, *, public: bool = True, both: bool = False, tell_mails: Callable[[int], None] = lambda _: None
    ) -> None:
        self._public = public
        self.tell_mails = tell_mails
        self.both = both
        self.elsewhere: defaultdict[str, set[str]] = defaultdict(set)
        self._files: Counter[str] | None = None
        self._received: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self._left: defaultdict[tuple[str, Cause], list[str]] = defaultdict(list)
        self._changes: defaultdict[tuple[str, Cause], Counter[str]] = defaultdict(Counter)
        self._limits: defaultdict[Cause, list[str]] = defaultdict(list)
        self._categories: dict[str, bool] = {}
        self._pictures: dict[int, _PictureOutcome] = {}
        self._addresses: defaultdict[tuple[_PictureOutcome, Cause], dict[str, None]] = defaultdict(dict)
        self._links: Counter[str] = Counter()
        self._own_links = Counter(dict.fromkeys(Link, 0))
        self._inferred: tuple[str, int] | None = None
        self.old_hosts: frozenset[str] = frozenset()

    def infer(self, pattern: str, matches: int) -> None:
        """Record the inferred pattern for addresses of entries and the number of links that match it."""
        self._inferred = pattern, matches

    def took(self, kind: str, count: int = 1) -> None:
        """Count records that the archive holds."""
        self._received[kind] += count

    def category(self, name: str) -> None:
        """Name a category that entries of this export have."""
        self._categories.setdefault(name, False)

    def wrote(self, comments: int, *categories: str) -> None:
        """Count an entry that was written, with its number of comments and its categories."""
        self.written["entries"] += 1
        self.written["comments"] += comments
        self._categories.update(dict.fromkeys(filter(None, categories), True))

    def picture(self, address: str, why: Reason | None = None, *, referred: bool = False) -> None:
        """Count a picture or file once, by its best outcome.

        Args:
            address: its old address.
            why: why its bytes are not in the export; ``None`` if they are.
            referred: whether the export has its address instead of its bytes.
        """
        outcome = (
            _PictureOutcome.WRITTEN if why is None else _PictureOutcome.REFERRED if referred else _PictureOutcome.LEFT
        )
        digest = hash(address)
        before = self._pictures.get(digest)
        if before is not None and before >= outcome:
            return
        self._pictures[digest] = outcome
        if before is not None:
            for (of, _), addresses in self._addresses.items():
                if of is before:
                    addresses.pop(address, None)
        if why is not None:
            self._addresses[outcome, Cause(why)][address] = None

    def count_files(self, assets: Iterable[Asset], *, held: bool = True) -> None:
        """Count the blog's files that no entry of this export shows. Call it after the pictures were reported.

        Args:
            assets: the blog's files.
            held: whether the format can hold or show files at all.
        """
        others, self._files = self.elsewhere["entries"], Counter()
        saved = "files_not_shown" if held else "pictures_not_held"
        for asset in assets:
            if hash(asset.url) not in self._pictures and others.isdisjoint(asset.ids("entry")):
                self._files[saved if asset.sha256 else _NOT_SAVED[why_not_saved(asset)]] += 1

    def link(self, address: str, entry_id: str) -> None:
        """Count a link that an entry keeps unchanged, if it leads to a host that closes with the old blog."""
        if host_of(address) in self.old_hosts:
            self._links[entry_id] += 1

    def own_link(self, outcome: Link) -> None:
        """Count a link to the blog itself; one address counts once in a text."""
        self._own_links[outcome] += 1

    def left(self, kind: str, why: Reason | Cause, record_id: str) -> None:
        """Name a record that is in no file, with the reason."""
        self._left[kind, _cause(why)].append(record_id)

    def changed(self, kind: str, what: Reason | Cause, record_id: str, times: int = 1) -> None:
        """Name a record of which parts had to be changed, and how often."""
        if times:
            self._changes[kind, _cause(what)][record_id] += times

    def limit(self, what: Reason | Cause, entry_id: str) -> None:
        """Name an entry that meets a known limit of the target."""
        ids = self._limits[_cause(what)]
        if entry_id not in ids[-1:]:
            ids.append(entry_id)

    def hidden_since(self) -> int:
        """Return how many entries of an older version are left out since the newest one does not show them any more."""
        causes = ((cause, ids) for (kind, cause), ids in self._left.items() if kind == "entries")
        return sum(len(ids) for cause, ids in causes if cause.newest or cause.reason is Hidden.REMOVED)

    def closing(self) -> dict[str, ClosingLoss]:
        """Return the losses when the old blog closes, and what only the archive keeps, by the names in CLOSING."""
        outcomes: Counter[str] = Counter(self._files or {})
        for (outcome, cause), addresses in self._addresses.items():
            if outcome is _PictureOutcome.REFERRED and cause.reason is not Reason.NEW_ADDRESS:
                name = "fetched" if cause.reason is Reason.FETCHED else "old_address"
                outcomes[name] += sum(host_of(address) in self.old_hosts for address in addresses)
            elif cause.reason in _NOT_SAVED:
                outcomes[_NOT_SAVED[cause.reason]] += len(addresses)
            elif outcome is not _PictureOutcome.WRITTEN:
                outcomes["new_address" if cause.reason is Reason.NEW_ADDRESS else "pictures_not_held"] += len(addresses)
        entries: defaultdict[str, list[str]] = defaultdict(list)
        for (kind, cause), ids in self._left.items():
            missing = [each for each in ids if each not in self.elsewhere[kind]]
            if kind == "entries":
                entries[_closing_of_entries(cause)] += missing
            elif kind == "comments":
                default = "comments_hidden" if isinstance(cause.reason, Hidden) else "comments_not_held"
                outcomes[_OF_COMMENTS.get(cause.reason, default)] += len(missing)
        losses = {name: ClosingLoss(outcomes[name]) for name in CLOSING}
        losses |= {name: ClosingLoss(len(ids), ids) for name, ids in entries.items()}
        return losses | {"links": ClosingLoss(self._links.total(), list(self._links))}

    def rows(self) -> dict[Part, list[Row]]:
        """Return the rows for all records that were not written."""
        lost = [name for name, is_written in self._categories.items() if not is_written]
        categories = {("categories", Cause(Reason.ENTRIES_LEFT_OUT)): lost} if lost else {}
        return {
            "left_out": self._rows({**self._left, **categories, **self._of_pictures(_PictureOutcome.LEFT)}),
            "by_address": self._rows(self._of_pictures(_PictureOutcome.REFERRED)),
            "changed": self._rows(self._changes),
            "preflight": self._rows({("entries", cause): ids for cause, ids in self._limits.items()}),
            "closing": [
                Row(CLOSING[name][0], Cause(CLOSING[name][1]), found.number, list(found.entries), found.number)
                for name, found in self.closing().items()
                if found.number
            ],
        }

    def totals(self) -> dict[str, dict[str, int]]:
        """Return how many records of each kind came in, are written, and are referred to."""
        outcomes = Counter(self._pictures.values())
        written = Counter(self._categories.values())[True]
        received = {**self._received, "pictures": outcomes.total(), "categories": len(self._categories)}
        out = {**self.written, "pictures": outcomes[_PictureOutcome.WRITTEN], "categories": written}
        return {
            "in": {kind: received.get(kind, 0) for kind in KINDS},
            "out": {kind: out.get(kind, 0) for kind in KINDS},
            "referred": {kind: outcomes[_PictureOutcome.REFERRED] if kind == "pictures" else 0 for kind in KINDS},
        }

    def document(self) -> dict[str, Any]:
        """Return the content of ``OUT.report.json``."""
        rows = self.rows()
        pattern, matches = self._inferred or (None, 0)
        return {
            **self.totals(),
            "links": {str(outcome): count for outcome, count in self._own_links.items()},
            "inferred": None if pattern is None else {"old_url": pattern, "links": matches},
            **{
                part: _objects(rows[part], kind="kind", reason="english", code="code", count="count", ids="ids")
                for part in ("left_out", "by_address")
            },
            "changed": _objects(
                rows["changed"], kind="kind", what="english", code="code", records="count", times="times", ids="ids"
            ),
            "preflight": _objects(rows["preflight"], limit="english", code="code", count="count", entries="ids"),
            "closing": {
                name: {"count": found.number, "entries": list(found.entries)} for name, found in self.closing().items()
            },
        }

    def lines(self, say: Callable[[str], str] = str) -> Iterator[str]:
        """Yield the report for people, with the first few ids; its untrusted text is not made printable.

        Args:
            say: translates a message.
        """
        rows, totals = self.rows(), self.totals()
        yield text.left("", 12) + "".join(text.right(say(heading), 11) for heading in HEADINGS)
        for kind in KINDS:
            left = sum(row.count for row in rows["left_out"] if row.kind == kind)
            numbers = (*(totals[part][kind] for part in ("in", "out", "referred")), left)
            yield text.left(say(kind_name(kind, 2)), 12) + "".join(f"{number:>11,}" for number in numbers)
        if self._inferred is not None:
            yield say(inferred_line(*self._inferred))
        if self._own_links.total():
            yield say(
                message(
                    "links to the blog itself: {rewritten:,} lead to the new home, {old_host:,} to the old blog still, "
                    "{dead:,} to entries that are gone",
                    **{str(outcome): count for outcome, count in self._own_links.items()},
                )
            )
        for part, form in _LINES.items():
            for row in rows[part]:
                kind, why = kind_name(row.kind, row.count), sentence(row.kind, row.cause)
                line = filled(form, count=f"{row.count:,}", kind=kind, why=why)
                yield say(message("{line} ({ids})", line=line, ids=names(row.ids)) if row.ids else line)
        if not rows["closing"] and self._files is not None:
            yield say(
                message(
                    "closing: nothing of this is lost when the old blog closes: every entry, comment and file of the "
                    "archive is in this export"
                )
            )

    def _of_pictures(self, outcome: _PictureOutcome) -> dict[tuple[str, Cause], list[str]]:
        rows = self._addresses.items()
        return {("pictures", cause): list(found) for (of, cause), found in rows if of is outcome and found}

    def _rows(self, found: Mapping[tuple[str, Cause], list[str] | Counter[str]]) -> list[Row]:
        rows = [
            Row(
                kind,
                cause,
                len(ids),
                list(ids) if self._public or kind in _OF_IDS else [],
                ids.total() if isinstance(ids, Counter) else len(ids),
            )
            for (kind, cause), ids in found.items()
        ]
        return sorted(rows, key=lambda row: (row.kind, row.english))


def _closing_of_entries(cause: Cause) -> str:
    """Return the name in CLOSING for entries that are left out."""
    if isinstance(cause.reason, Hidden):
        return "private" if cause.reason in _PRIVATE and cause.value not in _UNPUBLISHED else "drafts"
    if cause.reason is Reason.NOT_READ:
        return "not_read"
    return "entries_by_choice" if cause.reason in _CHOICES else "entries_not_held"


def _cause(why: Reason | Cause) -> Cause:
    return why if isinstance(why, Cause) else Cause(why)


def _objects(rows: list[Row], **members: str) -> list[dict[str, Any]]:
    """Return rows as objects, given the attribute of a row for each member."""
    return [{name: getattr(row, attribute) for name, attribute in members.items()} for row in rows]


def inferred_line(pattern: str, matches: int) -> str:
    """Return the sentence about a pattern of entry addresses, with the number of links that follow it."""
    return message(
        "addresses of entries are read as {pattern}, as {count:,} in the texts show; --old-url gives another pattern",
        pattern=pattern,
        count=matches,
    )


def names(ids: Sequence[str]) -> str:
    """Return the first few ids; fewer if they are long, such as addresses."""
    most = _MAX_SHORT_IDS if all(len(each) <= _SHORT_ID_CHARACTERS for each in ids[:_MAX_SHORT_IDS]) else _MAX_LONG_IDS
    return ", ".join(ids[:most]) + (", …" if len(ids) > most else "")
