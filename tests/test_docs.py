"""The documents agree with the program."""

from __future__ import annotations

import re
from pathlib import Path

import mypy.api
import pytest

from exporter import errors
from exporter.cli.main import COMMANDS
from exporter.demo.content import demo_blog
from exporter.setting_sources import PREFIX
from exporter.settings import SETTINGS
from exporter.worker import Worker
from tests.cli.conftest import Program
from tests.move.home import running_home
from tests.support.demo_service import DemoService
from tests.support.styled_blog import styled_blog
from tests.support.workers import call_here
from tests.wordpress.fake import LOGIN, in_thread

ROOT = Path(__file__).parent.parent
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
EXIT_CODES_PAGE = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / name for name in ("README.md", "README.ja.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)


@pytest.fixture(autouse=True)
def _workers_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "submit", call_here)


def codes(of: type[errors.BlogExporterError] = errors.BlogExporterError) -> set[int]:
    return {of.exit_code}.union(*(codes(child) for child in of.__subclasses__()))


def test_every_command_and_exit_code_is_named() -> None:
    named = re.findall(r"^\| `(\w+)[^`]*` \| ", COMMANDS_PAGE, re.MULTILINE)
    assert list(dict.fromkeys(named)) == list(COMMANDS)
    rows = re.findall(r"^\| ([0-9, ]+) \| ", EXIT_CODES_PAGE, re.MULTILINE)
    assert {int(code) for row in rows for code in row.split(",")} == codes() | {0}


def test_the_settings_page_names_every_setting_with_its_variable_form() -> None:
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = [row for row in text.splitlines() if row.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(SETTINGS)
    assert PREFIX in text


def test_every_relative_link_of_a_document_has_a_target(subtests: pytest.Subtests) -> None:
    for path in DOCUMENTS:
        with subtests.test(path=path):
            for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text(encoding="utf-8")):
                assert (path.parent / target).exists(), target


@pytest.mark.parametrize("command", ["status", "log", "verify", "rebuild"])
def test_json_has_the_members_that_are_documented(command: str, program: Program, archive: Path) -> None:
    assert sorted(program(command, archive, "--json").json) == sorted(documented(command))


def test_json_of_demo_and_show(program: Program, archive: Path, tmp_path: Path) -> None:
    assert sorted(program("demo", tmp_path / "demo", "--json").json) == sorted(documented("demo"))
    line = program("show", archive, "entry", "50", "--json").json
    assert [member for member in documented("show") if member != "raw_sha256"][:4] == list(line)


def test_the_examples_of_the_library_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's examples run in their order, in one namespace, against the sample service."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEW_HOME_PASSWORD", LOGIN[1])
    blog, pages = demo_blog(), styled_blog(3)
    with DemoService(blog).run_in_thread() as service, in_thread(running_home()) as home, pages.serving_in_thread():
        real = {
            "https://api.example.jp": service.base_url,
            "https://new.example.jp/": home.url,
            "https://name.blog.example.jp/": f"{pages.origin}/",
            "NAME.blog.example.jp": blog.blog_id,
            "concurrency=4": "assets='none'",
            "rate=2": "rate=10_000, skip_asset_hosts={'pictures.example.jp', 'video.example.com'}",
            '"me"': repr(LOGIN[0]),
        }
        namespace: dict[str, object] = {}
        for example in library_examples():
            text = example
            for written, meant in real.items():
                text = text.replace(written, meant)
            exec(compile(text, "docs/library.md", "exec"), namespace)
    lines = capsys.readouterr().out.splitlines()
    for line in ("saved 1 0", "saved 0", "public True 0", "captured 0"):
        assert line in lines
    assert "retries is -5: a whole number from 0 to 100 is expected." in lines
    assert any(line.startswith("intact True") for line in lines)
    assert "WordPress True Counter()" in lines, lines[-5:]
    folders = {"blog", "blogs", "second-disk", "for-wordpress", "for-wordpress.NOT-PUBLIC", "site-to-publish", "pages"}
    assert {path.name for path in tmp_path.iterdir()} >= folders


def test_the_examples_of_the_library_have_the_right_types(tmp_path: Path) -> None:
    page = tmp_path / "library_page.py"
    page.write_text("\n".join(library_examples()), encoding="utf-8")
    said, trouble, code = mypy.api.run(
        ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"), str(page)]
    )
    assert (code, trouble) == (0, ""), said


def library_examples() -> list[str]:
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def documented(command: str) -> list[str]:
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    row = next(row for row in text.splitlines() if row.startswith(f"| `{command}` |"))
    outside = row.split("|")[2]
    while "(" in outside:
        outside = re.sub(r"\([^()]*\)", "", outside)
    return re.findall(r"`(\w+)`", outside)
