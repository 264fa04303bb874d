"""``move`` on the command line: its output, the refused options, and the use of its password."""

from __future__ import annotations

import itertools
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.cli.conftest import Program
from tests.cli.test_terminal import OWN, PAYLOAD, STEERING
from tests.move.home import RIGHTS, Home, running_home
from tests.support.runs import Runs
from tests.support.terminal import Terminal
from tests.wordpress.fake import LOGIN, in_thread

USER, PASSWORD = LOGIN
FLAGS = ("--public-open-flg", "1", "--visible-delete-flg", "f")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """Run a WordPress in a separate thread, and set its password."""
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", PASSWORD)
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "of-the-old-service")
    with in_thread(running_home()) as running:
        yield running


def test_the_blog_is_moved_once_and_reported(program: Program, archive: Path, home: Home) -> None:
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--no-compare")
    tried = program(*command, "--dry-run")
    assert (tried.code, home.writes) == (0, [])
    assert "Nothing was changed in" in tried.out
    done = program(*command)
    assert (done.code, len(home.rest_posts), len(home.rest_comments), len(home.media)) == (0, 55, 144, 47)
    assert all(each["status"] == "publish" for each in home.rest_posts.values())
    lines = {line.split()[0]: line.split()[1:] for line in done.err.splitlines() if len(line.split()) == 6}
    assert lines["posts"] == ["55", "0", "0", "0", "0"]
    assert lines["comments"] == ["144", "0", "0", "0", "0"]
    (map_file,) = archive.parent.glob("archive.moved-to-127.0.0.1-*.jsonl")
    assert str(map_file) in done.out
    writes = len(home.writes)
    again = program(*command, "--json")
    assert (again.code, len(home.writes)) == (0, writes)
    document = again.json
    assert document["whole"] is True
    assert document["compare"] is None
    assert document["sides"][0]["things"]["posts"] == {
        "made": 0, "changed": 0, "there": 55, "left_alone": 0, "refused": 0,
    }  # fmt: skip
    asked = [*home.service.seen]
    assert all(PASSWORD not in str(each.url) for each in asked)
    assert not [each for each in asked if "of-the-old-service" in str(each.headers)]
    for text in (tried.out, tried.err, done.out, done.err, again.out, again.err, map_file.read_text()):
        assert PASSWORD not in text


def test_it_is_compared_in_the_end(program: Program, archive: Path, home: Home) -> None:
    links = ("--old-url", "https://{blog_id}/Entry/{entry_id}/", "--allow-private-network", "--at", "1")
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, *links)
    done = program(*command, "--json")
    assert done.code == 0, done.err
    assert done.json["compare"]["counts"]["identical"] == done.json["compare"]["counts"]["entries"] > 0
    assert "unchanged in all compared parts" in done.err
    home.rest_posts[next(iter(home.rest_posts))]["title"] = "私の題"
    done = program(*command)
    assert done.code == 3
    assert "different title" in done.err
    assert "something is missing or different" in done.err


def test_names_that_wordpress_chose_are_announced_and_no_difference(
    program: Program, archive: Path, home: Home, tmp_path: Path
) -> None:
    chosen: list[str] = []

    def is_taken(wanted: str, status: str) -> bool:
        if status != "private" or len(chosen) == 2:
            return False
        chosen.append(wanted)
        return True

    home.takes_slug = is_taken
    links = ("--old-url", "https://{blog_id}/Entry/{entry_id}/", "--allow-private-network", "--at", "1")
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, *links)
    for _ in range(2):
        done = program(*command)
        assert done.code == 0, done.err
        assert "2 entries: under another name in its address, which WordPress chose" in done.err
        assert "Different, as announced:\n  slug (2): WordPress chose other names, as the move reported" in done.err
    compare = ("compare", archive, home.url, "--new-home-user", USER, *FLAGS, *links)
    found = program(*compare, "--json")
    assert (found.code, found.json["whole"], found.json["changes"]) == (0, True, {})
    assert [(each["what"], each["count"]) for each in found.json["announced"]] == [("slug", 2)]
    assert "except for the parts listed as announced" in program(*compare).out
    (map_file,) = archive.parent.glob("archive.moved-to-127.0.0.1-*.jsonl")
    moved_map = map_file.rename(tmp_path / "elsewhere.jsonl")
    assert program(*compare, "--json").answer_before_error["changes"] == {"slug": 2}
    assert program(*compare, "--map", moved_map).code == 0
    assert "is not a file" in program(*compare, "--map", map_file).err
    refused = program("compare", archive, tmp_path, "--map", moved_map, *FLAGS)
    assert (refused.code, "is a folder. Only a move to an address has a map" in refused.err) == (2, True)
    map_file.write_text(moved_map.read_text("utf-8").replace('"kind":', '"kind', 1), "utf-8")
    found = program(*compare, "--json").answer_before_error
    (unknown,) = (each for each in found["unchecked"] if each["what"] == "slug")
    assert found["changes"] == {"slug": 2}
    assert unknown["why"].startswith(f"which ones WordPress chose is unknown. {map_file} is damaged in line 2.")
    moved_map.rename(map_file)
    renamed = next(each for each in home.rest_posts.values() if each["slug"] == f"{chosen[0]}-2")
    renamed["slug"] = "mine"
    for run in (compare, command, compare):
        done = program(*run)
        assert done.code == 3
        assert "different slug" in f"{done.out}{done.err}"


