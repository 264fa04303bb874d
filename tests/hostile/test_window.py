"""Attacks on the window: real requests to a running one. None may start, read or fill anything, or end the window."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from tests.window.opened import until
from tests.window.running import Answer, Running, answer_of, running

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc"),
]

VICTIM = "20260101000000-abcdef"
"""A job that a single accepted request would start again."""
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
Attack = Callable[[Running], Answer]


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("window") / "home"
    with running(home) as found:
        found.plant(
            VICTIM, ["demo", str(home / "owned"), "--quiet"], f'{{"event": "said", "text": "{"canary-5d0c"}"}}\n'
        )
        yield found


@pytest.fixture
def own_window(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "home") as found:
        yield found


def again(**headers: str) -> Attack:
    """Return the request that starts the victim, as the window's own page sends it but for these headers."""

    def ask(window: Running) -> Answer:
        named = {name.replace("_", "-"): value.format(window=window) for name, value in headers.items()}
        kept = {name: value for name, value in {**window.own(), **named}.items() if value != "-"}
        return window.ask("POST", f"job/{VICTIM}/again", kept)

    return ask


def get(path: str, method: str = "GET", **headers: str) -> Attack:
    """Return a request for a path, which begins with a slash or is below the secret."""

    def ask(window: Running) -> Answer:
        named = {name.replace("_", "-"): value.format(window=window) for name, value in headers.items()}
        return window.ask(method, path.format(window=window), named)

    return ask


def raw(text: str) -> Attack:
    return lambda window: window.raw(text.format(window=window, victim=VICTIM).replace("\n", "\r\n").encode())


