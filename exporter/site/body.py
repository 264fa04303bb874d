"""A body as a page shows it: pictures from the archive, players as links, links into the archive, all of it clean."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from html import escape
from typing import Final, Protocol
from urllib.parse import urlsplit

from markupsafe import Markup

from exporter.html.links import absolute
from exporter.html.tree import (
    DROPPED,
    LINE_TAGS,
    Element,
    TooLarge,
    TooTangled,
    parse,
    tag_set,
    text_of,
    too_large,
    too_large_words,
)
from exporter.search.documents import plain_text
from exporter.site.catalogue import Recent
from exporter.site.conforming import conforming
from exporter.site.pictures import openable
from exporter.site.sanitize import ATTRIBUTES, ID_PREFIX, TAGS, clean, is_link, is_pixels
from exporter.site.words import LANGUAGES
from exporter.text import visible

_PLAYERS: Final = tag_set("applet audio embed frame iframe object video")
_UNSEEN: Final = DROPPED - {"col", "colgroup", "wbr"} | {"math", "svg"}
_VOID: Final = tag_set("br col hr img wbr")
_RENAMED: Final = {
    "listing": "pre",
    "xmp": "pre",
    "plaintext": "pre",
    "textarea": "pre",
    "image": "img",
    "noscript": "div",
}
_EVERYWHERE: Final = ATTRIBUTES["*"]
_NONE: Final[frozenset[str]] = frozenset()
_COMMON: Final = tag_set("b blockquote br center div em h1 h2 h3 h4 i li ol p s small span strong tbody td th tr u ul")
_WITH_MORE: Final = re.compile(r"<([a-zA-Z][^\s/>]*)[\s/]")


class Files(Protocol):
    """The files of an archive, such as :class:`~exporter.html.local_links.AssetMap`."""

    def local_path(self, address: str) -> str | None:
        """Return the path of an address's file relative to the archive, or ``None`` when the archive has none."""


