"""Every command that the program prints in a test is run there and then, exactly as printed.

The run sees the test's folder and its services, and leaves no trace in the folder (:mod:`tests.support.overlay`). With
the variable ``PRINTED`` set to a folder, each process writes there which call of ``suggested`` printed which command and
how it ended; ``python -m tests.support.printed FOLDER`` then names the calls whose command nobody ran.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import exporter
from exporter.errors import BlogExporterError, UsageError
from exporter.message import PROGRAM, CommandLine

if TYPE_CHECKING:
    from tests.support.runs import Done, Run, Zygote

PACKAGE: Final = Path(exporter.__path__[0])
FILLED: Final = {
    "FILE": "export.txt", "DIR": "new-archive", "ADDRESS": "nobody.blog.example.jp", "NEW_ADDRESS": "nobody.blog.example.jp",
    "URL": "http://127.0.0.1:9", "https://api.example.jp": "http://127.0.0.1:9",
}  # fmt: skip
"""Words that a person replaces, and what replaces them here; the run may then fail, but not for its form."""
EXCUSED: Final = (
    "is unknown. Name it with --base-url", "A schedule needs the address of the service", "There is no terminal",
)  # fmt: skip
"""What commands say of an archive that a test wrote without a backup, so that nothing remembers its service, and questions."""
_NEXT: Final = re.compile(rf": {PROGRAM} (.+)$", re.MULTILINE)
Site = str
_made: dict[str, Site] = {}
_tried: set[Site] = set()
_zygotes: list[Zygote] = []
_state = {"paused": True}


def run_with(zygote: Zygote) -> None:
    """Run printed commands as forks of this process from now on."""
    _zygotes[:] = [zygote]


def pause(*, paused: bool) -> None:
    """Run no printed command until further notice, because a test counts what its services receive."""
    _state["paused"] = paused


def is_paused() -> bool:
    """Return whether no printed command is run."""
    return _state["paused"]


def record() -> None:
    """Note from now on which call made each command line."""

    def new(cls: type[CommandLine], text: str = "") -> CommandLine:
        caller = sys._getframe(2)
        path = Path(caller.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            _made[text] = f"{path.relative_to(PACKAGE)}:{caller.f_lineno}"
        return str.__new__(cls, text)

    # A class in its place could not be pickled.
    CommandLine.__new__ = new  # type: ignore[method-assign, assignment]  # only for tests


def made() -> dict[str, Site]:
    """Return the command lines that this process made since the last call, and which call made each."""
    found = dict(_made)
    _made.clear()
    return found


def try_here(output: str, folder: Path) -> None:
    """Run the commands that this process printed, with its variables, in the present folder if it is in the test's.

    Args:
        output: what the program printed, or the text of a page.
        folder: the test's folder, in which nothing changes.
    """
    from tests.support.runs import Runs  # noqa: PLC0415 - its processes import this module

    found = _untried(made(), output) if _zygotes else {}
    if not found:
        return
    with Runs(folder.with_name(f"{folder.name}-printed"), _zygotes[0], workers=False) as runs:
        place = Path.cwd() if Path.cwd().is_relative_to(folder) else folder
        environ = {**os.environ, "BLOG_EXPORTER_RETRIES": "0"}
        start = partial(runs.start, folder=place, environ=environ, rehearsed=folder)
        try_printed(found, output, start)


def try_printed(found: dict[str, Site], output: str, start: Callable[..., Run]) -> None:
    """Run the command lines that an output shows, as a person would after copying them; one of each call is enough.

    Args:
        found: the command lines that the program made, and which call made each.
        output: what it printed.
        start: starts a run whose changes only it sees.

    Raises:
        AssertionError: the program refuses a command line, or fails unexpectedly.
    """
    for line, site in _untried(found, output).items():
        _tried.add(site)
        _try(site, line, start)


def _untried(found: dict[str, Site], output: str) -> dict[str, Site]:
    """Return the command lines that an output shows, of calls whose command was not run yet; nothing while paused."""
    if _state["paused"]:
        return {}
    return {line: site for line, site in found.items() if line[len(PROGRAM) :] in output and site not in _tried}


def _try(site: Site, line: str, start: Callable[..., Run]) -> None:
    words = shlex.split(line)[1:]
    filled = [FILLED.get(word, word) for word in words]
    done = start(*filled).wait()
    next_step = _NEXT.search(done.err)
    if done.code == UsageError.exit_code and next_step is not None:
        # The archive is another person's, whose settings are used only after a confirmation.
        done = start(*shlex.split(next_step[1])).wait()
    _note(site, line, done)
    refused = done.code in {UsageError.exit_code, BlogExporterError.exit_code} and ": error: " in done.err
    fails = "Traceback" in done.err or (refused and not any(each in done.err for each in EXCUSED))
    assert filled != words or not fails, (line, done)


def _note(site: Site, line: str, done: Done) -> None:
    """Write down how a run ended."""
    folder = os.environ.get("PRINTED")
    if folder:
        with (Path(folder) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(
                json.dumps(
                    {
                        "site": site,
                        "command": line,
                        "code": done.code,
                        "err": done.err,
                        "test": os.environ.get("PYTEST_CURRENT_TEST"),
                    }
                )
                + "\n"
            )


def sites() -> set[Site]:
    """Return all calls of ``suggested``."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "suggested":
                found.add(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return found


def main(folder: Path) -> int:
    """Print what was run; return 1 if a call's command was not."""
    lines = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()]
    ran = {line["site"] for line in lines}
    missing = sorted(sites() - ran)
    sys.stdout.write(f"calls: {len(sites())}, run: {len(sites()) - len(missing)}, runs: {len(lines)}\n")
    sys.stdout.writelines(f"never run: {site}\n" for site in missing)
    return bool(missing)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
