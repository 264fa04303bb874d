"""The search page of the server. It looks like the site's, searches all versions, and needs no script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from markupsafe import Markup

from exporter.archive.archive import Archive
from exporter.errors import BlogExporterError, UsageError
from exporter.html.text import plain_text
from exporter.library.views import served_options
from exporter.message import message, said
from exporter.model.kinds import Kind
from exporter.model.labels import KIND_NAMES
from exporter.model.records import PostKind
from exporter.search.facets import NAMES, UNDATED, choices, narrowed
from exporter.search.folding import excerpt, spans_of
from exporter.serve.api import MAX_HITS, Api, number_of
from exporter.service.registry import service_of
from exporter.site import NAME
from exporter.site.catalogue import ORPHANS_PAGE, anchor_name, one_line, safe_name, shown_facts
from exporter.site.pages.site import state_page
from exporter.site.templating import OPTIONAL_LISTS, PageRenderer, Parts
from exporter.text import visible
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from exporter.model.records import Post
    from exporter.search.entry_search import EntryHit
    from exporter.search.facets import Facets
    from exporter.search.folding import Excerpt
    from exporter.search.index import Hit
    from exporter.serve.api import PastHit
    from exporter.settings import Settings

_HITS_PER_STEP: Final = 20
_SHOWN_CATEGORIES: Final = 5
_LABELS: Final = {
    "year": message("Year"),
    "category": message("Categories"),
    "tag": message("Tags"),
    "author": message("Authors"),
    "kind": message("Kind"),
}
_POST_KINDS: Final = frozenset(PostKind)
_LISTS: Final = {"tag": "tags", "author": "authors", "kind": "pages"}
"""The site's list page for a facet; it exists if the blog has such names."""


def search_page(path: Path, settings: Settings, api: Api, asked: Mapping[str, str]) -> tuple[bytes, int]:
    """Return the page for a query to the archive at ``path``, and the HTTP status; in one thread only, like the API."""
    return _SearchPage(path, settings, api).page(asked)


