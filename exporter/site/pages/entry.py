"""The page of each entry: its text, its comments, its neighbours, and the record it was made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from exporter import lossless_json
from exporter.export.interface import ViewFile
from exporter.html.local_links import openable
from exporter.html.tree import BODY_CHARACTERS
from exporter.model.kinds import Kind, sort_key
from exporter.site.catalogue import ORPHANS_PAGE, UNDATED, PostSummary, fingerprint, safe_name, shown
from exporter.site.pages.page import ShownComment, Site, category_page
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
            site.pictures.depends(post.id),
            repr(lives.get(post.id)),
            site.leads(Kind.ENTRIES, post.id),
            *(site.leads(Kind.COMMENTS, cm_id) for cm_id in post.comments),
        ]
        yield site.file(
            post.page,
            "entry.html",
            parts,
            partial(_context, site, post, before, after, lives.get(post.id)),
        )


def life_page(entry_id: str) -> str:
    """Return the path of the page that tells how an entry changed."""
    return f"history/entry-{safe_name(entry_id)}.html"


def _context(
    site: Site, post: PostSummary, before: PostSummary | None, after: PostSummary | None, life: tuple[int, ...] | None
) -> dict[str, Any]:
    entry = site.catalogue.entry(post)
    root = root_of(post.page)
    pictures = site.pictures.by_entry.get(post.id, [])[:_MOST_PICTURES]
    period = entry.period_date if entry.period_date != entry.date else None
    return {
        "title": post.title or site.pages.words["untitled"],
        "current": "years",
        "post": post,
        "before": before,
        "after": after,
        "body": site.bodies.html(entry.body, root),
        "more_title": shown(entry.more_title),
        "more": site.bodies.html(entry.more, root),
        "comments": site.comments(post.comments, post.page),
        "category": category_page(post.category),
        "original": site.address_of(entry.raw),
        "pictures": [(site.asset(post.page, each.path), openable(each.path)) for each in pictures]
        if len(pictures) > 1
        else [],
        "updated": entry.updated if entry.updated != entry.date else None,
        "period": period,
        "life": life_page(post.id) if life is not None else None,
        "record": None if site.options.public else _record(entry.raw, site.pages.words["cut"]),
    }


def _record(raw: Mapping[str, Any], cut: str) -> str:
    """Return a record as JSON; a value beyond the budget of a body only begins, and says so."""
    short = {name: _begun(value, cut) for name, value in raw.items()}
    return lossless_json.dumps(short, pretty=True).decode()


def _begun(value: Any, cut: str) -> Any:
    return f"{value[:_BEGINNING]}… {cut}" if isinstance(value, str) and len(value) > BODY_CHARACTERS else value


_NEWEST: Final = 40


class _Talk(NamedTuple):
    cm_id: str
    post: PostSummary | None
    day: str


def comment_files(site: Site) -> Iterator[ViewFile]:
    """Yield the pages of comments."""
    talks = _talks(site)
    years: defaultdict[str, list[_Talk]] = defaultdict(list)
    for talk in talks:
        years[talk.day[:4] or UNDATED].append(talk)
    rows = [(year, f"comments/{year}.html", len(of_year)) for year, of_year in years.items()]
    words = site.pages.words

    def page(path: str, title: str, shown: list[_Talk], parts: list[str]) -> ViewFile:
        def context() -> dict[str, Any]:
            return {
                "title": title,
                "current": "comments",
                "talks": _shown(site, shown, path),
                "rows": rows if path == "comments.html" else [],
                "total": len(talks) if path == "comments.html" else len(shown),
                "orphans": len(site.catalogue.orphans) if path == "comments.html" else 0,
                "orphans_page": ORPHANS_PAGE,
                "lead": words["orphans_lead"] if path == ORPHANS_PAGE else "",
            }

        return site.file(path, "comments.html", [title, *parts, _depends(site, shown)], context)

    yield page("comments.html", words["comments"], talks[:_NEWEST], [repr(rows), str(len(site.catalogue.orphans))])
    for year, path, _ in rows:
        name = words["undated"] if year == UNDATED else site.pages.dates.year(year)
        yield page(path, f"{words['comments']} {name}", years[year], [])
    if site.catalogue.orphans:
        yield page(ORPHANS_PAGE, words["orphans"], [talk for talk in talks if talk.post is None], [])


def _talks(site: Site) -> list[_Talk]:
    """Return all comments, the newest first; the undated last."""
    catalogue = site.catalogue
    posts = {cm_id: post for post in catalogue.posts for cm_id in post.comments}
    found = [_Talk(cm_id, posts.get(cm_id), day) for cm_id, day in catalogue.comment_days.items()]
    return sorted(found, key=lambda talk: (talk.day, sort_key(talk.cm_id)), reverse=True)


def _depends(site: Site, talks: list[_Talk]) -> bytes:
    return fingerprint(
        site.catalogue.identities(Kind.COMMENTS, [talk.cm_id for talk in talks]),
        *(talk.post.page + talk.post.title if talk.post else "" for talk in talks),
        *(site.leads(Kind.COMMENTS, talk.cm_id) for talk in talks),
    )


def _shown(site: Site, talks: list[_Talk], path: str) -> list[tuple[ShownComment, PostSummary | None]]:
    comments = site.comments([talk.cm_id for talk in talks], path)
    return list(zip(comments, (talk.post for talk in talks), strict=True))
