"""Settings: their names, the settings file, and how options, variables, files and profiles are joined.

A value is looked up in this order: what an address or a list implies, option, ``BLOG_EXPORTER_*`` variable, the blog's
table in the settings file, the settings file, the archive's own settings, profile, default. Every source gives text,
and the reader of the setting checks it. Settings that only one type of service has are declared in its module, see
:mod:`exporter.service.registry`.

A secret belongs to one service. Here alone it is decided whether the service of the settings may receive it.
"""

# ruff: noqa: RUF009 - the fields' defaults call functions that return fields
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter.arguments import fitted, replace_field, wrong
from exporter.errors import UsageError
from exporter.frozen import frozen
from exporter.message import message, system_reason
from exporter.service.declarations import BLOG_V1, DECLARATIONS, Profile
from exporter.service.registry import PROFILES, SERVICE_SETTINGS, own_profile, profile_for
from exporter.setting_sources import COMMAND, PREFIX, Origin, Owners, Source, is_beside, may_receive
from exporter.setting_types import (
    OneOf,
    Setting,
    WholeNumber,
    command,
    day,
    duration,
    hosts,
    one_line,
    origins,
    parameter_name,
    positive_duration,
    rate,
    setting,
    setting_text,
    settings_in,
    size,
    some_text,
    unset,
    user_agent,
    with_guess,
    words,
    yes_or_no,
    zone,
)

