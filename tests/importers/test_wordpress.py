"""WordPress imports a WXR file, and its own export returns every post, comment, category, picture and flag."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exporter.export.interface import Side
from tests.export.hostile import SECRET
from tests.export.memory import SAID, Memory
from tests.importers.blogs import BLOGS, Blog, blog
from tests.importers.conftest import NODE_MODULES, Tool, serving
from tests.importers.ledger import Count, Ledger

SCRIPT = Path(__file__).parent / "wordpress.php"
BUILDS = NODE_MODULES / "@wp-playground" / "wordpress-builds" / "src"
PLUGIN = "sqlite-database-integration"
WP = "{http://wordpress.org/export/1.2/}"
BODY = "{http://purl.org/rss/1.0/modules/content/}encoded"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
POST = ("post_date", "post_date_gmt", "post_name", "status", "comment_status", "ping_status")
COMMENT = ("author", "author_url", "date", "date_gmt", "content", "approved", "type")

Move = Callable[..., "Home"]


@dataclass
class Home:
    """The items that WordPress refused, its export, and the file of its database."""

    refused: list[list[str]]
    export: Path
    database: Path


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty WordPress."""
    site = tmp_path_factory.mktemp("wordpress")
    with zipfile.ZipFile(BUILDS / "wordpress" / "wp-6.5.zip") as packed:
        packed.extractall(site)
    shutil.rmtree(site / "wp-content" / "database")
    plugins = site / "wp-content" / "plugins"
    with zipfile.ZipFile(BUILDS / PLUGIN / f"{PLUGIN}.zip") as packed:
        packed.extractall(plugins)
    (plugins / f"{PLUGIN}-main").rename(plugins / PLUGIN)
    drop_in = (plugins / PLUGIN / "db.copy").read_text()
    drop_in = drop_in.replace("{SQLITE_IMPLEMENTATION_FOLDER_PATH}", "").replace(
        "{SQLITE_PLUGIN}", f"{PLUGIN}/load.php"
    )
    (site / "wp-content" / "db.php").write_text(drop_in)
    Tool()("php", SCRIPT, "install", site)
    return site


@pytest.fixture
def move(installed: Path, tmp_path: Path) -> Move:
    """Import files into a separate empty WordPress, one process per file."""

    def run(tool: Tool, *files: Path) -> Home:
        site = shutil.copytree(installed, tmp_path / "wordpress")
        refused = [each for file in files for each in json.loads(tool("php", SCRIPT, "read", site, file))]
        tool("php", SCRIPT, "write", site, into=tmp_path / "again.xml")
        return Home(refused, tmp_path / "again.xml", site / "wp-content" / "database" / ".ht.sqlite")

    return run


def posts_of(path: Path) -> dict[str, dict[str, Any]]:
    """Read the fields of each post in a WXR file, and its comments in their order."""
    posts = {}
    for item in ET.parse(path).iter("item"):
        if item.findtext(f"{WP}post_type") == "post":
            posts[item.findtext(f"{WP}post_id") or ""] = {
                "title": item.findtext("title"),
                "body": without_rel(item.findtext(BODY)),
                "categories": [(each.text, each.get("nicename")) for each in item.iter("category")],
                "meta": metas(item, "postmeta"),
                "comments": [
                    [
                        *(without_rel(each.findtext(f"{WP}comment_{name}")) for name in COMMENT),
                        metas(each, "commentmeta"),
                    ]
                    for each in item.iter(f"{WP}comment")
                ],
                **{name: item.findtext(f"{WP}{name}") for name in POST},
            }
    return posts


def without_rel(html: str | None) -> str:
    """Remove WordPress' additions to links: ``rel="noopener"`` in posts, ``rel="nofollow ugc"`` in comments."""
    return re.sub(r' rel="[^"]*"', "", html or "")


def metas(element: ET.Element, name: str) -> list[tuple[str | None, str | None]]:
    return [
        (each.findtext(f"{WP}meta_key"), each.findtext(f"{WP}meta_value")) for each in element.findall(f"{WP}{name}")
    ]


def attachments(path: Path) -> dict[str, str]:
    """Read the attachments' addresses by name."""
    items = [each for each in ET.parse(path).iter("item") if each.findtext(f"{WP}post_type") == "attachment"]
    addresses = [each.findtext(f"{WP}attachment_url") or "" for each in items]
    return {address.rpartition("/")[2]: address for address in addresses}


def categories(path: Path) -> set[tuple[str | None, str | None]]:
    found = ET.parse(path).getroot().iter(f"{WP}category")
    named = {(each.findtext(f"{WP}cat_name"), each.findtext(f"{WP}category_nicename")) for each in found}
    return named - {("Uncategorized", "uncategorized")}


