"""The export pages, used by forms alone: from the questions to the files, which hold only content called public."""

from __future__ import annotations

import html
import itertools
import json
import re
import shlex
from pathlib import Path

from exporter.cli.destinations import DESTINATIONS
from exporter.window.export_form import facts_of
from tests.support.declared import declare
from tests.support.runs import tree
from tests.window.in_thread import Form, Running

PRIVATE = "配達の手引き（自分用）"


def keys(running: Running, archive: Path) -> tuple[list[str], list[str]]:
    """Return the keys of the demo's public entries and visible comments."""
    facts = facts_of(running.window, archive)
    public = [each.key for each in facts.entries if each.code == "1" and not each.periodic and not each.private]
    return public, [each.key for each in facts.comments if each.code == "f"]


def answers(running: Running, archive: Path, folder: object, **more: str) -> Form:
    """Return the form of an owner who looked at the samples."""
    public, visible = keys(running, archive)
    ticked = [*(("public", key) for key in public), *(("visible", key) for key in visible)]
    return [*ticked, ("folder", str(folder)), *more.items()]


def test_every_place_has_its_questions_and_proposes_nothing_as_public(running: Running, archive: Path) -> None:
    places = running.get(running.page_of(archive, "/export"))
    assert places.status == 200
    for place in DESTINATIONS:
        assert f'/export/{place.name}"' in places.text
        form = running.get(running.page_of(archive, f"/export/{place.name}"))
        assert (form.status, form.text.count('type="checkbox" name="public"')) == (
            200,
            0 if place.form == "bagit" else 3,
        )
        assert not re.search(r'type="checkbox"[^>]* checked', form.text)
        assert f"{place.name}" in re.findall(r'name="folder" value="([^"]*)"', form.text)[0]


def test_a_trial_shows_what_is_then_written(running: Running, archive: Path, home: Path) -> None:
    out = home / "blogs" / "mine"
    page = running.page_of(archive, "/export/hatena")
    tried = running.ended(running.post(page, answers(running, archive, out)))
    assert tried.status == 200
    assert not out.exists()
    job = running.newest(archive, "export hatena")
    assert job.words[-1] == "--dry-run"
    assert shlex.join(("blog-exporter", *job.words)) in html.unescape(tried.text)
    expected = job.answer()["exports"][0]
    written = running.ended(running.post(tried.url))
    done = running.newest(archive, "export hatena")
    assert done.words == job.words[:-1]
    report = json.loads((home / "blogs" / "mine.report.json").read_text())
    assert {name: report[name] for name in ("in", "out", "left_out")} == {
        name: expected[name] for name in ("in", "out", "left_out")
    }
    (file,) = out.iterdir()
    text = file.read_text("utf-8")
    assert text.count("\n--------\n") == report["out"]["entries"] == 55
    assert PRIVATE not in text
    assert f"<td>{report['out']['entries']}</td>" in written.text
    assert "Next steps" in written.words
    assert "Import in Hatena Blog" in written.words
    kept = json.loads((archive / "declared.jsonl").read_text())
    assert kept["settings"] == {"public_open_flg": "1", "visible_delete_flg": "f"}
    again = running.get(page)
    assert 'name="public"' not in again.text
    assert "mine" not in re.findall(r'name="folder" value="([^"]*)"', again.text)[0]


def test_a_value_that_came_after_the_answer_is_asked_about(running: Running, archive: Path) -> None:
    declare(archive, {"public_open_flg": "1"}, {"open_flg": ["1"]})
    assert 'name="public"' in running.get(running.page_of(archive, "/export/hatena")).text
    declare(archive, {"public_open_flg": "1"}, {"open_flg": ["1", "2"]})
    assert 'name="public"' not in running.get(running.page_of(archive, "/export/hatena")).text


def test_without_an_answer_everything_is_a_draft_or_nothing_is_written(
    running: Running, archive: Path, home: Path
) -> None:
    none = [("folder", str(home / "out"))]
    refused = running.post(running.page_of(archive, "/export/csv"), none)
    assert (refused.status, running.window.jobs.all()) == (400, [])
    assert "without a public entry there is nothing to write" in refused.words
    tried = running.ended(running.post(running.page_of(archive, "/export/wordpress"), none))
    assert "--all-as-draft" in running.newest(archive).words
    assert "everything becomes a draft" in tried.words
    assert running.newest(archive).answer()["exports"][0]["side"] == "drafts"


