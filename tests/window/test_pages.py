"""The window's pages through its real server, and the commands that its forms start, against a real blog service."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import pytest
from aiohttp import web

from exporter.archive.lock import ArchiveLock
from exporter.cli.main import main
from exporter.clock import SystemClock
from exporter.model.kinds import Kind
from exporter.window import jobs
from tests.archive.builder import Built
from tests.site.test_view import entry
from tests.support.demo_service import Before, DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Zygote, findings, lines_of_runs, serving
from tests.window.opened import PATIENCE_SECONDS, Opened, environment, opened, opened_in_thread, until

BLOG_ID = "generated.blog.example.jp"


class Reader:
    """A browser without scripts: it follows redirects, and sends the headers of a browser."""

    def __init__(self, window: Opened) -> None:
        self.window = window

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = "") -> tuple[int, str, str]:
        """Return the status, the last path and the page of a request after all redirects."""
        parts = urlsplit(self.window.address)
        target = path if path.startswith("/") else parts.path + path
        headers = {"Origin": self.window.origin, "Content-Type": kind} if method == "POST" else {}
        connection = HTTPConnection(parts.netloc, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            page = answer.read().decode()
        finally:
            connection.close()
        if answer.status == 303:
            return self.ask("GET", str(answer.getheader("Location")))
        return answer.status, target.removeprefix(parts.path), unescape(page)

    def get(self, path: str = "") -> str:
        return self.ask("GET", path)[2]

    def send(self, path: str, **form: str) -> tuple[int, str, str]:
        return self.ask("POST", path, urlencode(form).encode(), "application/x-www-form-urlencoded")

    def upload(self, path: str, name: str, content: bytes) -> tuple[int, str, str]:
        """Send the form of the first page with a file."""
        mark = uuid4().hex
        body = (
            f'--{mark}\r\nContent-Disposition: form-data; name="address"\r\n\r\n\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        ).encode()
        return self.ask(
            "POST", path, body + content + f"\r\n--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"
        )

    def settled(self, path: str) -> tuple[str, str]:
        """Load a page again until its job has ended, as browsers without scripts do; return its path and text."""

        def ended() -> tuple[str, str] | None:
            _, place, page = self.ask("GET", path)
            return None if "data-running" in page else (place, page)

        place, page = until(ended, path)
        return place, page


@pytest.fixture
def service() -> Iterator[DemoService]:
    with serving(generated_blog(3, 1, 0)) as served:
        yield served


@pytest.fixture
def home(tmp_path: Path, service: DemoService) -> Path:
    """A home whose settings know the service of the blog."""
    settings = tmp_path / ".config" / "blog-exporter" / "blog-exporter.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[profiles.own]\nblog_hosts = "{BLOG_ID}"\nbase_url = "{service.base_url}"\n')
    return tmp_path


@pytest.fixture
def reader(home: Path, zygote: Zygote) -> Iterator[Reader]:
    """Open a window."""
    with opened_in_thread(home, zygote) as window:
        yield Reader(window)


def late(seconds: float) -> Before:
    """Return a fault: every answer comes late."""

    async def before(_: web.Request) -> None:
        await asyncio.sleep(seconds)

    return before


def begun(reader: Reader, **answers: str) -> tuple[str, str]:
    """Go from the address to the end of the first backup; return the last path and page."""
    _, place, _ = reader.send("look", address=f"https://{BLOG_ID}/")
    place, page = reader.settled(place)
    assert "about 3 entries" in page
    form = {"title": "海の日記", "place": "~/blogs/sea", "assets": "linked", "when": "never", **answers}
    _, place, _ = reader.send(place.replace("found", "begin"), **form)
    return reader.settled(place)


def test_the_first_backup_and_what_can_be_done_with_it(reader: Reader) -> None:
    assert "Save the sample blog" in reader.get()
    place, page = begun(reader)
    root = reader.window.home / "blogs" / "sea"
    assert place.startswith("blog/")
    assert "<h1>海の日記</h1>" in page
    assert "Everything is saved" in page
    assert findings(root) == []
    assert reader.window.crontab == ""
    assert re.search(r"blog-exporter init \S+ --yes --archive \S+/blogs/sea .*--at never", page)
    assert "海の日記" in reader.get()

    _, there, _ = reader.send(f"{place}/save")
    assert there == place
    assert until(lambda: len(lines_of_runs(root)) == 2, "a second run")
    reader.settled(place)

    _, there, _ = reader.send(f"{place}/verify")
    there, page = reader.settled(there)
    assert there.startswith("job/")
    assert "INTACT" in page.upper()

    _, _, page = reader.send(f"{place}/read")
    address = re.search(r'url=(http://127\.0\.0\.1:\d+/\S+)"', page)
    assert address is not None
    assert urlsplit(address[1]).netloc != urlsplit(reader.window.address).netloc


@pytest.mark.thorough
def test_a_run_goes_on_without_the_window_and_a_new_window_finds_it(home: Path, service: DemoService) -> None:
    service.before = late(0.4)
    with opened(home, "en") as killed:
        reader = Reader(killed)
        _, place, _ = reader.send("look", address=BLOG_ID)
        place, _ = reader.settled(place)
        reader.send(place.replace("found", "begin"), place="~/blogs/sea", when="never")
        job = killed.newest("init")
        until(lambda: job.state().running, "the backup runs")
        killed.kill()
        with opened(home, "en") as window:
            assert job.id in Reader(window).get()
            assert "Everything is saved" in Reader(window).settled(f"job/{job.id}")[1]
    assert findings(home / "blogs" / "sea") == []


def test_a_killed_run_is_shown_as_stopped_and_continues(reader: Reader, service: DemoService) -> None:
    place, _ = begun(reader)
    service.before = late(30.0)
    reader.send(f"{place}/save")
    job = reader.window.newest("backup")
    root = reader.window.home / "blogs" / "sea"
    until(lambda: ArchiveLock(root / ".work" / "lock").holder(), "the backup has the archive")
    # Until it says something, it may seem to be starting.
    until(lambda: (job.folder / jobs.SAID).stat().st_size, "the backup has said something")
    os.kill(int(ArchiveLock(job.folder / "lock").holder()["pid"]), signal.SIGKILL)
    _, page = reader.settled(place)
    assert "Stopped: the program was ended" in page
    service.before = None
    _, there, _ = reader.send(f"job/{job.id}/again")
    assert there == place
    assert "Everything is saved" in reader.settled(place)[1]
    assert findings(root) == []


def test_pausing_ends_a_run_and_continuing_resumes_it(reader: Reader, service: DemoService) -> None:
    place, _ = begun(reader)
    service.before = late(30.0)
    reader.send(f"{place}/save")
    job = reader.window.newest("backup")
    root = reader.window.home / "blogs" / "sea"
    until(lambda: ArchiveLock(root / ".work" / "lock").holder(), "the backup has the archive")
    reader.send(f"job/{job.id}/pause")
    assert "Paused. Nothing is lost" in reader.settled(place)[1]
    service.before = None
    reader.send(f"job/{job.id}/again")
    assert "Everything is saved" in reader.settled(place)[1]


def test_a_second_run_of_an_archive_says_that_the_first_one_runs(reader: Reader) -> None:
    place, _ = begun(reader)
    root = reader.window.home / "blogs" / "sea"
    with ArchiveLock(root / ".work" / "lock") as lock:
        lock.acquire(SystemClock().now())
        reader.send(f"{place}/save")
        job = reader.window.newest("backup")
        until(lambda: not job.state().running, "the second run ends")
        assert job.state().exit_code == 11
        assert "is being written" in job.state().error or "running" in job.state().error
    assert findings(root) == []


def test_a_second_start_opens_the_window_that_is_there(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with opened(home, "en") as window, pytest.MonkeyPatch.context() as patch:
        for name, value in environment(home).items():
            patch.setenv(name, value)
        assert main(["app", "--no-open"]) == 0
        assert capfd.readouterr().out.strip() == window.address


def test_an_exported_file(reader: Reader) -> None:
    file = "TITLE: 港の朝\nAUTHOR: hanako\nDATE: 04/01/2006 07:30:00 AM\n-----\nBODY:\n今朝\n-----\n--------\n"
    _, place, _ = reader.upload("look", "my export.txt", file.encode())
    place, page = reader.settled(place)
    assert "1 entry" in page
    assert "every night" not in page
    _, place, _ = reader.send(place.replace("found", "begin"), title="港", place="~/blogs/minato")
    _, page = reader.settled(place)
    assert "A newer export file of this blog" in page
    assert findings(reader.window.home / "blogs" / "minato") == []


def test_what_is_no_blog(reader: Reader) -> None:
    for address, said in (
        ("", "Paste a blog's address"),
        ("no such thing", "neither the address of a blog nor a file"),
        ("https://user:secret@blog.example.jp/", "***@blog.example.jp"),
        ("https://xn--zz--.example/", "is invalid"),
    ):
        status, _, page = reader.send("look", address=address)
        assert status == 400, address
        assert said in page
        assert "secret" not in page


@pytest.mark.parametrize(
    ("text", "address"),
    [("http://127.0.0.1:9/", "http://127.0.0.1:9/"), ("127.0.0.1:9/hanako", "http://127.0.0.1:9/hanako")],
)
def test_an_address_that_does_not_answer(reader: Reader, text: str, address: str) -> None:
    _, place, _ = reader.send("look", address=text)
    _, page = reader.settled(place)
    assert "That cannot be saved yet" in page
    assert "127.0.0.1" in page
    assert f"blog-exporter check {address}" in page


def test_a_token_is_in_a_private_file_and_never_among_the_words(reader: Reader, tmp_path: Path) -> None:
    begun(reader, token="t0ken-of-hanako")
    job = reader.window.newest("init")
    assert "t0ken-of-hanako" not in " ".join(job.words)
    (kept,) = (tmp_path / ".config" / "blog-exporter" / "tokens").iterdir()
    assert kept.read_text("utf-8") == "t0ken-of-hanako\n"
    assert kept.stat().st_mode & 0o077 == 0


def test_the_archive_of_another_blog_is_refused_before_a_token_is_kept(reader: Reader, tmp_path: Path) -> None:
    Built(reader.window.home / "blogs" / "sea").commit({Kind.ENTRIES: {"1": entry(1, "海")}})
    _, place, _ = reader.send("look", address=BLOG_ID)
    place, _ = reader.settled(place)
    status, _, page = reader.send(place.replace("found", "begin"), place="~/blogs/sea", token="t0ken-of-hanako")
    assert (status, "is the archive of" in page) == (400, True)
    assert [job.about for job in reader.window.jobs.all()] == ["look"]
    assert not (tmp_path / ".config" / "blog-exporter" / "tokens").exists()


def test_a_wrong_time_starts_nothing(reader: Reader) -> None:
    _, place, _ = reader.send("look", address=BLOG_ID)
    place, _ = reader.settled(place)
    status, _, page = reader.send(place.replace("found", "begin"), place="~/blogs/sea", when="time", time="25:00")
    assert (status, "Choose a time such as 03:30" in page) == (400, True)
    assert [job.about for job in reader.window.jobs.all()] == ["look"]


def test_a_missing_archive_is_named(reader: Reader) -> None:
    place, _ = begun(reader)
    (reader.window.home / "blogs" / "sea").rename(reader.window.home / "gone")
    assert "The archive is not there" in reader.get()
    assert "The archive is not there" in reader.get(place)
