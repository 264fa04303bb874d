"""A blog has one number of pictures, on each page that shows one."""

from __future__ import annotations

import re
from hashlib import sha256

from exporter.html.blog_pictures import blog_pictures
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.pages.entry import entry_files
from exporter.site.pages.gallery import gallery_files
from exporter.site.pages.site import Site
from exporter.site.pages.statistics import statistics_files
from tests.export.memory import Memory

PLACE = "https://files.example"


def saved(memory: Memory, url: str, content: str, *, entry: str = "1", kind: str = "image/png", **more: object) -> None:
    """Add a saved file; files with the same content have the same bytes."""
    digest = sha256(content.encode()).hexdigest()
    refs = [{"entry": entry}] if entry else []
    memory.add(
        Kind.ASSETS,
        {
            "url": url,
            "status": 200,
            "content_type": kind,
            "bytes": 9,
            "sha256": digest,
            "error": None,
            "refs": refs,
            **more,
        },
    )


def test_each_picture_counts_once_everywhere() -> None:
    memory = Memory()
    for entry_id in ("1", "2"):
        memory.entry(entry_id, year="2016", mon="3", day=entry_id)
    saved(memory, f"{PLACE}/a.png", "a")
    saved(memory, "https://elsewhere.example/a.png", "a", entry="2")
    saved(memory, f"{PLACE}/thumbnail.png", "small")
    saved(memory, f"{PLACE}/original.png", "large", entry="", original_of=f"{PLACE}/thumbnail.png")
    saved(memory, f"{PLACE}/unused.png", "unused", entry="", width=48, height=48)
    saved(memory, f"{PLACE}/page.html", "page", kind="text/html")
    saved(memory, f"{PLACE}/paper.pdf", "paper", kind="application/pdf")
    saved(memory, f"{PLACE}/counter.gif", "counter", width=47, height=60)
    saved(memory, "https://static.fc2.com/emoji/1.gif", "emoji")
    memory.add(
        Kind.ASSETS,
        {
            "url": f"{PLACE}/gone.png",
            "status": 404,
            "content_type": "image/png",
            "sha256": None,
            "refs": [{"entry": "1"}],
        },
    )
    site = Site(memory, DEFAULT_SERVICE, None, SiteOptions("umi", "en"))
    pages = {file.path: file.render().decode() for make in (gallery_files, statistics_files) for file in make(site)}
    for name in ("statistics.html", "gallery.html"):
        assert re.findall("([0-9]+)\u00a0pictures", pages[name]) == ["3"]
    assert len(re.findall("<li style", pages["gallery/2016.html"])) == 2
    assert len(re.findall("<li style", pages["gallery/unused.html"])) == 1
    groups = [
        [each.url for each in group]
        for group in blog_pictures(Asset.from_raw(raw) for _, raw in memory.scan(Kind.ASSETS))
    ]
    assert sorted(groups) == [
        ["https://elsewhere.example/a.png", f"{PLACE}/a.png"],
        [f"{PLACE}/original.png", f"{PLACE}/thumbnail.png"],
        [f"{PLACE}/unused.png"],
    ]
    newest, *_ = (
        picture for picture in site.pictures.shown if picture.path.startswith(f"assets/{sha256(b'a').hexdigest()[:2]}")
    )
    assert set(newest.entries) == {"1", "2"}


def test_an_entry_shows_no_placeholder_below_its_text() -> None:
    memory = Memory()
    lazy = f'<img src="{PLACE}/spacer.gif" data-src="{PLACE}/a.png"> <img src="{PLACE}/small.png" data-src="{PLACE}/b.png">'
    memory.entry("1", entry_text=f'{lazy} <a href="{PLACE}/c.png">写真</a>')
    for name in ("spacer.gif", "small.png", "a.png", "b.png", "c.png"):
        saved(memory, f"{PLACE}/{name}", name, width=300, height=200)
    site = Site(memory, DEFAULT_SERVICE, None, SiteOptions("umi", "en"))
    (page,) = (file.render().decode() for file in entry_files(site))
    digests = {
        name: sha256(name.encode()).hexdigest() for name in ("spacer.gif", "small.png", "a.png", "b.png", "c.png")
    }
    assert [name for name, digest in digests.items() if digest in page] == ["a.png", "b.png", "c.png"]
