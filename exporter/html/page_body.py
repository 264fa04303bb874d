"""A body as shown in a page: pictures from the archive, players as links, links into the archive, sanitized. Pure.

Used by the offline site, by HTML books and by ``show --html``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup

from exporter.html.code_languages import LANGUAGE, known_language
from exporter.html.embedded import parse_body
from exporter.html.links import APP_SCHEMES, absolute, safe_url
from exporter.html.page_sanitizer import ID_PREFIX, TAGS, clean, is_inline_picture, is_link
from exporter.html.picture_groups import GALLERY, GALLERY_TAGS, Cell, Group, GroupFinder
from exporter.html.picture_rows import bounded_ratio, row_lengths
from exporter.html.picture_words import picture_words
from exporter.html.players import EmbedKind, embeds
from exporter.html.service_habits import EMOJI, emoji_text, quieten
from exporter.html.text import plain_text, text_in, text_of
from exporter.html.tree import (
    DROPPED,
    HABIT,
    LINE_TAGS,
    Element,
    TooComplex,
    TooLarge,
    tag_set,
    too_large_words,
)
from exporter.html.valid import valid_html
from exporter.model.asset import openable
from exporter.text import visible
from exporter.translation import translator

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

_PLAYERS: Final = tag_set("audio embed frame iframe object video")
_HIDDEN: Final = DROPPED - {"col", "colgroup", "wbr"} | {"math", "svg"}
_VOID: Final = tag_set("br col hr img wbr")
_PLAIN_TAGS: Final = {tag: (f"<{tag}>", "" if tag in _VOID else f"</{tag}>") for tag in TAGS}
"""The opening and closing tag of each element without attributes."""
_BARE_TAGS: Final = {tag: tags for tag, tags in _PLAIN_TAGS.items() if tag not in {"a", "img", "table", "td", "th"}}
"""Those that are written like this in any page."""
_MAX_HIGHLIGHTED_CHARACTERS: Final = 200_000
"""Code in longer bodies is not highlighted."""
_SHORT_CELL_CHARACTERS: Final = 5
"""Text in a table's cell that is never broken into lines; a cell with more text is at least this wide."""
_ICON_PIXELS: Final = 48
"""A picture of less width or height is part of a line of text and is not a link."""
_POSITION: Final = re.compile(r"\s*(?:float|margin)", re.IGNORECASE)
_ROW_RATIO: Final = 3.1
"""The sum of the ratios of a row of pictures of the best height."""
_ROW_PICTURES: Final = 3
"""More in a row would be too small on a phone."""
MAX_CODE_CHARACTERS: Final = 10_000
"""Longer code is not highlighted."""
_CELL_NAMES: Final = frozenset({"alt", "src", "title"})
_LANGUAGE_ATTRIBUTES: Final = ("data-lang", "data-language", "class")
_CODE_TAGS: Final = tag_set("br code span")
_NOT_CODE: Final = re.compile(r"(.{1,8}?)\1{100}|[^\n]{501}", re.DOTALL)
"""Repeated text or very long lines: some lexers take quadratic time for them."""


class DrawnPicture(NamedTuple):
    """A stored picture in a page: the shown file's path from the site's folder, and the picture's own size."""

    source: str
    size: tuple[int, int] | None


