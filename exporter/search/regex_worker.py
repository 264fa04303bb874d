"""Looks for a regular expression in an index, in a process of its own.

Python's expressions cannot be interrupted, and a hostile one takes longer than the universe has; a process can be
ended. It reads one JSON object from standard input and writes one to standard output. Texts over a million characters
are searched up to there, and at most a thousand matches of a text are counted.
"""

from __future__ import annotations

import os
import re
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
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.search.documents import FIELDS
from exporter.search.folding import Span
from exporter.search.index_file import IndexFile, WrongIndex

_TEXT_MAX: Final = 1_000_000
_MATCHES_MAX: Final = 1_000
_SPANS_KEPT: Final = 20
_DAMAGED: Final = 3
"""The exit code of a damaged index."""


class RegexMatch(NamedTuple):
    """A text that matches.

    Attributes:
        offset: where its record is in the index.
        moment: its record's date as seconds since 1970, negative infinity where it has none.
        text: the number of the text among the fields of its kind.
        rank: what that field counts.
        matches: how many were counted.
        spans: the first ones.
    """

    offset: int
    moment: float
    text: int
    rank: int
    matches: int
    spans: list[Span]


def find_in_process(
    path: Path, pattern: str, kind: Kind | None, since: datetime | None, seconds: float
) -> Iterator[RegexMatch]:
    """Yield the texts of an index that match, by the numbers of their records.

    Raises:
        UsageError: it took longer than ``seconds``.
        WrongIndex: the index is not as it was written.
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
            message(
                "The regular expression took more than {seconds:g} seconds over this blog: "
                "make it simpler, without repeats inside repeats such as (a+)+.",
                seconds=seconds,
            )
        ) from None
    if answer.returncode == _DAMAGED:
        raise WrongIndex(message("it cannot be read"))
    if answer.returncode != 0:
        lines = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1][:200] if lines else message("no message")
        raise BlogExporterError(message("The search by a regular expression failed: {reason}.", reason=reason))
    for offset, moment, text, rank, matches, spans in lossless_json.loads(answer.stdout):
        yield RegexMatch(offset, float(moment), text, rank, matches, [(low, high) for low, high in spans])


def _find(task: dict[str, Any]) -> list[list[Any]]:
    """Return the members of a :class:`RegexMatch` for each text that matches."""
    warnings.simplefilter("ignore")
    pattern = re.compile(task["pattern"])
    kind = None if task["kind"] is None else Kind(task["kind"])
    since = None if task["since"] is None else datetime.fromisoformat(task["since"])
    index = IndexFile.open(Path(task["path"]))
    found: list[list[Any]] = []
    for record in index.records(kind=kind, since=since):
        for text, ((_, rank), plain) in enumerate(zip(FIELDS[record.kind], record.texts(), strict=True)):
            matches = (match.span() for match in pattern.finditer(plain, 0, _TEXT_MAX) if match.end() > match.start())
            spans = list(islice(matches, _MATCHES_MAX))
            if spans:
                found.append([record.offset, repr(record.moment), text, rank, len(spans), spans[:_SPANS_KEPT]])
    index.close()
    return found


def main() -> None:
    """Do one task."""
    try:
        found = _find(lossless_json.loads(sys.stdin.buffer.read()))
    except (OSError, WrongIndex):
        sys.exit(_DAMAGED)
    sys.stdout.buffer.write(lossless_json.dumps(found))


if __name__ == "__main__":
    main()
