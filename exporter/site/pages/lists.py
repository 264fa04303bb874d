"""The lists of entries: years and categories, and in some sites the blogs, the tags, the writers and the pages."""

from __future__ import annotations

from calendar import SUNDAY, Calendar
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.export.comment_index import UNDATED
from exporter.export.interface import ViewFile
from exporter.html.embedded import Use, embedded
from exporter.html.page_body import DrawnPicture
from exporter.model.kinds import Kind
from exporter.site.catalogue import ORPHANS_PAGE, fingerprint, one_line
from exporter.site.pages.site import Site, author_page, blog_page, category_page, listed, year_page
from exporter.site.pages.statistics import SHADES, calendar_years, strip
from exporter.site.post_list import PostList, PostSummary
from exporter.site.templating import BLOGS_PAGE, data_script, root_of

if TYPE_CHECKING:
    from datetime import datetime

    from exporter.site.library import Library

_Years = dict[str, PostList]
_WEEKS: Final = Calendar(SUNDAY)


class _Day(NamedTuple):
    """A day in a month: its number, entries, shade and link."""

    number: int
    entries: int
    shade: int
    link: str


class _Month(NamedTuple):
    """A month: its number, name and number of entries, the weekday of its first day (0: Sunday), and its days."""

    number: int
    name: str
    total: int
    first: int
    days: Sequence[_Day]


def list_files(site: Site) -> Iterator[ViewFile]:
    """Yield all lists."""
    years = site.catalogue.by_year()
    yield _all_years(site, years)
    for year, posts in years.items():
        parts: list[bytes | str] = [listed(posts), *_neighbours(years, year)]
        yield site.file(year_page(year), "year.html", parts, partial(_year, site, years, year))
    yield from _categories(site)
    yield from label_files(site)


def _all_years(site: Site, years: _Years) -> ViewFile:
    catalogue = site.catalogue
    calendar = calendar_years(years)
    unread = [
        catalogue.service.post(None, catalogue.records.load(Kind.ENTRY_LIST, item_id)) for item_id in catalogue.unread
    ]
    gone = [post for post in reversed(catalogue.posts) if post.gone_in is not None]
    parts: list[bytes | str] = [
        repr(calendar),
        str(len(catalogue.dated)),
        catalogue.identities(Kind.ENTRY_LIST, catalogue.unread),
        listed(gone),
        str(len(catalogue.orphans)),
    ]
    return site.file("years.html", "years.html", parts, lambda: {
        "title": site.t("By date"),
        "current": "years",
        "calendar": calendar,
        "undated": len(years.get(UNDATED, ())),
        "undated_page": year_page(UNDATED),
        "unread": [(item.listed_on or item.date, one_line(item.title), one_line(item.id)) for item in unread],
        "gone": gone,
        "orphans": len(catalogue.orphans),
        "orphans_page": ORPHANS_PAGE,
        "total": len(catalogue.dated),
    })  # fmt: skip


def _neighbours(years: _Years, year: str) -> tuple[str, str]:
    """Return the next newer and older year as text, empty at the ends."""
    names = ["", *years, ""]
    at = names.index(year, 1)
    return names[at - 1], names[at + 1]


def _year(site: Site, years: _Years, year: str) -> dict[str, Any]:
    newer, older = _neighbours(years, year)
    posts = years[year]
    return {
        "title": site.year_name(year),
        "current": "years",
        "months": [
            (month, site.dates.month(month) if month else "", list(of_month))
            for month, of_month in groupby(posts, key=lambda post: post.date.month if post.date else 0)
        ],
        "calendar": [] if year == UNDATED else _calendar(site, year, posts),
        "total": len(posts),
        "newer": (site.year_name(newer), year_page(newer)) if newer else None,
        "older": (site.year_name(older), year_page(older)) if older else None,
    }


def _calendar(site: Site, year: str, posts: Sequence[PostSummary]) -> list[_Month]:
    """Return the months that have entries; a day leads to its entry, or to its month if it has several."""
    days: defaultdict[int, defaultdict[int, list[PostSummary]]] = defaultdict(lambda: defaultdict(list))
    for post in posts:
        if post.date is not None:
            days[post.date.month][post.date.day].append(post)
    root = root_of(year_page(year))

    def day(month: int, number: int) -> _Day:
        found = days[month].get(number, [])
        link = root + found[0].page if len(found) == 1 else f"#m{month}"
        return _Day(number, len(found), min(len(found) + 1, SHADES), link)

    months = []
    for month in sorted(days):
        numbers = list(_WEEKS.itermonthdays(int(year), month))
        total = sum(map(len, days[month].values()))
        shown = [day(month, number) for number in numbers if number]
        months.append(_Month(month, site.dates.month(month), total, numbers.index(1), shown))
    return months


class _Branch(NamedTuple):
    """A category in the tree: its name, its page, its own entries, and the categories below it."""

    name: str
    page: str
    total: int
    below: list[_Branch]


