"""A move of public and private entries into a real WordPress: the content for visitors, and the notifications sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from exporter.export.interface import Side
from exporter.http.credentials import Credentials
from exporter.http.engine import Engine
from exporter.move.home import read_home
from exporter.move.outcome import Exposure, MoveOutcome, Thing
from exporter.move.public_look import look_in_public, private_things
from exporter.wordpress import application_password, open_wordpress
from tests.export.memory import SAID, Memory
from tests.importers.blogs import blog as blog_of
from tests.importers.conftest import ROOT, Tool
from tests.importers.test_move import rows
from tests.importers.test_wordpress import SCRIPT as IMPORTER
from tests.importers.test_wordpress import installed
from tests.importers.wordpress_site import Site, running_site
from tests.move.moving import move, plans, small_blog
from tests.support.declared import sample_in

__all__ = ["installed"]

SECRET = "誰にも見せない日"
WISHES = """<?php
$_SERVER['HTTP_HOST'] = 'localhost';
require $argv[1] . '/wp-load.php';
$found = array();
foreach ( get_posts( array( 'nopaging' => true ) ) as $post ) {
    foreach ( wp_extract_urls( $post->post_content ) as $url ) {
        if ( parse_url( $url, PHP_URL_HOST ) ) {
            $found[] = $url;
        }
    }
}
echo json_encode( array( count( get_posts( array( 'nopaging' => true, 'meta_key' => '_pingme' ) ) ), $found ) );
"""


def blog() -> Memory:
    """Return a blog with links, and a private entry with a picture and a category that no other entry has."""
    source = small_blog()
    source.picture("https://pictures.example.jp/secret.png", entry_id="8")
    links = '<p><a href="https://other.example/a.html">x</a> https://plain.example/b.html <a href="//third.example/c?d">y</a></p>'
    source.entry("7", title="リンク", name="links", entry_text=links)
    picture = '<img src="https://pictures.example.jp/secret.png">'
    source.entry("8", title=SECRET, name="secret", entry_text=picture, is_private="t", category="秘密の箱")
    return source


async def look(site: Site, source: Memory) -> tuple[Exposure, ...]:
    whole = plans(source, Side.PUBLIC, Side.REST)
    async with Engine() as engine:
        owner = await open_wordpress(engine.client(site.url, application_password("owner", site.password)))
        visitor = replace(owner, client=engine.client(site.url, Credentials(None)))
        return (await look_in_public(visitor, private_things(await read_home(owner, tags=True), whole))).exposed


def visitors(site: Site, path: str) -> Any:
    try:
        with urllib.request.urlopen(f"{site.url}{path}") as answer:
            return answer.read().decode()
    except HTTPError as error:
        return error.code


@pytest.mark.parametrize("drafts", [False, True])
async def test_visitors_see_nothing_private_and_no_blog_is_notified(
    tool: Tool, installed: Path, tmp_path: Path, *, drafts: bool
) -> None:
    with running_site(tool, installed, tmp_path / "site") as site:
        login = ("owner", site.password)
        first: dict[str, Any] = {"declared": replace(SAID, all_as_draft=True), "side": Side.DRAFTS} if drafts else {}
        done: list[MoveOutcome] = [
            await move(site, blog(), tmp_path, login=login, **first),
            await move(site, blog(), tmp_path, login=login, side=Side.REST),
        ]
        assert [each.whole for each in done] == [True, True]
        assert await look(site, blog()) == ()
        everything = "".join(
            str(visitors(site, path))
            for path in (
                "/wp-json/wp/v2/media", "/wp-json/wp/v2/categories", "/wp-json/wp/v2/posts", "/?feed=rss2", "/",
                "/wp-json/wp/v2/search?search=%E6%97%A5", "/wp-sitemap.xml", "/wp-sitemap-taxonomies-category-1.xml",
            )
        )  # fmt: skip
        for word in (SECRET, json.dumps(SECRET)[1:-1], "secret", "秘密の箱", json.dumps("秘密の箱")[1:-1]):
            assert word not in everything, word
        files = rows(site, "SELECT ID, post_parent, post_status FROM wp_posts WHERE post_type = 'attachment'")
        hidden = rows(site, "SELECT ID FROM wp_posts WHERE post_type = 'post' AND post_status IN ('private', 'draft')")
        assert len(files) == 3
        for number, parent, _ in files:
            if (parent,) in hidden:
                assert visitors(site, f"/?attachment_id={number}") == 404
        assert sum((parent,) in hidden for _, parent, _ in files) == (3 if drafts else 1)
        script = tmp_path / "wishes.php"
        script.write_text(WISHES)
        assert json.loads(tool("php", script, site.folder))[1] == []
        assert done[0].links.total() == (0 if drafts else 4)


async def test_posts_exposed_by_an_earlier_version_are_found_and_then_hidden(
    tool: Tool, installed: Path, tmp_path: Path
) -> None:
    with running_site(tool, installed, tmp_path / "site") as site:
        login = ("owner", site.password)
        assert (await move(site, blog(), tmp_path, login=login, side=Side.REST)).whole
        async with Engine() as engine:
            owner = await open_wordpress(engine.client(site.url, application_password(*login)))
            (number,) = [file.id for file in (await read_home(owner)).files.values()]
            home = await read_home(owner)
            await owner.send(f"wp/v2/media/{number}", {"post": 0}, {})
            made = await owner.send("wp/v2/categories", {"name": "秘密の箱"}, {})
            assert isinstance(made, dict)
            visitor = replace(owner, client=engine.client(site.url, Credentials(None)))
            found = (await look_in_public(visitor, private_things(home, plans(blog(), Side.PUBLIC, Side.REST)))).exposed
        assert {(each.thing, each.key) for each in found} == {
            (Thing.PICTURE, str(number)), (Thing.CATEGORY, str(made["id"])),
        }  # fmt: skip
        assert (await move(site, blog(), tmp_path, login=login, side=Side.REST)).whole
        assert [each.thing for each in await look(site, blog())] == [Thing.CATEGORY]


def command(site: Site, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Move the whole sample blog with the command line."""
    words = [
        sys.executable, "-m", "exporter", "move", "wordpress", str(sample_in(folder)), "--to", site.url,
        "--map", str(folder / "map.jsonl"), "--new-home-user", "owner", "--public-open-flg", "1",
        "--visible-delete-flg", "f", "--old-url", "https://{blog_id}/Entry/{entry_id}/", "--allow-private-network",
        *more,
    ]  # fmt: skip
    environ = {**os.environ, "BLOG_EXPORTER_NEW_HOME_TOKEN": site.password, "XDG_CONFIG_HOME": str(folder)}
    return subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=400)


def test_everything_moves_and_after_an_import_nothing_is_sent(tool: Tool, installed: Path, tmp_path: Path) -> None:
    count = "SELECT count(*) FROM wp_posts WHERE post_type = 'post'"
    with running_site(tool, installed, tmp_path / "empty") as site:
        done = command(site, tmp_path, "--only", "all", "--json")
        assert done.returncode == 0, done.stderr
        assert [side["exposed"] for side in json.loads(done.stdout)["sides"]] == [[], []]
        again = command(site, tmp_path, "--only", "all", "--no-compare")
        assert again.returncode == 0, again.stderr
        assert rows(site, count) == [(60,)]
    with blog_of("demo", tmp_path / "source") as source, running_site(tool, installed, tmp_path / "full") as site:
        source.export("wxr", tmp_path / "wxr")
        tool("php", IMPORTER, "read", site.folder, tmp_path / "wxr" / "wordpress-public.xml")
        before = rows(site, count)
        (tmp_path / "other").mkdir()
        for more in ([], ["--dry-run"]):
            done = command(site, tmp_path / "other", *more)
            assert done.returncode == 2, done.stderr
            assert "already in the new home and were not moved by this program" in done.stderr
            assert rows(site, count) == before
