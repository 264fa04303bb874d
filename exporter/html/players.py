"""Players and frames of other services, and the pages or files that stand for them as links. Pure.

They are never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from exporter.html.links import WEB_SCHEMES, host_of, is_picture, safe_frame_url, safe_url
from exporter.html.tree import Element
from exporter.text import visible

_PAGES: Final = (
    (re.compile(r"(?:https?:)?//gist\.github\.com/((?:[\w.-]{1,80}/)?[0-9a-f]{1,64})\.js(?:\?.*)?\Z"), "https://gist.github.com/"),
    (re.compile(r"(?:https?:)?//ext\.nicovideo\.jp/thumb_watch/([a-z]{0,2}[0-9]{1,20})(?:\?.*)?\Z"), "https://www.nicovideo.jp/watch/"),
    (re.compile(r"(?:https?:)?//asciinema\.org/a/([0-9A-Za-z]{1,64})\.js(?:\?.*)?\Z"), "https://asciinema.org/a/"),
)  # fmt: skip
_WATCHED: Final = (
    (re.compile(r"//(?:www\.)?youtube(?:-nocookie)?\.com/embed/(?!videoseries)([\w-]{1,40})"), "https://www.youtube.com/watch?v="),
    (re.compile(r"//embed\.nicovideo\.jp/watch/([a-z]{0,2}[0-9]{1,20})"), "https://www.nicovideo.jp/watch/"),
    (re.compile(r"//player\.vimeo\.com/video/([0-9]{1,20})"), "https://vimeo.com/"),
    (re.compile(r"//www\.dailymotion\.com/embed/video/(\w{1,40})"), "https://www.dailymotion.com/video/"),
)  # fmt: skip
"""Video players, and the address of the page of a video for each."""
_ONCE_WATCHED: Final = (
    (re.compile(r"//(?:[a-z]{2,3}\.)?youtube(?:-nocookie|\.googleapis)?\.com/v/([\w-]{1,40})"), "https://www.youtube.com/watch?v="),
    (re.compile(r"//[a-z]+\.(?:nicovideo|nimg)\.jp/(?:thumb_watch/|[^?]*\.swf\?(?:.*&)?v=)([a-z]{2}[0-9]+)"), "https://www.nicovideo.jp/watch/"),
    (re.compile(r"//(?:www\.)?vimeo\.com/moogaloop\.swf\?(?:.*&)?clip_id=([0-9]{1,20})"), "https://vimeo.com/"),
    (re.compile(r"//(?:www\.)?dailymotion\.com/swf/(?:video/)?(\w{1,40})"), "https://www.dailymotion.com/video/"),
    (re.compile(r"//video\.fc2\.com/(?:[a-z]{2}/)?flv2?\.swf\?(?:.*&)?i=(\w{1,40})"), "https://video.fc2.com/content/"),
)  # fmt: skip
"""Players in Flash, with their variables in the query, and the address of the page of a video for each."""
_PLUGIN_FILE: Final = re.compile(
    r".*\.(?:3g2|3gp|aiff?|asf|asx|au|avi|class|dcr|f4v|flv|jar|midi?|mov|mpe?g|qt|ram?|rm|rmvb|spl|swf|wax|wm[av]|wvx|xap)",
    re.IGNORECASE,
)
_BROWSER_TYPE: Final = re.compile(
    r"(?:image|text)/.+|application/(?:pdf|xhtml\+xml|xml|ogg)"
    r"|(?:audio|video)/(?!3gpp|aiff|avi|basic|mid|quicktime|vnd\.|x-(?:aiff|flv|mid|ms|pn-))"
)
"""Types of files that browsers show without a plug-in."""
_PLAYERS: Final = frozenset({"applet", "embed", "object"})
_PARAMETERS: Final = frozenset({"file", "filename", "movie", "src", "url"})
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
_QUERY_NAMES: Final = ("url", "href")
_EMBED_ATTRIBUTES: Final = ("src", "data", "href")
_MAX_TITLE_CHARACTERS: Final = 200
_MAX_QUERY_CHARACTERS: Final = 4_000


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
    title = _title(element.attributes)
    for address in filter(None, map(_unwrapped, filter(None, found))):
        yield Embed(_shown_page(_WATCHED, _without_scheme(address)) or address, title, _kind(element.tag, address))


def _title(attributes: Mapping[str, str]) -> str:
    return " ".join(visible(attributes.get("title", ""))[0].split())[:_MAX_TITLE_CHARACTERS]


Part = tuple[str, Mapping[str, str]]
"""A tag and its attributes: a player, or an element inside one."""


def needs_plugin(tag: str, attributes: Mapping[str, str]) -> bool:
    """Return whether an ``object``, ``embed`` or ``applet`` shows nothing in a browser without plug-ins.

    Browsers run no plug-ins since 2021. They show pictures, pages, PDF, and the videos and sounds that they can play.
    """
    address = attributes.get("data" if tag == "object" else "src", "").strip()
    kind = attributes.get("type", "").partition(";")[0].strip().lower()
    return (
        tag == "applet"
        or "classid" in attributes
        or not address
        or _PLUGIN_FILE.fullmatch(_path(address)) is not None
        or _shown_page(_ONCE_WATCHED, _without_scheme(address)) is not None
        or (bool(kind) and _BROWSER_TYPE.match(kind) is None)
    )


def plugin_content(parts: Sequence[Part]) -> tuple[str, str]:
    """Return the address that a plug-in showed, safe in a link, and its title; both may be empty.

    The page of a known video comes first, then a file in the player's variables, then the player's own file.
    """
    addresses, variables = _plugin_values(parts)
    title = next(filter(None, (_title(attributes) for tag, attributes in parts if tag in _PLAYERS)), "")
    for address in addresses:
        for more in ("", *variables):
            page = _shown_page(_ONCE_WATCHED, _without_scheme(f"{address}{'&' if '?' in address else '?'}{more}"))
            if page is not None:
                return page, title
    queries = (*variables, *(address.partition("?")[2] for address in addresses))
    files = (
        value
        for query in queries
        if len(query) <= _MAX_QUERY_CHARACTERS
        for values in parse_qs(query, separator="&").values()
        for value in values
        if is_played(value)
    )
    return next(filter(None, (safe_url(each, WEB_SCHEMES) for each in (*files, *addresses))), ""), title


def _plugin_values(parts: Sequence[Part]) -> tuple[list[str], list[str]]:
    """Return the addresses in a player, and the variables that it passes to the plug-in as queries."""
    addresses: list[str] = []
    variables: list[str] = []
    for tag, attributes in parts:
        if tag == "param":
            name, value = attributes.get("name", "").strip().lower(), attributes.get("value", "")
            addresses += [value] * (name in _PARAMETERS)
            variables += [value] * (name == "flashvars")
        elif tag in _PLAYERS:
            names = ("archive", "code") if tag == "applet" else ("data", "src", "movie")
            addresses += [attributes.get(name, "") for name in names]
            variables.append(attributes.get("flashvars", ""))
    usable = (each.strip() for each in addresses if len(each) <= _MAX_QUERY_CHARACTERS)
    return list(dict.fromkeys(filter(None, usable))), list(filter(None, variables))


def _without_scheme(address: str) -> str:
    return address.partition(":")[2] if address.lower().startswith("http") else address


def page_of(script: str) -> str | None:
    """Return the address of the page that an embedding script shows; ``None`` for any other script."""
    return _shown_page(_PAGES, script.strip())


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
