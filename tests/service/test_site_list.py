"""The list of a public blog: which pages are requested, in which order, and when the list is whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import ServiceError
from exporter.model.exchange import Response
from exporter.service.interface import PageFacts
from exporter.service.public_site import feeds, post_list
from exporter.service.public_site.paths import SitePaths, site_paths
from exporter.service.public_site.post_list import MAX_BARREN_PAGES, ListOptions, SiteList, SiteReading

ORIGIN = "https://b.example"
Answers = Mapping[str, str | bytes | int]
HOME = '<html><head><link rel="alternate" type="application/rss+xml" href="/feed"></head><body>ブログ</body></html>'


@dataclass
class Walk:
    """The result of one sweep: the requested paths, the items and the list itself."""

    asked: list[str] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    reading: SiteReading = field(default_factory=SiteReading)
    pause: float | None = None
    problems: list[str] = field(default_factory=list)
    complete: bool = False

    @property
    def ids(self) -> list[str]:
        return [item["id"] for item in self.items]


def walk(answers: Answers, paths: SitePaths | None = None, options: ListOptions | None = None, most: int = 500) -> Walk:
    found = Walk()
    pages = SiteList(paths or site_paths("b.example", None, "none"), options or ListOptions(), found.reading)
    while not pages.finished:
        (cursor,) = pages.wanted(3)
        call = pages.call(cursor)
        request = call.request
        path = request.path + (f"?{request.query}" if request.query else "")
        found.asked.append(path)
        assert len(found.asked) <= most
        answer = answers.get(path, 404)
        if isinstance(answer, int):
            response = Response(answer, {}, b"")
        else:
            body = answer if isinstance(answer, bytes) else answer.encode()
            response = Response(200, {}, body)
        try:
            page = call.parse(response)
        except ServiceError as error:
            pages.accept_failure(cursor, str(error), missing=True)
            continue
        found.items += page.items
        found.pause = page.pause or found.pause
        pages.accept(PageFacts(cursor, len(page.items), len(page.items), ""))
    found.problems, found.complete = pages.problems, pages.complete
    return found


def feed(*places: str, after: str = "") -> str:
    link = f'<a:link xmlns:a="http://www.w3.org/2005/Atom" rel="next" href="{after}"/>' if after else ""
    items = "".join(f"<item><title>t</title><link>{ORIGIN}{place}</link></item>" for place in places)
    return f"<rss version='2.0'><channel><title>b</title>{link}{items}</channel></rss>"


def sitemap(*places: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{ORIGIN}{place}</loc></url>" for place in places) + "</urlset>"


def test_sitemap_and_feed_are_joined() -> None:
    found = walk({"/": HOME, "/sitemap.xml": sitemap("/", "/a/", "/b/", "/category/x/"), "/feed": feed("/b/", "/c/")})
    assert found.ids == ["a/", "b/", "c/"]
    assert found.complete
    assert found.asked == ["/robots.txt", "/", "/sitemap.xml", "/feed"]


def test_robots_txt_is_obeyed_and_names_sitemaps() -> None:
    robots = f"User-agent: *\nDisallow: /b/\nDisallow: /feed\nCrawl-delay: 3\nSitemap: {ORIGIN}/map.txt\nSitemap: https://other.example/x.xml"
    answers = {"/robots.txt": robots, "/": HOME, "/map.txt": f"{ORIGIN}/a/\n{ORIGIN}/b/\n{ORIGIN}/b/2/\n{ORIGIN}/b/"}
    found = walk(answers)
    assert found.ids == ["a/"]
    assert found.pause == 3.0
    assert "/feed" not in found.asked
    assert "/map.txt" in found.asked
    (problem,) = found.problems
    assert "forbids this program 2 entries" in problem
    assert "obey_robots" in problem
    assert any("other.example" in note for note in found.reading.notes)
    free = walk(answers, options=ListOptions(obey_robots=False))
    assert (free.ids, free.pause, free.complete) == (["a/", "b/", "b/2/"], None, True)


def test_a_feed_with_too_many_items_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not called broken, and does not vouch for all posts, whatever it states."""
    for module in (feeds, post_list):
        monkeypatch.setattr(module, "MAX_ITEMS", 2)
    whole = '<x:complete xmlns:x="http://purl.org/syndication/history/1.0"/><item>'
    items = [{"url": f"{ORIGIN}/{name}/"} for name in "abc"]
    for text in (feed("/a/", "/b/", "/c/").replace("<item>", whole, 1), json.dumps({"version": "1.1", "items": items})):
        found = walk({"/": HOME, "/feed": text})
        assert found.ids == ["a/", "b/"]
        assert list(found.reading.notes) == ["the feed /feed has more than 2 items, and the others are left out"]
        assert found.asked[-1] == "/", "the list pages follow"


