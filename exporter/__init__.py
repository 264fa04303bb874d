"""blog-exporter: back up a whole blog into an archive from which nothing is ever lost.

The public API, described in docs/library.md. A name is imported when it is first used, so that ``import exporter``
costs nothing; ``__init__.pyi`` tells type checkers what each is.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Archive": "archive.archive",
    "Declared": "model.publication",
    "Engine": "http.engine",
    "ExportOptions": "export.interface",
    "Kind": "model.kinds",
    "Settings": "settings",
    "backup": "library.backup",
    "copy_site": "library.site_copy",
    "export_blog": "library.export",
    "open_service": "library.backup",
    "prune": "library.upkeep",
    "rebuild": "library.upkeep",
    "repair": "library.upkeep",
    "status": "library.status",
}
"""Every public name with the module that has it."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return ["__version__", *_HOMES]
