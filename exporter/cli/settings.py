"""Values as people write them: durations, sizes, offsets from UTC. Pure."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import platformdirs

from exporter.errors import UsageError
from exporter.model import assumptions
from exporter.model.assumptions import Assumptions

_DURATION = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[smhdw]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[KMGT]?)I?B?", re.IGNORECASE)
_BYTES = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})")
_HOST = re.compile(r"[^\s/:@?#\[\]]+")
_LONGEST = 100 * 365 * 86400


def duration(text: str) -> timedelta:
    """Read ``90``, ``90s``, ``30m``, ``24h``, ``7d`` or ``2w``; a bare number is seconds.

    Raises:
        ValueError: it is none of these.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError("a duration such as 90s, 30m, 24h or 7d is expected")
    seconds = float(found["amount"]) * _SECONDS[found["unit"]]
    if seconds > _LONGEST:
        raise ValueError("a duration of at most 100 years is expected")
    return timedelta(seconds=seconds)


def duration_text(value: timedelta) -> str:
    """Write a duration in the form :func:`duration` reads, in its largest whole unit."""
    seconds = int(value.total_seconds())
    unit = next((unit for unit in "dhm" if seconds and seconds % _SECONDS[unit] == 0), "s")
    return f"{seconds // _SECONDS[unit]}{unit}"


def size(text: str) -> int:
    """Read ``1000``, ``64MB`` or ``1.5G`` as bytes; units are decimal.

    Raises:
        ValueError: it is none of these.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError("a size such as 500KB, 64MB or 2GB is expected")
    return int(float(found["amount"]) * _BYTES[found["unit"].upper()])


def yes_or_no(text: str) -> bool:
    """Read ``yes``, ``no`` and what else people write for them.

    Raises:
        ValueError: it is none of these.
    """
    found = {"yes": True, "true": True, "1": True, "on": True, "no": False, "false": False, "0": False, "off": False}
    if text.strip().lower() not in found:
        raise ValueError("yes or no is expected")
    return found[text.strip().lower()]


def zone(text: str) -> tzinfo:
    """Read a name such as ``Asia/Tokyo``, ``UTC``, or an offset such as ``+09:00``.

    Raises:
        ValueError: it is none of these.
    """
    found = _OFFSET.fullmatch(text.strip())
    if found is not None:
        offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
        return timezone(offset if found["sign"] == "+" else -offset)
    try:
        return ZoneInfo(text.strip())
    except (KeyError, OSError, ValueError):
        raise ValueError("a time zone such as Asia/Tokyo or an offset such as +09:00 is expected") from None


def words(text: str) -> frozenset[str]:
    """Read values with commas between them.

    Raises:
        ValueError: there is none.
    """
    found = frozenset(word.strip() for word in text.split(",") if word.strip())
    if not found:
        raise ValueError("a value, or several with commas between them, is expected")
    return found


def hosts(text: str) -> frozenset[str]:
    """Read names of hosts with commas between them; none is fine.

    Raises:
        ValueError: one of them is an address, or no name at all.
    """
    found = frozenset(host.strip().rstrip(".").lower() for host in text.split(",") if host.strip())
    if any(not _HOST.fullmatch(host) for host in found):
        raise ValueError("names of hosts are expected, such as img.example.jp, with commas between them")
    return found


def flags(text: str) -> frozenset[str]:
    """Read ``t``, ``f`` or both, with a comma between them.

    Raises:
        ValueError: it is none of these.
    """
    found = words(text)
    if not found <= {"t", "f"}:
        raise ValueError("t, f or f,t is expected")
    return found


PREFIX = "BLOG_EXPORTER_"
FILE_NAME = "blog-exporter.toml"
_ELSEWHERE = {"TOKEN", "CONFIG"}
"""Variables that are no settings: the token comes from the environment or a file only, CONFIG names the file."""


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("some text is expected")
    return value


def _whole(smallest: int, largest: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            number = smallest - 1
        if not smallest <= number <= largest:
            raise ValueError(f"a whole number from {smallest} to {largest} is expected")
        return number

    return read


def _patience(value: str) -> timedelta:
    found = duration(value)
    if not found:
        raise ValueError("a duration longer than 0s is expected")
    return found


def _rate(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0.001 <= number <= 10_000:
        raise ValueError("requests per second, from 0.001 to 10000, are expected")
    return number


def _one_of(*names: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)} is expected{_nearest(value, names)}")
        return value

    return read


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: how its text is read, its default, and a line of help."""

    read: Callable[[str], Any]
    default: Any
    help: str