def test_a_site_that_forbids_its_home_is_not_read() -> None:
    found = walk({"/robots.txt": "User-agent: *\nDisallow: /", "/": HOME, "/feed": feed("/a/")})
    assert found.asked == ["/robots.txt"]
    assert found.items == []
    assert "obey_robots" in found.problems[0]


def test_an_index_of_sitemaps_is_followed_once() -> None:
    index = f"<sitemapindex><sitemap><loc>{ORIGIN}/sitemap.xml</loc></sitemap><sitemap><loc>/m2?y=2020&amp;m=1</loc></sitemap></sitemapindex>"
    found = walk({"/": HOME, "/sitemap.xml": index, "/m2?y=2020&m=1": sitemap("/a/"), "/feed": feed("/a/")})
    assert found.ids == ["a/"]
    assert found.asked.count("/sitemap.xml") == 1


def test_a_paged_feed_is_read_to_its_end_and_no_list_page() -> None:
    answers = {
        "/": HOME,
        "/feed": feed("/a/", "/b/", after="/feed?page=2"),
        "/feed?page=2": feed("/c/", after="/feed?page=3"),
        "/feed?page=3": feed("/d/"),
    }
    found = walk(answers)
    assert found.ids == ["a/", "b/", "c/", "d/"]
    assert found.asked[-1] == "/feed?page=3"
    assert found.complete


def test_a_feed_in_a_circle_ends() -> None:
    answers = {"/": HOME, "/feed": feed("/a/", after="/feed?p=1"), "/feed?p=1": feed("/b/", after="/feed")}
    assert walk(answers).ids == ["a/", "b/"]


def test_the_pages_of_a_wordpress_feed_are_counted() -> None:
    home = HOME.replace("<head>", '<head><meta name="generator" content="WordPress 6.7">')
    ten = [f"/p{n}/" for n in range(10)]
    answers = {"/": home, "/feed": feed(*ten), "/feed?paged=2": feed("/q/")}
    found = walk(answers)
    assert len(found.ids) == 11
    assert "/feed?paged=2" in found.asked


def test_list_pages_are_read_if_nothing_else_has_all() -> None:
    answers = {
        "/": '<h2><a href="/a/">a</a></h2><a rel="next" href="/page/2/">次</a>',
        "/page/2/": '<h2><a href="/b/">b</a></h2><a href="/page/3/">3</a><a href="/page/1/">1</a>',
        "/page/3/": '<h2><a href="/c/">c</a></h2><a href="javascript:void(0)">x</a><a href="https://other.example/page/4/">y</a>',
    }
    found = walk(answers)
    assert found.ids == ["a/", "b/", "c/"]
    assert found.complete


def test_a_calendar_without_end_is_left() -> None:
    class Calendar(dict[str, str]):
        def get(self, path: str, default: Any = None) -> Any:
            if path == "/":
                return '<h2><a href="/a/">a</a></h2><a href="/2020/01/">1</a>'
            parts = path.strip("/").split("/")
            if len(parts) == 2 and parts[0].isdecimal():
                return f'<a href="/{int(parts[0]) + 1}/01/">n</a>'
            return 404

    found = walk(Calendar())
    assert found.ids == ["a/"]
    assert len(found.asked) < 20 + MAX_BARREN_PAGES


def test_the_months_of_a_blog_show_what_is_missing() -> None:
    home = '<a href="/blog-date-202001.html">2020/01 (3)</a><a href="/blog-entry-1.html">x</a>'
    answers = {"/": home, "/blog-date-202001.html": '<a href="/blog-entry-2.html">y</a>'}
    found = walk(answers, site_paths("b.example", None, "fc2"))
    assert found.ids == ["1", "2"]
    assert "counts 3 entries, and 2 were found" in found.problems[0]


