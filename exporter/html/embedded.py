"""Embedded content: addresses of pictures, players and links in a body, found and rewritten. Pure.

Frames, players and scripts of other services are never run: they become links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from enum import Enum, StrEnum, auto
from html import escape, unescape
from html.entities import html5
from itertools import chain
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from exporter.html.anchors import mark_places
from exporter.html.code_languages import name_languages
from exporter.html.links import host_of, is_picture, safe_frame_url
from exporter.html.task_lists import mark_ticks
from exporter.html.tree import Element, TooComplex, document_of, parse
from exporter.text import visible

_WORTH_PARSING: Final = ("src", "href", "background", "poster", "url(", "data", "value")
_TAG = re.compile(
    r"<(?:img|image|a|source|input|video|area|table|td|th|audio|bgsound|object|embed|param|iframe)\b[^<>]{1,20000}>"
    r"|<style\b[^<>]{0,20000}>[^<]{1,200000}</style>",
    re.IGNORECASE,
)
_STYLE_URL = re.compile(
    r"@(?:import|namespace)\b[^;]*|url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^\"'()\s]+))\s*\)", re.IGNORECASE
)
"""An address in CSS declarations; that of another style sheet has no group, because it shows nothing."""
_CANDIDATE = re.compile(r"[\s,]*([^\s,]\S*)")
_DESCRIPTOR = re.compile(r"[^,(]*(?:\([^)]*(?:\)|\Z)[^,(]*)*")

_ATTRIBUTES: Final = {
    "img": ("src", "data-src", "data-original", "lowsrc"),
    "image": ("src", "href"),
    "video": ("poster",),
    "table": ("background",),
    "td": ("background",),
    "th": ("background",),
}
_PLAYED: Final = {"video": "src", "audio": "src", "source": "src", "bgsound": "src"}
_OBJECTS: Final = {"object": "data", "embed": "src", "param": "value", "iframe": "src"}
_PARAMETERS: Final = frozenset({"filename", "movie", "src", "url"})
"""Parameters of an object that contain the address of the played file."""
_HOLDERS: Final = f":is({','.join({**_ATTRIBUTES, **_PLAYED, **_OBJECTS})},a,area,input,style,[style*='url(' i])"
"""Selects the elements whose attributes or content may be addresses; ``:is`` returns each of them once."""


class Use(StrEnum):
    """How an entry uses an address."""

    SHOWN = auto()
    """It is embedded as a picture."""
    LINKED = auto()
    """It is the target of a link."""
    PLAYED = auto()
    """It is embedded as a video, a sound, or another file for the browser or a plug-in."""
    FRAMED = auto()
    """It is embedded as a page or as a player of another service: there is no file to save."""


class EmbeddedAddress(NamedTuple):
    """An address as in the HTML, and its use."""

    text: str
    use: Use


def embedded(html: str) -> Iterator[EmbeddedAddress]:
    """Yield the addresses of pictures, players and links in their order.

    A body that is too complex or too large to be parsed as a whole is read tag by tag.
    """
    lower = html.lower()
    if "<" not in html or not any(word in lower for word in _WORTH_PARSING):
        return
    try:
        yield from _in_tree(html)
    except TooComplex:
        for tag in _TAG.finditer(html):
            with suppress(TooComplex):
                yield from _in_tree(tag[0])


def candidates(srcset: str) -> Iterator[str]:
    """Yield the addresses of a ``srcset`` attribute (HTML Standard, section 4.8.4.2.1)."""
    return (srcset[start:end] for start, end in candidate_places(srcset))


def candidate_places(srcset: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each address in a ``srcset`` attribute."""
    at = 0
    while (found := _CANDIDATE.match(srcset, at)) is not None:
        at = found.end()
        text = found[1].rstrip(",")
        if text == found[1]:
            rest = _DESCRIPTOR.match(srcset, at)
            at = rest.end() if rest is not None else at
        yield found.start(1), found.start(1) + len(text)


def _in_tree(html: str) -> Iterator[EmbeddedAddress]:
    return chain.from_iterable(map(_in_element, _holders(html)))


def _holders(html: str) -> Iterator[Element]:
    """Yield the elements that may contain addresses, in document order."""
    if "<noscript" in html.lower():
        # It may repeat the picture before it, which only the whole tree shows.
        yield from parse(html).elements()
        return
    for node in document_of(html).css(_HOLDERS):
        attributes = {name: value or "" for name, value in node.attributes.items()}
        yield Element(node.tag or "", attributes, [node.text()] if node.tag == "style" else [])


