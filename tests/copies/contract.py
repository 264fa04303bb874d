"""Tests of the behaviour that every store needs: the tests of each kind of store inherit this class."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.archive.layout import Layout
from exporter.copies.store import PIECE_BYTES, ObjectContent, Store, content_of, content_of_file, read_whole
from exporter.errors import ArchiveDamaged, NoSuchObject

NAME = "versions/000001/manifest.json"


class StoreContract:
    """The tests; a subclass has a fixture ``store`` that returns an empty store."""

    def test_a_stored_object_can_be_read_in_whole_and_in_part(self, store: Store) -> None:
        data = bytes(range(256)) * (PIECE_BYTES // 200)
        assert store.create(NAME, content_of(data))
        assert b"".join(store.read(NAME)) == data
        assert store.read_start(NAME, 10) == data[:10]
        assert store.read_start(NAME, PIECE_BYTES + 3) == data[: PIECE_BYTES + 3]
        assert store.read_start(NAME, len(data) + 2) == data

    def test_an_object_may_be_empty(self, store: Store) -> None:
        assert store.create("versions/000001/user.jsonl", content_of(b""))
        assert b"".join(store.read("versions/000001/user.jsonl")) == b""
        assert store.read_start("versions/000001/user.jsonl", 5) == b""

    def test_nothing_is_ever_overwritten_by_create(self, store: Store) -> None:
        assert store.create(NAME, content_of(b"first"))
        assert not store.create(NAME, content_of(b"second"))
        assert b"".join(store.read(NAME)) == b"first"

    def test_if_many_create_an_object_at_once_one_wins(self, store: Store) -> None:
        won: list[int] = []
        start = threading.Barrier(4)

        def create(number: int) -> None:
            start.wait()
            if store.create(NAME, content_of(b"%d" % number * 1000)):
                won.append(number)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert b"".join(store.read(NAME)) == b"%d" % won[0] * 1000

    def test_content_that_proves_wrong_during_the_upload_is_not_stored(self, store: Store, tmp_path: Path) -> None:
        path = Layout(tmp_path).root / "asset"
        path.write_bytes(b"x" * (PIECE_BYTES + 5))
        right = hashlib.sha256(path.read_bytes()).hexdigest()
        for size, sha256 in ((PIECE_BYTES + 5, "0" * 64), (PIECE_BYTES + 4, right), (PIECE_BYTES + 6, right)):
            with pytest.raises(ArchiveDamaged, match="was not sent"):
                store.create("assets/ab/abc", content_of_file(path, size, sha256))
        assert list(store.list()) == []
        assert store.create("assets/ab/abc", content_of_file(path, PIECE_BYTES + 5, right))
        assert read_whole(store, "assets/ab/abc", 1 << 30) == path.read_bytes()

    def test_a_failure_half_way_leaves_nothing(self, store: Store) -> None:
        def pieces() -> Iterator[bytes]:
            yield b"half"
            raise ArchiveDamaged("the rest is gone")

        with pytest.raises(ArchiveDamaged, match="the rest is gone"):
            store.create(NAME, ObjectContent(8, pieces))
        assert list(store.list()) == []

    def test_replace_asks_for_the_tag(self, store: Store) -> None:
        assert not store.replace("runs.jsonl", b"a", "no such tag")
        assert store.replace("runs.jsonl", b"a", None)
        assert not store.replace("runs.jsonl", b"b", None)
        (first,) = store.list()
        assert store.replace("runs.jsonl", b"other", first.tag)
        assert not store.replace("runs.jsonl", b"third", first.tag)
        (second,) = store.list()
        assert (second.name, b"".join(store.read("runs.jsonl"))) == ("runs.jsonl", b"other")
        assert second.tag != first.tag

    def test_the_list_has_all_names_or_those_below_a_folder(self, store: Store) -> None:
        names = {"archive.json", "assets/ab/abcd", "versions/000001/manifest.json", "versions/000002/manifest.json"}
        for name in names:
            store.create(name, content_of(name.encode()))
        assert {found.name for found in store.list()} == names
        assert {found.name for found in store.list("versions/")} == {name for name in names if name[0] == "v"}
        assert list(store.list("latest/")) == []
        assert all(found.size in {None, len(found.name)} for found in store.list())

    def test_a_removed_object_is_gone_and_may_come_back(self, store: Store) -> None:
        store.create(NAME, content_of(b"first"))
        store.remove(NAME)
        store.remove(NAME)
        assert list(store.list()) == []
        assert store.create(NAME, content_of(b"again"))

    def test_a_missing_object_is_named(self, store: Store) -> None:
        with pytest.raises(NoSuchObject, match=NAME):
            next(store.read(NAME))
        with pytest.raises(NoSuchObject, match=NAME):
            store.read_start(NAME, 1)
        assert store.place in str(NoSuchObject(store.place, NAME))

    def test_no_more_is_read_than_a_document_may_have(self, store: Store) -> None:
        store.create("archive.json", content_of(b"x" * 1000))
        with pytest.raises(ArchiveDamaged, match="more than 999 bytes"):
            read_whole(store, "archive.json", 999)
