"""The owner's declarations about a blog's flags: ``declared.jsonl`` in the root of its archive, a line for each.

A declaration is about the values that the archive had at that time; it says nothing about a value that came later. The
file may come from a stranger, so every line is checked. It decides only about the archive that it is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.message import message

if TYPE_CHECKING:
    from exporter.archive.layout import Layout


@frozen
class FlagDeclaration:
    """A line of ``declared.jsonl``; FORMAT.md describes the members, which are in its order.

    Attributes:
        at: when it was declared.
        service: the service whose flags it is about.
        settings: the declared values, as settings have them.
        seen: the values that the archive had then, by the name of their flag.
    """

    at: str
    service: str
    settings: Mapping[str, str]
    seen: Mapping[str, tuple[str, ...]]

    def line(self) -> bytes:
        """Return the line with its line feed."""
        members = {"at": self.at, "service": self.service, "settings": dict(self.settings)}
        return (
            lossless_json.dumps({**members, "seen": {flag: list(values) for flag, values in self.seen.items()}}) + b"\n"
        )


def read_declarations(layout: Layout, service: str) -> list[FlagDeclaration]:
    """Return the declarations about a service's flags, oldest first.

    Raises:
        ArchiveDamaged: the file cannot be read, or a line of it is no declaration.
    """
    return [declaration for declaration in _in(layout, _bytes_of(layout)) if declaration.service == service]


def add_declaration(layout: Layout, declaration: FlagDeclaration) -> None:
    """Append a declaration; the caller holds the lock.

    Raises:
        ArchiveDamaged: the file is damaged.
        BlogExporterError: it cannot be written.
    """
    data = _bytes_of(layout)
    _in(layout, data)
    path = layout.declared
    with atomic.translated(path):
        atomic.write_file(path, data + declaration.line())


def damaged_declaration(layout: Layout, fault: str) -> ArchiveDamaged:
    """Return the error for declarations that cannot be used."""
    return ArchiveDamaged(
        "{path} is damaged: {fault}. It says which entries are public: restore it from another copy of the archive, or "
        "remove it and declare them again.",
        path=layout.declared,
        fault=fault,
    )


def _bytes_of(layout: Layout) -> bytes:
    path = layout.declared
    try:
        return path.read_bytes(MAX_DOCUMENT_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise atomic.translate(error, path) from error


def declarations_in(data: bytes) -> Iterator[tuple[int, FlagDeclaration | str]]:
    """Yield each line's number, from 1, and its declaration, or a sentence if it is damaged."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            declaration = _parsed(lossless_json.loads(line))
        except lossless_json.NotJson:
            declaration = None
        yield number, declaration or message("it is no declaration about flags")
    if lines[-1]:
        yield len(lines), message("its last line was cut short")


def _in(layout: Layout, data: bytes) -> list[FlagDeclaration]:
    found = []
    for number, declaration in declarations_in(data):
        if isinstance(declaration, str):
            raise damaged_declaration(layout, message("line {n}: {fault}", n=number, fault=declaration))
        found.append(declaration)
    return found


def _parsed(value: Any) -> FlagDeclaration | None:
    """Return a parsed line as a declaration, or ``None``; unknown members are ignored."""
    members = value if isinstance(value, dict) else {}
    at, service, settings, seen = (members.get(name) for name in ("at", "service", "settings", "seen"))
    if not isinstance(at, str) or not isinstance(service, str):
        return None
    if not isinstance(settings, dict) or not all(isinstance(text, str) for text in settings.values()):
        return None
    if not isinstance(seen, dict) or not all(map(_is_values, seen.values())):
        return None
    return FlagDeclaration(at, service, settings, {flag: tuple(values) for flag, values in seen.items()})


def _is_values(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
