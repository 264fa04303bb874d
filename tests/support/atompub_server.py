"""A real server on loopback that speaks AtomPub as the public documents of Hatena Blog describe it.

Assumptions, where the documents are silent: drafts are in the list, by their date; the page parameter is the time of
the first entry of the next page; a feed without a next page has no such link (a blogger observed it); a member's
document is an entry with its own namespaces; a wrong signature is answered with 401.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from html import escape
from string import ascii_letters, digits
from typing import Any, ClassVar

from aiohttp import web
from oauthlib.oauth1 import RequestValidator, ResourceEndpoint

from tests.support.pictures import png

JST = timezone(timedelta(hours=9))
NAMESPACES = 'xmlns="http://www.w3.org/2005/Atom" xmlns:app="http://www.w3.org/2007/app"'
HATENA = "http://www.hatena.ne.jp/info/xmlns#"
CREATED_WINDOW = 300
USER = "mika"
API_KEY = "k3y/of+the=blog"
CONSUMER_KEY, CONSUMER_SECRET = "consumer-key-of-the-program-00", "consumer-secret-of-the-program"
TOKEN, TOKEN_SECRET = "access-token-of-mika-000000000", "token-secret-of-mika-00000000"


@dataclass
class Entry:
    """An entry as its writer made it."""

    id: str
    title: str
    updated: datetime
    content: str = "<p>Text</p>"
    kind: str = "text/html"
    formatted: str | None = None
    published: datetime | None = None
    edited: datetime | None = None
    categories: tuple[str, ...] = ()
    draft: bool = False
    scheduled: bool = False
    more: str = ""


class OAuthKeys(RequestValidator):
    """The server's knowledge of one consumer and one token; a nonce is accepted once."""

    client_key_length = access_token_length = request_token_length = (10, 60)
    nonce_length = (8, 60)
    safe_characters: ClassVar = {*ascii_letters, *digits, "-"}
    enforce_ssl = False
    dummy_client = dummy_access_token = dummy_request_token = "dummy-dummy-dummy"

    def __init__(self) -> None:
        super().__init__()
        self.used: set[tuple[str, str]] = set()

    def validate_timestamp_and_nonce(
        self,
        client_key: str,
        timestamp: Any,
        nonce: str,
        request: Any,
        request_token: str | None = None,
        access_token: str | None = None,
    ) -> bool:
        """Accept each nonce once, and times of the last minutes."""
        if abs(time.time() - int(timestamp)) > CREATED_WINDOW or (timestamp, nonce) in self.used:
            return False
        self.used.add((timestamp, nonce))
        return True

    def validate_client_key(self, client_key: str, request: Any) -> bool:
        return client_key == CONSUMER_KEY

    def validate_access_token(self, client_key: str, token: str, request: Any) -> bool:
        return token == TOKEN

    def validate_realms(self, *_: Any, **__: Any) -> bool:
        return True

    def get_client_secret(self, client_key: str, request: Any) -> str:
        return CONSUMER_SECRET if client_key == CONSUMER_KEY else "dummy-secret"

    def get_access_token_secret(self, client_key: str, token: str, request: Any) -> str:
        return TOKEN_SECRET if token == TOKEN else "dummy-secret"


