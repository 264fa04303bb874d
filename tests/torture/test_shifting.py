"""A blog that its owner edits while it is read: every record that did not change meanwhile is in the backup."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from tests.support.generated import generated_blog
from tests.support.mutation import Mutator
from tests.support.runs import (
    Runs,
    State,
    all_findings,
    backup_command,
    canonical,
    folded,
    held,
    lines_of_runs,
    serving,
)

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = pytest.mark.no_cover


def lost(mutator: Mutator, found: State) -> list[str]:
    """Return the records that never changed and are missing from the backup or differ there."""
    return [
        f"{kind} {record_id}"
        for kind, name in ((Kind.ENTRIES, "entries"), (Kind.COMMENTS, "comments"), (Kind.FILES, "files"))
        for record_id, sent in mutator.standing(name).items()
        if found[kind].get(record_id) != canonical(sent)
    ]


def shifting(runs: Runs, root: Path, *, seed: int, every: int, most: int, newest_first: bool = True) -> dict[str, int]:
    """Back up a blog while it changes, and then once more without changes; return figures."""
    blog = generated_blog(90, 130, 90, seed=seed + 1)
    with serving(blog, newest_first=newest_first) as service:
        mutator = Mutator(blog, every=every, most=most, seed=seed)
        service.before = mutator
        command = backup_command(service, root, "--assets", "embedded", "--no-markdown", "--no-site")
        done = runs.run(*command)
        assert done.code in {0, 3}, done.err
        assert all_findings(root) == []
        missing = lost(mutator, folded(root))
        run = lines_of_runs(root)[-1]
        assert run["sweeps"] == run["completeness"]["sweeps"] >= 2
        if not run["completeness"]["sweeps_agreed"]:
            assert "kept changing" in done.err
        service.before = None
        # Without changes, the archive equals the service's content; records that it lost are removed on evidence.
        assert runs.run(*command, "--accept-removals").code == 0
        assert folded(root) == held(blog)
        assert all_findings(root) == []
    return {
        "lost": len(missing),
        "changes": mutator.done.total(),
        "sweeps": run["sweeps"],
        "unsettled": not run["completeness"]["sweeps_agreed"],
        "incomplete": done.code == 3,
    }


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.sample(1)
def test_records_are_added_removed_and_changed_while_lists_are_read(
    runs: Runs, tmp_path: Path, newest_first: bool
) -> None:
    figures = shifting(runs, tmp_path / "a", seed=5, every=2, most=9, newest_first=newest_first)
    assert figures["lost"] == 0
    assert figures["changes"] == 9
    assert figures["sweeps"] > 2


def test_a_blog_that_never_stops_changing(runs: Runs, tmp_path: Path) -> None:
    figures = shifting(runs, tmp_path / "a", seed=2, every=3, most=10_000)
    assert figures["unsettled"]
    assert figures["sweeps"] == 4
    assert figures["lost"] == 0


@pytest.mark.slow
def test_a_hundred_backups_of_a_blog_that_changes(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    total: dict[str, int] = {}
    for seed in range(100):
        figures = shifting(
            runs, tmp_path / str(seed), seed=seed, every=1 + seed % 5, most=4 + seed % 40, newest_first=seed % 3 > 0
        )
        for name, value in figures.items():
            total[name] = total.get(name, 0) + value
    with capsys.disabled():
        sys.stdout.write(
            f"\n100 backups of a blog that changed meanwhile: {total['lost']} records lost of those that stood, "
            f"{total['changes']} changes, {total['sweeps']} sweeps, {total['unsettled']} never settled, "
            f"{total['incomplete']} reported incomplete\n"
        )
    assert total["lost"] == 0
