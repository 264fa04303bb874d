from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import crawl
from benchmarks.blog_size import BLOG_ID, BlogSize, addresses
from benchmarks.measure import Cores, Sample, measure
from tests.benchmarks.conftest import SIZE

# Others run the same lines; measuring them here too would more than double the time.
pytestmark = pytest.mark.no_cover

COUNT = sum(1 for _ in addresses(SIZE))


def client(name: str, base_url: str, *options: str) -> dict[str, int]:
    command = [sys.executable, "-m", f"benchmarks.client_{name}", base_url, *SIZE.options(), *options]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def test_all_clients_read_the_same(base_url: str, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    bare = client("bare", base_url)
    assert bare["requests"] == COUNT
    assert client("requests", base_url) == bare
    assert client("requests", base_url, "--concurrency=1") == bare
    assert client("tight", base_url, f"--out={records}") == bare
    kept = [json.loads(line) for line in records.read_text().splitlines()]
    assert len(kept) == 1 + 2 * SIZE.entries + SIZE.comments + SIZE.files


def test_a_backup_reads_just_these_addresses_and_is_complete(base_url: str, tmp_path: Path) -> None:
    bench = crawl.Bench(4, Cores(), tmp_path)
    done = subprocess.run(bench.backup(base_url, 0), capture_output=True, check=True)
    said = json.loads(done.stdout)
    assert (said["requests"], said["exit_code"]) == (COUNT, 0)
    assert said["counts"]["comments"]["total"] == SIZE.comments


def test_a_request_without_an_answer_is_told(base_url: str) -> None:
    host, _, port = base_url.removeprefix("http://").partition(":")
    for line in (b"GET /nothing HTTP/1.1", b"POST /v1/user HTTP/1.1", b"GET /blog/v1/entry/get HTTP/1.1"):
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(line + b"\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 404 ")


def test_requests_that_arrive_in_pieces_or_together_are_answered(base_url: str) -> None:
    host, _, port = base_url.removeprefix("http://").partition(":")
    asked = f"GET /blog/v1/entry/get?id={BLOG_ID}&entry_id=1 HTTP/1.1\r\n\r\n".encode()
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(asked[:20])
        connection.sendall(asked[20:] + asked)
        received = b""
        while received.count(b'"entry_id":"1"') < 2:
            piece = connection.recv(65536)
            assert piece
            received += piece
    assert received.count(b"HTTP/1.1 200 OK") == 2


def test_the_whole_prints_a_table_and_what_was_met(capsys: pytest.CaptureFixture[str]) -> None:
    assert crawl.main(["--entries=4", "--comments=3", "--files=2", "--rounds=2", "--large=2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("4 entries, 3 comments, 2 files: 11 requests, 8 at a time, 2 rounds")
    rows = {line[:24].strip(): line.split() for line in lines[2:7]}
    assert set(rows) == {
        "aiohttp, bare",
        "aiohttp, tight script",
        "blog-exporter backup",
        "requests, threads",
        "requests, one by one",
    }
    assert rows["aiohttp, bare"][-3:-1] == ["1.00", "1.00"]
    assert lines[7].startswith("8 entries, 6 comments, 4 files: 15 requests")
    assert [line.split()[0] in {"met", "MISSED"} for line in lines[8:]] == [True] * 4


def test_ratios_are_of_the_same_round_and_by_request() -> None:
    samples = {
        "one": [Sample(2.0, 1.0, 0, 10), Sample(40.0, 4.0, 0, 10), Sample(3.0, 1.0, 0, 10)],
        "two": [Sample(2.0, 1.0, 0, 20), Sample(20.0, 1.0, 0, 20), Sample(2.0, 1.0, 0, 20)],
    }
    assert crawl.ratio(samples, "one", "two", "wall") == pytest.approx(3.0)
    assert crawl.ratio(samples, "one", "two", "cpu") == pytest.approx(2.0)


def test_a_command_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        measure([sys.executable, "-c", "raise SystemExit(3)"], None)


def test_the_memory_of_a_command_is_measured() -> None:
    held = bytearray(250_000_000)
    code = "block = bytearray(80_000_000); print('{\"requests\": 5}')"
    sample = measure([sys.executable, "-c", code], Cores.of_this_machine().client)
    assert sample.requests == 5
    assert 80_000_000 < sample.peak < 200_000_000 < len(held)
    assert sample.wall >= 0 < sample.cpu


def test_a_size_can_be_multiplied_and_shown() -> None:
    assert str(BlogSize(1000, 2, 3).times(10)) == "10,000 entries, 20 comments, 30 files"
