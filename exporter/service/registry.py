"""The known blog services, and the settings and profiles that they declare.

The module of a service is imported when the service is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.message import listed
from exporter.service.declarations import AGREEMENT, BLOG_V1, DECLARATIONS, FactBasis, KnownFact, Profile
from exporter.setting_types import Setting, setting_text
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.service.blog_v1 import BlogV1
    from exporter.service.export_file import ExportFile
    from exporter.service.interface import BlogService, Records, Values
    from exporter.service.joined import JoinedRecords

    DEFAULT_SERVICE: BlogV1


class _Services(Mapping[str, "type[BlogService]"]):
    """The services by name. An access imports the service's module; names and their order come from declarations."""

    def __getitem__(self, name: str) -> type[BlogService]:
        declared = DECLARATIONS[name]
        found: type[BlogService] = getattr(importlib.import_module(declared.module), declared.implementation)
        return found

    def __contains__(self, name: object) -> bool:
        return name in DECLARATIONS

    def __iter__(self) -> Iterator[str]:
        return iter(DECLARATIONS)

    def __len__(self) -> int:
        return len(DECLARATIONS)


SERVICES: Final[Mapping[str, type[BlogService]]] = _Services()

SERVICE_SETTINGS: Final[Mapping[str, Setting]] = {
    name: setting for each in DECLARATIONS.values() for name, setting in each.settings.items()
}
SERVICE_OPTIONS: Final = tuple(dict.fromkeys(name for each in DECLARATIONS.values() for name in each.options))
"""Names of the settings among these that ``backup`` offers as options and that an archive stores."""
FLAG_SETTINGS: Final = tuple(dict.fromkeys(name for each in DECLARATIONS.values() for name in each.flags if name))
"""Names of the settings among these by which the owner of a blog declares what its flags mean."""

PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile for each in DECLARATIONS.values() for profile in each.profiles
}
_AGREED: Final = frozenset({"rate", "concurrency"})
"""The settings that an agreement with a service's owner is about."""


@cache
def _default_service() -> BlogV1:
    from exporter.service.blog_v1 import BlogV1  # noqa: PLC0415 - settings need no service

    return BlogV1()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> BlogV1:
        """Return ``DEFAULT_SERVICE``, the service of an archive that names none."""
        if name == "DEFAULT_SERVICE":
            return _default_service()
        raise AttributeError(name)


def export_files() -> tuple[type[ExportFile], ...]:
    """Return the formats of export files, the most certain to be recognised first."""
    from exporter.service.export_file import ExportFile  # noqa: PLC0415 - only a backup from a file needs them

    found = (SERVICES[each.name] for each in DECLARATIONS.values() if each.reads_files)
    return tuple(each for each in found if issubclass(each, ExportFile))


def service_of(settings: Values, name: str | None = None) -> Records:
    """Return the service that reads an archive's records, also those that several services gave.

    Args:
        settings: the user's settings.
        name: the name in ``archive.json``, or ``None`` if it has none. The records of an unknown service can be read
            as raw records.
    """
    if name is not None and name not in SERVICES:
        from exporter.service.unknown import UnknownRecords  # noqa: PLC0415 - hardly any archive needs it

        return UnknownRecords(printable(name, 60))
    main = way_of(settings, name)
    return joined_records(settings, main) if main.may_be_joined else main


def joined_records(settings: Values, main: BlogService) -> JoinedRecords:
    """Return the service that reads joined records of an archive with this main service."""
    from exporter.service.joined import JoinedRecords  # noqa: PLC0415 - most archives have one service

    return JoinedRecords(main, partial(_service_named, settings), [*SERVICES])


def _service_named(settings: Values, name: str) -> BlogService | None:
    return SERVICES[name].of(settings) if name in SERVICES else None


def way_of(settings: Values, name: str | None = None) -> BlogService:
    """Return the service with this name, for a backup.

    Args:
        settings: the user's settings.
        name: the name in ``archive.json``, or ``None`` if it has none.

    Raises:
        UsageError: no service has this name.
    """
    chosen = BLOG_V1.name if name is None else name
    if chosen not in SERVICES:
        raise UsageError(
            "The blog service {name!r} is not known to this program, which knows {known}.",
            name=printable(str(name), 60),
            known=listed(DECLARATIONS),
        )
    return SERVICES[chosen].of(settings)


def own_profile(name: str, table: Mapping[str, Any], path: object) -> Profile:
    """Return a table of the settings file at ``path`` as a profile. Its values are checked when they are used.

    A table with an ``agreement`` states the ``rate`` and the ``concurrency`` that a service's owner agreed to. All that
    it does not name stays as the built-in profile of the same name has it.

    Raises:
        UsageError: the agreement has no source, or nothing that was agreed to.
    """
    agreement = table.get(AGREEMENT)
    source = " ".join(agreement.split()) if isinstance(agreement, str) else ""
    facts = {}
    for key, value in table.items():
        if key != AGREEMENT:
            agreed = source and key in _AGREED
            facts[key] = KnownFact(
                setting_text(value), FactBasis.AGREED if agreed else FactBasis.OWN, source if agreed else str(path)
            )
    if AGREEMENT not in table:
        return Profile(name, name, facts)
    if not source or not _AGREED & facts.keys():
        raise UsageError(
            "{path}: the agreement of [profiles.{name}] needs a text that says who agreed, when and where, and the "
            "rate or the concurrency that was agreed to.",
            path=path,
            name=name,
        )
    known = PROFILES.get(name, Profile(name, name, {}))
    return known._replace(facts={**known.facts, **facts})


def profile_for(blog_id: str, profiles: Iterable[Profile]) -> Profile | None:
    """Return the first profile that has the blog's ID among its hosts."""
    return next((profile for profile in profiles if profile.is_of(blog_id)), None)
