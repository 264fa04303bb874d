"""Archives with valid hashes and values of the wrong type: every command reports the problem in one line."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter import lossless_json
from exporter.archive import documents
from exporter.archive.archive import Archive
from exporter.archive.checks import file_sha256
from exporter.archive.layout import Layout, manifest_name
from exporter.archive.lines import put_line, remove_line, split
from exporter.lossless_json import Frozen, freeze
from exporter.model.kinds import Kind
from tests.cli.conftest import Program
from tests.hostile.building import seal
from tests.hostile.commands import HOME, ONLINE
from tests.hostile.conftest import Whole

pytestmark = pytest.mark.thorough

PUBLIC = ("--public-open-flg", "1", "--visible-delete-flg", "f", "--period-flg-public")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("verify", "{archive}"),
    ("verify", "{archive}", "--quick"),
    ("status", "{archive}"),
    ("status", "{archive}", "--max-age", "2d", "--json"),
    ("log", "{archive}"),
    ("log", "{archive}", "--entry", "{entry}"),
    ("diff", "{archive}"),
    ("show", "{archive}", "entry", "{entry}"),
    ("show", "{archive}", "entry", "{entry}", "--at", "2020-01-01"),
    ("search", "{archive}", "海"),
    ("files", "{archive}"),
    ("files", "{archive}", "--json"),
    ("inspect", "{archive}"),
    ("prune", "{archive}", "--keep-daily", "1", "--dry-run"),
    ("compare", "{archive}", HOME, *PUBLIC),
    ("move", "wordpress", "{archive}", "--map", "{out}.jsonl", "--allow-private-network", *PUBLIC),
    ("site", "{archive}", "{out}/site"),
    ("library", "build", "{archive}", "--out", "{out}/library"),
    ("export", "hugo", "{archive}", "{out}/hugo", *PUBLIC),
    ("export", "wordpress", "{archive}", "{out}/wordpress", *PUBLIC),
    ("export", "bagit", "{archive}", "{out}/bag"),
    ("site", "{archive}"),
    ("rebuild", "{archive}"),
    *ONLINE,
    ("status", "{archive}"),
)
"""The commands that only read come first, so that they all see the forged values."""
DEAR = ("compare", "move", "site", "library", "export", "capture", "rename")
"""Each of these is tried with every third case."""
REFUSALS = {2, 3, 4, 5, 6, 7, 10, 13, 14, 20}
DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 5000

Change = Callable[[Path], None]


def _sealed(root: Path) -> None:
    """Link the newest run to the newest manifest, and seal the archive again."""
    layout = Layout(root)
    *lines, newest = layout.runs.read_bytes().splitlines(keepends=True)
    if newest.startswith(b'{"started_at"'):
        linked = {**lossless_json.loads(newest), "manifest_sha256": file_sha256(layout.manifest(2))}
        layout.runs.write_bytes(b"".join([*lines, lossless_json.dumps(linked) + b"\n"]))
    documents.seal(layout, anew={*documents.sealed_names(layout), *map(manifest_name, range(1, 9))})


def _first_line(kind: Kind, made: Callable[[bytes], bytes]) -> Change:
    """Change the first line of this kind in version 1, and recompute all hashes."""

    def change(root: Path) -> None:
        layout = Layout(root)
        path = layout.segment(1, kind)
        first, *rest = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([made(first), *rest]))
        seal(root)
        shutil.rmtree(layout.latest)
        _sealed(root)

    return change


def _data(kind: Kind, text: str) -> Change:
    """Set the first record's ``data`` to this text, and compute its SHA-256 even if it is not valid JSON."""

    def made(line: bytes) -> bytes:
        try:
            frozen = freeze(lossless_json.loads(text.encode()))
        except lossless_json.NotJson:
            frozen = freeze({})
        if frozen.data != text.encode():
            frozen = Frozen(text.encode(), hashlib.sha256(text.encode()).digest())
        return put_line(split(line).record_id, frozen)

    return _first_line(kind, made)


def _record(kind: Kind, **members: Any) -> Change:
    """Set members of the first record of a kind."""

    def made(line: bytes) -> bytes:
        old = split(line)
        return put_line(old.record_id, freeze({**old.record(), **members}))

    return _first_line(kind, made)