def test_waits_and_counts_are_shown(
    program: Program, archive: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.cli.progress_bar.LINE_SECONDS", 0.0)
    busy = iter(range(2))
    home.refuse_write = lambda route, _: (
        web.Response(status=503) if route.endswith("media") and next(busy, None) is not None else None
    )
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--no-compare", "-v")
    done = program(*command)
    assert done.code == 0
    assert done.err.count("WordPress wp/v2/media: WordPress wp/v2/media answered 503") == 2
    assert "pictures: 47 of 47" in done.err


def test_refused_comments_are_exit_3(program: Program, archive: Path, home: Home, tmp_path: Path) -> None:
    home.refuse_write = lambda route, _: home.refuse(403, "no", "Not today.") if "comments" in route else None
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--no-compare")
    done = program(*command, "--map", tmp_path / "my.map", "--json")
    assert done.code == 3
    assert done.answer_before_error["sides"][0]["named"][0]["reason"] == "Not today."
    assert "refused: 144 comments: Not today." in done.err
    assert (tmp_path / "my.map").is_file()


@pytest.mark.counts_requests
def test_nothing_is_published_before_flags_are_declared(program: Program, archive: Path, home: Home) -> None:
    done = program("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER)
    assert (done.code, home.writes) == (2, [])
    assert "Nothing says yet which entries are public" in done.err
    done = program(
        "move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, "--all-as-draft", "--no-compare"
    )
    assert done.code == 0
    assert {each["status"] for each in home.rest_posts.values()} == {"draft"}


@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.sample(2)
def test_a_user_without_the_right_gets_its_name(program: Program, archive: Path, home: Home, right: str) -> None:
    home.rights = tuple(each for each in RIGHTS if each != right)
    done = program("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--dry-run")
    if right == "unfiltered_html":
        assert done.code == 0
        assert "removes scripts, frames and more" in done.err
    else:
        assert done.code == 12
        assert "owner lacks these rights" in done.err


def test_another_time_zone_is_reported(program: Program, archive: Path, home: Home) -> None:
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--dry-run")
    assert "clock" not in program(*command).err
    home.change = lambda route, answer: {**answer, "gmt_offset": -3.5} if route == "" else answer
    assert "The new home's clock is -3.5 hours from UTC" in program(*command).err
    home.change = lambda route, answer: {**answer, "gmt_offset": 1e9} if route == "" else answer
    assert "clock" not in program(*command).err


def test_links_between_entries_lead_to_the_new_home_without_being_asked_for(
    program: Program, archive: Path, home: Home, tmp_path: Path
) -> None:
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--no-compare")
    done = program(*command, "--json")
    assert "addresses of entries are read as https://shiodamari.blog.example.jp/Entry/{entry_id}/, as " in done.err
    said, exported = done.json["sides"][0], program("export", "hugo", archive, tmp_path / "hugo", *FLAGS, "--json")
    assert (said["links"], said["inferred"]) == tuple(
        exported.json["exports"][0][each] for each in ("links", "inferred")
    )
    assert said["links"]["rewritten"] > 0
    assert program(*command, "--dry-run", "--json").json["sides"][0]["links"] == said["links"]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, "Terminated"), (signal.SIGINT, 130, "Interrupted")]
)
@pytest.mark.sample(1)
def test_a_signal_ends_it_with_one_line_about_the_sent_records(
    runs: Runs, archive: Path, home: Home, number: signal.Signals, code: int, word: str
) -> None:
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--no-compare")
    environ = {"BLOG_EXPORTER_NEW_HOME_TOKEN": PASSWORD}
    run = runs.start(*command, environ=environ)
    while len(home.rest_posts) < 20:
        time.sleep(0.002)
    run.signal(number)
    done = run.wait()
    assert done.code == code
    (line,) = done.err.splitlines()
    assert re.fullmatch(
        rf"blog-exporter: error: {word}; sent so far: [0-9]+ categories, "
        r"[0-9]+ posts still private and without text; run the same command again to continue\.",
        line,
    )
    assert runs.start(*command, environ=environ).wait().code == 0
    assert len(home.rest_posts) == 55


