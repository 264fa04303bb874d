"""Every exception of the HTTP library becomes one of ours, and every base URL is right or refused."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import Any

import aiohttp
import pytest
from yarl import URL

from exporter.errors import BadBody, BlogExporterError, ConnectFailed, RequestTimeout, TransportError, UsageError
from exporter.http.transport import HttpTransport, TransportOptions, Unreachable, check_base_url


def library_exceptions() -> list[type[Exception]]:
    """All exceptions of aiohttp's client side, from every module that is not the server's or the tests'."""
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
    """Make an instance without the arguments its class wants, as only its class matters."""
    shown = type(kind.__name__, (kind,), {"__str__": lambda self: f"a {kind.__name__}", "__init__": lambda self: None})
    made: Exception = shown()
    return made


@pytest.mark.parametrize("kind", library_exceptions(), ids=lambda kind: kind.__name__)
async def test_no_exception_of_the_library_comes_out(kind: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    if kind.__name__ in NOT_RAISED_BY_A_GET:
        assert not issubclass(kind, aiohttp.ClientError | OSError)
        return

    def fail(*_: Any, **__: Any) -> Any:
        raise raised(kind)

    client = HttpTransport("http://127.0.0.1:9")
    monkeypatch.setattr(aiohttp.ClientSession, "get", fail)
    with pytest.raises(BlogExporterError) as caught:
        await client.get("/x", {}, {})
    await client.close()
    assert isinstance(caught.value, TransportError | UsageError)
    assert "127.0.0.1:9" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (aiohttp.ClientConnectorDNSError, Unreachable),
        (aiohttp.ClientConnectorCertificateError, Unreachable),
        (aiohttp.ServerDisconnectedError, ConnectFailed),
        (aiohttp.ClientOSError, ConnectFailed),
        (aiohttp.ServerTimeoutError, RequestTimeout),
        (aiohttp.ConnectionTimeoutError, RequestTimeout),
        (aiohttp.ClientPayloadError, BadBody),
        (aiohttp.ClientResponseError, BadBody),
        (aiohttp.http_exceptions.ContentEncodingError, BadBody),
        (aiohttp.InvalidURL, UsageError),
        (TimeoutError, RequestTimeout),
        (BrokenPipeError, ConnectFailed),
    ],
)
async def test_each_becomes_what_it_means(
    kind: type[Exception], ours: type[BlogExporterError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise raised(kind)

    client = HttpTransport("http://127.0.0.1:9", TransportOptions())
    monkeypatch.setattr(aiohttp.ClientSession, "get", fail)
    with pytest.raises(ours) as caught:
        await client.get("/x", {}, {})
    await client.close()
    assert type(caught.value) is ours
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


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
