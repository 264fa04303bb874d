"""Refuse a run in which many records of a blog lose their text at once.

A service that breaks, or shows a notice in place of its content, changes many records at once. Only changed records are
compared, and only if there are many, so that an ordinary run compares none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive.lines import split
from exporter.errors import MassDisappearance
from exporter.message import filled, message, message_template
from exporter.model.kinds import KIND_NAMES, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.crawl.ingest import Ingest
    from exporter.model.records import Raw
    from exporter.service.interface import Records

_MAX_SHARE: Final = 0.30
_MAX_RECORDS: Final = 5
_POST_TEXTS: Final = ("title", "slug", "body", "more_title", "more", "template", "excerpt", "author")
_TEXTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.ENTRIES: _POST_TEXTS,
    Kind.ENTRY_LIST: _POST_TEXTS,
    Kind.COMMENTS: ("name", "title", "text", "url"),
    Kind.FILES: ("name", "title", "description", "alt"),
}


_EMPTY: Final = message_template("the {field} of {record_id} is empty now")
_GARBLED: Final = message_template("the {field} of {record_id} is mostly ? or U+FFFD now")
_SHORT: Final = message_template("the {field} of {record_id} is only half as long now")
_SAME: Final = message_template("the {field} of {record_id} is the same as theirs now")


@dataclass(slots=True)
class _Group:
    """Records in which a field has changed in the same way.

    Attributes:
        fault: what happened to the first record, as a template.
        record_id: the first record.
        old: the hash of its old text.
        count: their number.
        differed: whether their old texts differed. A name that many records share may be changed in all of them.
    """

    fault: str
    record_id: str
    old: int
    count: int = 0
    differed: bool = False

    def add(self, old: int, *, emptied: bool) -> None:
        """Count a record."""
        self.count += 1
        self.differed = self.differed or emptied or old != self.old


def is_mass(count: int, total: int) -> bool:
    """Return whether ``count`` of ``total`` records are too many to change at once without the owner's consent."""
    return count > _MAX_RECORDS and count > _MAX_SHARE * total


def refusal(what: str) -> MassDisappearance:
    """Return the error that refuses a run."""
    return MassDisappearance(
        "{what}; nothing was written. If that is right, run again with --accept-removals.", what=what
    )


def refuse_mass_damage(ingest: Ingest) -> None:
    """Refuse a run in which many archived records have lost text, or have the same new text.

    Raises:
        MassDisappearance: over 30 % and more than 5 records of one kind are affected.
    """
    for kind in _TEXTS:
        ledger = ingest.ledgers[kind]
        total = len(ledger.base)
        if not is_mass(min(total, len(ledger.fresh)), total):
            continue
        if is_mass(sum(base is not None for _, base, _ in ledger.changes()), total):
            _compare(ingest, kind, total)


def _compare(ingest: Ingest, kind: Kind, total: int) -> None:
    """Compare the changed records of a kind with the archive.

    Raises:
        MassDisappearance: too many of them have lost text, or have the same new text.
    """
    groups: dict[tuple[str, int | None], _Group] = {}
    for record_id, new, old in _changed(ingest, kind):
        texts = _texts(ingest.service, kind, old)
        for field, now in _texts(ingest.service, kind, new).items():
            before = texts[field]
            if now == before:
                continue
            known = hash(before)
            fault = _fault(now, before)
            if fault is not None:
                groups.setdefault((field, None), _Group(fault, record_id, known)).add(known, emptied=fault is _EMPTY)
            if now.strip():
                groups.setdefault((field, hash(now)), _Group(_SAME, record_id, known)).add(known, emptied=False)
    for (field, _), group in groups.items():
        if group.differed and is_mass(group.count, total):
            what = message(
                "{n:,} of {total:,} {kind} have lost their text at once: {fault}",
                n=group.count,
                total=total,
                kind=KIND_NAMES[Kind.ENTRIES if kind is Kind.ENTRY_LIST else kind],
                fault=filled(group.fault, field=field, record_id=group.record_id),
            )
            raise refusal(what)


def _changed(ingest: Ingest, kind: Kind) -> Iterator[tuple[str, Raw, Raw]]:
    """Yield the changed records of a kind with their new and old state; a damaged old state is not compared."""
    ledger = ingest.ledgers[kind]
    for record_id, base, row in ledger.changes():
        if base is not None and ledger.holds(record_id):
            old = ingest.state.load(kind, record_id)
            if old is not None:
                yield record_id, lossless_json.loads(split(ledger.line(record_id, row)).data), old


def _texts(service: Records, kind: Kind, raw: Raw) -> dict[str, str]:
    """Return a record's texts by the names of their fields. Categories and tags are left out: owners rename them."""
    record: Any
    if kind is Kind.COMMENTS:
        record = service.comment(raw)
    elif kind is Kind.FILES:
        record = service.upload(raw)
    else:
        record = service.post(raw) if kind is Kind.ENTRIES else service.post(None, raw)
    return {name: getattr(record, name) or "" for name in _TEXTS[kind]}


def _fault(now: str, before: str) -> str | None:
    """Return the template of a sentence if a text has lost at least half of its content, otherwise ``None``."""
    if not now.strip():
        return _EMPTY if before.strip() else None
    if _is_garbled(now, before):
        return _GARBLED
    return _SHORT if 2 * len(now) <= len(before) else None


def _is_garbled(now: str, before: str) -> bool:
    """Return whether a text is mostly replacement characters, or has them in place of its non-ASCII characters."""
    marks = _replacements(now)
    more = marks - _replacements(before)
    foreign = sum(1 for character in before if character > "\x7f")
    return more > 0 and (2 * marks > len(now) or 2 * more > foreign > 0)


def _replacements(text: str) -> int:
    return text.count("?") + text.count("\ufffd")
