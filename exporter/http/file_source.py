"""The interface of a file that a backup reads instead of a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol


class FileSource(Protocol):
    """A source on this machine, which a client reads instead of a service."""

    @property
    def originals(self) -> Mapping[str, Path]:
        """The files to keep as they are, by the addresses of their asset records."""

    @property
    def losses(self) -> Sequence[str]:
        """Sentences about content that could not be read."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about parts that fit no rule and are kept."""

    @property
    def evidence(self) -> Mapping[str, Any]:
        """The proof that a record is absent, for its tombstone."""

    def prepare(self, folder: Path, check: Callable[[], None], archived: Any, /) -> None:
        """Read the source; temporary files go into ``folder``, and ``check`` may raise to stop.

        ``archived`` has the archive's newest records, whose ids the same records keep.
        """

    def close(self) -> None:
        """Delete the temporary files."""
