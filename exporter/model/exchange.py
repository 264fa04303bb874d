"""Requests and responses, which services and the HTTP client exchange. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from exporter.model.kinds import Kind


class Request(NamedTuple):
    """A request for one operation.

    Attributes:
        operation: its name for messages.
        path: begins with a slash.
        params: the query.
        headers: in addition to those of all requests.
        method: the HTTP method; only ``GET`` follows redirects.
        content: the body.
        final: statuses that are not retried for this operation, although they are for others.
        query: the encoded query as it is sent, in place of ``params``.
    """

    operation: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    method: str = "GET"
    content: bytes | None = None
    final: frozenset[int] = frozenset()
    query: str = ""


@dataclass(slots=True)
class Response:
    """A complete answer.

    Attributes:
        status: the HTTP status.
        headers: by lower-case name; the last of repeated headers.
        body: the decompressed bytes; of an error perhaps only the first of them.
        objects: the bytes of memory that its parsed JSON may take.
        advice: the steps for an unauthorised user; empty if unknown.
        token_header: the header with the token; empty if no header had one.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    objects: int = 96 * 1024 * 1024
    advice: str = ""
    token_header: str = ""


class HeldRecord(NamedTuple):
    """A record in an answer.

    Attributes:
        kind: its kind.
        id: its id; empty if it has none.
        identity: the hash of its content; ``None`` if the answer does not show it.
    """

    kind: Kind
    id: str
    identity: bytes | None


class Held(NamedTuple):
    """The content of an answer.

    Attributes:
        records: its records.
        closed: whether it also has content for the signed-in user alone.
    """

    records: tuple[HeldRecord, ...] = ()
    closed: bool = False
