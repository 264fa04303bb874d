"""Which comment answers which, as far as its own first words say so. Pure.

The API has no field for it (2.5); people do it in words. A comment answers an earlier one of its entry when it begins
with ``>>`` and the id of that one, or its number among the entry's comments, counted from 1; or with the very name of
who wrote an earlier one, either after ``@`` or ``>``, or before さん, 様 and the like: then the last that was written
under that name. Whatever else it begins with, it stands alone.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.search.folding import fold

if TYPE_CHECKING:
    from exporter.model.records import Comment

DEEPEST: Final = 2
"""An answer to an answer's answer stands beside what it answers: lines stay wide enough on a phone."""
_LOOKED_AT: Final = 400
_LONGEST_NAME: Final = 40
_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r">>(?:no\.?)?([0-9]{1,18})(?![0-9])")
_CALL = re.compile(r"(?:@|>{1,2}|→)(?![>@→]) ?")
_HONORIFIC = re.compile(r" ?(?:さん|さま|様|ちゃん|くん|君|氏|先生|どの|殿)")
_NAME_ENDS = re.compile(r"[^0-9a-z]|$")


class Reply(NamedTuple):
    """Where a comment stands: below the one at ``under``, ``None`` for none; and what it answers, which may be deeper.

    Attributes:
        under: the place among the entry's comments of the one whose answers it stands among.
        answers: the place of the one that it answers.
    """

    under: int | None = None
    answers: int | None = None


def replies(comments: Sequence[Comment]) -> list[Reply]:
    """Return where each of an entry's comments stands, in their order; it answers an earlier one or none."""
    places: dict[str, int] = {}
    by_name: dict[str, int] = {}
    found: list[Reply] = []
    depths: list[int] = []
    for at, comment in enumerate(comments):
        answers = _answered(_beginning(comment.text), at, places, by_name) if at else None
        under = answers
        while under is not None and depths[under] == DEEPEST:
            under = found[under].under
        found.append(Reply(under, answers))
        depths.append(0 if under is None else depths[under] + 1)
        places[comment.id] = at
        name = fold(comment.name).strip()
        if name and len(name) <= _LONGEST_NAME:
            by_name[name] = at
    return found


def _beginning(text: str) -> str:
    return fold(html.unescape(_TAG.sub(" ", text[:_LOOKED_AT]))).lstrip()


def _answered(text: str, at: int, places: dict[str, int], by_name: dict[str, int]) -> int | None:
    number = _NUMBER.match(text)
    if number is not None:
        place = places.get(number[1], int(number[1]) - 1)
        return place if 0 <= place < at else None
    called = _CALL.match(text)
    start = called.end() if called else 0
    for end in range(min(len(text), start + _LONGEST_NAME), start, -1):
        place = by_name.get(text[start:end], -1)
        if place >= 0 and ((called and _NAME_ENDS.match(text, end)) or _HONORIFIC.match(text, end)):
            return place
    return None
