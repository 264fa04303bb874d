"""``backup --warc`` over real servers: the exact bytes but no secret, no private entry, and nothing twice."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web
from warcio.archiveiterator import ArchiveIterator

import exporter
from exporter.archive.archive import Archive
from exporter.archive.captures import capture_runs, captures
from exporter.archive.layout import Layout
from exporter.crawl.events import EntryRead
from exporter.crawl.outcome import Outcome
from exporter.demo.content import Blog
from exporter.errors import BlogExporterError, Interrupted
from exporter.settings import Settings, resolve
from exporter.warc.cdxj import CaptureIndex
from tests.archive.sums import sums_agree
from tests.library.test_two_ways import exported, finished, from_file
from tests.service.wordpress_server import PASSWORD, sample
from tests.service.wordpress_server import USER as OWNER
from tests.service.wordpress_server import served as serve_wordpress
from tests.support import faults
from tests.support.atompub_server import (
    API_KEY,
    CONSUMER_KEY,
    CONSUMER_SECRET,
    TOKEN,
    TOKEN_SECRET,
    USER,
    AtomPubBlog,
    example_blog,
)
from tests.support.atompub_server import served as serve_atompub
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.public_blog import PublicBlog, posts
from tests.support.public_blog import serving as serve_public
from tests.warc.checking import warcio_check
from tests.warc.tap import Tap

BEARER = "s3cret-t0ken/9f8e+7d6c5b4a"
COOKIE = "sid0123456789abcdef"
FAST = {"rate": "10000", "concurrency": "6", "site": "no", "markdown": "no", "assets": "none", "warc": "yes"}
FLAGS: Any = {"public_open_flg": "1", "visible_delete_flg": "f"}
PROOFS = (b"authorization", b"x-wsse")


@dataclass
class Run:
    """One backup."""

    outcome: Outcome
    error: Exception | None = None

    @property
    def warc(self) -> dict[str, Any]:
        assert self.outcome.warc is not None
        return self.outcome.warc


async def back_up(
    root: Path, blog_id: str, wanted: Settings, stop: Callable[[Any], bool] = lambda _: False, **how: Any
) -> Run:
    async with exporter.open_service(blog_id, wanted) as opened:
        run = exporter.backup(root, opened, wanted, **how)
        try:
            async for event in run:
                if stop(event):
                    run.stop(Interrupted("stopped"))
        except BlogExporterError as error:
            return Run(run.outcome, error)
        return Run(run.outcome)


def wanted_for(blog_id: str, url: str, environ: dict[str, str] | None = None, **more: Any) -> Settings:
    return resolve({"base_url": url, **FAST, **more}, blog_id=blog_id, environ=environ or {})


def echo(request: bytes) -> bytes:
    """Repeat the credentials of a request in every way, and set a cookie."""
    lines = {
        name.lower(): value for name, _, value in (line.partition(b": ") for line in request.split(b"\r\n")[1:] if line)
    }
    said = b" ".join(value for name, value in lines.items() if name in PROOFS)
    secret = said.rpartition(b" ")[2]
    target = request.split(b" ", 2)[1]
    return b"".join((
        b"X-Echo: " + said + b"\r\n",
        b"X-Target: " + target + b"\r\n",
        b"X-Base64: " + base64.b64encode(b"u:" + secret) + b"\r\n",
        b"X-Percent: " + quote(secret, safe="").encode() + b"\r\n",
        b"Set-Cookie: session=" + COOKIE.encode() + b"; HttpOnly\r\n",
        b"X-Session: " + COOKIE.encode() + b"\r\n",
    ))  # fmt: skip


def everything_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield all bytes below a folder: as they are, unpacked, and the payloads of records decoded."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield path.name, data
        if path.name.endswith(".warc.gz"):
            yield f"{path.name}, unpacked", gzip.decompress(data)
            for record in ArchiveIterator(io.BytesIO(data)):
                yield f"{path.name}, {record.rec_type}", record.content_stream().read()


def forms_of(secret: str) -> set[bytes]:
    plain = secret.encode()
    found = {plain, quote(secret, safe="").encode(), quote(secret).encode(), json.dumps(secret)[1:-1].encode()}
    found |= {secret.replace("/", "\\/").encode(), plain.hex().encode(), secret.replace(" ", "").encode()}
    for offset in range(3):
        run = base64.b64encode(b"x" * offset + plain)
        found |= {run[4 if offset else 0 : -4], run[4 if offset else 0 : -4].translate(bytes.maketrans(b"+/", b"-_"))}
    return found


def check_no_leak(root: Path, secrets: tuple[str, ...], marks: str = "zq[a-z0-9]*qz", folder: str = "captures") -> int:
    """Search for secrets in every form and for the marks of private records; return how much was searched."""
    size = 0
    for name, data in everything_in(root / folder):
        size += len(data)
        for secret in secrets:
            assert not [each for each in forms_of(secret) if each in data], (name, secret)
        if marks:
            assert re.search(marks.encode(), data) is None, (name, re.search(marks.encode(), data))
    return size


def check_captures(root: Path) -> None:
    """The captures are sealed and sound, for this program and for warcio."""
    for capture in captures(Layout(root)):
        folder = Path(capture.folder)
        assert sums_agree(folder)
        lines = list(CaptureIndex(capture.index))
        assert lines == sorted(lines, key=lambda line: line.encode())
        for path in folder.glob("*.warc.gz"):
            code, said = warcio_check(path)
            assert (code, "failed" in said) == (0, False), said


@dataclass
class Records:
    """The records of an archive's captures: by type, the address and the block of each."""

    information: list[str] = field(default_factory=list)
    response: list[tuple[str, bytes]] = field(default_factory=list)
    request: list[tuple[str, bytes]] = field(default_factory=list)
    revisit: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def targets(self) -> list[str]:
        return ["/" + url.split("/", 3)[3] for url, _ in self.response]


