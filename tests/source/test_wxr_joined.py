"""A WordPress export file and the API of the same blog in one archive: galleries and synced patterns stay visible."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from exporter.http.engine import Engine
from exporter.library.backup import OpenService, backup
from exporter.service.wordpress.source import WordPressService
from exporter.wordpress import application_password
from tests.cli.conftest import Program
from tests.service.wordpress_server import PASSWORD, USER, WordPress, served
from tests.service.wxr_samples import channel, item, picture
from tests.source.wxr_backups import BLOG, saved, settings

GALLERY = '<div class="gallery">{}</div>'.format(
    "".join(f'<figure><img src="https://blog.example/wp-content/uploads/2024/04/{name}.jpg"></figure>' for name in "ab")
)
SHOWN = {10: f"<p>前</p>{GALLERY}", 11: "<p>前</p><p>共通の文</p>", 12: "", 13: GALLERY, 14: "<p>忘れる文</p>"}
NOON = {"date": "2024-04-01T12:00:00", "date_gmt": "2024-04-01T03:00:00"}


def written(path: Path, url: str, ids: str = "5,6") -> Path:
    """Write the blog as an export file."""
    sources = {
        10: f'前\n\n[gallery ids="{ids}"]', 11: '前\n\n<!-- wp:block {"ref":62} /-->', 13: "[gallery]", 14: "忘れる文",
        12: '前\n\n<!-- wp:block {"ref":62} /-->\n\n<!-- wp:block {"ref":77} /-->',
    }  # fmt: skip
    entries = (
        item(number, body, title=f"Post {number}", link=f"{url}/post-{number}/") for number, body in sources.items()
    )
    pictures = (picture(number, name, post_parent=13) for number, name in ((5, "a.jpg"), (6, "b.jpg")))
    path.write_text(channel(*entries, *pictures, item(62, "<p>共通の文</p>", post_type="wp_block")), "utf-8")
    return path


async def from_api(blog: WordPress, root: Path) -> int:
    """Back the blog up through its API, and return the exit code."""
    wanted = settings(service="wordpress", base_url=blog.url, allow_private_network="yes")
    async with Engine() as engine:
        service = WordPressService(signed_in=True, base_url=blog.url, rest_route=False)
        client = engine.client(blog.url, application_password(USER, PASSWORD))
        made = backup(root, OpenService(BLOG, service, client), wanted)
        async for _ in made:
            pass
    return made.outcome.exit_code


@pytest.mark.parametrize("first", ["wxr", "wordpress"])
async def test_galleries_and_patterns_stay_in_every_target(tmp_path: Path, program: Program, first: str) -> None:
    root, path = tmp_path / "archive", tmp_path / "export.xml"
    blog = WordPress(categories={1: {"name": "海", "parent": 0}})
    for number, body in SHOWN.items():
        blog.add_post(number, raw=body, **NOON)
    async with served(blog) as running:
        if first == "wxr":
            await saved(written(path, running.url), root)
        assert await from_api(running, root) == 0
        await saved(written(path, running.url, ids="6,5"), root)
    assert program("forget", root, "--entry", "14", "--yes").code == 0
    assert program("prune", root, "--keep-last", "1").code == 0
    assert program("verify", root).code == 0
    assert program("site", root, tmp_path / "site").code == 0
    texts = {"site": "".join(each.read_text("utf-8") for each in (tmp_path / "site" / "entry").glob("*.html"))}
    for form in ("markdown", "wordpress", "hatena"):
        assert program("export", form, root, tmp_path / form).code == 0
        files = [each for each in (tmp_path / form).rglob("*") if each.suffix in {".md", ".xml", ".txt"}]
        texts[form] = "".join(each.read_text("utf-8") for each in files)
        report = json.loads((tmp_path / f"{form}.report.json").read_text("utf-8"))
        assert "the synced pattern 77" in json.dumps(report), form
    for form, text in texts.items():
        shown = re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL) if form == "site" else text
        assert "[gallery" not in shown, form
        assert "忘れる文" not in shown, form
        assert shown.count("共通の文") >= 2, form
        assert all(shown.count(f"2024/04/{name}.jpg") >= 2 for name in "ab"), form