def _document(path: Path, **members: Any) -> None:
    document = {**json.loads(path.read_bytes()), **members}
    path.write_text(json.dumps(document), encoding="utf-8")


def _manifest(**members: Any) -> Change:
    """Set members in the newest manifest, and recompute all hashes."""

    def change(root: Path) -> None:
        layout = Layout(root)
        _document(layout.manifest(2), **members)
        if not {"files", "parent"} & members.keys():
            seal(root)
        _sealed(root)

    return change


def _info(**members: Any) -> Change:
    def change(root: Path) -> None:
        _document(Layout(root).info, **members)
        seal(root)
        _sealed(root)

    return change


def _run(**members: Any) -> Change:
    """Append the line of a run with these members and a valid link to the line before."""

    def change(root: Path) -> None:
        layout = Layout(root)
        last = next(Archive.open(root).newest_runs())
        documents.append_run(layout, {**last, "version": None, **members})

    return change


def _runs_text(text: str) -> Change:
    def change(root: Path) -> None:
        with Layout(root).runs.open("ab") as runs:
            runs.write(text.encode() + b"\n")
        _sealed(root)

    return change


def _options(**members: Any) -> Change:
    """Set members of the stored options of ``latest/``; no other file depends on them."""
    return lambda root: _document(Layout(root).latest_record, **members)


def _evidence(value: str) -> Change:
    line = remove_line("1", {}).replace(b"{}", value.encode())
    return _first_line(Kind.ENTRIES, lambda old: old + line.replace(b'"1"', b'"999"'))


NOT_OBJECTS = ("null", "5", '"x"', "[]", "[[1,2]]", "true", "{", "{x}", '{"a":}', DEEP)
NOT_TIMES: tuple[Any, ...] = (
    None,
    5,
    "",
    "yesterday",
    "2026-01-31T12:00:00",
    "99999-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    [],
    {},
)
WRONG: dict[str, Change] = {
    **{f"data of {kind} {text[:9]}": _data(kind, text) for kind in (Kind.ENTRIES, Kind.ASSETS) for text in NOT_OBJECTS},
    **{f"data of {kind} []": _data(kind, "[]") for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES, Kind.USER)},
    **{f"evidence {value}": _evidence(value) for value in ("null", "5", '[["a",1]]')},
    **{f"finished_at of a run {value!r}": _run(finished_at=value) for value in NOT_TIMES},
    **{f"finished_at of a manifest {value!r}": _manifest(finished_at=value) for value in NOT_TIMES},
    **{f"runs {text[:9]}": _runs_text(text) for text in ("{}", "[]", "null", "5", DEEP, f'{{"a":{DEEP}}}')},
    "asset bytes huge": _record(Kind.ASSETS, bytes=10**30, width=10**30),
    "started_at of a run": _run(started_at=[]),
    "outcome of a run": _run(outcome={}),
    "version of a run": _run(version="2"),
    "huge version of a run": _run(version=10**30),
    "error of a run": _run(error=[]),
    "problems of a run 5": _run(problems=5),
    "problems of a run [5]": _run(problems=[5]),
    "problems of a run without kind": _run(problems=[{"id": None, "reason": "x"}]),
    "completeness of a run": _run(completeness="x"),
    "complete of a run": _run(completeness={"complete": "yes"}),
    "counts of a run": _run(counts={"entries": {"total": "5", "new": 0, "changed": 0, "gone": 0}}),
    "exit code of a run": _run(exit_code="0"),
    "parent a list": _manifest(parent=["version", 1]),
    "parent a number": _manifest(parent=1),
    "files null": _manifest(files=None),
    "files a list": _manifest(files=[]),
    "counts null": _manifest(counts=None),
    "counts strings": _manifest(counts={"entries": {"total": "5", "new": "0", "changed": "0", "gone": "0"}}),
    "completeness x": _manifest(completeness="x"),
    "sweeps a list": _manifest(completeness={"complete": True, "sweeps": []}),
    "problems 5": _manifest(problems=5),
    "problem ids": _manifest(problems=[{"kind": "entries", "id": 5, "reason": "x"}]),
    "started_at 5": _manifest(started_at=5),
    "version huge": _manifest(version=10**30),
    "format version": _manifest(format_version="1"),
    "pruned 5": _manifest(pruned=5),
    "pruned {}": _manifest(pruned={}),
    "healed 5": _manifest(healed=5),
    "tool null": _manifest(tool=None),
    "blog_id null": _info(blog_id=None),
    "blog_id 5": _info(blog_id=5),
    "blog_id empty": _info(blog_id=""),
    "blog_id controls": _info(blog_id="sea\x1b[31m.example"),
    "created_at": _info(created_at="long ago"),
    "info format version": _info(format_version="1"),
}
"""Forgeries that ``verify`` must report."""
ALLOWED: dict[str, Change] = {
    "asset refs": _record(Kind.ASSETS, refs=5),
    "asset refs of lists": _record(Kind.ASSETS, refs=[[1], None, {"entry": 5}]),
    "asset bytes": _record(Kind.ASSETS, bytes="x", width=[], height={}),
    "asset url": _record(Kind.ASSETS, url=5),
    "asset url list": _record(Kind.ASSETS, url=["x"]),
    "asset type": _record(Kind.ASSETS, content_type=5, status="x", error=[], source=5),
    "entry of wrong types": _record(Kind.ENTRIES, title=5, entry_text=[], year=None, open_flg={}, last_update=10**30),
    "entry of huge numbers": _data(Kind.ENTRIES, f'{{"entry_id":"1","title":{LONG},"year":{LONG}}}'),
    "entry nested deeply": _data(Kind.ENTRIES, f'{{"entry_id":"1","title":{DEEP}}}'),
    "comment of wrong types": _record(Kind.COMMENTS, cm_text=5, entry_id=[], name={}, regist_date=10**30),
    "file of wrong types": _record(Kind.FILES, name=5, file_size=[], mtime=10**30, title={}),
    "item of wrong types": _record(Kind.ENTRY_LIST, title=5, comment_count="x", category=[]),
    "user of wrong types": _record(Kind.USER, nickname=[]),
    "options null": _options(options={"entry_url": None, "site_title": None, "site_lang": None}),
    "options numbers": _options(options={"entry_url": 5, "site_title": 5, "site_lang": 5}),
    "options lists": _options(options={"entry_url": [], "site_title": [], "site_lang": {}}),
    "options strange": _options(options={"entry_url": "{nofield}", "site_lang": "../x", "site_title": "\ud83d"}),
    "views": _options(views=[], files=5, version="2", facts=5),
    "manifest hash": _options(manifest_sha256=[], index_sha256=5),
    "view hashes": _options(files={"entries.jsonl": 5}, views={"site": []}),
}
"""Not damage: values that a service may send, and derived data that the program makes again."""


