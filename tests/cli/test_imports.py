"""A command imports only the libraries that it uses: half the time of a short command went into unused ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from exporter.service.declarations import DECLARATIONS
from tests.support.runs import ROOT, unmeasured

pytestmark = pytest.mark.no_cover  # measuring coverage imports sqlite3 and other modules

ENGINE = {"aiohttp", "yarl", "multidict", "ssl", "asyncio", "tenacity"}
PAGES = {"jinja2", "nh3", "selectolax", "yaml"}
COMMON = ENGINE | PAGES | {"rich", "sqlite3", "arro3"}
SELDOM = {"socket", "ctypes", "difflib", "importlib.resources", "tomllib", "zoneinfo", "exporter.login.store"}
"""Modules that only some archives, settings files and mistakes need."""


def rarely(*cases: Any) -> list[Any]:
    """Return cases of the long form of the suite: each imports the program anew."""
    return [pytest.param(*each if isinstance(each, tuple) else (each,), marks=pytest.mark.thorough) for each in cases]


def services_in(modules: set[str]) -> set[str]:
    """Return the known services whose modules are among these."""
    return {each.name for each in DECLARATIONS.values() if each.module in modules}


PROGRAM = """
import os, sys
for line in sys.stdin:
    folder, cache, what, *words = line.removesuffix("\\n").split("\\x1f")
    if os.fork():
        os.wait()
        continue
    answers = os.dup(1)
    said = os.open(folder, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.environ["XDG_CACHE_HOME"] = cache
    code = 70
    try:
        if what == "run":
            from exporter.cli.main import main
            code = main(words)
        else:
            for name in words:
                __import__(name)
            code = 0
    finally:
        os.write(answers, (" ".join([str(code), *sys.modules]) + "\\n").encode())
        os._exit(0)
"""
"""Forks for each case, and imports nothing itself."""


class Imports:
    """A process that tells what the program imports; use it in ``with``.

    Args:
        folder: for the program's output and its cache.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env=unmeasured(),
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            pass

    def __call__(self, *arguments: str, code: int = 0) -> set[str]:
        """Run the program, which must return ``code``, and return the imported modules."""
        return self._ask("run", *arguments, code=code)

    def of(self, *modules: str) -> set[str]:
        """Import modules, and return all that are imported then."""
        return self._ask("import", *modules, code=0)

    def _ask(self, what: str, *words: str, code: int) -> set[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        said = self._folder / "said"
        self._process.stdin.write("\x1f".join([str(said), str(self._folder / "cache"), what, *words]) + "\n")
        self._process.stdin.flush()
        found, *names = self._process.stdout.readline().split()
        assert int(found) == code, said.read_text("utf-8")
        return set(names)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Imports]:
    with Imports(tmp_path_factory.mktemp("imports")) as started:
        yield started


@pytest.mark.parametrize(
    "command",
    [
        "",
        "backup",
        "status",
        "verify",
        *rarely("show", "log", "search", "site", "serve", "prune", "demo", "check", "schedule"),
    ],
)
def test_help_imports_no_engine_and_no_renderer(imported: Imports, command: str) -> None:
    found = imported(*command.split(), "--help")
    assert found & (COMMON | {"difflib", "exporter.login.store"}) == set()
    assert not [name for name in found if name.startswith(("exporter.crawl.", "exporter.http.", "exporter.html."))]
    assert services_in(found) == set()


def test_the_package_alone_imports_nothing(imported: Imports) -> None:
    assert {name for name in imported.of("exporter") if name.startswith("exporter")} == {"exporter"}


def test_the_first_help_reads_no_settings_and_no_archive(imported: Imports) -> None:
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
    ("command", "language"),
    [
        ("status DIR", "en"), ("log DIR", "ja"), ("show DIR entry 3 --raw", "en"),
        *rarely(
            ("status DIR", "ja"), ("log DIR", "en"), ("show DIR entry 3 --raw", "ja"), ("status DIR --json", "en"),
            ("status DIR --json", "ja"), ("show DIR comment 252 --raw", "en"), ("show DIR comment 252 --raw", "ja"),
        ),
    ],
)  # fmt: skip
def test_a_quick_query_imports_no_engine_and_no_renderer(
    imported: Imports, made: Path, command: str, language: str
) -> None:
    found = imported(*command.replace("DIR", str(made)).split(), "--lang", language)
    assert found & (COMMON | SELDOM) == set()
    assert services_in(found) <= {"blog-v1"}, "the archive's own"


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("show DIR entry 3", {"selectolax"}),
        ("show DIR comment 252", {"selectolax"}),
        ("show DIR entry 3 --html", {"selectolax", "nh3", "jinja2"}),
        ("verify DIR", set()),
        ("search DIR 海", {"selectolax"}),
        *rarely(
            ("show DIR entry 3 --markdown", {"selectolax", "yaml"}),
            ("diff DIR", set()),
            ("files DIR", set()),
            ("inspect DIR", {"selectolax"}),
            ("prune DIR --keep-last 9 --dry-run", set()),
            ("export csv DIR OUT --only all --public-open-flg 1", {"selectolax", "sqlite3"}),
        ),
    ],
)
def test_commands_that_only_read_import_no_engine(
    imported: Imports, made: Path, tmp_path: Path, command: str, more: set[str]
) -> None:
    words = command.replace("DIR", str(made)).replace("OUT", str(tmp_path / "out")).split()
    found = imported(*words)
    assert found & ENGINE == set()
    assert found & COMMON == more


@pytest.mark.parametrize("command", ["verify DIR", "sync DIR COPY"])
def test_a_check_and_a_copy_import_nothing_of_a_backup(
    imported: Imports, made: Path, tmp_path: Path, command: str
) -> None:
    found = imported(*command.replace("DIR", str(made)).replace("COPY", str(tmp_path / "copy")).split())
    unused = {"exporter.library.views", "exporter.copies.push", "exporter.site"}
    assert not [name for name in found if name in unused or name.startswith("exporter.crawl")]


def test_a_backup_without_views_imports_no_renderer_and_no_export(imported: Imports, tmp_path: Path) -> None:
    command = f"backup sea.blog.example.jp --archive {tmp_path / 'archive'} --base-url http://127.0.0.1:9 --retries 0"
    found = imported(*command.split(), "--no-site", "--no-markdown", "--assets", "none", "-q", code=20)
    assert found >= {"exporter.crawl.backup", "exporter.cli.notify"}
    assert found & {"jinja2", "nh3", "yaml", "arro3", "statistics", "tomllib", "zoneinfo"} == set()
    assert services_in(found) == {"blog-v1"}
    assert not [name for name in found if name.startswith("exporter.export.")]


def test_a_backup_without_changes_does_not_write_the_site(imported: Imports) -> None:
    found = imported.of(
        "exporter.cli.backup", "exporter.cli.progress", "exporter.cli.signals", "exporter.library.backup"
    )
    assert found & {"jinja2", "nh3", "exporter.site.view"} == set()
