"""What docs/architecture.md says of adding a service, a format, a target, a command and a setting is enough to add them.

Its blocks are applied to a copy of the program, and what they add is used from the command line.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.service.tiny_server import served, tiny_blog

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\w+ (new|copy|change) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAMPLE = ROOT / "sample_output"


def sections() -> dict[str, list[tuple[str, str, str]]]:
    """Give the blocks below each heading: how, which file, and what."""
    parts = re.split(r"^### (?:A|An) (\w+)$", PAGE, flags=re.MULTILINE)[1:]
    return {name: BLOCK.findall(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def apply(root: Path, how: str, name: str, text: str) -> None:
    path = root / name
    if how != "change":
        assert not path.exists(), f"{name} is there already"
        path.write_text(text if how == "new" else (ROOT / text.strip()).read_text("utf-8"), encoding="utf-8")
        return
    rows = text.splitlines()
    before, after = ("\n".join(row[1:] for row in rows if row[:1] in kept) for kept in (" -", " +"))
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{name} has not once: {before}"
    path.write_text(source.replace(before, after), encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the program with everything that the page adds."""
    root = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "exporter", root / "exporter", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "commands.md", root / "docs")
    for blocks in sections().values():
        for block in blocks:
            apply(root, *block)
    return root


def run(root: Path, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exporter", *map(str, arguments)]
    told = {"PYTHONPATH": str(root), "HOME": str(root), "PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(command, cwd=root, env=told, capture_output=True, text=True, check=False)


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


def test_the_format_is_made_and_offered(extended: Path, tmp_path: Path) -> None:
    made = run(extended, "export", "titles", SAMPLE, tmp_path / "out", "--public-open-flg", "1")
    assert made.returncode == 0, made.stderr
    lines = (tmp_path / "out" / "titles-public.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 20
    assert "titles" in run(extended, "export", "--help").stdout


def test_the_target_is_its_format(extended: Path, tmp_path: Path) -> None:
    made = run(extended, "export", "nowhere", SAMPLE, tmp_path / "out", "--public-open-flg", "1")
    assert made.returncode == 0, made.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["titles-public.txt"]
    assert "Nowhere (titles)" in run(extended, "export", "--help").stdout


def test_the_command_counts_and_the_setting_is_obeyed(extended: Path) -> None:
    assert run(extended, "count", SAMPLE).stdout == "Found: 60 entries\n"
    assert run(extended, "count", SAMPLE, "--greeting", "見つけた").stdout == "見つけた: 60 entries\n"
    assert run(extended, "count", SAMPLE, BLOG_EXPORTER_GREETING="There are").stdout == "There are: 60 entries\n"
    assert '"entries":60' in run(extended, "count", SAMPLE, "--json").stdout.replace(" ", "")
    assert "count" in run(extended, "--help").stdout


async def test_the_service_is_backed_up_and_read(extended: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    async with served(tiny_blog()) as blog:
        command = ("backup", "tiny.example", "--archive", archive, "--base-url", blog.url)
        done = await asyncio.to_thread(run, extended, *command, BLOG_EXPORTER_SERVICE="tiny")
    assert done.returncode == 0, done.stderr
    assert json.loads((archive / "archive.json").read_text("utf-8"))["service"] == "tiny"
    assert "Note 3" in run(extended, "show", archive, "entry", "n-3").stdout
    assert run(extended, "search", archive, "Reply 2", "--json").stdout.count('"r2"') == 1
    assert "The blog service 'tiny' is not known" in run(ROOT, "show", archive, "entry", "n-3", "--markdown").stderr
