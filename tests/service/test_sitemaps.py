"""Sitemaps: XML, indexes, gzip, text, and times of change that mean nothing."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.service.public_site.sitemaps import MAX_ADDRESSES, NoSitemap, Sitemap, read_sitemap

HEAD = '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def sitemap(*pages: tuple[str, str]) -> bytes:
    urls = "".join(f"<url><loc> {place} </loc><lastmod>{lastmod}</lastmod></url>" for place, lastmod in pages)
    return f"{HEAD}{urls}</urlset>".encode()


PAGES = [(f"https://b.example/{number}", f"2020-01-{number:02d}T07:08:09+09:00") for number in range(1, 21)]


def test_a_sitemap_is_read() -> None:
    assert read_sitemap(sitemap(*PAGES)).pages == PAGES


def test_a_packed_sitemap_is_read() -> None:
    assert read_sitemap(gzip.compress(sitemap(*PAGES))).pages == PAGES


def test_a_cut_one_is_named() -> None:
    found = read_sitemap(gzip.compress(sitemap(*PAGES))[:-30])
    assert found.problem
    assert read_sitemap(sitemap(*PAGES)[:-60]).problem


def test_an_index_is_read() -> None:
    index = (
        b"<sitemapindex><sitemap><loc>https://b.example/a.xml</loc></sitemap><sitemap><loc/></sitemap></sitemapindex>"
    )
    assert read_sitemap(index).maps == ["https://b.example/a.xml"]


def test_a_text_is_read() -> None:
    assert read_sitemap(b"https://b.example/1\nhttps://b.example/2\n").pages == [
        ("https://b.example/1", ""),
        ("https://b.example/2", ""),
    ]


def test_a_time_that_most_pages_share_is_that_of_the_sitemap() -> None:
    shared = [(place, "2026-11-26T02:00:00+09:00") for place, _ in PAGES]
    assert {lastmod for _, lastmod in read_sitemap(sitemap(*shared)).pages} == {""}
    some = [*shared[:4], *PAGES[4:]]
    assert read_sitemap(sitemap(*some)).pages == some


def test_a_bomb_and_too_many_addresses_are_refused() -> None:
    with pytest.raises(NoSitemap, match="expands"):
        read_sitemap(gzip.compress(bytes(60 * 1024 * 1024)))
    found = read_sitemap("\n".join(f"https://b.example/{n}" for n in range(MAX_ADDRESSES + 1)).encode())
    assert len(found.pages) == MAX_ADDRESSES
    assert found.problem


@pytest.mark.parametrize(
    "body",
    [b"", b"<html></html>", b"\x1f\x8bxx", b"not an address\n", b"<rss/>"],
)
def test_anything_else_is_no_sitemap(body: bytes) -> None:
    with pytest.raises(NoSitemap):
        read_sitemap(body)


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_else(body: bytes) -> None:
    for whole in (body, b"<urlset>" + body + b"</urlset>", b"\x1f\x8b" + body):
        try:
            assert isinstance(read_sitemap(whole), Sitemap)
        except NoSitemap:
            continue
