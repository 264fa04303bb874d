from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.declared import FlagDeclaration, add_declaration
from exporter.archive.layout import OWNER_RECORDS
from exporter.copies.cache import Need, fetched
from exporter.copies.contents import Relation, united
from exporter.copies.folder import FolderStore
from exporter.copies.store import content_of
from exporter.errors import ArchiveDamaged, HistoriesDiffer, NoArchive
from exporter.model.kinds import Kind
from tests.archive.builder import Built
from tests.copies.conftest import PICTURES, add_pictures, asset_name, grow
from tests.copies.support import counts_all, damages, files_in, findings, ignore, pulled, pushed

MANIFEST = "versions/000003/manifest.json"


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "copy")


def test_a_restored_archive_is_byte_for_byte_the_same(source: Built, store: FolderStore, tmp_path: Path) -> None:
    plan, tally = pushed(source.root, store)
    assert files_in(tmp_path / "copy") == files_in(source.root)
    assert (plan.relation, tuple(plan.versions)) == (Relation.AHEAD, (1, 2, 3, 4, 5, 6))
    assert (tally.objects, tally.bytes) == (plan.objects, plan.bytes)
    assert counts_all(store, tmp_path / "back")
    assert files_in(tmp_path / "back") == files_in(source.root)
    assert damages(tmp_path / "copy") == damages(tmp_path / "back") == findings(store) == []