@dataclass(slots=True)
class BodyWriter:
    """Turns bodies into HTML for pages.

    Attributes:
        local_path: returns the path of an address's file relative to the archive; ``None`` if the archive lacks it.
        base: the blog's address, used to resolve relative addresses.
        language: of texts about missing pictures, players and large bodies, ``ja`` or ``en``.
        prefix: the path from the site's folder to the folder with ``assets/``.
        alone: whether the page is a single file, and so lacks pictures that the archive may have.
        page_of: returns the path in the site of the entry that an address of the blog leads to.
        drawn: returns whether the stored file at a path may be shown as a picture.
        picture: returns how the stored picture at a path is shown; then pictures link to the stored files.
    """

    local_path: Callable[[str], str | None]
    base: str
    language: str = "ja"
    prefix: str = ""
    alone: bool = False
    page_of: Callable[[str], str | None] = lambda _: None
    drawn: Callable[[str], bool] = lambda _: True
    picture: Callable[[str], DrawnPicture] | None = None
    _embedded: dict[EmbedKind, str] = field(init=False)
    _missing: str = field(init=False)
    _unnamed: str = field(init=False)
    _numbered: str = field(init=False)

    def __post_init__(self) -> None:
        t = translator(self.language)
        self._embedded = {EmbedKind.PAGE: t("Embedded"), EmbedKind.VIDEO: t("Video"), EmbedKind.SOUND: t("Sound")}
        self._unnamed = t("Emoji")
        self._numbered = t("Picture {n}", n="%d")
        self._missing = t("The picture is not in this page") if self.alone else t("This picture was not saved")

    def html(self, source: str, root: str, places: Collection[str] = (), *, colours: bool = False) -> Markup:
        """Return a body that is safe in a page; never raises. Of a body beyond the limits it shows the text.

        Args:
            source: HTML or text; without any tag that ends lines, it keeps its line ends (API 2.8).
            root: the path from the page to the site's folder: empty, or ``../``.
            places: ids that links in other texts lead to.
            colours: whether to highlight code that names its language.
        """
        return self._shown(source, root, places, colours=colours)[0]

    def html_and_text(
        self, source: str, root: str, places: Collection[str] = (), *, colours: bool = False
    ) -> tuple[Markup, str]:
        """Return a body as :meth:`html` and its text as :func:`~exporter.html.text.plain_text`, parsed once."""
        html, body = self._shown(source, root, places, colours=colours)
        return html, plain_text(source, quiet=True) if body is None else text_in(body)

    def _shown(
        self, source: str, root: str, places: Collection[str], *, colours: bool
    ) -> tuple[Markup, Element | None]:
        """Return a body as a page shows it, and its tree if it was parsed."""
        text, _ = visible(source)
        if "<" not in text and "&" not in text:
            escaped = escape(text, quote=False).replace("\r\n", "\n").replace("\n", "<br>\n")
            return Markup(escaped), None  # noqa: S704  its only markup are line ends
        try:
            body = parse_body(text)
        except TooLarge:
            words = too_large_words(len(source), self.language)
            return Markup('<p>{}</p>\n<div class="as-typed">{}</div>').format(words, text_of(text)), None
        except TooComplex:
            return Markup("<pre>{}</pre>").format(text), None
        keep_lines = not any(node.tag in LINE_TAGS for node in body.elements())
        quieten(body, text)
        valid = valid_html(body, kept=_PLAYERS, dropped=_HIDDEN, places=places)
        colours = colours and len(text) <= _MAX_HIGHLIGHTED_CHARACTERS
        page = _Page(root, keep_lines=keep_lines, colours=colours)
        shown = self._written(valid, page)
        return Markup(clean(shown)), body  # noqa: S704  cleaned in this line

    def _written(self, body: Element, page: _Page) -> str:
        """Return a valid tree as HTML that is not yet sanitized."""
        parts: list[str] = []
        nodes, closing, linked = iter(body.children), "", False
        left: list[tuple[Iterator[Element | str], str, bool]] = []
        while True:
            for node in nodes:
                if isinstance(node, str):
                    text = node.replace("&", "&amp;").replace("<", "&lt;")
                    parts.append(text.replace("\r\n", "\n").replace("\n", "<br>\n") if page.keep_lines else text)
                elif node.tag in _PLAYERS:
                    parts.append(self._embed(node, page.root))
                else:
                    group = None if linked or node.tag not in GALLERY_TAGS else self._group(node, page)
                    if group is not None:
                        parts.append(group)
                        continue
                    bare = None if node.attributes else _BARE_TAGS.get(node.tag)
                    opening, end = bare or self._tags(node, page, linked=linked)
                    parts.append(opening)
                    if not node.children:
                        parts.append(end)
                        continue
                    code = _coloured(node) if page.colours and node.tag == "pre" else None
                    if code is None:
                        left.append((nodes, closing, linked))
                        nodes, closing, linked = iter(node.children), end, linked or end == "</a>"
                        break
                    parts += (code, end)
            else:
                parts.append(closing)
                if not left:
                    return "".join(parts)
                nodes, closing, linked = left.pop()

    def _tags(self, element: Element, page: _Page, *, linked: bool) -> tuple[str, str]:
        tag = element.tag
        if tag == "img":
            return self._picture(element, page, linked=linked), ""
        if tag not in TAGS:
            return "", " " if tag in {"option", "optgroup"} else ""
        found = dict(element.attributes)  # the sanitizer drops all that it does not permit
        found.pop(LANGUAGE, None)
        written = found.pop(HABIT, found.pop("class", None))
        if written is not None and written != GALLERY:
            found["class"] = written
        if tag == "a":
            href = self._link(found.pop("href", ""), page.root)
            if href is not None and is_link(href):
                found["href"] = href
            if "id" not in found and found.get("name"):
                found["id"] = found["name"]
            if "href" not in found:
                tag = "span"
        elif tag == "table":
            return f'<div class="wide">{_opening(tag, found)}', "</table></div>"
        elif tag in {"td", "th"} and _is_long(element):
            found["class"] = "long"
        return _opening(tag, found), _PLAIN_TAGS[tag][1]

    def _group(self, element: Element, page: _Page) -> str | None:
        """Return pictures side by side in rows; ``None`` for an element that is no group of stored pictures."""
        group = page.groups.group(element)
        if group is None or any(HABIT in cell.picture.attributes for cell in group.cells):
            return None
        ratios = [self._cell_ratio(cell.picture) for cell in group.cells]
        if None in ratios:
            return None
        known = [ratio for ratio in ratios if ratio is not None]
        cells = [self._cell(cell, ratio, page) for cell, ratio in zip(group.cells, known, strict=True)]
        if len(cells) == 1:
            return self._single(group, element, page)
        parts = []
        for length in row_lengths(known, wanted=_ROW_RATIO, most=_ROW_PICTURES, fills_last=True):
            row = "".join(cells[:length])
            parts.append(f'<div class="row" style="--r:{sum(known[:length]):.2f}">{row}</div>')
            del cells[:length], known[:length]
        tag = "div" if group.caption is None else "figure"
        return f'<{tag} class="pictures">{"".join(parts)}{self._caption(group.caption, page)}</{tag}>'

    def _cell_ratio(self, picture: Element) -> float | None:
        """Return the ratio of a stored picture; ``None`` for an icon and for a picture that the page cannot show."""
        local = self.local_path(picture.attributes.get("src", ""))
        if local is None or not self.drawn(local):
            return None
        sides = [int(picture.attributes.get(name, "0")) for name in ("width", "height")]
        size = self.picture(local).size if self.picture is not None else None
        if size is None and all(sides):
            size = sides[0], sides[1]
        if min(size or (), default=_ICON_PIXELS) < _ICON_PIXELS or any(0 < side < _ICON_PIXELS for side in sides):
            return None
        return bounded_ratio(size)

    def _cell(self, cell: Cell, ratio: float, page: _Page) -> str:
        """Return a picture for a row, with its link and caption."""
        kept = {name: value for name, value in cell.picture.attributes.items() if name in _CELL_NAMES}
        picture = Element("img", kept, [])
        shown = self._linked_picture(picture, cell.link, page)
        return f'<figure style="--r:{ratio:.2f}">{shown}{self._caption(cell.caption, page)}</figure>'

    def _linked_picture(self, picture: Element, link: Element | None, page: _Page) -> str:
        if link is None:
            return self._picture(picture, page, linked=False)
        opening, closing = self._tags(Element("a", {"href": link.attributes.get("href", "")}, []), page, linked=False)
        return f"{opening}{self._picture(picture, page, linked=closing == '</a>')}{closing}"

    def _single(self, group: Group, element: Element, page: _Page) -> str:
        """Return the only picture of a gallery as a figure in the gallery's place."""
        cell = group.cells[0]
        placed = ";".join(each for each in element.attributes.get("style", "").split(";") if _POSITION.match(each))
        opening = _opening("figure", {"style": placed} if placed else {})
        captions = self._caption(cell.caption or group.caption, page)
        return f"{opening}{self._linked_picture(cell.picture, cell.link, page)}{captions}</figure>"

    def _caption(self, caption: Element | None, page: _Page) -> str:
        return "" if caption is None else f"<figcaption>{self._written(caption, page)}</figcaption>"

    def _picture(self, element: Element, page: _Page, *, linked: bool) -> str:
        source = element.attributes.get("src", "")
        if HABIT in element.attributes:
            return self._emoji(source, element.attributes, page.root)
        kept = dict(element.attributes)
        alt = picture_words(kept.get("alt", ""), source)
        if "title" in kept:
            kept["title"] = picture_words(kept["title"], source)
        if is_inline_picture(source.strip()):
            name = alt or (self._number(page) if linked or kept.get("alt", "").strip() else "")
            return _opening("img", {**kept, "src": source.strip(), "alt": name})
        local = self.local_path(source)
        if local is not None and self.drawn(local):
            kept["alt"] = alt
            if self.picture is not None:
                return self._local_picture(kept, local, self.picture(local), page, linked=linked)
            if not alt and (linked or element.attributes.get("alt", "").strip()):
                kept["alt"] = self._number(page)
            return _opening("img", {**kept, "src": f"{page.root}{self.prefix}{local}"})
        address = absolute(source, self.base)
        if address is None:
            return escape(alt)
        named = escape(alt or self._missing)
        shown = escape(address)
        return f'<span class="lost" title="{escape(self._missing)}">{named} <a href="{shown}">{shown}</a></span>'

    def _emoji(self, source: str, written: dict[str, str], root: str) -> str:
        """Return an emoji as a small picture in the line, or as its name if the picture was not saved."""
        name = written[HABIT].partition(" ")[2]
        kept = {name: value for name, value in written.items() if name in {"width", "height"}}
        local = self.local_path(source)
        if is_inline_picture(source.strip()):
            kept["src"] = source.strip()
        elif local is None or not self.drawn(local):
            shown = escape(emoji_text(name))
            return shown if shown == name else f'<span class="{EMOJI}" title="{escape(self._missing)}">{shown}</span>'
        elif self.picture is None:
            kept["src"] = f"{root}{self.prefix}{local}"
        else:
            place, size = self.picture(local)
            kept = {**(_sides(kept, size) if size else {}), "src": f"{root}{place}", "loading": "lazy"}
        return _opening("img", {"class": EMOJI, **kept, "alt": name or self._unnamed, "title": name or self._unnamed})

    def _local_picture(
        self, kept: dict[str, str], local: str, shown: DrawnPicture, page: _Page, *, linked: bool
    ) -> str:
        """Return a stored picture as a link to itself, with its size, so that the page does not move while it loads.

        ``kept`` has its attributes, with an empty ``alt`` if it has no description.
        """
        source, size = shown
        sides = {**(_sides(kept, size) if size else {}), "src": f"{page.root}{source}", "loading": "lazy"}
        small = (
            min((int(sides[name]) for name in ("width", "height") if name in sides), default=_ICON_PIXELS)
            < _ICON_PIXELS
        )
        opens = not linked and not small and openable(local)
        if not kept["alt"] and (opens or linked or not small):
            kept |= {"alt": self._number(page), "class": "unnamed"}
        # The link floats, because a link with only a floating picture has no visible focus.
        style = kept.pop("style", "").split(";")
        placed = ";".join(each for each in style if opens and _POSITION.match(each))
        own = [each for each in style if each and not (opens and _POSITION.match(each))]
        if size and size[0] < size[1] and not small:
            own.append(f"--r:{size[0] / size[1]:.2f}")
        kept |= {"style": ";".join(own)} if own else {}
        drawn = _opening("img", {**kept, **sides})
        if not opens:
            return drawn
        link = _opening("a", {"href": f"{page.root}{self.prefix}{local}", **({"style": placed} if placed else {})})
        return f"{link}{drawn}</a>"

    def _number(self, page: _Page) -> str:
        """Return a name for a picture without a description: its number in the body."""
        page.unnamed += 1
        return self._numbered.replace("%d", str(page.unnamed))

    def _embed(self, element: Element, root: str) -> str:
        """Return a link in place of a frame or player, which is never part of the page."""
        for embed in embeds(element):
            href = self._link(embed.address, root)
            if href is not None and not href.startswith("#"):
                # Without the user name: https://youtube.com@a.example/ leads to a.example.
                host = urlsplit(absolute(embed.address, self.base) or embed.address).netloc.rpartition("@")[2]
                shown = embed.title or f"{self._embedded[embed.kind]}: {host}"
                place = f" <small>{escape(host)}</small>" if embed.title else ""
                name = "player" if embed.kind is EmbedKind.VIDEO else "card"
                return f'<a class="{name}" href="{escape(href)}">{escape(shown)}{place}</a>'
        return ""

    def _link(self, href: str, root: str) -> str | None:
        text = href.strip()
        if text.startswith("#"):
            return f"#{ID_PREFIX}{text[1:]}" if len(text) > 1 else None
        if text.partition(":")[0].lower() in APP_SCHEMES:
            return safe_url(text)
        found = self._target(text)
        return None if found is None else (root if found[1] else "") + found[0]

    def _target(self, href: str) -> tuple[str, bool] | None:
        """Return a link's target, and whether it is relative to the site's folder; ``None`` for no target."""
        address = absolute(href, self.base)
        if address is None:
            return None
        local = self.local_path(href)
        if local is not None and openable(local):
            return f"{self.prefix}{local}", True
        page = self.page_of(href)
        if page is not None:
            return page, True
        _, mark, fragment = href.partition("#")
        return address + mark + fragment, False


