"""The blog services that the program knows, by the names that archives have for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from exporter.errors import UsageError
from exporter.message import message
from exporter.service.blog_v1 import BlogV1, Options
from exporter.service.interface import BlogService
from exporter.settings import Settings
from exporter.text import printable

SERVICES: Final[dict[str, Callable[[Settings], BlogService]]] = {
    BlogV1.name: lambda settings: BlogV1(Options.of(settings)),
}
"""Makes each service, with what the settings override."""

DEFAULT_SERVICE: Final = BlogV1()
"""The service of an archive that names none, where no setting says otherwise."""


def service_of(settings: Settings, name: str | None = None) -> BlogService:
    """Return the service that an archive names.

    Args:
        settings: what overrides the service's own options.
        name: as ``archive.json`` has it; ``None`` where it names none.

    Raises:
        UsageError: no service has this name.
    """
    found = SERVICES.get(BlogV1.name if name is None else name)
    if found is None:
        known = ", ".join(SERVICES)
        raise UsageError(
            message(
                "The blog service {name!r} is not known to this program, which knows {known}.",
                name=printable(str(name), 60),
                known=known,
            )
        )
    return found(settings)