def _in_element(element: Element) -> Iterator[EmbeddedAddress]:
    """Yield the addresses in the attributes of an element."""
    attributes = element.attributes
    if element.tag in {"a", "area"}:
        if attributes.get("href"):
            yield EmbeddedAddress(attributes["href"], Use.LINKED)
        return
    yield from _pictures(element)
    yield from _players(element)
    for style in (attributes.get("style", ""), element.text() if element.tag == "style" else ""):
        for start, end in _in_style(style):
            yield EmbeddedAddress(style[start:end], Use.SHOWN)


def _pictures(element: Element) -> Iterator[EmbeddedAddress]:
    attributes = element.attributes
    names = _ATTRIBUTES.get(element.tag, ())
    if element.tag == "input" and attributes.get("type", "").strip().lower() == "image":
        names = ("src",)
    for name in names:
        if attributes.get(name):
            yield EmbeddedAddress(attributes[name], Use.SHOWN)
    if element.tag in {"img", "source"}:
        for text in candidates(attributes.get("srcset", "")):
            yield EmbeddedAddress(text, Use.SHOWN)


def _players(element: Element) -> Iterator[EmbeddedAddress]:
    attributes = element.attributes
    played = attributes.get(_PLAYED.get(element.tag, ""))
    if played:
        yield EmbeddedAddress(played, Use.PLAYED)
    is_other = element.tag == "param" and attributes.get("name", "").strip().lower() not in _PARAMETERS
    shown = attributes.get(_OBJECTS.get(element.tag, ""))
    if shown and not is_other:
        is_file = element.tag != "iframe" and is_media_file(shown)
        yield EmbeddedAddress(shown, Use.PLAYED if is_file else Use.FRAMED)


