"""``--engine dask``: commands over a fleet by a cluster, in threads of this process, or of processes of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.archive.fleet_folder import archive_place
from exporter.demo.service import DemoService
from exporter.fleet.catalogue.columns import TABLES
from tests.cli.conftest import Program
from tests.fleet.building import blog_name, build_blog, entry
from tests.fleet.tables import sqlite_rows
from tests.fleet.test_dask_hands import cluster
from tests.support.generated import generated_blog
from tests.support.runs import Runs, findings

SOME = [
    ["site", "FLEET"],
    ["export", "jsonl", "FLEET", "OUT", "--only", "all", "--public-open-flg", "1"],
    ["catalogue", "parquet", "FLEET"],
    ["catalogue", "sqlite", "FLEET"],
]
OTHERS = [
    ["verify", "FLEET"],
    ["rebuild", "FLEET", "--markdown"],
    ["rebuild", "FLEET", "--search"],
    ["search", "FLEET", "海"],
    ["index", "FLEET"],
    ["catalogue", "parquet", "FLEET"],
    ["catalogue", "sqlite", "FLEET"],
    ["catalogue", "duckdb", "FLEET"],
]


def files(place: Path) -> dict[str, bytes]:
    """Return everything that commands made, but for what is known by its time."""
    found = {str(path.relative_to(place)): path for path in place.rglob("*") if path.is_file()}
    odd = ("catalogue.json", "verified", "made", "catalogue.sqlite", "catalogue.duckdb")
    names = [name for name, path in found.items() if path.name not in odd and ".work" not in name]
    return {name: found[name].read_bytes().replace(os.fsencode(place), b"PLACE") for name in names}


def plain(document: dict[str, Any], place: Path) -> Any:
    """Return a command's answer without what differs from one time to the next."""
    left = {
        key: value for key, value in document.items() if key not in {"seconds", "cpu_seconds", "indexed_at", "workers"}
    }
    return str(left).replace(str(place), "PLACE")


@pytest.mark.parametrize("commands", [SOME, pytest.param(OTHERS, marks=pytest.mark.hostile)])
def test_every_command_makes_what_it_makes_by_processes_of_this_machine(
    address: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: list[list[str]]
) -> None:
    """Paths are given as from the folder that the command is run in."""
    answers: dict[str, list[Any]] = {"local": [], "dask": []}
    for number in range(3):
        build_blog(tmp_path / "origin" / "FLEET", blog_name(number), [entry(each, period_flg="f") for each in (1, 2)])
    for kind, options in (("local", ["--workers", "1"]), ("dask", ["--engine", "dask", "--scheduler", address])):
        shutil.copytree(tmp_path / "origin", tmp_path / kind)
        monkeypatch.chdir(tmp_path / kind)
        base = Path() if kind == "dask" else tmp_path / kind
        for words in commands:
            places = [base / word if word in {"FLEET", "OUT"} else word for word in words]
            done = program("fleet", *places, *options, "--json")
            assert done.code == 0, done
            answers[kind].append(plain(done.json, tmp_path / kind))
    assert answers["dask"] == answers["local"]
    local, dask = files(tmp_path / "local"), files(tmp_path / "dask")
    assert local.keys() == dask.keys()
    assert {name for name, data in local.items() if dask[name] != data} == set()
    assert len(local) > 50
    for table in TABLES:
        rows = [sqlite_rows(tmp_path / kind / "FLEET" / "catalogue.sqlite", table) for kind in ("local", "dask")]
        assert rows[0] == rows[1]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with cluster(1, 1) as found:
        yield found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler is of the engine dask: add --engine dask"),
        (["--engine", "dask", "--scheduler", "127.0.0.1:9"], "--scheduler is '127.0.0.1:9': an address such as"),
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:9", "--workers", "2"], "not both"),
        (["--engine", "dusk"], "dusk"),
    ],
)
def test_what_cannot_be_right_is_refused(program: Program, tmp_path: Path, words: list[str], said: str) -> None:
    done = program("fleet", "site", tmp_path, *words)
    assert (done.code, said in done.err) == (2, True), done


def test_a_folder_without_archives_is_left_as_it_is(program: Program, address: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = program("fleet", "catalogue", "sqlite", tmp_path / "empty", "--engine", "dask", "--scheduler", address)
    assert done.code == 10, done
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_fleet_is_saved_and_its_sites_are_made_by_processes_that_end_with_the_command(
    runs: Runs, tmp_path: Path
) -> None:
    names = [blog_name(number) for number in range(4)]
    blogs, root = tmp_path / "blogs.txt", tmp_path / "fleet"
    blogs.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    first, *more = (generated_blog(3, 1, 1, blog_id=name, seed=number) for number, name in enumerate(names))
    with DemoService(first, None, *more).run_in_thread() as service:
        target = ["--into", root, "--base-url", service.base_url, "--assets", "none", "--retries", "0", "--json"]
        saved = runs.run("fleet", "run", blogs, *target, "--engine", "dask", "--workers", 2)
    assert saved.code == 0, saved
    assert saved.document["blogs"]["saved"] == 4
    sites = runs.run("fleet", "site", root, "--engine", "dask", "--workers", 1, "--json")
    assert (sites.code, sites.document["made"], sites.document["workers"]) == (0, 4, 1), sites
    for name in names:
        assert findings(archive_place(root, name)) == []
        assert (archive_place(root, name) / "latest" / "site" / "index.html").is_file()


@pytest.mark.parametrize("pause", ["3600", pytest.param("9" * 40, marks=pytest.mark.hostile)])
def test_a_long_pause_that_one_process_is_told_of_is_heeded_by_all(runs: Runs, tmp_path: Path, pause: str) -> None:
    """Else the others would wait with what they have under way until it is over, here for an hour."""
    blogs = tmp_path / "blogs.txt"
    names = [blog_name(number) for number in range(12)]
    refused: list[str] = []
    blogs.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")

    async def busy(request: web.Request) -> web.StreamResponse | None:
        if len(service.requests) < 20:
            return None
        refused.append(request.path)
        return web.Response(status=503, headers={"Retry-After": pause})

    first, *more = (generated_blog(4, 2, 1, blog_id=name, seed=number) for number, name in enumerate(names))
    with DemoService(first, None, *more).run_in_thread() as service:
        service.before = busy
        target = ["--into", tmp_path / "fleet", "--base-url", service.base_url, "--assets", "none"]
        limits = ["--concurrency", "4", "--at-once", "16", "--tries", "1"]
        done = runs.run("fleet", "run", blogs, *target, *limits, "--engine", "dask", "--workers", 2)
    assert done.code in {3, 20}, done
    assert done.err.count("the service asks to wait ") >= 10
    assert len(refused) <= 4, "what was under way with the first refusal"
