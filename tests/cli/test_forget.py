"""``forget``: the real program against a real service that still has the forgotten records."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.archive.forgotten import read_notes
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.demo.content import Blog, fields
from exporter.library.forget import NAMESPACE
from exporter.model.kinds import Kind
from exporter.warc.shown import ShownRecords
from tests.cli.conftest import Program
from tests.library.test_forget import places_with
from tests.support.generated import generated_blog
from tests.support.pictures import png
from tests.support.runs import Runs, backup_command, findings, folded, serving

pytestmark = pytest.mark.no_cover

NAME = "忘れられたい読者"
TEXT = "ここだけの話ですが、来週「引っ越し」をします & もう書きません。"
OTHER = "もうひとつの書き込みも、あとで消してもらう予定です。"
SHOWN = re.compile("Comments removed on request, 20|依頼により取り除いたコメント（20")
FLAGS = (
    "--public-open-flg",
    "1",
    "--visible-delete-flg",
    "f",
    "--assets",
    "none",
    "--no-markdown",
)


def changed(blog: Blog) -> Blog:
    """Let the first two comments be those of one reader."""
    for at, text in enumerate((TEXT, OTHER)):
        blog.comments[at] = {**fields(blog.comments[at]), "cm_text": text, "name": NAME, "entry_id": "1"}
    return blog


def forget(runs: Runs, root: Path, *more: object, code: int = 0) -> Any:
    done = runs.run("forget", root, *more)
    assert done.code == code, done
    return done


def comments(root: Path) -> set[str]:
    return set(folded(root)[Kind.COMMENTS])


def test_the_next_backup_does_not_bring_it_back(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    blog = changed(generated_blog(6, 12))
    with serving(blog, etag=True) as service:
        backup = backup_command(service, root, "--warc", *FLAGS)
        assert runs.run(*backup).code == 0
        before = folded(root)
        dry = forget(runs, root, "--author", NAME, "--dry-run")
        assert "To remove: 2 comments" in dry.out
        assert "records of capture 1" in dry.out
        assert folded(root) == before
        refused = forget(runs, root, "--author", NAME, code=2)
        assert "add --yes" in refused.err
        assert folded(root) == before

        done = forget(runs, root, "--author", NAME, "--yes", "--keep-tombstone")
        assert "Forgotten: 2 comments." in done.out
        assert places_with([root], TEXT, OTHER, NAME) == []
        assert findings(root) == []
        after = folded(root)
        gone = {"1", "2"}
        for kind, records in before.items():
            assert after[kind] == {
                key: each for key, each in records.items() if kind != Kind.COMMENTS or key not in gone
            }
        pages = [path for path in (root / "latest/site").rglob("*.html") if SHOWN.search(path.read_text("utf-8"))]
        assert [path.stem for path in pages] == ["1"]

        verified = runs.run("verify", root)
        assert verified.code == 0, verified
        assert "Forgotten on 20" in verified.out
        assert ": 2 comments." in verified.out

        again = runs.run(*backup)
        assert again.code == 0, again
        assert "1" not in comments(root)
        assert places_with([root], TEXT, OTHER, NAME) == []
        completeness, problems = Archive.open(root).completeness()
        assert problems == []
        assert completeness["comments"]["left_out"]["by_choice"] == 2
        assert completeness["comments"]["saved"] == 10
        assert findings(root) == []
        assert runs.run("verify", root).code == 0


def test_an_entry_and_new_comments_on_it_stay_away(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    blog = changed(generated_blog(6, 12, 3))
    title = fields(blog.entries[1])["title"]
    with serving(blog) as service:
        backup = backup_command(service, root, *FLAGS)
        assert runs.run(*backup).code == 0
        own = {each for each in comments(root) if json.loads(folded(root)[Kind.COMMENTS][each])["entry_id"] == "1"}
        forget(runs, root, "--entry", 1, "--yes", code=3)
        assert comments(root) & own == set()
        blog.comments.append({**fields(blog.comments[0]), "cm_id": "900", "cm_text": "あとから来たコメントです。"})
        done = runs.run(*backup, "--json")
        assert done.code == 0, done
        assert "1" not in folded(root)[Kind.ENTRIES]
        assert "1" not in folded(root)[Kind.ENTRY_LIST]
        assert "900" not in comments(root)
        assert "1" in folded(root)[Kind.FILES], "a file with the same id is another record"
        assert places_with([root], title, "あとから来たコメントです。") == []
        completeness, problems = Archive.open(root).completeness()
        assert (problems, completeness["complete"]) == ([], True)
        assert completeness["entries"]["left_out"]["by_choice"] == 1


def test_pictures_of_a_forgotten_entry_count_no_more(runs: Runs, tmp_path: Path) -> None:
    root, blog = tmp_path / "blog", generated_blog(3)
    with serving(blog) as service:
        served = {
            name: f"{service.base_url}/pictures/{name}.png" for name in ("own", "same", "shared", "empty", "gone")
        }
        shown = {1: served, 2: ("shared",)}
        for number, names in shown.items():
            text = "".join(f'<p><img src="{served[each]}">' for each in names)
            blog.entries[number] = {**fields(blog.entries[number]), "entry_text": text}
        pictures = {"own": png(1), "same": png(1), "shared": png(2), "empty": b""}
        blog.pictures |= {served[name]: content for name, content in pictures.items()}
        options = (each for each in FLAGS if each not in {"--assets", "none"})
        backup = backup_command(service, root, *options, "--no-site")
        assert runs.run(*backup).code == 3
        before = Archive.open(root).completeness()[0]["assets"]
        assert before == {"listed": 5, "saved": 3, "left_out": {"pending": 1, "lost": 1, "by_choice": 0}}
        forget(runs, root, "--entry", 1, "--yes", code=3)
        after, problems = Archive.open(root).completeness()
        assert after["assets"] == {"listed": 1, "saved": 1, "left_out": {"pending": 0, "lost": 0, "by_choice": 0}}
        assert (after["complete"], problems) == (True, [])
        said = runs.run("status", root).out
        assert "2 entries · 1 picture or file\n" in said
        assert "setting" not in said
        assert "Gone for good" not in said
        assert runs.run(*backup).code == 0
        assert Archive.open(root).completeness()[0]["assets"] == after["assets"]
        assert runs.run("verify", root).code == 0


def test_without_the_notes_no_backup_brings_anything_back(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    with serving(changed(generated_blog(4, 6))) as service:
        backup = backup_command(service, root, *FLAGS, "--no-site")
        assert runs.run(*backup).code == 0
        forget(runs, root, "--comment", 1, "--yes")
        (root / "forgotten.jsonl").unlink()
        done = runs.run(*backup)
        assert done.code == 13, done
        assert "forgotten.jsonl is damaged: it is missing" in done.err
        assert "1" not in comments(root)


def test_a_backup_finishes_what_a_kill_left(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    with serving(changed(generated_blog(4, 6))) as service:
        backup = backup_command(service, root, *FLAGS, "--no-site")
        assert runs.run(*backup).code == 0
        killed = runs.run("forget", root, "--author", NAME, "--yes", kill_at=40)
        assert killed.code == -9
        assert (root / ".work/forgetting.json").exists()
        assert runs.run(*backup).code == 0
        assert not (root / ".work/forgetting.json").exists()
        assert len(read_notes(Layout(root))) == 1
        assert places_with([root], TEXT, OTHER, NAME) == []
        assert findings(root) == []
        assert "finished" not in forget(runs, root, "--comment", 3, "--yes", code=3).out


@pytest.mark.importers
def test_a_signed_note_is_checked_by_ssh_keygen_alone(runs: Runs, archive: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    forget(runs, archive, "--comment", 252, "--yes", "--sign", key)
    [note] = read_notes(Layout(archive))
    assert note.signature is not None
    (tmp_path / "sig").write_text(note.signature)
    command = ["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(tmp_path / "sig")]
    assert subprocess.run(command, input=note.unsigned(), check=False, capture_output=True).returncode == 0
    assert subprocess.run(command, input=note.unsigned() + b" ", check=False, capture_output=True).returncode != 0
    # As the manual says, the signature covers the line up to the signature itself.
    line = (archive / "forgotten.jsonl").read_bytes().rstrip(b"\n")
    assert line.rpartition(b',"signature":')[0] + b"}" == note.unsigned()
    before = (archive / "forgotten.jsonl").read_bytes()
    done = forget(runs, archive, "--comment", 251, "--yes", "--sign", tmp_path / "none", code=2)
    assert "cannot sign" in done.err
    assert (archive / "forgotten.jsonl").read_bytes() == before


@pytest.mark.thorough
def test_the_search_and_the_catalogue_of_a_fleet_lose_it(runs: Runs, archive: Path, tmp_path: Path) -> None:
    blog_id = Archive.open(archive).info.blog_id
    place = archive_place(tmp_path / "fleet", blog_id)
    place.parent.mkdir(parents=True)
    archive.rename(place)
    text = "片栗粉のパン、今年こそ再現しましょう"
    fleet = tmp_path / "fleet"
    for words in (("catalogue", "sqlite", fleet), ("search", fleet, "パン", "--update")):
        done = runs.run("fleet", *words)
        assert done.code == 0, done
    assert len(places_with([fleet], text, "まめこ")) > 2
    dry = forget(runs, place, "--author", "まめこ", "--dry-run")
    assert "catalogue.sqlite: without this blog" in dry.out
    assert "search/" in dry.out
    # Exit code 3: replies quote the name.
    forget(runs, place, "--author", "まめこ", "--yes", code=3)
    left = places_with([fleet / ".fleet", fleet / "catalogue.sqlite"], text, "まめこ")
    assert left == []
    assert text.encode() not in (fleet / "catalogue.sqlite").read_bytes()
    assert runs.run("fleet", "catalogue", "sqlite", fleet).code == 0
    with sqlite3.connect(fleet / "catalogue.sqlite") as database:
        assert database.execute("SELECT count(*) FROM comments").fetchone()[0] > 100
    assert text.encode() not in (fleet / "catalogue.sqlite").read_bytes()


@pytest.mark.thorough
def test_rows_that_an_earlier_update_deleted_leave_no_trace_in_the_catalogue(
    runs: Runs, archive: Path, tmp_path: Path
) -> None:
    fleet = tmp_path / "fleet"
    place = archive_place(fleet, Archive.open(archive).info.blog_id)
    place.parent.mkdir(parents=True)
    archive.rename(place)
    assert runs.run("fleet", "catalogue", "sqlite", fleet).code == 0
    catalogue = fleet / "catalogue.sqlite"
    # Some systems build SQLite so that it clears deleted rows; most do not.
    with sqlite3.connect(catalogue) as database:
        database.execute("PRAGMA secure_delete = OFF")
        database.execute("DELETE FROM comments")
        database.commit()
        database.execute("INSERT INTO runs (blog_id, run) VALUES ('another', 1)")
    text = "まめこ"
    assert text.encode() in catalogue.read_bytes()
    work = fleet / ".catalogue.sqlite.work"
    for killed in (work / f"{place.parent.name}.sqlite", work / "new.sqlite", work / "new.sqlite-journal"):
        killed.write_text(text)
    (fleet / ".fleet/search").mkdir(parents=True)
    (fleet / f".fleet/search/.{place.parent.name}.txt.tmp").write_text(text)
    forget(runs, place, "--author", "まめこ", "--yes", code=3)
    assert places_with([fleet / ".fleet", catalogue, work], text) == []
    assert text.encode() not in catalogue.read_bytes()
    with sqlite3.connect(catalogue) as database:
        assert database.execute("SELECT blog_id FROM runs").fetchall() == [("another",)]
        assert database.execute("SELECT count(*) FROM blogs").fetchone() == (0,)


@pytest.mark.thorough
def test_a_catalogue_that_is_being_updated_is_waited_for(runs: Runs, archive: Path, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    place = archive_place(fleet, Archive.open(archive).info.blog_id)
    place.parent.mkdir(parents=True)
    archive.rename(place)
    assert runs.run("fleet", "catalogue", "sqlite", fleet).code == 0
    with ArchiveLock(fleet / ".catalogue.sqlite.work/lock") as lock:
        lock.acquire(SystemClock().now())
        done = forget(runs, place, "--comment", 252, "--yes", code=11)
    assert "is being written by" in done.err
    assert not (place / "forgotten.jsonl").exists()
    forget(runs, place, "--comment", 252, "--yes")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "Name what to forget: forget DIR comment ID, forget DIR entry ID, or --author NAME."),
        (("entries",), 2, "Which entry? Name its ID: forget DIR entries ID"),
        (("--comment", "9999"), 5, "has no comment 9999 in any version"),
        (("--entry", "\x1b[31m"), 5, "has no entry"),
        (("--author", "だれも"), 5, "has no comment by"),
    ],
)
def test_a_mistake_is_one_line(runs: Runs, archive: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = forget(runs, archive, *words, "--yes", code=code)
    assert said in done.err
    assert "\x1b[31m" not in done.err
    assert not (archive / "forgotten.jsonl").exists()
    assert not (archive / ".work/forgetting.json").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_archive_is_one_line(runs: Runs, archive: Path) -> None:
    (archive / ".work").chmod(0o500)
    archive.chmod(0o500)
    try:
        done = forget(runs, archive, "--comment", 252, "--yes", code=2)
        assert "Cannot access" in done.err
    finally:
        archive.chmod(0o700)
        (archive / ".work").chmod(0o700)


@pytest.mark.parametrize("shared", [1, 4, 6])
def test_a_page_is_known_by_the_lines_that_only_the_forgotten_entry_has(
    program: Program, tmp_path: Path, shared: int
) -> None:
    greetings = "".join(
        f"<p>{each}番目のいつものごあいさつ。きょうもお越しくださってありがとう</p>" for each in range(shared)
    )
    blog = generated_blog(6, 0, 0)
    for number in blog.entries:
        own = f"<p>{number}番の記事だけにある文章を、ここに少し長めに書いておきます。どうぞよろしく</p>"
        blog.entries[number] = {**fields(blog.entries[number]), "entry_text": greetings + own, "entry_more": ""}
    root = tmp_path / "mine"
    with serving(blog) as service:
        saved = program("backup", blog.blog_id, "--archive", root, "--base-url", service.base_url, "--no-site", "-q")
        assert saved.code == 0, saved.err
    first, second, *_ = blog.entries
    assert program("forget", root, "--entry", first, "--yes").code == 3, "others quote the greetings"
    shown = ShownRecords.of(Archive.open(root).layout, "blog-v1")
    texts = (str(fields(blog.entries[each])["entry_text"]) for each in (first, second))
    assert [shown.is_on_page(f"<html><body>{text}", "https://blog.example/") for text in texts] == [True, False]
