"""Every state of a folder while something changes it: what a kill before any call would leave on the disk.

A killed process loses what it has not given to the system, and a copy of the folder does not have it either. So one
run with a copy at each call shows the same states as one killed run for each call.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import pytest

from exporter.archive import atomic
from tests.support.runs import tree

CALLS = ("fsync", "rename", "replace", "mkdir", "rmdir", "unlink", "link")


@contextmanager
def instants(root: Path, folder: Path, *, step: int = 1, calls: Sequence[str] = CALLS) -> Iterator[list[Path]]:
    """Yield a list that gets a copy of ``root`` before each call that changes the disk, and one at the end.

    Many calls, those of fsync, change nothing, so the state before the next one is not copied again.

    Args:
        root: the folder.
        folder: for the copies.
        step: copy only before every ``step``-th call.
        calls: the functions of :mod:`os` that are such calls.
    """
    copies: list[Path] = []
    before: dict[str, bytes] | None = None
    number = -1
    copying = False
    lock = RLock()  # no thread changes the disk while another one copies it

    def note() -> None:
        nonlocal before, copying, number
        if copying:
            return
        number += 1
        if number % step or not root.exists():
            return
        copying = True
        now = tree(root)
        if now != before:
            before = now
            copies.append(folder / str(number))
            copy_with_links(root, copies[-1])
        copying = False

    def noting(call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any, **options: Any) -> Any:
            with lock:
                note()
                return call(*arguments, **options)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        for name in calls:
            patch.setattr(os, name, noting(getattr(os, name)))
        patch.setattr(atomic, "exchange", noting(atomic.exchange))
        yield copies
    copies.append(folder / "end")
    copy_with_links(root, copies[-1])


def copy_with_links(root: Path, target: Path) -> None:
    """Copy a folder. Names of one file are again names of one file, so that a change of one is noticed in the other."""
    copied: dict[int, str] = {}

    def copy(source: str, to: str) -> None:
        number = Path(source).lstat().st_ino
        if number in copied:
            Path(to).hardlink_to(copied[number])
        else:
            shutil.copy2(source, to, follow_symlinks=False)
            copied[number] = to

    shutil.copytree(root, target, symlinks=True, copy_function=copy)
