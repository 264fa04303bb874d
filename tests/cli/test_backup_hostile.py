"""Malicious content in a blog: archived exactly, shown safely, and kept inside its folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from exporter.demo.content import Blog, RawJson, fields
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.records import comment_record, entry_record, file_record
from tests.support.runs import Runs, all_findings, backup_command, folded, held, serving, tree
from tests.support.terminal import Terminal

# Other tests cover the same lines; measuring coverage here would more than double the time.
pytestmark = pytest.mark.no_cover

DAY = datetime(2020, 2, 29)  # noqa: DTZ001  the service sends times without an offset
ESCAPES = "\x1b[2J\x1b]0;pwned\x07\x9b31m \u202egnp.exe\u2066 \u200f\r\n\x00"
NAMES = [
    "../../../../etc/passwd", "/etc/passwd", "C:\\Windows\\x", "..", ".", "~", "CON", "nul.txt", "aux", "a" * 400,
    "あ" * 400, "README", "readme", "Readme", "é", "e\u0301", "x\x00y", "\u202egpj.md", ESCAPES, "a/b\\c:d*e?f\"g<h>i|j",
    "- x: [y", "---", "'\"`$(touch pwned)", "<script>alert(1)</script>", "\ud83d", "", "   ", "trailing. ", "\U0001f600" * 80,
]  # fmt: skip
BODIES = [
    "<div>" * 3000 + "深い" + "</div>" * 3000,
    "長" * 200_000,
    "<script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>",
    "---\ntitle: other\n---\n" + ESCAPES,
    "<table><tr><td><table><tr><td>a</table></table><b><i></b>",
    "",
]


def hostile_blog(heavy: int) -> Blog:
    """Return a blog with an entry of so many heavy characters."""
    blog = Blog("hostile.blog.example.jp", {"id": "u", "nickname": ESCAPES})
    for number, name in enumerate(NAMES, 1):
        body = BODIES[number % len(BODIES)]
        blog.entries[number] = entry_record(blog.blog_id, number, name, body, DAY, user_id="u", name=name)
    record = fields(blog.entries[1])
    blog.entries[101] = {**record, "entry_id": "101", "year": "0000", "mon": "00", "day": "00"}
    blog.entries[102] = {**record, "entry_id": "102", "year": "9" * 30, "last_update": "never"}
    blog.entries[103] = {**record, "entry_id": "103", "entry_text": "肥" * heavy}
    blog.entries[104] = RawJson(
        b'{"entry_id":"104","title":{"a":[1,2,{}]},"entry_text":[null],"year":[],"mon":{},"day":true,"hour":1.5,'
        b'"open_flg":' + b"9" * 500 + b',"is_private":"maybe","category_id":["x"],"title":"again","\\u0000":"\\ud800"}'
    )
    blog.entries[105] = {"entry_id": 105}
    blog.comments.extend(
        [
            comment_record(1, 1, ESCAPES, "<script>alert(1)</script>" + ESCAPES, DAY, url="javascript:alert(1)"),
            comment_record(2, 999_999, "x", "its entry does not exist", DAY),
            {"cm_id": "../../x", "entry_id": ["1"], "name": None, "cm_text": {"a": 1}},
            {"cm_id": 10**40, "entry_id": 1, "regist_date": "0000/00/00"},
        ]
    )
    blog.files.extend(
        [
            file_record(1, "../../../x.sh", b"x", (1, 1), user_id="../..", mtime=-1, title=ESCAPES),
            {"file_id": "2", "name": ["x"], "file_size": "9" * 400, "user_id": None},
        ]
    )
    blog.list_items = {110: {"entry_id": "110", "comment_count": "9" * 300}}
    return blog


def check_printable(text: str) -> None:
    """Check that the text has no terminal escapes and no characters that reverse the direction of text."""
    found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert found is None, text[max(0, found.start() - 80) : found.end() + 20]


@pytest.fixture
def blog(request: pytest.FixtureRequest) -> Blog:
    return hostile_blog(getattr(request, "param", 100_000))


@pytest.fixture
def service(blog: Blog) -> Iterator[DemoService]:
    with serving(blog) as running:
        yield running


@pytest.mark.parametrize("blog", [100_000, pytest.param(8_700_000, marks=pytest.mark.thorough)], indirect=True)
def test_everything_is_archived_and_nothing_escapes(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path
) -> None:
    around = tmp_path / "around"
    around.mkdir()
    (around / "theirs").write_text("as it was")
    root = around / "archive"
    command = backup_command(service, root, "--assets", "none")
    done = runs.run(*command, "-vv", environ={"BLOG_EXPORTER_TOTAL_TIMEOUT": "5m"})
    assert done.code == 3, done.err
    assert "entries 110" in done.err
    assert folded(root) == held(blog)
    assert all_findings(root) == []
    check_printable(done.out + done.err)
    assert {path.name for path in around.iterdir()} == {"theirs", "archive"}
    assert (around / "theirs").read_text() == "as it was"
    assert not [path for path in root.rglob("*") if path.is_symlink()]

    # Each entry has one file, with a name that every system accepts and front matter that any parser reads.
    files = [
        path for path in (root / "latest/markdown").rglob("*.md") if path.name not in {"index.md", "orphan-comments.md"}
    ]
    assert len(files) == len(blog.entries)
    assert len({str(path).casefold() for path in files}) == len(files)
    for path in files:
        assert len(path.name.encode()) <= 200
        check_printable(path.name)
        text = path.read_text(encoding="utf-8")
        assert text.startswith("---\n")
        assert isinstance(yaml.safe_load(text.split("\n---\n")[0][4:]), dict)
    assert len(list((root / "latest/markdown/undated").iterdir())) >= 3

    # Reading the archive is also safe, and another backup changes nothing.
    for command_line in (("status", root), ("log", root), ("verify", root)):
        check_printable(runs.run(*command_line).err)
    before = tree(root / "versions")
    done = runs.run(*command, "-q")
    assert done.code == 3
    assert tree(root / "versions") == before


def test_unreadable_entries_are_named_safely(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path) -> None:
    blog.entries.clear()
    blog.list_items = {1: {"entry_id": ESCAPES + "\ud800"}, 2: {"entry_id": "9" * 500}, 3: {"entry_id": ["?"]}}
    for level in ("-vv", "-q", "--json"):
        command = backup_command(service, tmp_path / level, level, "--no-site")
        done = runs.run(*command)
        assert done.code == 3
        check_printable(done.out + done.err)


async def _insult(_request: web.Request) -> web.StreamResponse:
    body = '{"json":{"result":"\\u001b[31m","message":"\\u001b]0;pwned\\u0007 \\u202e","data":{}}}'
    return web.Response(status=404, text=body, content_type="application/json")


def test_a_terminal_is_not_steered(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path) -> None:
    """The live display has its own escapes; none of them comes from the service."""
    service.before = faults.only("entry_id=1", _insult)
    for key in list(blog.entries):
        if isinstance(key, int) and key > 20:
            del blog.entries[key]
    terminal = Terminal(
        runs,
        ("backup", blog.blog_id, "--base-url", service.base_url, "--archive", tmp_path / "archive", "--retries", "0",
         "--title", "", "--no-site"),
        tmp_path,
        {"TERM": "xterm-256color"},
    )  # fmt: skip
    assert terminal.end() == 3
    said = terminal.shown
    assert "\x1b[" in said, "this was a live display"
    assert "pwned" in said
    assert "\x1b]0;pwned" not in said
    assert "\u202e" not in said
    assert "\x9b31m" not in said
