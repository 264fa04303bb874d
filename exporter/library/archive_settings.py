"""The settings to read an archive with: its table in the settings file counts, and what it remembers of its views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from exporter.archive.settings_file import read_archive_settings
from exporter.config_file import BlogTable, read_config
from exporter.errors import BlogExporterError
from exporter.settings import Remembered, Settings, resolve

_OF_VIEWS: Final = frozenset({"entry_url", "markdown", "site", "site_lang", "site_title", "timezone"})


def settings_to_read_with(
    root: Path,
    blog_id: str,
    options: Mapping[str, str | None],
    config: Path | None,
    warn: Callable[[str], None] = lambda _: None,
) -> Settings:
    """Return the settings for reading an archive.

    A settings file in the archive that cannot be used keeps nobody from reading; it is warned about.

    Args:
        root: the archive's folder.
        blog_id: its blog.
        options: what the command line gave; ``None`` where it gave nothing.
        config: the settings file asked for; the user's own is read when there is none.
        warn: called with a sentence about what is unwise.

    Raises:
        UsageError: a setting cannot be right.
    """
    table = table_of(root, blog_id, read_config(config).blogs)
    remembered = None
    try:
        kept = read_archive_settings(root)
        remembered = Remembered(kept.path, {name: kept.values[name] for name in _OF_VIEWS & kept.values.keys()})
    except BlogExporterError as error:
        warn(str(error))
    name = None if table is None else table.name
    return resolve(options, config=config, blog_id=blog_id, blog=name, remembered=remembered, warn=warn)


def table_of(root: Path, blog_id: str, blogs: Mapping[str, BlogTable]) -> BlogTable | None:
    """Return the table of the settings file that is about the blog and its archive at ``root``."""
    place = root.resolve()
    fitting = (table for table in blogs.values() if table.blog_id == blog_id and table.archive.resolve() == place)
    return next(fitting, None)
