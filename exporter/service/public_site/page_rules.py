"""The pages' forms at known blog services, as small rule files in ``rules/``. Pure.

A rule file says how a service builds the addresses of its posts and lists, and which CSS selectors find the parts of a
post. Addresses in it are relative to the blog's home. All members but ``title`` and ``post`` are optional:

- ``title``: the service's name for people.
- ``hosts``: hosts of its blogs; ``*.`` at the beginning matches any name.
- ``depth``: the number of path segments that name a blog: 1 for ``HOST/USER/``.
- ``generator``: a regular expression for ``<meta name="generator">``.
- ``post``: a regular expression for the address, whose group is the post's id.
- ``address``: the address of the post with ``{id}``.
- ``lists``: list pages to begin with; ``list_pages``: a regular expression of further ones.
- ``feeds``, ``sitemaps``: addresses to try.
- ``counts``: a regular expression of links to archives whose text ends with a number of posts.
- ``comments_elsewhere``: whether its pages show comments only with scripts.
- ``[page]``: lists of CSS selectors by part, see :class:`PageSelectors`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from exporter.message import message
from exporter.service.declarations import RULE_FILES


@dataclass(frozen=True, slots=True)
class PageSelectors:
    """CSS selectors for the parts of a post's page. Of each list, the first selector that finds something is used.

    Attributes:
        post: the element around the whole post; the other selectors are used inside, then on the page.
        body: its text; all elements that the selector finds.
        more: its continuation.
        drop: elements inside the text that the service adds, such as advertisements and buttons.
        comment: each comment; the selectors below are used inside it.
        comment_count: an element with the number of comments.
        password: the form of a post that needs a password.
    """

    post: tuple[str, ...] = ()
    title: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    password: tuple[str, ...] = ()
    comment: tuple[str, ...] = ()
    comment_title: tuple[str, ...] = ()
    comment_name: tuple[str, ...] = ()
    comment_date: tuple[str, ...] = ()
    comment_text: tuple[str, ...] = ()
    comment_count: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageRules:
    """The rules for one service; see the module for the members."""

    name: str
    title: str
    post: re.Pattern[str]
    address: str = ""
    hosts: tuple[str, ...] = ()
    depth: int = 0
    generator: re.Pattern[str] | None = None
    lists: tuple[str, ...] = ()
    list_pages: re.Pattern[str] | None = None
    feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    counts: re.Pattern[str] | None = None
    comments_elsewhere: bool = False
    page: PageSelectors = field(default_factory=PageSelectors)

    def is_host(self, host: str) -> bool:
        """Return whether a host is one of the service's blogs."""
        return any(host.endswith(each[1:]) if each.startswith("*.") else host == each for each in self.hosts)

    def id_of(self, place: str) -> str | None:
        """Return the id of the post at an address relative to the blog's home, or ``None``."""
        found = self.post.fullmatch(place)
        if found is None or (self.address and self.address.format(id=found[1]) != place):
            return None
        return found[1]

    def place_of(self, post_id: str) -> str | None:
        """Return the relative address of the post with an id; ``None`` if no post can have this id."""
        place = self.address.format(id=post_id) if self.address else post_id
        return place if self.id_of(place) == post_id else None


@cache
def rules_named(name: str) -> PageRules:
    """Return the rules of a known service.

    Raises:
        KeyError: no rule file has this name.
    """
    import tomllib  # noqa: PLC0415 - only a run on public pages needs the files
    from importlib.resources import files  # noqa: PLC0415

    if name not in RULE_FILES:
        raise KeyError(name)
    text = files(__package__).joinpath("rules", f"{name}.toml").read_text("utf-8")
    return read_rules(name, tomllib.loads(text))


def rules_for_host(host: str) -> PageRules | None:
    """Return the rules for a host, or ``None``."""
    return next((rules for rules in map(rules_named, RULE_FILES) if rules.is_host(host)), None)


def rules_for_generator(generator: str) -> PageRules | None:
    """Return the rules for a page's generator, or ``None``."""
    found = (rules for rules in map(rules_named, RULE_FILES) if rules.generator is not None)
    return next((rules for rules in found if rules.generator and rules.generator.search(generator)), None)


def read_rules(name: str, table: Mapping[str, Any]) -> PageRules:
    """Return the rules in the table of a rule file.

    Raises:
        ValueError: a member is unknown or missing.
    """
    known = {each.name for each in fields(PageRules)} - {"name"}
    parts = {each.name for each in fields(PageSelectors)}
    page = dict(table.get("page", {}))
    unknown = (set(table) - known) | (set(page) - parts)
    if unknown or "title" not in table or "post" not in table:
        raise ValueError(message("the rules {name} have wrong members: {members}", name=name, members=sorted(unknown)))
    values: dict[str, Any] = {**table, "page": PageSelectors(**{part: tuple(each) for part, each in page.items()})}
    for member in ("post", "generator", "list_pages", "counts"):
        if member in values:
            values[member] = re.compile(values[member])
    for member in ("hosts", "lists", "feeds", "sitemaps"):
        if member in values:
            values[member] = tuple(values[member])
    return PageRules(name, **values)