def records(root: Path) -> Records:
    found = Records()
    for path in sorted((root / "captures").rglob("*.warc.gz")):
        for record in ArchiveIterator(io.BytesIO(path.read_bytes()), no_record_parse=True):
            block = record.content_stream().read()
            if record.rec_type == "warcinfo":
                found.information.append(block.decode())
            else:
                url = record.rec_headers.get_header("WARC-Target-URI")
                getattr(found, record.rec_type).append((url, block))
    return found


def without(head: bytes, *names: bytes) -> bytes:
    """Return a message without some header lines."""
    lines, end, body = head.partition(b"\r\n\r\n")
    kept = [line for line in lines.split(b"\r\n") if line.partition(b":")[0].lower() not in names]
    return b"\r\n".join(kept) + end + body


def check_true(tap: Tap, root: Path) -> None:
    """All recorded bytes are those on the wire, without the header lines of credentials and cookies."""
    sent = {(each.target, without(bytes(each.request), *PROOFS)) for each in tap.heard}
    answers = {(each.target, without(bytes(each.answer), b"set-cookie")) for each in tap.heard}
    kept = records(root)
    assert len(kept.response) > 3
    for url, block in kept.request:
        assert ("/" + url.split("/", 3)[3], block) in sent
    for url, block in kept.response:
        assert ("/" + url.split("/", 3)[3], block) in answers


@asynccontextmanager
async def demo(blog: Blog, lines: Callable[[bytes], bytes] = lambda _: b"", **how: Any) -> AsyncIterator[tuple[Tap, DemoService]]:  # fmt: skip
    async with DemoService(blog, ServiceOptions(**how)) as service, Tap(service.base_url, lines).running() as tap:
        yield tap, service