CONFIG_VARIABLE: Final = f"{PREFIX}CONFIG"
FILE_NAME: Final = "blog-exporter.toml"
_BASE: Final = "{base_url}"
_ADDRESSES: Final = frozenset({"base_url", "profile", "service"})
"""The settings that name a service with an API, for all blogs of which nothing else does."""
_BELOW_BASE: Final = ("oauth_authorize_url", "oauth_token_url", "oauth_revoke_url")
_SECRETS: Final = ("token", "token_secret", "client_secret", "new_home_token")
_KEPT_HERE: Final = (*_SECRETS, "token_command", "on_failure", "ping_url")
_NOT_SETTINGS: Final = {"TOKEN", "TOKEN_SECRET", "NEW_HOME_TOKEN", "CLIENT_SECRET", "CONFIG"} | {
    "EVENT", "EXIT_CODE", "BLOG", "ARCHIVE", "MESSAGE", "PROGRESS",
}  # fmt: skip
"""Variables that are not settings: the secrets, the settings file's name, the form of progress messages, and the
variables of an ``on_failure`` command. Such a command may call this program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, and the secrets, which no option and no profile can hold: the token, the client's, a new home's.

    Raises:
        UsageError: a value has another type, or its option would refuse it. The message names the field.

    Attributes:
        of_service: the settings that the service modules declare, by name; those left out get their defaults.
        token_for: with a token, the origins that may receive it; the settings say which, or where the token is.
        withheld: where a token is that the service must not receive; empty without one.
        sources: where each setting came from, by its name; ``token`` too, if there is one.
    """

    base_url: str | None = unset(some_text, message("Address of the service's API."))
    profile: str | None = unset(some_text, message("Name of a known service or your own profile."))
    service: str | None = unset(some_text, message("Type of blog service, as archive.json names it."))
    concurrency: int = setting(WholeNumber(1, 256), "8", message("Maximum number of parallel requests."))
    rate: float | None = unset(rate, message("Maximum number of requests per second."))
    retries: int = setting(WholeNumber(0, 100), "8", message("Number of retries of a failed request."))
    refresh: str = setting(OneOf("all", "changed", "auto"), "all", message("Entries to read again."))
    max_age: timedelta = setting(duration, "7d", message("Age at which --refresh auto reads an entry again."))
    connect_timeout: timedelta = setting(duration, "10s", message("Time limit for a connection."))
    read_timeout: timedelta = setting(duration, "30s", message("Time limit between two parts of a response."))
    total_timeout: timedelta = setting(duration, "2m", message("Time limit for a whole request."))
    max_body: int = setting(size, "32MiB", message("Size limit of a decompressed response."))
    give_up_after: timedelta = setting(
        positive_duration, "30m", message("Stop the run after this time without a valid response.")
    )
    resume_max_age: timedelta = setting(duration, "24h", message("Age limit of an interrupted run to resume."))
    wait_lock: timedelta = setting(duration, "0s", message("Time to wait for another backup of the same archive."))
    ping_url: str | None = unset(some_text, message("Ping address of a monitor such as healthchecks.io."))
    on_failure: str | None = unset(command, message("Run CMD when a backup starts failing and when it recovers."))
    remind_after: timedelta = setting(
        duration, "7d", message("With -q, time before the same problem is reported again.")
    )
    closing: date | None = unset(day, message("Closing date of the service: read everything every time."))
    token_file: Path | None = unset(Path, message("File that holds the access token."))
    token_command: str | None = unset(command, message("Command that prints the access token."))
    token_for: tuple[str, ...] | None = unset(origins, message("Address of the service that the token belongs to."))
    user: str | None = unset(some_text, message("User name at the service, if the token is its password."))
    auth: str | None = unset(OneOf("bearer", "basic", "wsse", "oauth1"), message("How requests prove who sends them."))
    token_secret_file: Path | None = unset(Path, message("File that holds the secret of an OAuth 1 access token."))
    auth_header: str = setting(some_text, "Authorization", message("Header that carries the token."))
    auth_scheme: str = setting(str, "Bearer", message("Word before the token."))
    auth_query: str | None = unset(parameter_name, message("Query parameter for the token, instead of a header."))
    account: str | None = unset(some_text, message("Name of one of several sign-ins at a service."))
    sign_in_store: str = setting(OneOf("auto", "keyring", "file"), "auto", message("Where to store a sign-in."))
    new_home_user: str | None = unset(some_text, message("User name at the new home."))
    new_home_token_file: Path | None = unset(Path, message("File that holds that user's application password."))
    new_home_token_for: tuple[str, ...] | None = unset(
        origins, message("Address of the new home that this password belongs to.")
    )
    allow_plain_http: bool = setting(yes_or_no, "no", message("Send that password unencrypted to an http:// address."))
    assets: str = setting(
        OneOf("linked", "embedded", "files", "none"), "linked", message("Pictures and files to download.")
    )
    file_url: str | None = unset(some_text, message("Address of an upload, with fields of its record in braces."))
    entry_url: str | None = unset(some_text, message("Address of an entry, with fields of its record in braces."))
    max_asset_size: int = setting(size, "100MB", message("Size limit of a picture or file."))
    archive_fallback: str | None = unset(some_text, message("Web archive for lost pictures: an address with {{url}}."))
    allow_private_network: bool = setting(yes_or_no, "no", message("Download pictures from private addresses."))
    skip_asset_hosts: frozenset[str] = setting(hosts, "", message("Hosts whose pictures to skip, separated by commas."))
    strict_assets: bool = setting(yes_or_no, "no", message("Treat a backup with lost pictures as incomplete."))
    capture: bool = setting(yes_or_no, "no", message("Capture the public pages after each backup."))
    home_url: str | None = unset(some_text, message("Address of the home page for captures."))
    user_agent: str | None = unset(user_agent, message("Name for captures, with a way to contact you."))
    operator: str | None = unset(one_line, message("Contact for webmasters, named in requests and captures."))
    capture_max_pages: int = setting(
        WholeNumber(1, 10_000_000), "100000", message("Maximum number of pages in a capture.")
    )
    capture_max_size: int | None = unset(size, message("Size of its WARC files at which a capture ends."))
    capture_max_time: timedelta | None = unset(positive_duration, message("Time after which a capture ends."))
    seal: bool = setting(yes_or_no, "no", message("Seal the archive after each backup."))
    seal_key: Path | None = unset(Path, message("SSH or minisign key that signs seals."))
    tsa: str | None = unset(some_text, message("Address of a timestamp authority (RFC 3161)."))
    tsa_root: Path | None = unset(Path, message("PEM file of root certificates to trust for timestamps."))
    warc: bool = setting(yes_or_no, "no", message("Keep the exchanges with the API as WARC in captures/."))
    markdown: bool = setting(yes_or_no, "yes", message("Keep Markdown in latest/."))
    site: bool = setting(yes_or_no, "yes", message("Keep the offline site in latest/."))
    site_title: str | None = unset(str, message("Title of the site."))
    site_lang: str | None = unset(OneOf("ja", "en"), message("Language of the site's interface."))
    encrypt_to: tuple[str, ...] = setting(
        words, "", message("Age recipients of encrypted copies, separated by commas.")
    )
    recipients_file: Path | None = unset(Path, message("File that holds the age recipients of encrypted copies."))
    timezone: tzinfo = setting(zone, BLOG_V1.defaults["timezone"], message("Time zone of the blog's dates."))
    oauth_authorize_url: str | None = unset(some_text, message("Sign-in page of the service."))
    oauth_token_url: str | None = unset(some_text, message("Address that issues access tokens."))
    oauth_client_id: str | None = unset(some_text, message("Client ID of this program at the service."))
    oauth_scope: str | None = unset(some_text, message("Permissions to request, separated by spaces."))
    oauth_scope_separator: str = setting(str, " ", message("Separator that the service expects between permissions."))
    lang: str | None = unset(OneOf("en", "ja"), message("Language of messages and reports."))
    oauth_client_secret_file: Path | None = unset(Path, message("File that holds the client secret."))
    oauth_redirect_uri: str | None = unset(
        some_text, message("Registered redirect address, if the service requires one.")
    )
    oauth_revoke_url: str | None = unset(some_text, message("Address that revokes access tokens."))
    oauth_pkce: bool = setting(yes_or_no, "yes", message("Protect the sign-in with PKCE."))

    of_service: Mapping[str, Any] = field(default_factory=dict, hash=False)
    withheld: str = field(default="", kw_only=True)
    token: str | None = field(default=None, repr=False)
    token_secret: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)
    new_home_token: str | None = field(default=None, repr=False)
    sources: Mapping[str, Source] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, each in _OWN_SETTINGS.items():
            value = getattr(self, name)
            if value is not _DEFAULTS[name]:
                replace_field(self, name, _accepted(name, each, value))
        for name in _SECRETS:
            _require(name, getattr(self, name), str | None, secret=True)
        for name, hint in (("withheld", str), ("of_service", Mapping), ("sources", Mapping)):
            _require(name, getattr(self, name), hint)
        for name in self.of_service:
            if name not in SERVICE_SETTINGS:
                unknown = message("{place} is not a setting", place=f"of_service[{name!r}]")
                raise UsageError("{sentence}.", sentence=with_guess(unknown, str(name), SERVICE_SETTINGS))
        replace_field(
            self,
            "of_service",
            {
                name: _accepted(name, each, self.of_service[name]) if name in self.of_service else each.default_value
                for name, each in SERVICE_SETTINGS.items()
            },
        )

    def get(self, name: str) -> Any:
        """Return the value of the setting with this name."""
        return self.of_service[name] if name in self.of_service else getattr(self, name)

    def without_secrets(self) -> Settings:
        """Return the settings that another machine needs to read archives: no token, command or ping address."""
        kept: dict[str, Any] = dict.fromkeys(_KEPT_HERE)
        return replace(self, **kept)


