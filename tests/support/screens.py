"""All screens of the program for docs/screens.md and docs/screens.ja.md: real runs on the sample blog.

``python -m tests.support.screens`` writes both pages again.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from aiohttp import web

from exporter.clock import FixedClock, SystemClock
from exporter.demo.content import demo_blog, later_changes
from exporter.text import width
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, guarded
from tests.support.runs import ROOT, Runs, Zygote
from tests.support.schedulers import CRONTAB

LANGUAGES: Final = ("en", "ja")
BLOG_ID: Final = "shiodamari.blog.example.jp"
DEMO: Final = "demo-archive"
HOME: Final = "/home/shiodamari"
"""The replacement for the home folder, which has as many characters."""
SERVICE: Final = "https://api.example.jp"
"""The replacement for the sample service's address, which has as many characters."""
TITLES: Final = {"en": "All screens", "ja": "画面の一覧"}
NOTES: Final = {
    "en": "What the program says, command by command, from real runs on the made-up blog, at 80 columns. The help of every "
    "command\nis in [the command line](cli.md). `make screens` writes this page.",
    "ja": "プログラムの表示を、コマンドごとに示します。架空のブログで実際に実行し、80 桁の端末に表示した内容です。\n"
    "各コマンドのヘルプは[コマンドライン](cli.ja.md)にあります。このページは `make screens` で書き出したものです。",
}
ENDS: Final = {"en": "exit code {code}", "ja": "終了コード {code}"}

_COLUMNS: Final = 80
_BROWSER: Final = Path(__file__).parent.parent / "login" / "browser.py"
_VARYING: Final = (
    (r"127\.0\.0\.1:[0-9]+", "127.0.0.1:8080"),
    (r"sign-ins/[0-9a-f]+(\n +)?[0-9a-f]*\.json", "sign-ins/….json"),
    (rf"({SERVICE}/oauth\?)\S+", r"\1response_type=code&client_id=blog-exporter-client&…"),
    (r"\b[0-9]+ (min|分) [0-9]+ (s\b|秒)", r"0.7 \2"),
    (r"[+-]?\b[0-9]+(\.[0-9])? (s\b|秒)", r"0.7 \2"),
    (r"[0-9.]+ GB", "64.0 GB"),
    (r"((?:requests|リクエスト [0-9]+ 回)[,、] ?)[0-9.]+ kB", r"\g<1>233.0 kB"),
    (r"^[0-9]+ \* \* \* \*", "47 * * * *"),
)
"""Patterns for text that differs between runs and machines, and the replacements on the pages."""


@dataclass(frozen=True)
class Screen:
    """A typed command, and the state of the world at that time.

    Attributes:
        heading: the heading by language; an empty one continues the previous section.
        typed: the command line; ``SERVICE`` in it is the sample service.
        day: the day of January 2026, at noon UTC, for the program's clock; 0 for the machine's clock.
        before: a function that first changes the service and the working directory.
    """

    heading: tuple[str, str]
    typed: str
    day: int = 2
    before: Callable[[OAuthServer, Path], None] | None = None


def _changed(server: OAuthServer, _: Path) -> None:
    later_changes(server.service.blogs[BLOG_ID])


