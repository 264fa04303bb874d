"""A post's body and comments as HTML for importers, and text as XML can hold it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape
from typing import NamedTuple

from exporter.export.entry_page import day, t
from exporter.export.posts import ExportPost, PostComment, shown_path
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.html.anchors import rename_places
from exporter.html.embedded import parse_body, scripts_in
from exporter.html.links import commenter_link
from exporter.html.safe_html import safe_html
from exporter.html.tags import tags
from exporter.html.text import collapse, text_of
from exporter.html.tree import LINE_TAGS, Element, TooComplex, TooLarge, too_large, too_large_words
from exporter.model.labels import marks_of
from exporter.model.records import Comment
from exporter.text import visible, without_surrogates
from exporter.translation import translated

_LINE_END = re.compile(r"\r\n?")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold or that need replacing; nearly all texts have none."""


class Cleaned(NamedTuple):
    """A text that every XML parser reads, and the number of removed or replaced characters."""

    text: str
    characters: int


def cleaned(text: str) -> Cleaned:
    """Remove the control characters XML 1.0 (section 2.2) cannot hold; lone surrogates become U+FFFD."""
    if _UNCLEAN.search(text) is None:
        return Cleaned(text, 0)
    without, removed = _NOT_XML.subn("", text)
    whole, replaced = without_surrogates(without)
    return Cleaned(_LINE_END.sub("\n", whole), removed + replaced)


def visible_xml(text: str) -> Cleaned:
    """Do what :func:`cleaned` does, and replace characters that no text file can hold."""
    shown, replaced = visible(text)
    clean = cleaned(shown)
    return Cleaned(clean.text, clean.characters + replaced)


def cdata(text: str) -> str:
    """Return a text as a CDATA section, or as two if it contains the end of one."""
    return f"<![CDATA[{cleaned(text).text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def escaped(text: str) -> str:
    """Return a text escaped for use between tags or in an attribute."""
    clean = cleaned(text).text
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def as_html(body: str) -> str:
    """Return a body as HTML that shows the same lines: one without any tag that ends lines gets its ``<br>``."""
    if any(tag.name.removeprefix("/") in LINE_TAGS for tag in tags(body)):
        return body
    parts: list[str] = []
    done = 0
    for tag in tags(body):
        # A line end inside of a tag separates its attributes.
        parts += [_with_breaks(body[done : tag.start]), body[tag.start : tag.after]]
        done = tag.after
    return "".join([*parts, _with_breaks(body[done:])])


def _with_breaks(text: str) -> str:
    # Not by a pattern, which would remember every line end of a large body until the last is done.
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "<br>\n")


def comment_html(comment: Comment) -> str:
    """Return an untrusted comment as HTML without anything that runs; its title, if any, is its first line.

    One beyond :mod:`exporter.html.tree` is its text; see :func:`report_bodies`.
    """
    try:
        shown = safe_html(_tree(comment.text))
    except TooLarge:
        shown = only_text(comment.text)
    except TooComplex:
        shown = escape(as_html(comment.text))
    title = collapse(comment.title)
    return f"<b>{escape(title, quote=False)}</b><br>\n{shown}" if title else shown


def post_facts(post: ExportPost) -> list[str]:
    """Return a post's categories, tags and author, as readers see them below its title."""
    categories = "、".join(map(shown_path, post.categories))
    return [*([categories] if categories else []), *(f"#{tag}" for tag in post.tags), *filter(None, [post.author])]


def comment_marks(comment: Comment, answers: Comment | None) -> list[str]:
    """Return what sets a comment apart, in words: the one that it answers, its kind, and that the owner wrote it."""
    marks = [t("↩ to {name}", name=collapse(answers.name) or t("(no name)"))] if answers is not None else []
    marks += [translated(mark, "ja") for mark in marks_of(comment)]
    return [*marks, t("By the owner of the blog")] if comment.by_owner else marks


def comment_block(found: PostComment, answers: Comment | None = None) -> str:
    """Return a comment with its writer and its day, as HTML without active content; ``answers`` is its parent."""
    comment = found.comment
    name = escape(collapse(comment.name), quote=False)
    url = commenter_link(comment.url) or ""
    shown = f'<a href="{escape(url)}" rel="nofollow">{name or escape(url)}</a>' if url else name
    marks = (escape(mark, quote=False) for mark in comment_marks(comment, answers))
    head = " · ".join(filter(None, [shown, day(comment.date), *marks]))
    return f"<div>\n<h3>{head}</h3>\n<div>{comment_html(comment)}</div>\n</div>"


def comments_html(post: ExportPost) -> str:
    """Return the comments on a post as a list below it with a heading; empty if it has no comments."""
    if not post.comments:
        return ""
    blocks = (comment_block(each.found, each.answers) for each in post.threads())
    return "\n".join(["<hr>", f"<h2>{t('Comments ({n})', n=len(post.comments))}</h2>", *blocks])


def report_bodies(post: ExportPost, report: Report, *, bodies: bool = True) -> None:
    """Report the bodies and comments of a post that are exported as text only, and omitted scripts.

    Args:
        post: the post.
        report: records it.
        bodies: whether the post's own bodies are changed too, and not its comments alone.
    """
    if bodies:
        scripts = scripts_in(post.record.body) + scripts_in(post.record.more)
        report.changed("entries", Reason.SCRIPTS_LEFT_OUT, post.id, scripts)
    if bodies and any(too_large(as_html(body)) for body in (post.record.body, post.record.more)):
        report.changed("entries", Reason.ONLY_TEXT, post.id)
    for found in post.comments:
        if too_large(as_html(found.comment.text)):
            report.changed("comments", Reason.ONLY_TEXT, found.comment.id)


def safe_body(body: str, places: Collection[str] = (), prefix: str = "") -> str:
    """Return a body as HTML with every tag closed and without scripts.

    A body that is too complex to parse is shown as its source; one beyond :mod:`exporter.html.tree` as its text,
    after a sentence that says so: see :func:`report_bodies`. The ids of ``places`` are marked, with ``prefix`` before
    each and in the links to them.
    """
    try:
        tree = _tree(body, places)
        rename_places(tree, prefix, places)
        return safe_html(tree)
    except TooLarge:
        return only_text(body)
    except TooComplex:
        return f"<pre>{escape(body)}</pre>"


def _tree(body: str, places: Collection[str] = ()) -> Element:
    return parse_body(as_html(body), places)


def only_text(body: str, language: str = "ja") -> str:
    """Return the text of a body that is too large to be shown with its markup, after a sentence that says so."""
    return f"<p>{too_large_words(len(body), language)}</p>\n<pre>{escape(text_of(body), quote=False)}</pre>"
