"""On a real disk, the paths of an archive never lead out of it."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.archive import atomic, safe_files
from exporter.archive.layout import is_inside
from exporter.archive.safe_files import FileTooLarge, HeldFolder, InnerPath, NotPlain, inner
from exporter.errors import ArchiveDamaged
from tests.archive.builder import open_files

DATA = b"of the archive"
SECRET = b"of the reader"


@pytest.fixture
def root(tmp_path: Path) -> InnerPath:
    """A root that contains a folder with a file and a folder, next to a folder of another owner."""
    (tmp_path / "root/deep/er").mkdir(parents=True)
    (tmp_path / "root/deep/file").write_bytes(DATA)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_bytes(SECRET)
    return InnerPath.rooted(tmp_path / "root")


@pytest.fixture(params=["chained", "looked at"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with openat and without it, as on other systems."""
    if request.param != "chained":
        monkeypatch.setattr(safe_files, "_CHAINED", False)


DOES: dict[str, Callable[[InnerPath], object]] = {
    "open": lambda path: path.open("rb"),
    "append": lambda path: path.open("ab"),
    "read": lambda path: path.read_bytes(),
    "unlink": lambda path: path.unlink(),
    "remove": lambda path: path.remove(),
    "rename": lambda path: path.rename(path.with_name("new")),
    "replace": lambda path: path.replace(path.with_name("new")),
    "mkdir": lambda path: (path / "made").mkdir(),
    "list": lambda path: path.parent.names(),
    "iterate": lambda path: list(path.parent.iterdir()),
    "name": lambda path: path.add_name(path.with_name("new")),
    "write": lambda path: atomic.write_file(path, b"x"),
    "line": lambda path: atomic.append_line(path, b"x\n"),
    "sync": lambda path: atomic.sync_folder(path.parent),
}


@pytest.mark.usefixtures("way")
class TestLinks:
    @pytest.mark.parametrize("do", DOES.values(), ids=DOES)
    @pytest.mark.parametrize("depth", [1, 2])
    def test_no_folder_of_the_path_may_be_a_link(
        self, root: InnerPath, do: Callable[[InnerPath], object], depth: int
    ) -> None:
        other = Path(root).parent / "other"
        above = Path(root) / "deep" if depth == 2 else Path(root)
        (above / "link").symlink_to(other)
        with pytest.raises(NotPlain, match="it is a link") as caught:
            do(root / "deep" / "link" / "file" if depth == 2 else root / "link" / "file")
        assert caught.value.filename == str(above / "link")
        assert {path.name: path.read_bytes() for path in other.iterdir()} == {"file": SECRET}

    @pytest.mark.parametrize("name", ["open", "append", "read", "line"])
    def test_no_file_may_be_a_link(self, root: InnerPath, name: str) -> None:
        link = Path(root) / "deep/link"
        link.symlink_to("../../other/file")
        with pytest.raises(NotPlain, match="it is a link"):
            DOES[name](root / "deep" / "link")
        assert (Path(root).parent / "other/file").read_bytes() == SECRET

    @pytest.mark.parametrize("name", ["unlink", "remove", "write", "replace"])
    def test_replacing_a_link_does_not_change_its_target(self, root: InnerPath, name: str) -> None:
        link = Path(root) / "deep/link"
        link.symlink_to("../../other")
        DOES[name](root / "deep" / "link")
        assert not link.is_symlink()
        assert {path.name for path in (Path(root).parent / "other").iterdir()} == {"file"}

    def test_the_root_may_be_reached_through_a_link(self, root: InnerPath) -> None:
        way = Path(root).parent / "way"
        way.symlink_to(root)
        reached = InnerPath.rooted(way)
        assert (reached / "deep" / "file").read_bytes() == DATA
        assert reached.names() == ["deep"]
        atomic.sync_folder(reached)

    def test_no_name_leads_up(self, root: InnerPath) -> None:
        with pytest.raises(NotPlain, match="a way out"):
            (root / "deep" / ".." / ".." / "other" / "file").read_bytes()

    def test_only_a_regular_file_can_be_linked(self, root: InnerPath) -> None:
        (root / "deep" / "file").add_name(root / "second")
        assert (root / "second").read_bytes() == DATA
        for path in (root / "deep" / "er", root / "nothing"):
            with pytest.raises(OSError, match=r"it is a folder|No such file"):
                path.add_name(root / "third")


