from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from exporter import codec
from exporter.archive import layout as layout_module
from exporter.archive import swap
from exporter.archive.layout import FORMAT_MAXIMUM, FORMAT_MINIMUM, FORMAT_VERSION, Layout
from exporter.archive.migrations import STEPS, steps_from
from exporter.archive.migrations.apply import migrate
from exporter.archive.reader import ArchiveReader
from exporter.archive.verify import verify
from exporter.errors import ArchiveDamaged, NewerFormat, UsageError
from exporter.model.kinds import Kind
from tests.history.building import ArchiveMaker, comment, entry, plain_states


class SignedTombstones:
    """A made-up format 2: documents name a keeper, tombstones say who removed them."""

    source = 1
    summary = "tombstones are signed"

    def check(self, info: Mapping[str, Any], manifests: Sequence[Mapping[str, Any]]) -> list[str]:
        return [f"version {document['version']} is cursed" for document in manifests if document.get("cursed")]

    def info(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return {**document, "keeper": document.get("keeper", "") + "海野"}

    def manifest(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return {**document, "keeper": "海野"}

    def line(self, kind: Kind, line: bytes) -> bytes:
        if not line.startswith(b'{"op":"remove"'):
            return line
        document = codec.loads(line)
        document["evidence"]["by"] = f"{kind} keeper"
        return codec.dumps(document) + b"\n"


class Renumbered(SignedTombstones):
    """A made-up format 3."""

    source = 2

    def manifest(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return {**document, "seal": document["keeper"] + "印"}


ALL = (SignedTombstones(), Renumbered())


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setattr(layout_module, "FORMAT_MAXIMUM", 3)
    maker = ArchiveMaker(tmp_path / "archive")
    maker.commit({Kind.ENTRIES: {"1": entry("1"), "2": entry("2")}, Kind.COMMENTS: {"7": comment("7")}})
    maker.commit({Kind.ENTRIES: {"1": entry("1", "山")}, Kind.COMMENTS: {"7": None}})
    return maker.layout


def damages(layout: Layout) -> list[str]:
    return [f"{finding.code} {finding.path}" for finding in verify(ArchiveReader(layout.root)) if finding.damage]


def test_the_numbers_of_the_format_agree() -> None:
    assert FORMAT_MINIMUM <= FORMAT_VERSION <= FORMAT_MAXIMUM
    assert [step.source for step in STEPS] == list(range(1, FORMAT_VERSION))


def test_steps_are_taken_in_order() -> None:
    assert steps_from(1, ALL[::-1], 3) == ALL
    assert steps_from(3, ALL, 3) == ()
    with pytest.raises(NewerFormat):
        steps_from(4, ALL, 3)
    with pytest.raises(LookupError):
        steps_from(1, ALL[1:], 3)


def test_an_archive_of_the_current_format_is_left_alone(layout: Layout) -> None:
    before = {path: path.read_bytes() for path in layout.root.rglob("*") if path.is_file()}
    assert migrate(layout, [1, 2]) == ()
    assert {path: path.read_bytes() for path in layout.root.rglob("*") if path.is_file()} == before


def test_a_migrated_archive_is_whole(layout: Layout) -> None:
    before = plain_states(layout.root)
    assert migrate(layout, [1, 2], steps=ALL, target=3) == ALL
    assert damages(layout) == []
    assert plain_states(layout.root) == before
    info = codec.loads(layout.info.read_bytes())
    assert (info["format_version"], info["keeper"]) == (3, "海野海野")
    manifest = codec.loads(layout.manifest(2).read_bytes())
    assert (manifest["format_version"], manifest["seal"]) == (3, "海野印")
    (tombstone,) = layout.segment(2, Kind.COMMENTS).read_bytes().splitlines()
    assert codec.loads(tombstone)["evidence"]["by"] == "comments keeper"
    assert migrate(layout, [1, 2], steps=ALL, target=3) == ()


def test_a_step_that_cannot_be_taken_changes_nothing(layout: Layout) -> None:
    path = layout.manifest(2)
    path.write_bytes(path.read_bytes().replace(b'"version": 2,', b'"version": 2, "cursed": true,'))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="cannot be migrated to format 2: version 2 is cursed"):
        migrate(layout, [1, 2], steps=ALL, target=3)
    assert path.read_bytes() == before


@pytest.mark.parametrize("what", ["segment", "chain", "manifest", "missing"])
def test_damage_is_not_migrated(layout: Layout, what: str) -> None:
    path = {"segment": layout.segment(1, Kind.ENTRIES)}.get(what, layout.manifest(1))
    if what == "missing":
        path.unlink()
    else:
        path.write_bytes(b"nonsense" if what == "manifest" else path.read_bytes() + b"\n")
    with pytest.raises(ArchiveDamaged):
        migrate(layout, [1, 2], steps=ALL, target=3)
    assert codec.loads(layout.info.read_bytes())["format_version"] == 1
    assert not swap.building_place(layout).exists()


def test_a_migration_cut_short_after_the_number_is_finished(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain_states(layout.root)

    def cut(found: Layout) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(swap, "put_in_place", cut)
        with pytest.raises(KeyboardInterrupt):
            migrate(layout, [1, 2], steps=ALL, target=3)
    assert codec.loads(layout.info.read_bytes())["format_version"] == 3
    assert plain_states(layout.root) == before
    migrate(layout, [1, 2], steps=ALL, target=3)
    assert damages(layout) == []
    assert codec.loads(layout.info.read_bytes())["keeper"] == "海野海野"


def test_an_archive_without_versions_is_migrated_too(tmp_path: Path) -> None:
    maker = ArchiveMaker(tmp_path / "archive")
    migrate(maker.layout, [], steps=ALL, target=3)
    assert codec.loads(maker.layout.info.read_bytes())["format_version"] == 3
    assert maker.layout.versions.is_dir()


def test_an_archive_of_a_newer_format_is_refused(layout: Layout) -> None:
    migrate(layout, [1, 2], steps=ALL, target=3)
    with pytest.raises(NewerFormat):
        migrate(layout, [1, 2], steps=ALL, target=2)