def test_no_post_at_all_is_a_problem() -> None:
    found = walk({"/": "<p>準備中</p>"})
    assert "no entry was found" in found.problems[0]


@pytest.mark.parametrize("status", [403, 404, 410, 500])
def test_a_home_page_that_is_gone_ends_the_list(status: int) -> None:
    found = walk({"/": status})
    assert found.asked == ["/robots.txt", "/"]
    assert found.problems


def test_a_blog_in_a_folder_ignores_its_neighbours() -> None:
    paths = site_paths("ameblo.jp/taro", None, "auto")
    answers = {
        "/robots.txt": "Sitemap: https://ameblo.jp/sitemap.xml\nUser-agent: *\nDisallow: /_/",
        "/taro/": "<p>ブログ</p>",
        "/taro/entrylist.html": '<a href="/taro/entry-12563456789.html">x</a><a href="/hanako/entry-12563456788.html">y</a>',
    }
    found = walk(answers, paths)
    assert found.ids == ["12563456789"]
    assert found.items[0]["url"] == "https://ameblo.jp/taro/entry-12563456789.html"
    assert "/sitemap.xml" not in found.asked


def test_a_limit_cuts_a_long_list() -> None:
    found = walk(
        {"/": HOME, "/sitemap.xml": sitemap(*(f"/p{n}/" for n in range(30)))}, options=ListOptions(max_posts=10)
    )
    assert len(found.ids) == 10
    assert "max_posts" in found.problems[0]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_an_id_leads_back_to_its_address(text: str) -> None:
    for rules in ("none", "fc2", "hatena"):
        paths = site_paths("b.example", None, rules)
        for address in (f"{ORIGIN}/{text}", f"{ORIGIN}/entry/{quote(text, safe='/')}", f"/{text}"):
            found = paths.post_at(address)
            if found is not None:
                path = paths.post_path(found)
                assert path is not None
                assert paths.post_at(ORIGIN + path) == found


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)", "https://other.example/a/", "https://b.example@evil.example/a/", "https://u:p@b.example/a/",
        "http://[::1", "mailto:a@b.example", "/wp-login.php", "/a.pdf", "/2020/01/", "/tag/x/", "#top", "", "/", "data:text/html,x", "/?m=202001", "/?y=2020&m=1",
    ],
)  # fmt: skip
def test_any_other_address_is_no_post(address: str) -> None:
    assert site_paths("b.example", None, "none").post_at(address) is None


