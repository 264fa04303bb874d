"""Print the tests of the rooms that changed since the last commit on main: ``python -m tests.support.changed``.

That is everything that differs from ``origin/main``, or from ``main`` in a repository without it, also uncommitted.
A room is a package or a module of exporter/; its tests are the folder or the file of that name.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
ALWAYS = "tests/test_architecture.py"
"""Any change of a module can break the order of the rooms."""

ELSEWHERE = {
    "frozen": ("tests/model",),
    "message": ("tests/translation",),
    "setting_types": ("tests/test_settings.py",),
}
"""Modules without tests of their own: the tests of what is made of them."""


def changed() -> list[str]:
    """Return the paths of changed and new files, relative to the repository."""
    bases = [name for name in ("origin/main", "main") if _git("rev-parse", "--verify", "--quiet", name)]
    begin = _git("merge-base", "HEAD", bases[0]) if bases else ["HEAD"]
    return _git("diff", "--name-only", "--diff-filter=d", *begin) + _git("ls-files", "--others", "--exclude-standard")


def chosen_for(paths: Iterable[str]) -> list[str]:
    """Return the files and folders of tests for these changes, without those that another one contains."""
    found = {each for path in paths for each in _tests_of(Path(path)) if (ROOT / each).exists()}
    return sorted(str(each) for each in found if not found & set(each.parents))


def _tests_of(path: Path) -> Iterator[Path]:
    top, *rest = path.parts
    if top == "exporter" and path.suffix == ".py":
        yield Path(ALWAYS)
        room = rest[0].removesuffix(".py")
        yield from map(Path, ELSEWHERE.get(room, (f"tests/{room}", f"tests/test_{room}.py")))
    elif top == "tests" and rest:
        # A helper among the tests of a room concerns the room; one for all tests concerns too many to choose from.
        if path.name.startswith("test_") and path.suffix == ".py":
            yield path
        elif len(rest) > 1:
            yield Path(top, rest[0])
    elif path.suffix == ".md":
        yield from (Path("tests/docs"), Path("tests/test_docs.py"))


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    chosen = chosen_for(changed())
    sys.stderr.write(f"Tests of what changed: {' '.join(chosen) or 'none'}\n")
    sys.stdout.write(" ".join(chosen or [ALWAYS]) + "\n")
