"""The real command line against an unrelated service; the test reads the archive by the published format alone."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.independent.service import Content, content, list_item, served

pytestmark = pytest.mark.no_cover

USUAL_EDGES = [((0, 0, 0), "empty"), ((20, 20, 20), "404"), ((20, 20, 20), "repeat"), ((1, 1, 1), "empty")]
KINDS = ("entries", "entry_list", "comments", "files", "user", "assets")


def canonical(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def fold(archive: Path) -> dict[str, dict[str, Any]]:
    """Read the newest state as the format describes it, with json and hashlib alone."""
    state: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for folder in sorted((archive / "versions").iterdir()):
        for kind in KINDS:
            for text in (folder / f"{kind}.jsonl").read_bytes().split(b"\n")[:-1]:
                line = json.loads(text)
                if line["op"] == "put":
                    assert hashlib.sha256(canonical(line["data"])).hexdigest() == line["sha256"]
                    state[kind][line["id"]] = line["data"]
                else:
                    del state[kind][line["id"]]
        sums = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
        assert len(sums) > len(KINDS)
        for line in sums:
            digest, name = line.split("  ", 1)
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    return state


def check_identical(archive: Path, made: Content) -> None:
    state = fold(archive)
    assert state["entries"] == {str(number): entry for number, entry in made.entries.items()}
    assert state["entry_list"] == {str(number): list_item(made, number) for number in made.entries}
    assert state["comments"] == {str(comment["cm_id"]): comment for comment in made.comments}
    assert state["files"] == {file["file_id"]: file for file in made.files}
    assert state["user"] == {"cafe" * 8: {"id": "cafe" * 8, "nickname": "書き手"}}
    for kind in KINDS:
        lines = [json.loads(text) for text in (archive / "latest" / f"{kind}.jsonl").read_bytes().split(b"\n")[:-1]]
        assert {line["id"]: line["data"] for line in lines} == state[kind]
        if kind not in {"user", "assets"}:
            assert [int(line["id"]) for line in lines] == sorted(int(line["id"]) for line in lines)


@pytest.mark.parametrize(
    ("entries", "comments", "files"), [(40, 45, 41), pytest.param(300, 730, 131, marks=pytest.mark.thorough)]
)
@pytest.mark.counts_requests
def test_a_whole_blog_is_archived_identically(
    program: Program, tmp_path: Path, entries: int, comments: int, files: int
) -> None:
    made = content(entries, comments, files, entry_page_size=13)
    archive = tmp_path / "archive"
    with served(made) as url:
        command = ("backup", made.blog_id, "--base-url", url, "--archive", archive, "--assets", "embedded")
        assert program(*command).code == 0
        assert made.requests["entry/get"] == entries
        check_identical(archive, made)
        before = sorted(path.name for path in (archive / "versions").iterdir())
        assert program(*command).code == 0
        assert sorted(path.name for path in (archive / "versions").iterdir()) == before == ["000001"]
        made.entries[7] = {**made.entries[7], "title": "changed"}
        del made.entries[9]
        assert program(*command).code == 0
        check_identical(archive, made)
    runs = [json.loads(text) for text in (archive / "runs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [run["version"] for run in runs] == [1, None, 2]
    assert program("verify", archive).code == 0
    assert len(list((archive / "latest" / "markdown").glob("2*/*/*.md"))) == entries - 1


@pytest.mark.parametrize(
    ("entries", "comments", "files", "past_end"),
    [
        pytest.param(*sizes, past_end, marks=[] if (sizes, past_end) in USUAL_EDGES else pytest.mark.thorough)
        for sizes in [(0, 0, 0), (1, 0, 0), (1, 1, 1), (20, 20, 20), (40, 40, 40), (21, 41, 61)]
        for past_end in ("empty", "404", "repeat")
    ],
)
def test_every_edge_of_paging(
    program: Program, tmp_path: Path, entries: int, comments: int, files: int, past_end: str
) -> None:
    made = content(entries, comments, files, past_end=past_end, entry_page_size=20)
    with served(made) as url:
        found = program(
            "backup",
            made.blog_id,
            "--base-url",
            url,
            "--archive",
            tmp_path / "archive",
            "--assets",
            "embedded",
            "--no-site",
            "--json",
        )
    if comments and not entries:
        assert found.code == 0
    assert found.code == 0, found.err
    assert found.json["completeness"]["complete"] is True
    check_identical(tmp_path / "archive", made)


@pytest.mark.parametrize("size", [7, *(pytest.param(each, marks=pytest.mark.thorough) for each in (1, 2, 50, 1000))])
def test_any_entry_page_size(program: Program, tmp_path: Path, size: int) -> None:
    made = content(23, 5, 0, entry_page_size=size)
    with served(made) as url:
        done = program("backup", made.blog_id, "--base-url", url, "--archive", tmp_path / "archive", "--no-site")
        assert done.code == 0
    check_identical(tmp_path / "archive", made)


def test_a_list_that_ignores_its_page_parameter_ends_quickly_and_incomplete(program: Program, tmp_path: Path) -> None:
    made = content(45, 0, 0, entry_page_param=None)
    archive = tmp_path / "archive"
    with served(made) as url:
        found = program("backup", made.blog_id, "--base-url", url, "--archive", archive, "--assets", "embedded")
    assert found.code == 3
    assert "entry_list_page_param" in found.err
    assert made.requests["entry/list"] < 30
    assert len(fold(archive)["entries"]) == 10
    told = program("status", archive, "--json")
    assert (told.code, told.answer_before_error["complete"]) == (3, False)


def test_the_page_parameter_can_be_named(program: Program, tmp_path: Path) -> None:
    made = content(45, 0, 0, entry_page_param="p")
    archive = tmp_path / "archive"
    with served(made) as url:
        options = ("--base-url", url, "--archive", archive, "--entry-list-page-param", "p")
        assert program("backup", made.blog_id, *options).code == 0
    check_identical(archive, made)


def test_an_unknown_blog_gives_a_one_line_error(program: Program, tmp_path: Path) -> None:
    with served(content(1, 0, 0)) as url:
        found = program("backup", "unknown.example", "--base-url", url, "--archive", tmp_path / "archive")
    assert found.code == 20
    assert found.err.count("\n") == 1
    assert "check the blog ID" in found.err
    assert not (tmp_path / "archive").exists()
