"""The local server. It checks every request and answers with a file of the site, from the records, or with an error.

It answers a request only if the ``Host`` names this machine and the path begins with the secret token, if any.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from aiohttp import hdrs, web

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.safe_files import InnerPath
from exporter.clock import SystemClock
from exporter.errors import BlogExporterError, NoSuchRecord, UsageError
from exporter.library.views import captured_pages, site_options, titled
from exporter.library.visibility import visibility_of
from exporter.message import message, said
from exporter.serve.api import Api, json_of
from exporter.serve.capture_page import STYLE, capture_page, style_sheet
from exporter.serve.day_feed import DAY_FEED, day_feed
from exporter.serve.files import SITE, UNKNOWN, ServedFiles
from exporter.serve.listening import (
    WRONG_HOST,
    LimitedServer,
    Place,
    below_token,
    is_from_elsewhere,
    is_own_name,
    listen,
    named_host,
)
from exporter.serve.replay import ReplayServer
from exporter.serve.search_page import search_page
from exporter.serve.sending import page_answer, sent, text_answer, with_headers
from exporter.service.registry import service_of
from exporter.site.captured import CAPTURE_PAGE
from exporter.site.history import ArchiveHistory
from exporter.site.templating import POLICY, framing_policy
from exporter.site.thumbnails import Thumbnails
from exporter.site.view import SiteView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from exporter.settings import Settings

_START: Final = f"/{SITE}/index.html"
_SEARCH: Final = f"/{SITE}/search.html"
_CAPTURE: Final = f"/{SITE}/{CAPTURE_PAGE}"
_CAPTURE_STYLE: Final = f"/{SITE}/static/{STYLE}"
_LAST_PORT: Final = 65_535
_FIRST_ERROR: Final = 400
_JSON: Final = "application/json"
_HEADERS: Final = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
"""Sent with every answer. No page of another site can read, frame or embed it, and no link reveals the token."""
_STORED_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; sandbox"
"""For stored files, which strangers may have written: an SVG opened alone runs no script."""


class _Thread:
    """A thread that does blocking work in the order of its submission. The program's end does not wait for it."""

    def __init__(self) -> None:
        self._todo: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # Indexing many thousands of entries takes longer than a user waits after Ctrl-C.
        threading.Thread(target=self._run, name="records", daemon=True).start()

    def do(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Submit work; return an asyncio future that can be cancelled until the work begins."""
        future: Future[Any] = Future()
        self._todo.put((future, work))
        return asyncio.wrap_future(future)

    def end(self) -> None:
        """Let the thread end after all submitted work."""
        self._todo.put(None)

    def _run(self) -> None:
        while (given := self._todo.get()) is not None:
            future, work = given
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001 - the future raises it
                    future.set_exception(error)


@contextlib.contextmanager
def site_folder(archive: Path, settings: Settings, at: int | None, say: Callable[[str], None]) -> Iterator[InnerPath]:
    """Yield the site's folder: ``latest/site``, or a temporary one if it is missing or an older version is wanted."""
    present = Archive.open(archive).layout.latest / "site"
    if at is None and _is_file(present / "index.html"):
        yield present
        return
    say(message("Making the site in a temporary folder, since the archive has none of this version …"))
    with tempfile.TemporaryDirectory(prefix="blog-exporter-site-") as folder:
        read_consistently(archive, partial(_make_site, Path(folder), settings, at))
        yield InnerPath.rooted(Path(folder))


def _is_file(path: InnerPath) -> bool:
    """Return whether the path is a file, without any link on the way."""
    try:
        return path.kind() == ""
    except OSError:
        return False


def _make_site(folder: Path, settings: Settings, at: int | None, archive: Archive) -> None:
    version = archive.resolve(at)
    service = service_of(settings, archive.info.service)
    history = ArchiveHistory(archive, service, version)
    with contextlib.closing(archive.state(version)) as state:
        captured = captured_pages(archive, state, settings)
        options = titled(site_options(settings, archive.path), state, service)
        visibility, thumbnails = visibility_of(archive, state, service, settings), Thumbnails(archive.layout)
        view = SiteView(service, history, options, thumbnails=thumbnails, captured=captured, visibility=visibility)
        for file in view.files(state):
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.render())


