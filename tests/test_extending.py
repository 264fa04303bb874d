"""The blocks in docs/architecture.md about adding a service, format, target, command and setting are complete.

The tests apply the blocks to a copied program, run ``make generated`` there, and use the additions.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.service.tiny_server import TinyBlog, served, tiny_blog
from tests.support.declared import sample_in

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\w+ (new|copy|change) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TRANSLATIONS = re.compile(r"^```json translations\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAMPLE = ROOT / "sample_output"
COPIED = (
    "exporter",
    "tests",
    "docs",
    "sample_output",
    "CONTRIBUTING.md",
    "README.md",
    "CHANGELOG.md",
    "pyproject.toml",
)
REFRESHED = ("messages", "schemas", "targets", "cli-docs")
"""The parts of ``make generated`` whose files an addition changes; the others show runs of existing commands."""
CHECKS = (
    "tests/translation/test_catalogue.py",
    "tests/docs/test_schemas.py::test_every_command_has_one_that_accepts_no_other_message",
    "tests/test_docs.py::test_every_command_and_exit_code_is_named",
    "tests/test_docs.py::test_the_settings_page_names_every_setting_with_its_variable_form",
    "tests/export/test_targets.py::test_the_page_says_what_the_program_knows",
    "tests/cli/test_reference.py::test_it_is_current",
    "tests/cli/test_help.py::test_every_command_is_under_one_heading",
    "tests/test_architecture.py::TestTheProgram",
)
"""The tests of the whole program that an addition can break."""


def sections() -> dict[str, list[tuple[str, str, str]]]:
    """Return the blocks below each heading: the kind of change, the file and the text."""
    parts = re.split(r"^### (?:A|An) (\w+)$", PAGE, flags=re.MULTILINE)[1:]
    return {name: BLOCK.findall(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def apply(root: Path, how: str, name: str, text: str) -> None:
    """Apply a block to the program in ``root``."""
    path = root / name
    if how != "change":
        assert not path.exists(), f"{name} exists already"
        path.write_text(text if how == "new" else (ROOT / text.strip()).read_text("utf-8"), encoding="utf-8")
        return
    rows = text.splitlines()
    before, after = ("\n".join(row[1:] for row in rows if row[:1] in kept) for kept in (" -", " +"))
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{name} must contain once: {before}"
    path.write_text(source.replace(before, after), encoding="utf-8")


def make(root: Path, target: str, **variables: str) -> None:
    """Run the recipe of a part of ``make generated`` for the program in ``root``."""
    text = (ROOT / "Makefile").read_text("utf-8")
    (needs,) = re.findall(r"^generated:(.*?)##", text, re.MULTILINE)
    assert target in needs.split()
    (recipe,) = re.findall(rf"^{target}:.*\n\t(.*)$", text, re.MULTILINE)
    filled = re.sub(r"\$\((\w+)\)", lambda found: {"BIN": "", **variables}.get(found[1], ""), recipe)
    words = [sys.executable if word == "/python" else word for word in shlex.split(filled)]
    done = subprocess.run(words, cwd=root, env=environment(root), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def environment(root: Path) -> dict[str, str]:
    """Return the environment of a process that imports the program in ``root``."""
    return {**os.environ, "PYTHONPATH": str(root), "HOME": str(root)}


def copied(root: Path) -> None:
    """Copy the files that the blocks and ``make generated`` read."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy(ROOT / name, root / name)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the program, add everything, and write its generated files."""
    root = tmp_path_factory.mktemp("extended")
    copied(root)
    for blocks in sections().values():
        for block in blocks:
            apply(root, *block)
    translations = root / "ja.json"
    translations.write_text("".join(TRANSLATIONS.findall(PAGE)), encoding="utf-8")
    for target in REFRESHED:
        make(root, target, JA=str(translations))
    return root


