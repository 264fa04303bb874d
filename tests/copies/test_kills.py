"""A transfer killed at any call leaves complete versions, and the next transfer completes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.copies import incoming
from exporter.copies.folder import FolderStore
from tests.copies.support import damages, files_in, findings, pulled, pushed
from tests.support.instants import CALLS, instants

pytestmark = pytest.mark.no_cover

WRITING = (*CALLS, "write", "open", "truncate")


def transfer(way: str, source: Path, target: Path) -> None:
    """Push an archive to a store, or pull a copy into a folder."""
    if way == "push":
        pushed(source, FolderStore(target))
    else:
        pulled(FolderStore(source), target)


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
    # The seal of a new copy is stored last, after the lines of runs.
    if not (target / "SHA256SUMS").exists():
        found = [each for each in found if each != "seal-damaged SHA256SUMS"]
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


@pytest.mark.parametrize(
    ("way", "together", "step"),
    [
        ("push", False, 89),
        ("pull", False, 61),
        ("pull", True, 67),
        *(
            pytest.param(way, together, step, marks=pytest.mark.thorough)
            for way, together, step in (("push", False, 4), ("pull", False, 3), ("pull", True, 3))
        ),
    ],
)
@pytest.mark.sample(1)
def test_kills(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, together: bool, step: int
) -> None:
    if together:  # two pictures become durable together
        monkeypatch.setattr(incoming, "_MOST_ALONE", 0)
        monkeypatch.setattr(incoming, "_FILES_TOGETHER", 2)
    whole = files_in(sample)
    target = tmp_path / "target"
    with instants(target, tmp_path / "instants", step=step, calls=WRITING) as copies:
        transfer(way, sample, target)
    assert len(copies) > 200 // step
    faults = []
    for number, copy in enumerate(copies):
        faults += [f"after {number}: {fault}" for fault in faults_of(way, sample, copy)]
        transfer(way, sample, copy)
        if files_in(copy) != whole:
            faults.append(f"completed after {number}: it is not the same")
        work = copy / ".work"
        left = [path.name for path in work.iterdir() if path.name.startswith(("incoming", "new-version"))]
        if way == "pull" and left:
            faults.append(f"completed after {number}: {left} is left")
    assert faults == []
