"""The blogs that are moved: the made-up one and the hostile one, with what a new home must show of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from exporter.archive.reader import ArchiveReader
from exporter.exporters.folder import write_export
from exporter.exporters.formats import FORMATS
from exporter.exporters.interface import RecordSource
from exporter.exporters.options import ExportOptions
from exporter.exporters.posts import Post, Posts
from exporter.exporters.report import Report
from exporter.model.kinds import Kind
from tests.exporters.hostile import hostile_blog
from tests.exporters.memory import PIXEL, SAID
from tests.importers.conftest import ROOT

BLOGS = ("demo", "hostile")


@dataclass
class Blog:
    """A blog to move, and where its pictures are."""

    records: RecordSource
    root: Path

    def export(self, form: str, target: Path, **options: Any) -> dict[str, Any]:
        """Write an export of what is public, and return its report."""
        chosen = ExportOptions(**{"declared": SAID, **options})
        report = Report()
        posts = Posts(self.records, chosen, report, holds_back=FORMATS[form].holds_back)
        write_export(FORMATS[form].load()(posts, chosen, report), self.root, target)
        return report.document()

    def posts(self) -> list[Post]:
        """What is public."""
        return list(Posts(self.records, ExportOptions(declared=SAID), Report()))

    def words(self) -> Iterator[str]:
        """Yield some words of each comment, as far as they can be found as they are in any page."""
        for post in self.posts():
            for each in post.comments:
                found = re.search(r"[ぁ-んァ-ヶ一-龠]{4,}", each.comment.cm_text.replace("<", "\n"))
                if found:
                    yield found[0]


@contextmanager
def blog(name: str, folder: Path) -> Iterator[Blog]:
    """Open one of the blogs."""
    if name == "demo":
        reader = ArchiveReader(ROOT / "sample_output")
        state = reader.state()
        try:
            yield Blog(state, reader.layout.root)
        finally:
            state.close()
        return
    records = hostile_blog()
    for raw in records.kinds[Kind.ASSETS].values():
        if raw["sha256"] is not None:
            path = folder / "assets" / raw["sha256"][:2] / f"{raw['sha256']}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(PIXEL)
    yield Blog(records, folder)


def shown(html: str) -> str:
    """Return the text of a page, its white space out of the way."""
    html = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL | re.IGNORECASE)
    return "".join(unescape(re.sub(r"<[^<>]*>", "", html)).split())


def bare(text: str) -> str:
    """Return what of a title every importer keeps: its letters and digits."""
    return "".join(char for char in text if char.isalnum())
