"""The values of a blog's undocumented flags, with counts and samples, for its owner to judge. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from exporter import text
from exporter.export.interface import RecordSource
from exporter.html.text import collapse
from exporter.model.kinds import Kind
from exporter.model.records import Raw
from exporter.service.interface import Records

_SAMPLES: Final = 3
_SHOWN: Final = 60


@dataclass(slots=True)
class Combination:
    """Records with the same flags.

    Attributes:
        flags: the values as sent; ``None`` also for a missing flag.
        count: how many records have them.
        samples: the titles or texts of a few.
        first: the id of the first of them.
    """

    flags: dict[str, Any]
    count: int = 0
    samples: list[str] = field(default_factory=list)
    first: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {**self.flags, "count": self.count, "samples": self.samples}


def entry_combinations(records: RecordSource, service: Records) -> list[Combination]:
    """Return the combinations of flags among entries, with the most frequent first."""
    return _combinations(records, Kind.ENTRIES, service.post_flags, lambda raw: service.post(raw).title)


def comment_combinations(records: RecordSource, service: Records) -> list[Combination]:
    """Return the values of the flag among comments, with the most frequent first."""
    return _combinations(records, Kind.COMMENTS, service.comment_flags, lambda raw: service.comment(raw).text)


def occurring(records: RecordSource, kind: Kind, flag: str, enough: frozenset[str] = frozenset()) -> Counter[str]:
    """Count the records by the value of a flag, as settings write it; values other than text and numbers are ignored.

    Args:
        records: the state.
        kind: the records.
        flag: the name of the field.
        enough: the values after which nothing more is read, once all of them were found.
    """
    found: Counter[str] = Counter()
    for _, raw in records.scan(kind):
        value = raw.get(flag)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            found[str(value)] += 1
        elif isinstance(value, bool) and kind is Kind.COMMENTS:
            found["t" if value else "f"] += 1
        if enough and enough <= set(found):
            break
    return found


def _combinations(
    records: RecordSource, kind: Kind, names: tuple[str, ...], sample: Callable[[Raw], str]
) -> list[Combination]:
    found: dict[tuple[str, ...], Combination] = {}
    for record_id, raw in records.scan(kind):
        flags = {name: _plain(raw.get(name)) for name in names}
        key = tuple(repr(value) for value in flags.values())
        combination = found.setdefault(key, Combination(flags, first=record_id))
        combination.count += 1
        if len(combination.samples) < _SAMPLES:
            shown = collapse(sample(raw)[: 4 * _SHOWN])[:_SHOWN]
            combination.samples.append(shown or f"({record_id})")
    return sorted(found.values(), key=lambda one: (-one.count, repr(one.flags)))


def flag_lines(
    records: RecordSource,
    service: Records,
    entries: str = "entries",
    comments: str = "comments",
    such_as: str = "such as",
) -> Iterator[str]:
    """Yield the table people read, with its headings; its untrusted text is not made printable yet."""
    yield from _table(entries, service.post_flags, such_as, entry_combinations(records, service))
    yield ""
    yield from _table(comments, service.comment_flags, such_as, comment_combinations(records, service))


def _table(heading: str, names: tuple[str, ...], such_as: str, found: list[Combination]) -> Iterator[str]:
    yield f"{text.right(heading, 9)}  {' '.join(f'{name:<10}' for name in names)} {such_as}"
    for one in found:
        values = " ".join(f"{_shown(value):<10}" for value in one.flags.values())
        yield f"{one.count:>9,}  {values} {' / '.join(one.samples)}"


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | bool | None) else "(no text)"


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)
