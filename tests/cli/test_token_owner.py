"""A token that a person set for one service, and commands that name a stranger's address."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from exporter.archive.archive import Archive
from exporter.demo.content import fields
from exporter.model.kinds import Kind
from tests.cli.conftest import Program
from tests.library.test_forget import places_with
from tests.service.wordpress_server import PASSWORD, USER, WordPress, served
from tests.support.generated import generated_blog
from tests.support.public_blog import PublicBlog, posts, serving
from tests.support.runs import Done, Runs
from tests.support.runs import serving as serving_api

SECRET = "abcd/EFGH+1234"
IN_THE_ENVIRONMENT = {"BLOG_EXPORTER_TOKEN": SECRET, "BLOG_EXPORTER_USER": "me", "BLOG_EXPORTER_NEW_HOME_USER": "me"}
PLACES = {
    "variable": "",
    "file": 'token_file = "{key}"\nnew_home_token_file = "{key}"\nnew_home_user = "me"\n',
    "file and profile": 'token_file = "{key}"\nprofile = "ninja"\n',
    "file and address": 'token = "{secret}"\nbase_url = "https://api.example.jp"\nuser = "me"\nretries = 0\n',
    "command": 'token_command = "cat {key}"\nprofile = "ninja"\n',
}
PLACE = pytest.mark.parametrize(
    "place",
    [
        "variable",
        "file and profile",
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ("file", "file and address", "command")),
    ],
)
NAMES_A_SERVICE = {"file and profile", "file and address", "command"}
"""The places whose settings name a service for every blog, so that ``init`` asks that one."""


@dataclass
class Person:
    """Someone with a token of their service in one place."""

    runs: Runs
    home: Path
    place: str

    async def run(self, *words: object, own: bool = True) -> Done:
        """Run the program with the token; with ``own`` unset, without."""
        key, config = self.home / "key", self.home / "config" / "blog-exporter" / "blog-exporter.toml"
        for path, text in (
            (key, SECRET),
            (config, PLACES[self.place].format(key=key, secret=SECRET) if own else ""),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            path.chmod(0o600)
        environ = {
            **(IN_THE_ENVIRONMENT if self.place == "variable" and own else {}),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "LANG": "C.UTF-8",
        }
        return await asyncio.to_thread(self.runs.run, *words, folder=self.home, environ=environ)


@pytest.fixture
def person(runs: Runs, tmp_path: Path, place: str) -> Person:
    return Person(runs, tmp_path, place)


@pytest.fixture
async def wordpress() -> AsyncIterator[WordPress]:
    blog = WordPress(categories={1: {"name": "a", "parent": 0}})
    for number in range(10, 16):
        blog.add_post(number)
    async with served(blog):
        yield blog


@PLACE
async def test_a_strangers_wordpress_gets_no_token(person: Person, wordpress: WordPress) -> None:
    site = wordpress.url
    first = await person.run("backup", site, "--archive", "a", "--assets", "none", "--rate", "1000")
    assert first.code == 0, first.err
    assert ("is not sent to" in first.err) == (person.place in {"variable", "file"})
    for words in (
        ("backup", "a"),
        ("backup", "a", "--quiet"),
        ("check", site),
        ("check", "a"),
        ("doctor", "a"),
        ("init", site, "--yes", "--archive", "b", "--at", "never", "--no-sign-in", "--assets", "none"),
        ("backup", "--all"),
        ("compare", "a", site),
    ):
        if words[0] == "init" and person.place in NAMES_A_SERVICE:
            continue
        done = await person.run(*words)
        assert "Traceback" not in done.err, (words, done)
    assert wordpress.asked
    assert wordpress.authorised == []
    for path in person.home.rglob("*"):
        if path.is_file() and path.name not in {"key", "blog-exporter.toml"}:
            assert SECRET.encode() not in path.read_bytes(), path


@PLACE
async def test_public_pages_get_no_token(person: Person) -> None:
    blog = PublicBlog("livedoor", posts(5), dead_every=0)
    async with serving(blog) as site:
        how = ("--page-rules", "livedoor", "--rate", "1000", "--assets", "none")
        for words in (
            ("backup", site, "--archive", "a", *how),
            ("backup", "a"),
            ("backup", "x.example", "--base-url", site, "--service", "public-site", "--archive", "b", *how),
            ("check", site),
            ("capture", site, "--archive", "c", "--user-agent", "test (+mailto:a@example.jp)"),
            ("init", site, "--yes", "--archive", "d", "--at", "never", "--no-sign-in"),
        ):
            if words[0] == "init" and person.place in NAMES_A_SERVICE:
                continue
            done = await person.run(*words)
            assert done.code == 0, (words, done)
            assert "is not sent" not in done.err  # nothing is missing at pages without it
    assert blog.asked
    assert blog.authorised == []


@PLACE
async def test_the_list_of_a_fleet_does_not_choose_the_receiver(person: Person, wordpress: WordPress) -> None:
    (person.home / "blogs.txt").write_text(
        f"a.example base_url={wordpress.url} service=wordpress assets=none\n", "utf-8"
    )
    done = await person.run("fleet", "run", "blogs.txt", "--into", "fleet", "--rate", "1000")
    assert done.code == 0, done.err
    assert wordpress.asked
    assert wordpress.authorised == []


@pytest.mark.parametrize("place", ["variable"])
async def test_a_stated_token_is_sent_and_remembered_for_its_address_alone(
    person: Person, wordpress: WordPress, tmp_path: Path
) -> None:
    key = tmp_path / "password"
    key.write_text(PASSWORD, "utf-8")
    key.chmod(0o600)
    given = ("--token-file", key, "--user", USER, "--assets", "none", "--rate", "1000")
    first = await person.run("backup", wordpress.url, "--archive", "a", *given, "--token-for", wordpress.url, own=False)
    assert first.code == 0, first.err
    assert wordpress.authorised
    wordpress.authorised.clear()
    again = await person.run("backup", "a", own=False)
    assert (again.code, bool(wordpress.authorised)) == (0, True), again.err
    wordpress.authorised.clear()
    other = WordPress(categories={1: {"name": "a", "parent": 0}})
    other.add_post(10)
    async with served(other):
        await person.run("backup", "a", "--base-url", other.url, "--retries", "0", own=False)
        assert other.asked
        assert other.authorised == []


@pytest.mark.parametrize("place", ["variable"])
async def test_the_sentence_about_a_withheld_token_helps(person: Person, wordpress: WordPress) -> None:
    done = await person.run("backup", wordpress.url, "--archive", "a", "--assets", "none", "--user", USER)
    assert done.code == 0
    said = (
        f"blog-exporter: warning: the token (variable BLOG_EXPORTER_TOKEN) is not sent to {wordpress.url}, because "
        f"nothing beside it says that it belongs there. If it does, say --token-for {wordpress.url}, or set token_for "
        "in the place of the token"
    )
    assert said in done.err
    shown = await person.run("doctor", "a", "--json")
    assert json.loads(shown.out)["exit_code"] in {0, 3}


def test_a_token_that_a_service_repeats_is_in_no_file(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", SECRET)
    blog, archive = generated_blog(4, 3, 0), tmp_path / "a"
    texts = {1: f"<p>{SECRET}</p>", 2: f'<a href="https://example.com/?t={quote(SECRET, safe="")}">', 3: "SECRET"}
    for number, text in texts.items():
        blog.entries[number] = {**fields(blog.entries[number]), "entry_text": text, "title": f"{number} {text}"}
    with serving_api(blog, require_token=SECRET) as service:
        how = ("--base-url", service.base_url, "--archive", archive)
        done = program("backup", blog.blog_id, *how)
    assert done.code == 0, done.err
    assert "Answers to entry/get, entry/list hold the token" in done.err
    assert places_with([archive], SECRET) == []
    saved = {key: raw["entry_text"] for key, raw in Archive.open(archive).records(Kind.ENTRIES)}
    assert (saved["1"], saved["3"]) == ("<p>***</p>", "SECRET")
