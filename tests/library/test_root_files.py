"""``index.html`` and 最初にお読みください.txt: they exist while they are correct, after every run, and block nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from exporter.archive.archive import Archive
from exporter.archive.latest import index_page, readme_ja, refresh_root_files
from exporter.archive.layout import Layout
from tests.cli.conftest import Program
from tests.support.runs import tree

DOCUMENTS = Path(__file__).parent.parent.parent / "exporter/archive"
ENGLISH = (DOCUMENTS / "README.txt").read_text("utf-8")
JAPANESE = readme_ja().decode("utf-8-sig").replace("\r\n", "\n")


class Page(HTMLParser):
    """A page as a browser sees it: its links, its tags, its policy."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.policy = ""
        self.feed(page.decode("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.links += [str(given["href"])] if "href" in given else []
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(given["content"])


def outside_of_work(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(root).items() if not name.startswith(".work")}


def set_notes(layout: Layout, notes: bytes) -> None:
    """Replace the notes about all derived files."""
    layout.latest_record.write_bytes(notes)


def doors(root: Path) -> tuple[bool, bool]:
    layout = Layout(root)
    return layout.index.exists(), layout.readme_ja.exists()


def test_the_page_links_to_existing_files_and_runs_nothing(archive: Path) -> None:
    data = (archive / "index.html").read_bytes()
    page = Page(data)
    assert page.links == ["latest/site/index.html", page.links[1], "README.txt"]
    assert all((archive / unquote(link)).is_file() for link in page.links)
    assert "script" not in page.tags
    style = re.search(rb"<style>(.*)</style>", data)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1]).digest()).decode()
    assert page.policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert 'lang="en"' in data.decode()


def test_a_blog_id_is_text_in_it() -> None:
    page = Page(index_page("<script>alert(1)</script>&{digest}", "x.txt"))
    assert "script" not in page.tags


def test_the_japanese_text_is_for_windows_too() -> None:
    data = readme_ja()
    assert data.startswith(b"\xef\xbb\xbf")
    assert data.count(b"\n") == data.count(b"\r\n") > 40


def test_both_texts_name_the_same_files_and_commands() -> None:
    def names(text: str) -> set[str]:
        return set(re.findall(r"^  (\S+\.\S+|\S+/|SHA256SUMS)  +\S", text, re.MULTILINE))

    def commands(text: str) -> list[str]:
        return re.findall(r"(?:rows\(\) .*|rows \S+/.*|sha256sum .*|jq -cn .*|latest/\*\.jsonl)$", text, re.MULTILINE)

    assert names(ENGLISH) - names(JAPANESE) == {"最初にお読みください.txt"}
    assert names(JAPANESE) - names(ENGLISH) == {"README.txt"}
    assert len(names(ENGLISH)) == 12
    assert commands(ENGLISH) == commands(JAPANESE)
    assert len(commands(ENGLISH)) == 8
    for command in ("status", "log", "show", "verify", "rebuild"):
        assert command in ENGLISH.splitlines()[-1]
        assert command in JAPANESE.splitlines()[-1]


def test_an_older_archive_gets_both_and_nothing_else_changes(archive: Path, program: Program) -> None:
    before = outside_of_work(archive)
    for name in ("index.html", "最初にお読みください.txt"):
        (archive / name).unlink()
    record = json.loads(Layout(archive).latest_record.read_bytes())
    assert set(record.pop("root_files")) == {"index.html", "最初にお読みください.txt"}
    set_notes(Layout(archive), json.dumps(record).encode())
    assert program("verify", archive).code == 0
    assert program("site", archive).code == 0
    assert doors(archive) == (True, True)
    assert outside_of_work(archive) == before


def test_there_is_no_page_without_the_site(archive: Path, program: Program) -> None:
    assert program("rebuild", archive, "--no-site").code == 0
    assert doors(archive) == (False, True)
    assert program("prune", archive, "--keep-last", "1").code == 0
    assert doors(archive) == (False, True)
    assert program("rebuild", archive).code == 0
    assert program("site", archive).code == 0
    assert doors(archive) == (True, True)


@pytest.mark.parametrize("name", ["index.html", "最初にお読みください.txt"])
def test_damage_is_named_and_repaired(archive: Path, program: Program, name: str) -> None:
    path = archive / name
    good = path.read_bytes()
    for bad in (good[:-10] + b"x", good[3000:], b""):
        path.write_bytes(bad)
        found = program("verify", archive, "--json")
        assert found.code == 13
        assert [each["path"] for each in found.answer_before_error["findings"]] == [name]
        assert program("site", archive).code == 0
        assert path.read_bytes() == good


@pytest.mark.parametrize("name", ["index.html", "最初にお読みください.txt"])
def test_an_endless_file_does_not_prevent_backups(archive: Path, name: str) -> None:
    layout, path = Layout(archive), archive / name
    blog_id, good, endless = Archive.open(archive).info.blog_id, path.read_bytes(), b"x" * ((1 << 20) + 1)
    path.write_bytes(endless)
    refresh_root_files(layout, blog_id)
    assert path.read_bytes() == good
    set_notes(layout, b"{}")
    path.write_bytes(endless)
    refresh_root_files(layout, blog_id)
    assert path.read_bytes() == endless


@pytest.mark.parametrize("odd", [b"{", b"[1]", b"", b'{"root_files":[1]}', b'{"root_files":{"../README.txt":"00"}}'])
@pytest.mark.parametrize("name", ["index.html", "最初にお読みください.txt"])
def test_files_of_others_are_kept(archive: Path, name: str, odd: bytes) -> None:
    layout, path = Layout(archive), archive / name
    blog_id = Archive.open(archive).info.blog_id
    good = path.read_bytes()
    set_notes(layout, b"{}")
    path.write_bytes(good[:-10] + b"x")
    refresh_root_files(layout, blog_id)
    assert path.read_bytes() == good
    set_notes(layout, odd)
    path.write_bytes(b"my own")
    refresh_root_files(layout, blog_id)
    assert path.read_bytes() == b"my own"
    path.unlink()
    path.symlink_to("archive.json")
    refresh_root_files(layout, blog_id)
    assert path.is_symlink()
    assert (archive / "archive.json").read_bytes().startswith(b"{")
