"""What a blog service asks for and what comes back: the plain things that services and HTTP exchange. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Request(NamedTuple):
    """One operation to be asked for.

    Attributes:
        operation: its name for messages.
        path: with a slash at its beginning.
        params: its query.
        headers: its own, beside those of all requests.
        method: anything but ``GET`` changes what is there, and is never sent where a redirect leads.
        content: what is sent with it.
        final: statuses that are no passing failure of this operation, though they are of others.
    """

    operation: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    method: str = "GET"
    content: bytes | None = None
    final: frozenset[int] = frozenset()


@dataclass(slots=True)
class Response:
    """An answer read to its end.

    Attributes:
        status: the HTTP status.
        headers: by lower-case name; of a repeated header the last.
        body: the decompressed bytes; of an answer that is no success perhaps only the first of them.
        objects: the bytes of memory that its JSON may take once parsed.
        advice: what whoever is not authorised can do; empty where nothing is known of it.
        token_header: the header that carried the token; empty if none was sent, or in another way.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    objects: int = 96 * 1024 * 1024
    advice: str = ""
    token_header: str = ""
