"""A text without a scheme that names a host and a path is the address of a page for every command."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from exporter.archive.settings_file import note_archive
from exporter.cli.blog_names import address_in, completed_address
from exporter.cli.export_plan import home_of
from exporter.errors import UsageError
from tests.cli.conftest import Program

SAID = ("--public-open-flg", "1", "--visible-delete-flg", "f", "--old-url", "https://{blog_id}/Entry/{entry_id}/")
VERBS: dict[str, tuple[str, ...]] = {
    "backup": ("backup", "{}"),
    "capture": ("capture", "{}"),
    "check": ("check", "{}"),
    "init": ("init", "{}", "--yes"),
    "compare": ("compare", "DIR", "{}", *SAID, "--no-pictures", "--no-comments"),
    "move": (
        "move",
        "wordpress",
        "DIR",
        "--to",
        "{}",
        *SAID,
        "--allow-plain-http",
        "--new-home-user",
        "u",
        "--dry-run",
    ),
}


class _Server(ThreadingHTTPServer):
    """A server on a free port, with the paths of all requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    """Answers every request with 404."""

    server: _Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_error(404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[_Server]:
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ameblo.jp/hanako", "https://ameblo.jp/hanako"),
        ("note.com/hanako/", "https://note.com/hanako/"),
        ("AMEBLO.JP/hanako", "https://ameblo.jp/hanako"),
        ("ameblo.jp/hanako?x=1#y", "https://ameblo.jp/hanako"),
        ("ameblo.jp?x=1", "https://ameblo.jp/"),
        (" \tameblo.jp/hanako\n", "https://ameblo.jp/hanako"),
        ("「ameblo.jp/hanako」", "https://ameblo.jp/hanako"),
        ("www.ameblo.jp/hanako", "https://www.ameblo.jp/hanako"),
        ("note.com/@hanako", "https://note.com/@hanako"),
        ("host:8080/path", "https://host:8080/path"),
        ("localhost/bob", "http://localhost/bob"),
        ("localhost:8080/bob", "http://localhost:8080/bob"),
        ("127.0.0.1/bob", "http://127.0.0.1/bob"),
        ("192.168.0.9/bob", "https://192.168.0.9/bob"),
        ("日本語.jp/ブログ", "https://xn--wgv71a119e.jp/%E3%83%96%E3%83%AD%E3%82%B0"),
        ("ａｍｅｂｌｏ。ｊｐ／ｈａｎａｋｏ", "https://ameblo.jp/hanako"),
        ("ｈｔｔｐｓ：／／ａｍｅｂｌｏ．ｊｐ／ｈａｎａｋｏ", "https://ameblo.jp/hanako"),
        ("backup.old/blog", "https://backup.old/blog"),
        ("hanako.blog.example.jp", None),
        ("host:8080", None),
        ("blogs/hanako", None),
        ("v1.2/blog", None),
        ("backup.old/my blog", None),
        ("./ameblo.jp/hanako", None),
        ("../ameblo.jp/hanako", None),
        ("~/ameblo.jp/hanako", None),
        ("C:\\blog", None),
        ("C:/blog", None),
        ("/Volumes/USB/blog", None),
        ("s3://bucket.example/blogs", None),
        ("", None),
    ],
)
def test_what_is_the_address_of_a_page(text: str, address: str | None) -> None:
    assert address_in(text) == address


def test_a_folder_that_exists_or_was_known_is_no_address(tmp_path: Path) -> None:
    Path("ameblo.jp").mkdir()
    assert address_in("ameblo.jp/hanako") == "https://ameblo.jp/hanako"
    Path("ameblo.jp/hanako").mkdir()
    assert address_in("ameblo.jp/hanako") is None
    note_archive(tmp_path / "here" / "usb.disk" / "blog")
    assert address_in("usb.disk/blog") is None


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_asks_for_the_path(
    program: Program, server: _Server, made: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if verb == "move":
        monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", "t")
    place = f"127.0.0.1:{server.server_port}/hanako"
    done = program(*({"{}": place, "DIR": str(made)}.get(word, word) for word in VERBS[verb]))
    assert done.code not in {0, 1, 10}, done.err
    assert any(path.startswith("/hanako") for path in server.asked), (server.asked, done.err)
    if verb in {"backup", "check", "init"}:
        assert f"http://{place} answered 404" in done.err
        assert f"If it is a folder here, write ./{place}." in done.err


@pytest.mark.parametrize("verb", ["backup", "check", "login", "capture", "verify", "status", "doctor"])
@pytest.mark.parametrize("words", ["blogs/hanako", "./ameblo.jp/hanako", "/Volumes/USB/blog"])
def test_a_missing_folder_is_named_as_one(program: Program, verb: str, words: str) -> None:
    done = program(verb, words)
    assert done.code == 10, done.err
    assert words.removeprefix("./") in done.out + done.err


@pytest.mark.parametrize("verb", ["verify", "status", "login", "library"])
def test_a_command_on_archives_names_the_address_and_the_folder(program: Program, verb: str) -> None:
    words = (
        ("library", "build", "ameblo.jp/hanako", "--out", "OUT") if verb == "library" else (verb, "ameblo.jp/hanako")
    )
    done = program(*words)
    assert "no archive of" in done.err.lower(), done.err
    assert "connect that disk" not in done.err


@pytest.mark.parametrize("verb", ["backup", "check", "init", "capture", "verify", "login"])
@pytest.mark.parametrize("words", ["https://xn--zz--.example/", "xn--zz--.example/x"])
def test_an_invalid_host_name_is_called_that(program: Program, verb: str, words: str) -> None:
    done = program(verb, words)
    assert (done.code, f"The host name in {words!r} is invalid" in done.err) == (2, True), done.err


def test_a_password_before_a_host_is_hidden(program: Program) -> None:
    done = program("backup", "me:hush@a.jp/x")
    assert (done.code, "hush" in done.err, "without a user name" in done.err) == (2, False, True), done.err


def test_where_no_folder_is_possible_a_host_is_an_address() -> None:
    assert completed_address("new.example.jp") == "https://new.example.jp/"
    assert completed_address("new.example.jp:8443") == "https://new.example.jp:8443/"
    assert completed_address("new.example.jp/blog") == "https://new.example.jp/blog"
    assert completed_address("http://New.example.jp/?p=1") == "http://New.example.jp/?p=1"
    assert home_of("new.example.jp/blog") == "https://new.example.jp/blog/"
    with pytest.raises(ValueError, match="begins with https"):
        home_of("my blog")
    with pytest.raises(UsageError, match="host name"):
        home_of("xn--zz--.example/x")


def test_a_list_of_a_fleet_calls_an_address_one(program: Program, tmp_path: Path) -> None:
    for words in ("ameblo.jp/hanako", "https://ameblo.jp/hanako"):
        Path("blogs.txt").write_text(f"{words}\n", encoding="utf-8")
        done = program("fleet", "run", "blogs.txt", "--into", tmp_path / "fleet")
        assert (done.code, f"line 1: '{words}' is an address: give the blog's ID" in done.err) == (2, True), done.err