@dataclass
class Server:
    """Answers the requests for one archive.

    Attributes:
        archive: its folder.
        site: the folder of its site.
        settings: how to read the records, and the options of the site.
        place: where to listen.
        at: the version to show; by default always the newest.
        warn: called with a sentence about an unexpected failure.
    """

    archive: Path
    site: InnerPath
    settings: Settings
    place: Place
    at: int | None = None
    warn: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self._files = ServedFiles(Archive.open(self.archive).layout, self.site)
        self._thread = _Thread()
        port = self.place.port + 1 if 0 < self.place.port < _LAST_PORT else 0
        self._replay = ReplayServer(self.archive, Place(self.place.host, port), self._language, self.warn)

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Listen, and yield the address to open.

        Raises:
            UsageError: the host or port cannot be used.
        """
        asyncio.get_running_loop().set_exception_handler(
            lambda _, said: self.warn(f"{said['message']}: {said.get('exception')}")
        )
        with tempfile.TemporaryDirectory(prefix="blog-exporter-serve-", ignore_cleanup_errors=True) as folder:
            self._api = Api(self.archive, self.settings, Path(folder), self.at)
            runner = web.ServerRunner(LimitedServer(self._answer), shutdown_timeout=0.5)
            await runner.setup()
            try:
                yield f"{await listen(runner, self.place)}{self._prefix}/"
            finally:
                await runner.cleanup()
                await self._replay.close()
                self._thread.do(self._api.close)
                self._thread.end()

    def _language(self) -> str:
        return site_options(self.settings, self.archive).language

    @property
    def _prefix(self) -> str:
        return f"/{self.place.token}" if self.place.token else ""

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            response = await self._response(request)
        except BlogExporterError as error:
            response = text_answer(500, said(error))
        except Exception as error:  # noqa: BLE001 - the next request is answered
            self.warn(message("a request failed: {name}: {error}", name=type(error).__name__, error=error))
            response = text_answer(500, message("The request failed. The server's terminal shows the reason."))
        if response.prepared:
            return response
        if (
            isinstance(response, web.Response)
            and response.status >= _FIRST_ERROR
            and self._wants_page(request, response)
        ):
            response = page_answer(response, self._home(request))
        return with_headers(response, _HEADERS)

    @staticmethod
    def _wants_page(request: web.BaseRequest, response: web.Response) -> bool:
        """Return whether a browser shows the answer, which is a text, as a page."""
        return response.content_type == "text/plain" and "text/html" in request.headers.get(hdrs.ACCEPT, "")

    def _home(self, request: web.BaseRequest) -> str:
        """Return the address of the first page for a client that knows the secret; else nothing."""
        known = is_own_name(request.headers.get(hdrs.HOST, ""), self.place.host) and not is_from_elsewhere(request)
        return f"{self._prefix}{_START}" if known and below_token(request.path, self.place.token) is not None else ""

    async def _response(self, request: web.BaseRequest) -> web.StreamResponse:
        if not is_own_name(request.headers.get(hdrs.HOST, ""), self.place.host) or is_from_elsewhere(request):
            return text_answer(403, WRONG_HOST)
        path = below_token(request.path, self.place.token)
        if path is None:
            return text_answer(404, message("Not found."))
        if request.method not in ("GET", "HEAD"):
            return text_answer(405, message("Only reading is allowed."), Allow="GET, HEAD")
        if path in ("", "/", f"/{SITE}", f"/{SITE}/"):
            return web.Response(status=302, headers={hdrs.LOCATION: f"{self._prefix}{_START}"})
        if path == _SEARCH:
            work = partial(search_page, self.archive, self.settings, self._api, request.query)
            body, status = await self._thread.do(work)
            return web.Response(body=body, status=status, content_type="text/html", charset="utf-8")
        if path == DAY_FEED:
            return await self._day_feed(request)
        if path == _CAPTURE:
            return await self._capture_page(request)
        if path == _CAPTURE_STYLE:
            return web.Response(body=style_sheet(), content_type="text/css", charset="utf-8")
        if path == "/api" or path.startswith("/api/"):
            return await self._api_answer(path.removeprefix("/api").strip("/"), request)
        return await self._file(path.lstrip("/"), request)

    async def _day_feed(self, request: web.BaseRequest) -> web.Response:
        site = f"http://{request.headers.get(hdrs.HOST, '')}{self._prefix}/{SITE}"
        feed = await self._thread.do(partial(day_feed, self.archive, self.settings, SystemClock().now(), site))
        if feed is None:
            return text_answer(404, message("There is no feed, because nothing says which entries are public."))
        return web.Response(body=feed, content_type="application/atom+xml", charset="utf-8")

    async def _capture_page(self, request: web.BaseRequest) -> web.Response:
        host = named_host(request.headers.get(hdrs.HOST, ""))
        root = await self._replay.root(host)
        source = self._replay.policy(host)
        work = partial(capture_page, self.archive, self.settings, dict(request.query), root, source)
        body, status = await asyncio.to_thread(work)
        policy = f"{framing_policy(source)}; frame-ancestors 'none'"
        return web.Response(
            body=body, status=status, content_type="text/html", charset="utf-8",
            headers={"Content-Security-Policy": policy},
        )  # fmt: skip

    async def _api_answer(self, path: str, request: web.BaseRequest) -> web.Response:
        api, query = self._api, dict(request.query)
        name, _, rest = path.partition("/")
        kind, _, record_id = rest.partition("/")
        answers: dict[str, Callable[[], bytes]] = {
            "": lambda: json_of(api.overview()),
            "versions": lambda: json_of(api.versions()),
            "entries": lambda: json_of(api.entries(query)),
            "search": lambda: json_of(api.search(query).document()),
            "records": partial(api.record, kind, record_id, query),
        }
        try:
            if name not in answers or (rest and name != "records"):
                raise NoSuchRecord(message("The API has no such address. docs/serve.md lists all addresses."))
            return web.Response(body=await self._thread.do(answers[name]), content_type=_JSON)
        except BlogExporterError as error:
            said = {"type": type(error).__name__, "message": str(error), "exit_code": error.exit_code}
            return web.Response(body=json_of({"error": said}), status=status_of(error), content_type=_JSON)

    async def _file(self, path: str, request: web.BaseRequest) -> web.StreamResponse:
        found = await asyncio.to_thread(self._files.open, path)
        if found is None:
            return text_answer(404, message("Not found."))
        with found.file:
            headers = dict(_HEADERS)
            if found.stored:
                headers["Content-Security-Policy"] = _STORED_POLICY
            if found.content_type == UNKNOWN:
                name = quote(request.path.rpartition("/")[2])
                headers[hdrs.CONTENT_DISPOSITION] = f"attachment; filename*=UTF-8''{name}"
            return await sent(found, request, headers)


def status_of(error: BlogExporterError) -> int:
    """Return the HTTP status for an error."""
    return {UsageError: 400, NoSuchRecord: 404}.get(type(error), 500)
