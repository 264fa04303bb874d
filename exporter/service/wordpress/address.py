"""Find a WordPress' REST API at the address of a blog. Pure."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from html import unescape
from typing import Any, Final
from urllib.parse import parse_qsl, urljoin, urlsplit

from exporter.lossless_json import NotJson, loads
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.service.discovery import Exploration, HomePage, WayIn
from exporter.service.wordpress.answers import without_noise

API: Final = "wp/v2"
_SERVICE: Final = "wordpress"
_LABEL: Final = message("WordPress REST API")
_REL: Final = "https://api.w.org/"
_ROUTE: Final = "rest_route"
_INDEX: Final = "index.php"
_WORDPRESS_COM: Final = "public-api.wordpress.com"
_HOSTED: Final = ".wordpress.com"
_LINK: Final = re.compile(r"<([^<>]{1,2000})>\s*((?:;\s*[^,;<>\"]+(?:\"[^\"]*\")?\s*)*)")
_LINK_TAG: Final = re.compile(r"<link\b[^<>]{0,2000}>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"([a-z]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_HEAD_CHARACTERS: Final = 200_000
_MAX_ROOTS: Final = 4
_COUNTED: Final = {"posts": "posts", "pages": "pages", "comments": "comments", "pictures": "media"}
_FIELDS: Final = "name,url,home,namespaces"
_PUBLIC_ONLY: Final = (
    message("drafts, private entries and the texts as typed need a sign-in (--user and an application password)"),
    message("trackbacks, and comments that wait or are spam, need a sign-in"),
    message("texts behind a password need a sign-in"),
)
_CLOSED: Final = message("the blog closes its API to the public; sign in with --user and an application password")
_RANK: Final = 20
_CLOSED_RANK: Final = 40
_REFUSED: Final = frozenset({401, 403})


def explore(home: HomePage) -> Exploration:
    """Request each possible API root, and then the record counts below the first one found."""
    place = urlsplit(home.url)
    hosted = _hosted(home)
    for root in _roots(home):
        at = urlsplit(root)
        route = dict(parse_qsl(at.query)).get(_ROUTE)
        path = at.path if route is None else at.path.removesuffix(_INDEX)
        request = _request(path, "", route, {"_fields": _FIELDS})
        response = yield request
        index = _object(response)
        closed = response is not None and response.status in _REFUSED and isinstance(index.get("code"), str)
        names = index.get("namespaces")
        if not closed and not (isinstance(names, list) and API in names):
            continue
        folder = path.rstrip("/")
        base = f"{place.scheme}://{place.netloc}{folder if route is not None else f'{folder}/{API}'}"
        settings = {_ROUTE: "yes"} if route is not None else {}
        blog_id = _blog_id(home, index)
        if closed:
            return WayIn(_SERVICE, base, blog_id, _LABEL, lacks=(_CLOSED,), rank=_CLOSED_RANK, settings=settings)
        title = index.get("name")
        counts = yield from _counts(path, route)
        return WayIn(
            _SERVICE, base, blog_id, _LABEL, title=_plain(title), counts=counts, lacks=_PUBLIC_ONLY, rank=_RANK,
            settings=settings,
        )  # fmt: skip
    if hosted:
        base = f"https://{_WORDPRESS_COM}/{API}/sites/{hosted}"
        return WayIn(_SERVICE, base, hosted, _LABEL, lacks=_PUBLIC_ONLY, rank=_RANK)
    return None


def _counts(path: str, route: str | None) -> Generator[Request, Response | None, dict[str, int]]:
    """Request one record of each list, and return the totals in the headers."""
    found = {}
    for word, name in _COUNTED.items():
        response = yield _request(path, name, route, {"per_page": "1", "_fields": "id"})
        total = "" if response is None or response.status != 200 else response.headers.get("x-wp-total", "")
        if total.isascii() and total.isdecimal() and len(total) <= 9:
            found[word] = int(total)
    return found


def _request(path: str, name: str, route: str | None, params: Mapping[str, str]) -> Request:
    operation = f"{API}/{name}" if name else _LABEL
    if route is not None:
        return Request(operation, path or "/", {_ROUTE: f"/{API}/{name}" if name else "/", **params}, {})
    return Request(operation, f"{path.rstrip('/')}/{API}/{name}" if name else path, params, {})


def _roots(home: HomePage) -> list[str]:
    """Return the possible API roots at the blog's origin, the likeliest first."""
    place = urlsplit(home.url)
    folder = urljoin(home.url, ".")
    same = []
    for address in [*_stated(home), f"{folder}wp-json/", f"{folder}?{_ROUTE}=/"]:
        try:
            root = urljoin(home.url, address)
            at = urlsplit(root)
        except ValueError:
            continue
        if (at.scheme, at.netloc) == (place.scheme, place.netloc) and at.netloc != _WORDPRESS_COM:
            same.append(root)
    return list(dict.fromkeys(same))[:_MAX_ROOTS]


def _stated(home: HomePage) -> Iterator[str]:
    """Yield the addresses that the page states, in its header ``Link`` and in its HTML."""
    for target, params in _LINK.findall(home.headers.get("link", "")):
        if f'rel="{_REL}"' in params or f"rel={_REL}" in params:
            yield target
    for tag in _LINK_TAG.findall(home.html[:_HEAD_CHARACTERS]):
        values = {name.lower(): unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(tag)}
        if values.get("rel") == _REL and values.get("href"):
            yield values["href"]


def _hosted(home: HomePage) -> str:
    """Return the name of a blog at WordPress.com, whose API is at another host; empty for any other blog."""
    for root in _stated(home):
        found = re.fullmatch(rf"https?://{re.escape(_WORDPRESS_COM)}/wp/v2/sites/([\w.-]{{1,200}})/?", root)
        if found is not None:
            return found[1]
    host = urlsplit(home.url).hostname or ""
    return host if host.endswith(_HOSTED) and host != _HOSTED[1:] else ""


def _blog_id(home: HomePage, index: Mapping[str, Any]) -> str:
    """Return the blog's host, and its folder if it is in one."""
    url = index.get("home")
    try:
        stated = urlsplit(url) if isinstance(url, str) else urlsplit(home.url)
    except ValueError:
        stated = urlsplit(home.url)
    place = urlsplit(home.url)
    if stated.hostname != place.hostname:
        stated = place
    folder = "/".join(part for part in stated.path.split("/") if part not in {"", ".", ".."})
    host = place.hostname or ""
    return f"{host}/{folder}" if folder and isinstance(url, str) else host


def _object(response: Response | None) -> Mapping[str, Any]:
    try:
        value = loads(without_noise(response).body) if response is not None else None
    except NotJson:
        return {}
    return value if isinstance(value, dict) else {}


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    from exporter.html.text import collapse, text_of  # noqa: PLC0415 - the registry imports this module, and parsers take long to import

    return collapse(text_of(value))
