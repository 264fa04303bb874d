"""Repair of damage: a damaged record is never served, a backup writes it again, and files get their old bytes back."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.repair import find_damage
from exporter.archive.settings_file import FILE_NAME as SETTINGS
from exporter.cli.main import main
from exporter.demo.content import Blog, fields
from exporter.model.kinds import Kind
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.pictures import png
from tests.support.records import comment_record, entry_record, file_record
from tests.support.runs import folded, held

BLOG = "healing.blog.example.jp"
USER = "0123456789abcdef0123456789abcdef"
DAY = datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001  the service sends times without an offset
DAMAGES = 60
SOME_DAMAGES = 8
LONG = 10_000
PARTS = 20


@dataclass
class Origin:
    """A running service, the archive that two runs made of it, and a copy to damage."""

    service: DemoService
    blog: Blog
    made: Path

    def order(self, root: Path) -> tuple[object, ...]:
        return (
            "backup", BLOG, "--base-url", self.service.base_url, "--archive", root, "--allow-private-network",
            "--file-url", self.service.base_url + "/v1/blog/user/{user_id}/{mtime}", "--no-site", "--retries", 0,
        )  # fmt: skip


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Origin]:
    """The service, and an archive beside the settings of the runs that made it; tests must change neither."""
    folder = tmp_path_factory.mktemp("healing")
    blog = Blog(BLOG, {"id": USER, "nickname": "まる"})
    service = DemoService(blog)
    with pytest.MonkeyPatch.context() as patch, service.run_in_thread():
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        for number in range(1, 9):
            body = f'<p>{number}<img src="{service.base_url}/{number % 3}.png"></p>'
            blog.entries[number] = entry_record(BLOG, number, f"題{number}", body, DAY, user_id=USER)
            blog.comments.append(comment_record(number, number, "だれか", f"はい{number}", DAY))
        for number in range(3):
            blog.pictures[f"{service.base_url}/{number}.png"] = png(number)
            blog.files.append(file_record(number, f"{number}.png", png(9), (2, 3), user_id=USER, mtime=7))
        blog.pictures[f"{service.base_url}/v1/blog/user/{USER}/7"] = png(9)
        found = Origin(service, blog, folder / "made")
        assert main([*map(str, found.order(found.made)), "-q"]) == 0
        blog.entries[2] = {**fields(blog.entries[2]), "title": "改題"}
        del blog.entries[8]
        del blog.comments[-1]
        assert main([*map(str, found.order(found.made)), "-q"]) == 0
        assert main(["verify", str(found.made), "-q"]) == 0
        yield found


@pytest.fixture
def origin(backed_up: Origin, tmp_path: Path) -> Origin:
    """A copy that a test may damage."""
    for name in ("made", "config"):
        shutil.copytree(backed_up.made.with_name(name), tmp_path / name)
    return Origin(backed_up.service, backed_up.blog, tmp_path / "made")


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << (at % 8) or 1
    path.write_bytes(data)


def damage(root: Path, chance: random.Random) -> str:
    """Damage a random file in a random way, and return a description."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)
    # The program can make .work again; settings.toml belongs to the user and is not part of the blog.
    files = [path for path in files if path.relative_to(root).parts[0] not in {".work", SETTINGS}]
    # Most files belong to versions or views; files that exist only once must not be chosen too rarely.
    single = [path for path in files if path.parent == root or path.name == "manifest.json"]
    path = chance.choice(single if chance.random() < 0.25 else files)
    size = path.stat().st_size
    kind = chance.choice(("flip", "flip", "flip", "cut", "delete", "swap", "line"))
    if kind == "flip":
        flip(path, chance.randrange(size))
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[: chance.randrange(size)])
    elif kind == "delete":
        path.unlink()
    elif kind == "swap":
        other = chance.choice([each for each in files if each.read_bytes() != path.read_bytes()])
        path.write_bytes(other.read_bytes())
    else:
        lines = path.read_bytes().splitlines(keepends=True)  # a picture also has such lines
        del lines[chance.randrange(len(lines))]
        path.write_bytes(b"".join(lines))
    return f"{kind} {path.relative_to(root)}"