async def test_recorded_bytes_are_those_on_the_wire(tmp_path: Path) -> None:
    blog = generated_blog(40, 50, 5)
    async with demo(blog, require_token=BEARER, compression="gzip") as (tap, service):
        service.before = faults.first_of(
            faults.only("entry_id=8", faults.times(1, faults.status(503, 0))),
            faults.only("entry_id=9", faults.times(2, faults.status(429, 0))),
        )
        wanted = wanted_for(blog.blog_id, tap.url, {"BLOG_EXPORTER_TOKEN": BEARER}, **FLAGS)
        run = await back_up(tmp_path / "a", blog.blog_id, wanted)
    assert (run.outcome.exit_code, run.warc["capture"]) == (0, 1)
    check_true(tap, tmp_path / "a")
    check_captures(tmp_path / "a")
    kept = records(tmp_path / "a")
    assert len({target for target in kept.targets if "entry/get" in target}) == 40
    statuses = [block.split(b" ", 2)[1] for _, block in [*kept.response, *kept.revisit]]
    assert (statuses.count(b"503"), statuses.count(b"429")) == (1, 2)
    assert "removed: request header Authorization" in kept.information[0]
    info = captures(Layout(tmp_path / "a"))[0].info()
    assert (info.kind, info.removed) == ("api", ["request header Authorization"])
    # The user and the files are for their owner.
    assert info.left_out == run.warc["left_out"] == {"of_owner": 3}
    check_no_leak(tmp_path / "a", (BEARER,))


async def test_an_unchanged_run_writes_nothing_and_a_changed_one_what_changed(tmp_path: Path) -> None:
    blog, root = generated_blog(40, 50, 5), tmp_path / "a"
    async with demo(blog, etag=True) as (tap, _):
        plain = wanted_for(blog.blog_id, tap.url, warc="no", **FLAGS)
        await back_up(root, blog.blog_id, plain)
        assert not (root / "captures").exists()
        wanted = wanted_for(blog.blog_id, tap.url, **FLAGS)
        first = await back_up(root, blog.blog_id, wanted)
        # No condition hides an answer that no capture has.
        assert first.warc["written"] == 40 + 2 + 3 + 1
        tap.heard.clear()
        second = await back_up(root, blog.blog_id, wanted)
        assert (second.warc["capture"], second.warc["written"], second.outcome.version) == (None, 0, None)
        assert sum(each.answer.startswith(b"HTTP/1.1 304") for each in tap.heard) == 40
        assert len(captures(Layout(root))) == 1
        entry = blog.entry("7")
        assert isinstance(entry, dict)
        entry["entry_text"] = "<p>Another text</p>"
        third = await back_up(root, blog.blog_id, wanted)
        assert (third.warc["capture"], third.warc["written"]) == (2, 1)
        (root / ".work/exchanges.sqlite").unlink()
        fourth = await back_up(root, blog.blog_id, wanted)
        assert (fourth.warc["capture"], fourth.warc["written"]) == (None, 0)
    assert [each["capture"] for each in capture_runs(Layout(root))] == [1, None, 2, None]
    check_captures(root)


async def test_a_payload_that_returns_becomes_a_revisit(tmp_path: Path) -> None:
    blog, root = generated_blog(5, 0, 0), tmp_path / "a"
    async with demo(blog) as (tap, _):
        wanted = wanted_for(blog.blog_id, tap.url, **FLAGS)
        entry = blog.entry("3")
        assert isinstance(entry, dict)
        texts = [entry["entry_text"], "<p>Another</p>"]
        for text in (texts[0], texts[1], texts[0]):
            entry["entry_text"] = text
            run = await back_up(root, blog.blog_id, wanted)
    assert (run.warc["capture"], run.warc["written"], run.warc["revisits"]) == (3, 0, 1)
    assert [url.rpartition("=")[2] for url, _ in records(root).revisit] == ["3"]
    check_captures(root)


