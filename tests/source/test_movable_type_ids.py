"""Which record is which in a newer file: by content, never by its place."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.model.kinds import Kind
from tests.cli.conftest import Program
from tests.service.movable_type_shapes import SHAPES, made_posts, written
from tests.source.reading import back_up, comments_in, posts_in

DAY = "03/01/2024"
MINUTE = "03/01/2024 10:00"
SECOND = "03/01/2024 10:00:01"


def entry(title: str, text: str, date: str = DAY, *comments: str, name: str = "") -> str:
    name = f"BASENAME: {name}\n" if name else ""
    head = f"AUTHOR: umi\nTITLE: {title}\n{name}STATUS: Publish\nDATE: {date}\n-----\nBODY:\n{text}\n-----\n"
    return head + "".join(f"COMMENT:\n{each}\n-----\n" for each in comments) + "--------\n"


def said(writer: str, text: str, date: str = DAY) -> str:
    return f"AUTHOR: {writer}\nDATE: {date}\n{text}"


async def changes(tmp_path: Path, *files: str | Iterable[str]) -> list[str]:
    """Back up one file after another; return the changes of the last: ``put entries TITLE`` or ``remove …``."""
    root = tmp_path / "archive"
    before: dict[str, str] = {}
    for number, each in enumerate(files):
        path = tmp_path / f"{number}.txt"
        path.write_text(each if isinstance(each, str) else "".join(each), "utf-8")
        if number:
            before = names(root)
        saved = await back_up(path, root, accept_removals=True)
        assert saved.outcome.exit_code == 0, saved.outcome.problems
    after = names(root)
    newest = root / "versions" / f"{Archive.open(root).versions()[-1]:06}"
    if newest.name != f"{len(files):06}":
        return []
    return sorted(
        f"{line['op']} {kind} {after.get(line['id']) or before[line['id']]}"
        for kind in (Kind.ENTRIES, Kind.COMMENTS)
        if (newest / f"{kind}.jsonl").is_file()
        for line in map(json.loads, (newest / f"{kind}.jsonl").read_text("utf-8").splitlines())
    )


def names(root: Path) -> dict[str, str]:
    """Return titles of entries and texts of comments by their ids."""
    return {
        **{key: post.title for key, post in posts_in(root).items()},
        **{key: comment.text for key, comment in comments_in(root).items()},
    }


SIX = {
    "titles": [entry(f"題{number}", f"本文{number}") for number in range(6)],
    "texts": [entry("無題", f"本文{number}") for number in range(6)],
    "no titles": [entry("", f"本文{number}", MINUTE) for number in range(6)],
    "names": [entry("無題", f"本文{number}", name=f"n{number}") for number in range(6)],
    "no dates": [entry(f"題{number}", f"本文{number}", "") for number in range(6)],
    "comments": [
        entry("無題", f"本文{number}", DAY, said("a", f"{number}"), said("a", "同じ"), said("b", "同じ"), said("a", "同じ")) for number in range(6)
    ],
    "one entry": [entry("無題", "本文", DAY, *(said("a", f"{number}") for number in range(6)))],
    "equal": [entry("無題", "本文")] * 6,
}  # fmt: skip


@pytest.mark.parametrize("posts", SIX)
async def test_the_order_of_a_file_means_nothing(posts: str, tmp_path: Path) -> None:
    assert await changes(tmp_path, SIX[posts], reversed(SIX[posts])) == []
    assert len(posts_in(tmp_path / "archive")) == len(SIX[posts])


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHAPES)
async def test_so_it_is_in_files_of_every_service(name: str, tmp_path: Path) -> None:
    posts = made_posts(3, 30)
    root = tmp_path / "archive"
    for number, each in enumerate((posts, posts[::-1], posts[:7] + posts[8:])):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(written(each, SHAPES[name]))
        saved = await back_up(path, root)
        assert saved.outcome.exit_code == 0, saved.outcome.problems
        changed = {
            path.parent.name
            for kind in ("entries", "comments")
            for path in root.glob(f"versions/*/{kind}.jsonl")
            if path.stat().st_size
        }
        assert changed == ({"000001"} if number < 2 else {"000001", "000003"})
    newest = root / "versions" / "000003"
    lines = [json.loads(line) for line in (newest / "entries.jsonl").read_text("utf-8").splitlines()]
    assert [line["op"] for line in lines] == ["remove"]


async def test_the_order_of_comments_means_nothing(tmp_path: Path) -> None:
    comments = [said("a", f"{number}") for number in range(6)]
    files = [entry("題", "本文", DAY, *each) for each in (comments, comments[::-1])]
    assert await changes(tmp_path, *files) == []


@pytest.mark.parametrize("posts", ["titles", "texts", "no titles", "names", "no dates"])
@pytest.mark.parametrize("gone", [0, 3, 5])
async def test_a_deleted_entry_leaves_the_others_their_history(posts: str, gone: int, tmp_path: Path) -> None:
    left = [each for number, each in enumerate(SIX[posts]) if number != gone]
    (change,) = await changes(tmp_path, SIX[posts], left)
    assert change.startswith("remove entries")
    kept = {post.raw["BODY"] for post in posts_in(tmp_path / "archive").values()}
    assert kept == {f"本文{number}" for number in range(6) if number != gone}


async def test_so_does_a_deleted_comment(tmp_path: Path) -> None:
    first, second = said("a", "一つ目"), said("a", "二つ目")
    files = [entry("題", "本文", DAY, *each) for each in ([first, second], [second])]
    assert await changes(tmp_path, *files) == ["remove comments 一つ目"]


@pytest.mark.parametrize("order", [1, -1])
async def test_the_last_one_that_is_left_keeps_its_history_and_a_new_one_gets_another(
    order: int, tmp_path: Path
) -> None:
    first, second, third = (entry("無題", f"本文{number}") for number in range(3))
    await changes(tmp_path, [first, second][::order], [second])
    (key,) = posts_in(tmp_path / "archive")
    (tmp_path / "next").mkdir()
    for texts in ([third, second][::order], [third, second.replace("本文1", "直した本文1")]):
        path = tmp_path / "next" / "export.txt"
        path.write_text("".join(texts), "utf-8")
        await back_up(path, tmp_path / "archive", accept_removals=True)
        posts = posts_in(tmp_path / "archive")
        assert len(posts) == 2
        assert posts[key].raw["BODY"].endswith("本文1")


EDITS = {
    "text": (entry("題", "本文"), entry("題", "直した本文")),
    "title": (entry("題", "本文"), entry("直した題", "本文")),
    "title and text": (entry("題", "本文", SECOND), entry("直した題", "直した本文", SECOND)),
    "date": (entry("題", "本文", SECOND), entry("題", "本文", "03/01/2024 10:00:02")),
    "everything but the name": (entry("題", "本文", name="umi"), entry("直した題", "直した本文", SECOND, name="umi")),
    "a name": (entry("題", "本文"), entry("題", "本文", name="umi")),
}


@pytest.mark.parametrize("edit", EDITS)
async def test_an_edited_entry_keeps_its_history_and_its_comments(edit: str, tmp_path: Path) -> None:
    comment = f"COMMENT:\n{said('a', 'こんにちは')}\n-----\n--------\n"
    before, after = (each.removesuffix("--------\n") + comment for each in EDITS[edit])
    other = entry("別", "別の本文")
    (change,) = await changes(tmp_path, [before, other], [other, after])
    assert change.startswith("put entries")
    assert len(posts_in(tmp_path / "archive")) == 2


async def test_an_edited_comment_keeps_its_history(tmp_path: Path) -> None:
    files = [entry("題", "本文", DAY, said("a", "一つ目"), each) for each in (said("a", "誤"), said("a", "正"))]
    assert await changes(tmp_path, *files) == ["put comments 正"]


async def test_another_entry_in_the_place_of_a_deleted_one_is_new(tmp_path: Path) -> None:
    files = entry("題", "本文", MINUTE), entry("別", "別の本文", MINUTE)
    assert await changes(tmp_path, *files) == ["put entries 別", "remove entries 題"]


async def test_parts_that_overlap_hold_each_entry_as_often_as_one_part_does(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    equal, other = entry("無題", "本文", DAY, said("a", "同じ"), said("a", "同じ")), entry("題", "本文")
    for number, texts in enumerate(([equal, equal], [equal, other], [equal.replace("同じ", "別", 1), other])):
        (folder / f"{number}.txt").write_text("".join(texts), "utf-8")
    await back_up(folder, tmp_path / "archive")
    assert sorted(post.title for post in posts_in(tmp_path / "archive").values()) == ["無題", "無題", "題"]
    assert sorted(each.text for each in comments_in(tmp_path / "archive").values()) == ["別", *["同じ"] * 4]


@pytest.mark.parametrize("posts", ["titles", "texts", "no titles"])
def test_a_forgotten_entry_takes_no_other_with_it(program: Program, posts: str, tmp_path: Path) -> None:
    path, archive = tmp_path / "export.txt", tmp_path / "archive"
    path.write_text("".join(SIX[posts]), "utf-8")
    options = ("--archive", archive, "--assets", "none", "--no-site", "-q")
    assert program("backup", path, *options).code == 0
    gone = next(key for key, post in posts_in(archive).items() if post.raw["BODY"] == "本文2")
    assert program("forget", archive, "--entry", gone, "-y").code in {0, 3}
    added = entry("無題", "本文6", DAY), entry("", "本文7", MINUTE)
    path.write_text("".join([*SIX[posts][::-1], *added]), "utf-8")
    assert program("backup", path, *options, "--accept-removals").code == 0
    bodies = {post.raw["BODY"] for post in posts_in(archive).values()}
    assert bodies == {f"本文{number}" for number in range(8)} - {"本文2"}


def test_a_forgotten_comment_takes_no_other_with_it(program: Program, tmp_path: Path) -> None:
    path, archive = tmp_path / "export.txt", tmp_path / "archive"
    comments = [said("a", f"返事{number}") for number in range(4)]
    path.write_text(entry("題", "本文", DAY, *comments) + entry("別", "別の本文", DAY, *comments), "utf-8")
    options = ("--archive", archive, "--assets", "none", "--no-site", "-q")
    assert program("backup", path, *options).code == 0
    post = next(key for key, each in posts_in(archive).items() if each.title == "題")
    gone = next(key for key, each in comments_in(archive).items() if each.text == "返事1" and each.post_id == post)
    assert program("forget", archive, "--comment", gone, "-y").code in {0, 3}
    more = [*comments, said("a", "返事4")][::-1]
    path.write_text(entry("別", "別の本文", DAY, *more) + entry("題", "本文", DAY, *more), "utf-8")
    assert program("backup", path, *options, "--accept-removals").code == 0
    found = sorted(each.text for each in comments_in(archive).values())
    assert found == sorted(["返事1", *["返事0", "返事2", "返事3", "返事4"] * 2])
