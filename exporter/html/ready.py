"""A body made ready for every target: lazy pictures at their addresses, links in place of dead players. Pure.

Only the blog's own scripts load such a picture, and only old browsers had plug-ins. Each target therefore gets a body
that any reader shows. A picture that is a button, or alone in a drawing, becomes an ordinary one. Most bodies stay
unchanged. In the others only the elements concerned are rewritten: comments, WordPress blocks, scripts and texts keep
every byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from itertools import pairwise
from typing import Final, NamedTuple

from exporter.html.players import needs_plugin, plugin_content
from exporter.html.tags import (
    LAZY,
    LAZY_SETS,
    Attributes,
    Tag,
    attribute_text,
    candidate_places,
    is_like_an_address,
    tags,
)
from exporter.html.tree import too_large

_HINTS: Final = ("noscript", "srcset", "<object", "<embed", "<applet", "<amp-")
_LAZY_HINTS: Final = tuple(name for name in LAZY if not any(name.startswith(each) for each in LAZY if each != name))
_OTHER_PICTURES: Final = (("<input", "image"), ("<svg", "<image"))
"""Pairs of words of which a body with a picture that is no ``img`` has both."""
_SURELY_LAZY: Final = LAZY[:2]
"""Attributes of lazy pictures alone: they count even if ``src`` has a picture, which is then a smaller one."""
_LAZY_ONLY: Final = LAZY[:5]
"""Attributes that name nothing but pictures."""
_PICTURE: Final = re.compile(r"[^?#]*\.(?:avif|bmp|gif|jpe?g|png|svg|webp)(?:[?#].*)?", re.IGNORECASE | re.DOTALL)
_LAZY_NAMES: Final = ("data-src", "data-original", "data-lazy", "data-sizes")
"""How the names of attributes begin that only a script for lazy pictures reads."""
_LAZY_CLASS: Final = re.compile(r"lazy.*|.*-lazy-image|is-lazy", re.IGNORECASE)
_PLACEHOLDER: Final = re.compile(
    r"(?:[\w.-]*[-_.])?(?:1x1|blank|clear|dummy|empty|gr[ae]y|lazy|load(?:er|ing)|pixel|placeholder|spacer?|trans"
    r"|transparent|white)(?:[-_.][\w.-]*)?\.(?:gif|png|svg|webp)",
    re.IGNORECASE,
)
"""File names of placeholders that a script replaces later."""
_MAX_NAME_CHARACTERS: Final = 100
_PICTURES: Final = frozenset({"img", "amp-img", "amp-anim"})
_FRAMES: Final = frozenset({"audio", "iframe", "video"})
_PLAYERS: Final = frozenset({"applet", "embed", "object"})
_PARTS: Final = frozenset({"param", "/param", "/embed"})
_PLAYER_PARTS: Final = _PLAYERS | _PARTS | {"/applet", "/object"}
_PAIRED: Final = frozenset({"applet", "object"})
_ENDS: Final = frozenset({"/picture", "/iframe", "/amp-img", "/amp-anim", "/audio", "/video"})
_BUTTON_NAMES: Final = frozenset({"align", "alt", "class", "height", "id", "style", "title", "width"})
_DRAWING_NAMES: Final = frozenset({"class", "height", "id", "style", "width"})
_IN_DRAWINGS: Final = frozenset({"image", "/image", "g", "/g", "title", "/title", "desc", "/desc"})
_AMP_NAMES: Final = frozenset({"alt", "class", "height", "id", "src", "srcset", "title", "width"})
_MAX_NOSCRIPT_TAGS: Final = 40
"""A player has some ten parameters; a longer ``noscript`` is more than a copy of one picture or player."""
_TINY: Final = re.compile(r"\s*[0-3](?:px)?\s*", re.IGNORECASE)
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SIZE: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)[wx]")


def ready(html: str) -> str:
    """Rewrite lazy pictures and dead players so that they show without scripts and plug-ins.

    - ``src`` of a picture gets the address from the script's attribute or from the ``noscript`` behind it. Failing
      these, it gets the largest address in ``srcset`` or in its ``picture``. Frames are treated in the same way.
    - A ``noscript`` that only repeats or holds a picture, frame or player is removed.
    - A player for a plug-in becomes a link to the page of its video or to its file, followed by its fallback content.
    - A button that is a picture becomes the picture, and so does a drawing (SVG) that shows only pictures from files.

    Time is linear in the length. A body beyond the limits of :mod:`exporter.html.tree` is returned unchanged.
    """
    if "<" not in html:
        return html
    lower = html.lower()
    is_hinted = (
        any(hint in lower for hint in _HINTS)
        or any(tag in lower and word in lower for tag, word in _OTHER_PICTURES)
        or ("data-" in lower and any(hint in lower for hint in _LAZY_HINTS))
    )
    if not is_hinted or too_large(html):
        return html
    edits = sorted(_Body(html).edits, key=lambda edit: (edit[0], -edit[1]))
    parts: list[str] = []
    done = 0
    for start, end, new in edits:
        if start >= done:
            parts += [html[done:start], new]
            done = end
    return "".join([*parts, html[done:]]) if parts else html


class _NoScript(NamedTuple):
    """A ``noscript`` around one picture, frame or player: the indices of its tags, and the address in it."""

    start: int
    thing: int
    end: int
    address: str


class _Body:
    """Collects the edits in a body: start, end and new text."""

    def __init__(self, html: str) -> None:
        self._html = html
        self._tags = [tag for tag in tags(html) if html[tag.end - 1] == ">"]
        self._partners = dict(_pairs(self._tags))
        self.edits: list[tuple[int, int, str]] = []
        self._sources: list[int] = []
        self._in_picture = False
        self._played_until = self._kept_until = -1
        self._handled: set[int] = set()
        known: dict[str, Callable[[int, Tag], None]] = {
            "noscript": self._noscript,
            "picture": self._enter_picture,
            "/picture": self._leave_picture,
            "source": self._source,
            "input": self._button,
            "svg": self._drawing,
            **dict.fromkeys(("/amp-img", "/amp-anim"), lambda _, tag: self._edit(tag)),
            **dict.fromkeys(_PICTURES, self._picture),
            **dict.fromkeys(_FRAMES, self._frame),
            **dict.fromkeys(_PLAYERS, self._player),
        }
        for at, tag in enumerate(self._tags):
            change = known.get(tag.name)
            if change is not None and at > self._kept_until and at not in self._handled:
                change(at, tag)

    def _edit(self, tag: Tag, new: str = "") -> None:
        self.edits.append((tag.start, tag.end, new))

    def _enter_picture(self, _at: int, _tag: Tag) -> None:
        self._sources, self._in_picture = [], True

    def _leave_picture(self, _at: int, _tag: Tag) -> None:
        self._sources, self._in_picture = [], False

    def _source(self, at: int, tag: Tag) -> None:
        if self._in_picture:
            self._sources.append(at)
        elif "data-" in tag.rest.lower():
            self._frame(at, tag)

    def _button(self, _at: int, tag: Tag) -> None:
        attributes = tag.attributes
        address = attributes.get("src", "").strip()
        if address and attributes.get("type", "").strip().lower() == "image":
            kept = {name: value for name, value in attributes.items() if name in _BUTTON_NAMES}
            self._edit(tag, _written("img", {"src": address, **kept}))

    def _drawing(self, at: int, tag: Tag) -> None:
        """Replace a drawing by its pictures, if it shows nothing else."""
        end = at if tag.rest.endswith("/") else self._end_of_pictures(at)
        inside = self._tags[at + 1 : end]
        addresses = [_drawn_address(each.attributes) for each in inside if each.name == "image"]
        if not addresses or not all(addresses):
            return
        attributes = tag.attributes
        titles = (self._html[each.end : each.after] for each in inside if each.name == "title")
        alt = attributes.get("aria-label") or attribute_text(" ".join(" ".join(titles).split()))
        kept = {name: value for name, value in attributes.items() if name in _DRAWING_NAMES and len(addresses) == 1}
        pictures = [{"src": addresses[0], "alt": alt, **kept}, *({"src": each, "alt": ""} for each in addresses[1:])]
        self.edits.append((tag.start, self._tags[end].end, "".join(_written("img", each) for each in pictures)))

    def _end_of_pictures(self, at: int) -> int:
        """Return the index of a drawing's end tag; that of its start tag if it shows anything else than pictures."""
        for number in range(at + 1, len(self._tags)):
            before, tag = self._tags[number - 1 : number + 1]
            if before.name != "desc" and self._html[before.after : tag.start].strip():
                return at
            if tag.name == "/svg":
                return number
            # The tokenizer skips titles as in HTML: only their own end tag ends them.
            is_cut = tag.name == "title" and (tag.rest.endswith("/") or "<" in self._html[tag.end : tag.after])
            if is_cut or tag.name not in _IN_DRAWINGS:
                return at
        return at

    def _picture(self, at: int, tag: Tag) -> None:
        attributes = tag.attributes
        is_amp = tag.name != "img"
        if is_amp and not attributes.keys().isdisjoint({"placeholder", "fallback"}):
            self._edit(tag)
            return
        places, self._sources = self._sources, []
        sources = [self._tags[each].attributes for each in places]
        after = self._noscript_after(at)
        is_picture = after is not None and not _is_invisible(self._tags[after.thing].attributes)
        address = _address_of(attributes, sources, after.address if after is not None and is_picture else "")
        repeats = after is not None and address and _same(address, after.address)
        if after is not None and repeats:
            self.edits.append((self._tags[after.start].start, self._tags[after.end].end, ""))
        if address:
            # A browser would find nothing in them, or a placeholder.
            unused = (number for number, each in zip(places, sources, strict=True) if _is_blank(each, address))
            for number in unused:
                self._edit(self._tags[number])
        blank_set = "srcset" in attributes and _is_blank(attributes, address)
        if address and (address != attributes.get("src", "").strip() or blank_set or is_amp):
            self._edit(tag, _written("img", _loaded(attributes, address, only=_AMP_NAMES if is_amp else None)))
        elif is_amp:
            self._edit(tag)

    def _noscript_after(self, at: int) -> _NoScript | None:
        """Return the ``noscript`` directly after a picture or frame, if it holds one such element."""
        name = self._tags[at].name
        while at + 1 < len(self._tags):
            tag, following = self._tags[at], self._tags[at + 1]
            if self._html[tag.after : following.start].strip() or following.name not in _ENDS | {"noscript"}:
                return None
            at += 1
            if following.name == "noscript":
                found = self._only_thing(at)
                kinds = _PICTURES if name in _PICTURES else {name}
                return found if found is not None and self._tags[found.thing].name in kinds else None
        return None

    def _only_thing(self, at: int) -> _NoScript | None:
        """Return the only picture, frame or player in a ``noscript``; ``None`` if it holds anything else."""
        things: list[int] = []
        before = self._tags[at]
        for number in range(at + 1, min(at + _MAX_NOSCRIPT_TAGS, len(self._tags))):
            tag = self._tags[number]
            if self._html[before.after : tag.start].strip():
                return None
            if tag.name == "/noscript":
                things = things[:1] if things and self._tags[things[0]].name in _PLAYERS else things
                return _NoScript(at, things[0], number, self._own_address(things[0])) if len(things) == 1 else None
            if tag.name in _PICTURES | _FRAMES | _PLAYERS:
                things.append(number)
            elif tag.name not in _ENDS | _PLAYER_PARTS | {"picture", "source"}:
                return None
            before = tag
        return None

    def _own_address(self, at: int) -> str:
        tag = self._tags[at]
        attributes = tag.attributes
        return _address_of(attributes, [], "") if tag.name in _PICTURES else _frame_address(attributes)

    def _noscript(self, at: int, tag: Tag) -> None:
        """Unwrap a picture, frame or player that only browsers without scripts would show."""
        found = self._only_thing(at)
        if found is None:
            return
        thing = self._tags[found.thing]
        before = self._tags[at - 1] if at else None
        follows = before is not None and not self._html[before.after : tag.start].strip()
        if thing.name not in _PLAYERS:
            # What counts visits is invisible, and after a script; a lazy picture or frame has its own copy.
            beside = {"/script", *_PICTURES, *_FRAMES, *_ENDS}
            if _is_invisible(thing.attributes) or (follows and before is not None and before.name in beside):
                return
        self._edit(tag)
        self._edit(self._tags[found.end])

    def _frame(self, at: int, tag: Tag) -> None:
        attributes = tag.attributes
        after = self._noscript_after(at)
        address = _frame_address(attributes) or (after.address if after is not None else "")
        if after is not None and address and _same(address, after.address):
            self.edits.append((self._tags[after.start].start, self._tags[after.end].end, ""))
        if address and address != attributes.get("src", "").strip():
            self._edit(tag, _written(tag.name, _loaded(attributes, address)))
        if tag.name in {"audio", "video"}:
            self._played_until = max(self._played_until, self._partners.get(at, -1))

    def _player(self, at: int, tag: Tag) -> None:
        """Replace a dead player by a link, or by nothing if its content shows the same."""
        end = self._partners.get(at, -1)
        if not self._is_dead(at):
            self._kept_until = max(self._kept_until, end)
            return
        group = list(range(at, end + 1)) if end > at else [at, *self._parts_after(at)]
        players = [each for each in group if self._tags[each].name in _PLAYERS]
        address, title = plugin_content([(each.name, each.attributes) for each in map(self._tags.__getitem__, group)])
        if address:
            is_shown = (
                at < self._played_until
                or not all(map(self._is_dead, players))
                or any(self._shows(each, address) for each in group)
            )
            self._edit(tag, "" if is_shown else f'<a href="{escape(address)}">{escape(title or address)}</a><br>')
            for each in group[1:]:
                is_end = self._tags[each].name in {"/applet", "/object"}
                if self._tags[each].name in _PLAYER_PARTS and self._is_dead(
                    self._partners.get(each, at) if is_end else each
                ):
                    self._edit(self._tags[each])
        self._handled.update(players)

    def _is_dead(self, at: int) -> bool:
        tag = self._tags[at]
        return tag.name in _PARTS or (tag.name in _PLAYERS and needs_plugin(tag.name, tag.attributes))

    def _shows(self, at: int, address: str) -> bool:
        """Return whether an element inside a player shows the same, or links to it."""
        tag = self._tags[at]
        return tag.name in _FRAMES or (tag.name == "a" and tag.attributes.get("href", "").strip() == address)

    def _parts_after(self, at: int) -> Iterator[int]:
        """Yield the parts directly after a player without an end tag."""
        possible = {"/embed"} if self._tags[at].name == "embed" else _PARTS | {"embed"}
        for number in range(at + 1, len(self._tags)):
            tag = self._tags[number]
            if tag.name not in possible or self._html[self._tags[number - 1].after : tag.start].strip():
                return
            yield number


