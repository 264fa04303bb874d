"""Blogs with AtomPub are recognised by their host, their page, or the documents that it names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.exchange import Request, Response
from exporter.service.atompub.source import AtomPub
from exporter.service.discovery import HomePage, WayIn

HATENA_PAGE = (
    '<!DOCTYPE html><html lang="ja" data-admin-domain="//blog.hatena.ne.jp" data-blog="mika.hatenablog.com" '
    'data-blog-is-public="1" data-blog-name="Mika &amp; the sea" data-blog-owner="mika-s"><head><title>T</title></head>'
)
RSD = (
    b'<?xml version="1.0"?><rsd version="1.0" xmlns="http://archipelago.phrasewise.com/rsd"><service><apis>'
    b'<api name="WordPress" apiLink="https://blog.example/xmlrpc.php"/>'
    b'<api name="Atom" blogID="" preferred="false" apiLink="https://blog.example/app/service"/>'
    b"</apis></service></rsd>"
)


def explored(home: HomePage, *answers: Response | None) -> tuple[WayIn | None, list[Request]]:
    exploration = AtomPub.explore(home)
    asked: list[Request] = []
    if exploration is None:
        return None, asked
    waiting = list(answers)
    try:
        request = next(exploration)
        while True:
            asked.append(request)
            request = exploration.send(waiting.pop(0) if waiting else None)
    except StopIteration as end:
        return end.value, asked


@pytest.mark.parametrize("url", ["https://mika.hatenablog.com/", "https://www.mika.example/"])
def test_a_page_of_hatena_names_the_blog_and_its_owner(url: str) -> None:
    way, asked = explored(HomePage(url, {}, HATENA_PAGE))
    assert way is not None
    assert (way.service, way.base_url, way.blog_id) == (
        "atompub",
        "https://blog.hatena.ne.jp",
        "mika.hatenablog.com",
    )
    assert way.settings == {"profile": "hatena", "atompub_owner": "mika-s"}
    assert (way.title, asked) == ("Mika & the sea", [])
    assert any("needs a sign-in" in lack for lack in way.lacks)
    assert any("no comments" in lack for lack in way.lacks)
    assert way.rank > 30


@pytest.mark.parametrize(
    "host", ["a.hatenablog.com", "a.hatenablog.jp", "a.hateblo.jp", "a.hatenadiary.com", "a.hatenadiary.jp",
             "a.hatenadiary.org"],
)  # fmt: skip
def test_every_host_of_hatena_is_known(host: str) -> None:
    html = '<html><head><link rel="author" href="http://www.hatena.ne.jp/naoya-2/"></head>'
    way, _ = explored(HomePage(f"https://{host}/", {}, html))
    assert way is not None
    assert (way.blog_id, way.settings["atompub_owner"]) == (host, "naoya-2")


def test_a_blog_for_members_stays_private() -> None:
    way, _ = explored(HomePage("https://a.hatenablog.com/", {}, HATENA_PAGE.replace('public="1"', 'public="0"')))
    assert way is not None
    assert way.settings["atompub_audience"] == "members"


@pytest.mark.parametrize(
    ("url", "blog_id", "name"),
    [
        ("https://mika.livedoor.blog/", "mika.livedoor.blog", None),
        ("http://blog.livedoor.jp/mika_s/archives/1.html", "blog.livedoor.jp", "mika_s"),
    ],
)
def test_a_blog_of_livedoor_is_known_by_its_host(url: str, blog_id: str, name: str | None) -> None:
    way, _ = explored(HomePage(url))
    assert way is not None
    assert (way.base_url, way.blog_id, way.settings.get("atompub_name")) == (
        "https://livedoor.blogcms.jp",
        blog_id,
        name,
    )
    assert any("20 newest" in lack for lack in way.lacks)


def test_a_link_to_the_service_document_is_used() -> None:
    html = '<link rel="service" type="application/atomsvc+xml" href="/app"><title>Blog</title>'
    way, asked = explored(HomePage("https://blog.example/x/", {}, html))
    assert way is not None
    assert (way.base_url, way.blog_id, way.title, asked) == ("https://blog.example/app", "blog.example", "Blog", [])


def test_really_simple_discovery_names_the_interface() -> None:
    html = '<link rel="EditURI" type="application/rsd+xml" href="https://blog.example/xmlrpc.php?rsd">'
    way, asked = explored(HomePage("https://blog.example/", {}, html), Response(200, {}, RSD))
    assert [(request.path, request.params) for request in asked] == [("/xmlrpc.php", {"rsd": ""})]
    assert way is not None
    assert way.base_url == "https://blog.example/app/service"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Response(404, {}, RSD),
        Response(200, {}, b"<html>"),
        Response(200, {}, b""),
        Response(200, {}, RSD.replace(b'"Atom"', b'"MetaWeblog"')),
        Response(200, {}, RSD.replace(b"https://blog.example/app", b"javascript:alert(1)")),
        Response(200, {}, RSD.replace(b"https://blog.example/app", b"https://mika:pw@blog.example/app")),
    ],
)
def test_a_discovery_without_an_interface_finds_nothing(answer: Response | None) -> None:
    html = '<link rel="EditURI" href="/rsd.xml">'
    assert explored(HomePage("https://blog.example/", {}, html), answer)[0] is None


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<html><body>Hello</body></html>",
        '<html data-blog="evil.example" data-blog-owner="x">',
        '<link rel="EditURI" href="https://elsewhere.example/rsd.xml">',
        '<link rel="service" type="text/html" href="/services">',
        '<link rel="service" href="http://[::1">',
    ],
)
def test_other_pages_have_no_such_way(html: str) -> None:
    assert explored(HomePage("https://blog.example/", {}, html))[0] is None


@pytest.mark.parametrize("examples", [30, pytest.param(100, marks=pytest.mark.thorough)])
def test_no_page_and_no_answer_raises(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.text(max_size=300), st.binary(max_size=200))
    def check(html: str, body: bytes) -> None:
        for page in (html, f'<html data-blog="a.hatenablog.com" {html}', f'<link rel="EditURI" href="/{html}">'):
            explored(HomePage("https://blog.example/", {}, page), Response(200, {}, body))

    check()
