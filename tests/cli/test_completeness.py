"""Missing content is reported, and all outputs agree about completeness.

Each row of :data:`ROWS` is a blog that a real service serves and the real command backs up. Afterwards the summary, the
``-q`` line, ``--json``, the manifest, ``status``, ``verify``, the site's page and the exit codes must agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter import lossless_json
from exporter.demo.content import Blog, RecordList, fields
from tests.cli.conftest import Program
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.pictures import png
from tests.support.records import comment_record, entry_record, file_record

BLOG = "whole.blog.example.jp"
USER = "0123456789abcdef0123456789abcdef"
DAY = datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001  the service sends times without an offset
UPLOADS = 4
ENTRIES = 5
COMMENTS_EACH = 2

Change = Callable[["Served"], None]


@dataclass
class Served:
    """A blog with its pictures on the service's own host, so that everything is on loopback."""

    service: DemoService
    blog: Blog
    rule: str

    def answer(self, path: str, fault: faults.Fault) -> None:
        """Answer every request whose address contains ``path`` with a fault."""
        before = self.service.before
        faulty = faults.only(path, fault)
        self.service.before = faulty if before is None else faults.first_of(before, faulty)


def picture(number: int) -> str:
    return f"/pictures/{number}.png"


@pytest.fixture
def served() -> Iterator[Served]:
    blog = Blog(BLOG, {"id": USER, "nickname": "まる"})
    service = DemoService(blog)
    with service.run_in_thread():
        base = service.base_url
        for number in range(1, ENTRIES + 1):
            body = f'<p>{number}<img src="{base}{picture(number)}" alt="絵"></p>'
            blog.entries[number] = entry_record(BLOG, number, f"題{number}", body, DAY, user_id=USER)
            blog.pictures[base + picture(number)] = png(number)
            for each in range(COMMENTS_EACH):
                blog.comments.append(comment_record(number * 100 + each, number, "だれか", "はい", DAY))
        for number in range(1, UPLOADS + 1):
            mtime = 1_500_000_000 + number
            content = png(1000 + number)
            blog.files.append(file_record(number, f"{number}.png", content, (2, 3), user_id=USER, mtime=mtime))
            blog.pictures[f"{base}/v1/blog/user/{USER}/{mtime}"] = content
        yield Served(service, blog, base + "/v1/blog/user/{user_id}/{mtime}")


def backup(program: Program, served: Served, root: Path, *options: object) -> Any:
    """Run the real command; the upload rule is given unless the options set it."""
    rule = [] if {"--file-url", "--no-rule"} & set(options) else ["--file-url", served.rule]
    shown = [option for option in options if option != "--no-rule"]
    return program(
        "backup", BLOG, "--base-url", served.service.base_url, "--archive", root, "--allow-private-network",
        "--retries", "0", "--no-markdown", *rule, *shown,
    )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A changed service or setting, and the expected output.

    Attributes:
        change: the change to the service.
        options: the options of ``backup``.
        code: the exit code of ``backup``, ``status`` and ``verify``.
        numbers: by kind, ``(listed, saved, pending, lost, by choice)`` if it is not completely saved.
        quiet: a part of the ``-q`` line; empty for no line.
        user: whether the user was read.
    """

    change: Change = lambda _: None
    options: tuple[object, ...] = ()
    code: int = 0
    numbers: dict[str, tuple[int, int, int, int, int]] = field(default_factory=dict)
    quiet: str = ""
    user: bool = True


def no_entry(served: Served) -> None:
    served.answer("entry_id=3", faults.status(404))


def cut_short(served: Served) -> None:
    served.service.options = type(served.service.options)(comment_page_size=4)
    served.answer("comment/list?id=whole.blog.example.jp&page=2", faults.status(500))


def boast(served: Served) -> None:
    """Make the file list's summary count one file too many."""
    said(served, "file/list", lambda data: data["summary"].update(filenum=str(UPLOADS + 1)))


def heavier(served: Served) -> None:
    """Make the file list's summary state more bytes than the files have."""
    said(served, "file/list", lambda data: data["summary"].update(totalsize=str(10**6)))


def hit_counter(served: Served) -> None:
    """Make list items differ in every answer, and hide comments."""
    hits = iter(range(10**6))
    said(served, "entry/list", lambda data: [item.update(hits=str(next(hits))) for item in data["list"]])
    keep_back(3)(served)


