"""WordPress shows the same text of every body as a browser, and its editor knows every block."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.export.post_html import as_html
from exporter.html.wordpress import blocks
from tests.export.memory import Memory
from tests.export.mt_readers import read_carelessly
from tests.html.blog_bodies import bodies
from tests.importers.blogs import Blog, blog
from tests.importers.conftest import Tool
from tests.importers.test_wordpress import BUILDS, SCRIPT, installed

if sys.platform == "linux":
    from tests.site.browser.launching import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["installed"]

EDITOR = BUILDS.parent / "public" / "wp-6.5" / "wp-includes" / "js" / "dist"
MORE = re.compile(r'(?:<p>)?<span id="more-[0-9]*"></span>(?:</p>)?')


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page of a browser that loads nothing from the network."""
    with chromium(None) as browser:
        opened = browser.new_page()
        opened.route("**/*", lambda route: route.abort())
        opened.set_content("<div></div>")
        yield opened


def seen(page: Page, html: str, *, lines: bool) -> str:
    """Return the text that a browser shows of HTML; without ``lines``, empty lines do not count."""
    text: str = page.evaluate(
        "html => { const at = document.querySelector('div'); at.innerHTML = html; return at.innerText }", html
    )
    return text.strip() if lines else "\n".join(filter(None, (line.strip() for line in text.split("\n"))))


def made_up() -> Memory:
    records = Memory()
    for number, body in enumerate(bodies(1, 300), 1):
        more = bodies(number, 1)[0] if number % 7 == 0 else ""
        records.entry(str(number), title=f"題{number}", entry_text=body, ps_text=more, ps_title="続き" if more else "")
    return records


@pytest.mark.parametrize(
    ("form", "style", "name"),
    [
        ("wxr", "html", "demo"),
        ("wxr", "blocks", "demo"),
        ("movabletype", "html", "demo"),
        ("wxr", "html", "made up"),
        pytest.param("wxr", "blocks", "made up", marks=pytest.mark.slow),
        pytest.param("movabletype", "html", "made up", marks=pytest.mark.slow),
    ],
)
def test_the_text_equals_that_of_the_blog(
    tool: Tool, installed: Path, tmp_path: Path, page: Page, name: str, form: str, style: str
) -> None:
    if name == "demo":
        with blog(name, tmp_path / "archive") as moved:
            check(tool, shutil.copytree(installed, tmp_path / "site"), tmp_path, page, moved, form, style)
    else:
        moved = Blog(name, made_up(), tmp_path)
        check(tool, shutil.copytree(installed, tmp_path / "site"), tmp_path, page, moved, form, style)


def check(tool: Tool, site: Path, folder: Path, page: Page, moved: Blog, form: str, style: str) -> None:
    """Import a blog and compare the text of each body and of its continuation."""
    moved.export(form, folder / "out", wordpress_body=style)
    (file,) = (folder / "out").iterdir()
    if form == "wxr":
        # Pictures do not matter here, and their host does not exist.
        without = re.sub(
            r"<item>(?:(?!</item>).)*<wp:attachment_url>.*?</item>\n", "", file.read_text(), flags=re.DOTALL
        )
        file.write_text(without)
        assert json.loads(tool("php", SCRIPT, "read", site, file)) == []
        again = json.loads(tool("php", SCRIPT, "read", site, file))
        assert len([each for each in again if each[0] == "post"]) == len(moved.posts())
    else:
        entries = read_carelessly(file.read_bytes())
        rows = [[entry.fields["TITLE"], entry.body.strip(), entry.extended.strip()] for entry in entries]
        (folder / "posts.json").write_text(json.dumps(rows))
        tool("php", SCRIPT, "insert", site, folder / "posts.json")
    shown = json.loads(tool("php", SCRIPT, "render", site))
    posts = moved.posts()
    lines = style == "html"
    for post, held in zip(posts, shown, strict=True):
        body, *more = MORE.split(held)
        assert seen(page, body, lines=lines) == seen(page, as_html(post.record.body), lines=lines), post.id
        lead = f"<p><strong>{post.record.more_title}</strong></p>" if form == "movabletype" else ""
        wanted = seen(page, lead * bool(post.record.more_title) + as_html(post.record.more), lines=lines)
        assert seen(page, "".join(more), lines=lines) == wanted, post.id


def test_the_editor_knows_every_block(tool: Tool, installed: Path, page: Page) -> None:
    for script in scripts(tool, installed):
        page.add_script_tag(path=script)
    page.evaluate("wp.blockLibrary.registerCoreBlocks()")
    found = page.evaluate(
        """bodies => bodies.flatMap(body => {
            const all = blocks => blocks.flatMap(block => [[block.name, block.isValid], ...all(block.innerBlocks)])
            return all(wp.blocks.parse(body))
        })""",
        ["\n\n".join(blocks(as_html(body))) for body in bodies(1, 300)],
    )
    assert [name for name, is_valid in found if not is_valid] == []
    kinds = {name.removeprefix("core/") for name, _ in found}
    assert kinds == {
        "code", "heading", "html", "image", "list", "list-item", "paragraph", "preformatted", "quote", "separator", "table",
    }  # fmt: skip


def scripts(tool: Tool, site: Path) -> list[Path]:
    """Return the block editor's scripts, each after its dependencies."""
    of = site / "wp-includes" / "assets" / "script-loader-packages.min.php"
    needs = json.loads(tool("php", "-r", f'echo json_encode(require "{of}");'))
    vendors = {"react": [], "react-dom": ["react"], "moment": [], "lodash": []}
    found: dict[str, Path] = {}

    def add(name: str) -> None:
        file = f"{name.removeprefix('wp-')}.min.js"
        known = EDITOR / "vendor" / file if name in vendors else EDITOR / file
        for each in vendors.get(name) or needs.get(file, {}).get("dependencies", []):
            add(each)
        if known.exists():
            found.setdefault(name, known)

    add("wp-block-library")
    return list(found.values())
