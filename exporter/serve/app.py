"""The local server. It checks every request and answers with a file of the site, from the records, or with an error.

It answers a request only if the ``Host`` names this machine and the path begins with the secret token, if any.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import tempfile
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from aiohttp import hdrs, web

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.safe_files import InnerPath
from exporter.errors import BlogExporterError, NoSuchRecord, UsageError
from exporter.library.views import site_options
from exporter.message import message, said
from exporter.serve.api import Api, json_of
from exporter.serve.files import SITE, UNKNOWN, OpenFile, ServedFiles
from exporter.serve.search_page import search_page
from exporter.service.registry import service_of
from exporter.site.history import ArchiveHistory
from exporter.site.templating import POLICY
from exporter.site.thumbnails import Thumbnails
from exporter.site.view import SiteView
from exporter.translation import translated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import BinaryIO

    from exporter.settings import Settings

_START: Final = f"/{SITE}/index.html"
_SEARCH: Final = f"/{SITE}/search.html"
_PIECE_BYTES: Final = 1 << 18
_MAX_CONNECTIONS: Final = 100
"""A browser opens six. With a file for each, they stay below every system's limit of open files."""
_IDLE_SECONDS: Final = 60.0
"""How long a connection may be idle, before a request or before it takes the next piece of a file."""
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
_SILENT: Final = logging.getLogger(f"{__name__}.silent")
_SILENT.setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen: a host, a port (0 for any free one), and the secret token in the address (empty for none)."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""