def keep_back(number: int) -> Change:
    def change(served: Served) -> None:
        kept = {str(fields(record)["cm_id"]) for record in list(served.blog.comments)[:number]}
        hide(served, kept)

    return change


def of_an_unknown_entry(served: Served) -> None:
    """Hide comments, and list as many of an unlisted entry."""
    kept = {str(fields(record)["cm_id"]) for record in list(served.blog.comments)[:2]}
    served.blog.comments.extend(comment_record(9000 + each, 77, "?", "?", DAY) for each in range(2))
    hide(served, kept)


def hide(served: Served, kept: set[str]) -> None:
    shown = RecordList(record for record in served.blog.comments if str(fields(record)["cm_id"]) not in kept)
    items = {key: fields(served.blog.list_item(key)) for key in served.blog.entries}
    served.blog.list_items.update(items)
    served.blog.comments = shown


def said(served: Served, path: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the data in the service's own answers for a path."""
    service = served.service

    async def answer(request: web.Request) -> web.StreamResponse | None:
        if not request.path.endswith(path):
            return None
        genuine = await service.operation(request)
        assert isinstance(genuine, web.Response)
        assert isinstance(genuine.body, bytes)
        document = json.loads(genuine.body)
        change(document["json"]["data"])
        return web.Response(body=lossless_json.dumps(document), content_type="application/json")

    served.service.before = answer


ALL = {
    "entries": (ENTRIES, ENTRIES, 0, 0, 0),
    "comments": (ENTRIES * COMMENTS_EACH, ENTRIES * COMMENTS_EACH, 0, 0, 0),
    "files": (UPLOADS, UPLOADS, 0, 0, 0),
    "assets": (ENTRIES + UPLOADS, ENTRIES + UPLOADS, 0, 0, 0),
}


def one_picture(status: int) -> Change:
    return lambda served: served.answer(picture(2), faults.status(status))


PENDING = {"assets": (9, 8, 1, 0, 0)}
LOST = {"assets": (9, 8, 0, 1, 0)}

ROWS: dict[str, Row] = {
    "all read": Row(),
    "upload without address": Row(
        options=("--no-rule",), code=3, numbers={"files": (4, 0, 4, 0, 0), "assets": (5, 5, 0, 0, 0)},
        quiet="4 pictures and files not saved (uploads: 4 uploads are not saved",
    ),
    "picture pending": Row(one_picture(503), (), 3, PENDING, "1 picture or file not saved (pictures and files http"),
    "picture refused": Row(one_picture(403), (), 3, PENDING, "it answered 403"),
    "picture limited": Row(one_picture(429), (), 3, PENDING, "it answered 429"),
    "picture reset": Row(lambda served: served.answer(picture(2), faults.reset), (), 3, PENDING, "broke"),
    "page in place of a picture": Row(lambda served: served.answer(picture(2), faults.html), (), 3, PENDING, "a page"),
    "picture lost": Row(one_picture(404), (), 0, LOST, "1 picture or file newly gone for good: http"),
    "picture lost, strictly": Row(one_picture(410), ("--strict-assets",), 3, LOST, "incomplete: 1 problem"),
    "entry unreadable": Row(no_entry, (), 3, {"entries": (5, 4, 1, 0, 0), "assets": (8, 8, 0, 0, 0)}, "1 entry not saved"),
    "list cut short": Row(cut_short, (), 3, {"comments": (6, 6, 0, 0, 0)}, "part of the comment list not saved"),
    "count too high": Row(boast, (), 3, {"files": (5, 4, 1, 0, 0)}, "the list ends after 4 of 5 files"),
    "bytes too many": Row(heavier, (), 3, {}, "its summary says 1,000,000"),
    "comments kept back": Row(keep_back(3), (), 3, {"comments": (10, 7, 3, 0, 0)}, "3 comments not saved"),
    "comments kept back under a hit counter": Row(hit_counter, (), 3, {"comments": (10, 7, 3, 0, 0)}, "3 comments not"),
    "comments of an unknown entry": Row(of_an_unknown_entry, (), 3, {"comments": (12, 10, 2, 0, 0)}, "2 comments not"),
    "user unreadable": Row(lambda served: served.answer("/v1/user", faults.status(404)), (), 3, {}, "the user", user=False),
    "left out by choice": Row(
        options=("--no-rule", "--assets", "embedded"),
        numbers={"files": (4, 0, 0, 0, 4), "assets": (5, 5, 0, 0, 0)},
    ),
    "uploads with an address left out": Row(
        options=("--assets", "embedded"), numbers={"files": (4, 0, 0, 0, 4), "assets": (9, 5, 0, 0, 4)}
    ),
    "pictures left out": Row(options=("--assets", "files"), numbers={"assets": (9, 4, 0, 0, 5)}),
    "nothing of it asked for": Row(
        options=("--assets", "none"), numbers={"files": (4, 0, 0, 0, 4), "assets": (0, 0, 0, 0, 0)}
    ),
    "a host left out": Row(
        options=("--skip-asset-hosts", "127.0.0.1"), numbers={"files": (4, 0, 0, 0, 4), "assets": (9, 0, 0, 0, 9)}
    ),
    "too large": Row(
        options=("--max-asset-size", "10B"), numbers={"files": (4, 0, 0, 0, 4), "assets": (9, 0, 0, 0, 9)}
    ),
}  # fmt: skip


OFTEN = {"all read", "picture pending", "picture lost", "entry unreadable", "comments kept back", "too large"}
"""The rows that are always tried; a site is made for each."""


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.thorough) for name in ROWS]
)
@pytest.mark.sample(2)
def test_all_places_agree(name: str, served: Served, program: Program, tmp_path: Path) -> None:
    row, root = ROWS[name], tmp_path / "archive"
    row.change(served)
    numbers = {**ALL, **row.numbers}
    complete = row.code == 0

    first = backup(program, served, root, *row.options, "--json")
    document = first.json
    assert (first.code, document["exit_code"]) == (row.code, row.code)
    assert document["outcome"] == ("saved" if complete else "partial")
    assert stated(document["completeness"]) == (complete, numbers, row.user)
    assert bool(document["problems"]) == (not complete)
    assert ("Complete:" in first.err, "INCOMPLETE:" in first.err) == (complete, not complete)

    manifest = json.loads((root / "versions/000001/manifest.json").read_bytes())
    assert stated(manifest["completeness"]) == (complete, numbers, row.user)
    assert manifest["problems"] == document["problems"]

    status = program("status", root, "--json")
    assert status.code == row.code
    answer = json.loads(status.out.splitlines()[0])
    assert answer["complete"] == complete
    assert stated(answer["completeness"]) == (complete, numbers, row.user)
    words = program("status", root)
    assert ("\nComplete:" in words.out, "\nINCOMPLETE:" in words.out) == (complete, not complete)
    silent = program("status", root, "-q")
    assert (silent.code, silent.out, silent.err.count("\n")) == (row.code, "", 0 if complete else 1)

    for options in ((), ("--quick",)):
        verified = program("verify", root, "--json", *options)
        assert verified.code == row.code
        answer = json.loads(verified.out.splitlines()[0])
        assert (answer["intact"], answer["complete"]) == (True, complete)
        assert stated(answer["completeness"]) == (complete, numbers, row.user)

    assert about(root) == (complete, numbers)

    again = backup(program, served, tmp_path / "quiet", *row.options, "-q", "--no-site")
    assert again.code == row.code
    assert again.out == ""
    assert again.err.count("\n") == bool(row.quiet)
    assert row.quiet in again.err
    assert (BLOG in again.err) == bool(row.quiet)


