"""Encrypted copies with Debian's age, jq and sh: read by them, written by them, and damaged."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.archive.fleet_folder import archive_place
from tests.importers.conftest import ROOT, Tool
from tests.support.runs import Runs

pytestmark = pytest.mark.importers
README = (ROOT / "exporter/copies/README.txt").read_text("utf-8")
LEFT_OUT = {"settings.toml", "index.html", "最初にお読みください.txt", "latest", ".work"}


def recipe(copy: Path, key: Path) -> str:
    """The recipe in the copy's README.txt, with its two paths filled in."""
    found = re.search(
        r"^    copy=/path/to/this/folder\n    key=/path/to/key\.txt\n(.*?\n)\n", README, re.MULTILINE | re.DOTALL
    )
    assert found is not None
    lines = "".join(line[4:] + "\n" for line in found[1].splitlines())
    return f"copy='{copy}'\nkey='{key}'\n{lines}"


@dataclass
class Copied:
    """An archive, its encrypted copy, and the key to it."""

    archive: Path
    copy: Path
    key: Path
    recipient: str

    def recovered(self, folder: Path) -> str:
        """Run the recipe in a new folder; return its output."""
        folder.mkdir()
        done = subprocess.run(["sh"], input=recipe(self.copy, self.key), cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def copied(tool: Tool, runs: Runs, tmp_path: Path) -> Copied:
    for name in ("age", "jq"):
        tool.path(name)
    key = tmp_path / "key.txt"
    said = tool("age-keygen", "-o", key)
    recipient = re.search(r"age1\w+", said)
    assert recipient is not None
    archive = tmp_path / "archive"
    shutil.copytree(ROOT / "sample_output", archive)
    made = Copied(archive, tmp_path / "a copy", key, recipient[0])
    done = runs.run("sync", str(archive), str(made.copy), "--encrypt-to", made.recipient)
    assert done.code == 0, done.err
    return made


def files(root: Path) -> dict[str, bytes]:
    """All files of an archive that a copy holds."""
    return {
        name: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and (name := path.relative_to(root).as_posix()).split("/")[0] not in LEFT_OUT
    }


def test_age_and_jq_restore_everything(copied: Copied, tmp_path: Path) -> None:
    assert copied.recovered(tmp_path / "back") == ""
    assert files(tmp_path / "back") == files(copied.archive)
    assert len(files(tmp_path / "back")) > 20
    assert (copied.copy / "README.txt").read_text("utf-8") == README


def test_age_and_jq_restore_a_fleet(copied: Copied, runs: Runs, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    for name in ("one.blog.example.jp", "two.blog.example.jp"):
        shutil.copytree(copied.archive, archive_place(fleet, name), ignore=shutil.ignore_patterns(".work"))
    (fleet / "fleet.sqlite").write_bytes(b"")
    copied.copy = tmp_path / "copy of a fleet"
    done = runs.run("sync", str(fleet), str(copied.copy), "--encrypt-to", copied.recipient)
    assert done.code == 0, done.err
    assert not any("blog.example" in path.as_posix() for path in copied.copy.rglob("*"))
    assert copied.recovered(tmp_path / "back") == ""
    expected = files(fleet)
    wanted = {name: data for name, data in expected.items() if not LEFT_OUT & set(name.split("/")[2:3])}
    del wanted["fleet.sqlite"]
    assert files(tmp_path / "back") == wanted


def test_the_recipe_names_damaged_forged_and_missing_files(copied: Copied, tool: Tool, tmp_path: Path) -> None:
    stored = sorted((copied.copy / "versions/000001").iterdir())
    cut = copied.copy / "versions/000001/comments.jsonl.age"
    cut.write_bytes(cut.read_bytes()[:-5])
    picture = next(path for path in sorted((copied.copy / "assets").rglob("*.age")))
    picture.unlink()
    forged = tmp_path / "forged"
    for number, name in enumerate(
        ("../../outside", "/tmp/outside", "versions/000001/entries.jsonl", "a\\b", "a$(id)b")
    ):
        forged.write_bytes(f"blog-exporter-copy 1 0 3 {name}\nabc".encode())
        tool("age", "-r", copied.recipient, "-o", copied.copy / f"zz{number}.age", forged)
    forged.write_bytes(b"nothing of the kind\n")
    tool("age", "-r", copied.recipient, "-o", copied.copy / "zz9.age", forged)
    said = copied.recovered(tmp_path / "back")
    assert f"damaged: {cut}" in said
    assert "damaged: versions/000001/" in said
    assert said.count("not of a copy: ") == 5
    assert "there twice: versions/000001/entries.jsonl" in said
    assert said.count("missing or damaged: the picture ") == 1
    assert not (tmp_path / "outside").exists()
    assert len(stored) == 8


def test_the_recipe_names_a_missing_version(copied: Copied, tmp_path: Path) -> None:
    numbers = sorted((copied.copy / "versions").iterdir())
    assert len(numbers) > 1
    shutil.rmtree(numbers[-2])
    assert "a version is missing before versions/" in copied.recovered(tmp_path / "back")


def test_the_program_and_age_read_each_others_files(copied: Copied, tool: Tool, runs: Runs, tmp_path: Path) -> None:
    """The same objects, encrypted again with age, as a person would do by hand."""
    for path in copied.copy.rglob("*.age"):
        plain = tmp_path / "plain"
        tool("age", "-d", "-i", copied.key, "-o", plain, path)
        tool("age", "-r", copied.recipient, "-o", path, plain)
        plain.unlink()
    done = runs.run("verify", str(copied.copy), "--identity", str(copied.key))
    assert done.code == 0, done.err
    back = tmp_path / "back"
    done = runs.run("sync", str(copied.copy), str(back), "--identity", str(copied.key))
    assert done.code == 0, done.err
    assert files(back) == files(copied.archive)


def test_an_identity_with_a_passphrase_is_reported_as_unsupported(
    copied: Copied, tool: Tool, runs: Runs, tmp_path: Path
) -> None:
    for options in (["-a"], []):
        locked = tmp_path / "locked"
        tool("age", *options, "-r", copied.recipient, "-o", locked, copied.key)
        locked.chmod(0o600)
        done = runs.run("verify", str(copied.copy), "--identity", str(locked))
        assert done.code == 2
        assert "is protected by a passphrase, which is not supported" in done.err
