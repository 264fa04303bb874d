"""The file of a report: made from a service or an archive, refused where it would give something away, read with care."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.check.facts import CheckResult, Exchange
from exporter.demo.content import fields
from exporter.demo.service import DemoService
from exporter.errors import BlogExporterError, UsageError
from exporter.model.kinds import Kind
from exporter.report import build, file
from exporter.report.file import read_report, write_report
from exporter.report.json_tree import Pairs, read_tree, write_tree
from exporter.report.records import LONGEST_TEXT
from exporter.report.replay import Replay
from exporter.service.blog_v1 import BlogV1
from exporter.settings import resolve
from tests.cli.conftest import Program
from tests.report.originals import BLOG_ID, blog

JAPANESE = re.compile(r"(?=([぀-ゟ゠-ヺ一-鿿]{4}))")
SECRETS = (
    "浜辺",
    "日記",
    "まぐろ",
    "通りすがり",
    "hamabe",
    "nikki",
    "tomodachi",
    "himitsu",
    "kaimono",
    "s3cret",
    "/home/",
)


@pytest.fixture
def service() -> Iterator[DemoService]:
    found = DemoService(blog())
    with found.run_in_thread():
        yield found


def body(text: str, kind: Kind = Kind.ENTRIES, status: int | None = 200) -> Exchange:
    return Exchange(
        "entry/get",
        kind,
        "/blog/v1/entry/get",
        {"id": BLOG_ID, "entry_id": "7"},
        status,
        {},
        text.encode("utf-8", "surrogatepass"),
    )


def written(tmp_path: Path, *exchanges: Exchange, **given: str) -> list[Pairs]:
    """Write a report of these answers and read it back."""
    settings = resolve(given, environ={"BLOG_EXPORTER_TOKEN": "s3cret"})
    result = CheckResult(BLOG_ID, str(tmp_path), user=("5f0c", "浜辺の住人"), token="x", exchanges=list(exchanges))
    path = tmp_path / "report.jsonl"
    write_report(path, result, settings, BlogV1(), force=True)
    return list(read_report(path))


def content(lines: list[Pairs]) -> str:
    """Return what the last answer of a report holds."""
    answer = lines[-1].get("answer")
    text = answer.get("text")
    return text if isinstance(text, str) else write_tree(answer.get("json"))


def test_from_a_service_and_replayed(program: Program, service: DemoService, tmp_path: Path) -> None:
    path, again = tmp_path / "report.jsonl", tmp_path / "again"
    originals = {
        text
        for entry in blog().entries.values()
        for value in fields(entry).values()
        for text in JAPANESE.findall(value)
    }
    assert len(originals) > 40
    given = ("--base-url", service.base_url, "--assets", "none", "--pages", 2, "--report", path)
    done = program("check", BLOG_ID, *given, "--entry", 3)
    assert (done.code, "look at it before you send it" in done.err) == (0, True)
    text = path.read_text("ascii")
    told = json.dumps([json.loads(line) for line in text.splitlines()], ensure_ascii=False)
    assert [each for each in originals if each in told] == []
    assert not [secret for secret in SECRETS if secret in text or secret.encode("unicode_escape").decode() in text]
    assert program("check", BLOG_ID, *given).code == 2
    assert program("check", BLOG_ID, *given, "--force", "-q").code == 0
    done = program("demo", "--replay", path, again)
    assert (done.code, "could not be read" in done.err) == (0, False)
    assert program("status", again).code == 0
    pages = [
        each.read_text("utf-8")
        for each in (again / "latest" / "markdown").rglob("20*.md")
        if each.parent.name != "markdown"
    ]
    assert len(pages) == 16
    assert any("<ruby>" in page for page in pages)


def test_from_an_archive_without_the_service(program: Program, archive: Path, tmp_path: Path) -> None:
    path, again = tmp_path / "report.jsonl", tmp_path / "again"
    given = ("check", archive, "--offline", "--report", path)
    oldest = min(key for key, _ in Archive.open(archive).records(Kind.ENTRIES))
    assert program(*given, "--entry", oldest).code == 0
    kinds = [line.get("record").get("kind") for line in read_report(path) if line.get("record") is not None]
    assert {kind: kinds.count(kind) for kind in set(kinds)}["entries"] == 21
    assert set(kinds) == {"entries", "entry_list", "comments", "files", "user"}
    done = program("demo", "--replay", path, again)
    assert (done.code, "Saved as version 1" in done.err) == (0, True)
    assert program("check", archive, "--offline").code == 2
    assert program("check", "x.example.jp", "--offline", "--report", path, "--force").code == 2


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"json":{"data":{"entry_id":"7","entry_id":"8","title":1.10,"sec":-0}}}', '"sec":-0'),
        (
            '{"json":{"result":"ok","data":{"entry_id":7,"open_flg":1e400,"weather":{"x":[true,null,"嬉しい一日でした"]}}}}',
            "[true,null,",
        ),
        ('{"json":{"data":{"entry_id":"7","last_update":1556668800,"year":2019,"mon":5,"day":"31"}}}', '"day":"'),
        ('{"json":{"data":{"title":"\\ud83d","ひみつの名前":"ひみつの値"}}}', "\\ud83d"),
        (
            '{"json":{"data":{"entry_id":"7","cm_receipt_flg":"とても長い旗の値","comment_count":"12ひき"}}}',
            '"cm_receipt_flg":"',
        ),
        ('{"title":NaN,"page":123456789012345678901234567890}', "NaN"),
        ("[" * 300 + "]" * 300, "[" * 300),
        ("<html><p>ただいま混みあっています" + "長い文" * 3000, "<html><p>"),
        ("", ""),
    ],
)
def test_answers_keep_their_shape(tmp_path: Path, text: str, kept: str) -> None:
    made = content(written(tmp_path, body(text)))
    assert kept in made
    assert len(made) <= max(len(write_tree(text)), LONGEST_TEXT)
    for word in ("ひみつの", "嬉しい一", "混みあっ", "とても長"):
        assert word not in made
        assert write_tree(word)[1:-1] not in made


def test_an_answer_that_never_came_is_left_out(tmp_path: Path) -> None:
    assert [line.get("answer") for line in written(tmp_path, body("", status=None))] == [None]


def test_settings_are_told_without_their_owner(tmp_path: Path) -> None:
    head = written(
        tmp_path,
        base_url="https://hamabe.example.jp/api",
        entry_url="https://{blog_id}/~hamabe/{entry_id}.html",
        profile="ninja",
        site_title="浜辺の日記",
        token_file="",
        wait_lock="90s",
        site="no",
        timezone="Asia/Tokyo",
        visible_delete_flg="t,f",
        skip_asset_hosts="hamabe.example.net",
        refresh="auto",
        ping_url="https://hc-ping.example/hamabe-secret",
    )[0]
    told = {name: each.get("value") for name, each in head.get("settings")}
    assert (told["profile"], told["wait_lock"], told["site"], told["refresh"]) == ("ninja", "90s", False, "auto")
    assert told["ping_url"] == "set"
    assert (told["timezone"], told["visible_delete_flg"], told["skip_asset_hosts"]) == ("Asia/Tokyo", ["f", "t"], "set")
    assert told["base_url"].startswith("https://")
    assert re.fullmatch(r"https://\{blog_id\}/~[a-z]{6}/\{entry_id\}\.html", told["entry_url"])
    assert "hamabe" not in write_tree(head)
    assert head.get("settings").get("wait_lock").get("source") == "option"


def test_nothing_is_written_where_something_would_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "leaks", lambda *_: iter(["something"]))
    with pytest.raises(BlogExporterError, match="No report was written"):
        written(tmp_path, body('{"json":{}}'))
    monkeypatch.undo()

    class All(set[str]):
        def __contains__(self, _: object) -> bool:
            return True

    monkeypatch.setattr("exporter.report.records.telling_windows", lambda _: All())
    with pytest.raises(BlogExporterError, match="No report was written"):
        written(tmp_path, body('{"json":{"message":"長い文章です"}}'))
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "_LIBRARIES", ("no-such-library",))
    assert written(tmp_path)[0].get("libraries").get("no-such-library") == "none"


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"report":1}\n[]', '{"report":2}', '{"report":"1"}', '{"report":1}\n{"answer":5}', "\udcff",
        '{"report":1}\n{"record":[]}', "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError):
        Replay(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Replay(tmp_path / "none.jsonl")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="a FIFO"):
        Replay(tmp_path / "fifo")
    monkeypatch.setattr(file, "_MOST_BYTES", 1)
    (tmp_path / "large.jsonl").write_text('{"report":1}')
    with pytest.raises(UsageError, match="too large"):
        Replay(tmp_path / "large.jsonl")


def test_an_odd_report_is_served_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    path.write_text(
        '{"report":1,"settings":[]}\n{"answer":{"path":"/v1/user","status":"x","json":{}}}\n{"record":{"kind":"none"}}\n{"note":{}}\n'
    )
    found = Replay(path)
    assert (found.blog.blog_id, dict(found.settings)) == ("blog.example", {})


def test_json_is_written_as_it_was_read() -> None:
    for text in ('{"a":1,"a":2.50,"b":[-0,1e400,NaN,null,true,"\\ud83d"]}', '"x"', "[]"):
        assert write_tree(read_tree(text)) == text
    assert lossless_json.loads(write_tree(read_tree('{"a":"あ\\u0000"}')).encode()) == {"a": "あ\0"}


def test_pages_keep_their_numbers_and_entries_do_not(tmp_path: Path) -> None:
    listing = Exchange(
        "entry/list", Kind.ENTRY_LIST, "/blog/v1/entry/list", {"id": BLOG_ID, "page": "12"}, 200, {}, b"{}", "12"
    )
    entry = Exchange(
        "entry/get", Kind.ENTRIES, "/blog/v1/entry/get", {"id": BLOG_ID, "entry_id": "12"}, 200, {}, b'{"entry_id":12}'
    )
    one, other = (line.get("answer") for line in written(tmp_path, listing, entry)[-2:])
    assert one.get("params").get("page") == "12"
    assert one.get("params").get("id") == other.get("params").get("id") != BLOG_ID
    assert other.get("params").get("entry_id") == other.get("json").get("entry_id")


def test_a_report_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MOST_BYTES", 40)
    lines = written(tmp_path, body('{"title":"ab"}'), body('{"title":"cd"}'), body('{"title":"ef"}'))
    assert sum(line.get("answer") is not None for line in lines) == 2
