"""Declarations about flags in an archive, as earlier exports have kept them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from exporter.archive.declared import FlagDeclaration, add_declaration
from exporter.archive.layout import Layout
from exporter.service.declarations import BLOG_V1

SAMPLE = Path(__file__).parents[2] / "sample_output"


def sample_in(folder: Path) -> Path:
    """Return a copy of the sample archive in a folder, made once, in which a command may keep what it is told."""
    copy = folder / "sample"
    if not copy.exists():
        shutil.copytree(SAMPLE, copy)
    return copy


def declare(root: Path, settings: Mapping[str, str], seen: Mapping[str, Sequence[str]]) -> None:
    """Add a declaration about the documented service's flags to an archive."""
    values = {flag: tuple(each) for flag, each in seen.items()}
    add_declaration(Layout(root), FlagDeclaration("2026-11-29T00:00:00Z", BLOG_V1.name, settings, values))


def declared_in(root: Path) -> list[dict[str, object]]:
    """Return the lines of an archive's declarations, without the service and the time."""
    path = root / "declared.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [{name: value for name, value in json.loads(line).items() if name in {"settings", "seen"}} for line in lines]