@dataclass
class AtomPubBlog:
    """A blog and its server's behaviour.

    Attributes:
        scheme: the authentication that it accepts: ``basic``, ``wsse`` or ``oauth1``.
        failures: for a path with its query, the statuses of the next answers.
        instead: for a path with its query, the body and the media type to send instead.
        shortened: whether feeds have no texts.
        etags: whether members have an ETag.
        seconds_per_request: a rate limit: a request that comes earlier is answered with 429.
        now: the clock of the rate limit, in seconds.
        asked: the paths of all requests with the status of their answers.
        authorizations: the values of the headers that prove the user.
        proven_pictures: the paths of pictures that were asked for with such a header.
    """

    owner: str = USER
    blog_id: str = "mika.hatenablog.com"
    title: str = "Mika's blog"
    entries: list[Entry] = field(default_factory=list)
    pages: list[Entry] = field(default_factory=list)
    has_pages: bool = True
    page_size: int = 7
    scheme: str = "basic"
    failures: dict[str, list[int]] = field(default_factory=dict)
    instead: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    shortened: bool = False
    etags: bool = False
    seconds_per_request: float = 0.0
    now: Callable[[], float] = time.monotonic
    asked: list[tuple[str, int]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    proven_pictures: list[str] = field(default_factory=list)
    origin: str = ""
    _nonces: set[str] = field(default_factory=set)
    _last: float = 0.0
    _keys: OAuthKeys = field(default_factory=OAuthKeys)

    @property
    def root(self) -> str:
        """The path of the service document."""
        return f"/{self.owner}/{self.blog_id}/atom"

    def authorised(self, request: web.Request) -> bool:
        """Check the request's proof as the scheme demands."""
        given = request.headers.get("Authorization", "")
        self.authorizations.append(request.headers.get("X-WSSE", given))
        if self.scheme == "basic":
            return given == "Basic " + base64.b64encode(f"{USER}:{API_KEY}".encode()).decode()
        if self.scheme == "wsse":
            return self._is_fresh_token(request.headers.get("X-WSSE", ""))
        endpoint = ResourceEndpoint(self._keys)
        headers = {"Authorization": given}
        valid, _ = endpoint.validate_protected_resource_request(str(request.url), "GET", None, headers, [])
        return bool(valid)

    def _is_fresh_token(self, header: str) -> bool:
        token = dict(re.findall(r'(\w+)="([^"]*)"', header.removeprefix("UsernameToken ")))
        try:
            nonce, created = base64.b64decode(token["Nonce"]), token["Created"]
            age = datetime.now(UTC) - datetime.fromisoformat(created)
        except (KeyError, ValueError):
            return False
        if abs(age.total_seconds()) > CREATED_WINDOW or token["Nonce"] in self._nonces:
            return False
        self._nonces.add(token["Nonce"])
        digest = base64.b64encode(hashlib.sha1(nonce + created.encode() + API_KEY.encode()).digest()).decode()
        return (token["Username"], token["PasswordDigest"]) == (USER, digest)

    def is_too_early(self) -> bool:
        """Apply the rate limit."""
        now = self.now()
        early = bool(self.seconds_per_request) and now - self._last < self.seconds_per_request
        if not early:
            self._last = now
        return early

    def service_document(self) -> str:
        """Return the service document; the collection of pages is there for a paid plan only."""
        collections = [("entry", "Entries"), *([("page", "Pages")] if self.has_pages else [])]
        listed = "".join(
            f'<collection href="{self.origin}{self.root}/{name}">'
            f'<atom:title xmlns:atom="http://www.w3.org/2005/Atom">{title}</atom:title>'
            "<accept>application/atom+xml;charset=utf-8;type=entry</accept></collection>\n"
            for name, title in collections
        )
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n<service xmlns="http://www.w3.org/2007/app">\n<workspace>\n'
            f'<atom:title xmlns:atom="http://www.w3.org/2005/Atom">{escape(self.title)}</atom:title>\n{listed}'
            "</workspace>\n</service>\n"
        )

    def entry_xml(self, entry: Entry, collection: str, *, alone: bool = False, short: bool = False) -> str:
        """Return an entry as in a feed, or as its own document."""
        namespaces = f" {NAMESPACES}" if alone else ""
        categories = "".join(f'  <category term="{escape(each)}" />\n' for each in entry.categories)
        place = entry.updated.strftime("%Y/%m/%d/%H%M%S")
        published, edited = entry.published or entry.updated, entry.edited or entry.updated
        formatted = entry.formatted if entry.formatted is not None else entry.content
        scheduled = (
            f'<hatenablog:scheduled xmlns:hatenablog="{HATENA}hatenablog">yes</hatenablog:scheduled>'
            if entry.scheduled
            else ""
        )
        texts = "" if short else (
            f'  <content type="{entry.kind}">{escape(entry.content)}</content>\n'
            f'  <hatena:formatted-content type="text/html" xmlns:hatena="{HATENA}">{escape(formatted)}'
            "</hatena:formatted-content>\n"
        )  # fmt: skip
        return (
            f"<entry{namespaces}>\n"
            f"  <id>tag:blog.hatena.ne.jp,2013:blog-{self.owner}-20000000000000-{entry.id}</id>\n"
            f'  <link rel="edit" href="{self.origin}{self.root}/{collection}/{entry.id}"/>\n'
            f'  <link rel="alternate" type="text/html" href="https://{self.blog_id}/{collection}/{place}"/>\n'
            f"  <author><name>{self.owner}</name></author>\n"
            f"  <title>{escape(entry.title)}</title>\n"
            f"  <updated>{entry.updated.isoformat()}</updated>\n"
            f"  <published>{published.isoformat()}</published>\n"
            f"  <app:edited>{edited.isoformat()}</app:edited>\n"
            f'  <summary type="text">{escape(entry.title[:140])}</summary>\n{texts}{categories}'
            f"  <app:control>\n    <app:draft>{'yes' if entry.draft else 'no'}</app:draft>\n"
            f"    <app:preview>no</app:preview>{scheduled}\n  </app:control>\n</entry>"
        )

    def feed(self, collection: str, page: str | None) -> str | None:
        """Return a page of a collection: the entries up to a time, the newest first."""
        held = {"entry": self.entries, "page": self.pages}[collection]
        ordered = sorted(held, key=lambda entry: (entry.updated, entry.id), reverse=True)
        begin = 0
        if page is not None:
            times = [f"{int(entry.updated.timestamp())}" for entry in ordered]
            if page not in times:
                return None
            begin = times.index(page)
        shown, rest = ordered[begin : begin + self.page_size], ordered[begin + self.page_size :]
        address = f"{self.origin}{self.root}/{collection}"
        following = f'<link rel="next" href="{address}?page={int(rest[0].updated.timestamp())}" />\n' if rest else ""
        entries = "\n".join(self.entry_xml(entry, collection, short=self.shortened) for entry in shown)
        return (
            f'<?xml version="1.0" encoding="utf-8"?>\n<feed {NAMESPACES}>\n<link rel="first" href="{address}" />\n'
            f"{following}<title>{escape(self.title)}</title>\n"
            f'<link rel="alternate" href="https://{self.blog_id}/"/>\n'
            f"<updated>{datetime.now(JST).isoformat()}</updated>\n<author><name>{self.owner}</name></author>\n"
            '<generator uri="https://blog.hatena.ne.jp/" version="100000000">Hatena::Blog</generator>\n'
            f"<id>hatenablog://blog/2000000000000</id>\n{entries}\n</feed>\n"
        )


