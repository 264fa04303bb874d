"""The search page of the server. It looks like the site's, searches all versions, and needs no script."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from exporter.archive.archive import Archive
from exporter.errors import BlogExporterError, UsageError
from exporter.library.views import site_options
from exporter.message import said
from exporter.model.kinds import Kind
from exporter.serve.api import Api, Found, marked_parts
from exporter.service.registry import service_of
from exporter.site import NAME
from exporter.site.catalogue import ORPHANS_PAGE, one_line, safe_name
from exporter.site.pages.site import state_page
from exporter.site.templating import PageRenderer, Parts
from exporter.text import visible
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from exporter.search.index import Hit
    from exporter.serve.api import PastHit
    from exporter.settings import Settings

_KINDS: Final = (("entry", "entries"), ("comment", "comments"), ("file", "files"))
_HITS_PER_STEP: Final = 20
_MAX_HITS: Final = 500


class SearchPage:
    """Renders the page; in one thread only, like the API."""

    def __init__(self, archive: Path, settings: Settings) -> None:
        self._archive = archive
        self._settings = settings

    def render(self, api: Api, asked: Mapping[str, str]) -> tuple[bytes, int]:
        """Return the page for a query, and the HTTP status."""
        archive = Archive.open(self._archive)
        options = site_options(self._settings, self._archive)
        parts = Parts(options.language, service_of(self._settings, archive.info.service).timezone)
        renderer = PageRenderer(options, archive.info.blog_id, parts)
        query, kind = asked.get("q", "").strip(), asked.get("kind", "")
        t = translator(options.language)
        found, problem, status = None, "", 200
        if query:
            try:
                found = api.search({**asked, "q": query})
            except BlogExporterError as error:
                problem, status = said(error), 400 if isinstance(error, UsageError) else 500
        context: dict[str, Any] = {
            "title": t("Search"),
            "query": visible(query)[0],
            "kind": kind,
            "kinds": _KINDS,
            "problem": visible(translated(problem, options.language))[0],
            "found": found,
            "hits": [] if found is None else [_row(hit, archive) for hit in found.hits],
            "similar": [] if found is None else [_row(hit, archive) for hit in found.similar],
            "past": [] if found is None else [_past_row(hit, archive) for hit in found.past],
            "more": _more(found, query, kind),
        }
        return renderer.render("served_search.html", "search.html", **context), status


def _more(found: Found | None, query: str, kind: str) -> str:
    """Return the address of the same page with more hits; empty if it shows all."""
    if found is None:
        return ""
    shown = max(len(found.hits) + len(found.similar), len(found.past))
    if shown >= min(_MAX_HITS, max(found.total + found.similar_total, found.past_total)):
        return ""
    return "?" + urlencode(
        {"q": query, "kind": kind, "limit": min(_MAX_HITS, shown + _HITS_PER_STEP)}, errors="replace"
    )


def _row(hit: Hit, archive: Archive) -> dict[str, Any]:
    link = "gallery.html"
    if hit.kind is Kind.ENTRIES:
        link = f"entry/{safe_name(hit.record_id)}.html"
    elif hit.kind is Kind.COMMENTS:
        known = archive.last_known(Kind.ENTRIES, hit.entry_id)
        page = ORPHANS_PAGE if known is None or known.stored is None else f"entry/{safe_name(hit.entry_id)}.html"
        link = f"{page}#comment-{one_line(hit.record_id)}"
    return {
        "link": link,
        "title": one_line(hit.title),
        "date": hit.date,
        "comment": hit.kind is Kind.COMMENTS,
        "parts": _visible(marked_parts(hit.excerpt)),
        "version": 0,
        "gone": False,
    }


def _past_row(hit: PastHit, archive: Archive) -> dict[str, Any]:
    found = hit.document
    of_entry = found["kind"] == "entry"
    return {
        "link": _past_page(archive, found["id"], found["version"]) if of_entry else "",
        "title": one_line(found["title"]),
        "date": None if found["date"] is None else datetime.fromisoformat(found["date"]),
        "comment": not of_entry,
        "parts": _visible(hit.parts),
        "version": found["version"],
        "gone": found["gone"],
    }


def _past_page(archive: Archive, entry_id: str, version: int) -> str:
    """Return the page of an entry's state. The last state of a deleted entry is on the entry's own page."""
    page = state_page(entry_id, version)
    return page if (archive.layout.latest / NAME / page).is_file() else f"entry/{safe_name(entry_id)}.html"


def _visible(parts: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    return [(visible(text)[0], is_hit) for text, is_hit in parts]
