"""The history pages: every version, every entry that changed, and the page about the archive itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.export.interface import ViewFile
from exporter.model.changes import Change, RecordChange, field_changes
from exporter.model.kinds import Kind, sort_key
from exporter.model.labels import is_labelled, joined_path
from exporter.model.records import Post, Raw
from exporter.site.catalogue import category_paths, fingerprint, one_line
from exporter.site.changes import Bodies, FieldDiff
from exporter.site.pages.past import past_files
from exporter.site.pages.reminders import CALENDAR
from exporter.site.pages.site import (
    MAX_CHANGES,
    Site,
    entry_anchor,
    entry_history_page,
    life_link,
    state_page,
    version_page,
    whole_history_version,
)
from exporter.site.templating import KIND_NAMES

if TYPE_CHECKING:
    from exporter.archive.history import VersionRow
    from exporter.site.history import ArchiveHistory, Completeness, EarlierState, EntryState

_MAX_PROOFS: Final = 12
_MAX_PROBLEMS: Final = 500
_SHOWN_KINDS: Final = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES)


class _ShownChange(NamedTuple):
    """A record that a version changed; for an entry also its history page and the previous state."""

    kind: Kind
    anchor: str
    title: str
    change: Change
    page: str | None
    fields: list[FieldDiff]
    life: str | None
    before: str | None


class _Step(NamedTuple):
    """A step in an entry's history, and the page with its state from then on."""

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
        yield site.file(
            "about.html",
            "about.html",
            ["none", str(site.has_calendar), repr(_blogs(site)), *site.entries_said],
            lambda: _about(site),
        )
        return
    rows = history.rows()
    facts = fingerprint(repr([tuple(row) for row in rows]))
    found = history.completeness()
    yield site.file(
        "about.html",
        "about.html",
        [facts, repr(found), str(site.has_calendar), *site.entries_said],
        lambda: _about(site, history, found),
    )
    yield _overview(site, history, facts)
    for place, row in enumerate(rows):
        yield _version(site, history, row, rows[place - 1] if place else None, place + 1 < len(rows))
    for entry_id, versions in history.changed_entries().items():
        if whole_history_version(history, entry_id) is not None:
            continue
        post = site.catalogue.by_id.get(entry_id)
        shown = site.pictures.identity(entry_id)
        parts: list[bytes | str] = [entry_id, repr(versions), post.listed if post else b"", shown]
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
    changed.sort(key=lambda each: site.catalogue.by_id.place(each[0].id), reverse=True)
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
            "title": site.t("Version {n}", n=str(row.version)),
            "current": "history",
            "row": row,
            "counts": row.counts(),
            "first": before is None,
            "before": version_page(before.version) if before else None,
            "after": version_page(row.version + 1) if newer else None,
            "changes": [_shown(site, history, row.version, change) for change in changes[:MAX_CHANGES]],
            "damaged": damaged,
            "more": max(0, len(changes) - MAX_CHANGES),
            "proof_of": _proof(site, history, row),
        }

    states = repr(history.versions_before(row.version))
    changed = islice(history.changed_in(Kind.ENTRIES, row.version), MAX_CHANGES)
    pictures = fingerprint(*map(site.pictures.identity, changed))
    return site.file(
        version_page(row.version),
        "version.html",
        [repr(tuple(row)), str(before), str(newer), states, pictures],
        context,
    )


