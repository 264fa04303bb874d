"""A second move into a real WordPress that accepts no comments on drafts and closed posts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from exporter.export.interface import Side
from exporter.move.outcome import Did
from tests.export.memory import SAID
from tests.importers.conftest import Tool
from tests.importers.test_move import rows
from tests.importers.test_wordpress import installed
from tests.importers.wordpress_site import Site, running_site
from tests.move.moving import counts, move, small_blog

__all__ = ["installed"]


async def test_drafts_get_comments_and_are_published_and_private_posts_are_not(
    tool: Tool, installed: Path, tmp_path: Path
) -> None:
    with running_site(tool, installed, tmp_path / "site") as site:
        await check(site, tmp_path)


async def check(site: Site, tmp_path: Path) -> None:
    login, drafts = ("owner", site.password), replace(SAID, all_as_draft=True)
    statuses = "SELECT post_name, post_status, comment_status, comment_count FROM wp_posts WHERE post_type = 'post' ORDER BY post_name"
    source = small_blog()
    assert (await move(site, source, tmp_path, login=login, declared=drafts, side=Side.DRAFTS)).whole
    source.comment("4", "2", name="x", cm_text="後から")
    assert (await move(site, source, tmp_path, login=login, declared=drafts, side=Side.DRAFTS)).whole
    assert rows(site, statuses) == [
        ("entry-3", "draft", "open", 0), ("first", "draft", "open", 2), ("second", "draft", "closed", 2),
    ]  # fmt: skip
    source.comment("5", "2", name="x", cm_text="もっと後")
    source.entry("9", title="秘密", name="secret", is_private="t")
    assert (await move(site, source, tmp_path, login=login)).whole
    assert (await move(site, source, tmp_path, login=login, side=Side.REST)).whole
    assert rows(site, statuses) == [
        ("entry-3", "publish", "open", 0), ("first", "publish", "open", 2), ("second", "publish", "closed", 3),
        ("secret", "private", "open", 0),
    ]  # fmt: skip


async def test_a_changed_comment_is_updated_once_and_edits_by_people_are_kept(
    tool: Tool, installed: Path, tmp_path: Path
) -> None:
    query = "SELECT comment_author, comment_content, comment_approved FROM wp_comments ORDER BY comment_ID"
    with running_site(tool, installed, tmp_path / "site") as site:
        login, source = ("owner", site.password), small_blog()
        assert (await move(site, source, tmp_path, login=login)).whole
        link = '<a href="https://x.example/">書き直した</a>'
        source.comment("1", "1", name="別名", cm_text=link)
        source.comment("2", "1", name="", cm_text="どうも", delete_flg="t")
        for changed in ({"comments": 2}, {}):
            outcome = await move(site, source, tmp_path, login=login, hidden_comments=True)
            assert (outcome.whole, counts(outcome, Did.CHANGED)) == (True, changed)
        (one, two, three) = rows(site, query)
        assert (one[0], "書き直した" in one[1], one[2]) == ("別名", True, "1")
        assert (two[2], three[1:]) == ("0", ("どうも", "1"))
        with closing(sqlite3.connect(site.folder / "wp-content" / "database" / ".ht.sqlite")) as database, database:
            database.execute("UPDATE wp_comments SET comment_content = '私の' WHERE comment_approved = '0'")
        source.comment("1", "1", name="別名", cm_text="もう一度")
        source.comment("2", "1", name="", cm_text="もう一度", delete_flg="t")
        outcome = await move(site, source, tmp_path, login=login, hidden_comments=True)
        assert (counts(outcome, Did.CHANGED), counts(outcome, Did.LEFT)) == ({"comments": 1}, {"comments": 1})
        assert [each[1] for each in rows(site, query)] == ["もう一度", "私の", "どうも"]
