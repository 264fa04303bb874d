"""Site generators build the exports, and the built pages hold every public title, picture and comment."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.exporters.hostile import entry_word
from tests.importers.blogs import BLOGS, Blog, bare, blog, shown
from tests.importers.conftest import Tool

both_blogs = pytest.mark.parametrize("name", BLOGS)
both_bodies = pytest.mark.parametrize("body", ["markdown", "html"])
PICTURES = {".png", ".jpg", ".gif", ".webp", ".bmp", ".svg"}


def check(site: Path, moved: Blog, report: dict[str, dict[str, int]], name: str) -> None:
    """Compare a built site with the blog."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    text = shown(pages)
    letters = bare(text)
    posts = moved.posts()
    assert len(posts) == report["out"]["entries"] == {"demo": 55, "hostile": 40}[name]
    assert [post.title for post in posts if bare(post.title.replace("\ud83d", "")) not in letters] == []
    if name == "hostile":
        assert [number for number in range(1, 41) if entry_word(number) not in text] == []
    assert [word for word in moved.words() if word not in text] == []
    pictures = [path for path in site.rglob("*") if path.suffix in PICTURES and re.search(r"[0-9a-f]{16}\.", path.name)]
    assert len({path.name for path in pictures}) >= 5
    assert [path.name for path in pictures if path.name not in pages] == []


@both_blogs
@both_bodies
def test_hugo(tool: Tool, tmp_path: Path, name: str, body: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        site = tmp_path / "site"
        report = moved.export("hugo", site, body=body)
        layouts = site / "layouts" / "_default"
        layouts.mkdir(parents=True)
        (layouts / "single.html").write_text("<title>{{ .Title }}</title><main>{{ .Content }}</main>")
        tool("hugo", "--quiet", cwd=site)
        pages = list((site / "public" / "posts").rglob("index.html"))
        assert len(pages) == report["out"]["entries"]
        check(site / "public", moved, report, name)
        if name == "hostile":
            text = shown("".join(path.read_text(encoding="utf-8") for path in pages))
            assert "{{<shortcode>}}{{%other%}}{{.Title}}" in text
            assert '{{<ref"a">}}' in text


@both_blogs
@both_bodies
def test_jekyll(tool: Tool, tmp_path: Path, name: str, body: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        site = tmp_path / "site"
        report = moved.export("jekyll", site, body=body)
        (site / "_layouts").mkdir()
        (site / "_layouts" / "post.html").write_text(
            "<title>{{ page.title | escape }}</title><main>{{ content }}</main>"
        )
        (site / "_config.yml").write_text("future: true\n")
        tool("jekyll", "build", "--quiet", cwd=site)
        check(site / "_site", moved, report, name)


@both_blogs
@both_bodies
def test_pelican(tool: Tool, tmp_path: Path, name: str, body: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        site = tmp_path / "site"
        report = moved.export("pelican", site, body=body)
        said = tool("pelican", "content", "-o", "output", "-e", f"TIMEZONE={json.dumps('Asia/Tokyo')}", cwd=site)
        assert f"Processed {report['out']['entries']} articles, 0 drafts" in " ".join(said.split())
        check(site / "output", moved, report, name)
