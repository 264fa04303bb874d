"""The blog that a command line names: its ID, its archive and its settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.cli.blog_names import (
    archive_named,
    folder_by_later_name,
    is_web_address,
    nearest_name,
    reason_for_address,
)
from exporter.cli.language import adopt
from exporter.cli.options import given_settings
from exporter.cli.output import Output
from exporter.errors import BlogExporterError, NoArchive, UsageError
from exporter.frozen import frozen
from exporter.message import listed, message, suggested
from exporter.setting_sources import option_name
from exporter.settings import BlogTable, Remembered, Settings, own_config_path, read_config, resolve

if TYPE_CHECKING:
    from exporter.archive.settings_file import ArchiveSettings


def require_blog_id(text: str) -> None:
    """Check that a text can be the ID of a blog and the name of a folder.

    Raises:
        NoArchive: the text is the path of a missing folder.
        UsageError: the text is anything else.
    """
    is_address = is_web_address(text)
    if text and not is_address and not text.startswith((".", "~")) and not any(mark in text for mark in "/\\:\0"):
        return
    shown = repr(text)
    if not text or "\0" in text:
        raise UsageError("{text} is not a blog ID such as NAME.blog.example.jp.", text=shown)
    if _OTHER_SCHEME.match(text):
        raise UsageError(
            "{text} is not a folder, and a backup needs one. To restore a copy from there: {command}",
            text=shown,
            command=suggested("sync", text, "DIR"),
        )
    if is_address or not _is_like_a_path(text):
        raise UsageError(reason_for_address(text))
    path = Path(text)
    if path.is_dir():
        raise UsageError(
            "{folder} is a folder without an archive: name the blog itself, such as NAME.blog.example.jp.", folder=shown
        )
    if path.exists():
        raise UsageError("{path} is a file: name the folder of an archive, or a blog ID.", path=shown)
    raise NoArchive(
        "The folder {path} does not exist. If it is on another disk, connect that disk first. To begin a new "
        "archive there: {command}",
        path=shown,
        command=suggested("backup", "NAME.blog.example.jp", "--archive", path),
    )


def _is_like_a_path(text: str) -> bool:
    return any(mark in text for mark in "/\\") or text.startswith((".", "~"))


_OTHER_SCHEME: Final = re.compile(r"(?!h?ttps?:|feed:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_FULL_ID: Final = re.compile(r"[^/\\:]+\.[^/\\:]+\.[^/\\:]+")
_BACKUP: Final = "backup"
_OF_A_SERVICE: Final = frozenset({"base_url", "profile", "account"})
"""The options of commands about a service, such as ``login``."""


@frozen
class BlogTarget:
    """A blog, as the user named it.

    Attributes:
        blog_id: the blog.
        root: its archive, which may not exist yet.
        settings: its settings.
        table: its table in the settings file, if it has one.
        notice: a sentence about an unknown service, or about settings in the archive that may not be used.
        label: the name of its table with the path of the settings file; ``None`` without a table.
    """

    blog_id: str
    root: Path
    settings: Settings
    table: BlogTable | None
    notice: str | None
    label: str | None = None


def find_target(
    words: str,
    options: Mapping[str, Any],
    *,
    found: Mapping[str, Any] | None = None,
    archive: Path | None = None,
    config: Path | None = None,
    command: str = _BACKUP,
    new: bool = True,
    warn: Callable[[str], None] = lambda _: None,
) -> BlogTarget:
    """Find the blog that the user named.

    Args:
        words: a blog's name in the settings (``[blogs.NAME]``), an archive's folder, or a blog ID.
        options: the command line's options; ``None`` means not given. Only settings are used.
        found: the settings that an explored address implies.
        archive: the archive's folder, if it was named in addition to a blog ID.
        config: the settings file named on the command line.
        command: the command to suggest if the archive proposes settings that no run of this user's wrote.
        new: whether the command may continue if a known archive is missing.
        warn: called with warnings.

    Raises:
        UsageError: the words name no blog, or a setting is invalid.
        NoArchive: the words name a missing folder, or a known archive is missing.
    """
    from exporter.archive.settings_file import read_archive_settings, require_archive_if_known, table_of

    given = given_settings(options)
    blogs = read_config(config).blogs
    if archive is None and is_web_address(words):
        with suppress(NoArchive):
            words = str(archive_named(words, config))
    table = blogs.get(words) if archive is None else None
    if table is not None:
        root, by_folder = table.archive, True
        blog_id = _first_of(root, table.blog_id) or table.blog_id
    else:
        if archive is None and _has_no_folder(words):
            words = str(folder_by_later_name(words) or words)
        named = _blog_in(words) if archive is None else _first_of(archive, words)
        blog_id, root, by_folder = named or words, archive or Path(words), archive is None and named is not None
        if by_folder:
            table = table_of(root, blog_id, blogs)
        elif archive is None:
            if words and "\0" not in words and not new:
                require_archive_if_known(root)
            require_blog_id(words)
    kept = read_archive_settings(root) if by_folder else None
    remembered = None if kept is None else Remembered(kept.path, kept.values)
    name = None if table is None else table.name
    how: dict[str, Any] = {"remembered": remembered, "service": _service_of(root), "found": found, "warn": warn}
    settings = adopt(resolve(given, config=config, blog_id=blog_id, blog=name, **how))
    if not by_folder and archive is None and settings.base_url is None and "." not in words:
        near = nearest_name(words, config)
        if near is not None:
            raise UsageError("There is no blog named {words}. Did you mean {name}?", words=words, name=near)
    notice = None if kept is None else _notice(root, kept, settings, command)
    label = None if name is None else f"{name} ({own_config_path(config).absolute()})"
    return BlogTarget(blog_id, root, settings, table, notice, label)


def named_archive(words: str, archive: Path | None, config: Path | None) -> Path:
    """Return the archive's folder for ``backup``, as far as known before the settings are read."""
    if archive is not None:
        return archive
    try:
        table = read_config(config).blogs.get(words)
    except BlogExporterError:
        table = None
    return Path(words.replace("\0", "")) if table is None else table.archive


