"""The planned categories and tags, with their names, parents and slugs in WordPress. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from exporter import lossless_json
from exporter.export.importer_rules import nicename, nicenames, term_name
from exporter.export.names import NAME_BYTES
from exporter.export.posts import ExportPost
from exporter.html.text import collapse
from exporter.model.records import Post, PostKind

Path = tuple[str, ...]
"""A category's name after those of its parents, the outermost first."""

_NAMING: Final = re.compile(r"[a-z0-9%]")


@dataclass(frozen=True, slots=True)
class PlannedTerm:
    """A category or tag.

    Attributes:
        name: its name.
        html: the name as HTML, as WordPress stores it.
        slug: its name in addresses.
        path: for a category of a service that has parents; else empty, and its name alone identifies it.
    """

    name: str
    html: str
    slug: str
    path: Path = ()

    @property
    def words(self) -> str:
        """Its name after those of its parents, for reports."""
        return " / ".join(self.path) or self.name

    @property
    def key(self) -> str:
        """Its path as JSON, for the map."""
        return lossless_json.dumps(list(self.path)).decode()


def paths_of(post: ExportPost) -> tuple[Path, ...]:
    """Return a post's categories, each once. WordPress has no categories for pages."""
    record = post.record
    if record.kind is PostKind.PAGE:
        return ()
    if not record.categories:
        return ((post.category,),) if post.category else ()
    named = (tuple(filter(None, map(collapse, (*each.parents, each.name)))) for each in record.categories)
    return tuple(dict.fromkeys(path for path in named if path))


def tags_of(post: ExportPost) -> tuple[str, ...]:
    """Return a post's tags, each once. WordPress has no tags for pages."""
    if post.record.kind is PostKind.PAGE:
        return ()
    return tuple(dict.fromkeys(filter(None, map(collapse, post.record.tags))))


def slugs_of(post: Post) -> Iterator[tuple[Path, str]]:
    """Yield the slugs that a service states for the categories of an entry."""
    for each in post.categories:
        if each.slug:
            yield tuple(filter(None, map(collapse, (*each.parents, each.name)))), unquote(each.slug)


def planned_categories(
    plain: Iterable[str], paths: Iterable[Path], slugs: Mapping[Path, str]
) -> dict[Path, PlannedTerm]:
    """Return the categories by their paths, each after the one above it.

    Args:
        plain: the categories of a service without parents.
        paths: those of a service with parents.
        slugs: the slugs that the service states.
    """
    found: dict[Path, PlannedTerm] = {(name,): _term(name, slug) for name, slug in nicenames(plain).items()}
    every = dict.fromkeys(path[:depth] for path in paths for depth in range(1, len(path) + 1))
    taken = {each.slug for each in found.values()}
    for path in every:
        if path not in found:
            found[path] = _term(path[-1], _free(slugs.get(path, path[-1]), taken), path)
    return found


def planned_tags(names: Iterable[str]) -> dict[str, PlannedTerm]:
    """Return tags by their names."""
    return {name: _term(name, slug) for name, slug in nicenames(names).items()}


def _term(name: str, slug: str, path: Path = ()) -> PlannedTerm:
    return PlannedTerm(name, term_name(name), slug, path)


def _free(name: str, taken: set[str]) -> str:
    """Return a slug for a name that no other category has, and add it to ``taken``."""
    base = name if _NAMING.search(nicename(name)) else "category"
    wanted, number = nicename(base), 1
    while wanted in taken:
        number += 1
        wanted = f"{nicename(base, NAME_BYTES - len(str(number)) - 1)}-{number}"
    taken.add(wanted)
    return wanted
