"""Differences between two texts, word by word, and between records; a Japanese word is a run of one script. Pure.

Texts are aligned at words that are unique in both, which is cheap for any length. Between these anchors they are
aligned by :class:`difflib.SequenceMatcher` until the budget of comparisons is used up; the rest counts as replaced.
Long texts are first aligned by lines, and the longest by their ends only. So time and memory are bounded, and short
texts get the best alignment.

Edits are then joined and moved so that they read well. If the equal text between two edits is shorter than both, the
two become one. An edit that could also be a few characters earlier or later begins where a sentence begins.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

from exporter import lossless_json
from exporter.message import message
from exporter.model.changes import ABSENT, Change, FieldChange, RecordChange
from exporter.model.kinds import Kind
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Match = tuple[int, int, int]
Op = Literal["equal", "delete", "insert"]

ALIGNED_BY_LINES_CHARACTERS: Final = 20_000
"""Characters; longer texts are first aligned by lines."""
_MAX_COMPARISONS: Final = 5_000_000
"""Comparisons."""
_MAX_CHARACTERS: Final = 1_000_000
"""Above this number of characters, words would take hundreds of megabytes, so only equal ends are kept."""

_MARKS: Final = "\u0300-\u036f\u3099\u309a\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff"
_WORD: Final = re.compile(
    rf"(?:\u200d.|[{_MARKS}])+"
    rf"|(?:[0-9]+|[ぁ-ゟ]+|[ァ-ヿㇰ-ㇿｦ-ﾟ]+|[々〆㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff]+"
    rf"|[^\W\d_ぁ-ヿㇰ-ㇿ々〆㐀-䶿一-鿿豈-﫿ｦ-ﾟ\U00020000-\U0003ffff]+|\r?\n|[ \t\u3000]+|.)(?:\u200d.|[{_MARKS}])*",
    re.DOTALL,
)
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_MAX_JOINED_CHARACTERS: Final = 8
"""The most characters of equal text that joins two edits."""
_MAX_SHIFT_CHARACTERS: Final = 2_000
"""The most characters that an edit is moved by, so that the time stays linear."""
_CONTINUES: Final = re.compile("[\u0300-\u036f\u3099\u309a\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")
"""Characters that belong to the one before them."""
SENTENCE_END: Final = re.compile(r"\n|[。！？!?．]+[」』）)”’]*|[.]+[)\"”’]*(?=\s)|[」』]")
_BOUNDARY_RANKS: Final = {
    "\n": 4,
    **dict.fromkeys("。！？!?．", 3),
    **dict.fromkeys("」』）)", 2),
    **dict.fromkeys("、，, \u3000", 1),
}


def word_diff(before: str, after: str) -> list[tuple[Op, str]]:
    """Return how ``before`` becomes ``after``.

    The texts of ``equal`` and ``delete`` joined are ``before``, those of ``equal`` and ``insert`` are ``after``. Two
    neighbours never have the same operation, and a deletion comes before the insertion that replaces it.
    """
    if max(len(before), len(after)) > _MAX_CHARACTERS:
        return _around(before, after)
    budget = _Budget(_MAX_COMPARISONS)
    parts: list[tuple[bool, str, str]] = [(False, before, after)]
    if max(len(before), len(after)) > ALIGNED_BY_LINES_CHARACTERS:
        parts = list(_aligned(_LINE.findall(before), _LINE.findall(after), budget))
    found: list[tuple[Op, str]] = []
    for is_equal, old, new in parts:
        found += [("equal", old)] if is_equal else _words(old, new, budget)
    return list(with_readable_edits(_joined(found)))


def _around(before: str, after: str) -> list[tuple[Op, str]]:
    """Keep the equal beginning and end, and count the rest as replaced."""
    most = min(len(before), len(after))
    start = _shared(most, lambda length: before[:length] == after[:length])
    rest = most - start
    end = _shared(rest, lambda length: before[len(before) - length :] == after[len(after) - length :])
    return _joined(
        [
            ("equal", before[:start]),
            ("delete", before[start : len(before) - end]),
            ("insert", after[start : len(after) - end]),
            ("equal", before[len(before) - end :]),
        ]
    )


def _shared(most: int, same: Callable[[int], bool]) -> int:
    """Return the greatest length for which ``same`` holds, given that it holds for all shorter ones."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        low, most = (middle, most) if same(middle) else (low, middle - 1)
    return low


