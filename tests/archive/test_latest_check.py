from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exporter import lossless_json
from exporter.archive.latest_check import shows
from exporter.archive.layout import Layout
from exporter.archive.lines import put_line
from exporter.archive.state import State
from exporter.model.kinds import Kind

KIND = Kind.COMMENTS
RECORDS = {"1": '{"a":"海"}', "2": '{"n": 1e2, "b":1}', "10": "{}", "x\\u0022y": '{"long":"%s"}' % ("z" * 300_000)}
"""The second is kept as it was sent, with a second hash."""


@pytest.fixture
def state(tmp_path: Path) -> State:
    """A state whose lines are in two files, the last with its members in another order."""
    layout = Layout(tmp_path)
    layout.latest.mkdir()
    frozen = {
        str(lossless_json.loads(f'"{name}"'.encode())): lossless_json.freeze(lossless_json.loads(text.encode()))
        for name, text in RECORDS.items()
    }
    assert [each.raw_digest is None for each in frozen.values()] == [True, False, True, True]
    made = State("sea.example")
    lines = [put_line(name, each) for name, each in frozen.items()]
    (layout.root / "1.jsonl").write_bytes(b"".join(lines[:3]))
    odd = lines[3].replace(b'{"op":"put","id":"x\\"y",', b'{ "id":"x\\u0022y","op":"put",')
    assert odd != lines[3]
    (layout.root / "2.jsonl").write_bytes(odd)
    for number in (1, 2):
        made.fold(layout.root / f"{number}.jsonl", KIND, number)
        made.version = number
    layout.latest_segment(KIND).write_bytes(
        b"".join(made.latest_line(KIND, name, row) for name, row in made.kinds[KIND].ordered())
    )
    return made


def test_the_lines_that_a_backup_writes_are_right(state: State, tmp_path: Path) -> None:
    path = Layout(tmp_path).latest_segment(KIND)
    assert len(path.read_bytes().splitlines()) == 4
    assert shows(path, state, KIND)
    assert shows(path, State("sea.example"), KIND) is False
    path.write_bytes(b"")
    assert shows(path, State("sea.example"), KIND)
    path.unlink()
    assert shows(path, State("sea.example"), KIND) is False
    state.close()


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "another text": lambda data: data.replace("海".encode(), "空".encode()),
    "another version": lambda data: data.replace(b'"id":"10","version":1', b'"id":"10","version":2'),
    "another id": lambda data: data.replace(b'"id":"10"', b'"id":"11"'),
    "no second hash": lambda data: data.replace(data[data.index(b'"raw_sha256"') :][:80], b""),
    "the second hash as the first": lambda data: data.replace(
        data[data.index(b'"id":"2"') :][20:185], b'"sha256":' + data[data.index(b'"raw_sha256"') :][13:80]
    ),
    "a space": lambda data: data.replace(b'"n":1e2', b'"n": 1e2'),
    "one line less": lambda data: data[: data.rindex(b'{"id"')],
    "one line more": lambda data: data + b"{}\n",
    "no last line feed": lambda data: data[:-1],
    "other line feeds": lambda data: data.replace(b"}\n", b"} "),
    "another order": lambda data: b"".join(sorted(data.splitlines(True), reverse=True)),
    "one record of another": lambda data: data.replace(b'{"a"', b'{"c"'),
    "the odd line as it is": lambda data: data.replace(b'"id":"x\\"y"', b'"id":"x\\u0022y"'),
}


@pytest.mark.parametrize("name", CHANGES)
def test_any_other_content_is_found(state: State, tmp_path: Path, name: str) -> None:
    path = Layout(tmp_path).latest_segment(KIND)
    data = path.read_bytes()
    assert CHANGES[name](data) != data
    path.write_bytes(CHANGES[name](data))
    assert not shows(path, state, KIND)
    state.close()