class BodyWriter:
    """Turns bodies into what stands on pages.

    Args:
        assets: tells the files of the archive by their addresses.
        base: the blog's address, which relative addresses start from.
        prefix: from the site's folder to the one that holds ``assets/``.
        lost: what is said of a picture that was not saved.
        player: what is said of something embedded.
        language: of what is said of a body of which only the text is shown, ``ja`` or ``en``.
        page_of: the path of the page in the site that an address of the blog leads to, if it leads to an entry.
        drawn: whether a stored file, given its path, may be shown as a picture.
    """

    def __init__(
        self,
        assets: Files,
        base: str,
        prefix: str,
        *,
        lost: str,
        player: str,
        language: str = "ja",
        page_of: Callable[[str], str | None] = lambda _: None,
        drawn: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._assets = assets
        self._base = base
        self._prefix = prefix
        self._lost = lost
        self._player = player
        self._language = language
        self._page_of = page_of
        self._drawn = drawn
        self._target = lru_cache(maxsize=4096)(self._leads_to)
        self._trees: Recent[str, Element] = Recent(_tree, lambda source, _: len(source))

    def html(self, source: str, root: str) -> Markup:
        """Return a body, safe to stand in a page; never raises. One beyond the budget is its text, which it says.

        Args:
            source: HTML, or text: without any tag that ends lines, its own line ends do (API 2.8).
            root: from the page to the site's folder: empty, or ``../``.
        """
        text, _ = visible(source)
        if "<" not in text and "&" not in text:
            escaped = escape(text, quote=False).replace("\r\n", "\n").replace("\n", "<br>\n")
            return Markup(escaped)  # noqa: S704  nothing in it is markup but the line ends
        try:
            body = self._trees.get(text)
        except TooLarge:
            words = too_large_words(len(source), self._language)
            return Markup('<p>{}</p>\n<div class="as-typed">{}</div>').format(words, text_of(text))
        except TooTangled:
            return Markup("<pre>{}</pre>").format(text)
        keep_lines = not any(isinstance(node, Element) and node.tag in LINE_TAGS for node in body.walk())
        proper = conforming(body, kept=_PLAYERS, dropped=_UNSEEN)
        return Markup(clean(self._written(proper, root, keep_lines=keep_lines)))  # noqa: S704  cleaned in this line

    def text(self, source: str) -> str:
        """Return what a reader sees of a body, as :func:`~exporter.search.documents.plain_text` does."""
        return plain_text(source, lambda html: self._trees.get(visible(html)[0]))

    def _written(self, body: Element, root: str, *, keep_lines: bool) -> str:
        parts: list[str] = []
        todo: list[Element | str | _End] = list(reversed(body.children))
        while todo:
            node = todo.pop()
            if isinstance(node, _End):
                parts.append(node.text)
            elif isinstance(node, str):
                text = escape(node, quote=False)
                parts.append(text.replace("\r\n", "\n").replace("\n", "<br>\n") if keep_lines else text)
            elif node.tag in _PLAYERS:
                parts.append(self._card(node, root))
            elif node.tag not in _UNSEEN:
                opening, end = self._tags(node, root)
                parts.append(opening)
                if end:
                    todo.append(_End(end))
                todo.extend(reversed(node.children))
        return "".join(parts)

    def _tags(self, element: Element, root: str) -> tuple[str, str]:
        tag = _RENAMED.get(element.tag, element.tag)
        if tag == "img" or (tag == "input" and element.attributes.get("type", "").lower() == "image"):
            return self._picture(element, root), ""
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

    def _picture(self, element: Element, root: str) -> str:
        source = _source_of(element)
        alt = element.attributes.get("alt", "")
        kept = {name: value for name, value in element.attributes.items() if name in ATTRIBUTES["img"] | _EVERYWHERE}
        if is_pixels(source.strip()):
            return _opening("img", {**kept, "src": source.strip(), "alt": alt})
        local = self._assets.local_path(source)
        if local is not None and self._drawn(local):
            return _opening("img", {**kept, "src": f"{root}{self._prefix}{local}", "alt": alt})
        address = absolute(source, self._base)
        if address is None:
            return escape(alt)
        named = escape(alt or self._lost)
        shown = escape(address)
        return f'<span class="lost" title="{escape(self._lost)}">{named} <a href="{shown}">{shown}</a></span>'

    def _card(self, element: Element, root: str) -> str:
        """Return a link to what a player would have shown; its own content is never on the page."""
        names = ("src", "data", "href", "movie")
        nested = [node for node in element.walk() if isinstance(node, Element)]
        sources = [each.attributes.get(name, "") for each in (element, *nested) for name in names]
        values = [
            each.attributes.get("value", "") for each in nested if each.attributes.get("name", "").lower() == "movie"
        ]
        for source in filter(None, [*sources, *values]):
            href = self._link(source, root)
            if href is not None and not href.startswith("#"):
                address = absolute(source, self._base) or source
                label = element.attributes.get("title") or urlsplit(address).netloc
                return f'<a class="player" href="{escape(href)}">{escape(self._player)}: {escape(label)}</a>'
        return ""

    def _link(self, href: str, root: str) -> str | None:
        text = href.strip()
        if text.startswith("#"):
            return f"#{ID_PREFIX}{text[1:]}" if len(text) > 1 else None
        if text.lower().startswith("mailto:"):
            return text
        found = self._target(text)
        return None if found is None else (root if found[1] else "") + found[0]

    def _leads_to(self, href: str) -> tuple[str, bool] | None:
        """Return where a link leads, and whether that is beside the site's folder; ``None`` when nowhere."""
        address = absolute(href, self._base)
        if address is None:
            return None
        local = self._assets.local_path(href)
        if local is not None and openable(local):
            return f"{self._prefix}{local}", True
        page = self._page_of(href)
        if page is not None:
            return page, True
        _, mark, fragment = href.partition("#")
        return address + mark + fragment, False


def of_one_page(
    files: Files,
    base: str,
    language: str,
    *,
    page_of: Callable[[str], str | None] = lambda _: None,
    drawn: Callable[[str], bool] = lambda _: True,
) -> BodyWriter:
    """Return what makes the bodies of a page that stands alone, and so lacks pictures that the archive may have."""
    words = LANGUAGES[language]
    lost, player = words["picture_left_out"], words["player"]
    return BodyWriter(files, base, "", lost=lost, player=player, language=language, page_of=page_of, drawn=drawn)


def _tree(source: str) -> Element:
    """Parse a body; where none of a common tag has attributes in the source, none is asked for them."""
    if too_large(source):
        raise TooLarge
    named = {tag.lower() for tag in _WITH_MORE.findall(source)}
    return parse(source, bare=_COMMON - named)


class _End:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _opening(tag: str, attributes: dict[str, str]) -> str:
    written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{written}>"


def _source_of(element: Element) -> str:
    """Return the address of a picture; one that waits for a script (``data-src``) is the picture meant."""
    attributes = element.attributes
    return next(filter(None, (attributes.get(name, "") for name in ("data-src", "data-original", "src"))), "")
