"""A bug report contains the shapes of the answers and no text of the blog."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.check.facts import CheckResult
from exporter.check.report import write_report
from exporter.check.service_check import check
from exporter.demo.content import Blog, RawJson, demo_blog, fields
from exporter.errors import UsageError
from exporter.service.registry import way_of
from exporter.settings import resolve
from tests.support.demo_service import DemoService

TOKEN = re.compile("zq[0-9]{4}x", re.IGNORECASE)


@pytest.fixture
def tokens() -> Iterator[str]:
    """Yield words that are all different."""
    return (f"Zq{number:04}X" for number in count())


def marked(blog: Blog, tokens: Iterator[str]) -> Blog:
    """Replace each of a blog's texts by a token, including names that a report shows."""
    kept = {"entry_id", "id", "file_id", "cm_id", "user_id"}
    for record in [*blog.entries.values(), *blog.list_items.values(), *blog.comments, *blog.files, blog.user]:
        found = fields(record)
        for name, value in found.items():
            if isinstance(value, str) and name not in kept and not value.isdigit():
                found[name] = next(tokens)
    for entry in blog.entries.values():
        word = next(tokens)
        fields(entry).update(
            entry_text=f'<p class="{word}" {word}="1" data-{word}=2>{word}</p><{word}><!-- {word} --><![{word}',
            public_date=word,
            mood={word: {word.lower(): word}, word.lower(): [word]},
            categories=[{word.lower(): f"https://{word}.example/"}],
        )
        fields(entry)[word] = word
    return blog


async def reported(blog: Blog, path: Path, before: Any = None) -> tuple[CheckResult, list[dict[str, Any]]]:
    """Check a sample service; return the result and the lines of its report."""
    async with DemoService(blog) as service:
        service.before = before
        given = {"base_url": service.base_url, "assets": "none", "site_title": "Zq9999X", "retries": "2"}
        settings = resolve(given, environ={"BLOG_EXPORTER_TOKEN": "Zq9998X"})
        result = await check(blog.blog_id, settings, path.parent, keep=True)
    count = write_report(path, result, settings, way_of(settings, None))
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]  # noqa: ASYNC240 - small
    assert len(lines) == count
    return result, lines


async def test_no_text_of_the_blog_is_in_a_report(tmp_path: Path, tokens: Iterator[str]) -> None:
    blog = marked(demo_blog(), tokens)
    path = tmp_path / "report.jsonl"
    _, lines = await reported(blog, path)
    text = path.read_text("utf-8")
    assert TOKEN.findall(text) == []
    assert blog.blog_id not in text
    assert all(str(key) not in re.findall("[0-9]{4,}", text) for key in blog.entries)
    entries = [line for line in lines if line.get("operation") == "entry/get"]
    assert len(entries) == 20
    assert all(len(json.dumps(line["fields"])) > 1000 for line in entries)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_an_answer_that_is_not_json_has_a_shape(tmp_path: Path, tokens: Iterator[str]) -> None:
    async def before(request: web.Request) -> web.StreamResponse | None:
        if "comment" not in request.path:
            return None
        word = next(tokens)
        body = f"<html><title>{word}</title><body onload=x><a href=/{word}>{word}<a>"
        return web.Response(text=body, content_type="text/html", headers={"X-Served-By": word})

    path = tmp_path / "report.jsonl"
    result, lines = await reported(demo_blog(), path, before)
    assert TOKEN.findall(path.read_text("utf-8")) == []
    comments = next(line for line in lines if line.get("operation") == "comment/list")
    assert (comments["status"], comments["answered"], comments["format"]) == (200, False, "text")
    assert {"content-type", "x-served-by"} <= {*comments["headers"]}
    assert lines[0]["exit_code"] == result.exit_code == 3
    assert {"code": "failed", "exit_code": 3} in lines[0]["findings"]
    assert comments["tags"] == {"html": 1, "title": 1, "body": 1, "a": 2}
    assert comments["attributes"] == {"onload": 1, "href": 1}


async def test_the_shape_of_each_field_is_reported(tmp_path: Path) -> None:
    blog = demo_blog()
    newest = max(blog.entries, key=int)
    old = fields(blog.entries[newest])
    blog.entries[newest] = RawJson(
        json.dumps(
            old
            | {
                "entry_title": "",
                "entry_text": "<p>あ</p><p><b>い</b><img src=x>",
                "year": None,
                "mon": 3,
                "is_private": "0",
                "tags": ["https://a.example/", "HTTP://b.example", "2026-01-02 03:04:05", "12", "12"],
            }
        ).encode()
    )
    _, lines = await reported(blog, tmp_path / "report.jsonl")
    first = next(line for line in lines if line.get("operation") == "entry/get")
    shapes = {name.rpartition(".")[2]: shape for name, shape in first["fields"].items()}
    assert shapes["entry_title"] == {"types": {"string": 1}, "lengths": [0, 0], "empty": 1}
    assert shapes["entry_text"]["tags"] == {"p": 2, "b": 1, "img": 1}
    assert shapes["entry_text"]["attributes"] == {"src": 1}
    assert shapes["year"] == {"types": {"null": 1}}
    assert shapes["mon"] == {"types": {"number": 1}, "formats": {"flag 3": 1}}
    assert shapes["is_private"]["formats"] == {"flag 0": 1}
    assert shapes["tags[]"] == {
        "types": {"string": 5},
        "lengths": [2, 19],
        "formats": {"url https": 1, "url http": 1, "date": 1, "number": 2},
        "unique": False,
    }
    listed = next(line for line in lines if line.get("operation") == "entry/list")
    ids = next(shape for name, shape in listed["fields"].items() if name.endswith(".entry_id"))
    assert (ids["unique"], listed["params"], listed["path"]) == (True, ["id", "page"], "/blog/v1/entry/list")


async def test_a_field_that_some_records_lack_is_counted(tmp_path: Path) -> None:
    blog = demo_blog()
    for number, comment in enumerate(blog.comments):
        if number % 2:
            del fields(comment)["name"]
    _, lines = await reported(blog, tmp_path / "report.jsonl")
    page = next(line for line in lines if line.get("operation") == "comment/list")
    shape = next(shape for name, shape in page["fields"].items() if name.endswith("[].name"))
    assert shape["missing"] == page["records"] // 2
    assert shape["types"] == {"string": page["records"] - shape["missing"]}


async def test_settings_show_numbers_and_choices_only(tmp_path: Path) -> None:
    _, lines = await reported(demo_blog(), tmp_path / "report.jsonl")
    assert lines[0]["settings"]["retries"] == {"value": 2, "source": "option"}
    assert lines[0]["settings"]["assets"] == {"value": "none", "source": "option"}
    assert lines[0]["settings"]["site_title"]["value"] == lines[0]["settings"]["base_url"]["value"] == "set"
    assert (lines[0]["report"], lines[0]["token"]) == (2, True)


async def test_an_existing_report_is_replaced_with_force_only(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    settings = resolve({"base_url": "http://127.0.0.1:9"}, environ={})
    result = await check("x.example.jp", settings, tmp_path, keep=True)
    service = way_of(settings, None)
    path.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        write_report(path, result, settings, service)
    assert path.read_text() == "mine"
    assert write_report(path, result, settings, service, force=True) == 2
    with pytest.raises(UsageError):
        write_report(tmp_path / "no" / "report.jsonl", result, settings, service)
