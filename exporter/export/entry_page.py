"""An entry's page in Markdown: front matter, body and comments. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any, Final, NamedTuple

import yaml

from exporter.export.threads import threads
from exporter.html.anchors import Numbering, wanted_places
from exporter.html.dialects import COMMONMARK, Dialect
from exporter.html.links import commenter_link
from exporter.html.markdown import Block, quote_block, to_markdown
from exporter.html.markdown_escape import escape_heading_end, escape_text, link_target
from exporter.html.text import collapse
from exporter.html.tree import Element
from exporter.model.labels import is_labelled, is_marked, marks_of
from exporter.model.records import Audience, Comment, Post
from exporter.text import visible, without_surrogates
from exporter.translation import translated, translator

_BASE: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_NO_LINE_WIDTH: Final = 2**30
_PLAIN_NAME: Final = re.compile(r"(?!(?:true|false|null|yes|no|on|off)\Z)[a-z][a-z_]{0,60}")
_PLAIN_TEXT: Final = re.compile(r"[ !#-\[\]-~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*")
"""Characters that YAML's writer leaves unescaped between double quotes."""


class _Text(str):
    """A value to be written between double quotes."""

    __slots__ = ()


class _Dumper(_BASE):  # type: ignore[misc]  # which of the two it is shows at run time only
    """The safe dumper, which also knows :class:`_Text`."""


def _represent(dumper: Any, text: _Text) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')


_Dumper.add_representer(_Text, _represent)


def front_matter(post: Post, comments: int) -> tuple[str, int]:
    """Return the front matter with its ``---`` lines, and how many lone surrogates became U+FFFD.

    Common fields come first, under the names that site generators know; fields of the service alone are under
    ``source``. Dates are ISO 8601 texts with the blog's offset; a value that the service did not send, or sent
    malformed, is null. A draft is an entry that is private or may be; only the owner knows the meaning of the other
    flags. If the service states who may see an entry, all entries that not everybody may see are drafts.
    """
    fields: dict[str, Any] = {
        "title": post.title,
        "date": _date(post.date),
        "updated": _date(post.updated),
        **(_labels(post) if is_labelled(post) else {"category": post.category}),
    }
    if post.private is not False if post.audience is None else post.audience is not Audience.PUBLIC:
        fields["draft"] = True
    source: dict[str, Any] = {
        "blog_id": post.blog_id,
        "entry_id": post.id,
        "period_date": _date(post.period_date),
        **post.facts,
        "comments": comments,
    }
    if post.problems:
        source["problems"] = [f"{problem.field}: {problem.reason}" for problem in post.problems]
    plain_lines, plain_source = _plain_lines(fields), _plain_lines(source, "  ")
    if plain_lines is not None and plain_source is not None:
        return f"---\n{plain_lines}source:\n{plain_source}---\n", 0
    replaced = 0

    def quoted(value: Any) -> Any:
        nonlocal replaced
        if isinstance(value, list):
            return [quoted(element) for element in value]
        if isinstance(value, dict):
            return {name: quoted(element) for name, element in value.items()}
        if not isinstance(value, str):
            return value
        text, count = without_surrogates(value)
        replaced += count
        return _Text(text)

    text = yaml.dump(
        quoted({**fields, "source": source}), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_NO_LINE_WIDTH
    )
    return f"---\n{text}---\n", replaced


def _labels(post: Post) -> dict[str, Any]:
    """Return the fields of an entry whose service states more than one category; empty texts are left out."""
    categories = post.every_category
    texts = {
        "author": post.author,
        "permalink": post.permalink,
        "excerpt": post.excerpt,
        "kind": str(post.kind),
        "audience": str(post.audience or ""),
        "featured": post.featured,
    }
    paths = [[*category.parents, category.name] for category in categories if category.parents]
    return {
        "categories": [category.name for category in categories],
        **({"category_paths": paths} if paths else {}),
        "tags": list(post.tags),
        **{name: text for name, text in texts.items() if text},
        **({"sources": list(post.sources)} if post.sources else {}),
    }


def _plain_lines(fields: Mapping[str, Any], indent: str = "") -> str | None:
    """Return fields without escapes as YAML's writer would, in a tenth of its time; ``None`` for others."""
    lines: list[str] = []
    for name, value in fields.items():
        if value is None:
            shown = " null"
        elif isinstance(value, str) and _PLAIN_TEXT.fullmatch(value):
            shown = f' "{value}"'
        elif isinstance(value, int):
            shown = f" {str(value).lower()}"
        elif isinstance(value, list) and all(isinstance(each, str) and _PLAIN_TEXT.fullmatch(each) for each in value):
            shown = "".join(f'\n{indent}- "{each}"' for each in value) or " []"
        else:
            return None
        if not _PLAIN_NAME.fullmatch(name):
            return None
        lines.append(f"{indent}{name}:{shown}\n")
    return "".join(lines)


