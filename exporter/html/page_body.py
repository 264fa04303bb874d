"""A body as a page shows it: pictures from the archive, players as links, links into the archive, all sanitized. Pure.

Used by the offline site, by books of HTML and by ``show --html``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache, lru_cache
from html import escape
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup

from exporter.html.embeds import EmbedKind, embeds, parse_body
from exporter.html.highlight import coloured
from exporter.html.limits import TooComplex, TooLarge, too_large, too_large_words
from exporter.html.links import absolute
from exporter.html.page_sanitizer import ATTRIBUTES, ID_PREFIX, TAGS, clean, is_inline_picture, is_link
from exporter.html.simple import Piece, plain, simple_pieces
from exporter.html.tags import DROPPED, HEADINGS, LINE_TAGS, tag_set
from exporter.html.text import plain_text, text_of
from exporter.html.tree import Element
from exporter.html.valid import heading_below, picture_name, picture_source, valid_alone, valid_html
from exporter.model.asset import openable
from exporter.text import visible
from exporter.translation import translator

_PLAYERS: Final = tag_set("applet audio embed frame iframe object video")
_HIDDEN: Final = DROPPED - {"col", "colgroup", "wbr"} | {"math", "svg"}
_VOID: Final = tag_set("br col hr img wbr")
_EVERYWHERE: Final = ATTRIBUTES["*"]
_NONE: Final[frozenset[str]] = frozenset()
_COMMON: Final = tag_set("b blockquote br center div em h1 h2 h3 h4 i li ol p s small span strong tbody td th tr u ul")
_WITH_ATTRIBUTES: Final = re.compile(r"<([a-zA-Z][^\s/>]*)[\s/]")
_KEPT: Final = 128
"""More than a chunk of the site's search data has entries: their pages were made just before from what was read."""
_LARGE: Final = 20_000
_COLOURED: Final = 200_000
"""Characters; code in longer bodies is left plain."""
_ICON: Final = 48
"""Pixels; a picture less wide or high is drawn in a line of text, and is no link."""
_PLACE: Final = re.compile(r"\s*(?:float|margin)", re.IGNORECASE)
_PLACED: Final = {"a"} | HEADINGS.keys()
"""Tags that are not the same wherever they are."""


class DrawnPicture(NamedTuple):
    """How pages show a stored picture: the way to what is drawn from the site's folder, and the picture's own size."""

    source: str
    size: tuple[int, int] | None


