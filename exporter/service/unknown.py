"""Records from a service that this program does not know, such as one that a newer program added. Pure.

The archive can be shown, exported and checked. No entry is public, because nothing says who may see it.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape

from exporter import lossless_json
from exporter.model.records import Comment, Post, Raw
from exporter.service.blog_v1 import BlogV1
from exporter.service.declarations import FlagSettings


class UnknownRecords(BlogV1):
    """Reads the fields that have the names of the first service. A record without a text shows all its fields."""

    flag_settings = FlagSettings()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Join an entry with its list item; either may be missing."""
        found = super().post(raw, item)
        return found if found.body or raw is None else replace(found, body=_all_fields(raw))

    def texts(self, raw: Raw) -> tuple[str, str]:
        """Return both parts of an entry's text."""
        body, more = super().texts(raw)
        return body or _all_fields(raw), more

    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""
        found = super().comment(raw)
        return found if found.text else replace(found, text=_all_fields(raw))


def _all_fields(raw: Raw) -> str:
    """Return all fields of a record as HTML."""
    rows = (
        f"<dt>{escape(name)}</dt><dd>{value if isinstance(value, str) else escape(_json(value))}</dd>"
        for name, value in raw.items()
    )
    return f"<dl>{''.join(rows)}</dl>"


def _json(value: object) -> str:
    return lossless_json.dumps({"": value}).decode("utf-8", "replace")[4:-1]