class _Budget:
    """The number of comparisons left."""

    def __init__(self, left: int) -> None:
        self._left = left

    def pays(self, cost: int) -> bool:
        """Subtract the cost and return whether there was enough left."""
        if cost > self._left:
            return False
        self._left -= cost
        return True


def _words(before: str, after: str, budget: _Budget) -> list[tuple[Op, str]]:
    found: list[tuple[Op, str]] = []
    for is_equal, old, new in _aligned(_WORD.findall(before), _WORD.findall(after), budget):
        found += [("equal", old)] if is_equal else [("delete", old), ("insert", new)]
    return found


def _joined(parts: Sequence[tuple[Op, str]]) -> list[tuple[Op, str]]:
    """Join neighbours with the same operation, put deletions before insertions, and drop empty parts."""
    found: list[tuple[Op, str]] = []
    pending: dict[Op, list[str]] = {"delete": [], "insert": []}

    def flush() -> None:
        for op, texts in pending.items():
            if text := "".join(texts):
                found.append((op, text))
            texts.clear()

    for op, text in parts:
        if op != "equal":
            pending[op].append(text)
        elif text:
            flush()
            if found and found[-1][0] == "equal":
                found[-1] = ("equal", found[-1][1] + text)
            else:
                found.append(("equal", text))
    flush()
    return found


def _aligned(a: list[str], b: list[str], budget: _Budget) -> Iterator[tuple[bool, str, str]]:
    """Yield the texts of two sequences in parts, equal or replaced, in order."""
    at_a = at_b = 0
    for start_a, start_b, length in [*_matches(a, b, budget), (len(a), len(b), 0)]:
        if start_a > at_a or start_b > at_b:
            yield False, "".join(a[at_a:start_a]), "".join(b[at_b:start_b])
        at_a, at_b = start_a + length, start_b + length
        if length:
            yield True, "".join(a[start_a:at_a]), "".join(b[start_b:at_b])


def _matches(a: list[str], b: list[str], budget: _Budget) -> list[Match]:
    """Return the equal parts as ``(start in a, start in b, length)``, in order."""
    found: list[Match] = []
    todo = [(0, len(a), 0, len(b))]
    while todo:
        low_a, high_a, low_b, high_b = todo.pop()
        start, end = _edges(a, b, low_a, high_a, low_b, high_b)
        found.append((low_a, low_b, start))
        found.append((high_a - end, high_b - end, end))
        low_a, low_b, high_a, high_b = low_a + start, low_b + start, high_a - end, high_b - end
        if low_a == high_a or low_b == high_b:
            continue
        if budget.pays(_most_comparisons(a[low_a:high_a], b[low_b:high_b])):
            matcher = SequenceMatcher(None, a[low_a:high_a], b[low_b:high_b], autojunk=False)
            found += [(low_a + i, low_b + j, length) for i, j, length in matcher.get_matching_blocks()]
        elif budget.pays(high_a - low_a + high_b - low_b):
            anchors = _anchors(a, b, low_a, high_a, low_b, high_b)
            if anchors:
                bounds = [(low_a, low_b), *anchors, (high_a, high_b)]
                todo += [(i, next_i, j, next_j) for (i, j), (next_i, next_j) in pairwise(bounds)]
    return sorted(match for match in found if match[2])


def _most_comparisons(a: list[str], b: list[str]) -> int:
    """Return an upper bound for the matcher's work: each step examines every item and every pair of equal ones."""
    in_b = Counter(b)
    return (len(a) + sum(in_b[item] for item in a)) * min(len(a), len(b))


