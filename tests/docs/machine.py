"""A machine on which every command of the documents can run: a home folder, archives, services and a new home, on loopback.

The documents name places that a reader replaces. :meth:`Machine.words` puts this machine's places there and changes nothing else.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pyrage

from exporter.demo.content import Blog, fields
from tests.copies.s3_servers import moto
from tests.login.conftest import BROWSER
from tests.move.home import running_home
from tests.support.authority import serving_authority
from tests.support.blog_sources import Content, MovableType
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.local_authority import make_local_authority
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, guarded
from tests.support.public_blog import PublicBlog, posts
from tests.support.public_blog import serving as pages_served
from tests.support.runs import Done, Runs
from tests.support.schedulers import CRONTAB, list_processes
from tests.support.ssh_signing import make_local_key
from tests.support.terminal import Terminal
from tests.wordpress.fake import LOGIN, in_thread

USER, PASSWORD = LOGIN
BLOG: Final = "shiodamari.blog.example.jp"
OTHERS: Final = ("diary", "hatena", "ninja", "sakura", "wordpress")
"""Further blogs of the settings file, by their names there."""
DAYS: Final = ("2019-12-02", "2022-04-02", "2025-11-02", "2026-01-02", "2026-02-02", "2026-03-02", "2026-04-02")
"""The days of the archive's versions."""
ENDLESS: Final = frozenset({"app", "serve"})
"""Commands that end by Ctrl-C."""


@dataclass
class Places:
    """The addresses of the services."""

    api: str
    guarded: str
    pages: str
    home: str
    authority: str
    monitor: str
    variables: dict[str, str]
    identity: str
    recipient: str


