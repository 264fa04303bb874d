"""The state of an archive as metrics in Prometheus' text format 0.0.4.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

_PREFIX: Final = "blog_exporter_"
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_KINDS: Final = ("entries", "comments", "files", "assets")

Sample = tuple[Mapping[str, str], float | None]


def metrics(document: Mapping[str, Any], exit_code: int) -> str:
    """Return the state as gauges; times are seconds since 1970.

    Args:
        document: the state, see :func:`exporter.library.status.status`.
        exit_code: the exit code of ``status``.
    """
    last = document["last_run"] or {}
    families: list[tuple[str, str, Iterable[Sample]]] = [
        ("status", "What status exits with: 0 well, 3 incomplete, 6 stale, 7 failed", [({}, exit_code)]),
        (
            "last_success_timestamp_seconds",
            "When the last run that saved ended",
            [({}, _time(document["last_success"]))],
        ),
        ("last_run_timestamp_seconds", "When the last run ended", [({}, _time(last.get("finished_at")))]),
        ("last_run_exit_code", "What the last run exited with", [({}, _number(last.get("exit_code")))]),
        ("complete", "Whether everything asked for is in the archive", [({}, int(document["complete"]))]),
        ("versions", "Versions in the archive", [({}, document["versions"])]),
        ("problems", "What could not be saved", [({}, len(document["problems"]))]),
        ("running", "Whether a backup is under way", [({}, int((document["writer"] or {}).get("work") == "backup"))]),
        ("saved", "Saved, by kind", _saved(document["completeness"])),
        ("left_out", "Not saved, by kind and reason", _left_out(document["completeness"])),
    ]
    common = {"blog": str(document["blog_id"]), "archive": str(document["archive"])}
    return families_text(families, common)


def families_text(families: Iterable[tuple[str, str, Iterable[Sample]]], common: Mapping[str, str]) -> str:
    """Write families of gauges; samples without a value are omitted.

    Args:
        families: name without the prefix, help without the full stop, and samples.
        common: the labels that all samples share.
    """
    return "".join(line for family in families for line in _family(*family, common))


def _family(name: str, words: str, samples: Iterable[Sample], common: Mapping[str, str]) -> Iterator[str]:
    known = [(labels, value) for labels, value in samples if value is not None]
    if known:
        yield f"# HELP {_PREFIX}{name} {words}.\n# TYPE {_PREFIX}{name} gauge\n"
    for labels, value in known:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in {**common, **labels}.items())
        yield f"{_PREFIX}{name}{{{pairs}}} {value}\n"


def _escaped(text: str) -> str:
    return text.encode("utf-8", "replace").decode().translate(_ESCAPED)


def _saved(completeness: Mapping[str, Any]) -> Iterator[Sample]:
    for kind in _KINDS:
        yield {"kind": kind}, _number(_part(completeness, kind).get("saved"))


def _left_out(
    completeness: Mapping[str, Any], reasons: Iterable[str] = ("pending", "lost", "by_choice", "refused", "doubtful")
) -> Iterator[Sample]:
    for kind in _KINDS:
        left_out = _part(_part(completeness, kind), "left_out")
        yield from (({"kind": kind, "reason": reason}, _number(left_out.get(reason))) for reason in reasons)


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _time(text: object) -> float | None:
    try:
        return int(datetime.fromisoformat(str(text)).timestamp())
    except (ValueError, OverflowError, OSError):
        return None
