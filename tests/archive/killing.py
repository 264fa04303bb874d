"""Prune an archive's copies in child processes, kill each one call later than the last, and check the result.

Run as ``python -m tests.archive.killing TEMPLATE FOLDER WAY KEEP``; WAY is ``exchange`` or ``rename``. It prints one
JSON object. It is a separate process because it forks.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.history import version_rows
from exporter.archive.layout import Layout, recover_versions
from exporter.archive.prune import PrunePlan, plan_prune, prune
from exporter.archive.verify import verify
from tests.archive.versions import plain_states

CALLS = ("rename", "replace", "fsync", "unlink", "rmdir", "link")


def plan_of(layout: Layout, keep_last: int) -> PrunePlan:
    rows = version_rows(Archive.open(layout.root))
    return plan_prune([(row.version, datetime.fromisoformat(row.finished_at)) for row in rows], keep_last=keep_last)


def prune_killed_at(layout: Layout, keep_last: int, number: int) -> bool:
    """Prune in a child process that is killed before its ``number``-th call; return whether the prune was completed."""
    plan = plan_of(layout, keep_last)
    return killed_at(lambda: prune(layout, plan), number, CALLS)


def killed_at(act: Callable[[], object], number: int, calls: Sequence[str]) -> bool:
    """Act in a child process that is killed before its ``number``-th call of these functions of :mod:`os`.

    Returns:
        whether it was completed before that call.
    """
    child = os.fork()
    if child == 0:
        left = number

        def counted(call: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(*args: Any, **kwargs: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **kwargs)

            return wrapped

        for name in calls:
            setattr(os, name, counted(getattr(os, name)))
        atomic.exchange = counted(atomic.exchange)
        try:
            act()
        except BaseException:  # noqa: BLE001
            os._exit(2)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        if os.WEXITSTATUS(status) != 0:
            raise SystemExit(f"it failed at call {number}")
        return True
    return False


def faults_of(layout: Layout, expected: dict[int, Any], kept: set[int]) -> list[str]:
    """Return the archive's problems: damage, and kept versions with other contents."""
    found = [f"{finding.path}: {finding.detail}" for finding in verify(Archive.open(layout.root)) if finding.damage]
    states = plain_states(layout.root, lenient=True)
    if not kept <= states.keys():
        found.append(f"of the kept versions only {sorted(states)} are there")
    found += [f"version {number} reads back otherwise" for number in states if states[number] != expected[number]]
    return found


def main(template: Path, folder: Path, way: str, keep_last: int) -> dict[str, Any]:
    os.fsync = lambda fd: None  # a kill, unlike a power cut, loses no unsynced data
    if way == "rename":
        atomic.exchange = lambda one, other: False
    expected = plain_states(template)
    kept = {item.version for item in plan_of(Layout(template), keep_last).kept}
    report: dict[str, Any] = {"kills": 0, "absent": 0, "faults": []}
    number = 0
    done = False
    while not done:
        number += 1
        layout = Layout(folder / "archive")
        shutil.rmtree(layout.root, ignore_errors=True)
        shutil.copytree(template, layout.root)
        done = prune_killed_at(layout, keep_last, number)
        report["kills"] += not done
        if not layout.versions.exists():
            report["absent"] += 1
            recover_versions(layout)
        report["faults"] += [f"after {number}: {fault}" for fault in faults_of(layout, expected, kept)]
        prune(layout, plan_of(layout, keep_last))
        report["faults"] += [f"completed after {number}: {fault}" for fault in faults_of(layout, expected, kept)]
        rest = {path.name for path in layout.root.iterdir()} | {f".work/{path.name}" for path in layout.work.iterdir()}
        if set(Archive.open(layout.root).versions()) != kept or rest & {
            "versions.new",
            "versions.old",
            ".work/new-versions",
        }:
            report["faults"].append(f"completed after {number}: not everything is pruned or cleared")
        if sorted(path.stat().st_size for path in layout.assets.glob("*/*")) != [2]:
            report["faults"].append(f"completed after {number}: the assets are not the referenced ones")
    return report


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