def _pairs(found: list[Tag]) -> Iterator[tuple[int, int]]:
    """Yield the indices of matching start and end tags (players, videos, sounds), in both orders."""
    open_tags: list[int] = []
    for at, tag in enumerate(found):
        if tag.name in _PAIRED or tag.name in {"audio", "video"}:
            open_tags.append(at)
        elif open_tags and tag.name == f"/{found[open_tags[-1]].name}":
            start = open_tags.pop()
            yield start, at
            yield at, start


def _is_inline(address: str) -> bool:
    """Return whether an address names no file: what is shown until a script loads one."""
    return not address or address[:6].lower().startswith(("data:", "about:", "#"))


def _is_placeholder(address: str) -> bool:
    """Return whether an address only fills the place until a script loads another one.

    A name alone may also be that of a real picture: it counts only if there is another address.
    """
    if _is_inline(address):
        return True
    name = re.split(r"[?#]", address, maxsplit=1)[0].rpartition("/")[2]
    return len(name) <= _MAX_NAME_CHARACTERS and _PLACEHOLDER.fullmatch(name) is not None


def _address_of(attributes: Attributes, sources: list[Attributes], spare: str) -> str:
    """Return the address of a picture; empty if it has none.

    Args:
        attributes: its own.
        sources: those of the ``source`` elements of its ``picture``.
        spare: its address in the ``noscript`` after it.
    """
    own = attributes.get("src", "").strip()
    has_own = not _is_placeholder(own)
    for name in _SURELY_LAZY if has_own else LAZY:
        written = attributes.get(name, "").strip()
        is_sure = name in _LAZY_ONLY or _is_inline(own) or _PICTURE.fullmatch(written) is not None
        if is_sure and not _is_inline(written) and _may_be_address(written):
            return written
    if has_own:
        return own
    sets = [each.get(name, "") for each in (attributes, *sources) for name in (*LAZY_SETS, "srcset")]
    found = next(filter(None, map(_best, sets)), "")
    named = (_best(each, _is_inline) for each in sets)
    return found or next(filter(None, (spare, "" if _is_inline(own) else own, *named)), "")


