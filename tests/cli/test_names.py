"""The names of a blog: recorded in its archive, known to every command and copy, and never a way into another blog."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.demo.content import Blog, fields
from exporter.library.blog_addresses import entry_addresses, home_of
from exporter.settings import Settings
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import serving

OLD, MID, NEW = "old.blog.example.jp", "mid.blog.example.jp", "new.blog.example.jp"
ENTRIES = 8


def blog_of(blog_id: str) -> Blog:
    """Return the owner's blog; its first entry links to the second one at every name."""
    blog = generated_blog(ENTRIES, 2, 0, blog_id=blog_id)
    first, second = list(blog.entries)[:2]
    links = "".join(f'<p><a href="https://{host}/Entry/{second}/">{host}</a>' for host in (OLD, MID, NEW))
    links += "".join(f'<p><a href="https://{OLD}/Entry/{number}/">{number}</a>' for number in list(blog.entries)[2:6])
    blog.entries[first] = {**fields(blog.entries[first]), "entry_text": links}
    return blog


def stranger(blog_id: str, entries: int = ENTRIES) -> Blog:
    """Return another blog, whose entries have the same ids and other titles and dates."""
    blog = generated_blog(entries, 2, 0, blog_id=blog_id)
    for number, entry in list(blog.entries.items()):
        blog.entries[number] = {**fields(entry), "title": f"theirs {number}", "year": "1999"}
    return blog


@pytest.fixture
def service() -> Iterator[DemoService]:
    with serving(blog_of(OLD)) as served:
        yield served


@pytest.fixture
def options(service: DemoService) -> list[object]:
    return [
        "--base-url", service.base_url, "--assets", "none", "--no-site", "--retries", 0,
        "--entry-url", "https://{blog_id}/Entry/{entry_id}/", "-q",
    ]  # fmt: skip


@pytest.fixture
def root(program: Program, options: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    done = program("backup", OLD, *options)
    assert done.code == 0, done.err
    return tmp_path / OLD


def move(service: DemoService, before: str, now: str, *others: Blog) -> None:
    del service.blogs[before]
    for blog in (blog_of(now), *others):
        service.blogs[blog.blog_id] = blog


def rename(program: Program, root: Path, service: DemoService, now: str = NEW) -> None:
    done = program("rename", root, now, "--base-url", service.base_url)
    assert done.code == 0, done.err


def names(root: Path) -> list[str]:
    return [json.loads(line)["blog_id"] for line in (root / "names.jsonl").read_bytes().splitlines()]


def asked(service: DemoService) -> set[str]:
    return {each.params["id"] for each in service.requests if "id" in each.params}


def files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(root.glob("versions/**/*")) if path.is_file()}


@pytest.mark.parametrize("order", ["rename first", "restore first"])
def test_a_restored_archive_knows_the_name(
    program: Program, service: DemoService, root: Path, options: list[object], tmp_path: Path, order: str
) -> None:
    move(service, OLD, NEW, stranger(OLD))
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    if order == "rename first":
        rename(program, root, service)
    assert program("sync", root, copy, "-q").code == 0
    assert program("sync", copy, restored, "-q").code == 0
    if order == "restore first":
        rename(program, restored, service)
    assert not (restored / "settings.toml").exists() or order == "restore first"
    service.requests.clear()
    done = program("backup", restored, *options)
    assert done.code == 0, done.err
    assert asked(service) == {NEW}
    assert program("verify", restored, "-q").code == 0
    assert names(restored) == [NEW]


def test_without_its_settings_the_archive_asks_for_the_new_name(
    program: Program, service: DemoService, root: Path, options: list[object]
) -> None:
    move(service, OLD, NEW)
    rename(program, root, service)
    (root / "settings.toml").unlink(missing_ok=True)
    service.requests.clear()
    assert program("backup", root, *options).code == 0
    assert asked(service) == {NEW}


