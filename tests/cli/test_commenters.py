"""Mail and network addresses of commenters: named before a file for a new home holds them, and in nothing public."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo
from exporter.archive.writer import create
from exporter.export.formats import FORMATS
from exporter.model.kinds import Kind
from tests.archive.builder import BLOG, CREATED, Built, record
from tests.cli.conftest import Program
from tests.cli.test_export_leaks import everything
from tests.cli.test_move import USER, home
from tests.move.home import Home

__all__ = ["home"]

MAIL, IP = "zqmail@secret.example", "203.0.113.77"
HIDDEN_MAIL, HIDDEN_IP = "zqhidden@secret.example", "203.0.113.78"
ADDRESSES = (MAIL, IP, HIDDEN_MAIL, HIDDEN_IP)
SAID = ("--public-open-flg", "1", "--visible-delete-flg", "f")
NEW_HOMES = {name for name, form in FORMATS.items() if form.mails}
PUBLIC = [name for name, form in FORMATS.items() if not form.whole and name not in {"pdf", "redirects"}]
"""The pages of a printed book are drawn; its text comes from the same pages as that of an e-book."""

ENTRIES: dict[str, dict[str, Any]] = {
    "blog-v1": {
        "entry_id": "1", "title": "題", "entry_text": "<p>本文</p>", "open_flg": "1", "is_private": "f", "period_flg": "f",
        "year": "2020", "mon": "01", "day": "02", "hour": "03", "min": "04", "sec": "05",
    },
    "wxr": {
        "id": "1", "wp:post_id": "1", "title": "題", "content:encoded": "<p>本文</p>", "wp:status": "publish",
        "wp:post_type": "post", "wp:post_date": "2020-01-02 03:04:05",
    },
    "movable-type": {"id": "1", "TITLE": "題", "BODY": "<p>本文</p>", "STATUS": "Publish", "DATE": "01/02/2020 03:04:05"},
    "wordpress": {
        "id": 1, "title": {"rendered": "題"}, "content": {"rendered": "<p>本文</p>"}, "status": "publish", "type": "post",
        "date": "2020-01-02T03:04:05", "link": "https://umi.blog.example.jp/1/", "slug": "dai",
    },
}  # fmt: skip


def comment(service: str, number: int, mail: str, ip: str, *, shown: bool) -> dict[str, Any]:
    """Return a comment as a service sends it, with everything that it knows about its writer."""
    found: dict[str, dict[str, Any]] = {
        "blog-v1": {
            "cm_id": str(number), "entry_id": "1", "name": "客", "cm_text": "声", "regist_date": "2020/01/03",
            "delete_flg": "f" if shown else "t", "mail": mail, "ip_address": ip, "user_agent": f"agent {ip}",
        },
        "wxr": {
            "id": str(number), "post_id": "1", "wp:comment_id": str(number), "wp:comment_author": "客",
            "wp:comment_content": "声", "wp:comment_date": "2020-01-03 04:05:06",
            "wp:comment_approved": "1" if shown else "0", "wp:comment_author_email": mail, "wp:comment_author_IP": ip,
        },
        "movable-type": {
            "id": str(number), "post_id": "1", "type": "COMMENT", "AUTHOR": "客", "text": "声",
            "DATE": "01/03/2020 04:05:06", "SECRET": "0" if shown else "1", "EMAIL": mail, "IP": ip,
        },
        "wordpress": {
            "id": number, "post": 1, "author_name": "客", "content": {"rendered": "声"}, "date": "2020-01-03T04:05:06",
            "status": "approved" if shown else "hold", "author_email": mail, "author_ip": ip,
            "author_user_agent": f"agent {ip}", "type": "comment",
        },
    }  # fmt: skip
    return found[service]


def archive(root: Path, service: str) -> Built:
    """Build an archive for a service, with a shown and a hidden comment."""
    built = Built.__new__(Built)
    built.root, built.layout, built.states, built.blog_id = root, Layout(root), [], BLOG
    root.mkdir()
    create(built.layout, ArchiveInfo(BLOG, CREATED, service=service))
    comments = {
        "1": comment(service, 1, MAIL, IP, shown=True),
        "2": comment(service, 2, HIDDEN_MAIL, HIDDEN_IP, shown=False),
    }
    entry = {"1": record(**ENTRIES[service])}
    built.commit(
        {
            Kind.ENTRIES: entry,
            Kind.ENTRY_LIST: entry,
            Kind.COMMENTS: {key: record(**each) for key, each in comments.items()},
        }
    )
    return built


def found_in(*folders: Path) -> set[str]:
    data = b"\n".join(everything(folder) for folder in folders)
    return {each for each in ADDRESSES if each.encode() in data}


@pytest.mark.sample(1)
@pytest.mark.parametrize("service", ["wxr", *(name for name in ENTRIES if name != "wxr")])
def test_nothing_public_has_an_address_of_a_commenter(program: Program, tmp_path: Path, service: str) -> None:
    root = archive(tmp_path / "archive", service).root
    said = SAID if service == "blog-v1" else ()
    assert program("site", root, tmp_path / "public", "--public-only", *said).code == 0
    assert program("site", root, tmp_path / "site").code == 0
    assert program("rebuild", root).code == 0
    views = [root / "latest" / name for name in ("markdown", "site")]
    assert all("声".encode() in everything(view) for view in views)
    assert found_in(tmp_path / "public", tmp_path / "site", *views) == set()
    for form in PUBLIC:
        done = program("export", form, root, tmp_path / form, *said)
        assert done.code == 0, done.err
        assert "声" in everything(tmp_path / form).decode("utf-8", "replace") or not FORMATS[form].comments
        assert found_in(tmp_path / form) <= ({MAIL} if form in NEW_HOMES else set()), form
        assert MAIL not in (tmp_path / f"{form}.report.json").read_text("utf-8")
    for form in ("hugo", "jekyll", "pelican", "markdown", "html"):
        assert program("export", form, root, tmp_path / f"{form}-beside", "--comments", "sidecar", *said).code == 0
        assert found_in(tmp_path / f"{form}-beside") == set(), form
    assert sorted(NEW_HOMES) == ["movabletype", "wxr"]


@pytest.mark.parametrize("form", sorted(NEW_HOMES))
@pytest.mark.parametrize("service", [name for name in ENTRIES if name != "blog-v1"])
def test_mail_addresses_are_named_before_they_are_written(
    program: Program, tmp_path: Path, service: str, form: str
) -> None:
    root = archive(tmp_path / "archive", service).root
    done = program("export", form, root, tmp_path / "with")
    (line,) = (each for each in done.err.splitlines() if "--without-addresses" in each)
    assert "the mail address of 1 commenter" in line
    assert done.err.index(line) < done.err.index("entries")
    assert found_in(tmp_path / "with") == {MAIL}
    without = program("export", form, root, tmp_path / "without", "--without-addresses", "--json")
    assert "mail address of 1" not in without.err
    assert found_in(tmp_path / "without") == set()
    rows = [row for row in without.json["exports"][0]["changed"] if row["code"] == "mail_left_out"]
    assert [(row["kind"], row["records"], row["ids"]) for row in rows] == [("comments", 1, ["1"])]
    hidden = ("--hidden-comments", "--without-addresses", "--only", "all")
    assert program("export", form, root, tmp_path / "hidden", *hidden).code == 0
    assert found_in(tmp_path / "hidden", tmp_path / "hidden.NOT-PUBLIC") == set()


def test_a_move_takes_mail_addresses_along_or_leaves_them_out(program: Program, tmp_path: Path, home: Home) -> None:
    root = archive(tmp_path / "archive", "wxr").root
    command = ("move", "wordpress", root, "--to", home.url, "--new-home-user", USER, "--no-compare")
    tried = program(*command, "--dry-run")
    assert "the mail address of 1 commenter" in tried.err
    moved = program(*command)
    assert (moved.code, "the mail address of 1 commenter" in moved.err) == (0, True)
    (said,) = home.rest_comments.values()
    assert said["author_email"] == MAIL
    again = program(*command, "--without-addresses", "--json")
    assert (again.code, "commenter" in again.err) == (0, False)
    (said,) = home.rest_comments.values()
    assert said["author_email"].endswith(".invalid")
    rows = [row["records"] for row in again.json["sides"][0]["changed"] if row["code"] == "mail_left_out"]
    assert rows == [1]
    assert all(address not in str(said) for address in ADDRESSES)


def test_a_move_does_not_count_addresses_that_it_keeps_back(program: Program, tmp_path: Path, home: Home) -> None:
    root = archive(tmp_path / "archive", "wxr").root
    where = ("--to", home.url, "--new-home-user", USER, "--no-compare", "--hidden-comments")
    moved = program("move", "wordpress", root, *where)
    assert (moved.code, "the mail address of 1 commenter" in moved.err) == (0, True)
    assert sorted(MAIL in str(said) for said in home.rest_comments.values()) == [False, True]
    assert HIDDEN_MAIL not in str(home.rest_comments)


def test_formats_of_whole_records_refuse_to_leave_addresses_out(program: Program, tmp_path: Path) -> None:
    root = archive(tmp_path / "archive", "wxr").root
    done = program("export", "bagit", root, tmp_path / "bag", "--only", "all", "--without-addresses")
    assert (done.code, "leave out --without-addresses" in done.err) == (2, True)
    done = program("export", "wacz", root, tmp_path / "out.wacz", "--without-addresses")
    assert (done.code, "--without-addresses has no effect on wacz" in done.err) == (2, True)
    assert not (tmp_path / "bag.NOT-PUBLIC").exists()
