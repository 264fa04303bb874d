"""What the questions of ``export`` say in each language, and where a blog can go; the texts are in ``wizard.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from exporter.export.targets import TARGETS
from exporter.export.words import Language


@dataclass(frozen=True, slots=True)
class Destination:
    """A place a blog can go.

    Attributes:
        name: part of the name of the folder that is proposed.
        form: the format or target that is exported.
        label: what it is called, by language.
        steps: what to do there, by language; ``{out}`` is the folder.
        preset: options of the command line that it wants.
        fetches: whether it can fetch pictures from where they are, so that their place is a question.
    """

    name: str
    form: str
    label: Mapping[str, str]
    steps: Mapping[str, tuple[str, ...]]
    preset: Mapping[str, Any]
    fetches: bool


_TEXTS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("wizard.toml").read_text(encoding="utf-8"))
WORDS: Final[Mapping[str, Mapping[str, str]]] = _TEXTS["words"]
"""Every text by its language and name."""


def _destination(row: dict[str, Any]) -> Destination:
    label = row["label"]
    steps = row.get("steps") or _TEXTS[TARGETS[row["form"]].form]
    return Destination(
        row["name"],
        row["form"],
        dict.fromkeys(WORDS, label) if isinstance(label, str) else label,
        {
            language: tuple(step.replace("{place}", row.get("place", {}).get(language, "")) for step in texts)
            for language, texts in steps.items()
        },
        row.get("preset", {}),
        row.get("fetches", False),
    )


DESTINATIONS: Final = tuple(map(_destination, _TEXTS["destinations"]))
"""Every place, in the order it is offered."""


def language_of(environment: Mapping[str, str]) -> Language:
    """Return the language that the system's locale asks for: Japanese, else English."""
    locale = next(filter(None, (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "ja" if locale.lower().startswith("ja") else "en"