@pytest.mark.parametrize("form", ["id", "id and folder", "address and folder"])
def test_every_name_means_the_archive(
    program: Program, service: DemoService, root: Path, options: list[object], tmp_path: Path, form: str
) -> None:
    move(service, OLD, NEW)
    rename(program, root, service)
    for name in (NEW, OLD):
        words = [name] if form == "id" else [name if form == "id and folder" else f"https://{name}/", "--archive", root]
        done = program("backup", *words, *options)
        assert done.code == 0, done.err
    assert [each.name for each in tmp_path.iterdir() if Archive.exists(each)] == [OLD]
    assert Archive.open(root).versions() == [1, 2]
    for command in (["status"], ["verify", "-q"], ["log"]):
        assert program(command[0], f"https://{NEW}/", *command[1:]).code == 0


def test_renamed_twice_and_back(program: Program, service: DemoService, root: Path, options: list[object]) -> None:
    for before, now in ((OLD, MID), (MID, NEW), (NEW, OLD)):
        move(service, before, now)
        rename(program, root, service, now)
        service.requests.clear()
        assert program("backup", root, *options).code == 0
        assert asked(service) == {now}
    assert names(root) == [MID, NEW, OLD]
    assert program("verify", root, "-q").code == 0


@pytest.mark.parametrize("pattern", ["https://{blog_id}/Entry/{entry_id}/", f"https://{NEW}/Entry/{{entry_id}}/"])
def test_links_to_every_name_lead_to_the_entries(
    program: Program, service: DemoService, root: Path, options: list[object], tmp_path: Path, pattern: str
) -> None:
    for before, now in ((OLD, MID), (MID, NEW)):
        move(service, before, now)
        rename(program, root, service, now)
    done = program("backup", root, *(each for each in options if each != "--no-site"), "--entry-url", pattern)
    assert done.code == 0, done.err
    pages = [path.read_text("utf-8") for path in (root / "latest/site").rglob("*.html")]
    second = list(service.blogs[NEW].entries)[1]
    for page in pages:
        assert f'href="https://{OLD}/Entry/{second}' not in page
        assert f'href="https://{MID}/Entry/{second}' not in page
        assert f'href="https://{NEW}/Entry/{second}' not in page
    text = "".join(path.read_text("utf-8") for path in (root / "latest/markdown").rglob("*.md"))
    assert f"/Entry/{second}/)" not in text
    done = program(
        "export",
        "wordpress",
        root,
        tmp_path / "out",
        "--old-url",
        pattern,
        "--public-open-flg",
        1,
        "--visible-delete-flg",
        "f",
        "--new-url",
        "https://my.example/p/{entry_id}/",
        "-q",
    )
    assert done.code in {0, 3}, done.err
    exported = "".join(path.read_text("utf-8") for path in (tmp_path / "out").rglob("*.xml"))
    assert f"/Entry/{second}/&quot;" not in exported
    assert f'/Entry/{second}/"' not in exported


@pytest.mark.parametrize("command", ["backup", "dry run"])
def test_a_stranger_with_the_former_name_is_refused(
    program: Program, service: DemoService, root: Path, options: list[object], command: str
) -> None:
    move(service, OLD, NEW, stranger(OLD))
    before = files(root)
    done = program("backup", root, *options, *(["--dry-run"] if command == "dry run" else []))
    assert done.code == 4
    assert "shows another blog than the archive's: of 8 entries with known ids, 8 are other entries" in done.err
    assert files(root) == before
    accepted = program("backup", root, *options, "--accept-join", "--accept-removals")
    assert accepted.code == 0, accepted.err
    assert Archive.open(root).versions() == [1, 2]


def test_an_owner_may_retitle_every_entry(
    program: Program, service: DemoService, root: Path, options: list[object]
) -> None:
    blog = service.blogs[OLD]
    for number in list(blog.entries):
        blog.entries[number] = {**fields(blog.entries[number]), "title": f"new title {number}"}
    done = program("backup", root, *options)
    assert done.code == 0, done.err


