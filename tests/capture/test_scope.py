"""The scope decides which addresses are pages of the blog, files that they need, or left out, and says why."""

from __future__ import annotations

import pytest

from exporter.capture.scope import MAX_QUERIES_OF_A_FORM, REASONS, AddressKind, CaptureScope, LeftOut, WantedAddress
from exporter.html.page_references import ReferenceRole

BLOG = CaptureScope("https://www.blog.example/", 2026)
SHARED = CaptureScope("https://host.example/user/", 2026)


def decision(path: str) -> object:
    """Return the path of a page, the reason to leave it out, or ``None``."""
    found = BLOG.link(f"https://www.blog.example{path}")
    return found.url.removeprefix("https://www.blog.example") if isinstance(found, WantedAddress) else found


@pytest.mark.parametrize(
    "path",
    [
        "/", "/Entry/5/", "/Page/2/", "/Category/3/2/", "/Date/201603/", "/Date/201603/2/", "/2014/", "/2014/05/06/",
        "/2014/05/06/title/", "/archives/123.html", "/9999", "/entry/2031", "/archives/51239912", "/1234", "/?p=12", "/?eid=5", "/?page=2", "/index.rdf",
        "/tag/%E6%B5%B7/", "/blog/login-tips/", "/category/print/", "/feed/", "/a.pdf",
    ],
)  # fmt: skip
def test_pages_of_the_blog_are_asked(path: str) -> None:
    if path == "/category/print/":
        assert decision(path) is LeftOut.SHARE  # a category of this name is the price of leaving out print views
        return
    assert decision(path) == path


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/wp-login.php?redirect_to=x", LeftOut.SIGN_IN),
        ("/admin/entry/new", LeftOut.SIGN_IN),
        ("/wp-json/wp/v2/posts/1", LeftOut.PROGRAM),
        ("/2014/05/post/trackback/", LeftOut.PROGRAM),
        ("/2014/05/post/feed/", LeftOut.COMMENT_FEED),
        ("/Entry/5/?replytocom=7", LeftOut.REPLY),
        ("/Entry/5/?reply=7", LeftOut.REPLY),
        ("/Entry/5/?share=twitter&nb=1", LeftOut.SHARE),
        ("/share?url=x", LeftOut.SHARE),
        ("/?s=word", LeftOut.SEARCH),
        ("/search/word/", LeftOut.SEARCH),
        ("/list?orderby=date", LeftOut.ORDER),
        ("/?PHPSESSID=abc", LeftOut.SESSION),
        ("/Calendar/209901/", LeftOut.ENDLESS),
        ("/Calendar/190001/", LeftOut.ENDLESS),
        ("/2031/05/", LeftOut.ENDLESS),
        ("/a/b/a/b/a/b/a/b/", LeftOut.ENDLESS),
        ("/" + "x/" * 40, LeftOut.ENDLESS),
        ("/?a=" + "x" * 3_000, LeftOut.ENDLESS),
    ],
)
def test_traps_and_actions_are_left_out(path: str, reason: LeftOut) -> None:
    assert decision(path) is reason


def test_www_and_scheme_are_one() -> None:
    for address in ("http://blog.example/x", "https://blog.example/x", "http://www.blog.example/x?utm_source=feed"):
        assert BLOG.link(address) == WantedAddress("https://www.blog.example/x", AddressKind.PAGE)
    assert BLOG.link("https://blog.example:8443/x") is None


def test_other_sites_and_other_blogs_of_the_host_are_no_pages() -> None:
    assert BLOG.link("https://other.example/") is None
    assert SHARED.link("https://host.example/someone/") is LeftOut.OTHER_BLOG
    assert SHARED.link("https://host.example/user") == WantedAddress("https://host.example/user", AddressKind.PAGE)
    assert SHARED.description == ["https://host.example/user/"]


def test_linked_pictures_and_files_of_any_host_are_requisites() -> None:
    assert BLOG.link("https://files.example/a.JPG") == WantedAddress(
        "https://files.example/a.JPG", AddressKind.REQUISITE
    )
    assert BLOG.requisite("http://blog.example/s.css") == WantedAddress(
        "https://www.blog.example/s.css", AddressKind.REQUISITE
    )
    skipping = CaptureScope("https://blog.example/", 2026, skipped_hosts=frozenset({"ads.example"}))
    assert skipping.requisite("https://ads.example/a.js") is LeftOut.SKIPPED_HOST
    assert BLOG.requisite("https://files.example/a.css", steps=99) is LeftOut.TOO_DEEP


def test_links_of_files_and_feeds_of_pages_are_not_followed() -> None:
    page = "https://www.blog.example/x"
    assert BLOG.reference(page, ReferenceRole.LINK, steps=1) is None
    assert BLOG.reference(page, ReferenceRole.FEED, steps=0) is LeftOut.COMMENT_FEED
    assert BLOG.reference(page, ReferenceRole.FEED, steps=0, of_home=True) == WantedAddress(page, AddressKind.PAGE)
    assert BLOG.reference(page, ReferenceRole.FRAME, steps=0) == WantedAddress(page, AddressKind.PAGE)
    assert BLOG.reference("https://video.example/e", ReferenceRole.FRAME, steps=0) == WantedAddress(
        "https://video.example/e", AddressKind.REQUISITE
    )


def test_a_form_without_end_is_cut() -> None:
    scope = CaptureScope("https://blog.example/", 2026)
    kept = sum(scope.count(f"https://blog.example/cal?day={n}&view=x") is None for n in range(2_000))
    assert kept == MAX_QUERIES_OF_A_FORM
    assert all(scope.count(f"https://blog.example/?p={n}") is None for n in range(2_000))
    assert all(scope.count(f"https://blog.example/archives/{n}.html") is None for n in range(5_000))
    assert all(scope.count(f"https://blog.example/archives/{n}.html") is None for n in range(51_200_000, 51_205_000))


def test_a_home_page_that_moved_keeps_its_first_host() -> None:
    scope = CaptureScope("http://old.example/", 2026).moved_to("https://new.example/")
    assert scope.own("http://old.example/a") == scope.own("https://new.example/a") == "https://new.example/a"
    assert scope.description == ["https://new.example/", "https://old.example/"]


def test_each_reason_has_words() -> None:
    assert set(REASONS) == set(LeftOut)