CROSS = {"Sec_Fetch_Site": "cross-site", "Origin": "https://evil.example"}
REFUSED: dict[str, Attack] = {
    # Pages of other sites that have learnt the secret address.
    "a form of another site": again(**CROSS),
    "a form of another site, in an old browser": again(Origin="https://evil.example", Sec_Fetch_Site="-"),
    "a fetch of another site without CORS": again(**CROSS, Sec_Fetch_Mode="no-cors", Content_Type="text/plain"),
    "a form of a page on the disk": again(Origin="null", Sec_Fetch_Site="cross-site"),
    "a form of a page on the disk, in an old browser": again(Origin="null", Sec_Fetch_Site="-"),
    "a form without an origin": again(Origin="-", Sec_Fetch_Site="-"),
    "a form of a server at another port": again(Origin="http://127.0.0.1:1", Sec_Fetch_Site="same-site"),
    "a form that says same-site with the right origin": again(Sec_Fetch_Site="same-site"),
    "an origin that begins with the right one": again(Origin="http://{window.host}.evil.example"),
    "the right origin over https": again(Origin="https://{window.host}"),
    "the right origin under its other name": again(Origin="http://localhost:{window.port}"),
    "two origins": raw(
        "POST {window.root}job/{victim}/again HTTP/1.1\nHost: {window.host}\nOrigin: https://evil.example\n"
        "Origin: http://{window.host}\nContent-Length: 0\nConnection: close\n\n"
    ),
    "an image of another site": get("", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image"),
    "a script of another site": get("static/window.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors"),
    "a fetch of another site": get("", Sec_Fetch_Mode="cors", **CROSS),
    "a fetch of a page at another port": get("", Sec_Fetch_Mode="cors", Sec_Fetch_Site="same-site"),
    "an event stream of another site": get(f"job/{VICTIM}/events", Sec_Fetch_Mode="cors", **CROSS),
    "a WebSocket of another site": get(
        "", Sec_Fetch_Mode="websocket", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **CROSS,
    ),
    "a WebSocket of another site, as Chromium sends it": get(
        "", Upgrade="websocket", Connection="Upgrade", Origin="https://evil.example", Sec_WebSocket_Version="13",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
    ),
    "a preflight": get("", "OPTIONS", Access_Control_Request_Method="POST", **CROSS),
    # A name of the attacker that resolves to this machine.
    "a rebound name": get("", Host="evil.example:{window.port}"),
    "a rebound name with a form": again(Host="evil.example:{window.port}", Origin="http://evil.example:{window.port}"),
    "a name that begins with the address": get("", Host="127.0.0.1.evil.example"),
    "a name that ends with localhost": get("", Host="evil.localhost.example"),
    "the address of all addresses": get("", Host="0.0.0.0:{window.port}"),
    "an address of the network": get("", Host="192.168.1.5:{window.port}"),
    "an empty name": get("", Host=""),
    "no name": raw("GET {window.root} HTTP/1.1\nConnection: close\n\n"),
    "no name in HTTP/1.0": raw("GET {window.root} HTTP/1.0\n\n"),
    "two names": raw("GET {window.root} HTTP/1.1\nHost: evil.example\nHost: {window.host}\nConnection: close\n\n"),
    "a rebound name in a whole address": raw(
        "GET http://{window.host}{window.root} HTTP/1.1\nHost: evil.example\nConnection: close\n\n"
    ),
}  # fmt: skip
WITHOUT_SECRET: dict[str, Attack] = {
    "no secret": get("/"),
    "a wrong secret": get("/AAAAAAAAAAAAAAAAAAAAAA/"),
    "an empty secret": get("//"),
    "the secret with one more letter": get("/{window.token}x/"),
    "the secret in the query": get("/?token={window.token}"),
    "the secret in headers": get(
        "/", Cookie="token={window.token}", Authorization="Bearer {window.token}", Referer="{window.address}"
    ),
    "a job without the secret": get(f"/job/{VICTIM}"),
    "an encoded slash before a job": get(f"/%2fjob/{VICTIM}"),
    "dots in place of the secret": get(f"/../job/{VICTIM}"),
    "encoded dots in place of the secret": get(f"/%2e%2e/job/{VICTIM}"),
    "dots and a semicolon in place of the secret": get(f"/..;/job/{VICTIM}"),
    "a NUL in place of the secret": get(f"/%00/job/{VICTIM}"),
}
REFUSED |= WITHOUT_SECRET
REFUSED |= {
    # With the secret, but for something that is not offered.
    "a file above the static ones": get("static/../../window.json"),
    "an encoded path above the static ones": get("static/%2e%2e%2f%2e%2e%2fwindow.json"),
    "an absolute path below the static ones": get("static//etc/passwd"),
    "a job named by a path": get("job/..%2f..%2fwindow.json"),
    "a job named by dots": get("job/%2e%2e/events"),
    "a job named by dots and a semicolon": get("job/..;/events"),
    "a job named by backslashes": get("job/..%5c..%5cwindow"),
    "a job named by a NUL": get(f"job/{VICTIM}%00"),
    "an archive named by a path": get("blog/..%2f..%2f..%2fetc"),
    "an archive named by dots": get("blog/%2e%2e/export"),
    "an archive with a name of 8,000 letters": get(f"blog/{'a' * 8000}"),
    "a job with a name of 8,000 letters": get(f"job/{'a' * 8000}"),
    "PUT": get(f"job/{VICTIM}/again", "PUT", Origin="http://{window.host}"),
    "DELETE": get(f"job/{VICTIM}", "DELETE", Origin="http://{window.host}"),
    "TRACE": get("", "TRACE", Origin="http://{window.host}"),
    "CONNECT": raw("CONNECT {window.host} HTTP/1.1\nHost: {window.host}\nConnection: close\n\n"),
    "a method of its own": get("", "QUIT", Origin="http://{window.host}"),
    # Requests that are not as they should be.
    "a header of a megabyte": get("", X_Long="x" * (1 << 20)),
    "a path of a megabyte": get("a" * (1 << 20)),
    "10,000 headers": lambda window: window.ask("GET", "", {f"X-{number}": "x" for number in range(10_000)}),
    "two lengths": raw(
        "POST {window.root}quit HTTP/1.1\nHost: {window.host}\nOrigin: http://{window.host}\nContent-Length: 0\n"
        "Content-Length: 9\nConnection: close\n\nabcdefghi"
    ),
    "a length and chunks": raw(
        "POST {window.root}quit HTTP/1.1\nHost: {window.host}\nOrigin: http://{window.host}\nContent-Length: 4\n"
        "Transfer-Encoding: chunked\nConnection: close\n\n0\n\nGET"
    ),
    "a line break in a path": raw("GET {window.root}%0d%0aX-Owned:%201 HTTP/1.1\nHost: {window.host}\nConnection: close\n\n"),
    "no HTTP": raw("<script>alert(1)</script>\n\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_forged_request_reads_and_starts_nothing(window: Running, name: str) -> None:
    before = window.jobs()
    answer = REFUSED[name](window)
    assert answer.status in {0, 400, 403, 404, 405, 413, 414, 431}, answer
    assert b"canary" not in answer.body
    assert b"<script>" not in answer.body or answer.headers["content-type"].startswith("text/plain")
    assert "access-control-allow-origin" not in answer.headers
    assert "x-owned" not in answer.headers
    assert name not in WITHOUT_SECRET or window.token.encode() not in answer.body
    assert window.jobs() == before
    assert not (window.folder.parents[2] / "owned").exists()
    assert window.ask("GET", "").status == 200


def test_a_get_request_starts_nothing_even_with_a_method_in_a_header(window: Running) -> None:
    before = window.jobs()
    for headers in ({}, {"X-HTTP-Method-Override": "POST", **window.own()}):
        assert window.ask("GET", f"job/{VICTIM}/again", headers).status == 200
        assert window.ask("HEAD", "quit", headers).status in {200, 303}
    assert window.jobs() == before
    assert window.ask("GET", "").status == 200


def test_the_window_s_own_form_starts_the_job(own_window: Running) -> None:
    """Without this, the tests above would also pass if nothing could ever be started."""
    home = own_window.folder.parents[2]
    own_window.plant(VICTIM, ["demo", str(home / "made"), "--quiet"])
    assert again()(own_window).status == 303
    assert len(own_window.jobs()) == 2
    until((home / "made" / "archive.json").exists, "the demo has run")


def test_every_page_forbids_frames_scripts_of_others_and_copies(window: Running) -> None:
    for path in ("", f"job/{VICTIM}", "static/window.js", "nothing", "/"):
        headers = window.ask("GET", path).headers
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"


# Uploads


def multipart(*parts: tuple[str, bytes], boundary: str = "xx") -> tuple[dict[str, str], bytes]:
    """Return headers and body of a form with these parts: the rest of their disposition, and their content."""
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {about}\r\n\r\n".encode("utf-8", "surrogateescape")
        + content
        + b"\r\n"
        for about, content in parts
    )
    return {"Content-Type": f"multipart/form-data; boundary={boundary}"}, body + f"--{boundary}--\r\n".encode()


def upload(window: Running, *parts: tuple[str, bytes]) -> Answer:
    headers, body = multipart(*parts)
    return window.ask("POST", "nothing", window.own(**headers), body)


NAMES = {
    "above the folder": "../../.bashrc",
    "absolute": "/etc/cron.d/owned",
    "of a drive": "C:\\Windows\\x.exe",
    "with a stream": "a.txt:owned.exe",
    "with a NUL": "a.txt\0.exe",
    "of a device": "CON",
    "of a device with an ending": "lpt1.xml",
    "of 4,000 letters": "x" * 4000 + ".xml",
    "of 2,000 letters of three bytes": "あ" * 2000,
    "that turns around": "\u202egpj.exe",
    "of dots": "..",
    "hidden": ".ssh",
    "with a line break": "a%0d%0aX: 1",
    "that is no UTF-8": "\udcff\udcfe.xml",
    "for a shell": "$(touch owned);`id`|&.xml",
    "of an option": "--config=owned",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_file_name_leads_nowhere(own_window: Running, name: str) -> None:
    upload(own_window, (f'name="file"; filename="{NAMES[name].replace(chr(92), chr(92) * 2)}"', b"owned"))
    found = own_window.uploads()
    assert len(found) <= 1
    home = own_window.folder.parents[2]
    outside = [each for each in home.rglob("*") if each.is_file() and own_window.folder not in each.parents]
    assert outside == [own_window.log]
    for each in found:
        assert each.parent.parent == own_window.folder / "uploads"
        assert len(each.name.encode()) <= 150
        assert not each.name.startswith(".")
        assert each.name.split(".")[0].lower() not in {"con", "lpt1"}
        assert not set(each.name) & set('\\/:*?"<>|\0\r\n\u202e')
        assert each.stat().st_mode & 0o777 == 0o600
        assert each.parent.stat().st_mode & 0o777 == 0o700


def test_an_upload_of_two_gigabytes_needs_no_memory(own_window: Running) -> None:
    if shutil.disk_usage(own_window.folder).free < 5 << 30:
        pytest.fail("the test needs 5 GB of free disk")
    own_window.ask("GET", "")
    before, size = own_window.peak_bytes(), 2 << 30
    headers, body = multipart(('name="file"; filename="日記.xml"', b"@"))
    first, last = body.split(b"@")
    named = own_window.own(Host=own_window.host, Connection="close", **headers)
    named["Content-Length"] = str(len(first) + size + len(last))
    piece = b"\r\n--x" * (1 << 20)
    with own_window.connect(600) as connection:
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        connection.sendall(f"POST {own_window.root}nothing HTTP/1.1\r\n{lines}\r\n".encode() + first)
        sent = 0
        while sent < size:
            part = piece[: size - sent]
            connection.sendall(part)
            sent += len(part)
        connection.sendall(last)
        assert answer_of(connection).status == 404
    (found,) = own_window.uploads()
    assert found.stat().st_size == size
    assert own_window.peak_bytes() - before < 64 << 20
    found.unlink()


def test_an_upload_to_a_full_disk_is_refused_and_removed(tmp_path: Path) -> None:
    """The limit of a file's size stands for a disk without room: both fail in the middle of the file."""
    limit = (
        "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20,) * 2); import exporter.__main__"
    )
    with running(tmp_path / "home", program=(sys.executable, "-c", limit)) as window:
        answer = upload(window, ('name="file"; filename="a.xml"', b"x" * (3 << 20)))
        assert answer.status == 400
        assert b"free some" in answer.body
        assert window.uploads() == []
        assert list((window.folder / "uploads").iterdir()) == []
        assert window.ask("GET", "").status == 200


def test_a_disk_with_less_than_a_gigabyte_takes_no_upload(tmp_path: Path) -> None:
    """The window's process gets a made-up number of free bytes: a disk that is really full would stop other tests."""
    told = (
        "import shutil; from collections import namedtuple; "
        "shutil.disk_usage = lambda _: namedtuple('usage', 'total used free')(1 << 40, 0, 1 << 30); import exporter.__main__"
    )
    with running(tmp_path / "home", program=(sys.executable, "-c", told)) as window:
        answer = upload(window, ('name="file"; filename="a.xml"', b"x" * 10))
        assert answer.status == 400
        assert b"too full" in answer.body
        assert list((window.folder / "uploads").iterdir()) == []


@pytest.mark.parametrize("second", [False, True], ids=["in the first file", "in the second file"])
def test_an_aborted_upload_leaves_nothing(own_window: Running, second: bool) -> None:
    files = [('name="file"; filename="a.xml"', b"x" * 100_000)] * (1 + second)
    headers, body = multipart(*files)
    named = own_window.own(Host=own_window.host, **headers)
    named["Content-Length"] = str(len(body) + 1_000_000)
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    with own_window.connect() as connection:
        connection.sendall(f"POST {own_window.root}nothing HTTP/1.1\r\n{lines}\r\n".encode() + body[:-60_000])
        until(lambda: len(own_window.uploads()) == 1 + second, "the upload has begun")
    until(lambda: own_window.uploads() == [] and not list((own_window.folder / "uploads").iterdir()), "it is removed")
    assert own_window.ask("GET", "").status == 200


BAD_FORMS = {
    "10,000 parts": multipart(*[('name="a"', b"1")] * 10_000),
    "texts of a megabyte": multipart(('name="a"', b"x" * (1 << 20))),
    "many texts that together are too long": multipart(*[('name="a"', b"x" * 200_000)] * 3),
    "forms in forms": (
        {"Content-Type": "multipart/form-data; boundary=xx"},
        b"".join(
            f"--{'x' * (number + 2)}\r\nContent-Type: multipart/form-data; boundary={'x' * (number + 3)}\r\n\r\n".encode()
            for number in range(60)
        ),
    ),
    "a part with 10,000 headers": (
        {"Content-Type": "multipart/form-data; boundary=xx"},
        b"--xx\r\n" + b"X-A: b\r\n" * 10_000 + b"\r\n",
    ),
    "a part with a header of a megabyte": (
        {"Content-Type": "multipart/form-data; boundary=xx"},
        b"--xx\r\nX-A: " + b"b" * (1 << 20) + b"\r\n\r\n",
    ),
    "no boundary": ({"Content-Type": "multipart/form-data"}, b"--xx\r\n\r\n"),
    "a boundary of 10,000 letters": ({"Content-Type": f"multipart/form-data; boundary={'x' * 5000}"}, b"--xx\r\n\r\n"),
    "no end": ({"Content-Type": "multipart/form-data; boundary=xx"}, b"--xx\r\n\r\nabc"),
    "a charset of its own": multipart(('name="_charset_"', b"x" * 1000), ('name="a"', b"1")),
    "10,000 fields": ({}, urlencode([("a", "1")] * 10_000).encode()),
    "a field of a megabyte": ({}, b"a=" + b"x" * (1 << 20)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FORMS)
def test_a_forged_form_is_refused(window: Running, name: str) -> None:
    headers, body = BAD_FORMS[name]
    answer = window.ask("POST", "nothing", window.own(**headers), body)
    assert answer.status == 400, answer
    assert window.uploads() == []
    assert window.log.read_text("utf-8").count("a request failed") == 0
    assert window.ask("GET", "").status == 200


# Load


def test_300_connections_and_half_requests_do_not_end_the_window(own_window: Running) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 2048), hard), hard))
    before = own_window.peak_bytes()
    lines = f"POST {own_window.root}quit HTTP/1.1\r\nHost: {own_window.host}\r\nX-Slow: ".encode()
    held: list[socket.socket] = []
    try:
        for number in range(300):
            held.append(own_window.connect())
            held[-1].sendall((b"", b"GET /", lines)[number % 3])
            if number % 100 == 99:
                assert own_window.ask("GET", "").status == 200
    finally:
        for each in held:
            each.close()
    assert own_window.ask("GET", "").status == 200
    assert own_window.peak_bytes() - before < 32 << 20
    assert len(list(Path(f"/proc/{own_window.process.pid}/fd").iterdir())) < 150


