"""What is known of blog services without asking them: each fact with its value, its standing and where it is from.

A fact stands for a setting and is used where nothing else says that setting, so whoever knows better overrides it. A
table ``[profiles.NAME]`` of the settings file is a profile too, whose facts are its owner's. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from exporter.message import message

BLOG_HOSTS: Final = "blog_hosts"
"""Hosts of the blog's own: a fact and not a setting. A blog whose ID is among them gets the profile."""


class Standing(StrEnum):
    """How far a fact can be relied on."""

    DOCUMENTED = "documented"
    """The service's own public page says so."""
    OBSERVED = "observed"
    """It was seen to be so; the service promises nothing."""
    CHOSEN = "chosen"
    """Ours to choose, as the service says nothing."""
    OWN = "own"
    """The user's settings file says so."""


@dataclass(frozen=True, slots=True)
class KnownFact:
    """One thing that is known: its value as a settings file writes it, how reliable that is, and where it is from."""

    value: str
    standing: Standing
    source: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A known blog service.

    Attributes:
        name: what ``--profile`` calls it.
        title: what people call it.
        facts: by the name of the setting that they stand for, and :data:`BLOG_HOSTS`.
        unknown: what nobody has said or seen so far.
        settings: the facts that are settings, as the settings file writes them.
    """

    name: str
    title: str
    facts: Mapping[str, KnownFact]
    unknown: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, str]:
        """The values of all facts that are settings."""
        return {name: fact.value for name, fact in self.facts.items() if name != BLOG_HOSTS}

    def is_of(self, blog_id: str) -> bool:
        """Tell whether a blog's ID is one of the hosts; ``*.`` at the beginning of one stands for any name."""
        hosts = self.facts[BLOG_HOSTS].value.split(",") if BLOG_HOSTS in self.facts else []
        return any(_is_host(blog_id.lower(), host.strip().lower()) for host in hosts)


def _is_host(blog_id: str, host: str) -> bool:
    return blog_id.endswith(host[1:]) and blog_id != host[1:] if host.startswith("*.") else blog_id == host


def _documented(value: str, source: str) -> KnownFact:
    return KnownFact(value, Standing.DOCUMENTED, source)


def _observed(value: str, source: str) -> KnownFact:
    return KnownFact(value, Standing.OBSERVED, source)


_PAGE: Final = message("the service's public page for developers")
_CLIENTS: Final = message("what public programs for the service send")
_BLOGS: Final = message("pages and uploads of public blogs")
_NOT_SAID: Final = message("no limit is documented; this asks gently")

NINJA: Final = Profile(
    "ninja",
    message("Ninja Blog (忍者ブログ)"),
    {
        BLOG_HOSTS: _observed("*.blog.shinobi.jp, blog.cnobi.jp", _BLOGS),
        "base_url": _documented("https://api.shinobi.jp", _PAGE),
        "oauth_authorize_url": _documented("{base_url}/oauth", _PAGE),
        "oauth_token_url": _documented("{base_url}/oauth/token", _PAGE),
        "oauth_scope_separator": _documented(",", _PAGE),
        "auth_header": _observed("Authorization", _CLIENTS),
        "auth_scheme": _documented("Bearer", _PAGE),
        "file_url": _observed("https://blog.cnobi.jp/v1/blog/user/{user_id}/{mtime}", _BLOGS),
        "entry_url": _observed("https://{blog_id}/Entry/{entry_id}/", _BLOGS),
        "timezone": _observed("Asia/Tokyo", _BLOGS),
        "concurrency": KnownFact("4", Standing.CHOSEN, _NOT_SAID),
        "rate": KnownFact("10", Standing.CHOSEN, _NOT_SAID),
    },
    (
        message("what the flags open_flg, delete_flg and text_format mean"),
        message("which statuses and bodies failures have"),
        message("how many requests are welcome"),
        message("the page parameter and the page size of the list of entries"),
        message("whether ETag and Last-Modified are sent"),
    ),
)
PROFILES: Final[Mapping[str, Profile]] = {NINJA.name: NINJA}


def own_profile(name: str, table: Mapping[str, Any], path: object) -> Profile:
    """Return the profile that a table of the file at ``path`` is; its values are checked when they are used."""
    facts = {key: KnownFact(_written(value), Standing.OWN, str(path)) for key, value in table.items()}
    return Profile(name, name, facts)


def _written(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def profile_for(blog_id: str, profiles: Iterable[Profile]) -> Profile | None:
    """Return the first profile whose hosts a blog's ID is one of."""
    return next((profile for profile in profiles if profile.is_of(blog_id)), None)
