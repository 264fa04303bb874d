"""JSON as it is written: objects with repeated names, numbers as their digits; read, walked and written again. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

_DEEPEST: Final = 200


class NumberText(str):
    """A number as it is written, ``NaN`` and the infinities among them."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """The members of an object in their order, each as it came."""

    def get(self, name: str) -> Any:
        """Return the last member of a name; ``None`` where there is none."""
        return next((value for key, value in reversed(self) if key == name), None)


def read_tree(text: str) -> Any:
    """Read a JSON text; the inverse of :func:`write_tree` but for white space and the way characters are escaped.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        tree = json.loads(
            text,
            object_pairs_hook=Pairs,
            parse_int=NumberText,
            parse_float=NumberText,
            parse_constant=NumberText,
            strict=False,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _depth(tree) > _DEEPEST:
        raise ValueError("it is nested too deeply")
    return tree


def _depth(tree: Any) -> int:
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [
            inner
            for each in level
            if isinstance(each, list)
            for inner in ((value for _, value in each) if isinstance(each, Pairs) else each)
        ]
    return deepest


def write_tree(tree: Any) -> str:
    """Write it again, in ASCII."""
    if isinstance(tree, Pairs):
        return "{" + ",".join(f"{json.dumps(name)}:{write_tree(value)}" for name, value in tree) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(write_tree, tree)) + "]"
    return str(tree) if isinstance(tree, NumberText) else json.dumps(tree)


def is_strict(tree: Any) -> bool:
    """Tell whether every reader of JSON takes it: no numbers that are none."""
    return not any(isinstance(value, NumberText) and value.strip("-")[:1] in "IN" for value in values(tree))


def values(tree: Any) -> Iterator[Any]:
    """Yield every value that is neither an object nor an array."""
    if isinstance(tree, Pairs):
        for _, value in tree:
            yield from values(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from values(value)
    else:
        yield tree


def strings(tree: Any) -> Iterator[str]:
    """Yield every string, the names of members among them; numbers are none."""
    if isinstance(tree, Pairs):
        for name, value in tree:
            yield name
            yield from strings(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from strings(value)
    elif isinstance(tree, str) and not isinstance(tree, NumberText):
        yield tree
