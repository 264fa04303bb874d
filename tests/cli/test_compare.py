"""``compare``: its output, its exit codes, and that it changes nothing."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import threading
from pathlib import Path

import pytest
from aiohttp import web

from exporter.export.interface import ExportOptions
from exporter.library.compare import expected_posts
from exporter.model.publication import Declared
from tests.cli.conftest import Program
from tests.support.declared import declare
from tests.support.runs import Runs, Zygote
from tests.support.terminal import PATIENCE_SECONDS
from tests.test_docs import ROOT
from tests.wordpress.fake import LOGIN, FakeWordPress, wordpress_in_thread

SAID = ("--public-open-flg", "1", "--visible-delete-flg", "f")
OLD = "https://{blog_id}/Entry/{entry_id}/"
NEW = ("--new-url", "https://new.example/{slug}")
PASSWORD = {"BLOG_EXPORTER_NEW_HOME_USER": LOGIN[0], "BLOG_EXPORTER_NEW_HOME_TOKEN": LOGIN[1]}


@pytest.fixture(scope="module")
def exported(zygote: Zygote, made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo as Markdown with its pictures and with links to its own pages."""
    folder = tmp_path_factory.mktemp("exported")
    words = ("export", "markdown", made, folder / "home", *SAID, "--old-url", OLD, *NEW)
    with Runs(folder / "process", zygote) as runs:
        assert runs.run(*words, environ={"XDG_CONFIG_HOME": str(folder / "config")}).code == 0
    return folder


@pytest.fixture
def home(exported: Path, made: Path, tmp_path: Path) -> Path:
    """A copy of it that the test may change, with the answers that the export kept."""
    declare(made, {"public_open_flg": "1", "visible_delete_flg": "f"}, {"open_flg": "12", "delete_flg": "ft"})
    return Path(shutil.copytree(exported / "home", tmp_path / "home"))


def put_public(home: FakeWordPress, made: Path) -> list[int]:
    """Put the demo's public posts into a WordPress as text; return their numbers."""
    options = ExportOptions(declared=Declared(frozenset({"1"}), visible_comment_flags=frozenset({"f"})))
    numbers = []
    for post in expected_posts(made, options).posts:
        if post.asked and post.when is not None:
            slug = post.slugs[0]
            date = post.when.replace(tzinfo=None).isoformat()
            names = (post.category,) if post.category else ()
            text = "".join(f"&#{ord(char)};" for char in post.letters)
            numbers.append(home.post(post.title, text, date, slug=slug, categories=names))
    return numbers


def test_a_complete_move_exits_with_0(program: Program, made: Path, home: Path) -> None:
    done = program("compare", made, home)
    assert (done.code, done.err.count("error")) == (0, 0)
    assert done.out.splitlines()[:2] == [
        "     55  entries expected",
        "     55  unchanged in all compared parts",
    ]
    assert done.out.splitlines()[-1] == "All 55 entries arrived unchanged, except for the parts listed as not compared."


def test_missing_posts_are_named_and_exit_with_3(program: Program, made: Path, home: Path) -> None:
    lost = next(path for path in (home / "posts").iterdir() if path.name.endswith("-50.md"))
    lost.unlink()
    done = program("compare", made, home)
    assert done.code == 3
    assert "      1  not in the new home\n           50 " in done.out
    assert done.err.splitlines()[-1].endswith("of 55 entries 1 are missing and 0 changed.")


def test_json_has_the_members_that_are_documented(program: Program, made: Path, home: Path) -> None:
    text = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8").partition("## compare.json")[2]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    documented = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    next((home / "posts").iterdir()).unlink()
    done = program("compare", made, home, "--json")
    found = done.answer_before_error
    assert list(found) == documented
    assert found["home"] == {"kind": "folder of Markdown", "place": str(home)}
    assert found["counts"]["entries"] == found["counts"]["identical"] + 1 == 55
    assert found["changes"] == {"missing": 1}
    assert found["whole"] is False
    assert all(name in text for name in re.findall(r'"(\w+)":', json.dumps(found["unchecked"])))


def test_the_report_is_written_once_and_not_into_the_archive(
    program: Program, made: Path, home: Path, tmp_path: Path
) -> None:
    report = tmp_path / "compare.json"
    done = program("compare", made, home, "--report", report, "--json")
    assert done.code == 0
    assert json.loads(report.read_text(encoding="utf-8")) == done.json
    again = program("compare", made, home, "--report", report)
    assert again.code == 2
    assert "exists already" in again.err
    assert program("compare", made, home, "--report", report, "--force").code == 0
    assert "inside the archive" in program("compare", made, home, "--report", made / "x.json").err
    assert "is a folder" in program("compare", made, home, "--report", tmp_path).err


