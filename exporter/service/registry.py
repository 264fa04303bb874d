"""The known blog services, and the settings and profiles that they declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from exporter.errors import UsageError
from exporter.service.atompub.source import AtomPub
from exporter.service.blog_v1 import BlogV1
from exporter.service.export_file import ExportFile
from exporter.service.interface import BlogService, FactBasis, KnownFact, Profile, Records, Values
from exporter.service.joined import JoinedRecords
from exporter.service.movable_type.source import MovableType
from exporter.service.public_site.source import PublicSite
from exporter.service.stated import StatedService
from exporter.service.wordpress.source import WordPressService
from exporter.service.wxr.source import WxrFile
from exporter.setting_types import Setting, setting_text
from exporter.text import printable

SERVICES: Final[Mapping[str, type[BlogService]]] = {
    BlogV1.name: BlogV1,
    WordPressService.name: WordPressService,
    AtomPub.name: AtomPub,
    WxrFile.name: WxrFile,
    MovableType.name: MovableType,
    PublicSite.name: PublicSite,
}
"""The services by the names that ``archive.json`` has for them.

If several gave an entry, the text of the first one here is shown; but the archive's main service comes first.
"""

EXPORT_FILES: Final[tuple[type[ExportFile], ...]] = tuple(
    service for service in SERVICES.values() if issubclass(service, ExportFile)
)
"""The formats of export files, the most certain to be recognised first."""

DEFAULT_SERVICE: Final = BlogV1()
"""The service of an archive that names none."""

SERVICE_SETTINGS: Final[Mapping[str, Setting]] = {
    name: setting for service in SERVICES.values() for name, setting in service.own_settings.items()
}
SERVICE_OPTIONS: Final = tuple(dict.fromkeys(name for service in SERVICES.values() for name in service.own_options))
"""Names of the settings among these that ``backup`` offers as options and that an archive stores."""
FLAG_SETTINGS: Final = tuple(
    dict.fromkeys(name for service in SERVICES.values() for name in service.flag_settings if name)
)
"""Names of the settings among these by which the owner of a blog declares what its flags mean."""

PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile for service in SERVICES.values() for profile in service.profiles
}


def service_of(settings: Values, name: str | None = None) -> Records:
    """Return the service that reads an archive's records, also those that several services gave.

    Args:
        settings: the user's settings.
        name: the name in ``archive.json``, or ``None`` if it has none.

    Raises:
        UsageError: no service has this name.
    """
    main = way_of(settings, name)
    return joined_records(settings, main) if isinstance(main, StatedService) else main


def joined_records(settings: Values, main: BlogService) -> JoinedRecords:
    """Return the service that reads joined records of an archive with this main service."""
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
    found = SERVICES.get(DEFAULT_SERVICE.name if name is None else name)
    if found is None:
        raise UsageError(
            "The blog service {name!r} is not known to this program, which knows {known}.",
            name=printable(str(name), 60),
            known=", ".join(SERVICES),
        )
    return found.of(settings)


def own_profile(name: str, table: Mapping[str, Any], path: object) -> Profile:
    """Return a table of the settings file at ``path`` as a profile. Its values are checked when they are used."""
    facts = {key: KnownFact(setting_text(value), FactBasis.OWN, str(path)) for key, value in table.items()}
    return Profile(name, name, facts)


def profile_for(blog_id: str, profiles: Iterable[Profile]) -> Profile | None:
    """Return the first profile that has the blog's ID among its hosts."""
    return next((profile for profile in profiles if profile.is_of(blog_id)), None)
