"""The page of each entry: its text, its comments, its neighbours, and the record it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from exporter import codec
from exporter.exporters.interface import ViewFile
from exporter.model.kinds import Kind
from exporter.render.budget import BODY_CHARACTERS
from exporter.site.catalogue import Post, safe_name, shown
from exporter.site.pages.site import Site, category_page
from exporter.site.pictures import openable
from exporter.site.templating import root_of

_MOST_PICTURES: Final = 60
_BEGINNING: Final = 1_000


def entry_files(site: Site) -> Iterator[ViewFile]:
    """Yield the entries' pages, by date."""
    catalogue = site.catalogue
    lives = {} if catalogue.history is None else catalogue.history.changed_entries()
    for at, post in enumerate(catalogue.posts):
        before = catalogue.posts[at - 1] if at else None
        after = catalogue.posts[at + 1] if at + 1 < len(catalogue.posts) else None
        parts: list[bytes | str] = [
            post.identity,
            post.listed,
            b"" if before is None else before.listed,
            b"" if after is None else after.listed,
            site.pictures.depends(post.entry_id),
            repr(lives.get(post.entry_id)),
            site.leads(Kind.ENTRIES, post.entry_id),
            *(site.leads(Kind.COMMENTS, cm_id) for cm_id in post.comments),
        ]
        yield site.file(
            post.page,
            "entry.html",
            parts,
            partial(_context, site, post, before, after, lives.get(post.entry_id)),
        )


def life_page(entry_id: str) -> str:
    """Return the path of the page that tells how an entry changed."""
    return f"history/entry-{safe_name(entry_id)}.html"


def _context(
    site: Site, post: Post, before: Post | None, after: Post | None, life: tuple[int, ...] | None
) -> dict[str, Any]:
    entry = site.catalogue.entry(post)
    root = root_of(post.page)
    pictures = site.pictures.by_entry.get(post.entry_id, [])[:_MOST_PICTURES]
    period = entry.period_date if entry.period_date != entry.date else None
    return {
        "title": post.title or site.pages.words["untitled"],
        "current": "years",
        "post": post,
        "before": before,
        "after": after,
        "body": site.bodies.html(entry.entry_text, root),
        "more_title": shown(entry.ps_title),
        "more": site.bodies.html(entry.ps_text, root),
        "comments": site.comments(post.comments, post.page),
        "category": category_page(post.category),
        "original": site.address_of(entry.raw),
        "pictures": [(site.asset(post.page, each.path), openable(each.path)) for each in pictures]
        if len(pictures) > 1
        else [],
        "updated": entry.last_update if entry.last_update != entry.date else None,
        "period": period,
        "life": life_page(post.entry_id) if life is not None else None,
        "record": None if site.options.public else _record(entry.raw, site.pages.words["cut"]),
    }


def _record(raw: Mapping[str, Any], cut: str) -> str:
    """Return a record as JSON; a value beyond the budget of a body only begins, and says so."""
    short = {name: _begun(value, cut) for name, value in raw.items()}
    return codec.dumps(short, pretty=True).decode()


def _begun(value: Any, cut: str) -> Any:
    return f"{value[:_BEGINNING]}… {cut}" if isinstance(value, str) and len(value) > BODY_CHARACTERS else value
