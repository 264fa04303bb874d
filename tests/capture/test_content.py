"""The references in feeds, sitemaps, manifests and anything else that a server may send."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.capture.content import is_read, read_references
from exporter.html.page_references import ReferenceRole

BLOG = "https://blog.example"
TYPES = [
    "", "text/html", "application/xhtml+xml", "text/css", "image/svg+xml", "application/xml", "text/xml", "text/plain",
    "application/rss+xml", "application/atom+xml", "application/feed+json", "application/manifest+json",
    "application/gzip",
]  # fmt: skip
PATHS = ["/", "/robots.txt", "/sitemap.xml", "/sitemap.xml.gz", "/sitemap.txt", "/m.webmanifest", "/a.css"]


def test_a_feed_names_its_items_its_next_page_and_its_style() -> None:
    feed = (
        b'<?xml version="1.0"?><?xml-stylesheet href="/feed.xsl"?><feed xmlns="http://www.w3.org/2005/Atom">'
        b'<link rel="next" href="?page=2"/><entry><link href="/a"/></entry></feed>'
    )
    found = read_references(feed, "application/atom+xml", "application/atom+xml", f"{BLOG}/feed").found
    assert found == {
        f"{BLOG}/feed.xsl": ReferenceRole.SHEET,
        f"{BLOG}/a": ReferenceRole.LINK,
        f"{BLOG}/feed?page=2": ReferenceRole.LINK,
    }


@pytest.mark.parametrize("packed", [True, False])
def test_a_sitemap_names_pages(packed: bool) -> None:
    text = b"<urlset><url><loc>https://blog.example/a</loc></url></urlset>"
    body = gzip.compress(text) if packed else text
    found = read_references(body, "application/xml", "application/xml", f"{BLOG}/sitemap.xml{'.gz' * packed}")
    assert found.found == {f"{BLOG}/a": ReferenceRole.LINK}


def test_an_index_names_maps() -> None:
    text = b"<sitemapindex><sitemap><loc>https://blog.example/1.xml</loc></sitemap></sitemapindex>"
    assert read_references(text, "text/xml", "text/xml", f"{BLOG}/sitemap.xml").maps == [f"{BLOG}/1.xml"]


def test_a_manifest_names_icons() -> None:
    text = b'{"icons": [{"src": "i.png"}, {"src": 5}, 7], "start_url": "/"}'
    found = read_references(text, "application/manifest+json", "", f"{BLOG}/m/site.json").found
    assert found == {f"{BLOG}/m/i.png": ReferenceRole.PART}


def test_a_page_in_shift_jis_is_read_in_its_encoding() -> None:
    page = '<meta charset="shift_jis"><title>日記</title><a href="?q=表">x</a>'.encode("cp932")
    found = read_references(page, "text/html", "text/html", f"{BLOG}/")
    assert (found.title, found.is_page, list(found.found)) == ("日記", True, [f"{BLOG}/?q=%95\\"])


def test_pictures_and_scripts_are_not_decoded() -> None:
    assert not is_read("image/png", f"{BLOG}/a.png")
    assert not is_read("application/javascript", f"{BLOG}/a.js")
    assert is_read("text/html", f"{BLOG}/")


@given(st.binary(max_size=400), st.sampled_from(TYPES), st.sampled_from(PATHS))
def test_any_bytes_give_references(body: bytes, media_type: str, path: str) -> None:
    for url in read_references(body, media_type, media_type, BLOG + path).found:
        assert url.startswith(("http://", "https://"))


PARTS = st.sampled_from(
    [b"<urlset>", b"<url>", b"<loc>", b"http://a", b"</loc>", b"<rss>", b"<item>", b"<link>", b"<feed>", b"<entry>", b"&#x;",
     b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"&a;", b'<?xml version="1.0" encoding="utf-7"?>', b"<svg>", b"{", b'"icons"', b"[", b"\xff\xfe",
     b"\x1f\x8b", b"<html>", b"<a href=//[>", b"<base href='http://[::'>", b"<a href=http://a:9999999999>", b"\x00", b"<a href=//\xe3\x81\x82..>"]
)  # fmt: skip


@given(st.lists(PARTS, max_size=30), st.sampled_from(TYPES), st.sampled_from(PATHS))
@example([b'<?xml version="1.0" encoding="utf-7"?>'] * 2 + [b"<urlset>"], "", "/")
@example([b"<?xml version='1.0'?><?xml-stylesheet href='a' encoding='x'?><urlset>"], "", "/")
def test_broken_documents_give_references(parts: list[bytes], media_type: str, path: str) -> None:
    read_references(b"".join(parts), media_type, media_type, BLOG + path)
