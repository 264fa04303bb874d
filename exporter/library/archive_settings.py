"""The settings for reading an archive: its table in the settings file, and the settings of views that it stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive.settings_file import read_archive_settings
from exporter.errors import BlogExporterError
from exporter.settings import BlogTable, Remembered, Settings, read_config, resolve

if TYPE_CHECKING:
    from exporter.archive.archive import Archive

_OF_VIEWS: Final = frozenset({"entry_url", "markdown", "site", "site_lang", "site_title", "timezone"})


def settings_to_read_with(
    archive: Archive,
    options: Mapping[str, str | None],
    config: Path | None,
    warn: Callable[[str], None] = lambda _: None,
) -> Settings:
    """Return the settings for reading an archive.

    An unusable settings file in the archive is a warning, not an error.

    Args:
        archive: the archive.
        options: the options of the command line, ``None`` for each that was not given.
        config: the settings file to read; the user's own by default.
        warn: called with a sentence for each problem.

    Raises:
        UsageError: a setting has an invalid value.
    """
    root, info = archive.path, archive.info
    blog_id = info.blog_id
    table = table_of(root, blog_id, read_config(config).blogs)
    remembered = None
    try:
        kept = read_archive_settings(root)
        remembered = Remembered(kept.path, {name: kept.values[name] for name in _OF_VIEWS & kept.values.keys()})
    except BlogExporterError as error:
        warn(str(error))
    name = None if table is None else table.name
    return resolve(
        options, config=config, blog_id=blog_id, blog=name, remembered=remembered, service=info.service, warn=warn
    )


def table_of(root: Path, blog_id: str, blogs: Mapping[str, BlogTable]) -> BlogTable | None:
    """Return the table of the settings file for the blog and its archive at ``root``."""
    place = root.resolve()
    fitting = (table for table in blogs.values() if table.blog_id == blog_id and table.archive.resolve() == place)
    return next(fitting, None)