def _categories(site: Site) -> Iterator[ViewFile]:
    categories = site.catalogue.by_category()
    rows = [(path[-1], category_page(path), len(posts)) for path, posts in categories.items()]
    tree = _tree(categories) if any(len(path) > 1 for path in categories) else []
    shown = {"title": site.t("Categories"), "current": "categories", "rows": rows, "tree": tree}
    yield site.file("categories.html", "categories.html", [repr(rows), repr(tree)], lambda: shown)
    below = _below(categories)
    for path in [*categories, *(path for path in below if path not in categories)]:
        posts: Sequence[PostSummary] = categories.get(path, ())
        under = [(each[-1], category_page(each), len(categories.get(each, ()))) for each in below.get(path, ())]
        context = partial(_labelled, site, path[-1] or site.t("No category"), posts, "categories", path[:-1], under)
        yield site.file(category_page(path), "category.html", ["\0".join(path), listed(posts), repr(under)], context)


def _below(paths: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the categories directly below each category that has some, including those without own entries."""
    known = {path[:length] for path in paths if len(path) > 1 for length in range(1, len(path) + 1)}
    found: defaultdict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for path in sorted(known):
        if len(path) > 1:
            found[path[:-1]].append(path)
    return dict(found)


def _tree(categories: Mapping[tuple[str, ...], Sequence[PostSummary]]) -> list[_Branch]:
    """Return the outermost categories by name, each with those below it."""
    below = _below(categories)

    def branch(path: tuple[str, ...]) -> _Branch:
        return _Branch(
            path[-1], category_page(path), len(categories.get(path, ())), list(map(branch, below.get(path, ())))
        )

    tops = {path[:1] for path in categories}
    return list(map(branch, sorted(tops, key=lambda path: (path == ("",), path))))


def _labelled(
    site: Site,
    title: str,
    posts: Sequence[PostSummary],
    current: str,
    parents: tuple[str, ...] = (),
    under: Sequence[tuple[str, str, int]] = (),
) -> dict[str, Any]:
    """Return the template values for a page of entries with a common category, tag, writer or blog."""
    names = {
        "blogs": site.t("Blogs"), "categories": site.t("Categories"), "tags": site.t("Tags"),
        "authors": site.t("Authors"),
    }  # fmt: skip
    above = [(name, category_page(parents[: at + 1])) for at, name in enumerate(parents)]
    return {
        "title": title,
        "current": current,
        "above": [(names[current], f"{current}.html"), *above],
        "under": under,
        "years": [(year, list(of_year)) for year, of_year in groupby(posts, key=lambda post: post.year)],
        "total": len(posts),
    }


class _Blog(NamedTuple):
    """A library's blog in lists: its name, page and colour, its entries, those also in other blogs, and its days."""

    title: str
    page: str
    colour: int
    blog_id: str
    entries: int
    shared: int
    first: datetime | None
    last: datetime | None


def blog_rows(site: Site) -> list[_Blog]:
    """Return the blogs of a library; none in the site of one blog."""
    found = []
    for blog in () if site.library is None else site.library.blogs:
        posts = site.blogs.get(blog.number, ())
        dates = [post.date for post in posts if post.date is not None]
        shared = sum(len(post.blogs) > 1 for post in posts)
        first, last = (dates[-1], dates[0]) if dates else (None, None)
        title, blog_id = one_line(blog.title), one_line(blog.blog_id)
        found.append(_Blog(title, blog_page(blog.key), blog.colour, blog_id, len(posts), shared, first, last))
    return found


def _blog_files(site: Site, library: Library) -> Iterator[ViewFile]:
    """Yield the page about all blogs, with their shares in each year, and a page for each blog."""
    rows = blog_rows(site)
    years = [
        (year, year_page(year), len(posts), sorted(Counter(post.blogs for post in posts).items()))
        for year, posts in site.catalogue.by_year().items()
    ]
    most = max((number for _, _, number, _ in years), default=0)
    yield site.file(BLOGS_PAGE, "blogs.html", [repr(rows), repr(years)], lambda: {
        "title": site.t("Blogs"),
        "current": "blogs",
        "blogs": rows,
        "most": most,
        "years": [(site.year_name(year), page, number, shares) for year, page, number, shares in years],
    })  # fmt: skip
    for blog in library.blogs:
        posts = site.blogs.get(blog.number, ())
        context = partial(_labelled, site, one_line(blog.title), posts, "blogs")
        yield site.file(blog_page(blog.key), "category.html", [blog.title, listed(posts)], context)


_MAX_TAGS: Final = 10_000
"""Tags in the list of tags."""


def label_files(site: Site) -> Iterator[ViewFile]:
    """Yield the lists that only some sites have: blogs, tags, writers and pages."""
    if site.library is not None:
        yield from _blog_files(site, site.library)
    tags = [(tag, site.tag_page(tag), len(posts)) for tag, posts in site.tags.items()]
    if tags:
        shown = tags[:_MAX_TAGS]
        yield site.file("tags.html", "labels.html", ["tags", repr(shown), str(len(tags))], lambda: {
            "title": site.t("Tags"), "current": "tags", "rows": shown, "more": len(tags) - len(shown),
        })  # fmt: skip
    for tag, path, _ in tags:
        posts = site.tags[tag]
        if path != posts[0].page:
            yield site.file(path, "category.html", [tag, listed(posts)], partial(_labelled, site, tag, posts, "tags"))
    authors = [(name, author_page(name), len(posts)) for name, posts in site.authors.items()]
    if authors:
        yield site.file("authors.html", "labels.html", ["authors", repr(authors)], lambda: {
            "title": site.t("Authors"), "current": "authors", "rows": authors, "more": 0,
        })  # fmt: skip
    for name, path, _ in authors:
        posts = site.authors[name]
        yield site.file(path, "category.html", [name, listed(posts)], partial(_labelled, site, name, posts, "authors"))
    pages = site.catalogue.pages()
    if pages:
        yield site.file("pages.html", "pages.html", [listed(pages)], lambda: {
            "title": site.t("Pages", "kind of entry"), "current": "pages", "pages": pages,
        })  # fmt: skip


_HOME_PAGE: Final = "index.html"
_NEWEST_ENTRIES: Final = 12
_ICON_PIXELS: Final = 64


class _Card(NamedTuple):
    """An entry on the home page: its beginning, and its first picture."""

    post: PostSummary
    excerpt: str
    thumbnail: DrawnPicture | None


def home_files(site: Site) -> Iterator[ViewFile]:
    """Yield the home page, and for each calendar day with entries a script with these, from all years."""
    days = site.catalogue.dated.grouped(
        lambda post: () if post.date is None or post.gone_in is not None else (f"{post.date:%m%d}",)
    )
    yield _home(site, " ".join(sorted(days)))
    for day, posts in sorted(days.items()):
        yield ViewFile(f"data/day-{day}.js", _cards_identity(site, posts), partial(_day_script, site, day, posts))


def _home(site: Site, days: str) -> ViewFile:
    posts = site.catalogue.dated
    recent = list(islice((post for post in reversed(posts) if post.gone_in is None), _NEWEST_ENTRIES))
    first = next((post.date for post in posts if post.date is not None), None)
    last = next((post.date for post in reversed(posts) if post.date is not None), None)
    years = [
        (
            year,
            len(of_year),
            tuple(Counter(post.date.month for post in of_year if post.date)[at] for at in range(1, 13)),
        )
        for year, of_year in site.catalogue.by_year().items()
    ]
    said, blogs = site.entries_said, blog_rows(site)
    parts: list[bytes | str] = [
        _cards_identity(site, recent),
        repr(years),
        str(first or ""),
        str(last or ""),
        days,
        *said,
        repr(blogs) if blogs else "",
    ]
    most = max((max(months) for _, _, months in years), default=0)
    return site.file(_HOME_PAGE, "home.html", parts, lambda: {
        "current": "home",
        "named": bool(site.options.title),
        "recent": [_card(site, post) for post in recent],
        "years": [
            (year_page(year), site.year_name(year), number, strip(months, most) if any(months) else "")
            for year, number, months in years
        ],
        "said": said,
        "first": first,
        "last": last,
        "days": days,
        "blogs": blogs,
    })  # fmt: skip


def _cards_identity(site: Site, posts: Sequence[PostSummary]) -> bytes:
    identity = site.pictures.identity
    return fingerprint("cards", *(part for each in posts for part in (each.identity, each.listed, identity(each.id))))


def _card(site: Site, post: PostSummary) -> _Card:
    return _Card(post, site.catalogue.beginning(post), _thumbnail(site, post))


def _thumbnail(site: Site, post: PostSummary) -> DrawnPicture | None:
    """Return the first picture of an entry that is not an icon."""
    known = {picture.url: picture for picture in site.pictures.by_entry.get(post.id, ())}
    if not known:
        return None
    entry = site.catalogue.entry(post)
    addresses = [found.text for found in embedded(entry.body) if found.use is Use.SHOWN]
    if entry.featured:
        addresses.insert(0, entry.featured)
    for picture in [*(known[each] for each in addresses if each in known), *known.values()]:
        if picture.width is None or picture.width >= _ICON_PIXELS:
            return site.pictures.drawn(picture.path)
    return None


def _day_script(site: Site, day: str, posts: Sequence[PostSummary]) -> bytes:
    """Return the entries on a day, newest first: page, day, title, excerpt, picture, whether private."""
    rows: list[list[Any]] = []
    for post in posts:
        _, excerpt, thumbnail = _card(site, post)
        source = thumbnail.source if thumbnail else ""
        rows.append([post.page, site.dates.day(post.date), post.title, excerpt, source, post.private])
    return data_script("day", day, rows)
