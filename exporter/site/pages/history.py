"""The history pages: every version, every entry that changed, and the page about the archive itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.clock import timestamp
from exporter.export.interface import ViewFile
from exporter.export.record_values import value_reader
from exporter.html.diff import ATTRIBUTE_NAMES, in_context, value_text, word_diff
from exporter.html.record_words import RecordWords
from exporter.html.text import plain_text
from exporter.html.tree import too_large
from exporter.model.changes import ABSENT, WHOLE_RECORD, Change, FieldChange, RecordChange, field_changes
from exporter.model.kinds import Kind, sort_key
from exporter.model.labels import is_labelled, joined_path, path_name
from exporter.model.records import Category, Post, Raw
from exporter.site.catalogue import category_paths, fingerprint, one_line
from exporter.site.pages.past import past_files
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
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.archive.history import VersionRow
    from exporter.html.diff import Op
    from exporter.site.history import ArchiveHistory, Completeness, EarlierState, EntryState

_CONTEXT_CHARACTERS: Final = 60
"""Unchanged characters around a change: a sentence or two, a line and a half."""
_SHORT_CHARACTERS: Final = 80
"""Values up to this length are shown whole, before and after."""


class FieldDiff(NamedTuple):
    """A field that changed.

    Attributes:
        name: its name for people.
        parts: the pieces of its text with their operations; empty if it is shown whole.
        before: its old value, if it is shown whole.
        after: its new value.
    """

    name: str
    parts: Sequence[tuple[Op, str]] = ()
    before: str = ""
    after: str = ""


def field_diffs(
    site: Site,
    kind: Kind,
    fields: Sequence[FieldChange],
    states: tuple[Raw, Raw] | None = None,
) -> list[FieldDiff]:
    """Return the changes in the order of the record's fields.

    Args:
        site: the site.
        kind: of the record.
        fields: that changed.
        states: the record before and after, if known. Without them, for a value that is spread over several fields,
            only the changed fields are known.
    """
    before, after = states or (
        {field.name: field.before for field in fields if field.before is not ABSENT},
        {field.name: field.after for field in fields if field.after is not ABSENT},
    )
    service = site.catalogue.service
    attributes, texts = service.attributes.get(kind, {}), service.bodies.get(kind, ())
    neutral = None if states is None else _neutral_diffs(site, kind, fields, states)
    if neutral is not None:
        return neutral
    old, new = (_values(site, kind, raw) for raw in (before, after))
    found: list[FieldDiff] = []
    seen = set()
    for field in fields:
        attribute = attributes.get(field.name, "")
        name = site.say(ATTRIBUTE_NAMES.get(attribute, ""))
        if field.name in texts:
            found += _text(name or field.name, value_text(field.before), value_text(field.after))
        elif attribute in seen:
            continue
        elif old.get(attribute, "") != new.get(attribute, ""):
            seen.add(attribute)
            found += _plain(name, old.get(attribute, ""), new.get(attribute, ""))
        else:
            # If the values read the same or are unknown, the raw values are shown.
            name = site.t("The record as sent") if field.name == WHOLE_RECORD else field.name
            found += _plain(name, value_text(field.before), value_text(field.after))
    return found


_TEXTS: Final = frozenset({"body", "more", "excerpt", "text"})


def _neutral_diffs(
    site: Site, kind: Kind, fields: Sequence[FieldChange], states: tuple[Raw | None, Raw | None]
) -> list[FieldDiff] | None:
    """Return the changes of a record by its neutral form; ``None`` if its raw fields are to be compared."""
    words = RecordWords(site.say, site.dates.minute)
    read = value_reader(site.catalogue.service, words, kind, *states)
    if read is None:
        return None
    found: list[FieldDiff] = []
    for field in words.changed_fields(read, *states, fields):
        name = site.t("The record as sent") if field.name == WHOLE_RECORD else words.name(field.name)
        write = _text if field.name in _TEXTS else _plain
        found += write(name, value_text(field.before), value_text(field.after))
    return found


def _values(site: Site, kind: Kind, raw: Raw) -> dict[str, str]:
    """Return the attributes of a record as text; empty ones are omitted."""
    service = site.catalogue.service
    readers: Mapping[Kind, Any] = {
        Kind.ENTRIES: service.post,
        Kind.COMMENTS: service.comment,
        Kind.FILES: service.upload,
    }
    if kind not in readers:
        return {}
    record = readers[kind](raw)
    names = set(service.attributes.get(kind, {}).values())
    found = {name: _value_words(site, name, getattr(record, name)) for name in names if name in ATTRIBUTE_NAMES}
    return {name: text for name, text in found.items() if text}


def _value_words(site: Site, name: str, value: Any) -> str:
    if isinstance(value, bool):
        return site.t("yes") if value else site.t("no")
    if isinstance(value, datetime):
        return f"{site.dates.minute(value)}{f':{value:%S}' if value.second else ''}"
    if name == "modified" and isinstance(value, int):
        return site.dates.written(timestamp(datetime.fromtimestamp(value, UTC))) if 0 <= value < 2**37 else str(value)
    if isinstance(value, tuple):
        return ", ".join(path_name(each) if isinstance(each, Category) else str(each) for each in value)
    return f"{value:,}" if isinstance(value, int) else str(value or "")


def _text(name: str, before: str, after: str) -> list[FieldDiff]:
    """Compare the visible texts; if only the markup changed, or a text is too large to be shown, the markup."""
    if not (too_large(before) or too_large(after)):
        seen = plain_text(before), plain_text(after)
        before, after = seen if seen[0] != seen[1] else (before, after)
    return _words(name, before, after)


def _plain(name: str, before: str, after: str) -> list[FieldDiff]:
    if max(len(before), len(after)) <= _SHORT_CHARACTERS and "\n" not in before + after:
        return [FieldDiff(one_line(name), before=visible(before)[0], after=visible(after)[0])]
    return _words(name, before, after)


def _words(name: str, before: str, after: str) -> list[FieldDiff]:
    shown = in_context(word_diff(before, after), _CONTEXT_CHARACTERS, sentences=True)
    parts = [(op, visible(text)[0]) for op, text in shown]
    return [FieldDiff(one_line(name), parts)] if parts else []


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
        yield site.file("about.html", "about.html", ["none", *site.entries_said], lambda: _about(site))
        return
    rows = history.rows()
    facts = fingerprint(repr([tuple(row) for row in rows]))
    found = history.completeness()
    yield site.file(
        "about.html", "about.html", [facts, repr(found), *site.entries_said], lambda: _about(site, history, found)
    )
    yield _overview(site, history, facts)
    for place, row in enumerate(rows):
        yield _version(site, history, row, rows[place - 1] if place else None, place + 1 < len(rows))
    for entry_id, versions in history.changed_entries().items():
        if whole_history_version(history, entry_id) is not None:
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
            "title": site.t("Version {n}", n=row.version),
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
    return site.file(
        version_page(row.version), "version.html", [repr(tuple(row)), str(before), str(newer), states], context
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
    neutral = _neutral_change(site, change)
    return _ShownChange(
        change.kind,
        entry_anchor(change.record_id) if is_entry else "",
        one_line(change.title),
        change.change,
        post.page if post else None,
        field_diffs(site, change.kind, fields, states) if neutral is None else neutral,
        f"{entry_history_page(change.record_id)}#v{version}" if has_life else None,
        # The entry's own page shows the state before a removal.
        None if before is None or gone else state_page(change.record_id, before),
    )


def _neutral_change(site: Site, change: RecordChange) -> list[FieldDiff] | None:
    """Return the changes of a record by its neutral form; of a new or removed one only a comment's text.

    ``None`` if its raw fields are to be compared.
    """
    found = _neutral_diffs(site, change.kind, change.fields, (change.before, change.after))
    if found is None or change.change is Change.CHANGED:
        return found
    if change.kind is not Kind.COMMENTS:
        return []
    old, new = (
        "" if raw is None else site.catalogue.service.comment(raw).text for raw in (change.before, change.after)
    )
    return _text(site.say(ATTRIBUTE_NAMES["text"]), old, new)


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
    """Return the kind of an entry's change between two states, and the changed fields if both are readable."""
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
    versions = [] if history is None else [_proof(site, history, row) for row in reversed(rows[-_MAX_PROOFS:])]
    return {
        "title": site.t("About this copy"),
        "current": "about",
        "said": site.entries_said,
        "versions": versions,
        "older": len(rows) - len(versions),
        "completeness": completeness,
        "problems": [] if completeness is None else _in_words(site, completeness.problems[:_MAX_PROBLEMS]),
    }


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