def hide(blog: Blog) -> None:
    """Give entries and comments marks, and hide them in each way that the service has."""
    changes: dict[int, dict[str, Any]] = {
        2: {"is_private": "t"}, 3: {"open_flg": "2"}, 4: {"period_flg": "t"}, 5: {"year": "2031"},
        6: {"is_private": "?"}, 7: {"is_private": None}, 8: {"mon": "13"},
    }  # fmt: skip
    for number, each in changes.items():
        entry = blog.entry(str(number))
        assert isinstance(entry, dict)
        entry |= {"title": f"zq{number}titleqz", "entry_text": f"<p>zq{number}bodyqz</p>", **each}
    entry = blog.entry("1")
    assert isinstance(entry, dict)
    entry["writer_mail"] = "zqmailqz"  # the API document has no such field
    for comment in blog.comments:
        assert isinstance(comment, dict)
        if int(comment["cm_id"]) % 7 == 0:
            comment["ip"] = "zqaddressqz"
        number = int(comment["entry_id"])
        if number in changes:
            comment["cm_text"] = f"zq{number}commentqz"
        elif int(comment["cm_id"]) % 5 == 0:
            comment |= {"delete_flg": "t", "cm_text": "zqhiddenqz"}


@pytest.mark.parametrize("how", [{}, {"auth_header": "X-Api-Key", "auth_scheme": ""}, {"auth_query": "access_token"}])
@pytest.mark.sample(1)
async def test_no_token_and_no_private_record_of_the_first_service(tmp_path: Path, how: dict[str, str]) -> None:
    blog = generated_blog(40, 120, 5)
    hide(blog)
    root, pages = tmp_path / "a", {"entry_page_size": 3, "comment_page_size": 3}

    async def gossip(request: web.Request) -> web.StreamResponse | None:
        said = BEARER
        if request.query.get("entry_id") == "2":
            return web.Response(status=403, text=f"no: zq2titleqz {said}")
        if request.query.get("entry_id") not in {"20", "21", "22"}:
            return None
        answer = await service.operation(request)
        body: Any = answer.body
        escaped = said.replace("/", "\\/")
        told = {"20": said, "21": escaped, "22": base64.b64encode(said.encode()).decode()}[request.query["entry_id"]]
        answer.body = body[:-1] + b',"caller":"' + told.encode() + b'"}'
        return answer

    async with demo(blog, echo, **pages) as (tap, service):
        service.before = gossip
        wanted = wanted_for(blog.blog_id, tap.url, {"BLOG_EXPORTER_TOKEN": BEARER}, **FLAGS, **how)
        run = await back_up(root, blog.blog_id, wanted)
        assert any(BEARER.encode() in each.answer for each in tap.heard)
        assert run.outcome.exit_code == 3  # entry 2 is refused
        assert run.warc["left_out"]["not_public"] > 8
        assert check_no_leak(root, (BEARER, COOKIE)) > 20_000
        check_no_leak(root, (BEARER, COOKIE), marks="", folder=".")
        check_captures(root)
        again = await back_up(root, blog.blog_id, wanted)
        assert (again.warc["capture"], again.warc["written"]) == (None, 0)
    kept = records(root)
    public = {int(target.rpartition("=")[2]) for target in kept.targets if "entry/get" in target}
    assert public == set(range(9, 41))
    assert sum("comment/list" in target for target in kept.targets) >= 3
    assert sum("entry/list" in target for target in kept.targets) >= 5
    said = kept.information[0]
    assert "a secret in a response header" in said
    assert "a secret in a response body" in said
    assert ("request parameter access_token" in said) is ("auth_query" in how)
    assert "not_public" in said


async def test_nothing_is_kept_until_the_owner_says_what_is_public(tmp_path: Path) -> None:
    blog = generated_blog(10, 5, 5)
    async with demo(blog) as (tap, _):
        run = await back_up(tmp_path / "a", blog.blog_id, wanted_for(blog.blog_id, tap.url))
        assert (run.outcome.exit_code, run.warc["capture"], run.warc["written"]) == (0, None, 0)
        assert not list((tmp_path / "a/captures").rglob("*.gz"))
        declared = await back_up(tmp_path / "a", blog.blog_id, wanted_for(blog.blog_id, tap.url, **FLAGS))
    assert declared.warc["written"] > 10