_OWN_SETTINGS: Final = settings_in(Settings)
_DEFAULTS: Final = {each.name: each.default for each in fields(Settings)}
SETTINGS: Final[dict[str, Setting]] = {**_OWN_SETTINGS, **SERVICE_SETTINGS}


def _accepted(name: str, known: Setting, value: Any) -> Any:
    try:
        return known.accepted(value)
    except ValueError as error:
        # Recipients may be secret keys by mistake.
        raise wrong(name, value, error, secret=known.read is words) from None


def _require(name: str, value: Any, hint: Any, *, secret: bool = False) -> None:
    try:
        fitted(value, hint)
    except ValueError as error:
        raise wrong(name, value, error, secret=secret) from None


class BlogTable(NamedTuple):
    """A ``[blogs.NAME]`` table of the settings file.

    Attributes:
        name: the name of the table.
        blog_id: the blog.
        archive: the archive's folder, absolute.
        settings: the settings for this blog alone, by name.
    """

    name: str
    blog_id: str
    archive: Path
    settings: Mapping[str, Any]


@frozen
class ConfigFile:
    """A settings file's contents, empty if the file does not exist.

    Attributes:
        path: the file.
        settings: the settings above the tables, by name, unchecked.
        profiles: the ``[profiles.NAME]`` tables.
        blogs: the ``[blogs.NAME]`` tables, in the order of the file.
        token: the access token.
    """

    path: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    blogs: Mapping[str, BlogTable] = field(default_factory=dict)
    token: str | None = field(default=None, repr=False)


