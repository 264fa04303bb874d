"""The ways into a blog whose address is known. Pure.

Each network service explores an address with a generator: it yields requests, is sent the responses, and returns the
way in that it found. So no module here sends anything, and every exploration can be tested with plain responses.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import field
from typing import Final

from exporter.frozen import frozen
from exporter.model.exchange import Request, Response

Exploration = Generator[Request, Response | None, "WayIn | str | None"]
"""Yields requests below the origin of the address; receives a response, or ``None`` if there was no usable answer.

It returns the way in, a sentence if the site forbids programs to look for one, or ``None`` if there is none.
"""

MAX_REQUESTS: Final = 12
"""The most requests of one exploration."""


@frozen
class HomePage:
    """A blog's home page, as its address answered.

    Attributes:
        url: its address after redirects, with a slash at its end if it names a folder.
        headers: the answer's headers, by lower-case name.
        html: its text; empty if it is no HTML.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    html: str = ""


@frozen
class WayIn:
    """A way to read a blog.

    Attributes:
        service: the name of the service.
        base_url: the value of the setting for it.
        blog_id: the blog's ID at that service.
        label: the name for people, such as "WordPress REST API".
        title: the title of the blog; empty if unknown.
        counts: the numbers that it states, by a word for people: ``posts``, ``pages``, ``comments``, ``pictures``.
        lacks: the missing content, as messages, such as "drafts need a sign-in".
        rank: the better way has the smaller number: 10 an API with every record, 20 an API with public records only,
            30 feeds and pages.
        settings: further settings that this way needs, as text.
    """

    service: str
    base_url: str
    blog_id: str
    label: str
    title: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    rank: int = 20
    settings: Mapping[str, str] = field(default_factory=dict)