def remember_options(target: BlogTarget, given: Mapping[str, Any], out: Output) -> Path | None:
    """Keep the options of a backup in its archive; return the file if it changed.

    A file that cannot be written only causes a warning, since the backup is done.
    """
    from exporter.archive.settings_file import FILE_NAME, OF_ONE_RUN, is_kept, remember

    table = {} if target.table is None else target.table.settings
    chosen = given_settings(given)
    settings, owner = target.settings, {}
    if (settings.token or settings.token_command) and settings.token_for and {"base_url", "profile"} & chosen.keys():
        owner = {"token_for": ",".join(settings.token_for)}
    try:
        news = remember(target.root, {**table, **owner, **chosen})
    except BlogExporterError as error:
        out.warn("The settings could not be remembered. {reason}", reason=error)
        return None
    left = (name for name, value in chosen.items() if not is_kept(name, value) and name not in OF_ONE_RUN)
    options = listed(map(option_name, left))
    if news and options:
        out.say("An archive does not remember {options}: add this to your settings file.", options=options)
    return target.root / FILE_NAME if news else None


def _blog_in(words: str) -> str | None:
    """Return the blog of the archive in a folder; ``None`` if the words are a blog ID."""
    from exporter.archive.archive import Archive
    from exporter.archive.reader import ids_at

    if not words or "\0" in words or not Path(words).is_dir() or not Archive.exists(Path(words)):
        return None
    try:
        blog_id = Archive.open(Path(words)).info.blog_id
    except BlogExporterError:
        if _FULL_ID.fullmatch(words):
            return None
        raise
    # A full ID names the blog; a folder of that name with another blog in it is a mistake.
    return None if _FULL_ID.fullmatch(words) and words not in ids_at(Path(words)) and words != blog_id else blog_id


def _has_no_folder(words: str) -> bool:
    """Return whether words may be the ID of a blog whose archive is not in the folder of this name."""
    return "." in words and not _is_like_a_path(words) and "\0" not in words and not Path(words).exists()


def _first_of(root: Path, words: str) -> str | None:
    """Return the first ID of the archive's blog if the words are one of its IDs."""
    from exporter.archive.reader import ids_at

    ids = ids_at(root)
    return ids[0] if words in ids else None


def _service_of(root: Path) -> str | None:
    """Return the type of service that the archive at ``root`` names; ``None`` without a readable archive."""
    from exporter.archive.layout import Layout
    from exporter.archive.reader import read_info

    try:
        return None if "\0" in str(root) else read_info(Layout(root)).service
    except BlogExporterError:
        return None


def _notice(root: Path, kept: ArchiveSettings, settings: Settings, command: str) -> str | None:
    """Return a notice of an unknown service, or of another user's settings that nothing else decides."""
    from exporter.archive.settings_file import NEVER_PROPOSED, option_words, proposed_settings, unknown_service

    unknown = unknown_service(root)
    if unknown is not None:
        return unknown
    proposed = proposed_settings(kept, settings)
    if not proposed:
        return None
    allowed = proposed.keys() - NEVER_PROPOSED if command == _BACKUP else proposed.keys() & _OF_A_SERVICE
    words = [word for name in sorted(allowed) for word in option_words(name, proposed[name])]
    facts = {
        "path": kept.path,
        "names": listed(f"{name} = {value!r}" for name, value in proposed.items()),
        "command": suggested(command, root, *words),
    }
    if "token_file" in proposed and command == _BACKUP:
        return message(
            "{path} says {names}, but no backup of yours wrote that, so it is not used. "
            "Only if you trust it, name the token's file yourself with --token-file, or set "
            "BLOG_EXPORTER_TOKEN, and type once: {command}",
            **facts,
        )
    return message(
        "{path} says {names}, but no backup of yours wrote that, so it is not used. "
        "Only if you trust it, type once: {command}",
        **facts,
    )
