"""A page for every earlier state of an entry: the entry as it was, with the comments it had then."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter.export.interface import ViewFile
from exporter.model.kinds import Kind, sort_key
from exporter.site.catalogue import one_line
from exporter.site.pages.site import Site, entry_history_page, life_link, state_page, told_by

if TYPE_CHECKING:
    from exporter.site.history import ArchiveHistory, EarlierState

_MOST_COMMENTS: Final = 100
"""So many of the newest comments an earlier state shows: an entry that changes often would have them many times."""


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
    alone = told_by(history, entry_id) is not None
    comment_ids = _comment_ids(site, history, entry_id, state.until - 1)
    raws = (site.catalogue.record_at(Kind.COMMENTS, each, state.until - 1) for each in comment_ids[-_MOST_COMMENTS:])
    comments = [site.shown(service.comment(raw), path) for raw in raws if raw is not None]
    return {
        "title": one_line(service.title(Kind.ENTRIES, following.record or {}) if entry is None else entry.title),
        "current": "past",
        "entry": entry,
        "category": "" if entry is None else one_line(entry.category or ""),
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
        "more_comments": max(0, len(comment_ids) - _MOST_COMMENTS),
    }


def _comment_ids(site: Site, history: ArchiveHistory, entry_id: str, version: int) -> list[str]:
    """Return the ids of the comments that an entry had in a version.

    Only what the versions up to that one hold decides, since the page is not made again for later ones: a comment that
    changed is asked which entry it belonged to.
    """
    catalogue = site.catalogue
    former = history.former_comments.get(entry_id, ())
    found = [each for each in former if _belongs(site, each, entry_id, version)]
    others = (each for each in catalogue.comment_table.of(entry_id) if each not in former)
    found += [each for each in others if history.was_there(Kind.COMMENTS, each, version)]
    return sorted(found, key=sort_key)


def _belongs(site: Site, comment_id: str, entry_id: str, version: int) -> bool:
    raw = site.catalogue.record_at(Kind.COMMENTS, comment_id, version)
    return raw is not None and site.catalogue.service.post_id(raw) == entry_id