@dataclass(slots=True)
class _Page:
    """The state of writing one body; ``root`` is the path from its page to the site's folder."""

    root: str
    keep_lines: bool
    colours: bool
    unnamed: int = 0
    groups: GroupFinder = field(default_factory=GroupFinder)


def _is_long(cell: Element) -> bool:
    """Return whether a table's cell has text that may be broken into lines; one with a picture or a table has not."""
    length = 0
    for node in cell.walk():
        if not isinstance(node, str):
            if node.tag in {"img", "table"}:
                return False
        elif length <= _SHORT_CELL_CHARACTERS:
            length += len(node.strip())
    return length > _SHORT_CELL_CHARACTERS


def _sides(written: dict[str, str], size: tuple[int, int]) -> dict[str, str]:
    """Return the width and height of a picture; if only one is given, the other is in proportion."""
    width, height = (int(written.get(name, "0")) for name in ("width", "height"))
    if not width:
        width = round(height * size[0] / size[1]) if height else size[0]
    return {"width": str(max(1, width)), "height": str(height or max(1, round(width * size[1] / size[0])))}


def _opening(tag: str, attributes: dict[str, str]) -> str:
    written = [f' {name}="{_quoted(value)}"' for name, value in attributes.items()]
    return f"<{tag}{''.join(written)}>"