class _LimitedServer(web.Server):
    """Closes the oldest connections when there are too many."""

    def __call__(self) -> Any:
        for connection in self.connections[: 1 - _MAX_CONNECTIONS]:
            connection.force_close()
        return super().__call__()


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
    history, options = ArchiveHistory(archive, service, version), site_options(settings, archive.path)
    view = SiteView(service, history, options, thumbnails=Thumbnails(archive.layout))
    with contextlib.closing(archive.state(version)) as state:
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
            # Its log of malformed requests would contain the token.
            server = _LimitedServer(
                self._answer,
                handler_cancellation=True,
                keepalive_timeout=_IDLE_SECONDS,
                access_log=None,
                logger=_SILENT,
            )
            runner = web.ServerRunner(server, shutdown_timeout=0.5)
            await runner.setup()
            try:
                yield await self._listen(runner)
            finally:
                await runner.cleanup()
                self._thread.do(self._api.close)
                self._thread.end()

    async def _listen(self, runner: web.ServerRunner) -> str:
        host, port = self.place.host.strip("[]"), self.place.port
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, UnicodeError) as error:
            where = message("{host}, port {port}", host=host, port=port) if port else host
            raise UsageError(
                "Cannot listen at {where}: {reason}. Name another address or port.", where=where, reason=_reason(error)
            ) from error
        name = _reached_at(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{runner.addresses[0][1]}{self._prefix}/"

    @property
    def _prefix(self) -> str:
        return f"/{self.place.token}" if self.place.token else ""

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            response = await self._response(request)
        except BlogExporterError as error:
            response = _text(500, said(error))
        except Exception as error:  # noqa: BLE001 - the next request is answered
            self.warn(message("a request failed: {name}: {error}", name=type(error).__name__, error=error))
            response = _text(500, message("The request failed. The server's terminal shows the reason."))
        return response if response.prepared else _with_headers(response)

    async def _response(self, request: web.BaseRequest) -> web.StreamResponse:
        if not is_own_name(request.headers.get(hdrs.HOST, ""), self.place.host) or _from_elsewhere(request):
            return _text(403, message("Open the address that the server printed. It refuses all other addresses."))
        path = below_token(request.path, self.place.token)
        if path is None:
            return _text(404, message("Not found."))
        if request.method not in ("GET", "HEAD"):
            return _text(405, message("Only reading is allowed."), Allow="GET, HEAD")
        if path in ("", "/", f"/{SITE}", f"/{SITE}/"):
            return web.Response(status=302, headers={hdrs.LOCATION: f"{self._prefix}{_START}"})
        if path == _SEARCH:
            work = partial(search_page, self.archive, self.settings, self._api, request.query)
            body, status = await self._thread.do(work)
            return web.Response(body=body, status=status, content_type="text/html", charset="utf-8")
        if path == "/api" or path.startswith("/api/"):
            return await self._api_answer(path.removeprefix("/api").strip("/"), request)
        return await self._file(path.lstrip("/"), request)

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
            return _text(404, message("Not found."))
        with found.file:
            return await _sent(found, request)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host to listen at."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_own_name(header: str, host: str) -> bool:
    """Return whether a request's ``Host`` names this machine beyond doubt.

    Anybody can point a host name at 127.0.0.1 (DNS rebinding), but not an address or ``localhost``.

    Args:
        header: as sent, perhaps with a port.
        host: the address to listen on.
    """
    name = header[: header.rfind(":")] if header[header.rfind("]") + 1 :].count(":") == 1 else header
    name = name.strip("[]").lower()
    if name in ("localhost", host.strip("[]").lower()):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_loopback(host)


def below_token(path: str, token: str) -> str | None:
    """Return the rest of a path that begins with the token; ``None`` for any other. An empty token matches all."""
    if not token:
        return path
    first, _, rest = path.lstrip("/").partition("/")
    return f"/{rest}" if compare_digest(first.encode("utf-8", "replace"), token.encode()) else None


def status_of(error: BlogExporterError) -> int:
    """Return the HTTP status for an error."""
    return {UsageError: 400, NoSuchRecord: 404}.get(type(error), 500)


def _from_elsewhere(request: web.BaseRequest) -> bool:
    """Return whether another site's page requests this as its own part, not by a link that a person follows."""
    site, mode = request.headers.get("Sec-Fetch-Site", "none"), request.headers.get("Sec-Fetch-Mode", "navigate")
    return site not in ("same-origin", "none") and mode != "navigate"


def _reason(error: OSError | UnicodeError) -> str:
    if not isinstance(error, OSError) or not error.errno:
        return str(error)
    return str(error.strerror) if isinstance(error, socket.gaierror) else os.strerror(error.errno)


def _reached_at(host: str) -> str:
    """Return the host name for a browser; if the server listens at all addresses, one of the machine's own."""
    try:
        found = ip_address(host)
    except ValueError:
        return host
    if not found.is_unspecified:
        return host
    family, elsewhere = (socket.AF_INET, "192.0.2.1") if found.version == 4 else (socket.AF_INET6, "2001:db8::1")
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        try:
            way.connect((elsewhere, 9))  # sends nothing; the system chooses the address that would
        except OSError:
            return host
        return str(way.getsockname()[0])


def _with_headers(response: web.StreamResponse) -> web.StreamResponse:
    response.headers[hdrs.SERVER] = "blog-exporter"
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _text(status: int, text: str, **headers: str) -> web.Response:
    return web.Response(status=status, text=f"{translated(text)}\n", headers=headers)


async def _sent(found: OpenFile, request: web.BaseRequest) -> web.StreamResponse:
    """Send a file, the requested part of it, or the status 304 if the browser has it."""
    headers: dict[str, str] = {hdrs.ETAG: found.tag, hdrs.ACCEPT_RANGES: "bytes", hdrs.CONTENT_TYPE: found.content_type}
    if found.stored:
        headers["Content-Security-Policy"] = _STORED_POLICY
    if found.content_type == UNKNOWN:
        headers[hdrs.CONTENT_DISPOSITION] = f"attachment; filename*=UTF-8''{quote(request.path.rpartition('/')[2])}"
    if found.tag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
        return web.Response(status=304, headers=headers)
    start, end, status = _asked_part(request, found)
    if start >= end and status == 206:
        return web.Response(status=416, headers={**headers, hdrs.CONTENT_RANGE: f"bytes */{found.size}"})
    if status == 206:
        headers[hdrs.CONTENT_RANGE] = f"bytes {start}-{end - 1}/{found.size}"
    response = web.StreamResponse(status=status, headers={**headers, hdrs.CONTENT_LENGTH: str(end - start)})
    await _with_headers(response).prepare(request)
    if request.method == "GET" and not await _write(response, found.file, start, end) and request.transport is not None:
        # The browser would take the next answer for the rest of the file.
        request.transport.abort()
    return response


async def _write(response: web.StreamResponse, file: BinaryIO, start: int, end: int) -> bool:
    """Send a part of a file; return whether the file had all of it and the browser took it."""
    try:
        file.seek(start)
        while start < end:
            piece = await asyncio.to_thread(file.read, min(_PIECE_BYTES, end - start))
            if not piece:
                return False
            async with asyncio.timeout(_IDLE_SECONDS):
                await response.write(piece)
            start += len(piece)
    except OSError:
        return False
    return True


def _asked_part(request: web.BaseRequest, found: OpenFile) -> tuple[int, int, int]:
    """Return start, end and status: the requested part, or all of the file unless a single part is requested."""
    if hdrs.RANGE not in request.headers or request.headers.get(hdrs.IF_RANGE, found.tag) != found.tag:
        return 0, found.size, 200
    try:
        asked = request.http_range
    except ValueError:
        return 0, found.size, 200
    start, end, _ = asked.indices(found.size)
    return start, end, 206
