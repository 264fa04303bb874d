"""Marks of blog services in texts, made quiet for readers: automatic links, repeated addresses, advertisements. Pure.

Only pages and texts for readers use this module. Records and exports to other services keep the HTML unchanged.
A rule fits exact classes, ids and addresses that programs write, never words that a person could have written; the one
exception is FC2's own notice. Each list names its source.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final
from urllib.parse import unquote

from exporter.html.players import embeds
from exporter.html.tree import HABIT, Element, tag_set

KEYWORD: Final = "keyword"
"""The class in pages of a link that a service made of a word."""
CONTENTS: Final = "listed"
"""The class in pages of a table of contents that a service or a plug-in made."""
EMOJI: Final = "emoji"
"""The class in pages of a picture that is a character of the text."""

_KEYWORD_CLASSES: Final = tag_set("keyword okeyword")
_KEYWORD_PAGE: Final = re.compile(r"https?://[a-z0-9.-]*\bhatena\.ne\.jp/keyword/", re.IGNORECASE)
"""Hatena turns words into links to its dictionary (Text::Hatena, ``Text/Hatena/AutoLink``; saved pages of Hatena Blog).

A link that the writer made has neither class."""

_CITATION: Final = "hatena-citation"
"""Below a card, Hatena repeats the address that the card leads to (saved pages of Hatena Blog)."""

_CONTENTS_IDS: Final = tag_set("toc_container ez-toc-container rtoc-mokuji-wrapper")
_CONTENTS_CLASSES: Final = tag_set("table-of-contents ez-toc-container lwptoc")
"""Tables of contents of Hatena (``[:contents]``), and of the WordPress plug-ins Table of Contents Plus, Easy Table of
Contents, RTOC and LuckyWP Table of Contents, by the markup that their programs write."""
_CONTENTS_TAGS: Final = tag_set("div nav ol ul")

_AD_UNIT: Final = "adsbygoogle"
"""An AdSense unit, which stays empty without its script (support.google.com/adsense/answer/9274025)."""
_FC2_BUTTON: Final = "fc2button-"
"""FC2's buttons below a text: applause, sharing (``fc2_footer`` in saved pages of FC2 Blog)."""
_FC2_BUTTON_TEXTS: Final = frozenset({"", "Tweet"})
"""All that these buttons show before their scripts run."""
_LABELS: Final = frozenset({"スポンサーリンク", "スポンサードリンク"})
"""Labels that are left out together with the advertisement that follows them."""
_FC2_HINT: Final = "上記の広告は"
_FC2_NOTICE: Final = f"{_FC2_HINT}1ヶ月以上更新のないブログに表示されています。新しい記事を書く事で広告が消せます。"
_FC2_NOTICES: Final = (_FC2_NOTICE, f"スポンサーサイト{_FC2_NOTICE}")
"""The notice, and its title, that FC2 put above the first entry of idle blogs until 2019
(help.fc2.com/blog/manual/group112/1305)."""

_EMOJI_CLASSES: Final = tag_set("emoji wp-smiley")
"""WordPress (``wp-emoji.js``, ``translate_smiley``), Ameba and FC2 mark such pictures."""
_EMOJI_PLACE: Final = re.compile(
    r"(?:https?:)?//(?:"
    r"(?:[a-z]+\.)?hatena\.ne\.jp/images/emoji/"
    r"|(?:static|blog\d*|blog-imgs-\d+(?:-origin)?)\.fc2\.com/(?:emoji|image/(?:emoji|icon|[eiv]))/"
    r"|(?:c\.)?stat\d*\.ameba\.jp/+blog/ucs/img/char/|emoji\.ameba\.jp/img/"
    r"|parts\.blog\.livedoor\.jp/img/emoji/|common\.blogimg\.jp/emoji/"
    r"|blog\.seesaa\.jp/images_(?:[ego]|w/emoji)/"
    r"|[a-z0-9.-]+\.shinobi\.jp/emoji/icon/"
    r"|emojies\.cocolog-nifty\.com/emoticon/|[a-z0-9.-]+/\.shared/images/emoticon/"
    r"|picto0\.jugem\.jp/|pds\.exblog\.jp/emoji/"
    r"|s\.w\.org/images/core/emoji/|[^?#\s]+/wp-includes/images/smilies/"
    r"|abs\.twimg\.com/emoji/"
    r")[^?#\s]",
    re.IGNORECASE,
)
"""Folders of emoji of Hatena, FC2, Ameba, livedoor, Seesaa, Ninja, Cocolog, JUGEM, Exblog, WordPress and X. Files of
users are in other folders; sources are feed readers and readers of these blogs on GitHub that tell these apart."""
_NO_NAME: Final = re.compile(r"\[emoji:[0-9A-F]+\]|[^\s/]*\.(?:gif|png|jpe?g|svg|webp)|[0-9A-Fa-f]+", re.IGNORECASE)
_FILE_NAME: Final = re.compile(r"[a-z]{3,}[a-z_-]*")
"""File names that are words, such as Cocolog's ``sun.gif``; most services number their files."""
_MAX_NAME_CHARACTERS: Final = 40

