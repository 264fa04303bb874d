"""SOURCE on the command line: export files and addresses, right, wrong and twice."""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.cli.conftest import Program
from tests.library.test_two_ways import exported
from tests.support.public_blog import PublicBlog, posts, serving
from tests.support.runs import Done, Runs

Command = Callable[..., Awaitable[Done]]


@pytest.fixture
def command(runs: Runs, tmp_path: Path) -> Command:
    """Return what runs the program in a separate process, in the test's folder."""

    async def run(*arguments: object) -> Done:
        environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "LANG": "C.UTF-8"}
        return await asyncio.to_thread(runs.run, *arguments, folder=tmp_path, environ=environ)

    return run


async def test_a_file_becomes_an_archive_and_a_newer_one_its_next_version(command: Command, tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(12))
    exported(blog, tmp_path / "export.txt")
    first = await command("backup", "export.txt", "--archive", "mine", "--no-site")
    assert first.code == 0, first.err
    assert "13 entries   13 new" in first.err
    assert "When you have a newer export file: blog-exporter backup FILE --archive mine" in first.err
    again = await command("backup", "export.txt", "--archive", "mine", "--no-site")
    assert (again.code, "Nothing had changed" in again.err) == (0, True)
    alone = await command("backup", "mine")
    assert (alone.code, "Name a newer file: blog-exporter backup FILE --archive DIR" in alone.err) == (2, True)
    blog.posts[1002].text = "<p>直した。</p>"
    del blog.posts[1003]
    exported(blog, tmp_path / "newer.txt")
    newer = await command("backup", "newer.txt", "--archive", "mine", "--no-site")
    assert newer.code == 0
    log = json.loads((await command("log", "mine", "--json")).out)
    counts = log["versions"][1]["counts"]["entries"]
    assert (counts["new"], counts["changed"], counts["gone"]) == (0, 1, 1)
    lines = (tmp_path / "mine" / "versions" / "000002" / "entries.jsonl").read_text("utf-8").splitlines()
    (tombstone,) = (json.loads(line) for line in lines if '"remove"' in line)
    assert tombstone["evidence"]["absent_in_file"] == "newer.txt"
    assert len(tombstone["evidence"]["file_sha256"]) == 64
    kept = [json.loads(line) for line in (tmp_path / "mine/latest/assets.jsonl").read_text("utf-8").splitlines()]
    assert {each["id"] for each in kept} == {"export:export.txt", "export:newer.txt"}


