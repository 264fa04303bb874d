"""Which errors mean that memory ran out: libraries report it in different ways."""

from __future__ import annotations

import errno
import resource
import ssl

import pytest

from exporter.cli.main import as_own_error
from exporter.errors import NoMemory

LOST = (
    SystemError("<class 'X'> returned NULL without setting an exception"),
    SystemError("error return without exception set"),
    ssl.SSLError(1, "[SSL: LIBRARY_HAS_NO_CIPHERS] library has no ciphers (_ssl.c:3098)"),
    ssl.SSLError(1, "[SSL] malloc failure (_ssl.c:3098)"),
    ssl.SSLError("No cipher can be selected."),
    ssl.SSLError(1, "unknown error (_ssl.c:3098)"),
)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("lib.so: failed to map segment from shared object"),
    ],
)
def test_each_is_named_as_what_it_is(error: Exception) -> None:
    assert isinstance(as_own_error(error), NoMemory)


@pytest.mark.parametrize("error", LOST)
@pytest.mark.parametrize("limit", [50_000_000, resource.RLIM_INFINITY])
def test_a_lost_exception_means_it_only_under_a_limit(
    limit: int, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert isinstance(as_own_error(error), NoMemory) == (limit == 50_000_000)
    assert (as_own_error(error).exit_code == 28) == (limit == 50_000_000)
    for other in (SystemError("frame"), ssl.SSLError(1, "[X509] PEM lib (_ssl.c:4149)")):
        assert not isinstance(as_own_error(other), NoMemory)
