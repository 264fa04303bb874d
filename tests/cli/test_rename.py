"""``rename``: an archive continues after its blog got a new ID, with its history and its links."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.demo.content import Blog, fields
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import serving

OLD, NEW, OTHER = "old.blog.example.jp", "new.blog.example.jp", "other.blog.example.jp"


def blog_of(blog_id: str) -> Blog:
    """A blog whose first entry links to the second one at the old and at the new address."""
    blog = generated_blog(4, 2, 0, blog_id=blog_id)
    first, second = list(blog.entries)[:2]
    links = "".join(f'<p><a href="https://{host}/Entry/{second}/">{host}</a>' for host in (OLD, NEW, OTHER))
    blog.entries[first] = {**fields(blog.entries[first]), "entry_text": links}
    return blog


@pytest.fixture
def service() -> Iterator[DemoService]:
    with serving(blog_of(OLD)) as served:
        yield served


@pytest.fixture
def root(program: Program, service: DemoService, tmp_path: Path) -> Path:
    place = tmp_path / "blog"
    done = program(
        "backup", OLD, "--archive", place, "--base-url", service.base_url, "--assets", "none", "--no-site",
        "--entry-url", "https://{blog_id}/Entry/{entry_id}/", "--retries", 0, "-q",
    )  # fmt: skip
    assert done.code == 0, done.err
    return place


def moved(service: DemoService, *others: Blog) -> None:
    """Give the blog its new ID at the service; the old one is gone."""
    del service.blogs[OLD]
    for blog in (blog_of(NEW), *others):
        service.blogs[blog.blog_id] = blog


def links(root: Path) -> list[str]:
    """Return the targets of the links in the first entry's Markdown."""
    text = next(
        path.read_text("utf-8")
        for path in sorted(root.glob("latest/markdown/**/*.md"))
        if OTHER in path.read_text("utf-8")
    )
    return [part.partition(")")[0] for part in text.split("](")[1:]]


def test_a_renamed_blog_continues_in_its_archive(program: Program, service: DemoService, root: Path) -> None:
    moved(service)
    assert program("backup", root, "-q").code == 20
    assert "blog_gone" in {each["name"] for each in program("doctor", root, "--json").json["findings"]}
    before = {path: path.read_bytes() for path in (root / "versions").rglob("*") if path.is_file()}
    info = (root / "archive.json").read_bytes()
    renamed = program("rename", root, f"https://{NEW}/Entry/7/")
    assert (renamed.code, renamed.err) == (0, "")
    assert renamed.out.endswith(f"Back up from there now: blog-exporter backup {root}\n")
    again = program("rename", root, NEW, "--json").json
    assert (again["blog_id"], again["renamed_to"], again["same"]) == (OLD, NEW, 4)
    assert [json.loads(line)["blog_id"] for line in (root / "names.jsonl").read_bytes().splitlines()] == [NEW]
    done = program("backup", root, "-q")
    assert done.code == 0, done.err
    assert {path: path.read_bytes() for path in before} == before
    assert (root / "archive.json").read_bytes() == info
    assert program("verify", root, "-q").code == 0
    archive = Archive.open(root)
    assert (archive.info.blog_id, archive.versions()) == (OLD, [1, 2])
    newest = json.loads((root / "latest/entries.jsonl").read_text("utf-8").splitlines()[0])
    assert newest["data"]["blog_id"] == NEW
    assert program("doctor", root).code == 0
    assert program("status", f"https://{NEW}/").out == program("status", f"https://{OLD}/").out
    old, new, other = links(root)
    assert old == new
    assert old.endswith(".md")
    assert other == f"https://{OTHER}/Entry/{list(service.blogs[NEW].entries)[1]}/"


def test_another_blog_is_refused(program: Program, service: DemoService, root: Path) -> None:
    other = generated_blog(4, 2, 0, blog_id=OTHER)
    for number, record in other.list_items.items():
        other.list_items[number] = {**fields(record), "title": "x"} if record is not None else None
    for number, entry in other.entries.items():
        other.entries[number] = {**fields(entry), "title": "another one"}
    moved(service, other)
    settings = (root / "settings.toml").read_bytes()
    for words, code, said in [
        ((OTHER,), 2, f"{OTHER} is not the blog in {root}: of 4 entries on its first page, 0 are in the archive"),
        (("nowhere.blog.example.jp",), 20, "404"),
        (("no address",), 2, "the address of a blog is expected"),
    ]:
        refused = program("rename", root, *words)
        assert (refused.code, said in refused.err) == (code, True), refused.err
    assert (root / "settings.toml").read_bytes() == settings


def test_a_blog_that_is_read_by_its_address(program: Program, tmp_path: Path, root: Path) -> None:
    place = tmp_path / "wordpress"
    place.mkdir()
    info = {**json.loads((root / "archive.json").read_bytes()), "service": "wordpress"}
    (place / "archive.json").write_text(json.dumps(info))
    refused = program("rename", place, NEW)
    assert refused.code == 2
    assert f"blog-exporter backup {place} --base-url https://{NEW}\n" in refused.err
    (place / "archive.json").write_text(json.dumps({**info, "service": "wxr"}))
    refused = program("rename", place, NEW)
    assert (refused.code, "--base-url" in refused.err) == (2, False)
    assert f"blog-exporter backup FILE --archive {place}\n" in refused.err
