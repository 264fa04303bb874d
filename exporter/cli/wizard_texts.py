"""What the questions of ``export`` say in each language, and where a blog can go; the texts are in ``wizard.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter.export.targets import TARGETS


class Step(NamedTuple):
    """What to do in the new home, and when.

    ``when`` is ``bring`` or ``stay`` where it depends on the pictures, a way that comments come along, or else empty.
    """

    text: str
    when: str = ""


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
        home: whether the blog has an address there.
        media: where pictures can be put, relative to that address; empty where that is not known.
        folder: what that place is called, by language.
        new_url: how the addresses of entries are made, relative to that of the blog; empty where that is not known.
    """

    name: str
    form: str
    label: Mapping[str, str]
    steps: Mapping[str, tuple[Step, ...]]
    preset: Mapping[str, Any]
    fetches: bool
    home: bool
    media: str
    folder: Mapping[str, str]
    new_url: str


_TEXTS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("wizard.toml").read_text(encoding="utf-8"))
WORDS: Final[Mapping[str, Mapping[str, str]]] = _TEXTS["words"]
"""Every text by its language and name."""


def _destination(row: Mapping[str, Any], name: str, form: str, title: str, *, target: bool) -> Destination:
    label = row.get("label", {})
    return Destination(
        name=name,
        form=form,
        label=dict.fromkeys(WORDS, label or title) if isinstance(label, str) else {"en": title, "ja": title, **label},
        steps={language: tuple(_steps(row, form, language)) for language in WORDS},
        preset=row.get("preset", {}),
        fetches=target,
        home=target or row.get("home", False),
        media=row.get("media", ""),
        folder=row.get("folder", {language: words["web_space"] for language, words in WORDS.items()}),
        new_url=row.get("new_url", ""),
    )


def _steps(row: Mapping[str, Any], form: str, language: str) -> list[Step]:
    steps = row.get("steps") or _TEXTS["steps"][TARGETS[form].form]
    place = row.get("place", {}).get(language, TARGETS[form].title if form in TARGETS else "")
    made = (Step(one) if isinstance(one, str) else Step(one["text"], one["when"]) for one in steps[language])
    return [step._replace(text=step.text.replace("{place}", place)) for step in made]


def _destinations() -> tuple[Destination, ...]:
    targets = _TEXTS["targets"]
    return (
        *(
            _destination(targets.get(name, {}), name, name, target.title, target=True)
            for name, target in TARGETS.items()
        ),
        *(_destination(row, row["name"], row["form"], row["name"], target=False) for row in _TEXTS["destinations"]),
    )


DESTINATIONS: Final = _destinations()
"""Every place, in the order it is offered: the targets, then what else can be made of a blog."""
