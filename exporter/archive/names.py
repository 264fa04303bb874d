"""The names of a blog: ``names.jsonl`` in the root of its archive, with a line for each name after the first one.

A blog that is renamed, or that moves to another address, stays the same blog. ``archive.json`` keeps its first ID,
because every version seals it. The file may come from a stranger, so its names are checked, and no path is made from
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.frozen import frozen
from exporter.message import message
from exporter.service.declarations import BLOG_V1, PUBLIC_SITE, WORDPRESS
from exporter.setting_types import host_name

if TYPE_CHECKING:
    from exporter.archive.layout import Layout

BY_ADDRESS: Final = frozenset({PUBLIC_SITE.name, WORDPRESS.name})
"""The services whose base URL is the address of the blog itself."""
_MAX_NAMES: Final = 1000
_MAX_CHARACTERS: Final = 300
_NAME: Final = re.compile(
    r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?(?::[0-9]{1,5})?(?:/[^\s/?#\\\x00-\x1f\x7f]+)*", re.IGNORECASE
)


@frozen
class BlogName:
    """A line of ``names.jsonl``.

    Attributes:
        at: when the blog was first read by this name.
        blog_id: its ID: a host, with the folder of a blog that is in one.
        address: the address that it was read from; ``None`` for a blog that its service knows by the ID.
        service: the service that knows it by this name.
    """

    at: str
    blog_id: str
    address: str | None = None
    service: str = BLOG_V1.name

    def line(self) -> bytes:
        """Return the line with its line feed."""
        members = {"at": self.at, "blog_id": self.blog_id, "address": self.address, "service": self.service}
        return lossless_json.dumps(members) + b"\n"


def names_in(data: bytes) -> Iterator[tuple[int, BlogName | str]]:
    """Yield the number of each line of ``names.jsonl`` with its name, or with the reason why it has none."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1][:_MAX_NAMES], 1):
        try:
            yield number, _checked(lossless_json.loads(line))
        except lossless_json.NotJson:
            yield number, message("it is not the name of a blog")
        except ValueError as error:
            yield number, str(error)
    if len(lines) > _MAX_NAMES + 1:
        yield _MAX_NAMES + 1, message("it has more than {n:,} lines", n=_MAX_NAMES)
    elif lines[-1]:
        yield len(lines), message("its last line was cut short")


def _checked(value: Any) -> BlogName:
    members = value if isinstance(value, dict) else {}
    at, blog_id, address = (members.get(name) for name in ("at", "blog_id", "address"))
    service = members.get("service")
    if not (isinstance(at, str) and isinstance(service, str) and isinstance(blog_id, str)) or not _is_name(blog_id):
        raise ValueError(message("it is not the name of a blog"))
    if service == BLOG_V1.name:
        host_name(blog_id)
    if address is not None and (not isinstance(address, str) or name_at(address) is None):
        raise ValueError(message("it is not the name of a blog"))
    return BlogName(at, blog_id, address, service)


def _is_name(text: str) -> bool:
    return len(text) <= _MAX_CHARACTERS and _NAME.fullmatch(text) is not None and ".." not in text


def read_names(layout: Layout) -> list[BlogName]:
    """Return the names after the first one, oldest first. Damaged lines are skipped: ``verify`` names them."""
    with suppress(OSError):
        found = names_in(layout.names.read_bytes(MAX_DOCUMENT_BYTES))
        return [each for _, each in found if isinstance(each, BlogName)]
    return []


def add_name(layout: Layout, name: BlogName) -> None:
    """Append a name; the caller holds the lock."""
    with atomic.translated(layout.names):
        data = layout.names.read_bytes(MAX_DOCUMENT_BYTES) if layout.names.kind() is not None else b""
        whole = data if data.endswith(b"\n") or not data else data + b"\n"
        atomic.write_file(layout.names, whole + name.line())


def newest_id(layout: Layout, service: str | None = None) -> str | None:
    """Return the ID that a service knows the blog by, if it is not the first one.

    Args:
        layout: the archive, which need not exist.
        service: the service; ``None`` for the documented one.
    """
    wanted = service or BLOG_V1.name
    return next((each.blog_id for each in reversed(read_names(layout)) if each.service == wanted), None)


def later_ids(layout: Layout) -> tuple[str, ...]:
    """Return the IDs that the blog got later, oldest first, and the hosts and folders of its later addresses."""
    found: dict[str, None] = {}
    for each in read_names(layout):
        found[each.blog_id] = None
        place = None if each.address is None else name_at(each.address)
        if place is not None:
            found[place] = None
    return tuple(found)


def name_at(address: str) -> str | None:
    """Return host, port and folder of a web address, as the ID of the blog there; ``None`` for any other text."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or parts.hostname is None or "@" in parts.netloc:
        return None
    host = parts.hostname if port is None else f"{parts.hostname}:{port}"
    name = "/".join([host, *(part for part in parts.path.split("/") if part)])
    return name if _is_name(name) else None
