"""The title of a blog: chosen by its owner, or stated by its records. The site and every export have the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.archive.settings_file import kept_title
from exporter.html.text import collapse
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.export.interface import RecordSource
    from exporter.service.interface import Records


def blog_title(chosen: str, records: RecordSource, service: Records) -> str:
    """Return the chosen title on one line, or else the one that the records state; empty if nothing states it."""
    stated = (service.blog_title(raw) for _, raw in records.scan(Kind.USER))
    return collapse(chosen) or next(filter(None, map(collapse, stated)), "")


def title_for_export(chosen: str, root: Path, records: RecordSource, service: Records) -> str:
    """Return the title as :func:`blog_title`; without a chosen one, that which the archive at ``root`` remembers."""
    return blog_title(chosen or kept_title(root), records, service)
