"""The search page of the server. It looks like the site's, searches all versions, and needs no script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from exporter.archive.archive import Archive
from exporter.errors import BlogExporterError, UsageError
from exporter.library.views import served_options
from exporter.message import said
from exporter.model.kinds import Kind
from exporter.search.query import KIND_NAMES
from exporter.serve.api import MAX_HITS, Api, Found
from exporter.service.registry import service_of
from exporter.site import NAME
from exporter.site.catalogue import ORPHANS_PAGE, anchor_name, one_line, safe_name
from exporter.site.pages.site import state_page
from exporter.site.templating import OPTIONAL_LISTS, PageRenderer, Parts
from exporter.text import visible
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from exporter.search.folding import Excerpt
    from exporter.search.index import Hit
    from exporter.serve.api import PastHit
    from exporter.settings import Settings

_HITS_PER_STEP: Final = 20


def search_page(path: Path, settings: Settings, api: Api, asked: Mapping[str, str]) -> tuple[bytes, int]:
    """Return the page for a query to the archive at ``path``, and the HTTP status; in one thread only, like the API."""
    archive = Archive.open(path)
    options = served_options(settings, archive)
    parts = Parts(options.language, service_of(settings, archive.info.service).timezone)
    site = archive.layout.latest / NAME
    renderer = PageRenderer(
        options, archive.info.blog_id, parts, {name for name in OPTIONAL_LISTS if (site / f"{name}.html").is_file()}
    )
    query, kind = asked.get("q", "").strip(), asked.get("kind", "")
    t = translator(options.language)
    found, problem, status = Found(0, [], 0, [], 0, [], 0), "", 200
    if query:
        try:
            found = api.search({**asked, "q": query})
        except BlogExporterError as error:
            problem, status = said(error), 400 if isinstance(error, UsageError) else 500
    context: dict[str, Any] = {
        "title": t("Search"),
        "query": visible(query)[0],
        "kind": kind,
        "kinds": [(name, str(kind)) for kind, name in KIND_NAMES.items()],
        "problem": visible(translated(problem, options.language))[0],
        "found": found if query and not problem else None,
        "hits": [_row(hit, _link(hit, archive)) for hit in found.hits],
        "similar": [_row(hit, _link(hit, archive)) for hit in found.similar],
        "past": [_past_row(hit, archive) for hit in found.past],
        "more": _more(found, query, kind),
    }
    return renderer.render("served_search.html", "search.html", **context), status


def _more(found: Found, query: str, kind: str) -> str:
    """Return the address of the same page with more hits; empty if it shows all."""
    shown = max(len(found.hits) + len(found.similar), len(found.past))
    if shown >= min(MAX_HITS, max(found.total + found.similar_total, found.past_total)):
        return ""
    return "?" + urlencode({"q": query, "kind": kind, "limit": min(MAX_HITS, shown + _HITS_PER_STEP)}, errors="replace")


def _row(hit: Hit, link: str, version: int = 0, *, gone: bool = False) -> dict[str, Any]:
    return {
        "link": link,
        "title": one_line(hit.title),
        "date": hit.date,
        "comment": hit.kind is Kind.COMMENTS,
        "parts": _marked_parts(hit.excerpt),
        "version": version,
        "gone": gone,
    }


def _link(hit: Hit, archive: Archive) -> str:
    """Return the address of a record in the site."""
    if hit.kind is Kind.FILES:
        return "gallery.html"
    if hit.kind is Kind.ENTRIES:
        return f"entry/{safe_name(hit.record_id)}.html"
    known = archive.last_known(Kind.ENTRIES, hit.entry_id)
    page = ORPHANS_PAGE if known is None or known.stored is None else f"entry/{safe_name(hit.entry_id)}.html"
    return f"{page}#comment-{anchor_name(hit.record_id)}"


def _past_row(past: PastHit, archive: Archive) -> dict[str, Any]:
    hit = past.hit
    link = _past_page(archive, hit.record_id, past.version) if hit.kind is Kind.ENTRIES else ""
    return _row(hit, link, past.version, gone=past.gone)


def _past_page(archive: Archive, entry_id: str, version: int) -> str:
    """Return the page of an entry's state. The last state of a deleted entry is on the entry's own page."""
    page = state_page(entry_id, version)
    return page if (archive.layout.latest / NAME / page).is_file() else f"entry/{safe_name(entry_id)}.html"


def _marked_parts(part: Excerpt) -> list[tuple[str, bool]]:
    """Return an excerpt's parts, each with whether a term matched it."""
    found, done = [("…" if part.start else "", False)], 0
    for start, end in part.marks:
        found += [(part.text[done:start], False), (part.text[start:end], True)]
        done = end
    found += [(part.text[done:], False), ("…" if part.cut else "", False)]
    return [(visible(text)[0], is_hit) for text, is_hit in found if text]
