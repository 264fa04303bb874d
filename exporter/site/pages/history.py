"""The blog as the archive saw it: every version, the life of every changed entry, and the archive itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.export.interface import ViewFile
from exporter.html.diff import Op, in_context, value_text, word_diff
from exporter.html.text import plain_text
from exporter.html.tree import too_large
from exporter.model.changes import ABSENT, Change, FieldChange, RecordChange, field_changes
from exporter.model.kinds import Kind
from exporter.site.catalogue import fingerprint, shown
from exporter.site.pages.entry import life_page
from exporter.site.pages.page import Site
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.archive.log import VersionRow
    from exporter.site.history import Completeness, HistorySource, Step

_MOST_CHANGES: Final = 300
_MOST_PROOFS: Final = 12
_CONTEXT: Final = 160
_SHOWN_KINDS: Final = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES)


class FieldDiff(NamedTuple):
    """A field that changed: its name, and its words with what was done to them."""

    name: str
    parts: list[tuple[Op, str]]


class ShownChange(NamedTuple):
    """A record that a version changed, as its page shows it."""

    kind: Kind
    title: str
    change: Change
    page: str | None
    fields: list[FieldDiff]


def past_files(site: Site) -> Iterator[ViewFile]:
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
        path = life_page(entry_id)
        post = site.catalogue.by_id.get(entry_id)
        parts: list[bytes | str] = [entry_id, repr(versions), post.listed if post else b""]
        yield site.file(path, "life.html", parts, partial(_life, site, history, entry_id))


def version_page(number: int) -> str:
    """Return the path of a version's page."""
    return f"history/version-{number}.html"


def _overview(site: Site, history: HistorySource, facts: bytes) -> ViewFile:
    rows = [(row, version_page(row.version), row.counts()) for row in reversed(history.rows())]
    gone = [post for post in reversed(site.catalogue.posts) if post.gone_in is not None]
    lives = [
        (site.catalogue.by_id[entry_id], life_page(entry_id), len(versions))
        for entry_id, versions in history.changed_entries().items()
        if entry_id in site.catalogue.by_id
    ]
    lives.sort(key=lambda each: site.catalogue.places[each[0].id], reverse=True)
    parts = [facts, *(post.listed for post in gone), *(post.listed + bytes(str(n), "ascii") for post, _, n in lives)]
    return site.file("history.html", "history.html", parts, lambda: {
        "title": site.pages.words["history"],
        "current": "history",
        "rows": rows,
        "shown_kinds": _SHOWN_KINDS,
        "gone": gone,
        "lives": lives,
    })  # fmt: skip


def _version(site: Site, history: HistorySource, row: VersionRow, before: VersionRow | None, newer: bool) -> ViewFile:
    def context() -> dict[str, Any]:
        found, damaged = history.changes(row.version)
        changes = [change for change in found if change.kind in _SHOWN_KINDS]
        return {
            "title": site.pages.words["version"] % row.version,
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


def _shown(site: Site, change: RecordChange) -> ShownChange:
    service = site.catalogue.service
    entry_id = change.record_id if change.kind is Kind.ENTRIES else _entry_of(change, service.post_id_field)
    post = site.catalogue.by_id.get(entry_id)
    texts = service.bodies.get(change.kind, ())
    # Of a comment that came or went its text is shown; entries have a page of their own.
    alone = texts if change.kind is Kind.COMMENTS else ()
    fields = [_diff(each, texts) for each in change.fields if change.change is Change.CHANGED or each.name in alone]
    return ShownChange(
        change.kind, shown(change.title), change.change, post.page if post else None, [each for each in fields if each]
    )


def _entry_of(change: RecordChange, name: str) -> str:
    for field in change.fields:
        if field.name == name:
            return value_text(field.before if field.after is ABSENT else field.after)
    return ""


def _diff(field: FieldChange, texts: Collection[str]) -> FieldDiff | None:
    """Compare what a reader saw; where only the markup changed, or where it is too large to be shown, the markup."""
    before, after = value_text(field.before), value_text(field.after)
    if field.name in texts and not (too_large(before) or too_large(after)):
        seen = plain_text(before), plain_text(after)
        before, after = seen if seen[0] != seen[1] else (before, after)
    parts = [(op, visible(text)[0]) for op, text in in_context(word_diff(before, after), _CONTEXT)]
    return FieldDiff(shown(field.name), parts) if parts else None


def _life(site: Site, history: HistorySource, entry_id: str) -> dict[str, Any]:
    steps = history.steps(entry_id)
    last: Mapping[str, Any] = next((step.record for step in reversed(steps) if step.record is not None), {})
    title = shown(site.catalogue.service.title(Kind.ENTRIES, last) or entry_id)
    post = site.catalogue.by_id.get(entry_id)
    shown_steps: list[tuple[Step, Change, list[FieldDiff]]] = []
    if steps:
        first = Change.NEW if steps[0].record is not None or steps[0].damaged else Change.GONE
        shown_steps.append((steps[0], first, []))
    shown_steps += [
        _step(before, after, site.catalogue.service.bodies.get(Kind.ENTRIES, ())) for before, after in pairwise(steps)
    ]
    return {
        "title": title,
        "current": "history",
        "post": post,
        "steps": shown_steps,
    }


def _step(before: Step, after: Step, texts: Collection[str]) -> tuple[Step, Change, list[FieldDiff]]:
    if before.damaged or after.damaged:
        return after, Change.CHANGED, []
    if after.record is None:
        return after, Change.GONE, []
    if before.record is None:
        return after, Change.NEW, []
    found = [_diff(field, texts) for field in field_changes(before.record, after.record)]
    return after, Change.CHANGED, [each for each in found if each]


def _about(
    site: Site, history: HistorySource | None = None, completeness: Completeness | None = None
) -> dict[str, Any]:
    rows = [] if history is None else history.rows()
    versions = [] if history is None else [_proof(history, row) for row in reversed(rows[-_MOST_PROOFS:])]
    return {
        "title": site.pages.words["about"],
        "current": "about",
        "versions": versions,
        "older": len(rows) - len(versions),
        "completeness": completeness,
        "kinds": list(Kind),
    }


def _proof(history: HistorySource, row: VersionRow) -> dict[str, Any]:
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
