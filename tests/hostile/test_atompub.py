"""Hostile and broken AtomPub documents: one line each, nothing that was saved is lost, and memory stays small."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.crawl.outcome import Outcome
from exporter.errors import BlogExporterError
from exporter.model.kinds import Kind
from exporter.settings import Settings, resolve
from tests.support.atompub_server import API_KEY, NAMESPACES, USER, AtomPubBlog, example_blog, served

pytestmark = pytest.mark.thorough

ATOM, SERVICE = "application/atom+xml; charset=utf-8", "application/atomsvc+xml"
SETTINGS = {
    "profile": "hatena", "user": USER, "rate": "1000", "retries": "0", "assets": "none", "markdown": "no", "site": "no",
    "give_up_after": "20s",
}  # fmt: skip
MAX_KIBIBYTES = 300 * 1024
FEED = f'<?xml version="1.0"?><feed {NAMESPACES}>'


def feed(inner: str = "", *, before: str = "") -> Callable[[AtomPubBlog], tuple[bytes, str]]:
    return lambda blog: (
        f"{before}{FEED}{inner}</feed>".replace("ROOT", f"{blog.origin}{blog.root}").encode("utf-8", "surrogatepass"),
        ATOM,
    )


def entry(inner: str = "", name: str = "1") -> str:
    return f'<entry><link rel="edit" href="ROOT/entry/{name}"/>{inner}</entry>'


def raw(body: bytes, kind: str = ATOM) -> Callable[[AtomPubBlog], tuple[bytes, str]]:
    return lambda _: (body, kind)


BOMB = "".join(f'<!ENTITY b{n} "&b{n - 1};&b{n - 1};&b{n - 1};&b{n - 1};">' for n in range(1, 30))
FEEDS: dict[str, Callable[[AtomPubBlog], tuple[bytes, str]]] = {
    "empty": raw(b""),
    "blank": raw(b" \n\t "),
    "html": raw(b"<!DOCTYPE html><html><body>Sign in</body></html>", "text/html"),
    "html that is xml": raw(b'<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', "text/html"),
    "json": raw(b'{"error":"moved"}', "application/json"),
    "cut": lambda blog: ((blog.feed("entry", None) or "").encode()[:3000], ATOM),
    "cut in a character": raw(f"{FEED}<title>日".encode()[:-1]),
    "wrong encoding": raw(f'<?xml version="1.0"?>{FEED[21:]}<title>日</title></feed>'.encode("euc_jp")),
    "unknown encoding": raw(b'<?xml version="1.0" encoding="x-evil"?><feed/>', "application/atom+xml"),
    "null bytes": raw(b"\x00" * 5000),
    "control characters": feed(entry("<title>\x1b[2J</title>")),
    "surrogates": feed(entry("<title>\ud83d</title>")),
    "a bomb of entities": raw(f'<!DOCTYPE f [<!ENTITY b0 "x">{BOMB}]><f>&b29;</f>'.encode()),
    "a long entity": raw(b'<!DOCTYPE f [<!ENTITY a "' + b"x" * 100_000 + b'">]><f>' + b"&a;" * 100_000 + b"</f>"),
    "an external entity": raw(b'<!DOCTYPE f [<!ENTITY x SYSTEM "file:///etc/passwd">]><f>&x;</f>'),
    "an external type": raw(b'<!DOCTYPE f SYSTEM "http://127.0.0.1:9/evil.dtd"><f/>'),
    "deep": feed("<a>" * 100_000 + "</a>" * 100_000),
    "many elements": feed("<a/>" * 5_000_000),
    "many attributes": feed("<a " + " ".join(f'b{n}=">"' for n in range(600_000)) + "/>"),
    "a long name": feed(f"<{'a' * 5_000_000}/>"),
    "another document": raw(b'<service xmlns="http://www.w3.org/2007/app"/>'),
    "another namespace": raw(b'<feed xmlns="http://purl.org/atom/ns#"><entry/></feed>'),
    "no namespace": raw(b"<feed><entry/></feed>"),
    "next to itself": feed('<link rel="next" href="ROOT/entry"/>' + entry()),
    "next to another host": feed('<link rel="next" href="http://evil.example/steal"/>' + entry()),
    "next to a password": feed('<link rel="next" href="http://mika:pw@evil.example/x"/>' + entry()),
    "next to no address": feed('<link rel="next" href="http://[::1"/>' + entry()),
    "next to a file": feed('<link rel="next" href="file:///etc/passwd"/>' + entry()),
    "next to a script": feed('<link rel="next" href="javascript:alert(1)"/>' + entry()),
    "next twice": feed('<link rel="next" href="ROOT/entry?page=1&amp;page=2"/>' + entry()),
    "next is very long": feed(f'<link rel="next" href="ROOT/entry?page={"9" * 100_000}"/>' + entry()),
    "entries without ids": feed("<entry/>" * 50),
    "entries with one id": feed("".join(entry(f"<title>{n}</title>") for n in range(50))),
    "ids that are paths": feed(entry(name="../../../../etc/passwd") + entry(name="..%2f..%2fx") + entry(name="a\\b")),
    "a very long id": feed(entry(name="x" * 50_000)),
    "hostile titles": feed(entry("<title>&lt;script&gt;alert(1)&lt;/script&gt;&#x202e;</title><updated>x</updated>")),
    "a draft of no kind": feed(entry("<app:control><app:draft>maybe</app:draft></app:control>")),
    "an entry in an entry": feed(entry(entry(name="2"))),
    "a million categories": feed(entry('<category term="x"/>' * 300_000)),
    "a body of 6 MB": feed(entry(f'<content type="text/x-markdown">{"*a " * 2_000_000}</content>')),
    "zipped to a thousandth": lambda blog: (gzip.compress(b"<a>" + b" " * 50_000_000), ATOM),
}
SERVICES: dict[str, Callable[[AtomPubBlog], tuple[bytes, str]]] = {
    "no collection": raw(b'<service xmlns="http://www.w3.org/2007/app"><workspace/></service>', SERVICE),
    "a collection elsewhere": raw(
        b'<service xmlns="http://www.w3.org/2007/app"><workspace><collection href="http://evil.example/x"/>'
        b"</workspace></service>",
        SERVICE,
    ),
    "thousands of collections": lambda blog: (
        (
            '<service xmlns="http://www.w3.org/2007/app"><workspace>'
            + "".join(f'<collection href="{blog.origin}{blog.root}/c{n}"/>' for n in range(5000))
            + "</workspace></service>"
        ).encode(),
        SERVICE,
    ),
    "an entry": raw(b'<entry xmlns="http://www.w3.org/2005/Atom"/>', SERVICE),
}


async def back_up(root: Path, blog: AtomPubBlog) -> tuple[Outcome | None, BlogExporterError | None]:
    wanted: Settings = resolve(
        {**SETTINGS, "base_url": blog.origin}, blog_id=blog.blog_id, environ={"BLOG_EXPORTER_TOKEN": API_KEY}
    )
    async with exporter.open_service(blog.blog_id, wanted) as opened:
        run = exporter.backup(root, opened, wanted)
        try:
            async for _ in run:
                pass
        except BlogExporterError as error:
            return None, error
        return run.outcome, None


def said(outcome: Outcome | None, error: BlogExporterError | None) -> list[str]:
    return [str(error)] if outcome is None else [problem.reason for problem in outcome.problems]


def check_lines(lines: list[str]) -> None:
    for line in lines:
        assert "\n" not in line
        assert line.isprintable(), line
        assert API_KEY not in line
        assert "Traceback" not in line


@pytest.mark.parametrize("name", FEEDS)
async def test_a_hostile_feed_loses_nothing(tmp_path: Path, name: str) -> None:
    root = tmp_path / "archive"
    async with served(example_blog(20, 2)) as blog:
        outcome, error = await back_up(root, blog)
        assert outcome is not None, error
        assert outcome.problems == []
        before = dict(Archive.open(root).records(Kind.ENTRIES))
        blog.instead[f"{blog.root}/entry"] = FEEDS[name](blog)
        outcome, error = await back_up(root, blog)
    lines = said(outcome, error)
    assert lines, "nothing was said"
    check_lines(lines)
    held = dict(Archive.open(root).records(Kind.ENTRIES))
    assert before.items() <= held.items(), "something that was saved is lost"
    assert not [found for found in verify(Archive.open(root)) if found.damage]


@pytest.mark.parametrize("name", SERVICES)
async def test_a_hostile_service_document_loses_nothing(tmp_path: Path, name: str) -> None:
    root = tmp_path / "archive"
    async with served(example_blog(20, 2)) as blog:
        await back_up(root, blog)
        before = dict(Archive.open(root).records(Kind.ENTRIES))
        blog.instead[blog.root] = SERVICES[name](blog)
        outcome, error = await back_up(root, blog)
        assert not [path for path, _ in blog.asked if "evil" in path]
    check_lines(said(outcome, error))
    assert said(outcome, error)
    assert dict(Archive.open(root).records(Kind.ENTRIES)) == before


@pytest.mark.parametrize("name", FEEDS)
async def test_a_first_backup_of_a_hostile_feed_says_what_is_wrong(tmp_path: Path, name: str) -> None:
    root = tmp_path / "archive"
    async with served(example_blog(3, 0)) as blog:
        blog.instead[f"{blog.root}/entry"] = FEEDS[name](blog)
        blog.has_pages = False
        outcome, error = await back_up(root, blog)
    check_lines(said(outcome, error))
    if Archive.exists(root):
        assert not [found for found in verify(Archive.open(root)) if found.damage]
        for record_id, record in Archive.open(root).records(Kind.ENTRIES):
            assert record["id"] == record_id


@pytest.mark.parametrize(
    "name", ["many elements", "many attributes", "a long entity", "deep", "a body of 6 MB", "a million categories"]
)
async def test_memory_stays_small(tmp_path: Path, name: str) -> None:
    async with served(example_blog(3, 0)) as blog:
        blog.has_pages = False
        body, kind = FEEDS[name](blog)
        blog.instead[f"{blog.root}/entry"] = (body, kind)
        del body
        words = [sys.executable, "-m", "exporter", "backup", blog.blog_id, "--archive", str(tmp_path / "archive"),
                 "--base-url", blog.origin, "--retries", "0", "--assets", "none", "--json"]  # fmt: skip
        environ = {**os.environ, "BLOG_EXPORTER_TOKEN": API_KEY, "BLOG_EXPORTER_USER": USER, "HOME": str(tmp_path)}
        done, used = await _measured(words, environ)
    assert done in {0, 3, 20}
    assert used < MAX_KIBIBYTES, f"{used:,} KiB"


async def _measured(words: list[str], environ: dict[str, str]) -> tuple[int, int]:
    """Run a command while the server of this process answers; return its exit code and its largest memory in KiB.

    The system's own figure for a child counts the memory of the process that started it.
    """
    process = await asyncio.create_subprocess_exec(
        *words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    most = 0
    while process.returncode is None:
        found = await asyncio.to_thread(_high_water, process.pid)
        most = max(most, found)
        await asyncio.sleep(0.01)
    assert most > 10_000
    return process.returncode, most


def _high_water(pid: int) -> int:
    """Return the largest memory of a process so far in KiB; 0 after its end."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return 0 if found is None else int(found[1])
