"""The last step before strangers' HTML reaches a page: allow-lists of tags, attributes, styles, addresses. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import nh3

from exporter.render.tangle import tag_set
from exporter.site.styles import safe_style

ID_PREFIX: Final = "c-"
"""Before every id of the content, so that none is one of the page's own."""

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
    "img": _SIZE | {"src", "alt", "border", "hspace", "vspace"},
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
CLASSES: Final = {"a": {"player"}, "span": {"lost"}}
"""The only classes that stay; :mod:`exporter.site.body` sets them."""

_NEVER_SHOWN: Final = set(
    tag_set(
        "script style template title svg math iframe frame frameset noembed noframes object applet embed video audio"
    )
)
_LOCAL_PICTURE = re.compile(r"(?:\.\./)*assets/[0-9a-f]{2}/[0-9a-f]{64}\.[a-z0-9]{1,8}")
_PIXELS = re.compile(r"data:image/(?:png|gif|jpeg|jpg|webp|bmp|avif);base64,[A-Za-z0-9+/=%\s]*", re.IGNORECASE)
_LOCAL_PAGE = re.compile(r"(?:\.\./)*entry/[0-9a-z]{1,64}\.html")
_FRAGMENT = re.compile(r"#[^\s\\]{1,200}")
_SCHEME = re.compile(r"(?:https?://[^/\\]|mailto:[^/\\])", re.IGNORECASE)


def clean(html: str) -> str:
    """Return a fragment in which nothing runs, loads or leaves its place; balanced, so that it cannot end its parent.

    Pictures are files of the archive or pixels in the address itself; links lead to the web, to mail, to files and
    pages of the archive, or to a place in the fragment.
    """
    return _cleaner().clean(html)


@cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(TAGS),
        clean_content_tags=_NEVER_SHOWN,
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        attribute_filter=_attribute,
        allowed_classes=CLASSES,
        url_schemes={"http", "https", "mailto", "data"},
        url_relative=_relative,
        link_rel="noopener noreferrer",
        id_prefix=ID_PREFIX,
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "style":
        return safe_style(value)
    if name in {"href", "cite"}:
        return value if is_link(value) else None
    if name == "src":
        return value if tag == "img" and (_LOCAL_PICTURE.fullmatch(value) or is_pixels(value)) else None
    return value


def is_link(url: str) -> bool:
    """Tell whether a link may lead there: to the web, to mail, or to what :mod:`exporter.site.body` writes."""
    return _SCHEME.match(url) is not None or _relative(url) is not None


def is_pixels(url: str) -> bool:
    """Tell whether an address holds a picture itself, of a kind that is nothing but pixels."""
    return _PIXELS.fullmatch(url) is not None


def _relative(url: str) -> str | None:
    """Let only the addresses through that :mod:`exporter.site.body` writes; a network share is none of them."""
    if _FRAGMENT.fullmatch(url) or _LOCAL_PICTURE.fullmatch(url) or _LOCAL_PAGE.fullmatch(url):
        return url
    return None