async def test_an_entry_that_was_hidden_while_it_was_read_is_left_out(tmp_path: Path) -> None:
    blog = generated_blog(10, 0, 0)
    entry = blog.entry("4")
    assert isinstance(entry, dict)
    entry["entry_text"] = "<p>zqlaterqz</p>"

    async def hide_later(request: web.Request) -> web.StreamResponse | None:
        if request.query.get("entry_id") == "4" and entry["is_private"] == "f":
            answer = await service.operation(request)
            entry.update(is_private="t", title="zqnowqz", last_update="2026-02-02 00:00:00")
            return answer
        return None

    async with demo(blog) as (tap, service):
        service.before = hide_later
        run = await back_up(tmp_path / "a", blog.blog_id, wanted_for(blog.blog_id, tap.url, **FLAGS))
    assert sum("entry_id=4" in each.target for each in tap.heard) == 2
    assert run.outcome.exit_code == 0
    check_no_leak(tmp_path / "a", ())


async def test_another_record_in_place_of_the_requested_one_is_left_out(tmp_path: Path) -> None:
    blog = generated_blog(10, 0, 0)
    hidden = blog.entry("2")
    assert isinstance(hidden, dict)
    hidden |= {"is_private": "t", "entry_text": "zqothersqz"}

    async def wrong(request: web.Request) -> web.StreamResponse | None:
        if request.query.get("entry_id") != "5":
            return None
        changed = request.clone(rel_url=request.rel_url.with_query({**request.query, "entry_id": "2"}))
        return await service.operation(changed)

    async with demo(blog) as (tap, service):
        service.before = wrong
        run = await back_up(tmp_path / "a", blog.blog_id, wanted_for(blog.blog_id, tap.url, **FLAGS))
    assert run.outcome.exit_code == 3
    check_no_leak(tmp_path / "a", ())


@pytest.mark.parametrize("scheme", ["basic", "wsse", "oauth1"])
@pytest.mark.sample(1)
async def test_no_secret_and_no_draft_of_atompub(tmp_path: Path, scheme: str) -> None:
    root, secrets = tmp_path / "a", (API_KEY, CONSUMER_SECRET, TOKEN, TOKEN_SECRET, COOKIE)
    async with serve_atompub(AtomPubBlog()) as blog, Tap(blog.origin, echo).running() as tap:
        made = example_blog(origin=tap.url)
        blog.entries, blog.pages, blog.origin, blog.scheme = made.entries, made.pages, tap.url, scheme
        for number in (20, 50, 80):
            blog.entries[number].draft = True
        for entry in blog.entries:
            if entry.draft or entry.scheduled:
                entry.title, entry.content = f"zq{entry.id}qz", f"<p>zq{entry.id}qz</p>"
        variables = {"BLOG_EXPORTER_TOKEN": API_KEY}
        more = {"profile": "hatena", "auth": scheme, "user": USER}
        if scheme == "oauth1":
            more["oauth_client_id"] = CONSUMER_KEY
            variables = {
                "BLOG_EXPORTER_TOKEN": TOKEN,
                "BLOG_EXPORTER_TOKEN_SECRET": TOKEN_SECRET,
                "BLOG_EXPORTER_CLIENT_SECRET": CONSUMER_SECRET,
            }
        wanted = wanted_for(blog.blog_id, tap.url, variables, **more)
        run = await back_up(root, blog.blog_id, wanted)
        assert run.outcome.exit_code == 0, run.outcome.problems
        assert run.warc["left_out"]["not_public"] > 2
        again = await back_up(root, blog.blog_id, wanted)
        assert (again.warc["capture"], again.warc["written"]) == (None, 0)
    assert check_no_leak(root, secrets) > 20_000
    check_no_leak(root, secrets, marks="", folder=".")
    for _, data in everything_in(root / "captures"):
        for proof in blog.authorizations:
            for part in re.findall(r'(?:PasswordDigest|Nonce|oauth_signature|oauth_nonce)="([^"]+)"', proof):
                assert part.encode() not in data
    check_captures(root)
    assert sum(target.startswith(f"{blog.root}/entry") for target in records(root).targets) > 8