def config_folder() -> Path:
    """Return the user's configuration folder."""
    import platformdirs  # noqa: PLC0415 - no help needs a folder

    return Path(platformdirs.user_config_dir("blog-exporter", appauthor=False))


def own_config_path(config: Path | None = None, environment: Mapping[str, str] | None = None) -> Path:
    """Return the settings file's path: ``config``, the variable's, or the user's own. The file may be missing."""
    named = (os.environ if environment is None else environment).get(CONFIG_VARIABLE)
    return config or (Path(named) if named else config_folder() / FILE_NAME)


def read_config(config: Path | None = None, environment: Mapping[str, str] | None = None) -> ConfigFile:
    """Read the settings file. Only its structure is checked.

    Args:
        config: the file; by default the file that the variable names, or the user's own if it exists.
        environment: the environment; the process's own by default.

    Raises:
        UsageError: the file cannot be read, or a table has the wrong structure.
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
        reason = system_reason(error)
        raise UsageError("The settings file {path} cannot be read: {reason}.", path=path, reason=reason) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError("The settings file {path} is not valid TOML: {error}.", path=path, error=error) from error
    profiles = _tables(path, document, "profiles", "[profiles.mine]")
    blogs = {name: _blog(path, name, table) for name, table in _tables(path, document, "blogs", "[blogs.mine]").items()}
    _refuse_shared_archives(path, blogs)
    token = document.pop("token", None)
    if token is not None and not isinstance(token, str):
        raise UsageError("{path}: token must be text.", path=path)
    return ConfigFile(path, document, profiles, blogs, token)


def _tables(path: Path, document: dict[str, Any], name: str, example: str) -> dict[str, dict[str, Any]]:
    found = document.pop(name, {})
    if not isinstance(found, Mapping) or not all(isinstance(table, dict) for table in found.values()):
        raise UsageError(
            "{path}: {name} must hold a table for each, such as {example}.", path=path, name=name, example=example
        )
    return dict(found)


def _blog(path: Path, name: str, table: dict[str, Any]) -> BlogTable:
    settings = dict(table)
    blog_id, archive = settings.pop("blog_id", None), settings.pop("archive", None)
    for key, value in (("blog_id", blog_id), ("archive", archive)):
        if not isinstance(value, str) or not value.strip():
            raise UsageError("{path}: [blogs.{name}] needs {key}, as text.", path=path, name=name, key=key)
    # Relative to the file, since a nightly job may start in any folder.
    place = path.absolute().parent / Path(str(archive)).expanduser()
    return BlogTable(name, str(blog_id), place, settings)


def _refuse_shared_archives(path: Path, blogs: Mapping[str, BlogTable]) -> None:
    seen: dict[Path, str] = {}
    for name, blog in blogs.items():
        place = blog.archive.resolve()
        if place in seen:
            raise UsageError(
                "{path}: [blogs.{one}] and [blogs.{other}] have the same archive; give each its own.",
                path=path,
                one=seen[place],
                other=name,
            )
        seen[place] = name


class Remembered(NamedTuple):
    """The settings that an archive stores and that may be used.

    Attributes:
        path: the file of the archive's settings.
        values: the settings by name, as a settings file writes them.
    """

    path: Path
    values: Mapping[str, Any]


def resolve(
    options: Mapping[str, str | None],
    *,
    found: Mapping[str, str | None] | None = None,
    config: Path | None = None,
    blog_id: str = "",
    blog: str | None = None,
    remembered: Remembered | None = None,
    service: str | None = None,
    environ: Mapping[str, str] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Settings:
    """Join all sources.

    Args:
        options: the command line's options, ``None`` for each that was not given.
        found: what an explored address, or the line of a list, implies. It is no statement of the user's, so no token
            goes to a service that is named here alone.
        config: the settings file to read; the user's own by default.
        blog_id: selects a profile if no source names one.
        blog: the blog's table, if it has one.
        remembered: the settings that the blog's archive stores.
        service: the type of service that ``archive.json`` names.
        environ: the environment; the process's own by default.
        warn: called with a sentence for each unsafe file.

    Raises:
        UsageError: a name or value that cannot be right, or a file that cannot be read.
    """
    environment = os.environ if environ is None else environ
    file = read_config(config, environment)
    if file.token is not None and file.path is not None:
        _warn_if_readable(file.path, warn)
    sources: list[tuple[Source, Mapping[str, Any]]] = [
        (Source(Origin.FOUND), _given(found or {})),
        (Source(Origin.OPTION), _given(options)),
        (Source(Origin.VARIABLE), variables(environment)),
        (Source(Origin.BLOG, str(file.path), blog or ""), {} if blog is None else file.blogs[blog].settings),
        (Source(Origin.FILE, str(file.path)), _for_archive(file.settings, remembered, service)),
    ]
    if remembered is not None:
        sources.append((Source(Origin.ARCHIVE, str(remembered.path)), remembered.values))
    profile = _profile(sources, file, blog_id)
    named = next((values["service"] for _, values in sources if "service" in values), None)
    if profile is not None:
        sources.append((Source(Origin.PROFILE, profile.name), _facts_for(profile, named)))
        named = named or profile.settings.get("service")
    name = named or service or (profile.service if profile is not None else "")
    kind = DECLARATIONS.get(str(name))
    sources.append((Source(Origin.DEFAULT), {"service": name, **kind.defaults} if kind is not None else {}))
    values: dict[str, Any] = {}
    places = dict.fromkeys(SETTINGS, Source(Origin.DEFAULT))
    for source, stated in reversed(sources):
        for name, value in stated.items():
            values[name], places[name] = _read_value(source, name, value), source
    base = (values.get("base_url") or "").rstrip("/")
    if base:
        values |= {name: values[name].replace(_BASE, base) for name in _BELOW_BASE if values.get(name)}
    is_implied = not any("profile" in stated for _, stated in sources)
    owners = Owners(sources, known_profiles(file), profile if is_implied else None)
    secrets = _secrets(values, places, environment, file, owners, warn)
    return Settings(
        **{name: value for name, value in values.items() if name not in SERVICE_SETTINGS},
        of_service={name: value for name, value in values.items() if name in SERVICE_SETTINGS},
        **secrets,
        sources=places,
    )


def _for_archive(settings: Mapping[str, Any], remembered: Remembered | None, service: str | None) -> Mapping[str, Any]:
    """Return the settings above a file's tables without a service's address if the archive has one of public pages."""
    stored: Mapping[str, Any] = {} if remembered is None else remembered.values
    kind = DECLARATIONS.get(str(stored.get("service", service)))
    if kind is None or not kind.anonymous or "base_url" not in stored:
        return settings
    return {name: value for name, value in settings.items() if name not in _ADDRESSES}


def _secrets(
    values: dict[str, Any],
    places: dict[str, Source],
    environment: Mapping[str, str],
    file: ConfigFile,
    owners: Owners,
    warn: Callable[[str], None],
) -> dict[str, Any]:
    """Read the secrets. One that belongs to another service is left out, and named as ``withheld``."""

    def secret(variable: str, name: str, in_file: str | None = None) -> str | None:
        found = environment.get(PREFIX + variable) or in_file or _token_from_file(values, name, warn)
        return found and found.strip()

    token = secret("TOKEN", "token_file", file.token)
    if token:
        places["token"] = _place_of_token(environment, file, places)
    name, withheld = "token" if token else "token_command", ""
    stated = "token_file" if token and places["token"] is places["token_file"] else name
    if values.get("base_url") and (token or values.get("token_command")):
        values["token_for"] = owners.of(places[name])
        service = DECLARATIONS.get(str(values.get("service")))
        if not may_receive(values["base_url"], service, values["token_for"]):
            token, values["token_command"], withheld = None, None, places[name].place(stated)
            if is_beside(places["user"], places[name]):
                values["user"] = None
    new_home = secret("NEW_HOME_TOKEN", "new_home_token_file")
    place = Source(Origin.VARIABLE) if environment.get(PREFIX + "NEW_HOME_TOKEN") else places["new_home_token_file"]
    # The command names the new home, so a secret that it also gives needs no further statement.
    if new_home and (values.get("new_home_token_for") is not None or place.origin not in COMMAND):
        values["new_home_token_for"] = owners.of(place, "new_home_token_for")
    return {
        "token": token,
        "withheld": withheld,
        "token_secret": secret("TOKEN_SECRET", "token_secret_file"),
        "client_secret": secret("CLIENT_SECRET", "oauth_client_secret_file"),
        "new_home_token": new_home,
    }


def _given(values: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _facts_for(profile: Profile, service: str | None) -> dict[str, str]:
    """Return a profile's settings. Its limits are meant for its own service, not for another way into the blog."""
    if service is None or profile.service in {"", service}:
        return profile.settings
    return {name: value for name, value in profile.settings.items() if name not in {"rate", "concurrency"}}