def _edges(a: list[str], b: list[str], low_a: int, high_a: int, low_b: int, high_b: int) -> tuple[int, int]:
    """Return the number of equal items at the beginning, and of the rest at the end."""
    most = min(high_a - low_a, high_b - low_b)
    start = 0
    while start < most and a[low_a + start] == b[low_b + start]:
        start += 1
    end = 0
    while end < most - start and a[high_a - 1 - end] == b[high_b - 1 - end]:
        end += 1
    return start, end


def _anchors(a: list[str], b: list[str], low_a: int, high_a: int, low_b: int, high_b: int) -> list[tuple[int, int]]:
    """Return the longest chain of items that are unique in both parts and in the same order (patience diff)."""
    in_a, in_b = _unique(a, low_a, high_a), _unique(b, low_b, high_b)
    pairs = [(i, in_b[item]) for item, i in in_a.items() if item in in_b]
    tops: list[int] = []
    chain: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        at = bisect_left(tops, j)
        before.append(chain[at - 1] if at else -1)
        tops[at : at + 1] = [j]
        chain[at : at + 1] = [number]
    found: list[tuple[int, int]] = []
    number = chain[-1] if chain else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _unique(items: list[str], low: int, high: int) -> dict[str, int]:
    """Return the items that occur once between the bounds, with their positions, in order."""
    places: dict[str, int] = {}
    for at in range(low, high):
        places[items[at]] = at if items[at] not in places else -1
    return {item: at for item, at in places.items() if at >= 0}


class _Edit:
    """The texts deleted and inserted at one place, and the equal text after them."""

    def __init__(self) -> None:
        self.old: list[str] = []
        self.new: list[str] = []
        self.lengths = [0, 0]
        self.equal = ""

    def add(self, op: Op, text: str) -> None:
        """Add a deletion or an insertion."""
        (self.old if op == "delete" else self.new).append(text)
        self.lengths[op == "insert"] += len(text)

    def join(self, other: _Edit) -> None:
        """Add the next edit and the text between the two."""
        self.old += [self.equal, *other.old]
        self.new += [self.equal, *other.new]
        self.lengths = [sum(lengths) + len(self.equal) for lengths in zip(self.lengths, other.lengths, strict=True)]
        self.equal = other.equal


def with_readable_edits(parts: Sequence[tuple[Op, str]]) -> Iterator[tuple[Op, str]]:
    """Yield an equivalent diff with short equal texts joined into the edits, and edits moved to sentence starts."""
    first = parts[0][1] if parts and parts[0][0] == "equal" else ""
    before = first
    for edit in _whole(parts[1:] if first else parts):
        old, new = "".join(edit.old), "".join(edit.new)
        if bool(old) != bool(new):
            before, moved, edit.equal = _moved(before, old or new, edit.equal)
            old, new = (moved, "") if old else ("", moved)
        changed: tuple[tuple[Op, str], ...] = (("equal", before), ("delete", old), ("insert", new))
        yield from ((op, text) for op, text in changed if text)
        before = edit.equal
    if before:
        yield "equal", before


def _whole(parts: Sequence[tuple[Op, str]]) -> list[_Edit]:
    """Return the edits; neighbours with a short equal text between them are joined."""
    found: list[_Edit] = []
    for op, text in parts:
        if op == "equal":
            found[-1].equal = text
            continue
        if not found or found[-1].equal:
            found.append(_Edit())
        found[-1].add(op, text)
    joined: list[_Edit] = []
    for edit in found:
        while joined and _is_crumb(joined[-1], edit):
            last = joined.pop()
            last.join(edit)
            edit = last  # noqa: PLW2901  continue with the joined edit
        joined.append(edit)
    return joined


