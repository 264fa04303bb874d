"""The words at the end of a backup: what is new, changed, gone and missing, whether it is complete, and where it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.cli.amounts import size_text, time_text
from exporter.cli.output import counted
from exporter.model.kinds import Kind
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.crawl.assets.summary import AssetSummary
    from exporter.crawl.outcome import Outcome

_NOUNS = {Kind.ENTRIES: "entry", Kind.COMMENTS: "comment", Kind.FILES: "file", Kind.ASSETS: "asset"}
_LISTS = {Kind.ENTRY_LIST: "entry", Kind.COMMENTS: "comment", Kind.FILES: "file"}
_PROBLEMS_SHOWN = 20
_NAMED = 3


def summary_lines(root: Path, outcome: Outcome, took: timedelta) -> Iterator[str]:
    """Yield the lines of the summary."""
    if outcome.version is not None:
        yield f"Saved as version {outcome.version}."
    else:
        yield "Nothing had changed; no new version was needed."
    yield from _count_lines(outcome, _NOUNS)
    if outcome.healed:
        yield f"Healed: {_healed(outcome.healed)}."
    if outcome.restored:
        yield f"Restored, as first written: {_named(outcome.restored)}."
    if outcome.damaged:
        yield f"Still damaged: {_named(outcome.damaged)}; verify says what to do."
    if outcome.assets is not None:
        yield from _asset_lines(outcome.assets)
    if outcome.completeness is not None:
        yield from completeness_lines(outcome.completeness, [asdict(problem) for problem in outcome.problems])
    yield _cost_line(outcome, took)
    yield f"Archive: {printable(str(root.absolute()))}"
    places = (root / "latest" / name for name in ("site/index.html", "markdown/index.md"))
    yield from (f"Read it: {printable(str(place))}" for place in places if place.is_file())


def dry_run_lines(outcome: Outcome, took: timedelta) -> Iterator[str]:
    """Yield what the lists show, and what they cannot show."""
    yield "A dry run: only the lists were read, nothing was written. They show:"
    yield from _count_lines(outcome, _LISTS)
    yield (
        "Lists do not show edited bodies, pictures, or whether each entry can be read: only a backup can tell. An "
        "entry counts as changed where its list item did."
    )
    if outcome.problems:
        yield f"INCOMPLETE: {counted(len(outcome.problems), 'part')} of the lists could not be read:"
        yield from _problem_lines([asdict(problem) for problem in outcome.problems])
    yield _cost_line(outcome, took)


def missing_things(outcome: Outcome) -> list[str]:
    """Return what a run could not save, in numbers."""
    return _missing(outcome.completeness or {})


def quiet_line(blog_id: str, outcome: Outcome, *, known: bool = False) -> str | None:
    """Return the one line worth saying under ``-q``: what is missing, newly gone or damaged; else ``None``.

    Where what lasts is ``known`` it is left out.
    """
    parts = []
    if outcome.problems and not known:
        missing = missing_things(outcome)
        what = f"{', '.join(missing)} not saved" if missing else f"{counted(len(outcome.problems), 'problem')}"
        parts.append(f"incomplete: {what} ({problem_text(asdict(outcome.problems[0]))})")
    lost = outcome.assets.newly_lost if outcome.assets is not None else []
    if lost:
        named = ", ".join(f"{printable(each.url, 120)} ({printable(each.reason, 60)})" for each in lost[:_NAMED])
        more = ", …" if len(lost) > _NAMED else ""
        parts.append(f"{_files(len(lost))} newly gone for good: {named}{more}")
    if outcome.healed:
        parts.append(_healed(outcome.healed))
    if outcome.restored:
        parts.append(f"damaged and restored: {_named(outcome.restored)}")
    if outcome.damaged and not known:
        parts.append(f"still damaged: {_named(outcome.damaged)}; run verify, which says what to do")
    if outcome.healed or outcome.restored or (outcome.damaged and not known):
        parts.append("check the disk")
    return f"{printable(blog_id, 120)}: {'; '.join(parts)}" if parts else None


def completeness_lines(completeness: Mapping[str, Any], problems: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield whether all is there, in numbers, and what is not.

    Args:
        completeness: the object of that name in a manifest, also one of an earlier program without some numbers.
        problems: what could not be read, as the manifest names it.
    """
    numbers = ", ".join(_saved(completeness))
    if completeness.get("complete"):
        yield f"Complete: everything asked for is in the archive{f': {numbers}' if numbers else ''}."
    else:
        yield f"INCOMPLETE: {f'{numbers} saved' if numbers else 'not everything is saved'}. Missing:"
        yield from _problem_lines(problems)
    if completeness.get("provable") is False:
        yield "Not provable: the service states no totals to compare with."
    for reason, words in (("lost", "Gone for good"), ("by_choice", "Left out by a setting")):
        number = max(_left_out(completeness, kind, reason) for kind in ("assets", "files"))
        if number:
            yield f"{words}: {_files(number)}; blog-exporter files DIR --missing lists them."
    if not completeness.get("sweeps_agreed", True):
        yield "The blog kept changing while it was read; what was there throughout is saved."


