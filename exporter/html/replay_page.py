"""Change the addresses in captured pages and style sheets to those of a replay without scripts. Pure.

Only the changed attributes and the content of ``style`` and ``script`` differ from the captured bytes. The text, its
encoding and broken markup stay the same. The page is read as a tokenizer reads it (HTML Standard, section 13.2.5),
in linear time.

In ``svg``, ``math``, ``select``, ``template`` and ``frameset``, the tree of the page decides whether a browser takes
the content of elements such as ``style`` for text or for tags. A page with one of them is written so that both readings
have the same tags: outside of tags it has no ``<``. The policy of the replay forbids requests to other places too, but
it cannot stop a browser that connects ahead of a request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from exporter.errors import BodyTooLarge
from exporter.html.page_references import LAZY_BACKGROUNDS, REFRESH, WITH_LAZY, WITH_SETS
from exporter.html.style_references import with_addresses
from exporter.html.tags import (
    LAZY,
    LAZY_SETS,
    Attributes,
    attribute_text,
    candidate_places,
    candidates,
    is_like_an_address,
)
from exporter.html.web_address import WebAddress, parsed, web_address

Place = Callable[[str], str]
"""Returns where the replay has an absolute address: a path that needs no escape in HTML but ``&``."""

MAX_CHARACTERS: Final = 60_000_000
"""The most characters of a changed page: long addresses in thousands of short links can make a page much larger."""

_SPACE: Final = r"\t\n\f\r "
"""The spaces of HTML: no vertical tab, and no byte of a two-byte character."""
_ATTRIBUTE: Final = (
    rf"[^{_SPACE}/>][^{_SPACE}/>=]*+(?:[{_SPACE}]*+=[{_SPACE}]*+"
    rf"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^{_SPACE}\"'>][^{_SPACE}>]*+|(?=>)))?+"
)
_TAG: Final = re.compile(
    rf"<(?:(?P<name>[a-zA-Z][^{_SPACE}/>]*+)(?P<rest>(?:[{_SPACE}/]++|{_ATTRIBUTE})*+)(?P<end>>?)"
    rf"|/(?P<closed>[a-zA-Z][^{_SPACE}/>]*+)(?:[{_SPACE}/]++|{_ATTRIBUTE})*+>?"
    r"|!--(?:-?>|.*?(?:--!?>|\Z))|(?!/\Z)[!?/][^>]*+>?)",
    re.DOTALL,
)
_ATTRIBUTES: Final = re.compile(
    rf"([^{_SPACE}/>][^{_SPACE}/>=]*+)(?:[{_SPACE}]*+=[{_SPACE}]*+"
    rf"(?:\"([^\"]*+)(?:\"|\Z)|'([^']*+)(?:'|\Z)|([^{_SPACE}\"'>][^{_SPACE}>]*+)))?+"
)
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE | re.ASCII)
    for name in ("style", "textarea", "title", "xmp", "noembed", "noframes", "iframe")
}
_UNSHOWN: Final = frozenset({"noembed", "noframes", "iframe"})
"""Elements whose content no browser shows."""
_AS_TYPED: Final = {"xmp": "pre", "plaintext": "pre"}
"""Elements without character references, and those that show the same text with some."""
_CONTEXT: Final = re.compile(rf"<(?:svg|math|select|template|frameset)(?=[{_SPACE}/>])", re.IGNORECASE | re.ASCII)
"""Elements in which a browser ignores some tags, or takes the content of others for tags instead of text."""
_CDATA: Final = "<![CDATA["
_FOREIGN_STYLE: Final = re.compile(
    r"(?:<!--.*?(?:--!?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<(?![a-zA-Z/])|[^<]++)*+", re.DOTALL
)
"""The text of a style in a picture: it ends at the next tag."""
_NOT_IN_STYLES: Final = re.compile(r"<!--|-->|<!\[CDATA\[|\]\]>")
_DOCTYPE: Final = re.compile(r"<!doctype[^<]*\Z", re.IGNORECASE)
_SCRIPT: Final = re.compile(rf"<!--|-->|<(/?)script(?=[{_SPACE}/>])", re.IGNORECASE | re.ASCII)
_BASE: Final = re.compile(rf"<base(?=[{_SPACE}/>])", re.IGNORECASE | re.ASCII)
_NO_SCRIPT: Final = re.compile(rf"<noscript(?=[{_SPACE}/>])", re.IGNORECASE | re.ASCII)
_NO_SCRIPT_END: Final = re.compile(rf"</noscript(?=[{_SPACE}/>])", re.IGNORECASE | re.ASCII)
_FOREIGN: Final = frozenset({"svg", "math"})
_ENDS_FOREIGN: Final = frozenset(
    {"b", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2", "h3", "h4"}
    | {"h5", "h6", "head", "hr", "i", "img", "li", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "table"}
    | {"tt", "u", "ul"}
)
"""Elements of HTML that end an SVG picture that was left open (HTML Standard, section 13.2.6.5)."""

_ADDRESSES: Final = frozenset(
    {"src", "href", "xlink:href", "poster", "background", "data", "lowsrc", "dynsrc", "longdesc", "cite", "codebase"}
    | {"archive", "icon", "profile", "classid"}
)
_SETS: Final = frozenset({"srcset", "imagesrcset"})
_DROPPED: Final = frozenset(
    {"integrity", "nonce", "crossorigin", "target", "ping", "manifest", "action", "formaction", "formtarget"}
    | {"attributionsrc", "csp", "xml:base"}
)
"""Attributes that would stop a changed part from loading, open a window, or send something."""
_STYLED: Final = frozenset(
    {"style", "fill", "stroke", "filter", "mask", "clip-path", "marker", "marker-start", "marker-mid", "marker-end"}
    | {"cursor"}
)
"""Attributes with declarations, or with values of them in SVG."""
_DATA_ELEMENTS: Final = frozenset({"object"})
_LINKS: Final = frozenset({"a", "area"})
_FRAMES: Final = frozenset({"iframe", "frame"})
_KEPT_LINKS: Final = ("mailto:", "tel:")
_USUAL_LAZY: Final = frozenset(LAZY[:5])
"""Attributes that a script copies into ``src``. The others may name another size of a picture that is shown."""
_PLACEHOLDER: Final = re.compile(
    r"\s*(?:data:.*|about:blank|.*(?:blank|pixel|spacer|placeholder|loading|loader|lazy|gr[ae]y|transparent|1x1)"
    r"[^/]*\.(?:gif|png|svg|webp)(?:\?.*)?)?\s*",
    re.IGNORECASE | re.DOTALL,
)
_POLICY_HEADERS: Final = ("content-security-policy", "content-security-policy-report-only", "x-webkit-csp")
_IN_STYLES: Final = str.maketrans({each: f"%{ord(each):02X}" for each in "\"'()\\<> \t\n\r"})
_LATIN: Final = "latin-1"
_MAX_DEPTH: Final = 3
_LONGEST_NAME: Final = 200


@dataclass(slots=True)
class ReplayWriter:
    """Changes the addresses in one captured file.

    Args:
        address: the captured address of the file.
        place: returns the path of an address in the replay.
        encoding: the page's encoding; a browser also encodes queries in it.
        raw: whether the texts hold one character for each byte, so that the encoding stays the captured one.
        xml: whether a browser reads the file as XML.
    """

    address: str
    place: Place
    encoding: str = "utf-8"
    raw: bool = False
    xml: bool = False
    _base: WebAddress | None = field(init=False, default=None)
    _based: bool = field(init=False, default=False)
    _fallbacks: set[str] = field(init=False, default_factory=set)
    _size: int = field(init=False, default=0)
    _plain: bool = field(init=False, default=False)

    def sheet(self, text: str) -> str:
        """Return a style sheet.

        Raises:
            BodyTooLarge: with the changed addresses it is too large.
        """
        self._base = parsed(self.address)
        return self._limited(self._styled(text))

    def page(self, html: str) -> str:
        """Return a page, or an SVG picture opened alone.

        Raises:
            BodyTooLarge: with the changed addresses it is too large.
        """
        self._base, self._based, self._size = parsed(self.address), False, 0
        start = self._base
        self._base = self._first_base(html)
        self._fallbacks = set(self._without_scripts(html))
        self._base = start
        return "".join(self._parts(html, 0))

    def _limited(self, text: str) -> str:
        self._size += len(text)
        if self._size > MAX_CHARACTERS:
            raise BodyTooLarge("the page has more than {limit:,} characters", limit=MAX_CHARACTERS)
        return text

    def _parts(self, html: str, depth: int) -> Iterator[str]:
        at = foreign = 0
        self._plain = not self.xml and _CONTEXT.search(html) is not None
        while (found := _TAG.search(html, at)) is not None:
            yield self._text(html[at : found.start()])
            at = found.end()
            if found["name"] is None:
                foreign -= (found["closed"] or "").lower() in _FOREIGN and foreign > 0
                text, at = self._other(html, found, is_foreign=foreign > 0)
                yield self._limited(text)
                continue
            if not found["end"]:
                return  # a browser drops a tag that the page does not end
            name, is_empty = found["name"].lower(), found["rest"].endswith("/")
            foreign = foreign + (not is_empty) if name in _FOREIGN else 0 if name in _ENDS_FOREIGN else foreign
            if name == "script":
                at = at if foreign and is_empty else _script_end(html, at)
                yield "<script></script>"
            elif not self._plain or "<" not in name:
                shown = _AS_TYPED.get(name, found["name"]) if self._plain else found["name"]
                yield self._limited(f"<{shown}{self._rest(name, found['rest'], depth)}>")
                if not (foreign and is_empty):
                    text, at = self._content(html, at, name, is_foreign=foreign > 0)
                    yield self._limited(text)
        yield self._text(html[at:])

    def _text(self, text: str) -> str:
        """Return the text between two tags."""
        return self._limited(text.replace("<", "&lt;") if self._plain else text)

    def _other(self, html: str, found: re.Match[str], *, is_foreign: bool) -> tuple[str, int]:
        """Return an end tag, a comment or a declaration, and its end in the page."""
        text, at, closed = found[0], found.end(), found["closed"]
        if not self._plain:
            # Without any text in its place, a "<" before it would become a part of what follows.
            return "<!-- -->" if text.lower().startswith("<?xml-stylesheet") else text, at
        if closed is not None:
            return "" if "<" in closed else f"</{_AS_TYPED.get(closed.lower(), closed)}>", at
        if is_foreign and text.startswith(_CDATA):
            end = html.find("]]>", found.start())
            stop, at = (len(html), len(html)) if end < 0 else (end, end + len("]]>"))
            return _as_text(html[found.start() + len(_CDATA) : stop]), at
        return text if _DOCTYPE.match(text) else "", at

    def _content(self, html: str, at: int, name: str, *, is_foreign: bool) -> tuple[str, int]:
        """Return an element's content and its end in the page; nothing for an element that can have others inside."""
        if is_foreign:
            style = _FOREIGN_STYLE.match(html, at) if name == "style" else None
            return ("", at) if style is None else (self._style_element(style[0]), style.end())
        if name == "plaintext":
            stop = len(html)
        elif name in _RAW:
            end = _RAW[name].search(html, at)
            stop = len(html) if end is None else end.start()
        else:
            return "", at
        text = html[at:stop]
        if name == "style":
            return self._style_element(text), stop
        if self._plain:
            shown = "" if name in _UNSHOWN else text
            text = _as_text(shown) if name in _AS_TYPED else shown.replace("<", "&lt;")
        return text, stop

    def _rest(self, name: str, rest: str, depth: int) -> str:
        """Return the attributes of a start tag."""
        values: Attributes = {}
        for each in _ATTRIBUTES.finditer(rest):
            values.setdefault(each[1].lower(), each[2] or each[3] or each[4] or "")
        if not values:
            return rest
        if name == "base":
            if not self._based and values.get("href"):
                self._base = web_address(self._read(values["href"]), self._base, self.encoding) or self._base
                self._based = True
            return ""
        added = self._from_lazy(name, values)

        def changed(each: re.Match[str]) -> str:
            attribute = each[1].lower()
            # A name that begins with "=" would become the value of the name before it if there is one to drop.
            if attribute in added or attribute[0] == "=" or (self._plain and "<" in attribute):
                return ""
            written = each[2] or each[3] or each[4] or ""
            new = self._attribute(name, attribute, written, values, depth)
            if new is None:
                return ""
            if self._plain and "<" in new:
                new = new.replace("<", "&lt;").replace('"', "&quot;")
            return each[0] if new == written else f'{each[1]}="{new}"'

        kept = _ATTRIBUTES.sub(changed, rest)
        if not added:
            return kept
        new = "".join(f' {attribute}="{value}"' for attribute, value in added.items())
        return f"{new}{kept}"

    def _attribute(self, name: str, attribute: str, written: str, values: Attributes, depth: int) -> str | None:
        """Return the value of an attribute as HTML; ``None`` without the attribute."""
        if attribute.startswith("on") or attribute in _DROPPED:
            return None
        if attribute == "srcdoc":
            return self._inner_page(self._read(written), depth + 1) if depth < _MAX_DEPTH else None
        if name == "meta":
            return self._meta(attribute, written, values)
        if attribute in _ADDRESSES:
            return self._placed(name, written) if attribute != "data" or name in _DATA_ELEMENTS else written
        if attribute in _SETS:
            return self._set(self._read(written))
        if attribute in _STYLED:
            return self._escaped(self._styled(self._read(written)))
        return written

    def _inner_page(self, html: str, depth: int) -> str:
        inner = ReplayWriter(self.address, self.place)
        inner._base, inner._fallbacks, inner._size = self._base, self._fallbacks, self._size
        text = self._escaped("".join(inner._parts(html, depth)))
        self._size = inner._size
        return text

    def _placed(self, name: str, written: str) -> str:
        text = self._read(written)
        plain = text.strip().lower()
        if not plain or plain.startswith("#"):
            return written
        if name in _LINKS:
            other = written if plain.startswith(_KEPT_LINKS) else "#"
        elif name in _FRAMES:
            other = "about:blank"
        else:
            other = written if plain.startswith("data:") else "data:,"
        found = self._address(text)
        return other if found is None else self._escaped(found)

    def _address(self, text: str) -> str | None:
        """Return where the replay has an address; ``None`` if it is not http or https."""
        found = web_address(text, self._base, self.encoding)
        if found is None:
            return None
        _, mark, fragment = text.strip().partition("#")
        return self.place(str(found)) + (mark + quote(fragment, "%/:?@!$&'()*+,;=~", errors="replace") if mark else "")

    def _set(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        for start, end in candidate_places(text):
            address = text[start:end]
            new = self._address(address)
            if new is None:
                new = address if address.lower().startswith("data:") else "data:,"
            # A comma at an end would belong to the list, not to the address.
            parts += [text[at:start], re.sub(r"^,+|,+$", lambda each: "%2C" * len(each[0]), new)]
            at = end
        return self._escaped("".join([*parts, text[at:]]))

    def _meta(self, attribute: str, written: str, values: Attributes) -> str | None:
        if attribute != "content":
            return written
        kind = values.get("http-equiv", "").strip().lower()
        if kind in _POLICY_HEADERS:
            return None
        if kind != "refresh":
            return written
        found = REFRESH.fullmatch(self._read(written))
        if found is None or not found[2]:
            return written
        new = self._address(found[2].partition(found[1])[0] if found[1] else found[2])
        seconds = re.match(r"\s*[0-9.]*", found[0])
        return None if new is None else self._escaped(f"{seconds[0] if seconds else 0};url={new}")

    def _from_lazy(self, name: str, values: Attributes) -> Attributes:
        """Return the attributes that a script would set when a picture comes into view, as HTML."""
        added: Attributes = {}
        if name in WITH_LAZY:
            source = self._lazy_source(values)
            if source is not None:
                added["src"] = self._placed(name, source)
        if name in WITH_SETS:
            source = next((values[each] for each in LAZY_SETS if values.get(each)), None)
            if source is not None and self._is_placeholder(values.get("srcset", "")):
                text = self._read(source)
                if not any(self._absolute(each) in self._fallbacks for each in candidates(text)):
                    added["srcset"] = self._set(text)
        background = next((values[each] for each in LAZY_BACKGROUNDS if values.get(each)), "")
        if background:
            added |= self._background(self._read(background), values)
        return added

    def _lazy_source(self, values: Attributes) -> str | None:
        """Return a lazy picture's address as written, unless ``noscript`` has the same picture."""
        is_lazy = "lazy" in values.get("class", "").lower()
        is_placeholder = self._is_placeholder(values.get("src", ""))
        for each in LAZY:
            written = values.get(each, "")
            if written and is_like_an_address(self._read(written)) and self._absolute(written) not in self._fallbacks:
                if is_placeholder or (is_lazy and each in _USUAL_LAZY):
                    return written
                return None
        return None

    def _background(self, text: str, values: Attributes) -> Attributes:
        if "url(" in text.lower():
            style = self._styled(text)
        else:
            found = self._address(text) if is_like_an_address(text) else None
            style = "" if found is None else f"url({found.translate(_IN_STYLES)})"
        before = self._styled(self._read(values.get("style", "")))
        if not style or "background-image" in before or ";" in style:
            return {}
        return {"style": self._escaped(f"{before.rstrip('; ')};background-image:{style}".lstrip(";"))}

    def _is_placeholder(self, written: str) -> bool:
        return _PLACEHOLDER.fullmatch(written[:_LONGEST_NAME]) is not None

    def _absolute(self, written: str) -> str:
        return str(web_address(self._read(written), self._base, self.encoding) or "")

    def _first_base(self, html: str) -> WebAddress | None:
        at = 0
        while (found := _BASE.search(html, at)) is not None:
            tag = _TAG.match(html, found.start())
            at = found.end() if tag is None else tag.end()
            for each in _ATTRIBUTES.finditer(tag["rest"]) if tag is not None else ():
                if each[1].lower() == "href":
                    base = web_address(self._read(each[2] or each[3] or each[4] or ""), self._base, self.encoding)
                    return base or self._base
        return self._base

    def _without_scripts(self, html: str) -> Iterator[str]:
        """Yield the picture addresses inside ``noscript``, whose content the replay shows."""
        at = 0
        while (start := _NO_SCRIPT.search(html, at)) is not None:
            end = _NO_SCRIPT_END.search(html, start.end())
            if end is None:
                return
            at = end.end()
            for tag in _TAG.finditer(html, start.end(), end.start()):
                if (tag["name"] or "").lower() in WITH_SETS | WITH_LAZY:
                    for each in _ATTRIBUTES.finditer(tag["rest"]):
                        written = each[2] or each[3] or each[4] or ""
                        if each[1].lower() == "src":
                            yield self._absolute(written)
                        elif each[1].lower() == "srcset":
                            yield from map(self._absolute, candidates(self._read(written)))

    def _styled(self, text: str) -> str:
        return with_addresses(text, self._in_style)

    def _in_style(self, text: str) -> str:
        found = self._address(text)
        if found is None:
            kept = text.startswith("#") or text[:5].lower() == "data:"
            found = text if kept else "data:,"
        return found.translate(_IN_STYLES)

    def _style_element(self, text: str) -> str:
        if self._plain:
            text = _NOT_IN_STYLES.sub("", text)
        if not self.raw or text.isascii():
            styled = self._styled(text)
        else:
            try:
                decoded = text.encode(_LATIN).decode(self.encoding)
                styled = self._styled(decoded).encode(self.encoding).decode(_LATIN)
            except UnicodeError:
                styled = self._styled(text)
        return styled.replace("<", "\\3C ") if self._plain else styled

    def _read(self, written: str) -> str:
        """Return the value of an attribute as a browser decodes it."""
        text = written
        if self.raw and not written.isascii():
            text = written.encode(_LATIN, "replace").decode(self.encoding, "replace")
        return attribute_text(text) if "&" in text else text

    def _escaped(self, text: str) -> str:
        """Return a text as the value of an attribute in double quotes."""
        text = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        if not self.raw or text.isascii():
            return text
        return text.encode(self.encoding, "xmlcharrefreplace").decode(_LATIN)


def _as_text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _script_end(html: str, at: int) -> int:
    """Return where a script ends, its end tag included (HTML Standard, sections 13.2.5.15 to 13.2.5.31)."""
    in_comment = in_script = False
    for found in _SCRIPT.finditer(html, at):
        if found[0] == "<!--":
            in_comment = True
        elif found[0] == "-->":
            in_comment = in_script = False
        elif not found[1]:
            in_script = in_comment
        elif in_script:
            in_script = False
        else:
            end = html.find(">", found.end())
            return len(html) if end < 0 else end + 1
    return len(html)
