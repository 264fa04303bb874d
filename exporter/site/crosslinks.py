"""Which links of a body may lead to other entries, found without parsing it, so that pages follow what they link to.

What this overlooks leads to the entry's address on the web until its page is made for another reason. Pure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from exporter.render.addresses import AddressPattern, absolute

_LINK: Final = re.compile(r"href\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


def linked_addresses(source: str, patterns: Sequence[AddressPattern], base: str) -> tuple[str, ...]:
    """Return what the body's links say, as far as one of the patterns could have made it.

    Args:
        source: a body as it was sent.
        patterns: how the blog's addresses of entries are made.
        base: the blog's address, which relative addresses start from.
    """
    if not patterns or "href" not in source.lower():
        return ()
    links = dict.fromkeys(html.unescape(next(filter(None, found), "")) for found in _LINK.findall(source))
    return tuple(link for link in links if _fits(link, patterns, base))


def _fits(link: str, patterns: Sequence[AddressPattern], base: str) -> bool:
    spellings = {absolute(link, base), absolute(link.partition("?")[0], base)} - {None}
    return any(pattern.fits(address) for address in spellings if address for pattern in patterns)