@pytest.mark.no_cover
@pytest.mark.thorough
def test_a_full_disk_is_exit_28_and_the_next_run_continues(
    runs: Runs, archive: Path, home: Home, tmp_path: Path
) -> None:
    place = ("--to", home.url, "--new-home-user", USER, *FLAGS, "--no-compare", "--map", tmp_path / "map.jsonl")
    environ = {"BLOG_EXPORTER_NEW_HOME_TOKEN": PASSWORD}
    done = runs.start("move", "wordpress", archive, *place, environ=environ, file_size=8_000).wait()
    assert done.code == 28
    sent, said = done.err.splitlines()[-2:]
    assert sent.startswith("Sent so far: ")
    assert said.startswith(f"blog-exporter: error: No space left while writing {tmp_path / 'map.jsonl'} ")
    assert runs.start("move", "wordpress", archive, *place, environ=environ).wait().code == 0
    assert (len(home.rest_posts), len(home.rest_comments), len(home.media)) == (55, 144, 47)


@pytest.mark.no_cover
@pytest.mark.thorough
def test_a_signal_while_it_is_compared(runs: Runs, archive: Path, home: Home) -> None:
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS)
    comparing, looks = threading.Event(), itertools.count()

    def change(route: str, answer: Any) -> Any:
        if route == "wp/v2/tags" and next(looks):  # the comparison requests them after the last look
            comparing.set()
            time.sleep(1)
        return answer

    home.change = change
    run = runs.start(*command, environ={"BLOG_EXPORTER_NEW_HOME_TOKEN": PASSWORD})
    comparing.wait()
    run.signal(signal.SIGINT)
    done = run.wait()
    assert done.code == 130
    said = "Interrupted; everything was sent, but not compared completely; run the same command again."
    assert done.err.splitlines()[-1] == f"blog-exporter: error: {said}"


def test_a_failing_home_keeps_the_records_that_were_sent(
    program: Program, archive: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_RETRIES", "0")
    home.refuse_write = lambda route, _: web.Response(status=503) if "comments" in route else None
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS)
    done = program(*command)
    assert done.code == 20
    *_, sent, _ = done.err.splitlines()
    assert re.match("Sent so far: [0-9]+ categories, 47 pictures, .*; run the same command again to continue\\.$", sent)
    home.refuse_write = lambda _route, _fields: web.Response(status=503)
    home.media.clear()
    assert "nothing was sent" not in program(*command).err.lower()


