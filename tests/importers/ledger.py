"""What went into each importer and what came out of it, with the reason where that is not the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

KINDS: Final = ("posts", "comments", "categories", "pictures")
_NOT_PUBLIC: Final = re.compile("not public:|delete_flg |its entry |listed, ")
_IN_REPORTS: Final = {"posts": "entries"}


@dataclass(frozen=True)
class Count:
    """How many there are; ``None`` where the importer has no such thing."""

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
    """The rows of a run."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def enter(
        self, form: str, consumer: str, blog: str, given: Count, found: Count, report: Mapping[str, Any],
        seconds: float, **why: str,
    ) -> None:  # fmt: skip
        """Add a row; what is missing must have its reason in the export's report, or be named here.

        Args:
            form: the export's format.
            consumer: who read it.
            blog: which blog.
            given: what is public in the blog.
            found: what the consumer has of it.
            report: the export's.
            seconds: the consumer took.
            why: the reason a kind is not the consumer's business, by kind.
        """
        reasons = []
        for kind in KINDS:
            before, after = asdict(given)[kind], asdict(found)[kind]
            if before == after:
                assert kind not in why, f"{consumer} does have all {kind}: {why[kind]}"
                continue
            of = _IN_REPORTS.get(kind, kind)
            reason = why.get(kind) or _told(report, of, before - (after or 0))
            assert reason, f"{form} in {consumer}, {blog}: {before} {kind} in, {after} out, and nobody says why"
            reasons.append(f"{kind}: {reason}")
        self.rows.append(Row(form, consumer, blog, given, found, seconds, "; ".join(reasons)))


def _told(report: Mapping[str, Any], kind: str, count: int) -> str:
    """Return the report's reason why so many public records of a kind are missing; empty when it gives none."""
    told = [*report["left_out"], *report["by_address"]]
    rows = (row for row in told if row["kind"] == kind and not _NOT_PUBLIC.match(row["reason"]))
    return next((str(row["reason"]) for row in rows if row["count"] == count), "")


def as_markdown(rows: list[Row]) -> str:
    """Return the rows as a table; a cell is what went in and what came out."""
    lines = [
        "| Format | Consumer | Blog | Posts | Comments | Categories | Pictures | Seconds | What is less, and why |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row.form, row.consumer, row.blog)):
        cells = [
            "–" if before is None else f"{before} → {'–' if after is None else after}"
            for before, after in zip(asdict(row.given).values(), asdict(row.found).values(), strict=True)
        ]
        lines.append(
            "| " + " | ".join([row.form, row.consumer, row.blog, *cells, f"{row.seconds:.1f}", row.why]) + " |"
        )
    return "\n".join(lines) + "\n"
