"""Which requests are answered, decided by their host name and by the secret."""

from __future__ import annotations

import pytest

from exporter.serve.listening import below_token, is_loopback, is_own_name


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True),
        ("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("example.org", False), ("", False),
        ("localhost.example.org", False),
    ],
)  # fmt: skip
def test_loopback_hosts(host: str, own: bool) -> None:
    assert is_loopback(host) == own


@pytest.mark.parametrize("header", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:80", "::1"])
def test_its_own_names(header: str) -> None:
    assert is_own_name(header, "127.0.0.1")


@pytest.mark.parametrize(
    "header", ["", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.1.5", "localhost.evil.example"]
)
def test_foreign_names_that_resolve_to_this_machine(header: str) -> None:
    assert not is_own_name(header, "127.0.0.1")


def test_in_a_network_addresses_and_its_own_name_are_accepted() -> None:
    assert is_own_name("192.168.1.5:80", "0.0.0.0")
    assert is_own_name("diary.home.arpa", "diary.home.arpa")
    assert not is_own_name("evil.example", "0.0.0.0")


def test_the_secret_is_the_first_part_of_the_path() -> None:
    assert below_token("/abc/latest/site/index.html", "abc") == "/latest/site/index.html"
    assert below_token("/abc", "abc") == "/"
    for path in ("/", "", "/ab/x", "/abcd/x", "/x/abc", "/あ/x", "/ABC/x"):
        assert below_token(path, "abc") is None
    assert below_token("/api", "") == "/api"
