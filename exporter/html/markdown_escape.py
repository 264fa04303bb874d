"""Escaping of text so that CommonMark and GFM read it literally, only if necessary. Pure.

The rules are those of CommonMark 0.31 and of GFM's tables, strikethrough and task lists. If editions of the
specification differ (whether symbols count as punctuation), the output is valid in all of them.
"""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum
from functools import lru_cache
from urllib.parse import quote


class CharKind(IntEnum):
    """The class of a character in the emphasis rules; symbols are punctuation in some editions only."""

    WORD = 0
    SPACE = 1
    PUNCTUATION = 2
    SYMBOL = 3


@lru_cache(maxsize=4096)
def char_kind(char: str) -> CharKind:
    """Classify one character; the empty string is the edge of a line."""
    if not char or char in "\t\n\f\r":
        return CharKind.SPACE
    category = unicodedata.category(char)
    if category == "Zs":
        return CharKind.SPACE
    if category[0] == "P" or (char < "\x7f" and category[0] == "S"):
        return CharKind.PUNCTUATION
    return CharKind.SYMBOL if category[0] == "S" else CharKind.WORD


_SPECIAL_CHARACTERS = "*_~\\`[]<&!"
"""All characters that Markdown may interpret anywhere in a line."""

_ANY_SPECIAL = re.compile(f"[{re.escape(_SPECIAL_CHARACTERS)}]")
_SPECIAL = re.compile(r"\*|_+|~+|[\\`\[\]<&!]")
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]{0,40});")
"""A character reference. CommonMark has a maximum of digits, other readers do not."""
_AFTER_BRACKET = frozenset("([:")
_LINE_MARKS = frozenset("#-+>=:|[0123456789")
_LINE_START = re.compile(
    r"(?:#{1,6}(?=[ \t]|$)|[-+](?=[ \t]|$)|>|=+(?=[ \t]*$)|-+(?=[ \t]*$)|[-:|](?=[-:| \t]*$)"
    r"|:(?=[ \t])|\[(?=[ xX]\]|!))"
    r"|([0-9]++)(?=[.)](?:[ \t]|$))",
    re.MULTILINE,
)
_FINAL_HASHES = re.compile(r"(?:\\?#)+$")
_CLOSING_HASHES = re.compile(r"(^|[ \t])(#+)$")
_SPACES = re.compile(r"[ \t\n\r\f]+")
_TICKS = re.compile(r"`+")


_ADDRESS = re.compile(
    r"(?<![A-Za-z])(?i:https?|ftp)://(?=[A-Za-z0-9])[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*[A-Za-z0-9/#@$&(+=%)-]"
    r"|(?<![^ \t\n\r\f*_~(])www\."
)
_SPACE = re.compile(r"[ \t\n\r\f]")
_END = re.compile(r"[.,:!?]*(?=[ \t\n\r\f]|\Z)")
"""Punctuation that GFM does not count as part of the preceding address: it needs no escape."""
_REST_OF_WWW = re.compile(r"[A-Za-z0-9./:?#@$'()+,;=%-]{0,100}+(?=[ \t\n\r\f]|\Z)")


def enclosed_addresses(text: str, after: str) -> list[tuple[int, int]]:
    """Return the start and end of addresses that GFM would extend into the following text; of ``www.`` only that.

    In GFM a bare address ends at the next ASCII space, which Japanese text does not have, and includes all escapes and
    Markdown characters before it (GFM 0.29, section 6.9).

    Args:
        text: a part of one or several lines.
        after: the character after it; empty at the end of a line.
    """
    found: list[tuple[int, int]] = []
    match = _ADDRESS.search(text) if "://" in text or "www." in text else None
    while match is not None:
        start, end = match.span()
        entity = _ENTITY.search(text, start, end)
        end = end if entity is None else entity.start()
        surplus = text.count(")", start, end) - text.count("(", start, end)
        while surplus > 0 and text[end - 1] == ")":
            end, surplus = end - 1, surplus - 1
        rest = (_REST_OF_WWW if match[0] == "www." else _END).match(text, end)
        ends = rest is not None and (rest.end() < len(text) or not after or _SPACE.match(after) is not None)
        is_bare = match[0] == "www." or _escaped(text[start:end], "", "") == text[start:end]
        if not (ends and is_bare):
            found.append((start, end))
        match = _ADDRESS.search(text, end)
    return found


def escape_text(text: str, before: str, after: str, *, in_brackets: bool = False) -> str:
    """Escape a part of one or several lines for any position in a paragraph; see also :func:`escape_line_start`.

    Args:
        text: the text, white space collapsed.
        before: the character before it; empty at the start of a line.
        after: the character after it; empty at the end of a line.
        in_brackets: whether it is inside a link's text or an image's description.
    """
    places = [] if in_brackets else enclosed_addresses(text, after)
    if not places:
        return _escaped(text, before, after, in_brackets=in_brackets)
    parts: list[str] = []
    done = 0
    for start, end in places:
        address = text[start:end]
        parts += [_escaped(text[done:start], before, "<"), f"<{address}>" if "://" in address else "www\\."]
        before, done = ">", end
    return "".join([*parts, _escaped(text[done:], before, after, in_brackets=in_brackets)])


