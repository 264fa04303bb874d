"""Every setting with its reader, default and line of help, and how options, variables, files and profiles are joined.

A value is looked for in this order: option, ``BLOG_EXPORTER_*`` variable, the blog's table in the settings file, the
settings file, what the archive remembers, profile, default. All of them are text that the setting's reader checks, so
that every source is checked alike. The readers raise :class:`ValueError`
with what is expected.
"""

# ruff: noqa: RUF009 - what the fields' defaults call returns fields
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, timedelta, timezone, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

from exporter.config_file import ConfigFile, read_config
from exporter.errors import UsageError
from exporter.message import Message, listed, message
from exporter.profiles import PROFILES, Profile, own_profile, profile_for

T = TypeVar("T")


def shared_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return those variables that another machine needs to read archives as this one does."""
    kept = {f"{PREFIX}{name.upper()}" for name in _KEPT_HERE}
    names = (f"{PREFIX}{name.upper()}" for name in (*variables(environment), "config"))
    return {name: environment[name] for name in names if name in environment and name not in kept}


PREFIX: Final = "BLOG_EXPORTER_"
_KEPT_HERE: Final = ("token", "client_secret", "new_home_token", "token_command", "on_failure", "ping_url")
_NOT_SETTINGS: Final = {"TOKEN", "NEW_HOME_TOKEN", "CLIENT_SECRET", "CONFIG"} | {
    "EVENT", "EXIT_CODE", "BLOG", "ARCHIVE", "MESSAGE",
}  # fmt: skip
"""Variables of their own: secrets come from the environment or a file only, CONFIG names the file, and the others are
what a command of ``on_failure`` gets, which may call this program."""

_DURATION = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[smhdw]?)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST_SECONDS = 100 * 365 * 86400
_SIZE = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>B|[KMGT]I?B?|)", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})")
_JAPAN = timezone(timedelta(hours=9), "JST")
_HOST = re.compile(r"[^\s/:@?#\[\]]+")
_YES_OR_NO = {"yes": True, "true": True, "1": True, "on": True, "no": False, "false": False, "0": False, "off": False}


def duration(text: str) -> timedelta:
    """Read ``90s``, ``30m``, ``24h``, ``7d`` or ``2w``, and ``0``; any other number without a unit is refused."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(message("a duration such as 90s, 30m, 24h or 7d is expected"))
    if not found["unit"]:
        if not float(found["amount"]):
            return timedelta()
        raise ValueError(
            message(
                "a duration needs a unit: {n}s for seconds, {n}m for minutes, {n}h for hours, {n}d for days or {n}w "
                "for weeks",
                n=found["amount"],
            )
        )
    seconds = float(found["amount"]) * _SECONDS[found["unit"]]
    if seconds > _LONGEST_SECONDS:
        raise ValueError(message("a duration of at most 100 years is expected"))
    return timedelta(seconds=seconds)


def _some_duration(text: str) -> timedelta:
    found = duration(text)
    if not found:
        raise ValueError(message("a duration longer than 0s is expected"))
    return found


