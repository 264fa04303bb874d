"""The lists of comments: the newest, those of each year or month, and those whose entry is missing.

A page has at most a few hundred. A larger year is split into months, and a larger month into parts. Parts are
counted from the oldest comment, so that a new one is added to the last part and moves no other.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from exporter.export.interface import ViewFile
from exporter.export.threads import in_order, stated_answers
from exporter.model.kinds import Kind
from exporter.search.folding import fold
from exporter.site.catalogue import COMMENTS_ON_PAGE, orphans_page
from exporter.site.pages.site import ShownComment, Site
from exporter.site.post_list import PostSummary
from exporter.site.templating import CONTENT_LANGUAGE, escaped, root_of

if TYPE_CHECKING:
    from exporter.model.records import Comment

MAX_DEPTH: Final = 2
"""A deeper answer is placed next to the comment that it answers, so that lines stay wide enough on a phone."""
_READ_CHARACTERS: Final = 400
_MAX_NAME_CHARACTERS: Final = 40
_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r">>(?:no\.?)?([0-9]{1,18})(?![0-9])")
_CALL = re.compile(r"(?:@|>{1,2}|→)(?![>@→]) ?")
_HONORIFIC = re.compile(r" ?(?:さん|さま|様|ちゃん|くん|君|氏|先生|どの|殿)")
_NAME_ENDS = re.compile(r"[^0-9a-z]|$")


class Reply(NamedTuple):
    """A comment's place: below the one at ``under``, or on the top level; and the one that it answers.

    Attributes:
        under: the index of the comment whose answers include this one.
        answers: the place of the one that it answers.
    """

    under: int | None = None
    answers: int | None = None


def replies(comments: Sequence[Comment]) -> list[Reply]:
    """Return the place of each comment in order.

    If the service states which comment another one answers, that counts. Otherwise a comment answers the earlier one
    whose writer or number its text names, if there is one.
    """
    return _stated(comments) if any(each.parent for each in comments) else _named(comments)


def _stated(comments: Sequence[Comment]) -> list[Reply]:
    answers = stated_answers(comments)
    below: defaultdict[int | None, list[int]] = defaultdict(list)
    for at, answered in enumerate(answers):
        below[answered].append(at)
    found = [Reply()] * len(comments)
    waiting: list[tuple[int, int | None, int]] = [(at, None, 0) for at in below[None]]
    while waiting:
        at, under, depth = waiting.pop()
        found[at] = Reply(under, answers[at])
        # An answer to one at the greatest depth is placed next to that one.
        next_under, next_depth = (under, depth) if depth == MAX_DEPTH else (at, depth + 1)
        waiting += ((each, next_under, next_depth) for each in below[at])
    return found


def _named(comments: Sequence[Comment]) -> list[Reply]:
    places: dict[str, int] = {}
    by_name: dict[str, int] = {}
    found: list[Reply] = []
    depths: list[int] = []
    for at, comment in enumerate(comments):
        answers = _answered(_beginning(comment.text), at, places, by_name) if at else None
        under = answers
        while under is not None and depths[under] == MAX_DEPTH:
            under = found[under].under
        found.append(Reply(under, answers))
        depths.append(0 if under is None else depths[under] + 1)
        places[comment.id] = at
        name = fold(comment.name).strip()
        if name and len(name) <= _MAX_NAME_CHARACTERS:
            by_name[name] = at
    return found


def _beginning(text: str) -> str:
    return fold(html.unescape(_TAG.sub(" ", text[:_READ_CHARACTERS]))).lstrip()


def _answered(text: str, at: int, places: dict[str, int], by_name: dict[str, int]) -> int | None:
    number = _NUMBER.match(text)
    if number is not None:
        place = places.get(number[1], int(number[1]) - 1)
        return place if 0 <= place < at else None
    called = _CALL.match(text)
    start = called.end() if called else 0
    for end in range(min(len(text), start + _MAX_NAME_CHARACTERS), start, -1):
        place = by_name.get(text[start:end], -1)
        if place >= 0 and ((called and _NAME_ENDS.match(text, end)) or _HONORIFIC.match(text, end)):
            return place
    return None


_NEWEST_COMMENTS: Final = 40


class _Leaf(NamedTuple):
    """A page with comments that are on no other page: its path, title, short name, and their places."""

    path: str
    title: str
    name: str
    places: Sequence[int]


class _Shown(NamedTuple):
    """A page's parts around its comments: their number, links to other pages, and the previous and next page."""

    total: int
    rows: Sequence[tuple[str, str, int]] = ()
    lead: str = ""
    newer: tuple[str, str] | None = None
    older: tuple[str, str] | None = None