def _failing(server: OAuthServer, _: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse | None:
        if request.query.get("entry_id") == "9":
            return web.Response(status=500, text="")
        return await server.before(request)

    server.service.before = answer


def _well(server: OAuthServer, _: Path) -> None:
    server.service.before = server.before


def _damaged(_: OAuthServer, home: Path) -> None:
    path = home / DEMO / "versions" / "000002" / "entries.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace("初日の出".encode(), "日の出".encode(), 1))
    assert path.read_bytes() != whole


SCREENS: Final = (
    Screen(("Help", "ヘルプ"), "--help"),
    Screen(("The demo", "デモ"), "demo"),
    Screen(("Looking at an archive", "アーカイブを見る"), f"status {DEMO}"),
    Screen(("", ""), f"log {DEMO}"),
    Screen(("", ""), f"diff {DEMO}"),
    Screen(("", ""), f"show {DEMO} entry 90"),
    Screen(("", ""), f"search {DEMO} 防波堤"),
    Screen(("", ""), f"files {DEMO}"),
    Screen(("", ""), f"site {DEMO}"),
    Screen(("Moving to a new home", "引っ越し"), f"inspect {DEMO}"),
    Screen(("", ""), f"export wordpress {DEMO} for-wordpress"),
    Screen(("", ""), f"export wordpress {DEMO} for-wordpress --public-open-flg 1 --visible-delete-flg f"),
    Screen(("Keeping in order", "整理"), f"verify {DEMO}"),
    Screen(("", ""), f"prune {DEMO} --keep-last 1 --dry-run"),
    Screen(("", ""), f"rebuild {DEMO}"),
    Screen(("A damaged archive", "壊れたアーカイブ"), f"verify {DEMO}", before=_damaged),
    Screen(("Signing in", "サインイン"), f"whoami --base-url {SERVICE}"),
    Screen(("", ""), f"login --base-url {SERVICE}"),
    Screen(("", ""), f"whoami --base-url {SERVICE}"),
    Screen(("Before a backup", "バックアップの前に"), f"check {BLOG_ID} --base-url {SERVICE}", 0),
    Screen(("", ""), "profiles"),
    Screen(("Backing up", "バックアップ"), f"backup {BLOG_ID} --base-url {SERVICE} --dry-run"),
    Screen(("", ""), f"backup {BLOG_ID} --base-url {SERVICE}"),
    Screen(("", ""), f"backup {BLOG_ID}", 4, _changed),
    Screen(
        ("A run that is incomplete", "すべては保存できなかったとき"), f"backup {BLOG_ID} --refresh all", 5, _failing
    ),
    Screen(("", ""), f"status {BLOG_ID}", 5),
    Screen(("Before a service closes", "サービスの終了が近いとき"), f"backup {BLOG_ID} --closing 2026-01-31", 6, _well),
    Screen(("", ""), f"status {BLOG_ID} --closing 2026-01-31", 7),
    Screen(
        ("When nothing was backed up for long", "長い間バックアップされていないとき"),
        f"status {BLOG_ID} --max-age 2d",
        20,
    ),
    Screen(("A backup every night", "毎晩のバックアップ"), f"schedule print {BLOG_ID} --for cron --at 03:17"),
    Screen(("Errors", "エラー"), "bakup"),
    Screen(("", ""), f"status {BLOG_ID} --max-age 2"),
    Screen(("", ""), "status nowhere"),
    Screen(("", ""), f"show {BLOG_ID} entry 4711"),
    Screen(("", ""), "backup nobody.blog.example.jp"),
    Screen(("", ""), f"backup nobody.blog.example.jp --base-url {SERVICE}"),
    Screen(("Signing out", "サインアウト"), f"logout --base-url {SERVICE}"),
)


def screens(language: str, zygote: Zygote, most: int | None) -> Iterator[tuple[Screen, int, str]]:
    """Run everything, or the first commands, in a language, in an empty home, and yield each screen with its exit code and output."""
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        tempfile.TemporaryDirectory() as process,
        guarded(demo_blog()) as server,
        Runs(Path(process), zygote, workers=False) as runs,
    ):
        home = Path(folder)
        environ = {**_environment(home, server, language), "PATH": f"{_programs(Path(process))}:{os.environ['PATH']}"}
        for screen in SCREENS[:most]:
            if screen.before is not None:
                screen.before(server, home)
            typed = screen.typed.replace(SERVICE, server.base_url).split()
            typed += ["--fixed-clock"] if typed == ["demo"] else []
            noon = datetime(2026, 1, screen.day, 12, tzinfo=UTC) if screen.day else None
            server.service.clock = FixedClock(noon) if noon else SystemClock()
            now = noon.isoformat() if noon else None
            done = runs.run(*typed, environ=environ, folder=home, now=now, together=True)
            yield screen, done.code, _plain(done.err, home, server)


def _programs(folder: Path) -> Path:
    """Return a folder with a crontab that the user may change, whatever this machine has."""
    program = folder / "bin" / "crontab"
    program.parent.mkdir()
    program.write_text(CRONTAB.format(folder=folder), "utf-8")
    program.chmod(0o700)
    return program.parent


def _plain(said: str, home: Path, server: OAuthServer) -> str:
    said = said.replace(str(home), HOME).replace(server.base_url, SERVICE).replace(sys.prefix, "/usr/local")
    for pattern, shown in _VARYING:
        said = re.sub(pattern, shown, said, flags=re.MULTILINE)
    return "\n".join(folded for line in said.strip("\n").split("\n") for folded in _folded(line.rstrip()))


def _folded(line: str) -> Iterator[str]:
    """Yield the lines that a terminal makes from one."""
    row = ""
    for character in line:
        if width(row + character) > _COLUMNS:
            yield row
            row = ""
        row += character
    yield row


def _environment(home: Path, server: OAuthServer, language: str) -> dict[str, str]:
    """Return the variables of a home with settings that treat the sample service like any other address."""
    config = home / ".config"
    secret = config / "client-secret"
    settings = {
        "file_url": server.base_url + "/v1/blog/user/{user_id}/{mtime}",
        "assets": "files",
        "allow_private_network": "yes",
        "retries": "0",
        "oauth_authorize_url": "{base_url}/oauth",
        "oauth_token_url": "{base_url}/oauth/token",
        "oauth_client_id": CLIENT_ID,
        "oauth_client_secret_file": str(secret),
        "sign_in_store": "file",
    }
    (config / "blog-exporter").mkdir(parents=True)
    lines = [f'{name} = "{value}"\n' for name, value in settings.items()]
    (config / "blog-exporter" / "blog-exporter.toml").write_text("".join(lines))
    secret.write_text(CLIENT_SECRET)
    secret.chmod(0o600)
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(config),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "BROWSER": f"{sys.executable} {_BROWSER} allow %s",
        "COLUMNS": str(_COLUMNS),
        "LC_ALL": "ja_JP.UTF-8" if language == "ja" else "C.UTF-8",
    }


def page_of(language: str) -> Path:
    """Return the path of the page in a language."""
    return ROOT / "docs" / ("screens.md" if language == "en" else f"screens.{language}.md")


def page(language: str, zygote: Zygote, most: int | None = None) -> str:
    """Return the page in a language, or its beginning with the first commands."""
    at = LANGUAGES.index(language)
    parts = [f"# {TITLES[language]}\n\n{NOTES[language]}\n"]
    for screen, code, said in screens(language, zygote, most):
        if screen.heading[at]:
            parts.append(f"## {screen.heading[at]}\n")
        end = f"\n[{ENDS[language].format(code=code)}]" if code else ""
        parts.append(f"```text\n$ blog-exporter {screen.typed}\n{said}{end}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write the pages."""
    with Zygote() as zygote:
        for language in LANGUAGES:
            page_of(language).write_text(page(language, zygote), encoding="utf-8")


if __name__ == "__main__":
    main()
