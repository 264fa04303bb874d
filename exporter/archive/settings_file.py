"""``settings.toml`` in an archive, and the notes about archives in the user's configuration folder.

``settings.toml`` has the options of earlier backups, so that the folder alone is enough to run one. An archive
may come from a stranger. So settings that only concern the archive's content always count. Settings with an address or
a token file count only if a run of this user wrote them. To prove that, ``archives.json`` in the user's configuration
folder has the hash of this very file. The hash must be noted for the archive's place, or for the same ``archive.json``
at another place, from which the archive was moved or copied. Secrets are never written here, and no setting here starts
a program.

``known-archives.json`` lists the archives that this user's backups wrote. An unplugged disk leaves an empty mount
point, or no folder. A backup there would succeed and hide that the archive is missing. So a missing archive is an
error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from exporter.archive import atomic
from exporter.archive.latest import read_record
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.reader import ArchiveReader, ids_at, is_archive, read_info
from exporter.archive.safe_files import InnerPath
from exporter.clock import SystemClock
from exporter.errors import BlogExporterError, NoArchive, UsageError
from exporter.frozen import frozen
from exporter.message import message, said, system_reason
from exporter.service.declarations import DECLARATIONS
from exporter.service.registry import SERVICE_OPTIONS
from exporter.setting_sources import Origin, option_name
from exporter.setting_types import setting_text
from exporter.settings import (
    SETTINGS,
    BlogTable,
    Remembered,
    Settings,
    check_setting,
    config_folder,
    read_config,
    resolve,
)
from exporter.text import printable

_LOCK_SECONDS: Final = 30.0


class PrivateNotes:
    """One JSON object in the configuration folder that maps the absolute paths of archives to notes.

    Args:
        name: the name of the file.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self) -> dict[str, Any]:
        """Return all notes by place.

        Raises:
            UsageError: the file cannot be read, or does not hold an object.
        """
        path = config_folder() / self._name
        try:
            document = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError("{path} cannot be read ({error}); repair or remove it.", path=path, error=error) from error
        if not isinstance(document, dict):
            raise UsageError("{path} must hold one JSON object; repair or remove it.", path=path)
        return document

    def write(self, place: str, note: Any) -> None:
        """Set the note of a place, if it is another one. Runs that end at the same time wait for one another.

        Raises:
            UsageError: the file cannot be read or written.
            ArchiveLocked: another run has been writing it for half a minute.
        """
        if self.read().get(place) == note:
            return
        path = config_folder() / self._name
        with ArchiveLock(path.with_name(f".{self._name}.lock")) as lock:
            lock.acquire(SystemClock().now(), _LOCK_SECONDS)
            text = json.dumps({**self.read(), place: note}, ensure_ascii=False, indent=2, sort_keys=True)
            with atomic.translated(path):
                atomic.write_file(path, f"{text}\n".encode())


def place_of(root: Path) -> str:
    """Return the key for an archive in the notes: its absolute path with links resolved."""
    return str(root.resolve())


_KNOWN: Final = PrivateNotes("known-archives.json")


def note_archive(root: Path, label: str | None = None, name: str | None = None) -> None:
    """Note that an archive exists at ``root``.

    A failure to write is ignored: the backup itself is done, and the next one tries again.

    Args:
        root: the archive.
        label: the name of its table in the settings file, if it has one.
        name: an ID by which this user's command has found its blog at the service. Other names in the archive may be
            false.
    """
    with suppress(BlogExporterError):
        place, identity = place_of(root), identity_of(root)
        before = _KNOWN.read().get(place)
        is_same = isinstance(before, dict) and before.get("identity") == identity
        names = {*(_names_noted(before) if is_same else ()), *filter(None, [name])}
        note = {"label": label, "identity": identity}
        _KNOWN.write(place, {**note, "names": sorted(names)} if names else note)