# Jobs


def test_two_tabs_that_start_the_same_job_at_once_share_it(own_window: Running) -> None:
    home = own_window.folder.parents[2]
    own_window.plant(VICTIM, ["demo", str(home / "made"), "--quiet"])
    answers: list[Answer] = []
    tabs = [threading.Thread(target=lambda: answers.append(again()(own_window))) for _ in range(6)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert [each.status for each in answers] == [303] * 6
    assert len({each.headers["location"] for each in answers}) == 1
    assert len(own_window.jobs()) == 2


def _pid(window: Running, job: str) -> int:
    """Wait until a job's process has its lock, and return its number."""
    note = ArchiveLock(window.folder / "jobs" / job / "lock").holder
    return int(until(lambda: note().get("pid"), "the job has begun"))


def _waiting_job(window: Running) -> tuple[str, ArchiveLock]:
    """Start a job that waits for an archive's lock; return its name and the lock that this process has."""
    home = window.folder.parents[2]
    archive = home / "waited"
    lock = ArchiveLock(archive / ".work" / "lock")
    lock.acquire(SystemClock().now())
    nowhere = ["--base-url", "http://127.0.0.1:9", "--allow-private-network"]
    window.plant(VICTIM, ["backup", "blog", *nowhere, "--archive", str(archive), "--wait-lock", "1h"])
    assert again()(window).status == 303
    return window.jobs()[-1], lock


def test_a_killed_job_is_seen_as_ended_and_its_number_is_not_trusted(own_window: Running) -> None:
    job, lock = _waiting_job(own_window)
    with lock:
        os.kill(_pid(own_window, job), signal.SIGKILL)
        until(lambda: b"/again" in own_window.ask("GET", f"job/{job}").body, "the page offers to continue")
    # The number of the killed process is this process's now: neither is it taken for the job, nor is it interrupted.
    note = own_window.folder / "jobs" / job / "lock"
    note.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": "2026"}) + "\n")
    interrupted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    try:
        assert own_window.send(f"job/{job}/pause").status == 303
        assert b"/again" in own_window.ask("GET", f"job/{job}").body
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupted == []


def test_a_killed_window_leaves_its_job_running_and_the_next_window_shows_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home) as first:
        job, lock = _waiting_job(first)
        with lock:
            pid = _pid(first, job)
            first.process.kill()
            first.process.wait()
            os.kill(pid, 0)
            with running(home) as second:
                assert second.token != first.token
                assert b"/pause" in second.ask("GET", f"job/{job}").body
                assert second.send(f"job/{job}/pause").status == 303
                until(lambda: b"/pause" not in second.ask("GET", f"job/{job}").body, "it ends")


