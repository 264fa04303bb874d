"""Archives for sites: the demo's, with its pictures stored, and blogs of any records."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.archive.latest import LatestView
from exporter.cli.backup import back_up
from exporter.cli.output import Output
from exporter.crawl.assets.file_check import dimensions, sniff
from exporter.demo.content import Blog, demo_blog, fields, later_changes
from exporter.html.embedded import embedded
from exporter.html.links import absolute
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.settings import resolve
from exporter.site import SiteOptions
from exporter.site.history import ArchiveHistory
from exporter.site.thumbnails import Thumbnails
from exporter.site.view import SiteView
from tests.archive.builder import Built, Changes
from tests.support.demo_service import DemoService


def demo_archive(root: Path) -> Archive:
    """Back the demo up twice, and store its pictures in a third version."""
    blog = demo_blog()
    service = DemoService(blog)
    with service.run_in_thread():
        settings = resolve({"base_url": service.base_url, "site": "no", "assets": "none"}, environ={})
        back_up(root, blog.blog_id, settings, Output(verbosity=-1))
        later_changes(blog)
        back_up(root, blog.blog_id, settings, Output(verbosity=-1))
    Built.reopen(root).commit({Kind.ASSETS: store_pictures(root, blog)})
    return Archive.open(root)


def store_pictures(root: Path, blog: Blog) -> dict[str, bytes | None]:
    """Store a blog's pictures as an archive does; return their records."""
    users: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for number, record in blog.entries.items():
        entry = fields(record)
        for text in (entry.get("entry_text", ""), entry.get("ps_text", "")):
            for found in embedded(str(text)):
                address = absolute(found.text, f"https://{blog.blog_id}/")
                if address in blog.pictures and {"entry": str(number)} not in users[address]:
                    users[address].append({"entry": str(number)})
    records: dict[str, bytes | None] = {}
    for address, body in blog.pictures.items():
        asset = stored(root, address, body, refs=users[address])
        records[address] = lossless_json.dumps(asset.data())
    return records


def stored(root: Path, url: str, body: bytes, *, refs: list[dict[str, str]], content_type: str = "") -> Asset:
    """Store one file and return its record."""
    kind = content_type or sniff(body)
    path = root / "probe"
    path.write_bytes(body)
    with path.open("rb") as file:
        size = dimensions(file, kind)
    path.unlink()
    asset = Asset(
        url, 200, kind, len(body), hashlib.sha256(body).hexdigest(), refs=tuple(refs),
        width=size.width if size else None, height=size.height if size else None,
    )  # fmt: skip
    target = root / (asset.path or "")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(body)
    return asset


def site_view(reader: Archive, **options: Any) -> LatestView:
    """Return the site as ``latest/`` keeps it."""
    thumbnails = Thumbnails(reader.layout, keeps=True)
    history = ArchiveHistory(reader, DEFAULT_SERVICE)
    view = SiteView(DEFAULT_SERVICE, history, SiteOptions(**options), reader.layout, thumbnails)
    return LatestView(view.name, view.edition, view.files)


def build(built: Built, **options: Any) -> int:
    """Update an archive's site; return the number of written files."""
    return built.refresh(site_view(built.reader, **options))


def of_records(root: Path, changes: Changes) -> Built:
    """Build an archive of one version."""
    built = Built(root)
    built.commit(changes)
    return built
