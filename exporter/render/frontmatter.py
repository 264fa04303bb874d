"""The YAML front matter of an entry's page: the fields that matter, so that any YAML parser reads them back.

Texts always stand between double quotes, where YAML can escape every character: a title such as ``no`` or
``2024-01-01`` stays text, and nothing a stranger wrote can end the front matter.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

import yaml

from exporter.model.records import Entry, EntryListItem
from exporter.render.text import REPLACEMENT

_BASE: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ONE_LINE: Final = 2**30


class _Text(str):
    """A value to be written between double quotes."""

    __slots__ = ()


class _Dumper(_BASE):  # type: ignore[misc]  # which of the two it is shows at run time only
    """The safe dumper, which also knows :class:`_Text`."""


def _represent(dumper: Any, text: _Text) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')


_Dumper.add_representer(_Text, _represent)


def front_matter(entry: Entry, item: EntryListItem | None, comments: int) -> tuple[str, int]:
    """Return the front matter with its ``---`` lines, and how many lone surrogates became U+FFFD.

    Dates are ISO 8601 texts with the blog's offset; what the service did not send, or not sensibly, is null.
    """
    fields: dict[str, Any] = {
        "entry_id": entry.entry_id,
        "title": entry.title,
        "date": _date(entry.date),
        "last_update": _date(entry.last_update),
        "period_date": _date(entry.period_date),
        "category": item.category if item is not None else None,
        "category_id": entry.category_id,
        "name": entry.name,
        "open_flg": entry.open_flg,
        "period_flg": entry.period_flg,
        "is_private": entry.is_private,
        "text_format": entry.text_format,
        "cm_receipt_flg": entry.cm_receipt_flg,
        "tb_receipt_flg": entry.tb_receipt_flg,
        "comments": comments,
        "blog_id": entry.blog_id,
    }
    problems = [*entry.problems, *(item.problems if item is not None else ())]
    if problems:
        fields["problems"] = [f"{problem.field}: {problem.reason}" for problem in problems]
    replaced = 0

    def quoted(value: Any) -> Any:
        nonlocal replaced
        if isinstance(value, list):
            return [quoted(element) for element in value]
        if not isinstance(value, str):
            return value
        text, count = _SURROGATE.subn(REPLACEMENT, value)
        replaced += count
        return _Text(text)

    written = {name: quoted(value) for name, value in fields.items()}
    text = yaml.dump(written, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_ONE_LINE)
    return f"---\n{text}---\n", replaced


def _date(date: datetime | None) -> str | None:
    return None if date is None else date.isoformat()
