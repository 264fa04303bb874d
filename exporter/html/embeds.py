"""What frames, players and scripts of other services would have shown in a body, as links: nothing runs them. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from enum import Enum, auto
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from exporter.html.anchors import mark_places
from exporter.html.links import host_of, is_picture, safe_frame_url
from exporter.html.tree import BARE, Element, parse
from exporter.text import visible

_PAGES: Final = (
    (re.compile(r"(?:https?:)?//gist\.github\.com/((?:[\w.-]{1,80}/)?[0-9a-f]{1,64})\.js(?:\?.*)?"), "https://gist.github.com/"),
    (re.compile(r"(?:https?:)?//ext\.nicovideo\.jp/thumb_watch/([a-z]{0,2}[0-9]{1,20})(?:\?.*)?"), "https://www.nicovideo.jp/watch/"),
    (re.compile(r"(?:https?:)?//asciinema\.org/a/([0-9A-Za-z]{1,64})\.js(?:\?.*)?"), "https://asciinema.org/a/"),
)  # fmt: skip
_WATCHED: Final = (
    (re.compile(r"//(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/(?!videoseries)([\w-]{1,40})"), "https://www.youtube.com/watch?v="),
    (re.compile(r"//embed\.nicovideo\.jp/watch/([a-z]{0,2}[0-9]{1,20})"), "https://www.nicovideo.jp/watch/"),
    (re.compile(r"//player\.vimeo\.com/video/([0-9]{1,20})"), "https://vimeo.com/"),
    (re.compile(r"//www\.dailymotion\.com/embed/video/(\w{1,40})"), "https://www.dailymotion.com/video/"),
)  # fmt: skip
"""Players of videos, and the page of a video that each has."""
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
"""Paths of pages that show another one, whose address is in their query."""
_NAMED_IN: Final = ("url", "href")
_ADDRESSES: Final = ("src", "data", "href", "movie")
_TITLE_KEPT: Final = 200
_LONGEST_QUERY: Final = 4_000
_BLUESKY: Final = re.compile(r"at://([\w:.%-]{1,200})/app\.bsky\.feed\.post/(\w{1,64})")


class EmbedKind(Enum):
    """What something embedded is to a reader."""

    PAGE = auto()
    VIDEO = auto()
    SOUND = auto()


class Embed(NamedTuple):
    """What a frame or a player shows: its address as the body has it, what it calls it (may be empty), and its kind."""

    address: str
    title: str
    kind: EmbedKind


def embeds(element: Element) -> Iterator[Embed]:
    """Yield what a frame or a player may show, the likeliest first.

    A page that only shows another one (``embed?url=``) is that other page, and a known player the page of its video.
    """
    nested = [node for node in element.walk() if isinstance(node, Element)]
    found = [each.attributes.get(name, "") for each in (element, *nested) for name in _ADDRESSES]
    found += [each.attributes.get("value", "") for each in nested if each.attributes.get("name", "").lower() == "movie"]
    title = " ".join(visible(element.attributes.get("title", ""))[0].split())[:_TITLE_KEPT]
    for address in filter(None, map(_unwrapped, found)):
        yield Embed(next(filter(None, _watched(address)), address), title, _kind(element.tag, address))


def link_frames(body: Element) -> None:
    """Turn each frame that shows a page of the web into a line with a link to it."""
    for element in [node for node in body.walk() if isinstance(node, Element) and node.tag == "iframe"]:
        address = next(filter(None, (safe_frame_url(each.address) for each in embeds(element))), None)
        if address is not None:
            title = next(each.title for each in embeds(element))
            link = Element("a", {"href": address}, [title or address])
            element.tag, element.attributes, element.children = "div", {}, [link]


def parse_body(html: str, places: Collection[str] = (), *, bare: frozenset[str] = BARE) -> Element:
    """Return a body's tree as :func:`~exporter.html.tree.parse` does, where what only a script shows is a link to it.

    That is a script of a service that writes what it shows in its own place (Gist, Niconico, asciinema), and a
    quotation of X or Bluesky whose link has no text, since their script replaces it. The ids of ``places`` are marked.
    """
    if places:
        body = parse_body(html, bare=frozenset())
        mark_places(body, places)
        return body
    if "<script" not in html.lower():
        return parse(html, bare=bare)
    body = parse(html, bare=bare - {"blockquote"})
    for element in body.walk():
        if isinstance(element, Element):
            if element.tag == "script":
                page = page_of(element.attributes.get("src", ""))
                if page is not None:
                    element.tag, element.attributes, element.children = "a", {"href": page}, [page]
            elif element.tag == "blockquote":
                _fill(element)
    return body


def scripts_in(html: str) -> int:
    """Return how many scripts a body has."""
    return html.lower().count("<script")


def page_of(script: str) -> str | None:
    """Return the address of the page that a script shows; ``None`` for any other script."""
    for pattern, page in _PAGES:
        found = pattern.fullmatch(script.strip())
        if found is not None:
            return page + found[1]
    return None


def _fill(quotation: Element) -> None:
    post = _BLUESKY.fullmatch(quotation.attributes.get("data-bluesky-uri", ""))
    if post is not None and not quotation.text().strip():
        address = f"https://bsky.app/profile/{post[1]}/post/{post[2]}"
        quotation.children.append(Element("a", {"href": address}, [address]))
    for link in quotation.walk():
        if isinstance(link, Element) and link.tag == "a" and not link.children and link.attributes.get("href"):
            link.children.append(link.attributes["href"])


def is_media_file(address: str) -> bool:
    """Tell whether an object or a player shows a file of its own, rather than a page or a player of another service.

    Args:
        address: as the body has it; only its ending and its host are looked at.
    """
    path = _path(address)
    if is_picture(path) or is_played(path):
        return True
    host = host_of(f"https:{address}" if address.startswith("//") else address)
    is_player = _VIDEO_HOSTS.fullmatch(host) or _SOUND_HOSTS.fullmatch(host)
    return _OTHER_FILE.fullmatch(path) is not None and not is_player


def is_played(address: str) -> bool:
    """Tell whether an address ends as those of videos and sounds do."""
    path = _path(address)
    return _VIDEO_FILE.fullmatch(path) is not None or _SOUND_FILE.fullmatch(path) is not None


def _path(address: str) -> str:
    return re.split(r"[?#]", address, maxsplit=1)[0].strip()


def _unwrapped(address: str) -> str:
    """Return the address that a page which shows another one names in its query, otherwise its own."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return address
    if not _WRAPPED.fullmatch(parts.path) or len(parts.query) > _LONGEST_QUERY:
        return address
    named = parse_qs(parts.query)
    inner = next((named[name][0].strip() for name in _NAMED_IN if name in named), "")
    return inner if safe_frame_url(inner) is not None else address


def _watched(address: str) -> Iterator[str]:
    for pattern, page in _WATCHED:
        found = pattern.match(address.partition(":")[2] if address.lower().startswith("http") else address)
        if found is not None:
            yield page + found[1]


def _kind(tag: str, address: str) -> EmbedKind:
    host = host_of(f"https:{address}" if address.startswith("//") else address)
    path = _path(address)
    if tag == "video" or _VIDEO_HOSTS.fullmatch(host) or _VIDEO_FILE.fullmatch(path):
        return EmbedKind.VIDEO
    if tag == "audio" or _SOUND_HOSTS.fullmatch(host) or _SOUND_FILE.fullmatch(path):
        return EmbedKind.SOUND
    return EmbedKind.PAGE