def test_all_answers_become_options(running: Running, archive: Path, home: Path) -> None:
    more = {
        "home": "https://new.example",
        "pictures": "bring",
        "rest": "yes",
        "new": "https://new.example/{post_name}/",
        "without_addresses": "yes",
    }
    form = answers(running, archive, home / "out", **more)
    running.ended(running.post(running.page_of(archive, "/export/wordpress"), form))
    words = running.newest(archive).words
    pairs = dict(itertools.pairwise(words))
    assert pairs["--new-url"] == "https://new.example/{post_name}/"
    assert pairs["--media-base-url"] == "https://new.example/wp-content/uploads/media/"
    assert (pairs["--only"], pairs["--public-open-flg"]) == ("all", "1")
    assert {"--media-folder", "--without-addresses", "--dry-run"} <= set(words)
    written = running.ended(running.post(running.ended(running.get(page_of_newest(running, archive))).url))
    assert sorted(path.name for path in home.glob("out*") if path.is_dir()) == [
        "out",
        "out.NOT-PUBLIC",
        "out.redirects",
    ]
    assert "never import or publish it" in written.words
    assert "move wordpress" in written.words


def page_of_newest(running: Running, archive: Path) -> str:
    """Return the newest export's page, with the address that its form named."""
    path = f"/export/wordpress/{running.newest(archive).id}?home=https%3A%2F%2Fnew.example%2F"
    return running.page_of(archive, path)


HOSTILE = {
    "no folder": {"folder": ""},
    "a line break": {"folder": "a\nb"},
    "a zero byte": {"folder": "/tmp/a\0b"},
    "an unknown user": {"folder": "~nobody-of-this-name/x"},
    "an option as address": {"home": "--config=/etc/passwd"},
    "another scheme": {"home": "file:///etc/passwd"},
    "an address of pictures": {"pictures": "bring", "base": "javascript:alert(1)"},
    "no address of pictures": {"pictures": "bring"},
    "an unknown choice": {"pictures": "steal"},
    "an unknown way": {"comments": "--force"},
    "a long text": {"home": "https://new.example/" + "a" * 3000},
    "unknown fields": {"home": "https://new.example/", "new": "https://new.example/{password}/"},
}


def test_hostile_values_are_refused_on_the_page(running: Running, archive: Path, home: Path) -> None:
    usual = dict(answers(running, archive, home / "out"))
    for name, values in HOSTILE.items():
        place = "hugo" if "comments" in values else "wordpress"
        got = running.post(running.page_of(archive, f"/export/{place}"), list((usual | values).items()))
        assert (got.status, 'role="alert"' in got.text) == (400, True), name
    assert running.window.jobs.all() == []
    page = running.page_of(archive, "/export/wordpress")
    running.post(page, list((usual | {"folder": "--force"}).items()))
    words = running.newest(archive).words
    assert words[3] == str(home / "--force")  # a name like any other, below the home folder
    assert "--force" not in words


def test_a_form_that_is_too_long_gets_a_page(running: Running, archive: Path) -> None:
    page = running.page_of(archive, "/export/hatena")
    for body in (b"folder=" + b"a" * 300_000, b"public=x&" * 3000, b"\xff" * 200_000 + b"=%00"):
        got = running.post(page, body=body)
        assert (got.status, 'role="alert"' in got.text) == (400, True)
    assert running.window.jobs.all() == []


def test_folders_that_must_not_be_written_are_refused(running: Running, archive: Path, home: Path) -> None:
    foreign = home / "letters"
    foreign.mkdir()
    (foreign / "a.txt").write_text("mine")
    page, before = running.page_of(archive, "/export/hatena"), tree(archive)
    for folder in (archive, archive / "latest" / "out", archive.parent, foreign, "/"):
        got = running.post(page, answers(running, archive, folder))
        assert (got.status, 'role="alert"' in got.text) == (400, True), folder
    assert running.window.jobs.all() == []
    assert tree(archive) == before
    assert (foreign / "a.txt").read_text() == "mine"


def test_unknown_places_jobs_and_actions(running: Running, archive: Path, home: Path) -> None:
    for path in ("/export/nowhere", "/export/--force", "/export/hatena/no-such-job", "/export/hatena/../../x"):
        got = running.get(running.page_of(archive, path))
        assert got.status in (400, 404), path
    job = running.window.jobs.start(["status", str(archive)], about="status", place=str(archive), language="en")
    assert running.post(running.page_of(archive, f"/export/hatena/{job.id}")).status == 404
    tried = running.ended(
        running.post(running.page_of(archive, "/export/hatena"), answers(running, archive, home / "o"))
    )
    written = running.ended(running.post(tried.url))
    again = running.post(written.url.partition("?")[0])
    assert (again.status, "was checked" in again.words) == (400, True)


def test_a_key_of_other_flags_is_no_answer(running: Running, archive: Path, home: Path) -> None:
    form = [("public", "0"), ("public", "on"), ("public", "--all"), ("visible", "t"), ("folder", str(home / "out"))]
    running.ended(running.post(running.page_of(archive, "/export/hatena"), form))
    words = running.newest(archive).words
    assert "--public-open-flg" not in words
    assert "--visible-delete-flg" not in words