@pytest.mark.parametrize("signed_in", [True, False])
async def test_no_secret_and_no_private_record_of_wordpress(tmp_path: Path, signed_in: bool) -> None:
    root, content = tmp_path / "a", sample()
    for number, post in content.posts.items():
        if post["status"] != "publish" or post["password"]:
            post |= {"title": f"zq{number}titleqz", "raw": f"<p>zq{number}bodyqz</p>", "excerpt": f"zq{number}shortqz"}
    for comment in content.comments.values():
        if comment["status"] != "approved" or comment["post"] == 151:
            comment["name"] = "zqcommentqz"
    async with serve_wordpress(content) as blog, Tap(blog.url, echo).running() as tap:
        blog.url = tap.url
        environ = {"BLOG_EXPORTER_TOKEN": PASSWORD} if signed_in else {}
        more = {"service": "wordpress", **({"user": OWNER} if signed_in else {})}
        wanted = wanted_for("blog.example.jp", tap.url, environ, **more)
        run = await back_up(root, "blog.example.jp", wanted)
        assert run.warc["error"] is None
        again = await back_up(root, "blog.example.jp", wanted)
        assert (again.warc["capture"], again.warc["written"]) == (None, 0)
    # Neither the addresses of those who wrote comments.
    check_no_leak(root, (PASSWORD, COOKIE), marks="zq[a-z0-9]*qz|@mail.example")
    check_no_leak(root, (PASSWORD, COOKIE), marks="", folder=".")
    check_captures(root)
    kept = records(root)
    assert any("include=" in target for target in kept.targets)
    assert any("/comments?" in target for target in kept.targets) is not signed_in


async def test_public_pages_are_kept_but_those_with_a_password(tmp_path: Path) -> None:
    root = tmp_path / "a"
    blog = PublicBlog("livedoor", posts(12))
    async with (
        serve_public(blog),
        Tap(blog.origin, lambda _: b"Set-Cookie: a=%s\r\n" % COOKIE.encode()).running() as tap,
    ):
        blog.origin = tap.url
        wanted = wanted_for("sample.example", tap.url, service="public-site", page_rules="livedoor")
        run = await back_up(root, "sample.example", wanted)
        assert run.warc["error"] is None
    kept = records(root)
    assert sum("/archives/" in target for target in kept.targets) == 12
    assert any("sitemap" in target for target in kept.targets)
    check_true(tap, root)
    check_captures(root)
    check_no_leak(root, (COOKIE,))


async def test_what_an_address_shows_is_kept_although_an_older_file_calls_it_a_draft(tmp_path: Path) -> None:
    root, blog = tmp_path / "a", PublicBlog("livedoor", posts(12))
    path = exported(blog, tmp_path / "blog.txt")
    path.write_text(path.read_text("utf-8").replace("STATUS: Publish", "STATUS: Draft", 1), "utf-8")
    drafted = min(blog.posts.values(), key=lambda post: post.date)
    async with serve_public(blog), Tap(blog.origin).running() as tap:
        blog.origin = tap.url
        await finished(await from_file(path, root))
        wanted = wanted_for("sample.example", tap.url, service="public-site", page_rules="livedoor")
        run = await back_up(root, "sample.example", wanted)
    assert run.outcome.joined is not None
    assert run.outcome.joined["matched"] == 12
    kept = records(root)
    shown = [target for target in kept.targets if "/archives/" in target]
    assert len(shown) == 12
    assert blog.address(drafted.number).removeprefix(tap.url) in shown


