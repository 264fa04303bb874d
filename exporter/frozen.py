"""The decorator of immutable classes that only hold values. Pure.

``@dataclass(frozen=True, slots=True)`` compiles six methods for each class. That was a quarter of the time in which a
backup starts, as it imports 150 such classes. Here only ``__init__`` is compiled, and all classes share the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import Field, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(Field, field))
def frozen(declared: type[T]) -> type[T]:
    """Make a dataclass with slots, whose instances are compared, hashed and shown by their fields.

    Type checkers refuse an assignment to a field. At run time nothing does, which makes instances cheaper, too.
    """
    made = dataclass(slots=True, repr=False, eq=False)(declared)
    known = fields(made)  # type: ignore[arg-type]  # it is a dataclass now
    shown = tuple(each.name for each in known if each.repr)
    compared = _values(tuple(each.name for each in known if each.compare))
    hashed = _values(tuple(each.name for each in known if (each.compare if each.hash is None else each.hash)))

    def equal(self: T, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: T) -> int:
        return hash(hashed(self))

    def text(self: T) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    for name, method in (("__eq__", equal), ("__hash__", hash_of), ("__repr__", text)):
        if name not in declared.__dict__ or declared.__dict__[name] is None:
            setattr(made, name, method)
    return made


def _values(names: tuple[str, ...]) -> Callable[[Any], Hashable]:
    """Return a function that returns the values of these attributes."""
    return attrgetter(*names) if names else lambda _: ()