_CONTENTS_HINTS: Final = ("table-of-contents", "toc_container", "ez-toc-container", "lwptoc", "rtoc-mokuji")
_HINTS: Final = (
    ("class=", ("hatena.ne.jp/keyword/", _CITATION, *_CONTENTS_HINTS, _AD_UNIT, _FC2_BUTTON)),
    ("src=", ("emoji", "emoticon", "smil", "/ucs/img/char/", ".fc2.com/image/", "blog.seesaa.jp/images_",
              "picto0.jugem.jp")),
    (_FC2_HINT, ("",)),
)  # fmt: skip
"""A text has marks only if it has an attribute and one of the words after it; nearly all texts have none."""

_UNSEEN: Final = tag_set("link noscript script style")
_WRAPPERS: Final = tag_set("aside center dd div dl dt figure h1 h2 h3 h4 h5 h6 p section span")
_MAX_LABEL_NODES: Final = 24
_MAX_LABEL_CHARACTERS: Final = 40


def has_habits(html: str) -> bool:
    """Return whether a text may have a mark that :func:`quieten` knows."""
    for attribute, words in _HINTS:
        if attribute in html:
            for word in words:
                if word in html:
                    return True
    return False


def hides_beginning(html: str) -> bool:
    """Return whether a table of contents or FC2's notice may stand before a text's own words."""
    return _FC2_HINT in html or ("class=" in html and any(word in html for word in _CONTENTS_HINTS))


def without_contents(body: Element) -> None:
    """Remove the tables of contents that :func:`quieten` marked."""
    for parent in (body, *body.elements()):
        if any(isinstance(each, Element) and each.attributes.get(HABIT) == CONTENTS for each in parent.children):
            parent.children = [
                each for each in parent.children if isinstance(each, str) or each.attributes.get(HABIT) != CONTENTS
            ]


def is_emoji(address: str) -> bool:
    """Return whether an absolute address leads to a service's emoji."""
    return _EMOJI_PLACE.match(address) is not None


def quieten(body: Element, html: str, *, marked: bool = True) -> None:
    """Change a tree into the one that a reader sees.

    Removed are citations that repeat the card above them, empty places for advertisements, and FC2's notice. Links from
    words, tables of contents and emoji are marked by :data:`~exporter.html.tree.HABIT`.

    Args:
        body: from :func:`~exporter.html.embedded.parse_body`.
        html: its source.
        marked: if not, links from words become text instead, and so do emoji that are characters today.
    """
    if not has_habits(html):
        return
    order: list[tuple[Element, Element]] = []
    gone: set[int] = set()
    todo = [body]
    while todo:
        parent = todo.pop()
        before: Element | None = None
        for child in parent.children:
            if isinstance(child, str):
                before = None if child.strip() else before
                continue
            order.append((parent, child))
            if child.attributes and (_is_advertisement(child) or _repeats_card(child, before)):
                gone.add(id(child))
            else:
                todo.append(child)
                if child.attributes:
                    _mark(child, marked=marked)
            before = child
    touched = _without_notice(body) if _FC2_HINT in html else []
    if gone or touched:
        _remove(order, body, gone, touched)


def _is_advertisement(element: Element) -> bool:
    """Return whether a program wrote an element as a place for an advertisement or buttons.

    If it is not closed, the rest of the text may be in it. So it stays if it holds more than a program writes.
    """
    classes = element.attributes.get("class", "").split()
    if element.tag == "ins":
        return _AD_UNIT in classes and all(map(_is_blank, islice(element.children, _MAX_LABEL_NODES)))
    return (
        element.tag == "div"
        and any(each.startswith(_FC2_BUTTON) for each in classes)
        and _beginning(element) in _FC2_BUTTON_TEXTS
    )


def _is_blank(node: Element | str) -> bool:
    """Return whether a node shows nothing; an element counts without its children."""
    return not node.strip() if isinstance(node, str) else node.tag in _UNSEEN or node.tag == "br"


def _beginning(element: Element) -> str:
    """Return the first words that an element shows, without white space; they end in ``…`` if it may show more."""
    found = ""
    todo = [*reversed(element.children)]
    for _ in range(_MAX_LABEL_NODES):
        if not todo or len(found) > _MAX_LABEL_CHARACTERS:
            break
        node = todo.pop()
        if isinstance(node, str):
            found += "".join(node.split())
        elif node.tag not in _UNSEEN:
            todo += reversed(node.children)
    return found if not todo else f"{found}…"


