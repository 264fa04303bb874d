"""HTML inside Markdown: elements written again from the tree, with harmless attributes only. Pure.

The output contains no blank line, because that would end an HTML block in Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Final, NamedTuple

from exporter.html.anchors import ANCHOR
from exporter.html.code_languages import LANGUAGE
from exporter.html.links import WEB_SCHEMES, safe_frame_url, safe_image_url, safe_url
from exporter.html.players import is_played
from exporter.html.tree import DROPPED, TAG_NAME, Element, tag_set

_SPACES = re.compile(r"(?<![ \t\r\f])[ \t\r\f]*\n[ \t\n\r\f]*")
_BLANK_LINES = re.compile(r"\n[ \t\r\f\n]*\n")
_ANY_SPACES = re.compile(r"[ \t\n\r\f]+")
_NUMBER = re.compile(r"[0-9]{1,5}%?")
_WORD = re.compile(r"[A-Za-z0-9/.+-]{1,40}")
_DIRECTION = re.compile(r"rtl|ltr|auto", re.IGNORECASE)

_VOID = tag_set("br embed hr img source track wbr")
_NAMELESS = tag_set("body font form html label math nobr noscript optgroup option select span svg")
"""Tags that are dropped; SVG and MathML change the parser's rules, so markup in them is never trusted."""

_LISTED = frozenset({"optgroup", "option"})
_RAW_TEXT = frozenset({"listing", "plaintext", "textarea", "xmp"})
_NEEDS_URL: Final = {"iframe": "src", "embed": "src", "img": "src", "source": "src", "track": "src"}
_LINE_AFTER = tag_set("dd div dl dt details li ol p summary table tbody td th thead tfoot tr ul")

_Check = Callable[[str], str | None]


def _number(value: str) -> str | None:
    return value.strip() if _NUMBER.fullmatch(value.strip()) else None


def _word(value: str) -> str | None:
    return value.strip() if _WORD.fullmatch(value.strip()) else None


def _text(value: str) -> str | None:
    return _ANY_SPACES.sub(" ", value).strip(" ") or None


def _direction(value: str) -> str | None:
    return value.strip().lower() if _DIRECTION.fullmatch(value.strip()) else None


def _present(_value: str) -> str | None:
    return ""


def _played(value: str) -> str | None:
    return safe_url(value, WEB_SCHEMES)


def _object(value: str) -> str | None:
    """Return an object's address if it is on the web, or a video or sound file, which runs nothing."""
    return safe_frame_url(value) or (_played(value) if is_played(value) else None)


_SIZE: Final[dict[str, _Check]] = {"width": _number, "height": _number}
_CELL: Final[dict[str, _Check]] = {"colspan": _number, "rowspan": _number, "align": _word}
_PLAYER: Final[dict[str, _Check]] = {"src": _played, "controls": _present, "loop": _present, **_SIZE}
_ATTRIBUTES: Final[dict[str, dict[str, _Check]]] = {
    "a": {"href": safe_url, "title": _text},
    "abbr": {"title": _text},
    "audio": _PLAYER,
    "details": {"open": _present},
    "embed": {"src": _object, "type": _word, **_SIZE},
    "iframe": {"src": safe_frame_url, "title": _text, **_SIZE},
    "img": {"src": safe_image_url, "alt": _text, "title": _text, **_SIZE},
    "object": {"data": _object, "type": _word, **_SIZE},
    "li": {"value": _number},
    "ol": {"start": _number, "type": _word, "reversed": _present},
    "source": {"src": _played, "type": _word},
    "td": _CELL,
    "th": _CELL,
    "time": {"datetime": _text},
    "track": {"src": safe_frame_url, "kind": _word, "srclang": _word},
    "video": {"poster": safe_image_url, **_PLAYER},
}
_ANYWHERE: Final[dict[str, _Check]] = {"dir": _direction}
_CHECKS: Final = {tag: checks | _ANYWHERE for tag, checks in _ATTRIBUTES.items()}
_KEPT_MEDIA = frozenset({"source", "track"})


def safe_html(element: Element) -> str:
    """Return an element with its descendants as HTML without scripts, styles, event handlers or unsafe addresses."""
    parts: list[str] = []
    todo: list[Element | str | _Closing] = [element]
    preformatted = 0
    while todo:
        node = todo.pop()
        if isinstance(node, _Closing):
            preformatted -= node.preformatted
            parts.append(node.text.rstrip("\n") if preformatted else node.text)
        elif isinstance(node, str):
            parts.append(_escaped(node, preformatted=preformatted > 0))
        elif node.tag not in DROPPED or node.tag in _KEPT_MEDIA:
            opening, closing = _tags(node)
            parts.append(opening)
            preformatted += closing.preformatted
            if node.tag != "iframe":
                todo.append(closing)
                todo.extend(reversed(node.children))
            else:
                parts.append(closing.text)
    return _BLANK_LINES.sub("\n", "".join(parts)).strip()


class _Closing(NamedTuple):
    text: str
    preformatted: bool = False


def _tags(element: Element) -> tuple[str, _Closing]:
    tag = element.tag
    if tag == ANCHOR:
        return f'<a id="{escape(element.attributes["id"])}">', _Closing("</a>")
    if tag in _RAW_TEXT:
        return "<pre>", _Closing("</pre>", preformatted=True)
    if tag in _LISTED:
        return "", _Closing(" ")
    attributes = _attributes(element)
    if tag in _NAMELESS or not TAG_NAME.fullmatch(tag) or (tag in _NEEDS_URL and _NEEDS_URL[tag] not in attributes):
        return (escape(attributes["alt"]) if "alt" in attributes else ""), _Closing("")
    if LANGUAGE in element.attributes:
        attributes["class"] = f"language-{element.attributes[LANGUAGE]}"
    written = "".join(f' {name}="{escape(value)}"' if value else f" {name}" for name, value in attributes.items())
    if tag in _VOID:
        return f"<{tag}{written}>", _Closing("")
    end = "\n" if tag in _LINE_AFTER else ""
    return f"<{tag}{written}>", _Closing(f"</{tag}>{end}", preformatted=tag == "pre")


def _attributes(element: Element) -> dict[str, str]:
    if not element.attributes:
        return {}
    checks = _CHECKS.get(element.tag, _ANYWHERE)
    found = {name: check(element.attributes[name]) for name, check in checks.items() if name in element.attributes}
    return {name: value for name, value in found.items() if value is not None}


def _escaped(text: str, *, preformatted: bool) -> str:
    safe = escape(text, quote=False)
    if preformatted:
        return safe.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "&#10;")
    return _SPACES.sub("\n", safe)