@dataclass
class LivedoorBlog(AtomPubBlog):
    """A blog as livedoor's help page describes it: the newest 20 articles, and pictures that cannot be listed.

    Assumptions: the feed has no next link; the picture collection answers 405, because the page marks it as not
    available. With ``pictures``, it answers a feed of media link entries instead, as RFC 5023 has them.
    """

    blog_id: str = "mika.livedoor.blog"
    pictures: int = 0

    @property
    def root(self) -> str:
        return "/atompub/mika"

    def service_document(self) -> str:
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<service xmlns="http://www.w3.org/2007/app" '
            'xmlns:atom="http://www.w3.org/2005/Atom">\n<workspace>\n<atom:title>mika</atom:title>\n'
            f'<collection href="{self.origin}{self.root}/article"><atom:title>mika - Entries</atom:title>\n'
            "<accept>application/atom+xml;type=entry</accept>\n"
            f'<categories fixed="no" scheme="{self.origin}{self.root}/category"/></collection>\n'
            f'<collection href="{self.origin}{self.root}/image"><atom:title>mika - Images</atom:title>\n'
            "<accept>image/png</accept><accept>image/jpeg</accept></collection>\n</workspace>\n</service>"
        )

    def entry_xml(self, entry: Entry, collection: str, *, alone: bool = False, short: bool = False) -> str:
        namespaces = f" {NAMESPACES}" if alone else ""
        updated = (entry.edited or entry.updated).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        categories = "".join(f'<category term="{escape(each)}" scheme="x"/>\n' for each in entry.categories)
        return (
            f"<entry{namespaces}>\n<title>{escape(entry.title)}</title>\n"
            f'<link rel="edit" type="application/atom+xml;type=entry" href="{self.origin}{self.root}/article/{entry.id}" '
            f'title="{escape(entry.title)}" />\n<id>tag:.blogcms.jp,2014-10-16:article-mika.{entry.id}</id>\n'
            f"<updated>{updated}</updated>\n<published>{entry.updated.isoformat()}</published>\n"
            f"<author><name>mika</name></author>\n{categories}"
            f'<link rel="alternate" type="text/html" href="https://{self.blog_id}/archives/{entry.id}.html" />\n'
            f'<content type="text/html" xml:lang="ja">{escape(entry.content)}</content>\n'
            f"<app:control><app:draft>{'yes' if entry.draft else 'no'}</app:draft></app:control>\n</entry>"
        )

    def feed(self, collection: str, page: str | None) -> str | None:
        if collection == "image":
            media = "".join(
                f'<entry><title>Sky {number}</title><link rel="edit" href="{self.origin}{self.root}/image/{number}"/>'
                f'<id>tag:.blogcms.jp,2016:image-{number}</id><content type="image/png" src="{self.origin}/images/'
                f'{number}.png"/></entry>'
                for number in range(1, self.pictures + 1)
            )
            return f"<feed {NAMESPACES}>{media}</feed>"
        newest = sorted(self.entries, key=lambda entry: entry.updated, reverse=True)[:20]
        articles = "\n".join(self.entry_xml(entry, collection) for entry in newest)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<feed {NAMESPACES}>\n<title>mika</title>\n{articles}</feed>'


