"""Self-contained HTML pages: the differences between versions, and a single record. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.html.diff import (
    CHANGE_NAMES,
    RECORD_NAMES,
    FieldNames,
    Op,
    as_sent,
    count_changes,
    in_context,
    value_text,
    word_diff,
)
from exporter.message import message, message_n
from exporter.model.changes import ABSENT, Change, FieldChange, RecordChange
from exporter.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_CONTEXT_CHARACTERS: Final = 200
_AS_SENT: Final[Mapping[str, str]] = {}
_TAGS: Final[dict[Op, str]] = {"delete": "del", "insert": "ins"}
_DIFF_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 1rem/1.7 system-ui, "Hiragino Sans", "Noto Sans CJK JP", sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; border-top: 1px solid #8886; padding-top: 1rem; }
h2 small { font-weight: normal; opacity: .7; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; }
thead th, .counts td { text-align: right; }
.counts { width: auto; }
.fields th { width: 10rem; font-weight: normal; opacity: .7; overflow-wrap: anywhere; }
.fields td { white-space: pre-wrap; overflow-wrap: anywhere; }
ins { background: #2da44e40; text-decoration: none; }
del { background: #cf222e40; }
""".strip()


def diff_page(
    changes: Iterable[RecordChange],
    *,
    blog_id: str,
    before: str,
    after: str,
    names: FieldNames = as_sent,
    kinds: Mapping[str, str] = _AS_SENT,
    language: str = "en",
    say: Callable[[str], str] = str,
) -> bytes:
    """Return the whole page as UTF-8 HTML.

    Args:
        changes: the differences, from :func:`~exporter.archive.history.diff_versions`.
        blog_id: the blog's id.
        before: the earlier state's name, such as ``version 3 (2026-01-31)``.
        after: the name of the later state.
        names: returns the names of fields.
        kinds: the names of record kinds in the table of counts.
        language: the page's language, such as ``ja``.
        say: translates a sentence into that language.
    """
    kept = list(changes)
    title = f"{blog_id}: {before} → {after}"
    lines = [
        *_counts(kept, kinds, say),
        *(line for change in kept for line in _record(change, names, say)),
        "</main>",
        "</body></html>",
    ]
    return (page_head(_escaped(title), _DIFF_STYLE, language) + "\n".join(lines) + "\n").encode("utf-8")


def _counts(changes: list[RecordChange], kinds: Mapping[str, str], say: Callable[[str], str]) -> Iterator[str]:
    if not changes:
        yield f"<p>{_escaped(say(message('Nothing differs.')))}</p>"
        return
    yield (
        '<table class="counts"><thead><tr><td></td>'
        + "".join(f"<th>{_escaped(say(CHANGE_NAMES[change]))}</th>" for change in Change)
        + "</tr></thead>"
    )
    for kind, counted in count_changes(changes).items():
        cells = "".join(f"<td>{number}</td>" for number in counted.values())
        yield f"<tr><th>{_escaped(say(kinds.get(kind, str(kind))))}</th>{cells}</tr>"
    yield "</table>"


def _record(change: RecordChange, names: FieldNames, say: Callable[[str], str]) -> Iterator[str]:
    known = f"{say(RECORD_NAMES[change.kind])} {change.record_id}, {say(CHANGE_NAMES[change.change])}"
    yield f"<section><h2><bdi>{_escaped(change.title)}</bdi> <small>{_escaped(known)}</small></h2>"
    if change.change is not Change.CHANGED:
        fields = say(message_n("{n:,} field", "{n:,} fields", len(change.fields)))
        yield f"<details><summary>{_escaped(fields)}</summary>"
    yield '<table class="fields">'
    for field in change.fields:
        yield f'<tr><th>{_escaped(names(change.kind, field.name))}</th><td dir="auto">{_field(field)}</td></tr>'
    yield "</table>"
    yield "</section>" if change.change is Change.CHANGED else "</details></section>"


def _field(field: FieldChange) -> str:
    if field.before is ABSENT:
        return f"<ins>{_escaped(value_text(field.after))}</ins>"
    if field.after is ABSENT:
        return f"<del>{_escaped(value_text(field.before))}</del>"
    parts = word_diff(value_text(field.before), value_text(field.after))
    return "".join(_part(op, text) for op, text in in_context(parts, _CONTEXT_CHARACTERS))


def _part(op: Op, text: str) -> str:
    tag = _TAGS.get(op)
    return f"<{tag}>{_escaped(text)}</{tag}>" if tag else _escaped(text)


def _escaped(text: str) -> str:
    return escape(visible(text)[0])


_RECORD_STYLE: Final = """
body { max-width: 44em; margin: 2em auto; padding: 0 1em; font: 1em/1.8 sans-serif; overflow-wrap: anywhere }
img { max-width: 100%; height: auto }
table { border-collapse: collapse }
th, td { border: 1px solid #999; padding: .2em .6em; text-align: left; vertical-align: top }
td, .as-typed { white-space: pre-wrap }
""".strip()


def page_head(title: str, style: str, language: str = "ja") -> str:
    """Return the beginning of a page up to its heading; the page loads and runs nothing.

    Args:
        title: HTML.
        style: the only permitted style sheet.
        language: of the page.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; style-src-attr 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
"""


def record_page(
    title: str, note: str, data: Mapping[str, Any], texts: Iterable[str], body: Callable[[str], str]
) -> bytes:
    """Return a record's page: its texts, then every field unchanged.

    Args:
        title: the heading.
        note: a sentence about the origin of the record.
        data: the raw record.
        texts: its texts, HTML.
        body: returns a body as sanitized HTML that runs and requests nothing.
    """
    articles = map(body, texts)
    rows = [f"<tr><th>{escape(name)}</th><td>{escape(_text(value))}</td></tr>" for name, value in data.items()]
    page = "\n".join(
        [
            f"{page_head(escape(title), _RECORD_STYLE)}<p>{escape(note)}</p>\n",
            *(f"<article>\n{article}\n</article>" for article in articles),
            "<h2>The record</h2>",
            "<table>",
            *rows,
            "</table>",
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )
    return visible(page)[0].encode("utf-8")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return lossless_json.canonical(value).decode("utf-8")