def comment_files(site: Site) -> Iterator[ViewFile]:
    """Yield the lists of comments."""
    catalogue, table = site.catalogue, site.catalogue.comment_table
    years = table.by_year()
    leaves = {year: _leaves(site, year, places) for year, places in years.items()}
    rows = [(f"comments/{year}.html", site.year_name(year), len(places)) for year, places in years.items()]
    parts = len(catalogue.orphans)
    if parts:
        rows.append((orphans_page(0), site.t("Comments without an entry"), parts))
    newest = list(islice(chain.from_iterable(years.values()), _NEWEST_COMMENTS))
    yield _page(site, "comments.html", site.t("Comments"), newest, _Shown(len(table), rows))
    for year, places in years.items():
        path = f"comments/{year}.html"
        if leaves[year][0].path != path:
            months = [(leaf.path, leaf.name, len(leaf.places)) for leaf in leaves[year]]
            title = f"{site.t('Comments')} {site.year_name(year)}"
            yield _page(site, path, title, places[:_NEWEST_COMMENTS], _Shown(len(places), months))
    in_order = [leaf for each in leaves.values() for leaf in each]
    for leaf, newer, older in zip(in_order, [None, *in_order], [*in_order[1:], None], strict=False):
        beside = [each and (each.path, each.title) for each in (newer, older)]
        yield _page(site, leaf.path, leaf.title, leaf.places, _Shown(len(leaf.places), (), "", *beside))
    yield from _orphans(site)


def _leaves(site: Site, year: str, places: Sequence[int]) -> list[_Leaf]:
    """Return the pages for a year with the newest first."""
    title = f"{site.t('Comments')} {site.year_name(year)}"
    if len(places) <= COMMENTS_ON_PAGE:
        return [_Leaf(f"comments/{year}.html", title, "", places)]
    found: list[_Leaf] = []
    for month, of_month in site.catalogue.comment_table.months(places):
        path, name = (f"comments/{year}-{month:02d}", site.dates.month(month)) if month else (f"comments/{year}", "")
        several = len(of_month) > COMMENTS_ON_PAGE
        of_this = []
        for number, end in enumerate(range(len(of_month), 0, -COMMENTS_ON_PAGE), 1):
            part = of_month[max(0, end - COMMENTS_ON_PAGE) : end]
            mark, note = (f"-{number}", f" ({number})") if several else ("", "")
            of_this.append(_Leaf(f"{path}{mark}.html", f"{title} {name}{note}".strip(), f"{name}{note}".strip(), part))
        found += reversed(of_this)
    return found


def _orphans(site: Site) -> Iterator[ViewFile]:
    catalogue, table = site.catalogue, site.catalogue.comment_table
    place_of = {}
    if catalogue.orphans:
        wanted = set(catalogue.orphans)
        place_of = {found: place for place in range(len(table)) if (found := table.at(place)[1]) in wanted}
    starts = range(0, len(catalogue.orphans), COMMENTS_ON_PAGE)
    rows = [
        (orphans_page(start), f"{number}", min(COMMENTS_ON_PAGE, len(catalogue.orphans) - start))
        for number, start in enumerate(starts, 1)
    ]
    for start in starts:
        ids = catalogue.orphans[start : start + COMMENTS_ON_PAGE]
        lead = site.t("The entries of these comments are not in the archive.")
        shown = _Shown(len(catalogue.orphans), rows if len(rows) > 1 else (), lead)
        title = site.t("Comments without an entry")
        yield _page(site, orphans_page(start), title, [place_of[each] for each in reversed(ids)], shown)