def _repeats_card(element: Element, before: Element | None) -> bool:
    """Return whether an element only repeats the address of the card before it; a card's own address becomes that."""
    if element.tag != "cite" or before is None or before.tag != "iframe":
        return False
    if _CITATION not in element.attributes.get("class", "").split():
        return False
    inside = [each for each in islice(element.walk(), 4) if isinstance(each, Element) or each.strip()]
    link = inside[0] if inside else None
    if len(inside) != 2 or not isinstance(link, Element) or link.tag != "a":
        return False
    address = link.attributes.get("href", "").strip()
    card = next(embeds(before), None)
    if card is None or not address:
        return False
    if unquote(card.address) == unquote(address):
        return True
    # The card of another Hatena blog shows its own short form of the entry.
    if card.address.replace("/embed/", "/entry/", 1) == address:
        before.attributes = {**before.attributes, "src": address}
        return True
    return False


def _mark(element: Element, *, marked: bool) -> None:
    tag, attributes = element.tag, element.attributes
    if tag == "a":
        classes = attributes.get("class", "").split()
        if not _KEYWORD_CLASSES.isdisjoint(classes) and _KEYWORD_PAGE.match(attributes.get("href", "").strip()):
            if marked:
                attributes[HABIT] = KEYWORD
            else:
                element.tag, element.attributes = "span", {}
    elif tag == "img":
        classes = attributes.get("class", "").split()
        if not _EMOJI_CLASSES.isdisjoint(classes) or is_emoji(attributes.get("src", "").strip()):
            name = attributes["alt"] = _emoji_name(element)
            if marked:
                attributes[HABIT] = f"{EMOJI} {name}"
            elif name and not any(map(str.isalpha, name)):
                element.tag, element.attributes, element.children = "span", {}, [name]
    elif tag in _CONTENTS_TAGS and marked:
        classes = attributes.get("class", "").split()
        if not _CONTENTS_CLASSES.isdisjoint(classes) or attributes.get("id", "").strip() in _CONTENTS_IDS:
            attributes[HABIT] = CONTENTS


def _emoji_name(picture: Element) -> str:
    """Return an emoji's name: its alternative text, its title, or a file name that is a word; empty if it has none."""
    for name in ("alt", "title"):
        found = " ".join(picture.attributes.get(name, "").split())[:_MAX_NAME_CHARACTERS]
        if found and not _NO_NAME.fullmatch(found):
            return found
    stem = picture.attributes.get("src", "").partition("?")[0].rpartition("/")[2].partition(".")[0]
    return stem if _FILE_NAME.fullmatch(stem[:_MAX_NAME_CHARACTERS]) else ""


def emoji_text(name: str) -> str:
    """Return the text in place of an emoji without a picture; the mark of a missing letter if it has no name."""
    if not name:
        return "〓"
    return f"[{name}]" if any(map(str.isalpha, name)) else name


def _without_notice(body: Element) -> list[Element]:
    """Remove FC2's notice if a text begins with it, and return the elements that it was in."""
    parts: dict[int, tuple[Element, int]] = {}
    found = ""
    todo: list[tuple[Element, int]] = [(body, 0)]
    while todo and found not in _FC2_NOTICES:
        parent, at = todo.pop()
        if at == len(parent.children):
            continue
        node = parent.children[at]
        todo.append((parent, at + 1))
        if isinstance(node, str):
            found += "".join(node.split())
            parts[id(parent)] = parent, at
            if not any(each.startswith(found) for each in _FC2_NOTICES):
                return []
        elif node.tag == "br":
            parts[id(parent)] = parent, at
        elif node.tag in _WRAPPERS:
            todo.append((node, 0))
        elif node.tag not in _UNSEEN:
            return []
    if found not in _FC2_NOTICES:
        return []
    for parent, last in parts.values():
        parent.children = [
            each
            for at, each in enumerate(parent.children)
            if at > last or (isinstance(each, Element) and each.tag != "br")
        ]
    return [parent for parent, _ in parts.values()]


def _remove(order: list[tuple[Element, Element]], body: Element, gone: set[int], touched: list[Element]) -> None:
    """Remove elements and the advertisements' labels, and then the elements around them that are left empty."""
    changed = set(map(id, touched))
    for parent, child in reversed(order):
        if id(child) in gone:
            changed.add(id(parent))
        elif id(child) in changed:
            child.children = _left(child.children, gone)
            if child.tag in _WRAPPERS and "id" not in child.attributes and all(map(_is_blank, child.children)):
                gone.add(id(child))
                changed.add(id(parent))
    if id(body) in changed:
        body.children = _left(body.children, gone)


def _left(children: list[Element | str], gone: set[int]) -> list[Element | str]:
    """Return the children that stay: without an advertisement also its label, just before it, goes."""
    kept: list[Element | str] = []
    before: int | None = None
    for child in children:
        if isinstance(child, str) or id(child) not in gone:
            before = before if _is_blank(child) else len(kept)
            kept.append(child)
        elif before is not None:
            label = kept[before]
            if (label.strip() if isinstance(label, str) else _beginning(label)) in _LABELS:
                kept[before] = ""
            before = None
    return kept
