"""Movable Type's import format, which nearly every Japanese service takes. Pure.

The format has no quoting: a line of a body that looks like a separator or a key is taken for one. So the first
character of such a line is written as a numeric character reference, which readers of the HTML never see.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from exporter.exporters import importable
from exporter.exporters.bodies import as_html, comment_author, comment_html, comment_url, name_large
from exporter.exporters.interface import Copy, ExportFile
from exporter.exporters.media import Copies, Media
from exporter.exporters.mtlines import LINE_BYTES, Defused, defused
from exporter.exporters.options import ExportOptions
from exporter.exporters.posts import Post, PostComment, Posts
from exporter.exporters.report import Report
from exporter.exporters.split import Frame, Piece, split
from exporter.exporters.unique import UniqueDates, UniqueNames
from exporter.exporters.xmltext import cleaned
from exporter.model.kinds import Kind
from exporter.model.publication import Status
from exporter.model.records import User
from exporter.render.runs import collapse

_LONG: Final = "has lines longer than old importers read at once"
_LINE_ENDS: Final = str.maketrans(dict.fromkeys("\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield the files, and the pictures where they are asked for."""
    writer = _Writer(posts, options, report)
    yield from split(f"movabletype-{options.label}", ".txt", Frame(), writer.pieces(), options, report)
    yield from writer.copies


class _Writer:
    def __init__(self, posts: Posts, options: ExportOptions, report: Report) -> None:
        self._posts = posts
        self._options = options
        self._report = report
        self._media = Media(posts, options)
        self._dates = UniqueDates()
        self._names = UniqueNames()
        self._making = Copies(report)
        self.copies: list[Copy] = []
        users = (User.from_raw(raw, options.assume) for _, raw in posts.records.scan(Kind.USER))
        self._author = next((user.nickname for user in users if user.nickname), posts.blog_id)

    def pieces(self) -> Iterator[Piece]:
        for post in self._posts:
            self._look(post)
            yield Piece(post.entry_id, "".join(f"{line}\n" for line in self._entry(post)).encode())
            self._report.wrote(len(post.comments), post.category)

    def _look(self, post: Post) -> None:
        """Note what the targets make of the post, and take its pictures."""
        self._media.account(post, self._report)
        name_large(post, self._report, bodies=False)
        importable.look(post, self._report)
        if importable.size(post.title) > LINE_BYTES:
            self._report.limit(_LONG, post.entry_id)
        if self._options.media_folder:
            self.copies += self._making.of(self._media.pictures(post.entry.entry_text, post.entry.ps_text))

    def _entry(self, post: Post) -> Iterator[str]:
        entry = post.entry
        when = self._dates.fit(post.title, post.when)
        seconds = int((when - post.when).total_seconds())
        what = "date moved by seconds, since another has its title and date"
        self._report.changed("entries", what, post.entry_id, seconds)
        yield f"AUTHOR: {_line(self._author)}"
        yield f"TITLE: {_line(post.title)}"
        yield f"BASENAME: {self._names.fit(entry.name, post.entry_id)}"
        yield f"STATUS: {'Publish' if post.status is Status.PUBLISH else 'Draft'}"
        yield f"ALLOW COMMENTS: {int(bool(entry.cm_receipt_flg))}"
        yield f"ALLOW PINGS: {int(bool(entry.tb_receipt_flg))}"
        yield "CONVERT BREAKS: 0"
        yield f"DATE: {_date(when)}"
        if post.category:
            yield f"CATEGORY: {_line(post.category)}"
        yield "-----"
        body = self._media.rewritten(as_html(entry.entry_text))
        yield from self._section("BODY:", body, "entries", post.entry_id, post.entry_id)
        more = self._more(post)
        if more:
            yield from self._section("EXTENDED BODY:", more, "entries", post.entry_id, post.entry_id)
        for comment in post.comments:
            yield from self._comment(comment, post.entry_id)
        yield "--------"

    def _more(self, post: Post) -> str:
        """Return the continuation, led by its link text, for which the format has no place."""
        lead = collapse(post.entry.ps_title).replace("&", "&amp;").replace("<", "&lt;")
        more = self._media.rewritten(as_html(post.entry.ps_text))
        if lead:
            self._report.changed("entries", "link text of the continuation written as its first line", post.entry_id)
        return "\n".join(filter(None, [f"<p><strong>{lead}</strong></p>" if lead else "", more]))

    def _comment(self, found: PostComment, entry_id: str) -> Iterator[str]:
        comment = found.comment
        head = ["COMMENT:", f"AUTHOR: {_line(comment_author(comment))}", f"DATE: {_date(found.when)}"]
        url = _line(comment_url(comment))
        if url:
            head.insert(2, f"URL: {url}")
        yield from self._section("\n".join(head), comment_html(comment), "comments", comment.cm_id, entry_id)

    def _section(self, head: str, html: str, kind: str, record_id: str, entry_id: str) -> Iterator[str]:
        made = self._told(defused(html), kind, record_id, entry_id)
        yield head
        if made.text:
            yield made.text
        yield "-----"

    def _told(self, made: Defused, kind: str, record_id: str, entry_id: str) -> Defused:
        self._report.changed(kind, "characters removed that no importer reads", record_id, made.removed)
        self._report.changed(
            kind, "lines defused that an importer would take for keys or separators", record_id, made.defused
        )
        self._report.changed(kind, "long lines broken", record_id, made.broken)
        if made.long:
            self._report.limit(_LONG, entry_id)
        return made


def _line(text: str) -> str:
    return collapse(cleaned(text).text.translate(_LINE_ENDS))


def _date(when: datetime) -> str:
    return f"{when:%m/%d/%Y} {when.hour % 12 or 12:02}:{when:%M:%S} {'AM' if when.hour < 12 else 'PM'}"
