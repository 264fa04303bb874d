"""The user's settings file, ``blog-exporter.toml``: settings, ``[profiles.NAME]``, ``[blogs.NAME]`` and the token.

Only its shape is checked here: what a setting may be is the concern of :mod:`exporter.settings`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import platformdirs

from exporter.errors import UsageError
from exporter.message import message

CONFIG_VARIABLE: Final = "BLOG_EXPORTER_CONFIG"
FILE_NAME: Final = "blog-exporter.toml"
_EMPTY: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class BlogTable:
    """A ``[blogs.NAME]`` table: a blog, where its archive is, and the settings for it alone.

    Attributes:
        name: its name in the file.
        blog_id: the blog.
        archive: the archive's folder, absolute.
        settings: what else the table holds, by name.
    """

    name: str
    blog_id: str
    archive: Path
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a settings file holds; nothing where there is none.

    Attributes:
        path: the file.
        settings: the settings at its top, by name, not yet checked.
        profiles: the tables of profiles, by name.
        blogs: the tables of blogs, by name, in the order of the file.
        token: the access token.
    """

    path: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    blogs: Mapping[str, BlogTable] = field(default_factory=dict)
    token: str | None = field(default=None, repr=False)


def config_folder() -> Path:
    """Return the folder of the user's own configuration."""
    return Path(platformdirs.user_config_dir("blog-exporter", appauthor=False))


def own_config_path(config: Path | None = None, environment: Mapping[str, str] | None = None) -> Path:
    """Return where the settings file is, or would be: the one asked for, else the user's own."""
    named = (os.environ if environment is None else environment).get(CONFIG_VARIABLE)
    return config or (Path(named) if named else config_folder() / FILE_NAME)


def read_config(config: Path | None = None, environment: Mapping[str, str] | None = None) -> ConfigFile:
    """Read the settings file.

    Args:
        config: the file asked for; else that of the variable, else the user's own where there is one.
        environment: the environment; the process's own by default.

    Raises:
        UsageError: it cannot be read, or a table has not the shape of one.
    """
    known = os.environ if environment is None else environment
    path = own_config_path(config, known)
    asked_for = config is not None or bool(known.get(CONFIG_VARIABLE))
    if not asked_for and not path.is_file():
        return ConfigFile()
    import tomllib  # noqa: PLC0415 - most users have no such file

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise UsageError(
            message("The settings file {path} cannot be read: {reason}.", path=path, reason=reason)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            message("The settings file {path} is not valid TOML: {error}.", path=path, error=error)
        ) from error
    profiles = _tables(path, document, "profiles", "[profiles.mine]")
    blogs = {name: _blog(path, name, table) for name, table in _tables(path, document, "blogs", "[blogs.mine]").items()}
    _refuse_shared_archives(path, blogs)
    token = document.pop("token", None)
    if token is not None and not isinstance(token, str):
        raise UsageError(message("{path}: token must be text.", path=path))
    return ConfigFile(path, document, profiles, blogs, token)


def _tables(path: Path, document: dict[str, Any], name: str, example: str) -> dict[str, dict[str, Any]]:
    found = document.pop(name, _EMPTY)
    if not isinstance(found, Mapping) or not all(isinstance(table, dict) for table in found.values()):
        text = message(
            "{path}: {name} must hold a table for each, such as {example}.", path=path, name=name, example=example
        )
        raise UsageError(text)
    return dict(found)


def _blog(path: Path, name: str, table: dict[str, Any]) -> BlogTable:
    settings = dict(table)
    blog_id, archive = settings.pop("blog_id", None), settings.pop("archive", None)
    for key, value in (("blog_id", blog_id), ("archive", archive)):
        if not isinstance(value, str) or not value.strip():
            raise UsageError(message("{path}: [blogs.{name}] needs {key}, as text.", path=path, name=name, key=key))
    # Relative to the file, not to wherever a nightly job happens to start.
    place = path.absolute().parent / Path(str(archive)).expanduser()
    return BlogTable(name, str(blog_id), place, settings)


def _refuse_shared_archives(path: Path, blogs: Mapping[str, BlogTable]) -> None:
    seen: dict[Path, str] = {}
    for name, blog in blogs.items():
        place = blog.archive.resolve()
        if place in seen:
            text = message(
                "{path}: [blogs.{one}] and [blogs.{other}] have the same archive; give each its own.",
                path=path, one=seen[place], other=name,
            )  # fmt: skip
            raise UsageError(text)
        seen[place] = name
