"""Steps from an older format of the archive to the current one.

A step is pure: documents and lines in, documents and lines out. :mod:`exporter.archive.migrations.apply` reads
and writes. A new format adds one module here with one step, and one entry to ``STEPS``; formats from
``layout.FORMAT_MINIMUM`` on are read as they are, so a migration is never forced on an archive that can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from exporter.archive.layout import FORMAT_VERSION
from exporter.errors import NewerFormat
from exporter.model.kinds import Kind

Document = Mapping[str, Any]


class Step(Protocol):
    """From one format to the next."""

    @property
    def source(self) -> int:
        """The format it reads; it writes the next number."""

    @property
    def summary(self) -> str:
        """What changes, in one line for people."""

    def check(self, info: Document, manifests: Sequence[Document]) -> list[str]:
        """Say why this archive cannot be migrated, each reason in one line; nothing when it can."""

    def info(self, document: Document) -> dict[str, Any]:
        """Return the new ``archive.json``; ``format_version`` is set by the caller."""

    def manifest(self, document: Document) -> dict[str, Any]:
        """Return the new manifest; ``format_version``, ``parent`` and ``files`` are set by the caller."""

    def line(self, kind: Kind, line: bytes) -> bytes:
        """Return the new line, with its line feed."""


STEPS: tuple[Step, ...] = ()
"""All steps, oldest first. There is only format 1 yet."""


def steps_from(version: int, steps: Sequence[Step] = STEPS, target: int = FORMAT_VERSION) -> tuple[Step, ...]:
    """Return the steps that lead from a format to the target, in order; none when it is there.

    Raises:
        NewerFormat: the format is newer than the target.
        LookupError: a step is missing, which is a defect of the program.
    """
    if version > target:
        raise NewerFormat(f"Format {version} is newer than {target}: install a newer blog-exporter.")
    by_source = {step.source: step for step in steps}
    return tuple(by_source[number] for number in range(version, target))
