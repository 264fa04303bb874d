"""Atomic writes of files and folders, private modes, and errors that say what to do."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.archive import atomic
from exporter.errors import BlogExporterError, NoSpace, UsageError
from tests.archive.builder import open_files


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Clear the umask, so that files get the requested modes."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("open_umask")
class TestModes:
    def test_every_folder_that_is_made_is_private(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o755)
        atomic.make_folder(tmp_path / "a/b/c")
        assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3
        assert mode(tmp_path) == 0o755

    def test_an_existing_folder_keeps_its_mode(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir(mode=0o755)
        atomic.make_folder(tmp_path / "a")
        assert mode(tmp_path / "a") == 0o755

    def test_files_are_private(self, tmp_path: Path) -> None:
        atomic.write_file(tmp_path / "a", b"x")
        atomic.append_line(tmp_path / "b", b"x\n")
        with atomic.hashing(tmp_path / "c") as file:
            file.close()
        assert [mode(tmp_path / name) for name in "abc"] == [0o600] * 3


def test_a_relative_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    atomic.make_folder(Path("a/b"))
    assert (tmp_path / "a/b").is_dir()


class TestWriteFile:
    def test_new_and_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        for data in (b"one", b"", b"two" * 1_000_000):
            atomic.write_file(path, data)
            assert path.read_bytes() == data
        assert list(tmp_path.iterdir()) == [path]

    def test_a_leftover_of_a_killed_run_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / ".file.tmp").write_bytes(b"half of something much longer")
        atomic.write_file(tmp_path / "file", b"new")
        assert (tmp_path / "file").read_bytes() == b"new"


class TestHashing:
    @given(st.lists(st.binary(max_size=50)))
    def test_size_and_hash_are_those_of_the_file(
        self, tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
    ) -> None:
        path = tmp_path_factory.mktemp("hash") / "file"
        with atomic.hashing(path) as file:
            for part in parts:
                file.write(part)
            digest = file.close()
        data = b"".join(parts)
        assert (path.read_bytes(), file.size, digest) == (data, len(data), hashlib.sha256(data).hexdigest())

    @pytest.mark.parametrize("sync", [True, False])
    def test_closing_syncs_the_whole_file_unless_the_caller_does(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, sync: bool
    ) -> None:
        path, synced = tmp_path / "file", []

        def fsync(handle: int) -> None:
            synced.append((os.fstat(handle).st_ino, path.read_bytes()))

        monkeypatch.setattr(os, "fsync", fsync)
        with atomic.hashing(path) as file:
            file.write(b"one line\n")
            file.close(sync=sync)
        assert synced == ([(path.stat().st_ino, b"one line\n")] if sync else [])

    def test_a_failure_closes_the_file(self, tmp_path: Path) -> None:
        before = open_files()
        with pytest.raises(TypeError), atomic.hashing(tmp_path / "file") as file:
            file.write("text")  # type: ignore[arg-type]  # causes the failure
        assert open_files() == before


class TestAppendLine:
    def test_lines_follow_each_other(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.jsonl"
        for line in (b"1\n", b"2\n", b"3\n"):
            atomic.append_line(path, line)
        assert path.read_bytes() == b"1\n2\n3\n"

    def test_an_incomplete_line_before_it_is_removed(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_bytes(b"1\n2")
        atomic.append_line(path, b"3\n")
        assert path.read_bytes() == b"1\n3\n"

    @settings(max_examples=60)
    @given(st.lists(st.integers(0, 200_000), max_size=3), st.integers(0, 200_000))
    def test_bytes_after_the_last_line_feed_are_removed(
        self, tmp_path_factory: pytest.TempPathFactory, lengths: list[int], torn: int
    ) -> None:
        path = tmp_path_factory.mktemp("torn") / "runs.jsonl"
        whole = b"".join(b"x" * length + b"\n" for length in lengths)
        path.write_bytes(whole + b"y" * torn)
        atomic.cut_torn_tail(path)
        assert path.read_bytes() == whole
        atomic.append_line(path, b"next\n")
        assert path.read_bytes() == whole + b"next\n"

    @pytest.mark.parametrize("length", [65535, 65536, 65537, 131072])
    def test_a_tail_as_long_as_a_block(self, tmp_path: Path, length: int) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_bytes(b"1\n" + b"y" * length)
        atomic.cut_torn_tail(path)
        assert path.read_bytes() == b"1\n"

    def test_a_missing_file_is_allowed(self, tmp_path: Path) -> None:
        atomic.cut_torn_tail(tmp_path / "no")
        assert list(tmp_path.iterdir()) == []


class TestFolders:
    def test_a_finished_folder_gets_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "new").mkdir()
        (tmp_path / "new/file").write_bytes(b"x")
        atomic.move_folder(tmp_path / "new", tmp_path / "name")
        assert (tmp_path / "name/file").read_bytes() == b"x"
        assert not (tmp_path / "new").exists()

    def test_a_full_folder_is_never_overwritten(self, tmp_path: Path) -> None:
        for name in ("new", "name"):
            (tmp_path / name).mkdir()
            (tmp_path / name / name).write_bytes(b"x")
        with pytest.raises(OSError, match="not empty"):
            atomic.move_folder(tmp_path / "new", tmp_path / "name")
        assert (tmp_path / "name/name").is_file()

    @pytest.mark.parametrize("old", [False, True])
    @pytest.mark.parametrize("leftover", [False, True])
    def test_a_folder_replaces_another(self, tmp_path: Path, old: bool, leftover: bool) -> None:
        new, target, aside = (tmp_path / name for name in ("new", "target", "aside"))
        for folder in (new, *([target] if old else []), *([aside] if leftover else [])):
            folder.mkdir()
            (folder / folder.name).write_bytes(b"x")
        atomic.swap_folder(new, target, aside)
        assert [path.name for path in target.iterdir()] == ["new"]
        assert [path.name for path in tmp_path.iterdir()] == ["target"]

    def test_removing_a_missing_folder_is_allowed(self, tmp_path: Path) -> None:
        atomic.remove_folder(tmp_path / "no")
        assert list(tmp_path.iterdir()) == []


class TestTranslation:
    @pytest.mark.parametrize(
        ("number", "kind", "advice"),
        [
            (errno.ENOSPC, NoSpace, "free some and run again"),
            (errno.EDQUOT, NoSpace, "free some and run again"),
            (errno.EFBIG, NoSpace, "free some and run again"),
            (errno.EACCES, UsageError, "Check its permissions, or choose another folder"),
            (errno.EROFS, UsageError, "Check its permissions, or choose another folder"),
            (errno.ENOTDIR, UsageError, "Check its permissions, or choose another folder"),
            (errno.EIO, BlogExporterError, "Cannot write"),
        ],
    )
    def test_each_error_becomes_ours(self, number: int, kind: type[BlogExporterError], advice: str) -> None:
        with pytest.raises(kind) as caught, atomic.translated(Path("/a/place")):
            raise OSError(number, os.strerror(number))
        assert type(caught.value) is kind
        assert advice in str(caught.value)
        assert "/a/place" in str(caught.value)
        assert os.strerror(number) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_the_file_that_the_system_names_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(UsageError, match=r"file/below: Not a directory"), atomic.translated(tmp_path):
            atomic.open_private(tmp_path / "file/below")

    def test_an_error_without_a_number(self) -> None:
        with pytest.raises(BlogExporterError, match="odd"), atomic.translated(Path("x")):
            raise OSError("odd")

    def test_other_errors_pass(self) -> None:
        with pytest.raises(KeyError), atomic.translated(Path("x")):
            raise KeyError("x")

    def test_a_real_limit_of_the_system(self, tmp_path: Path) -> None:
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            (tmp_path / "file").write_bytes(b"old")
            with pytest.raises(NoSpace), atomic.translated(tmp_path):
                atomic.write_file(tmp_path / "file", b"x" * 10_000)
            with pytest.raises(NoSpace), atomic.translated(tmp_path), atomic.hashing(tmp_path / "big") as file:
                file.write(b"x" * (1 << 21))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, before)
        assert (tmp_path / "file").read_bytes() == b"old"


def test_a_folder_of_many_files_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    written = atomic._WrittenFiles(tmp_path / "gone")
    for number in range(65):
        written.add(tmp_path / "gone" / str(number))
    assert len(written) == 65
    with pytest.raises(FileNotFoundError):
        list(written)
