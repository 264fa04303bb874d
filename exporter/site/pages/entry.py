"""The page of each entry: its text, its comments, its neighbours, and the record it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from exporter import lossless_json
from exporter.export.interface import ViewFile
from exporter.html.limits import BODY_CHARACTERS
from exporter.model.asset import openable
from exporter.model.kinds import Kind
from exporter.model.records import Raw
from exporter.site.catalogue import PostSummary, one_line, safe_name
from exporter.site.pages.site import Site, category_page
from exporter.site.templating import root_of

_MOST_PICTURES: Final = 60
_BEGINNING: Final = 1_000


def entry_files(site: Site) -> Iterator[ViewFile]:
    """Yield the entries' pages, by date."""
    catalogue = site.catalogue
    changed = {} if catalogue.history is None else catalogue.history.changed_entries()
    for at, post in enumerate(catalogue.posts):
        before = catalogue.posts[at - 1] if at else None
        after = catalogue.posts[at + 1] if at + 1 < len(catalogue.posts) else None
        parts: list[bytes | str] = [
            post.identity,
            post.listed,
            b"" if before is None else before.listed,
            b"" if after is None else after.listed,
            site.pictures.identity(post.id),
            repr(changed.get(post.id)),
            catalogue.link_targets(Kind.ENTRIES, post.id),
            *(catalogue.link_targets(Kind.COMMENTS, comment_id) for comment_id in post.comments),
        ]
        context = partial(_context, site, post, before, after, changed=post.id in changed)
        yield site.file(post.page, "entry.html", parts, context)


def entry_history_page(entry_id: str) -> str:
    """Return the path of the page that shows how an entry changed."""
    return f"history/entry-{safe_name(entry_id)}.html"


def _context(
    site: Site, post: PostSummary, before: PostSummary | None, after: PostSummary | None, *, changed: bool
) -> dict[str, Any]:
    entry = site.catalogue.entry(post)
    root = root_of(post.page)
    pictures = site.pictures.by_entry.get(post.id, [])[:_MOST_PICTURES]
    return {
        "title": post.title or site.words["untitled"],
        "current": "years",
        "post": post,
        "before": before,
        "after": after,
        "body": site.bodies.html(entry.body, root),
        "more_title": one_line(entry.more_title),
        "more": site.bodies.html(entry.more, root),
        "comments": site.comments(post.comments, post.page),
        "category": category_page(post.category),
        "original": site.catalogue.original_address(entry),
        "pictures": [(site.asset(post.page, each.path), openable(each.path)) for each in pictures]
        if len(pictures) > 1
        else [],
        "updated": entry.updated if entry.updated != entry.date else None,
        "period": entry.period_date if entry.period_date != entry.date else None,
        "history_page": entry_history_page(post.id) if changed else None,
        "record": None if site.options.public else _record(entry.raw, site.words["cut"]),
    }


def _record(raw: Raw, cut: str) -> str:
    """Return a record as JSON; a value beyond the budget of a body is cut, and says so."""
    short = {
        name: f"{value[:_BEGINNING]}… {cut}" if isinstance(value, str) and len(value) > BODY_CHARACTERS else value
        for name, value in raw.items()
    }
    return lossless_json.dumps(short, pretty=True).decode()
