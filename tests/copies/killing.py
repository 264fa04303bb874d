"""Transfer a copy in child processes, kill each one some calls later than the last, and check the result.

Run as ``python -m tests.copies.killing TEMPLATE FOLDER WAY STEP MOST``; WAY is ``push``, ``pull``, or ``pull-together``,
in which two pictures become durable together. It kills a process at every STEP-th call, MOST times at most, and prints
one JSON object. It is a separate process because it forks.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exporter.archive.archive import Archive
from exporter.copies import incoming
from exporter.copies.folder import FolderStore
from tests.copies.support import damages, files_in, findings, pulled, pushed
from tests.support.disks import without_waiting

CALLS = ("fsync", "rename", "replace", "mkdir", "rmdir", "unlink", "link", "write", "open", "truncate")


def transfer(way: str, source: Path, target: Path) -> None:
    """Push an archive to a store, or pull a copy into a folder."""
    if way == "push":
        pushed(source, FolderStore(target))
    else:
        pulled(FolderStore(source), target)


def killed_at(number: int, way: str, source: Path, target: Path) -> bool:
    """Transfer in a child process that is killed before its ``number``-th call; return whether it was killed."""
    child = os.fork()
    if child == 0:
        left = number

        def counted(call: Callable[..., Any]) -> Callable[..., Any]:
            def run(*arguments: Any, **options: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*arguments, **options)

            return run

        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        try:
            transfer(way, source, target)
        except BaseException:  # noqa: BLE001
            os._exit(2)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in {0, -signal.SIGKILL}:
        raise SystemExit(f"the transfer failed before call {number}")
    return status != 0


def faults_of(way: str, source: Path, target: Path) -> list[str]:
    """Return the problems that the kill left: damage, and versions that differ from the source."""
    if not (target / "archive.json").is_file():
        return []
    found = (
        damages(target)
        if way == "pull"
        else [each for each in findings(FolderStore(target)) if "unfinished" not in each]
    )
    # A run's line may be missing, because its version is stored first.
    found = [each for each in found if "chain-broken runs" not in each]
    ours, theirs = files_in(source), files_in(target)
    manifests = [name for name in theirs if name.endswith("/manifest.json")]
    found += [f"{name} is another one" for name in manifests if theirs[name] != ours[name]]
    for name in manifests:
        folder = name.rpartition("/")[0]
        found += [
            f"{each} is missing" for each in ours if each.startswith(f"{folder}/") and theirs.get(each) != ours[each]
        ]
    if manifests:
        newest = max(Archive.open(target).versions()) if way == "pull" else len(manifests)
        found += [] if newest == len(manifests) else [f"{newest} versions and {len(manifests)} manifests"]
    return found


def main(template: Path, folder: Path, way: str, step: int, most: int) -> dict[str, Any]:
    """Kill the transfer at one call after another; check each result, and complete it."""
    os.fsync = without_waiting  # type: ignore[assignment]  # is called with descriptors only
    if way == "pull-together":
        incoming._MOST_ALONE, incoming._FILES_TOGETHER, way = 0, 2, "pull"  # type: ignore[misc]  # few at once
    report: dict[str, Any] = {"kills": 0, "faults": []}
    whole = files_in(template)
    number = 1
    while report["kills"] < most:
        target = folder / "target"
        shutil.rmtree(target, ignore_errors=True)
        if not killed_at(number, way, template, target):
            break
        report["kills"] += 1
        report["faults"] += [f"after {number}: {fault}" for fault in faults_of(way, template, target)]
        transfer(way, template, target)
        if files_in(target) != whole:
            report["faults"].append(f"completed after {number}: it is not the same")
        left = [path.name for path in (target / ".work").iterdir() if path.name.startswith(("incoming", "new-version"))]
        if way == "pull" and left:
            report["faults"].append(f"completed after {number}: {left} is left")
        number += step
    return report


if __name__ == "__main__":
    sys.stdout.write(
        json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
    )