class BodyWriter:
    """Turns bodies into HTML for pages.

    Args:
        local_path: where the archive has the file of an address, relative to the archive; ``None`` where it has none.
        base: the blog's address, which relative addresses start from.
        language: of what is said of a picture, a player or a body of which only the text is shown, ``ja`` or ``en``.
        prefix: from the site's folder to the one that holds ``assets/``.
        alone: whether the page is a single file, and so lacks pictures that the archive may have.
        page_of: the path of the page in the site that an address of the blog leads to, if it leads to an entry.
        drawn: whether a stored file, given its path, may be shown as a picture.
        picture: how a stored picture is shown, given its path; with it, pictures are links to the stored ones.
    """

    def __init__(
        self,
        local_path: Callable[[str], str | None],
        base: str,
        language: str = "ja",
        *,
        prefix: str = "",
        alone: bool = False,
        page_of: Callable[[str], str | None] = lambda _: None,
        drawn: Callable[[str], bool] = lambda _: True,
        picture: Callable[[str], DrawnPicture] | None = None,
    ) -> None:
        self._local_path = local_path
        self._base = base
        self._language = language
        self._prefix = prefix
        t = translator(language)
        self._embedded = {EmbedKind.PAGE: t("Embedded"), EmbedKind.VIDEO: t("Video"), EmbedKind.SOUND: t("Sound")}
        self._missing = t("The picture is not in this page") if alone else t("This picture was not saved")
        self._page_of = page_of
        self._drawn = drawn
        self._shown = picture
        self._target = lru_cache(maxsize=4096)(self._find_target)
        self._opened = lru_cache(maxsize=1024)(self._open)
        self._small = lru_cache(maxsize=_KEPT)(_parse)

    def html(self, source: str, root: str, places: Collection[str] = (), *, colours: bool = False) -> Markup:
        """Return a body, safe to stand in a page; never raises. One beyond the budget is its text, which it says.

        Args:
            source: HTML, or text: without any tag that ends lines, its own line ends do (API 2.8).
            root: from the page to the site's folder: empty, or ``../``.
            places: the ids that links from elsewhere lead to, beside those that its own lead to.
            colours: whether code is shown in colours where it names its language, see :mod:`exporter.html.highlight`.
        """
        text, _ = visible(source)
        if "<" not in text and "&" not in text:
            escaped = escape(text, quote=False).replace("\r\n", "\n").replace("\n", "<br>\n")
            return Markup(escaped)  # noqa: S704  nothing in it is markup but the line ends
        try:
            body = _parse(text, tree=True) if places else self._read(text)
        except TooLarge:
            words = too_large_words(len(source), self._language)
            return Markup('<p>{}</p>\n<div class="as-typed">{}</div>').format(words, text_of(text))
        except TooComplex:
            return Markup("<pre>{}</pre>").format(text)
        if isinstance(body, list):
            return Markup(clean(self._simple(body, root)))  # noqa: S704  cleaned in this line
        keep_lines = not any(isinstance(node, Element) and node.tag in LINE_TAGS for node in body.walk())
        valid = valid_html(body, kept=_PLAYERS, dropped=_HIDDEN, places=places)
        colours = colours and len(text) <= _COLOURED
        shown = self._written(valid, root, keep_lines=keep_lines, colours=colours)
        return Markup(clean(shown))  # noqa: S704  cleaned in this line

    def text(self, source: str) -> str:
        """Return what a reader sees of a body, as :func:`~exporter.html.text.plain_text` does."""
        return plain_text(source, lambda html: self._read(visible(html)[0]))

    def _read(self, text: str) -> list[Piece] | Element:
        return _parse(text) if len(text) > _LARGE else self._small(text)

    def _simple(self, pieces: list[Piece], root: str) -> str:
        """Write a simple body as :meth:`_written` writes its tree, a fifth of the time; what cleans it reads texts."""
        written = [piece if isinstance(piece, str) else "" for piece in pieces]
        levels: list[int] = []
        ends: dict[str, str] = {}
        linked = False
        for at in range(1, len(pieces), 2):
            piece = pieces[at]
            if isinstance(piece, str) and piece not in _PLACED:
                written[at] = ends[piece] if piece in ends else _bare(piece)
                linked = linked and piece != "/a"
                continue
            tag, attributes = (piece, ()) if isinstance(piece, str) else (piece.tag, tuple(piece.attributes.items()))
            heading = ""
            if tag in HEADINGS:
                heading = heading_below(levels, tag) if _has_text(pieces[at + 1 :], f"/{tag}") else "div"
            written[at], closing, leads = self._opened(tag, attributes, heading, root, linked)
            ends[f"/{tag}"] = closing
            linked = linked or leads
        if not any((piece if isinstance(piece, str) else piece.tag) in LINE_TAGS for piece in pieces[1::2]):
            written[::2] = [text.replace("\n", "<br>\n") for text in written[::2]]
        return "".join(written)

    def _open(
        self, tag: str, attributes: tuple[tuple[str, str], ...], heading: str, root: str, linked: bool
    ) -> tuple[str, str, bool]:
        """Return an element's tags, and whether it is a link; see :meth:`_simple`."""
        shown = valid_alone(Element(tag, dict(attributes), []), heading=heading, linked=linked)
        return *self._tags(shown, root, linked=linked), tag == "a" and "href" in shown.attributes

    def _written(self, body: Element, root: str, *, keep_lines: bool, colours: bool) -> str:
        parts: list[str] = []
        todo: list[Element | str] = list(reversed(body.children))
        linked = False
        while todo:
            node = todo.pop()
            if isinstance(node, Markup):
                parts.append(node)
                linked = linked and node != "</a>"
            elif isinstance(node, str):
                text = escape(node, quote=False)
                parts.append(text.replace("\r\n", "\n").replace("\n", "<br>\n") if keep_lines else text)
            elif node.tag in _PLAYERS:
                parts.append(self._embed(node, root))
            else:
                opening, closing = self._tags(node, root, linked=linked)
                parts.append(opening)
                linked = linked or closing == "</a>"
                if closing:
                    todo.append(Markup(closing))  # noqa: S704  a tag made here
                code = coloured(node) if colours and node.tag == "pre" else None
                todo.extend(reversed(node.children) if code is None else [code])
        return "".join(parts)

    def _tags(self, element: Element, root: str, *, linked: bool) -> tuple[str, str]:
        tag = element.tag
        if tag == "img":
            return self._picture(element, root, linked=linked), ""
        if tag not in TAGS:
            return "", " " if tag in {"option", "optgroup"} else ""
        if not element.attributes and tag != "a":
            return f"<{tag}>", "" if tag in _VOID else f"</{tag}>"
        allowed = ATTRIBUTES.get(tag, _NONE)
        found = {name: value for name, value in element.attributes.items() if name in allowed or name in _EVERYWHERE}
        if tag == "a":
            href = self._link(found.pop("href", ""), root)
            if href is not None and is_link(href):
                found["href"] = href
            if "id" not in found and element.attributes.get("name"):
                found["id"] = element.attributes["name"]
            if "href" not in found:
                tag = "span"
        return _opening(tag, found), "" if tag in _VOID else f"</{tag}>"

    def _picture(self, element: Element, root: str, *, linked: bool) -> str:
        source = picture_source(element)
        alt = element.attributes.get("alt", "")
        kept = {name: value for name, value in element.attributes.items() if name in ATTRIBUTES["img"] | _EVERYWHERE}
        if is_inline_picture(source.strip()):
            return _opening("img", {**kept, "src": source.strip(), "alt": alt})
        local = self._local_path(source)
        if local is not None and self._drawn(local):
            if self._shown is None:
                return _opening("img", {**kept, "src": f"{root}{self._prefix}{local}", "alt": alt})
            return self._local_picture(element, kept, local, self._shown(local), root, linked=linked)
        address = absolute(source, self._base)
        if address is None:
            return escape(alt)
        named = escape(alt or self._missing)
        shown = escape(address)
        return f'<span class="lost" title="{escape(self._missing)}">{named} <a href="{shown}">{shown}</a></span>'

    def _local_picture(
        self, element: Element, kept: dict[str, str], local: str, shown: DrawnPicture, root: str, *, linked: bool
    ) -> str:
        """Return a picture of the archive with its size, so that nothing moves when it comes, as a link to itself."""
        source, size = shown
        sides = {**(_sides(kept, size) if size else {}), "src": f"{root}{source}", "loading": "lazy"}
        alt = element.attributes.get("alt", "")
        small = min((int(sides[name]) for name in ("width", "height") if name in sides), default=_ICON) < _ICON
        if linked or small or not openable(local):
            return _opening("img", {**kept, **sides, "alt": alt})
        # What floats is the link: one with nothing but a floating picture in it has no place to be focused in.
        style = kept.pop("style", "").split(";")
        placed = ";".join(each for each in style if _PLACE.match(each))
        own = ";".join(each for each in style if not _PLACE.match(each))
        kept |= {"style": own} if own else {}
        drawn = _opening("img", {**kept, **sides, "alt": alt if alt.strip() else picture_name(element)})
        link = _opening("a", {"href": f"{root}{self._prefix}{local}", **({"style": placed} if placed else {})})
        return f"{link}{drawn}</a>"

    def _embed(self, element: Element, root: str) -> str:
        """Return a link to what a frame or player would have shown; its own content is never on the page."""
        for embed in embeds(element):
            href = self._link(embed.address, root)
            if href is not None and not href.startswith("#"):
                # Not what stands before it: https://youtube.com@a.example/ leads to a.example.
                host = urlsplit(absolute(embed.address, self._base) or embed.address).netloc.rpartition("@")[2]
                shown = embed.title or f"{self._embedded[embed.kind]}: {host}"
                place = f" <small>{escape(host)}</small>" if embed.title else ""
                name = "player" if embed.kind is EmbedKind.VIDEO else "card"
                return f'<a class="{name}" href="{escape(href)}">{escape(shown)}{place}</a>'
        return ""

    def _link(self, href: str, root: str) -> str | None:
        text = href.strip()
        if text.startswith("#"):
            return f"#{ID_PREFIX}{text[1:]}" if len(text) > 1 else None
        if text.lower().startswith("mailto:"):
            return text
        found = self._target(text)
        return None if found is None else (root if found[1] else "") + found[0]

    def _find_target(self, href: str) -> tuple[str, bool] | None:
        """Return where a link leads, and whether that is beside the site's folder; ``None`` when nowhere."""
        address = absolute(href, self._base)
        if address is None:
            return None
        local = self._local_path(href)
        if local is not None and openable(local):
            return f"{self._prefix}{local}", True
        page = self._page_of(href)
        if page is not None:
            return page, True
        _, mark, fragment = href.partition("#")
        return address + mark + fragment, False


