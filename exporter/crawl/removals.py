"""Removed, emptied and forgotten records: recorded only with evidence, and refused if too many are affected at once.

An entry that is missing from the entry list is requested. If the service answers, the entry is kept and the list is
reported as contradicted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from exporter.crawl.events import RecordFailed
from exporter.crawl.ledger import PendingState
from exporter.crawl.mass_damage import is_mass, refusal, refuse_mass_damage
from exporter.crawl.sweep import MAX_ID_CHARACTERS
from exporter.crawl.tasks import for_each
from exporter.errors import ApiError, ServiceError
from exporter.message import message
from exporter.model.kinds import KIND_NAMES, Kind
from exporter.model.records import Audience
from exporter.service.interface import NotShown, Refused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from exporter.crawl.ingest import Ingest
    from exporter.crawl.ledger import Ledger

MAX_NAMED_REQUESTS: Final = 1000
"""Entries named only by comments that one run requests; a hostile service could name a million."""
_GONE: Final = frozenset({404, 410})


@dataclass(slots=True)
class Removals:
    """For each kind the ids of removed records, with the evidence for their tombstones."""

    evidence: dict[Kind, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def of(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """Return the evidence of a kind by id."""
        return self.evidence.get(kind, {})


def absent(ingest: Ingest, kind: Kind) -> list[str]:
    """Return the archived ids that the last sweeps did not see; they must have seen the whole list."""
    if kind is Kind.COMMENTS and ingest.service.capabilities.comments_in_entries:
        return list(ingest.absent_comments())
    if not _proves_absence(ingest, kind):
        return []
    return list(ingest.ledgers[kind].absent_since(_first_sweep(ingest)))


def _proves_absence(ingest: Ingest, kind: Kind) -> bool:
    """Return whether the last sweeps saw the whole list: one of a file, two of a service, whose lists may change.

    A file of which a part could not be read proves nothing. The list of another user may leave out comments and files
    that exist; an entry that it leaves out is requested.
    """
    source = ingest.client.source
    if source is not None and source.losses:
        return False
    if ingest.other_user and kind in {Kind.COMMENTS, Kind.FILES}:
        return False
    needed = 1 if ingest.service.capabilities.snapshot else 2
    return len(ingest.sweeps) >= needed and all(results[kind].vouches for results in ingest.sweeps[-needed:])


def _first_sweep(ingest: Ingest) -> int:
    return len(ingest.sweeps) - (0 if ingest.service.capabilities.snapshot else 1)


def is_notice(ingest: Ingest) -> bool:
    """Return whether the same text is in many entries, so that it may be a notice of the service."""
    return is_mass(ingest.texts.alike, ingest.sweeps[-1][Kind.ENTRY_LIST].listed)


def refuse_mass_disappearance(ingest: Ingest) -> None:
    """Refuse the removal of a large part of a blog.

    Raises:
        MassDisappearance: over 30 % and more than 5 records of one kind are absent or have lost their text, or as many
            entries have the same text.
    """
    for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES):
        gone = len(absent(ingest, kind))
        total = len(ingest.ledgers[kind].base)
        if is_mass(gone, total):
            what = message(
                "{gone:,} of {total:,} {kind} are gone from the service at once",
                gone=gone,
                total=total,
                kind=KIND_NAMES[Kind.ENTRIES if kind is Kind.ENTRY_LIST else kind],
            )
            raise refusal(what)
    if is_notice(ingest):
        what = message(
            "{n:,} of {total:,} entries have the same text, which may be a notice of the service in their place",
            n=ingest.texts.alike,
            total=max(ingest.sweeps[-1][Kind.ENTRY_LIST].listed, ingest.texts.alike),
        )
        raise refusal(what)
    refuse_mass_damage(ingest)


async def find_removals(ingest: Ingest, concurrency: int) -> Removals:
    """Collect the removed records; an entry counts only if ``entry/get`` refuses it.

    An unlisted entry that the service answers is read and recorded in ``ingest.contradicted``. This includes entries
    that only comments name.
    """
    last = len(ingest.sweeps)
    source = ingest.client.source
    sweeps = {"absent_in_sweeps": [last - 1, last]} if source is None else dict(source.evidence)
    removals = Removals({Kind.ENTRIES: {}, Kind.ENTRY_LIST: {}})
    for kind in (Kind.COMMENTS, Kind.FILES):
        removals.evidence[kind] = {record_id: dict(sweeps) for record_id in absent(ingest, kind)}
    if ingest.service.capabilities.comments_in_entries:
        named = ingest.absent_comments().items()
        removals.evidence[Kind.COMMENTS] = {each: {"absent_in_entry": entry_id} for each, entry_id in named}
    gone = list(dict.fromkeys([*_unlisted(ingest), *absent(ingest, Kind.ENTRY_LIST)]))
    if ingest.full_text_in_lists or ingest.service.capabilities.snapshot:
        for entry_id in gone:
            _remove(removals, ingest, entry_id, sweeps)
        _leave_out_vanished(removals, ingest, _vanished(ingest, Kind.ENTRY_LIST))
        return removals
    refused = await _ask(ingest, [*gone, *_named(ingest, set(gone))], concurrency)
    if refused and not await _is_believable(ingest):
        for entry_id, error in refused.items():
            doubt = message("{error}, and the same for entries that are listed; run again", error=error)
            ingest.fail(entry_id, ServiceError(doubt))
        return removals
    for entry_id in gone:
        if entry_id in refused:
            said = {"status": refused[entry_id].status, "message": refused[entry_id].message}
            _remove(removals, ingest, entry_id, {**sweeps, "entry_get": said})
    _remove_comments(removals, ingest)
    for entry_id in refused.keys() - set(gone):
        ingest.note_missing(entry_id)
    _leave_out_vanished(removals, ingest, [each for each in refused if each not in ingest.ledgers[Kind.ENTRIES].base])
    return removals


def _vanished(ingest: Ingest, kind: Kind) -> list[str]:
    """Return the records that only an interrupted run or an earlier sweep saw, if the last sweeps were complete."""
    return list(ingest.ledgers[kind].vanished(_first_sweep(ingest))) if _proves_absence(ingest, kind) else []


def _leave_out_vanished(removals: Removals, ingest: Ingest, entry_ids: Collection[str]) -> None:
    """Leave out the records that are gone since the run read them and that no version has. Say how many these are.

    Otherwise a withdrawn entry would be public until the next run.
    """
    ledgers, left = ingest.ledgers, set(entry_ids)
    found = {Kind.ENTRIES: [each for each in left if ledgers[Kind.ENTRIES].is_new(each)]}
    for entry_id in left:
        ledgers[Kind.ENTRIES].drop(entry_id)
        ledgers[Kind.ENTRY_LIST].drop(entry_id)
    found[Kind.FILES] = _vanished(ingest, Kind.FILES)
    if ingest.service.capabilities.comments_in_entries:
        found[Kind.COMMENTS] = _comments_without(ingest, left | removals.of(Kind.ENTRIES).keys())
    else:
        found[Kind.COMMENTS] = _vanished(ingest, Kind.COMMENTS)
    for kind, ids in found.items():
        for record_id in ids:
            ledgers[kind].drop(record_id)
        if ids:
            text = message(
                "{kind}: gone since they were read, and left out: {n:,}",
                n=len(ids),
                kind=KIND_NAMES[kind],
            )
            ingest.emit(RecordFailed(kind, None, text))


def _comments_without(ingest: Ingest, entry_ids: Collection[str]) -> list[str]:
    """Return the new comments on these entries, and those that a later answer of their entry no longer carries."""
    if not (entry_ids or ingest.again):
        return []
    ingest.checkpoint.flush()
    records = PendingState(ingest.state, ingest.ledgers, {})
    new = _new(ingest.ledgers[Kind.COMMENTS])
    owners = ((each, ingest.service.post_id(records.load(Kind.COMMENTS, each) or {})) for each in new)
    return [each for each, of in owners if of in entry_ids or each not in ingest.again.get(of, (each,))]


def _unlisted(ingest: Ingest) -> Iterable[str]:
    """Return the archived entries that the last sweeps did not list; they must have seen the whole list."""
    if not _proves_absence(ingest, Kind.ENTRY_LIST):
        return ()
    archived = ingest.ledgers[Kind.ENTRIES].base.keys
    return ingest.ledgers[Kind.ENTRY_LIST].never_seen_since(_first_sweep(ingest), archived)


def _remove(removals: Removals, ingest: Ingest, entry_id: str, evidence: dict[str, Any]) -> None:
    """Record the removal of an entry and its list item if the archive has them."""
    for kind in (Kind.ENTRIES, Kind.ENTRY_LIST):
        if entry_id in ingest.ledgers[kind].base:
            removals.evidence[kind][entry_id] = dict(evidence)


def _remove_comments(removals: Removals, ingest: Ingest) -> None:
    """Record the removal of the comments that only the pages of removed entries carried."""
    if ingest.service.capabilities.comments_in_entries:
        gone = removals.of(Kind.ENTRIES)
        for comment_id, _ in ingest.ledgers[Kind.COMMENTS].base.keys.items() if gone else ():
            raw = ingest.state.load(Kind.COMMENTS, str(comment_id))
            if raw is not None and ingest.service.post_id(raw) in gone:
                removals.evidence[Kind.COMMENTS][str(comment_id)] = {"entry_gone": True}


def _named(ingest: Ingest, asked: set[str]) -> list[str]:
    """Return unlisted entries that the archive lacks and that comments, a sweep or an earlier run name."""
    last = len(ingest.sweeps)
    items, entries = ingest.ledgers[Kind.ENTRY_LIST], ingest.ledgers[Kind.ENTRIES]
    named = dict.fromkeys([*ingest.named_to_ask(), *items.vanished(last), *ingest.unread_before])
    wanted = [
        entry_id
        for entry_id in named
        if items.seen(entry_id) != last
        and entry_id not in asked
        and entry_id not in entries.base
        and len(entry_id) <= MAX_ID_CHARACTERS
    ]
    ingest.not_asked = max(0, len(wanted) - MAX_NAMED_REQUESTS)
    return wanted[:MAX_NAMED_REQUESTS]


async def _ask(ingest: Ingest, entry_ids: Collection[str], concurrency: int) -> dict[str, ApiError]:
    """Request unlisted entries; return those that the service does not have, with its answers."""
    refused: dict[str, ApiError] = {}

    async def ask(entry_id: str) -> None:
        error = await ingest.fetch_entry(entry_id, len(ingest.sweeps))
        if error is None:
            ingest.contradicted.append(entry_id)
            ingest.unread.pop(entry_id, None)
        elif isinstance(error, ApiError) and _proves_removal(ingest, entry_id, error):
            refused[entry_id] = error
        else:
            ingest.fail(entry_id, error)

    await for_each(entry_ids, ask, concurrency)
    return refused


def _proves_removal(ingest: Ingest, entry_id: str, error: ApiError) -> bool:
    """Return whether an answer proves that the service has an entry no longer, or no longer shows a public one."""
    if isinstance(error, NotShown):
        raw = ingest.state.load(Kind.ENTRIES, entry_id)
        return raw is not None and ingest.service.post(raw).audience is Audience.PUBLIC
    return error.status in _GONE or isinstance(error, Refused)


async def _is_believable(ingest: Ingest) -> bool:
    """Return whether ``entry/get`` works in this run; if no entry was read yet, request a listed one."""
    last = len(ingest.sweeps)
    entries = ingest.ledgers[Kind.ENTRIES]
    if any(entries.count_seen(sweep) for sweep in range(1, last + 1)):
        return True
    listed = next(ingest.ledgers[Kind.ENTRY_LIST].seen_in(last), None)
    return listed is None or await ingest.fetch_entry(listed, last) is None


def leave_out(ingest: Ingest) -> None:
    """Take new records with a forgotten one's sign, and comments on such entries, out of a run's ledgers."""
    service, ledgers, kept_out = ingest.service, ingest.ledgers, ingest.kept_out
    if not kept_out:
        return
    ingest.checkpoint.flush()
    records = PendingState(ingest.state, ledgers, {})
    for entry_id in {*_new(ledgers[Kind.ENTRIES]), *_new(ledgers[Kind.ENTRY_LIST])}:
        post = service.post(records.load(Kind.ENTRIES, entry_id), records.load(Kind.ENTRY_LIST, entry_id))
        if kept_out.resembles(post):
            kept_out.entries.add(entry_id)
            ingest.unread.pop(entry_id, None)
            ingest.textless.discard(entry_id)
            ledgers[Kind.ENTRIES].drop(entry_id)
            ledgers[Kind.ENTRY_LIST].drop(entry_id)
    for comment_id in _new(ledgers[Kind.COMMENTS]):
        comment = service.comment(records.load(Kind.COMMENTS, comment_id) or {})
        if comment.post_id in kept_out.entries or kept_out.resembles(comment):
            kept_out.comments.add(comment_id)
            ledgers[Kind.COMMENTS].drop(comment_id)
            ingest.sweeps[-1][Kind.COMMENTS].listed -= 1


def _new(ledger: Ledger) -> list[str]:
    """Return the ids that only this run has."""
    return [record_id for record_id, base, _ in ledger.changes() if base is None]
