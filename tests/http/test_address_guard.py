"""Which addresses may be requested: by number, by notation, and on real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from exporter.errors import AddressRefused, ConnectFailed, NotPublic, RedirectRefused
from exporter.http.address_guard import PORTS, AddressGuard, is_public, origin_of, states_private
from exporter.http.retry import RetryPolicy
from tests.http.clocks import JumpClock
from tests.http.sink import Memory, downloading

PUBLIC = "93.184.216.34"


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
        "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a00:1",
        "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "3fff::1", "5f00::1",
        "fc00::1", "fd12::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1",
        "2130706433", "0177.0.0.1", "0x7f.1", "127.1", "localhost", "",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", PUBLIC, "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2606:4700::1111", "2001:4860::8888"],
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@given(st.integers(0, 2**32 - 1))
def test_every_spelling_of_an_address_is_judged_alike(number: int) -> None:
    plain = socket.inet_ntoa(number.to_bytes(4, "big"))
    for form in (f"::ffff:{plain}", f"64:ff9b::{plain}", f"2002:{number >> 16:x}:{number & 0xFFFF:x}::"):
        assert is_public(form) == is_public(plain)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("ftp://h/a.png", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("data:image/png;base64,AA", "only http and https"),
        ("//h/a.png", "only http and https"),
        ("http:///a.png", "only http and https"),
        ("", "only http and https"),
        ("http://u:p@h/", "user name or password"),
        ("http://u@h/", "user name or password"),
        ("http://h:22/", "port 22"),
        ("https://h:6379/", "port 6379"),
        ("http://h:99999/", "not a valid address"),
        ("http://xn--.example/", "not a valid address"),
        ("http://xn--a.example/", "not a valid address"),
        ("http://[::1/", "not a valid address"),
        ("http://" + "a" * 64 + ".example/", "not a valid address"),
        ("http://h/" + "a" * 8200, "longer than"),
    ],
)
def test_some_addresses_are_refused_before_name_resolution(address: str, why: str) -> None:
    with pytest.raises(AddressRefused, match=why):
        AddressGuard().check(address)


@pytest.mark.parametrize(("address", "closed"), [("http://h:22/", True), ("ftp://h/", False), ("http://u@h/", False)])
def test_an_unusual_port_differs_from_an_invalid_address(address: str, closed: bool) -> None:
    with pytest.raises(AddressRefused) as caught:
        AddressGuard().check(address)
    assert isinstance(caught.value, NotPublic) is closed


def test_permitted_addresses() -> None:
    for port in PORTS:
        assert AddressGuard().check(f"https://h:{port}/a%2Fb?c#d").port == port
    assert AddressGuard(allow_private=True).check("http://h:22/").port == 22


class Listener:
    """Counts connections, and answers with ``body``."""

    def __init__(self) -> None:
        self.connections = 0
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret"
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def listening(*hosts: str) -> AsyncIterator[Listener]:
    listener = Listener()
    server = await asyncio.start_server(listener.serve, hosts[0], 0)
    listener.port = server.sockets[0].getsockname()[1]
    more = []
    for host in hosts[1:]:
        if socket.has_ipv6:
            try:
                more.append(await asyncio.start_server(listener.serve, host, listener.port))
            except OSError:  # this machine has no such address
                continue
    try:
        yield listener
    finally:
        for each in (server, *more):
            each.close()
            await each.wait_closed()


class Names(AbstractResolver):
    """Answers each query for a name with the next of its lists of addresses, and repeats the last one."""

    def __init__(self, **names: list[list[str]]) -> None:
        self.names = names
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        self.asked.append(host)
        answers = self.names[host.partition(".")[0]]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            ResolveResult(
                hostname=host,
                host=each,
                port=port,
                family=10 if ":" in each else 2,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for each in found
        ]

    async def close(self) -> None:
        return None


class RoutedSocket(socket.socket):
    """Connects to a server of the test in place of a public address: a little internet on this machine."""

    routes: ClassVar[dict[str, int]] = {}

    def connect(self, address: Any) -> None:
        host = address[0]
        super().connect(("127.0.0.1", self.routes[host]) if host in self.routes else address)


class RoutedGuard(AddressGuard):
    """The real guard; only the sockets that it permits are led to a server of the test."""

    def socket(self, info: tuple[Any, ...]) -> socket.socket:
        with super().socket(info):
            return RoutedSocket(info[0], info[1], info[2])


@pytest.fixture
def routes() -> Iterator[dict[str, int]]:
    RoutedSocket.routes = {}
    yield RoutedSocket.routes
    RoutedSocket.routes = {}


HOSTS = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "017700000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "0x7f.1",
    "0.0.0.0", "0", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
    "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "localhost", "LOCALHOST", "localhost.", "127.0.0.1.", "%6cocalhost",
]  # fmt: skip


@pytest.mark.parametrize("host", [*HOSTS[:-1], "a.localhost", "10.0.0.1", "192.168.1.1", "[fe80::1%25eth0]", "h:22"])
def test_an_address_with_a_private_host_or_an_unusual_port_is_recognized(host: str) -> None:
    assert states_private(f"http://{host}/a.png")


@pytest.mark.parametrize(
    "address",
    ["http://inner.example/", "http://127.0.0.1.example/", "http://notlocalhost/", "http://localhost.example/",
     f"http://{PUBLIC}/", f"http://{PUBLIC}./", "https://[2606:4700::1111]/", "http://h:8080/", "https://h:443/",
     "http://h:99999/", "http://[::1/"],
)  # fmt: skip
def test_a_name_that_may_resolve_to_anything_is_not_judged(address: str) -> None:
    assert not states_private(address)


@pytest.mark.parametrize("host", HOSTS)
async def test_no_spelling_of_loopback_reaches_it(host: str) -> None:
    async with listening("127.0.0.1", "::1") as listener:
        async with downloading(AddressGuard(ports=frozenset({listener.port}))) as downloader:
            sink = Memory()
            with pytest.raises((ConnectFailed, AddressRefused)):
                await downloader.read(f"http://{host}:{listener.port}/a.png", sink)
        assert (listener.connections, sink.size) == (0, 0)


async def test_the_listener_would_have_been_reached() -> None:
    async with listening("127.0.0.1") as listener:
        async with downloading(AddressGuard(allow_private=True)) as downloader:
            sink = Memory()
            await downloader.read(f"http://localhost:{listener.port}/a.png", sink)
        assert (listener.connections, bytes(sink.data)) == (1, b"secret")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3", "169.254.169.254"])
async def test_a_name_that_resolves_to_a_private_address_is_refused(address: str) -> None:
    async with listening("127.0.0.1", "::1") as listener:
        async with downloading(
            AddressGuard(ports=frozenset({listener.port})), resolver=Names(evil=[[address]])
        ) as downloader:
            with pytest.raises(NotPublic, match="no public address"):
                await downloader.read(f"http://evil.example:{listener.port}/", Memory())
        assert listener.connections == 0


async def test_a_name_that_resolves_to_both_is_connected_at_the_public_address_only(routes: dict[str, int]) -> None:
    async with listening("127.0.0.1") as private, listening("127.0.0.1") as public:
        routes[PUBLIC] = public.port
        names = Names(both=[["127.0.0.1", PUBLIC]])
        async with downloading(RoutedGuard(ports=frozenset({private.port})), resolver=names) as downloader:
            await downloader.read(f"http://both.example:{private.port}/", Memory())
        assert (private.connections, public.connections) == (0, 1)


async def test_a_name_that_is_public_first_and_loopback_second_gets_nothing(routes: dict[str, int]) -> None:
    async with listening("127.0.0.1") as private, listening("127.0.0.1") as public:
        routes[PUBLIC] = public.port
        public.answer = b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        names = Names(rebinding=[[PUBLIC], ["127.0.0.1"]])
        guard, again = RoutedGuard(ports=frozenset({private.port})), RetryPolicy(retries=3)
        async with downloading(guard, resolver=names, clock=JumpClock(), policy=again) as downloader:
            sink = Memory()
            with pytest.raises(AddressRefused, match="no public address"):
                await downloader.read(f"http://rebinding.example:{private.port}/", sink)
        assert len(names.asked) == 2
        assert (private.connections, public.connections, sink.size) == (0, 1, 0)


async def test_when_the_public_address_of_a_name_is_dead_its_private_one_is_not_tried(routes: dict[str, int]) -> None:
    async with listening("127.0.0.1") as private:
        routes[PUBLIC] = 1
        names = Names(half=[[PUBLIC, "127.0.0.1"]])
        async with downloading(RoutedGuard(ports=frozenset({private.port})), resolver=names) as downloader:
            with pytest.raises(AddressRefused):
                await downloader.read(f"http://half.example:{private.port}/", Memory())
        assert private.connections == 0


@pytest.mark.parametrize("again", [False, True], ids=["at first", "after the service"])
async def test_only_the_name_of_the_service_reaches_its_private_address(again: bool) -> None:
    """Another name that resolves to this address gets nothing, and a redirect by the service to such a name fails."""
    async with listening("127.0.0.1") as listener:
        names = Names(blog=[["127.0.0.1"]], evil=[["127.0.0.1"]])
        guard = AddressGuard(ports=frozenset({listener.port}), service=f"http://blog.example:{listener.port}/api")
        async with downloading(guard, resolver=names) as downloader:
            if again:
                await downloader.read(f"http://blog.example:{listener.port}/a.png", Memory())
            with pytest.raises(NotPublic):
                await downloader.read(f"http://evil.example:{listener.port}/a.png", Memory())
            assert listener.connections == again
            location = f"http://evil.example:{listener.port}/"
            listener.answer = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
            with pytest.raises((NotPublic, RedirectRefused)):
                await downloader.read(f"http://blog.example:{listener.port}/a.png", Memory())
        assert listener.connections == again + 1


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1:{port}/", "//localhost:{port}/x", "http://[::1]:{port}/", "http://2130706433:{port}/",
     "http://inner.example:{port}/", "http://u:p@{public}:{port}/", "file:///etc/passwd", "http://{public}:22/",
     "gopher://127.0.0.1:{port}/", "http://[::1:{port}/"],
)  # fmt: skip
async def test_a_redirect_to_a_private_address_is_refused(target: str, routes: dict[str, int]) -> None:
    async with listening("127.0.0.1", "::1") as private, listening("127.0.0.1") as public:
        routes[PUBLIC] = public.port
        location = target.format(port=private.port, public=PUBLIC)
        public.answer = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
        names = Names(outer=[[PUBLIC]], inner=[["127.0.0.1"]], localhost=[["127.0.0.1"]])
        async with downloading(RoutedGuard(ports=frozenset({private.port})), resolver=names) as downloader:
            sink = Memory()
            with pytest.raises((ConnectFailed, AddressRefused, RedirectRefused)):
                await downloader.read(f"http://outer.example:{private.port}/", sink)
        assert (private.connections, public.connections, sink.size) == (0, 1, 0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://h/a", "http://h:80/b", True),
        ("http://H./a", "HTTP://h/b", True),
        ("https://h:443", "https://h/", True),
        ("http://u:p@h/", "http://h/", True),
        ("http://[::1]:80/", "http://[::1]/", True),
        ("http://h/", "https://h/", False),
        ("http://h/", "http://h:81/", False),
        ("http://[::1]:1/", "http://[::1]:2/", False),
    ],
)
def test_a_host_is_a_scheme_a_name_and_a_port(one: str, other: str, same: bool) -> None:
    assert (origin_of(URL(one, encoded=True)) == origin_of(URL(other, encoded=True))) is same