def _escaped(text: str, before: str, after: str, *, in_brackets: bool = False) -> str:
    if _ANY_SPECIAL.search(text) is None:  # four times as fast as _SPECIAL when there is no match
        return text

    def escaped(found: re.Match[str]) -> str:
        run = found[0]
        start, end = found.span()
        left = text[start - 1] if start else before
        right = text[end] if end < len(text) else after
        mark = run[0]
        if mark in "*_~":
            return _escape_run(run, left, right)
        if mark == "\\":
            return "\\\\" if not right or right == "\n" or right in _ASCII_PUNCTUATION else run
        if mark == "<":
            is_tag = bool(right) and (right in "/!?" or (right.isascii() and right.isalpha()))
            return "&lt;" if is_tag or (right == "<" and end == len(text)) else run  # two would become a quotation mark
        if mark == "&":
            return "&amp;" if _ENTITY.match(text, start) else run
        if mark == "!":
            return "\\!" if end == len(text) and right == "[" else run
        if mark == "`" or in_brackets:
            return "\\" + run
        return "\\]" if mark == "]" and right in _AFTER_BRACKET and right else run

    return _SPECIAL.sub(escaped, text)


def _escape_run(run: str, left: str, right: str) -> str:
    left_kind, right_kind = char_kind(left), char_kind(right)
    at_line_start = not left or left == "\n"
    alone = left_kind == right_kind == CharKind.SPACE and not at_line_start
    inside_word = run[0] == "_" and left_kind == right_kind == CharKind.WORD
    return run if alone or inside_word else "".join("\\" + char for char in run)


def can_delimit(inside: str, outside: str) -> bool:
    """Return whether asterisks or tildes between these characters face the inner one in every edition."""
    inside_kind = char_kind(inside)
    if inside_kind is CharKind.SPACE:
        return False
    return inside_kind is CharKind.WORD or char_kind(outside) in {CharKind.SPACE, CharKind.PUNCTUATION}


def escape_line_start(line: str, start: int = 0) -> str:
    """Escape characters that would make the line at ``start`` a heading, list, quote, rule, table or task."""
    if line[start : start + 1] not in _LINE_MARKS:
        return line
    found = _LINE_START.match(line, start)
    if found is None:
        return line
    at = found.end() if found[1] else start
    return f"{line[:at]}\\{line[at:]}"


def escape_heading_end(line: str, *, each: bool = False) -> str:
    """Escape the final ``#`` of a heading, which readers would drop, or ``each`` one, also directly after a word."""
    if each:
        return _FINAL_HASHES.sub(lambda found: "\\#" * found[0].count("#"), line)
    return _CLOSING_HASHES.sub(r"\1\\\2", line)


def code_span(text: str) -> str:
    """Return a code span whose content is exactly ``text`` (one line, not blank)."""
    # Not only of an unused length: kramdown also ends code at a longer run.
    fence = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    padded = f" {text} " if text[0] in "` " or text[-1] in "` " else text
    return f"{fence}{padded}{fence}"


def code_fence(text: str, language: str = "") -> str:
    """Return a fenced code block around ``text``, with a fence longer than any run of backticks inside."""
    fence = "`" * max(3, max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}" if text else f"{fence}{language}\n{fence}"


INVISIBLE_TEXT = "&#32;"
"""A space that parsers keep at a line's end, where browsers do not show it."""
_MAX_PARENTHESES = 32
"""Parsers have a maximum for the nested parentheses in an address."""
_DESTINATION = re.compile(r"<(?:[^<>\\\n]|\\.)*>|[^\x00-\x20\x7f<][^\x00-\x20\x7f]*")
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_TITLE = re.compile(
    r"""[ \t]+(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\))(?=[ \t]*(?:\n|\Z))""", re.DOTALL
)
_PARENTHESES = re.compile(r"\\[()\\]|[()]")


def definition_end(text: str) -> int | None:
    """Return where the link reference definition ends that ``[label]:`` before the text would begin.

    CommonMark hides such a definition: an address, maybe with a title (0.31, section 4.7). It ends with a line.
    ``None`` means that the text is not a definition.
    """
    block = text.partition("\n\n")[0]
    found = _DESTINATION.match(block)
    if found is None or (found[0][0] != "<" and not _is_balanced(found[0])):
        return None
    end = found.end()
    if _LINE_END.match(block, end):
        return end
    title = _TITLE.match(block, end)
    return None if title is None else title.end()


def _is_balanced(destination: str) -> bool:
    depth = 0
    for found in _PARENTHESES.finditer(destination):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not 0 <= depth <= _MAX_PARENTHESES:
            return False
    return not depth


_ENCODED = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")
_BALANCED = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")


def readable(url: str) -> str:
    """Return an address with its percent-encoded letters decoded from UTF-8.

    Markdown readers encode them again (CommonMark 0.31, section 6.3), so the target is the same. ASCII, spaces, invalid
    UTF-8, invisible characters and those that change the text direction stay encoded.
    """
    if "%" not in url or url.startswith("data:"):
        return url
    return _ENCODED.sub(lambda found: _decoded(found[0]), url)


def _decoded(encoded: str) -> str:
    text = bytes.fromhex(encoded.replace("%", "")).decode("utf-8", "surrogateescape")
    if any("\udc80" <= char <= "\udcff" for char in text):
        return encoded
    return "".join(char if char.isprintable() and char not in _INVISIBLE else quote(char) for char in text)


_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that are printable by their Unicode category but invisible."""


def link_target(url: str, title: str) -> str:
    """Return the content for a link's parentheses, given an address from :mod:`exporter.html.links`."""
    target = _ENTITY.sub(lambda found: "&amp;" + found[0][1:], readable(url))
    if not _BALANCED.fullmatch(target):
        target = target.replace("(", "\\(").replace(")", "\\)")
    if not title.strip():
        return target
    quoted = (
        _SPACES.sub(" ", title)
        .strip()
        .replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("<", "&lt;")
        .replace("`", "\\`")
    )
    return f'{target} "{_ENTITY.sub(lambda found: "&amp;" + found[0][1:], quoted)}"'
