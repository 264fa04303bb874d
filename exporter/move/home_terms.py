"""The categories, tags and users of the new home by their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from exporter.errors import ApiError, NotAuthorised
from exporter.html.text import collapse
from exporter.move.terms import PlannedTerm
from exporter.wordpress import WordPressApi


@dataclass(slots=True)
class HomeTerms:
    """The categories or the tags of the new home.

    Attributes:
        by_slug: their numbers by slug.
        by_name: their numbers by shown name.
        places: their numbers by their parents' numbers, 0 for none, and their shown names.
        above: their parents' numbers, 0 for none.
    """

    by_slug: dict[str, int] = field(default_factory=dict)
    by_name: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[int, str], int] = field(default_factory=dict)
    above: dict[int, int] = field(default_factory=dict)

    def enter(self, raw: Any) -> None:
        """Add a record as WordPress sends it; an invalid one is ignored."""
        number = raw.get("id") if isinstance(raw, dict) else None
        if not isinstance(number, int) or number <= 0:
            return
        parent = raw.get("parent")
        above = self.above[number] = parent if isinstance(parent, int) else 0
        name = collapse(unescape(_text(raw, "name")))
        self.by_slug[_text(raw, "slug")] = self.by_name[name] = number
        self.places.setdefault((above, name), number)

    def find(self, term: PlannedTerm, above: int) -> int | None:
        """Return a planned term's number, given its parent's; ``None`` if the new home does not have it."""
        known = self.by_slug.get(term.slug)
        if not term.path:
            return known or self.by_name.get(term.name)
        return known if known is not None and self.above[known] == above else self.places.get((above, term.name))


async def read_terms(api: WordPressApi, route: str) -> HomeTerms:
    """Read all categories or tags.

    Raises:
        NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`~exporter.wordpress.WordPressApi.get`.
    """
    found = HomeTerms()
    async for page in api.pages(route, {"context": "edit", "_fields": "id,name,slug,parent"}):
        for raw in page.items:
            found.enter(raw)
    return found


async def read_authors(api: WordPressApi) -> Mapping[str, int]:
    """Return the numbers of the users by their shown names and login names; names of several users are left out.

    The result is empty if the user may not list users.

    Raises:
        TransportError, ServiceError: the new home failed.
    """
    found: defaultdict[str, set[int]] = defaultdict(set)
    try:
        async for page in api.pages("wp/v2/users", {"context": "edit", "_fields": "id,name,username"}):
            for raw in page.items:
                if isinstance(raw, dict) and isinstance(raw.get("id"), int):
                    for name in ("name", "username"):
                        found[collapse(unescape(_text(raw, name)))].add(raw["id"])
    except (ApiError, NotAuthorised):
        return {}
    return {name: next(iter(numbers)) for name, numbers in found.items() if name and len(numbers) == 1}


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""