def size(text: str) -> int:
    """Read ``500B``, ``64MB``, ``1.5G`` or ``32MiB`` as bytes, and ``0``; any other number without a unit is refused.

    Units are decimal, those with an ``i`` in them binary (IEC 80000-13).
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(message("a size such as 500KB, 64MB or 2GB is expected"))
    amount, unit = float(found["amount"]), found["unit"].upper()
    if not unit and amount:
        raise ValueError(message("a size needs a unit: {n}B for bytes, {n}KB, {n}MB or {n}GB", n=found["amount"]))
    return int(amount * (1024 if "I" in unit else 1000) ** _POWERS[unit.rstrip("B").rstrip("I")])


def zone(text: str) -> tzinfo:
    """Read a name such as ``Asia/Tokyo``, ``UTC`` or ``JST``, or an offset such as ``+09:00``."""
    name = text.strip()
    if name == "JST":
        return _JAPAN
    found = _OFFSET.fullmatch(name)
    try:
        if found is None:
            from zoneinfo import ZoneInfo  # noqa: PLC0415 - Japan's needs none

            return ZoneInfo(name)
        offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
        return timezone(offset if found["sign"] == "+" else -offset)
    except (KeyError, OSError, ValueError):
        raise ValueError(message("a time zone such as Asia/Tokyo or an offset such as +09:00 is expected")) from None


def hosts(text: str) -> frozenset[str]:
    """Read names of hosts with commas between them; none is fine."""
    found = frozenset(host.strip().rstrip(".").lower() for host in text.split(",") if host.strip())
    if any(not _HOST.fullmatch(host) for host in found):
        raise ValueError(message("names of hosts are expected, such as img.example.jp, with commas between them"))
    return found


def _values(text: str) -> frozenset[str]:
    found = frozenset(value.strip() for value in text.split(",") if value.strip())
    if not found:
        raise ValueError(message("a value, or several with commas between them, is expected"))
    return found


def _flags(text: str) -> frozenset[str]:
    found = _values(text)
    if not found <= {"t", "f"}:
        raise ValueError(message("t, f or f,t is expected"))
    return found


def _recipients(text: str) -> tuple[str, ...]:
    # Whether they are any is said by who uses them, and never shows one that is a secret.
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _yes_or_no(text: str) -> bool:
    if text.strip().lower() not in _YES_OR_NO:
        raise ValueError(message("yes or no is expected"))
    return _YES_OR_NO[text.strip().lower()]


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError(message("some text is expected"))
    return text


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        raise ValueError(
            message("a name of letters, digits, hyphens and underscores is expected, such as access_token")
        )
    return text


def _rate(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.001 <= number <= 10_000:
        raise ValueError(message("requests per second, from 0.001 to 10000, are expected"))
    return number


@dataclass(frozen=True, slots=True)
class _Whole:
    """Reads whole numbers in a range."""

    smallest: int
    largest: int

    def __call__(self, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = self.smallest - 1
        if not self.smallest <= number <= self.largest:
            raise ValueError(
                message("a whole number from {least} to {most} is expected", least=self.smallest, most=self.largest)
            )
        return number


class _OneOf:
    """Reads one of some names."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, text: str) -> str:
        if text not in self.names:
            names, near = listed(self.names), _nearest(text, self.names)
            if near is not None:
                raise ValueError(message("one of {names} is expected (did you mean {near}?)", names=names, near=near))
            raise ValueError(message("one of {names} is expected", names=names))
        return text


_KINDS_OF_TEXT: Final[dict[Callable[[str], Any], str]] = {
    duration: "TIME",
    _some_duration: "TIME",
    size: "SIZE",
    zone: "ZONE",
    hosts: "HOSTS",
    _values: "VALUES",
    _recipients: "RECIPIENTS",
    _flags: "VALUES",
    _rate: "N",
    Path: "FILE",
}


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(message("a day such as 2026-12-31 is expected")) from None


def _command(text: str) -> str:
    import shlex  # noqa: PLC0415 - most runs have no such command

    try:
        if shlex.split(text):
            return text
    except ValueError:
        pass
    raise ValueError(message("a command is expected, with its quotes closed"))


@dataclass(frozen=True, slots=True)
class Setting:
    """How a setting's text is read, the text of its default (``None``: unset), and its help, a sentence."""

    read: Callable[[str], Any]
    default: str | None
    help: Message

    @property
    def choices(self) -> tuple[str, ...]:
        """All texts that are allowed; none where that cannot be listed."""
        return self.read.names if isinstance(self.read, _OneOf) else ("yes", "no") if self.read is _yes_or_no else ()

    @property
    def metavar(self) -> str:
        """What stands for the value in a line of help: the choices, or the kind of text."""
        if self.choices:
            return "|".join(self.choices)
        return "N" if isinstance(self.read, _Whole) else _KINDS_OF_TEXT.get(self.read, "TEXT")


