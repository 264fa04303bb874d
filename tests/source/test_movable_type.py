"""Backups from files in Movable Type's import format: every record, twice, edited, cut, packed, overlapping."""

from __future__ import annotations

import gzip
import json
import pickle
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from exporter.archive.archive import Archive
from exporter.model.kinds import Kind
from exporter.model.records import Audience, CommentKind
from exporter.service.registry import service_of
from exporter.settings import Settings
from tests.source.reading import SETTINGS, back_up, comments_in, posts_in
from tests.support.export_texts import CATEGORIES, MadeEntry, made_entries, written


@pytest.fixture(scope="module")
def some(entries: list[MadeEntry]) -> list[MadeEntry]:
    """The first forty of them."""
    return entries[:40]


@pytest.fixture(scope="module")
def entries() -> list[MadeEntry]:
    """273 entries, of which 148 have several categories and 3 are drafts."""
    return list(made_entries())


def changes(root: Path) -> list[str]:
    """Return the records that the newest version changed: ``put entries 20060401073000``."""
    archive = Archive.open(root)
    newest = archive.versions()[-1]
    folder = root / "versions" / f"{newest:06}"
    return [
        f"{line['op']} {kind} {line['id'].partition('-')[0]}"
        for kind in Kind
        if kind is not Kind.ASSETS and (folder / f"{kind}.jsonl").is_file()
        for line in map(json.loads, (folder / f"{kind}.jsonl").read_text("utf-8").splitlines())
    ]


@pytest.mark.parametrize(
    "encoding", ["euc_jp", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("utf-8", "cp932"))]
)
async def test_everything_of_a_blog_is_in_the_archive(entries: list[MadeEntry], encoding: str, tmp_path: Path) -> None:
    saved = await back_up(written(tmp_path / "export.txt", entries, encoding), tmp_path / "archive")
    assert (saved.outcome.outcome, saved.outcome.exit_code, saved.notes) == ("saved", 0, ())
    posts, comments = posts_in(tmp_path / "archive"), comments_in(tmp_path / "archive")
    assert len(posts) == 273
    assert sum(len(post.categories) > 1 for post in posts.values()) == 148
    assert sum(post.audience is Audience.DRAFT for post in posts.values()) == 3
    for made, post in zip(entries, posts.values(), strict=True):
        assert (post.title, post.slug) == (made.title, f"post_{made.number}")
        assert post.date is not None
        assert post.date.replace(tzinfo=None) == made.when
        assert tuple(category.name for category in post.categories) == made.categories
        assert post.raw["BODY"] == made.body
        assert (post.raw["EXTENDED BODY"], post.excerpt) == (made.more, made.excerpt)
    said = {(comment.name, comment.text, comment.kind) for comment in comments.values()}
    assert said == {
        (each.author, each.text, CommentKind.TRACKBACK if each.ping else CommentKind.COMMENT)
        for made in entries
        for each in made.comments
    }
    assert len(comments) == sum(len(made.comments) for made in entries)
    counted = Counter(comment.post_id for comment in comments.values())
    items = dict(Archive.open(tmp_path / "archive").records(Kind.ENTRY_LIST))
    assert all(items[key]["comments"] == counted[key] for key in posts)
    assert {name for item in items.values() for name in item["categories"]} == set(CATEGORIES)


async def test_the_file_itself_is_kept_as_it_is(entries: list[MadeEntry], tmp_path: Path) -> None:
    path = written(tmp_path / "export.txt", entries[:5])
    await back_up(path, tmp_path / "archive")
    kept = [each.read_bytes() for each in (tmp_path / "archive" / "assets").rglob("*.txt")]
    assert kept == [path.read_bytes()]


async def test_the_same_file_twice_makes_one_version(some: list[MadeEntry], tmp_path: Path) -> None:
    path = written(tmp_path / "export.txt", some)
    for _ in range(2):
        saved = await back_up(path, tmp_path / "archive")
    assert saved.outcome.outcome == "unchanged"
    assert Archive.open(tmp_path / "archive").versions() == [1]


async def test_one_edited_entry_is_one_change(some: list[MadeEntry], tmp_path: Path) -> None:
    path, root = tmp_path / "export.txt", tmp_path / "archive"
    await back_up(written(path, some), root)
    edited = [replace(each, body="書き直しました。") if each.number == 20 else each for each in some]
    await back_up(written(path, edited), root)
    assert changes(root) == [f"put entries {some[20].when:%Y%m%d%H%M%S}"]


async def test_a_missing_entry_becomes_a_tombstone_with_its_proof(some: list[MadeEntry], tmp_path: Path) -> None:
    path, root = tmp_path / "export.txt", tmp_path / "archive"
    await back_up(written(path, some), root)
    await back_up(written(path, [each for each in some if each.number != 20]), root)
    key = f"{some[20].when:%Y%m%d%H%M%S}"
    assert changes(root) == [f"remove entries {key}", f"remove entry_list {key}"]
    (line,) = map(json.loads, (root / "versions" / "000002" / "entries.jsonl").read_text("utf-8").splitlines())
    assert line["evidence"]["absent_in_file"] == "export.txt"
    assert len(line["evidence"]["file_sha256"]) == 64