def _parse(source: str, *, tree: bool = False) -> list[Piece] | Element:
    """Read a body; where none of a common tag has attributes in the source, the parser is asked for none."""
    pieces = None if tree else simple_pieces(source)
    if pieces is not None:
        return pieces
    if too_large(source):
        raise TooLarge
    named = {tag.lower() for tag in _WITH_ATTRIBUTES.findall(source)}
    return parse_body(source, bare=_COMMON - named)


def _sides(written: dict[str, str], size: tuple[int, int]) -> dict[str, str]:
    """Return the width and height of a picture: those that are written, where one is the other in proportion."""
    width, height = (int(written.get(name, "0")) for name in ("width", "height"))
    if not width:
        width = round(height * size[0] / size[1]) if height else size[0]
    return {"width": str(max(1, width)), "height": str(height or max(1, round(width * size[1] / size[0])))}


def _has_text(pieces: list[Piece], until: str) -> bool:
    return any(plain(str(text)).strip() for text in pieces[: pieces.index(until) : 2])


@cache
def _bare(tag: str) -> str:
    """Return a tag of a simple body that has no attributes as a page has it."""
    shown = valid_alone(Element(tag.removeprefix("/"), {}, []))
    return f"</{shown.tag}>" if tag[0] == "/" else _opening(shown.tag, shown.attributes)


def _opening(tag: str, attributes: dict[str, str]) -> str:
    written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{written}>"
