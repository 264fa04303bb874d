"""The server: every request is checked, and answered from the site's files, from the records, or with nothing."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from aiohttp import hdrs, web

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.safe_files import InnerPath
from exporter.errors import BlogExporterError, NoSuchRecord, UsageError
from exporter.library.views import site_options
from exporter.serve.desk import Desk, json_of
from exporter.serve.files import SITE, UNKNOWN, OpenFile, ServedFiles
from exporter.serve.guard import HEADERS, STORED_POLICY, below_token, is_own_name
from exporter.serve.search_page import SearchPage
from exporter.service.registry import service_of
from exporter.site.history import ArchiveHistory
from exporter.site.thumbnails import Thumbnails
from exporter.site.view import SiteView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from exporter.settings import Settings

_START: Final = f"/{SITE}/index.html"
_SEARCH: Final = f"/{SITE}/search.html"
_PIECE: Final = 1 << 18
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen: a host, a port, 0 for any that is free, and the secret in the address, which may be empty."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""


class _Blocking(NamedTuple):
    """What blocks and so is asked in a thread of its own: the records, and the page that shows what a search found."""

    desk: Desk
    page: SearchPage


@contextlib.contextmanager
def site_folder(archive: Path, settings: Settings, at: int | None, say: Callable[[str], None]) -> Iterator[InnerPath]:
    """Give the folder of the site: the one in ``latest/``, or a temporary one where there is none, or of a version."""
    present = Archive.open(archive).layout.latest / "site"
    if at is None and (present / "index.html").is_file():
        yield present
        return
    say("Making the site in a temporary folder, since the archive has none of this version …")
    with tempfile.TemporaryDirectory(prefix="blog-exporter-site-") as folder:
        read_consistently(archive, partial(_make_site, Path(folder), settings, at))
        yield InnerPath.rooted(Path(folder))


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


class Server:
    """Answers the requests for one archive.

    Args:
        archive: its folder.
        site: the folder of its site.
        settings: how the records are read, and what the site is like.
        place: where it listens.
        at: the version whose records it shows; by default always the newest.
    """

    def __init__(self, archive: Path, site: InnerPath, settings: Settings, place: Place, at: int | None = None) -> None:
        self._place = place
        self._files = ServedFiles(Archive.open(archive).layout, site)
        self._records = _Blocking(Desk(archive, settings, at), SearchPage(archive, settings))
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="records")

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Listen, and give the address to open.

        Raises:
            UsageError: the place cannot be listened at.
        """
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        app.on_response_prepare.append(_with_headers)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.5)
        await runner.setup()
        try:
            host, port = self._place.host, self._place.port
            try:
                await web.TCPSite(runner, host.strip("[]"), port).start()
            except OSError as error:
                where = f"{host}, port {port}" if port else host
                raise UsageError(f"Nothing can listen at {where}: {error.strerror or error}; name another.") from error
            shown = f"[{host.strip('[]')}]" if ":" in host else host
            yield f"http://{shown}:{runner.addresses[0][1]}{self._prefix}/"
        finally:
            await runner.cleanup()
            await asyncio.get_running_loop().run_in_executor(self._thread, self._records.desk.close)
            self._thread.shutdown()

    @property
    def _prefix(self) -> str:
        return f"/{self._place.token}" if self._place.token else ""

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if not is_own_name(request.headers.get(hdrs.HOST, ""), self._place.host) or _from_elsewhere(request):
            return _text(403, "This address is not for you.")
        path = below_token(request.path, self._place.token)
        if path is None:
            return _text(404, "There is nothing here.")
        if request.method not in ("GET", "HEAD"):
            return _text(405, "This can only be read.", Allow="GET, HEAD")
        if path in ("", "/", f"/{SITE}", f"/{SITE}/"):
            return web.Response(status=302, headers={hdrs.LOCATION: f"{self._prefix}{_START}"})
        if path == _SEARCH:
            body, status = await self._ask(partial(self._records.page.render, self._records.desk, request.query))
            return web.Response(body=body, status=status, content_type="text/html", charset="utf-8")
        if path == "/api" or path.startswith("/api/"):
            return await self._api(path.removeprefix("/api").strip("/"), request)
        return await self._file(path.lstrip("/"), request)

    async def _ask(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _api(self, path: str, request: web.Request) -> web.Response:
        desk, query = self._records.desk, dict(request.query)
        name, _, rest = path.partition("/")
        kind, _, record_id = rest.partition("/")
        answers: dict[str, Callable[[], bytes]] = {
            "": lambda: json_of(desk.overview()),
            "versions": desk.versions,
            "entries": lambda: json_of(desk.entries(query)),
            "search": lambda: json_of(desk.search(query).document()),
            "records": partial(desk.record, kind, record_id, query),
        }
        try:
            if name not in answers or (rest and name != "records"):
                raise NoSuchRecord("The API has no such address; docs/serve.md names those it has.")
            return web.Response(body=await self._ask(answers[name]), content_type=_JSON)
        except BlogExporterError as error:
            said = {"type": type(error).__name__, "message": str(error), "exit_code": error.exit_code}
            return web.Response(body=json_of({"error": said}), status=status_of(error), content_type=_JSON)

    async def _file(self, path: str, request: web.Request) -> web.StreamResponse:
        try:
            found = await asyncio.to_thread(self._files.open, path)
        except BlogExporterError as error:
            return _text(500, str(error))
        if found is None:
            return _text(404, "There is nothing here.")
        with found.file:
            return await _sent(found, request)


def status_of(error: BlogExporterError) -> int:
    """Return the HTTP status that says what an error says."""
    return {UsageError: 400, NoSuchRecord: 404}.get(type(error), 500)


def _from_elsewhere(request: web.Request) -> bool:
    """Tell whether a page of another site asks for a part of its own; following a link is no such thing."""
    site, mode = request.headers.get("Sec-Fetch-Site", "none"), request.headers.get("Sec-Fetch-Mode", "navigate")
    return site not in ("same-origin", "none") and mode != "navigate"


async def _with_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers[hdrs.SERVER] = "blog-exporter"
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


def _text(status: int, text: str, **headers: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n", headers=headers)


async def _sent(found: OpenFile, request: web.Request) -> web.StreamResponse:
    """Send a file, or the part of it that is asked for, or word that it is as it was."""
    headers: dict[str, str] = {hdrs.ETAG: found.tag, hdrs.ACCEPT_RANGES: "bytes", hdrs.CONTENT_TYPE: found.content_type}
    if found.stored:
        headers["Content-Security-Policy"] = STORED_POLICY
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
    await response.prepare(request)
    if request.method == "GET":
        found.file.seek(start)
        while start < end:
            piece = await asyncio.to_thread(found.file.read, min(_PIECE, end - start))
            if not piece:
                break
            await response.write(piece)
            start += len(piece)
    await response.write_eof()
    return response


def _asked_part(request: web.Request, found: OpenFile) -> tuple[int, int, int]:
    """Return where to begin and to end, and the status; all of it where no single part is asked for."""
    if hdrs.RANGE not in request.headers or request.headers.get(hdrs.IF_RANGE, found.tag) != found.tag:
        return 0, found.size, 200
    try:
        asked = request.http_range
    except ValueError:
        return 0, found.size, 200
    start, end, _ = asked.indices(found.size)
    return start, end, 206