def test_the_second_time_nothing_is_sent(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    pulled(store, tmp_path / "back")
    for plan, tally in (pushed(source.root, store), pulled(store, tmp_path / "back")):
        assert (plan.relation, plan.objects, plan.bytes) == (Relation.SAME, 0, 0)
        assert (tally.objects, tally.bytes) == (0, 0)


def test_only_what_is_new_is_sent(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    pulled(store, tmp_path / "back")
    add_pictures(source, b"a third picture")
    plan, _ = pushed(source.root, store)
    assert (plan.relation, tuple(plan.versions)) == (Relation.AHEAD, (7,))
    assert [*plan.assets] == [asset_name(b"a third picture")]
    assert plan.objects == 8 + 1 + 2
    back, _ = pulled(store, tmp_path / "back")
    assert (back.relation, [*back.versions], back.objects) == (Relation.AHEAD, [7], 11)
    assert files_in(tmp_path / "back") == files_in(source.root)


def test_a_run_without_a_change_sends_two_documents(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    source.run(outcome="unchanged", version=None)
    plan, _ = pushed(source.root, store)
    assert (plan.relation, set(plan.replaced), plan.objects) == (Relation.SAME, {"runs.jsonl", "SHA256SUMS"}, 2)
    assert files_in(tmp_path / "copy") == files_in(source.root)


def test_an_archive_that_is_older_than_the_copy_sends_nothing(
    source: Built, store: FolderStore, tmp_path: Path
) -> None:
    shutil.copytree(source.root, tmp_path / "older")
    grow(source)
    pushed(source.root, store)
    before = files_in(tmp_path / "copy")
    plan, tally = pushed(tmp_path / "older", store)
    assert (plan.relation, tally.objects, files_in(tmp_path / "copy")) == (Relation.BEHIND, 0, before)
    back, _ = pulled(store, tmp_path / "older")
    assert [*back.versions] == [7]
    assert files_in(tmp_path / "older") == files_in(source.root)
    older = FolderStore(tmp_path / "older")
    grow(source)
    plan_back, tally = pulled(older, source.root)
    assert (plan_back.relation, tally.objects) == (Relation.BEHIND, 0)


def test_different_histories_are_refused_and_the_place_is_named(
    source: Built, store: FolderStore, tmp_path: Path
) -> None:
    shutil.copytree(source.root, tmp_path / "other")
    grow(source, "one")
    other = Built.reopen(tmp_path / "other")
    grow(other, "other")
    grow(other, "more")
    pushed(source.root, store)
    before = files_in(tmp_path / "copy")
    with pytest.raises(HistoriesDiffer, match="different histories after version 6"):
        pushed(other.root, store)
    with pytest.raises(HistoriesDiffer, match="different histories after version 6"):
        pulled(store, other.root)
    assert files_in(tmp_path / "copy") == before
    assert HistoriesDiffer.exit_code == 15


def test_another_blogs_copy_is_refused(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    other = tmp_path / "other"
    shutil.copytree(source.root, other)
    info = other / "archive.json"
    info.write_bytes(info.read_bytes().replace(b"2026", b"2025"))
    for name in ("SHA256SUMS",):
        (other / name).unlink()
    shutil.rmtree(other / "versions")
    (other / "versions").mkdir()
    with pytest.raises(HistoriesDiffer, match=r"copy of another archive, of sea\.example"):
        pushed(other, store)
    with pytest.raises(HistoriesDiffer, match="different archives"):
        pulled(store, other)


def test_a_place_with_other_things_is_refused(source: Built, store: FolderStore, tmp_path: Path) -> None:
    store.create("letters/1.txt", content_of(b"dear"))
    with pytest.raises(NoArchive, match="not empty and has no copy"):
        pushed(source.root, store)
    with pytest.raises(NoArchive, match="has no copy"):
        pulled(store, tmp_path / "back")
    pushed(source.root, FolderStore(tmp_path / "good"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(NoArchive, match="not empty"):
        pulled(FolderStore(tmp_path / "good"), tmp_path / "full")


@pytest.mark.parametrize(
    "name",
    [
        MANIFEST,
        "versions/000003/SHA256SUMS",
        "versions/000003/entries.jsonl",
        "versions/000001/assets.jsonl",
        asset_name(PICTURES[0]),
        "README.txt",
        "runs.jsonl",
    ],
)
def test_missing_objects_are_sent_again(source: Built, store: FolderStore, tmp_path: Path, name: str) -> None:
    pushed(source.root, store)
    store.remove(name)
    assert findings(store) != []
    _, tally = pushed(source.root, store)
    assert tally.objects == 1
    assert files_in(tmp_path / "copy") == files_in(source.root)


def spoil(path: Path) -> None:
    """Change the last byte but one of a file."""
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)


DAMAGES = {
    "versions/000006/entry_list.jsonl": None,
    "versions/000003/comments.jsonl": "versions/000003/comments.jsonl",
    MANIFEST: MANIFEST,
    "versions/000003/SHA256SUMS": "versions/000003/SHA256SUMS",
    asset_name(PICTURES[1]): asset_name(PICTURES[1]),
    "README.txt": "README.txt",
    "FORMAT.md": "FORMAT.md",
    "runs.jsonl": "runs.jsonl",
}


@pytest.mark.parametrize("name", [name for name, expected in DAMAGES.items() if expected])
def test_damaged_files_are_named_and_not_sent(source: Built, store: FolderStore, tmp_path: Path, name: str) -> None:
    spoil(source.root / name)
    plan, _ = pushed(source.root, store)
    assert name in plan.damaged
    sent = files_in(tmp_path / "copy")
    assert name not in sent
    held_back = name.startswith("versions/") and not name.endswith("comments.jsonl")
    assert {f"versions/000006/{part}" in sent for part in ("manifest.json", "entries.jsonl")} == {not held_back}
    spoil(source.root / name)
    plan, _ = pushed(source.root, store)
    assert plan.damaged == []
    assert files_in(tmp_path / "copy") == files_in(source.root)


def test_damage_repaired_by_a_later_version_stops_no_transfer(
    source: Built, store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy has the newest state, and it can be read and restored; the damaged file is named each time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name = "versions/000001/entries.jsonl"
    original = (source.root / name).read_bytes()
    (source.root / name).unlink()
    entries = source.states[-1][Kind.ENTRIES]
    rows = [{"version": 1, "file": "entries.jsonl", "line": 0, "id": None}]
    source.commit({Kind.ENTRIES: {each: data for each, (data, _) in entries.items()}}, healed=rows)
    for _ in range(2):
        plan, _ = pushed(source.root, store)
        assert plan.damaged == [name]
    assert findings(store) == [f"segment-missing {name}"]
    back = tmp_path / "back"
    for _ in range(2):
        assert pulled(store, back)[0].damaged == [name]
    for root in (back, fetched(store, Need.RECORDS, None, ignore), fetched(store, Need.PICTURES, "7", ignore)):
        state = Archive.open(root).fold(7, [Kind.ENTRIES])
        assert {each for each, _ in state.scan(Kind.ENTRIES)} == entries.keys()
        state.close()
    with pytest.raises(ArchiveDamaged, match=r"versions/000001/entries\.jsonl in .* is not what was stored"):
        fetched(store, Need.RECORDS, "6", ignore)
    (source.root / name).write_bytes(original)
    assert pushed(source.root, store)[0].damaged == []
    assert pulled(store, back)[0].damaged == []
    assert files_in(back) == files_in(tmp_path / "copy") == files_in(source.root)


@pytest.mark.parametrize("name", [name for name, expected in DAMAGES.items() if expected])
def test_local_damage_never_replaces_intact_objects(
    source: Built, store: FolderStore, tmp_path: Path, name: str
) -> None:
    pushed(source.root, store)
    good = files_in(tmp_path / "copy")
    spoil(source.root / name)
    try:
        pushed(source.root, store)
    except HistoriesDiffer:
        assert name == "runs.jsonl"
    assert files_in(tmp_path / "copy") == good


def test_nothing_is_sent_without_a_valid_archive_json(source: Built, store: FolderStore) -> None:
    info = source.root / "archive.json"
    info.write_bytes(info.read_bytes().replace(b"2026", b"2025"))
    with pytest.raises(ArchiveDamaged, match="nothing was sent"):
        pushed(source.root, store)
    (source.root / "SHA256SUMS").unlink()
    with pytest.raises(ArchiveDamaged, match="nothing was sent"):
        pushed(source.root, store)
    assert list(store.list()) == []


@pytest.mark.parametrize("name", [name for name, expected in DAMAGES.items() if expected])
@pytest.mark.sample(3)
def test_damage_in_the_copy_is_found_and_not_restored(
    source: Built, store: FolderStore, tmp_path: Path, name: str
) -> None:
    pushed(source.root, store)
    spoil(tmp_path / "copy" / name)
    assert name in "\n".join(findings(store))
    back = tmp_path / "back"
    plan, _ = pulled(store, back)
    if name == "versions/000003/SHA256SUMS":
        assert plan.damaged == []
        assert (back / name).read_bytes() == (source.root / name).read_bytes()
    else:
        assert plan.damaged == [name]
        assert name not in {each for each, data in files_in(back).items() if data}
    store.remove(name)
    pushed(source.root, store)
    plan, _ = pulled(store, back)
    assert plan.damaged == []
    assert files_in(back) == files_in(source.root)


def test_archive_json_of_a_copy_is_compared_with_its_seals(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    path = tmp_path / "copy" / "archive.json"
    path.write_bytes(path.read_bytes().replace(b"2026", b"2025"))
    for _ in range(2):
        with pytest.raises(ArchiveDamaged, match=r"archive\.json in .* is not what was stored"):
            pulled(store, tmp_path / "back")
        with pytest.raises(ArchiveDamaged, match=r"archive\.json in .* is not what was stored"):
            findings(store)
        (tmp_path / "copy" / "SHA256SUMS").unlink(missing_ok=True)
    assert not (tmp_path / "back").exists()


def test_a_damaged_picture_is_restored_from_the_copy(source: Built, store: FolderStore) -> None:
    pushed(source.root, store)
    path = source.root / asset_name(PICTURES[1])
    path.write_bytes(b"cut")
    assert damages(source.root) != []
    pulled(store, source.root)
    assert path.read_bytes() == PICTURES[1]
    assert damages(source.root) == []


def test_a_healthy_archive_reads_from_the_copy_as_from_itself(
    source: Built, store: FolderStore, tmp_path: Path
) -> None:
    pushed(source.root, store)
    copy = Built.reopen(tmp_path / "copy")
    assert copy.states == source.states
    assert Archive.open(copy.root).head() == Archive.open(source.root).head()


@pytest.mark.parametrize("name", OWNER_RECORDS)
def test_what_an_owner_recorded_grows_in_both_directions_and_is_never_replaced(
    source: Built, store: FolderStore, tmp_path: Path, name: str
) -> None:
    first = (
        b'{"at":"2026-01-01T00:00:00Z","blog_id":"a.example","address":null,"service":"blog-v1",'
        b'"settings":{"public_open_flg":"1"},"seen":{"open_flg":["1"]}}\n'
    )
    mine, copied, back = source.root / name, tmp_path / "copy" / name, tmp_path / "back" / name
    mine.write_bytes(first)
    pushed(source.root, store)
    pulled(store, tmp_path / "back")
    assert mine.read_bytes() == copied.read_bytes() == back.read_bytes() == first
    second, third = (first.replace(b"01-01T", b"01-0%dT" % day).replace(b"a.ex", b"b.ex") for day in (2, 3))
    back.write_bytes(first + third)
    plan, _ = pushed(tmp_path / "back", store)
    assert ([*plan.replaced], copied.read_bytes()) == ([name], first + third)
    plan, _ = pushed(source.root, store)
    assert (plan.replaced, plan.damaged_there) == ({}, [])
    mine.write_bytes(first + second)  # a second machine recorded something else before
    pulled(store, source.root)
    pushed(source.root, store)
    pulled(store, tmp_path / "back")
    assert mine.read_bytes() == copied.read_bytes() == back.read_bytes() == first + second + third
    assert damages(source.root) == findings(store) == []
    copied.write_bytes(b"x\n")
    for plan, _ in (pushed(source.root, store), pulled(store, source.root)):
        assert (plan.replaced, plan.damaged_there) == ({}, [name])
    assert mine.read_bytes() == first + second + third
    assert any(name in each for each in findings(store))
    for damaged in (first.replace(b"service", b"servire", 1), first.replace(b'"1"', b'"2"').replace(b"a.ex", b"c.ex")):
        copied.write_bytes(damaged)
        for plan, _ in (pushed(source.root, store), pulled(store, source.root)):
            assert (plan.replaced, plan.damaged_there) == ({}, [name])
        assert (mine.read_bytes(), copied.read_bytes()) == (first + second + third, damaged)


@pytest.mark.parametrize("seconds", [(5, 5), (5, 0)], ids=["the same second", "a clock that went back"])
def test_the_last_word_of_an_owner_stays_the_last(
    source: Built, store: FolderStore, tmp_path: Path, seconds: tuple[int, int]
) -> None:
    layout = Archive.open(source.root).layout
    for second, value in zip(seconds, ("1,2", "1"), strict=True):
        at = f"2026-03-01T12:00:0{second}Z"
        add_declaration(layout, FlagDeclaration(at, "blog-v1", {"public_open_flg": value}, {"open_flg": ("1", "2")}))
    said = layout.declared.read_bytes()
    pushed(source.root, store)
    pulled(store, tmp_path / "back")
    pulled(store, source.root)
    assert layout.declared.read_bytes() == (tmp_path / "back" / "declared.jsonl").read_bytes() == said
    later = FlagDeclaration("2026-03-01T11:00:00Z", "blog-v1", {"public_open_flg": "2"}, {"open_flg": ("1", "2")})
    other = FlagDeclaration("2026-03-02T00:00:00Z", "blog-v1", {"period_flg_public": "a"}, {"period_flg": ("a",)})
    add_declaration(layout, later)
    add_declaration(Archive.open(tmp_path / "back").layout, other)
    for root in (source.root, tmp_path / "back"):
        pushed(root, store)
    for root in (source.root, tmp_path / "back"):
        pulled(store, root)
        assert (root / "declared.jsonl").read_bytes() == said + later.line() + other.line()


def test_a_clock_that_goes_back_between_two_machines_changes_no_order() -> None:
    first, theirs, ours, last = (
        FlagDeclaration(f"2026-03-01T12:00:0{second}Z", "blog-v1", {"public_open_flg": "1"}, {}).line()
        for second in (1, 9, 5, 7)
    )
    assert united("declared.jsonl", first + ours + theirs + last, first + theirs) == first + ours + theirs + last
