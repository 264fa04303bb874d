"""What changes whenever the same records would give another site. Imports nothing that makes pages."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from exporter.model.assumptions import Assumptions
    from exporter.site.options import SiteOptions

_PACKAGE: Final = Path(__file__).parent.parent
_PARTS: Final = ("model", "render", "search", "site")
"""The parts of this program whose code shows in pages."""
_SUFFIXES: Final = frozenset({".py", ".html", ".css", ".js", ".svg"})


def edition(assume: Assumptions, options: SiteOptions) -> str:
    """Return a text that changes with the options and with the program itself."""
    return f"{_program()} {assume.timezone} {options}"


@cache
def _program() -> str:
    digest = sha256()
    for part in _PARTS:
        for path in sorted((_PACKAGE / part).rglob("*")):
            if path.suffix in _SUFFIXES:
                digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