def test_a_second_window_opens_the_first_one(own_window: Running) -> None:
    with running(own_window.folder.parents[2]) as second:
        assert second.address == own_window.address
        assert second.process.wait(60) == 0


def test_a_module_in_the_home_folder_is_not_imported(own_window: Running) -> None:
    home = own_window.folder.parents[2]
    for name in ("json.py", "random.py", "exporter.py"):
        (home / name).write_text(f"open({str(home / 'owned')!r}, 'w')\n")
    own_window.plant(VICTIM, ["demo", str(home / "made"), "--quiet"])
    assert again()(own_window).status == 303
    until((home / "made" / "archive.json").exists, "the demo has run")
    assert not (home / "owned").exists()


@pytest.mark.parametrize(
    "typed",
    [
        "--config=/etc/passwd", "-vv", "--on-failure=touch owned", "\n--help", "https://127.0.0.1:9/ --archive /tmp/owned",
        "$(touch owned)", "; touch owned", "file:///etc/passwd", "javascript:alert(1)", "a\0b", "\u202ehttps://127.0.0.1:9",
    ],
)  # fmt: skip
def test_what_is_typed_is_no_option_and_no_command(own_window: Running, typed: str) -> None:
    answer = own_window.send("look", {"address": typed})
    assert answer.status in {303, 400}
    for name in own_window.jobs():
        words = json.loads((own_window.folder / "jobs" / name / "job.json").read_bytes())["words"]
        assert words[0] == "check"
        assert len(words) == 2
        assert words[1].startswith(("https://", "http://"))
    assert not (own_window.folder.parents[2] / "owned").exists()
    assert own_window.ask("GET", "").status == 200