def heals(program: Program, origin: Origin, root: Path, what: str) -> bool:
    """Check that ``verify`` finds the damage, and that one backup makes all records of the service readable again.

    Return whether no damage is left. States that the service no longer has may have no other copy.
    """
    assert program("verify", root).code == 13, what
    ran = program(*origin.order(root), "--json")
    assert ran.code in {0, 13}, (what, ran.err)
    there = held(origin.blog)
    reader = Archive.open(root)
    state = reader.state()
    try:
        read = {kind: {line.record_id: line.data for line in state.lines(kind)} for kind in there}
        pictures = [raw for _, raw in state.scan(Kind.ASSETS) if raw["refs"]]
    finally:
        state.close()
    assert read == there, what
    assert folded(root) == there, (what, "from the versions alone")
    assert len(pictures) == 4
    for raw in pictures:
        digest = raw["sha256"]
        stored = root / "assets" / digest[:2] / f"{digest}.png"
        assert stored.read_bytes() == origin.blog.pictures[raw["url"]], what
    again = program(*origin.order(root), "--json")
    assert again.json["version"] is None, (what, "a second backup has nothing to repair")
    status = program("status", root)
    left = program("verify", root, "--json")
    assert {ran.code, again.code, status.code} == {left.code}, (what, "all commands report the remaining damage")
    found = [each["path"] for each in left.answer_before_error["findings"]] if left.code else []
    assert all(re.fullmatch(r"versions/00000[12]/[a-z_]+\.jsonl", each) for each in found), (what, found)
    return not left.code


@pytest.mark.no_cover
@pytest.mark.parametrize("damages", [SOME_DAMAGES, pytest.param(DAMAGES, marks=pytest.mark.thorough)])
def test_damage_is_noticed_and_healed_by_one_backup(
    program: Program, origin: Origin, tmp_path: Path, damages: int
) -> None:
    restored = 0
    for number in range(damages):
        root = tmp_path / "copy"
        shutil.copytree(origin.made, root)
        restored += heals(program, origin, root, f"{number}: {damage(root, random.Random(number))}")
        shutil.rmtree(root)
    # The remaining damage is in lines of states that the service no longer has: no other copy exists.
    assert restored >= damages * 0.8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_ten_thousand_damages(part: int, program: Program, origin: Origin, tmp_path: Path) -> None:
    for number in range(part, LONG, PARTS):
        root = tmp_path / "copy"
        shutil.copytree(origin.made, root)
        chance = random.Random(10**6 + number)
        heals(program, origin, root, f"{number}: {damage(root, chance)}")
        shutil.rmtree(root)


def segment(root: Path, version: int, kind: Kind) -> Path:
    return root / f"versions/{version:06d}/{kind}.jsonl"