def _quoted(value: str) -> str:
    """Return the value of an attribute in the least markup that a parser needs; the sanitizer writes it in full."""
    return value.replace("&", "&amp;").replace('"', "&quot;")


def _coloured(pre: Element) -> Markup | None:
    """Return the highlighted content of a ``pre``; ``None`` if it names no known language or contains more than code.

    Classes in the code are dropped, because their style sheet is missing.
    """
    name = known_language(pre.attributes.get(LANGUAGE, ""))
    if name is None:
        return None
    parts: list[str] = []
    for node in pre.walk():
        if isinstance(node, str):
            parts.append(node)
        elif node.tag not in _CODE_TAGS or node.attributes.keys() - set(_LANGUAGE_ATTRIBUTES):
            return None
        elif node.tag == "br":
            parts.append("\n")
    code = "".join(parts)
    return None if len(code) > MAX_CODE_CHARACTERS or _NOT_CODE.search(code) else _highlighted(name, code)


def _highlighted(name: str, code: str) -> Markup | None:
    tokens = list(_lexer(name, "<?" in code).get_tokens(code))
    if "".join(text for _, text in tokens) != code:
        return None
    parts = []
    for shown, run in groupby(tokens, lambda token: _class(token[0]) if token[1].strip() else None):
        text = escape("".join(text for _, text in run), quote=False)
        parts.append(f'<span class="{shown}">{text}</span>' if shown else text)
    return Markup("".join(parts))  # noqa: S704  escaped above


