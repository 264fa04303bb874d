"""The window's server on loopback: it checks every request, and passes it to the page that the path names.

It answers only if the ``Host`` names this machine and the path begins with the secret token. Only a ``POST`` with the
window's own ``Origin`` changes anything. So a page of another site can neither read nor start anything.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import hdrs, web

from exporter.errors import BlogExporterError, UsageError
from exporter.message import message, said
from exporter.serve.listening import (
    WRONG_HOST,
    LimitedServer,
    Place,
    below_token,
    is_from_elsewhere,
    is_own_name,
    listen,
)
from exporter.serve.sending import text_answer, with_headers
from exporter.text import visible
from exporter.window.jobs import Job
from exporter.window.pages import Answer, Asked, Redirect, RenderedPage, progress_document
from exporter.window.uploads import MAX_FIELDS, in_time, receive
from exporter.window.window import Window

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With "no-referrer", browsers would send the origin "null" with the window's own forms (Fetch, 3.2).
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_MAX_FORM_BYTES: Final = 1 << 18
_POLL_SECONDS: Final = 0.5
_HEARTBEAT_SECONDS: Final = 15.0
_IDLE_SECONDS: Final = 3600.0
"""The window ends after this time without a request and without a running job."""
_READING_SECONDS: Final = 12 * 3600.0
"""The same limit while an archive is open for reading. Its pages come from another server, so the window seems idle."""
_STATIC: Final = {
    "site.css": ("site/static/site.css", "text/css"),
    "theme.js": ("site/static/theme.js", "text/javascript"),
    "icon.svg": ("site/static/icon.svg", "image/svg+xml"),
    "window.css": ("window/static/window.css", "text/css"),
    "actions.css": ("window/static/actions.css", "text/css"),
    "window.js": ("window/static/window.js", "text/javascript"),
}


@dataclass
class WindowServer:
    """Answers the window's requests.

    Attributes:
        window: the window's state.
        place: where to listen; its token is the secret in the address.
        warn: called with a sentence about an unexpected failure.
    """

    window: Window
    place: Place
    warn: Callable[[str], None] = lambda _: None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Listen, and yield the address to open.

        Raises:
            UsageError: the host or port cannot be used.
        """
        self._used = time.monotonic()
        runner = web.ServerRunner(LimitedServer(self._answer), shutdown_timeout=0.5)
        await runner.setup()
        idle = asyncio.create_task(self._end_if_idle())
        try:
            yield f"{await listen(runner, self.place)}{self.window.root}"
        finally:
            idle.cancel()
            await runner.cleanup()
            await asyncio.to_thread(self.window.close)

    async def _end_if_idle(self) -> None:
        while not self.ended.is_set():
            await asyncio.sleep(_HEARTBEAT_SECONDS)
            limit = _READING_SECONDS if self.window.readers.are_open() else _IDLE_SECONDS
            if time.monotonic() - self._used > limit and not await asyncio.to_thread(self.window.jobs.running):
                self.ended.set()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        # Refuse before anything can fail: the links on a failure's page contain the secret.
        refusal = self._refusal(request)
        if refusal is not None:
            return with_headers(refusal, _HEADERS)
        try:
            response = await self._response(request)
        except BlogExporterError as error:
            response = self._page_of(self.window.failed(said(error)))
        except Exception as error:  # noqa: BLE001 - the next request is answered
            self.warn(message("a request failed: {name}: {error}", name=type(error).__name__, error=error))
            reason = f"{type(error).__name__}: {error}"
            response = self._page_of(self.window.failed(message("This page failed: {reason}", reason=reason), 500))
        return response if response.prepared else with_headers(response, _HEADERS)

    def _refusal(self, request: web.BaseRequest) -> web.Response | None:
        """Return the refusal of a request from another site, to another host name, or without the secret."""
        host = request.headers.get(hdrs.HOST, "")
        # Chromium opens a WebSocket without ``Sec-Fetch-Site``; it only states the page's origin.
        of_others = request.headers.get(hdrs.ORIGIN, f"http://{host}") != f"http://{host}" or is_from_elsewhere(request)
        if of_others or not is_own_name(host, self.place.host):
            return text_answer(403, WRONG_HOST)
        return text_answer(404, message("Not found.")) if self._path(request) is None else None

    def _path(self, request: web.BaseRequest) -> str | None:
        return below_token(request.path, self.place.token)

    async def _response(self, request: web.BaseRequest) -> web.StreamResponse:
        self._used = time.monotonic()
        path = self._path(request) or ""
        parts = tuple(part for part in path.split("/") if part)
        if request.method in ("GET", "HEAD"):
            return await self._shown(request, parts)
        if request.method == "POST" and _is_own_form(request):
            return await self._done(request, parts)
        return text_answer(403, message("Only the window's own pages can do that."))

    async def _shown(self, request: web.BaseRequest, parts: tuple[str, ...]) -> web.StreamResponse:
        if len(parts) == 2 and parts[0] == "static":
            return _static(parts[1])
        if len(parts) == 3 and parts[0] == "job" and parts[2] == "events":
            job = await asyncio.to_thread(self.window.jobs.get, parts[1])
            return text_answer(404, message("Not found.")) if job is None else await self._follow(request, job)
        return await self._handled(Asked("GET", parts, dict(request.query), {}))

    async def _done(self, request: web.BaseRequest, parts: tuple[str, ...]) -> web.StreamResponse:
        if parts == ("quit",):
            asyncio.get_running_loop().call_later(0.5, self.ended.set)
        if request.content_type == "multipart/form-data":
            form = await receive(request, self.window.uploads, _MAX_FORM_BYTES)
        else:
            form = _form(await _body(request))
        return await self._handled(Asked("POST", parts, dict(request.query), form))

    async def _handled(self, asked: Asked) -> web.StreamResponse:
        return self._page_of(await asyncio.to_thread(self.window.answer, asked))

    def _page_of(self, answer: Answer) -> web.StreamResponse:
        match answer:
            case Redirect():
                return web.Response(status=303, headers={hdrs.LOCATION: f"{self.window.root}{answer.to}"})
            case RenderedPage():
                return web.Response(
                    body=visible(answer.html)[0].encode(),
                    status=answer.status,
                    content_type="text/html",
                    charset="utf-8",
                )

    async def _follow(self, request: web.BaseRequest, job: Job) -> web.StreamResponse:
        """Send the job's state as server-sent events, until it ends."""
        response = web.StreamResponse(headers={**_HEADERS, hdrs.CONTENT_TYPE: "text/event-stream"})
        await with_headers(response, {}).prepare(request)
        before, sent_at = "", 0.0
        while True:
            state = await asyncio.to_thread(job.state)
            text = json.dumps(progress_document(state, self.window.language), ensure_ascii=False)
            self._used = time.monotonic()
            try:
                if text != before or time.monotonic() - sent_at > _HEARTBEAT_SECONDS:
                    await response.write(f"data: {text}\n\n".encode("utf-8", "replace"))
                    before, sent_at = text, time.monotonic()
            except OSError:
                return response
            if not state.running:
                return response
            await asyncio.sleep(_POLL_SECONDS)


def _is_own_form(request: web.BaseRequest) -> bool:
    """Return whether a page of this window sends the request. Every browser states the origin of a ``POST``."""
    return hdrs.ORIGIN in request.headers and request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"


def _static(name: str) -> web.Response:
    if name not in _STATIC:
        return text_answer(404, message("Not found."))
    path, kind = _STATIC[name]
    return web.Response(body=files("exporter").joinpath(path).read_bytes(), content_type=kind, charset="utf-8")


async def _body(request: web.BaseRequest) -> bytes:
    body = bytearray()
    while piece := await in_time(request.content.read(1 << 16)):
        body += piece
        if len(body) > _MAX_FORM_BYTES:
            raise UsageError(message("The form is too long."))
    return bytes(body)


def _form(body: bytes) -> dict[str, list[str]]:
    form: dict[str, list[str]] = {}
    try:
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise UsageError(message("The form is too long.")) from error
    for name, value in fields:
        form.setdefault(name, []).append(value)
    return form