SETTINGS: dict[str, Setting] = {
    "base_url": Setting(_text, None, "address of the service's API"),
    "profile": Setting(_text, None, "known service, or one of the settings file's [profiles.NAME] tables"),
    "concurrency": Setting(_whole(1, 256), 8, "most requests at a time"),
    "rate": Setting(_rate, None, "most requests per second"),
    "retries": Setting(_whole(0, 100), 8, "how often a failed request is sent again"),
    "refresh": Setting(_one_of("all", "changed", "auto"), "all", "which entries are read again"),
    "max_age": Setting(duration, timedelta(days=7), "age at which refresh auto reads an entry again"),
    "connect_timeout": Setting(duration, timedelta(seconds=10), "longest wait for a connection"),
    "read_timeout": Setting(duration, timedelta(seconds=30), "longest silence in an answer"),
    "total_timeout": Setting(duration, timedelta(minutes=2), "longest request"),
    "max_body": Setting(size, 32 * 1024 * 1024, "largest answer, decompressed"),
    "give_up_after": Setting(_patience, timedelta(minutes=30), "end the run after so long without a good answer"),
    "resume_max_age": Setting(duration, timedelta(hours=24), "oldest interrupted run that is resumed"),
    "wait_lock": Setting(duration, timedelta(0), "how long to wait for another backup of the same archive"),
    "token_file": Setting(Path, None, "file that holds the access token"),
    "auth_header": Setting(_text, assumptions.AUTH_HEADER, "header that carries the token"),
    "auth_scheme": Setting(str, assumptions.AUTH_SCHEME, "word before the token"),
    "assets": Setting(_one_of("linked", "embedded", "files", "none"), "linked", "which pictures and files are read"),
    "file_url": Setting(_text, None, "address of an uploaded file, with fields of its record in braces"),
    "entry_url": Setting(_text, None, "address of an entry, with fields of its record in braces"),
    "max_asset_size": Setting(size, 100_000_000, "largest picture or file"),
    "archive_fallback": Setting(_text, None, "web archive to ask for lost pictures, an address with {url} in it"),
    "allow_private_network": Setting(yes_or_no, False, "let pictures be read from private addresses"),
    "skip_asset_hosts": Setting(hosts, None, "hosts whose pictures are left out, with commas between"),
    "strict_assets": Setting(yes_or_no, False, "call a backup with lost pictures incomplete"),
    "markdown": Setting(yes_or_no, True, "keep Markdown in latest/"),
    "site": Setting(yes_or_no, True, "keep the offline site in latest/"),
    "site_title": Setting(str, None, "what the site calls the blog"),
    "site_lang": Setting(_one_of("ja", "en"), None, "language of the site's interface"),
    "success_result": Setting(_text, assumptions.SUCCESS_RESULT, "the envelope's result that means success"),
    "entry_list_page_param": Setting(_text, assumptions.ENTRY_LIST_PAGE_PARAM, "page parameter of the entries"),
    "comment_list_page_param": Setting(_text, assumptions.COMMENT_LIST_PAGE_PARAM, "page parameter of the comments"),
    "file_list_page_param": Setting(_text, assumptions.FILE_LIST_PAGE_PARAM, "page parameter of the files"),
    "comment_page_size": Setting(_whole(1, 10_000), assumptions.COMMENT_PAGE_SIZE, "comments on a full page"),
    "file_page_size": Setting(_whole(1, 10_000), assumptions.FILE_PAGE_SIZE, "files on a full page"),
    "max_pages": Setting(_whole(1, 10_000_000), assumptions.MAX_PAGES, "most pages of a list that are believed"),
    "timezone": Setting(zone, assumptions.TIMEZONE, "time zone of the blog's dates"),
    "public_open_flg": Setting(words, None, "values of open_flg that mean published, such as 1 or 1,3"),
    "period_flg_public": Setting(yes_or_no, None, "whether entries with period_flg t are public too"),
    "visible_delete_flg": Setting(flags, None, "values of delete_flg that mean shown: f, t, or f,t"),
}  # fmt: skip

PROFILES: dict[str, dict[str, str]] = {
    "ninja": {
        "base_url": "https://api.shinobi.jp",
        "timezone": "Asia/Tokyo",
        "file_url": "https://blog.cnobi.jp/v1/blog/user/{user_id}/{mtime}",
        "entry_url": "https://{blog_id}/Entry/{entry_id}/",
    },
}
PROFILE_OF_DOMAIN = {".blog.shinobi.jp": "ninja"}


class Settings:
    """Resolved settings; ``settings["retries"]`` has the type its declaration gives it."""

    def __init__(self, resolved: Mapping[str, Any], config: Path | None, token: str | None) -> None:
        self._resolved = dict(resolved)
        self.config = config
        self.token = token

    def __getitem__(self, name: str) -> Any:
        return self._resolved[name]


