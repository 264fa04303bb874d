"""Run every command that a message suggests in a shell, exactly as printed: the program accepts it, and it helps.

The names of the folders contain characters that have a meaning for the shell or the program's parser.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self
from uuid import uuid4

import pytest

from tests.login.conftest import BROWSER
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, guarded
from tests.support.runs import Runs, serving
from tests.support.schedulers import CRONTAB, list_processes

SUGGESTED = re.compile(r"(?:^|: | )(blog-exporter [a-z].*)$", re.MULTILINE)
NIGHTS = re.compile(r"^No nightly backup is scheduled\..*$", re.MULTILINE)
PREFIX = re.compile(r"^blog-exporter: (?:error|warning): ", re.MULTILINE)
NAMES = (
    'it\'s "mine"',
    "$HOME;x",
    *(pytest.param(name, marks=pytest.mark.thorough) for name in ("my blog", "日記 思い出", "-blog", "--help")),
)
HARDEST = '-it\'s 日記 "mine"'
TOKEN = "tok3n-4711"
EXAMPLE = "https://api.example.jp"
PROGRAMS = Path(sys.executable).parent


class Words:
    """A real shell that shows the words of a command line, as this program gets them; use it in ``with``."""

    def __enter__(self) -> Self:
        self._shell = subprocess.Popen(["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        # In place of the program, the alias prints each word and a zero byte.
        self._type("alias blog-exporter='printf \"%s\\0\"'\n")
        return self

    def __exit__(self, *_: object) -> None:
        with self._shell:
            assert self._shell.stdin is not None
            self._shell.stdin.close()

    def of(self, line: str) -> list[str]:
        """Return the words after the program's name. A line that runs anything else as well fails."""
        end = f"end-{uuid4()}"
        self._type(f"eval {shlex.quote(line)}\nprintf '\\0%s\\n' {end}\n")
        assert self._shell.stdout is not None
        printed = b""
        while not printed.endswith(f"\0{end}\n".encode()):
            read = os.read(self._shell.stdout.fileno(), 65536)
            assert read, f"the shell ended after {printed!r}"
            printed += read
        *words, rest, _ = printed.decode().split("\0")
        assert (rest, line.startswith("blog-exporter")) == ("", True), printed
        return words

    def _type(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(text.encode())
        self._shell.stdin.flush()


@dataclass
class Shell:
    """A shell in its own folder, with a home folder and this program in its path.

    Attributes:
        folder: the folder in which commands are run.
        words: splits a line.
        runs: starts the program.
        environ: environment variables to add.
    """

    folder: Path
    words: Words
    runs: Runs
    environ: dict[str, str] = field(default_factory=dict)

    def type(self, line: str) -> Typed:
        """Run a line as a person would after copying it."""
        known = {
            "PATH": f"{self.folder / '.bin'}:{PROGRAMS}:/usr/bin:/bin",
            "XDG_CONFIG_HOME": str(self.folder / ".config"), "XDG_DATA_HOME": str(self.folder / ".data"),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", "LC_ALL": "C.UTF-8",
        }  # fmt: skip
        done = self.runs.run(
            *self.words.of(line), folder=self.folder, environ={**known, **self.environ},
            name=str(PROGRAMS / "blog-exporter"), processes=self.folder / ".proc",
        )  # fmt: skip
        assert "Traceback" not in done.err, done.err
        return Typed(line, done.code, done.out, done.err)

    def has_cron(self, *, running: bool) -> None:
        """Install an empty crontab, and start cron or stop it."""
        list_processes(self.folder / ".proc", *(["crond"] if running else []))
        program = self.folder / ".bin" / "crontab"
        program.parent.mkdir(exist_ok=True)
        program.write_text(CRONTAB.format(folder=self.folder))
        program.chmod(0o700)

    def moves_house(self) -> None:
        """Move to another machine without settings and sign-ins of this program."""
        for name in (".config", ".data"):
            shutil.rmtree(self.folder / name, ignore_errors=True)


@dataclass(frozen=True)
class Typed:
    """A command line, its exit code and its output."""

    line: str
    code: int
    out: str
    err: str

    @property
    def suggested(self) -> list[str]:
        """The suggested commands, as printed, without that for the nights, which ``status`` shows until they are scheduled."""
        return SUGGESTED.findall(NIGHTS.sub("", PREFIX.sub("", self.out + self.err)))

    @property
    def advice(self) -> str:
        """The only suggested command."""
        assert len(self.suggested) == 1, self
        return self.suggested[0]


@pytest.fixture(scope="module")
def words() -> Iterator[Words]:
    with Words() as started:
        yield started


@pytest.fixture
def shell(tmp_path: Path, words: Words, runs: Runs) -> Shell:
    (tmp_path / "at home").mkdir()
    return Shell(tmp_path / "at home", words, runs)


@pytest.fixture(scope="module")
def service() -> Iterator[DemoService]:
    with serving(generated_blog(3, 1, 0), require_token=TOKEN) as served:
        yield served


@pytest.fixture
def guard() -> Iterator[OAuthServer]:
    with guarded(generated_blog(3, 1, 0)) as running:
        yield running


@pytest.fixture
def signs_in(shell: Shell) -> Shell:
    """A shell of a user with a registered client and a browser that agrees at once."""
    shell.environ |= {
        "BROWSER": BROWSER, "BLOG_EXPORTER_OAUTH_CLIENT_ID": CLIENT_ID, "BLOG_EXPORTER_CLIENT_SECRET": CLIENT_SECRET,
    }  # fmt: skip
    return shell


def word(name: str) -> str:
    """Quote the name of a folder for a shell."""
    return "'" + f"./{name}".replace("'", "'\\''") + "'"


def first_backup(shell: Shell, address: str, name: str, *more: str) -> Typed:
    done = shell.type(
        f"blog-exporter backup generated.blog.example.jp --base-url {address} --archive {word(name)} --no-site "
        + " ".join(more)
    )
    assert done.code == 0, done
    return done


def follow(shell: Shell, before: Typed) -> Typed:
    """Run the only command that a message suggests; it must succeed without further advice."""
    done = shell.type(before.advice)
    assert done.code == 0, (before, done)
    return done


@pytest.mark.parametrize("name", NAMES)
def test_the_first_backup_names_the_shorter_command_for_later(shell: Shell, service: DemoService, name: str) -> None:
    shell.environ["BLOG_EXPORTER_TOKEN"] = TOKEN
    follow(shell, first_backup(shell, service.base_url, name))


@pytest.mark.parametrize("name", NAMES)
def test_a_moved_archive_continues_as_before(shell: Shell, service: DemoService, name: str) -> None:
    token = shell.folder / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    first_backup(shell, service.base_url, name, "--token-file", "token")
    moved = f"{name} 2"
    (shell.folder / name).rename(shell.folder / moved)
    for command in ("status", "backup", "whoami", "check", "verify"):
        done = shell.type(f"blog-exporter {command} {word(moved)}")
        assert (done.code, done.suggested) == (0, []), done
    (shell.folder / moved).rename(shell.folder / f"{name} 3")
    known = shell.folder / ".config" / "blog-exporter" / "archives.json"
    notes = json.loads(known.read_text("utf-8"))
    assert set(notes) == {str(shell.folder / name), str(shell.folder / moved)}
    assert len(set(notes.values())) == 1
    assert shell.type(f"blog-exporter backup {word(f'{name} 3')} -q").err == ""


def test_a_note_of_an_earlier_release_is_renewed_by_the_next_backup(shell: Shell, service: DemoService) -> None:
    shell.environ["BLOG_EXPORTER_TOKEN"] = TOKEN
    first_backup(shell, service.base_url, "a")
    known = shell.folder / ".config" / "blog-exporter" / "archives.json"
    notes = json.loads(known.read_text("utf-8"))
    known.write_text(json.dumps({place: note.split()[0] for place, note in notes.items()}), "utf-8")
    assert shell.type("blog-exporter backup a -q").err == ""
    assert json.loads(known.read_text("utf-8")) == notes


@pytest.mark.parametrize("name", NAMES)
def test_an_archive_on_a_new_machine_names_the_command_to_run_once(
    shell: Shell, service: DemoService, name: str
) -> None:
    token = shell.folder / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    first_backup(shell, service.base_url, name, "--token-file", "token", "--allow-private-network")
    shell.moves_house()
    asked = shell.type(f"blog-exporter backup {word(name)}")
    assert (asked.code, "--token-file" in asked.err) == (2, True)
    shell.environ["BLOG_EXPORTER_TOKEN"] = TOKEN
    assert "--token-file" not in asked.advice
    follow(shell, asked)
    assert shell.type(f"blog-exporter backup {word(name)} -q").code == 0
    assert shell.type(f"blog-exporter check {word(name)}").code == 0


def test_another_archive_with_the_same_settings_is_not_taken_for_one_that_moved(
    shell: Shell, service: DemoService
) -> None:
    shell.environ["BLOG_EXPORTER_TOKEN"] = TOKEN
    first_backup(shell, service.base_url, "mine")
    shutil.copytree(shell.folder / "mine", shell.folder / "theirs")
    info = shell.folder / "theirs" / "archive.json"
    document = json.loads(info.read_text("utf-8"))
    info.chmod(0o600)
    info.write_text(json.dumps({**document, "created_at": "2001-01-01T00:00:00Z"}), "utf-8")
    shutil.rmtree(shell.folder / "theirs" / ".work")
    done = shell.type("blog-exporter schedule print theirs --for cron")
    assert done.code == 2
    assert "no backup of yours wrote that" in done.err


@pytest.mark.parametrize("name", NAMES)
def test_signing_in_for_an_archive_on_a_new_machine(signs_in: Shell, guard: OAuthServer, name: str) -> None:
    assert signs_in.type(f"blog-exporter login --base-url {guard.base_url}").code == 0
    first_backup(signs_in, guard.base_url, name)
    signs_in.moves_house()
    follow(signs_in, signs_in.type(f"blog-exporter login {word(name)}"))
    follow(signs_in, signs_in.type(f"blog-exporter backup {word(name)}"))
    for command in ("whoami", "login", "backup", "logout"):
        assert signs_in.type(f"blog-exporter {command} {word(name)}").code == 0


@pytest.mark.parametrize("command", ["login", "whoami", "logout"])
@pytest.mark.sample(1)
def test_a_blog_of_an_unknown_service(signs_in: Shell, guard: OAuthServer, command: str) -> None:
    for words in ("", "me.blog.example.net", "me"):
        asked = signs_in.type(f"blog-exporter {command} {words}")
        assert (asked.code, EXAMPLE in asked.advice) == (2, True), asked
        signs_in.type(f"blog-exporter login --base-url {guard.base_url}")
        done = signs_in.type(asked.advice.replace(EXAMPLE, guard.base_url))
        assert done.code == 0, done


def test_a_blog_of_the_settings_file_and_a_folder_sign_in(signs_in: Shell, guard: OAuthServer) -> None:
    folder = signs_in.folder / ".config" / "blog-exporter"
    folder.mkdir(parents=True)
    table = f'[blogs."my diary"]\nblog_id = "generated.blog.example.jp"\narchive = "{signs_in.folder}/a b"\n'
    (folder / "blog-exporter.toml").write_text(table + f'base_url = "{guard.base_url}"\n')
    refused = signs_in.type("blog-exporter backup 'my diary'")
    assert refused.code == 12
    assert "login 'my diary'" in refused.advice
    follow(signs_in, refused)
    assert signs_in.type("blog-exporter backup 'my diary'").code == 0


def test_without_a_way_to_sign_in_the_advice_is_a_token(shell: Shell, service: DemoService) -> None:
    words = f"generated.blog.example.jp --base-url {service.base_url} --archive a"
    for command in ("backup", "check"):
        done = shell.type(f"blog-exporter {command} {words}")
        assert (done.code, done.suggested) == (12, []), done
        said = " ".join((done.out + done.err).split())
        assert "set BLOG_EXPORTER_TOKEN to a token that may read this blog, or name its file with --token-file" in said
    (shell.folder / "token").write_text(TOKEN)
    (shell.folder / "token").chmod(0o600)
    assert shell.type(f"blog-exporter backup {words} --token-file token").code == 0
    login = shell.type(f"blog-exporter login --base-url {service.base_url}")
    assert (login.code, login.suggested, "--token-file" in login.err) == (2, [], True)


def _signed_out(shell: Shell, guard: OAuthServer) -> None:
    assert shell.type(f"blog-exporter logout --base-url {guard.base_url}").code == 0


def _revoked(_: Shell, guard: OAuthServer) -> None:
    guard.revoke_all()


def _not_renewable(_: Shell, guard: OAuthServer) -> None:
    guard.expire_all()


REFUSALS: dict[str, tuple[bool, Callable[[Shell, OAuthServer], None]]] = {
    "signed out": (True, _signed_out),
    "revoked": (True, _revoked),
    "not renewable": (False, _not_renewable),
}


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("command", ["backup", "check"])
@pytest.mark.sample(2)
def test_a_refused_sign_in_says_how_to_sign_in_again(
    signs_in: Shell, guard: OAuthServer, case: str, command: str
) -> None:
    refreshes, happens = REFUSALS[case]
    guard.manners = replace(guard.manners, refreshes=refreshes)
    assert signs_in.type(f"blog-exporter login --base-url {guard.base_url}").code == 0
    first_backup(signs_in, guard.base_url, HARDEST)
    happens(signs_in, guard)
    refused = signs_in.type(f"blog-exporter {command} {word(HARDEST)}")
    assert refused.code == 12, refused
    follow(signs_in, refused)
    assert signs_in.type(f"blog-exporter {command} {word(HARDEST)} -q").code == 0


def test_a_sign_in_says_how_to_end_and_how_to_renew_it(signs_in: Shell, guard: OAuthServer) -> None:
    done = signs_in.type(f"blog-exporter login --account me --base-url {guard.base_url}")
    assert "logout --account me --base-url" in done.advice
    follow(signs_in, done)
    other = signs_in.type(f"blog-exporter whoami --account me --base-url {guard.base_url}")
    assert other.code == 12
    follow(signs_in, other)
    guard.manners = replace(guard.manners, refreshes=False)
    done = signs_in.type(f"blog-exporter login --base-url {guard.base_url}")
    assert " login --base-url" in done.advice
    assert signs_in.type(done.advice).code == 0


@contextmanager
def stripping_proxy(target: str, *, via: str = "", challenge: str = "") -> Iterator[str]:
    """Forward requests to another address without their ``Authorization`` header."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                with urllib.request.urlopen(target + self.path, timeout=20) as answer:
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                with error:
                    status, body = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in (("Via", via), ("WWW-Authenticate", challenge if status == 401 else "")):
                if value:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("via", "challenge", "said"),
    [
        ("", "", "a proxy on the way may remove that header"),
        ("1.1 squid", "", "the proxy on the way (1.1 squid) may remove that header"),
        ("", 'Bearer realm="blog"', "a proxy on the way may remove that header"),
        ("1.1 squid", 'Bearer realm="blog", error="invalid_token"', ""),
    ],
)
@pytest.mark.sample(2)
def test_a_token_removed_by_a_proxy_is_reported(
    shell: Shell, service: DemoService, via: str, challenge: str, said: str
) -> None:
    shell.environ["BLOG_EXPORTER_TOKEN"] = TOKEN
    with stripping_proxy(service.base_url, via=via, challenge=challenge) as address:
        for command in ("backup", "check"):
            done = shell.type(f"blog-exporter {command} generated.blog.example.jp --base-url {address}")
            assert (done.code, TOKEN in done.err + done.out) == (12, False)
            told = " ".join((done.err + done.out).split())
            if command == "backup":
                assert ("reads as if no token had arrived" in told) == bool(said), told
                assert said in told
                assert "the token (variable BLOG_EXPORTER_TOKEN) was refused" in told
        del shell.environ["BLOG_EXPORTER_TOKEN"]
        done = shell.type(f"blog-exporter backup generated.blog.example.jp --base-url {address}")
        assert (done.code, "as if no token" in done.err) == (12, False)


@pytest.mark.parametrize("name", NAMES)
def test_an_unscheduled_archive_says_how_to_schedule_it(shell: Shell, service: DemoService, name: str) -> None:
    shell.environ["BLOG_EXPORTER_TOKEN"] = TOKEN
    shell.has_cron(running=True)
    first_backup(shell, service.base_url, name)
    nothing = shell.type(f"blog-exporter schedule status {word(name)}")
    assert nothing.code == 5
    follow(shell, nothing)
    known = shell.type(f"blog-exporter schedule status {word(name)}")
    assert (known.code, known.err) == (0, "")


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_without_a_scheduler_says_how_to_print_the_lines(
    shell: Shell, service: DemoService, name: str
) -> None:
    first_backup(shell, service.base_url, name, "--token-file token" if _token(shell) else "")
    shell.environ["PATH"] = str(PROGRAMS)
    refused = shell.type(f"blog-exporter schedule install {word(name)} --at 03:17 --token-file token")
    assert (refused.code, "Install cron" in refused.err) == (2, True)
    lines = follow(shell, refused).out
    assert lines.startswith("17 3 * * *  ")
    assert f"--token-file '{shell.folder}/token'" in lines


def _token(shell: Shell) -> Path:
    path = shell.folder / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    return path


def test_cron_is_mentioned_only_if_it_does_not_run(shell: Shell, service: DemoService) -> None:
    shell.has_cron(running=False)
    first_backup(shell, service.base_url, "a", f"--token-file '{_token(shell)}'")
    for command in ("install", "status"):
        done = shell.type(f"blog-exporter schedule {command} a")
        assert done.code == 0
        assert "cron has the schedule, but is not running on this machine" in done.err
    shell.has_cron(running=True)
    for command in ("install", "status"):
        assert shell.type(f"blog-exporter schedule {command} a").err == ""


def _stale(root: Path) -> None:
    runs = root / "runs.jsonl"
    line = json.loads(runs.read_text("utf-8").splitlines()[-1])
    runs.write_text(json.dumps({**line, "finished_at": "2026-01-01T00:00:00Z"}) + "\n", "utf-8")


def _died(root: Path) -> None:
    (root / ".work" / "checkpoint").mkdir()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("happens", "code"), [(_stale, 6), (_died, 7)])
def test_status_names_the_command_to_run(
    shell: Shell, service: DemoService, name: str, happens: Callable[[Path], None], code: int
) -> None:
    shell.environ["BLOG_EXPORTER_TOKEN"] = TOKEN
    first_backup(shell, service.base_url, name)
    happens(shell.folder / name)
    asked = shell.type(f"blog-exporter status {word(name)} --max-age 2d")
    assert asked.code == code, asked
    follow(shell, asked)
    assert shell.type(f"blog-exporter status {word(name)} --max-age 2d").code == 0


def test_an_incomplete_backup_names_the_command_to_run(shell: Shell) -> None:
    blog = generated_blog(4, 0, 0)
    hidden = next(iter(blog.entries))
    with serving(blog) as service:
        entry = blog.entries[hidden]
        blog.list_items[hidden] = blog.list_item(hidden)
        del blog.entries[hidden]
        done = shell.type(
            f"blog-exporter backup generated.blog.example.jp --base-url {service.base_url} "
            f"--archive {word(HARDEST)} --no-site --retries 0"
        )
        assert done.code == 3, done
        status = shell.type(f"blog-exporter status {word(HARDEST)}")
        checked = shell.type(f"blog-exporter verify {word(HARDEST)}")
        assert (status.code, checked.code) == (3, 3)
        assert status.advice.startswith("blog-exporter backup ")
        blog.entries[hidden] = entry
        follow(shell, checked)
    assert shell.type(f"blog-exporter status {word(HARDEST)}").code == 0


@pytest.mark.parametrize("place", ["/no/disk/my blog", "./-x/y", "../it's gone"])
def test_a_path_without_a_folder_is_no_blog_id(shell: Shell, service: DemoService, place: str) -> None:
    quoted = "'" + place.replace("'", "'\\''") + "'"
    for command in ("backup", "schedule install", "check", "login"):
        done = shell.type(f"blog-exporter {command} {quoted} -q")
        assert done.code == 10, done
        assert "does not exist" in done.err
        assert "not a blog ID" not in done.err
    if place.startswith("/"):
        return
    shell.environ |= {"BLOG_EXPORTER_TOKEN": TOKEN, "BLOG_EXPORTER_BASE_URL": service.base_url}
    begun = shell.type(done.advice.replace("NAME.blog.example.jp", "generated.blog.example.jp"))
    assert begun.code == 0, begun
    assert shell.type(f"blog-exporter status {quoted}").code == 0


def test_an_address_and_a_file_are_distinguished_from_a_blog_id(shell: Shell) -> None:
    (shell.folder / "a.json").write_text("{}")
    for words, said in {
        "https://me:s3cret@x.example.jp/": "Give the address without a user name and password",
        "./a.json": "is no export file that this program knows",
        "s3://bucket/mine": "restore a copy from there: blog-exporter sync s3://bucket/mine DIR",
        "me.blog.example.jp:80": "me.blog.example.jp",
    }.items():
        done = shell.type(f"blog-exporter backup {words}")
        assert (done.code, said in done.err, "s3cret" in done.err) == (2, True, False), done


def test_the_demo_and_init_end_with_commands_that_work(signs_in: Shell, guard: OAuthServer) -> None:
    demo = signs_in.type(f"blog-exporter demo {word(HARDEST)}")
    assert demo.code == 0
    shown = [line.replace(" DIR ", f" {word(HARDEST)} ").removesuffix(" lists them.") for line in demo.suggested]
    assert len(shown) == 5
    address = f"generated.blog.example.jp --base-url {guard.base_url}"
    assert signs_in.type(f"blog-exporter login --base-url {guard.base_url}").code == 0
    (signs_in.folder / "my settings.toml").touch()
    begun = signs_in.type(
        f"blog-exporter init {address} --archive {word('-a b')} --at never --yes --config 'my settings.toml'"
    )
    assert (begun.code, len(begun.suggested)) == (0, 3), begun
    for line in (*shown, *begun.suggested):
        done = signs_in.type(line)
        assert done.code == 0, done


def test_an_init_that_cannot_begin_says_how_it_can(signs_in: Shell, guard: OAuthServer) -> None:
    assert signs_in.type(f"blog-exporter login --base-url {guard.base_url}").code == 0
    unnamed = signs_in.type(f"blog-exporter init --yes --base-url {guard.base_url}")
    assert unnamed.code == 2
    unknown = signs_in.type(unnamed.advice.replace("ADDRESS", "https://generated.blog.example.jp/"))
    assert unknown.code == 2
    done = signs_in.type(unknown.advice.replace(EXAMPLE, guard.base_url) + " --yes --at never")
    assert done.code == 0, done


def test_init_says_that_cron_does_not_run(signs_in: Shell, guard: OAuthServer) -> None:
    signs_in.has_cron(running=False)
    assert signs_in.type(f"blog-exporter login --base-url {guard.base_url}").code == 0
    words = f"generated.blog.example.jp --base-url {guard.base_url} --at 3:17 --yes"
    done = signs_in.type(f"blog-exporter init {words}")
    assert (done.code, "is not running" in done.err) == (0, True), done