def stated(completeness: dict[str, Any]) -> tuple[bool, dict[str, tuple[int, ...]], bool]:
    """Return the verdict, the numbers, and whether the user was read; the numbers must add up."""
    found = {}
    for kind in ALL:
        part = completeness[kind]
        left_out = [part["left_out"][reason] for reason in ("pending", "lost", "by_choice")]
        assert part["listed"] == part["saved"] + sum(left_out), kind
        found[kind] = (part["listed"], part["saved"], *left_out)
    return completeness["complete"], found, completeness["user"]["read"]


def about(root: Path) -> tuple[bool, dict[str, tuple[int, ...]]]:
    """Return the verdict and the numbers on the site's page about the archive."""
    page = (root / "latest/site/about.html").read_text(encoding="utf-8")
    section = page.partition('id="completeness">')[2].partition("</section>")[0]
    rows = re.findall(r"<tr><th[^>]*>[^<]*</th>((?:<td>\d+</td>){5})</tr>", section)
    numbers = [tuple(map(int, re.findall(r"\d+", row))) for row in rows]
    return "<p>すべてあり</p>" in section, dict(zip(ALL, numbers, strict=True))


def test_media_files_are_saved_and_players_of_other_services_are_named(
    served: Served, program: Program, tmp_path: Path
) -> None:
    base, root = served.service.base_url, tmp_path / "archive"
    video = b"\0\0\0\x18ftypmp42" + bytes(500)
    served.blog.pictures |= {f"{base}/{name}": video + name.encode() for name in ("v.mp4", "o.mp4")}
    body = f"<p>動画<video src={base}/v.mp4 controls></video><object data={base}/o.mp4></object>"
    body += "<iframe src=https://www.youtube.com/embed/x></iframe><script src=https://x.example/1.js></script>"
    served.blog.entries[9] = entry_record(BLOG, 9, "動画", body, DAY, user_id=USER)
    done = backup(program, served, root)
    assert done.code == 0
    assert "1 embedded page or player of another service is kept as a link" in done.err
    run = json.loads((root / "runs.jsonl").read_bytes().splitlines()[-1])
    assert (run["assets"]["framed"], run["assets"]["saved"]) == (1, ENTRIES + UPLOADS + 2)
    assert (
        program("export", "hugo", root, tmp_path / "hugo", "--public-open-flg", "1", "--visible-delete-flg", "f").code
        == 0
    )
    (post,) = (path for path in (tmp_path / "hugo").rglob("index.md") if "動画" in path.read_text("utf-8"))
    names = re.findall(r'(?:src|data)="([^"]*)"', post.read_text("utf-8"))
    assert sorted((post.parent / name).read_bytes()[-5:] for name in names) == [b"o.mp4", b"v.mp4"]


