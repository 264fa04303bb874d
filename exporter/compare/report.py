"""A comparison in words and as JSON; docs/compare.md describes its members. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from exporter.compare.posts import Fault, ShownAs, Unchecked
from exporter.compare.reconcile import Comparison, PostResult

_WORDS: Final = {
    Fault.MISSING: "not in the new home",
    Fault.DUPLICATE: "there more than once",
    Fault.TITLE: "another title",
    Fault.TEXT: "another text",
    Fault.DATE: "another date",
    Fault.STATUS: "shown to others than before",
    Fault.SLUG: "another name in the address",
    Fault.CATEGORY: "not in its category",
    Fault.PICTURE_MISSING: "pictures missing",
    Fault.PICTURE_CHANGED: "other pictures",
    Fault.PICTURE_ON_OLD_HOST: "pictures still on the old host",
    Fault.LINK_ON_OLD_HOST: "links to the old host",
    Fault.COMMENT_MISSING: "comments missing",
    Fault.COMMENT_HELD: "comments held back",
    Fault.COMMENT_CHANGED: "comments changed",
    Fault.COMMENT_DUPLICATE: "comments there twice",
    Fault.COMMENT_SHOWN: "hidden comments shown",
}
_FEW: Final = 5
_TITLE: Final = 60
_VALUE: Final = 120


def document(found: Comparison, **about: Any) -> dict[str, Any]:
    """Return the comparison as ``compare.json`` has it, after what it is ``about``."""
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
    }


def lines(found: Comparison, *, every: bool = False) -> Iterator[str]:
    """Yield the comparison as lines for people; of many entries of a kind only a few, unless ``every`` is wanted."""
    changes = found.counts()
    yield f"{len(found.results):>7,}  entries to arrive"
    yield f"{found.identical:>7,}  as they were, in everything that was compared"
    for change in Fault:
        if changes[change]:
            yield f"{changes[change]:>7,}  {_WORDS[change]}"
            yield from _named(found, change, every=every)
    if found.extra:
        yield f"{len(found.extra):>7,}  posts that the archive does not have"
        shown = found.extra if every else found.extra[:_FEW]
        yield from (f"{'':11}{_cut(next(iter(post.titles), ''), _TITLE)}  {_cut(post.key, _VALUE)}" for post in shown)
    if found.later_comments:
        yield f"{found.later_comments:>7,}  comments that the archive does not have"
    if found.not_asked:
        yield f"{found.not_asked:>7,}  entries that were not to be moved, and are not shown"
    if found.unchecked:
        yield "Not compared:"
        yield from (f"  {_not_compared(each)}" for each in found.unchecked)


def verdict(found: Comparison) -> str:
    """Return one sentence about all of it, which never says more than was looked at."""
    changes = found.counts()
    missing, changed = changes[Fault.MISSING], len(found.results) - found.identical - changes[Fault.MISSING]
    unseen = [each for each in found.unchecked if each.asked]
    names = ", ".join(dict.fromkeys(str(each.aspect) for each in unseen))
    if missing or changed:
        also = f", and not everything could be compared ({names})" if unseen else ""
        return f"of {len(found.results):,} entries {missing:,} are missing and {changed:,} changed{also}"
    if unseen:
        return f"nothing is missing or changed in what could be compared, but that is not everything: {names}"
    if not found.results:
        return "no entry was to arrive, so there was nothing to compare"
    left = "" if not found.unchecked else ", without what is named as not compared"
    return f"all {len(found.results):,} entries arrived as they were{left}"


def _entry(result: PostResult) -> dict[str, Any]:
    told = _is_told(result)
    return {
        "id": result.old.id,
        "title": result.old.title if told else "",
        "address": result.key if told else "",
        "differences": [
            {"change": str(each.change), "before": each.before, "after": each.after}
            if told
            else {"change": str(each.change), "before": "", "after": ""}
            for each in result.differences
        ],
    }


def _is_told(result: PostResult) -> bool:
    """Tell whether more than the id of an entry may be told: everybody sees it, in the old home or the new one."""
    shown = any(each.change is Fault.STATUS and each.after == ShownAs.PUBLISH for each in result.differences)
    return shown or result.old.status is ShownAs.PUBLISH


def _named(found: Comparison, change: Fault, *, every: bool) -> Iterator[str]:
    results = [result for result in found.results if any(each.change is change for each in result.differences)]
    for result in results if every else results[:_FEW]:
        if not _is_told(result):
            yield f"{'':11}{result.old.id}"
            continue
        details = [each for each in result.differences if each.change is change]
        told = next((f": {_cut(_change(each), _VALUE)}" for each in details if each.before or each.after), "")
        more = f" and {len(details) - 1} more" if len(details) > 1 else ""
        yield f"{'':11}{result.old.id} {_cut(result.old.title, _TITLE)}{told}{more}"
    if not every and len(results) > _FEW:
        yield f"{'':11}… {len(results) - _FEW:,} more (-v names all)"


def _change(each: Any) -> str:
    return " -> ".join(filter(None, (each.before, each.after)))


def _not_compared(each: Unchecked) -> str:
    count = f" ({each.count:,})" if each.count else ""
    return f"{str(each.aspect).replace('_', ' ')}{count}: {each.why}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
