"""Compare each post with its page in a new home, both as a browser shows them; for all homes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, unquote

from exporter.export.entry_page import t
from exporter.export.post_html import as_html
from exporter.export.posts import ExportPost
from exporter.model.kinds import Kind
from tests.importers.blogs import Blog, bare, shown
from tests.site.browser.launching import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

_READ: Final = """selector => {
    const all = (at, what) => [...at.querySelectorAll(what)]
    const parts = all(document, selector)
    const around = parts[0].closest('article') ?? document.body
    const [url] = location.href.split('#')
    return {
        url,
        text: parts.map(part => part.innerText).join('\\n'),
        around: around.innerText,
        days: all(around, 'time[datetime], abbr.published, .facts, .when').map(day => day.dateTime || day.title || day.innerText),
        places: all(document, '[id], a[name]').flatMap(place => [place.id, place.name ?? '']),
        pictures: parts.flatMap(part => all(part, 'img')).map(picture =>
            [picture.src, picture.complete && picture.naturalWidth > Number(picture.src.startsWith('data:image/gif'))]),
        links: parts.flatMap(part => all(part, 'a[href]')).map(link => {
            const [to, fragment = ''] = link.href.split('#')
            const target = to === url && fragment && document.getElementById(decodeURIComponent(fragment))
            return [link.innerText.trim(), to, fragment, (target && target.closest('article')?.id) || '']
        }),
    }
}"""
_BOTH: Final = """([body, more]) => {
    const at = [...document.querySelectorAll('main > div')]
    at[0].innerHTML = body
    at[1].innerHTML = more
    // As the script of the old site did.
    document.querySelectorAll('img[data-src]').forEach(picture => { picture.src = picture.dataset.src })
    return at.map(part => part.innerText)
}"""
_OWN: Final = re.compile(r"https?://([^/]+)/Entry/([0-9]+)/?")
_PATIENCE: Final = 180_000
"""Milliseconds that a page may take to load on a busy machine."""

_COMMENTS: Final = ("", "コメント")


class Place(NamedTuple):
    """A post's place: its page's address, the elements with its body, and its article if the page has several."""

    url: str
    body: str = "main"
    article: str = ""


class Link(NamedTuple):
    """A link's text, the address and fragment of its target, and the article if the target is on the same page."""

    text: str
    url: str
    fragment: str
    article: str


@dataclass(frozen=True)
class Reading:
    """A post on a page: its lines, all text around it, the days shown there, links and pictures, and the page's ids."""

    url: str
    lines: str
    around: str
    days: list[str]
    places: frozenset[str]
    links: list[Link]
    pictures: list[tuple[str, bool]]

    def inside(self) -> Counter[str]:
        """Count the links to a place on the same page by their texts."""
        return Counter(
            link.text for link in self.links if link.url == self.url and unquote(link.fragment) in self.places
        )


@dataclass(frozen=True)
class Shown:
    """The number of things that a browser shows in posts of the old blog.

    Attributes:
        text: posts whose text must be equal, line by line.
        in_page_links: links to a place on the same page.
        own_links: links to other entries, which must lead to their pages, and to the places there.
        pictures: stored pictures, which must load from any host except the old one.
        comments: comments, which must be with their posts.
        days: posts, which must show their days.
    """

    text: int = 0
    in_page_links: int = 0
    own_links: int = 0
    pictures: int = 0
    comments: int = 0
    days: int = 0


class Comparison(NamedTuple):
    """The numbers of things to show, and each post with something missing, as ``ID: thing``."""

    given: Shown
    missed: list[str]


@contextmanager
def reader() -> Iterator[Page]:
    """Yield a page of a browser that connects to this machine only."""
    with chromium(None) as browser:
        page = browser.new_page()
        page.set_default_timeout(_PATIENCE)
        page.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.abort())
        yield page


