"""Run one writing step repeatedly, killed before its first call that changes the disk, its second, and so on.

Run as ``python -m tests.archive.crash_child STEP TEMPLATE FOLDER``. For every such call N, FOLDER/N is a copy of
TEMPLATE in which the step was killed (SIGKILL) just before the call. In the last copy the step was completed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exporter.archive import atomic, writer
from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo
from exporter.model.kinds import Kind
from tests.archive.builder import BLOG, CREATED, Built, entry, pages, run_line
from tests.support.disks import without_waiting

CALLS = ("fsync", "rename", "replace", "mkdir", "rmdir", "unlink", "link")
NEW_VIEW = {"index.md": b"# new index\n", "2016/01/a.md": b"a\n", "2016/02/b.md": b"b\n"}


def write_file(root: Path) -> None:
    """Replace a small file."""
    atomic.write_file(root / "file", b"new" * 1000)


def create(root: Path) -> None:
    """Create an archive."""
    writer.create(Layout(root), ArchiveInfo(BLOG, CREATED))


def commit(root: Path) -> None:
    """Commit the sixth version."""
    Built.reopen(root).commit({Kind.ENTRIES: {"99": entry(99, "後")}}, run=False)


def append_run(root: Path) -> None:
    """Append the line of a run."""
    writer.append_run(Layout(root), run_line(outcome="unchanged", version=None))


def write_latest(root: Path) -> None:
    """Update ``latest/`` with a changed view."""
    Built.reopen(root).refresh(pages(NEW_VIEW))


def whole(root: Path) -> None:
    """Do everything that a run does after it has read the service."""
    commit(root)
    append_run(root)
    write_latest(root)


STEPS: dict[str, Callable[[Path], None]] = {
    step.__name__: step for step in (write_file, create, commit, append_run, write_latest, whole)
}


def kill_before(number: int) -> None:
    """Kill this process just before its ``number``-th call that changes the disk."""
    made = 0
    os.fsync = without_waiting  # type: ignore[assignment]  # only descriptors are given

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            nonlocal made
            made += 1
            if made == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return run

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))


def main(step: str, template: Path, folder: Path) -> None:
    """Run the step once for each of its calls, and kill it before that call."""
    number = 0
    status = -1
    while status != 0:
        number += 1
        root = folder / str(number)
        shutil.copytree(template, root)
        child = os.fork()
        if child == 0:
            kill_before(number)
            STEPS[step](root)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status not in {0, -signal.SIGKILL}:
            raise SystemExit(f"{step} failed before call {number}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