@pytest.mark.usefixtures("way")
class TestHeldFolder:
    def test_its_files_are_read_by_name(self, root: InnerPath) -> None:
        with HeldFolder(root / "deep") as folder:
            assert folder.names() == ["er", "file"]
            assert folder.read_bytes("file", len(DATA)) == DATA
            assert folder.lstat("file").st_size == len(DATA)
            with pytest.raises(FileTooLarge):
                folder.read_bytes("file", len(DATA) - 1)
            with pytest.raises(FileNotFoundError):
                folder.descriptor("nothing")

    @pytest.mark.parametrize("place", ["link", "er", "pipe"])
    def test_only_regular_files_are_read(self, root: InnerPath, place: str) -> None:
        (Path(root) / "deep/link").symlink_to("../../other/file")
        os.mkfifo(Path(root) / "deep/pipe")
        with HeldFolder(root / "deep") as folder, pytest.raises(OSError, match=r"it is a|symbolic links"):
            folder.read_bytes(place, 100)

    @pytest.mark.parametrize("place", ["link", "nothing"])
    def test_if_a_folder_cannot_be_opened_its_files_cannot(self, root: InnerPath, place: str) -> None:
        (Path(root) / "link").symlink_to("../other")
        with HeldFolder(root / place) as folder:
            for read in (folder.lstat, folder.descriptor):
                with pytest.raises(OSError, match=r"it is a link|No such file"):
                    read("file")


class TestSpecialFiles:
    @pytest.mark.parametrize("name", ["open", "append", "read", "line"])
    def test_a_fifo_is_not_waited_for(self, root: InnerPath, name: str) -> None:
        os.mkfifo(root / "fifo")
        with pytest.raises(NotPlain, match="it is a FIFO"):
            DOES[name](root / "fifo")

    @pytest.mark.parametrize("name", ["open", "append", "read", "line"])
    def test_a_socket(self, root: InnerPath, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(root)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket")
        with pytest.raises(NotPlain, match="it is a socket"):
            DOES[name](root / "socket")

    @pytest.mark.parametrize("name", ["open", "append", "read", "line"])
    def test_a_folder(self, root: InnerPath, name: str) -> None:
        with pytest.raises(NotPlain, match="it is a folder"):
            DOES[name](root / "deep")

    def test_a_file_in_the_place_of_a_folder_is_reported(self, root: InnerPath) -> None:
        with pytest.raises(NotADirectoryError):
            (root / "deep" / "file" / "below").read_bytes()
        assert (root / "deep" / "file" / "below").kind() is None

    def test_nothing_keeps_a_descriptor_open(self, root: InnerPath) -> None:
        os.mkfifo(root / "fifo")
        (Path(root) / "link").symlink_to("deep")
        before = open_files()
        for path in (root / "fifo", root / "link" / "file", root / "nothing" / "file", root / "deep"):
            for do in DOES.values():
                try:
                    do(path)
                except OSError:
                    continue
        assert open_files() == before

    def test_they_are_damage(self, root: InnerPath) -> None:
        os.mkfifo(root / "fifo")
        (Path(root) / "link").symlink_to("deep")
        for name, words in (
            ("fifo", "is a FIFO, which no archive holds; remove it"),
            ("link", "move the whole archive"),
        ):
            with pytest.raises(ArchiveDamaged, match=words), atomic.translated(root):
                (root / name).read_bytes()


class TestSizes:
    def test_a_document_has_a_largest_size(self, root: InnerPath) -> None:
        path = root / "deep" / "file"
        assert path.read_bytes(len(DATA)) == DATA
        with pytest.raises(FileTooLarge):
            path.read_bytes(len(DATA) - 1)
        with pytest.raises(ArchiveDamaged, match="the limit for such a file"), atomic.translated(path):
            path.read_bytes(len(DATA) - 1)

    def test_a_file_of_holes_is_not_opened(self, root: InnerPath) -> None:
        with (Path(root) / "holes").open("wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(FileTooLarge):
            (root / "holes").open("rb")


class TestPaths:
    def test_paths_derived_from_an_inner_path_are_inner_paths(self, root: InnerPath) -> None:
        paths = [
            root / "a" / "b",
            root.joinpath("a", "b"),
            (root / "a" / "c").with_name("b"),
            (root / "a" / "b" / "c").parent,
        ]
        assert paths == [Path(root) / "a" / "b"] * 4
        assert len({*paths, Path(root) / "a" / "b"}) == 1
        assert [type(path) for path in paths] == [InnerPath] * 4

    def test_any_path_is_made_one_by_its_folder(self, root: InnerPath) -> None:
        assert inner(root / "deep") == root / "deep"
        assert inner(Path(root) / "deep" / "file").read_bytes() == DATA
        assert inner(Path()).names() == sorted(path.name for path in Path().iterdir())

    def test_folders_are_made_with_the_mode_asked_for(self, root: InnerPath) -> None:
        (root / "x" / "y").mkdir(0o700, parents=True)
        (root / "x" / "y").mkdir(0o700, exist_ok=True)
        assert stat.S_IMODE((root / "x" / "y").stat().st_mode) == 0o700
        with pytest.raises(FileExistsError):
            (root / "deep" / "file").mkdir(exist_ok=True)

    @pytest.mark.parametrize("path", ["a", "a/b.md", "2016/01/…", "..a/b..", "日記.md"])
    def test_paths_in_data(self, path: str) -> None:
        assert is_inside(path)

    @pytest.mark.parametrize(
        "path", ["", "/", "/etc/passwd", "..", "a/../b", "../a", "a/..", "./a", "a//b", "a/", "a\\b", "a\0b", "\ud800"]
    )
    def test_invalid_paths_in_data(self, path: str) -> None:
        assert not is_inside(path)
