"""The offline site: its options, and the inputs of its pages apart from the records."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.frozen import frozen

if TYPE_CHECKING:
    from exporter.service.interface import Records

NAME: Final = "site"
"""The view's folder."""


@frozen
class SiteOptions:
    """The owner's choices.

    Attributes:
        title: the site's name for the blog; by default the blog's id.
        language: the interface language, ``ja`` or ``en``.
        assets: from the site's folder to the one that holds ``assets/``, with a slash at its end, or empty.
        public: whether the site will be published; then it has no history, no raw records, and nothing about the
            archive.
        entry_addresses: how the blog's own addresses are made from an entry's record, see
            :class:`~exporter.html.links.AddressPattern`.
    """

    title: str = ""
    language: str = "ja"
    assets: str = "../../"
    public: bool = False
    entry_addresses: tuple[str, ...] = ()


_PACKAGE: Final = Path(__file__).parent.parent
_PARTS: Final = ("html", "model", "search", "service", "site")
"""The parts of this program whose code affects pages, in addition to ``text.py``."""
_SUFFIXES: Final = frozenset({".py", ".html", ".css", ".js", ".svg"})


def edition(service: Records, options: SiteOptions) -> str:
    """Return a text that changes with the options and with the program itself."""
    return f"{_program()} {service.name} {service.timezone} {options}{'' if has_pillow() else ' without thumbnails'}"


def has_pillow() -> bool:
    """Return whether Pillow is installed, which makes thumbnails; the extra ``site`` asks for it."""
    return find_spec("PIL") is not None


@cache
def _program() -> str:
    digest = sha256()
    for path in (_PACKAGE / "text.py", *(path for part in _PARTS for path in sorted((_PACKAGE / part).rglob("*")))):
        if path.suffix in _SUFFIXES:
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
