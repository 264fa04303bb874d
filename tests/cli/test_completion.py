"""In a real shell, the completion script completes commands, options, values and folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.support.runs import Runs

ASK = """
compopt() {{ echo "$@"; }}  # which the real one does only while somebody types
eval "$(blog-exporter completion bash)"
COMP_WORDS=({words} '{last}'); COMP_CWORD={at}
_blog_exporter_completion blog-exporter
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


CASES: dict[tuple[str, ...], list[str]] = {
    ("ver",): ["verify"],
    ("backup", "--refr"): ["--refresh"],
    ("backup", "--refresh", "a"): ["all", "auto"],
    ("backup", "--profile", "n"): ["ninja"],
    ("show", "archive", "com"): ["comment", "comments"],
}
"""What completes the last of these words."""


def test_words_are_completed(runs: Runs, tmp_path: Path) -> None:
    """As the script asks for them."""
    for words, expected in CASES.items():
        asked = {"_BLOG_EXPORTER_COMPLETE": "bash_complete", "COMP_CWORD": str(len(words))}
        done = runs.run(folder=tmp_path, environ={**asked, "COMP_WORDS": " ".join(["blog-exporter", *words])})
        assert [line.removeprefix("plain,") for line in done.out.splitlines()] == expected, words


def completed(folder: Path, *words: str) -> list[str]:
    """Complete the last word in a real bash."""
    bash = shutil.which("bash")
    assert bash is not None
    script = ASK.format(words=" ".join(["blog-exporter", *words[:-1]]), last=words[-1], at=len(words))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        [bash, "--norc", "-c", script], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert run.stderr == ""
    return run.stdout.split()


@pytest.mark.no_cover
@pytest.mark.thorough
def test_a_real_bash_completes(tmp_path: Path) -> None:
    for words, expected in {**CASES, ("status", "a"): ["-o", "dirnames"]}.items():
        assert completed(tmp_path, *words) == expected


@pytest.mark.parametrize(
    ("shell", "word"),
    [
        pytest.param("bash", "complete -o", marks=pytest.mark.thorough),
        ("zsh", "compdef"),
        ("fish", "complete --no-files"),
    ],
)
def test_every_shell_has_its_script(program: Program, shell: str, word: str) -> None:
    printed = program("completion", shell)
    assert printed.code == 0
    assert word in printed.out
    assert program("completion", shell, "--json").json == {"shell": shell, "script": printed.out.removesuffix("\n")}
    assert program("completion", "csh").code == 2
