"""The Atom file that Blogger imports: posts, each followed by its comments, as Blogger's own backups had them. Pure.

Written from Google's description of that file, and from RFC 4287 (Atom), 4685 (threads) and 5023 (drafts). Since 2025
backups mark posts, labels and drafts with separate elements. This file contains both forms, because a reader of either
form must hold a draft back. A backup also held the theme and settings of the blog; this file omits them, because an
import would overwrite those of the new blog.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from exporter.export.formats import Format
from exporter.export.importer_rules import EntryData, Frame, ImportFile, Numbers, split
from exporter.export.interface import ExportFile
from exporter.export.media import address_of
from exporter.export.parts import Part
from exporter.export.post_html import as_html, cleaned, comment_html, escaped
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.export.reasons import Reason
from exporter.html.links import commenter_link
from exporter.html.text import collapse, text_of
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.records import Comment

LABEL_CHARACTERS: Final = 200
_SPACES_FOR: Final = {
    "xmlns": "http://www.w3.org/2005/Atom",
    "xmlns:thr": "http://purl.org/syndication/thread/1.0",
    "xmlns:app": "http://purl.org/atom/app#",
    "xmlns:pub": "http://www.w3.org/2007/app",
    "xmlns:blogger": "http://schemas.google.com/blogger/2018",
}
_DRAFT: Final = "".join(f"<{name}:control><{name}:draft>yes</{name}:draft></{name}:control>" for name in ("app", "pub"))
"""In the name space of Blogger's backups, and in that of RFC 5023."""

