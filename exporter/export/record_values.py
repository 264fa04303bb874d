"""How the records of a service are read for a comparison by the attributes of their neutral form. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from exporter.html.record_words import RecordWords, Values
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.model.records import Raw
    from exporter.service.interface import Records


def value_reader(service: Records, words: RecordWords, kind: Kind) -> Callable[[Raw], Values] | None:
    """Return a function that reads the values of a raw record.

    ``None`` if the service says which attribute each raw field is read from, or if the kind has no neutral form: then
    the raw fields themselves are compared.
    """
    if service.attributes.get(kind):
        return None
    match kind:
        case Kind.ENTRIES:
            return lambda raw: words.of(service.post(raw))
        case Kind.ENTRY_LIST:
            return lambda raw: words.of(service.post(None, raw))
        case Kind.COMMENTS:
            return lambda raw: words.of(service.comment(raw))
        case Kind.FILES:
            return lambda raw: words.of(service.upload(raw))
        case _:
            return None
