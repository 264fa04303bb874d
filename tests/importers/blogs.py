"""The blogs that are moved: the made-up one and the hostile one, with what a new home must show of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

from exporter.archive.archive import Archive
from exporter.export.folder import write_export
from exporter.export.formats import FORMATS
from exporter.export.interface import ExportOptions, RecordSource
from exporter.export.media import Media
from exporter.export.post_html import comment_html
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from tests.export.hostile import comment_word, hostile_blog
from tests.export.memory import SAID
from tests.importers.conftest import ROOT
from tests.importers.ledger import Count

BLOGS = ("demo", "hostile")


@dataclass
class Blog:
    """A blog to move, and where its pictures are."""

    name: str
    records: RecordSource
    root: Path

    def export(self, form: str, target: Path, **options: Any) -> dict[str, Any]:
        """Write an export, without options of what is public, and return its report."""
        chosen = ExportOptions(**{"declared": SAID, **options})
        report = Report()
        write_export(FORMATS[form].files(self.records, chosen, report), self.root, target)
        return report.document()

    def posts(self) -> list[ExportPost]:
        """What is public."""
        return list(Posts(self.records, ExportOptions(declared=SAID), Report()))

    def marks(self) -> Counter[str]:
        """Return letters of each comment as far as every importer shows them, and how many comments have the same."""
        found = [each.comment for post in self.posts() for each in post.comments]
        if self.name == "hostile":
            return Counter(comment_word(int(comment.id)) for comment in found)
        return Counter(bare(shown(comment_html(replace(comment, title="")))) for comment in found)

    def comments_in(self, text: str) -> int:
        """Count the comments whose letters are in a text."""
        letters = bare(text)
        return sum(min(times, letters.count(mark)) for mark, times in self.marks().items())

    def titles_missing(self, text: str) -> list[str]:
        """Return the titles whose letters are not in a text."""
        letters = bare(text)
        return [post.title for post in self.posts() if bare(post.title.replace("\ud83d", "")) not in letters]

    def pictures(self) -> set[str]:
        """Return the names of the pictures that the archive holds of public posts."""
        posts = Posts(self.records, ExportOptions(declared=SAID), Report())
        media = Media(posts)
        return {picture.name for post in posts for picture in media.pictures(post) if picture.source is not None}

    def count(self) -> Count:
        """Count what is public."""
        posts = self.posts()
        return Count(
            posts=len(posts),
            comments=sum(len(post.comments) for post in posts),
            categories=len({post.category for post in posts if post.category}),
            pictures=len(self.pictures()),
        )


@contextmanager
def blog(name: str, folder: Path) -> Iterator[Blog]:
    """Open one of the blogs."""
    if name == "demo":
        reader = Archive.open(ROOT / "sample_output")
        state = reader.state()
        try:
            yield Blog(name, state, reader.layout.root)
        finally:
            state.close()
        return
    records = hostile_blog()
    records.write_pictures(folder)
    yield Blog(name, records, folder)


def shown(html: str) -> str:
    """Return the text of a page, its white space out of the way."""
    html = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL | re.IGNORECASE)
    return "".join(unescape(re.sub(r"<[^<>]*>", "", html)).split())


def bare(text: str) -> str:
    """Return what of a title every importer keeps: its letters and digits."""
    return "".join(char for char in text if char.isalnum())
