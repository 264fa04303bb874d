"""The history pages: every version, every entry that changed, and the page about the archive itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.export.interface import ViewFile
from exporter.model.changes import Change, RecordChange, field_changes
from exporter.model.kinds import Kind
from exporter.model.records import Raw
from exporter.site.catalogue import fingerprint, one_line
from exporter.site.pages.diffs import FieldDiff, field_diffs
from exporter.site.pages.past import past_files
from exporter.site.pages.site import (
    MOST_CHANGES,
    Site,
    entry_anchor,
    entry_history_page,
    life_link,
    state_page,
    told_by,
    version_page,
)
from exporter.site.pages.states import state_files
from exporter.site.parts import KIND_NAMES

if TYPE_CHECKING:
    from exporter.archive.log import VersionRow
    from exporter.site.history import ArchiveHistory, Completeness, EntryState

_MOST_PROOFS: Final = 12
_MOST_PROBLEMS: Final = 500
_SHOWN_KINDS: Final = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES)


class _ShownChange(NamedTuple):
    """A record that a version changed, as its page shows it; of an entry also its life, and the state before."""

    kind: Kind
    anchor: str
    title: str
    change: Change
    page: str | None
    fields: list[FieldDiff]
    life: str | None
    before: str | None


class _Step(NamedTuple):
    """A step in the life of an entry, and the page that shows it as it was from then on."""

    version: int
    date: str
    change: Change
    fields: list[FieldDiff]
    damaged: bool
    page: str | None


def history_files(site: Site) -> Iterator[ViewFile]:
    """Yield the history pages and the page about the archive; without a history, only the latter."""
    history = site.catalogue.history
    if history is None:
        yield site.file("about.html", "about.html", ["none"], lambda: _about(site))
        return
    rows = history.rows()
    facts = fingerprint(repr([tuple(row) for row in rows]))
    found = history.completeness()
    yield site.file("about.html", "about.html", [facts, repr(found)], lambda: _about(site, history, found))
    yield _overview(site, history, facts)
    for place, row in enumerate(rows):
        yield _version(site, history, row, rows[place - 1] if place else None, place + 1 < len(rows))
    for entry_id, versions in history.changed_entries().items():
        if told_by(history, entry_id) is not None:
            continue
        post = site.catalogue.by_id.get(entry_id)
        parts: list[bytes | str] = [entry_id, repr(versions), post.listed if post else b""]
        context = partial(_entry_history, site, history, entry_id)
        yield site.file(entry_history_page(entry_id), "entry_history.html", parts, context)
    yield from state_files(site, history)
    yield from past_files(site, history)


def _overview(site: Site, history: ArchiveHistory, facts: bytes) -> ViewFile:
    rows = [(row, version_page(row.version), row.counts()) for row in reversed(history.rows())]
    gone = [post for post in reversed(site.catalogue.posts) if post.gone_in is not None]
    changed = [
        (site.catalogue.by_id[entry_id], life_link(history, entry_id), len(versions))
        for entry_id, versions in history.changed_entries().items()
        if entry_id in site.catalogue.by_id
    ]
    changed.sort(key=lambda each: site.catalogue.places[each[0].id], reverse=True)
    parts = [facts, *(post.listed for post in gone), *(post.listed + bytes(str(n), "ascii") for post, _, n in changed)]
    return site.file("history.html", "history.html", parts, lambda: {
        "title": site.t("History"),
        "current": "history",
        "rows": rows,
        "shown_kinds": _SHOWN_KINDS,
        "gone": gone,
        "changed": changed,
    })  # fmt: skip


def _version(site: Site, history: ArchiveHistory, row: VersionRow, before: VersionRow | None, newer: bool) -> ViewFile:
    def context() -> dict[str, Any]:
        found, damaged = history.changes(row.version)
        changes = [change for change in found if change.kind in _SHOWN_KINDS]
        return {
            "title": site.t("Version {n}", n=row.version),
            "current": "history",
            "row": row,
            "counts": row.counts(),
            "first": before is None,
            "before": version_page(before.version) if before else None,
            "after": version_page(row.version + 1) if newer else None,
            "changes": [_shown(site, history, row.version, change) for change in changes[:MOST_CHANGES]],
            "damaged": damaged,
            "more": max(0, len(changes) - MOST_CHANGES),
            "proof_of": _proof(site, history, row),
        }

    states = repr(history.versions_before(row.version))
    return site.file(
        version_page(row.version), "version.html", [repr(tuple(row)), str(before), str(newer), states], context
    )


def _shown(site: Site, history: ArchiveHistory, version: int, change: RecordChange) -> _ShownChange:
    service = site.catalogue.service
    is_entry = change.kind is Kind.ENTRIES
    at = version - 1 if change.change is Change.GONE else version
    said = site.catalogue.record_at(Kind.COMMENTS, change.record_id, at) if change.kind is Kind.COMMENTS else None
    post_id = change.record_id if is_entry else service.post_id(said or {})
    # A page of the past is not made again when the entry of an old comment comes later.
    post = site.catalogue.by_id.get(post_id) if history.known_by(post_id, version) else None
    before = history.version_before(change.record_id, version) if is_entry and post else None
    gone = change.change is Change.GONE
    has_life = before is not None and (gone or told_by(history, change.record_id, version) is None)
    states, fields = None, list(change.fields)
    if change.change is not Change.CHANGED:
        # Of a comment that came or went its text is shown; entries have a page of their own.
        alone = service.bodies.get(change.kind, ()) if change.kind is Kind.COMMENTS else ()
        fields = [each for each in fields if each.name in alone]
    elif before is not None:
        was, becomes = (history.state(change.record_id, each).record for each in (before, version))
        states = None if was is None or becomes is None else (was, becomes)
    return _ShownChange(
        change.kind,
        entry_anchor(change.record_id) if is_entry else "",
        one_line(change.title),
        change.change,
        post.page if post else None,
        field_diffs(site, change.kind, fields, states),
        f"{entry_history_page(change.record_id)}#v{version}" if has_life else None,
        # What was there before a removal is what the entry's own page shows.
        None if before is None or gone else state_page(change.record_id, before),
    )


def _entry_history(site: Site, history: ArchiveHistory, entry_id: str) -> dict[str, Any]:
    service = site.catalogue.service
    post = site.catalogue.by_id.get(entry_id)
    pages = {state.version: state_page(entry_id, state.version) for state in history.earlier(entry_id)}
    steps: list[_Step] = []
    last: Raw = {}
    for before, after in pairwise([None, *history.states(entry_id)]):
        if after is None:
            continue
        last = after.record or last
        change, fields = _compared(site, before, after)
        page = pages.get(after.version, post.page if post else None) if change is not Change.GONE and post else None
        steps.append(_Step(after.version, after.date, change, fields, after.damaged, page))
    return {
        "title": one_line(service.title(Kind.ENTRIES, last) or entry_id),
        "current": "past",
        "post": post,
        "steps": steps,
    }


def _compared(site: Site, before: EntryState | None, after: EntryState) -> tuple[Change, list[FieldDiff]]:
    """Return what happened to an entry between two states, and what changed where both can be read."""
    if before is None and after.damaged:
        return Change.NEW, []
    if after.damaged or (before is not None and before.damaged):
        return Change.CHANGED, []
    if after.record is None:
        return Change.GONE, []
    if before is None or before.record is None:
        return Change.NEW, []
    fields = field_changes(before.record, after.record)
    return Change.CHANGED, field_diffs(site, Kind.ENTRIES, fields, (before.record, after.record))


def _about(
    site: Site, history: ArchiveHistory | None = None, completeness: Completeness | None = None
) -> dict[str, Any]:
    rows = [] if history is None else history.rows()
    versions = [] if history is None else [_proof(site, history, row) for row in reversed(rows[-_MOST_PROOFS:])]
    return {
        "title": site.t("About this copy"),
        "current": "about",
        "versions": versions,
        "older": len(rows) - len(versions),
        "completeness": completeness,
        "problems": [] if completeness is None else _in_words(site, completeness.problems[:_MOST_PROBLEMS]),
    }


def _proof(site: Site, history: ArchiveHistory, row: VersionRow) -> dict[str, Any]:
    """Return what a version's manifest says of it. Read for few versions: a night must not pay for all before it."""
    manifest, digest = history.manifest(row.version)
    return {
        "row": row,
        "tool": manifest.tool,
        "base_url": manifest.base_url,
        "sha256": digest,
        "problem_count": len(manifest.problems),
        "problems": _in_words(
            site, [(each.kind, each.id or "", each.reason) for each in manifest.problems[:_MOST_PROBLEMS]]
        ),
        "counts": row.counts(),
    }


def _in_words(site: Site, problems: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return problems as lines in the page's language."""
    names = {str(kind): site.say(name) for kind, name in KIND_NAMES.items()}
    return [f"{names.get(kind, kind)} {record_id}: {site.say(reason)}" for kind, record_id, reason in problems]
