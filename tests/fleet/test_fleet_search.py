"""``fleet search``: its results, damaged and forged indexes, and updates of the index."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter import lossless_json
from exporter.archive.fleet_folder import archive_named, archive_place
from exporter.clock import SystemClock
from exporter.errors import NoArchive
from exporter.fleet import search as searching
from exporter.fleet.local_pool import LocalPool
from exporter.fleet.search import FleetSearchResult, search, update_index
from exporter.fleet.search_index import index_folder, index_path, made_at
from exporter.fleet.shards import ShardCounts
from exporter.search.query import parse_query
from exporter.settings import resolve
from tests.archive.builder import Built
from tests.fleet.building import build_blog, changes, entry
from tests.fleet.shelf import shelf

SETTINGS = resolve({}, environ={})


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shelf(tmp_path_factory.mktemp("search") / "fleet")


@pytest.fixture
def fleet(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "fleet"))


def update(root: Path, workers: int = 1) -> ShardCounts:
    return update_index(root, SETTINGS, LocalPool(workers), SystemClock())


def counts(updated: ShardCounts) -> tuple[int, int, int]:
    return updated.blogs, updated.read, updated.kept


def find(root: Path, *words: str, kind: str | None = None, since: str | None = None, limit: int = 20, by_date: bool = False) -> FleetSearchResult:  # fmt: skip
    query = parse_query(words, kind, since, limit=limit, by_date=by_date, timezone=SETTINGS.timezone)
    return search(root, query, SETTINGS)


def shown(result: FleetSearchResult) -> list[tuple[str, str, str]]:
    return [(each.blog_id, each.hit.kind, each.hit.record_id) for each in result.hits]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_words_in_all_blogs(fleet: Path, workers: int) -> None:
    assert made_at(fleet) is None
    assert counts(update(fleet, workers)) == (3, 3, 0)
    assert made_at(fleet) is not None
    found = find(fleet, "海の日", "港")
    assert shown(found) == [("aki.example.jp", "entries", "2"), ("fuyu.example.jp", "entries", "1")]
    assert (found.total, found.blogs, found.outdated) == (2, 2, 0)
    first = found.hits[0].hit
    assert [first.excerpt.text[start:end] for start, end in first.excerpt.marks] == ["海の日", "港"]
    assert found.hits[0].document()["blog_id"] == "aki.example.jp"
    # One character, other widths and cases, and a comment, which is found by its entry.
    assert find(fleet, "海").total == 3
    assert shown(find(fleet, "ＳＰＲＩＮＧ")) == [("haru.example.com", "entries", "1")]
    (comment,) = find(fleet, "いいね").hits
    assert (comment.hit.kind, comment.hit.entry_id, comment.hit.title) == ("comments", "1", "記事1")
    assert shown(find(fleet, "読めない")) == [("aki.example.jp", "entries", "3")]
    assert find(fleet, "どこにもない").total == 0


def test_filters_order_and_limit(fleet: Path) -> None:
    build_blog(fleet, "natsu.example.jp", [entry(1, year="2024", title="遠い海"), entry(2, year="2022", title="港")])
    update(fleet)
    assert shown(find(fleet, "港", kind="file"))[0][0] == "aki.example.jp"
    assert [each[0] for each in shown(find(fleet, "海", since="2023-01-01"))] == ["natsu.example.jp"]
    best = find(fleet, "海", limit=1)
    assert (shown(best), best.total) == ([("natsu.example.jp", "entries", "1")], 5)
    newest = find(fleet, "港", by_date=True, kind="entry")
    assert [each[2] for each in shown(newest)][:2] == ["1", "2"]
    assert shown(find(fleet, "港", kind="entry"))[0] == ("natsu.example.jp", "entries", "2")


def test_only_changed_archives_are_read_again(fleet: Path) -> None:
    update(fleet)
    assert counts(update(fleet)) == (3, 0, 3)
    Built.reopen(archive_place(fleet, "fuyu.example.jp")).commit(
        changes(entries={"1": None, "2": entry(2, title="雪")})
    )
    gone = find(fleet, "1番目")
    assert (gone.total, gone.outdated, gone.hits) == (1, 1, [])
    assert find(fleet, "雪").total == 0
    assert counts(update(fleet)) == (3, 1, 2)
    assert (find(fleet, "1番目").total, find(fleet, "雪").total) == (0, 1)
    shutil.rmtree(archive_place(fleet, "fuyu.example.jp").parent)
    assert counts(update(fleet)) == (2, 0, 2)
    assert find(fleet, "雪").total == 0


def test_a_damaged_archive_keeps_its_indexed_text(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update(fleet)
    place = archive_place(fleet, "aki.example.jp")
    shutil.rmtree(place / "latest")
    (place / "versions/000001/entries.jsonl").write_bytes(b"{")
    runs = place / "runs.jsonl"
    runs.write_bytes(runs.read_bytes() + b"\n")
    for _ in range(2):
        assert [name for name, _ in update(fleet).trouble] == [archive_place(Path(), "aki.example.jp").as_posix()]
    found = find(fleet, "いいね")
    assert (found.total, found.outdated) == (1, 1)


def test_an_archive_without_a_version_and_a_stranger(fleet: Path, tmp_path: Path) -> None:
    shard = archive_place(fleet, "fuyu.example.jp").parent
    (shard / "no blog").symlink_to(tmp_path)
    (trouble,) = update(fleet).trouble
    assert trouble[0] == f"{shard.name}/no blog"
    with pytest.raises(NoArchive):
        update(tmp_path)


def test_a_forged_index_shows_only_text_of_the_archives(fleet: Path, tmp_path: Path) -> None:
    outside = build_blog(tmp_path / "outside", "secret.example.jp", [entry(1, title="秘密")]).root
    update(fleet)
    shard = archive_place(fleet, "fuyu.example.jp").parent.name
    path = index_path(fleet, shard)
    head = path.read_bytes().split(b"\n")[0] + b"\n"
    line = 'entries\t"1"\t\t\t秘密\t\t\t\t\t\t\t\n'.encode()
    names = [str(outside), f"../../outside/{outside.parent.name}/secret.example.jp", "fuyu.example.jp", ".", "\ud800"]
    forged = (
        b"".join(b"@\t%b\tx\t%d\n%b" % (lossless_json.dumps(name), len(line), line) for name in names)
        + "@\tnot json\tx\t5\nentries\tx秘密\nfiles\t秘密\n".encode()
    )
    path.write_bytes(head + forged)
    found = find(fleet, "秘密")
    assert (found.hits, found.total, found.outdated) == ([], 5, 5)
    # Text that an archive no longer confirms is removed by the next update.
    update(fleet)
    assert find(fleet, "秘密").total == 0


@pytest.mark.parametrize("content", [b"", b"other\n", b"@\n", b"x" * 9000])
def test_an_invalid_index_is_made_again(fleet: Path, content: bytes) -> None:
    update(fleet)
    for path in index_folder(fleet).iterdir():
        path.write_bytes(content)
    assert find(fleet, "海").total == 0
    assert counts(update(fleet)) == (3, 3, 0)
    assert find(fleet, "海").total == 3


def test_a_large_index_is_searched_by_several_processes(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update(fleet)
    monkeypatch.setattr(searching, "_ONE_PROCESS_BYTES", 1)
    query = parse_query(["海"], limit=5)
    assert len(search(fleet, query, SETTINGS, 2).hits) == 3


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "x\0", "\ud800", "a\x1bb", "missing.example.jp"])
def test_no_archive_has_such_a_name(fleet: Path, name: str) -> None:
    assert archive_named(fleet, name) is None