@pytest.mark.parametrize("name", BLOGS)
def test_wordpress_own_export_equals_the_import(
    tool: Tool, ledger: Ledger, move: Move, tmp_path: Path, name: str
) -> None:
    with blog(name, tmp_path / "archive") as moved:
        moved.export("wxr", tmp_path / "pictures", media_folder=True)
        with serving(tmp_path / "pictures" / "media") as address:
            report = moved.export("wxr", tmp_path / "out", media_base_url=address)
            given = tmp_path / "out" / "wordpress-public.xml"
            home = move(tool, given)
        assert home.refused == []
        assert SECRET.encode() not in home.database.read_bytes()
        wanted, held = posts_of(given), posts_of(home.export)
        sent, kept = attachments(given), attachments(home.export)
        assert set(kept) == set(sent)
        for post in wanted.values():
            for file, address in sent.items():
                post["body"] = post["body"].replace(address, kept[file])
        assert held == wanted
        assert all(sum(address in post["body"] for post in held.values()) for address in kept.values())
        assert categories(home.export) == categories(given)
        count = Count(
            posts=len(held),
            comments=sum(len(post["comments"]) for post in held.values()),
            categories=len(categories(home.export)),
            pictures=len(kept),
        )
        ledger.enter("wxr", "WordPress 6.5", name, moved.count(), count, report, tool.seconds)


def test_several_files_leave_no_picture_on_the_old_host(tool: Tool, move: Move, tmp_path: Path) -> None:
    shared = Memory()
    for number in range(1, 61):
        names = {number % 15, number // 4, 100 + number % 3}
        pictures = [f"https://old.example/{name}" for name in sorted(names)]
        for url in pictures:
            shared.picture(url, entry_id=str(number))
        shown = "".join(f'<img src="{url}">' for url in pictures)
        shared.entry(str(number), title=f"題{number}", entry_text=shown)
    moved = Blog("shared", shared, tmp_path / "archive")
    shared.write_pictures(moved.root)
    moved.export("wxr", tmp_path / "pictures", media_folder=True)
    with serving(tmp_path / "pictures" / "media") as address:
        moved.export("wxr", tmp_path / "out", media_base_url=address, max_entries=12)
        files = sorted((tmp_path / "out").iterdir())
        assert len(files) == 5
        home = move(tool, *files, *files)
        again = [why for _, _, why in home.refused]
        assert again == ["known already by its title and date"] * (60 + len(moved.pictures()))
        held = posts_of(home.export)
        assert len(held) == 60
        assert [number for number, post in held.items() if address in post["body"]] == []
        kept = attachments(home.export)
        assert len(kept) == len(moved.pictures()) == 19
        assert all(sum(url in post["body"] for post in held.values()) for url in kept.values())


def test_wordpress_keeps_the_names_of_posts(tool: Tool, move: Move, tmp_path: Path) -> None:
    names = [
        "20240305",
        "7",
        "海の日",
        "カ\u3099ルー",
        "café",
        "über-Straße",
        "海。「！」",
        "umi_no-hi",
        "feed",
        "a.b",
        "①",
        "ａｂｃ",
    ]
    named = Memory()
    for number, name in enumerate(names, 1):
        named.entry(str(number), title=f"題{number}", name=name)
    Blog("named", named, tmp_path).export("wxr", tmp_path / "out")
    file = next((tmp_path / "out").iterdir())
    wanted = [post["post_name"] for post in posts_of(file).values()]
    assert [name for name in wanted if name.startswith("entry-")] == ["entry-9", "entry-10"]
    assert [post["post_name"] for post in posts_of(move(tool, file).export).values()] == wanted


STATUSES = {Side.PUBLIC: "publish", Side.REST: "private", Side.DRAFTS: "draft"}


@pytest.mark.parametrize("side", Side)
def test_wordpress_imports_entries_that_it_could_lose(tool: Tool, move: Move, tmp_path: Path, side: Side) -> None:
    private = "t" if side is Side.REST else "f"
    awkward = Memory()
    awkward.entry("1", title="", entry_text="", is_private=private)
    awkward.entry("2", title="0", entry_text="0", is_private=private)
    awkward.entry("3", title="だい", category="<管理人>", is_private=private)
    awkward.entry("4", title="ダイ", category="長" * 300, is_private=private)
    awkward.entry("5", title="遠い日", year="2030", is_private=private)
    awkward.comment("1", "3", name="<管理人> & " + "名" * 200)
    awkward.comment("2", "3", name="<管理人>", url_text=f"https://kamome.example/{'a' * 300}")
    awkward.comment("3", "3", name="<管理人>", cm_text="同じ日")
    said = replace(SAID, all_as_draft=True) if side is Side.DRAFTS else SAID
    report = Blog("awkward", awkward, tmp_path).export("wxr", tmp_path / "out", declared=said, side=side, as_of=NOW)
    file = next((tmp_path / "out").iterdir())
    home = move(tool, file)
    assert home.refused == []
    held = posts_of(home.export)
    assert held == posts_of(file)
    assert len(held) == report["out"]["entries"] == (4 if side is Side.PUBLIC else 5)
    assert {post["status"] for post in held.values()} == {STATUSES[side]}
    first, *others = [comment[0] for comment in held["3"]["comments"]]
    assert first.startswith("&lt;管理人&gt; &amp; 名名")
    assert others == ["&lt;管理人&gt;"] * 2
