"""An entry's page: front matter, title, body, continuation and comments, as one Markdown text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from exporter.model.kinds import sort_key
from exporter.model.records import Comment, Entry, EntryListItem
from exporter.render.blocks import Block, quote_block
from exporter.render.escape import escape_heading_end, escape_text, link_target
from exporter.render.frontmatter import front_matter
from exporter.render.htmltree import Element
from exporter.render.links import commenter_link
from exporter.render.markdown import to_markdown
from exporter.render.runs import collapse
from exporter.render.text import visible

RENDERER_VERSION = 1
"""Counts changes of what pages look like, so that pages written by an earlier renderer are written anew."""

UNTITLED = "(無題)"
_NAMELESS = "(名前なし)"
_TITLE_SHOWN = 1_000


class Rendered(NamedTuple):
    """A page, ending in a line end, and how many characters in it had to become U+FFFD."""

    text: str
    replaced: int


def render_entry(
    entry: Entry,
    item: EntryListItem | None,
    comments: Sequence[Comment],
    change: Callable[[Element], None] | None = None,
) -> Rendered:
    """Return an entry's page; the comments stand in the order of their ids. Never raises.

    ``change`` is applied to the trees of the body and the continuation, such as to point them at local files.
    """
    head, replaced = front_matter(entry, item, len(comments))
    body = to_markdown(entry.entry_text, change)
    more = to_markdown(entry.ps_text, change)
    blocks = [heading(1, collapse(entry.title) or UNTITLED), body.text]
    lead = collapse(entry.ps_title)
    if lead or more.text:
        blocks += [heading(2, lead) if lead else "***", more.text]
    rest = render_comments(comments)
    if comments:
        blocks += [heading(2, f"コメント ({len(comments)})"), rest.text]
    text, found = visible("\n\n".join(block for block in blocks if block))
    return Rendered(f"{head}\n{text}\n", replaced + body.replaced + more.replaced + rest.replaced + found)


def render_comments(comments: Sequence[Comment]) -> Rendered:
    """Return comments as sections of a page, without a line end at the end."""
    parts: list[str] = []
    replaced = 0
    for comment in sorted(comments, key=lambda one: sort_key(one.cm_id)):
        text = to_markdown(comment.cm_text)
        replaced += text.replaced
        quoted = quote_block([Block("text", text.text)]).text if text.text else ""
        parts += [part for part in (_comment_head(comment), _comment_facts(comment), quoted) if part]
    shown, found = visible("\n\n".join(parts))
    return Rendered(shown, replaced + found)


def heading(level: int, text: str) -> str:
    """Return a heading with the text as it is, on one line, cut after 1,000 characters."""
    return f"{'#' * level} {escape_heading_end(plain(text))}"


def plain(text: str, *, in_brackets: bool = False) -> str:
    """Return text that is no HTML as Markdown on one line, for a heading, a list or a link."""
    line = collapse(text)
    line = line if len(line) <= _TITLE_SHOWN else line[:_TITLE_SHOWN] + "…"
    return escape_text(line, "[" if in_brackets else "", "]" if in_brackets else "", in_brackets=in_brackets)


def day(date: datetime | None) -> str:
    """Return a date's day as ``YYYY-MM-DD``; empty when there is none."""
    return "" if date is None else date.date().isoformat()


def _comment_head(comment: Comment) -> str:
    shown = " · ".join(part for part in (collapse(comment.name) or _NAMELESS, day(comment.regist_date)) if part)
    return heading(3, shown)


def _comment_facts(comment: Comment) -> str:
    facts: list[str] = []
    if collapse(comment.title):
        facts.append(f"- タイトル: {plain(comment.title)}")
    link = commenter_link(comment.url_text)
    if link is not None:
        facts.append(f"- リンク: [{plain(link, in_brackets=True)}]({link_target(link, '')})")
    if comment.delete_flg:
        facts.append("- delete_flg: t")
    return "\n".join(facts)
