"""Published packages are complete, reproducible, and work without the rest of the project."""

from __future__ import annotations

import json
import re
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from exporter import __version__
from exporter.translation import DOMAIN, LANGUAGES
from tests.packaging.conftest import TOOLS, Packages, run
from tests.support.runs import ROOT

pytestmark = pytest.mark.packages


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"blog_exporter-{__version__}.dist-info/METADATA")


def test_the_wheel_has_every_file_of_the_program(packages: Packages) -> None:
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "exporter").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    shared = {name for name in names(packages.wheel) if ".data/" in name}
    assert [name.partition(".data/")[2] for name in shared] == ["data/share/man/man1/blog-exporter.1"]
    assert {name for name in names(packages.wheel) if ".dist-info/" not in name} - shared == ours
    assert "exporter/archive/FORMAT.md" in ours
    for language in set(LANGUAGES) - {"en"}:
        assert f"exporter/locale/{language}/LC_MESSAGES/{DOMAIN}.mo" in ours


def test_the_sdist_has_the_files_for_tests_and_documents_and_no_generated_ones(packages: Packages) -> None:
    with tarfile.open(packages.sdist) as archive:
        folders = {name.split("/")[1] for name in archive.getnames()}
    assert {"exporter", "tests", "docs", "README.md", "CHANGELOG.md", "LICENSE", "Dockerfile"} <= folders
    assert not {folder for folder in folders if folder.startswith((".venv", "dist", ".git/", ".ci"))}


def test_builds_are_reproducible(packages: Packages, source: Path, tmp_path: Path) -> None:
    for path in source.rglob("*.md"):
        path.touch()
    run(TOOLS / "python", "-m", "build", "--no-isolation", "--sdist", "--outdir", tmp_path, source)
    run(TOOLS / "python", "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path, source)
    assert (tmp_path / packages.sdist.name).read_bytes() == packages.sdist.read_bytes()
    assert (tmp_path / packages.wheel.name).read_bytes() == packages.wheel.read_bytes()


def test_the_page_on_pypi_shows_the_readme_without_broken_links(packages: Packages) -> None:
    assert run(TOOLS / "twine", "check", "--strict", packages.wheel, packages.sdist).count("PASSED") == 2
    found = message_from_bytes(metadata(packages.wheel))
    text = str(found.get_payload())
    assert text.count("# blog-exporter") >= 1
    assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []
    assert all(url.partition(", ")[2].startswith("https://") for url in found.get_all("Project-URL", []))
    assert found.get_all("Project-URL")


def test_the_wheel_works_alone(installed: Path, tmp_path: Path) -> None:
    program, archive = installed / "blog-exporter", tmp_path / "archive"
    assert run(program, "--version").strip().endswith(__version__)
    assert run(installed / "python", "-m", "exporter", "--version") == run(program, "--version")
    run(program, "demo", archive, "--quiet")
    assert json.loads(run(program, "verify", archive, "--json"))["intact"] is True
    assert (archive / "FORMAT.md").read_bytes() == (ROOT / "exporter" / "archive" / "FORMAT.md").read_bytes()
    assert (archive / "latest" / "site" / "index.html").is_file()
    assert "--archive" in run(program, "backup", "--help")
    assert re.search("[ぁ-ん]", run(program, "status", archive, BLOG_EXPORTER_LANG="ja"))
    printed = run(program, "schedule", "print", archive, "--for", "cron", "--base-url", "https://api.example.jp")
    assert str(program) in printed


def test_pipx_installs_it(packages: Packages, tmp_path: Path) -> None:
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    run(TOOLS / "pipx", "install", "--quiet", packages.wheel, cwd=tmp_path, **places)
    assert run(tmp_path / "bin" / "blog-exporter", "--version").strip().endswith(__version__)


def test_uv_installs_it(packages: Packages, tmp_path: Path) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "uv"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    run(TOOLS / "uv", "tool", "install", "--quiet", packages.wheel, cwd=tmp_path, **places)
    assert run(tmp_path / "bin" / "blog-exporter", "--version").strip().endswith(__version__)


def test_the_bill_of_materials_names_all_installed_packages(installed: Path, tmp_path: Path) -> None:
    bill = tmp_path / "sbom.json"
    run("make", "--silent", "-C", ROOT, "sbom", f"SBOM={bill}", f"SBOM_OF={installed / 'python'}")
    named = {part["name"].lower().replace("_", "-") for part in json.loads(bill.read_text("utf-8"))["components"]}
    found = message_from_bytes(metadata_of(installed))
    needed = [line for line in found.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert len(needed) > 10
    assert {re.split("[<>=!~ ;\\[]", line)[0].lower().replace("_", "-") for line in needed} <= named
    assert {"yarl", "multidict", "markupsafe"} <= named
    assert not {"pytest", "mypy"} & named


def metadata_of(installed: Path) -> bytes:
    (path,) = installed.parent.glob(f"lib/python*/site-packages/blog_exporter-{__version__}.dist-info/METADATA")
    return path.read_bytes()


def test_the_container_passes_linters_and_runs_as_an_unprivileged_user() -> None:
    run(TOOLS / "hadolint", ROOT / "Dockerfile")
    text = (ROOT / "Dockerfile").read_text("utf-8")
    *_, last = re.split(r"^FROM ", text, flags=re.MULTILINE)
    assert "\nUSER 1000:1000\n" in last
    assert "\nVOLUME /archive\n" in last
    assert last.rindex("USER ") < last.rindex("ENTRYPOINT")
    for base in re.findall(r"^FROM (\S+)", text, re.MULTILINE):
        assert re.fullmatch(r"python:3\.[0-9]+-slim-[a-z]+", base)
    # It copies only files that .dockerignore allows.
    let_through = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for word in line.split()]
    assert sorted(copied) == sorted(let_through)
