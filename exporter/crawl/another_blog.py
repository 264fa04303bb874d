"""Refuse a run that reads another blog than the archive's, such as one that has got its former name.

Owners retitle, redate and rewrite entries, and a new theme may do one of these to all of them. Another blog at the same
service has other entries under the same ids, so titles, dates and texts all differ, or it has other ids.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive.lines import split
from exporter.errors import AnotherBlog
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.service.identity import text_words
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from exporter.crawl.ingest import Ingest
    from exporter.model.records import Post

_KINDS: Final = (Kind.ENTRY_LIST, Kind.ENTRIES)
_MIN_CONTRADICTIONS: Final = 4
"""Fewer entries may be written anew or replaced by their owner."""
_MAX_TITLE_CHARACTERS: Final = 60


def refuse_another_blog(ingest: Ingest, *, is_new_name: bool = False) -> None:
    """Refuse a run whose entries contradict the archive.

    An entry whose id is known agrees if its text, its date or its title is the same, and contradicts it otherwise. A
    title that several archived entries have says nothing, and neither does a missing date or text.

    Args:
        ingest: the run, which has read the lists.
        is_new_name: whether the blog is read by a name or an address that the archive does not know yet.

    Raises:
        AnotherBlog: more entries contradict the archive than agree, and these are at least four, or the service answers
            as another user, or the name is new. Or no archived entry is listed, and the service answers as another
            user, or the name is new, or the list is whole and the archive has at least four.
    """
    items = ingest.ledgers[Kind.ENTRY_LIST]
    last = len(ingest.sweeps)
    listed = list(items.seen_in(last)) if last else []
    if not listed or not items.base:
        return
    known = sum(1 for each in listed if each in items.base)
    is_doubtful = ingest.other_user or is_new_name
    contradicting: dict[str, tuple[str, str]] = {}
    if _is_another(len(_changed_ids(ingest)), known, is_doubtful=is_doubtful):
        contradicting = dict(_contradictions(ingest))
    count = len(contradicting)
    if _is_another(count, known, is_doubtful=is_doubtful):
        record_id, (before, now) = next(iter(contradicting.items()))
        what = message(
            "of {known:,} entries with known ids, {n:,} are other entries: {id} was {before} and is {now}",
            known=known,
            n=count,
            id=printable(record_id, _MAX_TITLE_CHARACTERS),
            before=before,
            now=now,
        )
    elif not known and (is_doubtful or _is_replaced(ingest)):
        what = message(
            "none of its {n:,} entries is among the {known:,} of the archive", n=len(listed), known=len(items.base)
        )
    else:
        return
    raise AnotherBlog(
        "The service shows another blog than the archive's: {what}. Nothing was written. If the blog has another "
        "address now, continue from there. If it is the same blog, run again with {options}.",
        what=what,
        options="--accept-join" if known else "--accept-join --accept-removals",
    )


def _is_another(contradicting: int, known: int, *, is_doubtful: bool) -> bool:
    return contradicting > known - contradicting and (contradicting >= _MIN_CONTRADICTIONS or is_doubtful)


def _is_replaced(ingest: Ingest) -> bool:
    """Return whether a list without any known entry replaces the archive's.

    A feed has only the newest entries. An owner names a file, whose ids may depend on the program that wrote it.
    """
    whole = ingest.sweeps[-1][Kind.ENTRY_LIST].vouches and not ingest.service.capabilities.snapshot
    return whole and len(ingest.ledgers[Kind.ENTRY_LIST].base) >= _MIN_CONTRADICTIONS


def _changed_ids(ingest: Ingest) -> set[str]:
    """Return the ids of changed entries. Only if they are many, records are compared."""
    return {each for kind in _KINDS for each, base, _ in ingest.ledgers[kind].changes() if base is not None}


def _contradictions(ingest: Ingest) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the entries that are others than in the archive, each with its title and date there and now."""
    for kind in _KINDS:
        ledger, comparison = ingest.ledgers[kind], _Comparison(ingest, kind)
        for record_id, base, row in ledger.changes():
            old = ingest.state.load(kind, record_id) if base is not None and ledger.holds(record_id) else None
            if old is not None:
                new = lossless_json.loads(split(ledger.line(record_id, row)).data)
                found = comparison.contradiction(old, new)
                if found is not None:
                    yield record_id, found


def _called(title: str, date: datetime | None) -> str:
    shown = repr(printable(title, _MAX_TITLE_CHARACTERS))
    return shown if date is None else f"{shown} ({date:%Y-%m-%d})"


class _Comparison:
    """Compares records of one kind with the archive."""

    def __init__(self, ingest: Ingest, kind: Kind) -> None:
        self._ingest = ingest
        self._kind = kind

    def contradiction(self, old: Any, new: Any) -> tuple[str, str] | None:
        """Return what two different entries are called, otherwise ``None``."""
        one, other = (self._post(raw) for raw in (old, new))
        titles = one.title.strip(), other.title.strip()
        dates = [
            listed if date is None else date for date, listed in ((each.date, each.listed_on) for each in (one, other))
        ]
        is_known = None not in dates
        is_same_title = titles[0] == titles[1]
        if (is_known and dates[0] == dates[1]) or (is_same_title and self._is_telling(titles[0])):
            return None
        texts = text_words(f"{one.body} {one.more}"), text_words(f"{other.body} {other.more}")
        is_another = texts[0] != texts[1] if all(texts) else is_known and not is_same_title
        return (_called(titles[0], dates[0]), _called(titles[1], dates[1])) if is_another else None

    def _post(self, raw: Any) -> Post:
        service = self._ingest.service
        return service.post(raw) if self._kind is Kind.ENTRIES else service.post(None, raw)

    def _is_telling(self, title: str) -> bool:
        """Return whether one entry of the archive has this title. Many are called "Diary", or have none."""
        return bool(title) and self._titles[title] <= 1

    @cached_property
    def _titles(self) -> Counter[str]:
        """The number of archived records with each title."""
        ledger, load = self._ingest.ledgers[self._kind], self._ingest.state.load
        held = (load(self._kind, str(key)) for key, _ in ledger.base.keys.items() if ledger.holds(str(key)))
        return Counter(self._post(raw).title.strip() for raw in held if raw is not None)