@cache
def _lexer(name: str, tagged: bool) -> Lexer:
    """Return the lexer of a language; PHP code without an opening tag starts as PHP."""
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415  few blogs have code

    options = {"startinline": not tagged} if name == "php" else {}
    return get_lexer_by_name(name, stripnl=False, ensurenl=False, **options)


@cache
def _classes() -> dict[_TokenType, str]:
    from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String  # noqa: PLC0415

    return {
        Keyword: "ck", Operator.Word: "ck", Comment.Preproc: "ck", Name.Decorator: "ck", String: "cs", Literal: "cs",
        Comment: "cc", Number: "cm", Keyword.Constant: "cm", String.Escape: "cm", String.Interpol: "cm",
        Name.Function: "cn", Name.Class: "cn", Generic.Heading: "cn", Generic.Subheading: "cn", Name.Tag: "ct",
        Name.Attribute: "ct", Name.Builtin: "ct", Name.Variable: "ct", Generic.Prompt: "cc", Generic.Inserted: "ca",
        Generic.Deleted: "cd",
    }  # fmt: skip


@lru_cache(maxsize=512)
def _class(token: _TokenType) -> str | None:
    """Return the CSS class of a token type or of its nearest parent type."""
    classes = _classes()
    return next((classes[each] for each in reversed(token.split()) if each in classes), None)
