"""Sending answers: files in whole or in part, and short texts."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web

from exporter.html.pages import message_page, page_policy, site_style
from exporter.message import message
from exporter.serve.files import OpenFile
from exporter.serve.listening import IDLE_SECONDS
from exporter.text import visible
from exporter.translation import current_language, translated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

_PIECE_BYTES: Final = 1 << 18
_RANGE: Final = re.compile(r"bytes=[ \t]*([0-9]*)-([0-9]*)[ \t]*", re.ASCII | re.IGNORECASE)
_MAX_DIGITS: Final = 18
"""No file is so large that a position in it has more digits."""


def text_answer(status: int, text: str, **headers: str) -> web.Response:
    """Return a message as an answer."""
    return web.Response(status=status, text=f"{translated(text)}\n", headers=headers)


def page_answer(answer: web.Response, home: str) -> web.Response:
    """Return the message of an answer as a page in the site's design; ``home`` is the address of the first page.

    An empty ``home`` gives no link.
    """
    language = current_language()
    link = (home, translated(message("Home"))) if home else None
    page = message_page(visible((answer.text or "").strip())[0], "", language, link)
    policy = f"{page_policy(site_style())}; frame-ancestors 'none'"
    headers = {"Content-Security-Policy": policy}
    if hdrs.ALLOW in answer.headers:
        headers[hdrs.ALLOW] = answer.headers[hdrs.ALLOW]
    return web.Response(status=answer.status, text=page, content_type="text/html", charset="utf-8", headers=headers)


def with_headers(response: web.StreamResponse, headers: Mapping[str, str]) -> web.StreamResponse:
    """Return an answer with these headers, unless it states them itself."""
    response.headers[hdrs.SERVER] = "blog-exporter"
    for name, value in headers.items():
        response.headers.setdefault(name, value)
    return response


async def sent(
    found: OpenFile, request: web.BaseRequest, headers: Mapping[str, str], status: int = 200
) -> web.StreamResponse:
    """Send a file, the requested part of it, or the status 304 if the browser has it.

    Args:
        found: the file.
        request: the request.
        headers: in addition to those about the file.
        status: of an answer with the whole file.
    """
    own = {
        **headers, hdrs.ETAG: found.tag, hdrs.ACCEPT_RANGES: "bytes", hdrs.CONTENT_TYPE: found.content_type
    }  # fmt: skip
    if found.tag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
        return web.Response(status=304, headers=own)
    part = _asked_part(request, found) if status == 200 else None
    start, end = part or (0, found.size)
    if part is not None and start >= end:
        return web.Response(status=416, headers={**own, hdrs.CONTENT_RANGE: f"bytes */{found.size}"})
    if part is not None:
        status = 206
        own[hdrs.CONTENT_RANGE] = f"bytes {start}-{end - 1}/{found.size}"
    response = web.StreamResponse(status=status, headers={**own, hdrs.CONTENT_LENGTH: str(end - start)})
    await with_headers(response, {}).prepare(request)
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
            async with asyncio.timeout(IDLE_SECONDS):
                await response.write(piece)
            start += len(piece)
    except OSError:
        return False
    return True


def _asked_part(request: web.BaseRequest, found: OpenFile) -> tuple[int, int] | None:
    """Return start and end of the requested part; ``None`` for the whole file.

    An empty part cannot be satisfied. Only a GET with a single, valid range asks for a part (RFC 9110, sections 14.1.2
    and 14.2).
    """
    if request.method != "GET" or request.headers.get(hdrs.IF_RANGE, found.tag) != found.tag:
        return None
    asked = _RANGE.fullmatch(request.headers.get(hdrs.RANGE, ""))
    if asked is None:
        return None
    first, last = (_number(digits) if digits else None for digits in asked.groups())
    if first is None:
        return None if last is None else (max(0, found.size - last), found.size)
    if last is None:
        return first, found.size
    return None if last < first else (first, min(last + 1, found.size))


def _number(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    return int(significant) if len(significant) <= _MAX_DIGITS else 10**_MAX_DIGITS
