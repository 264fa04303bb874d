"""Explore an address as a public blog: its service, its feed, and the number of posts in its sitemaps. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from typing import Final
from urllib.parse import urlsplit

from exporter.html.selection import PageElement, parse_page
from exporter.html.tree import TooComplex
from exporter.message import message, suggested
from exporter.model.exchange import Request, Response
from exporter.service.discovery import MAX_REQUESTS, Exploration, HomePage, WayIn
from exporter.service.public_site.feeds import Feed, NoFeed, read_feed
from exporter.service.public_site.page_rules import PageRules, rules_for_generator, rules_for_host
from exporter.service.public_site.paths import SitePaths
from exporter.service.public_site.post_list import USUAL_FEEDS, feed_links, page_request
from exporter.service.public_site.robots import Robots, read_robots
from exporter.service.public_site.sitemaps import NoSitemap, read_sitemap
from exporter.service.public_site.text import decode_page

RANK: Final = 30
_OK: Final = 200
_SERVER_ERROR: Final = 500


def explore(service: str, home: HomePage) -> Exploration | None:
    """Return the exploration of a home page; ``None`` if it is no page on the web."""
    try:
        parts = urlsplit(home.url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and bool(home.html)
        root = parse_page(home.html) if usable else None
    except (ValueError, TooComplex):
        return None
    return None if root is None else _exploration(service, home, root)


def _exploration(service: str, home: HomePage, root: PageElement) -> Exploration:
    parts = urlsplit(home.url)
    by_host = rules_for_host((parts.hostname or "").lower())
    generator = root.first("meta[name=generator]")
    rules = by_host or rules_for_generator(generator.attribute("content") if generator is not None else "")
    folder = _folder(parts.path, rules, root)
    origin = f"{parts.scheme}://{parts.netloc}"
    paths = SitePaths(origin, frozenset({parts.netloc.lower().removeprefix("www.")}), folder, rules)
    budget = MAX_REQUESTS
    answer = yield page_request("/robots.txt")
    blog_id = parts.netloc + folder.rstrip("/")
    if answer is not None and answer.status >= _SERVER_ERROR:
        return message(
            "{address} answered {status}, and without it no page may be requested. Try again later. If the blog is "
            "yours, you can read it in spite of that: {command}",
            address=f"{origin}/robots.txt",
            status=answer.status,
            command=_in_spite(service, paths.home_address),
        )
    robots = read_robots(answer.body) if answer is not None and answer.status == _OK else Robots()
    if not robots.permits(paths.home_address):
        return message(
            "{address} forbids programs to read {home}. If the blog is yours, you can read it in spite of that: "
            "{command}",
            address=f"{origin}/robots.txt",
            home=paths.home_address,
            command=_in_spite(service, paths.home_address),
        )
    counted = yield from _sitemap_posts(paths, robots, budget // 2)
    feed = yield from _feed(paths, robots, root, budget // 2 - 1)
    in_feed = {each for item in (feed.items if feed is not None else ()) if (each := paths.post_at(item.link))}
    if not counted and not in_feed and rules is None:
        return None
    title = root.first("title")
    name = rules.title if rules is not None else ""
    return WayIn(
        service,
        origin,
        blog_id,
        message("public pages of {service}", service=name) if name else message("public pages"),
        (feed.title if feed is not None else "") or (title.text() if title is not None else ""),
        {"posts": max(counted, len(in_feed))} if counted or in_feed else {},
        tuple(_lacks(rules, counted=counted)),
        RANK,
        {"page_rules": rules.name} if rules is not None and by_host is None else {},
    )


def _in_spite(service: str, address: str) -> str:
    """Return the command that reads a blog although its robots.txt forbids it."""
    return suggested("backup", address, "--service", service, "--obey-robots", "no")


def _lacks(rules: PageRules | None, *, counted: int) -> Iterator[str]:
    yield message("drafts, private entries and hidden comments")
    yield message("files that no entry shows")
    if not counted:
        yield message("the number of all entries, because there is no sitemap")
    yield message(
        "a proof that no entry is missing: an export file or an API of the blog's service lists them all; a sitemap "
        "and list pages may not"
    )
    if rules is not None and rules.comments_elsewhere:
        yield message("comments, which its pages show only with scripts")


def _folder(path: str, rules: PageRules | None, root: PageElement) -> str:
    """Return the home's path, also for a post's address."""
    segments = [each for each in path.split("/") if each]
    if rules is not None:
        kept = segments[: rules.depth]
        return f"/{'/'.join(kept)}/" if kept else "/"
    kind = root.first("meta[property='og:type']")
    is_post = kind is not None and kind.attribute("content").lower() == "article"
    return path if path.endswith("/") and not is_post else "/"


Steps = Generator[Request, Response | None, int]


def _sitemap_posts(paths: SitePaths, robots: Robots, budget: int) -> Steps:
    """Return the number of posts in the sitemaps that the budget of requests reaches."""
    stated = [paths.path_of(each) for each in robots.sitemaps]
    found = [each for each in stated if each is not None and (paths.home == "/" or paths.inside(each) is not None)]
    guesses = paths.rules.sitemaps if paths.rules is not None else ("sitemap.xml", "sitemap_index.xml")
    queue = deque(dict.fromkeys(found or [paths.home + each for each in guesses]))
    posts: set[str] = set()
    asked: set[str] = set()
    while queue and len(asked) < budget:
        path = queue.popleft()
        if path in asked or not robots.permits(paths.origin + path):
            continue
        asked.add(path)
        answer = yield page_request(path)
        if answer is None or answer.status != _OK:
            continue
        try:
            sitemap = read_sitemap(answer.body, answer.headers.get("content-type", ""))
        except NoSitemap:
            continue
        queue.extend(each for place in sitemap.maps if (each := paths.path_of(place)) is not None)
        posts.update(each for place, _ in sitemap.pages if (each := paths.post_at(place)) is not None)
    return len(posts)


def _feed(
    paths: SitePaths, robots: Robots, root: PageElement, budget: int
) -> Generator[Request, Response | None, Feed | None]:
    """Return the first feed that can be read."""
    stated = [paths.path_of(each, paths.home_address) for each in feed_links(root)]
    usual = paths.rules.feeds if paths.rules is not None else USUAL_FEEDS
    places = dict.fromkeys([*filter(None, stated), *(paths.home + each for each in usual)])
    for path in [each for each in places if robots.permits(paths.origin + each)][:budget]:
        answer = yield page_request(path)
        if answer is not None and answer.status == _OK:
            try:
                return read_feed(decode_page(answer.body, answer.headers.get("content-type", "")).text)
            except NoFeed:
                continue
    return None
