"""Backups of WXR files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporter.archive.archive import Archive
from exporter.http.engine import Engine
from exporter.library.backup import Backup, OpenService, backup
from exporter.model.kinds import Kind
from exporter.service.wxr.source import WxrFile
from exporter.settings import Settings, resolve
from exporter.source.export_files import find_export_files
from exporter.source.file_index import FileClient

BLOG = "blog.example"


def settings(**options: str) -> Settings:
    """Return settings without views and pictures."""
    return resolve({"site": "no", "markdown": "no", "assets": "none", "service": "wxr", **options}, environ={})


async def saved(path: Path, root: Path, wanted: Settings | None = None, **how: Any) -> Backup:
    """Back up the export files at a path."""
    wanted = wanted or settings()
    files = find_export_files(path)
    assert files.format is WxrFile
    service = WxrFile(files.digest(), wanted.get("timezone"))
    async with Engine() as engine:
        opened = OpenService(BLOG, service, FileClient(files, service, engine))  # type: ignore[arg-type,unused-ignore]
        made = backup(root, opened, wanted, **how)
        async for _ in made:
            pass
    return made


def state_of(root: Path) -> Mapping[Kind, dict[str, Any]]:
    """Return the newest records of an archive, by kind and id."""
    state = Archive.open(root).state()
    return {kind: dict(state.scan(kind)) for kind in Kind}