def _in_style(style: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each address in CSS declarations."""
    if "url(" in style.lower():
        for found in _STYLE_URL.finditer(style):
            yield from (found.span(number) for number in (1, 2, 3) if found[number])


# An unclosed element lasts until the end, as in browsers; searching its end again for each tag would take hours.
_SKIPPED = r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|xmp)(?=[\s/>]).*?(?:</\1(?=[\s/>])|\Z)"
_TAG_WITH_VALUES = re.compile(rf"{_SKIPPED}|<[a-zA-Z][^<>=]*+=[^<>]*+>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"(?P<lead>(?<![^\s\"'<>/=])(?P<name>[^\s\"'<>/=]++)\s*=\s*)(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'>]+))"
)
_ADDRESSES = frozenset(
    {"href", "src", "data", "data-src", "data-original", "lowsrc", "poster", "background", "srcset", "style"}
)
_NOT_IN_STYLES = re.compile(r"[ \t\n\r\f\"'()\\]")

_REFERENCE = re.compile(r"&(?:#[0-9a-zA-Z]+;?|([a-zA-Z][a-zA-Z0-9]*(?:;|(?![a-zA-Z0-9=]))))")

Resolve = Callable[[str], str | None]


def attribute_text(value: str) -> str:
    """Return an attribute's value with its references decoded (HTML Standard, section 13.2.5.73, keeps ``&copy=``)."""
    return _REFERENCE.sub(lambda found: html5.get(found[1], found[0]) if found[1] else unescape(found[0]), value)


def rewrite_addresses(html: str, resolve: Resolve) -> str:
    """Return the HTML with each address replaced by the result of ``resolve``.

    Args:
        html: a body.
        resolve: receives an address with its references decoded; returns the new one, or ``None`` to keep it.
    """
    return _replaced(html, _new_attributes(html, resolve))


def _new_attributes(html: str, resolve: Resolve) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of each attribute and style sheet that changes, with its new text."""
    for tag in _TAG_WITH_VALUES.finditer(html):
        start, end = tag.span()
        if tag[1]:
            if tag[1].lower() == "style":
                yield start, end, _restyled(tag[0], resolve)
            continue
        if html.startswith("<!", start):
            continue
        # Only a parameter's value can be an address.
        other = "value" if html[start : start + 7].lower() == "<param " else ""
        for found in _ATTRIBUTE.finditer(html, start, end):
            name = found["name"].lower()
            if name in _ADDRESSES or name == other:
                value = found[found.lastindex or 0]
                plain = attribute_text(value) if "&" in value else value
                new = _readdressed(name, plain, resolve)
                if new != plain:
                    yield *found.span(), f'{found["lead"]}"{escape(new)}"'


def _readdressed(name: str, value: str, resolve: Resolve) -> str:
    """Return the new value of an attribute."""
    if name == "srcset":
        return _replaced(value, ((at, end, resolve(value[at:end])) for at, end in candidate_places(value)))
    if name == "style":
        return _restyled(value, resolve)
    new = resolve(value)
    return value if new is None else new


def _restyled(style: str, resolve: Resolve) -> str:
    """Return CSS declarations with the new addresses, escaped for CSS."""
    return _replaced(
        style, ((start, end, _in_style_form(resolve(style[start:end]))) for start, end in _in_style(style))
    )


def _in_style_form(address: str | None) -> str | None:
    return None if address is None else _NOT_IN_STYLES.sub(lambda char: f"%{ord(char[0]):02X}", address)


def _replaced(text: str, places: Iterator[tuple[int, int, str | None]]) -> str:
    """Return a text with the given ranges replaced; ``None`` keeps a range."""
    parts: list[str] = []
    done = 0
    for start, end, new in places:
        if new is not None and new != text[start:end]:
            parts += [text[done:start], new]
            done = end
    return "".join([*parts, text[done:]]) if parts else text


_PAGES: Final = (
    (re.compile(r"(?:https?:)?//gist\.github\.com/((?:[\w.-]{1,80}/)?[0-9a-f]{1,64})\.js(?:\?.*)?\Z"), "https://gist.github.com/"),
    (re.compile(r"(?:https?:)?//ext\.nicovideo\.jp/thumb_watch/([a-z]{0,2}[0-9]{1,20})(?:\?.*)?\Z"), "https://www.nicovideo.jp/watch/"),
    (re.compile(r"(?:https?:)?//asciinema\.org/a/([0-9A-Za-z]{1,64})\.js(?:\?.*)?\Z"), "https://asciinema.org/a/"),
)  # fmt: skip
_WATCHED: Final = (
    (re.compile(r"//(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/(?!videoseries)([\w-]{1,40})"), "https://www.youtube.com/watch?v="),
    (re.compile(r"//embed\.nicovideo\.jp/watch/([a-z]{0,2}[0-9]{1,20})"), "https://www.nicovideo.jp/watch/"),
    (re.compile(r"//player\.vimeo\.com/video/([0-9]{1,20})"), "https://vimeo.com/"),
    (re.compile(r"//www\.dailymotion\.com/embed/video/(\w{1,40})"), "https://www.dailymotion.com/video/"),
)  # fmt: skip
"""Video players, and the address of the page of a video for each."""
_VIDEO_HOSTS: Final = re.compile(
    r"(?:.*\.)?(?:youtube(?:-nocookie)?\.com|youtu\.be|nicovideo\.jp|vimeo\.com|dailymotion\.com|video\..+)"
)
_SOUND_HOSTS: Final = re.compile(r"(?:.*\.)?(?:soundcloud\.com|open\.spotify\.com|bandcamp\.com)")
_VIDEO_FILE: Final = re.compile(r".*\.(?:3gp|avi|flv|m4v|mov|mp4|mpe?g|ogv|webm|wmv)", re.IGNORECASE)
_SOUND_FILE: Final = re.compile(r".*\.(?:aac|flac|m4a|midi?|mp3|oga|ogg|wav|wma)", re.IGNORECASE)
_OTHER_FILE: Final = re.compile(
    r".*\.(?:3g2|aiff?|asf|au|dcr|docx?|opus|pdf|pptx?|ra|rm|rmvb|swf|xlsx?|zip)", re.IGNORECASE
)
_WRAPPED: Final = re.compile(r".*/(?:embed|media\.html|plugins/(?:post|video)\.php)/?")
"""Paths of pages that only show another page, whose address is in their query."""
_SCRIPT: Final = re.compile("<(?ai:script)")
_QUERY_NAMES: Final = ("url", "href")
_EMBED_ATTRIBUTES: Final = ("src", "data", "href", "movie")
_MAX_TITLE_CHARACTERS: Final = 200
_MAX_QUERY_CHARACTERS: Final = 4_000
_BLUESKY: Final = re.compile(r"at://([\w:.%-]{1,200})/app\.bsky\.feed\.post/(\w{1,64})")


class EmbedKind(Enum):
    """The kind of embedded content as seen by a reader."""

    PAGE = auto()
    VIDEO = auto()
    SOUND = auto()


class Embed(NamedTuple):
    """The content of a frame or player: its address as in the body, its title (may be empty), and its kind."""

    address: str
    title: str
    kind: EmbedKind


def embeds(element: Element) -> Iterator[Embed]:
    """Yield the possible contents of a frame or player; the likeliest comes first.

    A page that only shows another one (``embed?url=``) is replaced by that one, a known player by its video's page.
    """
    nested = list(element.elements())
    found = [each.attributes.get(name, "") for each in (element, *nested) for name in _EMBED_ATTRIBUTES]
    found += [each.attributes.get("value", "") for each in nested if each.attributes.get("name", "").lower() == "movie"]
    title = " ".join(visible(element.attributes.get("title", ""))[0].split())[:_MAX_TITLE_CHARACTERS]
    for address in filter(None, map(_unwrapped, filter(None, found))):
        plain = address.partition(":")[2] if address.lower().startswith("http") else address
        yield Embed(_shown_page(_WATCHED, plain) or address, title, _kind(element.tag, address))


def link_frames(body: Element) -> None:
    """Replace each frame with a web page by a line with a link to it."""
    for element in [node for node in body.elements() if node.tag == "iframe"]:
        address = next(filter(None, (safe_frame_url(each.address) for each in embeds(element))), None)
        if address is not None:
            title = next(each.title for each in embeds(element))
            link = Element("a", {"href": address}, [title or address])
            element.tag, element.attributes, element.children = "div", {}, [link]


def parse_body(html: str, places: Collection[str] = ()) -> Element:
    """Return a body's tree as :func:`~exporter.html.tree.parse` does, with links in place of content shown by scripts.

    This applies to embedding scripts (Gist, Niconico, asciinema), and to quotations from X or Bluesky whose link has no
    text, because a script would replace it. The ids of ``places`` are marked as anchors, and so are the languages of
    code and the ticks of task lists.
    """
    body = parse(html)
    name_languages(body, html)
    mark_ticks(body, html)
    for element in body.elements() if _SCRIPT.search(html) else ():
        if element.tag == "script":
            page = page_of(element.attributes.get("src", ""))
            if page is not None:
                element.tag, element.attributes, element.children = "a", {"href": page}, [page]
        elif element.tag == "blockquote":
            _fill(element)
    mark_places(body, places)
    return body


def scripts_in(html: str) -> int:
    """Return the number of scripts in a body."""
    return len(_SCRIPT.findall(html))


def page_of(script: str) -> str | None:
    """Return the address of the page that an embedding script shows; ``None`` for any other script."""
    return _shown_page(_PAGES, script.strip())


def _fill(quotation: Element) -> None:
    post = _BLUESKY.fullmatch(quotation.attributes.get("data-bluesky-uri", ""))
    if post is not None and not quotation.text().strip():
        address = f"https://bsky.app/profile/{post[1]}/post/{post[2]}"
        quotation.children.append(Element("a", {"href": address}, [address]))
    for link in quotation.elements():
        if link.tag == "a" and not link.children and link.attributes.get("href"):
            link.children.append(link.attributes["href"])


def is_media_file(address: str) -> bool:
    """Return whether an object or player shows a media file, and not a page or player of another service.

    Args:
        address: as in the body; only its ending and its host count.
    """
    path = _path(address)
    if is_picture(path) or is_played(path):
        return True
    host = host_of(f"https:{address}" if address.startswith("//") else address)
    is_player = _VIDEO_HOSTS.fullmatch(host) or _SOUND_HOSTS.fullmatch(host)
    return _OTHER_FILE.fullmatch(path) is not None and not is_player


def is_played(address: str) -> bool:
    """Return whether an address has the ending of a video or sound file."""
    path = _path(address)
    return _VIDEO_FILE.fullmatch(path) is not None or _SOUND_FILE.fullmatch(path) is not None


def _path(address: str) -> str:
    return re.split(r"[?#]", address, maxsplit=1)[0].strip()


def _unwrapped(address: str) -> str:
    """Return the address in the query if a page only shows another one, otherwise its own."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return address
    if not _WRAPPED.fullmatch(parts.path) or len(parts.query) > _MAX_QUERY_CHARACTERS:
        return address
    named = parse_qs(parts.query)
    inner = next((named[name][0].strip() for name in _QUERY_NAMES if name in named), "")
    return inner if safe_frame_url(inner) is not None else address


def _shown_page(known: tuple[tuple[re.Pattern[str], str], ...], address: str) -> str | None:
    """Return the page that an address shows, by the patterns of known addresses."""
    found = ((pattern.match(address), page) for pattern, page in known)
    return next((page + match[1] for match, page in found if match is not None), None)


def _kind(tag: str, address: str) -> EmbedKind:
    host = host_of(f"https:{address}" if address.startswith("//") else address)
    path = _path(address)
    if tag == "video" or _VIDEO_HOSTS.fullmatch(host) or _VIDEO_FILE.fullmatch(path):
        return EmbedKind.VIDEO
    if tag == "audio" or _SOUND_HOSTS.fullmatch(host) or _SOUND_FILE.fullmatch(path):
        return EmbedKind.SOUND
    return EmbedKind.PAGE
