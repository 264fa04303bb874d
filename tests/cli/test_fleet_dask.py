"""``--engine dask``: fleet commands on an existing cluster, and on one that the command starts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.fleet.catalogue_rows import TABLES
from tests.cli.conftest import Program
from tests.fleet.building import blog_name, build_blog, entry
from tests.fleet.tables import catalogue_rows
from tests.fleet.test_pools import cluster
from tests.support.runs import Runs

SOME = [
    ["site", "FLEET"],
    ["export", "jsonl", "FLEET", "OUT", "--only", "all", "--public-open-flg", "1"],
    ["catalogue", "sqlite", "FLEET"],
]
OTHERS = [
    ["verify", "FLEET"],
    ["rebuild", "FLEET", "--markdown"],
    ["rebuild", "FLEET", "--search"],
    ["search", "FLEET", "海"],
    ["index", "FLEET"],
    ["catalogue", "sqlite", "FLEET"],
]


def files(place: Path) -> dict[str, bytes]:
    """Return all files that commands made, except those that contain times."""
    found = {str(path.relative_to(place)): path for path in place.rglob("*") if path.is_file()}
    odd = ("verified", "made", "catalogue.sqlite")
    names = [name for name, path in found.items() if path.name not in odd and ".work" not in name]
    return {name: found[name].read_bytes().replace(os.fsencode(place), b"PLACE") for name in names}


def plain(document: dict[str, Any], place: Path) -> Any:
    """Return a command's answer without the values that differ between runs."""
    left = {
        key: value for key, value in document.items() if key not in {"seconds", "cpu_seconds", "indexed_at", "workers"}
    }
    return str(left).replace(str(place), "PLACE")


@pytest.mark.parametrize("commands", [SOME, pytest.param(OTHERS, marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_every_command_gives_the_same_result_as_local_processes(
    address: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: list[list[str]]
) -> None:
    """Relative paths are resolved from the folder in which the command runs."""
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
        rows = [catalogue_rows(tmp_path / kind / "FLEET" / "catalogue.sqlite", table) for kind in ("local", "dask")]
        assert rows[0] == rows[1]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with cluster(1, 1) as found:
        yield found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler needs --engine dask: add it"),
        (["--engine", "dask", "--scheduler", "127.0.0.1:9"], "--scheduler is '127.0.0.1:9': an address such as"),
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:9", "--workers", "2"], "not both"),
        (["--engine", "dusk"], "dusk"),
    ],
)
def test_invalid_options_are_refused(program: Program, tmp_path: Path, words: list[str], said: str) -> None:
    done = program("fleet", "site", tmp_path, *words)
    assert (done.code, said in done.err) == (2, True), done


def test_a_folder_without_archives_is_left_as_it_is(program: Program, address: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = program("fleet", "catalogue", "sqlite", tmp_path / "empty", "--engine", "dask", "--scheduler", address)
    assert done.code == 10, done
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.thorough
def test_sites_are_made_by_processes_that_end_with_the_command(runs: Runs, tmp_path: Path) -> None:
    names = [blog_name(number) for number in range(4)]
    for name in names:
        build_blog(tmp_path / "fleet", name, [entry(1, period_flg="f")])
    sites = runs.run("fleet", "site", tmp_path / "fleet", "--engine", "dask", "--workers", 1, "--json")
    assert (sites.code, sites.document["made"], sites.document["workers"]) == (0, 4, 1), sites
    for name in names:
        assert (archive_place(tmp_path / "fleet", name) / "latest" / "site" / "index.html").is_file()