def _names_noted(note: Any) -> list[str]:
    names = note.get("names") if isinstance(note, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def noted_names(root: Path) -> list[str]:
    """Return the IDs by which this user's commands have found the blog of an archive, beyond its first one.

    Raises:
        UsageError: the notes cannot be read.
    """
    return _names_noted(_KNOWN.read().get(place_of(root)))


@frozen
class NotedArchive:
    """An archive that this user's backups wrote.

    Attributes:
        place: its absolute path at that time, with links resolved.
        identity: what :func:`identity_of` returned there; empty if unknown.
    """

    place: Path
    identity: str


def noted_archives() -> list[NotedArchive]:
    """Return the archives that this user's backups wrote, in the order of their places.

    Raises:
        UsageError: the notes cannot be read.
    """
    found = {
        place: str(note.get("identity") or "") if isinstance(note, dict) else ""
        for place, note in _KNOWN.read().items()
    }
    for place, note in _CONFIRMATIONS.read().items():
        if place in found and not found[place]:
            found[place] = str(note).partition(" ")[2]
    return [NotedArchive(Path(place), identity) for place, identity in sorted(found.items())]


def known_archives() -> list[Path]:
    """Return the folders of the archives that this user's backups wrote; some may be missing now.

    Raises:
        UsageError: the notes cannot be read.
    """
    return [Path(place) for place in sorted(_KNOWN.read())]


def require_archive_if_known(root: Path, label: str | None = None) -> None:
    """Refuse to begin a new archive if one was known at this place, or for the same table of the settings file.

    Raises:
        NoArchive: a known archive is missing.
        UsageError: the notes cannot be read.
    """
    if is_archive(Layout(root)):
        return
    known = _KNOWN.read()
    place = place_of(root)
    if place not in known:
        place = next((each for each, note in known.items() if label is not None and _label(note) == label), "")
    if not place:
        return
    if place == place_of(root):
        raise NoArchive(
            "The archive in {path} is missing, though an earlier backup wrote it there. Connect its disk, or bring "
            "the folder back. To begin a new archive there, add --new.",
            path=root,
        )
    raise NoArchive(
        "The archive of {name} was in {before}, and {path} has none. Move the folder, or correct the setting "
        "archive. To begin a new archive in {path}, add --new.",
        name=label,
        before=place,
        path=root,
    )


def require_fleet_if_known(root: Path, *, exists: bool) -> None:
    """Refuse to begin a new fleet in a folder in which an earlier run kept one.

    Raises:
        NoArchive: a fleet was known there, and does not exist.
        UsageError: the notes cannot be read.
    """
    if not exists and place_of(root) in _KNOWN.read():
        raise NoArchive(
            "The fleet in {path} is missing, though an earlier run saved it there. Connect its disk, or bring the "
            "folder back. To begin a new fleet there, add --new.",
            path=root,
        )


def _label(note: Any) -> Any:
    return note.get("label") if isinstance(note, dict) else None


FILE_NAME: Final = "settings.toml"
_CONFIRMATIONS: Final = PrivateNotes("archives.json")
HARMLESS: Final = frozenset(
    {
        "assets", "capture", "capture_max_pages", "capture_max_size", "capture_max_time", "closing", "concurrency",
        "connect_timeout", "give_up_after", "markdown", "max_age", "max_asset_size", "rate", "read_timeout", "refresh",
        "remind_after", "resume_max_age", "retries", "site", "site_lang", "site_title", "strict_assets",
        "timezone", "total_timeout", "wait_lock", "warc",
    }
)  # fmt: skip
"""Settings that always count."""
CONFIRMED: Final = frozenset(
    {
        "account", "allow_private_network", "archive_fallback", "auth", "base_url", "entry_url", "file_url", "home_url",
        "operator", "profile", "seal", "seal_key", "service", "skip_asset_hosts", "token_file", "token_for", "tsa",
        "tsa_root", "user", "user_agent", *SERVICE_OPTIONS,
    }
)  # fmt: skip
"""Settings that count only in a file that a run of this user wrote. All others are never stored."""
OF_ONE_RUN: Final = frozenset({"wait_lock"})
"""Settings of the scheduled run only. Earlier programs stored them, and then a person's backup waited for an hour."""
_OF_VIEWS: Final = frozenset({"entry_url", "markdown", "site", "site_lang", "site_title", "timezone"})
_OF_SEALS: Final = frozenset({"seal_key", "tsa", "tsa_root"})
_FILES: Final = frozenset({"seal_key", "token_file", "tsa_root"})
"""Settings that name a file; a later backup may start in another folder."""
_MAX_FILE_BYTES: Final = 64 * 1024
_MAX_TITLE_CHARACTERS: Final = 500
_MAY_HOLD_A_SECRET: Final = re.compile(r"://[^/]*@|[?#]")
_HEAD: Final = """\
# The options of the last backups of this blog. blog-exporter reads them when the archive's folder is all that is named.
# It holds no secret and can be deleted.
"""


@frozen
class ArchiveSettings:
    """The settings stored in an archive.

    Attributes:
        path: the file, which may be missing.
        values: the settings to use, by name.
        unconfirmed: settings that no run of this user wrote, which must not be used.
    """

    path: Path
    values: Mapping[str, Any] = field(default_factory=dict)
    unconfirmed: Mapping[str, Any] = field(default_factory=dict)


def read_archive_settings(root: Path) -> ArchiveSettings:
    """Read the settings stored in the archive at ``root``; empty without the file.

    Raises:
        UsageError: the file is a link or no file, is too large or no TOML, or has settings that are never stored.
    """
    path = Layout(root).root / FILE_NAME
    data = _bytes_of(path)
    if data is None:
        return ArchiveSettings(path)
    import tomllib  # noqa: PLC0415 - not each archive has such a file

    try:
        found = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else message("it is nested too deeply")
        raise _unusable(path, reason) from None
    wrong = next(_wrong_settings(found), None)
    if wrong is not None:
        unknown = unknown_service(root)
        raise _unusable(path, wrong) if unknown is None else UsageError(unknown)
    found = {name: value for name, value in found.items() if name not in OF_ONE_RUN}
    if _is_confirmed(root, data):
        return ArchiveSettings(path, found)
    return ArchiveSettings(path, _only(found, HARMLESS), _only(found, CONFIRMED))


def _wrong_settings(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the settings in an archive's file."""
    for name, value in found.items():
        if name not in HARMLESS | CONFIRMED:
            yield message("{name} is not a setting that an archive stores", name=name)
            continue
        try:
            check_setting(name, value)
        except ValueError as error:
            yield message("{name} is {value}: {expected}", name=name, value=repr(value), expected=error)


def unknown_service(root: Path) -> str | None:
    """Return a sentence about the service of the archive at ``root`` if this version does not know it."""
    name: str | None = None
    with suppress(BlogExporterError):
        name = read_info(Layout(root)).service
    if name is None or name in DECLARATIONS:
        return None
    return message(
        "The archive in {path} is of the blog service {name}, which this version does not know. It can be read, "
        "exported and synced. To back up, upgrade the program.",
        path=root,
        name=repr(printable(name, 60)),
    )


NEVER_PROPOSED: Final = frozenset({"token_file", "token_for"})
"""The settings that no archive may make a user type."""
_ON: Final = frozenset({"yes", "true", "1", "on"})


def proposed_settings(kept: ArchiveSettings, settings: Settings) -> dict[str, str]:
    """Return the settings that another user wrote into an archive and that nothing else decides, as text."""
    undecided = {Origin.PROFILE, Origin.DEFAULT}
    return {name: str(value) for name, value in kept.unconfirmed.items() if settings.sources[name].origin in undecided}


def option_words(name: str, value: str) -> list[str]:
    """Return the arguments that give a setting this value."""
    if SETTINGS[name].default == "no":
        return [option_name(name)] if value.lower() in _ON else []
    return [f"{option_name(name)}={value}"] if value.startswith("-") else [option_name(name), value]


def kept_title(root: Path) -> str:
    """Return the title that the owner chose in an earlier backup; empty if the archive remembers none."""
    title: Any = None
    with suppress(BlogExporterError):
        title = read_archive_settings(root).values.get("site_title")
    title = title or read_record(Layout(root)).get("options", {}).get("site_title", "")
    return " ".join(str(title).split())[:_MAX_TITLE_CHARACTERS]


def remember(root: Path, given: Mapping[str, Any], without: Collection[str] = ()) -> bool:
    """Store settings in the archive at ``root`` in addition to its usable ones, and confirm the file as the user's.

    Settings that may hold a secret, or are never stored, are skipped. Those in ``without`` are removed.

    Returns:
        whether the file changed.

    Raises:
        UsageError: a file is invalid, or may not be written.
    """
    kept = {name: _written(name, value) for name, value in given.items() if is_kept(name, value)}
    if not kept and not without:
        with contextlib.suppress(BlogExporterError):  # the next backup tries again
            _renew_note(root)
        return False
    path = Layout(root).root / FILE_NAME
    before = {name: setting_text(value) for name, value in read_archive_settings(root).values.items()}
    values = {name: value for name, value in {**before, **kept}.items() if name in kept or name not in without}
    data = (_HEAD + "".join(f"{name} = {quoted(values[name])}\n" for name in sorted(values))).encode()
    note = _note(root, data)
    news = _bytes_of(path) != data
    if news:
        with atomic.translated(path):
            atomic.write_file(path, data)
    _CONFIRMATIONS.write(place_of(root), note)
    return news


def _renew_note(root: Path) -> None:
    """Note the new place if the archive moved, and its identity if an earlier program did not."""
    data = _bytes_of(Layout(root).root / FILE_NAME)
    if data is None or not _is_confirmed(root, data):
        return
    _CONFIRMATIONS.write(place_of(root), _note(root, data))


def _note(root: Path, data: bytes) -> str:
    return f"{_digest(data)} {identity_of(root)}".rstrip()


def _is_confirmed(root: Path, data: bytes) -> bool:
    """Return whether a run of this user wrote these bytes, for this place or for this archive at another place."""
    known, digest = _CONFIRMATIONS.read(), _digest(data)
    if str(known.get(place_of(root))).partition(" ")[0] == digest:
        return True
    identity = identity_of(root)
    return bool(identity) and f"{digest} {identity}" in known.values()


def identity_of(root: Path) -> str:
    """Return the hash of ``archive.json``, which no other archive has; empty if it cannot be read."""
    try:
        return _digest(Layout(root).info.read_bytes(_MAX_FILE_BYTES))
    except OSError:
        return ""


def is_kept(name: str, value: Any) -> bool:
    """Return whether a setting with this value may be stored."""
    if name not in (HARMLESS | CONFIRMED) - OF_ONE_RUN:
        return False
    text = setting_text(value)
    return _is_writable(text) and not (name in CONFIRMED and _MAY_HOLD_A_SECRET.search(text))


def quoted(text: str) -> str:
    """Write a text as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _only(found: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name in names}


def _bytes_of(path: InnerPath) -> bytes | None:
    try:
        return path.read_bytes(_MAX_FILE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, system_reason(error)) from error


def _unusable(path: Path, reason: str) -> UsageError:
    return UsageError(
        "{path} cannot be used: {reason}; remove it, and give the settings as options.", path=path, reason=reason
    )


def _is_writable(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _written(name: str, value: Any) -> str:
    text = setting_text(value)
    return str(Path(text).absolute()) if name in _FILES else text


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def settings_to_read_with(
    archive: ArchiveReader,
    options: Mapping[str, str | None],
    config: Path | None,
    warn: Callable[[str], None] = lambda _: None,
) -> Settings:
    """Return the settings for reading an archive: with its table of the user's settings file, and some of its own.

    Its own settings about views and seals count. If its settings file cannot be used, this warns and goes on.

    Args:
        archive: the archive.
        options: the options of the command line; ``None`` for those not given.
        config: the settings file to read in place of the user's own.
        warn: called with a sentence about each problem.

    Raises:
        UsageError: a setting is invalid.
    """
    root, info = archive.layout.root, archive.info
    table = table_of(root, info.blog_id, read_config(config).blogs)
    remembered = None
    try:
        kept = read_archive_settings(root)
        remembered = Remembered(
            kept.path, {name: kept.values[name] for name in (_OF_VIEWS | _OF_SEALS) & kept.values.keys()}
        )
    except BlogExporterError as error:
        warn(said(error))
    name = None if table is None else table.name
    return resolve(
        options,
        config=config,
        blog_id=info.blog_id,
        blog=name,
        remembered=remembered,
        service=info.service,
        warn=warn,
    )


def table_of(root: Path, blog_id: str, blogs: Mapping[str, BlogTable]) -> BlogTable | None:
    """Return the table of the user's settings file for this blog and this archive, or ``None``."""
    place = root.resolve()
    ids = {blog_id, *ids_at(root)}
    fitting = (table for table in blogs.values() if table.blog_id in ids and table.archive.resolve() == place)
    return next(fitting, None)
