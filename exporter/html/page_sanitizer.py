"""Sanitizing of untrusted HTML for pages: permitted tags, attributes, addresses and inline styles. Pure.

A page's Content-Security-Policy forbids the same again, but this module does not rely on it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import nh3

from exporter.html.links import APP_SCHEMES, LINK_SCHEMES
from exporter.html.service_habits import CONTENTS, EMOJI, KEYWORD
from exporter.html.tree import tag_set

_LENGTH = r"(?:0|[0-9]{1,4}(?:\.[0-9]{1,3})?(?:px|pt|em|rem|ex|ch|%|mm|cm|in)?)"
_WITH_UNIT = re.compile(r"[0-9.]+[a-z]+")
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
    """Return the permitted declarations, or ``None`` if no declaration is permitted.

    They contain no address, cannot move an element out of its place, and have no excessive length.
    """
    if "\\" in style or "/*" in style:
        return None
    kept = []
    for declaration in style.split(";"):
        name, colon, value = declaration.partition(":")
        name, value = name.strip().lower(), " ".join(value.lower().replace("!important", "").split())
        allowed = _VALUES.get(name)
        if colon and allowed is not None and allowed.fullmatch(value):
            # The page may be narrower than the original one.
            bound = name in {"max-width", "min-width"} and _WITH_UNIT.fullmatch(value)
            kept.append(f"{name}:min(100%,{value})" if bound else f"{name}:{value}")
    return ";".join(kept) or None


ID_PREFIX: Final = "c-"
"""Prefix for every id in the content, so that it cannot equal one of the page's own."""

TAGS: Final = tag_set(
    "a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del "
    "details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li mark "
    "menu nav ol p pre q rb rp rt rtc ruby s samp section small span strike strong sub summary sup table tbody td "
    "tfoot th thead time tr tt u ul var wbr"
)

_SIZE: Final = frozenset({"width", "height"})
_CELL: Final = _SIZE | {"align", "valign", "colspan", "rowspan", "bgcolor", "nowrap", "scope"}
ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    "*": frozenset({"title", "lang", "dir", "style", "id", "align"}),
    "a": frozenset({"href"}),
    "blockquote": frozenset({"cite"}),
    "col": frozenset({"span", "width"}),
    "colgroup": frozenset({"span", "width"}),
    "del": frozenset({"datetime"}),
    "details": frozenset({"open"}),
    "font": frozenset({"color", "size"}),
    "hr": frozenset({"width", "size", "noshade"}),
    "img": _SIZE | {"src", "alt", "border", "hspace", "loading", "vspace"},
    "ins": frozenset({"datetime"}),
    "li": frozenset({"value"}),
    "ol": frozenset({"start", "type", "reversed"}),
    "table": _SIZE | {"border", "cellpadding", "cellspacing", "bgcolor", "summary"},
    "td": _CELL,
    "th": _CELL,
    "time": frozenset({"datetime"}),
    "tr": frozenset({"align", "valign", "bgcolor"}),
    "ul": frozenset({"type"}),
}
COLOURS: Final = tag_set("ck cs cc cm cn ct ca cd")
"""Classes of highlighted code: keywords, strings, comments, numbers, names, tags, added and deleted lines."""
CLASSES: Final = {
    "a": {"card", "player", KEYWORD},
    "div": {"pictures", "row", "wide", CONTENTS},
    "figure": {"pictures"},
    "img": {"unnamed", EMOJI},
    "ol": {CONTENTS},
    "span": {"lost", EMOJI, *COLOURS},
    "td": {"long"},
    "th": {"long"},
    "ul": {CONTENTS},
}
"""The permitted classes, which :mod:`exporter.html.page_body` sets."""

_NEVER_SHOWN: Final = set(
    tag_set(
        "script style template title svg math iframe frame frameset noembed noframes object applet embed video audio"
    )
)
_LOCAL_PICTURE = re.compile(r"(?:\.\./)*(?:assets|thumbnails)/[0-9a-f]{2}/[0-9a-f]{64}\.[a-z0-9]{1,8}")
_PIXELS = re.compile(r"data:image/(?:png|gif|jpeg|jpg|webp|bmp|avif);base64,[A-Za-z0-9+/=%\s]*", re.IGNORECASE)
_LOCAL_PAGE = re.compile(r"(?:\.\./)*entry/[0-9a-z]{1,64}\.html")
_RATIO = re.compile(r"(?:^|;)(--r:[0-9]{1,2}\.[0-9]{2})(?:;|$)")
_TEXT_COLOUR = re.compile(r"(?:^|;)color:([^;]+)")
_FRAGMENT = re.compile(r"#[^\s\\]{1,200}")
_SCHEME = re.compile(rf"https?://[^/\\]|(?:{'|'.join(sorted(APP_SCHEMES))}):[^\\]", re.IGNORECASE)


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "style":
        return _usual_style(value) if len(value) <= _USUAL_CHARACTERS else _page_style(value)
    if name in {"href", "cite"}:
        return value if is_link(value) else None
    if name == "src":
        return value if tag == "img" and (_LOCAL_PICTURE.fullmatch(value) or is_inline_picture(value)) else None
    return value


def _page_style(style: str) -> str | None:
    """Return a style's permitted part, its text colour again for pages that adapt it, and a picture's ratio."""
    kept = [safe_style(style) or ""]
    colours = _TEXT_COLOUR.findall(kept[0])
    if colours and "background" not in kept[0]:
        kept.append(f"--c:{colours[-1]}")
    ratio = _RATIO.search(style)
    if ratio:
        kept.append(ratio[1])
    return ";".join(filter(None, kept)) or None


_USUAL_CHARACTERS: Final = 200
"""Styles of at most this length are cached: editors write the same few thousand times."""
_usual_style = lru_cache(maxsize=2_048)(_page_style)


def is_link(url: str) -> bool:
    """Return whether an address may be in a link: with a permitted scheme, or a place that pages write."""
    return _SCHEME.match(url) is not None or _relative(url) is not None


def is_inline_picture(url: str) -> bool:
    """Return whether an address contains a picture itself, in a format of pixels only."""
    return _PIXELS.fullmatch(url) is not None


def _relative(url: str) -> str | None:
    """Permit only relative addresses that :mod:`exporter.html.page_body` writes, so no network shares."""
    if _FRAGMENT.fullmatch(url) or _LOCAL_PICTURE.fullmatch(url) or _LOCAL_PAGE.fullmatch(url):
        return url
    return None


clean: Final = nh3.Cleaner(
    tags=set(TAGS),
    clean_content_tags=_NEVER_SHOWN,
    attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
    attribute_filter=_attribute,
    allowed_classes=CLASSES,
    url_schemes={*LINK_SCHEMES, "data"},
    url_relative=_relative,
    link_rel="noopener noreferrer",
    id_prefix=ID_PREFIX,
).clean
"""Returns a balanced fragment that runs nothing, loads nothing and stays inside its parent element.

Pictures are files of the archive or ``data:`` pixels. Links have a scheme of :mod:`exporter.html.links`, or lead to
files and pages of the archive or to an anchor in the fragment.
"""