@contextmanager
def _monitor() -> Iterator[str]:
    """Run a monitor that accepts every ping."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=partial(server.serve_forever, poll_interval=0.05))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def is_asking(words: list[str]) -> bool:
    """Return whether a command asks questions."""
    if words[0] in {"init", "forget"}:
        return not {"--yes", "--dry-run"} & set(words)
    return "--no-browser" in words or (
        words[0] == "export" and len([each for each in words if not each.startswith("-")]) < 3
    )


class Machine:
    """The machine; :meth:`built` makes one, and each command runs in a copy of its home folder.

    Attributes:
        home: the home folder that is copied.
        places: the services.
    """

    def __init__(self, home: Path, places: Places) -> None:
        self.home, self.places = home, places

    @classmethod
    @contextmanager
    def built(cls, folder: Path, runs: Runs) -> Iterator[Machine]:
        """Start the services, and write the home folder with the program itself."""
        blog = generated_blog(60, 300, 0, blog_id=BLOG)
        others = [
            generated_blog(4, 1, 0, blog_id=f"{name}.blog.example.jp", seed=9 + n) for n, name in enumerate(OTHERS)
        ]
        authority = make_local_authority(folder)
        with ExitStack() as opened:
            service = DemoService(blog, None, replace(blog, blog_id="new-name.blog.example.jp"), *others)
            opened.enter_context(service.run_in_thread())
            s3 = opened.enter_context(moto())
            s3.client().create_bucket(Bucket="bucket", ObjectLockEnabledForBucket=True)
            identity = pyrage.x25519.Identity.generate()
            places = Places(
                service.base_url,
                opened.enter_context(guarded(generated_blog(2, 0, 0))).base_url,
                opened.enter_context(in_thread(pages_served(PublicBlog("livedoor", posts(5), dead_every=0)))),
                opened.enter_context(in_thread(running_home())).url,
                opened.enter_context(serving_authority(authority)).url,
                opened.enter_context(_monitor()),
                s3.variables,
                str(identity),
                str(identity.to_public()),
            )
            machine = cls(folder / "home", places)
            machine.home.mkdir()
            shutil.copy(authority.root, machine.home / "root.pem")
            machine._write_files()
            machine._install_cron()
            machine._make_archives(runs, blog)
            yield machine

    def _write_files(self) -> None:
        home = self.home
        (home / ".ssh").mkdir()
        make_local_key(home / ".ssh" / "id_ed25519")
        (home / "me.pub").write_text("me " + (home / ".ssh" / "id_ed25519.pub").read_text("utf-8"), "utf-8")
        for name in ("token", ".blog-token", "key.txt"):
            path = home / name
            path.write_text(f"{self.places.identity}\n", "utf-8")
            path.chmod(0o600)
        (home / "export.txt").write_text(MovableType().text(Content.made(4)), "utf-8")
        settings = home / ".config" / "blog-exporter" / "blog-exporter.toml"
        settings.parent.mkdir(parents=True)
        tables = (
            f'[blogs.{name}]\nblog_id = "{name}.blog.example.jp"\narchive = "~/{name}"\nbase_url = "{self.places.api}"\n'
            for name in OTHERS
        )
        root = f'tsa_root = "{home}/root.pem"\n'
        settings.write_text(root + "".join(tables), "utf-8")
        names = [f"{name}.blog.example.jp" for name in OTHERS]
        (home / "blogs.txt").write_text("\n".join(names), "utf-8")
        (home / "blogs.csv").write_text(
            "\n".join(["blog_id,base_url", *(f"{each},{self.places.api}" for each in names)])
        )
        (home / "blogs.toml").write_text(
            f'[[blogs]]\nblog_id = "{names[0]}"\nhome_url = "{self.places.pages}/"\n', "utf-8"
        )
        (home / "pairs.toml").write_text("", "utf-8")

    def _install_cron(self) -> None:
        list_processes(self.home / ".proc", "crond")
        program = self.home / ".bin" / "crontab"
        program.parent.mkdir()
        program.write_text(CRONTAB.format(folder=self.home), "utf-8")
        program.chmod(0o700)

    def _make_archives(self, runs: Runs, blog: Blog) -> None:
        fields(blog.comments[6])["name"] = "まめこ"
        for day in DAYS:
            fields(blog.entries[42])["entry_text"] = f"<p>{day} に書き直しました。猫の第三回です。</p>"
            self._made(runs, f"backup {BLOG} --base-url https://api.example.jp", f"{day}T03:00:00+00:00")
        for command in (
            "backup --all --no-site",
            "backup --archive two export.txt",
            f"backup --accept-join --archive two {self.places.pages}/",
            f"capture {BLOG} --home-url {self.places.pages}/",
            f"backup {BLOG}",
            f"schedule install {BLOG}",
            f"seal {BLOG} --seal-key ~/.ssh/id_ed25519 --tsa https://tsa.example.org/",
            f"export jsonl {BLOG} exported --public-open-flg 1 --visible-delete-flg f",
            f"sync {BLOG} s3://bucket/blogs/mine",
            f"sync {BLOG} s3://bucket/mine --encrypt-to {self.places.recipient}",
            "fleet run blogs.txt --into ~/fleet --base-url https://api.example.jp --rate 100",
            'fleet capture blogs.toml --into ~/fleet --user-agent "our-archive/1.0 (+web@library.example)"',
            f"site {BLOG} hugo-site/public --public-only --public-open-flg 1 --visible-delete-flg f",
        ):
            self._made(runs, command)
        shutil.copytree(self.home / BLOG / "evidence", self.home / "kept")

    def _made(self, runs: Runs, line: str, now: str | None = None) -> None:
        done = self._run(runs, self.words(line), now)
        assert done.code in (0, 3), (line, done)

    def words(self, line: str) -> list[str]:
        """Return the words of a command line with this machine's places."""
        for printed, here in (
            (r"^login NAME\S+", f"login --base-url {self.places.guarded}"),
            ("https://api.example.jp", self.places.api),
            (r"https://(?:name\.example\.jp|(?:NAME|name)\.blog\.shinobi\.jp)", self.places.pages),
            (r"https://new\.example", self.places.home),
            ("https://tsa.example.org/", self.places.authority),
            ("https://hc-ping.com/YOUR-UUID", self.places.monitor),
            ("age1…", self.places.recipient),
            ("192.168.1.5", "127.0.0.1"),
            ("--new-home-user me", f"--new-home-user {USER}"),
            (r"\bNAME\.blog\.example\.jp\b", BLOG),
            (r"(?<![\w-])name.blog.example.jp", "diary.blog.example.jp"),
            (r"(?<!\S)NAME\.(?:livedoor\.blog|hatenablog\.com)", f"{self.places.pages}/"),
            ("--profile ninja", f"--base-url {self.places.guarded}"),
            (r"^(unjoin) blog", r"\1 two"),
            (r"^(fleet .*)(?<!\S)DIR(?!\S)", r"\1fleet"),
            (r"^((?:backup|init) (?:export.txt|http\S+|ADDRESS) .*--archive) \S+", r"\1 new-archive"),
            (r"(?<!\S)(?:DIR|blog|~/blog|~/blogs/mine|/home/YOU/blog|/archive|SOURCE)(?!\S)", BLOG),
            (r"(?<!\S)(?:FILE|ファイル)(?!\S)", "export.txt"),
            (r"(?<!\S)(?:NEW_HOME|URL)(?!\S)", self.places.home),
            (r"(?<!\S)ADDRESS(?!\S)", f"{self.places.pages}/"),
            (r"(?<!\S)DEST(?!\S)", "s3://bucket/blogs/mine"),
            (r"(?<!\S)FORMAT(?!\S)", "wxr"),
            (r"(?<!\S)NAME(?!\S)", "まめこ"),
            ("/home/YOU/", f"{self.home}/"),
            (r"(?<!\S)/(mnt|token)", rf"{self.home}/\1"),
            ("…", BLOG),
        ):
            line = re.sub(printed, here, line)
        return [word if not word.startswith("~/") else f"{self.home}{word[1:]}" for word in shlex.split(line)]

    def environment(self, words: list[str]) -> dict[str, str]:
        """Return the user's variables; the user of the manual has a blog at a known service."""
        known = (
            {"BLOG_EXPORTER_BASE_URL": self.places.api}
            if words[0] in {"backup", "check"} and words[1:2] == [BLOG]
            else {}
        )
        password = {"BLOG_EXPORTER_NEW_HOME_TOKEN": PASSWORD} if "--new-home-user" in words else {}
        return {
            "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config"), "XDG_DATA_HOME": str(self.home / ".data"),
            "PATH": f"{self.home / '.bin'}:{os.environ['PATH']}", "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "BROWSER": BROWSER if words[0] == "login" else "true %s", "BLOG_EXPORTER_OAUTH_CLIENT_ID": CLIENT_ID, "BLOG_EXPORTER_CLIENT_SECRET": CLIENT_SECRET,
            "BLOG_EXPORTER_ALLOW_PRIVATE_NETWORK": "yes",
            "LC_ALL": "C.UTF-8", "TZ": "UTC", **self.places.variables, **known, **password,
        }  # fmt: skip

    def run(self, runs: Runs, line: str) -> Done:
        """Run a printed command, which changes nothing for the next one; what would not end gets Ctrl-C."""
        words = self.words(line)
        if is_asking(words):
            terminal = Terminal(runs, words, self.home, self.environment(words), rehearsed=self.home)
            terminal.interrupt(" ")
            return Done(terminal.end(), terminal.shown, "", 0, 0.0)
        return self._run(runs, words, rehearsed=self.home)

    def _run(self, runs: Runs, words: list[str], now: str | None = None, rehearsed: Path | None = None) -> Done:
        run = runs.start(
            *words, folder=self.home, environ=self.environment(words), now=now, processes=self.home / ".proc", rehearsed=rehearsed,
        )  # fmt: skip
        if words[0] in ENDLESS and "--mcp" not in words:
            run.goes_on_until(lambda: "http://127.0.0.1" in run.stdout() + run.stderr())
            run.signal(signal.SIGINT)
        return run.wait()
