"""What a blog service asks for and what comes back: the plain things that services and HTTP exchange. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Request(NamedTuple):
    """One operation to be asked for: its name for messages, its path, its query and its own headers."""

    operation: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(slots=True)
class Response:
    """An answer read to its end.

    Attributes:
        status: the HTTP status.
        headers: by lower-case name; of a repeated header the last.
        body: the decompressed bytes; of an answer that is no success perhaps only the first of them.
        objects: the bytes of memory that its JSON may take once parsed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    objects: int = 96 * 1024 * 1024
