"""The history pages: every version, every entry that changed, and the page about the archive itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.export.interface import ViewFile
from exporter.html.diff import Op, in_context, value_text, word_diff
from exporter.html.limits import too_large
from exporter.html.text import plain_text
from exporter.model.changes import ABSENT, Change, FieldChange, RecordChange, field_changes
from exporter.model.kinds import Kind
from exporter.model.records import Raw
from exporter.site.catalogue import fingerprint, one_line
from exporter.site.pages.entry import entry_history_page
from exporter.site.pages.site import Site
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.archive.log import VersionRow
    from exporter.site.history import ArchiveHistory, Completeness, EntryState

_MOST_CHANGES: Final = 300
_MOST_PROOFS: Final = 12
_CONTEXT: Final = 160
_SHOWN_KINDS: Final = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES)


class _FieldDiff(NamedTuple):
    """A field that changed: its name, and its words with what was done to them."""

    name: str
    parts: list[tuple[Op, str]]


class _ShownChange(NamedTuple):
    """A record that a version changed, as its page shows it."""

    kind: Kind
    title: str
    change: Change
    page: str | None
    fields: list[_FieldDiff]


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
        post = site.catalogue.by_id.get(entry_id)
        parts: list[bytes | str] = [entry_id, repr(versions), post.listed if post else b""]
        context = partial(_entry_history, site, history, entry_id)
        yield site.file(entry_history_page(entry_id), "entry_history.html", parts, context)


def version_page(number: int) -> str:
    """Return the path of a version's page."""
    return f"history/version-{number}.html"


def _overview(site: Site, history: ArchiveHistory, facts: bytes) -> ViewFile:
    rows = [(row, version_page(row.version), row.counts()) for row in reversed(history.rows())]
    gone = [post for post in reversed(site.catalogue.posts) if post.gone_in is not None]
    changed = [
        (site.catalogue.by_id[entry_id], entry_history_page(entry_id), len(versions))
        for entry_id, versions in history.changed_entries().items()
        if entry_id in site.catalogue.by_id
    ]
    changed.sort(key=lambda each: site.catalogue.places[each[0].id], reverse=True)
    parts = [facts, *(post.listed for post in gone), *(post.listed + bytes(str(n), "ascii") for post, _, n in changed)]
    return site.file("history.html", "history.html", parts, lambda: {
        "title": site.words["history"],
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
            "title": site.words["version"] % row.version,
            "current": "history",
            "row": row,
            "counts": row.counts(),
            "first": before is None,
            "before": version_page(before.version) if before else None,
            "after": version_page(row.version + 1) if newer else None,
            "changes": [_shown(site, change) for change in changes[:_MOST_CHANGES]],
            "damaged": damaged,
            "more": max(0, len(changes) - _MOST_CHANGES),
            "proof_of": _proof(history, row),
            "kinds": list(Kind),
        }

    return site.file(version_page(row.version), "version.html", [repr(tuple(row)), str(before), str(newer)], context)


def _shown(site: Site, change: RecordChange) -> _ShownChange:
    service = site.catalogue.service
    values = {field.name: field.before if field.after is ABSENT else field.after for field in change.fields}
    post = site.catalogue.by_id.get(change.record_id if change.kind is Kind.ENTRIES else service.post_id(values))
    texts = service.bodies.get(change.kind, ())
    # Of a comment that came or went its text is shown; entries have a page of their own.
    alone = texts if change.kind is Kind.COMMENTS else ()
    found = (_diff(each, texts) for each in change.fields if change.change is Change.CHANGED or each.name in alone)
    fields = [each for each in found if each]
    return _ShownChange(change.kind, one_line(change.title), change.change, post.page if post else None, fields)


def _diff(field: FieldChange, texts: Collection[str]) -> _FieldDiff | None:
    """Compare what a reader saw; where only the markup changed, or where it is too large to be shown, the markup."""
    before, after = value_text(field.before), value_text(field.after)
    if field.name in texts and not (too_large(before) or too_large(after)):
        seen = plain_text(before), plain_text(after)
        before, after = seen if seen[0] != seen[1] else (before, after)
    parts = [(op, visible(text)[0]) for op, text in in_context(word_diff(before, after), _CONTEXT)]
    return _FieldDiff(one_line(field.name), parts) if parts else None


def _entry_history(site: Site, history: ArchiveHistory, entry_id: str) -> dict[str, Any]:
    service = site.catalogue.service
    states = history.states(entry_id)
    last: Raw = next((state.record for state in reversed(states) if state.record is not None), {})
    texts = service.bodies.get(Kind.ENTRIES, ())
    return {
        "title": one_line(service.title(Kind.ENTRIES, last) or entry_id),
        "current": "history",
        "post": site.catalogue.by_id.get(entry_id),
        "states": [(after, *_compared(before, after, texts)) for before, after in pairwise([None, *states]) if after],
    }


def _compared(before: EntryState | None, after: EntryState, texts: Collection[str]) -> tuple[Change, list[_FieldDiff]]:
    """Return what happened to an entry between two states, and what changed where both can be read."""
    if before is None and after.damaged:
        return Change.NEW, []
    if after.damaged or (before is not None and before.damaged):
        return Change.CHANGED, []
    if after.record is None:
        return Change.GONE, []
    if before is None or before.record is None:
        return Change.NEW, []
    found = [_diff(field, texts) for field in field_changes(before.record, after.record)]
    return Change.CHANGED, [each for each in found if each]


def _about(
    site: Site, history: ArchiveHistory | None = None, completeness: Completeness | None = None
) -> dict[str, Any]:
    rows = [] if history is None else history.rows()
    versions = [] if history is None else [_proof(history, row) for row in reversed(rows[-_MOST_PROOFS:])]
    return {
        "title": site.words["about"],
        "current": "about",
        "versions": versions,
        "older": len(rows) - len(versions),
        "completeness": completeness,
        "kinds": list(Kind),
    }


def _proof(history: ArchiveHistory, row: VersionRow) -> dict[str, Any]:
    """Return what a version's manifest says of it. Read for few versions: a night must not pay for all before it."""
    manifest, digest = history.manifest(row.version)
    return {
        "row": row,
        "tool": manifest.tool,
        "base_url": manifest.base_url,
        "sha256": digest,
        "problems": manifest.problems,
        "counts": row.counts(),
    }
