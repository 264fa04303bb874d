"""The sample blog has one number of pictures on its site, and one of pictures and files in the commands."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from exporter.archive.archive import Archive
from exporter.html.blog_pictures import blog_pictures
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.window.archives import health
from tests.cli.conftest import Program


def test_the_same_blog_has_the_same_numbers(made: Path, program: Program) -> None:
    with contextlib.closing(Archive.open(made).state(kinds=[Kind.ASSETS])) as state:
        assets = [Asset.from_raw(raw) for _, raw in state.scan(Kind.ASSETS)]
    pictures = len(list(blog_pictures(assets)))
    site = made / "latest" / "site"
    for name in ("gallery.html", "statistics.html"):
        assert re.findall("([0-9]+)\\s枚", (site / name).read_text("utf-8"))[0] == str(pictures)
    saved = sum(asset.sha256 is not None for asset in assets)
    shown = program("status", made).out
    named = re.findall("([0-9]+)(?: of [0-9]+)? pictures and files", shown.replace("addresses of pictures", ""))
    assert set(named) == {str(saved)}
    assert f"{len(assets)} addresses of pictures and files" in shown
    assert f"{saved} pictures and files" in health(made).detail