def _shown(site: Site, history: ArchiveHistory, version: int, change: RecordChange) -> _ShownChange:
    service = site.catalogue.service
    is_entry = change.kind is Kind.ENTRIES
    at = version - 1 if change.change is Change.GONE else version
    said = site.catalogue.record_at(Kind.COMMENTS, change.record_id, at) if change.kind is Kind.COMMENTS else None
    post_id = change.record_id if is_entry else service.post_id(said or {})
    # Pages of earlier states do not change when the entry of an old comment appears later.
    post = site.catalogue.by_id.get(post_id) if history.existed_by(post_id, version) else None
    before = history.version_before(change.record_id, version) if is_entry and post else None
    gone = change.change is Change.GONE
    has_life = before is not None and (gone or whole_history_version(history, change.record_id, version) is None)
    states, fields = None, list(change.fields)
    if change.change is not Change.CHANGED:
        # A new or removed comment is shown with its text; entries have their own pages.
        alone = service.bodies.get(change.kind, ()) if change.kind is Kind.COMMENTS else ()
        fields = [each for each in fields if each.name in alone]
    elif before is not None:
        was, becomes = (history.state(change.record_id, each).record for each in (before, version))
        states = None if was is None or becomes is None else (was, becomes)
    bodies = _bodies(site, history, version - 1, version)
    neutral = site.changes.new_text(change, bodies)
    return _ShownChange(
        change.kind,
        entry_anchor(change.record_id) if is_entry else "",
        one_line(change.title),
        change.change,
        post.page if post else None,
        site.changes.fields(change.kind, fields, bodies, states) if neutral is None else neutral,
        f"{entry_history_page(change.record_id)}#v{version}" if has_life else None,
        # The entry's own page shows the state before a removal.
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
        bodies = _bodies(site, history, after.version - 1, after.version)
        change, fields = _compared(site, before, after, bodies)
        page = pages.get(after.version, post.page if post else None) if change is not Change.GONE and post else None
        steps.append(_Step(after.version, after.date, change, fields, after.damaged, page))
    return {
        "title": one_line(service.title(Kind.ENTRIES, last) or entry_id),
        "current": "past",
        "post": post,
        "steps": steps,
    }


def _bodies(site: Site, history: ArchiveHistory, before: int, after: int) -> Bodies:
    """Return the writers for bodies in two versions, ``before`` and ``after``."""
    return Bodies(site.bodies_at(history, before), site.bodies_at(history, after), "../")


def _compared(
    site: Site, before: EntryState | None, after: EntryState, bodies: Bodies
) -> tuple[Change, list[FieldDiff]]:
    """Compare two states of an entry. Return the kind of change, and the changed fields if both are readable."""
    if before is None and after.damaged:
        return Change.NEW, []
    if after.damaged or (before is not None and before.damaged):
        return Change.CHANGED, []
    if after.record is None:
        return Change.GONE, []
    if before is None or before.record is None:
        return Change.NEW, []
    fields = field_changes(before.record, after.record)
    return Change.CHANGED, site.changes.fields(Kind.ENTRIES, fields, bodies, (before.record, after.record))


def _about(
    site: Site, history: ArchiveHistory | None = None, completeness: Completeness | None = None
) -> dict[str, Any]:
    rows = [] if history is None else history.rows()
    versions = [] if history is None else [_proof(site, history, row) for row in reversed(rows[-_MAX_PROOFS:])]
    return {
        "title": site.t("About this copy"),
        "current": "about",
        "calendar": CALENDAR if site.has_calendar else "",
        "said": site.entries_said,
        "blogs": _blogs(site),
        "versions": versions,
        "older": len(rows) - len(versions),
        "completeness": completeness,
        "problems": [] if completeness is None else _in_words(site, completeness.problems[:_MAX_PROBLEMS]),
    }


def _blogs(site: Site) -> list[tuple[str, str, int, str]]:
    """Return title, ID, version of the archive and its time for each blog of a library."""
    blogs = () if site.library is None else site.library.blogs
    return [
        (one_line(blog.title), one_line(blog.blog_id), blog.version, site.dates.written(blog.read_at)) for blog in blogs
    ]


def _proof(site: Site, history: ArchiveHistory, row: VersionRow) -> dict[str, Any]:
    """Return the facts in a version's manifest.

    Call it for few versions only, so that a nightly build does not read all earlier manifests.
    """
    manifest, digest = history.manifest(row.version)
    return {
        "row": row,
        "tool": manifest.tool,
        "base_url": manifest.base_url,
        "sha256": digest,
        "problem_count": len(manifest.problems),
        "problems": _in_words(
            site, [(each.kind, each.id or "", each.reason) for each in manifest.problems[:_MAX_PROBLEMS]]
        ),
        "counts": row.counts(),
    }


def _in_words(site: Site, problems: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return problems as lines in the page's language."""
    names = {str(kind): site.say(name) for kind, name in KIND_NAMES.items()}
    return [f"{names.get(kind, kind)} {record_id}: {site.say(reason)}" for kind, record_id, reason in problems]


_MAX_COMMENTS: Final = 100
"""Newest comments shown for an earlier state: an entry that changes often would repeat them many times."""


def state_files(site: Site, history: ArchiveHistory) -> Iterator[ViewFile]:
    """Yield the pages of all earlier states, and the frame that they and lives share."""
    yield site.past_frame()
    for entry_id in history.changed_entries():
        if entry_id not in site.catalogue.by_id:
            continue
        for state in history.earlier(entry_id):
            path = state_page(entry_id, state.version)
            parts = [
                repr(state),
                life_link(history, entry_id),
                site.pictures.identity(entry_id),
                history.date(state.until),
                repr(site.owners),
            ]
            yield site.file(path, "state.html", parts, partial(_state, site, history, entry_id, state))


def _state(site: Site, history: ArchiveHistory, entry_id: str, state: EarlierState) -> dict[str, Any]:
    service = site.catalogue.service
    path = state_page(entry_id, state.version)
    found, following = (history.state(entry_id, each) for each in (state.version, state.until))
    item = site.catalogue.record_at(Kind.ENTRY_LIST, entry_id, state.until - 1)
    entry = None if found.record is None else service.post(found.record, item)
    alone = whole_history_version(history, entry_id) is not None
    comment_ids = _comment_ids(site, history, entry_id, state.until - 1)
    raws = (site.catalogue.record_at(Kind.COMMENTS, each, state.until - 1) for each in comment_ids[-_MAX_COMMENTS:])
    comments = [site.shown(service.comment(raw), path) for raw in raws if raw is not None]
    return {
        "title": one_line(service.title(Kind.ENTRIES, following.record or {}) if entry is None else entry.title),
        "current": "past",
        "entry": entry,
        "categories": _categories(entry),
        "tags": [] if entry is None else [one_line(tag) for tag in entry.tags],
        "badges": "" if entry is None else site.badges_then(entry),
        "more_title": "" if entry is None else one_line(entry.more_title),
        "html": partial(site.bodies_at(history, state.until - 1).html, root="../"),
        "state": state,
        "saved": site.dates.written(history.date(state.version)),
        "ended": site.dates.written(history.date(state.until)),
        "page": site.catalogue.by_id[entry_id].page,
        "life": life_link(history, entry_id) if alone else f"{entry_history_page(entry_id)}#v{state.version}",
        "life_name": site.t("What changed") if alone else site.t("How this entry changed"),
        "before": state_page(entry_id, state.before) if state.before else None,
        "after": state_page(entry_id, state.after) if state.after else None,
        "comments": comments,
        "more_comments": max(0, len(comment_ids) - _MAX_COMMENTS),
    }


def _categories(entry: Post | None) -> list[str]:
    """Return the names of an entry's categories."""
    if entry is None:
        return []
    if is_labelled(entry):
        return list(map(joined_path, category_paths(entry)))
    return list(filter(None, [one_line(entry.category or "")]))


def _comment_ids(site: Site, history: ArchiveHistory, entry_id: str, version: int) -> list[str]:
    """Return the ids of the comments that an entry had in a version.

    Only versions up to that one count, because later versions do not change the page. For a changed comment, its own
    state names the entry.
    """
    catalogue = site.catalogue
    former = history.former_comments.get(entry_id, ())
    found = [each for each in former if _belongs(site, each, entry_id, version)]
    others = (each for each in catalogue.comment_table.of(entry_id) if each not in former)
    found += [each for each in others if history.existed(Kind.COMMENTS, each, version)]
    return sorted(found, key=sort_key)


def _belongs(site: Site, comment_id: str, entry_id: str, version: int) -> bool:
    raw = site.catalogue.record_at(Kind.COMMENTS, comment_id, version)
    return raw is not None and site.catalogue.service.post_id(raw) == entry_id
