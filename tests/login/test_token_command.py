"""A token from a command: run without a shell, once, and a second time if the service refuses the token."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from exporter.errors import BlogExporterError, NotAuthorised, UsageError
from exporter.login.source import token_of
from tests.support.generated import generated_blog
from tests.support.runs import Runs, backup_command, serving

TOKEN = "of-the-command-1"


def python(script: str) -> str:
    return shlex.join([sys.executable, "-c", script])


def test_the_output_is_the_token() -> None:
    assert token_of("echo '  t0ken ' $HOME;x") == "t0ken  $HOME;x"


@pytest.mark.parametrize(
    ("command", "kind", "said"),
    [
        ("'", UsageError, "cannot be read"),
        (" ", UsageError, "is empty"),
        ("/nowhere/pass show", UsageError, "/nowhere/pass cannot be started: No such file"),
        (python("import sys; sys.exit('first\\nlocked')"), NotAuthorised, "ended with 1: locked"),
        pytest.param("false", NotAuthorised, "ended with 1: it did not say why", marks=pytest.mark.thorough),
        pytest.param("true", NotAuthorised, "must print one line, the token", marks=pytest.mark.thorough),
        pytest.param(
            python("print('a\\nb')"), NotAuthorised, "must print one line, the token", marks=pytest.mark.thorough
        ),
        pytest.param(
            python("print('a' * 20_000)"), NotAuthorised, "must print one line, the token", marks=pytest.mark.thorough
        ),
    ],
)
def test_a_failure_is_one_line(command: str, kind: type[BlogExporterError], said: str) -> None:
    with pytest.raises(kind, match=said) as caught:
        token_of(command)
    assert "\n" not in str(caught.value)


@pytest.mark.thorough
def test_a_slow_command_is_killed_with_its_children() -> None:
    begun = time.monotonic()
    with pytest.raises(NotAuthorised, match=r"sh printed no token within 0.3 s"):
        token_of("sh -c 'sleep 30 & sleep 30'", 0.3)
    assert time.monotonic() - begun < 25


def test_a_run_repeats_the_command_if_its_token_is_refused(runs: Runs, tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = (
        f"import pathlib; p = pathlib.Path({str(count)!r}); n = len(p.read_text()) if p.exists() else 0; "
        f"p.write_text('x' * (n + 1)); print({TOKEN!r} if n else 'an-old-one')"
    )
    root = tmp_path / "archive"
    with serving(generated_blog(12, 2, 2), require_token=TOKEN) as service:
        command = backup_command(service, root, "--no-site", "--assets", "none", "-vv")
        done = runs.run(*command, environ={"BLOG_EXPORTER_TOKEN_COMMAND": python(script)})
        assert done.code == 0, done.err
        assert count.read_text() == "xx"
        assert TOKEN not in done.out + done.err
        wrong = runs.run(*command, environ={"BLOG_EXPORTER_TOKEN_COMMAND": "echo wr0ng-token"})
        assert wrong.code == 12
        assert "the token (variable BLOG_EXPORTER_TOKEN_COMMAND) was refused" in wrong.err
        assert "wr0ng-token" not in wrong.err
    for path in root.rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes()


def test_no_archive_stores_the_command(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    with serving(generated_blog(3, 1, 1)) as service:
        assert runs.run(*backup_command(service, root, "--no-site", "--assets", "none")).code == 0
    with (root / "settings.toml").open("a") as file:
        file.write('token_command = "touch evil"\n')
    refused = runs.run("backup", root)
    assert refused.code == 2
    assert "token_command is not a setting that an archive stores" in refused.err
