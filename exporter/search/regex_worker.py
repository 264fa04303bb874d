"""Looks for a regular expression in an index, in a process of its own.

Python's expressions cannot be interrupted, and a hostile one takes longer than the universe has; a process can be
ended. It reads one JSON object from standard input and writes one to standard output. Texts over a million characters
are searched up to there, and at most a thousand matches of a text are counted.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import exporter
from exporter import lossless_json
from exporter.errors import BlogExporterError, UsageError
from exporter.model.kinds import Kind
from exporter.search.folding import Span
from exporter.search.store import Store

_TEXT_MAX: Final = 1_000_000
_MATCHES_MAX: Final = 1_000
_SPANS_KEPT: Final = 20
_DAMAGED: Final = 3
"""The exit code of a damaged index."""


class RegexMatch(NamedTuple):
    """A text that matches: its record's number, its own, its field and rank, the matches counted, the first spans."""

    number: int
    text: int
    field: str
    rank: int
    matches: int
    spans: list[Span]


def find_in_process(
    path: Path, pattern: str, kind: Kind | None, since: datetime | None, seconds: float
) -> Iterator[RegexMatch]:
    """Yield the texts of an index that match, by the numbers of their records.

    Raises:
        UsageError: it took longer than ``seconds``.
        sqlite3.DatabaseError: the index is damaged.
        BlogExporterError: the process failed.
    """
    since_text = None if since is None else since.isoformat()
    folders = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "exporter.search.regex_worker"],
            input=lossless_json.dumps({"path": str(path), "pattern": pattern, "kind": kind, "since": since_text}),
            capture_output=True,
            check=False,
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"The regular expression took more than {seconds:g} seconds over this blog: "
            "make it simpler, without repeats inside repeats such as (a+)+."
        ) from None
    if answer.returncode == _DAMAGED:
        raise sqlite3.DatabaseError("the index cannot be read")
    if answer.returncode != 0:
        reason = (answer.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
        raise BlogExporterError(f"The search by a regular expression failed: {reason[:200]}.")
    for number, text, field, rank, matches, spans in lossless_json.loads(answer.stdout):
        yield RegexMatch(number, text, field, rank, matches, [(low, high) for low, high in spans])


def _find(task: dict[str, Any]) -> list[list[Any]]:
    """Return the members of a :class:`RegexMatch` for each text that matches."""
    warnings.simplefilter("ignore")
    pattern = re.compile(task["pattern"])
    kind = None if task["kind"] is None else Kind(task["kind"])
    since = None if task["since"] is None else datetime.fromisoformat(task["since"])
    store = Store.open(Path(task["path"]), writable=False)
    found: list[list[Any]] = []
    for number, (text, field, rank), plain in store.plain_texts(kind, since):
        matches = (match.span() for match in pattern.finditer(plain, 0, _TEXT_MAX) if match.end() > match.start())
        spans = list(islice(matches, _MATCHES_MAX))
        if spans:
            found.append([number, text, field, rank, len(spans), spans[:_SPANS_KEPT]])
    store.close()
    return found


def main() -> None:
    """Do one task."""
    try:
        found = _find(lossless_json.loads(sys.stdin.buffer.read()))
    except sqlite3.Error:
        sys.exit(_DAMAGED)
    sys.stdout.buffer.write(lossless_json.dumps(found))


if __name__ == "__main__":
    main()
