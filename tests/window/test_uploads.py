"""Files dropped on the window: their names, when they are removed, and forms whose rest does not come."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.serve.listening import Place
from exporter.window import uploads
from exporter.window.jobs import Jobs
from exporter.window.routes import ROUTES
from exporter.window.server import WindowServer
from exporter.window.uploads import remove_old, safe_name
from exporter.window.window import Window

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def test_names(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("日記 2016.xml", "日記 2016.xml"), ("か\u3099.mt", "が.mt"), ("C:\\Users\\a\\日記.txt", "日記.txt"),
        ("../../.bashrc", "bashrc"), ("", "file"), ("..", "file"), ("a/", "file"), ("CON", "_CON"), ("com1.xml", "_com1.xml"),
        ("console.xml", "console.xml"), ("a\u202egpj.exe", "agpj.exe"), ("a?b*.xml", "a_b_.xml"), ("x" * 999, "file"),
        ("x" * 999 + ".xml", "x" * 146 + ".xml"), ("あ" * 99 + ".xml", "あ" * 48 + ".xml"),
    ]  # fmt: skip
    for name, safe in rows:
        with subtests.test(name=name, safe=safe):
            assert safe_name(name) == safe


def upload(folder: Path, name: str, age: timedelta) -> Path:
    """Write an upload of this age; return the path that a job's command line names."""
    path = folder / "uploads" / name / "日記.xml"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    at = (NOW - age).timestamp()
    os.utime(path.parent, (at, at))
    return path


def job(folder: Path, name: str, words: list[str], exit_code: int | None = None) -> Path:
    place = folder / "jobs" / name
    place.mkdir(parents=True)
    (place / "job.json").write_text(json.dumps({"words": words}))
    (place / "said.jsonl").write_text("{}\n")
    if exit_code is not None:
        (place / "exit.json").write_text(json.dumps({"exit_code": exit_code}))
    return place


def kept(folder: Path) -> set[str]:
    remove_old(folder / "uploads", Jobs(folder / "jobs").all(), NOW)
    return {each.name for each in (folder / "uploads").iterdir()}


def test_an_upload_goes_after_a_day(tmp_path: Path) -> None:
    upload(tmp_path, "0" * 16, timedelta(hours=25))
    upload(tmp_path, "1" * 16, timedelta(hours=23))
    upload(tmp_path, "own folder", timedelta(days=99))
    assert kept(tmp_path) == {"1" * 16, "own folder"}


@pytest.mark.parametrize(("words", "code", "stays"), [("backup", 0, False), ("backup", 3, True), ("check", 0, True)])
def test_an_upload_goes_when_an_archive_holds_it(tmp_path: Path, words: str, code: int, stays: bool) -> None:
    path = upload(tmp_path, "a" * 16, timedelta(minutes=5))
    job(tmp_path, "1", [words, str(path)], code)
    assert kept(tmp_path) == ({"a" * 16} if stays else set())


def test_an_upload_stays_while_a_job_reads_it(tmp_path: Path) -> None:
    path = upload(tmp_path, "a" * 16, timedelta(days=3))
    running = job(tmp_path, "1", ["backup", str(path)])
    with ArchiveLock(running / "lock") as lock:
        lock.acquire(SystemClock().now())
        assert kept(tmp_path) == {"a" * 16}
    assert kept(tmp_path) == set()


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"], ids=["fields", "files"]
)
async def test_a_form_whose_rest_does_not_come_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(uploads, "IDLE_SECONDS", 0.2)
    window = Window(tmp_path, "en", "/secret/", ROUTES)
    async with WindowServer(window, Place(token="secret")).listening() as address:
        parts = urlsplit(address)
        reader, writer = await asyncio.open_connection("127.0.0.1", parts.port)
        writer.write(
            f"POST /secret/nothing HTTP/1.1\r\nHost: {parts.netloc}\r\nOrigin: http://{parts.netloc}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: 100000\r\n\r\n"
            '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc'.encode()
        )
        answer = await reader.readuntil(b"</html>")
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"did not come" in answer
    assert not list((tmp_path / "uploads").rglob("*"))