def _date(date: datetime | None) -> str | None:
    return None if date is None else date.isoformat()


RENDERER_VERSION = 7
"""Counts changes of what pages look like, so that pages written by an earlier renderer are written anew."""

_LANGUAGE: Final = "ja"
t = translator(_LANGUAGE)
"""Translates the few sentences that views and exports add to the texts of a blog."""
_TITLE_SHOWN = 1_000


class Rendered(NamedTuple):
    """A page, ending in a line end, and how many characters in it had to become U+FFFD."""

    text: str
    replaced: int


def render_entry(
    post: Post,
    comments: Sequence[Comment],
    change: Callable[[Element], None] | None = None,
) -> Rendered:
    """Return an entry's page; the comments are in the order of their ids. Never raises.

    ``change`` is applied to the trees of body and continuation, for example to point them at local files.
    """
    head, replaced = front_matter(post, len(comments))
    in_body, in_more = wanted_places(post.body), wanted_places(post.more)
    places = in_body | in_more
    # A footnote that the other part links to stays a link.
    body = to_markdown(post.body, change, places, footnotes=Numbering(asked_for=in_more), quiet=True)
    numbering = Numbering(body.footnotes + 1, asked_for=in_body)
    more = to_markdown(post.more, change, places, footnotes=numbering, quiet=True)
    featured = "" if post.featured in post.body else f'<img src="{escape(post.featured)}" alt="">'
    cover = to_markdown(featured, change)
    blocks = [heading(1, collapse(post.title) or t("(untitled)")), cover.text, body.text]
    lead = collapse(post.more_title)
    if lead or more.text:
        blocks += [heading(2, lead) if lead else "***", more.text]
    rest = render_comments(comments)
    if comments:
        blocks += [heading(2, t("Comments ({n})", n=len(comments))), rest.text]
    text, found = visible("\n\n".join(block for block in blocks if block))
    return Rendered(f"{head}\n{text}\n", replaced + body.replaced + more.replaced + rest.replaced + found)


def render_comments(comments: Sequence[Comment], dialect: Dialect = COMMONMARK) -> Rendered:
    """Return comments as page sections without a final line end, for the readers of ``dialect``.

    An answer comes after the comment that it answers, and names it.
    """
    parts: list[str] = []
    replaced = 0
    for comment, _, answers in threads(comments):
        text = to_markdown(comment.text, dialect=dialect)
        replaced += text.replaced
        quoted = quote_block([Block("text", text.text)]).text if text.text else ""
        parts += [
            part
            for part in (_comment_head(comment, dialect), _comment_facts(comment, answers, dialect), quoted)
            if part
        ]
    shown, found = visible("\n\n".join(parts))
    return Rendered(shown, replaced + found)


def heading(level: int, text: str, dialect: Dialect = COMMONMARK) -> str:
    """Return a heading with the text unchanged but on one line, cut after 1,000 characters."""
    return f"{'#' * level} {escape_heading_end(plain(text, dialect), each=dialect.drops_hashes)}"


def plain(text: str, dialect: Dialect = COMMONMARK, *, in_brackets: bool = False) -> str:
    """Return text that is no HTML as Markdown on one line, for a heading, a list or a link."""
    line = collapse(text)
    line = line if len(line) <= _TITLE_SHOWN else line[:_TITLE_SHOWN] + "…"
    before, after = ("[", "]") if in_brackets else ("", "")
    return dialect.escaped(escape_text(line, before, after, in_brackets=in_brackets))


def day(date: datetime | None) -> str:
    """Return a date as ``YYYY-MM-DD``; empty if ``date`` is ``None``."""
    return "" if date is None else date.date().isoformat()


def _comment_head(comment: Comment, dialect: Dialect) -> str:
    written = day(comment.date)
    if comment.date is not None and comment.has_time and is_marked(comment):
        written = f"{comment.date:%Y-%m-%d %H:%M}"
    shown = " · ".join(part for part in (collapse(comment.name) or t("(no name)"), written) if part)
    return heading(3, shown, dialect)


def _comment_facts(comment: Comment, answers: Comment | None, dialect: Dialect) -> str:
    facts: list[str] = []
    if answers is not None:
        facts.append(f"- {t('↩ to {name}', name=plain(answers.name, dialect) or t('(no name)'))}")
    facts += [f"- {translated(mark, _LANGUAGE)}" for mark in marks_of(comment)]
    if comment.by_owner:
        facts.append(f"- {t('By the owner of the blog')}")
    if collapse(comment.title):
        facts.append(f"- {t('Title: {title}', title=plain(comment.title, dialect))}")
    link = commenter_link(comment.url)
    if link is not None:
        shown = f"[{plain(link, in_brackets=True)}]({link_target(link, '')})"
        facts.append(f"- {t('Link: {link}', link=shown)}")
    facts += [f"- {name}: {value}" for name, value in comment.facts.items()]
    return "\n".join(facts)
