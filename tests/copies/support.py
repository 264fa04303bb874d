"""The contents of folders and their checks."""

from __future__ import annotations

from pathlib import Path

from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.copies.checks import CopyCheck
from exporter.copies.contents import Relation
from exporter.copies.pruning import CopyPrune, push_to_prune
from exporter.copies.pull import Pull
from exporter.copies.push import Push
from exporter.copies.store import Store
from exporter.copies.transfer import SyncResult, TransferCount


def files_in(root: Path) -> dict[str, bytes]:
    """Return all files in a folder except those in ``.work/`` and ``latest/``."""
    return {
        name: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and (name := path.relative_to(root).as_posix()).split("/")[0] not in {".work", "latest"}
    }


def ignore(_done: int, _total: int) -> None:
    """Ignore progress."""


def pushed(root: Path, store: Store) -> tuple[SyncResult, TransferCount]:
    """Push an archive to a store."""
    push = Push(Archive.open(root), store)
    plan = push.plan()
    return plan, push.run(plan, ignore)


def pruned(root: Path, store: Store) -> None:
    """Push a pruned archive to a store, and prune the copy."""
    push = push_to_prune(Archive.open(root), store)
    plan = push.plan()
    push.run(plan, ignore, CopyPrune(push).run if plan.relation is Relation.PRUNED else None)


def pulled(store: Store, root: Path, *, prune: bool = False) -> tuple[SyncResult, TransferCount]:
    """Pull a copy into a folder."""
    with Pull(store, root) as pull:
        plan = pull.plan(prune=prune)
        return plan, pull.run(plan, ignore)


def counts_all(store: Store, root: Path) -> bool:
    """Restore a copy into a new folder; return whether the plan, a dry run and the result count each of its files."""
    with Pull(store, root, write=False) as dry:
        wanted = dry.plan()
    plan, done = pulled(store, root)
    files = files_in(root)
    expected = len(files), sum(map(len, files.values()))
    found = [(each.objects, each.bytes) for each in (wanted, plan, done)]
    assert found == [expected] * 3, (found, expected)
    return True


def damages(root: Path) -> list[str]:
    """Return the damage that ``verify`` finds in an archive."""
    return [f"{found.code} {found.path}" for found in verify(Archive.open(root)) if found.damage]


def findings(store: Store) -> list[str]:
    """Return the findings of ``verify`` about a copy."""
    with CopyCheck(store) as check:
        return [f"{found.code} {found.path}" for found in check.findings(ignore)]