def _setting(read: Callable[[str], T], default: str, help_line: Message) -> T:
    """Declare a setting; what is returned is a field of the dataclass, of the type that the reader gives."""
    found: T = field(default=read(default), metadata={"setting": Setting(read, default, help_line)})
    return found


def _unset(read: Callable[[str], T], help_line: Message) -> T | None:
    """Declare a setting that has no default."""
    found: T | None = field(default=None, metadata={"setting": Setting(read, None, help_line)})
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, and the secrets, which no option and no profile can hold: the token, the client's, a new home's.

    Attributes:
        sources: where each setting came from, by its name; ``token`` too, where there is one.
    """

    base_url: str | None = _unset(_text, message("Address of the service's API."))
    profile: str | None = _unset(_text, message("Known service, or one of the settings file's [profiles.NAME] tables."))
    service: str | None = _unset(_text, message("Kind of blog service, as archives of it name it."))
    concurrency: int = _setting(_Whole(1, 256), "8", message("Most requests at a time."))
    rate: float | None = _unset(_rate, message("Most requests per second."))
    retries: int = _setting(_Whole(0, 100), "8", message("How often a failed request is sent again."))
    refresh: str = _setting(_OneOf("all", "changed", "auto"), "all", message("Which entries are read again."))
    max_age: timedelta = _setting(duration, "7d", message("Age at which refresh auto reads an entry again."))
    connect_timeout: timedelta = _setting(duration, "10s", message("Longest wait for a connection."))
    read_timeout: timedelta = _setting(duration, "30s", message("Longest silence in an answer."))
    total_timeout: timedelta = _setting(duration, "2m", message("Longest request."))
    max_body: int = _setting(size, "32MiB", message("Largest answer, decompressed."))
    give_up_after: timedelta = _setting(
        _some_duration, "30m", message("End the run after so long without a good answer.")
    )
    resume_max_age: timedelta = _setting(duration, "24h", message("Oldest interrupted run that is resumed."))
    wait_lock: timedelta = _setting(duration, "0s", message("How long to wait for another backup of the same archive."))
    ping_url: str | None = _unset(
        _text,
        message("Address of a check at a monitor, such as healthchecks.io: each run reports its start and end there."),
    )
    on_failure: str | None = _unset(
        _command, message("Command that is run when something breaks, and when it is well again.")
    )
    remind_after: timedelta = _setting(
        duration, "7d", message("With -q, how long the same trouble is not reported again.")
    )
    closing: date | None = _unset(
        _day, message("Last day of a service that closes: read and ask for everything every time.")
    )
    token_file: Path | None = _unset(Path, message("File that holds the access token."))
    token_command: str | None = _unset(_command, message("Command that prints the access token."))
    auth_header: str = _setting(_text, "Authorization", message("Header that carries the token."))
    auth_scheme: str = _setting(str, "Bearer", message("Word before the token."))
    auth_query: str | None = _unset(
        _name, message("Parameter of each address that carries the token, in place of a header.")
    )
    account: str | None = _unset(_text, message("Which of several sign-ins to one service."))
    sign_in_store: str = _setting(_OneOf("auto", "keyring", "file"), "auto", message("Where a sign-in is kept."))
    new_home_user: str | None = _unset(_text, message("Name of the user of the new home."))
    new_home_token_file: Path | None = _unset(Path, message("File that holds that user's application password."))
    allow_plain_http: bool = _setting(
        _yes_or_no, "no", message("Let that password travel unencrypted, to an http:// address.")
    )
    assets: str = _setting(
        _OneOf("linked", "embedded", "files", "none"), "linked", message("Which pictures and files are read.")
    )
    file_url: str | None = _unset(_text, message("Address of an uploaded file, with fields of its record in braces."))
    entry_url: str | None = _unset(_text, message("Address of an entry, with fields of its record in braces."))
    max_asset_size: int = _setting(size, "100MB", message("Largest picture or file."))
    archive_fallback: str | None = _unset(
        _text, message("Web archive to ask for lost pictures, an address with {{url}} in it.")
    )
    allow_private_network: bool = _setting(_yes_or_no, "no", message("Let pictures be read from private addresses."))
    skip_asset_hosts: frozenset[str] = _setting(
        hosts, "", message("Hosts whose pictures are left out, with commas between.")
    )
    strict_assets: bool = _setting(_yes_or_no, "no", message("Call a backup with lost pictures incomplete."))
    markdown: bool = _setting(_yes_or_no, "yes", message("Keep Markdown in latest/."))
    site: bool = _setting(_yes_or_no, "yes", message("Keep the offline site in latest/."))
    site_title: str | None = _unset(str, message("What the site calls the blog."))
    site_lang: str | None = _unset(_OneOf("ja", "en"), message("Language of the site's interface."))
    encrypt_to: tuple[str, ...] = _setting(
        _recipients, "", message("Age recipients that second copies are encrypted to, with commas between them.")
    )
    recipients_file: Path | None = _unset(Path, message("File of age recipients that second copies are encrypted to."))
    success_result: str = _setting(_text, "ok", message("The envelope's result that means success."))
    entry_list_page_param: str = _setting(_text, "page", message("Page parameter of the entries."))
    comment_list_page_param: str = _setting(_text, "page", message("Page parameter of the comments."))
    file_list_page_param: str = _setting(_text, "page", message("Page parameter of the files."))
    comment_page_size: int = _setting(_Whole(1, 10_000), "20", message("Comments on a full page."))
    file_page_size: int = _setting(_Whole(1, 10_000), "20", message("Files on a full page."))
    max_pages: int = _setting(_Whole(1, 10_000_000), "100000", message("Most pages that a list may have."))
    timezone: tzinfo = _setting(zone, "JST", message("Time zone of the blog's dates."))
    public_open_flg: frozenset[str] | None = _unset(
        _values, message("Values of open_flg that mean published, such as 1 or 1,3.")
    )
    period_flg_public: bool | None = _unset(_yes_or_no, message("Whether entries with period_flg t are public too."))
    visible_delete_flg: frozenset[str] | None = _unset(
        _flags, message("Values of delete_flg that mean shown: f, t, or f,t.")
    )

    oauth_authorize_url: str | None = _unset(_text, message("Page where an account's owner lets the program read."))
    oauth_token_url: str | None = _unset(_text, message("Address that gives access tokens."))
    oauth_client_id: str | None = _unset(_text, message("Name under which the program is registered at the service."))
    oauth_scope: str | None = _unset(_text, message("What the program asks to be allowed, with spaces between."))
    oauth_scope_separator: str = _setting(str, " ", message("What the service wants between these."))
    lang: str | None = _unset(_OneOf("en", "ja"), message("Language of messages and reports."))
    oauth_client_secret_file: Path | None = _unset(Path, message("File that holds the secret of that registration."))
    oauth_redirect_uri: str | None = _unset(
        _text, message("Address to come back to after signing in, where the service wants a registered one.")
    )
    oauth_revoke_url: str | None = _unset(_text, message("Address that takes access tokens back."))
    oauth_pkce: bool = _setting(_yes_or_no, "yes", message("Protect signing in with PKCE."))

    token: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)
    new_home_token: str | None = field(default=None, repr=False)
    sources: Mapping[str, Source] = field(default_factory=dict, repr=False, compare=False)

    def without_secrets(self) -> Settings:
        """Return what another machine needs that reads archives: no token, no command, no address of a monitor."""
        kept: dict[str, Any] = dict.fromkeys(_KEPT_HERE)
        return replace(self, **kept)


SETTINGS: Final[dict[str, Setting]] = {
    each.name: each.metadata["setting"] for each in fields(Settings) if "setting" in each.metadata
}


class Origin(StrEnum):
    """The kinds of places that settings come from, the first to be asked first."""

    OPTION = "option"
    VARIABLE = "variable"
    BLOG = "blog"
    FILE = "file"
    ARCHIVE = "archive"
    PROFILE = "profile"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a setting's value came from.

    Attributes:
        origin: the kind of place.
        where: the path of the file, or the name of the profile; empty where there is neither.
        blog: the name of the blog's table in that file.
    """

    origin: Origin
    where: str = ""
    blog: str = ""

    def place(self, name: str) -> str:
        """Say where a setting is in it: ``option --max-age``, ``/home/me/blog-exporter.toml: max_age``."""
        if self.origin is Origin.OPTION:
            return message("option {name}", name=f"--{name.replace('_', '-')}")
        if self.origin is Origin.VARIABLE:
            return message("variable {name}", name=f"{PREFIX}{name.upper()}")
        if self.origin is Origin.BLOG:
            return message("{path}, [blogs.{blog}]: {name}", path=self.where, blog=self.blog, name=name)
        if self.origin is Origin.PROFILE:
            return message("profile {profile}: {name}", profile=self.where, name=name)
        if self.origin is Origin.DEFAULT:
            return message("default of {name}", name=name)
        return message("{path}: {name}", path=self.where, name=name)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an archive remembers of its settings, as far as it may be used.

    Attributes:
        path: the file that it is in.
        values: the settings by their names, as a settings file writes them.
    """

    path: Path
    values: Mapping[str, Any]


def resolve(
    options: Mapping[str, str | None],
    *,
    config: Path | None = None,
    blog_id: str = "",
    blog: str | None = None,
    remembered: Remembered | None = None,
    environ: Mapping[str, str] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Settings:
    """Join all sources.

    Args:
        options: what the command line gave; ``None`` where it gave nothing.
        config: the settings file asked for; the user's own is read when there is none.
        blog_id: picks a profile where nothing else does.
        blog: the name of the blog's table in the settings file, ``None`` where none is meant.
        remembered: what the blog's archive remembers.
        environ: the environment; the process's own by default.
        warn: called with a sentence about what is unwise.

    Raises:
        UsageError: a name or value that cannot be right, or a file that cannot be read.
    """
    environment = os.environ if environ is None else environ
    file = read_config(config, environment)
    if file.token is not None and file.path is not None:
        _warn_if_readable(file.path, warn)
    sources: list[tuple[Source, Mapping[str, Any]]] = [
        (Source(Origin.OPTION), {name: value for name, value in options.items() if value is not None}),
        (Source(Origin.VARIABLE), variables(environment)),
        (Source(Origin.BLOG, str(file.path), blog or ""), {} if blog is None else file.blogs[blog].settings),
        (Source(Origin.FILE, str(file.path)), file.settings),
    ]
    if remembered is not None:
        sources.append((Source(Origin.ARCHIVE, str(remembered.path)), remembered.values))
    profile = _profile(sources, file, blog_id)
    if profile is not None:
        sources.append((Source(Origin.PROFILE, profile.name), profile.settings))
    found: dict[str, Any] = {}
    origins = dict.fromkeys(SETTINGS, Source(Origin.DEFAULT))
    for source, values in reversed(sources):
        for name, value in values.items():
            found[name], origins[name] = _read_value(source, name, value), source
    token = environment.get(PREFIX + "TOKEN") or file.token or _token_from_file(found, "token_file", warn)
    if token:
        origins["token"] = _origin_of_token(environment, file, origins)
    new = environment.get(PREFIX + "NEW_HOME_TOKEN") or _token_from_file(found, "new_home_token_file", warn)
    secret = environment.get(PREFIX + "CLIENT_SECRET") or _token_from_file(found, "oauth_client_secret_file", warn)
    joined = Settings(
        **found,
        token=token and token.strip(),
        client_secret=secret and secret.strip(),
        new_home_token=new and new.strip(),
        sources=origins,
    )
    return _with_base(joined)


def _origin_of_token(environment: Mapping[str, str], file: ConfigFile, origins: Mapping[str, Source]) -> Source:
    if environment.get(PREFIX + "TOKEN"):
        return Source(Origin.VARIABLE)
    return Source(Origin.FILE, str(file.path)) if file.token else origins["token_file"]


def known_profiles(file: ConfigFile) -> dict[str, Profile]:
    """Return all profiles by their names: the built-in ones, and those of the settings file, which go before."""
    own = {name: own_profile(name, table, file.path) for name, table in file.profiles.items()}
    return {**PROFILES, **own}


def check_profile(profile: Profile) -> None:
    """Check the values of a profile.

    Raises:
        UsageError: a name or value that cannot be right.
    """
    for name, value in profile.settings.items():
        _read_value(Source(Origin.PROFILE, profile.name), name, value)


def _profile(sources: Iterable[tuple[Source, Mapping[str, Any]]], file: ConfigFile, blog_id: str) -> Profile | None:
    profiles = known_profiles(file)
    named = next((values["profile"] for _, values in sources if "profile" in values), None)
    if named is None:
        return profile_for(blog_id, reversed(profiles.values()))
    if named not in profiles:
        raise UsageError(no_such_profile(str(named), profiles))
    return profiles[named]


def no_such_profile(name: str, profiles: Iterable[str]) -> str:
    """Say that there is no profile of a name, and which may be meant."""
    near = _nearest(name, profiles)
    if near is None:
        return message("There is no profile {name}.", name=repr(name))
    return message("There is no profile {name} (did you mean {near}?).", name=repr(name), near=near)


def _with_base(settings: Settings) -> Settings:
    """Put the address of the service into the addresses that are below it."""
    base = (settings.base_url or "").rstrip("/")
    if not base:
        return settings
    authorize, token, revoke = settings.oauth_authorize_url, settings.oauth_token_url, settings.oauth_revoke_url
    return replace(
        settings,
        oauth_authorize_url=authorize and authorize.replace("{base_url}", base),
        oauth_token_url=token and token.replace("{base_url}", base),
        oauth_revoke_url=revoke and revoke.replace("{base_url}", base),
    )


def setting_text(value: Any) -> str:
    """Return the text of a value as TOML gives it, for a setting to read."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def check_setting(name: str, value: Any) -> None:
    """Check a value that may come from anybody.

    Raises:
        ValueError: it cannot be right.
    """
    if not isinstance(value, str | int | float | date):
        raise ValueError(message("text, a number, true or false is expected"))  # noqa: TRY004 - as all readers do
    SETTINGS[name].read(setting_text(value))


