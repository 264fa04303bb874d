"""A flipped bit anywhere in an archive is noticed, and the file is named."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.demo.content import fields
from exporter.errors import BlogExporterError
from tests.support.generated import generated_blog
from tests.support.runs import Runs, all_findings, command_for, serving

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = pytest.mark.no_cover


@pytest.fixture
def archive(runs: Runs, tmp_path: Path) -> Path:
    """Three versions of a small blog with its files."""
    root = tmp_path / "archive"
    blog = generated_blog(4, 5, 3)
    with serving(blog) as service:
        for number in (1, 2, 3):
            blog.user = {**fields(blog.user), "nickname": f"書き手{number}"}
            if number > 1:
                del blog.comments[0]
                del blog.entries[number]
            assert runs.run(*command_for(service, root), "-q").code == 0
    shutil.rmtree(root / "latest" / "markdown")
    shutil.rmtree(root / "latest")
    assert [line for line in all_findings(root) if "latest-stale" not in line] == []
    return root


def precious(root: Path) -> list[Path]:
    """All files that cannot be made again."""
    found = [root / "archive.json", *root.glob("versions/*/*"), *root.glob("assets/*/*")]
    return sorted(path for path in found if path.stat().st_size)


def noticed(root: Path) -> str:
    """All messages about damage in one text."""
    try:
        return "\n".join(f"{each.path}: {each.detail}" for each in verify(Archive.open(root)) if each.damage)
    except BlogExporterError as error:
        return str(error)


def flip(root: Path, count: int, seed: int) -> dict[str, int]:
    """Flip ``count`` bits one after another; return how often each kind of file was hit."""
    chance = random.Random(seed)
    paths = precious(root)
    hit: dict[str, int] = {}
    for _ in range(count):
        path = chance.choice(paths)
        data = path.read_bytes()
        at, bit = chance.randrange(len(data)), chance.randrange(8)
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :])
        said = noticed(root)
        path.write_bytes(data)
        name = str(path.relative_to(root))
        assert name in said, f"bit {bit} of byte {at} of {name} flipped, and verify says: {said!r}"
        hit[path.name] = hit.get(path.name, 0) + 1
    assert noticed(root) == ""
    return hit


@pytest.mark.thorough
def test_flipped_bits_are_noticed(archive: Path) -> None:
    hit = flip(archive, 250, seed=1)
    assert {"archive.json", "manifest.json", "SHA256SUMS", "entries.jsonl", "assets.jsonl"} <= set(hit)
    assert any(name.endswith(".png") for name in hit)


@pytest.mark.slow
def test_ten_thousand_flipped_bits_are_noticed(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hit = flip(archive, 10_000, seed=2)
    with capsys.disabled():
        sys.stdout.write(f"\n{sum(hit.values())} flipped bits, every one noticed and its file named: {hit}\n")
