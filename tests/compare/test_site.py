"""A site is read through its sitemap or feed and its pages, even malformed ones, and no other host is contacted."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from exporter.compare.posts import Aspect, Fault, Picture, Scope
from exporter.compare.reconcile import Comparison
from exporter.errors import ServiceError
from exporter.http.engine import Engine
from exporter.library.compare import Arrivals, compare, open_home
from exporter.settings import Settings
from tests.compare.posts import TEXT, THEN, left_open, old, old_comment
from tests.http.service import Service, running_service

PLAIN = Settings(retries=0, allow_private_network=True)


class StaticSite:
    """A site whose files are in memory."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.files: dict[str, str | bytes] = {}
        self.moved: dict[str, str] = {}
        self.broken: set[str] = set()
        service.handler = self.answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path in self.broken:
            return web.Response(status=500)
        if request.path in self.moved:
            return web.Response(status=302, headers={"Location": self.moved[request.path]})
        content = self.files.get(request.path)
        if content is None:
            return web.Response(status=404, text="<p>nothing", content_type="text/html")
        body = content if isinstance(content, bytes) else content.encode()
        return web.Response(body=body, content_type="application/xml" if request.path.endswith("xml") else "text/html")

    def post(self, number: int, *, text: str = "", comments: str = "") -> str:
        """Add a page and return its address."""
        date = (THEN.replace(day=THEN.day + number)).isoformat()
        path = f"/posts/entry-{number}/"
        self.files[path] = (
            f'<title>題{number} | 家</title><article><time datetime="{date}">その日</time><a rel="tag">日記</a>'
            f'<div class="entry-content">{text or f"{TEXT}その{number}"}</div></article>{comments}'
        )
        return self.service.url + path

    def sitemap(self, *addresses: str, path: str = "/sitemap.xml", kind: str = "urlset", head: str = "") -> None:
        """Add a sitemap."""
        entries = "".join(f"<url><loc>{each}</loc></url>" for each in addresses)
        self.files[path] = f'<?xml version="1.0"?>{head}<{kind}>{entries}</{kind}>'


@pytest.fixture
async def site() -> AsyncIterator[StaticSite]:
    async with running_service() as service:
        yield StaticSite(service)


async def compared(
    site: StaticSite, count: int = 3, *, place: str = "", settings: Settings = PLAIN, comments: bool = False
) -> Comparison:
    olds = [
        old(number, comments=(old_comment(text=f"いいですね{number}"),) if comments else ())
        for number in range(1, count + 1)
    ]
    async with Engine() as engine, open_home(site.service.url + place, settings, engine=engine) as home:
        found = await compare(home, Arrivals(olds, frozenset(), {}), Scope())
        assert found.kind == "site"
        return found.comparison


def faults(found: Comparison) -> list[Fault]:
    return [each.change for result in found.results for each in result.differences]


async def test_the_pages_of_a_sitemap_are_compared(site: StaticSite) -> None:
    site.sitemap(*(site.post(number) for number in range(1, 4)), f"{site.service.url}/about/")
    site.files["/about/"] = "<title>この日記について</title><p>書いている人"
    found = await compared(site)
    assert (faults(found), found.whole, list(found.extra)) == ([], True, [])


async def test_missing_and_cut_posts_are_named_and_an_unknown_post_is_extra(site: StaticSite) -> None:
    site.sitemap(site.post(1), site.post(2, text=TEXT[:20]), site.post(9, text="まったく新しい話をここに書きました。"))
    found = await compared(site)
    assert faults(found) == [Fault.TEXT, Fault.MISSING]
    assert [post.titles[0] for post in found.extra] == ["題9 | 家"]


@pytest.mark.parametrize("kind", ["index", "robots", "named", "wordpress"])
async def test_sitemaps_are_found_in_the_usual_places(site: StaticSite, kind: str) -> None:
    addresses = [site.post(number) for number in range(1, 4)]
    place = ""
    if kind == "index":
        site.sitemap(f"{site.service.url}/one.xml", f"{site.service.url}/two.xml", kind="sitemapindex")
        site.sitemap(*addresses[:2], path="/one.xml")
        site.sitemap(*addresses[2:], path="/two.xml")
    elif kind == "robots":
        site.files["/robots.txt"] = "User-agent: *\nSitemap: /maps/all.xml\n"
        site.sitemap(*addresses, path="/maps/all.xml")
    elif kind == "named":
        site.sitemap(*addresses, path="/other.xml")
        place = "/other.xml"
    else:
        site.sitemap(*addresses, path="/wp-sitemap.xml")
    assert faults(await compared(site, place=place)) == []


FEED = '<?xml version="1.0"?><rss><channel><link>{url}/</link>{items}</channel></rss>'


async def test_a_feed_alone_is_not_taken_for_a_complete_list(site: StaticSite) -> None:
    items = "".join(f"<item><link>{site.post(number)}</link></item>" for number in (2, 3))
    site.files["/news.xml"] = FEED.format(url=site.service.url, items=items)
    site.files["/"] = '<link rel="alternate" type="application/rss+xml" href="/news.xml">'
    found = await compared(site)
    assert faults(found) == []
    assert not found.whole
    assert [(each.aspect, each.count) for each in left_open(found)] == [(Aspect.TEXT, 1)]
    assert "may list the newest entries only" in left_open(found)[0].why