def _drawn_address(attributes: Attributes) -> str:
    """Return the address of a picture in a drawing; empty if it only repeats an element, or shows nothing."""
    address = (attributes.get("href") or attributes.get("xlink:href", "")).strip()
    return "" if address.startswith("#") else address


def _may_be_address(text: str) -> bool:
    """Return whether a value may be an address, even one with spaces and brackets."""
    return is_like_an_address(re.sub(r"[\s'\[]", "", text))


def _frame_address(attributes: Attributes) -> str:
    own = attributes.get("src", "").strip()
    if own and not _is_placeholder(own):
        return own
    written = (attributes.get(name, "").strip() for name in LAZY)
    return next((each for each in written if _may_be_address(each) and not _is_inline(each)), "")


def _best(srcset: str, is_none: Callable[[str], bool] = _is_placeholder) -> str:
    """Return the largest picture of a ``srcset`` that is not a placeholder; empty without one."""
    places = [*candidate_places(srcset), (len(srcset), len(srcset))]
    best, most = "", -1.0
    for (start, end), (following, _) in pairwise(places):
        address = srcset[start:end]
        size = _SIZE.search(srcset, end, following)
        width = float(size[1]) if size is not None else 1.0
        if width > most and not is_none(address):
            best, most = address, width
    return best