def _is_crumb(before: _Edit, after: _Edit) -> bool:
    text = before.equal
    return (
        len(text) <= min(_MAX_JOINED_CHARACTERS, max(before.lengths), max(after.lengths))
        and SENTENCE_END.search(text) is None
    )


def _moved(before: str, edit: str, after: str) -> tuple[str, str, str]:
    """Return the text before, the edit and the text after, with the edit at its best position; their sum stays."""
    text = before[-_MAX_SHIFT_CHARACTERS:] + edit + after[:_MAX_SHIFT_CHARACTERS]
    start, length = len(before[-_MAX_SHIFT_CHARACTERS:]), len(edit)
    low = high = start
    while low > 0 and text[low - 1] == text[low + length - 1]:
        low -= 1
    while high + length < len(text) and text[high] == text[high + length]:
        high += 1
    best = max(range(low, high + 1), key=lambda at: (_rank(text, at) + _rank(text, at + length), -abs(at - start)))
    if _rank(text, best) + _rank(text, best + length) <= _rank(text, start) + _rank(text, start + length):
        return before, edit, after
    head, tail = before[: max(0, len(before) - _MAX_SHIFT_CHARACTERS)], after[_MAX_SHIFT_CHARACTERS:]
    return head + text[:best], text[best : best + length], text[best + length :] + tail


def _rank(text: str, at: int) -> int:
    """Return how suitable the position before a character is for a cut."""
    if at in (0, len(text)):
        return 4
    return 0 if _CONTINUES.match(text[at]) or text[at - 1] == "\u200d" else _BOUNDARY_RANKS.get(text[at - 1], 0)


RECORD_NAMES: Final[Mapping[Kind, str]] = {
    Kind.ENTRIES: message("entry"),
    Kind.ENTRY_LIST: message("list item"),
    Kind.COMMENTS: message("comment"),
    Kind.FILES: message("upload"),
    Kind.USER: message("user"),
    Kind.ASSETS: message("picture or file"),
}

CHANGE_NAMES: Final[Mapping[Change, str]] = {
    Change.NEW: message("new"),
    Change.CHANGED: message("changed"),
    Change.GONE: message("gone"),
}

ATTRIBUTE_NAMES: Final[Mapping[str, str]] = {
    "title": message("Title"),
    "slug": message("Name in the address"),
    "body": message("Text"),
    "more_title": message("Heading of the continuation"),
    "more": message("Continuation"),
    "attachments": message("Files of its galleries"),
    "template": message("Template"),
    "date": message("Date"),
    "updated": message("Last update"),
    "period_date": message("Period date"),
    "category_id": message("Category number"),
    "private": message("Private"),
    "access": message("Visibility code"),
    "comments_open": message("Takes comments"),
    "pings_open": message("Takes trackbacks"),
    "name": message("Name"),
    "text": message("Text"),
    "url": message("Website"),
    "deleted": message("Flagged"),
    "reply": message("Answered"),
    "description": message("Description"),
    "bytes": message("Size in bytes"),
    "width": message("Width"),
    "height": message("Height"),
    "modified": message("Modified"),
    "extension": message("Extension"),
    "kind": message("Kind"),
    "audience": message("Visible to"),
    "categories": message("Categories"),
    "tags": message("Tags"),
    "author": message("Author"),
    "permalink": message("Address"),
    "excerpt": message("Summary"),
    "featured": message("Featured picture"),
    "sources": message("Sources"),
    "email": message("Mail address"),
    "status": message("Status"),
    "parent": message("Answers the comment"),
    "by_owner": message("By the owner of the blog"),
    "alt": message("Replacement text"),
}
"""Names of fields for people, by the attribute of the neutral record that a field is read into."""

_ELLIPSIS: Final = "…"


def value_text(value: Any) -> str:
    """Return a field's value as text: strings unchanged, nothing for an absent one, JSON for everything else."""
    if value is ABSENT:
        return ""
    return str(value) if isinstance(value, str) else lossless_json.canonical(value).decode("utf-8")


