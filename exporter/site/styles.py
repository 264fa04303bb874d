"""Which inline styles of strangers may stay: by property, and each value checked. Pure."""

from __future__ import annotations

import re
from typing import Final

_LENGTH = r"(?:0|[0-9]{1,4}(?:\.[0-9]{1,3})?(?:px|pt|em|rem|ex|ch|%|mm|cm|in)?)"
_COLOUR = (
    r"(?:#[0-9a-fA-F]{3,8}|[a-zA-Z]{3,24}"
    r"|(?:rgb|hsl)a?\([ ]?[0-9.]{1,6}%?(?:[ ]?[,/ ][ ]?[0-9.]{1,6}%?){2,3}[ ]?\))"
)
_LENGTHS = rf"(?:{_LENGTH}|auto)(?: (?:{_LENGTH}|auto)){{0,3}}"
_WORDS = r"[a-z-]{2,24}(?: [a-z-]{2,24}){0,3}"
_BORDER = rf"(?:{_LENGTH}|{_COLOUR}|[a-z]{{4,8}})(?: (?:{_LENGTH}|{_COLOUR}|[a-z]{{4,8}})){{0,3}}"

_VALUES: Final[dict[str, re.Pattern[str]]] = {
    **dict.fromkeys(("color", "background-color", "background", "text-decoration-color"), re.compile(_COLOUR)),
    **dict.fromkeys(
        ("margin", "margin-top", "margin-right", "margin-bottom", "margin-left", "padding", "padding-top",
         "padding-right", "padding-bottom", "padding-left", "width", "max-width", "height", "max-height", "min-width",
         "text-indent", "letter-spacing", "border-width", "border-spacing", "border-radius"),
        re.compile(_LENGTHS),
    ),
    **dict.fromkeys(
        ("border", "border-top", "border-right", "border-bottom", "border-left", "border-color", "border-style"),
        re.compile(_BORDER),
    ),
    "display": re.compile(r"block"),
    "font-size": re.compile(rf"{_LENGTH}|(?:x{{1,3}}-|xx-)?(?:small|large)|medium|smaller|larger"),
    "line-height": re.compile(r"normal|[0-9](?:\.[0-9]{1,3})?(?:em|%)?|[0-9]{2,3}(?:px|pt|%)"),
    "font-weight": re.compile(r"normal|bold|bolder|lighter|[1-9]00"),
    "vertical-align": re.compile(rf"[a-z-]{{3,12}}|{_LENGTH}"),
    **dict.fromkeys(
        ("font-style", "font-variant", "text-align", "text-decoration", "text-decoration-line", "text-decoration-style",
         "text-transform", "white-space", "word-break", "float", "clear", "list-style-type", "border-collapse",
         "writing-mode", "text-emphasis", "text-emphasis-style", "ruby-position"),
        re.compile(_WORDS),
    ),
}  # fmt: skip


def safe_style(style: str) -> str | None:
    """Return the declarations that may stay, ``None`` when there are none.

    No address can be in them, nothing can leave the place where it stands, and no length is beyond what a page holds.
    """
    if "\\" in style or "/*" in style:
        return None
    kept = []
    for declaration in style.split(";"):
        name, colon, value = declaration.partition(":")
        name, value = name.strip().lower(), " ".join(value.lower().replace("!important", "").split())
        allowed = _VALUES.get(name)
        if colon and allowed is not None and allowed.fullmatch(value):
            kept.append(f"{name}:{value}")
    return ";".join(kept) or None
