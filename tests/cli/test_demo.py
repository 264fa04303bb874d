"""``demo`` on a real terminal: the commands that it prints, in a shell, and its offer to open the site."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import exporter
from tests.cli.test_advice import Words
from tests.support.runs import Runs
from tests.support.terminal import Terminal

BIN = Path(sys.executable).parent
QUESTION = "Open the blog in your browser now? [Y/n]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a name that a shell splits, and a link to the environment of this process as ``.venv``."""
    made = tmp_path / "潮だまり's  blog $HOME"
    made.mkdir()
    (made / ".venv").symlink_to(BIN.parent)
    return made


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user's environment without the program on PATH, and with a browser that writes down the opened addresses."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {shlex.quote(str(tmp_path / "opened"))}\n')
    browser.chmod(0o755)
    return {
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "PATH": "/usr/bin:/bin",
        "BROWSER": f"{browser} %s",
        "TERM": "dumb",
    }


def commands_in(shown: str, words: str) -> list[str]:
    """Return every command that a text shows, from its first word to the end of its line."""
    found = [line[line.index(f"{words} ") :] for line in shown.splitlines() if f"{words} " in line]
    assert all("blog-exporter" not in line or words in line for line in shown.splitlines())
    return found


RELATIVE = ".venv/bin/blog-exporter"
ABSOLUTE = str(BIN / "blog-exporter")
MODULE = str(Path(exporter.__file__).with_name("__main__.py"))


@pytest.fixture(scope="module")
def words() -> Iterator[Words]:
    with Words() as started:
        yield started


def test_every_printed_command_works_as_printed_and_enter_opens_the_site(
    runs: Runs, words: Words, folder: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    directory = "日記 と $(touch owned)"
    terminal = Terminal(runs, ["demo", directory], folder, environment, RELATIVE)
    terminal.answer(QUESTION, "")
    assert terminal.end() == 0, terminal.shown
    assert (tmp_path / "opened").read_text() == (folder / directory / "latest" / "site" / "index.html").as_uri()
    commands = commands_in(terminal.shown, RELATIVE)
    assert len(commands) >= 5, terminal.shown
    for command in commands:
        typed = words.of(command.replace(RELATIVE, "blog-exporter", 1))
        done = runs.run(*typed, folder=folder, environ=environment, name=RELATIVE)
        assert done.code == 0, (command, done.err)
        assert done.out, command
    assert not (folder / "owned").exists()


def in_shell(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def words_in(code: int, said: str) -> str:
    """Return the words before the arguments of a command that the program suggests."""
    assert code == 10, said
    return said.partition("To begin a new archive there: ")[2].partition(" backup ")[0]


def words_shown(runs: Runs, name: str, folder: Path, environment: dict[str, str]) -> str:
    """Return these words for a program with this path."""
    done = runs.run("backup", "./nowhere", folder=folder, environ=environment, name=name)
    return words_in(done.code, done.err)


@pytest.mark.parametrize(
    ("name", "words"),
    [(RELATIVE, RELATIVE), (ABSOLUTE, ABSOLUTE), (MODULE, f"{sys.executable} -m exporter")],
    ids=["relative", "absolute", "module"],
)
def test_commands_begin_as_the_user_began(
    runs: Runs, folder: Path, environment: dict[str, str], name: str, words: str
) -> None:
    assert words_shown(runs, name, folder, environment) == words


@pytest.mark.thorough
@pytest.mark.parametrize("program", [RELATIVE, ABSOLUTE, f"{sys.executable} -m exporter"])
def test_commands_begin_as_the_user_began_in_a_shell(folder: Path, environment: dict[str, str], program: str) -> None:
    done = in_shell(f"{program} backup ./nowhere", folder, environment)
    assert words_in(done.returncode, done.stderr) == program


def test_a_program_on_path_is_named_shortly(
    runs: Runs, folder: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    own = tmp_path / "own-bin"
    own.mkdir()
    on_path = {**environment, "PATH": f"{own}:/usr/bin:/bin"}
    (own / "blog-exporter").symlink_to(BIN / "blog-exporter")
    # The interpreter gets the path that the shell found.
    assert words_shown(runs, str(own / "blog-exporter"), folder, on_path) == "blog-exporter"
    assert words_shown(runs, MODULE, folder, on_path) == "blog-exporter"
    (own / "blog-exporter").unlink()
    (own / "blog-exporter").write_text("#!/bin/sh\necho another program\n")
    (own / "blog-exporter").chmod(0o755)
    assert words_shown(runs, RELATIVE, folder, on_path) == RELATIVE
    assert words_shown(runs, "./blog-exporter", folder / ".venv" / "bin", on_path) == "./blog-exporter"


@pytest.mark.thorough
def test_the_program_in_the_cache_of_uvx_is_named_by_uvx(folder: Path, environment: dict[str, str]) -> None:
    made = folder / "archive-v0" / "h4sh"
    made.parent.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    packages = next(made.glob("lib/python*/site-packages"))
    (packages / "program.pth").write_text("\n".join(path for path in sys.path if path), encoding="utf-8")
    uvx = {**environment, "UV": "/usr/bin/uv", "PATH": f"{made / 'bin'}:/usr/bin:/bin"}
    done = in_shell(f"{shlex.quote(str(made / 'bin' / 'python'))} -m exporter backup ./nowhere", folder, uvx)
    assert words_in(done.returncode, done.stderr) == "uvx blog-exporter"


def test_json_names_the_program_alone(folder: Path, environment: dict[str, str]) -> None:
    done = in_shell(".venv/bin/blog-exporter backup ./nowhere --json", folder, environment)
    assert ": .venv/bin/blog-exporter backup NAME.blog.example.jp" in done.stderr
    assert ": blog-exporter backup NAME.blog.example.jp" in done.stdout


@pytest.mark.thorough
def test_the_question_in_japanese_and_without_a_browser(
    runs: Runs, folder: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    no_browser = {**environment, "BROWSER": "/bin/false %s", "BLOG_EXPORTER_LANG": "ja"}
    terminal = Terminal(runs, ["demo"], folder, no_browser)
    terminal.answer("[Y/n]", "はい")
    assert terminal.end() == 0, terminal.shown
    assert str(folder / "demo-archive" / "latest" / "site" / "index.html") in terminal.shown.split("[Y/n]")[1]


@pytest.mark.thorough
def test_ctrl_d_at_the_question_leaves_the_finished_demo(
    runs: Runs, folder: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    terminal = Terminal(runs, ["demo"], folder, environment)
    terminal.answer(QUESTION, "\x04")
    assert terminal.end() == 0, terminal.shown
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize("options", [["-q"], pytest.param(["--yes"], marks=pytest.mark.thorough)])
def test_nothing_is_asked(
    runs: Runs, options: list[str], folder: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    terminal = Terminal(runs, ["demo", *options], folder, environment)
    assert terminal.end() == 0, terminal.shown
    assert "[Y/n]" not in terminal.shown
    assert not (tmp_path / "opened").exists()
