"""A comparison as text and as JSON, which docs/compare.md describes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from exporter.compare.posts import Announced, Difference, Fault, ShownAs, Unchecked
from exporter.compare.reconcile import Comparison, PostResult
from exporter.message import listed, message, message_n

_STATUS_NAMES: Final = {
    ShownAs.PUBLISH: message("public"),
    ShownAs.DRAFT: message("draft"),
    ShownAs.PRIVATE: message("private"),
    ShownAs.PASSWORD: message("behind a password"),
    ShownAs.SCHEDULED: message("scheduled"),
}
_NAMED_ENTRIES: Final = 5
_TITLE_CHARACTERS: Final = 60
_VALUE_CHARACTERS: Final = 120


def document(found: Comparison, **about: Any) -> dict[str, Any]:
    """Return the content of ``compare.json``, which begins with the members of ``about``."""
    changes = found.counts()
    return {
        **about,
        "whole": found.whole,
        "counts": {
            "entries": len(found.results),
            "identical": found.identical,
            "missing": changes[Fault.MISSING],
            "changed": len(found.results) - found.identical - changes[Fault.MISSING],
            "extra": len(found.extra),
            "not_asked": found.not_asked,
            "later_comments": found.later_comments,
        },
        "changes": {str(change): changes[change] for change in Fault if changes[change]},
        "entries": [_entry(result) for result in found.results if result.differences],
        "identical": [result.old.id for result in found.results if not result.differences],
        "extra": [{"address": post.key, "title": next(iter(post.titles), "")} for post in found.extra],
        "unchecked": [
            {"what": str(each.aspect), "count": each.count, "why": each.why, "asked": each.asked}
            for each in found.unchecked
        ],
        "announced": [{"what": str(each.aspect), "count": each.count, "why": each.why} for each in found.announced],
    }


def lines(found: Comparison, *, every: bool = False) -> Iterator[str]:
    """Yield the comparison as lines for people. They name a few entries of each kind, or ``every`` entry."""
    changes = found.counts()
    yield message_n("{n:>7,}  entry expected", "{n:>7,}  entries expected", len(found.results))
    yield message("{n:>7,}  unchanged in all compared parts", n=found.identical)
    for change in Fault:
        if changes[change]:
            yield message("{n:>7,}  {change}", n=changes[change], change=change.words)
            yield from _named(found, change, every=every)
    if found.extra:
        yield message_n(
            "{n:>7,}  entry that the archive does not have",
            "{n:>7,}  entries that the archive does not have",
            len(found.extra),
        )
        shown = found.extra if every else found.extra[:_NAMED_ENTRIES]
        yield from (
            f"{'':11}{_cut(next(iter(post.titles), ''), _TITLE_CHARACTERS)}  {_cut(post.key, _VALUE_CHARACTERS)}"
            for post in shown
        )
    if found.later_comments:
        yield message_n(
            "{n:>7,}  comment that the archive does not have",
            "{n:>7,}  comments that the archive does not have",
            found.later_comments,
        )
    if found.not_asked:
        yield message_n(
            "{n:>7,}  entry was not to be moved and is not visible",
            "{n:>7,}  entries were not to be moved and are not visible",
            found.not_asked,
        )
    if found.announced:
        yield message("Different, as announced:")
        yield from map(_not_compared, found.announced)
    if found.unchecked:
        yield message("Not compared:")
        yield from map(_not_compared, found.unchecked)


def verdict(found: Comparison) -> str:
    """Return a one-sentence summary that claims no more than was compared."""
    changes = found.counts()
    missing, changed = changes[Fault.MISSING], len(found.results) - found.identical - changes[Fault.MISSING]
    unseen = [each for each in found.unchecked if each.asked]
    names, total = (
        listed(aspect.words for aspect in dict.fromkeys(each.aspect for each in unseen)),
        len(found.results),
    )
    if missing or changed:
        counts = {"missing": missing, "changed": changed}
        if unseen:
            return message_n(
                "of {n:,} entry {missing:,} are missing and {changed:,} changed, "
                "and not everything could be compared ({names})",
                "of {n:,} entries {missing:,} are missing and {changed:,} changed, "
                "and not everything could be compared ({names})",
                total,
                **counts,
                names=names,
            )
        return message_n(
            "of {n:,} entry {missing:,} are missing and {changed:,} changed",
            "of {n:,} entries {missing:,} are missing and {changed:,} changed",
            total,
            **counts,
        )
    if unseen:
        return message(
            "nothing is missing or changed in the compared parts, but these could not be compared: {names}", names=names
        )
    if not found.results:
        return message("no entry was expected, so nothing was compared")
    if found.announced:
        return message_n(
            "{n:,} entry arrived unchanged, except for the parts listed as announced or not compared",
            "all {n:,} entries arrived unchanged, except for the parts listed as announced or not compared",
            total,
        )
    if found.unchecked:
        return message_n(
            "{n:,} entry arrived unchanged, except for the parts listed as not compared",
            "all {n:,} entries arrived unchanged, except for the parts listed as not compared",
            total,
        )
    return message_n("{n:,} entry arrived unchanged", "all {n:,} entries arrived unchanged", total)


def _entry(result: PostResult) -> dict[str, Any]:
    public = _is_public(result)
    return {
        "id": result.old.id,
        "title": result.old.title if public else "",
        "address": result.key if public else "",
        "differences": [
            {"change": str(each.change), "before": each.before, "after": each.after}
            if public
            else {"change": str(each.change), "before": "", "after": ""}
            for each in result.differences
        ],
    }


def _is_public(result: PostResult) -> bool:
    """Return whether reports may show more than an entry's id: it is public in the old or the new home."""
    shown = any(each.change is Fault.STATUS and each.after == ShownAs.PUBLISH for each in result.differences)
    return shown or result.old.status is ShownAs.PUBLISH


def _named(found: Comparison, change: Fault, *, every: bool) -> Iterator[str]:
    results = [result for result in found.results if any(each.change is change for each in result.differences)]
    for result in results if every else results[:_NAMED_ENTRIES]:
        if not _is_public(result):
            yield f"{'':11}{result.old.id}"
            continue
        details = [each for each in result.differences if each.change is change]
        named: str = f"{'':11}{result.old.id} {_cut(result.old.title, _TITLE_CHARACTERS)}"
        changed = next((_cut(_change(each), _VALUE_CHARACTERS) for each in details if each.before or each.after), "")
        line = message("{entry}: {change}", entry=named, change=changed) if changed else named
        yield message("{line} and {n:,} more", line=line, n=len(details) - 1) if len(details) > 1 else line
    if not every and len(results) > _NAMED_ENTRIES:
        yield message("           … {n:,} more (-v names all)", n=len(results) - _NAMED_ENTRIES)


def _change(each: Difference) -> str:
    if each.change is Fault.STATUS:
        before, after = _STATUS_NAMES[ShownAs(each.before)], _STATUS_NAMES[ShownAs(each.after)]
        return message("{before} -> {after}", before=before, after=after)
    return " -> ".join(filter(None, (each.before, each.after)))


def _not_compared(each: Unchecked | Announced) -> str:
    what = each.aspect.words
    if each.count:
        return message("  {what} ({n:,}): {why}", what=what, n=each.count, why=each.why)
    return message("  {what}: {why}", what=what, why=each.why)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
