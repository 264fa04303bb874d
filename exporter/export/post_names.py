"""Names of categories, tags and writers as every export has them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.html.text import collapse
from exporter.text import REPLACEMENT, visible

if TYPE_CHECKING:
    from exporter.model.records import Post


def held_name(name: str) -> str:
    """Return a name on one line; all those of nothing but characters that XML or a text file cannot hold are U+FFFD.

    Otherwise each target would clean such a name in its own way, some to an empty one, which importers drop.
    """
    line = collapse(name)
    is_lost = line and not visible(line)[0].strip(f" {REPLACEMENT}\ufffe\uffff")
    return REPLACEMENT if is_lost else line


def tags_of(post: Post) -> tuple[str, ...]:
    """Return the tags without duplicates."""
    return tuple(dict.fromkeys(filter(None, map(held_name, post.tags))))


def replaced_names(post: Post) -> int:
    """Count the names that :func:`held_name` replaces."""
    of_categories = (name for category in post.categories for name in (category.name, *category.parents))
    names = (*(of_categories if post.categories else [post.category or ""]), *post.tags, post.author)
    return sum(held_name(name) != collapse(name) for name in names)