# Hostile texts and folders


def test_hostile_texts_stay_texts(window: Running) -> None:
    event = json.dumps({"event": f"error {SCRIPT}", "text": SCRIPT})
    error = json.dumps({"event": "error", "text": f"{SCRIPT}\r\n\r\ndata: owned\n\nevent: owned"})
    rows = json.dumps({"event": "progress", "rows": [{"name": SCRIPT, "done": 1, "total": 2}, 7], "seconds_left": "x"})
    name = "20260102000000-aa"
    folder = window.plant(name, [SCRIPT, "\udcff"], f"{event}\n{error}\n{rows}\n{SCRIPT}", place=SCRIPT)
    page = window.ask("GET", f"job/{name}")
    assert page.status == 200
    assert SCRIPT.encode() not in page.body
    assert b"<script>" not in page.body
    assert b"<img" not in page.body
    stream = window.ask("GET", f"job/{name}/events")
    assert stream.headers["content-type"] == "text/event-stream"
    fields = [line.partition(b":")[0] for line in stream.body.replace(b"\r", b"\n").split(b"\n") if line]
    assert set(fields) == {b"data"}
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "said",
    [
        "[" * 100_000,
        '{"event": "progress", "rows": {"a": 1}}',
        '{"event": 7}',
        '"x"',
        "\0\x1b[2J",
        "\ufffe" * 9,
        "9" * 9999,
    ],
)
def test_a_forged_file_of_what_a_job_said_breaks_no_page(window: Running, said: str) -> None:
    name = "20260103000000-aa"
    window.plant(name, ["status"], said)
    assert window.ask("GET", f"job/{name}").status == 200
    assert window.ask("GET", f"job/{name}/events").status == 200