def _answer(blog: AtomPubBlog, request: web.Request) -> web.Response:
    if blog.is_too_early():
        return web.Response(status=429, headers={"Retry-After": "1"})
    if blog.failures.get(request.path_qs):
        return web.Response(status=blog.failures[request.path_qs].pop(0), text="<p class='error-box'></p>")
    if not blog.authorised(request):
        return web.Response(status=401, text="<p>401 Unauthorized</p>", content_type="text/html")
    if request.path_qs in blog.instead:
        body, kind = blog.instead[request.path_qs]
        return web.Response(body=body, headers={"Content-Type": kind})
    if request.path == blog.root:
        return _xml(blog.service_document(), "application/atomsvc+xml")
    inner = request.path.removeprefix(f"{blog.root}/").split("/")
    collections = {"entry": blog.entries, **({"page": blog.pages} if blog.has_pages else {})}
    if isinstance(blog, LivedoorBlog):
        if inner == ["image"] and not blog.pictures:
            return web.Response(status=405)
        collections = {"article": blog.entries, "image": []}
    if not request.path.startswith(f"{blog.root}/") or inner[0] not in collections:
        return web.Response(status=400, text="<p class='error-box'></p>")
    if len(inner) == 1:
        feed = blog.feed(inner[0], request.query.get("page"))
        return web.Response(status=404) if feed is None else _xml(feed, "application/atom+xml")
    found = next((entry for entry in collections[inner[0]] if entry.id == inner[1]), None)
    if found is None:
        return web.Response(status=404, text="404 Not Found")
    document = '<?xml version="1.0" encoding="utf-8"?>\n' + blog.entry_xml(found, inner[0], alone=True)
    etag = f'"{hashlib.sha256(document.encode()).hexdigest()[:20]}"'
    if blog.etags and request.headers.get("If-None-Match") == etag:
        return web.Response(status=304)
    answer = _xml(document, "application/atom+xml;type=entry")
    if blog.etags:
        answer.headers["ETag"] = etag
    return answer


def _xml(text: str, kind: str) -> web.Response:
    return web.Response(body=text.encode(), headers={"Content-Type": f"{kind}; charset=utf-8"})


@asynccontextmanager
async def served(blog: AtomPubBlog) -> AsyncIterator[AtomPubBlog]:
    """Serve a blog, and write its server's origin into ``origin``."""

    async def answer(request: web.Request) -> web.Response:
        if request.path.startswith("/images/"):
            if {"Authorization", "X-WSSE"} & set(request.headers):
                blog.proven_pictures.append(request.path)
            return web.Response(body=png(int(re.sub("[^0-9]", "", request.path) or 0)), content_type="image/png")
        found = _answer(blog, request)
        blog.asked.append((request.path_qs, found.status))
        await asyncio.sleep(0)
        return found

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    blog.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield blog
    finally:
        await runner.cleanup()


_MAKERS: list[Callable[[int, str], dict[str, Any]]] = [
    lambda number, origin: {
        "content": f'<p>Entry {number}: 朝の散歩</p><p><img src="{origin}/images/{number}.png" alt="空"></p>',
    },
    lambda number, origin: {
        "kind": "text/x-hatena-syntax",
        "content": f"*Heading {number}\n- One\n- Two",
        "formatted": f"<h3>Heading {number}</h3><ul><li>One</li><li>Two</li></ul>",
    },
    lambda number, origin: {
        "kind": "text/x-markdown",
        "content": f"# Heading {number}\n\n**bold** & <b>raw</b>",
        "formatted": f"<h1>Heading {number}</h1>\n<p><strong>bold</strong> &amp; <b>raw</b></p>",
    },
]


def example_blog(entries: int = 120, drafts: int = 6, origin: str = "http://127.0.0.1:9") -> AtomPubBlog:
    """Return a blog with entries of three kinds, the last ones drafts and the very last one scheduled, and two pages."""
    begin = datetime(2020, 1, 1, 9, 30, tzinfo=JST)
    blog = AtomPubBlog()
    for number in range(1, entries + 1):
        moment = begin + timedelta(days=number, seconds=number)
        blog.entries.append(
            Entry(
                str(3000000000000000000 + number),
                f"記事 {number} & <more>",
                moment,
                published=moment - timedelta(hours=1),
                edited=moment + timedelta(days=1),
                categories=("日記", f"年 {moment.year}") if number % 2 else ("散歩",),
                draft=number > entries - drafts,
                **_MAKERS[number % 3](number, origin),
            )
        )
    if drafts:
        last = blog.entries[-1]
        last.scheduled, last.updated = True, datetime(2031, 1, 1, 9, 0, tzinfo=JST)
    blog.pages = [Entry(str(4000000000000000000 + n), f"Page {n}", begin + timedelta(days=n)) for n in (1, 2)]
    return blog
