from __future__ import annotations

import json
import socket
from pathlib import Path
from zlib import crc32

import pytest

from benchmarks.content import BLOG_ID, addresses
from benchmarks.crawl import client, require_requests
from benchmarks.measure import PLAIN, Sample, Service, backup, run
from tests.benchmarks.conftest import SIZE

# Others run the same lines; measuring them here too would more than double the time.
pytestmark = [pytest.mark.bench, pytest.mark.no_cover]

COUNT = sum(1 for _ in addresses(SIZE))


def test_all_clients_read_the_same(service: Service, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    bare = run(client("bare", service.base_url, SIZE)).json
    assert bare["requests"] == COUNT
    assert run(client("requests", service.base_url, SIZE)).json == bare
    assert run(client("requests", service.base_url, SIZE, "--concurrency=1")).json == bare
    assert run(client("tight", service.base_url, SIZE, f"--out={records}")).json == bare
    kept = [json.loads(line) for line in records.read_text().splitlines()]
    assert len(kept) == 1 + 2 * SIZE.entries + SIZE.comments + SIZE.files


def test_a_client_may_read_less_or_more(service: Service) -> None:
    assert run(client("bare", service.base_url, SIZE, "--lists")).json["requests"] == COUNT - SIZE.entries
    assert run(client("bare", service.base_url, SIZE, "--pictures")).json["requests"] == COUNT + SIZE.entries + 4


def test_a_backup_reads_just_these_addresses_and_is_complete(service: Service, tmp_path: Path) -> None:
    said = run(backup(service.base_url, tmp_path / "archive", PLAIN)).json
    assert (said["requests"], said["exit_code"]) == (COUNT, 0)
    assert said["counts"]["comments"]["total"] == SIZE.comments


def test_clients_that_ask_for_something_else_are_not_compared() -> None:
    samples = {"one": [Sample(1, 1, 1, b'{"requests": 7}')], "two": [Sample(1, 1, 1)]}
    require_requests(samples, 7)
    with pytest.raises(RuntimeError, match="one sent 7 requests, not 8"):
        require_requests(samples, 8)


def asked(service: Service, sent: bytes, pieces: int = 1) -> bytes:
    host, _, port = service.base_url.removeprefix("http://").partition(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        step = len(sent) // pieces + 1
        for at in range(0, len(sent), step):
            connection.sendall(sent[at : at + step])
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(65536):
            received += piece
    return received


def test_a_request_without_an_answer_is_told(service: Service) -> None:
    for line in (b"GET /nothing HTTP/1.1", b"POST /v1/user HTTP/1.1", b"GET /blog/v1/entry/get HTTP/1.1"):
        assert asked(service, line + b"\r\n\r\n").startswith(b"HTTP/1.1 404 ")


def test_requests_that_arrive_in_pieces_or_together_are_answered(service: Service) -> None:
    request = f"GET /blog/v1/entry/get?id={BLOG_ID}&entry_id=1 HTTP/1.1\r\n\r\n".encode()
    received = asked(service, request + request, pieces=3)
    assert received.count(b"HTTP/1.1 200 OK") == received.count(b'"entry_id":"1"') == 2


def test_every_picture_is_another_one(service: Service) -> None:
    found = {asked(service, b"GET /%b.png HTTP/1.1\r\n\r\n" % name) for name in (b"1", b"2", b"emoji/1")}
    assert len(found) == 3
    for answer in found:
        head, _, png = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n")
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert int.from_bytes(png[-4:], "big") == crc32(b"IEND")
