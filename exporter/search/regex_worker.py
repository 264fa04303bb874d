"""Looks for a regular expression in an index, as a process of its own.

Python's expressions cannot be interrupted, and a hostile one takes longer than the universe has; a process can be
ended. Reads one JSON object from standard input and writes one to standard output. Texts over a million characters are
searched up to there, and at most a thousand matches of a text are counted.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import warnings
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from exporter import lossless_json
from exporter.model.kinds import Kind
from exporter.search.store import Store

TEXT_MAX: Final = 1_000_000
MATCHES_MAX: Final = 1_000
SPANS_KEPT: Final = 20
DAMAGED: Final = 3


def look(task: dict[str, Any]) -> list[list[Any]]:
    """Return for each text that matches: its record's number, its own, field, rank, number of matches, first spans."""
    warnings.simplefilter("ignore")
    pattern = re.compile(task["pattern"])
    kind = None if task["kind"] is None else Kind(task["kind"])
    since = None if task["since"] is None else datetime.fromisoformat(task["since"])
    store = Store.open(Path(task["path"]), writable=False)
    found: list[list[Any]] = []
    for number, (text, field, rank), plain in store.plain_texts(kind, since):
        matches = (match.span() for match in pattern.finditer(plain, 0, TEXT_MAX) if match.end() > match.start())
        spans = list(islice(matches, MATCHES_MAX))
        if spans:
            found.append([number, text, field, rank, len(spans), spans[:SPANS_KEPT]])
    store.close()
    return found


def main() -> None:
    """Do one task; a damaged index ends it with ``DAMAGED``."""
    try:
        found = look(lossless_json.loads(sys.stdin.buffer.read()))
    except sqlite3.Error:
        sys.exit(DAMAGED)
    sys.stdout.buffer.write(lossless_json.dumps(found))


if __name__ == "__main__":
    main()
