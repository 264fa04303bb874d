"""A new user's first hour: ``init`` on a real terminal, with a service that requires signing in.

``python -m tests.support.first_hour`` draws it in both languages, as docs/first-hour.en.svg and docs/first-hour.ja.svg.
"""

from __future__ import annotations

import html
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, guarded
from tests.support.runs import Runs, Zygote
from tests.support.schedulers import CRONTAB, cron_daemon
from tests.support.terminal import Terminal

BLOG_ID: Final = "shiodamari.blog.example.jp"
TYPED: Final = (f"https://{BLOG_ID}/Entry/12/", "", "", "", "", "")
"""The input after the command: the address, and Enter."""
LANGUAGES: Final = ("en", "ja")
_DOCS: Final = Path(__file__).parent.parent.parent / "docs"
_WIDTH: Final = 112
_COLUMN: Final = 12.2
"""The width of a column in Rich's pictures."""
_VARYING: Final = (
    (r"(https://api\.example\.jp/oauth\?)\S+", r"\1response_type=code&client_id=blog-exporter-client&…"),
    (r"sign-ins/[0-9a-f]+\.json", "sign-ins/….json"),
    (r"[0-9.]+ (kB|s\b|秒)", r"1.0 \1"),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}", "2026-11-23 03:17"),
)
"""Patterns for text that differs between runs and machines, and the replacements in the recording."""
_BROWSER: Final = Path(__file__).parent.parent / "login" / "browser.py"


@dataclass(frozen=True)
class Hour:
    """A run's output and input, and the state afterwards.

    Attributes:
        code: the exit code.
        shown: all output of the terminal.
        typed: the typed lines, including the command.
        seconds: duration of the run.
        config: the settings file.
        crontab: the content of the crontab.
        secrets: texts that must not appear in the output.
        verified: the exit code of ``verify`` afterwards.
        base_url: base URL of the service.
        home: the home folder.
    """

    code: int
    shown: str
    typed: tuple[str, ...]
    seconds: float
    config: Path
    crontab: str
    secrets: tuple[str, ...]
    verified: int
    base_url: str
    home: Path

    @property
    def recording(self) -> str:
        """The terminal's output with the command, without parts that differ between runs."""
        said = f"$ {self.typed[0]}\n{self.shown}".replace(str(self.home), "/home/me")
        said = said.replace(self.base_url, "https://api.example.jp")
        for pattern, shown in _VARYING:
            said = re.sub(pattern, shown, said)
        return said.rstrip()


def first_hour(runs: Runs, home: Path, language: str) -> Hour:
    """Run ``init`` in an empty home and in a language, and accept the proposed answers."""
    with guarded(generated_blog(12, 6, 4, blog_id=BLOG_ID)) as server, cron_daemon():
        environment = _environment(home, server, language)
        begun = time.monotonic()
        terminal = Terminal(runs, ["init"], home, environment)
        for line in TYPED:
            terminal.answer("]: " if not line else ": ", line)
        code = terminal.end()
        seconds = time.monotonic() - begun
        archive = home / "blogs" / BLOG_ID
        verified = runs.run("verify", archive, "--quiet", environ=environment)
    return Hour(
        code,
        terminal.shown,
        ("blog-exporter init", *TYPED),
        seconds,
        home / ".config" / "blog-exporter" / "blog-exporter.toml",
        (home / "table").read_text("utf-8"),
        (*server.issued, CLIENT_SECRET),
        verified.code,
        server.base_url,
        home,
    )


def _environment(home: Path, server: OAuthServer, language: str) -> dict[str, str]:
    """Return the variables for an empty home, with the service known as if from a profile."""
    programs = home / "bin"
    programs.mkdir()
    (programs / "crontab").write_text(CRONTAB.format(folder=home))
    (programs / "crontab").chmod(0o700)
    (programs / "blog-exporter").symlink_to(Path(sys.executable).with_name("blog-exporter"))
    secret = home / "client-secret"
    secret.write_text(CLIENT_SECRET)
    secret.chmod(0o600)
    return {
        "HOME": str(home),
        "PATH": str(programs),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "BROWSER": f"{sys.executable} {_BROWSER} allow %s",
        "LANG": "ja_JP.UTF-8" if language == "ja" else "C.UTF-8",
        "LC_ALL": "",
        "TERM": "dumb",
        "BLOG_EXPORTER_BASE_URL": server.base_url,
        "BLOG_EXPORTER_FILE_URL": server.base_url + "/v1/blog/user/{user_id}/{mtime}",
        "BLOG_EXPORTER_ALLOW_PRIVATE_NETWORK": "yes",
        "BLOG_EXPORTER_OAUTH_AUTHORIZE_URL": "{base_url}/oauth",
        "BLOG_EXPORTER_OAUTH_TOKEN_URL": "{base_url}/oauth/token",
        "BLOG_EXPORTER_OAUTH_CLIENT_ID": CLIENT_ID,
        "BLOG_EXPORTER_OAUTH_CLIENT_SECRET_FILE": str(secret),
        "BLOG_EXPORTER_SIGN_IN_STORE": "file",
    }


def picture_of(language: str) -> Path:
    """Return the path of the recording in a language."""
    return _DOCS / f"first-hour.{language}.svg"


def drawn(hour: Hour) -> str:
    """Return the recording as a picture."""
    console = Console(record=True, width=_WIDTH, file=StringIO())
    command, _, rest = hour.recording.partition("\n")
    console.print(Text(command, style="bold"))
    console.print(Text(rest))
    picture = console.export_svg(title="blog-exporter")
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    # Rich calculates with the number of characters, but wide ones need two columns.
    return re.sub(r'textLength="[0-9.]+"([^>]*>)([^<]*)', _with_room, picture)


def _with_room(found: re.Match[str]) -> str:
    return f'textLength="{_COLUMN * cell_len(html.unescape(found[2])):.1f}"{found[1]}{found[2]}'


def text_in(picture: str) -> str:
    """Return the text in a picture, without its spaces and line ends."""
    return re.sub(r"\s", "", html.unescape("".join(re.findall(r"<text[^>]*>([^<]*)</text>", picture))))


def main() -> None:
    """Draw it in all languages."""
    for language in LANGUAGES:
        with tempfile.TemporaryDirectory() as folder, Zygote() as zygote, Runs(Path(folder) / "runs", zygote) as runs:
            hour = first_hour(runs, Path(folder), language)
            assert hour.code == 0, hour.shown
            picture_of(language).write_text(drawn(hour), encoding="utf-8")


if __name__ == "__main__":
    main()
