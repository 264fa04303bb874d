"""A blog with pages, threads, tags and every status in a real WordPress: what arrives, and what its API cannot hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exporter.compare.archived import old_posts
from exporter.compare.posts import Aspect, Scope
from exporter.compare.reconcile import Comparison
from exporter.export.interface import ExportOptions, Side
from exporter.export.names import wordpress_name
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.http.engine import Engine
from exporter.library.compare import Arrivals, compare, open_home
from exporter.model.publication import Declared
from exporter.move.outcome import Did
from exporter.settings import Settings
from exporter.wordpress import RestRefusal, application_password, open_wordpress
from tests.export.memory import Memory
from tests.importers.conftest import Tool
from tests.importers.test_move import rows
from tests.importers.test_wordpress import installed
from tests.importers.wordpress_site import Site, running_site
from tests.move.moving import move
from tests.move.wide_blog import WIDE, wide_blog

__all__ = ["installed"]

STATUSES = "SELECT post_title, post_type, post_status, post_name FROM wp_posts WHERE post_type IN ('post', 'page')"
COMMENTS = """SELECT c.comment_content, coalesce(p.comment_content, ''), c.comment_approved, c.comment_type,
    c.comment_author_email, c.comment_date_gmt
    FROM wp_comments c LEFT JOIN wp_comments p ON p.comment_ID = c.comment_parent"""

TABLES = ("wp_posts", "wp_comments", "wp_terms", "wp_term_taxonomy", "wp_term_relationships")
FIRST = "SELECT ID FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish' ORDER BY ID"
COMMENT = "SELECT comment_ID FROM wp_comments"


async def leads(site: Site, path: str) -> str | None:
    """Return the path to which an old address leads for visitors."""
    async with open_home(site.url, Settings(allow_private_network=True)) as home:
        found = await home.follow([f"https://old.example{path}"])
    return next((target.removeprefix(site.url) for target in found.values()), None)


async def compared(site: Site, source: Memory) -> Comparison:
    found: dict[str, Any] = {}
    for side in (Side.PUBLIC, Side.REST):
        options = ExportOptions(Declared(), side, hidden_comments=True, service=WIDE)
        posts = Posts(source, options, Report(), holds_back=True, spelling=wordpress_name)
        found |= {post.id: post for post in old_posts(posts, asked=True)}
    settings = Settings(new_home_user="owner", new_home_token=site.password, allow_private_network=True)
    async with open_home(site.url, settings) as home:
        return (await compare(home, Arrivals(list(found.values()), frozenset(), {}), Scope())).comparison


async def test_the_wide_blog_arrives(tool: Tool, installed: Path, tmp_path: Path) -> None:
    source = wide_blog()
    with running_site(tool, installed, tmp_path / "site") as site:
        login, report = ("owner", site.password), Report()
        wide: dict[str, Any] = {"service": WIDE, "old_urls": (), "report": report, "login": login}
        for side in (Side.PUBLIC, Side.REST):
            outcome = await move(site, source, tmp_path, side=side, **wide)
            assert outcome.whole, outcome.document()
        found = {title: (kind, status, name) for title, kind, status, name in rows(site, STATUSES)}
        assert found == {
            "一つ目": ("post", "publish", "first"), "私について": ("page", "publish", "about"),
            "三つ目": ("post", "draft", "entry-3"), "四つ目": ("post", "future", "entry-4"),
            "五つ目": ("post", "draft", "entry-5"), "六つ目": ("post", "private", "entry-6"),
            "七つ目": ("post", "private", "entry-7"), "八つ目": ("post", "private", "entry-8"),
            "九つ目": ("page", "private", "hidden"),
        }  # fmt: skip
        comments = {text: tuple(more) for text, *more in rows(site, COMMENTS)}
        assert {text: parent for text, (parent, *_) in comments.items() if parent} == {
            "返事": "最初", "返事の返事": "返事", "輪二": "輪一",
        }  # fmt: skip
        assert comments["最初"][1:] == ("1", "comment", "umi@mail.example", "2020-01-02 03:00:00")
        assert comments["秘密の返事"][1:3] == ("spam", "comment")
        assert comments["トラックバック"][2] == "comment", "the API makes no other kind"
        compare = await compared(site, source)
        assert compare.whole, [(each.old.id, each.differences) for each in compare.results if each.differences]
        assert {each.aspect for each in compare.unchecked} == {
            Aspect.COMMENTS, Aspect.AUTHOR, Aspect.CATEGORY, Aspect.TAGS,
        }  # fmt: skip
        assert await leads(site, f"/?p={rows(site, FIRST)[0][0]}") == "/first/"
        assert await leads(site, "/2020/01/nothing.html") == ""
        before = [rows(site, f"SELECT * FROM {table}") for table in TABLES]
        for side in (Side.PUBLIC, Side.REST):
            outcome = await move(site, source, tmp_path, side=side, **wide)
            assert all(made[Did.MADE] == made[Did.CHANGED] == 0 for made in outcome.counts.values())
        assert [rows(site, f"SELECT * FROM {table}") for table in TABLES] == before


async def test_the_api_makes_no_trackbacks(tool: Tool, installed: Path, tmp_path: Path) -> None:
    with running_site(tool, installed, tmp_path / "site") as site:
        login = ("owner", site.password)
        await move(site, wide_blog(), tmp_path, service=WIDE, old_urls=(), login=login)
        async with Engine() as engine:
            api = await open_wordpress(engine.client(site.url, application_password(*login)))
            fields = {
                "post": 1,
                "content": "x",
                "author_name": "x",
                "author_email": "x@mail.example",
                "type": "trackback",
            }
            made = await api.send("wp/v2/comments", fields | {"post": rows(site, FIRST)[0][0]}, {})
            changed = await api.send(f"wp/v2/comments/{rows(site, COMMENT)[0][0]}", {"type": "trackback"}, {})
        assert isinstance(made, RestRefusal)
        assert made.code == "rest_invalid_comment_type"
        assert isinstance(changed, RestRefusal)
        assert changed.code == "rest_comment_invalid_type"
