"""What waits on this machine for the browser to come back from the service's page (RFC 8252, section 7.3).

Whatever else comes to the port, such as a request for an icon or one that another page made, is answered and passed
over: only an address with the right ``state`` ends the waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from html import escape
from typing import Final, Self
from urllib.parse import urlsplit

from exporter.errors import NotAuthorised, UsageError, WrongSignInAnswer
from exporter.login.protocol import SignInAttempt
from exporter.message import message
from exporter.translation import current_language, translated

_HOST: Final = "127.0.0.1"
_NAMES: Final = (_HOST, "localhost")
_LARGEST_HEAD: Final = 16384
_HEAD_SECONDS: Final = 10.0
_PAGE: Final = (
    '<!DOCTYPE html><html lang="{lang}"><meta charset="utf-8"><title>blog-exporter</title>'
    '<body style="font:1.1rem/1.6 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem">'
    '<h1 style="font-size:1.3rem">{title}</h1><p>{text}</p></body></html>'
)
_HEADERS: Final = (
    "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\nConnection: close\r\n"
)


def is_loopback(redirect_uri: str) -> bool:
    """Tell whether an address to come back to is one that this machine can wait at: plain http, and loopback."""
    try:
        parts = urlsplit(redirect_uri)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname in _NAMES


class Receiver:
    """Waits at a loopback address; use it in ``async with``.

    Args:
        redirect_uri: where the service is to send the browser, as registered there; ``None`` for a free port.
        say: called with a sentence about each answer that is passed over.

    Attributes:
        redirect_uri: with the port that was found.
    """

    def __init__(self, redirect_uri: str | None, say: Callable[[str], None]) -> None:
        self.redirect_uri = redirect_uri or f"http://{_HOST}:0/"
        self._say = say
        self._server: asyncio.Server | None = None
        self._attempt: SignInAttempt | None = None
        self._answer: asyncio.Future[str] | None = None

    async def __aenter__(self) -> Self:
        """Begin to listen.

        Raises:
            UsageError: the port is taken.
        """
        parts = urlsplit(self.redirect_uri)
        port = parts.port if parts.port is not None else 80
        try:
            self._server = await asyncio.start_server(self._serve, _HOST, port, limit=_LARGEST_HEAD)
        except OSError as error:
            raise UsageError(
                message("Cannot wait for the browser on port {port}: {reason}.", port=port, reason=error.strerror or "")
            ) from None
        port = self._server.sockets[0].getsockname()[1]
        self.redirect_uri = parts._replace(netloc=f"{parts.hostname}:{port}", path=parts.path or "/").geturl()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 2.0)

    async def code_for(self, attempt: SignInAttempt, seconds: float) -> str:
        """Wait for the answer to an attempt and return its code.

        Raises:
            NotAuthorised: the service refused, or nobody signed in within ``seconds``.
        """
        self._attempt = attempt
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(self._answer, seconds)
        except TimeoutError:
            minutes = max(1, round(seconds / 60))
            raise NotAuthorised(
                message("Nobody signed in within {minutes} min: run the same command again.", minutes=minutes)
            ) from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, title, text = self._answered(head.decode("latin-1"))
            told = {"title": escape(translated(title)), "text": escape(translated(text)), "lang": current_language()}
            page = _PAGE.format(**told).encode()
            writer.write(f"HTTP/1.1 {status}\r\n{_HEADERS}Content-Length: {len(page)}\r\n\r\n".encode() + page)
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever that was, it is not the browser with the answer
        finally:
            writer.close()

    def _answered(self, head: str) -> tuple[str, str, str]:
        """Take the answer where a request is it; returns the status line's end, a title and a text for the page."""
        lines = head.split("\r\n")
        method, _, rest = lines[0].partition(" ")
        target = rest.rpartition(" ")[0]
        mine = urlsplit(self.redirect_uri)
        hosts = [line.partition(":")[2].strip().lower() for line in lines[1:] if line.lower().startswith("host:")]
        nothing = message("Nothing is here"), message("This program only waits for the answer of your blog's service.")
        if hosts not in [[f"{name}:{mine.port}"] for name in _NAMES] or target.partition("?")[0] != mine.path:
            return "404 Not Found", *nothing
        if method != "GET" or self._attempt is None or self._answer is None or self._answer.done():
            return "404 Not Found", *nothing
        try:
            code = self._attempt.code_in(f"http://{mine.netloc}{target}")
        except WrongSignInAnswer:
            self._say(message("An answer that does not belong to this attempt to sign in came, and was passed over."))
            return "400 Bad Request", message("Not the answer that is awaited"), message("Go back and sign in again.")
        except NotAuthorised as error:
            self._answer.set_exception(error)
            return "200 OK", message("Not signed in"), message("{reason} You can close this window.", reason=error)
        self._answer.set_result(code)
        return (
            "200 OK",
            message("Signed in"),
            message("You can close this window, and go on in the terminal."),
        )
