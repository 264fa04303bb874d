"""The site's title: asked for once, and only if a person can answer."""

from __future__ import annotations

from pathlib import Path

from tests.support.generated import generated_blog
from tests.support.runs import Runs, backup_command, serving
from tests.support.terminal import Terminal

_QUESTION = "What is the blog called?"


def _home_page(root: Path) -> str:
    """Return the page; an address in it may break at its dots, and is read here as one word."""
    return (root / "latest" / "site" / "index.html").read_text("utf-8").replace("<wbr>", "")


def _heading(root: Path) -> str:
    return _home_page(root).split("<h1")[1].split(">")[1].split("<")[0]


def test_the_first_backup_asks_and_the_second_does_not(runs: Runs, tmp_path: Path) -> None:
    root, config = tmp_path / "archive", {"XDG_CONFIG_HOME": str(tmp_path / "config"), "TERM": "dumb"}
    with serving(generated_blog(3, 1, 1)) as service:
        command = backup_command(service, root, "--assets", "none")
        first = Terminal(runs, command, tmp_path, config)
        first.answer(_QUESTION, "潮だまり日記")
        assert first.end() == 0
        assert _heading(root) == "潮だまり日記"
        second = Terminal(runs, command, tmp_path, config)
        assert second.end() == 0
        assert _QUESTION not in second.shown
    assert _heading(root) == "潮だまり日記"


def test_without_a_terminal_there_is_no_question_and_the_address_appears_once(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    blog = generated_blog(3, 1, 1)
    with serving(blog) as service:
        done = runs.run(*backup_command(service, root, "--assets", "none"))
    assert done.code == 0
    assert _QUESTION not in done.err
    assert _heading(root) == blog.blog_id
    header = _home_page(root).split("<main")[1].split("</header>")[0]
    assert header.count(blog.blog_id) == 1
    assert header.index("ブログの保存版") > header.index("</h1>")


def test_a_title_that_is_given_is_not_asked_for(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    with serving(generated_blog(3, 1, 1)) as service:
        command = backup_command(service, root, "--assets", "none", "--title", " 海の日記\n")
        terminal = Terminal(runs, command, tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config"), "TERM": "dumb"})
        assert terminal.end() == 0
    assert _QUESTION not in terminal.shown
    assert _heading(root) == "海の日記"