@pytest.mark.parametrize("name", [*WRONG, *ALLOWED])
def test_every_command_succeeds_or_reports_the_problem_in_one_line(
    program: Program, whole: Whole, archive: Path, new_home: tuple[str, ...], tmp_path: Path, name: str
) -> None:
    (WRONG | ALLOWED)[name](archive)
    entry = next(iter(whole.blog.entries))
    wrong = []
    turn = list(WRONG | ALLOWED).index(name)
    for number, command in enumerate(COMMANDS):
        if command[0] in DEAR and (turn + number) % 3:
            continue
        words = [
            word.format(archive=archive, out=tmp_path / "out", entry=entry) if "{" in word else word for word in command
        ]
        words += new_home if command[0] == "move" else ()
        done = program(*(whole.online(command, archive) or words))
        said = done.out + done.err
        told = " ".join(command)
        if done.code not in {0, *REFUSALS} or "Unexpected" in said or "Traceback" in said:
            wrong.append(f"{told}: exit {done.code}: {done.err[-300:]}")
        if done.code in REFUSALS and command not in ONLINE and "error: " not in said and '"error"' not in said:
            wrong.append(f"{told}: exit {done.code} without a reason: {done.err[-300:]}")
        if command == ("verify", "{archive}") and (done.code == 13) is not (name in WRONG):
            wrong.append(f"{told}: exit {done.code}: {said[-600:]}")
    assert not wrong, "\n".join(wrong)


def test_there_are_enough_cases() -> None:
    assert len(WRONG | ALLOWED) == len(WRONG) + len(ALLOWED) >= 60