async def test_other_orders_and_line_ends_change_nothing(some: list[MadeEntry], tmp_path: Path) -> None:
    root = tmp_path / "archive"
    await back_up(written(tmp_path / "a.txt", some), root)
    text = "".join(each.text() for each in reversed(some)).replace("\n", "\r\n")
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    await back_up(tmp_path / "b.txt", root)
    assert Archive.open(root).versions() == [1, 2], "the new file is kept"
    assert changes(root) == []


@pytest.mark.parametrize("form", ["zip", "gz", "folder"])
async def test_a_packed_or_split_file(form: str, some: list[MadeEntry], tmp_path: Path) -> None:
    parts = some[:25], some[20:]
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, part in enumerate(parts):
        written(folder / f"{number}.txt", part)
    path = folder
    if form == "zip":
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for each in sorted(folder.iterdir()):
                packed.write(each, f"blog/{each.name}")
    elif form == "gz":
        path = tmp_path / "export.txt.gz"
        path.write_bytes(gzip.compress("".join(each.text() for each in some).encode()))
    saved = await back_up(path, tmp_path / "archive")
    assert saved.outcome.exit_code == 0
    assert [post.title for post in posts_in(tmp_path / "archive").values()] == [each.title for each in some]
    assert len(comments_in(tmp_path / "archive")) == sum(len(each.comments) for each in some)


async def test_a_file_cut_short_is_read_to_its_end(entries: list[MadeEntry], tmp_path: Path) -> None:
    path = tmp_path / "export.txt.gz"
    path.write_bytes(gzip.compress("".join(each.text() for each in entries).encode())[:-500])
    saved = await back_up(path, tmp_path / "archive")
    assert saved.outcome.exit_code == 3
    assert len(posts_in(tmp_path / "archive")) > 200
    assert "could not be read to its end" in saved.outcome.problems[0].reason


async def test_each_part_of_a_joined_file_is_decoded_and_bytes_in_doubt_are_named(
    some: list[MadeEntry], tmp_path: Path
) -> None:
    parts = [(some[:3], "utf-8"), (some[3:6], "euc_jp"), (some[6:9], "cp932")]
    data = b"".join("".join(each.text() for each in part).encode(encoding) for part, encoding in parts)
    (tmp_path / "joined.txt").write_bytes(data)
    saved = await back_up(tmp_path / "joined.txt", tmp_path / "archive")
    assert saved.outcome.exit_code == 0
    assert len(saved.notes) == 2, "one note for each other encoding"
    assert [post.title for post in posts_in(tmp_path / "archive").values()] == [each.title for each in some[:9]]
    (tmp_path / "doubt.txt").write_bytes(data.replace("海".encode("euc_jp"), b"\xff\x81", 1))
    saved = await back_up(tmp_path / "doubt.txt", tmp_path / "doubt")
    assert (saved.outcome.outcome, saved.outcome.exit_code) == ("partial", 3)
    (problem,) = saved.outcome.problems
    assert problem.reason.startswith("doubt.txt, line ")
    assert "became U+FFFD" in problem.reason
    assert "became U+FFFD" in (tmp_path / "doubt" / "versions" / "000001" / "manifest.json").read_text("utf-8")


async def test_entries_of_the_same_second_are_all_kept_and_equal_ones_are_several(tmp_path: Path) -> None:
    same = [replace(each, when=next(made_entries()).when) for each in made_entries(40, several=0, drafts=0)]
    twice = [*same, *same[:10]]
    root = tmp_path / "archive"
    for _ in range(2):
        await back_up(written(tmp_path / "export.txt", twice), root)
    assert sorted(post.title for post in posts_in(root).values()) == sorted(each.title for each in twice)
    assert len(comments_in(root)) == sum(len(each.comments) for each in twice)
    assert Archive.open(root).versions() == [1]


async def test_the_time_zone_is_that_of_the_settings(entries: list[MadeEntry], tmp_path: Path) -> None:
    settings = Settings(assets="none", markdown=False, site=False, timezone=ZoneInfo("Europe/Paris"))
    await back_up(written(tmp_path / "export.txt", entries[:2]), tmp_path / "archive", settings)
    items = Archive.open(tmp_path / "archive").records(Kind.ENTRY_LIST)
    assert next(items)[1]["date"] == "2006-04-01T07:30:00+02:00"


def test_child_processes_can_take_over_the_reading_of_records() -> None:
    service = pickle.loads(pickle.dumps(service_of(SETTINGS, "movable-type")))
    assert service.post({"id": "1", "TITLE": "海"}).title == "海"


async def test_the_views_show_it(entries: list[MadeEntry], tmp_path: Path) -> None:
    await back_up(written(tmp_path / "export.txt", entries[:9]), tmp_path / "archive", Settings(assets="none"))
    latest = tmp_path / "archive" / "latest"
    pages = [each.read_text("utf-8") for each in (latest / "markdown").rglob("20*.md")]
    assert len(pages) == 9
    assert all("港まで" in page or "南蛮漬け" in page for page in pages)
    assert (latest / "site" / "index.html").is_file()
