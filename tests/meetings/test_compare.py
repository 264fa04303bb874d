"""``compare`` after other features, each before and after the exports and the move: it names what differs, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.meetings.features import FEATURES
from tests.meetings.world import FLAGS, FORGOTTEN_POST, TOKEN, ServiceWorld
from tests.move.home import running_home
from tests.support.blog_sources import Content, WordPressApi, Wxr
from tests.wordpress.fake import LOGIN, in_thread

FORMATS = ("hugo", "markdown")
AFTER = ("prune", "forget", "rename", "folder renamed")


def meetings() -> Iterator[Any]:
    """Yield the features with both orders; a sample of them is in the lane ``test``."""
    for number, (feature, is_first) in enumerate(product(AFTER, (True, False))):
        marks = () if number in {0, 3, 5, 7} else (pytest.mark.thorough,)
        order = "before" if is_first else "after"
        yield pytest.param(feature, is_first, id=f"{feature} {order} the move", marks=marks)


@pytest.fixture(autouse=True)
def _own_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", TOKEN)
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", LOGIN[1])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Homes:
    """The folders and the WordPress that hold an archive's entries.

    Args:
        program: the command line.
        archive: the archive; its folder may move later.
        wordpress: the address of an empty WordPress.
        flags: the answers about public entries.
    """

    def __init__(self, program: Program, archive: Path, wordpress: str, *flags: str) -> None:
        self.archive, self._program, self._flags = archive, program, flags
        self._owner = ("--new-home-user", LOGIN[0], "--allow-private-network", "--only", "all")
        self._wordpress = wordpress
        self._folders = [archive.parent / f"{name}-home" for name in FORMATS]

    def fill(self) -> None:
        for name, folder in zip(FORMATS, self._folders, strict=True):
            assert self._program("export", name, self.archive, folder, *self._flags).code == 0
        move = ("move", "wordpress", self.archive, "--to", self._wordpress, *self._owner, *self._flags)
        assert self._program(*move, "--no-compare").code == 0

    def compared(self) -> Iterator[Mapping[str, Any]]:
        """Yield the result for each home, whose exit code must be that of its ``whole``."""
        for place, more in [*((folder, ()) for folder in self._folders), (self._wordpress, self._owner)]:
            done = self._program("compare", self.archive, place, *more, *self._flags, "--json")
            found = done.json if done.code == 0 else done.answer_before_error
            assert done.code == (0 if found["whole"] else 3), done
            yield found


@pytest.mark.parametrize(("feature", "is_first"), [*meetings()])
def test_nothing_is_called_missing_after(feature: str, program: Program, tmp_path: Path, *, is_first: bool) -> None:
    world = ServiceWorld(tmp_path, program)
    with world.opened():
        homes = Homes(program, world.root, world.home.url, *FLAGS)
        if not is_first:
            homes.fill()
        world.write_a_post()
        world.backup()
        if feature == "folder renamed":
            homes.archive = world.root.rename(world.root.with_name("another-folder"))
        else:
            FEATURES[feature](world).act()
        if is_first:
            homes.fill()
        extra = [world.content.posts[FORGOTTEN_POST].title] if feature == "forget" and not is_first else []
        for found in homes.compared():
            assert found["changes"] == ({} if is_first else {"missing": 1}), found
            assert [each["title"] for each in found["entries"]] == ([] if is_first else ["第101話 町へ行く"])
            assert [each["title"] for each in found["extra"]] == extra
            assert found["unchecked"] == []


@pytest.mark.parametrize("is_file_first", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_an_archive_of_a_file_and_an_api_equals_its_homes(
    program: Program, tmp_path: Path, *, is_file_first: bool
) -> None:
    content = Content.made(6)
    content.change(3, hidden=True)
    file, api = Wxr(), WordPressApi()
    with in_thread(running_home()) as home, in_thread(file.opened(tmp_path)), in_thread(api.opened(tmp_path)):
        archive = tmp_path / "archive"
        for source in (file, api) if is_file_first else (api, file):
            outcome = asyncio.run(source.read(archive, content)).outcome
        assert outcome.joined is not None
        assert outcome.joined["matched"] == 5
        homes = Homes(program, archive, home.url)
        homes.fill()
        for found in homes.compared():
            assert (found["whole"], found["changes"], found["extra"]) == (True, {}, [])
        assert program("forget", archive, "--entry", "6", "--yes").code == 0
        for found in homes.compared():
            assert (found["whole"], found["changes"], len(found["extra"])) == (True, {}, 1)