def test_the_rule_is_inferred_reported_and_used(served: Served, program: Program, tmp_path: Path) -> None:
    base = served.service.base_url
    for number in (1, 2, 3):
        address = f"{base}/v1/blog/user/{USER}/{1_500_000_000 + number}"
        served.blog.entries[number] = entry_record(BLOG, number, "題", f'<img src="{address}">', DAY, user_id=USER)
    ran = backup(program, served, tmp_path / "archive", "--no-rule", "--json")
    assert ran.code == 0
    assert f"Uploads are read from {served.rule}, as 3 addresses in the entries show" in ran.err
    assert stated(ran.json["completeness"])[1]["files"] == (4, 4, 0, 0, 0)
    assert ran.json["assets"]["file_url"] == served.rule
    assert ran.json["assets"]["file_url_inferred_from"] == 3
    assert ran.json["completeness"]["files"]["bytes_saved"] == sum(len(png(1000 + each)) for each in range(1, 5))


def test_an_upload_at_whose_address_another_one_is_served_is_not_called_saved(
    served: Served, program: Program, tmp_path: Path
) -> None:
    twin = file_record(5, "5.png", b"x" * 9, (1, 1), user_id=USER, mtime=1_500_000_001)
    served.blog.files.append(twin)
    ran = backup(program, served, tmp_path / "archive", "--json")
    assert ran.code == 0
    assert stated(ran.json["completeness"])[1]["files"] == (5, 4, 0, 1, 0)
    assert ran.json["assets"]["shadowed"] == ["5"]
    assert "another upload is served at the address of each: uploads 5." in ran.err


def test_a_wrong_rule_does_not_make_uploads_lost(served: Served, program: Program, tmp_path: Path) -> None:
    wrong = served.service.base_url + "/nowhere/{file_id}"
    ran = backup(program, served, tmp_path / "archive", "--file-url", wrong, "--json")
    assert ran.code == 3
    assert stated(ran.json["completeness"])[1]["files"] == (4, 0, 4, 0, 0)
    assert "correct it with --file-url" in ran.err