class _SearchPage:
    """Writes the search page of an archive; in one thread only, like the API.

    Args:
        path: the archive.
        settings: how to read its records, and the options of its site.
        api: searches.
    """

    def __init__(self, path: Path, settings: Settings, api: Api) -> None:
        self._archive = Archive.open(path)
        self._options = served_options(settings, self._archive)
        self._service = service_of(settings, self._archive.info.service)
        self._parts = Parts(self._options.language, self._service.timezone)
        self._site = self._archive.layout.latest / NAME
        self._api = api
        self._t = translator(self._options.language)

    def page(self, asked: Mapping[str, str]) -> tuple[bytes, int]:
        """Return the page for a query, and the HTTP status."""
        lists = {name for name in OPTIONAL_LISTS if (self._site / f"{name}.html").is_file()}
        renderer = PageRenderer(self._options, self._archive.info.blog_id, self._parts, lists)
        query = asked.get("q", "").strip()
        context: dict[str, Any] = {
            "title": self._t("Search"), "query": visible(query)[0], "problem": "", "found": None, "facets": [],
            "best": asked.get("sort") == "best",
        }  # fmt: skip
        status = 200
        if query:
            try:
                context |= self._found(query, asked)
            except BlogExporterError as error:
                context["problem"] = visible(translated(said(error), self._options.language))[0]
                status = 400 if isinstance(error, UsageError) else 500
        return renderer.render("served_search.html", "search.html", **context), status

    def _found(self, query: str, asked: Mapping[str, str]) -> dict[str, Any]:
        limit = number_of(asked, "limit", _HITS_PER_STEP, MAX_HITS)
        found = self._api.entries_found(query, limit)
        chosen = {name: value for name in NAMES if (value := _chosen(asked, name)) is not None}
        every = [*found.entries.exact, *found.entries.similar]
        exact, similar = (self._in_order(narrowed(each, _facets, chosen), asked) for each in found.entries)
        counts = {
            "entries": len(exact), "similar": len(similar), "files": found.files.total, "past": found.past_total
        }  # fmt: skip
        terms = found.terms
        return {
            "found": counts,
            "every": len(every),
            "facets": self._choices(every, chosen),
            "hits": [self._row(hit, terms, query) for hit in exact[:limit]],
            "similar": [self._row(hit, terms, query, loosely=True) for hit in similar[:limit]],
            "files": [_file_row(hit) for hit in found.files.hits],
            "past": [self._past_row(hit) for hit in found.past],
            "more": self._more(asked, limit) if max(counts.values()) > limit and limit < MAX_HITS else "",
        }

    @staticmethod
    def _in_order(hits: list[EntryHit], asked: Mapping[str, str]) -> list[EntryHit]:
        return sorted(hits, key=lambda hit: -hit.score) if asked.get("sort") == "best" else hits

    def _choices(self, hits: list[EntryHit], chosen: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the facets that the site's search page has, each with its choices and their counts."""
        found = []
        for name in NAMES:
            if name in NAMES[2:] and not self._has(name):
                continue
            total, rows = choices(hits, _facets, name, chosen)
            options = [("", f"{self._t('All', 'site')} ({total:,})", name not in chosen)]
            for row in rows:
                value = row.name if name == "year" else f"={row.name}"
                options.append((value, f"{self._name(name, row.name)} ({row.hits:,})", chosen.get(name) == row.name))
            found.append({"name": name, "label": translated(_LABELS[name], self._options.language), "options": options})
        return found

    def _has(self, facet: str) -> bool:
        """Return whether the site has a facet that only some blogs need: it then has the list of its names."""
        return (self._site / f"{_LISTS[facet]}.html").is_file()

    def _name(self, facet: str, name: str) -> str:
        if facet == "kind":
            return translated(KIND_NAMES[PostKind(name)], self._options.language) if name in _POST_KINDS else name
        if facet == "year" and name == UNDATED:
            return self._t("Entries without a date")
        none = {"category": self._t("No category"), "tag": self._t("No tag"), "author": self._t("(no name)")}
        return name or none.get(facet, "")

    def _more(self, asked: Mapping[str, str], limit: int) -> str:
        """Return the address of the same page with more hits."""
        kept = {name: asked[name] for name in ("q", *NAMES, "sort") if asked.get(name)}
        return "?" + urlencode({**kept, "limit": min(MAX_HITS, limit + _HITS_PER_STEP)}, errors="replace")

    def _row(self, hit: EntryHit, terms: Sequence[str], query: str, *, loosely: bool = False) -> dict[str, Any]:
        """Return a hit for the list: the entry's labels, and excerpts with the words from it and from its comments."""
        asked = f"?{urlencode({'q': query}, errors='replace')}"
        page = ORPHANS_PAGE if hit.orphan else f"entry/{safe_name(hit.entry_id)}.html"
        raw = {} if hit.orphan else self._api.raw(Kind.ENTRIES, hit.entry_id, hit.gone_in)
        post = self._service.post(raw)
        texts = [post.body, post.more_title, post.more, post.excerpt]
        text = "\n".join(filter(None, map(plain_text, texts)))
        spoken = [] if hit.orphan or (hit.comments and not spans_of(text, terms, loosely=loosely)) else [text]
        comments = []
        for comment_id in [hit.entry_id] if hit.orphan else hit.comments:
            comment = self._service.comment(self._api.raw(Kind.COMMENTS, comment_id))
            words = "\n".join(filter(None, (comment.title, plain_text(comment.text))))
            comments.append({
                "link": f"{page}{asked}#comment-{anchor_name(comment_id)}",
                "who": _marked(one_line(comment.name), terms, loosely=loosely),
                "parts": _excerpt(words, terms, loosely=loosely),
            })  # fmt: skip
        title = self._t("Comments without an entry") if hit.orphan else one_line(post.title) or self._t("(untitled)")
        return {
            "link": page + asked,
            "title": _marked(title, terms, loosely=loosely),
            "date": None if hit.orphan else post.date,
            "groups": [] if hit.orphan else [each for each in hit.facets.groups if each][:_SHOWN_CATEGORIES],
            "badges": "" if hit.orphan else self._badges(post),
            "gone": hit.gone_in is not None,
            "texts": [_excerpt(each, terms, loosely=loosely) for each in spoken],
            "comments": comments,
        }

    def _badges(self, post: Post) -> Markup:
        facts = shown_facts(post, self._service)
        return Markup(self._parts.audience(private=facts.private, name=facts.access if post.audience else ""))  # noqa: S704

    def _past_row(self, past: PastHit) -> dict[str, Any]:
        hit = past.hit
        link = _past_page(self._archive, hit.record_id, past.version) if hit.kind is Kind.ENTRIES else ""
        return _other_row(hit, link, past.version, gone=past.gone)


def _file_row(hit: Hit) -> dict[str, Any]:
    return _other_row(hit, "gallery.html")


def _other_row(hit: Hit, link: str, version: int = 0, *, gone: bool = False) -> dict[str, Any]:
    return {
        "link": link,
        "title": one_line(hit.title),
        "date": hit.date,
        "comment": hit.kind is Kind.COMMENTS,
        "parts": _marked_parts(hit.excerpt),
        "version": version,
        "gone": gone,
    }


def _facets(hit: EntryHit) -> Facets:
    return hit.facets


def _chosen(asked: Mapping[str, str], facet: str) -> str | None:
    """Return the name asked for in a facet, as the site's page writes it: with ``=`` before it, or without."""
    value = asked.get(facet, "")
    if facet == "kind" and not value.startswith("="):
        return None
    return value.removeprefix("=") if value else None


def _marked(text: str, terms: Sequence[str], *, loosely: bool) -> list[tuple[str, bool]]:
    """Return a short text in parts, each with whether a term matched it."""
    found, done = [], 0
    for start, end in spans_of(text, terms, loosely=loosely):
        found += [(text[done:start], False), (text[start:end], True)]
        done = end
    return [(visible(part)[0], is_hit) for part, is_hit in [*found, (text[done:], False)] if part]


def _excerpt(text: str, terms: Sequence[str], *, loosely: bool) -> list[tuple[str, bool]]:
    return _marked_parts(excerpt(text, spans_of(text, terms, loosely=loosely)))


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