_KIND: Final = "http://schemas.google.com/g/2005#kind"
_KINDS: Final = "http://schemas.google.com/blogger/2008/kind#"
_BLOG: Final = "tag:blogger.com,1999:blog-0"
_LABELS: Final = ("http://www.blogger.com/atom/ns#", _BLOG)
_WIDE: Final = str.maketrans("&<>@!", "＆＜＞＠！")
_SNIPPET_CHARACTERS: Final = 50
_NAMELESS: Final = "Anonymous"


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the files, and the pictures if requested."""
    writer = _Writer(posts)
    yield from split(posts, "blogger", ".xml", writer.frame(), writer.entries())
    yield from writer.copies


class _Writer(ImportFile):
    def __init__(self, posts: Posts) -> None:
        super().__init__(posts)
        self._numbers = Numbers(posts.ids())
        self._comment_numbers = Numbers(posts.records.ids(Kind.COMMENTS))

    def frame(self) -> Frame:
        home = escaped(f"https://{self.posts.blog_id}/")
        spaces = "".join(f' {name}="{uri}"' for name, uri in _SPACES_FOR.items())
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<feed{spaces}>",
            f"<id>{_BLOG}.archive</id>",
            f"<updated>{_date(self.posts.newest())}</updated>",
            f'<title type="text">{escaped(self.posts.title)}</title>',
            f'<link rel="alternate" type="text/html" href="{home}"/>',
            f"<author><name>{escaped(self.posts.author)}</name></author>",
            '<generator version="7.00" uri="http://www.blogger.com">Blogger</generator>',
        ]
        return Frame(("\n".join(lines) + "\n").encode(), b"</feed>\n")

    def entries(self) -> Iterator[EntryData]:
        for post in self.posts:
            self.take(self.media.pictures(post))
            lines = list(self._post(post))
            threads = post.threads() if any(found.comment.parent for found in post.comments) else []
            answers = {each.found.comment.id: each.answers for each in threads}
            comments = [
                lines_of
                for found in post.comments
                if (lines_of := list(self._comment(found, post, answers.get(found.comment.id))))
            ]
            for comment in comments:
                lines += comment
            yield EntryData(post.id, "".join(f"{line}\n" for line in lines).encode())
            self.posts.wrote(post, len(comments))

    def _post(self, post: ExportPost) -> Iterator[str]:
        when = self.begin(post)
        yield "<entry>"
        yield f"<id>{self._id(post)}</id>"
        yield from _dated(when, max(post.record.updated or when, when))
        yield from _marked(post.record.kind, draft=not post.public)
        labels = dict.fromkeys(self._label(name, post) for name in post.terms)
        yield from (_category(scheme, label) for label in labels for scheme in _LABELS)
        yield f'<title type="text">{escaped(self.clean("title", post, post.title))}</title>'
        yield f'<content type="html">{escaped(self.clean("body", post, self._body(post)))}</content>'
        address = address_of(self.posts, post)
        if address:
            yield f'<link rel="alternate" type="text/html" href="{escaped(address)}"/>'
        yield f"<author><name>{escaped(post.author or self.posts.author)}</name></author>"
        yield "</entry>"

    def _comment(self, found: PostComment, post: ExportPost, answers: Comment | None) -> Iterator[str]:
        """Yield a comment, or nothing if it has no text: Blogger refuses empty comments."""
        comment = found.comment
        body = cleaned(comment_html(comment))
        if not body.text.strip():
            self.report.left("comments", Reason.NO_TEXT, comment.id)
            return
        self.report.changed("comments", Reason.NOT_IN_XML, comment.id, body.characters)
        name, url = collapse(cleaned(comment.name).text), commenter_link(comment.url) or ""
        if not name:
            self.report.changed("comments", Reason.NAME_MADE, comment.id)
        address = address_of(self.posts, post)
        yield "<entry>"
        yield f"<id>{self._id(post)}.comment-{self._comment_numbers.of(comment.id)}</id>"
        yield from _dated(found.when, found.when)
        yield from _marked("comment")
        yield f'<title type="text">{escaped(collapse(text_of(body.text))[:_SNIPPET_CHARACTERS])}</title>'
        yield f'<content type="html">{escaped(body.text)}</content>'
        uri = f"<uri>{escaped(url)}</uri>" if url else ""
        yield f"<author><name>{escaped(name) or _NAMELESS}</name>{uri}</author>"
        href = f' href="{escaped(address)}" type="text/html"' if address else ""
        yield f'<thr:in-reply-to ref="{self._id(post)}"{href}/>'
        yield f"<blogger:parent>{self._id(post)}</blogger:parent>"
        if answers is not None:
            above = f"{self._id(post)}.comment-{self._comment_numbers.of(answers.id)}"
            yield f"<blogger:inReplyTo>{above}</blogger:inReplyTo>"
        yield "</entry>"

    def _id(self, post: ExportPost) -> str:
        return f"{_BLOG}.post-{self._numbers.of(post.id)}"

    def _label(self, name: str, post: ExportPost) -> str:
        """Return a category or tag as a label, without the characters that Blogger does not allow in labels."""
        label = name.translate(_WIDE)
        if label != name:
            self.report.changed("entries", Reason.LABEL_WIDENED, post.id)
        if len(label) > LABEL_CHARACTERS:
            self.report.changed("entries", Reason.LABEL_CUT.at(LABEL_CHARACTERS), post.id)
        return label[:LABEL_CHARACTERS]

    def _body(self, post: ExportPost) -> str:
        """Return both bodies around Blogger's jump break; it has no place for the link text, which goes behind it."""
        body = self.media.rewritten(as_html(post.record.body))
        more = self.media.rewritten(as_html(post.record.more))
        lead = collapse(post.record.more_title)
        if lead:
            self.report.changed("entries", Reason.LEAD_MOVED, post.id)
            more = f"<p><strong>{escaped(lead)}</strong></p>\n{more}"
        return f"{body}\n<!--more-->\n{more}" if more else body


def _marked(kind: str, *, draft: bool = False) -> Iterator[str]:
    yield _category(_KIND, f"{_KINDS}{kind}")
    status = "DRAFT" if draft else "LIVE"
    yield f"<blogger:type>{kind.upper()}</blogger:type><blogger:status>{status}</blogger:status>"
    if draft:
        yield _DRAFT


def _category(scheme: str, term: str) -> str:
    return f'<category scheme="{scheme}" term="{escaped(term)}"/>'


def _dated(published: datetime, updated: datetime) -> Iterator[str]:
    yield f"<published>{_date(published)}</published>"
    yield f"<updated>{_date(updated)}</updated>"


def _date(when: datetime) -> str:
    return when.isoformat(timespec="milliseconds")


FORMAT: Final = Format(
    message("Blogger (Atom, as in its own backups)"),
    export,
    drafts=True,
    splits=True,
    holds=frozenset({Part.TAGS, Part.AUTHOR, Part.ADDRESS, Part.PAGE, Part.THREADS}),
)