def _is_blank(attributes: Attributes, address: str) -> bool:
    """Return whether a ``srcset`` has nothing but placeholders, for a picture with this address."""
    return not _best(attributes.get("srcset", ""), _is_inline if _is_placeholder(address) else _is_placeholder)


def _loaded(attributes: Attributes, address: str, *, only: frozenset[str] | None = None) -> Attributes:
    """Return the attributes after a script has loaded the element."""
    found = {"src": address}
    for name, value in attributes.items():
        if name == "srcset" and _is_blank(attributes, address):
            continue
        if name == "class":
            value = " ".join(each for each in value.split() if not _LAZY_CLASS.fullmatch(each))  # noqa: PLW2901
            if not value:
                continue
        is_lazy = name.startswith(_LAZY_NAMES) or (name in LAZY and value.strip() == address)
        if name != "src" and not is_lazy and (only is None or name in only):
            found[name] = value
    return found


def _written(tag: str, attributes: Attributes) -> str:
    written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{written}>"


def _same(first: str, second: str) -> bool:
    """Return whether two addresses differ only in the scheme and the query, which may ask for another size."""
    return _core(first) == _core(second)


def _core(address: str) -> str:
    return re.sub(r"^https?:", "", address.strip(), flags=re.IGNORECASE).partition("?")[0]


def _is_invisible(attributes: Attributes) -> bool:
    sides = (attributes.get(name, "") for name in ("width", "height"))
    return any(_TINY.fullmatch(each) for each in sides) or _HIDDEN.search(attributes.get("style", "")) is not None
