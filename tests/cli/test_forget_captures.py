"""``forget`` and captures of public pages that still show the record, in every order, in this process."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.warc.shown import ShownRecords
from tests.capture.running import answers
from tests.cli.conftest import Program, Result
from tests.library.test_forget import places_with
from tests.support.runs import findings
from tests.support.styled_blog import StyledBlog, styled_blog


@pytest.fixture
def blog() -> Iterator[StyledBlog]:
    made = styled_blog()
    made.posts = {number: post for number, post in made.posts.items() if number < 9 or number == 66}
    with made.serving_in_thread():
        yield made


@pytest.fixture
def archive(archive: Path) -> Path:
    """The demo's archive without its site and its Markdown, which each removal would make anew."""
    for name in ("site", "markdown"):
        shutil.rmtree(archive / "latest" / name, ignore_errors=True)
    return archive


def capture(program: Program, blog: StyledBlog, root: Path) -> Result:
    return program(
        "capture", root, "--home-url", f"{blog.origin}/", "--rate", 10_000, "--concurrency", 4, "--skip-asset-hosts",
        "pictures.example.jp,video.example.com", "--entry-url", f"{blog.origin}/Entry/{{entry_id}}/", "--json",
    )  # fmt: skip


def held(root: Path, address: str) -> bool:
    return address in answers(root / "captures")


def quiet(program: Program, root: Path, *words: object) -> Result:
    done = program("forget", root, *words, "--yes")
    assert done.code in {0, 3}, done
    return done


COMMENT, TEXT, SHORT, WORDS = "106", "やかんは洗濯機の中にあることが多いです。", "226", "暑い。"


def test_a_page_that_still_shows_a_forgotten_comment_is_left_out_every_night(
    program: Program, blog: StyledBlog, archive: Path
) -> None:
    forgetting = quiet(program, archive, "--comment", COMMENT, "--comment", SHORT)
    assert "A capture leaves out pages on which it recognises them" in forgetting.err
    for number in (1, None):
        done = capture(program, blog, archive)
        assert done.code == 0, done
        assert (done.json["capture"], done.json["left_out"]["forgotten"]) == (number, 2)
        assert "addresses that show forgotten records (2)" in done.err
    assert not held(archive, blog.address(3))
    assert not held(archive, blog.address(66))
    assert held(archive, blog.address(4))
    assert places_with([archive], TEXT) == []
    captured = next(iter(Archive.open(archive).layout.captures.glob("*/capture.json"))).read_text("utf-8")
    assert '"forgotten": 2' in captured
    assert blog.address(3) not in captured
    again = quiet(program, archive, "--comment", COMMENT)
    assert "Nothing of it was left." in again.out
    assert findings(archive) == []


@pytest.mark.parametrize(
    ("anchors", "words"),
    [
        pytest.param(True, ("--comment", COMMENT), marks=pytest.mark.thorough),
        pytest.param(False, ("--author", "通りすがり"), marks=pytest.mark.thorough),
        (False, ("--comment", COMMENT)),
    ],
)
def test_what_an_earlier_program_captured_goes_when_it_is_forgotten_again(
    program: Program,
    blog: StyledBlog,
    archive: Path,
    tmp_path: Path,
    anchors: bool,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not anchors:
        comments = tuple((name, text, f"x{key}") for name, text, key in blog.posts[3].comments)
        blog.edit(3, comments=comments)
    quiet(program, archive, "--author", "通りすがり")
    notes = archive / "forgotten.jsonl"
    kept = notes.read_bytes()
    with monkeypatch.context() as earlier:
        earlier.setattr("exporter.capture.run.ShownRecords.of", lambda *_: ShownRecords())
        assert capture(program, blog, archive).code == 0
    assert held(archive, blog.address(3))
    assert places_with([archive], TEXT) != []
    listed = program("forget", archive, "--comment", COMMENT, "--dry-run")
    assert (listed.code, "records of capture 1" in listed.out) == (0, True), listed
    assert "1 record was forgotten before" in listed.out
    done = quiet(program, archive, *words)
    assert "Removed what showed records that were forgotten before." in done.out
    assert not held(archive, blog.address(3))
    assert held(archive, blog.address(8))
    assert places_with([archive], TEXT) == []
    assert notes.read_bytes().startswith(kept)
    assert findings(archive) == []
    verified = program("verify", archive)
    assert verified.code == 0, verified
    assert "pages that showed forgotten records" in verified.out
    assert capture(program, blog, archive).code == 0
    assert places_with([archive], TEXT) == []


def test_a_forgotten_entry_and_the_pages_that_name_it_stay_out(
    program: Program, blog: StyledBlog, archive: Path
) -> None:
    assert capture(program, blog, archive).code == 0
    quiet(program, archive, "--entry", "4")
    assert not (archive / ".work/capture").exists()
    for title in ("ねこ、来た", "ねこ、また来た"):
        assert not held(archive, blog.address(4))
        assert held(archive, blog.address(3))
        assert places_with([archive / "captures"], blog.address(4), "/Entry/4/") == []
        blog.edit(8, title=title)
        before = blog.server.asked["/Entry/4/"]
        done = capture(program, blog, archive)
        assert done.code == 0, done
        assert done.json["left_out"]["forgotten"] > 1
        assert blog.server.asked["/Entry/4/"] == before
        assert title in "".join(each.content.decode() for each in answers(archive / "captures")[blog.address(8)])


def test_an_id_that_was_never_there_is_still_an_error(program: Program, archive: Path) -> None:
    quiet(program, archive, "--comment", COMMENT)
    both = ("--comment", COMMENT, "--comment", "999999")
    for words in (("--author", "だれでもない"), ("--comment", "999999"), ("--entry", COMMENT), both):
        done = program("forget", archive, *words, "--yes")
        assert (done.code, "has no" in done.err) == (5, True), done


def test_forgotten_ids_are_no_error_to_forget_and_nothing_to_show(program: Program, archive: Path) -> None:
    quiet(program, archive, "--comment", COMMENT)
    shown = program("show", archive, "comment", COMMENT)
    assert (shown.code, "has no comment" in shown.err) == (5, True), shown
    for name in ("checkpoint", "capture"):
        (archive / ".work" / name).mkdir()
        (archive / ".work" / name / "left.jsonl").write_text(TEXT, "utf-8")
    kept = (archive / "forgotten.jsonl").read_bytes()
    done = program("forget", archive, "--comment", COMMENT, "--json")
    assert (done.code, done.json["comments"]) == (0, 0), done
    assert places_with([archive], TEXT) == []
    assert (archive / "forgotten.jsonl").read_bytes() == kept
    assert findings(archive) == []


@pytest.mark.parametrize(
    "pruned", ["copy", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("", "archive", "copy archive"))]
)
def test_every_printed_command_removes_it_from_a_copy(
    program: Program, blog: StyledBlog, archive: Path, tmp_path: Path, pruned: str
) -> None:
    copy = tmp_path / "copy"
    assert capture(program, blog, archive).code == 0
    assert program("sync", archive, copy).code == 0
    for name in pruned.split():
        assert program("prune", tmp_path / name, "--keep-last", 1).code == 0
    forgetting = quiet(program, archive, "--comment", COMMENT)
    commands = re.findall("blog-exporter (.+)", forgetting.err)
    assert commands
    for command in commands:
        done = program(*shlex.split(command))
        assert done.code == 0, done
    assert places_with([copy], TEXT) == []
    assert findings(copy) == []
    if pruned != "copy":
        again = program("sync", archive, copy)
        assert (again.code, "nothing is missing" in again.out) == (0, True), again