def _count_lines(outcome: Outcome, nouns: Mapping[Kind, str]) -> Iterator[str]:
    for kind, noun in nouns.items():
        counts = outcome.counts.get(str(kind))
        if counts is not None and (counts.total or counts.gone):
            parts = [
                f"{getattr(counts, part):,} {part}" for part in ("new", "changed", "gone") if getattr(counts, part)
            ]
            yield f"  {counted(counts.total, noun):>16}   {', '.join(parts) or 'as before'}"


def _cost_line(outcome: Outcome, took: timedelta) -> str:
    retried = f", {counted(outcome.retries, 'retry')}" if outcome.retries else ""
    cost = counted(outcome.requests, "request"), size_text(outcome.bytes), time_text(took.total_seconds())
    return f"{', '.join(cost)}{retried}."


def _asset_lines(assets: AssetSummary) -> Iterator[str]:
    """Yield where uploads were looked for, if that was inferred, and each file that this run is the first to miss."""
    if assets.inferred:
        yield (
            f"Uploads are read from {printable(assets.file_url or '', 200)}, as {assets.inferred:,} addresses in the "
            "entries show; --file-url gives another rule."
        )
    if assets.shadowed:
        ids = ", ".join(printable(each, 40) for each in assets.shadowed[:_PROBLEMS_SHOWN])
        yield f"Gone for good, as another upload is served at the address of each: uploads {ids}."
    new = assets.newly_lost
    if new:
        yield f"{_files(len(new))} newly gone for good:"
    for one in new[:_PROBLEMS_SHOWN]:
        yield f"  - {printable(one.url, 200)}: {printable(one.reason, 200)}"
    if len(new) > _PROBLEMS_SHOWN:
        yield f"  … and {len(new) - _PROBLEMS_SHOWN:,} more; blog-exporter files DIR --missing lists them."


def problem_text(problem: Mapping[str, Any]) -> str:
    """Return a problem on one line: what could not be saved, and why."""
    name = problem["kind"] if problem["id"] is None else f"{problem['kind']} {problem['id']}"
    return f"{printable(str(name), 200)}: {printable(str(problem['reason']), 400)}"


def _problem_lines(problems: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the problems; pictures of one host that fail for one reason share a line, since one dead host has many."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for number, problem in enumerate(problems):
        of_host = problem["kind"] == str(Kind.ASSETS) and problem["id"] is not None
        host = str(problem["id"]).partition("://")[2].partition("/")[0]
        key = (host, str(problem["reason"])) if of_host else (str(number),)
        groups.setdefault(key, []).append(problem)
    for group in list(groups.values())[:_PROBLEMS_SHOWN]:
        more = f" (and {len(group) - 1:,} more from this host)" if len(group) > 1 else ""
        yield f"  - {problem_text(group[0])}{more}"
    if len(groups) > _PROBLEMS_SHOWN:
        yield f"  … and {len(groups) - _PROBLEMS_SHOWN:,} more; all of them are in runs.jsonl."


def _saved(completeness: Mapping[str, Any]) -> Iterator[str]:
    """Yield how many of each kind are saved, of how many where some are missing."""
    for kind, noun in (("entries", "entry"), ("comments", "comment")):
        part = _part(completeness, kind)
        saved, pending = _number(part.get("saved")), _left_out(completeness, kind, "pending")
        if saved or pending:
            of = f"{saved:,} of {counted(saved + pending, noun)}" if pending else counted(saved, noun)
            yield of + (_carried_over(part) if kind == "entries" else "")
    saved, pending = _number(_part(completeness, "assets").get("saved")), _missing_files(completeness)
    if saved or pending:
        yield f"{saved:,} of {_files(saved + pending)}" if pending else _files(saved)


def _carried_over(entries: Mapping[str, Any]) -> str:
    read, carried_over = _number(entries.get("read")), _number(entries.get("carried_over"))
    if not carried_over:
        return ""
    return f" ({read:,} read, {carried_over:,} carried over, as their list items had not changed)"


def _missing(completeness: Mapping[str, Any]) -> list[str]:
    """Return what is missing, in numbers."""
    entries, comments = (_left_out(completeness, kind, "pending") for kind in ("entries", "comments"))
    files = _missing_files(completeness)
    found = [counted(count, noun) for count, noun in ((entries, "entry"), (comments, "comment")) if count]
    found += [_files(files)] if files else []
    lists = {"entries": "entry list", "comments": "comment list", "files": "file list"}
    found += [
        f"part of the {name}"
        for kind, name in lists.items()
        if not _part(completeness, kind).get("list_complete", True)
    ]
    return found + ([] if _part(completeness, "user").get("read", True) else ["the user"])


def _missing_files(completeness: Mapping[str, Any]) -> int:
    files = _part(completeness, "files")
    nowhere = sum(_number(files.get(name)) for name in ("without_address", "not_on_list"))
    return _left_out(completeness, "assets", "pending") + nowhere


def _left_out(completeness: Mapping[str, Any], kind: str, reason: str) -> int:
    left_out = _part(completeness, kind).get("left_out")
    return _number(left_out.get(reason)) if isinstance(left_out, dict) else 0


def _part(completeness: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    part = completeness.get(kind)
    return part if isinstance(part, dict) else {}


def _healed(count: int) -> str:
    return f"{counted(count, 'record')} of damaged versions written again"


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    return ", ".join(map(printable, paths[:_NAMED])) + more


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _files(count: int) -> str:
    return "1 picture or file" if count == 1 else f"{count:,} pictures and files"
