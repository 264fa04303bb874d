"""The lines of ``runs.jsonl``: what one must be, and the chain that each is a link of. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from exporter import codec
from exporter.archive.document import Document, check_completeness, check_problem
from exporter.archive.layout import LARGEST_VERSION

if TYPE_CHECKING:
    from typing import Any

PREVIOUS: Final = "previous"
MANIFEST_SHA256: Final = "manifest_sha256"


def run_fault(value: object) -> str | None:
    """Say why a value is not the line of a run, ``None`` when it is one; members that are not known are passed over."""
    try:
        run = Document(value)
        run.require_plain()
        run.text("outcome")
        run.time("started_at")
        run.time("finished_at")
        _check_result(run)
    except ValueError as error:
        return str(error)
    return None


def _check_result(run: Document) -> None:
    """Check what only some runs have, such as one that failed before it read anything."""
    for name, check in _CHECKS.items():
        if run.members.get(name) is not None:
            check(run, name)


def _check_counts(run: Document, name: str) -> None:
    for counts in run.objects(name).values():
        for each in ("total", "new", "changed", "gone"):
            counts.number(each)


def _check_problems(run: Document, name: str) -> None:
    for problem in run.rows(name):
        check_problem(problem)


_CHECKS: Final[dict[str, Callable[[Document, str], object]]] = {
    "version": lambda run, name: run.number(name, 1, LARGEST_VERSION),
    "exit_code": Document.number,
    "error": Document.text,
    "counts": _check_counts,
    "completeness": lambda run, name: check_completeness(run.inner(name)),
    "problems": _check_problems,
    "assets": Document.inner,
    PREVIOUS: Document.digest,
    MANIFEST_SHA256: Document.digest,
}


def run_of(line: bytes) -> dict[str, Any] | None:
    """Return what a line of ``runs.jsonl`` says of a run, ``None`` where it is not the line of one."""
    try:
        value = codec.loads(line)
    except codec.NotJson:
        return None
    return None if run_fault(value) else dict(value)


def line_digest(line: bytes) -> str:
    """Return what the next line names this one by: the SHA-256 of its bytes without the line feed."""
    return hashlib.sha256(line.removesuffix(b"\n")).hexdigest()