def test_a_young_blog_may_be_written_anew(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(generated_blog(3, 2, 0, blog_id=OLD)) as service:
        options = ["--base-url", service.base_url, "--assets", "none", "--no-site", "-q"]
        assert program("backup", OLD, *options).code == 0
        service.blogs[OLD] = stranger(OLD, 3)
        assert program("backup", OLD, *options).code == 0


def renumbered(blog: Blog, first: int) -> Blog:
    """Give a blog's entries other ids."""
    numbers = {number: first + at for at, number in enumerate(blog.entries)}
    blog.entries = {new: {**fields(blog.entries[number]), "entry_id": str(new)} for number, new in numbers.items()}
    blog.comments.clear()
    return blog


@pytest.mark.parametrize("archived", [4, 8])
@pytest.mark.parametrize("listed", [2, 8])
def test_a_stranger_with_other_ids_is_refused(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archived: int, listed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(generated_blog(archived, 0, 0, blog_id=OLD)) as service:
        options = ["--base-url", service.base_url, "--assets", "none", "--no-site", "-q"]
        assert program("backup", OLD, *options).code == 0
        before = files(tmp_path / OLD)
        service.blogs[OLD] = renumbered(stranger(OLD, listed), 9001)
        for more in ([], ["--accept-removals"], ["--dry-run"]):
            refused = program("backup", OLD, *options, *more)
            assert refused.code == 4, refused.err
        assert f"none of its {listed} entries is among the {archived} of" in program("status", OLD).err
        assert files(tmp_path / OLD) == before
        accepted = program("backup", OLD, *options, "--accept-join", "--accept-removals")
        assert accepted.code == 0, accepted.err


def test_the_owner_of_a_young_blog_may_begin_again(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(generated_blog(3, 0, 0, blog_id=OLD)) as service:
        options = ["--base-url", service.base_url, "--assets", "none", "--no-site", "-q"]
        assert program("backup", OLD, *options).code == 0
        service.blogs[OLD] = renumbered(generated_blog(3, 0, 0, blog_id=OLD), 9001)
        assert program("backup", OLD, *options).code == 0


def test_another_user_and_other_entries_are_another_blog(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, (blog, user, code) in enumerate(
        [
            (stranger(OLD, 3), "9999", 4),
            (generated_blog(3, 2, 0, blog_id=OLD), "9999", 3),  # the owner's second account
        ]
    ):
        root = tmp_path / f"{number}"
        mine = generated_blog(3, 2, 0, blog_id=OLD)
        with serving(mine) as service:
            options = ["--base-url", service.base_url, "--assets", "none", "--no-site", "--archive", root, "-q"]
            assert program("backup", OLD, *options).code == 0
            mine.user = {**fields(mine.user), "id": user}
            service.blogs[OLD] = blog
            assert program("backup", OLD, *options).code == code


@pytest.mark.parametrize("listed", [(NEW,), (OLD,), (OLD, NEW)])
def test_a_fleet_keeps_one_archive(
    program: Program, service: DemoService, tmp_path: Path, listed: tuple[str, ...]
) -> None:
    blogs, fleet = tmp_path / "blogs.txt", tmp_path / "fleet"
    options = ["--base-url", service.base_url, "--assets", "none", "--retries", "0", "--again-after", "0s", "-q"]
    blogs.write_text(f"{OLD}\n", encoding="utf-8")
    assert program("fleet", "run", blogs, "--into", fleet, *options).code == 0
    root = archive_place(fleet, OLD)
    move(service, OLD, NEW, stranger(OLD))
    rename(program, root, service)
    blogs.write_text("".join(f"{each}\n" for each in listed), encoding="utf-8")
    service.requests.clear()
    done = program("fleet", "run", blogs, "--into", fleet, *options)
    assert done.code == 0, done.err
    assert asked(service) == {NEW}
    assert not archive_place(fleet, NEW).exists()
    assert Archive.open(root).versions() == [1, 2]
    assert program("fleet", "verify", fleet, "-q").code == 0


@pytest.mark.parametrize("order", ["rename first", "rename last"])
@pytest.mark.parametrize(
    "change",
    [
        ("forget", "--comment", "1", "--yes"),
        ("prune", "--keep-last", "1"),
    ],
    ids=["forget", "prune"],
)
def test_names_stay_when_versions_change(
    program: Program, service: DemoService, root: Path, options: list[object], order: str, change: tuple[str, ...]
) -> None:
    blog = service.blogs[OLD]
    blog.entries[1] = {**fields(blog.entries[1]), "title": "changed"}
    assert program("backup", OLD, *options).code == 0
    move(service, OLD, NEW)
    for step in ("rename", "change") if order == "rename first" else ("change", "rename"):
        if step == "rename":
            rename(program, root, service)
        else:
            done = program(change[0], root, *change[1:])
            assert done.code == 0, done.err
    assert names(root) == [NEW]
    assert program("verify", root, "-q").code == 0
    assert program("backup", NEW, *options).code == 0
    assert names(root) == [NEW]


def test_links_between_blogs_lead_to_a_renamed_one(
    program: Program, service: DemoService, root: Path, options: list[object], tmp_path: Path
) -> None:
    other = generated_blog(3, 2, 0, blog_id="other.blog.example.jp")
    first = next(iter(other.entries))
    links = "".join(f'<p><a href="https://{host}/Entry/2/">{host}</a>' for host in (OLD, MID, NEW))
    other.entries[first] = {**fields(other.entries[first]), "entry_text": links}
    for before, now in ((OLD, MID), (MID, NEW)):
        move(service, before, now, other)
        rename(program, root, service, now)
    assert program("backup", root, *options).code == 0
    assert program("backup", other.blog_id, *options).code == 0
    done = program("library", "build", OLD, other.blog_id, "--out", tmp_path / "site", "-q")
    assert done.code == 0, done.err
    pages = "".join(path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html"))
    for host in (OLD, MID, NEW):
        assert not re.search(rf'href="https://{host}/Entry/2/"[^>]*>{host}<', pages)
        assert re.search(rf'href="[^":]*"[^>]*>{host}<', pages)


def claim(root: Path, *lines: object) -> None:
    """Write ``names.jsonl`` as a stranger may."""
    (root / "names.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8")


def test_a_strangers_archive_that_claims_my_blog_gets_none_of_it(
    program: Program, service: DemoService, options: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service.blogs[MID] = stranger(MID)
    assert program("backup", MID, *options).code == 0
    line = {"at": "2026-01-01T00:00:00Z", "blog_id": OLD, "address": None, "service": "blog-v1"}
    claim(tmp_path / MID, line, {**line, "blog_id": MID})
    before = files(tmp_path / MID)
    refused = program("backup", OLD, *options)
    assert refused.code == 2
    assert f"states that its blog is {OLD} now, but no command of yours found it so" in refused.err
    assert program("backup", OLD, "--archive", "mine", *options).code == 0
    claim(tmp_path / MID, line)
    assert program("backup", OLD, "--archive", MID, *options).code == 4
    assert files(tmp_path / MID) == before
    status = program("status", f"https://{OLD}/")
    assert status.out == program("status", "mine").out


@pytest.mark.parametrize(
    "line",
    [
        {"at": "x", "blog_id": "../../up", "address": None, "service": "blog-v1"},
        {"at": "x", "blog_id": "a.example/../up", "address": None, "service": "public-site"},
        {"at": "x", "blog_id": "127.0.0.1:80", "address": None, "service": "blog-v1"},
        {"at": "x", "blog_id": "a.example", "address": "file:///etc/passwd", "service": "public-site"},
        {"at": "x", "blog_id": "x" * 1000, "address": None, "service": "blog-v1"},
        {"at": "x", "blog_id": ["a.example"], "address": None, "service": "blog-v1"},
        ["a.example"],
        "\ud800",
        10**30,
    ],
)
def test_an_invalid_name_is_damage_and_is_never_asked_for(
    program: Program, service: DemoService, root: Path, options: list[object], line: object
) -> None:
    claim(root, line)
    service.requests.clear()
    assert program("backup", OLD, *options).code == 0
    assert asked(service) == {OLD}
    verified = program("verify", root)
    assert verified.code == 13
    assert "names.jsonl" in verified.out + verified.err


def test_a_linked_or_huge_list_of_names_is_damage(
    program: Program, root: Path, options: list[object], tmp_path: Path
) -> None:
    (tmp_path / "theirs").write_text("{}\n", encoding="utf-8")
    (root / "names.jsonl").symlink_to(tmp_path / "theirs")
    assert program("verify", root).code == 13
    assert program("backup", OLD, *options).code == 0
    (root / "names.jsonl").unlink()
    claim(root, *[{"at": "x", "blog_id": "a.example", "address": None, "service": "s"}] * 1001)
    assert "it has more than 1,000 lines" in program("verify", root).out
    with (root / "names.jsonl").open("wb") as file:
        file.truncate(1 << 30)
    assert program("verify", root).code == 13
    assert program("backup", OLD, *options).code == 0


def test_copies_with_different_names_keep_all_of_them(
    program: Program, service: DemoService, root: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    assert program("sync", root, copy, "-q").code == 0
    move(service, OLD, NEW)
    rename(program, root, service)
    claim(copy, {"at": "2020-01-01T00:00:00Z", "blog_id": "else.example.jp", "address": None, "service": "blog-v1"})
    assert program("sync", root, copy, "-q").code == 0
    assert names(root) == [NEW]
    assert names(copy) == ["else.example.jp", NEW]


def test_declarations_are_copied_restored_and_checked(program: Program, root: Path, tmp_path: Path) -> None:
    line = b'{"at":"","service":"blog-v1","settings":{"public_open_flg":"1"},"seen":{"open_flg":["1"]}}\n'
    (root / "declared.jsonl").write_bytes(line)
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    assert program("sync", root, copy, "-q").code == 0
    assert program("sync", copy, restored, "-q").code == 0
    assert (restored / "declared.jsonl").read_bytes() == line
    (restored / "declared.jsonl").write_bytes(line + b'{"at":"x"}\n{"at"')
    damaged = program("verify", restored)
    assert damaged.code == 13
    assert "line 2: it is no declaration about flags" in damaged.out
    assert "line 3: its last line was cut short" in damaged.out


def test_a_table_of_the_settings_file_may_have_the_new_name(
    program: Program, service: DemoService, root: Path, options: list[object], tmp_path: Path
) -> None:
    move(service, OLD, NEW)
    rename(program, root, service)
    config = tmp_path / "settings.toml"
    config.write_text(f'[blogs.diary]\nblog_id = "{NEW}"\narchive = "{root}"\nretries = 0\n', encoding="utf-8")
    service.requests.clear()
    done = program("backup", "diary", "--config", config, *options)
    assert done.code == 0, done.err
    assert asked(service) == {NEW}
    assert Archive.open(root).versions() == [1, 2]


def test_pages_are_captured_at_the_new_address(program: Program, service: DemoService, root: Path) -> None:
    move(service, OLD, NEW)
    rename(program, root, service)
    assert home_of(root, OLD, Settings()) == f"https://{NEW}/"
    urls = [each.url for each in entry_addresses(root, Settings())]
    assert urls[0] == f"https://{NEW}/Entry/1/"
    assert {urlsplit(url).hostname for url in urls} == {NEW}
