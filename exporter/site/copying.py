"""A site in a folder of its own, with the pictures it shows beside its pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from exporter.exporters.interface import Content, Copy, ExportFile
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.render.local import stored_path

if TYPE_CHECKING:
    from exporter.exporters.interface import RecordSource
    from exporter.site.view import SiteView


def copied_site(view: SiteView, records: RecordSource) -> Iterator[ExportFile]:
    """Yield the files of a site made with ``SiteOptions(assets="")``, and after them its pictures."""
    for file in view.files(records):
        yield Content(file.path, iter([file.render()]))
    for path in _stored(raw for _, raw in records.scan(Kind.ASSETS)):
        yield Copy(path, path)


def _stored(assets: Iterable[dict[str, object]]) -> list[str]:
    return sorted({path for raw in assets if (path := stored_path(Asset.from_raw(raw))) is not None})
