"""What a post of the made-up blog consists of before the service's fields are filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Post:
    """A post. ``{{key}}`` in its texts stands for the address of an upload.

    Attributes:
        entry_id: its number.
        when: date and time, Japan time.
        title: may hold anything.
        body: ``entry_text``.
        category: the category's name.
        continued: ``ps_title`` and ``ps_text``.
        period: the period date when it differs from ``when``.
        updated: the last update when it differs from ``when``.
        draft: not published.
        private: for the writer's eyes only.
        plain: a text without HTML.
        comments_open: whether comments are accepted.
        name: the URL name when it has one of its own.
        odd: fields that a fault of the old service left in a strange state.
    """

    entry_id: int
    when: str
    title: str
    body: str
    category: str = "日記"
    continued: tuple[str, str] = ("", "")
    period: str | None = None
    updated: str | None = None
    draft: bool = False
    private: bool = False
    plain: bool = False
    comments_open: bool = True
    name: str | None = None
    odd: Mapping[str, str] = field(default_factory=dict)
