"""A command imports only the libraries that it uses: half the time of a short command went into unused ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from exporter.service.declarations import DECLARATIONS

pytestmark = pytest.mark.no_cover  # measuring coverage imports sqlite3 and other modules

ENGINE = {"aiohttp", "yarl", "multidict", "ssl", "asyncio", "tenacity"}
PAGES = {"jinja2", "nh3", "selectolax", "yaml"}
COMMON = ENGINE | PAGES | {"rich", "sqlite3", "arro3"}
SELDOM = {"socket", "ctypes", "difflib", "importlib.resources", "tomllib", "zoneinfo", "exporter.login.store"}
"""Modules that only some archives, settings files and mistakes need."""


def services_in(modules: set[str]) -> set[str]:
    """Return the known services whose modules are among these."""
    return {each.name for each in DECLARATIONS.values() if each.module in modules}


PROGRAM = """
import sys
from exporter.cli.main import main
code = main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def imported(*arguments: str, code: int = 0) -> set[str]:
    """Run the program in a separate process that exits with ``code``, and return its imported modules."""
    run = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == code, run.stderr
    return set(run.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "command",
    ["", "backup", "status", "show", "log", "search", "verify", "site", "serve", "prune", "demo", "check", "schedule"],
)
def test_help_imports_no_engine_and_no_renderer(command: str) -> None:
    found = imported(*command.split(), "--help")
    assert found & (COMMON | {"difflib", "exporter.login.store"}) == set()
    assert not [name for name in found if name.startswith(("exporter.crawl.", "exporter.http.", "exporter.html."))]
    assert services_in(found) == set()


def test_the_first_help_reads_no_settings_and_no_archive() -> None:
    ours = {name for name in imported("--help") if name.startswith("exporter.")}
    parts = (
        "cli",
        "cli.events",
        "cli.main",
        "cli.output",
        "cli.language",
        "cli.help",
        "errors",
        "frozen",
        "message",
        "text",
        "translation",
    )
    assert ours == {f"exporter.{part}" for part in parts}


@pytest.mark.parametrize(
    "command", ["status DIR", "status DIR --json", "log DIR", "show DIR entry 3", "show DIR comment 252"]
)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_quick_query_imports_no_engine_and_no_renderer(archive: Path, command: str, language: str) -> None:
    found = imported(*command.replace("DIR", str(archive)).split(), "--lang", language)
    assert found & (COMMON | SELDOM) == set()
    assert services_in(found) <= {"blog-v1"}, "the archive's own"


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("show DIR entry 3 --markdown", {"selectolax", "yaml"}),
        ("show DIR entry 3 --html", {"selectolax", "nh3", "jinja2"}),
        ("verify DIR", set()),
        ("diff DIR", set()),
        ("files DIR", set()),
        ("inspect DIR", {"selectolax"}),
        ("search DIR 海", {"selectolax"}),
        ("prune DIR --keep-last 9 --dry-run", set()),
        ("export csv DIR OUT --only all --public-open-flg 1", {"selectolax", "sqlite3"}),
    ],
)
def test_commands_that_only_read_import_no_engine(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, more: set[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = command.replace("DIR", str(archive)).replace("OUT", str(tmp_path / "out")).split()
    found = imported(*words)
    assert found & ENGINE == set()
    assert found & COMMON == more


@pytest.mark.parametrize("command", ["verify DIR", "sync DIR COPY"])
def test_a_check_and_a_copy_import_nothing_of_a_backup(archive: Path, tmp_path: Path, command: str) -> None:
    found = imported(*command.replace("DIR", str(archive)).replace("COPY", str(tmp_path / "copy")).split())
    unused = {"exporter.library.views", "exporter.copies.push", "exporter.site"}
    assert not [name for name in found if name in unused or name.startswith("exporter.crawl")]


def test_a_backup_without_views_imports_no_renderer_and_no_export(tmp_path: Path) -> None:
    command = f"backup sea.blog.example.jp --archive {tmp_path / 'archive'} --base-url http://127.0.0.1:9 --retries 0"
    found = imported(*command.split(), "--no-site", "--no-markdown", "--assets", "none", "-q", code=20)
    assert found >= {"exporter.crawl.backup", "exporter.cli.notify"}
    assert found & {"jinja2", "nh3", "yaml", "arro3", "statistics", "tomllib", "zoneinfo"} == set()
    assert services_in(found) == {"blog-v1"}
    assert not [name for name in found if name.startswith("exporter.export.")]
