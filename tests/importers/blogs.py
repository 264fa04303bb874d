"""The blogs to move, the sample one and the hostile one, with the records that a new home must show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any
from unicodedata import normalize

from exporter.archive.archive import Archive
from exporter.export.folder import write_export
from exporter.export.formats import FORMATS
from exporter.export.interface import ExportOptions, RecordSource
from exporter.export.media import Media
from exporter.export.post_html import comment_html
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from tests.export.hostile import comment_word, hostile_blog
from tests.export.memory import BLOG, SAID, Memory
from tests.importers.conftest import ROOT
from tests.importers.ledger import Count

BLOGS = ("demo", "hostile")
LINKED = 50
"""Number of entries in the blog of links."""

_BLANK = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
LINKED_TITLES = ("海の日", "Umi no Hi", "旅 & <食>", "2024年の夏！", "ÉCLAIR カモメ")


@dataclass
class Blog:
    """A blog to move, and the folder of its pictures."""

    name: str
    records: RecordSource
    root: Path

    def export(self, form: str, target: Path, /, **options: Any) -> dict[str, Any]:
        """Write an export, by default of public records, and return its report."""
        chosen = ExportOptions(**{"declared": SAID, **options})
        report = Report()
        write_export(FORMATS[form].files(self.records, chosen, report), self.root, target)
        return report.document()

    def posts(self) -> list[ExportPost]:
        """The public posts."""
        return list(Posts(self.records, ExportOptions(declared=SAID), Report()))

    def marks(self) -> Counter[str]:
        """Return the letters of each comment that every importer shows, and the number of comments with these."""
        return self._marks(self.posts())

    def comments_in(self, text: str) -> int:
        """Count the comments whose letters are in a text."""
        return _found(self.marks(), text)

    def comments_of(self, post: ExportPost, text: str) -> int:
        """Count the comments of a post whose letters are in a text."""
        return _found(self._marks([post]), text)

    def _marks(self, posts: Sequence[ExportPost]) -> Counter[str]:
        found = [each.comment for post in posts for each in post.comments]
        if self.name == "hostile":
            return Counter(comment_word(int(comment.id)) for comment in found)
        return Counter(bare(shown(comment_html(replace(comment, title="")))) for comment in found)

    def titles_missing(self, text: str) -> list[str]:
        """Return the titles whose letters are not in a text."""
        letters = bare(text)
        return [post.title for post in self.posts() if bare(post.title.replace("\ud83d", "")) not in letters]

    def pictures(self) -> set[str]:
        """Return the names of the stored pictures of public posts."""
        posts = Posts(self.records, ExportOptions(declared=SAID), Report())
        media = Media(posts)
        return {picture.name for post in posts for picture in media.pictures(post) if picture.source is not None}

    def count(self) -> Count:
        """Count the public records."""
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
    records = hostile_blog() if name == "hostile" else linked_blog()
    records.write_pictures(folder)
    yield Blog(name, records, folder)


def linked_blog() -> Memory:
    """Return a blog of entries with a picture each, every other one lazily loaded, and links to eight places on the page and to two other entries."""
    made = Memory()
    for number in range(1, LINKED + 1):
        other, far = number % LINKED + 1, (number * 7) % LINKED + 1
        url = f"https://files.example.jp/v1/{number}"
        made.picture(url, entry_id=str(number), file_id=str(number), data=str(number).encode())
        body = (
            f'<p>{number}枚目</p><ul><li><a href="#one">一</a></li><li><a href="#%E6%B3%A8">注へ</a></li></ul>'
            '<h2 id="one">見出し</h2><p>文<sup><a id="fnref1" href="#fn1">1</a></sup>と<a href="#old">古い</a></p>'
            '<p><a name="old"></a>所</p><p id="注">注</p><table><tr><td id="cell">升</td><td><a href="#code">符</a>'
            '<a href="#cell">升へ</a></td></tr></table><pre id="code">a &lt; b</pre><a href="#image">絵へ</a>'
            f'<p><a href="https://{BLOG}/Entry/{other}/">次</a> <a href="http://{BLOG}/Entry/{far}/#one">見出しへ</a></p>'
        )
        picture = f'<img id="image" src="{url}">'
        if number % 2:
            picture = (
                f'<img id="image" class="lazy" src="{_BLANK}" data-src="{url}"><noscript><img src="{url}"></noscript>'
            )
        more = f'<ol><li id="fn1">脚注 <a href="#fnref1">戻る</a></li></ol>{picture}'
        title = f"{LINKED_TITLES[number % len(LINKED_TITLES)]} {number}"
        made.entry(str(number), title=title, entry_text=body, ps_text=more, name=f"umi-{number}", sec=f"{number:02}",
                   mon=f"{number % 12 + 1:02}", day=f"{number % 28 + 1:02}")  # fmt: skip
        made.comment(str(number), str(number), cm_text=f"{number}番目のひとこと<br>二行目", regist_date="2025/01/07")
    return made


def _found(marks: Counter[str], text: str) -> int:
    letters = bare(text)
    return sum(min(times, letters.count(mark)) for mark, times in marks.items())


def shown(html: str) -> str:
    """Return a page's text with white space normalized."""
    html = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL | re.IGNORECASE)
    return "".join(unescape(re.sub(r"<[^<>]*>", "", html)).split())


def bare(text: str) -> str:
    """Return the part of a title that every importer keeps: its letters, composed, and its digits.

    Two spellings of a letter share a glyph, for which a PDF has one of them.
    """
    return "".join(char for char in normalize("NFC", text) if char.isalnum())
