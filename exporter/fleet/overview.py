"""A fleet's state for ``fleet status`` and its metrics, read from the ledger, even during a run."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from exporter.archive.lock import ArchiveLock
from exporter.clock import timestamp
from exporter.fleet.ledger import (
    FILE_NAME,
    INVALID_VALUE_ERRORS,
    OPEN,
    check_format,
    connect,
    count_blogs,
    decoded_reason,
    trouble,
)
from exporter.message import stored_as
from exporter.notify.prometheus import Sample, families_text

_SHOWN_ROWS: Final = 10


def fleet_lock(root: Path) -> ArchiveLock:
    """Return the lock under which one process at a time runs a fleet."""
    return ArchiveLock(root / ".work" / "lock")


def overview(root: Path, now: float, name: str = FILE_NAME) -> dict[str, Any]:
    """Return what ``fleet status --json`` prints; times are ISO 8601 in UTC, spans are seconds.

    Args:
        root: the fleet's folder.
        now: seconds since 1970.
        name: the ledger.

    Raises:
        NoArchive: it is no fleet.
        ArchiveDamaged, NewerFormat: its ledger cannot be read.
    """
    path = root / name
    with closing(connect(path, writable=False)) as ledger:
        try:
            listing = check_format(ledger, path)
            ledger.execute("BEGIN")
            counts = count_blogs(ledger, listing, now)
            writer = fleet_lock(root).holder() or None
            (waiting, next_due) = ledger.execute(
                "SELECT count(*), min(due_at) FROM blogs WHERE listed = ? AND due_at > ?", (listing, now)
            ).fetchone()
            return {
                "fleet": str(root.absolute()),
                "blogs": {"listed": counts.blogs, **counts.states},
                "archived": counts.archived,
                "lasting": counts.lasting,
                "due": counts.due,
                "due_later": waiting,
                "next_due": _time(next_due),
                "writer": writer,
                "run": _run(ledger, is_running=writer is not None, now=now),
                "failures": _failures(ledger, listing),
                "slowest": _slowest(ledger),
                "retry": _retry(ledger, listing),
            }
        except INVALID_VALUE_ERRORS as error:
            raise trouble(path, error) from error


def _run(ledger: sqlite3.Connection, *, is_running: bool, now: float) -> dict[str, Any] | None:
    """Return the newest run; a killed run has no exit code."""
    found = ledger.execute(
        "SELECT number, started_at, finished_at, exit_code, options, progress FROM runs ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if found is None:
        return None
    number, started_at, finished_at, exit_code, options, progress = found
    attempts, requests, last = ledger.execute(
        "SELECT count(*), coalesce(sum(requests), 0), max(finished_at) FROM attempts WHERE run = ?", (number,)
    ).fetchone()
    end = finished_at or (now if is_running else last) or started_at
    seconds = max(0.0, end - started_at)
    noted = json.loads(progress) if progress and finished_at is None else {}
    requests = max(requests, noted.get("requests", 0))  # a killed run leaves its last note
    live = noted if is_running else {}
    return {
        "number": number,
        "started_at": _time(started_at),
        "finished_at": _time(finished_at),
        "running": is_running and finished_at is None,
        "exit_code": exit_code,
        "seconds": round(seconds, 1),
        "attempts": attempts,
        "requests": requests,
        "rate": round(live.get("rate") or (requests / seconds if seconds else 0.0), 1),
        "under_way": live.get("under_way", 0),
        "left": live.get("left", 0),
        "forecast": live.get("forecast"),
        "deadline": live.get("deadline"),
        "dashboard": live.get("dashboard"),
        "options": json.loads(options),
    }


def _failures(ledger: sqlite3.Connection, listing: int) -> list[dict[str, Any]]:
    """Return the reasons of failures, the most frequent first, each with an example."""
    rows = _rows(
        ledger,
        "SELECT a.exit_code, a.kind, count(*) AS blogs, max(b.blog_id) AS example, a.reason"
        " FROM blogs b JOIN attempts a ON a.number = b.attempt WHERE b.listed = ? AND b.state IN (?, ?)"
        " GROUP BY a.exit_code, a.kind ORDER BY count(*) DESC",
        (listing, *OPEN),
    )
    return [_with_reason(row) for row in rows]


def _slowest(ledger: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the attempts of the newest run that took longest."""
    return _rows(
        ledger,
        "SELECT b.blog_id, round(a.finished_at - a.started_at, 1) AS seconds, a.requests, a.exit_code FROM attempts a"
        " JOIN blogs b ON b.number = a.blog WHERE a.run = (SELECT max(number) FROM runs)"
        " ORDER BY a.finished_at - a.started_at DESC LIMIT ?",
        (_SHOWN_ROWS,),
    )


def _retry(ledger: sqlite3.Connection, listing: int) -> list[dict[str, Any]]:
    """Return the blogs with the most failures that will be tried again."""
    rows = _rows(
        ledger,
        "SELECT b.blog_id, b.failures, b.due_at, a.exit_code, a.reason"
        " FROM blogs b JOIN attempts a ON a.number = b.attempt"
        " WHERE b.listed = ? AND b.state IN (?, ?) AND b.due_at IS NOT NULL"
        " ORDER BY b.failures DESC, b.due_at LIMIT ?",
        (listing, *OPEN, _SHOWN_ROWS),
    )
    return [_with_reason({**row, "due_at": _time(row["due_at"])}) for row in rows]


def _rows(ledger: sqlite3.Connection, query: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Run a query, and return each row as a dictionary with the column names."""
    found = ledger.execute(query, values)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def _with_reason(row: dict[str, Any]) -> dict[str, Any]:
    return row | stored_as("reason", decoded_reason(row["reason"]))


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else timestamp(datetime.fromtimestamp(seconds, UTC))


def metrics(document: Mapping[str, Any]) -> str:
    """Return an overview as gauges in the text format of Prometheus."""
    run = document["run"] or {}
    forecast = run.get("forecast") or {}
    families: list[tuple[str, str, Iterator[Sample] | list[Sample]]] = [
        (
            "fleet_blogs",
            "Listed blogs, by what the newest attempt means for them",
            [({"state": state}, count) for state, count in document["blogs"].items() if state != "listed"],
        ),
        ("fleet_archived", "Listed blogs with an archive, complete or not", [({}, document["archived"])]),
        (
            "fleet_lasting",
            "Blogs whose newest attempt failed for a cause that waiting does not change",
            [({}, document["lasting"])],
        ),
        ("fleet_due", "Blogs that are due now", [({}, document["due"])]),
        ("fleet_running", "Whether a run is under way", [({}, int(run.get("running", False)))]),
        ("fleet_under_way", "Blogs being saved", [({}, run.get("under_way", 0))]),
        ("fleet_requests", "Requests sent in the newest run", [({}, run.get("requests", 0))]),
        ("fleet_request_rate", "Requests per second in the newest run", [({}, run.get("rate", 0.0))]),
        ("fleet_forecast_seconds", "Until the run under way is done", [({}, forecast.get("seconds"))]),
        ("fleet_forecast_error_seconds", "How far that may be off", [({}, forecast.get("error_seconds"))]),
        ("fleet_last_exit_code", "What the newest run exited with", [({}, run.get("exit_code"))]),
        (
            "fleet_failures",
            "Blogs that are not saved whole, by exit code",
            [
                ({"exit_code": str(each["exit_code"]), "kind": each["kind"] or ""}, each["blogs"])
                for each in document["failures"]
            ],
        ),
    ]
    return families_text(families, {"fleet": str(document["fleet"])})