async def test_a_zip_and_a_folder_are_read_like_the_files_in_them(command: Command, tmp_path: Path) -> None:
    exported(PublicBlog("livedoor", posts(6)), tmp_path / "a.txt")
    exported(PublicBlog("livedoor", posts(6, 2001)), tmp_path / "b.txt", draft=False)
    (tmp_path / "parts").mkdir()
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as packed:
        for name in ("a.txt", "b.txt"):
            packed.write(tmp_path / name, f"../../{name}")
            (tmp_path / name).rename(tmp_path / "parts" / name)
        packed.writestr("readme.html", "<p>no export</p>")
    checked = await command("check", "export.zip", "--json")
    document = json.loads(checked.out)
    assert (checked.code, document["ways"][0]["counts"]["posts"]) == (0, 13)
    assert document["left_out"] == ["export.zip/readme.html"]
    for source in ("export.zip", "parts/"):
        done = await command("backup", source, "--archive", f"of-{len(source)}", "--no-site", "--no-markdown")
        assert (done.code, "13 entries   13 new" in done.err) == (0, True), done.err
    assert not (tmp_path.parent / "a.txt").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.txt", b"", "is no export file that this program knows"),
        ("notes.txt", b"just some notes\n", "is no export file that this program knows"),
        ("broken.zip", b"PK\x03\x04 and no more", "cannot be read"),
        ("picture.png", b"\x89PNG\r\n\x1a\n", "is no export file that this program knows"),
    ],
)
async def test_another_file_is_refused_in_one_line(
    command: Command, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    for verb in ("backup", "check"):
        done = await command(verb, name)
        assert (done.code, said in done.err, done.err.count("\n")) == (2, True, 1), done
    assert not (tmp_path / name.partition(".")[0]).exists()


@pytest.mark.parametrize("verb", ["backup", "check", "init", "capture"])
def test_a_missing_file_is_named_as_a_file(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("nosuch.txt", "nosuch.XML", "no/such.zip", "/no/such.csv", "ブログ.txt.gz", "C:\\x.wxr"):
        with subtests.test(name=name):
            done = program(verb, name)
            assert done.code == 2
            assert f"There is no file {name}." in done.err


async def test_an_address_is_explored_and_remembered(command: Command, tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(8), dead_every=0)
    async with serving(blog) as origin:
        checked = await command("check", origin, "--json")
        (way,) = json.loads(checked.out)["ways"]
        assert (checked.code, way["service"], way["best"]) == (0, "public-site", True)
        options = ("--archive", "mine", "--retries", "0", "--page-rules", "livedoor", "--rate", "1000", "--no-site")
        first = await command("backup", f"{origin}/?utm=1#top", *options)
        assert first.code == 0, first.err
        assert f"Found at {origin}/: public pages" in first.err
        assert "Complete: everything asked for" not in first.err
        assert "Everything that was found is saved: 8 entries" in first.err
        assert "an export file or an API" in checked.out
        again = await command("backup", "mine")
        assert (again.code, "Nothing had changed" in again.err, "Found at" in again.err) == (0, True, False)
        other = await command("backup", origin, "--service", "wordpress", "--archive", "other")
        assert (other.code, "it can be as public-site" in other.err) == (2, True)


async def test_a_file_and_an_address_become_one_archive(command: Command, tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(8), dead_every=0)
    exported(blog, tmp_path / "export.txt")
    assert (await command("backup", "export.txt", "--archive", "mine", "--no-site")).code == 0
    async with serving(blog) as origin:
        options = ("--archive", "mine", "--retries", "0", "--page-rules", "livedoor", "--rate", "1000")
        joined = await command("backup", origin, *options)
        assert joined.code == 0, joined.err
        assert "Joined with public-site: 8 entries are in both, 0 only there, 1 only in the archive" in joined.err
        again = await command("backup", "mine")
        assert (again.code, "Nothing had changed" in again.err) == (0, True), again.err
        newer = await command("backup", "export.txt", "--archive", "mine")
        assert (newer.code, "Nothing had changed" in newer.err) == (0, True), newer.err
        assert (await command("backup", "mine")).code == 0
    for verb in ("status", "verify", "rebuild"):
        assert (await command(verb, "mine")).code == 0
    exported_again = await command("export", "movabletype", "mine", "out", "--public-status", "Publish")
    assert exported_again.code == 0, exported_again.err
    assert "秘密" not in "".join(each.read_text("utf-8") for each in (tmp_path / "out").rglob("*.txt"))


async def test_an_address_without_a_blog_is_an_error_in_one_line(command: Command) -> None:
    async def page(request: web.Request) -> web.Response:
        if request.path == "/":
            return web.Response(text="<html><title>x</title><p>no blog</p></html>", content_type="text/html")
        return web.Response(status=404)

    app = web.Application()
    app.router.add_get("/{path:.*}", page)
    server = TestServer(app)
    await server.start_server()
    address = str(server.make_url("/"))
    try:
        done = await command("check", address)
        assert (done.code, "has neither an API nor a feed" in done.err, done.err.count("\n")) == (2, True, 1), done
        done = await command("backup", address)
        assert (done.code, done.err.count("\n")) == (2, 1), done
    finally:
        await server.close()
    gone = await command("backup", address)
    assert (gone.code, "could not be read" in gone.err, gone.err.count("\n")) == (20, True, 1), gone
    secret = await command("backup", "https://me:s3cret@name.example.jp/")
    assert (secret.code, "s3cret" in secret.err) == (2, False)


@pytest.mark.parametrize("robots", [(200, "User-agent: *\nDisallow: /"), (500, "broken")], ids=["forbidden", "broken"])
async def test_a_blog_that_robots_txt_closes_is_refused_in_a_sentence_about_it(
    command: Command, robots: tuple[int, str]
) -> None:
    blog = PublicBlog("livedoor", posts(3), dead_every=0)
    blog.overrides["/robots.txt"] = robots
    async with serving(blog) as origin:
        for verb in ("check", "backup"):
            done = await command(verb, origin)
            assert (done.code, done.err.count("\n")) == (2, 1), done
            assert f"{origin}/robots.txt" in done.err
        command_line = done.err.rpartition(" backup ")[2].split()
        allowed = await command(
            "backup",
            *command_line,
            "--archive",
            "mine",
            "--retries",
            "0",
            "--page-rules",
            "livedoor",
            "--rate",
            "1000",
            "--no-site",
        )
        assert "3 entries   3 new" in allowed.err, allowed.err