def _read_value(source: Source, name: str, value: Any) -> Any:
    place = source.place(name)
    setting = SETTINGS.get(name)
    if setting is None:
        near = _nearest(name, SETTINGS)
        if near is None:
            raise UsageError(message("{place} is not a setting.", place=place))
        raise UsageError(message("{place} is not a setting (did you mean {near}?).", place=place, near=near))
    if not isinstance(value, str | int | float | date):
        raise UsageError(message("{place} must be text, a number, true or false.", place=place))
    text = setting_text(value)
    try:
        return setting.read(text)
    except ValueError as error:
        raise UsageError(message("{place} is {text}: {error}.", place=place, text=repr(text), error=error)) from error


def _nearest(name: str, among: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes need it

    return next(iter(get_close_matches(name, list(among), 1)), None)


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that an environment gives, as text by their names; secrets are not among them."""
    names = {name.removeprefix(PREFIX): value for name, value in environment.items() if name.startswith(PREFIX)}
    return {name.lower(): value for name, value in names.items() if name not in _NOT_SETTINGS}


def _token_from_file(found: Mapping[str, Any], name: str, warn: Callable[[str], None]) -> str | None:
    path: Path | None = found.get(name)
    if path is None:
        return None
    try:
        token = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            message("The token file {path} cannot be read: check {name}.", path=path, name=name)
        ) from error
    _warn_if_readable(path, warn)
    return token


def _warn_if_readable(path: Path, warn: Callable[[str], None]) -> None:
    if os.name != "nt" and path.stat().st_mode & 0o077:
        warn(message("{path} holds a token and others can read it: chmod 600 {path}", path=path))
