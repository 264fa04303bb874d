"""blog-exporter: back up a whole blog into an archive from which nothing is ever lost.

The public API, described in docs/library.md. A name is imported when it is first used, so that ``import exporter``
costs nothing; ``__init__.pyi`` tells type checkers what each is. No name is that of a package of this folder, because
Python replaces such a name when it imports the package.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, str | tuple[str, str]] = {
    "Archive": ("library.export", "ExportableArchive"),
    "Backup": "library.backup",
    "BackupEvent": "library.backup",
    "CaptureEvent": "capture.events",
    "CaptureOutcome": "capture.outcome",
    "Compared": "library.compare",
    "Declared": "model.publication",
    "Engine": "http.engine",
    "ExportOptions": "export.interface",
    "Exported": "library.export",
    "Kind": "model.kinds",
    "Moved": "library.move",
    "OpenService": "library.backup",
    "Outcome": "crawl.outcome",
    "SearchResult": "search.index",
    "Settings": "settings",
    "Status": "library.status",
    "SyncResult": "copies.transfer",
    "backup": "library.backup",
    "backup_blog": "library.backup_blog",
    "capture_blog": "library.capture",
    "compare_blog": "library.compare",
    "copy_site": "library.export",
    "discover": "source.discovery",
    "export_blog": "library.export",
    "find_export_files": "source.export_files",
    "move_blog": "library.move",
    "open_backup": "library.backup_blog",
    "open_service": "library.backup",
    "prune": "library.views",
    "rebuild": "library.views",
    "repair": "library.views",
    "search_blog": "library.search",
    "status": "library.status",
    "sync": "library.sync",
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