@pytest.mark.parametrize(
    "fault",
    [
        faults.status(503),
        *(pytest.param(fault, marks=pytest.mark.thorough) for fault in (faults.status(403), faults.html, faults.reset)),
    ],
)
@pytest.mark.thorough
def test_pending_pictures_are_asked_for_at_every_run(
    fault: Callable[[web.Request], Awaitable[web.StreamResponse | None]],
    served: Served,
    program: Program,
    tmp_path: Path,
) -> None:
    root = tmp_path / "archive"
    served.answer("/pictures/", fault)
    for _ in range(4):
        asked = len(served.service.requests)
        ran = backup(program, served, root, "--no-site", "--json")
        assert (ran.code, ran.json["version"]) == (3, 1 if asked == 0 else None)
        paths = {request.path for request in served.service.requests[asked:]}
        # After three resets in a row, a run sends no more requests to that host.
        assert len([path for path in paths if path.startswith("/pictures/")]) >= 1
        assert stated(ran.json["completeness"])[1]["assets"] == (9, 4, 5, 0, 0)
    served.service.before = None
    ran = backup(program, served, root, "--no-site", "--json")
    assert (ran.code, stated(ran.json["completeness"])[1]["assets"]) == (0, (9, 9, 0, 0, 0))


def test_lost_pictures_are_asked_for_again_with_retry_lost(served: Served, program: Program, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    one_picture(404)(served)
    errors = [backup(program, served, root, "--no-site", "-q").err for _ in range(3)]
    assert [error.count("newly gone for good") for error in errors] == [1, 0, 0]
    asked = len(served.service.requests)
    for options, expected in (((), 0), (("--retry-lost",), 1)):
        assert backup(program, served, root, "--no-site", *options).code == 0
        paths = [request.path for request in served.service.requests[asked:]]
        assert paths.count(picture(2)) == expected
    served.service.before = None
    ran = backup(program, served, root, "--no-site", "--retry-lost", "--json")
    assert stated(ran.json["completeness"])[1]["assets"] == (9, 9, 0, 0, 0)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [({"blog_id": "other.blog.example.jp"}, "the answer is of blog"), ({"entry_id": ""}, "no usable entry_id")],
)
def test_an_answer_to_another_request_is_not_stored(
    changed: dict[str, str], reason: str, served: Served, program: Program, tmp_path: Path
) -> None:
    root = tmp_path / "archive"
    served.blog.list_items[3] = served.blog.list_item(3)
    served.blog.entries[3] = {**fields(served.blog.entries[3]), **changed}
    ran = backup(program, served, root, "--no-site", "--json")
    assert ran.code == 3
    assert reason in ran.err
    assert program("show", root, "entry", "3").code == 5
    assert stated(ran.json["completeness"])[1]["entries"] == (5, 4, 1, 0, 0)