@pytest.mark.parametrize("note", ["[]", "{", '{"words": "x"}', '{"words": [1, null]}', "9" * 5000, "[" * 100_000, "{}"])
def test_a_forged_job_breaks_no_page(window: Running, note: str) -> None:
    name = "20260104000000-aa"
    (window.plant(name, ["status"]) / "job.json").write_text(note)
    assert window.ask("GET", f"job/{name}").status in {200, 404}
    assert window.ask("GET", "").status == 200
    shutil.rmtree(window.folder / "jobs" / name)


def test_a_job_that_says_a_gigabyte_needs_no_memory(window: Running) -> None:
    folder = window.plant("20260105000000-aa", ["status"])
    with (folder / "said.jsonl").open("wb") as said:
        said.truncate(1 << 30)
        said.seek(0, os.SEEK_END)
        said.write(b'\n{"event": "said", "text": "the newest line"}\n')
    before = window.peak_bytes()
    assert b"the newest line" in window.ask("GET", f"job/{folder.name}").body
    assert window.peak_bytes() - before < 32 << 20
    shutil.rmtree(folder)


def test_links_in_the_window_s_folder_lead_to_no_other_file(own_window: Running, tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    for name in ("0123456789abcdef", "jobs"):
        (documents / name).mkdir(parents=True)
        (documents / name / "diary.txt").write_text("canary-5d0c")
        os.utime(documents / name, (0, 0))
    home = own_window.folder.parents[2]
    (own_window.folder / "uploads").symlink_to(documents)
    until(lambda: own_window.send("quit").status == 200, "it is asked to end")
    own_window.process.wait(60)
    with running(home) as window:
        answer = upload(window, ('name="file"; filename="a.xml"', b"x"))
        assert answer.status in {400, 404}
        (window.folder / "uploads").unlink(missing_ok=True)
        (window.folder / "jobs").mkdir(exist_ok=True)
        (window.folder / "jobs" / "1").symlink_to(documents / "jobs")
        (window.folder / "uploads").mkdir()
        (window.folder / "uploads" / "0123456789abcdef").symlink_to(documents / "0123456789abcdef")
        assert window.ask("GET", "job/1").status == 404
    with running(home):
        pass
    for name in ("0123456789abcdef", "jobs"):
        assert (documents / name / "diary.txt").read_text() == "canary-5d0c"


@pytest.mark.parametrize("kind", ["link", "open folder", "another user's folder"])
def test_a_folder_that_others_could_enter_is_closed_or_refused(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "home" / "state" / "blog-exporter" / "window"
    folder.parent.mkdir(parents=True)
    if kind == "link":
        folder.symlink_to(tmp_path)
    else:
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
    if kind == "another user's folder":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(folder, 12345, 12345)
    if kind == "open folder":
        with running(tmp_path / "home"):
            assert folder.stat().st_mode & 0o777 == 0o700
    else:
        with pytest.raises(AssertionError, match="is a link, or another user's folder"), running(tmp_path / "home"):
            pass


def test_all_that_the_window_writes_is_for_this_user_alone(own_window: Running) -> None:
    own_window.plant(VICTIM, ["demo", str(own_window.folder.parents[2] / "made"), "--quiet"])
    assert again()(own_window).status == 303
    upload(own_window, ('name="file"; filename="a.xml"', b"x"))
    planted = own_window.folder / "jobs" / VICTIM
    for path in [own_window.folder, *own_window.paths()]:
        if path not in {planted, planted.parent} and planted not in path.parents:
            assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


# The secret


def test_the_secret_is_in_no_command_line_environment_or_log(own_window: Running) -> None:
    job, lock = _waiting_job(own_window)
    with lock:
        pid = _pid(own_window, job)
        secret = own_window.token.encode()
        for number in (own_window.process.pid, pid):
            for name in ("cmdline", "environ"):
                assert secret not in Path(f"/proc/{number}/{name}").read_bytes()
        for broken in ("a request failed?", "%zz", "job//"):
            own_window.ask("GET", broken)
        own_window.raw(f"GET {own_window.root}\x01 HTTP/9.9\r\n\r\n".encode())
        files = [own_window.log, *(each for each in own_window.paths() if each.is_file())]
        holding = [each for each in files if secret in each.read_bytes()]
        assert holding == [own_window.folder / "window.json"]
        own_window.send(f"job/{job}/pause")


def test_the_secret_is_gone_when_the_window_is(tmp_path: Path) -> None:
    with running(tmp_path / "home") as window:
        started = time.monotonic()
        assert window.send("quit").status == 200
        assert window.process.wait(60) == 0
        assert time.monotonic() - started < 60
        assert not (window.folder / "window.json").exists()
