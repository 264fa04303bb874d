"""Views of archives whose service states categories, tags and more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exporter.archive.latest import LatestView
from exporter.export.markdown_view import MarkdownView
from exporter.site import SiteOptions
from exporter.site.history import ArchiveHistory
from exporter.site.thumbnails import Thumbnails
from exporter.site.view import SiteView
from tests.archive.builder import Built
from tests.support.wide_blog import WideService


def refresh(built: Built, **options: Any) -> int:
    """Bring the archive's Markdown and site up to date; return the number of written files."""
    service, reader = WideService(), built.reader
    history, thumbnails = ArchiveHistory(reader, service), Thumbnails(reader.layout, keeps=True)
    site = SiteView(service, history, SiteOptions(**options), reader.layout, thumbnails)
    markdown = MarkdownView(service)
    return built.refresh(
        LatestView(site.name, site.edition, site.files), LatestView(markdown.name, markdown.edition, markdown.files)
    )


def page(built: Built, path: str) -> str:
    """Return a page of the site."""
    return (built.layout.latest / "site" / path).read_text("utf-8")


def site_folder(built: Built) -> Path:
    """Return the folder of the site."""
    return Path(built.layout.latest / "site")
