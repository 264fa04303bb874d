"""HTML in WordPress' blocks, where it shows what a browser shows. Pure.

A post without blocks gets paragraphs and line breaks from its line ends (``wpautop``). Inside of blocks there still are
``wptexturize`` (quotes, dashes, dots), ``convert_smilies``, ``capital_P_dangit``, ``do_shortcode`` and ``autoembed``,
which all look at the text as it is written: a character reference in the place of one letter shows the same, and is
none of what they look for.
"""

from __future__ import annotations

import json
import re
from html import escape, unescape
from typing import Any, Final, NamedTuple

_PIECE = re.compile(
    r"(?P<comment><!--(?:-?>|.*?(?:--!?>|\Z)))"
    r"|(?P<raw><(?P<name>script|style|textarea|xmp)(?=[\s/>]).*?(?:(?P<end></(?P=name)[^>]*+>)|\Z))"
    r"|(?P<tag></?[a-zA-Z][^\s/>]*+(?:[\s/]++|=|[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)"
    r"|[^\s>\"'][^\s>]*+)?+)?+)*+(?:>|\Z))",
    re.DOTALL | re.IGNORECASE,
)
_COMMAND = re.compile(r"<!--(?=\s*(?:more\b|nextpage|noteaser|/?wp:))", re.IGNORECASE)
"""Where a comment begins that WordPress obeys."""

_SMILEYS: Final = re.split(
    " ",
    ":mrgreen: :neutral: :twisted: :arrow: :shock: :smile: :???: :cool: :evil: :grin: :idea: :oops: :razz: :roll: "
    ":wink: :cry: :eek: :lol: :mad: :sad: 8-) 8-O :-( :-) :-? :-D :-P :-o :-x :-| ;-) 8O :( :) :? :D :P :o :x :| ;) "
    ":!: :?:",
)
_AFTER_SPACE: Final = r"(?:(?<![^\s\xa0])|(?<=&nbsp;))"
_BEFORE_SPACE: Final = r"(?=[\s\xa0]|&nbsp;|\Z)"
_TURNED = re.compile(
    "|".join(
        [
            "[\"']",
            r"`(?=`)|\.(?=\.\.)|-(?=-)|\((?=tm\))|W(?=ordpress)|\[(?=/?[a-zA-Z_])",
            r"(?<=[0-9])x(?=[0-9])",
            rf"{_AFTER_SPACE}-{_BEFORE_SPACE}",
            rf"{_AFTER_SPACE}[:;8](?=(?:{'|'.join(re.escape(each[1:]) for each in _SMILEYS)}){_BEFORE_SPACE})",
        ]
    )
)
_LONE_ADDRESS = re.compile(r"^([^\S\n]{0,50}https?):(?=//[^\s<>\"]+[^\S\n]{0,50}$)", re.IGNORECASE | re.MULTILINE)
_ODD_REFERENCE = re.compile(r"&(?!(?:#[0-9]+|#x[a-f0-9]+|[a-z1-4]{1,8});)#?[0-9a-zA-Z]+;?", re.IGNORECASE)
"""What may be a character reference for browsers, and is none for WordPress, which writes its & anew."""
_LOOKED_AT = re.compile("[-&\"'`.(W[x:;8]")
"""What any of these begins with, or has in it: most texts have none."""
_NO_SLASHES: Final = "&#47;&#47;"
_SHORTCODE = re.compile(r"\[(?=/?[a-zA-Z_])")


class Kept(NamedTuple):
    """HTML for a block, and how many comments in it were made plain that WordPress would obey."""

    text: str
    commands: int


def more_mark(label: str) -> str:
    """Return the mark behind which a post goes on, with the text of the link there, in HTML."""
    return f"<!--more{f' {label}' if label else ''}-->"


def more_block(label: str) -> str:
    """Return the same as a block."""
    return block("more", more_mark(label), {"customText": label} if label else None)


def kept(html: str) -> Kept:
    """Return HTML that shows the same where WordPress' filters look at it, to be put into a block."""
    parts: list[str] = []
    commands = done = 0
    for found in _PIECE.finditer(html):
        parts.append(_kept_text(html[done : found.start()]))
        done = found.end()
        piece, obeyed = found[0], 0
        if "<!--" in piece:
            # WordPress looks for them in the source, not in the parsed page, so they are as active in an attribute.
            piece, obeyed = _COMMAND.subn("<!-&#45;", piece)
            commands += obeyed
        if found["comment"]:
            parts.append("<!---->" if obeyed else piece if piece.endswith(("-->", "--!>", "<!-->")) else f"{piece}-->")
        elif found["raw"]:
            parts.append(piece if found["end"] else f"{piece}</{found['name']}>")
        elif piece.endswith(">"):
            # WordPress takes the first > for a tag's end.
            inside = piece[1:-1].replace("<", "&lt;").replace(">", "&gt;")
            parts.append(f"<{_SHORTCODE.sub('&#91;', inside) if '[' in inside else inside}>")
    parts.append(_kept_text(html[done:]))
    return Kept("".join(parts), commands)


def without_pings(html: str) -> str:
    """Return HTML that shows the same, in which WordPress finds no address to notify.

    Once a post is published, WordPress asks every address in its source for a pingback (``pingback``) and for a file
    to enclose (``do_enclose``). Both look for slashes (``wp_extract_urls``) and not for character references.
    """
    parts: list[str] = []
    done = 0
    for found in _PIECE.finditer(html):
        parts.append(html[done : found.start()].replace("//", _NO_SLASHES))
        done = found.end()
        if found["comment"]:
            parts.append(found[0].replace("//", "\\u002f\\u002f" if found[0].startswith("<!-- wp:") else _NO_SLASHES))
        elif found["raw"]:
            head, mark, rest = found[0].partition(">")
            parts.append(f"{head.replace('//', _NO_SLASHES)}{mark}{rest}")
        else:
            parts.append(found[0].replace("//", _NO_SLASHES))
    parts.append(html[done:].replace("//", _NO_SLASHES))
    return "".join(parts)


def _kept_text(text: str) -> str:
    if not _LOOKED_AT.search(text):
        return text
    plain = _ODD_REFERENCE.sub(lambda found: escape(unescape(found[0]), quote=False), text)
    return _LONE_ADDRESS.sub(r"\1&#58;", _TURNED.sub(_reference, plain))


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


def block(name: str, html: str, attributes: dict[str, Any] | None = None) -> str:
    """Return a block that holds the HTML."""
    said = json.dumps(attributes, ensure_ascii=False, separators=(",", ":")) if attributes else ""
    # As WordPress writes them, since they are in an HTML comment.
    said = re.sub(r"--|[<>&]|\\.", _escaped, said)
    return f"<!-- wp:{name}{f' {said}' if said else ''} -->\n{html}\n<!-- /wp:{name} -->"


def _escaped(found: re.Match[str]) -> str:
    if found[0].startswith("\\"):
        return "\\u0022" if found[0] == '\\"' else found[0]
    return "".join(f"\\u{ord(each):04x}" for each in found[0])
