"""Nightly backups of a blog by the real command: their size, and that every state reads back."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from exporter.cli.main import main
from exporter.demo.content import Blog, fields
from exporter.model.kinds import Kind
from tests.archive import plain_reader
from tests.support.generated import generated_blog
from tests.support.records import comment_record, entry_record
from tests.support.runs import State, held, serving

# Other tests cover the same lines; measuring coverage here would more than double the time.
pytestmark = pytest.mark.no_cover

DAY = datetime(2024, 7, 15, 9, 30)  # noqa: DTZ001  the service sends Japan time without an offset
NAMES = {Kind.ENTRIES: "entry", Kind.ENTRY_LIST: "item", Kind.COMMENTS: "comment", Kind.FILES: "file"}


@dataclass(frozen=True)
class Ten:
    """An archive, and the contents of the service when each version was made."""

    root: Path
    states: list[State]

    @property
    def versions(self) -> int:
        """Return the number of versions."""
        return len(self.states)

    def touched(self, kind: Kind) -> set[str]:
        """Return the IDs of the records that differ between versions."""
        ids = {record_id for state in self.states for record_id in state[kind]}
        return {each for each in ids if len({state[kind].get(each) for state in self.states}) > 1}


@dataclass(frozen=True)
class Size:
    """How many records the first version has, and how many versions there are."""

    entries: int
    comments: int
    files: int
    versions: int


def next_day(blog: Blog, day: int, size: Size) -> None:
    """Edit an entry and add a comment; on some days rename, add or delete an entry."""
    before = fields(blog.entries[10 + day])
    blog.entries[10 + day] = {**before, "entry_text": before["entry_text"] + f"<p>追記 {day}</p>"}
    if day % 4 == 0:
        blog.entries[1] = {**fields(blog.entries[1]), "title": f"{day}日目 \ud83d"}
    comment = comment_record(1000 + day, 50, "通りすがり", f"{day}番目の感想", DAY)
    blog.comments.append(comment)
    if day % 3 == 0:
        blog.entries[200 + day] = entry_record(blog.blog_id, 200 + day, "新しい", "<p>今日</p>", DAY, user_id="0f")
    if day == 5:
        gone = size.entries * 3 // 10
        del blog.entries[gone]
        blog.comments[:] = [each for each in blog.comments if fields(each)["entry_id"] != str(gone)]
    if day == size.versions - 2:
        del blog.files[3]


@pytest.fixture(
    scope="module", params=[Size(100, 100, 6, 5), pytest.param(Size(200, 300, 20, 10), marks=pytest.mark.thorough)]
)
def ten(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ten:
    root = tmp_path_factory.mktemp("ten") / "archive"
    of: Size = request.param
    blog = generated_blog(of.entries, of.comments, of.files)
    states = []
    with serving(blog) as service:
        command = [
            "backup",
            blog.blog_id,
            f"--base-url={service.base_url}",
            f"--archive={root}",
            "--assets=none",
            "--no-site",
            "-q",
        ]
        for day in range(1, of.versions + 1):
            if day > 1:
                next_day(blog, day, of)
            assert main(command) == 0
            states.append(held(blog))
    return Ten(root, states)


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_nights_of_small_edits_add_under_a_tenth(ten: Ten) -> None:
    first, *more = sorted((ten.root / "versions").iterdir())
    assert len(more) == ten.versions - 1
    assert 0 < sum(map(size, more)) < size(first) / 10


def test_a_reader_that_knows_only_the_format_sees_every_state(ten: Ten) -> None:
    found = dict(plain_reader.states(ten.root))
    assert list(found) == list(range(1, ten.versions + 1))
    for number, expected in enumerate(ten.states, 1):
        assert {kind: found[number][str(kind)] for kind in expected} == expected


def test_show_gives_every_record_as_it_was(
    ten: Ten, capfdbinary: pytest.CaptureFixture[bytes], subtests: pytest.Subtests
) -> None:
    for number in range(1, ten.versions + 1):
        with subtests.test(version=number):
            check_show(ten, number, capfdbinary)


def check_show(ten: Ten, number: int, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    expected = ten.states[number - 1]
    for kind, name in NAMES.items():
        touched = ten.touched(kind)
        assert touched
        # A record that never changed has the same line in every version, so a few of them are enough.
        for record_id in sorted({*touched, *list(expected[kind])[::40]}):
            code = main(["show", str(ten.root), name, record_id, f"--at={number}", "--json"])
            said = capfdbinary.readouterr()
            there = record_id in expected[kind]
            if not there and not any(record_id in state[kind] for state in ten.states[:number]):
                assert (code, b" has no " in said.err) == (5, True)
                continue
            assert (code, b"is gone since version" in said.err) == (0, not there)
            if there:
                head, _, data = said.out.partition(b',"data":')
                assert data == expected[kind][record_id] + b"}\n"
                shown = json.loads(head + b"}")
                assert shown["id"] == record_id
                assert shown["sha256"] == hashlib.sha256(expected[kind][record_id]).hexdigest()
                assert shown["version"] <= number


def test_rebuild_shows_every_state_in_latest(ten: Ten, tmp_path: Path, subtests: pytest.Subtests) -> None:
    copy = tmp_path / "archive"
    shutil.copytree(ten.root, copy)
    for number in sorted({1, 4, 5, ten.versions - 1, ten.versions}):
        with subtests.test(version=number):
            check_rebuild(ten, number, copy)


def check_rebuild(ten: Ten, number: int, copy: Path) -> None:
    assert main(["rebuild", str(copy), f"--at={number}", "--no-markdown", "--no-site", "-q"]) == 0
    for kind, expected in ten.states[number - 1].items():
        lines = (copy / "latest" / f"{kind}.jsonl").read_bytes().split(b"\n")[:-1]
        parts = [line.partition(b',"data":') for line in lines]
        found = {json.loads(head + b"}")["id"]: data.removesuffix(b"}") for head, _, data in parts}
        assert found == expected
        assert len(lines) == len(expected)
