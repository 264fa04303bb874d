"""One record as a page of HTML that needs nothing but itself: nothing runs, and nothing is fetched. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final

from exporter import codec
from exporter.model.kinds import Kind
from exporter.render.policy import single_page
from exporter.render.text import visible

_BODIES: Final[dict[Kind, tuple[str, ...]]] = {Kind.ENTRIES: ("entry_text", "ps_text"), Kind.COMMENTS: ("cm_text",)}
_STYLE: Final = """
body { max-width: 44em; margin: 2em auto; padding: 0 1em; font: 1em/1.8 sans-serif; overflow-wrap: anywhere }
img { max-width: 100%; height: auto }
table { border-collapse: collapse }
th, td { border: 1px solid #999; padding: .2em .6em; text-align: left; vertical-align: top }
td, .as-typed { white-space: pre-wrap }
""".strip()
_HEAD: Final = """<!DOCTYPE html>
<html lang="ja">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{note}</p>
"""


def record_page(kind: Kind, title: str, note: str, data: Mapping[str, Any], body: Callable[[str], str]) -> bytes:
    """Return the page: its bodies, then every field as it is.

    Args:
        kind: the record's kind, which says what of it is HTML.
        title: what a person knows it by.
        note: a sentence about where it comes from.
        data: the raw object.
        body: makes of a body what may stand in a page: HTML that runs nothing and asks for nothing.
    """
    bodies = [body(text) for name in _BODIES.get(kind, ()) if isinstance(text := data.get(name), str)]
    rows = [f"<tr><th>{escape(name)}</th><td>{escape(_text(value))}</td></tr>" for name, value in data.items()]
    page = "\n".join(
        [
            _HEAD.format(title=escape(title), note=escape(note), style=_STYLE, policy=single_page(_STYLE)),
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


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return codec.canonical(value).decode("utf-8")
