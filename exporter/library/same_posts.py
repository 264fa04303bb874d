"""The file in which a person corrects which posts of several blogs are the same."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from exporter.errors import UsageError
from exporter.frozen import frozen
from exporter.message import message, system_reason

_MAX_BYTES: Final = 16 << 20
_LISTS: Final = ("same", "different")


@frozen
class SamePosts:
    """Pairs of posts, each named by its address or as KEY/ID.

    Attributes:
        path: the file.
        same: those that are the same.
        different: those that are not.
    """

    path: Path = Path()
    same: tuple[tuple[str, str], ...] = ()
    different: tuple[tuple[str, str], ...] = ()


def read_same_posts(path: Path) -> SamePosts:
    """Read a TOML file with the lists ``same`` and ``different`` of pairs.

    Raises:
        UsageError: it cannot be read, or holds anything else.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UsageError("{path} is larger than 16 MB; split it.", path=path)
        document = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError("{path} cannot be read: {reason}.", path=path, reason=system_reason(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("{path} is not TOML: {reason}.", path=path, reason=error) from error
    unknown = next((name for name in document if name not in _LISTS), None)
    if unknown is not None:
        raise UsageError("{path}: there is no {name!r}; it may have same and different.", path=path, name=unknown)
    same, different = (_pairs(path, name, document.get(name, [])) for name in _LISTS)
    return SamePosts(path, same, different)


def _pairs(path: Path, name: str, value: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(value, list) and all(_is_pair(pair) for pair in value):
        return tuple((pair[0], pair[1]) for pair in value)
    shape = message('{name} = [["https://old.example/1", "https://new.example/one/"]]', name=name)
    raise UsageError("{path}: {name} must be a list of pairs of entries: {shape}.", path=path, name=name, shape=shape)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) and each for each in value)