@pytest.mark.no_cover
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_shows_bars_and_a_home_cannot_control_it(
    runs: Runs, archive: Path, home: Home, tmp_path: Path
) -> None:
    home.refuse_write = lambda route, _: (
        home.refuse(403, "no", f"No{PAYLOAD}\x1b[2J") if route.endswith("comments") else None
    )
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--no-compare")
    terminal = Terminal(runs, command, tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert terminal.end() == 3
    assert "posts and comments" in terminal.shown
    assert STEERING.search(OWN.sub("", terminal.shown)) is None


def test_the_secret_needs_a_user_and_a_safe_way(
    program: Program, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("move", "wordpress", archive, "--to", "http://new.example", *FLAGS)
    assert "No user of the new home is named." in program(*command).err
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", PASSWORD)
    assert program(*command).code == 2
    refused = program(*command, "--new-home-user", "me")
    assert refused.code == 2
    assert "travel unencrypted" in refused.err
    assert PASSWORD not in refused.err


@pytest.mark.parametrize("address", ["new", "https://[x", "https://x:99999/", "https://me:secret@x/", "https://x/?p=1"])
def test_an_invalid_address_is_refused_before_the_password_is_requested(
    program: Program, archive: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", PASSWORD)
    refused = program("move", "wordpress", archive, "--to", address, "--new-home-user", "me", *FLAGS)
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)
    assert refused.err.startswith("blog-exporter: error: the address of the new home ")
    assert not re.search("BLOG_EXPORTER_TOKEN|secret@", refused.err)


def test_a_wrong_password_is_exit_12(
    program: Program, archive: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", "wrong words")
    done = program("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS)
    assert done.code == 12
    assert "wrong" not in done.err


def test_options_that_contradict_each_other_are_refused(program: Program, archive: Path, home: Home) -> None:
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS)
    assert program(*command, "--since", "2020-01-02", "--until", "2020-01-01").code == 2
    assert program(*command, "--category", "ない").code == 5
    assert "is inside the archive" in program(*command, "--map", archive / "latest" / "map").err
    assert program("move", "elsewhere", archive, "--to", home.url).code == 2
    assert home.writes == []


def test_a_password_that_is_withdrawn_half_way_is_exit_12(program: Program, archive: Path, home: Home) -> None:
    home.refuse_write = lambda route, _: home.refuse(401, "rest_cannot_create") if "comments" in route else None
    done = program("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS)
    assert done.code == 12
    assert "Sent so far: " in done.err.splitlines()[-2]


def test_the_secret_goes_nowhere_else(
    program: Program, archive: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_RETRIES", "0")
    seen: list[str] = []
    with in_thread(running_home()) as other:
        home.refuse_write = lambda route, _: web.Response(
            status=307, headers={"Location": f"{other.url}/wp-json/{route}"}
        )
        command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS)
        done = program(*command)
        seen += [str(each.headers) for each in other.service.seen]
    assert (done.code, seen) == (20, [])
    assert "redirects what is sent to it" in done.err


def test_private_posts_are_compared_and_their_text_is_not_shown(
    program: Program, archive: Path, home: Home, tmp_path: Path
) -> None:
    place = ("wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--allow-private-network")
    done = program("move", *place, "--only", "private", "--json")
    assert done.json["compare"]["counts"]["identical"] == 5
    assert {each["status"] for each in home.rest_posts.values()} <= {"private", "draft"}
    hidden = [each for each in home.rest_posts.values() if each["title"]]
    for each in hidden:
        each["title"] += "私"
    home.refuse_write = lambda route, _: home.refuse(500, "rest_upload_error", "No.") if "media" in route else None
    home.media.clear()
    done = program("move", *place, "--only", "private", "--map", tmp_path / "other.map")
    assert done.code == 3
    assert "different title" in done.err
    assert not [each for each in hidden if each["title"] in done.err]
    shown = program("compare", archive, home.url, "--new-home-user", USER, *FLAGS, "--only", "private", "--json")
    named = shown.answer_before_error["entries"]
    assert {each["title"] + each["address"] for each in named} == {""}
    assert {found["before"] + found["after"] for each in named for found in each["differences"]} == {""}
    hidden[0]["status"] = "publish"
    shown = program("compare", archive, home.url, "--new-home-user", USER, *FLAGS, "--json")
    (named,) = [each for each in shown.answer_before_error["entries"] if each["differences"][0]["change"] == "status"]
    assert (named["title"] + "私", bool(named["address"])) == (hidden[0]["title"], True)


def test_a_damaged_picture_is_not_uploaded(program: Program, archive: Path, home: Home) -> None:
    picture = next(path for path in (archive / "assets").rglob("*.*") if path.is_file())
    picture.write_bytes(b"damaged")
    command = ("move", "wordpress", archive, "--to", home.url, "--new-home-user", USER, *FLAGS, "--no-compare")
    assert program(*command).code == 13
    assert b"damaged" not in [content for _, content in home.files.values()]