def test_a_damaged_record_is_not_served_and_not_copied_over_a_good_one(
    program: Program, origin: Origin, tmp_path: Path
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(origin.made, root)
    path = segment(root, 1, Kind.ENTRIES)
    path.write_bytes(path.read_bytes().replace("題5".encode(), "偽5".encode()))
    latest = (root / "latest/entries.jsonl").read_bytes()
    # The copy in latest/ is a second source.
    assert "題5" in program("show", root, "entry", "5", "--json").out
    assert program("rebuild", root).code == 0
    assert (root / "latest/entries.jsonl").read_bytes() == latest
    # Without it, the program refuses and names the record.
    shutil.rmtree(root / "latest")
    shutil.rmtree(root / ".work")
    for command in (
        ("show", root, "entry", "5"), ("search", root, "題"), ("rebuild", root), ("site", root, tmp_path / "site"),
        ("export", "jsonl", root, tmp_path / "out", "--public-open-flg", "1", "--visible-delete-flg", "f"), ("diff", root, "1", "2"), ("log", root, "--entry", "5"),
    ):  # fmt: skip
        done = program(*command)
        if command[0] == "diff":  # it compares other records only
            assert done.code == 0
            continue
        assert (done.code, "偽5" in done.out) == (13, False), command
        assert "5" in done.err
    assert not (root / "latest").exists()
    ran = program(*origin.order(root), "--json")
    assert (ran.code, ran.json["healed"]) == (0, 1)
    assert "Healed: 1 record of damaged versions written again" in ran.err
    manifest = Archive.open(root).manifest(3)
    assert manifest.healed is not None
    assert [(each["version"], each["file"], each["id"]) for each in manifest.healed] == [(1, "entries.jsonl", "5")]
    assert "題5" in program("show", root, "entry", "5", "--json").out
    assert "題5" in program("show", root, "entry", "5", "--json", "--at", "1").out
    assert "Restored, as first written: versions/000001/entries.jsonl." in ran.err
    assert path.read_bytes() == segment(origin.made, 1, Kind.ENTRIES).read_bytes()
    assert program("verify", root).code == 0


def test_a_record_that_the_service_no_longer_has_is_named(program: Program, origin: Origin, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(origin.made, root)
    path = segment(root, 1, Kind.ENTRIES)
    path.write_bytes(path.read_bytes().replace("題8".encode(), "偽8".encode()))
    assert program("show", root, "entry", "8").code == 13
    assert program("verify", root, "--repair").code == 13
    assert program(*origin.order(root)).code == 13
    assert program("status", root).code == 13
    assert program("show", root, "entry", "8").code == 13


def test_unchanged_entries_are_read_again_if_their_copy_is_damaged(
    program: Program, origin: Origin, tmp_path: Path
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(origin.made, root)
    path = segment(root, 1, Kind.ENTRIES)
    path.write_bytes(path.read_bytes().replace("題5".encode(), "偽5".encode()))
    shutil.rmtree(root / "latest")
    ran = program(*origin.order(root), "--refresh", "changed", "--json")
    assert (ran.code, ran.json["healed"]) == (0, 1)
    assert ran.json["completeness"]["entries"]["read"] == 1
    assert folded(root) == held(origin.blog)


@pytest.mark.parametrize("name", ["README.txt", "FORMAT.md"])
def test_repair_restores_the_documents(name: str, program: Program, origin: Origin, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(origin.made, root)
    expected = (root / name).read_bytes()
    for damaged in (expected[:-7], b"", None):
        if damaged is None:
            (root / name).unlink()
        else:
            (root / name).write_bytes(damaged)
        assert program("verify", root).code == 13
        done = program("verify", root, "--repair")
        assert (done.code, (root / name).read_bytes()) == (0, expected)
        assert f"restored: {name}" in done.out


@pytest.mark.parametrize("name", ["SHA256SUMS", "entries.jsonl", "comments.jsonl", "files.jsonl", "user.jsonl"])
def test_repair_restores_a_missing_file_of_a_version(
    name: str, program: Program, origin: Origin, tmp_path: Path
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(origin.made, root)
    path = root / "versions/000002" / name if name == "SHA256SUMS" else root / "versions/000001" / name
    expected = path.read_bytes()
    path.unlink()
    done = program("verify", root, "--repair")
    if name in {"entries.jsonl", "comments.jsonl"}:  # they hold a state that was edited or deleted later
        assert (done.code, path.exists()) == (13, False)
        assert "cannot be restored offline" in done.out
    else:
        assert (done.code, path.read_bytes()) == (0, expected)


WAYS = ["cut", "flip", "missing"]
UNIQUE = ["archive.json", "runs.jsonl", "SHA256SUMS", "versions/000001/manifest.json"]


@pytest.mark.parametrize(
    ("name", "how", "by"),
    [
        pytest.param(name, how, by, marks=() if (number + part + (by == "verify")) % 3 == 0 else pytest.mark.thorough)
        for number, name in enumerate(UNIQUE)
        for part, how in enumerate(WAYS)
        for by in ("backup", "verify")
    ],
)
def test_a_unique_file_is_restored_from_its_copy(
    name: str, how: str, by: str, program: Program, origin: Origin, tmp_path: Path
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(origin.made, root)
    path = root / name
    expected = path.read_bytes()
    if how == "cut":
        path.write_bytes(expected[: len(expected) // 2])
    elif how == "flip":
        flip(path, len(expected) // 2)
    else:
        path.unlink()
    assert program("verify", root).code == 13
    if by == "backup":
        assert program(*origin.order(root)).code == 0
        assert path.read_bytes().startswith(expected) or name == "SHA256SUMS"
    else:
        done = program("verify", root, "--repair")
        assert (done.code, path.read_bytes()) == (0, expected)
        assert f"restored: {name}" in done.out
    assert program("verify", root).code == 0


def test_a_copy_that_differs_from_the_seal_is_not_used(program: Program, origin: Origin, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(origin.made, root)
    copies = root / ".work/documents.jsonl"
    copies.write_bytes(copies.read_bytes().replace(BLOG.encode(), b"another.blog.example.jp"))
    (root / "archive.json").unlink()
    done = program("verify", root, "--repair")
    assert done.code == 10
    assert not (root / "archive.json").exists()


def test_a_lost_state_does_not_keep_the_rest_from_being_read(program: Program, origin: Origin, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(origin.made, root)
    path = segment(root, 1, Kind.ENTRIES)
    for title in ("題2", "題8"):  # edited or removed later, so no other copy of these states exists
        path.write_bytes(path.read_bytes().replace(title.encode(), title.replace("題", "偽").encode()))
    order = [option for option in origin.order(root) if option != "--no-site"]
    for _ in range(2):
        done = program(*order)
        assert done.code == 13
        assert "versions/000001/entries.jsonl" in done.err
        site = root / "latest/site"
        assert "壊れて" in (site / "history/entry-2-v1.html").read_text("utf-8")
        assert "壊れて" in (site / "history/version-2.html").read_text("utf-8")
        assert "改題" in (site / "history/entry-2-v1.html").read_text("utf-8")
        assert not any("偽" in page.read_text("utf-8") for page in site.rglob("*.html"))
    assert program("verify", root).code == 13


COPYING = [
    *(
        ("export", form, "{root}", "{out}", "--public-open-flg", "1", "--visible-delete-flg", "f")
        for form in ("hugo", "html", "markdown", "epub")
    ),
    ("export", "bagit", "{root}", "{out}", "--only", "all"),
    ("site", "{root}", "{out}"),
]


@pytest.mark.parametrize(
    ("command", "how"),
    [
        pytest.param(
            command, how, id=f"{' '.join(command[:2])}-{how}", marks=() if number % 2 == part else pytest.mark.thorough
        )
        for number, command in enumerate(COPYING)
        for part, how in enumerate(("flip", "missing"))
    ],
)
def test_a_damaged_picture_is_not_copied(
    command: tuple[str, ...], how: str, program: Program, origin: Origin, tmp_path: Path
) -> None:
    root, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(origin.made, root)
    words = [word.format(root=root, out=out) for word in command]
    for picture in [path for path in (root / "assets").rglob("*") if path.is_file()]:
        if how == "flip":
            flip(picture, picture.stat().st_size // 2)
        else:
            picture.unlink()
    refused = program(*words)
    assert (refused.code, "assets/" in refused.err) == (13, True)
    assert {path.name for path in tmp_path.iterdir()} <= {"made", "copy", "config"}
    assert program(*origin.order(root)).code == 0
    assert program(*words).code == 0


@pytest.mark.no_cover
@pytest.mark.parametrize(("versions", "in_turn"), [(30, 12), pytest.param(300, 128, marks=pytest.mark.thorough)])
def test_each_run_checks_some_of_many_versions_and_all_if_one_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: int, in_turn: int
) -> None:
    monkeypatch.setattr("exporter.archive.repair._OLDER_VERSIONS_PER_RUN", in_turn)
    made = Built(tmp_path / "archive")
    for number in range(1, versions + 1):
        made.commit({Kind.ENTRIES: {str(number): b'{"entry_id":"%d"}' % number}}, run=number == versions)
    reader = made.reader
    state = reader.state()
    days = [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 10)]
    assert not any(find_damage(reader, state, day).found for day in days)

    def damaged(day: datetime) -> list[int]:
        found = find_damage(reader, state, day)
        assert {line.version for line in found.lines} == set(map(int, found.records[Kind.ENTRIES]))
        return sorted(line.version for line in found.lines)

    for number in (5, 6):
        flip(segment(made.root, number, Kind.ENTRIES), 70)
    found = [damaged(day) for day in days]
    assert [] in found
    assert [5, 6] in found
    assert all(each in ([], [5, 6]) for each in found)
    flip(segment(made.root, versions, Kind.ENTRIES), 70)
    assert [damaged(day) for day in days] == [[5, 6, versions]] * len(days)


@pytest.mark.parametrize("version", [1, 2])
def test_a_lost_manifest_without_its_copy_is_written_again(origin: Origin, program: Program, version: int) -> None:
    manifest = origin.made / "versions" / f"{version:06}" / "manifest.json"
    right = manifest.read_bytes()
    manifest.unlink()
    shutil.rmtree(origin.made / ".work")
    assert program("verify", origin.made).code == 13
    assert program("show", origin.made, "entry", 3).code == 13
    assert program("verify", origin.made, "--repair").code == 0
    assert manifest.read_bytes() == right
    assert program(*origin.order(origin.made)).code == 0


def test_a_manifest_is_not_written_again_from_damaged_segments(origin: Origin, program: Program) -> None:
    folder = origin.made / "versions" / "000002"
    (folder / "manifest.json").unlink()
    flip(folder / "entries.jsonl", 100)
    shutil.rmtree(origin.made / ".work")
    assert program("verify", origin.made, "--repair").code == 13
    assert not (folder / "manifest.json").exists()


def emptied(root: Path, version: int) -> bytes:
    path = root / "versions" / f"{version:06}" / "entries.jsonl"
    data = path.read_bytes()
    path.write_bytes(b"")
    return data


def test_a_record_of_an_emptied_file_comes_from_latest_and_the_damage_is_reported(
    origin: Origin, program: Program
) -> None:
    whole = program("show", origin.made, "entry", 3)
    emptied(origin.made, 1)
    shown = program("show", origin.made, "entry", 3)
    assert (shown.code, shown.out) == (13, whole.out)
    assert "it has 0 bytes, and its manifest says" in shown.err
    assert program("show", origin.made, "entry", 3, "--at", 1).code == 13
    shutil.rmtree(origin.made / "latest")
    lost = program("show", origin.made, "entry", 3)
    assert (lost.code, lost.out) == (13, "")


def test_a_file_of_zeros_with_the_right_length_is_damaged(origin: Origin, program: Program) -> None:
    shutil.rmtree(origin.made / "latest")
    path = origin.made / "versions" / "000001" / "entries.jsonl"
    size = path.stat().st_size
    path.write_bytes(bytes(size))
    assert program("show", origin.made, "entry", 3).code == 13
    path.write_bytes(bytes(size - 8) + b"\n" * 8)
    assert program("show", origin.made, "entry", 3).code == 13


def test_rebuild_never_writes_a_smaller_state_over_latest(origin: Origin, program: Program) -> None:
    before = {path.name: path.read_bytes() for path in (origin.made / "latest").glob("*.jsonl")}
    kept = emptied(origin.made, 1)
    assert program("rebuild", origin.made).code == 13
    assert {path.name: path.read_bytes() for path in (origin.made / "latest").glob("*.jsonl")} == before
    # The size is right and one line is repeated: only the manifest's count shows the damage.
    path = origin.made / "versions" / "000001" / "entries.jsonl"
    lines = kept.splitlines(keepends=True)
    assert len(lines[3]) == len(lines[2])
    lines[3] = lines[2]
    path.write_bytes(b"".join(lines))
    done = program("rebuild", origin.made)
    assert done.code == 13
    assert "counts" in done.err
    assert {path.name: path.read_bytes() for path in (origin.made / "latest").glob("*.jsonl")} == before


def test_a_backup_repairs_an_emptied_file_byte_for_byte_if_it_can(origin: Origin, program: Program) -> None:
    path = origin.made / "versions" / "000002" / "comments.jsonl"
    whole = path.read_bytes()
    files = origin.made / "versions" / "000001" / "files.jsonl"
    right = files.read_bytes()
    files.write_bytes(right[: right.index(b"\n") + 1])
    assert program(*origin.order(origin.made)).code == 0
    assert files.read_bytes() == right
    assert program("verify", origin.made).code == 0
    # A tombstone has no other copy: the records are right again, and the file stays damaged.
    path.write_bytes(b"")
    assert whole
    for _ in range(3):
        assert program(*origin.order(origin.made)).code == 13
        assert program("status", origin.made).code == 13
    assert program("verify", origin.made).code == 13
    assert program("show", origin.made, "entry", 3).code == 0


def test_all_commands_report_damage_until_it_is_gone(origin: Origin, program: Program, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    heard.touch()
    order = (*origin.order(origin.made), "--on-failure", f"tee -a {heard}", "-q")
    path = origin.made / "versions" / "000002" / "comments.jsonl"
    whole = path.read_bytes()
    # The size is right, so the damage shows only when the file is read.
    path.write_bytes(bytes(byte ^ 1 if byte == ord("1") else byte for byte in whole))
    for _ in range(3):
        assert program(*order).code == 13
        shown = program("status", origin.made, "--json")
        assert (shown.code, shown.answer_before_error["damaged"]) == (13, ["versions/000002/comments.jsonl"])
        assert program("verify", origin.made).code == 13
        assert "well again" not in heard.read_text()
    path.write_bytes(whole)
    assert program("verify", origin.made).code == 0
    assert program(*order).code == 0
    assert program("status", origin.made).code == 0
    assert "well again" in heard.read_text()


def test_status_reports_the_findings_of_verify_until_they_are_gone(origin: Origin, program: Program) -> None:
    path = origin.made / "versions" / "000001" / "entries.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace("題".encode(), "顔".encode()))
    assert program("verify", origin.made).code == 13
    assert program("status", origin.made).code == 13
    path.write_bytes(whole)
    assert program("status", origin.made).code == 0


@pytest.mark.parametrize("found", ["assets/*/*", "latest/entries.jsonl", "latest/markdown/*/*/*.md"])
def test_a_damaged_picture_or_view_is_known_to_status_until_a_backup_has_made_it_again(
    origin: Origin, program: Program, found: str
) -> None:
    path = min(origin.made.glob(found))
    stamp, whole = path.stat(), bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    name = path.relative_to(origin.made).as_posix()
    assert program("verify", origin.made).code == 13
    for _ in range(2):
        shown = program("status", origin.made, "--json")
        assert (shown.code, shown.answer_before_error["damaged"]) == (13, [name])
    assert program(*origin.order(origin.made)).code == 0
    assert program("status", origin.made).code == 0
    assert program("verify", origin.made).code == 0


def test_a_damaged_picture_that_is_gone_at_its_server_is_never_called_well(origin: Origin, program: Program) -> None:
    path = min(origin.made.glob("assets/*/*"))
    whole = path.read_bytes()
    path.write_bytes(bytes(len(whole)))
    assert program("verify", origin.made).code == 13
    order = [*origin.order(origin.made), "--assets", "none"]
    for _ in range(2):
        assert program(*order).code == 13
        assert program("status", origin.made).code == 13
        assert program("verify", origin.made).code == 13
    path.write_bytes(whole)
    assert program("status", origin.made).code != 13
