"""What narrows a search of entries: year, categories, tags, writer, kind; by the rules of the site's search. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from exporter import lossless_json
from exporter.model.labels import is_labelled, joined_path, path_of
from exporter.model.records import PostKind
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.model.records import Post

_MAX_NAME_CHARACTERS: Final = 200
_MAX_CHOICES: Final = 300
"""Choices of one facet; the value that was asked for is always among them."""
UNDATED: Final = "-"
"""The year of entries without a date."""
NAMES: Final = ("year", "category", "tag", "author", "kind")
H = TypeVar("H")


class Facets(NamedTuple):
    """The facts about an entry by which a search is narrowed; the empty name stands for none.

    Attributes:
        day: ISO 8601; empty if undated.
        groups: its categories with those above them.
        tags: its tags.
        author: its writer.
        kind: as :class:`~exporter.model.records.PostKind`.
        labelled: whether its service states more than one category.
    """

    day: str = ""
    groups: tuple[str, ...] = ("",)
    tags: tuple[str, ...] = ()
    author: str = ""
    kind: str = PostKind.POST
    labelled: bool = False

    def text(self) -> str:
        """Return all of them as JSON."""
        return lossless_json.dumps([*self]).decode()

    def names(self, facet: str) -> Sequence[str]:
        """Return the entry's names in a facet of :data:`NAMES`."""
        found: Mapping[str, Sequence[str]] = {
            "year": (self.day[:4] or UNDATED,),
            "category": self.groups,
            "tag": self.tags or ("",),
            "author": (self.author,),
            "kind": (self.kind,),
        }
        return found[facet]


class FacetChoice(NamedTuple):
    """A name in a facet, and the number of hits that have it."""

    name: str
    hits: int


def facets_of(post: Post) -> Facets:
    """Return the facets of an entry."""
    labelled = is_labelled(post)
    day = "" if post.date is None else post.date.date().isoformat()
    listed = (_short(post.category or ""),)
    if not labelled:
        return Facets(day, listed)
    paths = (tuple(filter(None, map(_short, path_of(each)))) for each in post.every_category if _short(each.name))
    tags = dict.fromkeys(tag for each in post.tags if (tag := _short(each)))
    groups = tuple(joined_path(path) for path in dict.fromkeys(paths)) or listed
    return Facets(day, groups, tuple(tags), _short(post.author), str(post.kind), labelled)


def facets_from(text: str) -> Facets:
    """Return the facets that :meth:`Facets.text` wrote, or those of an entry without any from another text."""
    try:
        found = lossless_json.loads(text.encode("utf-8", "surrogatepass"))
        day, groups, tags, author, kind, labelled = found
        names = tuple(map(str, groups)), tuple(map(str, tags))
        return Facets(str(day), names[0] or ("",), names[1], str(author), str(kind), labelled is True)
    except (lossless_json.NotJson, TypeError, ValueError):
        return Facets()


def is_labelled_text(text: str) -> bool:
    """Return whether facets that :meth:`Facets.text` wrote are labelled, without reading all of them."""
    return text.endswith("true]")


def narrowed(hits: Iterable[H], of: Callable[[H], Facets], asked: Mapping[str, str]) -> list[H]:
    """Return the hits that have the name asked for in each facet."""
    return [hit for hit in hits if all(name in of(hit).names(facet) for facet, name in asked.items())]


def choices(
    hits: Sequence[H], of: Callable[[H], Facets], facet: str, asked: Mapping[str, str]
) -> tuple[int, list[FacetChoice]]:
    """Return how many hits the other facets leave, and the names that these have in a facet.

    Years are in order, the newest first. Of other facets the most frequent name comes first.
    """
    left = narrowed(hits, of, {name: value for name, value in asked.items() if name != facet})
    counts = Counter({asked[facet]: 0} if facet in asked else {})
    for hit in left:
        counts.update(of(hit).names(facet))
    rows = [FacetChoice(name, number) for name, number in counts.items()]
    rows.sort(key=lambda row: row.name, reverse=True) if facet == "year" else rows.sort(key=lambda row: -row.hits)
    kept = rows[:_MAX_CHOICES]
    return len(left), kept + [row for row in rows[_MAX_CHOICES:] if row.name == asked.get(facet)]


def _short(name: str) -> str:
    return " ".join(visible(name)[0].split())[:_MAX_NAME_CHARACTERS]
