"""Recorded answers at an origin of their own, shown in a frame of a page of the archive's site.

Strangers wrote these pages. So they come from another port with another token. The policy of every answer
forbids scripts, forms, windows, and requests to any other origin. An address without a capture is answered with 404.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web

from exporter.archive.layout import Layout
from exporter.errors import ArchiveDamaged, BlogExporterError, UsageError
from exporter.message import message, said
from exporter.serve.capture_page import note_page
from exporter.serve.files import OpenFile
from exporter.serve.listening import WRONG_HOST, LimitedServer, Place, below_token, is_own_name, listen, named_host
from exporter.serve.replayed import Replayed, replayed
from exporter.serve.sending import sent, text_answer, with_headers
from exporter.site.captured import moment_of
from exporter.warc.lookup import CapturedRecord, CaptureLookup

if TYPE_CHECKING:
    from datetime import datetime

_PATH: Final = re.compile(r"/([0-9]{14})/(https?://[^/?#].*)", re.DOTALL)
_FRAMES: Final = frozenset({"", "document", "iframe", "frame"})
_REFUSED: Final = frozenset(
    {"script", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet", "manifest", "xslt", "report"}
)
"""Destinations of requests (Fetch, section 2.2.5) that no page of the replay needs."""
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-DNS-Prefetch-Control": "off",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), fullscreen=()",
    "Cache-Control": "private, no-cache",
}
"""Sent with every answer. A sandboxed page has an opaque origin: even its own pictures are cross-origin to it."""


@dataclass
class ReplayServer:
    """Answers with the records of one archive; begins to listen when it is first needed.

    Attributes:
        archive: its folder.
        place: where to listen; if its port is taken, at a free one.
        language: returns ``ja`` or ``en``, for notes.
        warn: called with a sentence about an unexpected failure.
    """

    archive: Path
    place: Place
    language: Callable[[], str]
    warn: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self._token = secrets.token_urlsafe(16)
        self._port = 0
        self._runner: web.ServerRunner | None = None
        self._starting = asyncio.Lock()

    async def root(self, host: str) -> str:
        """Return the address below which the replay is, for a browser that reached this machine by a host name.

        Raises:
            UsageError: no port can be used.
        """
        async with self._starting:
            if self._runner is None:
                await self._start()
        return self._root(host)

    async def close(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _start(self) -> None:
        runner = web.ServerRunner(LimitedServer(self._answer), shutdown_timeout=0.5)
        await runner.setup()
        try:
            try:
                await listen(runner, self.place)
            except UsageError:
                await listen(runner, Place(self.place.host))
        except BaseException:
            await runner.cleanup()
            raise
        self._runner, self._port = runner, runner.addresses[0][1]

    def _root(self, host: str) -> str:
        return f"http://{host}:{self._port}/{self._token}/"

    def policy(self, host: str) -> str:
        """Return the source of the replay for a ``Content-Security-Policy``; these cannot name an IPv6 address."""
        return self._root("*" if host.startswith("[") else host)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = dict(_HEADERS)
        try:
            host = request.headers.get(hdrs.HOST, "")
            if not is_own_name(host, self.place.host):
                return with_headers(text_answer(403, WRONG_HOST), headers)
            headers["Content-Security-Policy"] = _policy(self.policy(named_host(host)))
            if request.headers.get(hdrs.ORIGIN) == "null":
                # Fonts, and pictures in masks, are requested with CORS.
                headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = "null"
            response = await self._response(request, headers)
        except BlogExporterError as error:
            response = self._note(request, 500, said(error))
        except Exception as error:  # noqa: BLE001 - the next request is answered
            self.warn(message("a request failed: {name}: {error}", name=type(error).__name__, error=error))
            response = text_answer(500, message("The request failed. The server's terminal shows the reason."))
        return response if response.prepared else with_headers(response, headers)

    async def _response(self, request: web.BaseRequest, headers: dict[str, str]) -> web.StreamResponse:
        path = below_token(request.raw_path, self._token)
        asked = None if path is None else _PATH.fullmatch(path)
        moment = None if asked is None else moment_of(asked[1])
        destination = request.headers.get("Sec-Fetch-Dest", "").lower().replace("empty", "")
        if asked is None or moment is None or destination in _REFUSED or "Service-Worker" in request.headers:
            return text_answer(404, message("Not found."))
        if request.method not in ("GET", "HEAD"):
            return text_answer(405, message("Only reading is allowed."), Allow="GET, HEAD")
        stamp, address = asked.groups()
        place = partial("/{}/{}/{}".format, self._token, stamp)
        with contextlib.ExitStack() as opened:
            answer = await asyncio.to_thread(self._found, address, moment, destination, place, opened)
            if answer is None:
                return self._note(request, 404, "", address)
            replay, record = answer
            if replay.location:
                return web.Response(status=302, headers={hdrs.LOCATION: replay.location})
            tag = f'"{record.capture.number}-{record.line.offset}-{stamp}-{destination}"'
            file = OpenFile(replay.content, replay.size, tag, replay.content_type, stored=False)
            return await sent(file, request, headers, replay.status)

    def _found(
        self,
        address: str,
        moment: datetime,
        destination: str,
        place: Callable[[str], str],
        opened: contextlib.ExitStack,
    ) -> tuple[Replayed, CapturedRecord] | None:
        lookup = CaptureLookup(Layout(self.archive))
        record = lookup.nearest(address, moment)
        try:
            answer = None if record is None else opened.enter_context(replayed(lookup, record, destination, place))
        except OSError as error:
            raise ArchiveDamaged(message("A file of the captures cannot be read. Verify the archive.")) from error
        return None if answer is None or record is None else (answer, record)

    def _note(self, request: web.BaseRequest, status: int, problem: str, address: str = "") -> web.Response:
        """Return a page that states why the captured one is missing."""
        if request.headers.get("Sec-Fetch-Dest", "") not in _FRAMES:
            return text_answer(status, problem or message("Not found."))
        body = note_page(self.language(), problem, address)
        return web.Response(status=status, text=body, content_type="text/html", charset="utf-8")


def _policy(root: str) -> str:
    """Return an answer's policy: no scripts, and requests only to the replay."""
    return (
        f"sandbox; default-src 'none'; img-src {root} data:; style-src {root} 'unsafe-inline'; font-src {root} data:; "
        f"media-src {root} data:; frame-src {root}; form-action 'none'; base-uri 'none'"
    )