def in_context(parts: Sequence[tuple[Op, str]], width: int, *, sentences: bool = False) -> Iterator[tuple[Op, str]]:
    """Cut long equal parts so that ``width`` characters remain next to each change.

    With ``sentences`` fewer may remain: a part begins or ends with a sentence if one does in its far half.
    """
    for number, (op, text) in enumerate(parts):
        first, last = number == 0, number == len(parts) - 1
        most = width if first or last else 2 * width
        if op != "equal" or len(text) <= most + len(_ELLIPSIS):
            yield op, text
        else:
            head = "" if first else text[:width]
            tail = "" if last else text[len(text) - width :]
            if sentences:
                ends = [found.end() for found in SENTENCE_END.finditer(head) if found.end() > width // 2]
                head = head[: ends[-1]] if ends else head
                begins = (found.end() for found in SENTENCE_END.finditer(tail, 0, width // 2))
                tail = tail[next(begins, 0) :]
            yield op, f"{head}{_ELLIPSIS}{tail}"


def count_changes(changes: Iterable[RecordChange]) -> dict[Kind, dict[Change, int]]:
    """Count the changes by kind and type of change, without kinds that did not change."""
    counted = Counter((change.kind, change.change) for change in changes)
    return {
        kind: {change: counted[kind, change] for change in Change}
        for kind in Kind
        if any(counted[kind, change] for change in Change)
    }


_CONTEXT_CHARACTERS: Final = 30
_SIGNS: Final[dict[Change, str]] = {Change.NEW: "+", Change.CHANGED: "~", Change.GONE: "-"}
_RED, _GREEN, _YELLOW, _RESET = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_COLOURS: Final[dict[Change, str]] = {Change.NEW: _GREEN, Change.CHANGED: _YELLOW, Change.GONE: _RED}
_PLAIN: Final[dict[Op, tuple[str, str]]] = {"equal": ("", ""), "delete": ("[-", "-]"), "insert": ("{+", "+}")}
_COLOURED: Final[dict[Op, tuple[str, str]]] = {"equal": ("", ""), "delete": (_RED, _RESET), "insert": (_GREEN, _RESET)}


FieldNames = Callable[[Kind, str], str]
"""Returns the display name of a field of a kind."""


def field_name(attributes: Mapping[str, str], field: str) -> str:
    """Return the name of a raw field: its own if no attribute, or several fields of one attribute, are read from it.

    Args:
        attributes: by the raw field, the attribute of its neutral record.
        field: the raw field.
    """
    attribute = attributes.get(field)
    alone = list(attributes.values()).count(attribute or "") == 1
    return ATTRIBUTE_NAMES.get(attribute or "", field) if alone else field


def as_sent(_kind: Kind, name: str) -> str:
    """Return the service's own name of a field."""
    return name


def diff_text(
    changes: Iterable[RecordChange],
    *,
    colour: bool = False,
    names: FieldNames = as_sent,
    kinds: Mapping[Kind, str] = RECORD_NAMES,
) -> Iterator[str]:
    """Yield lines of text: one for each record, and below it one for each field of a changed record.

    Deleted words are written as ``[-words-]`` and new ones as ``{+words+}``, or in red and green.
    """
    for change in changes:
        known = f"{kinds[change.kind]} {printable(change.record_id)}"
        line = f"{_SIGNS[change.change]} {known}  {printable(change.title)}"
        yield f"{_COLOURS[change.change]}{line}{_RESET}" if colour else line
        if change.change is Change.CHANGED:
            for field in change.fields:
                yield f"    {printable(names(change.kind, field.name))}: {_field(field, colour=colour)}"


def _field(field: FieldChange, *, colour: bool) -> str:
    parts = word_diff(value_text(field.before), value_text(field.after))
    marks = _COLOURED if colour else _PLAIN
    return "".join(
        f"{marks[op][0]}{printable(text)}{marks[op][1]}" for op, text in in_context(parts, _CONTEXT_CHARACTERS)
    )