def test_entries_carried_over_are_not_reported_as_read(served: Served, program: Program, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    backup(program, served, root, "--no-site")
    served.blog.entries[1] = {**fields(served.blog.entries[1]), "title": "改題"}
    served.blog.entries[2] = {**fields(served.blog.entries[2]), "entry_text": "本文だけの直し"}
    ran = backup(program, served, root, "--no-site", "--refresh", "changed", "--json")
    entries = ran.json["completeness"]["entries"]
    assert (entries["read"], entries["carried_over"], entries["saved"]) == (1, 4, 5)
    assert "5 entries (1 read, 4 carried over, as their list items had not changed)" in ran.err


def test_a_dry_run_names_the_limits_of_lists(served: Served, program: Program, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    backup(program, served, root, "--no-site")
    served.blog.entries[2] = {**fields(served.blog.entries[2]), "entry_text": "本文だけの直し"}
    ran = backup(program, served, root, "--dry-run")
    assert ran.code == 0
    assert "only the lists were read" in ran.err
    assert "Lists do not show edited bodies" in ran.err
    assert "Complete" not in ran.err
    served.answer("comment/list", faults.status(500))
    ran = backup(program, served, root, "--dry-run")
    assert (ran.code, "INCOMPLETE" in ran.err) == (3, True)


def test_the_site_is_brought_up_to_date_when_only_the_verdict_changes(
    served: Served, program: Program, tmp_path: Path
) -> None:
    root = tmp_path / "archive"
    assert backup(program, served, root).code == 0
    assert about(root)[0]
    served.answer("/v1/user", faults.status(404))
    assert backup(program, served, root, "--json").json["version"] is None
    assert not about(root)[0]
    served.service.before = None
    assert backup(program, served, root, "--json").json["version"] is None
    assert about(root)[0]


def test_more_files_are_read_if_their_sizes_do_not_add_up(served: Served, program: Program, tmp_path: Path) -> None:
    for number in range(5, 26):
        record = file_record(number, f"{number}.png", b"x" * 10, (1, 1), user_id=USER, mtime=number)
        served.blog.files.append(record)
    said(served, "file/list", lambda data: data["summary"].update(filenum="20"))
    ran = backup(program, served, tmp_path / "archive", "--no-site", "--assets", "none", "--json")
    assert ran.code == 3
    assert "the file list holds 25 files, its summary counts 20" in ran.err
    assert stated(ran.json["completeness"])[1]["files"] == (25, 0, 0, 0, 25)


def test_a_picture_that_the_guard_refuses_makes_the_backup_incomplete(
    served: Served, program: Program, tmp_path: Path
) -> None:
    root = tmp_path / "archive"
    served.blog.entries[9] = entry_record(
        BLOG, 9, "ほか", '<img src="http://127.0.0.1:9/other.png">', DAY, user_id=USER
    )
    options = ("backup", BLOG, "--base-url", served.service.base_url, "--archive", root, "--file-url", served.rule)
    ran = program(*options, "--retries", "0", "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["completeness"]["complete"]) == (3, False)
    pictures = document["completeness"]["assets"]
    assert (pictures["listed"], pictures["saved"]) == (ENTRIES + UPLOADS + 1, ENTRIES + UPLOADS)
    assert pictures["left_out"] == {"pending": 0, "lost": 0, "by_choice": 0, "refused": 1}
    assert "--allow-private-network" in document["problems"][0]["reason"]
    assert program("status", root).code == 3
    page = (root / "latest/site/about.html").read_text(encoding="utf-8")
    assert "アドレスの制限で拒否" in page


@pytest.mark.parametrize(
    "wrong",
    [
        b"Not Found",
        png(7, 1, 1),
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in (b'{"error": 404}', png(1001)[:60], png(1001)[:8])
        ),
    ],
)
def test_a_file_that_contradicts_the_list_is_doubtful_until_accepted(
    wrong: bytes, served: Served, program: Program, tmp_path: Path
) -> None:
    root = tmp_path / "archive"
    address = f"{served.service.base_url}/v1/blog/user/{USER}/{1_500_000_001}"
    served.blog.pictures[address] = wrong
    doubted = {"pending": 0, "lost": 0, "by_choice": 0, "doubtful": 1}
    for _ in range(2):
        ran = backup(program, served, root, "--json").json
        assert (ran["exit_code"], ran["completeness"]["complete"]) == (3, False)
        for kind, total in (("files", UPLOADS), ("assets", ENTRIES + UPLOADS)):
            part = ran["completeness"][kind]
            assert (part["listed"], part["saved"], part["left_out"]) == (total, total - 1, doubted)
        assert "--accept-doubtful" in ran["problems"][0]["reason"]
    status = program("status", root, "--json")
    assert (status.code, json.loads(status.out.splitlines()[0])["completeness"]["assets"]["left_out"]) == (3, doubted)
    assert program("verify", root).code == 3
    assert json.loads(program("files", root, "--json").out.splitlines()[0])["counts"]["doubtful"] == 1
    assert "内容が疑わしい" in (root / "latest/site/about.html").read_text(encoding="utf-8")

    accepted = backup(program, served, root, "--json", "--accept-doubtful").json
    assert (accepted["exit_code"], accepted["completeness"]["complete"]) == (0, True)
    assert backup(program, served, root, "-q").code == 0, "an accepted file stays accepted"
    assert program("verify", root).code == 0


def test_a_doubtful_file_is_asked_for_again_and_replaced(served: Served, program: Program, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    address = f"{served.service.base_url}/v1/blog/user/{USER}/{1_500_000_001}"
    genuine, served.blog.pictures[address] = served.blog.pictures[address], b"Not Found"
    assert backup(program, served, root, "-q").code == 3
    served.blog.pictures[address] = genuine
    assert backup(program, served, root, "-q").code == 0
    assert program("status", root).code == 0