def numbered(count: int, name: str, first: str = "/") -> dict[str, str]:
    """Return list pages of ten posts in plain lists, each one linking the next."""
    pages = {}
    for number in range(1, count // 10 + 1):
        links = "".join(f"<li><a href='/diary/{10 * number - n}.html'>記事</a></li>" for n in range(10))
        after = f"<a href='{name.format(number + 1)}'>{number + 1}</a>" if number < count // 10 else ""
        pages[first if number == 1 else name.format(number)] = f"<ul>{links}</ul>{after}"
    return pages


@pytest.mark.parametrize(
    "name",
    [
        "/index_{}.html", "/index-{}.php", "/index{}.html", "/page/{}", "/page/{}/", "/page-{}.html", "/?page={}", "/?paged={}",
        "/?pg={}", "/archives/2019-0{}.html", "/archives/20190{}.html", "/archives/2019/0{}/", "/2019/0{}/", "/date/2019/0{}",
        "/month-20190{}.html", "/archive/2019/0{}.html", "/blog-date-20190{}.html", "/blog/page/{}/",
    ],
)  # fmt: skip
def test_the_rest_of_a_blog_behind_numbers_and_months_is_followed(name: str) -> None:
    lists = numbered(30, name)
    head = '<html><head><link rel="alternate" type="application/rss+xml" href="/feed"></head><body>'
    found = walk({**lists, "/": head + lists["/"], "/feed": feed(*(f"/diary/{n}.html" for n in range(1, 11)))})
    assert sorted(found.ids) == sorted(f"diary/{n}.html" for n in range(1, 31))
    assert found.complete


@pytest.mark.parametrize(
    "text",
    [
        "次のページ",
        "Older posts",
        "過去の記事一覧",
        "›",
        "もっと見る »",
        "次へ",
        "以前の記事",
        '<img src="n.png" alt="次へ">',
    ],
)
def test_a_link_that_says_next_is_followed_wherever_it_leads(text: str) -> None:
    lists = numbered(30, "/more/x{}y")
    lists = {path: page.replace(">2<", f">{text}<").replace(">3<", f">{text}<") for path, page in lists.items()}
    found = walk({**lists, "/feed": feed(*(f"/diary/{n}.html" for n in range(1, 11)))})
    assert len(found.ids) == 30
    assert found.complete


@pytest.mark.parametrize(
    "place",
    [
        "archives/1001.html",
        "archives/12345678.html",
        "diary/?date=20200102",
        "2020/01/02/umi/",
        "page12.html",
        "p/42",
        "?m=v&eid=2",
        "index.php?m=v&eid=2",
    ],
)
def test_a_number_in_an_address_does_not_make_it_a_list(place: str) -> None:
    assert site_paths("b.example", None, "none").post_at(f"/{place}") == place


def test_list_pages_that_are_left_out_are_problems() -> None:
    lists = numbered(30, "/index_{}.html")
    items = feed(*(f"/diary/{n}.html" for n in range(1, 11)))
    broken = walk({**lists, "/index_3.html": 500, "/feed": items})
    assert "/index_3.html answered 500" in broken.problems[0]
    closed = walk({**lists, "/robots.txt": "User-agent: *\nDisallow: /index_3.html", "/feed": items})
    assert "/index_3.html" in closed.problems[0]
    empty = {f"/archives/2018-{month:02}.html": "<p>工事中</p>" for month in range(1, 13)}
    months = "".join(f"<a href='{path}'>m</a>" for path in [*empty, "/archives/2017-12.html"])
    left = walk({**lists, **empty, "/": lists["/"] + months, "/feed": items})
    assert "not followed" in left.problems[0]


def test_a_page_of_the_blog_is_no_post_because_others_are() -> None:
    found = walk({**numbered(10, "/page/{}"), "/feed": feed("/diary/1.html", "/diary/2.html"), "/about.html": "x"})
    assert "about.html" not in found.ids


@pytest.mark.parametrize("lost", [404, 410, 403, "<html><body>busy</body></html>"])
def test_a_sitemap_of_an_index_that_is_lost_is_a_problem_and_lists_are_read(lost: int | str) -> None:
    maps = "".join(f"<sitemap><loc>{ORIGIN}/s{n}.xml</loc></sitemap>" for n in (1, 2))
    urls = "".join(f"<url><loc>{ORIGIN}/diary/{n}.html</loc></url>" for n in range(21, 31))
    index = {"/sitemap.xml": f"<sitemapindex>{maps}</sitemapindex>", "/s1.xml": f"<urlset>{urls}</urlset>"}
    found = walk({**numbered(30, "/page/{}"), **index, "/s2.xml": lost})
    assert len(found.ids) == 30
    assert not found.complete
    assert any("/s2.xml" in problem for problem in found.problems)


def test_a_home_page_with_newer_posts_than_the_sitemap_is_read() -> None:
    urls = "".join(f"<url><loc>{ORIGIN}/diary/{n}.html</loc></url>" for n in range(1, 6))
    found = walk({**numbered(30, "/page/{}"), "/sitemap.xml": f"<urlset>{urls}</urlset>"})
    assert len(found.ids) == 30


@pytest.mark.parametrize("status", [403, 406])
def test_a_refused_page_of_a_feed_is_not_its_end(status: int) -> None:
    home = HOME.replace("<head>", '<head><meta name="generator" content="WordPress 6.5">', 1)
    lists = numbered(30, "/page/{}")
    newest = [f"/diary/{n}.html" for n in range(30, 10, -1)]
    answers = {**lists, "/": home + lists["/"], "/feed": feed(*newest[:10]), "/feed?paged=2": feed(*newest[10:])}
    assert len(walk({**answers, "/feed?paged=3": status}).ids) == 30
