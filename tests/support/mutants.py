"""Test the tests: put each bug of ``tests/mutants.toml`` into a copy of this tree, where its tests must fail.

``python -m tests.support.mutants`` prints a line for each mutant and exits with 0 if none survived. Tests that fail
without a bug prove nothing: ``--unchanged`` runs the same tests without it, and exits with 0 if all pass.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_FAILURE: Final = re.compile(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", re.MULTILINE)


@dataclass
class Mutant:
    """A deliberate bug: ``after`` replaces ``before`` in ``file``. A user would suffer the ``harm``."""

    name: str
    file: str
    before: str
    after: str
    harm: str
    tests: str

    def source(self, root: Path) -> bytes:
        """Return the file with the bug, or end the program if ``before`` does not occur exactly once."""
        text = (root / self.file).read_text("utf-8") if (root / self.file).is_file() else ""
        if text.count(self.before) != 1:
            sys.exit(f"{self.name}: `before` occurs {text.count(self.before)} times in {self.file}, not once.")
        return text.replace(self.before, self.after).encode()


class Lane:
    """Copies of this tree, one for each job, in which pytest runs."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.outputs = Path(tempfile.mkdtemp(prefix="mutants-outputs-"))
        self.killed = 0
        self._trees: asyncio.Queue[Path] = asyncio.Queue()

    async def run(self, mutants: list[Mutant]) -> None:
        """Test all mutants and print a line for each."""
        with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
            for job in range(min(self.options.jobs, len(mutants))):
                self._trees.put_nowait(_copy(Path(folder, str(job))))
            async with asyncio.TaskGroup() as group:
                for mutant in mutants:
                    group.create_task(self._test(mutant))

    async def _test(self, mutant: Mutant) -> None:
        tree = await self._trees.get()
        target, output = tree / mutant.file, self.outputs / f"{mutant.name}.txt"
        original, begun = target.read_bytes(), time.monotonic()
        _put(target, original if self.options.unchanged else mutant.source(tree))
        try:
            code = await self._pytest(tree, mutant.tests, output)
        finally:
            _put(target, original)
            self._trees.put_nowait(tree)
        failures = _FAILURE.findall(output.read_text("utf-8", "replace"))
        # Pytest exits with 1 if a test failed, with 2 if it cannot import one, and with 5 if it selected none.
        if code is None:
            words = f"killed {mutant.name} by time-out"
        elif code in {1, 2} and failures:
            words = f"killed {mutant.name} by {failures[0]}"
            if not self.options.unchanged:
                output.unlink()
        else:
            words = f"SURVIVED {mutant.name}" + {0: "", 5: ": no test ran"}.get(code, f": pytest exited with {code}")
        self.killed += words.startswith("killed")
        print(f"{words} ({time.monotonic() - begun:.0f} s)", flush=True)  # noqa: T201 - it is the program's output

    async def _pytest(self, tree: Path, tests: str, output: Path) -> int | None:
        """Return pytest's exit code, or ``None`` if the tests reached the time limit."""
        lane = ("-m", self.options.expression) if self.options.expression else ()
        # Programs that tests start elsewhere must also import the copy, not the installed tree.
        environ = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}
        with output.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", *lane, *tests.split(), cwd=tree,
                env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        try:
            return await asyncio.wait_for(process.wait(), self.options.seconds)
        except TimeoutError:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _copy(tree: Path) -> Path:
    listed = subprocess.check_output(("git", "ls-files", "-coz", "--exclude-standard"), cwd=ROOT)
    for name in os.fsdecode(listed).split("\0"):
        # Git also lists files that were deleted but not yet committed.
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    return tree


def _put(path: Path, source: bytes) -> None:
    path.write_bytes(source)
    # Python compares times in seconds, so it could take the compiled file of the version before.
    Path(cache_from_source(path)).unlink(missing_ok=True)


def main() -> int:
    """Run the tests of all mutants, or of those named."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.mutants", description="Run tests against mutants.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a mutant; without any, all run")
    parser.add_argument("--expression", default="", help="pytest's -m; without it, the quick tests run")
    parser.add_argument("--jobs", type=int, default=2, help="mutants tested at once")
    parser.add_argument("--seconds", type=float, default=240.0, help="time limit of a mutant, which then is killed")
    parser.add_argument("--unchanged", action="store_true", help="run the tests without the bugs: all must pass")
    options = parser.parse_args()
    known = [Mutant(**each) for each in tomllib.loads((ROOT / "tests/mutants.toml").read_text("utf-8"))["mutant"]]
    if unknown := set(options.names) - {mutant.name for mutant in known}:
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
    mutants = [mutant for mutant in known if not options.names or mutant.name in options.names]
    for mutant in mutants:
        mutant.source(ROOT)
    lane = Lane(options)
    asyncio.run(lane.run(mutants))
    kept = f"Output of pytest: {lane.outputs}\n" if any(lane.outputs.iterdir()) else ""
    sys.stdout.write(f"{lane.killed} of {len(mutants)} killed\n{kept}")
    return int(lane.killed != (0 if options.unchanged else len(mutants)))


if __name__ == "__main__":
    sys.exit(main())
