"""Every exception of the HTTP library becomes one of the program's, and every base URL is valid or refused."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import Any, cast

import aiohttp
import pytest
from yarl import URL

from exporter.errors import (
    AddressRefused,
    BadBody,
    BlogExporterError,
    ConnectFailed,
    RequestTimeout,
    TransportError,
    Unreachable,
    UsageError,
)
from exporter.http.address_guard import AddressGuard, check_base_url
from exporter.http.deadline import Timeouts
from exporter.http.transport import AiohttpTransport, HttpRequest, Sender, Statistics
from tests.http.scripted import NoBody


def library_exceptions() -> list[type[Exception]]:
    """All exceptions of aiohttp's client, from every module except those of the server and the tests."""
    found: set[type[Exception]] = set()
    for module in pkgutil.iter_modules(aiohttp.__path__):
        if module.name.startswith(("web", "test", "pytest", "worker", "_")):
            continue
        for value in vars(import_module(f"aiohttp.{module.name}")).values():
            if (
                inspect.isclass(value)
                and issubclass(value, Exception)
                and not issubclass(value, Warning)
                and value.__module__.startswith("aiohttp.")
            ):
                found.add(value)
    return sorted(found, key=lambda kind: kind.__name__)


NOT_RAISED_BY_A_GET = {
    "EofStream": "the reader's own signal",
    "LookupError": "for payloads to be sent",
    "TooManyMembersError": "becomes a ContentEncodingError where it arises",
    "WSHandshakeError": "web sockets",
    "WSMessageTypeError": "web sockets",
    "WebSocketError": "web sockets",
}


def raised(kind: type[Exception]) -> Exception:
    """Make an instance without the required arguments, because only its class matters."""
    shown = type(kind.__name__, (kind,), {"__str__": lambda self: f"a {kind.__name__}", "__init__": lambda self: None})
    made: Exception = shown()
    return made


class FailingSession:
    """A session whose every request fails in one way."""

    def __init__(self, kind: type[Exception]) -> None:
        self._kind = kind

    def request(self, *_: Any, **__: Any) -> Any:
        raise raised(self._kind)


async def failure(kind: type[Exception], place: str | None) -> BlogExporterError:
    transport = AiohttpTransport(cast(aiohttp.ClientSession, FailingSession(kind)), AddressGuard())
    request = HttpRequest(
        URL("http://h.example/"),
        "http://h.example",
        {},
        NoBody(),
        Sender(Timeouts(), Statistics(), place, ": check the address") if place else Sender(Timeouts(), Statistics()),
    )
    with pytest.raises(BlogExporterError) as caught:
        await transport.send(request)
    return caught.value


@pytest.mark.parametrize("place", ["api.example:9", None])
@pytest.mark.parametrize("kind", library_exceptions(), ids=lambda kind: kind.__name__)
async def test_no_exception_of_the_library_is_raised(kind: type[Exception], place: str | None) -> None:
    if kind.__name__ in NOT_RAISED_BY_A_GET:
        assert not issubclass(kind, aiohttp.ClientError | OSError)
        return

    error = await failure(kind, place)
    assert isinstance(error, TransportError)
    assert (place or "its host") in str(error)
    assert ("check the address" in str(error)) <= (place is not None)
    assert kind.__name__ not in str(error) or place is not None, "a stored message must not name the library"


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (aiohttp.ClientConnectorDNSError, Unreachable),
        (aiohttp.ClientConnectorCertificateError, Unreachable),
        (aiohttp.ServerDisconnectedError, ConnectFailed),
        (aiohttp.ClientOSError, ConnectFailed),
        (aiohttp.ServerTimeoutError, RequestTimeout),
        (aiohttp.ConnectionTimeoutError, Unreachable),
        (aiohttp.ClientPayloadError, BadBody),
        (aiohttp.ClientResponseError, BadBody),
        (aiohttp.http_exceptions.ContentEncodingError, BadBody),
        (aiohttp.InvalidURL, AddressRefused),
        (TimeoutError, RequestTimeout),
        (BrokenPipeError, ConnectFailed),
    ],
)
async def test_each_exception_becomes_the_right_error(kind: type[Exception], ours: type[BlogExporterError]) -> None:
    error = await failure(kind, "api.example")
    assert type(error) is ours
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("https://api.example", "https://api.example/"),
        ("https://api.example/", "https://api.example/"),
        ("HTTP://Api.Example:8080/v0/", "http://api.example:8080/v0/"),
        ("http://[::1]:8080", "http://[::1]:8080/"),
        ("https://ブログ.example", "https://xn--qckyd1c.example/"),
    ],
)
def test_a_good_base_url_is_taken(text: str, parsed: str) -> None:
    assert check_base_url(text) == URL(parsed)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "api.example",
        "/path",
        "//api.example",
        "ftp://api.example",
        "file:///etc/passwd",
        "http://",
        "https:///path",
        "http://api.example:port",
        "http://api.example:99999999",
        "http://[::1",
        "https://api.example/?",
        "https://api.example/?a=b",
        "https://api.example/#top",
        "https://api.example/#",
        "https://api .example",
        "https://api.example\n",
        "https://api.example\\evil",
        "https://\u202eexample",
        "https://" + "a" * 300 + ".example",
        "http://..",
    ],
)
def test_a_bad_base_url_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_base_url(text)
    assert "base URL" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["https://me:hunter2@api.example", "https://hunter2@api.example", "hunter2@api.example", "http://h:hunter2@[x"],
)
def test_a_password_in_the_base_url_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(UsageError, match="user name or password") as caught:
        check_base_url(text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "https://api.example/?access_token=hunter2",
        "https://api.example?hunter2",
        "https://api.example/v1?a=b&access_token=hunter2#x",
        "https://api.example/#access_token=hunter2",
        "http://api.example:port/?hunter2",
        "http://[::1/?hunter2",
        "ftp://api.example/?hunter2",
        "https://api .example/?hunter2",
        "https://api.example/?\nhunter2",
        "/?hunter2",
    ],
)
def test_a_token_in_the_base_url_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(UsageError, match="base URL") as caught:
        check_base_url(text)
    assert "hunter2" not in str(caught.value)
