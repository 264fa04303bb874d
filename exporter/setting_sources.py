"""Where settings come from, and which service a secret belongs to.

A service's address may come from a stranger's page or list. So a secret goes only to the
service that its owner named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from exporter.message import message
from exporter.service.declarations import Declaration, Profile
from exporter.setting_types import origin_of_address, origins, setting_text

PREFIX: Final = "BLOG_EXPORTER_"


def option_name(name: str) -> str:
    """Return the option of a setting or parameter: ``--max-age`` for ``max_age``.

    The limits of a capture have longer names as settings, because lists also have a limit of pages.
    """
    return f"--{name.removeprefix('capture_').replace('_', '-')}"


class Origin(StrEnum):
    """The sources of settings, in order of precedence."""

    FOUND = "found"
    OPTION = "option"
    VARIABLE = "variable"
    BLOG = "blog"
    FILE = "file"
    ARCHIVE = "archive"
    PROFILE = "profile"
    DEFAULT = "default"


COMMAND: Final = {Origin.OPTION, Origin.VARIABLE}


class Source(NamedTuple):
    """The source of a setting's value.

    Attributes:
        origin: the kind of source.
        where: the file's path, or the profile's name; else empty.
        blog: the name of the blog's table in that file.
    """

    origin: Origin
    where: str = ""
    blog: str = ""

    def place(self, name: str) -> str:
        """Describe a setting's place: ``option --max-age``, ``/home/me/blog-exporter.toml: max_age``."""
        if self.origin is Origin.FOUND:
            return message("{name}, as found", name=name)
        if self.origin is Origin.OPTION:
            return message("option {name}", name=option_name(name))
        if self.origin is Origin.VARIABLE:
            return message("variable {name}", name=f"{PREFIX}{name.upper()}")
        if self.origin is Origin.BLOG:
            return message("{path}, [blogs.{blog}]: {name}", path=self.where, blog=self.blog, name=name)
        if self.origin is Origin.PROFILE:
            return message("profile {profile}: {name}", profile=self.where, name=name)
        if self.origin is Origin.DEFAULT:
            return message("default of {name}", name=name)
        return message("{path}: {name}", path=self.where, name=name)


class Owners(NamedTuple):
    """Finds the service that a secret belongs to.

    A statement in the same place as the secret counts first: ``token_for``, else an address or a profile. An option and
    a variable are one place, the command; a settings file's table is another one, and the lines above its tables are a
    third. Then count a ``token_for`` anywhere, the address or profile in the command, and the profile of the blog's ID.
    Next to a secret in an archive an address does not count, because a backup keeps the one that it found.

    Attributes:
        sources: all sources, in order of precedence.
        profiles: all profiles by name.
        implied: the profile that the blog's ID selects, unless a source names one.
    """

    sources: Sequence[tuple[Source, Mapping[str, Any]]]
    profiles: Mapping[str, Profile]
    implied: Profile | None

    def of(self, place: Source, name: str = "token_for") -> tuple[str, ...]:
        """Return the origins that may receive the secret at a place; ``name`` is the setting that states them."""
        beside = [values for source, values in self.sources if is_beside(source, place)]
        anywhere = [values for source, values in self.sources if source.origin is not Origin.FOUND]
        stated = [_first(name, beside), _first(name, anywhere)]
        if name == "token_for" and place.origin is not Origin.ARCHIVE:
            in_command = [values for source, values in self.sources if source.origin in COMMAND]
            implied = None if place.origin is Origin.FILE else self.implied
            stated = [
                stated[0], self._address_in(beside), stated[1], self._address_in(in_command), _address_of(implied),
            ]  # fmt: skip
        try:
            return origins(next((each for each in stated if each is not None), ""))
        except ValueError:  # the base URL is wrong, which its reader says
            return ()

    def _address_in(self, sources: Sequence[Mapping[str, Any]]) -> str | None:
        return _first("base_url", sources) or _address_of(self.profiles.get(_first("profile", sources) or ""))


def _address_of(profile: Profile | None) -> str | None:
    return None if profile is None else profile.settings.get("base_url")


def _first(name: str, sources: Sequence[Mapping[str, Any]]) -> str | None:
    return next((setting_text(values[name]) for values in sources if name in values), None)


def is_beside(source: Source, place: Source) -> bool:
    """Return whether two sources are one place."""
    return source.origin is place.origin or {source.origin, place.origin} == COMMAND


def may_receive(base_url: str, service: Declaration | None, owners: Sequence[str]) -> bool:
    """Return whether a service may receive a secret of these owners."""
    if service is not None and service.anonymous:
        return False
    try:
        return origin_of_address(base_url) in owners
    except ValueError:
        return False