def test_nothing_changes_in_the_archive_or_the_new_home(program: Program, made: Path, home: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_size)
            for root in (made, home)
            for path in root.rglob("*")
        }

    before = state()
    program("compare", made, home)
    assert state() == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere", "home", *SAID], 10, "no archive"),
        (["{archive}"], 2, "Missing argument"),
        (["{archive}", "{archive}"], 2, "Nothing says yet which entries are public"),
        (["{archive}", "nowhere", *SAID], 2, "is not a folder"),
        (["{archive}", "", *SAID], 2, "NEW_HOME is empty"),
        (["{archive}", "http://127.0.0.1:1", *SAID], 20, "cannot connect"),
        (["{archive}", "http://user:word@x", *SAID], 2, "must not hold a user name or password"),
        (["{archive}", "http://x/?y", *SAID], 2, "without ? or #"),
        (["{archive}", "http://[/x.xml", *SAID], 2, "not a valid URL"),
        (["{archive}", "https://x", "--public-open-flg", "banana"], 2, "banana"),
        (["{archive}", "https://x", *SAID, "--new-url", "x"], 2, "--new-url"),
        (["{archive}", "https://x", *SAID, "--at", "99"], 5, "99"),
    ],
)
@pytest.mark.sample(4)
def test_every_failure_is_one_line_and_its_code(
    program: Program, made: Path, arguments: list[str], code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_RETRIES", "0")
    done = program("compare", *(each.replace("{archive}", str(made)) for each in arguments))
    assert done.code == code
    assert said in done.err.splitlines()[-1]
    assert done.out == ""


def test_a_wordpress_is_compared_with_its_owners_password(
    program: Program, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_RETRIES", "0")
    with wordpress_in_thread() as home:
        numbers = put_public(home, made)
        plain = ("compare", made, home.url, *SAID, "--no-comments")
        done = program(*plain, "--json")
        found = done.answer_before_error
        assert found["home"]["kind"] == "WordPress"
        # The posts have only the entries' letters.
        assert {"picture_missing", "player_missing", "line_breaks", "bold", "table"} <= set(found["changes"])
        home.posts[numbers[0]]["status"] = "draft"
        assert program(*plain, "--json").answer_before_error["changes"]["missing"] == 1
        for name, value in PASSWORD.items():
            monkeypatch.setenv(name, value)
        found = program(*plain, "--json").answer_before_error
        assert "missing" not in found["changes"]
        assert found["changes"]["status"] == 1
        monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", "wrong")
        refused = program(*plain)
        assert refused.code == 12
        assert "wrong" not in refused.err
        monkeypatch.delenv("BLOG_EXPORTER_NEW_HOME_TOKEN")
        secret = tmp_path / "secret"
        secret.write_text(f"{LOGIN[1]}\n")
        secret.chmod(0o600)
        assert program(*plain, "--new-home-token-file", secret, "--json").answer_before_error["changes"]["status"] == 1


def test_answers_of_an_earlier_export_are_used(program: Program, made: Path, home: Path) -> None:
    assert "Using the answers kept" in program("compare", made, home).err


def test_drafts_and_everything_are_expected_if_requested(
    program: Program, made: Path, home: Path, tmp_path: Path
) -> None:
    found = program("compare", made, home, "--only", "all", "--json").answer_before_error
    assert (found["counts"]["entries"], found["changes"]) == (60, {"missing": 5})
    found = program("compare", made, home, "--since", "2020-01-01", "--category", "パン", "--json").json
    assert 0 < found["counts"]["entries"] < 20
    assert (found["counts"]["entries"] + found["counts"]["not_asked"], found["extra"]) == (60, [])
    drafts = tmp_path / "drafts"
    assert program("export", "markdown", made, drafts, "--all-as-draft", "--old-url", OLD, *NEW).code == 0
    found = program("compare", made, drafts, "--all-as-draft", "--json")
    assert found.code == 0
    assert found.json["counts"]["entries"] == found.json["counts"]["identical"] > 55


def test_text_from_a_new_home_cannot_control_the_terminal(program: Program, made: Path, home: Path) -> None:
    evil = '---\ntitle: "\\e]0;x\\a\\u202e"\ndate: 2020-01-01\n---\nz'
    (home / "posts" / "evil.md").write_text(evil, encoding="utf-8")
    (home / "posts" / "\x1b[31mred.md").write_text("---\ntitle: red\n---\nq", encoding="utf-8")
    done = program("compare", made, home, "-v")
    assert "2  entries that the archive does not have" in done.out
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out)


def test_a_signal_ends_it_soon(runs: Runs, made: Path) -> None:
    with wordpress_in_thread() as home:
        asked = threading.Event()

        async def hang(request: web.Request) -> web.StreamResponse:
            asked.set()
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"{")
            await asyncio.Event().wait()
            return response

        home.service.handler = hang
        run = runs.start("compare", made, home.url, *SAID)
        asked.wait(PATIENCE_SECONDS)
        run.signal(signal.SIGTERM)
        done = run.wait()
        assert done.code == 143
        assert done.err.splitlines()[-1] == "blog-exporter: error: Terminated; nothing was written."


def test_a_hidden_entry_that_is_shown_is_named(program: Program, made: Path, home: Path, tmp_path: Path) -> None:
    everything = tmp_path / "all"
    assert program("export", "markdown", made, everything, *SAID, "--only", "all").code == 0
    private = next((tmp_path / "all.NOT-PUBLIC").rglob("*.md"))
    text = private.read_text(encoding="utf-8").replace("draft: true", "draft: false").replace("permalink: false\n", "")
    (home / "posts" / private.name).write_text(text, encoding="utf-8")
    shutil.rmtree(everything)
    found = program("compare", made, home, "--json").answer_before_error
    assert found["changes"] == {"status": 1}
    (difference,) = found["entries"][0]["differences"]
    assert (difference["before"] in {"draft", "private"}, difference["after"]) == (True, "publish")


def test_old_addresses_need_no_pattern_to_be_known(program: Program, made: Path, home: Path) -> None:
    page = next(path for path in (home / "posts").iterdir() if path.name.endswith("-50.md"))
    link = "http://shiodamari.blog.example.jp/Entry/9/"
    page.write_text(f"{page.read_text(encoding='utf-8')}\n[前の話]({link})\n", encoding="utf-8")
    found = program("compare", made, home, "--json").answer_before_error
    assert found["changes"] == {"link_on_old_host": 1}
    assert found["entries"][0]["differences"] == [{"change": "link_on_old_host", "before": "", "after": link}]
