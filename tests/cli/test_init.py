"""``init``: from a pasted address to a verified and scheduled backup."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.cli.account import Account
from exporter.model.kinds import Kind
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.copies.support import files_in
from tests.site.test_view import entry
from tests.support.demo_service import DemoService
from tests.support.first_hour import LANGUAGES, Hour, drawn, first_hour, picture_of, text_in
from tests.support.generated import generated_blog
from tests.support.runs import Runs, serving
from tests.support.schedulers import Machine, machine
from tests.support.terminal import Terminal

__all__ = ["machine"]

BLOG_ID = "generated.blog.example.jp"
ADDRESS = f"https://{BLOG_ID}/Entry/12/"


@pytest.fixture
def service() -> Iterator[DemoService]:
    with serving(generated_blog(3, 1, 1), log_requests=True) as served:
        yield served


class Beginner:
    """A user who runs ``init`` on a machine with cron, with answers on standard input."""

    def __init__(self, program: Program, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        self._program = program
        self._patch = monkeypatch
        self.machine = machine
        self.home = machine.folder / "home"
        self.home.mkdir()
        machine.has("crontab")
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("XDG_DATA_HOME", str(self.home / "data"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(machine.folder / "config"))

    @property
    def config(self) -> Path:
        """The settings file."""
        return self.machine.folder / "config" / "blog-exporter" / "blog-exporter.toml"

    @property
    def root(self) -> Path:
        """The default folder of the archive."""
        return self.home / "blogs" / BLOG_ID

    def __call__(self, *arguments: object, answers: list[str] | None = None) -> Any:
        self._patch.setattr(sys, "stdin", io.StringIO("".join(f"{answer}\n" for answer in answers or [])))
        return self._program("init", *arguments)

    def left_nothing(self) -> bool:
        """Return whether ``init`` left no files."""
        return not self.config.exists() and not self.root.parent.exists() and not self.machine.table.exists()


@pytest.fixture
def init(program: Program, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Beginner:
    return Beginner(program, machine, monkeypatch)


def tables(path: Path) -> Any:
    return tomllib.loads(path.read_text("utf-8"))["blogs"]


def test_without_questions_it_uses_the_defaults(init: Beginner, service: DemoService) -> None:
    done = init(ADDRESS, "--base-url", service.base_url, "--assets", "none", "--yes", "--json")
    assert done.code == 0, done.err
    assert "[" not in done.err.splitlines()[0]
    assert done.json == {
        "blog_id": BLOG_ID, "name": "generated", "archive": str(init.root), "settings": str(init.config),
        "outcome": "saved", "exit_code": 0, "nightly": done.json["nightly"],
    }  # fmt: skip
    assert (done.json["nightly"]["scheduler"], done.json["nightly"]["starts"]) == ("cron", True)
    values = {"blog_id": BLOG_ID, "archive": str(init.root), "base_url": service.base_url, "assets": "none"}
    assert tables(init.config) == {"generated": values}
    assert init.config.read_text("utf-8").startswith("# Settings of blog-exporter.")
    assert f"backup {init.root} --wait-lock" in init.machine.table.read_text()
    assert "Verified: every file exists" in done.err
    assert init._program("backup", init.root).code == 0
    assert init._program("backup", "generated").code == 0
    assert init._program("verify", init.root).code == 0


def test_the_answers_decide(init: Beginner, service: DemoService) -> None:
    where = init.home / "日記"
    where.mkdir()
    (where / "letter").touch()
    answers = ["nonsense", ADDRESS, "潮だまり日記", str(where), "~/other", "9", "2", "25:00", "3:05"]
    done = init("--base-url", service.base_url, answers=answers)
    assert done.code == 0, done.err
    assert "Please again: the address of a blog" in done.err
    assert "is not empty" in done.err
    assert "Please type a number from 1 to 4." in done.err
    assert "Please type a time such as 03:30" in done.err
    found = tables(init.config)["generated"]
    assert (found["archive"], found["assets"]) == (str(init.home / "other"), "embedded")
    assert found["site_title"] == "潮だまり日記"
    assert '<h1 lang="ja">潮だまり日記</h1>' in (init.home / "other/latest/site/index.html").read_text("utf-8")
    assert init.machine.table.read_text().splitlines()[1].startswith("5 3 * * *")
    assert [path.name for path in where.iterdir()] == ["letter"]


@pytest.mark.parametrize("answered", range(5))
def test_the_end_of_the_answers_leaves_nothing_at_any_question(
    init: Beginner, service: DemoService, answered: int
) -> None:
    done = init("--base-url", service.base_url, answers=[ADDRESS, "", "", "", ""][:answered])
    assert done.code == 130
    assert "Interrupted; nothing was written." in done.err
    assert init.left_nothing()
    assert service.requests == []


def test_a_second_init_changes_nothing(init: Beginner, service: DemoService) -> None:
    arguments = (ADDRESS, "--base-url", service.base_url, "--assets", "none")
    assert init(*arguments, "--yes").code == 0
    before = init.config.read_bytes(), init.machine.table.read_bytes()
    again = init(ADDRESS)
    assert again.code == 0, again.err
    assert f"The blog is already in {init.config}, as [blogs.generated]." in again.err
    assert "Nothing had changed" in again.err
    assert (init.config.read_bytes(), init.machine.table.read_bytes()) == before
    assert "?" not in again.err


def test_an_existing_settings_file_keeps_every_byte(init: Beginner, service: DemoService) -> None:
    init.config.parent.mkdir(parents=True)
    elsewhere = init.home / "dotfiles.toml"
    before = f'# mine\nbase_url = "{service.base_url}"\n[blogs.generated]\nblog_id = "a.b.c"\narchive = "x"'
    elsewhere.write_text(before, encoding="utf-8")
    init.config.symlink_to(elsewhere)
    done = init(ADDRESS, "--assets", "none", "--at", "never", "--yes")
    assert done.code == 0, done.err
    assert elsewhere.read_text("utf-8").startswith(before + "\n")
    assert init.config.is_symlink()
    assert set(tables(init.config)) == {"generated", "generated-2"}
    assert "base_url" not in tables(init.config)["generated-2"]
    assert not init.machine.table.exists()


def test_a_settings_file_that_no_table_can_be_added_to_is_left_alone(init: Beginner, service: DemoService) -> None:
    init.config.parent.mkdir(parents=True)
    before = f'base_url = "{service.base_url}"\nblogs = {{ a = {{ blog_id = "a.b.c", archive = "x" }} }}\n'
    init.config.write_text(before, encoding="utf-8")
    done = init(ADDRESS, "--yes", "--assets", "none")
    assert done.code == 2
    assert "add this yourself: [blogs.generated]" in done.err
    assert init.config.read_text("utf-8") == before
    assert not init.root.exists()


def test_a_token_is_not_kept_if_no_table_can_be_added(
    init: Beginner, service: DemoService, monkeypatch: pytest.MonkeyPatch
) -> None:
    init.config.parent.mkdir(parents=True)
    init.config.write_text('blogs = { a = { blog_id = "a.b.c", archive = "x" } }\n', encoding="utf-8")
    monkeypatch.setattr("exporter.cli.init.asked_account", lambda *_: Account(token="sesame"))
    done = init(ADDRESS, "--yes", "--assets", "none", "--base-url", service.base_url)
    assert (done.code, "add this yourself" in done.err) == (2, True)
    assert [each.name for each in init.config.parent.iterdir()] == [init.config.name]
    assert not init.root.exists()


def test_a_folder_for_something_else_is_refused_before_anything_is_written(
    init: Beginner, service: DemoService, tmp_path: Path
) -> None:
    built = Built(tmp_path / "archive")
    built.commit({Kind.ENTRIES: {"1": entry(1, "海")}})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("x")
    requests = len(service.requests)
    for folder, code, said in (("archive", 2, "is the archive of"), ("full", 10, "is not empty and holds no archive")):
        before = files_in(tmp_path / folder)
        done = init(ADDRESS, "--yes", "--base-url", service.base_url, "--archive", tmp_path / folder)
        assert (done.code, said in done.err) == (code, True), done.err
        assert files_in(tmp_path / folder) == before
        assert init.left_nothing()
    assert len(service.requests) == requests


def test_an_unreachable_service_leaves_nothing(init: Beginner) -> None:
    done = init(ADDRESS, "--base-url", "http://127.0.0.1:9", "--yes")
    assert done.code == 20
    assert "Nothing was written; fix that and run init again." in done.err
    assert init.left_nothing()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--yes"], "name the blog: blog-exporter init ADDRESS --yes"),
        (["nonsense", "--yes"], "'nonsense' is no address of a blog"),
        (
            ["http://me:s3cret@me.example.jp/", "--yes"],
            "Give the address without a user name and password: 'http://***@me.example.jp/'.",
        ),
        ([ADDRESS, "--yes"], "Give the address of its API: blog-exporter init "),
        (["http://127.0.0.1:9/"], "Give the address of its API: blog-exporter init 127.0.0.1 --base-url"),
        ([ADDRESS, "--at", "25:00"], "--at is '25:00'"),
    ],
)
@pytest.mark.sample(3)
def test_invalid_input_is_explained(init: Beginner, arguments: list[str], said: str) -> None:
    done = init(*arguments)
    assert done.code == 2
    assert said in done.err
    assert init.left_nothing()


def test_a_scheduler_that_refuses_does_not_undo_the_backup(
    init: Beginner, service: DemoService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "sesame")
    arguments = (ADDRESS, "--base-url", service.base_url, "--assets", "none", "--yes", "--at", "3:05", "--json")
    init.machine.now("refuses")
    done = init(*arguments)
    assert (done.code, done.json["nightly"]["scheduler"], done.json["nightly"]["starts"]) == (0, None, False)
    assert "No nightly backup is scheduled. Nothing on this machine" in done.err
    (init.machine.folder / "refuses").unlink()
    done = init(*arguments)
    assert (done.code, done.json["nightly"]["scheduler"], done.json["nightly"]["starts"]) == (0, "cron", False)
    assert "cron does not have your variable with the token" in done.err
    assert "sesame" not in done.err + init.config.read_text("utf-8") + init.machine.table.read_text()


def test_unsaved_content_is_reported_and_left_for_the_next_run(init: Beginner, service: DemoService) -> None:
    done = init(ADDRESS, "--base-url", service.base_url, "--yes", "--at", "never", "--json")
    assert (done.code, done.json["exit_code"]) == (3, 3)
    assert "the next backup tries the rest again" in done.err
    assert "Your blog is safe" not in done.err
    assert set(tables(init.config)) == {"generated"}


def test_a_token_that_is_typed_is_kept_in_a_file_of_its_own_and_shown_nowhere(
    runs: Runs, init: Beginner, service: DemoService, tmp_path: Path
) -> None:
    arguments = ("init", ADDRESS, "--base-url", service.base_url, "--assets", "none", "--archive", tmp_path / "a")
    terminal = Terminal(runs, arguments, tmp_path, {"TERM": "dumb"})
    terminal.answer("What is the blog called?", "")
    terminal.answer("Access token", "sesame-4711")
    terminal.answer("again, every day", "n")
    assert terminal.end() == 0, terminal.shown
    (path,) = (init.config.parent / "tokens").iterdir()
    assert path.read_text() == "sesame-4711\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert tables(init.config)["generated"]["token_file"] == str(path)
    assert "sesame" not in terminal.shown
    assert service.requests[-1].headers["Authorization"] == "Bearer sesame-4711"


def test_ctrl_c_at_a_question_leaves_nothing(runs: Runs, init: Beginner, service: DemoService, tmp_path: Path) -> None:
    terminal = Terminal(runs, ("init", "--base-url", service.base_url, "--no-sign-in"), tmp_path, {"TERM": "dumb"})
    terminal.answer("Paste the blog's address", ADDRESS)
    terminal.interrupt("What is the blog called?")
    assert terminal.end() == 130
    assert "nothing was written" in terminal.shown
    assert init.left_nothing()


@pytest.mark.parametrize(
    "language", [LANGUAGES[0], *(pytest.param(each, marks=pytest.mark.thorough) for each in LANGUAGES[1:])]
)
def test_the_first_hour_in_a_real_terminal_takes_under_ten_lines_and_three_minutes(
    runs: Runs, tmp_path: Path, language: str
) -> None:
    hour: Hour = first_hour(runs, tmp_path, language)
    assert hour.code == 0, hour.shown
    assert len(hour.typed) < 10
    assert hour.seconds < 180
    values = tables(hour.config)["shiodamari"]
    root = Path(values["archive"])
    last = json.loads((root / "runs.jsonl").read_text("utf-8").splitlines()[-1])
    assert (last["outcome"], last["exit_code"]) == ("saved", 0)
    assert [path for path in (root / "assets").rglob("*") if path.is_file()]
    assert str(root) in hour.crontab
    everything = hour.shown + hour.config.read_text("utf-8") + hour.crontab
    assert not [secret for secret in hour.secrets if secret in everything]
    assert hour.verified == 0
    stored = picture_of(language).read_text("utf-8")
    assert text_in(stored) == text_in(drawn(hour)), "the recording is not current: make first-hour"
