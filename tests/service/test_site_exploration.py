"""Exploring an address as a public blog, with plain responses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from exporter.model.exchange import Response
from exporter.service.discovery import MAX_REQUESTS, HomePage, WayIn
from exporter.service.public_site.source import PublicSite


def explore(url: str, html: str, answers: Mapping[str, str | int]) -> tuple[WayIn | None, list[str]]:
    found, asked = explored(url, html, answers)
    return found if isinstance(found, WayIn) else None, asked


def explored(url: str, html: str, answers: Mapping[str, str | int]) -> tuple[WayIn | str | None, list[str]]:
    steps = PublicSite.explore(HomePage(url, {}, html))
    asked: list[str] = []
    if steps is None:
        return None, asked
    answer: Response | None = None
    try:
        request = next(steps)
        while True:
            path = request.path + (f"?{request.query}" if request.query else "")
            asked.append(path)
            found = answers.get(path)
            answer = (
                None
                if found is None
                else Response(found, {}, b"")
                if isinstance(found, int)
                else Response(200, {}, found.encode())
            )
            request = steps.send(answer)
    except StopIteration as end:
        value: WayIn | str | None = end.value
        return value, asked


def test_a_hatena_blog_with_its_own_domain_is_found() -> None:
    index = "<sitemapindex><sitemap><loc>https://b.example/s1?y=1</loc></sitemap></sitemapindex>"
    urls = "".join(f"<url><loc>https://b.example/entry/2020/01/{day:02d}/000000</loc></url>" for day in range(1, 28))
    way, asked = explore(
        "https://b.example/",
        '<html><head><title>日記</title><meta name="generator" content="Hatena Blog"></head></html>',
        {
            "/sitemap_index.xml": index,
            "/s1?y=1": f"<urlset>{urls}</urlset>",
            "/feed": "<feed xmlns='http://www.w3.org/2005/Atom'><title>太郎の日記</title></feed>",
        },
    )
    assert way is not None
    assert (way.service, way.base_url, way.blog_id, way.title) == (
        "public-site",
        "https://b.example",
        "b.example",
        "太郎の日記",
    )
    assert (way.counts, way.rank, way.settings) == ({"posts": 27}, 30, {"page_rules": "hatena"})
    assert "drafts" in way.lacks[0]
    assert len(asked) <= MAX_REQUESTS


def test_a_blog_on_a_host_of_many_is_its_folder() -> None:
    way, _ = explore("https://ameblo.jp/taro/entry-12563456789.html", "<html></html>", {})
    assert way is not None
    assert (way.base_url, way.blog_id, way.settings) == ("https://ameblo.jp", "ameblo.jp/taro", {})
    assert any("comments" in each for each in way.lacks)


def test_a_page_without_feed_and_sitemap_is_no_blog() -> None:
    way, asked = explore("https://shop.example/", "<html><p>いらっしゃいませ</p></html>", {})
    assert way is None
    assert len(asked) <= MAX_REQUESTS


def test_a_site_that_forbids_programs_is_no_way_in() -> None:
    for robots in ("User-agent: *\nDisallow: /", 500, 503):
        why, asked = explored("https://b.example/", "<html></html>", {"/robots.txt": robots})
        assert asked == ["/robots.txt"]
        assert isinstance(why, str)
        assert why.startswith("https://b.example/robots.txt ")
        assert "--obey-robots no" in why


@pytest.mark.parametrize("url", ["ftp://b.example/", "https://", "http://[", "javascript:x"])
def test_other_addresses_are_not_explored(url: str) -> None:
    assert PublicSite.explore(HomePage(url, {}, "<html></html>")) is None
    assert PublicSite.explore(HomePage("https://b.example/", {}, "")) is None