async def test_atom_is_also_a_feed(site: StaticSite) -> None:
    entries = "".join(f'<entry><link rel="alternate" href="{site.post(number)}"/></entry>' for number in range(1, 4))
    site.files["/atom.xml"] = f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'
    assert faults(await compared(site)) == []


async def test_comments_are_compared_if_pages_show_some(site: StaticSite) -> None:
    site.sitemap(
        site.post(1, comments="<p>umi いいですね1</p>"), site.post(2), site.post(3, comments="umi: いいですね3")
    )
    assert faults(await compared(site, comments=True)) == [Fault.COMMENT_MISSING]
    for number in (1, 3):
        site.post(number)
    found = await compared(site, comments=True)
    assert faults(found) == []
    assert [(each.aspect, each.count, each.asked) for each in left_open(found)] == [(Aspect.COMMENTS, 3, True)]


async def test_without_sitemap_and_feed_no_post_is_reported_as_missing(site: StaticSite) -> None:
    with pytest.raises(ServiceError, match="has neither a sitemap nor a feed"):
        await compared(site)


async def test_a_site_built_for_another_host_is_reported(site: StaticSite) -> None:
    site.post(1)
    site.sitemap("https://example.org/posts/entry-1/")
    with pytest.raises(ServiceError, match=r"lists no page on its own host\. Is it built for another"):
        await compared(site)


async def test_an_xml_bomb_expands_to_nothing(site: StaticSite) -> None:
    bomb = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 20))
    site.sitemap("&a19;", *(site.post(number) for number in range(1, 4)), head=f'<!DOCTYPE x [<!ENTITY a0 "x">{bomb}]>')
    assert faults(await compared(site)) == []


async def test_sitemaps_that_lead_to_each_other_or_elsewhere_end(site: StaticSite) -> None:
    url = site.service.url
    site.sitemap(f"{url}/sitemap.xml", f"{url}/b.xml", "https://elsewhere.invalid/c.xml", kind="sitemapindex")
    site.sitemap(f"{url}/sitemap.xml", f"{url}/b.xml", f"{url}/pages.xml", path="/b.xml", kind="sitemapindex")
    site.sitemap(
        "https://elsewhere.invalid/x/", "ftp://x/", "", *(site.post(n) for n in range(1, 4)), path="/pages.xml"
    )
    assert faults(await compared(site)) == []


async def test_no_redirect_leads_to_another_host(site: StaticSite) -> None:
    async with running_service() as private:
        site.sitemap(site.post(1), site.post(2), f"{site.service.url}/secret/")
        site.moved["/secret/"] = f"{private.url}/inside/"
        found = await compared(site, 2)
        assert private.seen == []
        assert faults(found) == []
        assert [each.aspect for each in left_open(found)] == [Aspect.TEXT]
        assert "redirects to another origin" in left_open(found)[0].why


async def test_pages_that_cannot_be_read_are_named(site: StaticSite) -> None:
    site.sitemap(site.post(1), *(f"{site.service.url}/{name}/" for name in ("gone", "broken", "deep")))
    site.broken.add("/broken/")
    site.files["/deep/"] = "<p>" * 200_000
    found = await compared(site, 1)
    assert {each.why.partition(":")[2].strip()[:12] for each in left_open(found)} == {
        "listed but m", "a page answe", "too large or",
    }  # fmt: skip
    assert not found.whole


async def test_pages_in_other_encodings_are_read(site: StaticSite) -> None:
    address = site.post(1)
    site.sitemap(address, site.post(2))
    first, second = site.files["/posts/entry-1/"], site.files["/posts/entry-2/"]
    assert isinstance(first, str)
    assert isinstance(second, str)
    site.files["/posts/entry-1/"] = f'<meta charset="Shift_JIS">{first}'.encode("shift_jis")
    site.files["/posts/entry-2/"] = f'<meta charset="no-such">{second}'
    assert faults(await compared(site, 2)) == []


async def test_pictures_of_private_addresses_are_not_asked(site: StaticSite) -> None:
    site.sitemap(site.post(1, text=f'{TEXT}その1<img src="/a.png">'))
    olds = [old(1, pictures=(Picture("https://files.example.jp/a", "0" * 64, 4, 6, "a.png"),))]
    for allowed in (False, True):
        settings = Settings(retries=0, allow_private_network=allowed)
        async with Engine() as engine, open_home(site.service.url, settings, engine=engine) as home:
            found = (await compare(home, Arrivals(olds, frozenset(), {}), Scope())).comparison
        asked = [request.path for request in site.service.seen].count("/a.png")
        assert asked == allowed
        if allowed:
            assert faults(found) == [Fault.PICTURE_MISSING]
        else:
            assert [each.aspect for each in left_open(found)] == [Aspect.PICTURES]
            assert "--allow-private-network" in left_open(found)[0].why


async def test_a_compressed_bomb_is_refused(site: StaticSite) -> None:
    site.sitemap(site.post(1), f"{site.service.url}/bomb/")
    plain = site.answer

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path != "/bomb/":
            return await plain(request)
        body = gzip.compress(bytes(80_000_000))
        return web.Response(body=body, headers={"Content-Encoding": "gzip"}, content_type="text/html")

    site.service.handler = answer
    found = await compared(site, 1)
    assert ["has more than" in each.why for each in left_open(found)] == [True]