def run(root: Path, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exporter", *map(str, arguments)]
    given = {"PYTHONPATH": str(root), "HOME": str(root), "PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(command, cwd=root, env=given, capture_output=True, text=True, check=False)


def test_the_blocks_fit_the_sources(tmp_path: Path) -> None:
    """The tests of the long form of the suite run the program with the additions."""
    for blocks in sections().values():
        for how, name, text in blocks:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if how == "change" and not path.exists():
                shutil.copy(ROOT / name, path)
            apply(tmp_path, how, name, text)
            if path.suffix == ".py":
                compile(path.read_text("utf-8"), name, "exec")
            assert how == "change" or not (ROOT / name).exists()


@pytest.mark.thorough
@pytest.mark.long
def test_the_additions_leave_the_tests_of_the_program_green(extended: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CHECKS]
    done = subprocess.run(command, cwd=extended, env=environment(extended), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_rooms_it_names_are_there() -> None:
    named = set(re.findall(r"`([a-z_]+/[a-z_]+)`", PAGE))
    assert len(named) >= 9
    assert [name for name in named if not list((ROOT / "exporter").glob(f"{name}*"))] == []


def test_each_takes_at_most_three_files() -> None:
    files: defaultdict[str, set[str]] = defaultdict(set)
    for section, blocks in sections().items():
        files[section] |= {name for _, name, _ in blocks}
    assert set(files) == {"service", "format", "target", "command", "setting"}
    assert {section: len(names) for section, names in files.items() if not 1 <= len(names) <= 3} == {}


@pytest.mark.thorough
def test_the_format_is_made_and_offered(extended: Path, tmp_path: Path) -> None:
    made = run(extended, "export", "titles", sample_in(tmp_path), tmp_path / "out", "--public-open-flg", "1")
    assert made.returncode == 0, made.stderr
    lines = (tmp_path / "out" / "titles-public.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 20
    assert "titles" in run(extended, "export", "--help").stdout


@pytest.mark.thorough
def test_the_target_is_its_format(extended: Path, tmp_path: Path) -> None:
    made = run(extended, "export", "nowhere", sample_in(tmp_path), tmp_path / "out", "--public-open-flg", "1")
    assert made.returncode == 0, made.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["titles-public.txt"]
    assert "Nowhere (titles)" in run(extended, "export", "--help").stdout


@pytest.mark.thorough
def test_the_command_counts_and_the_setting_is_obeyed(extended: Path) -> None:
    assert run(extended, "count", SAMPLE).stdout == "Found: 60 entries\n"
    assert run(extended, "count", SAMPLE, "--greeting", "見つけた").stdout == "見つけた: 60 entries\n"
    assert run(extended, "count", SAMPLE, BLOG_EXPORTER_GREETING="There are").stdout == "There are: 60 entries\n"
    assert '"entries":60' in run(extended, "count", SAMPLE, "--json").stdout.replace(" ", "")
    assert "count" in run(extended, "--help").stdout


async def back_up(root: Path, blog: TinyBlog, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(run, root, "backup", *words, "--base-url", blog.url, **variables)


@pytest.mark.thorough
async def test_the_service_is_backed_up_again_and_read(extended: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    async with served(tiny_blog()) as blog:
        first = ("tiny.example", "--archive", archive, "--token-param", "after")
        done = await back_up(extended, blog, *first, BLOG_EXPORTER_SERVICE="tiny")
        assert done.returncode == 0, done.stderr
        blog.notes[0]["headline"] = "Note 1, changed"
        again = await back_up(extended, blog, archive)
        assert again.returncode == 0, again.stderr
        other = await back_up(extended, blog, "tiny.example", "--archive", archive, BLOG_EXPORTER_SERVICE="blog-v1")
        assert (other.returncode, "is of the blog service 'tiny'" in other.stderr) == (2, True)
    assert json.loads((archive / "archive.json").read_text("utf-8"))["service"] == "tiny"
    assert len(list((archive / "versions").iterdir())) == 2
    assert "Note 3" in run(extended, "show", archive, "entry", "n-3").stdout
    assert "Note 1, changed" in run(extended, "show", archive, "entry", "n-1").stdout
    assert run(extended, "search", archive, "Reply 2", "--json").stdout.count('"r2"') == 1
    # Without the service, the archive is still read, and only a backup is refused.
    shown = run(ROOT, "show", archive, "entry", "n-3", "--markdown")
    assert (shown.returncode, "of the blog service 'tiny', which this version" in shown.stderr) == (0, True)
    assert run(ROOT, "backup", archive).returncode == 2


@pytest.mark.thorough
async def test_a_service_that_states_what_is_public_is_exported_without_questions(
    extended: Path, tmp_path: Path
) -> None:
    archive, target = tmp_path / "archive", tmp_path / "out"
    async with served(tiny_blog()) as blog:
        done = await back_up(extended, blog, "tiny.example", "--archive", archive, BLOG_EXPORTER_SERVICE="tiny")
        assert done.returncode == 0, done.stderr
    made = run(extended, "export", "jsonl", archive, target)
    assert made.returncode == 0, made.stderr
    text = "".join(path.read_text("utf-8") for path in target.iterdir() if path.is_file())
    assert all(f"Note {number}" in text for number in range(1, 5))
    assert "Note 5" not in text
    assert "2024-01-03T10:00:00+00:00" in text, "dates have the time zone of the service"
