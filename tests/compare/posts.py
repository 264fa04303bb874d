"""Posts for tests; each test sets only the fields that it checks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from exporter.compare.posts import NewComment, NewPost, OldComment, OldPost, ShownAs, Unchecked, When
from exporter.compare.reconcile import Comparison
from exporter.compare.texts import letters

JAPAN = timezone(timedelta(hours=9))
THEN = datetime(2020, 1, 2, 3, 4, tzinfo=JAPAN)
TEXT = "今日は海まで歩いて行って、灯台の下で弁当を食べました。風が強くて帽子が飛んだ。"


def old(number: int = 1, **changes: Any) -> OldPost:
    """Return an entry; ``text`` is all of its text."""
    text = letters(changes.pop("text", f"{TEXT}その{number}"))
    made: dict[str, Any] = {
        "id": str(number), "title": f"題{number}", "when": THEN + timedelta(days=number), "status": ShownAs.PUBLISH,
        "asked": True, "slugs": (f"entry-{number}",), "category": "日記", "texts": (text,) if text else (),
        "pictures": (), "comments": (), "letters": text,
    }  # fmt: skip
    return OldPost(**(made | changes))


def new(number: int = 1, **changes: Any) -> NewPost:
    """Return the same post in a new home."""
    when = THEN + timedelta(days=number)
    text = letters(changes.pop("text", f"{TEXT}その{number}"))
    made: dict[str, Any] = {
        "key": f"https://new.example/{number}", "titles": (f"題{number}",), "slug": f"entry-{number}",
        "when": When(when.replace(tzinfo=None), when.astimezone(UTC)), "status": ShownAs.PUBLISH, "names": ("日記",),
        "letters": text, "whole": True, "pictures": (), "links": (), "comments": (),
    }  # fmt: skip
    return NewPost(**(made | changes))


def old_comment(name: str = "umi", text: str = "いいですね", *, day: int = 5, **changes: Any) -> OldComment:
    made: dict[str, Any] = {
        "title": "",
        "days": frozenset({datetime(2020, 1, day, tzinfo=UTC).date()}),
        "visible": True,
        "asked": changes.get("visible", True),
    }
    return OldComment(name=name, text=letters(text), **(made | changes))


def new_comment(name: str = "umi", text: str = "いいですね", *, day: int = 5, held: bool = False) -> NewComment:
    return NewComment(name, letters(text), When(datetime(2020, 1, day, tzinfo=UTC).date()), held=held)


def left_open(found: Comparison) -> list[Unchecked]:
    """Return the checks that were requested and could not be made."""
    return [each for each in found.unchecked if each.asked]
