"""Refuse a run that reads another blog than the archive's, such as one that has got its former name.

Owners retitle and redate single entries. Another blog at the same service has other entries under the same ids, so
titles and dates both differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive.lines import split
from exporter.errors import AnotherBlog
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from exporter.crawl.ingest import Ingest

_KINDS: Final = (Kind.ENTRY_LIST, Kind.ENTRIES)
_MIN_CONTRADICTIONS: Final = 4
"""Fewer entries may be written anew by their owner."""
_MAX_TITLE_CHARACTERS: Final = 60


def refuse_another_blog(ingest: Ingest, *, is_new_name: bool = False) -> None:
    """Refuse a run whose entries contradict the archive.

    An entry contradicts it if its id is known and both its title and its date differ. An entry agrees if one of them is
    the same.

    Args:
        ingest: the run, which has read the lists.
        is_new_name: whether the blog is read by a name or an address that the archive does not know yet.

    Raises:
        AnotherBlog: more entries contradict the archive than agree, and these are at least four, or the service answers
            as another user, or the name is new; in both last cases also if no entry of the archive is listed.
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
            "of {known:,} entries with known ids, {n:,} have another title and another date: {id} was {before} and is "
            "{now}",
            known=known,
            n=count,
            id=printable(record_id, _MAX_TITLE_CHARACTERS),
            before=repr(printable(before, _MAX_TITLE_CHARACTERS)),
            now=repr(printable(now, _MAX_TITLE_CHARACTERS)),
        )
    elif not known and is_doubtful:
        what = message(
            "none of its {n:,} entries is among the {known:,} of the archive", n=len(listed), known=len(items.base)
        )
    else:
        return
    raise AnotherBlog(
        "The service shows another blog than the archive's: {what}. Nothing was written. If the blog has another "
        "address now, continue from there. If it is the same blog, run again with --accept-join.",
        what=what,
    )


def _is_another(contradicting: int, known: int, *, is_doubtful: bool) -> bool:
    return contradicting > known - contradicting and (contradicting >= _MIN_CONTRADICTIONS or is_doubtful)


def _changed_ids(ingest: Ingest) -> set[str]:
    """Return the ids of changed entries. Only if they are many, records are compared."""
    return {each for kind in _KINDS for each, base, _ in ingest.ledgers[kind].changes() if base is not None}


def _contradictions(ingest: Ingest) -> Iterator[tuple[str, tuple[str, str]]]:
    for kind in _KINDS:
        ledger = ingest.ledgers[kind]
        for record_id, base, row in ledger.changes():
            old = ingest.state.load(kind, record_id) if base is not None and ledger.holds(record_id) else None
            if old is not None:
                new = lossless_json.loads(split(ledger.line(record_id, row)).data)
                found = _contradiction(ingest, kind, old, new)
                if found is not None:
                    yield record_id, found


def _contradiction(ingest: Ingest, kind: Kind, old: Any, new: Any) -> tuple[str, str] | None:
    """Return the two titles of an entry whose title and date both differ, otherwise ``None``."""
    posts = [ingest.service.post(raw) if kind is Kind.ENTRIES else ingest.service.post(None, raw) for raw in (old, new)]
    (before, first), (now, second) = ((post.title.strip(), _date(post.date, post.listed_on)) for post in posts)
    if before == now or first == second or first is None or second is None:
        return None
    return before, now


def _date(date: datetime | None, listed_on: datetime | None) -> datetime | None:
    return listed_on if date is None else date
