"""One record as a page of HTML that needs nothing but itself: nothing runs, and nothing is fetched. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from exporter import codec
from exporter.model.kinds import Kind
from exporter.render.htmltree import TooTangled, parse
from exporter.render.safehtml import safe_html
from exporter.render.text import visible

_BODIES: Final[dict[Kind, tuple[str, ...]]] = {Kind.ENTRIES: ("entry_text", "ps_text"), Kind.COMMENTS: ("cm_text",)}
_HEAD: Final = """<!DOCTYPE html>
<html lang="ja">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ max-width: 44em; margin: 2em auto; padding: 0 1em; font: 1em/1.8 sans-serif; overflow-wrap: anywhere }}
table {{ border-collapse: collapse }}
th, td {{ border: 1px solid #999; padding: .2em .6em; text-align: left; vertical-align: top }}
td {{ white-space: pre-wrap }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{note}</p>
"""


def record_page(kind: Kind, title: str, note: str, data: Mapping[str, Any]) -> bytes:
    """Return the page: its bodies as they looked, as far as that is safe, then every field as it is.

    Args:
        kind: the record's kind, which says what of it is HTML.
        title: what a person knows it by.
        note: a sentence about where it comes from.
        data: the raw object.
    """
    bodies = [_body(text) for name in _BODIES.get(kind, ()) if isinstance(text := data.get(name), str)]
    rows = [f"<tr><th>{escape(name)}</th><td>{escape(_text(value))}</td></tr>" for name, value in data.items()]
    page = "\n".join(
        [
            _HEAD.format(title=escape(title), note=escape(note)),
            *(f"<article>\n{body}\n</article>" for body in bodies),
            "<h2>The record</h2>",
            "<table>",
            *rows,
            "</table>",
            "</body>",
            "</html>",
            "",
        ]
    )
    return visible(page)[0].encode("utf-8")


def _body(text: str) -> str:
    try:
        return safe_html(parse(text))
    except TooTangled:
        return f"<pre>{escape(text)}</pre>"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return codec.canonical(value).decode("utf-8")