def _place_of_token(environment: Mapping[str, str], file: ConfigFile, places: Mapping[str, Source]) -> Source:
    if environment.get(PREFIX + "TOKEN"):
        return Source(Origin.VARIABLE)
    return Source(Origin.FILE, str(file.path)) if file.token else places["token_file"]


def known_profiles(file: ConfigFile) -> dict[str, Profile]:
    """Return all profiles by name. A profile of the settings file replaces a built-in one of the same name."""
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
    return profile_named(str(named), profiles)


def profile_named(name: str, profiles: Mapping[str, Profile]) -> Profile:
    """Return the profile with this name.

    Raises:
        UsageError: no profile has this name; the message suggests the most similar one.
    """
    if name not in profiles:
        raise UsageError("There is no profile {name}.", name=with_guess(repr(name), name, profiles))
    return profiles[name]


def check_setting(name: str, value: Any) -> Any:
    """Return an untrusted value as its setting reads it.

    Raises:
        ValueError: the setting does not accept the value.
    """
    if not isinstance(value, str | int | float | date):
        raise ValueError(message("text, a number, true or false is expected"))  # noqa: TRY004 - as all readers do
    return SETTINGS[name].read(setting_text(value))


def _read_value(source: Source, name: str, value: Any) -> Any:
    place = source.place(name)
    if name not in SETTINGS:
        unknown = message("{place} is not a setting", place=place)
        raise UsageError("{sentence}.", sentence=with_guess(unknown, name, SETTINGS))
    try:
        return check_setting(name, value)
    except ValueError as error:
        text = repr(setting_text(value))
        raise UsageError("{place} is {text}: {error}.", place=place, text=text, error=error) from error


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in an environment as text, by name. Secrets are left out."""
    names = {name.removeprefix(PREFIX): value for name, value in environment.items() if name.startswith(PREFIX)}
    return {name.lower(): value for name, value in names.items() if name not in _NOT_SETTINGS}


def shared_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that another machine needs to read archives with the same settings."""
    kept = {f"{PREFIX}{name.upper()}" for name in _KEPT_HERE}
    names = (f"{PREFIX}{name.upper()}" for name in (*variables(environment), "config"))
    return {name: environment[name] for name in names if name in environment and name not in kept}


def _token_from_file(found: Mapping[str, Any], name: str, warn: Callable[[str], None]) -> str | None:
    path: Path | None = found.get(name)
    if path is None:
        return None
    try:
        token = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("The token file {path} cannot be read: check {name}.", path=path, name=name) from error
    _warn_if_readable(path, warn)
    return token


def _warn_if_readable(path: Path, warn: Callable[[str], None]) -> None:
    if os.name != "nt" and path.stat().st_mode & 0o077:
        warn(message("{path} holds a token and others can read it: chmod 600 {path}", path=path))
