"""``fleet site``, ``verify``, ``rebuild`` and ``export``: all archives in a fleet, in several processes."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.archive.layout import Layout
from exporter.cli import fleet_output
from exporter.fleet import local_pool
from tests.cli.conftest import Program
from tests.fleet.building import blog_name, build_blog, entry
from tests.fleet.captured import PageServer, bare_archive
from tests.fleet.own_pool import OwnPool
from tests.support.captures import captured
from tests.support.runs import Runs

NAMES = [blog_name(number) for number in range(4)]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for number, name in enumerate(NAMES):
        build_blog(tmp_path / "fleet", name, [entry(1 + number, period_flg="f")])
    return tmp_path / "fleet"


def test_sites_of_all_but_the_damaged(program: Program, fleet: Path, tmp_path: Path) -> None:
    damaged = archive_place(fleet, NAMES[1])
    (Layout(damaged).version(1) / "manifest.json").write_bytes(b"{")
    done = program("fleet", "site", fleet, "--workers", "2", "--report", tmp_path / "report", "--json")
    assert done.code == 13, done
    document = done.answer_before_error
    assert (document["archives"], document["made"], document["failed"]) == (4, 3, 1)
    assert [each["blog_id"] for each in document["failures"]] == [NAMES[1]]
    lines = [json.loads(line) for line in (tmp_path / "report").read_text("utf-8").splitlines()]
    assert sorted(line["blog_id"] for line in lines) == NAMES
    sites = {place.parts[-4] for place in fleet.glob("??/*/latest/site/index.html")}
    assert sites == {*NAMES} - {NAMES[1]}
    again = program("fleet", "site", fleet, "--workers", "1")
    assert str(damaged) in again.out
    assert "3 up to date, 1 failed" in again.err


def test_verification_of_all(program: Program, fleet: Path) -> None:
    done = program("fleet", "verify", fleet, "--quick", "--workers", "1")
    assert (done.code, "4 archives done" in done.err) == (0, True), done


def test_archives_with_captures_alone_are_verified(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "captures"
    server = PageServer({"/": "<p>page"})
    with server.running():
        captured(bare_archive(root, NAMES[0]), server, ["/"])
    done = program("fleet", "verify", root, "--workers", "1")
    assert (done.code, "1 archive done" in done.err) == (0, True), done
    (segment,) = (archive_place(root, NAMES[0]) / "captures" / "000001").glob("*.warc.gz")
    data = bytearray(segment.read_bytes())
    data[60] ^= 1
    segment.write_bytes(data)
    assert program("fleet", "verify", root, "--workers", "1").code == 13


def test_rebuilding_and_search_indexes(program: Program, fleet: Path) -> None:
    assert program("fleet", "rebuild", fleet, "--workers", "1", "--json").json["made"] == 4
    assert program("fleet", "rebuild", fleet, "--search", "--workers", "1", "--json").json["work"] == "search"
    assert len(list(fleet.glob("??/*/.work/search.txt"))) == 4


def test_exports_of_all(program: Program, fleet: Path, tmp_path: Path) -> None:
    command = ["fleet", "export", "jsonl", str(fleet), str(tmp_path / "out"), "--public-open-flg", "1", "--json"]
    assert program(*command, "--vertical").code == 2
    command += ["--only", "all", "--workers", "1"]
    first = program(*command)
    assert first.code == 0, first
    assert (first.json["made"], first.json["sums"]["entries"]) == (4, 4)
    assert sorted(place.name for place in (tmp_path / "out").glob("??/*.example.jp")) == NAMES
    assert len(list((tmp_path / "out.NOT-PUBLIC").glob("??/*.NOT-PUBLIC"))) == 4
    assert program(*command).json["up_to_date"] == 4


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["site", "NOWHERE"], 10, "holds no archives of a fleet"),
        (["export", "jsonl", "FLEET", "OUT"], 2, "Nothing says yet which entries are public"),
        (["export", "jsonl", "FLEET", "FLEET/aa", "--public-open-flg", "1"], 2, "among the archives"),
        (["export", "jsonl", "FLEET", "/", "--public-open-flg", "1"], 2, "cannot be a new folder"),
        (["export", "jsonll", "FLEET", "OUT"], 2, "did you mean jsonl"),
        (["exports"], 2, "did you mean export"),
        (["site", "FLEET", "--report", "NOWHERE/x"], 2, "NOWHERE"),
    ],
)
def test_invalid_options(program: Program, fleet: Path, words: list[str], code: int, said: str) -> None:
    places = {"FLEET": str(fleet), "OUT": str(fleet.parent / "out"), "NOWHERE": str(fleet.parent / "NOWHERE")}
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    done = program("fleet", *words)
    assert (done.code, said in done.err) == (code, True), done


def test_progress_without_a_terminal(
    program: Program, fleet: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("exporter.cli.fleet_output.LINE_SECONDS", 0.0)
    monkeypatch.setattr(fleet_output, "_MAX_FAILURES", 1)
    monkeypatch.setattr(local_pool, "LocalPool", lambda _workers: OwnPool())
    for name in NAMES[:2]:
        (archive_place(fleet, name) / "archive.json").write_bytes(b"{")
    done = program("fleet", "verify", fleet)
    assert done.code == 13
    assert "2 of 4 archives" in done.err
    assert "The first 1 failures are named above" in done.err
    assert len(done.out.splitlines()) == 1
    out = program("fleet", "export", "jsonl", fleet, tmp_path / "out", "--public-open-flg", "1", "--body", "html")
    assert (out.code, "--body has no effect on jsonl" in out.err) == (0, True)
    empty = archive_place(fleet, NAMES[3]) / "versions" / "000001"
    for each in empty.iterdir():
        each.unlink()
    empty.rmdir()
    assert "1 without a version yet" in program("fleet", "site", fleet).err


@pytest.mark.no_cover
@pytest.mark.thorough
def test_ctrl_c_ends_soon_and_leaves_no_process(runs: Runs, tmp_path: Path) -> None:
    for number in range(60):
        build_blog(tmp_path / "fleet", blog_name(number), [entry(1 + each) for each in range(6)])
    run = runs.start("fleet", "site", tmp_path / "fleet", "--workers", "2")
    until = time.monotonic() + 60
    while not list((tmp_path / "fleet").glob("??/*/latest/site")) and time.monotonic() < until:
        time.sleep(0.05)
    run.signal(signal.SIGINT)
    done = run.wait()
    assert done.code == 130, done
    assert len(list((tmp_path / "fleet").glob("??/*/latest/site"))) < 60  # it did not end because its work was done
    assert "run the same command again" in done.err
