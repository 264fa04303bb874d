"""``settings.toml`` in an archive: the options of its backups, so that naming the archive's folder is enough.

An archive may come from a stranger. Settings that only say what is kept count whoever wrote them; those that say where
something is read from, or which file holds the token, count only if ``archives.json`` in the user's configuration
folder has the hash of this very file, so that a run of this user's wrote it. The hash must be noted for the archive's
place, or for the same ``archive.json`` at another place, from which somebody moved or copied the archive. No secret is
ever written here, and nothing here starts a program.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from exporter.archive import atomic
from exporter.archive.layout import Layout
from exporter.archive.private_notes import PrivateNotes, place_of
from exporter.archive.safe_files import InnerPath
from exporter.errors import BlogExporterError, UsageError
from exporter.message import message
from exporter.service.registry import SERVICE_OPTIONS
from exporter.setting_types import setting_text
from exporter.settings import check_setting

FILE_NAME: Final = "settings.toml"
_CONFIRMATIONS: Final = PrivateNotes("archives.json")
HARMLESS: Final = frozenset(
    {
        "assets", "closing", "concurrency", "connect_timeout", "give_up_after", "markdown", "max_age",
        "max_asset_size", "rate", "read_timeout", "refresh", "remind_after", "resume_max_age", "retries", "site",
        "site_lang", "site_title", "strict_assets", "timezone", "total_timeout", "wait_lock",
    }
)  # fmt: skip
"""Settings that count whoever wrote them."""
CONFIRMED: Final = frozenset(
    {
        "account", "allow_private_network", "archive_fallback", "base_url", "entry_url", "file_url", "profile",
        "skip_asset_hosts", "token_file", *SERVICE_OPTIONS,
    }
)  # fmt: skip
"""Settings that count only in a file that a run of this user's wrote. All others are never remembered."""
OF_ONE_RUN: Final = frozenset({"wait_lock"})
"""Settings of the scheduled run only. Earlier programs kept them, and then a person's backup waited for an hour."""
_LARGEST: Final = 64 * 1024
_MAY_HOLD_A_SECRET: Final = re.compile(r"://[^/]*@|[?#]")
_HEAD: Final = """\
# The options of the last backups of this blog. blog-exporter reads them when the archive's folder is all that is named.
# It holds no secret and can be deleted.
"""


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """What an archive remembers.

    Attributes:
        path: the file, which need not be there.
        values: what may be used, by the settings' names.
        unconfirmed: what no run of this user's wrote, and is not to be used.
    """

    path: Path
    values: Mapping[str, Any] = field(default_factory=dict)
    unconfirmed: Mapping[str, Any] = field(default_factory=dict)


def read_archive_settings(root: Path) -> ArchiveSettings:
    """Read what the archive at ``root`` remembers; nothing where it has no such file.

    Raises:
        UsageError: the file is a link or no file, is too large or no TOML, or holds what no archive remembers.
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
    strange = next((name for name in found if name not in HARMLESS | CONFIRMED), None)
    if strange is not None:
        raise _unusable(path, message("{name} is nothing that an archive remembers", name=strange))
    for name, value in found.items():
        try:
            check_setting(name, value)
        except ValueError as error:
            raise _unusable(
                path, message("{name} is {value}: {expected}", name=name, value=repr(value), expected=error)
            ) from None
    found = {name: value for name, value in found.items() if name not in OF_ONE_RUN}
    if _is_confirmed(root, data):
        return ArchiveSettings(path, found)
    return ArchiveSettings(path, _only(found, HARMLESS), _only(found, CONFIRMED))


def remember(root: Path, given: Mapping[str, Any]) -> bool:
    """Have the archive at ``root`` remember settings beside those that it may use, and confirm the file as the user's.

    What may hold a secret, or is not to be remembered at all, is passed over.

    Returns:
        whether anything was written: not where nothing is given, and not where all was known.

    Raises:
        UsageError: a file is not as it should be, or may not be written.
    """
    kept = {name: _written(name, value) for name, value in given.items() if is_kept(name, value)}
    if not kept:
        with contextlib.suppress(BlogExporterError):  # nothing was asked for, and the next backup tries again
            _renew_note(root)
        return False
    path = Layout(root).root / FILE_NAME
    values = {**{name: setting_text(value) for name, value in read_archive_settings(root).values.items()}, **kept}
    data = (_HEAD + "".join(f"{name} = {quoted(values[name])}\n" for name in sorted(values))).encode()
    note = _note(root, data)
    news = _bytes_of(path) != data
    if news:
        with atomic.translated(path):
            atomic.write_file(path, data)
    if _CONFIRMATIONS.read().get(place_of(root)) != note:
        _CONFIRMATIONS.write(place_of(root), note)
    return news


def _renew_note(root: Path) -> None:
    """Note the place of an archive that moved, and the identity of one that an earlier program noted."""
    data = _bytes_of(Layout(root).root / FILE_NAME)
    if data is None or not _is_confirmed(root, data):
        return
    note = _note(root, data)
    if _CONFIRMATIONS.read().get(place_of(root)) != note:
        _CONFIRMATIONS.write(place_of(root), note)


def _note(root: Path, data: bytes) -> str:
    return " ".join((_digest(data), *_identity(root)))


def _is_confirmed(root: Path, data: bytes) -> bool:
    """Tell whether a run of this user's wrote these bytes, for this place or for this archive at another place."""
    known, digest = _CONFIRMATIONS.read(), _digest(data)
    if str(known.get(place_of(root))).partition(" ")[0] == digest:
        return True
    return any(f"{digest} {identity}" in known.values() for identity in _identity(root))


def _identity(root: Path) -> list[str]:
    """Return the hash of ``archive.json``, which no other archive has; nothing if it is missing or cannot be read."""
    try:
        return [_digest(Layout(root).info.read_bytes(_LARGEST))]
    except OSError:
        return []


def is_kept(name: str, value: Any) -> bool:
    """Tell whether a setting of this value may be remembered."""
    if name not in (HARMLESS | CONFIRMED) - OF_ONE_RUN:
        return False
    text = setting_text(value)
    return _is_writable(text) and not (name in CONFIRMED and _MAY_HOLD_A_SECRET.search(text))


def quoted(text: str) -> str:
    """Write a text as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _only(found: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found}


def _bytes_of(path: InnerPath) -> bytes | None:
    try:
        return path.read_bytes(_LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error


def _unusable(path: Path, reason: str) -> UsageError:
    return UsageError(
        message(
            "{path} cannot be used: {reason}; remove it, and give the settings as options.", path=path, reason=reason
        )
    )


def _is_writable(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _written(name: str, value: Any) -> str:
    text = setting_text(value)
    return str(Path(text).absolute()) if name == "token_file" else text


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
