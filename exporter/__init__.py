"""blog-exporter: back up a whole blog into an archive from which nothing is ever lost.

The public API, described in docs/library.md. A name is imported when it is first used, so that ``import exporter``
costs nothing; ``__init__.pyi`` tells type checkers what each is.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, str | tuple[str, str]] = {
    "Archive": ("library.export", "ExportableArchive"),
    "Declared": "model.publication",
    "Engine": "http.engine",
    "ExportOptions": "export.interface",
    "Kind": "model.kinds",
    "Settings": "settings",
    "backup": "library.backup",
    "copy_site": "library.export",
    "discover": "source.discovery",
    "export_blog": "library.export",
    "find_export_files": "source.export_files",
    "open_service": "library.backup",
    "prune": "library.views",
    "rebuild": "library.views",
    "repair": "library.views",
    "status": "library.status",
}
"""Every public name with its module, and its name in the module if it differs."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    module, known_as = (home, name) if isinstance(home, str) else home
    return getattr(import_module(f"{__name__}.{module}"), known_as)


def __dir__() -> list[str]:
    return ["__version__", *_HOMES]
