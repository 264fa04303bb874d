"""A diff as one page to read and keep: no scripts, nothing from elsewhere, strangers' text escaped. Pure."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from exporter.model.changes import ABSENT, Change, FieldChange, RecordChange
from exporter.render.changes import KIND_NAMES, count_changes, in_context, value_text
from exporter.render.policy import single_page
from exporter.render.text import visible
from exporter.render.worddiff import Op, word_diff

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CONTEXT: Final = 200
_TAGS: Final[dict[Op, str]] = {"delete": "del", "insert": "ins"}
_STYLE: Final = """
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


def diff_page(changes: Iterable[RecordChange], *, blog_id: str, before: str, after: str) -> bytes:
    """Return the whole page as UTF-8 HTML.

    Args:
        changes: what differs, as :func:`~exporter.archive.diff.diff_versions` yields it.
        blog_id: the blog's id.
        before: what the earlier state is called, such as ``version 3 (2026-01-31)``.
        after: what the later state is called.
    """
    kept = list(changes)
    title = f"{blog_id}: {before} → {after}"
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{single_page(_STYLE)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{_escaped(title)}</title>",
        f"<style>{_STYLE}</style></head>",
        "<body>",
        f"<h1>{_escaped(title)}</h1>",
        *_counts(kept),
        *(line for change in kept for line in _record(change)),
        "</body></html>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8")


def _counts(changes: list[RecordChange]) -> Iterator[str]:
    if not changes:
        yield "<p>Nothing differs.</p>"
        return
    yield (
        '<table class="counts"><thead><tr><td></td>'
        + "".join(f"<th>{change}</th>" for change in Change)
        + "</tr></thead>"
    )
    for kind, counted in count_changes(changes).items():
        yield f"<tr><th>{kind}</th>" + "".join(f"<td>{number}</td>" for number in counted.values()) + "</tr>"
    yield "</table>"


def _record(change: RecordChange) -> Iterator[str]:
    known = f"{KIND_NAMES[change.kind]} {change.record_id}"
    yield f"<section><h2><bdi>{_escaped(change.title)}</bdi> <small>{_escaped(known)}, {change.change}</small></h2>"
    if change.change is not Change.CHANGED:
        yield f"<details><summary>{len(change.fields)} fields</summary>"
    yield '<table class="fields">'
    for field in change.fields:
        yield f'<tr><th>{_escaped(field.name)}</th><td dir="auto">{_field(field)}</td></tr>'
    yield "</table>"
    yield "</section>" if change.change is Change.CHANGED else "</details></section>"


def _field(field: FieldChange) -> str:
    if field.before is ABSENT:
        return f"<ins>{_escaped(value_text(field.after))}</ins>"
    if field.after is ABSENT:
        return f"<del>{_escaped(value_text(field.before))}</del>"
    parts = word_diff(value_text(field.before), value_text(field.after))
    return "".join(_part(op, text) for op, text in in_context(parts, _CONTEXT))


def _part(op: Op, text: str) -> str:
    tag = _TAGS.get(op)
    return f"<{tag}>{_escaped(text)}</{tag}>" if tag else _escaped(text)


def _escaped(text: str) -> str:
    return html.escape(visible(text)[0])