def resolve(
    options: Mapping[str, Any],
    *,
    config: Path | None = None,
    blog_id: str = "",
    environ: Mapping[str, str] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Settings:
    """Join all sources.

    Args:
        options: what the command line gave; ``None`` where it gave nothing.
        config: the settings file asked for; the user's own is read when there is none.
        blog_id: picks a profile where nothing else does.
        environ: the environment, for tests.
        warn: is told a sentence about what is unwise.

    Raises:
        UsageError: a name or value that cannot be right, or a file that cannot be read.
    """
    environment = os.environ if environ is None else environ
    path = _config_path(config, environment)
    document = _document(path) if path is not None else {}
    profiles = {**PROFILES, **document.pop("profile_tables")} if document else dict(PROFILES)
    token = _token(environment, document, path, warn)
    sources: list[tuple[str, Mapping[str, Any]]] = [
        ("option --", {name: value for name, value in options.items() if value is not None}),
        (f"variable {PREFIX}", _variables(environment)),
        (f"{path}: ", document),
    ]
    profile = next((source["profile"] for _, source in sources if "profile" in source), _profile_of(blog_id))
    if profile is not None:
        if profile not in profiles:
            raise UsageError(f"There is no profile {profile!r}{_nearest(str(profile), profiles)}.")
        sources.append((f"profile {profile}: ", profiles[profile]))
    resolved: dict[str, Any] = {name: setting.default for name, setting in SETTINGS.items()}
    for origin, source in reversed(sources):
        for name, value in source.items():
            resolved[name] = _read(origin, name, value)
    if token is None and resolved["token_file"] is not None:
        token = _token_from_file(resolved["token_file"], warn)
    return Settings(resolved, path, token)


def _read(origin: str, name: str, value: Any) -> Any:
    shown = name.upper() if origin.startswith("variable") else name
    shown = shown.replace("_", "-") if origin.startswith("option") else shown
    setting = SETTINGS.get(name)
    if setting is None:
        raise UsageError(f"{origin}{shown} is no setting{_nearest(name, SETTINGS)}.")
    if not isinstance(value, str | int | float):
        raise UsageError(f"{origin}{shown} must be text, a number, true or false.")
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    try:
        return setting.read(text)
    except ValueError as error:
        raise UsageError(f"{origin}{shown} is {text!r}: {error}.") from error


def _nearest(name: str, among: Mapping[str, Any] | tuple[str, ...]) -> str:
    found = get_close_matches(name, list(among), 1)
    return f" (did you mean {found[0]}?)" if found else ""


def _profile_of(blog_id: str) -> str | None:
    return next((profile for domain, profile in PROFILE_OF_DOMAIN.items() if blog_id.endswith(domain)), None)


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in _ELSEWHERE
    }


def _config_path(config: Path | None, environment: Mapping[str, str]) -> Path | None:
    named = config or (Path(environment[PREFIX + "CONFIG"]) if environment.get(PREFIX + "CONFIG") else None)
    if named is not None:
        return named
    own = Path(platformdirs.user_config_dir("blog-exporter", appauthor=False)) / FILE_NAME
    return own if own.is_file() else None


def _document(path: Path) -> dict[str, Any]:
    """Read a settings file; its ``[profiles.NAME]`` tables come back as ``profile_tables``."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"The settings file {path} cannot be read: {os.strerror(error.errno or 0)}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"The settings file {path} is not right: {error}.") from error
    tables: dict[str, Any] = {}
    if "profiles" in document:
        tables = document.pop("profiles")
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            raise UsageError(f"{path}: profiles must hold a table for each profile, such as [profiles.mine].")
    return {**document, "profile_tables": tables}


def _token(
    environment: Mapping[str, str], document: dict[str, Any], path: Path | None, warn: Callable[[str], None]
) -> str | None:
    in_file = document.pop("token", None)
    if in_file is not None and path is not None:
        _warn_if_readable(path, warn)
    found = environment.get(PREFIX + "TOKEN") or in_file
    if found is not None and not isinstance(found, str):
        raise UsageError(f"{path}: token must be text.")
    return found.strip() if found else None


def _token_from_file(path: Path, warn: Callable[[str], None]) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The token file {path} cannot be read: check token_file.") from error
    _warn_if_readable(path, warn)
    return token


def _warn_if_readable(path: Path, warn: Callable[[str], None]) -> None:
    if os.name != "nt" and path.stat().st_mode & 0o077:
        warn(f"{path} holds a token and others can read it: chmod 600 {path}")


def assumptions_of(settings: Settings) -> Assumptions:
    """Return the assumptions with what the settings override."""
    return Assumptions(**{name: settings[name] for name in Assumptions.__slots__})
