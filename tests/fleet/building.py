"""Make fleets of small archives quickly with the program's own writer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive.fleet_folder import archive_place
from exporter.model.kinds import Kind
from tests.archive.builder import Built, Changes


def blog_name(number: int) -> str:
    """Return the ID of a made-up blog."""
    return f"blog{number:05d}.example.jp"


def entry(number: int, **members: Any) -> dict[str, Any]:
    """Return an entry with all fields."""
    return {
        "entry_id": str(number),
        "title": f"記事{number}",
        "name": f"entry-{number}",
        "year": "2019",
        "mon": "03",
        "day": f"{number % 28 + 1:02d}",
        "hour": "12",
        "min": "00",
        "sec": "00",
        "entry_text": f"<p>{number}番目の日記です。海の日に港まで歩いた。</p>",
        "ps_title": "",
        "ps_text": "",
        "open_flg": "1",
        "is_private": "f",
        **members,
    }


def changes(**kinds: Mapping[str, Mapping[str, Any] | None]) -> Changes:
    """Return a version's changes: for each kind, its records by ID."""
    return {
        Kind(kind): {key: None if value is None else lossless_json.dumps(dict(value)) for key, value in records.items()}
        for kind, records in kinds.items()
    }


def build_blog(
    root: Path,
    blog_id: str,
    entries: list[dict[str, Any]],
    *,
    complete: bool = True,
    **kinds: Mapping[str, Mapping[str, Any]],
) -> Built:
    """Make an archive with one version at its place in a fleet."""
    place = archive_place(root, blog_id)
    place.parent.mkdir(parents=True, exist_ok=True)
    built = Built(place, blog_id=blog_id)
    built.commit(changes(entries={each["entry_id"]: each for each in entries}, **kinds), run=False)
    if complete:
        built.run(version=1, completeness={"complete": True})
    else:
        problem = {"kind": "entries", "id": "13", "reason": "it answered 500"}
        built.run(version=1, outcome="partial", completeness={"complete": False}, problems=[problem])
    built.refresh()
    return built