def _page(site: Site, path: str, title: str, places: Sequence[int], shown: _Shown) -> ViewFile:
    catalogue = site.catalogue
    found = [catalogue.comment_table.at(place) for place in places]
    ids = [comment_id for _, comment_id in found]
    posts = [catalogue.by_id.get(entry_id) for entry_id, _ in found]
    parts: list[bytes | str] = [
        catalogue.identities(Kind.COMMENTS, ids),
        repr(site.owners),
        *(post.page + post.title if post else "" for post in posts),
        *(catalogue.link_targets(Kind.COMMENTS, each) for each in ids),
    ]

    def context() -> dict[str, Any]:
        comments = map(partial(_comment, site, path), catalogue.comments(ids), posts)
        return {"title": title, "current": "comments", "comments": comments, **shown._asdict()}

    return site.file(path, "comments.html", [title, repr(shown), *parts], context)


def _comment(site: Site, page: str, comment: Comment, post: PostSummary | None) -> Markup:
    """Return a comment in a list, with its entry; they are read one at a time."""
    shown = site.shown(comment, page)
    anchor, about = shown.anchor, ""
    if post is not None:
        link = f'<a href="{root_of(page)}{post.page}#{anchor}" lang="{CONTENT_LANGUAGE}">{site.parts.title(post)}</a>'
        about = f'<p class="about">{link}</p>'
    return Markup(  # noqa: S704  escaped above
        f'<li id="{anchor}" class="comment" data-item>\n{about}{shown.html}\n</li>\n'
    )


def comment_list(site: Site, post: PostSummary, found: list[Comment]) -> str:
    """Return an entry's comments as HTML, given in the order of their ids; empty if it never had any."""
    removed = "".join(
        f'<p class="notice">{escaped(site.t("Comments removed on request, {date}: {n}", date=date, n=number))}</p>\n'
        for date, number in site.removals.get(post.id, ())
    )
    if not site.catalogue.comment_ids(post):
        return removed
    comments = in_order(found)
    library = site.library
    if library is not None and len(post.blogs) > 1:  # ids of two blogs have no order
        comments.sort(key=lambda each: (_moment(each), library.blog_of(each.id).number))
    shown = [site.shown(each, post.page) for each in comments]
    below: defaultdict[int | None, list[int]] = defaultdict(list)
    placed = replies(comments)
    for at, reply in enumerate(placed):
        below[reply.under].append(at)

    def rows(under: int | None) -> str:
        return "".join(f"{_reply_row(site, shown, placed[at], at)}{answers(at)}</li>\n" for at in below[under])

    def answers(at: int) -> str:
        return f'\n<ol class="replies">\n{rows(at)}</ol>\n' if at in below else ""

    heading = site.parts.t("Comments: {n}", n=len(comments))
    return (
        f'<section class="comments" id="comments">\n<h2>{heading}</h2>\n<ol>\n{rows(None)}</ol>\n{removed}</section>\n'
    )


def _moment(comment: Comment) -> float:
    return float("inf") if comment.date is None else comment.date.timestamp()


def _reply_row(site: Site, shown: list[ShownComment], reply: Reply, at: int) -> str:
    to = ""
    if reply.answers is not None:
        answered = shown[reply.answers]
        label = site.parts.t("↩ to {name}", name=answered.name)
        to = f'<p class="to"><a href="#{answered.anchor}">{label}</a></p>'
    return f'<li id="{shown[at].anchor}" class="comment" data-item>{to}{shown[at].html}'
