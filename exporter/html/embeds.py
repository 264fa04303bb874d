"""What scripts of other services would have shown in a body, as links: nothing here runs them. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from exporter.html.anchors import mark_places
from exporter.html.tree import BARE, Element, parse

_PAGES: Final = (
    (re.compile(r"(?:https?:)?//gist\.github\.com/((?:[\w.-]{1,80}/)?[0-9a-f]{1,64})\.js(?:\?.*)?"), "https://gist.github.com/"),
    (re.compile(r"(?:https?:)?//ext\.nicovideo\.jp/thumb_watch/([a-z]{0,2}[0-9]{1,20})(?:\?.*)?"), "https://www.nicovideo.jp/watch/"),
    (re.compile(r"(?:https?:)?//asciinema\.org/a/([0-9A-Za-z]{1,64})\.js(?:\?.*)?"), "https://asciinema.org/a/"),
)  # fmt: skip
_BLUESKY: Final = re.compile(r"at://([\w:.%-]{1,200})/app\.bsky\.feed\.post/(\w{1,64})")


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
