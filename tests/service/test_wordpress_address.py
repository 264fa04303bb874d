"""A WordPress is found at a pasted address."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from exporter.model.exchange import Request, Response
from exporter.service.discovery import MAX_REQUESTS, HomePage, WayIn
from exporter.service.wordpress.source import WordPressService

INDEX = {"name": "海 &amp; 空", "home": "https://sea.example/blog", "namespaces": ["oembed/1.0", "wp/v2"]}
TOTALS = {"posts": "273", "pages": "12", "comments": "1204", "media": "80"}


def api(root: str, index: Mapping[str, object] = INDEX, status: int = 200) -> Mapping[str, Response]:
    """The answers of an API below a path."""
    answers = {root: Response(status, {}, json.dumps(index).encode())}
    for name, total in TOTALS.items():
        answers[f"{root.rstrip('/')}/wp/v2/{name}"] = Response(200, {"x-wp-total": total}, b"[]")
    return answers


def place(request: Request) -> str:
    route = request.params.get("rest_route")
    return request.path if route is None else f"{request.path}?rest_route={route}"


def found(home: HomePage, answers: Mapping[str, Response]) -> tuple[WayIn | None, list[str]]:
    exploration = WordPressService.explore(home)
    assert exploration is not None
    asked: list[str] = []
    try:
        request = next(exploration)
        while len(asked) <= MAX_REQUESTS:
            asked.append(place(request))
            assert request.path.startswith("/")
            request = exploration.send(answers.get(asked[-1], Response(404, {}, b"<html>")))
    except StopIteration as done:
        return done.value, asked
    raise AssertionError(f"too many requests: {asked}")


@pytest.mark.parametrize(
    "home",
    [
        HomePage(
            "https://sea.example/blog/", {"link": '<https://sea.example/blog/wp-json/>; rel="https://api.w.org/"'}
        ),
        HomePage(
            "https://sea.example/blog/2020/a-post/",
            {"link": '<https://s.example/x>; rel=shortlink, </blog/wp-json/>; rel="https://api.w.org/"'},
        ),
        HomePage(
            "https://sea.example/blog/a/", html="<head><link rel='https://api.w.org/' href='/blog/wp-json/' /></head>"
        ),
        HomePage("https://sea.example/blog/"),
    ],
)
def test_a_blog_in_a_folder(home: HomePage) -> None:
    way, _ = found(home, api("/blog/wp-json/"))
    assert way is not None
    assert (way.service, way.base_url, way.blog_id) == (
        "wordpress", "https://sea.example/blog/wp-json/wp/v2", "sea.example/blog",
    )  # fmt: skip
    assert (way.title, way.counts) == ("海 & 空", {"posts": 273, "pages": 12, "comments": 1204, "pictures": 80})
    assert way.rank == 20
    assert any("drafts" in lack for lack in way.lacks)


def test_a_blog_without_pretty_permalinks() -> None:
    answers = {"/?rest_route=/": Response(200, {}, json.dumps({**INDEX, "home": "https://sea.example"}).encode())}
    answers |= {
        f"/?rest_route=/wp/v2/{name}": Response(200, {"x-wp-total": total}, b"[]") for name, total in TOTALS.items()
    }
    header = {"link": '<https://sea.example/index.php?rest_route=/>; rel="https://api.w.org/"'}
    for home in (HomePage("https://sea.example/", header), HomePage("https://sea.example/")):
        way, _ = found(home, answers)
        assert way is not None
        assert (way.base_url, way.settings, way.blog_id) == (
            "https://sea.example",
            {"rest_route": "yes"},
            "sea.example",
        )
        assert way.counts["posts"] == 273


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"<br />\n<b>Notice</b>:  Undefined index: [foo] in <b>x.php</b> on line <b>3</b><br />\n", b""),
        (b"\xef\xbb\xbf\n", b"\n<!-- Cached {page} -->"),
    ],
)
def test_a_blog_with_bytes_around_its_json(before: bytes, after: bytes) -> None:
    answers = {
        path: Response(answer.status, answer.headers, before + answer.body + after)
        for path, answer in api("/wp-json/").items()
    }
    way, _ = found(HomePage("https://sea.example/"), answers)
    assert way is not None
    assert way.title == "海 & 空"


def test_a_closed_api_is_the_last_choice() -> None:
    closed = {"code": "rest_cannot_access", "message": "Only for members."}
    way, _ = found(HomePage("https://sea.example/"), api("/wp-json/", closed, 401))
    assert way is not None
    assert way.rank > 30
    assert way.counts == {}
    assert "sign in" in way.lacks[0]


def test_a_blog_at_wordpress_com() -> None:
    header = {"link": '<https://public-api.wordpress.com/wp/v2/sites/sea.example/>; rel="https://api.w.org/"'}
    for home, name in (
        (HomePage("https://sea.example/", header), "sea.example"),
        (HomePage("https://sea.wordpress.com/"), "sea.wordpress.com"),
    ):
        way, _ = found(home, {})
        assert way is not None
        assert (way.blog_id, way.base_url) == (name, f"https://public-api.wordpress.com/wp/v2/sites/{name}")


@pytest.mark.parametrize(
    "home",
    [
        HomePage("https://sea.example/"),
        HomePage("https://sea.example/", {"link": '<https://evil.example/wp-json/>; rel="https://api.w.org/"'}),
        HomePage("https://sea.example/", {"link": "<" * 5000}, "<link " * 5000),
        HomePage("https://sea.example/", {"link": '<http://[bad>; rel="https://api.w.org/"'}),
    ],
)
def test_another_blog_is_none_of_ours(home: HomePage) -> None:
    way, asked = found(home, {"/wp-json/": Response(200, {}, b'{"name": 5, "namespaces": "wp/v2"}')})
    assert way is None
    assert len(asked) <= 4
