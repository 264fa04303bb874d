"""The numbers of records before and after each import, with the reasons for differences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

KINDS: Final = ("posts", "comments", "categories", "pictures")
_NOT_PUBLIC: Final = re.compile("not public:|delete_flg |its entry |listed, ")
_IN_REPORTS: Final = {"posts": "entries"}


@dataclass(frozen=True)
class Count:
    """The number of records of each kind; ``None`` if the importer has no such kind."""

    posts: int | None = None
    comments: int | None = None
    categories: int | None = None
    pictures: int | None = None


@dataclass(frozen=True)
class Row:
    """One export in one importer."""

    form: str
    consumer: str
    blog: str
    given: Count
    found: Count
    seconds: float
    why: str


class Ledger:
    """The rows of a run, and the cells of kinds of content by target."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.kinds: dict[str, dict[str, str]] = {}

    def enter(
        self, form: str, consumer: str, blog: str, given: Count, found: Count, report: Mapping[str, Any],
        seconds: float, **why: str,
    ) -> None:  # fmt: skip
        """Add a row; the export's report or ``why`` must give a reason for missing records.

        Args:
            form: format of the export.
            consumer: the importer.
            blog: name of the blog.
            given: the public records of the blog.
            found: the records in the importer.
            report: report of the export.
            seconds: duration of the import.
            why: for each kind that the importer does not take, the reason.
        """
        reasons = []
        for kind in KINDS:
            before, after = asdict(given)[kind], asdict(found)[kind]
            if before == after:
                assert kind not in why, f"{consumer} does have all {kind}: {why[kind]}"
                continue
            of = _IN_REPORTS.get(kind, kind)
            reason = why.get(kind) or _told(report, of, before - (after or 0))
            assert reason, f"{form} in {consumer}, {blog}: {before} {kind} in, {after} out, and no reason is given"
            reasons.append(f"{kind}: {reason}")
        self.rows.append(Row(form, consumer, blog, given, found, seconds, "; ".join(reasons)))


def _told(report: Mapping[str, Any], kind: str, count: int) -> str:
    """Return the report's reason for this number of missing public records, or an empty string."""
    told = [*report["left_out"], *report["by_address"]]
    rows = (row for row in told if row["kind"] == kind and not _NOT_PUBLIC.match(row["reason"]))
    return next((str(row["reason"]) for row in rows if row["count"] == count), "")


def _cells(given: Iterable[int | None], found: Iterable[int | None]) -> list[str]:
    return [
        "–" if before is None else str(before) if before == after else f"{before} → {'–' if after is None else after}"
        for before, after in zip(given, found, strict=True)
    ]


def as_markdown(rows: list[Row]) -> str:
    """Return the rows as a table; a cell has the exported number, and after an arrow the imported one if it differs."""
    lines = [
        "| Format | Consumer | Posts | Comments | Categories | Pictures | Seconds | Differences, with the reason |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row.form, row.consumer)):
        cells = _cells(asdict(row.given).values(), asdict(row.found).values())
        lines.append("| " + " | ".join([row.form, row.consumer, *cells, f"{row.seconds:.1f}", row.why]) + " |")
    return "\n".join(lines) + "\n"


def kinds_as_markdown(seen: Mapping[str, Mapping[str, str]]) -> str:
    """Return a table of kinds of content and targets, and its notes.

    Args:
        seen: for each target and kind ``✓``, or another mark and after a space the reason.
    """
    notes: dict[str, int] = {}
    lines = ["| Kind | " + " | ".join(seen) + " |", "|---" * (len(seen) + 1) + "|"]
    for kind in next(iter(seen.values())):
        cells = []
        for target in seen:
            mark, _, reason = seen[target][kind].partition(" ")
            cells.append(f"{mark} {notes.setdefault(reason, len(notes) + 1)}" if reason else mark)
        lines.append("| " + " | ".join([kind, *cells]) + " |")
    return "\n".join([*lines, "", *(f"{number}. {reason}" for reason, number in notes.items())]) + "\n"


def kinds_in(table: str) -> dict[str, dict[str, str]]:
    """Read such a table back."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    notes = dict(re.findall(r"^([0-9]+)\. (.*)$", table, re.MULTILINE))
    found: dict[str, dict[str, str]] = {}
    for at, target in enumerate(rows[0][1:] if rows else [], 1):
        split = {row[0]: row[at].split(" ") for row in rows[2:]}
        found[target] = {
            kind: " ".join([mark, *(notes[each] for each in note)]) for kind, (mark, *note) in split.items()
        }
    return found