def shown_of(page: Page, moved: Blog, places: Mapping[str, Place]) -> Comparison:
    """Read every post of a blog and its page in the new home.

    Args:
        page: see :func:`reader`.
        moved: the blog that was moved.
        places: the place of each post, by its id.
    """
    held = {url for url, asset in moved.records.scan(Kind.ASSETS) if asset["sha256"]}
    at = {(place.url, place.article): post_id for post_id, place in places.items()}
    page.goto("about:blank")
    page.set_content("<main><div></div><div></div></main>")
    before = {post.id: _source(page, post) for post in moved.posts()}
    anchors = {post_id: source.places for post_id, (_, _, source) in before.items()}
    there = {post_id: _read(page, place) for post_id, place in places.items()}
    given, missed = Counter[str](), list[str]()
    for post in moved.posts():
        home = there[post.id]
        body, more, source = before[post.id]
        own = Counter(_own_links(source, moved.records.blog_id, anchors))
        pictures = sum(src in held for src, _ in source.pictures)
        wanted = {"text": 1, "in_page_links": source.inside().total(), "own_links": own.total(), "pictures": pictures,
                  "comments": len(post.comments), "days": 1}  # fmt: skip
        met = {
            "text": int(_same(body, more, home.lines)),
            "in_page_links": (source.inside() & home.inside()).total(),
            "own_links": (own & Counter(_new_links(home, at, there))).total(),
            "pictures": min(pictures, sum(loaded for _, loaded in home.pictures)),
            "comments": moved.comments_of(post, home.around),
            "days": int(_day(home.days) == (post.when.year, post.when.month, post.when.day)),
        }
        missed += [f"{post.id}: {name}" for name in wanted if wanted[name] != met[name]]
        given.update(wanted)
    return Comparison(Shown(**given), missed)


def named_pages(moved: Blog, folder: Path, files: Sequence[Path], address: str, body: str = "main") -> dict[str, Place]:
    """Find the page of each post among served files: by its title, and by its text if two posts share one."""
    titled: dict[str, list[tuple[Path, str]]] = {}
    for file in files:
        html = file.read_text(encoding="utf-8")
        title = re.search(r"<title>(.*?)</title>", html, re.DOTALL)
        titled.setdefault(bare(unescape(title[1])) if title else "", []).append((file, bare(shown(html))))
    places = {}
    for post in moved.posts():
        start = bare(shown(as_html(post.record.body)))[:40]
        rivals = titled[bare(post.title or t("(untitled)"))]
        file = next((file for file, text in rivals if start in text), rivals[0][0])
        name = quote(file.relative_to(folder).as_posix())
        places[post.id] = Place(f"{address}{name.removesuffix('index.html')}", body)
    return places


def lines_of(text: str) -> str:
    """Strip the lines of a text and drop the empty ones."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def _read(page: Page, place: Place) -> Reading:
    if page.url.partition("#")[0] != place.url:
        page.goto(place.url, wait_until="load")
    return _reading(page, place.body)


def _reading(page: Page, body: str) -> Reading:
    found: dict[str, Any] = page.evaluate(_READ, body)
    return Reading(
        url=found["url"],
        lines=lines_of(found["text"]),
        around=found["around"],
        days=found["days"],
        places=frozenset(filter(None, found["places"])),
        links=[Link(*link) for link in found["links"]],
        pictures=[(src, loaded) for src, loaded in found["pictures"]],
    )


def _source(page: Page, post: ExportPost) -> tuple[str, str, Reading]:
    """Read a post from its record: the lines of its body, those of its continuation, and both together."""
    body, more = page.evaluate(_BOTH, [as_html(post.record.body), as_html(post.record.more)])
    return lines_of(body), lines_of(more), _reading(page, "main")


def _same(body: str, more: str, lines: str) -> bool:
    """Return whether the lines are a body and its continuation, with at most one title between the two."""
    if not lines.startswith(body):
        return False
    between, found, rest = lines.removeprefix(body).partition(more) if more else ("", "", lines.removeprefix(body))
    return (
        (bool(found) or not more)
        and between.strip().count("\n") == 0
        and rest.strip().startswith(_COMMENTS[bool(rest.strip())])
    )


def _own_links(source: Reading, blog_id: str, places: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str, bool]]:
    """Yield the text of each link to an own entry, the entry's id, and whether it leads to a place on the page."""
    for link in source.links:
        known = _OWN.fullmatch(link.url)
        if known and known[1] == blog_id and known[2] in places:
            yield link.text, known[2], unquote(link.fragment) in places[known[2]]


def _new_links(
    home: Reading, at: Mapping[tuple[str, str], str], there: Mapping[str, Reading]
) -> Iterator[tuple[str, str, bool]]:
    """Yield the same for a page of the new home; a link to a place there also counts as a link to the page."""
    for link in home.links:
        post_id = at.get((link.url, link.article)) or at.get((link.url, link.fragment)) or at.get((link.url, ""))
        if post_id is None:
            continue
        yield link.text, post_id, False
        if link.fragment != f"e{post_id}" and unquote(link.fragment) in there[post_id].places:
            yield link.text, post_id, True


def _day(days: Sequence[str]) -> tuple[int, ...]:
    """Return the first date that a page shows, as year, month and day."""
    return tuple(int(number) for number in re.findall("[0-9]+", days[0])[:3]) if days else ()
