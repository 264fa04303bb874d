from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.fleet_folder import archive_place
from tests.cli.conftest import Program
from tests.fleet.building import build_blog, entry
from tests.fleet.captured import PageServer, bare_archive
from tests.support.captures import captured

PUBLIC = ("--public-open-flg", "1")
OUTSIDE = '<a href="http://friend.example/A b?q=1#top">友</a><img src="//img.example/1.png">'
INSIDE = '<a href="/about">私</a><a href="https://two.example.jp/e/1">二</a><a href="mailto:a@b.example">m</a>'
ODD = (
    '<a href="http://127.0.0.1:9/x">a</a><a href="http://user:pw@secret.example/">b</a>'
    '<a href="http://192.168.1.1/">c</a><a href="javascript:alert(1)">d</a><a href="http://localhost/">e</a>'
)


def addresses(out: str) -> list[str]:
    return out.splitlines()


def test_addresses_of_public_entries_alone(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "fleet"
    private = '<a href="https://private.example/">秘</a><a href="https://friend.example/">友</a>'
    build_blog(root, "one.example.jp", [
        entry(1, entry_text=OUTSIDE + INSIDE + ODD, period_flg="f"),
        entry(2, entry_text='<a href="http://friend.example/A%20b?q=1">友</a>', period_flg="f"),
        entry(3, entry_text=private, open_flg="2", period_flg="f"),
    ])  # fmt: skip
    build_blog(root, "two.example.jp", [
        entry(1, entry_text=OUTSIDE.replace("//img", "http://img") + private.replace("private", "x"), period_flg="f"),
    ])  # fmt: skip
    done = program("fleet", "outlinks", root, *PUBLIC, "--workers", "1")
    assert done.code == 0, done
    expected = [
        "http://friend.example/A%20b?q=1",
        "http://img.example/1.png",
        "https://friend.example/",
        "https://img.example/1.png",
        "https://x.example/",
    ]
    assert addresses(done.out) == expected == sorted(expected)
    document = program("fleet", "outlinks", root, *PUBLIC, "--workers", "2", "--json").json
    assert document["addresses"] == 5
    assert document["outlinks"][0] == {
        "url": "http://friend.example/A%20b?q=1", "count": 3, "blogs": 2, "first_blog": "one.example.jp",
    }  # fmt: skip
    assert [each["url"] for each in document["outlinks"]] == expected


def test_without_a_declaration_nothing_is_listed(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "fleet"
    build_blog(root, "one.example.jp", [entry(1, entry_text=OUTSIDE, period_flg="f")])
    done = program("fleet", "outlinks", root, "--workers", "1")
    assert (done.code, done.out) == (3, ""), done
    assert "Nothing says yet which entries are public" in done.err
    assert program("fleet", "outlinks", tmp_path / "nowhere").code == 10


@pytest.fixture
def server() -> PageServer:
    return PageServer({
        "/": '<link rel="stylesheet" href="/style.css"><a href="/1.html">1</a><a href="https://gone.example/">g</a>',
        "/1.html": '<a href="https://page.example/">p</a><iframe src="https://frame.example/v"></iframe>',
        "/style.css": "@font-face { src: url(https://font.example/a.woff2) }",
    })  # fmt: skip


def test_addresses_of_captured_pages_by_their_newest_record(
    program: Program, tmp_path: Path, server: PageServer
) -> None:
    root = tmp_path / "fleet"
    place = bare_archive(root, "three.example.jp")
    with server.running():
        captured(place, server, ["/", "/1.html", "/style.css"], moment=datetime(2026, 1, 1, tzinfo=UTC))
        server.pages["/"] = '<a href="https://new.example/">n</a><a href="/2.html">2</a>'
        captured(place, server, ["/", "/style.css"], moment=datetime(2026, 2, 1, tzinfo=UTC))
        del server.pages["/1.html"]
        before = program("fleet", "outlinks", root, "--workers", "1")
        captured(place, server, ["/1.html"], moment=datetime(2026, 3, 1, tzinfo=UTC))
    after = program("fleet", "outlinks", root, "--workers", "1")
    first = ["https://font.example/a.woff2", "https://frame.example/v", "https://new.example/", "https://page.example/"]
    assert (before.code, addresses(before.out)) == (0, first), before
    assert addresses(after.out) == ["https://font.example/a.woff2", "https://new.example/"]


def test_an_address_of_an_entry_that_became_private_is_not_taken_from_a_capture(
    program: Program, tmp_path: Path, server: PageServer
) -> None:
    root = tmp_path / "fleet"
    private = '<a href="https://gone.example/">g</a>'
    built = build_blog(root, "four.example.jp", [
        entry(1, entry_text=private, open_flg="2", period_flg="f"),
        entry(2, entry_text='<a href="https://page.example/">p</a>', period_flg="f"),
    ])  # fmt: skip
    with server.running():
        captured(built.root, server, ["/", "/1.html"])
        pattern = f"{server.origin}/{{entry_id}}.html"
        done = program("fleet", "outlinks", root, *PUBLIC, "--workers", "1")
        assert addresses(done.out) == ["https://frame.example/v", "https://page.example/"]
        hidden_page = program("fleet", "outlinks", root, *PUBLIC, "--workers", "1", "--entry-url", pattern)
    assert addresses(hidden_page.out) == ["https://page.example/"]


def test_a_damaged_capture_is_named_and_the_others_count(program: Program, tmp_path: Path, server: PageServer) -> None:
    root = tmp_path / "fleet"
    with server.running():
        for name in ("five.example.jp", "six.example.jp"):
            captured(bare_archive(root, name), server, ["/1.html"])
    index = archive_place(root, "five.example.jp") / "captures" / "000001" / "index.cdxj"
    index.write_bytes(b"rubbish\n")
    done = program("fleet", "outlinks", root, "--workers", "1")
    assert (done.code, addresses(done.out)) == (13, ["https://frame.example/v", "https://page.example/"]), done
    assert "index.cdxj" in done.err
