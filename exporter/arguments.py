"""Check the values that a Python program passes to the public API, by their declared types; refuse others.

The command line only has texts, and readers check them (:mod:`exporter.setting_types`). A program has values of any
type. Without a check here a wrong one fails much later, or silently means something else.
"""

from __future__ import annotations

import builtins
import inspect
import os
from collections.abc import Callable
from dataclasses import fields
from datetime import date, datetime, timedelta, tzinfo
from functools import cache, wraps
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Final, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from exporter.errors import UsageError
from exporter.message import listed, message
from exporter.text import printable

P = ParamSpec("P")
R = TypeVar("R")

_SHOWN_CHARACTERS: Final = 100
_EXAMPLES: Final[dict[Any, str]] = {
    timedelta: "datetime.timedelta(seconds=30)",
    tzinfo: 'zoneinfo.ZoneInfo("Asia/Tokyo")',
    date: "datetime.date(2026, 12, 31)",
}
_UNIONS: Final = {Union, UnionType}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function check its arguments by their annotations. What :func:`fitted` returns replaces each of them."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        signature, hints = _signature(function)
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            hint = hints.get(name, Any)
            if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {each: argument(each, found, hint) for each, found in value.items()}
            else:
                bound.arguments[name] = argument(name, value, hint)
        return function(*bound.args, **bound.kwargs)

    return call


def fit_fields(instance: Any) -> None:
    """Check a dataclass' fields by their annotations, for ``__post_init__``.

    Raises:
        UsageError: a field has another type.
    """
    hints = _field_types(instance.__class__)
    for each in fields(instance):
        replace_field(instance, each.name, argument(each.name, getattr(instance, each.name), hints[each.name]))


def replace_field(instance: Any, name: str, value: Any) -> None:
    """Set an immutable dataclass' field, for ``__post_init__``."""
    if value is not getattr(instance, name):
        object.__setattr__(instance, name, value)


def argument(name: str, value: Any, hint: Any) -> Any:
    """Return :func:`fitted`; an error names the argument.

    Raises:
        UsageError: the value has another type.
    """
    try:
        return fitted(value, hint)
    except ValueError as error:
        raise wrong(name, value, error) from None


def wrong(name: str, value: Any, reason: ValueError, *, secret: bool = False) -> UsageError:
    """Return the error about an argument. It shows the value, or only the type of a secret."""
    try:
        text = type(value).__name__ if secret else printable(repr(value), _SHOWN_CHARACTERS)
    except Exception:  # noqa: BLE001 - the program's own class cannot show itself
        text = type(value).__name__
    return UsageError("{place} is {text}: {error}.", place=name, text=text, error=reason)


def fitted(value: Any, hint: Any) -> Any:
    """Return a value as its type has it: a text as a path, a set as a frozen set, a list as a tuple.

    A subclass fits, but ``bool`` is no number and ``datetime`` is no day. A whole number fits ``float``.

    Raises:
        ValueError: the value has another type.
    """
    kind = get_origin(hint) or hint
    if kind in _UNIONS:
        options = get_args(hint)
        if isinstance(value, str) and str in options and Path in options:
            fitted(value, Path)
            return value  # it may be an address, and a path would lose one of its slashes
        for each in options:
            try:
                return fitted(value, each)
            except ValueError:
                continue
        raise _unfit(value, hint)
    if kind in {frozenset, tuple}:
        return _collected(value, kind, hint)
    if not _fits(value, kind, hint):
        raise _unfit(value, hint)
    return Path(value) if kind is Path and not isinstance(value, Path) else value


def _collected(value: Any, kind: Any, hint: Any) -> Any:
    if not isinstance(value, set | frozenset if kind is frozenset else tuple | list):
        raise _unfit(value, hint)
    each_type = (get_args(hint) or (Any,))[0]
    return kind(fitted(each, each_type) for each in value)


def _fits(value: Any, kind: Any, hint: Any) -> bool:
    if kind is Literal:
        return any(value == each and isinstance(value, type(each)) for each in get_args(hint))
    if kind is Callable:
        return callable(value) and not _is_never_awaited(value, hint)
    if kind is Path:
        return isinstance(value, str | Path) and _is_path(str(value))
    if kind is Any or isinstance(kind, TypeVar) or getattr(kind, "_is_protocol", False):
        return True
    if (isinstance(value, bool) and kind is not bool) or (isinstance(value, datetime) and kind is date):
        return False
    return isinstance(value, int | float if kind is float else kind)


def _is_path(text: str) -> bool:
    try:
        return bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half of a character
        return False


def _is_never_awaited(value: Any, hint: Any) -> bool:
    """Return whether a function is asynchronous where its result is dropped: its body would never run."""
    return inspect.iscoroutinefunction(value) and (get_args(hint) or (None, Any))[-1] in {None, NoneType}


def _unfit(value: Any, hint: Any) -> ValueError:
    if callable(value) and (get_origin(hint) or hint) is Callable:
        return ValueError(message("a function without async is expected"))
    options = get_args(hint) if (get_origin(hint) or hint) in _UNIONS else (hint,)
    for each in options:
        if get_origin(each) is Literal:
            return ValueError(message("one of {names} is expected", names=listed(map(str, get_args(each)))))
        if get_origin(each) is frozenset and isinstance(value, str | list | tuple):
            texts = [text.strip() for text in value.split(",")] if isinstance(value, str) else value
            suggested = "frozenset({" + ", ".join(map(repr, texts)) + "})"
            return ValueError(message("a set is expected, such as {example}", example=printable(suggested, 200)))
    if isinstance(value, str) and Path in options:
        return ValueError(message("the path of a file or folder is expected"))
    names = " | ".join(map(_type_name, options))
    example = next((_EXAMPLES[each] for each in options if each in _EXAMPLES), None)
    if example is not None:
        return ValueError(message("the type {name} is expected, such as {example}", name=names, example=example))
    return ValueError(message("the type {name} is expected", name=names))


def _type_name(hint: Any) -> str:
    if hint is NoneType:
        return "None"
    if not isinstance(hint, type) or get_origin(hint) is not None:
        return str(hint).replace("collections.abc.", "")
    return hint.__qualname__ if hint.__module__ == "builtins" else f"{hint.__module__}.{hint.__qualname__}"


class _Names(dict[str, Any]):
    """The names of a module. One that only type checkers import fits every value."""

    def __missing__(self, name: str) -> Any:
        return Any


@cache
def _signature(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    declared: Any = inspect.unwrap(function)
    names = _Names(vars(builtins) | declared.__globals__)
    stated = {name: hint for name, hint in declared.__annotations__.items() if name != "return"}
    return inspect.signature(declared), get_type_hints(SimpleNamespace(__annotations__=stated), localns=names)


@cache
def _field_types(declared: Any) -> dict[str, Any]:
    return get_type_hints(declared)
