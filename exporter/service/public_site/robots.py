"""Read robots.txt, which says which pages a program may request (RFC 9309). Pure.

The standard library's parser knows no wildcards and takes the first fitting line; RFC 9309 takes the longest. Protego,
of Scrapy, does as the RFC says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from protego import Protego

AGENT: Final = "blog-exporter"
MAX_BYTES: Final = 512 * 1024
"""RFC 9309 asks to read 500 KiB; a longer file is read so far."""
_MAX_DELAY_SECONDS: Final = 60.0
"""A longer delay between two requests would keep a blog of 500 posts for more than 8 hours."""
_MAX_SITEMAPS: Final = 100
_WILDCARDS: Final = re.compile(r"^([^#*\n]*(?:\*[^#*\n]*){8})\*.*$", re.MULTILINE)
"""A pattern with more wildcards, which can take hours to compare; it is cut there, so that it forbids more."""


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of a site's robots.txt for this program.

    Attributes:
        delay: the seconds between two requests that it asks for; ``None`` if it states none.
        sitemaps: the addresses of sitemaps that it states.
    """

    delay: float | None = None
    sitemaps: tuple[str, ...] = ()
    _rules: Protego | None = None

    def permits(self, address: str) -> bool:
        """Return whether the site permits a request for an address."""
        return self._rules is None or bool(self._rules.can_fetch(address, AGENT))


def read_robots(body: bytes) -> Robots:
    """Return the rules in a robots.txt; a text without any rule permits everything."""
    text = body[:MAX_BYTES].decode("utf-8", "replace").lstrip("\ufeff")
    if text.lstrip().startswith("<"):
        # A page in its place is no robots.txt.
        return Robots()
    rules = Protego.parse(_WILDCARDS.sub(r"\1", text))
    delay = rules.crawl_delay(AGENT)
    return Robots(
        None if delay is None or not delay > 0 else min(float(delay), _MAX_DELAY_SECONDS),
        tuple(str(each) for each in rules.sitemaps)[:_MAX_SITEMAPS],
        rules,
    )
