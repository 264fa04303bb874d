"""Comments: the newest, those of each year, and those whose entry is not there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from exporter.exporters.interface import ViewFile
from exporter.model.kinds import Kind, sort_key
from exporter.site.catalogue import ORPHANS_PAGE, UNDATED, Post, fingerprint
from exporter.site.pages.site import ShownComment, Site

_NEWEST: Final = 40


class _Talk(NamedTuple):
    cm_id: str
    post: Post | None
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


def _shown(site: Site, talks: list[_Talk], path: str) -> list[tuple[ShownComment, Post | None]]:
    comments = site.comments([talk.cm_id for talk in talks], path)
    return list(zip(comments, (talk.post for talk in talks), strict=True))