async def test_the_token_of_a_command_is_taken_out(tmp_path: Path) -> None:
    blog, root = generated_blog(10, 0, 0), tmp_path / "a"
    command = tmp_path / "token"
    command.write_text(f"#!/bin/sh\necho {BEARER}\n")
    command.chmod(0o700)
    async with demo(blog, echo, require_token=BEARER) as (tap, _):
        wanted = wanted_for(blog.blog_id, tap.url, token_command=str(command), **FLAGS)
        run = await back_up(root, blog.blog_id, wanted)
    assert run.warc["written"] > 10
    check_no_leak(root, (BEARER, COOKIE), folder=".")


async def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    blog, root = generated_blog(60, 50, 0), tmp_path / "a"
    async with demo(blog, echo, require_token=BEARER) as (tap, _):
        wanted = wanted_for(blog.blog_id, tap.url, {"BLOG_EXPORTER_TOKEN": BEARER}, **FLAGS)
        for entries in (20, 15, 10):
            left = iter(range(entries))

            def stop(event: Any, left: Iterator[int] = left) -> bool:
                return isinstance(event, EntryRead) and next(left, None) is None

            run = await back_up(root, blog.blog_id, wanted, stop)
            assert isinstance(run.error, Interrupted)
            assert not (root / "captures").exists()
            check_no_leak(root, (BEARER, COOKIE), folder=".work")
            spool = root / ".work/checkpoint/exchanges.spool"
            with spool.open("ab") as file:
                file.write(spool.read_bytes()[:999])  # the beginning of an exchange that a kill cut off
        run = await back_up(root, blog.blog_id, wanted)
    assert (run.outcome.exit_code, run.warc["capture"]) == (0, 1)
    assert run.outcome.resumed_from is not None
    kept = records(root)
    asked = [target for target in kept.targets if "entry/get" in target]
    assert (len(asked), len(set(asked))) == (60, 60)
    assert sum("/list" in target for target in kept.targets) == 3 + 3 + 1  # the empty file list
    check_captures(root)


async def test_a_failure_to_write_the_exchanges_loses_no_backup(
    tmp_path: Path,
) -> None:
    blog, root = generated_blog(10, 5, 0), tmp_path / "a"
    async with demo(blog) as (tap, _):
        wanted = wanted_for(blog.blog_id, tap.url, **FLAGS)
        await back_up(root, blog.blog_id, wanted_for(blog.blog_id, tap.url, warc="no"))
        (root / "captures").write_text("in the way")
        entry = blog.entry("3")
        assert isinstance(entry, dict)
        entry["entry_text"] = "<p>Another text</p>"
        run = await back_up(root, blog.blog_id, wanted)
        assert (run.outcome.exit_code, run.outcome.version, run.warc["capture"]) == (3, 2, None)
        assert run.outcome.error is not None
        assert "captures" in run.outcome.error
        assert (root / "captures").read_text() == "in the way"
        assert not (root / ".work/exchanges.new").exists()
        (root / "captures").unlink()
        run = await back_up(root, blog.blog_id, wanted)
        assert (run.outcome.exit_code, run.warc["capture"]) == (0, 1)
    assert Archive.open(root).newest() == 2


@pytest.mark.parametrize("kind", ["text", "folder", "link", "other tables"])
async def test_a_strange_index_of_answers_is_made_again(tmp_path: Path, kind: str) -> None:
    blog, root = generated_blog(5, 0, 0), tmp_path / "a"
    async with demo(blog) as (tap, _):
        wanted = wanted_for(blog.blog_id, tap.url, **FLAGS)
        await back_up(root, blog.blog_id, wanted)
        path, elsewhere = root / ".work/exchanges.sqlite", tmp_path / "elsewhere"
        path.rename(elsewhere)
        before = elsewhere.read_bytes()
        if kind == "folder":
            (path / "in it").mkdir(parents=True)
        elif kind == "link":
            path.symlink_to(elsewhere)
        elif kind == "text":
            path.write_text("no database")
        else:
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.execute("CREATE TABLE answers (url, status, digest, content)")
        run = await back_up(root, blog.blog_id, wanted)
    assert (run.outcome.exit_code, run.warc["capture"], run.warc["written"]) == (0, None, 0)
    assert elsewhere.read_bytes() == before
